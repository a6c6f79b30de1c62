"""Sentences with annotated words fit together."""

import pytest

from paper.comparators.sense_words import SenseSentence, SenseWord


def test_every_token_has_a_tag_and_words_are_inside_the_sentence():
    with pytest.raises(ValueError, match="'a b' has 2 tokens but 1 tags"):
        SenseSentence(("a", "b"), ("X",), ())
    with pytest.raises(ValueError, match="w1 is tokens 1 to 3 of 2"):
        SenseSentence(("a", "b"), ("X", "X"), (SenseWord("w1", ("b", "NOUN"), 1, 3),))
