"""From the weights of train.py: float16 weights, an int8 softmax, and the held-out perplexity of each text.

python finish.py MODEL.pt VOCABULARY HELD_OUT_FOLDER OUTPUT      # OUTPUT.bilm, OUTPUT.softmax (int8), OUTPUT.json
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
    scale = softmax.weight.detach().abs().amax(dim=1, keepdim=True) / 127
    rows = (softmax.weight.detach() / scale).round().to(torch.int8)
    torch.save({"q": rows, "scale": scale, "bias": softmax.bias.detach()}, f"{output}.softmax")
    state = {name: value.half() for name, value in bilm.state_dict().items()}
    torch.save(stored | {"state": state}, f"{output}.bilm")
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
