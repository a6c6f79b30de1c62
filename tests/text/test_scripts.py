from __future__ import annotations

from elmokit.text.scripts import script_counts


def test_letters_are_counted_by_script_the_most_frequent_first():
    counts = script_counts(["He", "said", "안녕하세요", ",", "привет", "3", "한자", "漢字", "é"])
    assert counts == {"LATIN": 7, "HANGUL": 7, "CYRILLIC": 6, "CJK": 2}
    assert list(counts)[-1] == "CJK"


def test_marks_digits_and_letters_without_a_name_do_no_harm():
    assert script_counts(["...", "12", "", "\U0001f600"]) == {}
    assert sum(script_counts(["\U000323b0"]).values()) <= 1
