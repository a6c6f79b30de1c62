from __future__ import annotations

import pytest
import torch

from elmokit.layers.dropout import VariationalDropout


def test_drops_the_same_features_at_every_token_and_scales_the_others():
    torch.manual_seed(0)
    dropped = VariationalDropout(rate=0.75)(torch.ones(20, 3, 30))
    assert set(dropped.unique().tolist()) == {0.0, 4.0}
    assert (dropped == dropped[:, :1]).all()
    assert (dropped[0] != dropped[1]).any()  # each sentence has its own mask
    assert abs(dropped.mean().item() - 1.0) < 0.2


def test_changes_nothing_outside_training_or_at_rate_zero():
    inputs = torch.randn(2, 3, 4)
    assert VariationalDropout(rate=0.5).eval()(inputs) is inputs
    assert VariationalDropout(rate=0.0)(inputs) is inputs


@pytest.mark.parametrize("rate", [-0.1, 1.0])
def test_refuses_what_is_no_rate(rate: float):
    with pytest.raises(ValueError, match=f"dropout rate of {rate}"):
        VariationalDropout(rate=rate)
