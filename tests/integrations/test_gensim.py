"""Static vectors of a biLM as KeyedVectors: computed by hand, saved, read again and searched."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from elmokit.elmo.elmo import Elmo
from elmokit.integrations import gensim as integration
from elmokit.integrations.embed_with import embed_with
from elmokit.integrations.gensim import averaged_vectors, word_vectors
from elmokit.vectors.files import load_vectors
from elmokit.vectors.jobs.types import embed_types
from toy_bilm import random_bilm

pytest.importorskip("gensim")

SENTENCES = [["the", "bank", "of", "the", "river"], [], ["the", "bank"], ["a", "river"]]


@pytest.fixture(scope="module")
def elmo() -> Elmo:
    return Elmo(random_bilm())


def test_an_average_is_over_the_occurrences_of_a_word(elmo: Elmo, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(integration, "BLOCK_SENTENCES", 2)
    keyed = averaged_vectors(elmo, SENTENCES, layers="average", min_count=2)
    first, _, third, fourth = elmo.encode(SENTENCES, layers="average")
    expected = {"the": (first[0] + first[3] + third[0]) / 3, "bank": (first[1] + third[1]) / 2}
    assert keyed.index_to_key == ["the", "bank", "river"]  # `of` and `a` occur once
    for word, vector in expected.items():
        np.testing.assert_allclose(keyed[word], vector, atol=1e-6)
    np.testing.assert_allclose(keyed["river"], (first[4] + fourth[1]) / 2, atol=1e-6)
    assert [keyed.get_vecattr(word, "count") for word in keyed.index_to_key] == [3, 2, 2]


def test_words_and_text_may_be_given(elmo: Elmo):
    keyed = averaged_vectors(elmo, ["The bank lends.", "A bank."], words=["bank", "absent"], min_count=1)
    assert keyed.index_to_key == ["bank"]


def test_the_vector_of_a_word_alone_is_its_token_representation(elmo: Elmo):
    keyed = word_vectors(elmo, ["bank", "banks", "river", "bank"])
    assert keyed.index_to_key == ["bank", "banks", "river"]
    layer = elmo.encode([["the", "river"]], layers=0)[0]
    np.testing.assert_allclose(keyed["river"], layer[1], atol=1e-6)


def test_the_nearest_words_are_those_of_the_cosine(elmo: Elmo):
    keyed = word_vectors(elmo, ["bank", "banks", "river", "x"])
    similar = keyed.most_similar("bank", topn=3)
    cosines = elmo.similarity(keyed["bank"], keyed[["banks", "river", "x"]])
    assert dict(similar) == pytest.approx(dict(zip(["banks", "river", "x"], cosines, strict=True)), abs=1e-5)
    assert [cosine for _, cosine in similar] == sorted((cosine for _, cosine in similar), reverse=True)


@pytest.mark.parametrize("binary", [False, True])
def test_vectors_are_saved_as_word2vec_does_and_a_comparator_reads_them(elmo: Elmo, binary: bool, tmp_path: Path):
    keyed = averaged_vectors(elmo, SENTENCES, min_count=1)
    path = tmp_path / ("words.bin" if binary else "words.vec")
    keyed.save_word2vec_format(str(path), binary=binary)
    again = type(keyed).load_word2vec_format(str(path), binary=binary)
    np.testing.assert_allclose(again.vectors, keyed.vectors, rtol=1e-6)
    (tmp_path / "lines.txt").write_text("the river\n", encoding="utf-8")
    embed_with("static", str(path), tmp_path / "lines.txt", tmp_path / "out.npy")
    np.testing.assert_allclose(load_vectors(tmp_path / "out.npy")[0].squeeze(), keyed[["the", "river"]], rtol=1e-3)


def test_gensim_reads_the_words_of_a_text_to_the_bit(elmo: Elmo, tmp_path: Path):
    (tmp_path / "lines.txt").write_text("".join(f"{' '.join(sentence)}\n" for sentence in SENTENCES))
    embed_types(elmo, tmp_path / "lines.txt", tmp_path / "words.vec", min_count=1)
    keyed = averaged_vectors(elmo, SENTENCES, min_count=1)
    again = type(keyed).load_word2vec_format(str(tmp_path / "words.vec"))
    assert again.index_to_key == keyed.index_to_key
    np.testing.assert_array_equal(again.vectors, keyed.vectors)


def test_vectors_are_saved_in_the_format_of_gensim(elmo: Elmo, tmp_path: Path):
    keyed = word_vectors(elmo, ["bank", "river"])
    keyed.save(str(tmp_path / "words.kv"))
    again = type(keyed).load(str(tmp_path / "words.kv"))
    assert again.index_to_key == keyed.index_to_key
    np.testing.assert_array_equal(again.vectors, keyed.vectors)


def test_what_gives_no_vector_is_refused(elmo: Elmo, monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(ValueError, match="layers is 'all'; a word has one vector"):
        averaged_vectors(elmo, SENTENCES, layers="all")
    with pytest.raises(ValueError, match="no word would have a vector"):
        averaged_vectors(elmo, SENTENCES, min_count=9)
    with pytest.raises(ValueError, match="no word would have a vector"):
        word_vectors(elmo, [])
    monkeypatch.setitem(sys.modules, "gensim.models", None)
    with pytest.raises(ValueError, match=r"needs gensim.*pip install 'elmokit\[gensim\]'"):
        word_vectors(elmo, ["bank"])


def test_a_single_string_is_not_taken_for_its_letters(elmo: Elmo):
    for call in (
        lambda: word_vectors(elmo, "walk"),
        lambda: averaged_vectors(elmo, "walk"),
        lambda: averaged_vectors(elmo, [["a"]], words="bank"),
    ):
        with pytest.raises(ValueError, match=r"is one string, .*; expected a list"):
            call()
