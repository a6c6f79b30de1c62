"""The text of a run: its shards, the same ones when it is resumed, the streams over them, and held-out sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

import numpy as np

from elmokit.corpus.batches import Packer, PackerState
from elmokit.corpus.stream import SentenceStream
from elmokit.files.digests import file_digest
from elmokit.files.lines import is_read_once, split_tokens
from elmokit.pretraining.run_folder import TextSize
from elmokit.system.messages import plural
from elmokit.system.progress_bar import progress_bar
from elmokit.system.python import warn_caller
from elmokit.text.sentence_lines import prose_lines

if TYPE_CHECKING:
    from elmokit.pretraining.config import PretrainingConfig
    from elmokit.pretraining.run_folder import RunRecord
    from elmokit.text.indexer import Spelling
    from elmokit.text.vocabulary import Vocabulary

FIRST_SENTENCES = 1000
MOST_UNKNOWN = 0.5
"""Share of the first sentences' tokens that the vocabulary may lack without a warning."""
MOST_CUT = 0.01
"""Share of them that may be longer than the model reads without a warning."""
MOST_PASSES = 10
"""Passes over the text without held-out text that need no warning: those of the released models (bilm-tf)."""
MOST_WARM_UP = 1 / 3
"""Share of the steps that may be warm-up without a warning."""
_OTHER_TEXT = (
    ", so it would not end as an uninterrupted run; put the old file back, or use `elmokit finetune` for the new text"
)


def check_files(paths: Sequence[Path], what: str) -> None:
    """Raise FileNotFoundError, or ValueError for a pipe, if a path is not a file; the message calls it `what`."""
    for path in paths:
        if is_read_once(path):
            raise ValueError(f"the {what} {path} is a pipe or standard input; expected a file: write it to one first")
        if not path.is_file():
            raise FileNotFoundError(f"no {what} {path}; expected a text file with one tokenised sentence per line")


def with_text(record: RunRecord) -> RunRecord:
    """The record with the absolute paths of its shards, their sizes and digests, and the amount of their text.

    Every shard is read to its end, which takes about two seconds for 40 MB of text in an .xz file. Otherwise a bad line
    would end the run where it is read first, perhaps after days. Raises the ValueError and OSError of `prose_lines`,
    which name the file.
    """
    shards = [shard.resolve() for shard in record.shards]
    digests: list[str] = []
    num_sentences = num_tokens = 0
    with progress_bar(unit=" lines", label="reading the text", keep=False, scale=True) as bar:
        for shard in shards:
            digests.append(_digest(shard))
            for line in prose_lines(shard, is_shard=True):
                in_line = len(split_tokens(line))
                num_sentences += in_line > 0
                num_tokens += in_line
                bar.update()
    return replace(
        record,
        shards=shards,
        shard_bytes=tuple(shard.stat().st_size for shard in shards),
        shard_digests=tuple(digests),
        text=TextSize(num_sentences, num_tokens),
    )


def warn_of_settings(config: PretrainingConfig, text: TextSize | None, *, has_held_out: bool) -> None:
    """Warn of a text that is read so often that the model learns it by heart, and of a run that is mostly warm-up."""
    num_steps = config.num_steps
    if text is not None and not has_held_out and num_steps > MOST_PASSES * text.steps_per_pass(config):
        warn_caller(
            f"{num_steps:,} steps read the {text.num_tokens:,} tokens of text {text.times(config)}, and without "
            "held-out text (--held-out FILE, or held_out=[FILE]) nothing shows when the model learns them by heart"
        )
    if config.warmup_steps > MOST_WARM_UP * num_steps:
        highest = config.learning_rate_at(min(config.warmup_steps, num_steps) - 1)
        reached = "" if config.warmup_steps <= num_steps else f", so the learning rate ends at {highest:g}"
        warn_caller(
            f"{config.warmup_steps:,} of the {num_steps:,} steps would be warm-up{reached}; a tenth is usual: "
            f"warmup_steps={num_steps // 10}"
        )


