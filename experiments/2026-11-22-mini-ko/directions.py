"""Where one direction of a biLM predicts better than the other: bits by kind of target, forward and backward.

Both directions give probabilities of the same sentences, so perfect ones would agree on every sum.

    python experiments/2026-11-22-mini-ko/directions.py MODEL HELDOUT [NUM_SENTENCES]
"""

import sys
import unicodedata
from collections import Counter
from pathlib import Path

from elmokit import Elmo
from elmokit.files.lines import read_lines
from elmokit.system.markdown import markdown_table

FREQUENT = 1000
"""Rank up to which a word counts as frequent."""
BOUNDARY = "sentence boundary"


def main(model: str, path: Path, num_sentences: int) -> None:
    elmo = Elmo.from_pretrained(model)
    assert elmo.vocabulary is not None
    sentences = [line.split() for line in read_lines(path)]
    chosen = [sentences[index * len(sentences) // num_sentences] for index in range(num_sentences)]
    bits: dict[str, Counter[str]] = {"forward": Counter(), "backward": Counter()}
    counts: Counter[str] = Counter()
    for sentence in elmo.surprisal(chosen, show_progress_bar=False):
        counts[BOUNDARY] += 1
        bits["forward"][BOUNDARY] += float(sentence.directions["forward"].bits[-1])
        bits["backward"][BOUNDARY] += float(sentence.directions["backward"].bits[0])
        for index, token in enumerate(sentence.tokens):
            kind = kind_of(token, known=bool(sentence.known[index]), rank=elmo.vocabulary.id(token))
            counts[kind] += 1
            for direction in bits:
                bits[direction][kind] += float(sentence.bits(direction)[index])
    total = counts.total()
    rows = [
        [
            name,
            f"{number / total:.1%}",
            *(f"{bits[direction][name] / number:.2f}" for direction in bits),
            f"{(bits['backward'][name] - bits['forward'][name]) / total:+.3f}",
        ]
        for name, number in counts.most_common()
    ]
    means = [f"{bits[direction].total() / total:.2f}" for direction in bits]
    rows.append(["all", "100%", *means, f"{(bits['backward'].total() - bits['forward'].total()) / total:+.3f}"])
    print(markdown_table(["targets", "share", "forward", "backward", "difference, per prediction"], rows))


def kind_of(token: str, *, known: bool, rank: int) -> str:
    """The kind of a target."""
    if not known:
        return "<UNK>"
    if all(unicodedata.category(character)[0] in "PS" for character in token):
        return "punctuation"
    return "frequent words" if rank < FREQUENT else "other words"


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 500)
