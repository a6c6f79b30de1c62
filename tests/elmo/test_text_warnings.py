"""What users give in place of sentences, and text that a model has not read: each mistake is named."""

import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import pytest

from elmokit.elmo.encoding import tokens_of_each
from elmokit.elmo.text_warnings import TextWarnings
from elmokit.formats.find import resolve_model
from elmokit.formats.native import read_vocabulary
from elmokit.text.spelling import ByteSpelling
from elmokit.text.vocabulary import Vocabulary
from toy_bilm import toy_elmo

KOREAN = [["나는", "학교에", "갔다", "."], ["밥을", "먹었다", "."]]
GERMAN = (
    "Der alte Mann ging langsam durch die Straße und dachte an seine Frau , die vor vielen Jahren gestorben war . "
    "Niemand wusste , warum das Haus am Ende leer stand ."
)
DECOMPOSED = [[unicodedata.normalize("NFD", token) for token in sentence] for sentence in KOREAN]
NOT_ONE_TOKEN = {"the bank": "'the bank'", "": "''", " a": "' a'", "a\n": r"'a\\n'", "a\tb": "'a"}


@lru_cache
def vocabulary_of(model: str) -> Vocabulary:
    return read_vocabulary(resolve_model(model) / "vocabulary.txt")


def check(sentences: Sequence[str | list[str]], model: str = "small-en", vocabulary: Vocabulary | None = None) -> None:
    """Look at a text twice, as a bundled model would; warnings are errors in these tests."""
    vocabulary = vocabulary or vocabulary_of(model)
    about = TextWarnings(spelling=ByteSpelling(50), vocabulary=vocabulary, name=model, unknown_share=0.02)
    about.check(tokens_of_each(sentences))
    about.check(tokens_of_each(sentences))


@pytest.mark.parametrize(
    ("model", "sentences", "message"),
    [
        ("small-en", KOREAN, "written in Hangul, but small-en has read almost no Hangul; use mini-ko, which"),
        ("mini-ko", ["I sat on a bank."], "written in Latin, but mini-ko has read almost no Latin; use small-en,"),
        ("small-en", [["Привет", ",", "мир"]], "written in Cyrillic, .* train a model on such text"),
        ("small-en", [["我", "在", "河岸"]], "written in Chinese characters, .* train a model on such text"),
        (
            "small-en",
            [GERMAN.split()] * 5,
            r"38% of the first 160 tokens are not in the vocabulary of small-en, compared with 2%",
        ),
        ("small-en", [["We", "-LRB-", "sat"]], r"such as -LRB-, where small-en has read \(; replace them"),
        (
            "small-en",
            [["<s>", "We", "sat", ".", "</s>"]],
            "2 of 5 tokens, such as <s>, are special tokens of a language",
        ),
        *(
            ("small-en", [["We", token, "sat", "."]], "1 of 4 tokens, such as .*, are special tokens")
            for token in ("<S>", "<unk>", "<UNK>", "<pad>", "[CLS]", "[MASK]", "<|endoftext|>")
        ),
        ("small-en", [["we", "sat", "there"]] * 100, "the text has neither capitals nor marks .* small-en has read"),
        ("small-en", [["We", "``", "sat"]], 'such as ``, where small-en has read "; replace them'),
        ("mini-ko", DECOMPOSED, "5 of 7 tokens are not in Unicode NFC, .* and mini-ko has read only NFC; "),
        *(
            ("small-en", [["We", token], ["sat"]], f"1 of 3 tokens are empty or contain spaces, such as {shown}")
            for token, shown in NOT_ONE_TOKEN.items()
        ),
    ],
)
def test_text_that_a_model_has_not_read_is_noticed_once(
    model: str, sentences: list[str | list[str]], message: str
) -> None:
    with pytest.warns(UserWarning, match=message) as said:
        check(sentences, model)
    assert len(said) == 1


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
    with pytest.warns(UserWarning, match="written in Hangul, but this model has") as caught:
        toy_elmo().encode(KOREAN)
        toy_elmo().encode_sentences(KOREAN)
        toy_elmo().surprisal(KOREAN)
        list(toy_elmo().surprisal_model().read(KOREAN))
    assert [warning.filename for warning in caught] == [__file__] * 4


class DataFrame(list[str]):
    """Iterates over the names of its columns, as that of pandas does."""

    columns = ("text", "label")


def test_strings_are_tokenised_lists_are_used_unchanged_and_what_is_quoted_is_short():
    expected = [["Jane", "slept", "."], ["a", "b."], []]
    given = ["Jane slept.", ("a", "b."), []]
    assert tokens_of_each(given) == expected
    assert tokens_of_each(iter(given)) == expected
    assert tokens_of_each(dict(enumerate(given)).values()) == expected  # no sequence, like those of pandas and polars
    assert tokens_of_each(np.array([["a", "b"], ["c", "d"]])) == [["a", "b"], ["c", "d"]]  # pyright: ignore
    with pytest.raises(ValueError) as refusal:
        tokens_of_each([b"\x1b" * 1000])  # pyright: ignore[reportArgumentType]
    assert len(str(refusal.value)) < 200 and "\x1b" not in str(refusal.value)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([None], "sentence 0 is None (NoneType); expected a string or a list of tokens (str)"),
        ({0: "a", 1: np.nan}.values(), "sentence 1 is nan (float); expected a string or a list of tokens (str)"),
        (["a", 3], "sentence 1 is 3 (int); expected a string or a list of tokens (str)"),
        (["a", b"b"], "sentence 1 is b'b' (bytes); expected a string"),
        (["a", {"text": "b"}], "sentence 1 is of type dict; expected a string"),
        ([["a", None]], "token 1 of sentence 0 is None (NoneType); expected a string"),
        ([[["a"]]], "token 0 of sentence 0 is of type list; expected a string"),
        (np.array(["a"])[0:1].reshape(()), "the sentences are of type ndarray; expected a list of sentences"),
        ({"a": "b"}, "the sentences are of type dict; expected a list of sentences"),
        ({"a", "b"}, "the sentences are of type set; expected a list of sentences"),
        (b"a", "the sentences are b'a' (bytes); expected a list of sentences"),
        (DataFrame(["text", "label"]), "the sentences are of type DataFrame; expected a list of sentences"),
    ],
)
def test_anything_else_is_named_with_its_place_and_type(given: Any, message: str):
    with pytest.raises(ValueError) as refusal:
        tokens_of_each(given)
    assert str(refusal.value).startswith(message)
