"""The explorer's "both": bits of 500 known tokens of held-out text by each direction, their product, and the product
divided by the probability of the word without context.

PYTHONPATH=. python experiments/2026-11-26-small-en-2/both.py small-en .data/en/heldout.txt
"""

import sys
from math import log
from pathlib import Path

import torch

from elmokit import Elmo
from elmokit.files.lines import read_lines

NUM_TOKENS = 500


def main(model: str, path: Path) -> None:
    elmo = Elmo.from_pretrained(model)
    assert elmo.vocabulary is not None
    reader = elmo.surprisal_model()
    sentences = [line.split() for line in read_lines(path)]
    chosen = [sentences[at * len(sentences) // NUM_TOKENS] for at in range(NUM_TOKENS)]
    contexts = reader._read_alone(chosen, [0, 1])
    known = [[at for at, token in enumerate(sentence) if token in elmo.vocabulary] for sentence in chosen]
    places = [(number, ats[len(ats) // 2]) for number, ats in enumerate(known) if ats]  # the middle one of each
    true = torch.tensor(elmo.vocabulary.ids([chosen[number][at] for number, at in places]))
    logs = []
    for way, shift in ((0, 0), (1, 1)):  # targets of the backward direction begin with the boundary
        hidden, paths = contexts[way]
        rows = hidden[[int(paths[number][at + shift]) for number, at in places]]
        logits = rows @ reader.softmax.weight.t() + reader.softmax.bias
        logits[:, :3] = -float("inf")  # `<S>`, `</S>` and `<UNK>`
        logs.append(logits.log_softmax(dim=1))
    unigram = -(torch.arange(logs[0].shape[1]) + 2.7).log()
    product = logs[0] + logs[1]
    for name, scores in {
        "forward": logs[0],
        "backward": logs[1],
        "product": product,
        "both": product - unigram,
    }.items():
        bits = -scores.log_softmax(dim=1).gather(1, true[:, None]).mean() / log(2)
        print(f"{name}: {bits:.2f} bits, {len(places)} tokens")


if __name__ == "__main__":
    with torch.no_grad():
        main(sys.argv[1], Path(sys.argv[2]))
