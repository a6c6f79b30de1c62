"""Parquet and Arrow: what elmokit reads and writes, and how pyarrow alone reads it."""

import json
import os
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from syrupy.assertion import SnapshotAssertion

from elmokit.elmo.elmo import Elmo
from elmokit.vectors import arrow
from elmokit.vectors import embed_file as embed
from elmokit.vectors.embed_file import embed_file
from elmokit.vectors.file_vector_source import FileVectorSource
from elmokit.vectors.files import load_vectors
from refusals import refusals
from toy_bilm import random_bilm

ELMO = Elmo(random_bilm())
LINES = ["It's cold .", "", "A  café is open", "밥을 먹었다", *(f"line {number}" for number in range(5))]
ENDINGS = (".parquet", ".arrow")
FOLDER = os.fsdecode(b"caf\xe9") if sys.platform == "linux" else "café"
"""Not UTF-8, although pyarrow accepts only UTF-8 in a path that is a string."""
CATEGORIES, VIEWS, WORDS = pa.dictionary(pa.int32(), pa.string()), pa.string_view(), pa.list_(pa.string(), 2)
OF_TOKENS = [pa.list_(CATEGORIES), pa.list_(VIEWS), WORDS, pa.list_view(VIEWS), pa.large_list_view(VIEWS)]


@pytest.fixture(autouse=True)
def small_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrow, "GROUP_ROWS", 2)
    monkeypatch.setattr(embed, "BLOCK_LINES", 3)


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_text("".join(f"{line}\n" for line in LINES), encoding="utf-8")
    return path


def read_table(path: Path) -> Any:
    file = pa.BufferReader(path.read_bytes())
    return pq.read_table(file) if path.suffix == ".parquet" else pa.ipc.open_file(file).read_all()


def write_table(path: Path, columns: Any) -> Path:
    table = pa.table(columns)
    if path.suffix == ".parquet":
        pq.write_table(table, path, row_group_size=2)
    else:
        with pa.ipc.new_file(path, table.schema) as file:
            file.write_table(table, max_chunksize=2)
    return path


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("layers", ["top", "all"])
def test_embed_writes_what_other_programs_read(text: Path, tmp_path: Path, ending: str, layers: embed.Layers):
    done = embed_file(ELMO, text, tmp_path / f"v{ending}", layers=layers)
    table = read_table(tmp_path / f"v{ending}")
    expected = ELMO.encode([line.split() for line in LINES], layers=layers)
    assert table.column_names == ["tokens", "vectors"] and done.num_lines == table.num_rows == len(LINES)
    assert table["tokens"].to_pylist() == [line.split() for line in LINES]
    for row, array in zip(table["vectors"].to_pylist(), expected, strict=True):
        of_tokens = array if array.ndim == 2 else array.swapaxes(0, 1)
        np.testing.assert_allclose(np.array(row).reshape(of_tokens.shape), of_tokens, atol=1e-6)
    token = table.schema.field("vectors").type.value_type
    assert pa.types.is_fixed_size_list(token) and token.list_size == (3 if layers == "all" else 12)
    assert json.loads(table.schema.metadata[b"elmokit"])["layers"] == str(layers)


@pytest.mark.parametrize("ending", ENDINGS)
def test_tokenised_text_has_offsets_and_tasks_need_no_other_file(text: Path, tmp_path: Path, ending: str):
    tmp_path = tmp_path / FOLDER
    tmp_path.mkdir()
    embed_file(ELMO, text, tmp_path / f"v{ending}", layers="all", raw_text=True)
    for row in read_table(tmp_path / f"v{ending}").to_pylist():
        assert [row["text"][start:end] for start, end in row["offsets"]] == row["tokens"]
        assert len(row["vectors"]) == len(row["tokens"])
    stored = FileVectorSource(tmp_path / f"v{ending}")
    assert stored([["It", "'s", "cold", "."]]).shape == (3, 1, 4, 12)
    before = stored.fingerprint()
    os.mkfifo(tmp_path / "v.txt")  # the text of another layout; opening this pipe would block
    assert stored.fingerprint() == before


