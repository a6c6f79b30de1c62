"""What a run starts with: device, type of the products, initial softmax, optimiser."""

from __future__ import annotations

import time
import warnings
from dataclasses import replace

import torch

from elmokit.layers.sampled_softmax import Softmax, log_uniform_probability
from elmokit.model.bilm import BiLM
from elmokit.pretraining.config import PretrainingConfig
from elmokit.pretraining.muon import Muon, Together


def find_device(name: str | None) -> torch.device:
    """The named device, or the GPU if there is one."""
    return torch.device(name or ("cuda" if torch.cuda.is_available() else "cpu"))


def resolved(config: PretrainingConfig, *, num_tokens: int, device: torch.device) -> PretrainingConfig:
    """`config` without what depends on the machine or the vocabulary, as it is written into the run.

    `precision="auto"` becomes bfloat16 on CUDA, and on a CPU that proves to multiply it at least 1.3 times as fast. A
    vocabulary with no more tokens than there are negatives to draw is trained with the full softmax, with a warning.
    """
    if config.softmax == "sampled" and config.num_negatives >= num_tokens:
        warnings.warn(
            f"the vocabulary has {num_tokens:,} tokens and num_negatives is {config.num_negatives:,}: "
            "training with the full softmax",
            stacklevel=3,
        )
        config = replace(config, softmax="full")
    if config.precision != "auto":
        return config
    if device.type == "cuda":
        return replace(config, precision="bfloat16")
    fast = _product_seconds(torch.float32) > 1.3 * _product_seconds(torch.bfloat16)
    return replace(config, precision="bfloat16" if fast else "float32")


def new_softmax(num_tokens: int, config: PretrainingConfig) -> Softmax:
    softmax = Softmax(num_tokens=num_tokens, dim=config.bilm.projection_dim)
    with torch.no_grad():
        softmax.weight.mul_(config.softmax_scale)
        if config.zipf_bias:
            softmax.bias.copy_(log_uniform_probability(torch.arange(num_tokens), num_tokens=num_tokens).log())
    return softmax


def new_optimizer(config: PretrainingConfig, bilm: BiLM, softmax: Softmax) -> torch.optim.Optimizer | Together:
    """The optimiser of all weights; with `muon` it is Muon for the LSTMs' matrices and AdamW for everything else."""
    parameters = [*bilm.parameters(), *softmax.parameters()]
    if config.optimizer == "adagrad":
        on_cpu = all(parameter.device.type == "cpu" for parameter in parameters)  # CUDA has no fused Adagrad
        return torch.optim.Adagrad(
            parameters, lr=config.learning_rate, initial_accumulator_value=1.0, eps=0.0, fused=on_cpu
        )
    if config.optimizer == "muon":
        lstms = [lstm for lstm in (bilm.forward_lstm, bilm.backward_lstm) if lstm is not None]
        matrices = [parameter for lstm in lstms for parameter in lstm.parameters() if parameter.ndim == 2]
        own = set(map(id, matrices))
        others = [parameter for parameter in parameters if id(parameter) not in own]
        return Together(_adam(torch.optim.AdamW, config, others), Muon(matrices, lr=config.learning_rate))
    return _adam({"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[config.optimizer], config, parameters)


def _adam(
    kind: type[torch.optim.Adam], config: PretrainingConfig, parameters: list[torch.nn.Parameter]
) -> torch.optim.Adam:
    return kind(
        parameters,
        lr=config.learning_rate,
        betas=config.adam_betas,
        weight_decay=0.0 if config.optimizer == "adam" else config.weight_decay,
        fused=True,
    )


def _product_seconds(dtype: torch.dtype) -> float:
    left, right = torch.ones(64, 1024, dtype=dtype), torch.ones(1024, 1024, dtype=dtype)
    times: list[float] = []
    for _ in range(20):
        began = time.perf_counter()
        torch.mm(left, right)
        times.append(time.perf_counter() - began)
    return min(times)
