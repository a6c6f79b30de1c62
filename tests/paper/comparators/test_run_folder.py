"""Checkpoints of comparators: all of it comes back, and a damaged one or one of another model changes nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn

from paper.comparators.run_folder import CHECKPOINT_FILE, load_checkpoint, save_checkpoint


def step(width: int = 2) -> tuple[nn.Linear, torch.optim.Adam]:
    model = nn.Linear(3, width)
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.ones(1, 3)).sum().backward()
    optimizer.step()
    return model, optimizer


def test_weights_optimiser_and_progress_come_back(tmp_path: Path):
    model, optimizer = step()
    save_checkpoint(tmp_path, model, optimizer, {"steps": 7})
    again, other = step()
    progress = load_checkpoint(tmp_path, again, other)
    assert progress is not None and progress.integer("steps") == 7
    assert torch.equal(again.weight, model.weight)
    for before, after in zip(optimizer.state.values(), other.state.values(), strict=True):
        assert all(torch.equal(before[name], after[name]) for name in before)
    (tmp_path / CHECKPOINT_FILE).unlink()
    assert load_checkpoint(tmp_path, again, other) is None


def test_another_model_is_refused(tmp_path: Path):
    save_checkpoint(tmp_path, *step(width=5), {"steps": 1})
    model, optimizer = step()
    before = model.weight.clone()
    with pytest.raises(ValueError, match=r"checkpoint\.safetensors: tensor bias"):
        load_checkpoint(tmp_path, model, optimizer)
    assert torch.equal(model.weight, before)
