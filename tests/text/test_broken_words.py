"""Words broken at line ends are joined where the text shows that they are one word."""

import time
import unicodedata
from pathlib import Path

import pytest

from elmokit.text.broken_words import BrokenWords, find_broken_words


def joined(tmp_path: Path, text: str) -> tuple[str, BrokenWords]:
    path = tmp_path / "raw.txt"
    path.write_text(text, encoding="utf-8")
    found = find_broken_words([path])
    return found.join(text), found


@pytest.mark.parametrize("hyphen", ["-", "\u2010", "\u00ac", "\u2e17"])
@pytest.mark.parametrize("line_end", ["\n", " \n", "\n  "])
def test_a_word_that_occurs_elsewhere_is_joined(tmp_path: Path, hyphen: str, line_end: str) -> None:
    text, found = joined(tmp_path, f"He was submi{hyphen}{line_end}ssive, and who is not\nsubmissive?\n")
    assert text == "He was submissive, and who is not\nsubmissive?\n"
    assert (found.num_found, found.num_joined) == (1, 1)


@pytest.mark.parametrize(
    "text",
    [
        "He was submi-\nssive. So submi-\nssive!\n",  # nowhere else
        "Haupt-\nund Nebensatz, nach Hauptsatz und Neben-\nsinn\n",
        "pages 12-\n13, not 1213; a_b-\nc, A2-\nB and a2b\n",
        "It was late-\n\nlatest\n",
        "दिन-\nरात और नरात\n",
        "late--\nst latest, late \u2013\nst latest\n",
    ],
)
def test_all_others_stay_as_they_are(tmp_path: Path, text: str) -> None:
    unchanged, found = joined(tmp_path, text)
    assert unchanged == text and found.num_joined == 0


@pytest.mark.parametrize(
    ("elsewhere", "expected"),
    [
        ("well-known wellknown", "well-known"),
        ("well-known wellknown Wellknown", "wellknown"),
        ("WELL\u2010KNOWN", "well-known"),
    ],
)
def test_a_hyphen_stays_unless_the_word_is_more_frequent_without(tmp_path: Path, elsewhere: str, expected: str) -> None:
    assert joined(tmp_path, f"{elsewhere}\nwell-\nknown\n")[0] == f"{elsewhere}\n{expected}\n"


@pytest.mark.parametrize("word", ["cafe\u0301|s", "Gemu\u0364|ther", "विद्या|लय", "глаго҃|лати"])
def test_letters_have_their_marks_composed_or_not(tmp_path: Path, word: str) -> None:
    composed = unicodedata.normalize("NFC", word.replace("|", ""))
    expected = f"{composed} {word.replace('|', '')}\n"
    assert joined(tmp_path, f"{composed} {word.replace('|', '-' + chr(10))}\n")[0] == expected


def test_upper_case_does_not_matter_and_each_occurrence_counts_also_of_another_file(tmp_path: Path) -> None:
    text, found = joined(tmp_path, "CHAP-\nTER I\n\nThe chap-\nter. No chapter.\n\nOn-\nce\n")
    assert text == "CHAPTER I\n\nThe chapter. No chapter.\n\nOn-\nce\n"
    assert (found.num_found, found.num_joined) == (3, 2)
    for name, text in (("a", "sub-\nmit\n"), ("b", "submit\n")):
        (tmp_path / name).write_text(text)
    assert find_broken_words([tmp_path / "a", tmp_path / "b"]).num_joined == 1
    assert find_broken_words([tmp_path / "a"]).num_joined == 0
    assert joined(tmp_path, "sub\u00ac \n mit and b\u00ac\n, A2\u00ac\nB\n")[0] == "submit and b\u00ac\n, A2\u00ac\nB\n"
    start = time.process_time()
    joined(tmp_path, "\u5b57" * 300_000 + "\n")  # the time is proportional to the length of a word
    assert time.process_time() - start < 5
