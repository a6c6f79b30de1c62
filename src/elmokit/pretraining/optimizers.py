"""The optimisers of pretraining: torch's, and Muon combined with AdamW."""

from __future__ import annotations

from typing import Any

import torch
from torch.optim.optimizer import Optimizer

from elmokit.layers.sampled_softmax import Softmax
from elmokit.model.bilm import BiLM
from elmokit.pretraining.config import PretrainingConfig
from elmokit.pretraining.muon import Muon


def new_optimizer(config: PretrainingConfig, bilm: BiLM, softmax: Softmax) -> torch.optim.Optimizer | CombinedOptimizer:
    """The optimiser of all weights; with `muon` it is Muon for some matrices and AdamW for everything else."""
    parameters = [*bilm.parameters(), *softmax.parameters()]
    if config.optimizer == "adagrad":
        fused = all(map(_has_fused_adagrad, {parameter.device for parameter in parameters}))
        return torch.optim.Adagrad(
            parameters, lr=config.learning_rate, initial_accumulator_value=1.0, eps=0.0, fused=fused
        )
    if config.optimizer == "muon":
        matrices = _matrices(bilm, everywhere=config.muon_for == "all")
        own = set(map(id, matrices))
        others = [parameter for parameter in parameters if id(parameter) not in own]
        muon = Muon(matrices, lr=config.learning_rate, weight_decay=config.weight_decay)
        return CombinedOptimizer(_adamw(config, others, weight_decay=0.0), muon)
    return _adamw(config, parameters, weight_decay=config.weight_decay if config.optimizer == "adamw" else 0.0)


class CombinedOptimizer:
    """Two optimisers that act as one; the parameters of the second are numbered after those of the first."""

    def __init__(self, first: Optimizer, second: Optimizer) -> None:
        self.parts = (first, second)
        self._num_first = sum(len(group["params"]) for group in first.param_groups)

    @property
    def param_groups(self) -> list[dict[str, Any]]:
        return [group for part in self.parts for group in part.param_groups]

    def step(self) -> None:
        for part in self.parts:
            part.step()

    def state_dict(self) -> dict[str, Any]:
        first, second = (part.state_dict()["state"] for part in self.parts)
        numbered = {index + self._num_first: slots for index, slots in second.items()}
        return {"state": first | numbered, "param_groups": self.param_groups}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        state, num_first = state_dict["state"], self._num_first
        first = {index: slots for index, slots in state.items() if index < num_first}
        second = {index - num_first: slots for index, slots in state.items() if index >= num_first}
        for part, own in zip(self.parts, (first, second), strict=True):
            part.load_state_dict({"state": own, "param_groups": part.state_dict()["param_groups"]})


def _has_fused_adagrad(device: torch.device) -> bool:
    """Whether torch makes a step of Adagrad in one kernel there: on GPUs that depends on its version."""
    parameter = torch.nn.Parameter(torch.zeros(1, device=device))
    parameter.grad = torch.zeros_like(parameter)
    try:
        torch.optim.Adagrad([parameter], fused=True).step()
    except RuntimeError:
        return False
    return True


def _matrices(bilm: BiLM, *, everywhere: bool) -> list[torch.nn.Parameter]:
    """The LSTMs' matrices; everywhere, those of the encoder too, except the embedding, whose rows are characters."""
    lstms = [lstm for lstm in (bilm.forward_lstm, bilm.backward_lstm) if lstm is not None]
    found = [parameter for lstm in lstms for parameter in lstm.parameters() if parameter.ndim == 2]
    if everywhere:
        encoder = bilm.char_encoder.named_parameters()
        found += [one for name, one in encoder if one.ndim > 1 and not name.startswith("embedding.")]
    return found


def _adamw(
    config: PretrainingConfig, parameters: list[torch.nn.Parameter], *, weight_decay: float
) -> torch.optim.AdamW:
    """AdamW, which is Adam if no weight decays."""
    return torch.optim.AdamW(
        parameters, lr=config.learning_rate, betas=config.adam_betas, weight_decay=weight_decay, fused=True
    )
