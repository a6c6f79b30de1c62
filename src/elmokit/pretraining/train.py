"""Pretraining: text -> a biLM, in a run folder that can be killed at any moment and resumed."""

from __future__ import annotations

import itertools
import math
import os
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from shlex import quote
from typing import Any, Final, NoReturn

import torch

from elmokit.corpus.batches import Packer, PackerState, packed_batches
from elmokit.corpus.manifest import held_out_file, training_files
from elmokit.corpus.stream import CorpusPosition, SentenceStream
from elmokit.files.atomic import as_paths, check_names
from elmokit.formats.native import CARD_NAME, VOCABULARY_NAME, WEIGHTS_NAME, read_vocabulary
from elmokit.layers.devices import find_device, seeded
from elmokit.layers.sampled_softmax import Softmax, log_uniform_probability
from elmokit.model.bilm import BiLM, BiLMState
from elmokit.pretraining.before_training import (
    changed,
    check_can_continue,
    check_can_train,
    check_files,
    check_same_text,
    resolved,
    sample_sentences,
    settled,
    warn_of_settings,
)
from elmokit.pretraining.config import PretrainingConfig
from elmokit.pretraining.gradients import DrawnBatch, LossAndGradients, draw, mean_gradients
from elmokit.pretraining.logging import RunLog, held_out_summary, start_line
from elmokit.pretraining.optimizers import new_optimizer
from elmokit.pretraining.ranks import Ranks, join_ranks
from elmokit.pretraining.record import RunRecord, read_record, write_record
from elmokit.pretraining.run_folder import (
    PretrainingProgress,
    all_weights,
    best_step,
    checkpoint_path,
    checkpoints,
    create_run,
    load_checkpoint,
    newest_checkpoint,
    save_best,
    save_checkpoint,
    settle,
    state_tensors,
)
from elmokit.pretraining.stacked_gradients import StackedGradients
from elmokit.runs.folder import BEST_DIR, HELD_OUT_NAME, METRICS_NAME, existing_run, new_run, start_writing
from elmokit.runs.tensor_files import DivergenceError, optimizer_tensors
from elmokit.scoring.perplexity import Perplexity, bilm_perplexity
from elmokit.system.paths import expanded
from elmokit.text.vocabulary import Vocabulary

WRITTEN = (VOCABULARY_NAME, CARD_NAME, HELD_OUT_NAME, METRICS_NAME, WEIGHTS_NAME, BEST_DIR, "checkpoints")
"""What a run writes besides its config.json."""

WORSE_THAN_GUESSING = 20
"""A loss this many nats above guessing stops a run. Guessing has the logarithm of the vocabulary's size as its loss."""
REMEDY = "a lower learning_rate or, with Muon, weight_decay=0.1"

_USUAL_HANDLERS: dict[int, Any] = {signal.SIGTERM: signal.SIG_DFL, signal.SIGINT: signal.default_int_handler}
if sys.platform != "win32":
    _USUAL_HANDLERS[signal.SIGHUP] = signal.SIG_DFL
"""Python's default handlers of the signals that end a run."""

OnStep = Callable[["Run"], None]


def pretrain(
    shards: Iterable[str | Path],
    *,
    vocabulary_path: str | Path,
    run_dir: str | Path,
    config: PretrainingConfig,
    held_out: Iterable[str | Path] = (),
    as_text: bool = False,
    device: str | None = None,
    on_step: OnStep | None = None,
) -> Path:
    """Train a biLM on text and return the run folder.

    shards: files with one tokenised sentence per line, or a folder from `prepare` (its shards are read).
    held_out: text of the same form to measure perplexity on, or such a folder (its held-out text is read).
    as_text: whether to read files as text, even if they look like something else, such as a table.
    on_step: called with the `Run` after each step. An exception from it ends the run, which can be resumed.

    The folder is also a model in the native format: its `model.safetensors` has the weights of the newest checkpoint,
    `best/` the weights with the lowest held-out perplexity. Processes that torchrun starts train one model together.
    All text is read once before the first step. Raises ValueError if the folder already holds a run, for text that
    cannot be read, for names that are not UTF-8 and for more shards than config.json can list. Raises
    `DivergenceError`, a ValueError, if a loss, a gradient, a weight or a held-out perplexity is not finite. Except when
    fine-tuning, it is also raised if a loss is 20 nats above the loss of guessing.
    """
    vocabulary = Vocabulary.read(vocabulary_path)
    return begin(
        shards, vocabulary, run_dir, config=config, held_out=held_out, as_text=as_text, device=device, on_step=on_step
    )


