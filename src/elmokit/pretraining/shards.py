"""The text of a run: its shards, the same ones when it is resumed, and held-out sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from shlex import quote

from elmokit.corpus.stream import SentenceStream
from elmokit.files.digests import file_digest
from elmokit.files.lines import split_tokens
from elmokit.pretraining.config import PretrainingConfig
from elmokit.pretraining.run_folder import RunRecord, TextSize
from elmokit.system.messages import plural
from elmokit.system.progress_bar import progress_bar
from elmokit.system.python import warn_caller
from elmokit.text.sentence_lines import prose_lines

LEAST_SEEN, MOST_SEEN = 10, 0.05
"""Number and share of held-out sentences, short ones mostly, that may be in the shards too without a warning."""


def read_text(config: PretrainingConfig, shards: Sequence[Path], held_out: Sequence[str]) -> RunRecord:
    """The record of a new run: the absolute paths of its shards, their sizes and digests, and the amount of their text.

    Every shard is read to its end, which takes about two seconds for 40 MB of text in an .xz file. Otherwise a bad line
    would end the run where it is read first, perhaps after days. Raises the ValueError and OSError of `prose_lines`,
    which name the file; warns if held-out sentences are in the shards.
    """
    unseen = set(held_out)
    num_held_out = len(unseen)
    shards = [shard.resolve() for shard in shards]
    num_sentences = num_tokens = 0
    with progress_bar(unit=" lines", label="reading the text", keep=False, scale=True) as bar:
        for shard in shards:
            for line in prose_lines(shard, is_shard=True):
                tokens = split_tokens(line)
                in_line = len(tokens)
                num_sentences += in_line > 0
                num_tokens += in_line
                if unseen:
                    unseen.discard(" ".join(tokens))
                bar.update()
    num_seen = num_held_out - len(unseen)
    if num_seen >= max(LEAST_SEEN, MOST_SEEN * num_held_out):
        warn_caller(
            f"{num_seen:,} of the {num_held_out:,} different held-out sentences stand in the shards too, so their "
            "perplexity is too low; hold out text that is not trained on"
        )
    sizes, digests = tuple(shard.stat().st_size for shard in shards), tuple(map(_digest, shards))
    return RunRecord(config, shards, sizes, digests, TextSize(num_sentences, num_tokens))


def sample_sentences(paths: Sequence[Path], *, most: int) -> list[str]:
    """Choose at most `most` sentences, spread evenly over the text; 0 takes all."""
    sentences = [" ".join(tokens) for tokens in SentenceStream(paths, shuffle=False, num_epochs=1, warn=True)]
    if not most or len(sentences) <= most:
        return sentences
    return [sentences[index * len(sentences) // most] for index in range(most)]


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
    unknown = (None,) * len(record.shards)
    recorded = zip(record.shards, record.shard_bytes or unknown, record.shard_sha256 or unknown, strict=True)
    for shard, num_bytes, digest in recorded:
        if num_bytes not in (None, shard.stat().st_size) or digest not in (None, _digest(shard)):
            raise ValueError(
                f"the shard {shard} has other contents than when {run_dir} started, so it would not end as an "
                "uninterrupted run; put the old file back, or use `elmokit finetune` for the new text"
            )


def check_same_vocabulary(record: RunRecord, path: Path) -> None:
    """Raise ValueError if the vocabulary is not the one that the run began with, as far as it has recorded it."""
    if record.vocabulary_sha256 not in ("", file_digest(path, "sha256").hex()):
        raise ValueError(f"{path} is not the vocabulary that the run began with; put it back")


def _digest(shard: Path) -> str:
    return file_digest(shard, "sha256").hex()
