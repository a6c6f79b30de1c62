"""A file of sentences -> a file of contextual vectors, in constant memory and resumable (`elmokit embed`).

`embed_file` here and `embed_fasta` in `proteins.py` describe a `Job`. `run` reads its sentences once to check and count
them, and then embeds them block by block.
"""

from __future__ import annotations

import functools
import hashlib
from array import array
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from elmokit.elmo.encoding import DEFAULT_LAYERS, as_layers
from elmokit.files.lines import shown_name
from elmokit.files.locks import lock
from elmokit.system.batches import batched
from elmokit.system.paths import expanded
from elmokit.system.progress_bar import counted, progress_bar
from elmokit.vectors.arrow import pyarrow_module
from elmokit.vectors.files import format_to_write
from elmokit.vectors.flat import tokens_path
from elmokit.vectors.sources import open_source, read_again
from elmokit.vectors.writer import Writer, check_outputs, partial_folder

if TYPE_CHECKING:
    from jaxtyping import Float32, Int64

    from elmokit.elmo.elmo import Elmo
    from elmokit.elmo.encoding import Layers
    from elmokit.vectors.sources import Block, Sentence, SentenceSource

    Encode = Callable[[list[list[str]]], list[Float32[np.ndarray, "*L T E"]]]

BLOCK_LINES = 512
BLOCK_TOKENS = 16_384
"""A block is embedded and written as a whole. It ends after this many lines, or at the line that reaches this many
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
    as_text: bool = False,
    resume: bool = False,
    overwrite: bool = False,
) -> EmbeddedFile:
    """Embed every line of a text file (plain, gzip or xz; `-` is stdin) as a sentence; `load_vectors` reads the output.

    The input may be a Parquet or Arrow file with one sentence per row. The ending of the output's name decides its
    layout: .h5, .hdf5, .npz, .npy, .safetensors, .parquet, .arrow, .feather, or .tsv for other programs. The tokens of
    raw text are written next to it, into `OUTPUT.tokens.txt`, one line per sentence; tables have a column for them.
    Other tokens are also written there if a `NAME.txt` with different text exists, because readers would take that for
    the sentences.

    layers: as in `Elmo.encode`; by default all for HDF5, as the released tool writes them, otherwise the top one.
    raw_text: whether to tokenise the lines; otherwise their tokens are separated by spaces.
    split_sentences: whether to split a raw text, such as a book, into sentences and tokens. Its lines may end anywhere,
        but a blank line ends a sentence. `OUTPUT.sentences.txt` gets the sentences, one per line.
    column: a column of strings or lists of tokens, in Parquet, Arrow, JSON lines or a table (tabs or commas); `form`
        in CoNLL-U. By default, `tokens` or else `text` in Parquet and Arrow (with raw_text, `text` comes first).
    as_text: whether to read the file as text, even if it looks like something else, such as a table.
    resume: whether to continue a killed job. Its finished vectors are in `OUTPUT.partial`. The output has the same
        bytes as if the job had not been killed. (Unless `Elmo.same_in_any_batch`, another `batch_size` or number of
        threads changes the rounding of the remaining lines.) A different model, option or text is refused. A job that
        was started with `resume` keeps its finished vectors even if it fails.
    overwrite: whether to replace an output that exists.
    Raises ValueError for input that is not text, FileExistsError if the output exists, OSError for files that cannot be
    read or written, naming the file and the line or row, and InUseError, an OSError, if another process writes the same
    output. After an error, no output is left. While it runs, the folder needs the output's size, or twice that for
    layouts other than .npy and .safetensors.
    """
    output = expanded(output_path)
    layout = format_to_write(output)
    raw_text = raw_text or split_sentences
    source = open_source(input_path, raw_text=raw_text, column=column, split_sentences=split_sentences, as_text=as_text)
    default: Layers = "all" if output.suffix in (".h5", ".hdf5") else DEFAULT_LAYERS
    layers = as_layers(default if layers is None else layers, top=elmo.config.num_layers)
    neighbour, tokens_file = output.with_suffix(".txt"), tokens_path(output)  # readers look for the sentences there
    is_embedded = source.is_text and source.path.is_file() and neighbour.is_file() and neighbour.samefile(source.path)
    is_other = neighbour.is_file() and not is_embedded
    beside: dict[Path, Callable[[Sentence], str]] = {}
    if not layout.holds_text and (raw_text or is_other or tokens_file.exists()):
        beside[tokens_file] = lambda sentence: " ".join(sentence[1])
    if split_sentences:
        beside[output.with_name(f"{output.name}.sentences.txt")] = lambda sentence: sentence[0]
    job = Job(
        elmo,
        source,
        output,
        layers=layers,
        settings={"raw_text": raw_text, "column": source.column, "split_sentences": split_sentences},
        encode=functools.partial(elmo.encode, layers=layers, batch_size=batch_size, show_progress_bar=False),
        beside=beside,
        raw_text=raw_text,
    )
    return run(job, resume=resume, overwrite=overwrite)


@dataclass(frozen=True)
class Job:
    """The sentences to embed, and the layers and pooling to keep."""

    elmo: Elmo
    source: SentenceSource
    output: Path
    layers: Layers | str
    """`all` keeps L vectors per token. This and `settings` are recorded: they must be the same in a resumed job."""
    settings: Mapping[str, object]
    encode: Encode
    """Sentences of tokens -> the vectors to keep of each, (T,E) or (L,T,E)."""
    beside: Mapping[Path, Callable[[Sentence], str]]
    """Files next to the output, and what makes their line for a sentence."""
    raw_text: bool | None = None
    """Whether the sentences, for layouts that hold them, were tokenised; None leaves them out."""
    one_per_sentence: bool = False
    """Whether a sentence's stored array has T = 1."""
    unit: str = "lines"


