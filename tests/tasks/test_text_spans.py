from __future__ import annotations

import pytest

from elmokit.files.json_fields import Fields
from elmokit.tasks.text_spans import LocatedTokens, TextSpan, text_of_tokens
from elmokit.text.tokenizer import tokenize


def test_spans_are_parts_of_the_text():
    text = "Ann   isn't “here”."
    located = LocatedTokens.of(tokenize(text), text)
    assert located.span(1, 2) == TextSpan("isn't", 1, 2, 6, 11)
    assert repr(located.span(4, 4)) == "<'here' 13:17>"


def test_tokens_without_a_text_are_joined_by_spaces():
    located = LocatedTokens.of(["New", "York", "!"], None)
    assert located.text == "New York !"
    assert located.span(1, 2) == TextSpan("York !", 1, 2, 4, 10)


def test_tokens_of_another_text_are_refused():
    assert text_of_tokens(Fields("x", {"tokens": ["a"]}), ["a"]) is None
    assert text_of_tokens(Fields("x", {"text": " a"}), ["a"]) == " a"
    with pytest.raises(ValueError, match="token 0, 'b', does not match the text"):
        text_of_tokens(Fields("x", {"text": "a"}), ["b"])
