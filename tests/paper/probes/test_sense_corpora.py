"""Sense-annotated corpora: what is read of a good file, and that a strange one is refused with its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from paper.probes.sense_corpora import read_keys, read_sense_corpus
from paper.probes.targets import Target
from toy_senses import MONEY, RIVER, instance, sense_xml, words


def read(folder: Path, xml: str, keys: str):
    (folder / "x.data.xml").write_text(xml)
    (folder / "x.gold.key.txt").write_text(keys)
    return read_sense_corpus(folder / "x.data.xml", folder / "x.gold.key.txt")


def test_multiwords_become_tokens_and_quotes_plain(tmp_path: Path):
    sentences = [words("the ``") + instance("s1", "river bank", lemma="River_Bank"), instance("s2", "Q&amp;A")]
    corpus = read(tmp_path, sense_xml(sentences), f"s1 {RIVER} {MONEY}\ns2 {MONEY}\n")
    assert corpus.sentences == [["the", '"', "river", "bank"], ["Q&A"]]
    assert corpus.tags == [["X", "X", "NOUN", "NOUN"], ["NOUN"]]
    first, second = corpus.instances
    assert (first.name, first.lemma, first.pos, first.target) == ("s1", "river_bank", "NOUN", Target(0, 2, 4))
    assert second.target == Target(1, 0, 1) and corpus.keys["s1"] == [RIVER, MONEY]


ENTITIES = '<!DOCTYPE corpus [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><corpus><text>&b;</text></corpus>'


@pytest.mark.parametrize(
    ("xml", "message"),
    [
        (ENTITIES, "line 1: declares a document type"),
        (sense_xml(["<script>"]), "line 5: has an element 'script'"),
        (sense_xml([words("a")]).replace("</sentence>", ""), "is not XML: mismatched tag"),
        (sense_xml([instance("s1", pos="X")]), "line 5: has an instance .* one of"),
        (sense_xml([instance("s1", "  ")]), "expected id, lemma, text"),
        (f"<corpus>{words('a')}</corpus>", "a word outside a sentence"),
        (sense_xml([f"<wf>{words('a')}</wf>"]), "inside another word"),
        (sense_xml([instance("s2")]), "has no sense of s2"),
        ("", "is not XML: no element found"),
    ],
)
def test_anything_else_is_refused(tmp_path: Path, xml: str, message: str):
    with pytest.raises(ValueError, match=message):
        read(tmp_path, xml, f"s1 {MONEY}\n")


@pytest.mark.parametrize(
    ("keys", "message"), [("s1\n", "line 1.*no sense key"), ("s1 a\n\ns1 b\n", "line 3.*repeats s1")]
)
def test_keys_are_one_line_per_instance(tmp_path: Path, keys: str, message: str):
    (tmp_path / "keys.txt").write_text(keys)
    with pytest.raises(ValueError, match=message):
        read_keys(tmp_path / "keys.txt")
