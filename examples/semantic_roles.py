"""Trains a semantic role labeller with ELMo on a dozen sentences, and labels new ones. Takes seconds on a CPU."""

import tempfile
from pathlib import Path

from elmokit import load_task, task_recipe, train_task

SENTENCES = """
(A0 The cat) (V ate) (A1 a fish) .
(A0 My sister) (V bought) (A1 a new car) (AM-TMP last week) .
(AM-TMP Yesterday) (A0 the man) (V sold) (A1 his house) .
(A0 She) (V gave) (A2 him) (A1 a red book) .
(A1 The window) was (V broken) (A0 by the boys) .
(A1 The letter) was (V written) (A0 by my father) (AM-TMP in May) .
(A0 They) (V built) (A1 a big school) (AM-LOC in the village) .
(A0 The children) (V saw) (A1 a dog) (AM-LOC in the park) .
(AM-TMP On Monday) (A0 he) (V read) (A1 the long story) .
(A1 The song) was (V sung) (A0 by a girl) (AM-LOC in the church) .
(A0 We) (V found) (A1 the keys) (AM-LOC under the bed) (AM-TMP this morning) .
(A0 The teacher) (V told) (A2 the boys) (A1 a story) .
"""
NEW = [
    "The woman *lost* her bag in the station .",
    "Last year my brother *painted* the old house .",
    "The bread was *eaten* by the birds .",
]
SETTINGS = [
    *("elmo=input", "word_dim=0", "hidden_dim=96", "num_layers=2", "max_train_examples=0"),
    *("batch_size=4", "learning_rate=0.01", "decay=1", "max_epochs=25", "patience=25"),
]


def columns(text: str) -> str:
    """The format of CoNLL-2005: token, lemma of the predicate or -, brackets of its roles; a blank line at the end."""
    rows: list[str] = []
    for line in text.strip().splitlines():
        opened = ""
        for piece in line.split():
            if piece.startswith("("):
                opened = piece
            else:
                word = piece.rstrip(")")
                lemma = word if opened == "(V" else "-"
                rows.append(f"{word} {lemma} {opened}*{')' if word != piece else ''}")
                opened = ""
        rows.append("")
    return "\n".join(rows)


with tempfile.TemporaryDirectory() as folder:
    for name in ("train.conll", "dev.conll"):  # the data is so small that it is also the development set
        (Path(folder) / name).write_text(columns(SENTENCES), encoding="utf-8")
    config = task_recipe("semantic-roles", "cpu", SETTINGS)
    run_dir = train_task("semantic-roles", folder, run_dir=Path(folder) / "run", config=config)
    parser = load_task(run_dir)
    for sentence in parser.predict_all(NEW):
        print(sentence.text)
        for argument in sentence.arguments:
            print("   ", argument.role, argument.text)
