"""Input that is not sentences, and text of a kind that a model has not read: messages name each mistake."""

import unicodedata
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from elmokit.elmo.encoding import tokens_of_each
from elmokit.elmo.text_warnings import TextWarnings
from elmokit.formats.find import resolve_model
from elmokit.formats.native import read_vocabulary
from elmokit.text.spelling import ByteSpelling
from elmokit.text.vocabulary import Vocabulary
from refusals import refusals
from toy_bilm import toy_elmo

KOREAN = [["나는", "학교에", "갔다", "."], ["밥을", "먹었다", "."]]
GERMAN = (
    "Der alte Mann ging langsam durch die Straße und dachte an seine Frau , die vor vielen Jahren gestorben war . "
    "Niemand wusste , warum das Haus am Ende leer stand ."
)
DECOMPOSED = [[unicodedata.normalize("NFD", token) for token in sentence] for sentence in KOREAN]


@lru_cache
def vocabulary_of(model: str) -> Vocabulary:
    return read_vocabulary(resolve_model(model) / "vocabulary.txt")


def check(sentences: Sequence[str | list[str]], model: str = "small-en", vocabulary: Vocabulary | None = None) -> None:
    """Look at a text twice, as a bundled model would; warnings are errors in these tests."""
    vocabulary = vocabulary or vocabulary_of(model)
    about = TextWarnings(spelling=ByteSpelling(50), vocabulary=vocabulary, name=model, unknown_share=0.02)
    about.check(tokens_of_each(sentences))
    about.check(tokens_of_each(sentences))


GIVEN = (
    *(("small-en", KOREAN), ("mini-ko", ["I sat on a bank."]), ("mini-ko", DECOMPOSED)),
    *(("small-en", [["Привет", ",", "мир"]]), ("small-en", [["我", "在", "河岸"]]), ("small-en", [GERMAN.split()] * 5)),
    *(("small-en", [["we", "sat", "there"]] * 100), ("small-en", [["<s>", "We", "sat", ".", "</s>"]])),
    *(("small-en", [["We", mark, "sat"]]) for mark in ("-LRB-", "``")),
    *(
        ("small-en", [["We", token, "sat", "."]])
        for token in ("<S>", "<unk>", "<UNK>", "<pad>", "[CLS]", "[MASK]", "<|endoftext|>")
    ),
    *(("small-en", [["We", token], ["sat"]]) for token in ("the bank", "", " a", "a\n", "a\tb")),
)


def test_text_that_a_model_has_not_read_is_noticed_once(snapshot: SnapshotAssertion) -> None:
    said: list[str] = []
    for model, sentences in GIVEN:
        with pytest.warns(UserWarning) as warned:
            check(sentences, model)
        said += [str(warning.message) for warning in warned]
    assert len(said) == len(GIVEN) and said == snapshot


def test_what_a_model_has_read_is_not_warned_of() -> None:
    check([["Jane", "lives", "in", "서울", "."], ["3", "."], []])
    check([["we", "sat", "there"]] * 99 + [["We", "sat", "."]] + [["you"]] * 9)
    check([["a", "<", "b", ">", "[", "CLS", "]", "<b>", "[x]"]])
    check([["we", "sat"]] * 300, vocabulary=Vocabulary(["<S>", "</S>", "<UNK>", "we", "sat"]))
    check([["We", "10\xa0cm", "a\u2028b", "\u3000"], [], "", " a b "])
    check([*KOREAN, [unicodedata.normalize("NFC", "\u1112\u119e\u11ab")]], "mini-ko")  # has no other spelling
    decomposed = unicodedata.normalize("NFD", "밥을")
    check([[decomposed, "밥을"]], vocabulary=Vocabulary(["<S>", "</S>", "<UNK>", decomposed]))
    for mark in ("-LRB-", "``"):
        check([["We", mark]], vocabulary=Vocabulary(["<S>", "</S>", "<UNK>", "(", '"', mark]))


def test_whatever_reads_text_looks_at_it_and_the_warning_points_at_the_caller() -> None:
    with pytest.warns(UserWarning, match="written in Hangul, but this model was") as caught:
        toy_elmo().encode(KOREAN)
        toy_elmo().encode_sentences(KOREAN)
        toy_elmo().surprisal(KOREAN)
        list(toy_elmo().surprisal_model().read(KOREAN))
    assert [warning.filename for warning in caught] == [__file__] * 4


class DataFrame(list[str]):
    """Iterates over the names of its columns, like a DataFrame of pandas."""

    columns = ("text", "label")


def test_strings_are_tokenised_lists_are_used_unchanged_and_what_is_quoted_is_short():
    expected = [["Jane", "slept", "."], ["a", "b."], []]
    given = ["Jane slept.", ("a", "b."), []]
    assert tokens_of_each(given) == expected
    assert tokens_of_each(iter(given)) == expected
    assert tokens_of_each(dict(enumerate(given)).values()) == expected  # not a sequence, as in pandas and polars
    assert tokens_of_each(np.array([["a", "b"], ["c", "d"]])) == [["a", "b"], ["c", "d"]]  # pyright: ignore
    with pytest.raises(ValueError) as refusal:
        tokens_of_each([b"\x1b" * 1000])  # pyright: ignore[reportArgumentType]
    assert len(str(refusal.value)) < 200 and "\x1b" not in str(refusal.value)


def test_anything_else_is_named_with_its_place_and_type(snapshot: SnapshotAssertion):
    sentences = ([None], {0: "", 1: np.nan}.values(), ["a", 3], ["a", b"b"], ["a", {"b": ""}], [["a", None]], [[[""]]])
    others = (np.array(["a"])[0:1].reshape(()), {"a": "b"}, {"a", "b"}, b"a", DataFrame(["text", "label"]))
    assert refusals(tokens_of_each, (*sentences, *others)) == snapshot
