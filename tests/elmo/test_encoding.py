"""What users give in place of sentences: each mistake is named with its place and its type."""

from typing import Any

import numpy as np
import pytest

from elmokit.elmo.encoding import tokens_of_each


class DataFrame(list[str]):
    """Iterates over the names of its columns, as that of pandas does."""

    columns = ("text", "label")


def test_strings_are_tokenised_lists_are_used_unchanged_and_what_is_quoted_is_short():
    expected = [["Jane", "slept", "."], ["a", "b."], []]
    given = ["Jane slept.", ("a", "b."), []]
    assert tokens_of_each(given) == expected
    assert tokens_of_each(iter(given)) == expected
    assert tokens_of_each(dict(enumerate(given)).values()) == expected  # no sequence, like those of pandas and polars
    assert tokens_of_each(np.array([["a", "b"], ["c", "d"]])) == [["a", "b"], ["c", "d"]]  # pyright: ignore
    with pytest.raises(ValueError) as refusal:
        tokens_of_each([b"\x1b" * 1000])  # pyright: ignore[reportArgumentType]
    assert len(str(refusal.value)) < 200 and "\x1b" not in str(refusal.value)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([None], "sentence 0 is None (NoneType); expected a string or a list of tokens (str)"),
        ({0: "a", 1: np.nan}.values(), "sentence 1 is nan (float); expected a string or a list of tokens (str)"),
        (["a", 3], "sentence 1 is 3 (int); expected a string or a list of tokens (str)"),
        (["a", b"b"], "sentence 1 is b'b' (bytes); expected a string"),
        (["a", {"text": "b"}], "sentence 1 is of type dict; expected a string"),
        ([["a", None]], "token 1 of sentence 0 is None (NoneType); expected a string"),
        ([[["a"]]], "token 0 of sentence 0 is of type list; expected a string"),
        (np.array(["a"])[0:1].reshape(()), "the sentences are of type ndarray; expected a list of sentences"),
        ({"a": "b"}, "the sentences are of type dict; expected a list of sentences"),
        ({"a", "b"}, "the sentences are of type set; expected a list of sentences"),
        (b"a", "the sentences are b'a' (bytes); expected a list of sentences"),
        (DataFrame(["text", "label"]), "the sentences are of type DataFrame; expected a list of sentences"),
    ],
)
def test_anything_else_is_named_with_its_place_and_type(given: Any, message: str):
    with pytest.raises(ValueError) as refusal:
        tokens_of_each(given)
    assert str(refusal.value).startswith(message)