def resume_pretraining(
    run_dir: str | Path,
    settings: Sequence[str] = (),
    *,
    shards: Iterable[str | Path] = (),
    device: str | None = None,
    on_step: OnStep | None = None,
) -> Path:
    """Continue a run from its newest checkpoint, or from its start if it has none yet.

    `settings` (`field=value`) may change anything except the model and the order of the text; config.json records each
    change with its step. The number of processes may differ from before. If the files that the run reads have moved,
    give them as `shards`, in their order. `on_step` is as in `pretrain`.

    Raises FileNotFoundError if the folder is not a run, or if a shard or the run's held-out text is missing; ValueError
    for a damaged checkpoint, for a shard whose size has changed, and for changes to a run that `patience` has ended;
    and InUseError, an OSError, if another process is writing the run. After these errors, nothing has changed.
    """
    run_dir, moved = expanded(run_dir), _training_texts(shards)
    with join_ranks(find_device(device)) as ranks, ExitStack() as held:
        ranks.from_first(lambda: held.enter_context(existing_run(run_dir, folders=[BEST_DIR])))
        record = read_record(run_dir)
        found = replace(record, shards=tuple(str(shard.resolve()) for shard in moved)) if moved else record
        vocabulary = read_vocabulary(run_dir / VOCABULARY_NAME)
        num_tokens, has_held_out = len(vocabulary), (run_dir / HELD_OUT_NAME).is_file()
        config = changed(record.config, settings)
        if settings:
            given = config
            config = ranks.from_first(lambda: resolved(given, num_tokens=num_tokens, device=ranks.device))
        check_can_train(config, has_held_out=has_held_out)
        run = Run(run_dir, replace(found, config=config), vocabulary, ranks=ranks)
        run.load_newest()
        if moved or not run.progress.finished(config):
            ranks.from_first(lambda: check_same_text(found, run_dir))
        check_can_continue(run_dir, config, run.progress, is_changed=config != record.config)
        if ranks.first:
            if config != record.config:
                warn_of_settings(config, record.text, has_held_out=has_held_out)
            new = found.changed(config, step=run.progress.step, num_tokens=run.progress.num_tokens)
            if new != record:
                check_names(*new.shards)
                write_record(run_dir, new)
            for newest in checkpoints(run_dir)[:1]:  # a kill may have prevented that
                settle(newest, config)
        run.train(on_step)
    return run_dir


def begin(
    shards: Iterable[str | Path],
    vocabulary: Vocabulary,
    run_dir: str | Path,
    *,
    config: PretrainingConfig,
    held_out: Iterable[str | Path] = (),
    trained: tuple[BiLM, Softmax] | None = None,
    started_from: str | None = None,
    each_pass: bool = False,
    as_text: bool = False,
    device: str | None = None,
    on_step: OnStep | None = None,
) -> Path:
    """Create a new run and train it to its end. Raises as `pretrain` does.

    trained: the model that a fine-tuning run continues; None for random weights. `started_from` is its name.
    each_pass: whether to measure held-out text after each pass over the text, if that is sooner than `evaluate_every`.
    """
    run_dir, texts, measured = expanded(run_dir), _training_texts(shards), list(map(held_out_file, as_paths(held_out)))
    check_can_train(config, has_held_out=bool(measured))
    check_files(texts, measured)
    with join_ranks(find_device(device)) as ranks, ExitStack() as held:
        ranks.from_first(lambda: held.enter_context(new_run(run_dir, files=WRITTEN)))
        sentences = sample_sentences(measured, number=config.evaluate_sentences, as_text=as_text) if measured else []
        record = ranks.from_first(
            lambda: settled(
                *(config, texts, vocabulary),
                device=ranks.device,
                held_out=sentences,
                as_text=as_text,
                each_pass=each_pass,
                started_from=started_from,
            )
        )
        check_names(run_dir.name, *record.shards, started_from or "")
        run = Run(run_dir, record, vocabulary, ranks=ranks)
        if ranks.first:
            shutil.rmtree(run_dir / "checkpoints", ignore_errors=True)  # left by a start that was killed
            start_writing(run_dir)
        if trained is not None:
            for own, model in zip((run.bilm, run.softmax), trained, strict=True):
                own.load_state_dict(model.state_dict())
            run.save()  # before config.json, so that every run that can be resumed has its first weights
        ranks.from_first(lambda: create_run(run_dir, record, vocabulary, sentences))
        run.train(on_step)
    return run_dir


