"""The nearest contexts in a corpus: those that share the cue, nearest first, whatever the size of a batch."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
import torch
from torch import Tensor

from paper.probes import targets
from paper.probes.context_neighbours import Query, nearest_contexts, nearest_words
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


def test_of_equally_near_contexts_the_first_are_found():
    corpus = [["a", "bank", "of", "the", "river"], ["my", "bank"], ["no", "bank", "loans"], ["bank"]]
    (found,) = nearest_contexts(CueLayers(), [QUERY], corpus, number=3)["layer 0"]
    assert [each.sentence for each in found] == [0, 1, 2]


def test_cosines_that_differ_by_rounding_are_equal(monkeypatch: pytest.MonkeyPatch):
    corpus = [["first"], ["second"]]
    exact = CueLayers.__call__

    def nearly(self: CueLayers, sentences: Sequence[Sequence[str]]) -> Tensor:
        if sentences[0][0] not in ("first", "second"):
            return exact(self, sentences)
        of_query = exact(self, [QUERY.tokens])[:, :, 1:2]
        noise = [4e-3 if tokens == ["first"] else 0.0 for tokens in sentences]  # in the cosine, 3e-7
        return torch.cat([of_query + torch.eye(32)[0] * scale for scale in noise], dim=1)

    monkeypatch.setattr(CueLayers, "__call__", nearly)
    (found,) = nearest_contexts(CueLayers(), [QUERY], corpus)["layer 0"]
    assert found[0].sentence == 0


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
