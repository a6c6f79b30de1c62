from __future__ import annotations

import unicodedata
import warnings

import pytest

from elmokit.elmo.elmo import Elmo
from elmokit.elmo.text_warnings import unread_script
from elmokit.text.vocabulary import Vocabulary
from toy_bilm import random_bilm

KOREAN = [["나는", "학교에", "갔다", "."], ["밥을", "먹었다", "."]]


def test_text_that_a_model_has_not_read_is_noticed_once_and_the_better_model_named():
    english, korean = Elmo("mini-en"), Elmo("mini-ko")
    with pytest.warns(
        UserWarning, match="written in Hangul, of which mini-en has read almost nothing; use mini-ko, which"
    ):
        english.encode(KOREAN)
    with pytest.warns(
        UserWarning, match="written in Latin, of which mini-ko has read almost nothing; use mini-en, which"
    ):
        korean.encode(["I sat on the bank of the river."])
    english.encode(KOREAN)  # warnings are errors in these tests
    korean.encode(KOREAN)
    Elmo("mini-en").encode([["Jane", "lives", "in", "서울", "."], ["3", "."], []])


def test_scripts_that_no_bundled_model_has_read_need_training():
    with pytest.warns(UserWarning, match="written in Cyrillic, .* train a model on such text"):
        Elmo("mini-en").encode([["Привет", ",", "мир"]])
    with pytest.warns(UserWarning, match="written in Chinese characters, .* train a model on such text"):
        Elmo("mini-en").encode([["我", "在", "河岸"]])


def test_without_a_vocabulary_nothing_is_known():
    vocabulary = Vocabulary(["<S>", "</S>", "<UNK>", "the", "bank"])
    assert unread_script(None, KOREAN) is None
    assert unread_script(vocabulary, [["12", "."]]) is None
    assert unread_script(vocabulary, KOREAN) == "HANGUL"


def test_tokens_that_are_not_in_nfc_are_noticed_once():
    decomposed = [[unicodedata.normalize("NFD", token) for token in sentence] for sentence in KOREAN]
    korean = Elmo("mini-ko")
    with pytest.warns(UserWarning, match=r"5 of 7 tokens are not in Unicode NFC, .* and mini-ko has read only NFC; "):
        korean.encode(decomposed)
    korean.encode(decomposed)
    Elmo("mini-ko").encode([*KOREAN, [unicodedata.normalize("NFC", "\u1112\u119e\u11ab")]])  # has no other spelling


@pytest.mark.parametrize(
    ("token", "shown"), [("the bank", "'the bank'"), ("", "''"), (" a", "' a'"), ("a\n", r"'a\\n'"), ("a\tb", ".*")]
)
def test_what_is_not_one_token_is_noticed_once(token: str, shown: str):
    elmo = Elmo("mini-en")
    said = f"1 of 3 tokens are empty or contain spaces, such as {shown}; no model has read such tokens: give sent"
    with pytest.warns(UserWarning, match=said):
        elmo.encode([["We", token], ["sat"]])
    elmo.encode([["We", token], ["sat"]])
    Elmo("mini-en").encode([["We", "10\xa0cm", "a\u2028b", "\u3000"], [], "", " a b "])


@pytest.mark.parametrize(("token", "mark"), [("-LRB-", r"\("), ("``", '"')])
def test_marks_of_the_penn_treebank_are_noticed_once(token: str, mark: str):
    elmo = Elmo("mini-en")
    with pytest.warns(UserWarning, match=f"such as {token}, where mini-en has read {mark}; replace them"):
        elmo.encode([["We", token, "sat"]])
    elmo.encode([["We", token, "sat"]])
    Elmo(random_bilm(seed=7, std=0.4), Vocabulary(["<S>", "</S>", "<UNK>", "(", token])).encode([["We", token]])


def test_a_model_that_has_read_decomposed_tokens_may_read_more():
    token = unicodedata.normalize("NFD", "밥을")
    Elmo(random_bilm(seed=7, std=0.4), Vocabulary(["<S>", "</S>", "<UNK>", token])).encode([[token, "밥을"]])


def test_text_whose_surprisal_is_computed_in_pieces_is_looked_at_too():
    with pytest.warns(UserWarning, match="written in Hangul, of which mini-en has read almost nothing"):
        list(Elmo("mini-en").surprisal_model().read(KOREAN))


def test_the_warning_points_at_the_caller():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        Elmo("mini-en").encode(KOREAN)
        Elmo("mini-en").encode_sentences(KOREAN)
        Elmo("mini-en").surprisal(KOREAN)
    assert [warning.filename for warning in caught] == [__file__] * 3
