"""The shards of a run: files when it starts, and the same ones, perhaps in another folder, when it is resumed."""

from __future__ import annotations

from dataclasses import replace
from shlex import quote
from typing import TYPE_CHECKING

from elmokit.files.digests import file_digest
from elmokit.files.lines import is_read_once, read_lines
from elmokit.system.messages import count
from elmokit.system.progress_bar import progress_bar

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from elmokit.pretraining.run_folder import RunRecord


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


def check_text(shards: Sequence[Path]) -> None:
    """Read every shard to its end, which takes about one second for 40 MB of text in an .xz file.

    Otherwise a bad line would end the run where it is read first, perhaps after days. Raises the ValueError and OSError
    of `read_lines`, which name file and line.
    """
    with progress_bar(unit=" shards", label="checking the text", total=len(shards), keep=False) as bar:
        for shard in shards:
            for _ in read_lines(shard):
                pass
            bar.update()


def with_contents(record: RunRecord) -> RunRecord:
    """The record with the absolute paths of its shards, their sizes and digests."""
    shards = [shard.resolve() for shard in record.shards]
    return replace(
        record,
        shards=shards,
        shard_bytes=tuple(shard.stat().st_size for shard in shards),
        shard_digests=tuple(_digest(shard) for shard in shards),
    )


def moved_to(record: RunRecord, shards: Sequence[Path]) -> RunRecord:
    """The record of a run whose text is in other places now. Raises ValueError for another number of files."""
    if len(shards) != len(record.shards):
        names = ", ".join(shard.name for shard in record.shards)
        raise ValueError(
            f"the run reads {count(len(record.shards), 'shard')}, but got {len(shards)}; give all of them, in this "
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
