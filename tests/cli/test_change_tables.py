import json
from dataclasses import asdict, replace
from pathlib import Path

from syrupy.assertion import SnapshotAssertion

from elmokit.analysis.semantic_change.change import MovedContext, SemanticChange, UsesInCorpus, WordChange
from elmokit.analysis.semantic_change.distances import Distance, Distances
from elmokit.cli.analysis import NUM_SHOWN, change_json, change_rows, change_text

CONTEXT = MovedContext(Path("old.txt"), 3, 10, tuple(f"t{number}" for number in range(20)), 0.5)


def result_of(*words: str, q: float = 0.004) -> SemanticChange:
    uses = UsesInCorpus(1200, {"plane": 1200, "planes": 0, "plane,": 0}, 200, (CONTEXT,))
    distances = Distances(*(replace(Distance(0.25, 0.1, 0.4, 0.01, 0.002, 0.004), q=q) for _ in range(3)))
    others = UsesInCorpus(7, {"plane": 4, "planes": 3, "plane,": 0}, 7, ())
    changes = tuple(WordChange(word, "top", distances, uses, others) for word in words)
    return SemanticChange("toy", changes, {"zebra": (0, 3)})


def test_the_text_shows_the_first_words_contexts_and_what_was_left_out(snapshot: SnapshotAssertion):
    assert change_text(result_of("plane", "b\x1bad")) == snapshot
    text = change_text(result_of(*(f"word{number}" for number in range(NUM_SHOWN + 2))))
    assert "and 2 more words with a smaller excess" in text and "word21" not in text
    said = "no word differs more than chance would have it: none has a q of at most 0.05"
    assert said in change_text(result_of("plane", q=0.06)) and said not in change_text(result_of("plane", q=0.05))


def test_the_table_has_a_row_per_word_and_json_has_everything(snapshot: SnapshotAssertion):
    assert "\n".join(map(" ".join, zip(*change_rows(result_of("plane")), strict=True))) == snapshot
    result = result_of("눈이")
    assert json.loads(change_json(result)) == json.loads(json.dumps(asdict(result), default=str))
