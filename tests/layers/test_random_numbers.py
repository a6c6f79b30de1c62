from __future__ import annotations

import pytest
import torch

from elmokit.layers.random_numbers import seeded


def test_numbers_follow_from_the_seed_and_leave_the_generator_as_it_was() -> None:
    torch.manual_seed(1)
    expected = torch.rand(3)
    torch.manual_seed(1)
    with seeded(7):
        one = torch.rand(3)
    torch.testing.assert_close(torch.rand(3), expected, rtol=0, atol=0)
    torch.manual_seed(7)
    torch.testing.assert_close(one, torch.rand(3), rtol=0, atol=0)


def test_the_generators_of_gpus_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    seeds: list[int] = []
    monkeypatch.setattr(torch.cuda, "manual_seed_all", seeds.append)
    with seeded(7):
        torch.rand(1)
    assert seeds == []


def test_the_default_device_has_no_say() -> None:
    with torch.device("meta"), seeded(7):
        assert torch.rand(1).device == torch.device("cpu")