def warn_of_text(shards: Sequence[Path], vocabulary: Vocabulary, spelling: Spelling, config: PretrainingConfig) -> None:
    """Warn of a vocabulary of another language, or of other tokens, and of tokens that the model does not read whole.

    Also of one that is not sorted by frequency, if training takes ids for ranks. Raises ValueError for shards without a
    sentence.
    """
    stream = SentenceStream(shards, shuffle=False, num_epochs=1, warn=True)
    first = [next(stream), *islice(stream, FIRST_SENTENCES - 1)]
    tokens = [token for sentence in first for token in sentence]
    share = sum(token not in vocabulary for token in tokens) / len(tokens)
    if share > MOST_UNKNOWN:
        warn_caller(
            f"{share:.0%} of the first {len(tokens):,} tokens are not in the vocabulary, and all of them are one "
            "unknown word to the softmax; is it the vocabulary of this text?"
        )
    elif config.softmax == "sampled" or config.zipf_bias:
        counts = np.bincount(vocabulary.ids(tokens), minlength=len(vocabulary))
        if vocabulary.is_out_of_order(counts):
            warn_caller(
                "the vocabulary does not seem to be sorted by falling frequency: its first tenth has few of the first "
                f"{len(tokens):,} tokens. The sampled softmax and zipf_bias take the place of a token for its rank, "
                "and learn badly from another order; `elmokit vocabulary` writes it in order"
            )
    share = spelling.num_cut(tokens) / len(tokens)
    if share > MOST_CUT:
        warn_caller(
            f"{share:.0%} of the first {len(tokens):,} tokens are longer than the {spelling.limit} that the model "
            "reads, and the rest of each is ignored; a new model with a larger max_characters_per_token reads more"
        )


def sample_sentences(paths: Sequence[Path], *, most: int) -> list[str]:
    """Choose at most `most` sentences, spread evenly over the text; 0 takes all."""
    sentences = [" ".join(tokens) for tokens in SentenceStream(paths, shuffle=False, num_epochs=1, warn=True)]
    if not most or len(sentences) <= most:
        return sentences
    return [sentences[index * len(sentences) // most] for index in range(most)]


def new_packers(
    shards: Sequence[Path],
    vocabulary: Vocabulary,
    config: PretrainingConfig,
    *,
    own: slice,
    states: Sequence[PackerState] = (),
) -> list[Packer]:
    """The streams of each direction, forward first; from the beginning of the text, or where the `states` continue.

    own: the streams of this process.
    """
    packers: list[Packer] = []
    for index in range(config.bilm.num_directions):
        state = states[index] if states else None
        stream = SentenceStream(
            shards,
            seed=config.seed,
            purpose=("forward", "backward")[index],
            position=None if state is None else state.position,
        )
        packers.append(
            Packer(
                stream,
                vocabulary,
                batch_size=config.batch_size,
                bptt_steps=config.bptt_steps,
                backward=index == 1,
                rows=None if state is None else state.rows,
                own=own,
            )
        )
    return packers


def moved_to(record: RunRecord, shards: Sequence[Path]) -> RunRecord:
    """The record of a run whose text is in other places now. Raises ValueError for another number of files."""
    if len(shards) != len(record.shards):
        names = ", ".join(shard.name for shard in record.shards)
        raise ValueError(
            f"the run reads {plural(len(record.shards), 'shard')}, but got {len(shards)}; give all of them, in this "
            f"order: {names}"
        )
    return replace(record, shards=[shard.resolve() for shard in shards])


def check_same_text(record: RunRecord, run_dir: Path) -> None:
    """Raise an error if a run that is resumed would not read the text that it started with.

    FileNotFoundError for a shard that is gone, ValueError for one of other contents. Runs that were started before
    sizes or digests were recorded have none to compare.
    """
    for shard in record.shards:
        if not shard.is_file():
            raise FileNotFoundError(
                f"no shard {shard}, which {run_dir} reads; put it back, or say where all of its shards are now: "
                f"elmokit pretrain --resume {quote(str(run_dir))} SHARD ..., or shards=[SHARD, ...]"
            )
    for shard, num_bytes in zip(record.shards, record.shard_bytes, strict=bool(record.shard_bytes)):
        if (found := shard.stat().st_size) != num_bytes:
            reason = f"has {found:,} bytes, but {run_dir} started with one of {num_bytes:,}"
            raise ValueError(f"the shard {shard} {reason}{_OTHER_TEXT}")
    for shard, digest in zip(record.shards, record.shard_digests, strict=bool(record.shard_digests)):
        if _digest(shard) != digest:
            raise ValueError(f"the shard {shard} has other contents than when {run_dir} started{_OTHER_TEXT}")


def _digest(shard: Path) -> str:
    return file_digest(shard, "sha256").hex()
