"""Give the newest checkpoint of a run new LSTM weights and no Adam averages for them; keep char encoder and softmax.

    python experiments/2026-11-20-mini-en/fresh_lstms.py RUN SEED

mini-en needed this after its first 11,000 steps had damaged these weights (experiments/LOG.md, 2026-11-20).
"""

from __future__ import annotations

import sys
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file

from elmokit.formats.config_json import read_config
from elmokit.model.bilm import BiLM


def main(run: Path, seed: int) -> None:
    checkpoint = max((run / "checkpoints").glob("step-*"))
    torch.manual_seed(seed)
    fresh = BiLM(read_config(run / "config.json")[0])
    weights = load_file(checkpoint / "model.safetensors")
    training = load_file(checkpoint / "training.safetensors")
    for index, (name, parameter) in enumerate(fresh.named_parameters()):
        if "_lstm." in name:
            weights[name] = parameter.detach().clone()
            for slot in [key for key in training if key.startswith(f"optimizer.{index}.")]:
                training[slot] = torch.zeros_like(training[slot])
    for key in [key for key in training if key.startswith("state.")]:
        training[key] = torch.zeros_like(training[key])
    save_file(weights, checkpoint / "model.safetensors")
    save_file(training, checkpoint / "training.safetensors")
    print(checkpoint)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
