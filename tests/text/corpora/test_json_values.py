import pytest

from elmokit.text.corpora.json_values import member, object_members, parse_object, words


def test_reads_an_object():
    assert parse_object('{"a": [1, "밥"]}', place="x") == {"a": [1, "밥"]}


def test_gives_members_of_a_kind():
    record: dict[str, object] = {"text": "a", "number": 3, "list": [{"b": 1}]}
    assert member(record, "text", str, place="x") == "a"
    assert member(record, "number", int, place="x") == 3
    assert object_members(record, "list", place="x") == [{"b": 1}]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "x.jsonl, character 1: bad JSON: Expecting value, near ''"),
        ('{"a": nul}', "x.jsonl, character 7: bad JSON: Expecting value, near '{\"a\": nul}'"),
        ('{\n"a": nul}', "x.jsonl, line 2, character 6: bad JSON"),
        ('["a"]', "x.jsonl: '\\[\"a\"\\]' is not a JSON object"),
        ("[" * 100_000, "x.jsonl: bad JSON: .*recursion"),
        ('{"a": ' + "1" * 5000 + "}", "x.jsonl: bad JSON: Exceeds the limit"),
    ],
)
def test_refuses_other_text(text: str, message: str):
    with pytest.raises(ValueError, match=message):
        parse_object(text, place="x.jsonl")


def test_refuses_members_that_are_missing_or_of_another_kind():
    with pytest.raises(ValueError, match="x: 'a' is missing; there are b, c"):
        member({"b": 1, "c": 2}, "a", str, place="x")
    with pytest.raises(ValueError, match="x, 'a': null; expected text"):
        member({"a": None}, "a", str, place="x")
    with pytest.raises(ValueError, match="x, 'a': true; expected a whole number"):
        member({"a": True}, "a", int, place="x")
    with pytest.raises(ValueError, match="x, 'a': {}; expected a list"):
        object_members({"a": {}}, "a", place="x")
    with pytest.raises(ValueError, match="x, a\\[1\\]: 3; expected an object"):
        object_members({"a": [{}, 3]}, "a", place="x")


@pytest.mark.parametrize("value", [[], ["a", ""], ["a b"], ["a", 3], "a", None])
def test_a_list_of_words_has_words_alone(value: object):
    assert words(["a", "밥"], what="tokens") == ["a", "밥"]
    with pytest.raises(ValueError, match="^tokens is .*; expected a list of words without spaces$"):
        words(value, what="tokens")
