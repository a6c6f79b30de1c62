"""The neural tagger of senses: it learns a toy corpus by heart, and answers among a word's senses only."""

from __future__ import annotations

import pytest

from elmokit.runs.optimizer_state import DivergenceError
from paper.comparators.sense_tagger import train_sense_tagger
from paper.comparators.sense_words import SenseSentence
from toy_sense_sentences import LINES, senses, sentence, training

SETTINGS = ["word_dim=12", "hidden_dim=12", "min_count=1", "dropout_rate=0", "learning_rate=0.02", "batch_size=3"]


def test_the_senses_of_a_toy_corpus_are_learnt_by_heart():
    tagger = train_sense_tagger(training(), [*SETTINGS, "epochs=20"])
    asked = [sentence(str(number), line) for number, (line, _) in enumerate(LINES)]
    assert tagger.predict(asked, senses) == {str(number): sense for number, (_, sense) in enumerate(LINES)}
    assert tagger.predict([sentence("unseen", "a cat sits")], senses) == {"unseen": "cat%animal"}
    assert tagger.predict([sentence("x", "the dog barks")], lambda _: ()) == {}


def test_tokens_without_a_sense_are_to_be_tagged_with_themselves():
    tagger = train_sense_tagger(training(), [*SETTINGS[:2], "epochs=1"])  # words that occur twice
    row = tagger.targets([sentence("0", "the bank lends money", senses=("bank%money",))])[0].tolist()
    assert row == [tagger.labels["the"], tagger.labels["bank%money"], -100, tagger.labels["money"]]


def test_what_cannot_be_trained_is_refused():
    with pytest.raises(ValueError, match="the corpus has no sentence with a token"):
        train_sense_tagger([SenseSentence((), (), ())])
    for setting in ("epochs=0", "dropout_rate=1", "learning_rate=0"):
        with pytest.raises(ValueError, match=setting.partition("=")[0]):
            train_sense_tagger(training(), [setting])
    with pytest.raises(DivergenceError, match="lower learning_rate"):
        train_sense_tagger(training(), [*SETTINGS[:-2], "batch_size=1", "learning_rate=3e37"])
