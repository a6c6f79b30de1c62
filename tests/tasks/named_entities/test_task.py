from __future__ import annotations

import pytest

from elmokit.tasks.named_entities.model import NamedEntityTagger
from elmokit.tasks.named_entities.reader import TaggedSentence
from elmokit.tasks.named_entities.task import TASK, Entity

JANE = TaggedSentence(["Jane", "Lee", "lives", "in", "Seoul"], ["B-PER", "L-PER", "O", "O", "U-LOC"])
GUESS = ["U-PER", "U-PER", "O", "O", "U-LOC"]


def test_reads_builds_and_predicts(write, stand_in_inputs):
    reading = TASK.read(write("Jane I-PER\nLee I-PER\nlives O\nin O\nSeoul I-LOC\n"), None, True)
    (example,) = reading.examples
    assert (example.tokens, example.tags, reading.skipped) == (JANE.tokens, JANE.tags, {})
    assert TASK.sentences(JANE) == [JANE.tokens]
    labels = TASK.symbols(reading.examples)
    assert labels == ["O", "B-LOC", "I-LOC", "L-LOC", "U-LOC", "B-PER", "I-PER", "L-PER", "U-PER"]
    tagger = TASK.build(TASK.recipes["cpu"]().model, stand_in_inputs(JANE.tokens), labels)
    assert isinstance(tagger, NamedEntityTagger)
    assert len(tagger.predict([JANE])[0]) == 5


def test_scores_as_conlleval():
    scores = TASK.score([JANE], [GUESS])
    assert scores[TASK.metric] == scores["f1"] == pytest.approx(40)  # one of three predicted, of two true
    assert scores["precision"] == pytest.approx(100 / 3)
    assert (scores["recall"], scores["token_accuracy"]) == (50, 60)
    assert (scores["f1_LOC"], scores["f1_PER"]) == (100, 0)


@pytest.mark.parametrize(
    ("written", "accuracy"),
    [("B-PER I-PER O O B-LOC", 70), ("I-PER I-PER O O I-LOC", 80), ("B-PER L-PER O O U-LOC", 60)],
    ids=["BIO", "IOB1", "BIOUL"],
)
def test_tokens_are_compared_in_the_tags_of_the_file(written: str, accuracy: float):
    example = TaggedSentence(JANE.tokens, JANE.tags, written.split())
    guesses = [["O", "U-PER", "O", "O", "U-LOC"], ["U-PER", "O", "O", "O", "U-LOC"]]
    assert TASK.score([example, example], guesses)["token_accuracy"] == accuracy


def test_takes_raw_text_and_json():
    jane = TaggedSentence(["Jane", "is", "n't", "here", "."], [])
    assert TASK.from_text("Jane isn't here.") == jane
    assert TASK.from_json({"text": "Jane isn't here."}) == jane
    assert TASK.from_json({"tokens": jane.tokens, "id": 7}) == jane


def test_writes_columns_in_bio_and_entities_in_json():
    assert TASK.to_text(JANE, JANE.tags).splitlines()[:2] == ["Jane B-PER B-PER", "Lee I-PER I-PER"]
    untagged = TaggedSentence(JANE.tokens, [])
    assert TASK.to_text(TaggedSentence(["New York"], ["U-LOC"]), ["U-LOC"]) == "New_York B-LOC B-LOC\n"
    spaced = TaggedSentence(["Jane"], ["U-given name"])
    assert TASK.to_text(spaced, spaced.tags) == "Jane B-given_name B-given_name\n"
    assert TASK.to_text(untagged, GUESS) == "Jane B-PER\nLee B-PER\nlives O\nin O\nSeoul B-LOC\n"
    assert TASK.result(untagged, JANE.tags).to_dict() == {
        "text": "Jane Lee lives in Seoul",
        "tokens": JANE.tokens,
        "tags": ["B-PER", "I-PER", "O", "O", "B-LOC"],
        "entities": [
            {"label": "PER", "text": "Jane Lee", "first": 0, "last": 1, "start": 0, "end": 8},
            {"label": "LOC", "text": "Seoul", "first": 4, "last": 4, "start": 18, "end": 23},
        ],
    }


def test_entities_are_spelt_as_the_text_spells_them():
    example = TASK.from_text("It isn't  “Jane   Lee”.")
    made = TASK.result(example, ["O", "O", "O", "O", "B-PER", "L-PER", "O", "O"])
    assert made.entities == [Entity("PER", "Jane   Lee", first=4, last=5, start=11, end=21)]
    assert made.text[11:21] == "Jane   Lee"
    assert repr(made) == "<TaggedText \"It isn't  “Jane   Lee”.\": PER 'Jane   Lee' 11:21>"
    assert repr(TASK.result(TASK.from_text("No."), ["O", "O"])) == "<TaggedText 'No.': no entities>"
    given = {"tokens": ["Jane", "Lee", "sang", "."], "text": "Jane  Lee sang."}  # a text next to its tokens
    (found,) = TASK.result(TASK.from_json(given), ["O", "U-PER", "O", "O"]).entities
    assert (found.start, found.end) == (6, 9)
