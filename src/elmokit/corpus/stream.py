"""Corpus shards -> an endless, seeded, resumable stream of sentences, in constant memory.

Shards are text files with one tokenised sentence per line. Every epoch visits all shards in a new order. A shard is
read in blocks of lines, and the lines of a block are shuffled. The order depends only on the seed and the position.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from pathlib import Path
from typing import Any

from elmokit.corpus.manifest import MANIFEST_NAME
from elmokit.files.lines import check_texts, is_read_once, shown_name, split_tokens
from elmokit.system.batches import batched
from elmokit.system.messages import warn_caller
from elmokit.text.sentence_lines import sentence_lines
from elmokit.text.tokenizer import tokenize

BLOCK_LINES = 65_536  # lines that are in memory and shuffled together, about 10 MB of text


@dataclass(frozen=True)
class CorpusPosition:
    """The position of the next sentence: its index in the shuffled `block` of the `shard`-th shard of `epoch`."""

    epoch: int = 0
    shard: int = 0
    block: int = 0
    sentence: int = 0


@dataclass(eq=False)
class SentenceStream:
    """Sentences (lists of tokens), endless or for `num_epochs`. `shuffle=False` keeps the order of the files.

    `purpose` is part of the seed, so that two streams over the same shards (one per direction) shuffle independently.
    Blank lines are skipped. With `raw_text`, lines are tokenised. Set `warn` when a text is read for the first time.
    `sentence_lines` describes `warn`, `column`, `as_text` and `is_shard`. Raises ValueError if the shards contain no
    sentence, or if one of them is the manifest of a corpus or is not text.
    """

    shards: Sequence[Path]
    _: KW_ONLY
    seed: int = 0
    purpose: str = ""
    shuffle: bool = True
    raw_text: bool = False
    column: str | None = None
    as_text: bool = False
    is_shard: bool = True
    warn: bool = False
    num_epochs: int | None = None
    position: CorpusPosition = CorpusPosition()

    def __post_init__(self) -> None:
        if not self.shards:
            raise ValueError("no shards were given; expected at least one text file with one sentence per line")
        for path in self.shards:
            if path.name == MANIFEST_NAME:
                raise ValueError(f"{path} describes a corpus; expected its text: {path.parent}/train-*")
        self._sentences = self._read()

    def __iter__(self) -> Iterator[list[str]]:
        return self._sentences

    def __next__(self) -> list[str]:
        return next(self._sentences)

    def _read(self) -> Iterator[list[str]]:
        start = self.position
        epoch = start.epoch
        split = tokenize if self.raw_text else split_tokens
        while self.num_epochs is None or epoch < self.num_epochs:
            empty = True
            shards = list(self.shards)
            if self.shuffle:
                self._random("shards", CorpusPosition(epoch)).shuffle(shards)
            for shard_index, shard in enumerate(shards):
                if (epoch, shard_index) < (start.epoch, start.shard):
                    empty = False
                    continue
                for block_index, lines in enumerate(self._blocks(shard)):
                    here = CorpusPosition(epoch, shard_index, block_index)
                    if (epoch, shard_index, block_index) < (start.epoch, start.shard, start.block):
                        continue
                    if self.shuffle:
                        self._random("lines", here).shuffle(lines)
                    first = start.sentence if here == replace(start, sentence=0) else 0
                    for index in range(first, len(lines)):
                        empty = False
                        self.position = CorpusPosition(epoch, shard_index, block_index, index + 1)
                        yield split(lines[index])
            if empty and (epoch > start.epoch or start == CorpusPosition()):
                raise ValueError(f"there is no sentence in {', '.join(map(shown_name, self.shards))}")
            epoch += 1

    def _random(self, what: str, position: CorpusPosition) -> random.Random:
        return random.Random(f"{self.seed}/{self.purpose}/{what}/{position.epoch}/{position.shard}/{position.block}")

    def _blocks(self, shard: Path) -> Iterator[list[str]]:
        warn = warn_caller if self.warn else None
        lines = sentence_lines(
            shard,
            raw_text=self.raw_text,
            column=self.column,
            as_text=self.as_text,
            is_shard=self.is_shard,
            warn=warn,
        )
        return batched((line for line in lines if line and not line.isspace()), size=BLOCK_LINES)


def check_has_text(*paths: Path, raw_text: bool = False, column: str | None = None, as_text: bool = False) -> None:
    """Before a model is read, raise the errors of `SentenceStream` for files without a sentence or of another form.

    The files are read to their ends (`check_texts`). Pipes and standard input are not checked, because they can be
    read only once.
    """
    check_texts(*paths)
    for path in paths:
        if not is_read_once(path):
            how: dict[str, Any] = {"raw_text": raw_text, "column": column, "as_text": as_text, "is_shard": False}
            next(SentenceStream([path], shuffle=False, num_epochs=1, **how))
