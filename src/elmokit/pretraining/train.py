"""Pretraining: corpus shards -> a biLM, in a run folder that can be killed at any moment and resumed."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from itertools import islice
from pathlib import Path

import torch

from elmokit.corpus.stream import SentenceStream
from elmokit.files.atomic import as_paths
from elmokit.files.json_fields import Fields
from elmokit.formats.native import CARD_NAME, VOCABULARY_NAME, WEIGHTS_NAME
from elmokit.formats.vocabulary_file import read_vocabulary
from elmokit.layers.devices import find_device
from elmokit.layers.sampled_softmax import Softmax
from elmokit.model.bilm import BiLM
from elmokit.pretraining.changes import with_change
from elmokit.pretraining.checkpoints import checkpoints
from elmokit.pretraining.config import PretrainingConfig, with_settings
from elmokit.pretraining.evaluation import sample_sentences
from elmokit.pretraining.logging import require_tensorboard
from elmokit.pretraining.ranks import join_ranks
from elmokit.pretraining.run import BEST_DIR, OnStep, Run
from elmokit.pretraining.run_folder import (
    HELD_OUT_NAME,
    RunRecord,
    change_record,
    check_can_be_recorded,
    create_run,
    read_record,
)
from elmokit.pretraining.shards import check_files, check_same_text, check_text, moved_to, with_contents
from elmokit.runs.folder import METRICS_NAME, existing_run, new_run, start_writing
from elmokit.system.messages import count
from elmokit.system.warn import warn_caller
from elmokit.text.indexer import Spelling
from elmokit.text.vocabulary import Vocabulary

CUT_SHORT = "step-00000000"
"""The checkpoint that the start of a fine-tuning run leaves when it is killed before config.json is written."""
KEPT = ("batch_size", "optimizer", "muon_for", "seed", "evaluate_sentences")
"""Settings that a resumed run keeps, next to the model."""
WRITTEN = (VOCABULARY_NAME, CARD_NAME, HELD_OUT_NAME, METRICS_NAME, WEIGHTS_NAME, BEST_DIR)
"""What a run writes besides its checkpoints and config.json."""
FIRST_SENTENCES = 1000
MOST_UNKNOWN = 0.5
"""Share of the first sentences' tokens that the vocabulary may lack without a warning."""
MOST_CUT = 0.01
"""Share of them that may be longer than the model reads without a warning."""


def pretrain(
    shards: Iterable[str | Path],
    *,
    vocabulary_path: str | Path,
    run_dir: str | Path,
    config: PretrainingConfig,
    held_out: Iterable[str | Path] = (),
    device: str | None = None,
    on_step: OnStep | None = None,
) -> Path:
    """Train a biLM on text shards (one tokenised sentence per line) and return the run folder.

    The folder is also a model in the native format: its `model.safetensors` has the weights of the newest checkpoint,
    and `best/` those with the lowest perplexity on `held_out`, text of the same form. Processes that torchrun starts
    train one model together. `on_step` is called with the `Run` after each step; an exception from it ends the run,
    which can be resumed. All text is read once before the first step. Raises ValueError if the folder already holds a
    run, for text that cannot be read, for names that are not UTF-8 and for more shards than config.json can list;
    `DivergenceError`, a ValueError, if a loss, a gradient, a weight or a held-out perplexity is not finite.
    """
    vocabulary = Vocabulary.read(vocabulary_path)
    record = RunRecord(config, as_paths(shards))
    return begin(
        record, vocabulary, Path(run_dir).expanduser(), held_out=as_paths(held_out), device=device, on_step=on_step
    )


