"""Files for docs/your-own-language.md: training sets of 100 to all sentences, and fastText vectors of the raw text.

python experiments/latin.py split ud_perseus/train.conllu perseus   # writes perseus-100.conllu and so on
python experiments/latin.py fasttext half.txt half.vec ud_*/*.conllu
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from pathlib import Path

SIZES = (100, 300, 1000)


def split(train: str, prefix: str) -> None:
    """Write the first sentences of the training set in one random order, so that larger sets contain the smaller."""
    sentences = Path(train).read_text(encoding="utf-8").strip().split("\n\n")
    random.Random(0).shuffle(sentences)
    for name, size in [*((str(size), size) for size in SIZES), ("all", len(sentences))]:
        Path(f"{prefix}-{name}.conllu").write_text("\n\n".join(sentences[:size]) + "\n\n", encoding="utf-8")


class Lines:
    """The lower-cased tokens of a text, line by line, as often as they are read."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __iter__(self) -> Iterator[list[str]]:
        with open(self.path, encoding="utf-8") as file:
            yield from (line.lower().split() for line in file)


def fasttext(text: str, output: str, *treebanks: str) -> None:
    """Write vectors of the words of the text and of the treebanks; those that are new come from their n-grams."""
    from gensim.models import FastText

    model = FastText(Lines(text), vector_size=100, min_count=2, sg=1, epochs=10, workers=1, seed=0)
    words = dict.fromkeys(model.wv.index_to_key)
    for path in sorted(treebanks):
        rows = [line.split("\t") for line in Path(path).read_text(encoding="utf-8").splitlines()]
        forms = [row[1] for row in rows if len(row) == 10 and row[0].isdecimal() and " " not in row[1]]
        words |= dict.fromkeys(form for pair in zip(forms, map(str.lower, forms), strict=True) for form in pair)
    lines = [" ".join([word, *(f"{x:.5f}" for x in model.wv[word])]) for word in words]
    Path(output).write_text("\n".join([f"{len(words)} 100", *lines]) + "\n", encoding="utf-8")


if __name__ == "__main__":
    {"split": split, "fasttext": fasttext}[sys.argv[1]](*sys.argv[2:])
