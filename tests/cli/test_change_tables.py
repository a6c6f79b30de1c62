import json
from dataclasses import asdict, replace
from pathlib import Path

from elmokit.analysis.semantic_change.change import MovedContext, SemanticChange, UsesInCorpus, WordChange
from elmokit.analysis.semantic_change.distances import Distance, Distances
from elmokit.cli.change_tables import NUM_SHOWN, change_json, change_rows, change_text

CONTEXT = MovedContext(Path("old.txt"), 3, 10, tuple(f"t{number}" for number in range(20)), 0.5)


def result_of(*words: str, q: float = 0.004) -> SemanticChange:
    uses = UsesInCorpus(1200, {"plane": 1200, "planes": 0, "plane,": 0}, 200, (CONTEXT,))
    distances = Distances(*(replace(Distance(0.25, 0.1, 0.4, 0.01, 0.002, 0.004), q=q) for _ in range(3)))
    others = UsesInCorpus(7, {"plane": 4, "planes": 3, "plane,": 0}, 7, ())
    changes = tuple(WordChange(word, "top", distances, uses, others) for word in words)
    return SemanticChange("toy", changes, {"zebra": (0, 3)})


def test_the_text_shows_the_first_words_contexts_and_what_was_left_out():
    text = change_text(result_of("plane", "b\x1bad"))
    assert "layer top" in text and "left out, because there are too few uses: zebra (0 and 3)" in text
    assert "forms without a use in either corpus: plane,\n" in change_text(result_of("plane"))
    assert "plane    1,200     7   0.250  [0.100, 0.400]  0.002  0.004" in text
    assert "how much further they are from the other corpus than from their own:\nplane, corpus 1" in text
    assert "plane, corpus 1, +0.500: ... t2 t3 t4 t5 t6 t7 t8 t9 [t10] t11 t12 t13 t14 t15 t16 t17 t18 ..." in text
    assert "\x1b" not in text and "b\\x1bad" in text
    text = change_text(result_of(*(f"word{number}" for number in range(NUM_SHOWN + 2))))
    assert "and 2 more words with a smaller excess" in text and "word21" not in text
    said = "no word differs more than chance would have it: none has a q of at most 0.05"
    assert said in change_text(result_of("plane", q=0.06)) and said not in change_text(result_of("plane", q=0.05))


def test_the_table_has_a_row_per_word_and_a_column_per_number_and_json_has_everything():
    names, row = change_rows(result_of("plane"))
    assert len(names) == len(set(names)) == len(row) == 6 + 3 * 6
    cells = dict(zip(names, row, strict=True))
    assert (cells["word"], cells["uses_1"], cells["compared_1"]) == ("plane", "1200", "200")
    assert (cells["excess"], cells["prt_low"], cells["apd_q"]) == ("0.250000", "0.100000", "0.004000")
    text = change_json(result_of("눈이"))
    assert '"word": "눈이"' in text and '"path": "old.txt"' in text
    assert json.loads(text) == json.loads(json.dumps(asdict(result_of("눈이")), default=str))
