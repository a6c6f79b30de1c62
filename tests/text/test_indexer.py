"""Rows of ids: bytes as bilm-tf has them, and numbers in dictionaries as ELMoForManyLangs has them."""

import numpy as np
import pytest

from elmokit.text.indexer import DictionarySpelling

WORDS = {"<oov>": 0, "<bos>": 1, "<eos>": 2, "<pad>": 3, "ab": 4}
SYMBOLS = {"a": 0, "b": 1, "<bos>": 2, "<eos>": 3, "<oov>": 4, "<pad>": 5, "<bow>": 6, "<eow>": 7}
NAMES = {"begin": "<bos>", "end": "<eos>", "unknown": "<oov>"}


def spelling(words: dict[str, int], symbols: dict[str, int], *, limit: int = 5) -> DictionarySpelling:
    return DictionarySpelling(words, symbols, limit, **NAMES)


def test_a_word_is_its_number_and_those_of_its_characters_each_shifted_by_one():
    rows = spelling(WORDS, SYMBOLS).rows(["ab", "ba", "밥", "<S>", "</S>", "abbb"])
    assert rows.tolist() == [
        [5, 8, 1, 2, 7, 6],  # <eow> opens a word and <bow> closes it, as in the original
        [1, 8, 2, 1, 7, 6],
        [1, 8, 5, 7, 6, 6],
        [2, 8, 3, 7, 6, 6],
        [3, 8, 4, 7, 6, 6],
        [1, 8, 1, 2, 2, 7],  # cut to three characters before it is looked up
    ]
    assert rows.dtype == np.int32


def test_either_dictionary_may_be_absent_and_keys_are_equal_for_equal_rows_only():
    assert spelling(WORDS, {}).rows(["ab", "<S>"]).tolist() == [[5], [2]]
    assert spelling({}, SYMBOLS).rows(["b"]).tolist() == [[8, 2, 7, 6, 6]]
    assert spelling(WORDS, SYMBOLS).rows([]).shape == (0, 6)
    spelled = spelling(WORDS, SYMBOLS)
    assert spelled.key("abbx") == spelled.key("abby") != spelled.key("ab")
    assert spelled.key("<S>") == spelled.key("<bos>")
    assert len(spelled.key("a" * 10**6)) == 3
    assert (spelled.num_cut(["abb", "abbb"]), spelled.limit) == (1, "3 characters")


@pytest.mark.parametrize(
    ("words", "symbols", "reason"),
    [
        ({}, {}, "neither a dictionary of words nor one of characters"),
        ({"a": 0}, {}, "words lacks <bos> and <eos> and <oov>"),
        (WORDS, {"a": 1}, "characters lacks .*<pad> and <eow> and <bow>"),
        (WORDS, SYMBOLS | {"x": 5}, "another character with the number of <pad>"),
    ],
)
def test_dictionaries_without_special_symbols_are_refused(words: dict[str, int], symbols: dict[str, int], reason: str):
    with pytest.raises(ValueError, match=reason):
        spelling(words, symbols)