def run(job: Job, *, resume: bool, overwrite: bool) -> EmbeddedFile:
    """Do a job, or continue it. Raises the errors of `embed_file`."""
    output, layout = job.output, format_to_write(job.output)
    written = (*layout.files(output), *job.beside)
    overwrite = overwrite or (resume and partial_folder(output).exists())
    check_outputs(*written, source=job.source.path, overwrite=overwrite)
    if layout.package:
        pyarrow_module(layout.package)  # raises its error before anything is computed
    shape = (job.elmo.num_layers, job.elmo.dim) if job.layers == "all" else (job.elmo.dim,)
    with (
        lock(output),
        _naming(output),
        read_again(job.source, folder=output.parent) as read,
        Writer(output, resume=resume) as out,
    ):
        offsets, num_tokens, digest = _survey(job, read(True), folder=out.folder)
        record = {"version": 2, "model": job.elmo.fingerprint(), "precision": job.elmo.precision, "layers": job.layers}
        out.start({**record, **job.settings, "text": digest}, shape=shape, offsets=offsets)
        done = num_tokens * out.num_sentences // len(offsets)
        with progress_bar(unit="token", total=num_tokens, done=done, scale=True) as bar:
            for start, block, arrays in encoded_blocks(job.elmo, job.encode, read(False), num_done=out.num_sentences):
                out.append(start, arrays)
                bar.update(sum(len(tokens) for _, tokens in block))
        texts = read(False) if layout.holds_text and job.raw_text is not None else None
        out.finish(beside=job.beside, texts=texts, raw_text=bool(job.raw_text))
    return EmbeddedFile(num_lines=len(offsets) - 1, num_tokens=int(offsets[-1]))


def encoded_blocks(
    elmo: Elmo, encode: Encode, sentences: Iterable[Sentence], *, num_done: int = 0
) -> Iterator[tuple[int, Block, list[Float32[np.ndarray, "*L T E"]]]]:
    """Each block of a text: the number of its first sentence, its sentences and their vectors.

    num_done: sentences that need no vectors. Their blocks are left out; a block that is half done is encoded again.
    The bytes of the vectors depend on their block alone.
    """
    start = 0
    for block in batched(sentences, size=BLOCK_LINES, weight=lambda one: len(one[1]), enough_weight=BLOCK_TOKENS):
        if start + len(block) > num_done:
            if not elmo.same_in_any_batch:
                elmo.forget_tokens()
            yield start, block, encode([tokens for _, tokens in block])
        start += len(block)


def _survey(job: Job, sentences: Iterator[Sentence], *, folder: Path) -> tuple[Int64[np.ndarray, " M"], int, str]:
    """Read a text to its end, so that hours of work do not end in an error, and write the files next to the output.

    Returns offsets (the row at which each sentence begins, and the number of rows), the number of tokens, and a digest.
    """
    lengths = array("q", [0])
    num_tokens = 0
    digest = hashlib.blake2b(digest_size=16)
    reading = progress_bar(unit=f" {job.unit}", label="reading", keep=False, scale=True)
    with ExitStack() as stack:
        files = [
            (stack.enter_context((folder / path.name).open("w", encoding="utf-8", newline="")), line)
            for path, line in job.beside.items()
        ]
        for sentence in counted(sentences, reading):
            text, tokens = sentence
            digest.update(f"{len(text)} {text}".encode())
            lengths.append(1 if job.one_per_sentence else len(tokens))
            num_tokens += len(tokens)
            for file, line in files:
                file.write(f"{line(sentence)}\n")
    if len(lengths) == 1:
        raise ValueError(f"{shown_name(job.source.path)} has no {job.unit}; expected at least one")
    return np.cumsum(lengths, dtype=np.int64), num_tokens, digest.hexdigest()


@contextmanager
def _naming(output: Path) -> Generator[None]:
    """Add the name of the output to the error of a failed write, if the error names no file."""
    try:
        yield
    except OSError as error:
        if error.errno is None or error.filename is not None:
            raise
        raise OSError(error.errno, error.strerror, str(output)) from error