def _training_texts(shards: Iterable[str | Path]) -> list[Path]:
    return [file for path in as_paths(shards) for file in training_files(path)]


@dataclass(frozen=True)
class _Step:
    """The batches of an optimiser step, and where each direction's text continues after them."""

    batches: list[DrawnBatch]
    packers: tuple[PackerState, ...]


class Run:
    """Model, optimiser, text and progress of a run, from its start or from a checkpoint. Every process has its own."""

    def __init__(self, run_dir: Path, record: RunRecord, vocabulary: Vocabulary, *, ranks: Ranks) -> None:
        self.run_dir = run_dir
        config = record.config
        self.config: Final = config
        self.record = record
        self.vocabulary = vocabulary
        self.ranks = ranks
        with seeded(config.seed):
            self.bilm: Final = BiLM(config.bilm)
            self.softmax: Final = new_softmax(len(vocabulary), config)
        for module in (self.bilm, self.softmax):
            module.to(ranks.device, torch.float64 if config.precision == "float64" else torch.float32)
        self.parameters: Final = [*self.bilm.parameters(), *self.softmax.parameters()]
        self.optimizer: Final = new_optimizer(config, self.bilm, self.softmax)
        is_stacked = config.directions == "stacked" or (config.directions == "auto" and ranks.device.type == "cuda")
        kind = StackedGradients if is_stacked else LossAndGradients
        self.gradients: Final = kind(self.bilm, self.softmax, config, device=ranks.device, rank=ranks.rank)
        self.state: BiLMState | None = None
        start = PackerState(CorpusPosition(), (list[str](),) * config.batch_size)
        self.progress: PretrainingProgress = PretrainingProgress((start,) * config.bilm.num_directions)
        self.packers = self._new_packers()

    def load_newest(self) -> None:
        """Continue from the newest checkpoint, or stay at the start. Raises ValueError for a damaged one."""
        path = self.ranks.from_first(lambda: newest_checkpoint(self.run_dir, self.record))
        if path is None:
            return
        self.progress, state = load_checkpoint(
            path, self.config, bilm=self.bilm, softmax=self.softmax, optimizer=self.optimizer
        )
        self.state = self.ranks.share_state(state)
        kept = self.ranks.from_first(lambda: best_step(self.run_dir))
        if kept is None or kept > self.progress.step:  # so that the next evaluation writes the folder again
            self.progress = replace(self.progress, best=replace(self.progress.best, perplexity=None))
        self.packers: list[Packer] = self._new_packers()

    def train(self, on_step: OnStep | None = None) -> None:
        """Train until the end. SIGTERM, SIGHUP or Ctrl-C to any process ends all of them after a step and a checkpoint.

        Ctrl-C then raises KeyboardInterrupt, the others raise SystemExit. A second Ctrl-C ends the run at once. A
        fine-tuned run measures its held-out text before the first step, so that its first weights can be its best. On
        stderr, it prints what the run reads and, at the end, where its best weights are.
        on_step: called with the run after each step, once it has been logged, evaluated and saved. An exception from
            it ends the run, which can be resumed.
        """
        config, first = self.config, self.ranks.first
        if first and not self.progress.finished(config):
            of_softmax = sum(value.numel() for value in self.softmax.parameters())
            print(start_line(self.record, of_softmax, step=self.progress.step), file=sys.stderr, flush=True)
        is_finetuned = self.record.started_from is not None
        has_held_out = (self.run_dir / HELD_OUT_NAME).exists()
        every = config.evaluate_every or config.num_steps
        steps = self._read_steps()
        next_step: _Step | None = None  # a run that has ended may have lost its text
        log = RunLog(self.run_dir, config, self.progress, silent=not first)
        with log, _stop_signals() as signals:
            if is_finetuned and self.progress.step == 0 and has_held_out:
                log.log_perplexity(self.progress, self._evaluate())
            while not self.progress.finished(config):
                next_step = self._advance(next_step or next(steps), steps)
                log.show_step(self.progress)
                is_due = self.progress.step % every == 0 or self.progress.step == config.num_steps
                measured = self._evaluate() if has_held_out and is_due else None
                finished = self.progress.finished(config)
                if finished or self.progress.step % config.log_every == 0:
                    log.log_losses(self.progress)
                    self.progress = replace(self.progress, unlogged_losses=())
                if measured is not None:
                    log.log_perplexity(self.progress, measured)
                stopped = self.ranks.any(bool(signals))
                if finished or stopped or self.progress.step % config.checkpoint_every == 0:
                    self.save()
                if on_step is not None:
                    on_step(self)
                if stopped and not finished:
                    self._stop(signals)
        if first and (summary := held_out_summary(self.run_dir)):
            print(summary, file=sys.stderr, flush=True)

    def save(self) -> None:
        """Write a checkpoint. The first process writes it, with the LSTM states of all processes.

        Raises DivergenceError, and writes nothing, if a number in it is not finite.
        """
        weights = all_weights(self.bilm, self.softmax)
        tensors = optimizer_tensors(self.optimizer) | state_tensors(self.ranks.gather_state(self.state))
        # if a tensor has a NaN, both bounds are NaN; `torch.isfinite` would take as much memory again
        bounds = [torch.aminmax(tensor) for tensor in (*weights.values(), *tensors.values())]
        if not all(math.isfinite(low.item()) and math.isfinite(high.item()) for low, high in bounds):
            # all processes raise this, because they have the same weights
            raise self._diverged("a weight or its optimiser state is not finite")
        if self.ranks.first:
            save_checkpoint(self.run_dir, self.config, self.progress, weights=weights, tensors=tensors)

    def _stop(self, signals: list[int]) -> NoReturn:
        """End this process as its first signal would have, or like SIGTERM if the signal went to another process."""
        if self.ranks.first:
            resume = f"elmokit pretrain --resume {quote(str(self.run_dir))}"
            print(f"\nstopped at step {self.progress.step}; {resume} continues", file=sys.stderr, flush=True)
        if signals[:1] == [signal.SIGINT]:
            raise KeyboardInterrupt
        sys.exit(128 + (signals[0] if signals else signal.SIGTERM))

    def _read_steps(self) -> Iterator[_Step]:
        """The text of each step from here on."""
        config, batches = self.config, packed_batches(self.packers, spelling=self.bilm.spelling)
        for first in itertools.count(self.progress.step * config.accumulate, config.accumulate):
            group = [
                draw(batch, config, num_tokens=len(self.vocabulary), number=first + index)
                for index, batch in enumerate(itertools.islice(batches, config.accumulate))
            ]
            yield _Step(group, tuple(packer.state for packer in self.packers))

    def _advance(self, step: _Step, steps: Iterator[_Step]) -> _Step:
        """Make one optimiser step, and read the text of the next one while a GPU may still compute.

        The progress gets each direction's mean loss over the step's batches and all processes.
        """
        config, began = self.config, time.monotonic()
        losses, self.state = mean_gradients(self.gradients.backward, self.parameters, step.batches, self.state)
        gradients = [parameter.grad for parameter in self.parameters if parameter.grad is not None]
        self.ranks.average(gradients)
        together = self.ranks.device.type != "mps"  # MPS has no operators on lists of tensors
        norm = torch.nn.utils.get_total_norm(gradients, foreach=together)
        if norm.is_cuda or norm > config.clip_norm:  # comparing would wait for the GPU
            torch.nn.utils.clip_grads_with_norm_(self.parameters, config.clip_norm, norm, foreach=together)
        for settings in self.optimizer.param_groups:
            settings["lr"] = config.learning_rate_at(self.progress.step)
        self.optimizer.step()
        following = next(steps)
        means = self.ranks.mean([float(loss) for loss in losses])
        self._check_losses(means, is_finite=bool(torch.isfinite(norm)))
        self.progress = replace(
            self.progress,
            step=self.progress.step + 1,
            num_tokens=self.progress.num_tokens + config.tokens_per_step,
            seconds=self.progress.seconds + time.monotonic() - began,
            packers=step.packers,
            unlogged_losses=(*self.progress.unlogged_losses, means),
        )
        return following

    def _check_losses(self, losses: tuple[float, ...], *, is_finite: bool) -> None:
        """Raise DivergenceError in the cases that `pretrain` lists, before such weights are saved."""
        if not (is_finite and all(map(math.isfinite, losses))):
            raise self._diverged("a loss or a gradient is not finite")
        guessing = math.log(len(self.vocabulary))
        is_new = self.record.started_from is None  # a fine-tuned model may be surprised by its new text
        if is_new and max(losses) > WORSE_THAN_GUESSING + guessing:
            raise self._diverged(f"a loss is {max(losses):.1f} nats, but guessing has only {guessing:.1f}")

    def _diverged(self, what: str) -> DivergenceError:
        newest = next(iter(checkpoints(self.run_dir)), None)
        if newest is None:
            advice = f"{self.run_dir} has no checkpoint yet: resume it with {REMEDY}, from the first step"
        elif newest == checkpoint_path(self.run_dir, self.progress.step):  # the weights that gave this loss
            advice = f"{newest} has diverged too: move it away and resume from the one before with {REMEDY}"
        else:
            advice = f"the last checkpoint in {self.run_dir} is intact: resume it with {REMEDY}"
        return DivergenceError(f"step {self.progress.step}: {what}, so training has diverged; {advice}")

    def _evaluate(self) -> Perplexity:
        """Measure held-out perplexity. If it is the lowest so far, save the weights in the folder `best`."""
        measured = self.ranks.from_first(
            lambda: bilm_perplexity(self.bilm, self.softmax, self.vocabulary, [self.run_dir / HELD_OUT_NAME])
        )
        if not math.isfinite(measured.mean):
            raise DivergenceError(
                f"step {self.progress.step}: the held-out perplexity is not finite, so training has diverged; start "
                f"again with {REMEDY}, or resume {self.run_dir} with it from a checkpoint before the loss "
                "rose"
            )
        self.progress = self.progress.evaluated(measured.mean)
        if self.ranks.first and self.progress.best.num_evaluations_since == 0:
            save_best(self.run_dir, self.bilm, self.softmax, step=self.progress.step)
        return measured

    def _new_packers(self) -> list[Packer]:
        """This process's share of each direction's streams, forward first, from the present position in the text."""
        shards, config = [Path(shard).resolve() for shard in self.record.shards], self.config
        own, packers = self.ranks.share(config.batch_size), list[Packer]()
        for purpose, state in zip(("forward", "backward"), self.progress.packers, strict=False):
            stream = SentenceStream(shards, as_text=True, seed=config.seed, purpose=purpose, position=state.position)
            steps, backward = config.bptt_steps, purpose == "backward"
            packers.append(
                Packer(stream, self.vocabulary, rows=state.rows, bptt_steps=steps, backward=backward, own=own)
            )
        return packers


