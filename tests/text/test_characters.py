"""Character ids: bytes by bilm-tf's conventions (docs/model.md, section 1), and numbers from dictionaries."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from elmokit.text.characters import batch_character_ids, character_ids
from elmokit.text.spelling import DictionarySpelling
from elmokit.text.vocabulary import Vocabulary
from refusals import refusals, refused_files

TEXT = st.text(st.characters(), max_size=40)  # any code point, lone surrogates too


@pytest.mark.parametrize(
    ("token", "size", "ids"),
    [
        ("밥", 7, [258, 235, 176, 165, 259]),
        ("", 5, [258, 259]),
        ("<S>", 5, [258, 256, 259]),  # sentence boundaries are words of one special character
        ("</S>", 5, [258, 257, 259]),
        ("<UNK>", 8, [258, *b"<UNK>", 259]),  # everything else is spelled
        ("<s>", 5, [258, *b"<s>", 259]),
        *(("x" * length, 50, [258, *b"x" * 48, 259]) for length in (48, 49, 1_000_000)),
        ("a" + "밥" * 16, 50, [258, *("a" + "밥" * 16).encode()[:48], 259]),  # cut inside a character
        ("a밥", 5, [258, 97, 235, 176, 259]),
        ("a\ud800b\udfff", 4, [258, *b"ab", 259]),  # without lone surrogates
        ("\u1107\u1161\u11b8", 11, [258, *"\u1107\u1161\u11b8".encode(), 259]),  # 밥, not normalised
        ("a\0", 6, [258, 97, 0, 259]),
    ],
)
def test_a_token_is_its_bytes_between_word_boundaries_each_shifted_by_one(token: str, size: int, ids: list[int]):
    rows = [[number + 1 for number in [*given, *[260] * size][:size]] for given in (ids, [258, *b"a", 259], ids)]
    assert character_ids([token, "a", token], max_characters_per_token=size).tolist() == rows


@given(st.lists(st.lists(TEXT, max_size=6), max_size=4), st.integers(3, 60))
def test_a_batch_is_its_sentences_and_rows_of_zeros(sentences: list[list[str]], size: int):
    batch = batch_character_ids(sentences, max_characters_per_token=size)
    assert batch.shape == (len(sentences), max(map(len, sentences), default=0), size)
    for row, sentence in zip(batch, sentences, strict=True):
        assert (row[: len(sentence)] == character_ids(sentence, max_characters_per_token=size)).all()
        assert not row[len(sentence) :].any()


def test_boundaries_go_around_every_sentence_even_an_empty_one():
    batch = batch_character_ids([["a", "b"], []], add_boundaries=True)
    assert (batch[0] == character_ids(["<S>", "a", "b", "</S>"])).all()
    assert (batch[1, :2] == character_ids(["<S>", "</S>"])).all()
    assert not batch[1, 2:].any()


def test_what_is_no_list_of_strings_and_no_room_for_a_byte_are_refused(snapshot: SnapshotAssertion):
    assert refusals(character_ids, ("hello", ["a", float("nan")])) == snapshot
    assert refusals(batch_character_ids, ([["a"], "hello"], "hello")) == snapshot
    assert refusals(lambda size: character_ids(["a"], max_characters_per_token=size), [2]) == snapshot


WORDS = {"<oov>": 0, "<bos>": 1, "<eos>": 2, "<pad>": 3, "ab": 4}
SYMBOLS = {"a": 0, "b": 1, "<bos>": 2, "<eos>": 3, "<oov>": 4, "<pad>": 5, "<bow>": 6, "<eow>": 7}


def spelling(words: dict[str, int], symbols: dict[str, int]) -> DictionarySpelling:
    return DictionarySpelling(words, symbols, 5, begin="<bos>", end="<eos>", unknown="<oov>")


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
    one, same, other, begin, same_begin, long = spelled.keys(["abbx", "abby", "ab", "<S>", "<bos>", "a" * 10**6])
    assert one == same != other and begin == same_begin and len(long) == 3
    assert (spelled.num_cut(["abb", "abbb"]), spelled.limit) == (1, "3 characters")


def test_dictionaries_without_special_symbols_are_refused(snapshot: SnapshotAssertion):
    pairs = ({}, {}), ({"a": 0}, {}), (WORDS, {"a": 1}), (WORDS, SYMBOLS | {"x": 5})
    assert refusals(lambda pair: spelling(*pair), pairs) == snapshot


SPECIALS = ["<S>", "</S>", "<UNK>"]


def test_ids_are_positions_specials_may_stand_anywhere_and_unknown_tokens_have_the_id_of_unk():
    vocabulary = Vocabulary(["the", "<UNK>", "</S>", "<S>", "The"])
    assert [vocabulary.id(token) for token in ("the", "<UNK>", "</S>", "<S>", "The")] == [0, 1, 2, 3, 4]
    assert (vocabulary.begin_id, vocabulary.end_id, vocabulary.unknown_id) == (3, 2, 1)
    assert len(vocabulary) == 5 and "The" in vocabulary and "THE" not in vocabulary and 3 not in vocabulary
    assert "<UNK>" not in vocabulary and "<S>" in vocabulary
    vocabulary = Vocabulary([*SPECIALS, "the"])
    assert vocabulary.id("THE") == vocabulary.unknown_id
    ids = vocabulary.ids(["the", "", "THE", "<S>"])
    assert ids.tolist() == [3, 2, 2, 0]
    assert ids.dtype == vocabulary.ids([]).dtype == np.int64


def test_bad_lines_and_missing_specials_are_named_with_the_file_and_a_list_is_checked_too(
    tmp_path: Path, snapshot: SnapshotAssertion
):
    contents = (
        *(b"<S>\n<UNK>\nthe\n", b"", b"<S>\n</S>\n\n<UNK>\n", b"<S>\n</S>\n<UNK>\nthe 1234\n"),
        *(b"<S>\n</S>\n<UNK>\nthe\na\nthe\n", b"<S>\n!!!MAXTERMID\n</S>\n<UNK>\nthe\nthe\n"),
        *(b"<S>\n</S>\n<UNK>\ncaf\xe9\n", b"<S>\n</S>\n<UNK>\nt\0e\n"),
    )
    assert refused_files(Vocabulary.read, tmp_path / "vocabulary.txt", contents) == snapshot
    assert refusals(Vocabulary, ([*SPECIALS, "a", "a"], "<S>")) == snapshot


def test_reads_files_with_any_line_end_and_without_the_line_maxtermid_and_what_was_written(tmp_path: Path):
    path = tmp_path / "vocabulary.txt"
    path.write_bytes("\ufeff<S>\r\n</S>\r\n<UNK>\r\n!!!MAXTERMID\r\n밥".encode())
    assert Vocabulary.read(path).tokens == [*SPECIALS, "밥"]
    vocabulary = Vocabulary([*SPECIALS, "밥", "\u2028", "\x85", "\x0b", "\ufeffa", "a\ufeff", '"', "\U0001f600"])
    vocabulary.write(path)
    assert Vocabulary.read(path) == vocabulary


def test_a_vocabulary_that_is_not_sorted_by_frequency_is_told_by_a_text() -> None:
    words = [f"w{number}" for number in range(6_000)]
    counts = np.array([0, 0, 0, *(6_000 // (number + 1) for number in range(6_000))])  # by Zipf's law
    assert not Vocabulary([*SPECIALS, *words]).is_out_of_order(counts)
    assert Vocabulary([*SPECIALS, *words]).is_out_of_order(counts[::-1])
    assert not Vocabulary([*SPECIALS, *words[:4_000]]).is_out_of_order(counts[:4_003][::-1])  # too small to tell
