"""A file of sentences -> a file of contextual vectors, in constant memory and resumable (`elmokit embed`)."""

from __future__ import annotations

import functools
import math
import shutil
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from elmokit.elmo.layer_choice import as_layers
from elmokit.files.atomic import atomic_write, check_is_not_input, check_output
from elmokit.files.lines import shown_name
from elmokit.files.locks import lock
from elmokit.system.batches import batched
from elmokit.system.messages import readable_bytes
from elmokit.system.progress_bar import progress_bar
from elmokit.vectors.arrow_groups import pyarrow_module
from elmokit.vectors.files import format_to_write
from elmokit.vectors.partial import FLOAT, PartialVectors
from elmokit.vectors.reader import Texts, tokens_path
from elmokit.vectors.sources import ColumnSource, SentenceSource, open_source

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    import numpy as np
    from jaxtyping import Float32

    from elmokit.elmo.elmo import Elmo
    from elmokit.elmo.layer_choice import Layers

    Block = list[tuple[str, list[str]]]  # lines with their tokens

BLOCK_LINES = 512
BLOCK_TOKENS = 16_384
"""A block, which is embedded and kept as a whole, ends after this many lines or with the line that reaches this many
tokens."""


@dataclass(frozen=True)
class EmbeddedFile:
    """The size of an output file."""

    num_lines: int
    num_tokens: int


def embed_file(
    elmo: Elmo,
    input_path: str | Path,
    output_path: str | Path,
    *,
    layers: Layers | None = None,
    batch_size: int = 128,
    raw_text: bool = False,
    column: str | None = None,
    resume: bool = False,
) -> EmbeddedFile:
    """Embed every line of a text file (plain, gzip or xz; `-` is stdin) as a sentence; `load_vectors` reads the output.

    The input may be a Parquet or Arrow file, whose rows are the sentences. The ending of the output's name decides its
    layout: .h5, .hdf5, .npz, .npy, .safetensors, .parquet, .arrow or .feather. The tokens of raw text are written next
    to it, into `OUTPUT.tokens.txt`: a line for each line, with spaces between tokens; in Parquet and Arrow, into the
    file itself. So are other tokens if there is a `NAME.txt` with other text, which would be taken for the sentences.

    layers: as in `Elmo.encode`; by default all for HDF5, as the released tool writes them, otherwise the top one.
    raw_text: whether to tokenise the lines; otherwise their tokens are separated by spaces.
    column: of a Parquet or Arrow file: strings, or lists of tokens; by default `tokens`, or else `text`.
    resume: whether to continue a job that was killed, whose finished lines are in `OUTPUT.partial`; the output has the
        same bytes as if the job had not been killed. (Unless `Elmo.same_in_any_batch`, another `batch_size`, number of
        threads or kernel of "auto" changes the rounding of the lines that are left.) A different model, different
        options, or different text in the finished lines are refused. A job that was started with `resume` keeps its
        finished lines also if it fails.
    Raises ValueError for input that is not text, OSError for files that cannot be read or written, naming the file and
    the line or row, and InUseError, an OSError, if another process writes the same output; then no output is left.
    While it runs, the folder of the output needs twice the output's size.
    """
    output = Path(output_path)
    layout = format_to_write(output)
    check_output(output)
    source = open_source(input_path, raw_text=raw_text, column=column)
    if layout.holds_text:
        _check_table(source, output)
    for written in (tokens_path(output), *layout.files(output)):
        check_is_not_input(written, input_path)
    needs_tokens = raw_text or _has_other_text(output, input_path)
    with lock(output):
        if layers is None:
            layers = layout.default_layers
        layers = as_layers(layers, top=elmo.config.num_layers)
        job: dict[str, object] = {
            "version": 1,
            "model": elmo.fingerprint(),  # while its weights are still those that were read
            "precision": elmo.precision,
            "layers": layers,
            "raw_text": raw_text,
        }
        if isinstance(source, ColumnSource):
            job["column"] = source.column
        shape = elmo.encode([], layers=layers, pooling="mean").shape[1:]
        num_tokens = _count_tokens(source)
        if num_tokens is not None:
            check_room(output, num_tokens=num_tokens, shape=shape)
        partial = PartialVectors(output.with_name(f"{output.name}.partial"), job=job, shape=shape, resume=resume)
        encode = functools.partial(elmo.encode, layers=layers, batch_size=batch_size, show_progress_bar=False)
        with (
            removed_on_failure(partial, output, keep=resume),
            _tokens_file(output, is_needed=needs_tokens and not layout.holds_text) as keep,
        ):
            with progress_bar(unit="token", total=num_tokens, done=partial.num_tokens, scale=True) as bar:
                for num_embedded in _embed_sentences(elmo, encode, source, partial, keep):
                    bar.update(num_embedded)
            if not partial.num_lines:
                raise ValueError(f"{shown_name(input_path)} has no lines; expected one sentence per line")
            texts = Texts(source, raw_text) if layout.holds_text else None
            layout.write(output, replace(partial.stored(), texts=texts))
        partial.remove()
        return EmbeddedFile(num_lines=partial.num_lines, num_tokens=partial.num_tokens)


