"""Trains a tagger of parts of speech with ELMo on a few sentences, and tags new ones. Takes seconds on a CPU."""

import tempfile
from pathlib import Path

from elmokit import load_task, task_recipe, train_task

SENTENCES = """
The/DET cat/NOUN slept/VERB on/ADP the/DET mat/NOUN ./PUNCT
She/PRON saw/VERB a/DET small/ADJ dog/NOUN ./PUNCT
They/PRON can/AUX fish/VERB in/ADP the/DET river/NOUN ./PUNCT
The/DET old/ADJ man/NOUN sold/VERB fish/NOUN ./PUNCT
We/PRON will/AUX run/VERB home/ADV ./PUNCT
A/DET long/ADJ run/NOUN made/VERB him/PRON tired/ADJ ./PUNCT
He/PRON quickly/ADV closed/VERB the/DET door/NOUN ./PUNCT
Birds/NOUN sing/VERB in/ADP old/ADJ trees/NOUN ./PUNCT
"""
NEW = ["The dog ran home.", "She can run.", "We saw a long river."]
SETTINGS = ["elmo=input", "word_dim=0", "character_dim=0", "batch_size=4", "learning_rate=0.01", "max_epochs=25"]


def columns(text: str) -> str:
    """One word and its tag per line, and a blank line after each sentence. CoNLL-U works, too."""
    sentences = [line.split() for line in text.strip().splitlines()]
    return "\n".join("".join(f"{word.replace('/', chr(9))}\n" for word in sentence) for sentence in sentences)


with tempfile.TemporaryDirectory() as folder:
    for name in ("train.txt", "dev.txt"):  # the data is so small that it is also the development set
        (Path(folder) / name).write_text(columns(SENTENCES), encoding="utf-8")
    config = task_recipe("tags", "cpu", SETTINGS)
    run_dir = train_task("tags", folder, run_dir=Path(folder) / "run", config=config)
    tagger = load_task(run_dir)
    for sentence in tagger.predict_all(NEW):
        print(" ".join(f"{token}/{tag}" for token, tag in zip(sentence.tokens, sentence.tags, strict=True)))
