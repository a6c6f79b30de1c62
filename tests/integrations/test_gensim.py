"""Static vectors of a biLM as KeyedVectors: computed by hand, saved, read again and searched."""

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


def test_words_may_be_given_and_alone_have_layer_0(elmo: Elmo, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(integration, "BLOCK_SENTENCES", 1)
    texts = ["The bank lends.", "A bank."]
    keyed = averaged_vectors(elmo, texts, layers="average", words=["bank", "absent"], min_count=1)
    first, second = elmo.encode(texts, layers="average")
    assert keyed.index_to_key == ["bank"]
    np.testing.assert_allclose(keyed["bank"], (first[1] + second[1]) / 2, atol=1e-6)
    keyed = word_vectors(elmo, ["bank", "banks", "river", "bank"])
    assert keyed.index_to_key == ["bank", "banks", "river"]
    layer = elmo.encode([["the", "river"]], layers=0)[0]
    np.testing.assert_allclose(keyed["river"], layer[1], atol=1e-6)


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
    assert [keyed.get_vecattr(word, "count") for word in ("the", "bank", "of")] == [3, 2, 1]


def test_what_gives_no_vector_and_a_single_string_are_refused(elmo: Elmo):
    for call, message in (
        (lambda: averaged_vectors(elmo, SENTENCES, layers="all"), "layers is 'all'; a word has one vector"),
        (lambda: averaged_vectors(elmo, SENTENCES, min_count=9), "no word would have a vector"),
        (lambda: word_vectors(elmo, []), "no word would have a vector"),
        (lambda: word_vectors(elmo, "walk"), "words is one string, 'walk'; expected a list"),
        (lambda: averaged_vectors(elmo, "walk"), "sentences is one string, 'walk'; expected a list"),
        (lambda: averaged_vectors(elmo, [["a"]], words="bank"), "words is one string, 'bank'; expected a list"),
    ):
        with pytest.raises(ValueError, match=message):
            call()
