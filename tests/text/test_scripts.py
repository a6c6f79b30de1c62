from elmokit.text.scripts import script_counts


def test_letters_are_counted_by_script_the_most_frequent_first():
    counts = script_counts(["He", "said", "안녕하세요", ",", "привет", "3", "한자", "漢字", "é"])
    assert counts == {"LATIN": 7, "HANGUL": 7, "CYRILLIC": 6, "CJK": 2}
    assert list(counts)[-1] == "CJK"
    assert script_counts(["...", "12", "", "\U0001f600"]) == {}
    assert sum(script_counts(["\U000323b0"]).values()) <= 1
