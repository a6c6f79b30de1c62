"""Embeds Parquet files on all cores or GPUs of a machine or a cluster, with Ray Data.

Each row group of the input is a piece: a block of the pipeline, and a file of the output. Each actor opens its own copy
of the model and embeds pieces. If an actor dies, Ray restarts it and gives its piece to another. A second call skips
complete files, so it continues a run that was stopped.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections import deque
from collections.abc import Generator, Iterable
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from elmokit.elmo.elmo import Elmo
from elmokit.elmo.encoding import as_layers
from elmokit.files.atomic import atomic_write
from elmokit.formats.find import DEFAULT_MODEL, lasting_name
from elmokit.system.messages import FormatError, first_token, join_names, warn_caller
from elmokit.system.optional import require
from elmokit.system.paths import expanded
from elmokit.text.sentence_lines import SAMPLE_TOKENS
from elmokit.vectors.arrow import (
    TableVectors,
    parquet_file,
    parquet_writer,
    pyarrow_module,
    record_batches,
    refused,
    table_schema,
)
from elmokit.vectors.embed_file import encoded_blocks
from elmokit.vectors.flat import FlatVectors, tokens_first
from elmokit.vectors.sources import ColumnSource, open_source

if TYPE_CHECKING:
    from elmokit.elmo.encoding import Layers
    from elmokit.layers.packed.linear import Precision


RETRIES = 3
"""How often Ray tries a block again after its actor died."""


@dataclass(frozen=True)
class BulkResult:
    """The result of a pipeline."""

    num_files: int
    """Files in the output."""
    num_sentences: int
    num_tokens: int
    num_tokens_before: int
    """Tokens of the files that existed before."""
    seconds: float
    """Including the start of the actors."""


def embed_parquet(
    input_path: str | Path,
    output_folder: str | Path,
    *,
    model: str = DEFAULT_MODEL,
    layers: Layers = "top",
    column: str | None = None,
    raw_text: bool = False,
    precision: Precision = "float32",
    workers: int | None = None,
    on_gpus: bool = False,
) -> BulkResult:
    """Embed a Parquet file, or all `*.parquet` of a folder, with Ray; `load_vectors` reads each file of the output.

    input_path, output_folder: on a cluster, all machines must share their file system, and `model`'s if it is a path. A
        row group of `NAME.parquet` becomes `NAME-00000.parquet`; it keeps the columns of the input and gets `tokens`,
        `vectors` and, for raw text, `offsets`. Existing files of the output are not computed again. An input without
        rows gives no files.
    column: column of texts, or of lists of tokens; None takes `tokens` or, without it, `text`.
    raw_text: whether to tokenise texts; otherwise their tokens are separated by spaces.
    workers: number of actors, each with one core or GPU and one copy of the model; None takes all cores, or all GPUs.

    The pipeline uses the running Ray, or the one that RAY_ADDRESS names, or a local one that it starts and stops. The
    vectors are the same as from `embed_file` on the same kind of processor. It warns about the first file as
    `embed_file` does. Raises ValueError, naming file, row group and row, for a row that is not a sentence: at once for
    the first rows, otherwise after all other blocks. Raises OSError for files that cannot be read or written, and
    ValueError for less than one worker and if Ray is not installed.
    """
    ray = require("ray", extra="ray", purpose="embedding with Ray")
    data = require("ray.data", extra="ray", purpose="embedding with Ray")
    if workers is not None and workers < 1:
        raise ValueError(f"workers is {workers}; expected at least 1")
    start = time.monotonic()
    inputs, output = expanded(input_path).resolve(), expanded(output_folder).resolve()
    model = lasting_name(model)  # actors, in another working folder, find it too
    pieces = list_pieces(inputs, output)
    output.mkdir(parents=True, exist_ok=True)
    if not pieces:  # tables without rows
        return BulkResult(0, 0, 0, 0, seconds=time.monotonic() - start)
    sample = open_source(pieces[0].input, raw_text=raw_text, column=column).read(True)
    deque(islice(sample, SAMPLE_TOKENS + 1), maxlen=0)  # warns about text that looks raw, before hours of work
    settings = {"layers": layers, "column": column, "raw_text": raw_text}
    with _running(ray, workers):
        kind = "GPU" if on_gpus else "CPU"
        num_actors = min(workers or int(ray.cluster_resources().get(kind, 0)), len(pieces))
        if num_actors < 1:
            raise ValueError(f"Ray has no {kind}; start Ray with some, or choose the other kind")
        rows = [{"number": number} for number in range(len(pieces))]
        done: list[dict[str, Any]] = (
            data.from_items(rows, override_num_blocks=len(rows))
            .map(
                PieceEmbedder,
                fn_constructor_args=(pieces, settings, model, precision, on_gpus),
                compute=data.ActorPoolStrategy(size=num_actors, max_tasks_in_flight_per_actor=1),
                num_cpus=0 if on_gpus else 1,
                num_gpus=1 if on_gpus else 0,
                max_task_retries=RETRIES,
            )
            .take_all()
        )
    for row in done:
        if row["refused"]:
            raise (OSError if row["of_files"] else ValueError)(row["refused"])
    return BulkResult(
        num_files=len(done),
        num_sentences=sum(row["num_sentences"] for row in done),
        num_tokens=sum(row["num_tokens"] for row in done),
        num_tokens_before=sum(row["num_tokens"] for row in done if row["was_there"]),
        seconds=time.monotonic() - start,
    )


class PieceEmbedder:
    """The state of an actor: a model that embeds one piece per call."""

    def __init__(
        self, pieces: list[Piece], settings: dict[str, Any], model: str, precision: Precision, on_gpus: bool
    ) -> None:
        self._pieces, self._settings = pieces, settings
        device = "cuda" if on_gpus else "cpu"
        self._elmo = Elmo.from_pretrained(model, precision=precision, device=device)

    def __call__(self, row: dict[str, Any]) -> dict[str, Any]:
        """Embed the piece with that number. An error of its input is part of the result, so that Ray does not retry."""
        try:
            done = embed_piece(self._elmo, self._pieces[int(row["number"])], **self._settings)
        except (ValueError, OSError) as error:
            nothing = EmbeddedPiece(0, 0, was_there=False)
            return asdict(nothing) | {"refused": str(error), "of_files": isinstance(error, OSError)}
        return asdict(done) | {"refused": "", "of_files": False}


@contextmanager
def _running(ray: Any, workers: int | None) -> Generator[None]:
    """Use the running Ray, or the one that RAY_ADDRESS names, or start a local one and stop it at the end."""
    if ray.is_initialized():
        yield
        return
    ray.init(
        **({} if "RAY_ADDRESS" in os.environ else {"num_cpus": workers, "include_dashboard": False}),
        log_to_driver=False,
        logging_level="ERROR",
    )
    try:
        yield
    finally:
        ray.shutdown()


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

    Raises FileNotFoundError if there are no files, ValueError for a file that is not Parquet, and if a piece would
    replace input.
    """
    files, unread = [input_path], ""
    if input_path.is_dir():
        inside = sorted(input_path.glob("[!.]*"))  # `._a.parquet` of macOS is not a table
        files = [path for path in inside if path.suffix.lower() == ".parquet" and path.is_file()]
        unread = join_names(path.name for path in inside if path.is_dir())
    if not files:
        folders = f"; subfolders are not read: {unread}" if unread else ""
        raise FileNotFoundError(f"{input_path} has no file that ends in .parquet{folders}")
    if unread:
        warn_caller(f"subfolders of {input_path} are not read: {unread}")
    if output_folder.resolve() == files[0].resolve().parent:
        raise ValueError(f"{output_folder} is the folder of the input; choose another folder for the vectors")
    pieces: list[Piece] = []
    for file in files:
        with refused(file):
            groups = parquet_file(file).metadata
            numbers = [number for number in range(groups.num_row_groups) if groups.row_group(number).num_rows]
        pieces += [Piece(file, number, output_folder / f"{file.stem}-{number:05}.parquet") for number in numbers]
    if others := sorted(file.name for file in {*output_folder.glob("[!.]*.parquet")} - {p.output for p in pieces}):
        warn_caller(f"{output_folder} has files from other input, {len(others):,} in all: {join_names(others)}")
    return pieces


def embed_piece(
    elmo: Elmo, piece: Piece, *, layers: Layers = "top", column: str | None = None, raw_text: bool = False
) -> EmbeddedPiece:
    """Embed a piece, unless its file exists. The file keeps all columns of the input next to tokens, offsets, vectors.

    Arguments and vectors are the same as in `embed_file`. Memory holds the input's row group and a block of vectors.
    Raises ValueError, naming file, row group and row, for a value that is not a sentence, for columns of the input that
    would be replaced, and for an existing file made from something else.
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
