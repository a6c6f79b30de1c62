"""From the weights of train.py: float16 weights in files that are small, and held-out perplexity of each text.

python finish.py MODEL.pt VOCABULARY HELD_OUT_FOLDER OUTPUT      # OUTPUT.bilm.pt, OUTPUT.softmax.pt, OUTPUT.json
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from elmokit.layers.devices import find_device
from elmokit.layers.sampled_softmax import Softmax
from elmokit.model.bilm import BiLM
from elmokit.model.config import BiLMConfig
from elmokit.scoring.perplexity import bilm_perplexity
from elmokit.text.vocabulary import Vocabulary


def load(path: Path) -> tuple[BiLM, Softmax, dict[str, Any]]:
    """The model in a file of train.py."""
    stored = torch.load(path, weights_only=True, map_location="cpu")
    stored["bilm"]["filters"] = tuple(map(tuple, stored["bilm"]["filters"]))
    state: dict[str, Tensor] = {name: value.float() for name, value in stored["state"].items()}
    own = {name.removeprefix("softmax."): state.pop(name) for name in list(state) if name.startswith("softmax.")}
    bilm = BiLM(BiLMConfig(**stored["bilm"]))
    bilm.load_state_dict(state)
    softmax = Softmax(num_tokens=len(own["bias"]), dim=own["weight"].shape[1])
    softmax.load_state_dict(own)
    return bilm.eval(), softmax.eval(), stored


def main() -> None:
    path, vocabulary, held_out, output = map(Path, sys.argv[1:])
    bilm, softmax, stored = load(path)
    for part, is_softmax in (("bilm", False), ("softmax", True)):
        state = {name: v.half() for name, v in stored["state"].items() if name.startswith("softmax.") == is_softmax}
        torch.save(stored | {"state": state}, f"{output}.{part}.pt")
    device = find_device(None)
    bilm, softmax = bilm.to(device), softmax.to(device)
    found: dict[str, Any] = {}
    for text in sorted(held_out.glob("heldout*.txt.xz")):
        measured = bilm_perplexity(bilm, softmax, Vocabulary.read(vocabulary), [text])
        found[text.name.removesuffix(".txt.xz")] = asdict(measured)
        print(text.name, round(measured.forward.perplexity, 2), round(measured.backward.perplexity, 2), flush=True)  # pyright: ignore[reportOptionalMemberAccess]
    output.with_suffix(".json").write_text(json.dumps(found, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