def new_softmax(num_tokens: int, config: PretrainingConfig) -> Softmax:
    """A softmax over `num_tokens` tokens with random weights, scaled and biased as the config says."""
    softmax = Softmax(num_tokens=num_tokens, dim=config.bilm.projection_dim)
    with torch.no_grad():
        softmax.weight.mul_(config.softmax_scale)
        if config.zipf_bias:
            softmax.bias.copy_(log_uniform_probability(torch.arange(num_tokens), num_tokens=num_tokens).log())
    return softmax


@contextmanager
def _stop_signals() -> Generator[list[int]]:
    """Collect the signals that ask a run to end, instead of ending at once. A second Ctrl-C ends it at once.

    Schedulers send SIGTERM before they kill. A closed terminal or a broken ssh connection sends SIGHUP.
    """
    received: list[int] = []
    before: dict[int, Any] = {}

    def receive(number: int, frame: object) -> None:
        received.append(number)
        again = ""
        if number == signal.SIGINT:
            signal.signal(signal.SIGINT, before[signal.SIGINT])
            again = "; Ctrl-C again ends at once"
        try:
            print(f"\nfinishing this step and saving{again}", file=sys.stderr, flush=True)
        except RuntimeError:
            pass  # the signal came while something was being printed
        except OSError:  # the terminal is gone, and the next line of the log would raise this too
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())

    if threading.current_thread() is threading.main_thread():  # Python delivers signals to no other thread
        for number, usual in _USUAL_HANDLERS.items():
            if signal.getsignal(number) is usual:  # otherwise it is ignored, as after nohup, or belongs to the caller
                before[number] = signal.signal(number, receive)
    try:
        yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
