from __future__ import annotations

import torch

from paper.models import random_elmo
from toy_bilm import TINY


def test_random_weights_depend_on_the_seed_and_on_nothing_else():
    torch.manual_seed(7)
    before = torch.get_rng_state()
    first = random_elmo(TINY, seed=0).fingerprint()
    assert torch.equal(torch.get_rng_state(), before)
    assert random_elmo(TINY, seed=0).fingerprint() == first != random_elmo(TINY, seed=1).fingerprint()
