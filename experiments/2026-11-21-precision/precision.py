"""Effect of bfloat16 and int8 on two tasks: senses by nearest neighbour, and a linear part-of-speech tagger.

PYTHONPATH=. python experiments/2026-11-21-precision/precision.py .data/tasks/pos_ud_ewt .data/ko/tasks/homonym_ko >FILE

Words with two senses: the bundled list, and the Korean homonyms if their folder is given. The tagger: a linear softmax
over UPOS on one layer of the bundled English model, Adam 0.01, 6 epochs of 512 tokens per step, seed 0, trained and
tested with vectors of the same precision.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import torch

from elmokit.analysis.polysemes import read_polysemes
from elmokit.analysis.polysemy import SenseRates, measure_senses
from elmokit.elmo.elmo import Elmo
from paper.polysemy_ko import read_homonyms

PRECISIONS = ("float32", "bfloat16", "int8")


def main() -> None:
    folder = Path(sys.argv[1])
    train, test = (read_conllu(folder / f"en_ewt-ud-{part}.conllu") for part in ("train", "test"))
    results: dict[str, dict[str, object]] = {}
    for precision in PRECISIONS:
        elmo = Elmo.from_pretrained("mini-en", precision=precision)  # type: ignore[arg-type]
        occurrences = read_polysemes()
        encoded = elmo.encode([occurrence.tokens for occurrence in occurrences], layers="all")
        senses = _rates(measure_senses(encoded, occurrences))
        record: dict[str, object] = {"kernel": kernel(elmo), "mini-en, 384 polysemes": senses}
        if len(sys.argv) > 2:
            korean = Elmo.from_pretrained("mini-ko", precision=precision)  # type: ignore[arg-type]
            known, asked = (read_homonyms(Path(sys.argv[2]) / f"{part}.jsonl") for part in ("train", "test"))
            encoded = korean.encode([each.tokens for each in (*known, *asked)], layers="all")
            record["mini-ko, homonyms"] = _rates(measure_senses(encoded, [*known, *asked], num_known=len(known)))
        record["mini-en, UPOS of UD-EWT"] = {f"layer {n}": tag(elmo, train, test, layer=n) for n in (1, 2)}
        results[precision] = record
    print(json.dumps(results, indent=2, ensure_ascii=False))


def _rates(measured: list[SenseRates]) -> dict[str, float]:
    """Nearest-neighbour rate of each kind of vector, in percent."""
    return {vectors.name: round(100 * vectors.nearest_rate().share, 2) for vectors in measured}


def kernel(elmo: Elmo) -> str:
    return type(elmo._packed_bilm().lstms[0].layers[0].from_output).__name__


def read_conllu(path: Path) -> list[tuple[list[str], list[str]]]:
    """Words and their UPOS tags, without multiword ranges and empty nodes."""
    sentences: list[tuple[list[str], list[str]]] = []
    for block in path.read_text(encoding="utf-8").split("\n\n"):
        rows = [line.split("\t") for line in block.splitlines() if line and not line.startswith("#")]
        rows = [row for row in rows if row[0].isdecimal()]
        if rows:
            sentences.append(([row[1] for row in rows], [row[3] for row in rows]))
    return sentences


def tag(elmo: Elmo, train: list, test: list, *, layer: int) -> float:
    """Accuracy of the tagger on the test set, in percent."""
    torch.manual_seed(0)
    tags = sorted({tag for _, row in train for tag in row})

    def tensors(sentences: list) -> tuple[torch.Tensor, torch.Tensor]:
        vectors = elmo.encode([tokens for tokens, _ in sentences], layers=layer, show_progress_bar=False)
        labels = [tags.index(tag) if tag in tags else -1 for _, row in sentences for tag in row]
        return torch.from_numpy(np.concatenate(vectors)), torch.tensor(labels)

    inputs, labels = tensors(train)
    linear = torch.nn.Linear(inputs.shape[1], len(tags))
    optimizer = torch.optim.Adam(linear.parameters(), lr=0.01)
    for epoch in range(6):
        for rows in torch.randperm(len(inputs)).split(512):
            optimizer.param_groups[0]["lr"] = 0.01 * 0.5**epoch
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(linear(inputs[rows]), labels[rows]).backward()
            optimizer.step()
    inputs, labels = tensors(test)
    return round(100 * float((linear(inputs).argmax(dim=1) == labels).double().mean()), 2)


if __name__ == "__main__":
    main()
