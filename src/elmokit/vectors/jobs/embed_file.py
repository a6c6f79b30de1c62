"""A file of sentences -> a file of contextual vectors, in constant memory and resumable (`elmokit embed`).

`embed_file` here and `embed_fasta` next to it describe a `Job`: a source of sentences, and what is kept of their
vectors. `run` reads the sentences once, embeds them block by block into a folder next to the output, and writes the
output from there.
"""

from __future__ import annotations

import functools
import math
import shutil
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from elmokit.elmo.layer_choice import DEFAULT_LAYERS, as_layers
from elmokit.files.atomic import atomic_write, check_is_not_input, check_output
from elmokit.files.lines import shown_name
from elmokit.files.locks import lock
from elmokit.system.batches import batched
from elmokit.system.messages import readable_bytes
from elmokit.system.progress_bar import progress_bar
from elmokit.system.python import expanded
from elmokit.vectors.arrow_groups import pyarrow_module
from elmokit.vectors.files import format_to_write
from elmokit.vectors.jobs.partial import FLOAT, PartialVectors
from elmokit.vectors.jobs.sources import open_source, read_once
from elmokit.vectors.reader import sentences_path, tokens_path

if TYPE_CHECKING:
    import numpy as np
    from jaxtyping import Float32

    from elmokit.elmo.elmo import Elmo
    from elmokit.elmo.layer_choice import Layers
    from elmokit.vectors.jobs.sources import Block, Sentence, Sentences, SentenceSource

    Encode = Callable[[list[list[str]]], list[Float32[np.ndarray, "*L T E"]]]

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
    split_sentences: bool = False,
    column: str | None = None,
    resume: bool = False,
) -> EmbeddedFile:
    """Embed every line of a text file (plain, gzip or xz; `-` is stdin) as a sentence; `load_vectors` reads the output.

    The input may be a Parquet or Arrow file, whose rows are the sentences. The ending of the output's name decides its
    layout: .h5, .hdf5, .npz, .npy, .safetensors, .parquet, .arrow or .feather, and .tsv, which other programs read. The
    tokens of raw text are written next to it, into `OUTPUT.tokens.txt`, one line per sentence (in tables, a column).
    Other tokens are also written if a `NAME.txt` with different text exists, because readers would take it for the
    sentences.

    layers: as in `Elmo.encode`; by default all for HDF5, as the released tool writes them, otherwise the top one.
    raw_text: whether to tokenise the lines; otherwise their tokens are separated by spaces.
    split_sentences: whether to split a raw text, such as a book, into sentences and these into tokens. Its lines may
        end anywhere, and a blank line ends a sentence. `OUTPUT.sentences.txt` gets the sentences, one per line.
    column: of a Parquet or Arrow file, JSON lines, or a table in tabs or commas: strings, or lists of tokens; `form` of
        CoNLL-U. By default `tokens`, or else `text`, of Parquet and Arrow.
    resume: whether to continue a job that was killed, whose finished lines are in `OUTPUT.partial`; the output has the
        same bytes as if the job had not been killed. (Unless `Elmo.same_in_any_batch`, another `batch_size` or number
        of threads changes the rounding of the lines that are left.) A different model, different
        options, or different text in the finished lines are refused. A job that was started with `resume` keeps its
        finished lines also if it fails.
    Raises ValueError for input that is not text, OSError for files that cannot be read or written, naming the file and
    the line or row, and InUseError, an OSError, if another process writes the same output; then no output is left.
    While it runs, the folder of the output needs twice the output's size.
    """
    output = expanded(output_path)
    layout = format_to_write(output)
    raw_text = raw_text or split_sentences
    source = open_source(input_path, raw_text=raw_text, split_sentences=split_sentences, column=column)
    default: Layers = "all" if output.suffix in (".h5", ".hdf5") else DEFAULT_LAYERS
    layers = as_layers(default if layers is None else layers, top=elmo.config.num_layers)
    given = expanded(input_path)
    neighbour = output.with_suffix(".txt")  # which readers would take for the sentences
    is_other = neighbour.is_file() and not (source.is_text and given.is_file() and neighbour.samefile(given))
    beside: dict[Path, Callable[[Sentence], str]] = {}
    if not layout.holds_text and (raw_text or is_other):
        beside[tokens_path(output)] = lambda sentence: " ".join(sentence[1])
    if split_sentences:
        beside[sentences_path(output)] = lambda sentence: sentence[0]
    settings = {"raw_text": raw_text} | ({} if source.column is None else {"column": source.column})
    job = Job(
        elmo,
        source,
        output,
        layers=layers,
        settings=settings | ({"split_sentences": True} if split_sentences else {}),
        encode=functools.partial(elmo.encode, layers=layers, batch_size=batch_size, show_progress_bar=False),
        beside=beside,
        raw_text=raw_text,
    )
    return run(job, resume=resume)


@dataclass(frozen=True)
class Job:
    """What is embedded, and what is kept of it."""

    elmo: Elmo
    source: SentenceSource
    output: Path
    layers: Layers | str
    """`all` if L vectors are kept of a token. This and `settings` are recorded; a resumed job must have the same."""
    settings: Mapping[str, object]
    encode: Encode
    """What is kept of the vectors of sentences of tokens: (T,E) or (L,T,E)."""
    beside: Mapping[Path, Callable[[Sentence], str]]
    """Files next to the output, and their line for each sentence."""
    raw_text: bool | None = None
    """Whether the sentences, for layouts that hold them, were tokenised; None leaves them out."""
    one_per_sentence: bool = False
    """Whether T is 1 in what is kept."""
    unit: str = "lines"