def resume_pretraining(
    run_dir: str | Path,
    settings: Sequence[str] = (),
    *,
    shards: Iterable[str | Path] = (),
    from_start: bool = False,
    device: str | None = None,
    on_step: OnStep | None = None,
) -> Path:
    """Continue a run from its newest checkpoint, or from its start if it has none yet.

    `settings` (`field=value`) may change anything except the model and the order of the text; each change stands with
    its step in config.json, and in the card and the report. The number of processes may differ from before. `shards`
    are the files that the run reads, in their order, if they have moved. `on_step` is as in `pretrain`.

    A damaged checkpoint is passed over with a warning. If none can be read, ValueError says what is wrong with each
    and nothing is changed; `from_start` trains such a run again from its first step, unless it was fine-tuned. A disk
    that cannot be read is not damage: its OSError ends the call, and nothing is changed. Raises
    FileNotFoundError if the folder is not a run, or a shard or the run's held-out text is gone, ValueError for a shard
    of another size than the run started with and for changes to a run that `patience` has ended, and InUseError, an
    OSError, if another process has the run.
    """
    run_dir, shards = Path(run_dir).expanduser(), as_paths(shards)
    with join_ranks(find_device(device)) as ranks, ExitStack() as held:
        ranks.from_first(lambda: held.enter_context(existing_run(run_dir, folders=[BEST_DIR])))
        record = read_record(run_dir)
        found = moved_to(record, shards) if shards else record
        vocabulary = read_vocabulary(run_dir / VOCABULARY_NAME)
        config = resolved(_changed(record.config, settings), num_tokens=len(vocabulary), device=ranks.device)
        config = ranks.broadcast_from_first(config)
        _check_can_train(config, has_held_out=(run_dir / HELD_OUT_NAME).is_file())
        run = Run(run_dir, config, found.shards, vocabulary, ranks=ranks)
        run.load_newest(started_from=record.started_from, from_start=from_start)
        if shards or not run.progress.finished(config):
            ranks.from_first(lambda: check_same_text(found, run_dir))
        _check_can_continue(run, is_changed=config != record.config)
        if ranks.first:
            here = {"step": run.progress.step, "num_tokens": run.progress.num_tokens}
            changes = with_change(record.changes, record.config, config, **here)
            changed = replace(found, config=config, changes=changes)
            change_record(run_dir, record, changed, num_tokens_in_vocabulary=len(vocabulary))
        run.train(on_step)
    return run_dir


def _changed(before: PretrainingConfig, settings: Sequence[str]) -> PretrainingConfig:
    config = with_settings(before, settings)
    if any(getattr(config, name) != getattr(before, name) for name in ("bilm", *KEPT)):
        raise ValueError(f"a resumed run keeps its model, {', '.join(KEPT)}; start a new run to change them")
    return config


def _check_can_continue(run: Run, *, is_changed: bool) -> None:
    """Raise an error for changes that would do nothing, because the run has ended, and if its held-out text is gone."""
    step, best = run.progress.step, run.progress.best
    if is_changed and run.config.num_steps < step:
        raise ValueError(
            f"num_steps is {run.config.num_steps}; {run.run_dir} is at step {step}, so expected at least that"
        )
    if is_changed and run.config.num_steps > step and run.progress.finished(run.config):
        raise ValueError(
            f"{run.run_dir} stopped at step {step} after {count(best.num_evaluations_since, 'evaluation')} without "
            "improvement; patience=0 (or a larger one) trains on"
        )
    held_out = run.run_dir / HELD_OUT_NAME
    if best.perplexity is not None and not run.progress.finished(run.config) and not held_out.is_file():
        raise FileNotFoundError(f"{held_out} is gone, on which the run measures its perplexities; put it back")


def _check_can_train(config: PretrainingConfig, *, has_held_out: bool) -> None:
    """Raise ValueError, before anything is written, for settings that would fail later, or be useless."""
    if config.patience and not (has_held_out and config.evaluate_every):
        raise ValueError(
            "patience counts evaluations; give held-out text (--held-out FILE, or held_out=[FILE]) and evaluate_every=N"
        )
    read_again = json.loads(json.dumps(config.to_json()))
    PretrainingConfig.from_json(Fields("the settings", read_again))  # or the run's config.json could not be read
    if config.tensorboard:
        require_tensorboard()


