import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Meta

from elmokit.files.json import as_type, json_text, parse_json, picked, read_json
from elmokit.system.messages import FormatError

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=8,
)


@dataclass(frozen=True)
class Inner:
    rate: float = 0.5
    note: str | None = None


@dataclass(frozen=True)
class Outer:
    count: Annotated[int, Meta(ge=0, le=13)]
    inner: tuple[Inner, ...] = ()
    pair: tuple[int, float] = (1, 2.0)
    nested: Inner | None = None

    def __post_init__(self) -> None:
        if self.count == 13:
            raise ValueError("count is 13")


@given(values=st.dictionaries(st.text(), VALUES))
def test_what_was_written_is_read(tmp_path_factory: pytest.TempPathFactory, values: dict[str, Any]):
    path = tmp_path_factory.mktemp("json") / "x.json"
    path.write_text(json_text(path, values), encoding="utf-8-sig")
    assert read_json(path) == values


def test_a_dataclass_is_written_and_read_with_pairs_on_one_line():
    outer = Outer(3, (Inner(1.0, "a"), Inner()), (1, 2), None)
    text = json_text(Path("x.json"), outer)
    assert '"pair": [1, 2],' in text and parse_json(text, Outer, where="x") == outer
    assert as_type({"count": 3}, Outer, where="x") == Outer(3)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "x: is not valid JSON"),
        ('{"count": nul}', r"x: is not valid JSON: .*byte 14"),
        ('{"count": NaN}', "x: is not valid JSON"),
        ('{"nested": {"rate": 1e999}}', "x: is not valid JSON: Number out of range"),
        (b'{"a": "\xff"}', "x: is not valid JSON"),
        ("[" * 100_000, "x: is nested too deeply"),
        ("[1]", "x: expected `object`, got `array`"),
        ("{}", "x: object missing required field `count`"),
        ('{"count": 3, "conut": 4}', r"x: field conut is not known; did you mean count\? expected count, inner"),
        ('{"count": 3, "nested": {"rat": 4}}', r"x: field rat is not known; did you mean rate\?"),
        ('{"count": 3, "inner": [{}, {"rate": "1"}]}', r"x: field inner\[1\]\.rate: expected `float`, got `str`"),
        ('{"count": 14}', "x: field count: expected `int` <= 13"),
        ('{"count": 13}', "x: count is 13"),
    ],
    ids=str,
)
def test_what_is_not_the_dataclass_is_refused(text: str | bytes, reason: str):
    with pytest.raises(FormatError, match=f"^{reason}"):
        parse_json(text, Outer, where="x")


def test_files_that_are_missing_or_large_are_refused_and_none_is_written_that_could_not_be_read(tmp_path: Path):
    path = tmp_path / "x.json"
    with pytest.raises(FileNotFoundError, match="x.json: there is no such file"):
        read_json(path)
    path.write_text("{     }")
    with pytest.raises(FormatError, match="has more than 4 bytes"):
        read_json(path, max_bytes=4)
    for value in (float("nan"), float("inf"), object(), "\ud800", "x" * (5 << 20)):
        with pytest.raises(FormatError, match="x.json: (cannot be written as JSON|would have 5)"):
            json_text(path, {"a": value})


def test_a_link_out_of_its_folder_is_read_only_if_the_user_names_it(tmp_path: Path):
    (tmp_path / "run").mkdir()
    (tmp_path / "secret.json").write_text(json.dumps({"a": 1}))
    (link := tmp_path / "run" / "config.json").symlink_to(tmp_path / "secret.json")
    with pytest.raises(FormatError, match="symlink that leaves its folder"):
        read_json(link)
    assert read_json(link, is_named=True) == {"a": 1}


@dataclass(frozen=True)
class ByName:
    parts: dict[str, Inner]


def test_a_dict_has_any_keys_and_picked_fields_leave_out_the_others():
    assert as_type({"parts": {"input": {"rate": 1}}}, ByName, where="x") == ByName({"input": Inner(1.0)})
    assert picked({"rate": 1, "other": 2}, Inner, where="x") == Inner(1.0)
    with pytest.raises(FormatError, match="x: field note: expected `str | null`, got `int`"):
        picked({"note": 1}, Inner, where="x")