def _embed_sentences(
    elmo: Elmo,
    encode: Callable[[list[list[str]]], list[Float32[np.ndarray, "*L T E"]]],
    source: SentenceSource,
    partial: PartialVectors,
    keep: Callable[[list[str]], object],
) -> Iterator[int]:
    """Embed the lines that are not finished, and yield the number of tokens of each block.

    keep: called with the tokens of every line, finished or not.

    A block is written while the next block is encoded and the one after that is read.
    """
    sentences = iter(source)
    digest = partial.pass_over_finished(_texts(sentences, keep), source=source.name, unit="lines")
    blocks = batched(
        sentences,
        size=BLOCK_LINES,
        weight=lambda line_and_tokens: len(line_and_tokens[1]),
        enough_weight=BLOCK_TOKENS,
    )
    with ThreadPoolExecutor(max_workers=1) as writing:
        written = writing.submit(int)
        for block in _read_ahead(blocks):
            if not elmo.same_in_any_batch:
                elmo.forget_tokens()  # so that a block's bytes depend on that block alone
            arrays = encode([tokens for _, tokens in block])
            for _, tokens in block:
                keep(tokens)
            digest.update("".join(f"{line}\n" for line, _ in block).encode())
            written.result()  # at most one block waits to be written
            written = writing.submit(partial.append, arrays, digest=digest.hexdigest())
            yield sum(len(tokens) for _, tokens in block)
        written.result()


def _read_ahead(blocks: Iterator[Block]) -> Iterator[Block]:
    """Yield the same blocks, but read and split the next block in a thread while the current one is used."""
    with ThreadPoolExecutor(max_workers=1) as reading:
        following = reading.submit(next, blocks, None)
        while (block := following.result()) is not None:
            following = reading.submit(next, blocks, None)
            yield block


def _texts(sentences: Iterator[tuple[str, list[str]]], keep: Callable[[list[str]], object]) -> Iterator[str]:
    """The line of each sentence, whose tokens are kept."""
    for line, tokens in sentences:
        keep(tokens)
        yield f"{line}\n"


def _check_table(source: SentenceSource, output: Path) -> None:
    """Raise ValueError, before anything is computed, for a table that cannot be written."""
    pyarrow_module("pyarrow")
    if not source.is_file:
        raise ValueError(
            f"{output} has the tokens next to the vectors, and the text is read twice for that; give a file in place "
            f"of {source.name}"
        )


def _count_tokens(source: SentenceSource) -> int | None:
    """Number of tokens; None for input that can be read only once. Finds bad lines before hours of work."""
    return sum(len(tokens) for _, tokens in source) if source.is_file else None


@contextmanager
def _tokens_file(output: Path, *, is_needed: bool) -> Generator[Callable[[list[str]], object]]:
    """Writes lists of tokens as lines, or nothing: then it removes at the end what an earlier job wrote."""
    path = tokens_path(output)
    if not is_needed:
        yield _keep_nothing
        path.unlink(missing_ok=True)
        return
    with atomic_write(path) as unfinished, unfinished.open("w", encoding="utf-8", newline="") as file:
        yield lambda tokens: file.write(f"{' '.join(tokens)}\n")


def _has_other_text(output: Path, input_path: str | Path) -> bool:
    """Whether there is a `NAME.txt` that readers of the output would take for its sentences, and is not the input."""
    neighbour, given = output.with_suffix(".txt"), Path(input_path)
    return neighbour.is_file() and not (given.is_file() and neighbour.samefile(given))


def _keep_nothing(tokens: list[str]) -> None:
    pass


@contextmanager
def removed_on_failure(partial: PartialVectors, output: Path, *, keep: bool) -> Generator[None]:
    """Remove `partial` on any failure, unless it is to be kept, and name the output in the error of a failed write."""
    try:
        yield
    except (ValueError, OSError) as error:
        if not keep:
            partial.remove()
        if isinstance(error, OSError) and error.errno is not None:  # a failed write, perhaps without a file name
            raise OSError(error.errno, error.strerror, str(output)) from error
        raise


def check_room(output: Path, *, num_tokens: int, shape: tuple[int, ...]) -> None:
    """Raise OSError if the disk has no room for these vectors and, next to them, the partial output.

    shape: of the vectors of one token.
    """
    num_bytes = 2 * FLOAT.itemsize * num_tokens * math.prod(shape)
    free = shutil.disk_usage(output.parent).free
    if num_bytes > free:
        raise OSError(
            f"{output}: needs {readable_bytes(num_bytes)} while it is written (twice its size), but {output.parent} "
            f"has only {readable_bytes(free)} free; choose another folder, or fewer layers"
        )
