"""Annotated text that probes read, vectors of chosen words, their neighbours, and what a linear probe finds in them."""

from pathlib import Path

import numpy as np
import pytest

from elmokit.tasks.tags.task import TaggedWords
from paper import probes
from paper.probes import (
    AVERAGE,
    EQUAL_SIZE,
    UPPER_AVERAGE,
    disambiguate,
    first_senses,
    mixes,
    nearest_sense,
    neighbour_shares,
    probe_tags,
    read_tagged,
    target_vectors,
)
from paper.senses import Instance, SenseCorpus, Senses, Target, read_inventory, read_semcor, read_sense_corpus, word_of
from toy_senses import INDEX_SENSE, MONEY, RIVER, RUN, CueLayers, instance, sense_xml, words, write_sense_data

FRAMEWORK = "tasks/wsd_raganato/wsd_raganato"
ABLE = "able%5:00:00:capable:00 00306663 2 0\nable%3:00:00:: 00001740 1 1\n"


def read(folder: Path, xml: str, keys: str) -> SenseCorpus:
    (folder / "x.data.xml").write_text(xml)
    (folder / "x.gold.key.txt").write_text(keys)
    return read_sense_corpus(folder / "x.data.xml", folder / "x.gold.key.txt")


@pytest.fixture
def inventory(tmp_path: Path) -> Senses:
    (tmp_path / "index.sense").write_text(INDEX_SENSE + ABLE)
    return read_inventory(tmp_path / "index.sense")


def test_multiwords_become_tokens_and_quotes_plain_and_only_xml_is_read(tmp_path: Path):
    sentences = [words("the ``") + instance("s1", "river bank", lemma="River_Bank"), instance("s2", "Q&amp;A")]
    corpus = read(tmp_path, sense_xml(sentences), f"s1 {RIVER} {MONEY}\ns2 {MONEY}\n")
    assert corpus.sentences == [["the", '"', "river", "bank"], ["Q&A"]]
    assert corpus.tags == [["X", "X", "NOUN", "NOUN"], ["NOUN"]]
    first, second = corpus.instances
    assert first == Instance("s1", "river_bank", "NOUN", Target(0, 2, 4), (RIVER, MONEY))
    (found,) = corpus.with_words({second.word})
    assert (found.tokens, found.tags, found.words) == (["Q&A"], ["NOUN"], [second])
    with pytest.raises(ValueError, match="is not XML: no element found"):
        read(tmp_path, "", "")


def test_wordnet_has_the_senses_of_a_word_in_order(inventory: Senses):
    assert inventory["bank", "NOUN"] == (RIVER, MONEY)
    assert inventory["able", "ADJ"] == ("able%3:00:00::", "able%5:00:00:capable:00")
    assert word_of(MONEY) == ("bank", "NOUN") and word_of("able%5:00:00:capable:00") == ("able", "ADJ")


def corpus(sentence: str, *, lemma: str = "bank") -> SenseCorpus:
    start = (tokens := sentence.split()).index("bank")
    return SenseCorpus([tokens], [Instance("s0", lemma, "NOUN", Target(0, start, start + 1), (MONEY,))], [])


def test_the_first_sense_fills_the_gaps_and_one_that_wordnet_lacks_is_found(inventory: Senses, tmp_path: Path):
    known = read_semcor(write_sense_data(tmp_path) / FRAMEWORK)
    asked = corpus("one bank loans")  # this WordNet lacks MONEY; it is found nevertheless, but comes last in a tie
    answers = disambiguate(CueLayers(), known=known, asked=asked, inventory={("bank", "NOUN"): (RIVER,)})
    assert (answers["layer 2"], answers["layer 0"]) == ({"s0": MONEY}, {"s0": RIVER})
    for lemma, expected in (("zoo", {"s0": "zoo%1:06:00::"}), ("zzz", {})):  # words that the corpus lacks
        asked = corpus("bank", lemma=lemma)
        assert disambiguate(CueLayers(), known=known, asked=asked, inventory=inventory)["layer 2"] == expected
        assert first_senses(asked, inventory) == expected


def test_the_nearest_mean_decides_and_a_zero_vector_is_a_tie():
    means = {"bank%1:99:00::": np.float32([1, 0]), MONEY: np.float32([0, 1]), RUN: np.float32([1, 1])}
    senses = [RIVER, MONEY, "bank%1:99:00::"]  # the first one has no mean
    assert nearest_sense(np.float32([1, 0.1]), senses, means) == "bank%1:99:00::"
    assert nearest_sense(np.float32([0, 0]), senses, means) == MONEY


def test_tagged_tokens_get_plain_brackets(tmp_path: Path):
    (tmp_path / "x.tsv").write_text("-LRB-\t-LRB-\n#\t#\n\n10\tCD\n")
    columns = [TaggedWords(["(", "#"], ["-LRB-", "#"]), TaggedWords(["10"], ["CD"])]
    assert read_tagged(tmp_path / "x.tsv", column="xpos") == columns


SENTENCES = [["the", "old", "bank"], ["bank"], ["a", "river", "bank", "flooded"]]
LAYERS = np.array([[[6.0, 0.0]], [[0.0, 2.0]], [[0.0, 4.0]]], np.float32)


def test_a_target_has_the_vector_of_its_token_and_several_tokens_their_mean():
    whole = CueLayers()(SENTENCES).numpy()
    found = target_vectors(CueLayers(), SENTENCES, [Target(2, 1, 3), Target(0, 2, 3)])
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


def test_batches_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    annotated = read_semcor(write_sense_data(tmp_path) / FRAMEWORK)

    def compute() -> list[np.ndarray]:
        vectors = target_vectors(CueLayers(), SENTENCES, [Target(number, 0, 1) for number in (2, 0, 1)])
        shares = [array for both in neighbour_shares(CueLayers(), annotated).values() for array in both]
        return [vectors, *shares]

    before = compute()
    monkeypatch.setattr(probes, "SENTENCES_PER_BATCH", 1)
    monkeypatch.setattr(probes, "QUERIES_PER_BLOCK", 3)
    for left, right in zip(before, compute(), strict=True):
        np.testing.assert_array_equal(left, right)


@pytest.mark.learnt
def test_a_tag_that_a_linear_probe_has_never_seen_is_an_error():
    banks = [TaggedWords(["bank", cue], [tag, "X"]) for cue, tag in (("loans", "MONEY"), ("flooded", "RIVER"))] * 40
    new = [TaggedWords(["bank", "loans"], ["NEW", "X"])]
    parts = (banks, banks[:4], [*banks[:4], *new])
    scores = probe_tags(CueLayers(), parts)
    assert scores["layer 2"].hits == (*(True,) * 8, False, True)
    assert probe_tags(CueLayers(), parts) == scores
