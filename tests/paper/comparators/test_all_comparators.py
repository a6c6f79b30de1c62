"""The lists of systems and of trainings."""

from __future__ import annotations

from pathlib import Path

import pytest

from paper.__main__ import main
from paper.comparators.all_comparators import COMPARATORS, open_comparator, train_comparator


def test_systems_are_listed_by_their_names_and_say_what_they_open():
    for name, comparator in COMPARATORS.items():
        assert comparator.name == name
        with pytest.raises(ValueError, match=f"{name} needs a model: "):
            open_comparator(name, "")


def test_unknown_names_are_refused_with_the_nearest():
    with pytest.raises(ValueError, match="no system 'covee'; did you mean cove"):
        open_comparator("covee", "x")
    with pytest.raises(ValueError, match="no training 'contextvec'; expected one of word2vec"):
        train_comparator("contextvec", [], "x")


@pytest.mark.parametrize("system", ["word2vec", "fasttext", "cove", "context2vec"])
def test_a_training_refuses_what_can_be_read_only_once(system: str, tmp_path: Path):
    with pytest.raises(ValueError, match="^- is a pipe or standard input, but a training reads it again; write it"):
        train_comparator(system, ["-"], tmp_path / "vectors.bin")
    assert not list(tmp_path.iterdir())


def test_a_training_is_a_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    pytest.importorskip("gensim")
    text = tmp_path / "text.txt"
    text.write_text("the cat\n\nthe dog .\n")
    command = ["train-comparator", "word2vec", str(text), "-o", str(tmp_path / "v.vec"), "--set", "min_count=1"]
    assert main(command) == 0
    assert '"words": 4' in capsys.readouterr().out
    assert main(["train-comparator", "word3vec", str(text), "-o", str(tmp_path / "v.vec")]) == 2
    assert "no training 'word3vec'; expected one of word2vec" in capsys.readouterr().err
