"""Before the first step: checks of the text and of the settings, and warnings about what rarely works."""

from __future__ import annotations

import timeit
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from shlex import quote

import numpy as np
import torch

from elmokit.corpus.manifest import is_held_out_file
from elmokit.corpus.stream import SentenceStream
from elmokit.files.lines import check_texts, is_read_once
from elmokit.pretraining.config import KEPT, PretrainingConfig, with_settings
from elmokit.pretraining.logging import require_tensorboard
from elmokit.pretraining.record import RunRecord, TextSize
from elmokit.pretraining.run_folder import PretrainingProgress
from elmokit.runs.folder import HELD_OUT_NAME
from elmokit.system.messages import join_names, plural, warn_caller
from elmokit.system.progress_bar import progress_bar
from elmokit.text.spelling import ByteSpelling
from elmokit.text.vocabulary import Vocabulary

LEAST_BETWEEN_MEASUREMENTS = 20
"""Smallest number of steps between two measurements of held-out text in a fine-tuned run that measures once per pass.
These steps take about as long as one measurement."""
MOST_PASSES = 10
"""Without held-out text, warn if the text is read more often. The released models made this many passes (bilm-tf)."""
MOST_PASSES_WITHOUT_DROPOUT = 3
"""After this many passes, held-out perplexity rose in all runs without dropout (docs/pretraining.md)."""
MOST_WARM_UP = 1 / 3
"""Warn if warm-up is a larger share of the steps."""
LEAST_SEEN, MOST_SEEN = 10, 0.05
"""Warn if this number and this share of the held-out sentences are also in the shards. Fewer are mostly short ones."""
FIRST_SENTENCES = 1000
MOST_UNKNOWN = 0.5
"""Warn if the vocabulary lacks a larger share of the first sentences' tokens."""
MOST_CUT = 0.01
"""Warn if a larger share of these tokens is longer than the model reads."""


def check_can_train(config: PretrainingConfig, *, has_held_out: bool) -> None:
    """Raise ValueError, before anything is written, for settings that would fail later, or be useless."""
    if config.patience and not (has_held_out and config.evaluate_every):
        raise ValueError(
            "patience needs evaluations; give held-out text (--held-out FILE, or held_out=[FILE]) and evaluate_every=N"
        )
    if config.tensorboard:
        require_tensorboard()


def check_files(shards: Sequence[Path], held_out: Sequence[Path]) -> None:
    """Raise FileNotFoundError for a missing file, ValueError for a pipe or for a file that is not text.

    Warns about a file that is given twice, and about a shard that `prepare` held out.
    """
    for what, paths in (("shard", shards), ("held-out text", held_out)):
        for path in paths:
            if is_read_once(path):
                raise ValueError(f"the {what} {path} is a pipe or standard input; write it to a file first")
            if not path.is_file():
                raise FileNotFoundError(f"{path}: there is no such {what}; expected one tokenised sentence per line")
        twice = [str(path) for path, number in Counter(path.resolve() for path in paths).items() if number > 1]
        if twice:
            warn_caller(f"the {what} is given more than once, so it counts more than once: {join_names(twice)}")
    for path in filter(is_held_out_file, shards):
        warn_caller(f"the shard {path} is the held-out text of {path.parent}; give the folder to leave it out")
    if len(shards) + len(held_out) > 1:
        check_texts(*shards, *held_out)