def run(job: Job, *, resume: bool) -> EmbeddedFile:
    """Do a job, or continue it. Raises the errors of `embed_file`."""
    output, layout = job.output, format_to_write(job.output)
    for written in (*layout.files(output), *job.beside, tokens_path(output), sentences_path(output)):
        check_output(written)
        check_is_not_input(written, job.source.path)
    if layout.package:
        pyarrow_module(layout.package)  # or an error before anything is computed
    shape = (job.elmo.num_layers, job.elmo.dim) if job.layers == "all" else (job.elmo.dim,)
    record = {"version": 1, "model": job.elmo.fingerprint(), "precision": job.elmo.precision, "layers": job.layers}
    with lock(output), _naming(output), read_once(job.source, folder=output.parent, unit=job.unit) as sentences:
        if not sentences.num_sentences:
            raise ValueError(f"{shown_name(job.source.path)} has no {job.unit}; expected at least one")
        num_vectors = sentences.num_sentences if job.one_per_sentence else sentences.num_tokens
        check_space(output, num_bytes=2 * FLOAT.itemsize * num_vectors * math.prod(shape))
        folder = output.with_name(f"{output.name}.partial")
        partial = PartialVectors(folder, job={**record, **job.settings}, shape=shape, resume=resume)
        try:
            _embed(job, sentences, partial)
            _write(job, sentences, partial)
        except (ValueError, OSError):
            if not resume:
                partial.remove()
            raise
        partial.remove()
        return EmbeddedFile(num_lines=partial.end.lines, num_tokens=partial.end.tokens)


def check_space(output: Path, *, num_bytes: int) -> None:
    """Raise OSError if the disk has no space for the output and, next to it, the partial output."""
    free = shutil.disk_usage(output.parent).free
    if num_bytes > free:
        raise OSError(
            f"{output}: needs {readable_bytes(num_bytes)} while it is written (twice its size), but {output.parent} "
            f"has only {readable_bytes(free)} free; choose another folder, or fewer layers"
        )


def _embed(job: Job, sentences: Sentences, partial: PartialVectors) -> None:
    """Embed what is not finished: a block is written while the next is encoded and the one after that is read."""
    rest = iter(sentences)
    done = partial.pass_over_finished(rest, source=shown_name(job.source.path), unit=job.unit)
    with (
        ThreadPoolExecutor(max_workers=1) as writing,
        progress_bar(unit="token", total=sentences.num_tokens, done=done, scale=True) as bar,
    ):
        written = writing.submit(int)
        for block, arrays in encoded(job.elmo, job.encode, _read_ahead(sentence_blocks(rest))):
            written.result()  # at most one block waits to be written
            written = writing.submit(partial.append, block, arrays)
            bar.update(sum(len(tokens) for _, tokens in block))
        written.result()


def sentence_blocks(sentences: Iterable[Sentence]) -> Iterator[Block]:
    """Blocks of sentences of a text."""
    return batched(sentences, size=BLOCK_LINES, weight=lambda one: len(one[1]), enough_weight=BLOCK_TOKENS)


def encoded(
    elmo: Elmo, encode: Encode, blocks: Iterable[Block]
) -> Iterator[tuple[Block, list[Float32[np.ndarray, "*L T E"]]]]:
    """Each block with the vectors of its sentences. The bytes of a block depend on that block alone."""
    for block in blocks:
        if not elmo.same_in_any_batch:
            elmo.forget_tokens()
        yield block, encode([tokens for _, tokens in block])


def _read_ahead(blocks: Iterator[Block]) -> Iterator[Block]:
    """Yield the same blocks, but read the next block in a thread while the current one is used."""
    with ThreadPoolExecutor(max_workers=1) as reading:
        following = reading.submit(next, blocks, None)
        while (block := following.result()) is not None:
            following = reading.submit(next, blocks, None)
            yield block


@contextmanager
def _naming(output: Path) -> Generator[None]:
    """Name the output in the error of a failed write that names no file."""
    try:
        yield
    except OSError as error:
        if error.errno is None or error.filename is not None:
            raise
        raise OSError(error.errno, error.strerror, str(output)) from error


def _write(job: Job, sentences: Iterable[Sentence], partial: PartialVectors) -> None:
    """Write the output and the files next to it, and remove the tokens and sentences of an earlier job."""
    layout = format_to_write(job.output)
    texts = sentences if layout.holds_text and job.raw_text is not None else None
    with ExitStack() as stack:
        for path, line in job.beside.items():
            with stack.enter_context(atomic_write(path)).open("w", encoding="utf-8", newline="") as file:
                file.writelines(f"{line(sentence)}\n" for sentence in sentences)
        layout.write(job.output, replace(partial.stored(), texts=texts, raw_text=bool(job.raw_text)))
    for path in (tokens_path(job.output), sentences_path(job.output)):
        if path not in job.beside:
            path.unlink(missing_ok=True)
