"""A folder of Parquet files -> a folder of Parquet files with vectors, in pieces that any number of processes share.

A piece is a row group of the input, and becomes a file of the output. A file that is there is complete, so that work
continues where it stopped, whoever did it. `integrations/ray_data.py` gives the pieces to workers.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from elmokit.elmo.encoding import as_layers
from elmokit.files.atomic import atomic_write
from elmokit.system.messages import FormatError, first_token, join_names, warn_caller
from elmokit.vectors.arrow import (
    Groups,
    TableVectors,
    parquet_file,
    parquet_writer,
    pyarrow_module,
    record_batches,
    table_schema,
)
from elmokit.vectors.embed_file import encoded_blocks
from elmokit.vectors.flat import FlatVectors, tokens_first
from elmokit.vectors.sources import ColumnSource

if TYPE_CHECKING:
    from elmokit.elmo.elmo import Elmo
    from elmokit.elmo.encoding import Layers


@dataclass(frozen=True)
class Piece:
    """A row group of a Parquet file, and where its vectors go."""

    input: Path
    row_group: int
    output: Path


@dataclass(frozen=True)
class EmbeddedPiece:
    """The size of a piece."""

    num_sentences: int
    num_tokens: int
    was_there: bool
    """Whether it had been embedded before."""


def list_pieces(input_path: Path, output_folder: Path) -> list[Piece]:
    """The row groups of a Parquet file, or of all `*.parquet` in a folder; `NAME.parquet` becomes `NAME-00000.parquet`.

    Raises FileNotFoundError if there is nothing, ValueError for a file that is not Parquet, and if a piece would
    replace input.
    """
    files, unread = [input_path], ""
    if input_path.is_dir():
        inside = sorted(input_path.glob("[!.]*"))  # `._a.parquet` of macOS is not a table
        files = [path for path in inside if path.suffix.lower() == ".parquet" and path.is_file()]
        unread = join_names(path.name for path in inside if path.is_dir())
    if not files:
        folders = f"; its folders are not read: {unread}" if unread else ""
        raise FileNotFoundError(f"{input_path} has no file that ends in .parquet{folders}")
    if unread:
        warn_caller(f"{input_path} has folders that are not read: {unread}")
    if output_folder.resolve() == files[0].resolve().parent:
        raise ValueError(f"{output_folder} is the folder of the input; choose another folder for the vectors")
    pieces = [
        Piece(file, group, output_folder / f"{file.stem}-{group:05}.parquet")
        for file in files
        for group, num_rows in enumerate(Groups(file, is_arrow=False).sizes)
        if num_rows  # pyarrow writes an empty row group for an empty table
    ]
    if others := sorted(file.name for file in {*output_folder.glob("[!.]*.parquet")} - {p.output for p in pieces}):
        warn_caller(f"{output_folder} has files of other input, {len(others):,} in all: {join_names(others)}")
    return pieces


def embed_piece(
    elmo: Elmo, piece: Piece, *, layers: Layers = "top", column: str | None = None, raw_text: bool = False
) -> EmbeddedPiece:
    """Embed a piece, unless its file is there. All columns of the input are kept next to tokens, offsets and vectors.

    Arguments and vectors are the same as in `embed_file`. Memory holds the input's row group and a block of vectors.
    Raises ValueError, naming file, row group and row, for a value that is not a sentence, for columns of the input that
    would be replaced, and for a file that was made from something else.
    """
    layers = as_layers(layers, top=elmo.config.num_layers)
    source = ColumnSource.open(piece.input, raw_text=raw_text, column=column)
    written = {"tokens", "vectors", *(("text", "offsets") if raw_text else ())}
    if replaced := sorted((written - {source.column}).intersection(source.groups.schema.names)):
        reason = f"its columns {join_names(replaced)} have the same names as columns of the output; rename or drop them"
        raise FormatError(piece.input, reason)
    kept = [name for name in source.groups.schema.names if name not in written]
    others = parquet_file(piece.input).read_row_groups([piece.row_group], columns=kept)
    named = zip(kept, others.columns, strict=True)
    about = {
        "model": elmo.fingerprint(),
        "precision": elmo.precision,
        "layers": str(layers),
        "input": f"row group {piece.row_group} of {piece.input.name}",
        "column": source.column,
        "text": _digest(text for text, _ in source.texts(piece.row_group)),
        "other columns": _digest(f"{name} {column.to_pylist()}" for name, column in named),
        "tokenised": str(raw_text).lower(),
    }
    if piece.output.exists():
        return _there(piece, about)
    num_sentences = num_tokens = 0
    with atomic_write(piece.output) as unfinished, ExitStack() as stack:
        writer = None
        encode = partial(elmo.encode, layers=layers, show_progress_bar=False)
        for _, block, arrays in encoded_blocks(elmo, encode, source.of_group(piece.row_group)):
            rows = np.concatenate([tokens_first(array) for array in arrays])
            ends = np.cumsum([0, *(len(tokens) for _, tokens in block)], dtype=np.int64)
            vectors = FlatVectors(rows, ends, about, texts=block, raw_text=raw_text)
            for batch in record_batches(vectors, table_schema(vectors)):
                table = _joined(others.slice(num_sentences, batch.num_rows), batch)
                writer = writer or stack.enter_context(parquet_writer(unfinished, table.schema))
                writer.write_table(table)
                num_sentences += batch.num_rows
            num_tokens += len(rows)
    return EmbeddedPiece(num_sentences, num_tokens, was_there=False)


def _digest(texts: Iterable[str]) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for text in texts:
        digest.update(f"{len(text)} {text}".encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def _joined(others: Any, batch: Any) -> Any:
    arrow = pyarrow_module("pyarrow")
    schema = arrow.schema([*others.schema, *batch.schema], metadata=batch.schema.metadata)
    return arrow.table([*others.columns, *batch.columns], schema=schema)


def _there(piece: Piece, about: dict[str, str]) -> EmbeddedPiece:
    vectors = TableVectors(piece.output)
    for name, value in about.items():
        if (before := vectors.about.get(name)) != value:
            raise ValueError(
                f"{piece.output} was made with a different {name} ({first_token(str(before))}, now "
                f"{first_token(value)}); choose another folder, or delete the file"
            )
    lengths = vectors.lengths()
    return EmbeddedPiece(len(lengths), int(lengths.sum()), was_there=True)
