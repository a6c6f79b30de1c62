"""Vectors of chosen words, their mixes, their neighbours, and what a linear probe finds in them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from paper.probes import sense_neighbours, targets
from paper.probes.context_neighbours import Query, nearest_contexts, nearest_words
from paper.probes.sense_neighbours import neighbour_shares
from paper.probes.tag_probe import TaggedSentence, TaggedSplits, probe_tags
from paper.probes.targets import AVERAGE, EQUAL_SIZE, UPPER_AVERAGE, Target, mixes, sentence_vectors, target_vectors
from paper.table5 import read_semcor
from toy_senses import CueLayers, write_sense_data

SENTENCES = [["the", "old", "bank"], ["bank"], ["a", "river", "bank", "flooded"]]
CORPUS = [["the", "bank", "flooded"], ["my", "bank", "loans", "money"], ["dogs"], ["a", "bank", "loans"]]
QUERY = Query(("one", "bank", "loans", "books"), 1)
LAYERS = np.array([[[6.0, 0.0]], [[0.0, 2.0]], [[0.0, 4.0]]], np.float32)


def test_a_target_has_the_vector_of_its_token_and_several_tokens_their_mean():
    whole = CueLayers()(SENTENCES).numpy()
    seen: list[Sequence[str]] = []

    class Watched(CueLayers):
        def __call__(self, sentences: Sequence[Sequence[str]]) -> Tensor:
            seen.extend(sentences)
            return super().__call__(sentences)

    found = target_vectors(Watched(), SENTENCES, [Target(2, 1, 3), Target(0, 2, 3)])
    assert ["bank"] not in seen  # sentences without a target are not read
    assert found.shape == (3, 2, 32)
    np.testing.assert_allclose(found[:, 0], (whole[:, 2, 1] + whole[:, 2, 2]) / 2, rtol=1e-6)
    np.testing.assert_array_equal(found[:, 1], whole[:, 0, 2])


def test_mixes_are_means_over_layers():
    rows = {name: mix(LAYERS).tolist() for name, mix in mixes(3).items()}
    assert list(rows) == ["layer 0", "layer 1", "layer 2", AVERAGE, UPPER_AVERAGE, EQUAL_SIZE]
    assert (rows["layer 0"], rows["layer 2"]) == ([[6.0, 0.0]], [[0.0, 4.0]])
    assert rows[AVERAGE] == [[2.0, 2.0]] and rows[UPPER_AVERAGE] == [[0.0, 3.0]]
    np.testing.assert_allclose(rows[EQUAL_SIZE], [[1 / 3, 2 / 3]], rtol=1e-6)
    np.testing.assert_allclose(mixes(2)[EQUAL_SIZE](np.float32([[[0, 0]], [[0, 2]]])), [[0, 0.5]])  # no direction
    assert list(mixes(1)) == ["layer 0"] and list(mixes(2)) == ["layer 0", "layer 1", AVERAGE, EQUAL_SIZE]


def test_the_nearest_contexts_have_the_same_cue_and_of_equally_near_ones_the_first_are_found():
    rows = nearest_contexts(CueLayers(), [QUERY], CORPUS, number=3)
    (found,) = rows["layer 2"]
    assert {(each.sentence, each.index) for each in found[:2]} == {(1, 1), (3, 1)}
    assert found[0].distance == pytest.approx(-1) and found[2].distance > -0.99
    assert [(each.sentence, each.index) for each in rows["layer 0"][0]] == [(0, 1), (1, 1), (3, 1)]  # the word itself


def test_cosines_that_differ_by_rounding_are_equal(monkeypatch: pytest.MonkeyPatch):
    exact = CueLayers.__call__

    def nearly(self: CueLayers, sentences: Sequence[Sequence[str]]) -> Tensor:
        if sentences[0][0] not in ("first", "second"):
            return exact(self, sentences)
        of_query = exact(self, [QUERY.tokens])[:, :, 1:2]
        noise = [4e-3 if tokens == ["first"] else 0.0 for tokens in sentences]  # in the cosine, 3e-7
        return torch.cat([of_query + torch.eye(32)[0] * scale for scale in noise], dim=1)

    monkeypatch.setattr(CueLayers, "__call__", nearly)
    (found,) = nearest_contexts(CueLayers(), [QUERY], [["first"], ["second"]])["layer 0"]
    assert found[0].sentence == 0


def test_a_static_vector_has_nearest_words(tmp_path: Path):
    (tmp_path / "glove.txt").write_text("play 1 0\nzoo 0 1\ngame 2 1\nplays 3 0\n")
    assert nearest_words(tmp_path / "glove.txt", "play", number=2) == ["plays", "game"]
    assert nearest_words(tmp_path / "glove.txt", "plays", among=2) == ["play", "zoo"]
    with pytest.raises(ValueError, match="no vector of 'bank'"):
        nearest_words(tmp_path / "glove.txt", "bank")


def test_context_finds_the_same_sense_and_a_static_vector_is_chance(tmp_path: Path):
    shares = neighbour_shares(CueLayers(), read_semcor(write_sense_data(tmp_path)))
    assert shares["layer 2"].same_pos.tolist() == [1.0] * 8
    assert shares["layer 2"].same_sense.tolist() == [1.0] * 6  # the verb has one sense, and is not judged
    assert shares["layer 0"].same_sense.tolist() == shares["chance"].same_sense.tolist() == [pytest.approx(2 / 5)] * 6
    assert shares["chance"].same_pos.tolist() == [pytest.approx(5 / 7)] * 6 + [pytest.approx(1 / 7)] * 2


def _of_targets(folder: Path) -> Iterable[np.ndarray]:
    wanted = [Target(number, 0, 1) for number in (2, 0, 1)]
    return [target_vectors(CueLayers(), SENTENCES, wanted), *sentence_vectors(CueLayers(), SENTENCES)]


def _of_contexts(folder: Path) -> Iterable[np.ndarray]:
    found = nearest_contexts(CueLayers(), [QUERY, QUERY], CORPUS, number=2)["average"]
    return [np.array([(one.sentence, one.index) for one in each]) for each in found]


def _of_shares(folder: Path) -> Iterable[np.ndarray]:
    shares = neighbour_shares(CueLayers(), read_semcor(write_sense_data(folder)))
    return [array for each in shares.values() for array in (each.same_pos, each.same_sense)]


@pytest.mark.parametrize("compute", [_of_targets, _of_contexts, _of_shares])
def test_batches_change_nothing(
    compute: Callable[[Path], Iterable[np.ndarray]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    before = compute(tmp_path / "before")
    monkeypatch.setattr(targets, "SENTENCES_PER_BATCH", 1)
    monkeypatch.setattr(sense_neighbours, "QUERIES_PER_BLOCK", 3)
    for left, right in zip(before, compute(tmp_path / "after"), strict=True):
        np.testing.assert_array_equal(left, right)


def test_a_linear_probe_learns_tags_from_layers_that_know_the_next_word():
    banks = [TaggedSentence(["bank", cue], [tag, "X"]) for cue, tag in (("loans", "MONEY"), ("flooded", "RIVER"))] * 40
    new = [TaggedSentence(["bank", "loans"], ["NEW", "X"])]
    scores = probe_tags(CueLayers(), TaggedSplits(banks, banks[:4], [*banks[:4], *new]), seed=3)
    assert scores["layer 2"].dev == 100 and scores["layer 0"].dev == 75  # `bank` is always the same there
    assert scores["layer 2"].hits == (*(True,) * 8, False, True)  # a tag that was never seen is an error
    assert probe_tags(CueLayers(), TaggedSplits(banks, banks[:4], [*banks[:4], *new]), seed=3) == scores
