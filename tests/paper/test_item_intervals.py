"""Intervals are computed from what models predict, in the form that the scorers take."""

from __future__ import annotations

from pathlib import Path

import pytest

from elmokit.tasks.all_tasks import find_task
from elmokit.tasks.config import with_settings
from elmokit.tasks.reading import read_files
from elmokit.tasks.saved import load_task
from elmokit.tasks.train import train
from paper.item_counts import ITEM_COUNTS

CONLL = "Jane B-PER\nlives O\nin O\nSeoul B-LOC\n\nSeoul B-LOC\nis O\nlarge O\n"
"""Two columns: tokens and tags."""
PAIRS = "\n".join(
    f'{{"sentence1": "a cat sat", "sentence2": "{second}", "gold_label": "{label}"}}'
    for second, label in (("a cat", "entailment"), ("a dog", "neutral"), ("no cat", "contradiction"))
)


@pytest.mark.parametrize(
    ("name", "ending", "text", "settings"),
    [
        ("named-entities", "conll", CONLL, ["train_word_vectors=true"]),
        ("entailment", "jsonl", PAIRS, ["encoder_dim=4", "train_word_vectors=true"]),
    ],
)
def test_what_a_trained_model_predicts_is_counted_item_by_item(
    name: str, ending: str, text: str, settings: list[str], tmp_path: Path
):
    task, data = find_task(name), tmp_path / "data"
    data.mkdir()
    for split in ("train", "dev", "test"):
        (data / f"{split}.{ending}").write_text(text)
    config = with_settings(task.recipes["cpu"](), ["word_dim=8", "elmo=none", "max_epochs=8", "patience=8", *settings])
    trained = load_task(train(task, data, run_dir=tmp_path / "run", config=config, device="cpu"), device="cpu")
    test = data / f"test.{ending}"
    examples = read_files(task, [test], config.model, name="test").examples
    counts = ITEM_COUNTS[name]
    pairs = zip(examples, trained.model_predictions(examples), strict=True)
    items = [counts.of(example, made) for example, made in pairs]
    expected = trained.evaluate(test)[task.metric]
    assert counts.score(tuple(map(sum, zip(*items, strict=True)))) == pytest.approx(expected)
