"""The text of a run: its shards, read and checked once before training, the same ones when it is resumed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from shlex import quote

import numpy as np

from elmokit.corpus.stream import SentenceStream
from elmokit.files.digests import file_digest
from elmokit.files.lines import is_read_once, shown_name, split_tokens
from elmokit.pretraining.config import PretrainingConfig
from elmokit.pretraining.run_folder import RunRecord, TextSize
from elmokit.system.messages import join_names, plural
from elmokit.system.progress_bar import progress_bar
from elmokit.system.python import warn_caller
from elmokit.text.indexer import ByteSpelling
from elmokit.text.sentence_lines import prose_lines, sentence_lines
from elmokit.text.vocabulary import Vocabulary

LEAST_SEEN, MOST_SEEN = 10, 0.05
"""Number and share of held-out sentences, short ones mostly, that may be in the shards too without a warning."""
FIRST_SENTENCES = 1000
MOST_UNKNOWN = 0.5
"""Share of the first sentences' tokens that the vocabulary may lack without a warning."""
MOST_CUT = 0.01
"""Share of them that may be longer than the model reads without a warning."""


def check_files(shards: Sequence[Path], held_out: Sequence[Path]) -> None:
    """Raise FileNotFoundError for no file, ValueError for a pipe or no shards; warn of a file that is named twice."""
    if not shards:
        raise ValueError("no shards were given; expected at least one text file with one sentence per line")
    for what, paths in (("shard", shards), ("held-out text", held_out)):
        for path in paths:
            if is_read_once(path):
                raise ValueError(
                    f"the {what} {path} is a pipe or standard input; expected a file: write it to one first"
                )
            if not path.is_file():
                raise FileNotFoundError(f"no {what} {path}; expected a text file with one tokenised sentence per line")
        twice = [str(path) for path, number in Counter(path.resolve() for path in paths).items() if number > 1]
        if twice:
            warn_caller(f"the {what} is named more than once, and its text counts as often: {join_names(twice)}")


def read_text(
    config: PretrainingConfig, shards: Sequence[Path], vocabulary: Vocabulary, held_out: Sequence[str]
) -> RunRecord:
    """The record of a new run: the absolute paths of its shards, their sizes and digests, and the amount of their text.

    Every shard is read to its end, which takes about two seconds for 40 MB of text in an .xz file. Otherwise a bad line
    would end the run where it is read first, perhaps after days. Raises the ValueError and OSError of `prose_lines`,
    which name the file, and ValueError for shards without a sentence. Warns if held-out sentences are in the shards, or
    if the first sentences do not look like text that was made for training with this vocabulary.
    """
    unseen = set(held_out)
    num_held_out = len(unseen)
    shards = [shard.resolve() for shard in shards]
    first: list[str] = []
    num_sentences = num_tokens = 0
    with progress_bar(unit=" lines", label="reading the text", keep=False, scale=True) as bar:
        for shard in shards:
            read = sentence_lines if num_sentences < FIRST_SENTENCES else prose_lines
            for line in read(shard, is_shard=True):
                tokens = split_tokens(line)
                if num_sentences < FIRST_SENTENCES and not line.isspace():
                    first += tokens
                in_line = len(tokens)
                num_sentences += in_line > 0
                num_tokens += in_line
                if unseen:
                    unseen.discard(" ".join(tokens))
                bar.update()
    if not first:
        raise ValueError(f"there is no sentence in {', '.join(map(shown_name, shards))}")
    num_seen = num_held_out - len(unseen)
    if num_seen >= max(LEAST_SEEN, MOST_SEEN * num_held_out):
        warn_caller(
            f"{num_seen:,} of the {num_held_out:,} different held-out sentences stand in the shards too, so their "
            "perplexity is too low; hold out text that is not trained on"
        )
    _warn_of_tokens(first, vocabulary, config)
    sizes, digests = tuple(shard.stat().st_size for shard in shards), tuple(map(_digest, shards))
    return RunRecord(config, shards, sizes, digests, TextSize(num_sentences, num_tokens))


def _warn_of_tokens(tokens: Sequence[str], vocabulary: Vocabulary, config: PretrainingConfig) -> None:
    """Warn of a vocabulary of another language, or of other tokens, and of tokens that the model does not read whole.

    Also of one that is not sorted by frequency, if training takes ids for ranks.
    """
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
    spelling = ByteSpelling(config.bilm.max_characters_per_token)
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
