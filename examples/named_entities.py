"""Trains a named entity tagger with ELMo on a dozen sentences, and tags new ones. Takes seconds on a CPU."""

import tempfile
from pathlib import Path

from elmokit import load_task, task_recipe, train_task

SENTENCES = """
Jane/B-PER Lee/I-PER lives in Seoul/B-LOC .
The company moved from Paris/B-LOC to New/B-LOC York/I-LOC .
Maria/B-PER works for Samsung/B-ORG .
General/B-ORG Motors/I-ORG builds cars in Ohio/B-LOC .
Peter/B-PER Smith/I-PER met Anna/B-PER in Berlin/B-LOC .
Microsoft/B-ORG hired him last year .
It rained in London/B-LOC on Monday .
The shares of Toyota/B-ORG fell on Friday .
He told Reuters/B-ORG that he was tired .
David/B-PER flew to Japan/B-LOC with his wife .
Susan/B-PER Brown/I-PER is the head of Siemens/B-ORG in Germany/B-LOC .
Nobody was hurt .
"""
NEW = ["Tom works for Apple in China.", "Mary Jones flew to Italy on Tuesday.", "The shares of Nokia rose again."]
SETTINGS = ["elmo=input", "word_dim=0", "character_dim=0", "batch_size=4", "learning_rate=0.01", "max_epochs=25"]


def columns(text: str) -> str:
    """The format of CoNLL: one token and its tag per line, and a blank line after each sentence."""
    pieces = [[token.partition("/") for token in line.split()] for line in text.strip().splitlines()]
    return "\n".join("".join(f"{word} {tag or 'O'}\n" for word, _, tag in sentence) for sentence in pieces)


with tempfile.TemporaryDirectory() as folder:
    for name in ("train.conll", "dev.conll"):  # the data is so small that it is also the development set
        (Path(folder) / name).write_text(columns(SENTENCES), encoding="utf-8")
    config = task_recipe("named-entities", "cpu", SETTINGS)
    run_dir = train_task("named-entities", folder, run_dir=Path(folder) / "run", config=config)
    tagger = load_task(run_dir)
    for sentence in tagger.predict_all(NEW):
        print(sentence.text)
        for entity in sentence.entities:
            print("   ", entity.label, entity.text, (entity.start, entity.end))
