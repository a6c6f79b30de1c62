"""Trains a sentiment classifier with ELMo on twenty film reviews, and judges new ones. Takes seconds on a CPU."""

import tempfile
from pathlib import Path

from elmokit import load_task, task_recipe, train_task

GOOD = """
A wonderful film with a great cast.
I loved every minute of it.
Funny, clever and very moving.
The best comedy of the year.
A beautiful and touching story.
The actors are excellent.
It is a delight from start to finish.
An intelligent and gripping thriller.
I laughed and I cried.
You should not miss this gem.
"""
BAD = """
A terrible film with a weak cast.
I hated every minute of it.
Stupid, dull and far too long.
The worst comedy of the year.
An ugly and boring story.
The actors are awful.
It is a mess from start to finish.
A silly and tedious thriller.
I fell asleep and went home.
You should not waste your money on this.
"""
NEW = ["A charming and brilliant comedy.", "A dull and predictable movie.", "The plot is stupid and dull."]
SETTINGS = ["elmo=both", "word_dim=0", "classifier=bilstm", "batch_size=4", "max_epochs=20", "patience=20"]


def table(texts: dict[str, str]) -> str:
    """Tab-separated columns with a header."""
    rows = [f"{text}\t{label}\n" for label, lines in texts.items() for text in lines.strip().splitlines()]
    return "".join(["text\tlabel\n", *rows])


with tempfile.TemporaryDirectory() as folder:
    for name in ("train.tsv", "dev.tsv"):  # the data is so small that it is also the development set
        (Path(folder) / name).write_text(table({"good": GOOD, "bad": BAD}), encoding="utf-8")
    config = task_recipe("sentiment", "cpu", SETTINGS)
    run_dir = train_task("sentiment", folder, run_dir=Path(folder) / "run", config=config)
    classifier = load_task(run_dir)
    for text, sentiment in zip(NEW, classifier.predict_all(NEW), strict=True):
        print(f"{sentiment.label} ({sentiment.probabilities[sentiment.label]:.0%}): {text}")
