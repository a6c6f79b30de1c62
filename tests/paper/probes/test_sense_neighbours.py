"""Neighbours that are alike, over a small corpus where the answer is known."""

from __future__ import annotations

from pathlib import Path

import pytest

from paper.probes import sense_neighbours
from paper.probes.sense_neighbours import neighbour_shares
from paper.table5 import read_semcor
from toy_senses import CueLayers, write_sense_data


def test_context_finds_the_same_sense_and_a_static_vector_is_chance(tmp_path: Path):
    shares = neighbour_shares(CueLayers(), read_semcor(write_sense_data(tmp_path)))
    assert shares["layer 2"].same_pos.tolist() == [1.0] * 8
    assert shares["layer 2"].same_sense.tolist() == [1.0] * 6  # the verb has one sense, and is not judged
    assert shares["layer 0"].same_sense.tolist() == shares["chance"].same_sense.tolist() == [pytest.approx(2 / 5)] * 6
    assert shares["chance"].same_pos.tolist() == [pytest.approx(5 / 7)] * 6 + [pytest.approx(1 / 7)] * 2


def test_blocks_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    corpus = read_semcor(write_sense_data(tmp_path))
    before = neighbour_shares(CueLayers(), corpus)
    monkeypatch.setattr(sense_neighbours, "QUERIES_PER_BLOCK", 3)
    after = neighbour_shares(CueLayers(), corpus)
    for row in before:
        assert before[row].same_sense.tolist() == after[row].same_sense.tolist()
        assert before[row].same_pos.tolist() == after[row].same_pos.tolist()