@pytest.mark.filterwarnings("ignore:.* tokens are empty or contain spaces")
@pytest.mark.parametrize("ending", ENDINGS)
def test_a_column_of_text_or_of_tokens_is_embedded(tmp_path: Path, ending: str):
    texts = ["It is cold.", "A café", ""]
    tokens = [["New York", "is"], [], ["big"]]
    source = write_table(tmp_path / f"in{ending}", {"id": [3, 1, 2], "text": texts, "tokens": tokens})
    embed_file(ELMO, source, tmp_path / "tokens.npz")
    np.testing.assert_allclose(load_vectors(tmp_path / "tokens.npz")[0], ELMO.encode(tokens)[0], atol=1e-6)
    embed_file(ELMO, source, tmp_path / "raw.parquet", raw_text=True)
    assert load_vectors(tmp_path / "raw.parquet").sentences() == [["It", "is", "cold", "."], ["A", "café"], []]
    embed_file(ELMO, source, tmp_path / "split.parquet", column="text")
    assert load_vectors(tmp_path / "split.parquet").sentences() == [["It", "is", "cold."], ["A", "café"], []]


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("raw_text", [False, True])
def test_a_text_is_read_and_warned_of_as_in_json_lines(tmp_path: Path, ending: str, raw_text: bool):
    texts = ["Hy\xad \r\nphens!\nare\r\nhere", "a\u2028b\x0bc\x85d \n", "", *["Hello, world!"] * 20]
    source = write_table(tmp_path / f"in{ending}", {"text": texts})
    (tmp_path / "in.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    for path in (source, tmp_path / "in.jsonl"):
        with nullcontext() if raw_text else pytest.warns(UserWarning, match=f"{path.name} looks like raw text"):
            embed_file(ELMO, path, path.with_suffix(f"{path.suffix}.out.parquet"), column="text", raw_text=raw_text)
            rows = pq.read_table(path.with_suffix(f"{path.suffix}.out.parquet")).to_pylist()
        start = ["Hyphens", "!"] if raw_text else ["Hyphens!"]
        assert [row["tokens"] for row in rows[:3]] == [[*start, "are", "here"], [*"abcd"], []]
    if raw_text:
        assert all([row["text"][start:end] for start, end in row["offsets"]] == row["tokens"] for row in rows)


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("type_", [CATEGORIES, VIEWS, *OF_TOKENS])
def test_a_column_of_categories_or_of_views_is_text_or_tokens(tmp_path: Path, ending: str, type_: pa.DataType):
    tokens = [["It", "is"], ["cold", "."], ["It", "is"]]
    rows = tokens if type_ in OF_TOKENS else [" ".join(row) for row in tokens]
    source = write_table(tmp_path / f"in{ending}", {"text": pa.array(rows, type_)})
    embed_file(ELMO, source, tmp_path / "out.parquet")
    assert load_vectors(tmp_path / "out.parquet").sentences() == tokens


@pytest.mark.parametrize("ending", ENDINGS)
def test_bad_input_is_refused_with_its_place(tmp_path: Path, ending: str, snapshot: SnapshotAssertion):
    given = (
        *(({"text": ["a", None, "b"]}, {}), ({"text": ["a", "b\0"]}, {"raw_text": True})),
        *(({"tokens": [["a", "b\0"]]}, {}), ({"tokens": [["a"], ["b"], [None]]}, {})),
        *(({"body": ["a"], "id": [1]}, {}), ({"text": ["a"]}, {"column": "x"}), ({"text": [1]}, {})),
        *((pa.table([["a"], ["b"]], names=["text"] * 2), {}), ({"text": pa.array([], pa.string())}, {})),
        ({"tokens": [["a"]]}, {"raw_text": True}),
    )

    def embed(case: tuple[Any, dict[str, Any]]) -> None:
        embed_file(ELMO, write_table(tmp_path / f"in{ending}", case[0]), tmp_path / "out.parquet", **case[1])

    assert refusals(embed, given, folder=tmp_path) == snapshot
    assert [path.name for path in tmp_path.iterdir()] == [f"in{ending}"]


VECTOR = pa.list_(pa.list_(pa.float32(), 3))


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize(
    ("column", "message"),
    [
        (None, r"has no column vectors; its columns are text"),
        (pa.array([[[1.0, 2.0]]]), r"column vectors: is of type list<.*double.*>>; expected a list of fixed-size"),
        (pa.array([1.0]), r"column vectors: is of type double"),
        (pa.array([[[1, 2, 3]], None], VECTOR), r"(row group|record batch) 0: has no vectors in row 1"),
        (pa.array([[[1, 2, None]]], VECTOR), r"(row group|record batch) 0: has a missing vector or number"),
        (pa.array([[None, [1, 2, 3]]], VECTOR), r"(row group|record batch) 0: (has a missing vector|cannot be read)"),
    ],
)
def test_other_columns_are_not_vectors(tmp_path: Path, ending: str, column: Any, message: str):
    path = write_table(tmp_path / f"v{ending}", {"text": ["a"]} if column is None else {"vectors": column})
    with pytest.raises(ValueError, match=message):
        load_vectors(path)[0]


def test_without_pyarrow_the_extra_is_named_at_once(text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ValueError, match=r"needs pyarrow: pip install 'elmokit\[arrow\]'"):
        embed_file(ELMO, text, tmp_path / "out.parquet")
