from pathlib import Path

import numpy as np
import pytest

from elmokit.text.vocabulary import Vocabulary

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


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"<S>\n<UNK>\nthe\n", ": the vocabulary of 3 tokens lacks </S>; expected"),
        (b"", ": the vocabulary of 0 tokens lacks <S> and </S> and <UNK>"),
        (b"<S>\n</S>\n<UNK>\nthe\na\nthe\n", r", line 6: duplicate token 'the' \(first at entry 4\)"),
        (b"<S>\n</S>\n\n<UNK>\n", ", line 3: the token is empty"),
        (b"<S>\n</S>\n<UNK>\nthe 1234\n", ", line 4: the token 'the 1234' has white space in it"),
        (b"<S>\n!!!MAXTERMID\n</S>\n<UNK>\nthe\nthe\n", ", line 6: duplicate token 'the'"),
        (b"<S>\n</S>\n<UNK>\ncaf\xe9\n", ", line 4: byte 0xe9 at byte 4 is not UTF-8"),
        (b"<S>\n</S>\n<UNK>\nt\0e\n", ", line 4: NUL byte at byte 2"),
    ],
)
def test_bad_lines_and_missing_specials_are_named_with_the_file(tmp_path: Path, content: bytes, message: str):
    path = tmp_path / "vocabulary.txt"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=rf"vocabulary\.txt{message}"):
        Vocabulary.read(path)


@pytest.mark.parametrize(("tokens", "message"), [([*SPECIALS, "a", "a"], "duplicate token 'a'"), ("<S>", "lacks")])
def test_a_list_is_checked_too(tokens: list[str], message: str):
    with pytest.raises(ValueError, match=message):
        Vocabulary(tokens)


def test_reads_files_with_any_line_end_and_without_the_line_maxtermid_and_what_was_written(tmp_path: Path):
    path = tmp_path / "vocabulary.txt"
    path.write_bytes("\ufeff<S>\r\n</S>\r\n<UNK>\r\n!!!MAXTERMID\r\n밥".encode())
    assert Vocabulary.read(path).tokens == [*SPECIALS, "밥"]
    vocabulary = Vocabulary([*SPECIALS, "밥", "\u2028", "\x85", "\x0b", "\ufeffa", "a\ufeff", '"', "\U0001f600"])
    vocabulary.write(path)
    assert Vocabulary.read(path) == vocabulary
