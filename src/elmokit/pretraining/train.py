"""Pretraining: corpus shards -> a biLM, in a run folder that can be killed at any moment and resumed."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from elmokit.corpus.stream import SentenceStream
from elmokit.layers.sampled_softmax import Softmax
from elmokit.model.bilm import BiLM
from elmokit.model.formats.native import VOCABULARY_NAME
from elmokit.pretraining.checkpoints import checkpoints
from elmokit.pretraining.config import PretrainingConfig, with_settings
from elmokit.pretraining.evaluation import sample_sentences
from elmokit.pretraining.ranks import join_ranks
from elmokit.pretraining.run import Run
from elmokit.pretraining.run_folder import (
    RunRecord,
    check_files,
    create_run,
    read_record,
    write_record,
)
from elmokit.pretraining.setup import find_device, resolved
from elmokit.runs.folder import check_is_free
from elmokit.text.vocabulary import Vocabulary

CUT_SHORT = "step-00000000"
"""The checkpoint that the start of a fine-tuning run leaves when it is killed before config.json is written."""


def pretrain(
    shards: Sequence[Path],
    *,
    vocabulary_path: Path,
    run_dir: Path,
    config: PretrainingConfig,
    held_out: Sequence[Path] = (),
    device: str | None = None,
) -> Path:
    """Train a biLM on text shards (one tokenised sentence a line) and return the run folder.

    The folder is also a model in the native format: its `model.safetensors` holds the newest checkpoint's weights, and
    `best/` those of the lowest perplexity on `held_out`, text of the same form. Processes that torchrun starts train
    one model together. Raises ValueError when the folder already holds a run, and for text that cannot be read.
    """
    vocabulary = Vocabulary.read(vocabulary_path)
    return begin(RunRecord(config, list(shards)), vocabulary, run_dir, held_out=held_out, device=device)


def resume(run_dir: Path, settings: Sequence[str] = (), *, device: str | None = None) -> Path:
    """Go on from a run's newest checkpoint, or from its start if it was stopped before the first.

    `settings` (`field=value`) may change what does not change the model or the text's order. The number of processes
    may be another one than before.
    """
    record = read_record(run_dir)
    config = with_settings(record.config, settings)
    for name in ("bilm", "batch_size", "optimizer", "seed"):
        if getattr(config, name) != getattr(record.config, name):
            raise ValueError(
                "a resumed run keeps its model, batch_size, optimizer and seed; start a new run to change them"
            )
    vocabulary = Vocabulary.read(run_dir / VOCABULARY_NAME)
    with join_ranks(find_device(device)) as ranks:
        run = Run(run_dir, config, record.shards, vocabulary, ranks=ranks)
        run.load_newest()
        if ranks.first:
            write_record(run_dir, replace(record, config=config))
        run.train()
    return run_dir


def begin(
    record: RunRecord,
    vocabulary: Vocabulary,
    run_dir: Path,
    *,
    held_out: Sequence[Path] = (),
    start: tuple[BiLM, Softmax] | None = None,
    device: str | None = None,
) -> Path:
    """A new run, from random weights or from those of `start`, until its end."""
    check_is_free(run_dir, remains=[path for path in checkpoints(run_dir) if path.name != CUT_SHORT])
    check_files(record.shards, "shard")
    check_files(held_out, "held-out text")
    if record.config.patience and not (held_out and record.config.evaluate_every):
        raise ValueError("patience counts evaluations: give held-out text, and evaluate_every=N")
    with join_ranks(find_device(device)) as ranks:
        config = resolved(record.config, num_tokens=len(vocabulary), device=ranks.device)
        config = ranks.broadcast_from_first(config)  # what is measured here may come out differently elsewhere
        run = Run(run_dir, config, record.shards, vocabulary, ranks=ranks)
        next(SentenceStream(run.shards, shuffle=False))  # text without sentences fails before anything is written
        sentences = sample_sentences(held_out, most=config.evaluate_sentences) if held_out else []
        ranks.wait()  # nobody looks for an older run here any more
        if ranks.first:
            shutil.rmtree(run_dir / "checkpoints", ignore_errors=True)  # of a start that was cut short
        if start is not None:
            run.start_from(*start)
            run.save()  # before config.json, so that a run that can be resumed knows what it started from
        if ranks.first:
            create_run(run_dir, replace(record, config=config, shards=run.shards), vocabulary, sentences)
        ranks.wait()
        run.train()
    return run_dir
