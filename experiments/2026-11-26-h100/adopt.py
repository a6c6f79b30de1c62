"""The model that came back from the GPU, as a run of `elmokit pretrain` would leave it.

python adopt.py MODEL.bilm MODEL.softmax MODEL.jsonl VOCABULARY FOLDER SHARD ...
"""

from __future__ import annotations

import json
import shutil
import sys
from dataclasses import asdict, replace
from pathlib import Path

import torch

from elmokit.formats.native import write_native
from elmokit.formats.read import to_weights
from elmokit.layers.sampled_softmax import Softmax
from elmokit.model.bilm import BiLM
from elmokit.model.config import BiLMConfig
from elmokit.pretraining.recipes import small_en
from elmokit.text.vocabulary import Vocabulary


def main() -> None:
    weights, rows, log, vocabulary, folder = map(Path, sys.argv[1:6])
    stored = torch.load(weights, weights_only=True)
    stored["bilm"]["filters"] = tuple(map(tuple, stored["bilm"]["filters"]))
    bilm = BiLM(BiLMConfig(**stored["bilm"]))
    bilm.load_state_dict({name: value.float() for name, value in stored["state"].items()})
    own = torch.load(rows, weights_only=True)
    softmax = Softmax(num_tokens=len(own["bias"]), dim=own["q"].shape[1])
    softmax.load_state_dict({"weight": own["q"].float() * own["scale"], "bias": own["bias"].float()})
    head, *steps = map(json.loads, log.read_text(encoding="utf-8").splitlines())
    given = head["settings"]
    assert not given["full"], "no recipe changes its softmax under way"
    recipe = replace(
        small_en(),
        bilm=bilm.config,
        num_steps=steps[-1]["step"],
        batch_size=given["streams"],
        num_negatives=given["negatives"],
        learning_rate=given["rate"],
        decay_share=given["fall"],
        dropout_rate=given["dropout"],
        adam_betas=(0.9, given["beta2"]),
        weight_decay=given["decay"],
    )
    settings = {name: value for name, value in asdict(recipe).items() if name != "bilm"}
    settings |= {"shards": sys.argv[6:]}
    whole = to_weights(bilm, softmax, Vocabulary.read(vocabulary), pretraining=settings)
    shutil.rmtree(folder, ignore_errors=True)
    write_native(folder, whole)
    with (folder / "metrics.jsonl").open("w", encoding="utf-8") as file:
        for step in steps:
            loss, seconds = step["loss"], step["seconds"]
            record = {"step": step["step"], "num_tokens": step["tokens"], "loss": sum(loss) / 2, "losses": loss}
            record |= {"learning_rate": step["rate"], "seconds": seconds, "tokens_per_second": step["tokens"] / seconds}
            file.write(json.dumps(record) + "\n")


if __name__ == "__main__":
    main()