def begin(
    record: RunRecord,
    vocabulary: Vocabulary,
    run_dir: Path,
    *,
    held_out: Sequence[Path] = (),
    start: tuple[BiLM, Softmax] | None = None,
    device: str | None = None,
    on_step: OnStep | None = None,
) -> Path:
    """Create a new run, with random weights or those of `start`, and train it to its end. Raises as `pretrain` does."""
    check_files(record.shards, "shard")
    check_files(held_out, "held-out text")
    for path in held_out:
        if any(path.samefile(shard) for shard in record.shards):
            warn_caller(f"{path} is a shard as well as held-out text: its perplexity is too low")
    _check_can_train(record.config, has_held_out=bool(held_out))
    remains = [path for path in checkpoints(run_dir) if path.name != CUT_SHORT]
    with join_ranks(find_device(device)) as ranks, ExitStack() as held:
        ranks.from_first(lambda: held.enter_context(new_run(run_dir, remains=remains, files=WRITTEN)))
        config = resolved(record.config, num_tokens=len(vocabulary), device=ranks.device)
        config = ranks.broadcast_from_first(config)  # the measured precision may differ between processes
        record = replace(record, config=config)
        record = ranks.from_first(lambda: with_contents(record))
        check_can_be_recorded(run_dir, record)  # what cannot be trained on fails before anything is written
        run = Run(run_dir, config, record.shards, vocabulary, ranks=ranks)
        _warn_of_text(run.shards, vocabulary, run.bilm.spelling)
        ranks.from_first(lambda: check_text(run.shards))
        sentences = sample_sentences(held_out, most=config.evaluate_sentences) if held_out else []
        if ranks.first:
            shutil.rmtree(run_dir / "checkpoints" / CUT_SHORT, ignore_errors=True)
            start_writing(run_dir)
        if start is not None:
            run.start_from(*start)
            run.save()  # before config.json, so that a run that can be resumed knows what it started from
        if ranks.first:
            create_run(run_dir, record, vocabulary, sentences)
        ranks.wait()
        run.train(on_step)
    return run_dir


def _warn_of_text(shards: Sequence[Path], vocabulary: Vocabulary, spelling: Spelling) -> None:
    """Warn of a vocabulary of another language, or of other tokens, and of tokens that the model does not read whole.

    Raises ValueError for shards without a sentence.
    """
    stream = SentenceStream(shards, shuffle=False, num_epochs=1)
    first = [next(stream), *islice(stream, FIRST_SENTENCES - 1)]
    tokens = [token for sentence in first for token in sentence]
    share = sum(token not in vocabulary for token in tokens) / len(tokens)
    if share > MOST_UNKNOWN:
        warn_caller(
            f"{share:.0%} of the first {len(tokens):,} tokens are not in the vocabulary, and all of them are one "
            "unknown word to the softmax; is it the vocabulary of this text?"
        )
    share = spelling.num_cut(tokens) / len(tokens)
    if share > MOST_CUT:
        warn_caller(
            f"{share:.0%} of the first {len(tokens):,} tokens are longer than the {spelling.limit} that the model "
            "reads, and the rest of each is ignored; a new model with a larger max_characters_per_token reads more"
        )


def resolved(config: PretrainingConfig, *, num_tokens: int, device: torch.device) -> PretrainingConfig:
    """Replace the settings that depend on the machine or the vocabulary by definite ones, as the run records them.

    `precision="auto"` becomes bfloat16 on GPUs with instructions for it (of NVIDIA's, those since Ampere), and on a CPU
    that multiplies it at least 1.3 times as fast as float32.
    If the vocabulary has no more tokens than negatives are to be drawn, the full softmax is used, with a warning.
    """
    if config.softmax == "sampled" and config.num_negatives >= num_tokens:
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
    times: list[float] = []
    for _ in range(20):
        began = time.perf_counter()
        torch.mm(left, right)
        times.append(time.perf_counter() - began)
    return min(times)
