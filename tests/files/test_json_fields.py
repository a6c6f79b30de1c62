from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from elmokit.files.json_fields import Fields, json_text, parse_json_object, read_json_object
from elmokit.system.messages import FormatError


@dataclass(frozen=True)
class Inner:
    rate: float = 0.5
    note: str | None = None


@dataclass(frozen=True)
class Outer:
    count: int
    inner: tuple[Inner, ...] = ()
    names: tuple[list[str], ...] = ()
    pair: tuple[int, float] = (1, 2.0)
    others: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        if self.count == 13:
            raise ValueError("count is 13")


def fields(**values: object) -> Fields:
    return Fields("x.json", values)


def test_reads_an_object_from_text_bytes_and_a_file(tmp_path: Path):
    values = {"a": [1, "밥"], "b": 0.5}
    text = json_text(tmp_path / "x.json", values)
    (tmp_path / "x.json").write_text(text, encoding="utf-8")
    assert parse_json_object(text, where="x") == values
    assert parse_json_object(b"\xef\xbb\xbf" + text.encode(), where="x") == values
    assert read_json_object(tmp_path / "x.json") == values


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "^x: is not valid JSON: Expecting value at character 1, near ''$"),
        ('{"a": nul}', "Expecting value at character 7, near 'nul}'$"),
        ('{\n"a": nul}', "Expecting value at line 2, character 6"),
        ('["a"]', "^x: holds a list; expected an object {...}"),
        ("[" * 100_000, "^x: is nested too deeply"),
        ('{"a": ' + "1" * 5000 + "}", "Exceeds the limit"),
        ('{"a": NaN}', "NaN is not a JSON number"),
        ('{"a": 1e999}', "1e999 is too large a number"),
        ('{"b": {"a": 1, "c": 2, "a": 1}}', 'the key "a" is repeated'),
    ],
    ids=lambda value: value[:20],
)
def test_refuses_other_text(text: str, message: str):
    with pytest.raises(FormatError, match=message):
        parse_json_object(text, where="x")


def test_refuses_files_that_are_missing_large_or_not_utf_8_and_writes_none_that_it_would_not_read(tmp_path: Path):
    with pytest.raises(FileNotFoundError, match="none.json: there is no such file"):
        read_json_object(tmp_path / "none.json")
    (tmp_path / "x.json").write_bytes(b'{"a": "\xff"}')
    with pytest.raises(FormatError, match=r"x.json: is not UTF-8 \(byte 7\)"):
        read_json_object(tmp_path / "x.json")
    with pytest.raises(FormatError, match="has more than 4 bytes"):
        read_json_object(tmp_path / "x.json", max_bytes=4)
    for value in (float("nan"), object(), "x" * (5 << 20)):
        with pytest.raises(FormatError, match="x.json: (cannot be written as JSON|would have 5)"):
            json_text(tmp_path / "x.json", {"a": value})


def test_reads_a_dataclass_by_the_types_of_its_fields_and_a_complete_one_lacks_only_what_is_none():
    values = {"count": 3, "inner": [{"rate": 1}, {}], "names": [["a"], []], "pair": [1, 2], "others": {"a": [1]}}
    read = Fields("x.json", values | {"mine": 1})
    read.value("mine")  # is not unknown any more
    assert read.as_dataclass(Outer) == Outer(3, (Inner(1.0), Inner()), (["a"], []), (1, 2.0), {"a": [1]})
    assert fields(count=3).as_dataclass(Outer) == Outer(3)
    assert fields(inner=[1]).as_dataclass(Outer, count=4, inner=()) == Outer(4)
    assert fields(rate=1.0).as_dataclass(Inner, complete=True) == Inner(1.0)
    with pytest.raises(FormatError, match=r"field inner\[0\]\.rate: is missing; there are note"):
        fields(inner=[{"note": "a"}]).read("inner", list[Inner], complete=True)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({}, "field out.count: is missing$"),
        ({"count": 3, "conut": 4}, r"field out.conut: is not known; did you mean count\? expected count, inner"),
        ({"count": 3, "inner": [{}, {"rate": "1"}]}, r"field out.inner\[1\]\.rate: is text; expected a number"),
        ({"count": 3, "names": [["a", 1]]}, r"field out.names\[0\]\[1\]: is a number; expected text"),
        ({"count": 3, "pair": [1]}, "field out.pair: has 1 entries; expected 2"),
        ({"count": 3, "others": []}, "field out.others: is a list; expected an object"),
        ({"count": True}, "field out.count: is a boolean; expected a whole number"),
        ({"count": 3, "pair": [1, 10**400]}, r"field out.pair\[1\]: is 1000.*; expected at least 0"),
        ({"count": 9}, "field out.count: is 9; expected 0 to 8"),
        ({"count": 13}, "^x.json: out: count is 13$"),
    ],
)
def test_refuses_what_is_not_the_dataclass(values: dict[str, object], message: str):
    bounds = None if values.get("count") == 13 else {"count": (0, 8)}
    with pytest.raises(FormatError, match=message):
        Fields("x.json", {"out": values}).fields("out").as_dataclass(Outer, bounds=bounds)


def test_errors_name_the_way_to_a_field_and_what_was_not_read_is_known():
    inner = fields(data=[{}, {"rows": [{"n": "1"}]}]).list_of_fields("data")[1].list_of_fields("rows")[0]
    with pytest.raises(FormatError, match=r"^x.json: field data\[1\].rows\[0\].n: is text; expected a whole number$"):
        inner.integer("n")
    with pytest.raises(FormatError, match=r"field data\[1\].rows\[0\].m: is missing; there are n$"):
        inner.value("m")
    read = fields(a=1, b={"c": 1, "d": 2})
    inner = read.fields("b")
    inner.integer("c")
    assert (read.unread, inner.unread) == (["a"], ["b.d"])


def test_tokens_are_a_list_of_words():
    for value in ([], ["a", ""], ["a b"], ["a\tb"], ["a\nb"], ["a\r"], ["a", 3]):
        with pytest.raises(FormatError, match="tokens: is .*; expected a list of words without spaces and line ends$"):
            fields(tokens=value).tokens("tokens")
