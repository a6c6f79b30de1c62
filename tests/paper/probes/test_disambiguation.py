"""Senses by the nearest mean: context decides, a static vector cannot, and WordNet's first sense fills the gaps."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from paper.probes.disambiguation import SenseMeans, disambiguate, first_senses
from paper.probes.sense_corpora import Instance, SenseCorpus
from paper.probes.targets import Target
from paper.probes.wordnet import read_inventory
from paper.table5 import read_semcor
from toy_senses import MONEY, RIVER, RUN, CueLayers, write_sense_data


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write_sense_data(tmp_path)


def corpus(*sentences: str, pos: str = "NOUN", lemma: str = "bank") -> SenseCorpus:
    tokens = [sentence.split() for sentence in sentences]
    instances = [
        Instance(f"s{number}", lemma, pos, Target(number, words.index("bank"), words.index("bank") + 1))
        for number, words in enumerate(tokens)
    ]
    return SenseCorpus(tokens, instances, {each.name: [MONEY] for each in instances})


def test_the_next_word_decides_where_the_layer_knows_it(data: Path):
    inventory = read_inventory(data / "tasks/wordnet30/wordnet30/index.sense")
    asked = corpus("one bank loans", "one bank flooded")
    answers = disambiguate(CueLayers(), known=read_semcor(data), asked=asked, inventory=inventory)
    assert answers["layer 1"] == answers["layer 2"] == {"s0": MONEY, "s1": RIVER}
    assert answers["layer 0"] == {"s0": RIVER, "s1": RIVER}  # a tie: the first sense in WordNet
    assert len(answers) == 6


def test_a_word_that_the_corpus_lacks_gets_its_first_sense_and_an_unknown_one_none(data: Path):
    inventory = read_inventory(data / "tasks/wordnet30/wordnet30/index.sense")
    zoo, nothing = corpus("bank", lemma="zoo"), corpus("bank", lemma="zzz")
    assert disambiguate(CueLayers(), known=read_semcor(data), asked=zoo, inventory=inventory)["layer 2"] == {
        "s0": "zoo%1:06:00::"
    }
    assert disambiguate(CueLayers(), known=read_semcor(data), asked=nothing, inventory=inventory)["average"] == {}
    assert first_senses(zoo, inventory) == {"s0": "zoo%1:06:00::"} and first_senses(nothing, inventory) == {}


def test_a_sense_that_wordnet_lacks_comes_last_and_a_zero_vector_is_a_tie(data: Path):
    inventory = read_inventory(data / "tasks/wordnet30/wordnet30/index.sense")
    means = {"bank%1:99:00::": np.float32([1, 0]), MONEY: np.float32([0, 1]), RUN: np.float32([1, 1])}
    table = SenseMeans(means, inventory)
    assert table.nearest(("bank", "NOUN"), np.float32([1, 0.1])) == "bank%1:99:00::"
    assert table.nearest(("bank", "NOUN"), np.float32([0, 0])) == MONEY