def sample_sentences(paths: Sequence[Path], *, number: int, as_text: bool = False) -> list[str]:
    """Choose `number` sentences, spread evenly over the text; 0 takes all."""
    stream = SentenceStream(paths, as_text=as_text, shuffle=False, num_epochs=1, warn=True)
    sentences = [" ".join(tokens) for tokens in stream]
    if not number or len(sentences) <= number:
        return sentences
    return [sentences[index * len(sentences) // number] for index in range(number)]


def settled(
    config: PretrainingConfig,
    shards: Sequence[Path],
    vocabulary: Vocabulary,
    *,
    device: torch.device,
    held_out: Sequence[str],
    each_pass: bool,
    started_from: str | None,
    as_text: bool = False,
) -> RunRecord:
    """The record of a new run: definite settings, the absolute paths of its shards, and the amount of text in them.

    each_pass: whether to measure held-out text after each pass over the text, if that is sooner than `evaluate_every`.
    Every shard is read to its end, which takes about two seconds for 40 MB of text in an .xz file. Otherwise a bad line
    would end the run when it is first read, perhaps after days. Raises the ValueError and OSError of `SentenceStream`,
    which name the file.
    """
    config = resolved(config, num_tokens=len(vocabulary), device=device)
    shards = [shard.resolve() for shard in shards]
    text, first = _read_text(shards, held_out, as_text=as_text)
    _warn_of_tokens(first, vocabulary, config)
    if each_pass and held_out:
        steps = max(LEAST_BETWEEN_MEASUREMENTS, int(text.steps_per_pass(config)))
        config = replace(config, evaluate_every=min(config.evaluate_every or steps, steps))
    warn_of_settings(config, text, has_held_out=bool(held_out))
    sizes = tuple(shard.stat().st_size for shard in shards)
    tokens = [token for sentence in held_out for token in sentence.split(" ")]
    unknown = round(_unknown_share(tokens, vocabulary), 4) if tokens else None
    return RunRecord(config, tuple(map(str, shards)), sizes, text, unknown, started_from)


def resolved(config: PretrainingConfig, *, num_tokens: int, device: torch.device) -> PretrainingConfig:
    """Replace settings that depend on the machine or the vocabulary with definite values, which the run records.

    `precision="auto"` becomes bfloat16 on GPUs with instructions for it (NVIDIA's since Ampere), and on a CPU that
    multiplies it more than 1.3 times as fast as float32.
    If the vocabulary has fewer than twice as many tokens as `num_negatives`, the full softmax is used, with a warning.
    It takes less time than drawing most of the vocabulary.
    """
    if config.softmax == "sampled" and num_tokens < 2 * config.num_negatives:
        warn_caller(
            f"the vocabulary has {num_tokens:,} tokens and num_negatives is {config.num_negatives:,}: "
            "training with the full softmax"
        )
        config = replace(config, softmax="full")
    if config.precision != "auto":
        return config
    if device.type != "cpu":
        fast = device.type == "cuda" and torch.cuda.is_bf16_supported(including_emulation=False)
    else:
        fast = _product_seconds(torch.float32) > 1.3 * _product_seconds(torch.bfloat16)
    return replace(config, precision="bfloat16" if fast else "float32")


def _product_seconds(dtype: torch.dtype) -> float:
    left, right = torch.ones(64, 1024, dtype=dtype), torch.ones(1024, 1024, dtype=dtype)
    return min(timeit.repeat(lambda: torch.mm(left, right), repeat=10, number=1))


def _read_text(shards: Sequence[Path], held_out: Sequence[str], *, as_text: bool) -> tuple[TextSize, list[str]]:
    """The amount of text, and the tokens of its first sentences. Warns if held-out sentences are in the shards."""
    unseen = set(held_out)
    num_held_out = len(unseen)
    first: list[str] = []
    num_sentences = num_tokens = 0
    with progress_bar(unit=" sentences", label="reading the text", keep=False, scale=True) as bar:
        for tokens in SentenceStream(shards, as_text=as_text, shuffle=False, num_epochs=1, warn=True):
            if num_sentences < FIRST_SENTENCES:
                first += tokens
            num_sentences += 1
            num_tokens += len(tokens)
            if unseen:
                unseen.discard(" ".join(tokens))
            bar.update()
    num_seen = num_held_out - len(unseen)
    if num_seen >= max(LEAST_SEEN, MOST_SEEN * num_held_out):
        warn_caller(
            f"{num_seen:,} of the {num_held_out:,} different held-out sentences also occur in the shards, so held-out "
            "perplexity will be too low; remove them from one of the two"
        )
    return TextSize(num_sentences, num_tokens), first


def _warn_of_tokens(tokens: Sequence[str], vocabulary: Vocabulary, config: PretrainingConfig) -> None:
    """Warn about a vocabulary from another text, about one that is not sorted by frequency, and about cut tokens."""
    share = _unknown_share(tokens, vocabulary)
    if share > MOST_UNKNOWN:
        warn_caller(
            f"{share:.0%} of the first {len(tokens):,} tokens are not in the vocabulary, and the softmax treats "
            "them all as one unknown word; does the vocabulary belong to this text?"
        )
    elif config.softmax == "sampled" or config.zipf_bias:  # both take ids for ranks
        counts = np.bincount(vocabulary.ids(tokens), minlength=len(vocabulary))
        if vocabulary.is_out_of_order(counts):
            warn_caller(
                "the vocabulary does not seem to be sorted by descending frequency: its first tenth has few of the "
                f"first {len(tokens):,} tokens. The sampled softmax and zipf_bias use a token's position as its rank, "
                "so they learn badly from any other order; `elmokit vocabulary` sorts it"
            )
    spelling = ByteSpelling(config.bilm.max_characters_per_token)
    share = spelling.num_cut(tokens) / len(tokens)
    if share > MOST_CUT:
        warn_caller(
            f"{share:.0%} of the first {len(tokens):,} tokens are longer than the {spelling.limit} that the model "
            "reads, and the rest of each is ignored; a new model with a larger max_characters_per_token reads more"
        )


def _unknown_share(tokens: Sequence[str], vocabulary: Vocabulary) -> float:
    return int(np.count_nonzero(vocabulary.ids(tokens) == vocabulary.unknown_id)) / len(tokens)


def warn_of_settings(config: PretrainingConfig, text: TextSize | None, *, has_held_out: bool) -> None:
    """Warn if a text is read so often that the model learns it by heart, or if too much of a run is warm-up."""
    num_steps = config.num_steps
    if text is not None:
        passes = num_steps / text.steps_per_pass(config)
        read = f"{num_steps:,} steps read the {text.num_tokens:,} tokens of text {text.times(config)}"
        if passes > MOST_PASSES and not has_held_out:
            warn_caller(
                f"{read}, and without held-out text (--held-out FILE, or held_out=[FILE]) nothing shows when the model "
                "learns them by heart"
            )
        if passes > MOST_PASSES_WITHOUT_DROPOUT and not config.dropout_rate:
            warn_caller(
                f"{read}, and without dropout a model learns them by heart after about "
                f"{MOST_PASSES_WITHOUT_DROPOUT}; use dropout_rate=0.2, or fewer steps"
            )
    if config.warmup_steps > MOST_WARM_UP * num_steps:
        warn_caller(
            f"{config.warmup_steps:,} of the {num_steps:,} steps would be warm-up; a tenth is usual: "
            f"warmup_steps={num_steps // 10}"
        )


def changed(before: PretrainingConfig, settings: Sequence[str]) -> PretrainingConfig:
    """The config of a resumed run with other settings. Raises ValueError for settings that it cannot change."""
    config = with_settings(before, settings)
    if any(getattr(config, name) != getattr(before, name) for name in ("bilm", *KEPT)):
        raise ValueError(f"a resumed run keeps its model, {', '.join(KEPT)}; start a new run to change them")
    return config


def check_same_text(record: RunRecord, run_dir: Path) -> None:
    """Raise an error if a resumed run would not read the text that it started with.

    FileNotFoundError for a missing shard, ValueError for a shard of a different size or a different number of shards.
    """
    sizes = record.shard_bytes or (None,) * len(record.shards)
    if len(sizes) != len(record.shards):
        raise ValueError(
            f"{run_dir} reads {plural(len(sizes), 'shard')}, but got {len(record.shards)}; give all of them, in order"
        )
    for shard, num_bytes in zip(map(Path, record.shards), sizes, strict=True):
        if not shard.is_file():
            raise FileNotFoundError(
                f"{run_dir} reads {shard}, which is missing; put it back, or say where all of its shards are now: "
                f"elmokit pretrain --resume {quote(str(run_dir))} SHARD ..., or shards=[SHARD, ...]"
            )
        if num_bytes not in (None, shard.stat().st_size):
            raise ValueError(
                f"the shard {shard} has another size than when {run_dir} started, so the run would not end as if "
                "it had not been interrupted; put the old file back, or use `elmokit finetune` for the new text"
            )


def check_can_continue(
    run_dir: Path, config: PretrainingConfig, progress: PretrainingProgress, *, is_changed: bool
) -> None:
    """Raise an error if changes have no effect because the run has ended, or if its held-out text is missing."""
    step, best = progress.step, progress.best
    if is_changed and config.num_steps < step:
        raise ValueError(f"num_steps is {config.num_steps}; {run_dir} is at step {step}; expected at least that")
    if is_changed and config.num_steps > step and progress.finished(config):
        raise ValueError(
            f"{run_dir} stopped at step {step} after {plural(best.num_evaluations_since, 'evaluation')} without "
            "improvement; set patience=0, or a larger one, to continue"
        )
    held_out = run_dir / HELD_OUT_NAME
    if best.perplexity is not None and not progress.finished(config) and not held_out.is_file():
        raise FileNotFoundError(f"{held_out} is missing; the run measures its perplexity on it: put it back")
