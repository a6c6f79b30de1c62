"""Sense corpora, WordNet's index and tagged text: what is read of a good file, a strange one is refused with its line;
and senses by the nearest mean, where context decides, a static vector cannot, and the first sense fills the gaps."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pytest

from paper.probes.disambiguation import SenseMeans, disambiguate, first_senses
from paper.probes.sense_corpora import (
    Instance,
    SenseCorpus,
    SenseInventory,
    read_inventory,
    read_keys,
    read_sense_corpus,
    word_of,
)
from paper.probes.tag_probe import UPOS, XPOS, TaggedSentence, read_conllu, read_tagged
from paper.probes.targets import Target
from paper.table5 import read_semcor
from toy_senses import INDEX_SENSE, MONEY, RIVER, RUN, CueLayers, instance, sense_xml, words, write_sense_data

ABLE = "able%5:00:00:capable:00 00306663 2 0\nable%3:00:00:: 00001740 1 1\n"


def read(folder: Path, xml: str, keys: str) -> SenseCorpus:
    (folder / "x.data.xml").write_text(xml)
    (folder / "x.gold.key.txt").write_text(keys)
    return read_sense_corpus(folder / "x.data.xml", folder / "x.gold.key.txt")


@pytest.fixture
def inventory(tmp_path: Path) -> SenseInventory:
    (tmp_path / "index.sense").write_text(INDEX_SENSE + ABLE)
    return read_inventory(tmp_path / "index.sense")


def test_multiwords_become_tokens_and_quotes_plain(tmp_path: Path):
    sentences = [words("the ``") + instance("s1", "river bank", lemma="River_Bank"), instance("s2", "Q&amp;A")]
    corpus = read(tmp_path, sense_xml(sentences), f"s1 {RIVER} {MONEY}\ns2 {MONEY}\n")
    assert corpus.sentences == [["the", '"', "river", "bank"], ["Q&A"]]
    assert corpus.tags == [["X", "X", "NOUN", "NOUN"], ["NOUN"]]
    first, second = corpus.instances
    assert first == Instance("s1", "river_bank", "NOUN", Target(0, 2, 4), (RIVER, MONEY))
    (found,) = corpus.with_words({second.word})
    assert (found.tokens, found.tags, found.words) == (["Q&A"], ["NOUN"], [second])


@pytest.mark.parametrize(
    ("xml", "message"),
    [
        (sense_xml([words("a"), "<script/>"]), "sentence 2: has an element 'script'"),
        (sense_xml([words("a")]).replace("</sentence>", ""), "is not XML: mismatched tag"),
        (sense_xml([instance("s1", pos="X")]), "sentence 1: has an instance .* one of"),
        (sense_xml([instance("s1", "  ")]), "expected id, lemma, text"),
        (sense_xml([f"<wf>{words('a')}</wf>"]), "has an element 'wf'; expected wf or instance, with text"),
        (sense_xml([instance("s2")]), "has no sense of s2"),
        ("", "is not XML: no element found"),
    ],
)
def test_a_strange_corpus_is_refused(tmp_path: Path, xml: str, message: str):
    with pytest.raises(ValueError, match=message):
        read(tmp_path, xml, f"s1 {MONEY}\n")


@pytest.mark.parametrize(
    ("reader", "text", "message"),
    [
        (read_keys, "s1\n", "line 1.*no sense key"),
        (read_keys, "s1 a\n\ns1 b\n", "line 3.*repeats s1"),
        (read_inventory, f"{INDEX_SENSE}bank 1 2 3\n", "line 5: is .* expected a line of index.sense"),
        (read_inventory, "bank%6:00:00:: 00306663 1 0\n", "line 1: is .* expected a line"),
        (read_inventory, "bank%1:14:00:: 00306663 1\n", "line 1: is .* expected a line"),
        (read_tagged, "the\tDT\textra\n", "lines 1-1: 3 columns; expected 2"),
        (partial(read_conllu, column=UPOS), "1\tthe\n", "lines 1-1: 2 columns; expected 10"),
    ],
)
def test_a_strange_line_is_refused(reader, text: str, message: str, tmp_path: Path):
    (tmp_path / "file.txt").write_text(text)
    with pytest.raises(ValueError, match=message):
        reader(tmp_path / "file.txt")


def test_wordnet_has_the_senses_of_a_word_in_order(inventory: SenseInventory):
    assert inventory.senses(("bank", "NOUN")) == (RIVER, MONEY)
    assert inventory.senses(("able", "ADJ")) == ("able%3:00:00::", "able%5:00:00:capable:00")
    assert inventory.senses(("bank", "ADV")) == ()
    assert word_of(MONEY) == ("bank", "NOUN") and word_of("able%5:00:00:capable:00") == ("able", "ADJ")
    with pytest.raises(ValueError, match="'bank' is not a sense key"):
        word_of("bank")


def corpus(*sentences: str, lemma: str = "bank") -> SenseCorpus:
    tokens = [sentence.split() for sentence in sentences]
    places = [Target(number, each.index("bank"), each.index("bank") + 1) for number, each in enumerate(tokens)]
    return SenseCorpus(tokens, [Instance(f"s{at.sentence}", lemma, "NOUN", at, (MONEY,)) for at in places], [])


def test_the_next_word_decides_and_the_first_sense_fills_the_gaps(inventory: SenseInventory, tmp_path: Path):
    known = read_semcor(write_sense_data(tmp_path))
    answers = disambiguate(
        CueLayers(), known=known, asked=corpus("one bank loans", "one bank flooded"), inventory=inventory
    )
    assert answers["layer 1"] == answers["layer 2"] == {"s0": MONEY, "s1": RIVER}
    assert answers["layer 0"] == {"s0": RIVER, "s1": RIVER}  # a tie: the first sense in WordNet
    assert len(answers) == 6
    for lemma, expected in (("zoo", {"s0": "zoo%1:06:00::"}), ("zzz", {})):  # words that the corpus lacks
        asked = corpus("bank", lemma=lemma)
        assert disambiguate(CueLayers(), known=known, asked=asked, inventory=inventory)["layer 2"] == expected
        assert first_senses(asked, inventory) == expected


def test_a_sense_that_wordnet_lacks_comes_last_and_a_zero_vector_is_a_tie(inventory: SenseInventory):
    means = {"bank%1:99:00::": np.float32([1, 0]), MONEY: np.float32([0, 1]), RUN: np.float32([1, 1])}
    table = SenseMeans(means, inventory)
    assert table.nearest(("bank", "NOUN"), np.float32([1, 0.1])) == "bank%1:99:00::"
    assert table.nearest(("bank", "NOUN"), np.float32([0, 0])) == MONEY


def test_conllu_words_without_ranges_empty_nodes_and_comments(tmp_path: Path):
    row = "{}\t{}\tlemma\t{}\t{}\t_\t0\troot\t_\t_\n"
    rows = [("1-2", "don't", "_", "_"), ("1", "do", "AUX", "VBP"), ("2", "n't", "PART", "RB"), ("2.1", "x", "X", "X")]
    first = "".join(row.format(*each) for each in rows)
    (tmp_path / "x.conllu").write_text(f"# text = don't\n{first}\n# sent_id = 2\n{row.format(1, '#', 'SYM', '#')}")
    sentences = [TaggedSentence(["do", "n't"], ["AUX", "PART"]), TaggedSentence(["#"], ["SYM"])]
    assert read_conllu(tmp_path / "x.conllu", column=UPOS) == sentences
    assert read_conllu(tmp_path / "x.conllu", column=XPOS)[0].tags == ["VBP", "RB"]
    (tmp_path / "x.tsv").write_text("-LRB-\t-LRB-\n#\t#\n\n10\tCD\n")
    columns = [TaggedSentence(["(", "#"], ["-LRB-", "#"]), TaggedSentence(["10"], ["CD"])]  # with plain brackets
    assert read_tagged(tmp_path / "x.tsv") == columns
