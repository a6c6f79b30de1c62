"""The nearest contexts in a corpus: those that share the cue, nearest first, whatever the size of a batch."""

from __future__ import annotations

from pathlib import Path

import pytest

from elmokit.analysis import targets
from elmokit.analysis.context_neighbours import Query, nearest_contexts, nearest_words
from toy_senses import CueLayers

CORPUS = [["the", "bank", "flooded"], ["my", "bank", "loans", "money"], ["dogs"], ["a", "bank", "loans"]]
QUERY = Query(("one", "bank", "loans", "books"), 1)


def test_the_nearest_contexts_have_the_same_cue():
    (found,) = nearest_contexts(CueLayers(), [QUERY], CORPUS, number=3)["layer 2"]
    assert {(each.sentence, each.index) for each in found[:2]} == {(1, 1), (3, 1)}
    assert found[0].distance == pytest.approx(-1) and found[2].distance > -0.99


def test_the_token_layer_finds_the_word_itself():
    (found,) = nearest_contexts(CueLayers(), [QUERY], CORPUS)["layer 0"]
    assert CORPUS[found[0].sentence][found[0].index] == "bank"


def test_a_static_vector_has_nearest_words(tmp_path: Path):
    (tmp_path / "glove.txt").write_text("play 1 0\nzoo 0 1\ngame 2 1\nplays 3 0\n")
    assert nearest_words(tmp_path / "glove.txt", "play", number=2) == ["plays", "game"]
    assert nearest_words(tmp_path / "glove.txt", "plays", among=2) == ["play", "zoo"]
    with pytest.raises(ValueError, match="no vector of 'bank'"):
        nearest_words(tmp_path / "glove.txt", "bank")


def test_batches_change_nothing(monkeypatch: pytest.MonkeyPatch):
    before = nearest_contexts(CueLayers(), [QUERY, QUERY], CORPUS, number=2)
    monkeypatch.setattr(targets, "SENTENCES_PER_BATCH", 1)
    after = nearest_contexts(CueLayers(), [QUERY, QUERY], CORPUS, number=2)
    assert [[(one.sentence, one.index) for one in each] for each in before["average"]] == [
        [(one.sentence, one.index) for one in each] for each in after["average"]
    ]
