"""Parquet files embedded on all cores or GPUs of one machine or of a cluster, with Ray Data.

Each row group of the input is a block of the pipeline. Each actor opens its own copy of the model, embeds blocks, and
writes one file per block (`vectors/embed_pieces.py`). If an actor dies, Ray restarts it and gives its block to another.
The same call skips complete files, so it continues a run that was stopped.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from elmokit.elmo.elmo import Elmo
from elmokit.formats.find import DEFAULT_MODEL, lasting_name
from elmokit.system.optional import require
from elmokit.system.paths import expanded
from elmokit.text.sentence_lines import SAMPLE_TOKENS
from elmokit.vectors.embed_pieces import EmbeddedPiece, Piece, embed_piece, list_pieces
from elmokit.vectors.sources import open_source

if TYPE_CHECKING:
    from elmokit.elmo.encoding import Layers
    from elmokit.layers.packed.linear import Precision


RETRIES = 3
"""How often a block is tried again when its actor died."""


@dataclass(frozen=True)
class BulkResult:
    """What a pipeline has done."""

    num_files: int
    """Files in the output."""
    num_sentences: int
    num_tokens: int
    num_tokens_before: int
    """Tokens of the files that were there before."""
    seconds: float
    """With the start of the actors."""


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

    input_path, output_folder: on a cluster, in a file system that all machines share, as is `model` if it is a path.
        A row group of `NAME.parquet` becomes `NAME-00000.parquet`; it keeps the columns of the input and gets `tokens`,
        `vectors`, and, of raw text, `offsets`. Files of the output that are there are not computed again. An input
        without rows gives no files.
    column: of texts, or of lists of tokens; None takes `tokens`, or else `text`.
    raw_text: whether texts are to be tokenised; otherwise their tokens are separated by spaces.
    workers: number of actors, each with one core or GPU and one copy of the model; None takes all cores, or all GPUs.

    The pipeline runs in the Ray that is running, or that RAY_ADDRESS names, or in a local one that ends with it. The
    vectors are the same as from `embed_file` on the same kind of processor. It warns about the first file as
    `embed_file` does. Raises ValueError, naming file, row group and row, for a row that is not a sentence: in the first
    rows at once, otherwise after all other blocks. Raises OSError for files that cannot be read or written, and
    ValueError for less than one worker and if Ray is not installed.
    """
    ray = require("ray", extra="ray", purpose="embedding with Ray")
    data = require("ray.data", extra="ray", purpose="embedding with Ray")
    if workers is not None and workers < 1:
        raise ValueError(f"workers is {workers}; expected at least 1")
    start = time.monotonic()
    inputs, output = expanded(input_path).resolve(), expanded(output_folder).resolve()
    model = lasting_name(model)  # which actors, whose working folder is another one, find too
    pieces = list_pieces(inputs, output)
    output.mkdir(parents=True, exist_ok=True)
    if not pieces:  # tables without rows
        return BulkResult(0, 0, 0, 0, seconds=time.monotonic() - start)
    sample = open_source(pieces[0].input, raw_text=raw_text, column=column).read(True)
    deque(islice(sample, SAMPLE_TOKENS + 1), maxlen=0)  # warns of text that looks raw, before hours of work
    settings = {"layers": layers, "column": column, "raw_text": raw_text}
    with _running(ray, workers):
        kind = "GPU" if on_gpus else "CPU"
        num_actors = min(workers or int(ray.cluster_resources().get(kind, 0)), len(pieces))
        if num_actors < 1:
            raise ValueError(f"Ray has no {kind}; start it with some, or choose the other kind")
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
    """What each actor holds: a model, which embeds one piece per call."""

    def __init__(
        self, pieces: list[Piece], settings: dict[str, Any], model: str, precision: Precision, on_gpus: bool
    ) -> None:
        self._pieces, self._settings = pieces, settings
        device = "cuda" if on_gpus else "cpu"
        self._elmo = Elmo.from_pretrained(model, precision=precision, device=device)

    def __call__(self, row: dict[str, Any]) -> dict[str, Any]:
        """Embed the piece of that number. What is wrong with its input is in the result, and is not tried again."""
        try:
            done = embed_piece(self._elmo, self._pieces[int(row["number"])], **self._settings)
        except (ValueError, OSError) as error:
            nothing = EmbeddedPiece(0, 0, was_there=False)
            return asdict(nothing) | {"refused": str(error), "of_files": isinstance(error, OSError)}
        return asdict(done) | {"refused": "", "of_files": False}


@contextmanager
def _running(ray: Any, workers: int | None) -> Generator[None]:
    """The Ray that is running or that RAY_ADDRESS names, or a local one, which is stopped at the end."""
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
