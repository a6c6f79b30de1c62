"""IMS: its features by hand, and senses told apart by neighbours and by vectors of neighbours."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from elmokit.vectors import word_vector_source as static_layers
from elmokit.vectors.word_vector_source import WordVectorSource
from paper.comparators.ims import decayed_sum, train_ims
from paper.comparators.sense_words import SenseSentence, SenseWord
from toy_sense_sentences import senses, sentence, training

pytest.importorskip("sklearn")


@pytest.mark.parametrize("surrounding_words", [True, False])
def test_senses_are_told_apart_by_the_words_around(surrounding_words: bool):
    model = train_ims(training(), surrounding_words=surrounding_words)
    asked = [sentence("money", "my bank lends money"), sentence("river", "its bank of the river")]
    assert model.predict(asked, senses) == {"money": "bank%money", "river": "bank%river"}


def test_the_features_of_a_word_of_two_tokens_are_those_around_both():
    word = SenseWord("1", ("new_york", "NOUN"), 2, 4, ("new_york%city", "new_york%state"))
    around = SenseSentence(("He", "saw", "New", "York", "City", "today"), ("P", "V", "N", "N", "M", "A"), (word,))
    names = train_ims([around]).classifiers["new_york", "NOUN"].vectorizer.get_feature_names_out()
    assert set(names) == {
        *("tag -3 <none>", "tag -2 P", "tag -1 V", "tag 0 N", "tag 1 M", "tag 2 A", "tag 3 <none>"),
        *("-2 to -2 he", "-1 to -1 saw", "1 to 1 city", "2 to 2 today"),
        *("-2 to -1 he saw", "-1 to 1 saw city", "1 to 2 city today", "-3 to -1 <none> he saw"),
        *("-2 to 1 he saw city", "-1 to 2 saw city today", "1 to 3 city today <none>"),
        *("word he", "word saw", "word city", "word today"),
    }


def test_a_word_with_one_sense_or_none_in_the_corpus_needs_no_classifier():
    model = train_ims(training())
    asked = [sentence("one", "a dog barks"), sentence("none", "a cat sits")]
    assert model.predict(asked, senses) == {"one": "dog%animal", "none": "cat%animal"}
    unheard = SenseSentence(("a", "zebra"), ("X", "NOUN"), (SenseWord("z", ("zebra", "NOUN"), 1, 2),))
    assert model.predict([unheard], senses) == {}


def test_an_occurrence_with_two_senses_is_an_example_of_each():
    both = sentence("0", "the bank", senses=("bank%money", "bank%river"))
    assert set(train_ims([both]).classifiers["bank", "NOUN"].senses) == {"bank%money", "bank%river"}


def counted(read: Callable[..., object], reads: list[str]) -> Callable[..., object]:
    def and_count(*arguments: object, **more: object) -> object:
        reads.append("read")
        return read(*arguments, **more)

    return and_count


def test_vectors_of_unseen_neighbours_decide(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    words = {"money": "5 0", "cash": "5 0", "river": "0 5", "stream": "0 5"}
    (tmp_path / "vectors.txt").write_text("".join(f"{word} {vector}\n" for word, vector in words.items()))
    model = train_ims(training(), vectors=WordVectorSource(tmp_path / "vectors.txt"), surrounding_words=False)
    asked = [sentence("cash", "its bank has cash"), sentence("stream", "its bank has stream")]
    reads: list[str] = []
    monkeypatch.setattr(static_layers, "read_word_vectors", counted(static_layers.read_word_vectors, reads))
    assert model.predict(asked, senses) == {"cash": "bank%money", "stream": "bank%river"}
    assert len(reads) == 1  # the file, for all sentences together


def test_the_sum_decays_to_a_tenth_within_the_window():
    vectors = np.eye(25)
    total = decayed_sum(vectors, SenseWord("w", ("w", "NOUN"), 12, 14))
    assert total[11] == total[14] == 1
    assert total[2] == total[23] == pytest.approx(0.1)
    assert total[[1, 12, 13, 24]].tolist() == [0, 0, 0, 0]


def test_without_scikit_learn_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "sklearn.feature_extraction", None)
    with pytest.raises(ValueError, match=r"training sense classifiers needs scikit-learn.*pip install"):
        train_ims(training())
