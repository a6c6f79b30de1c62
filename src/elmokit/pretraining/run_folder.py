"""The folder of a pretraining run: config.json, vocabulary, held-out text, and checkpoints to resume from.

A checkpoint is a folder that is written completely or not at all. With it, a run continues as if it had never stopped.
`model.safetensors` has the weights, with the softmax, in the native format. `training.safetensors` has the state of the
optimiser and the carried LSTM states. `training.json` has the step, the position in the text and the best perplexity.
Random numbers follow from the seed and the step, so no generator's state is needed. Nothing is pickled. In the run's
folder, `model.safetensors` is a link to the newest checkpoint's, so the folder is also a model in the native format.
"""

from __future__ import annotations

import dataclasses
import json
import os
import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from torch import Tensor

from elmokit.corpus.batches import PackerState
from elmokit.files.atomic import temporary_folder, write_text
from elmokit.files.json import as_type, read_json
from elmokit.files.safetensors import read_layout
from elmokit.formats.native import CARD_NAME, VOCABULARY_NAME, WEIGHTS_NAME
from elmokit.layers.projected_lstm import LSTMState
from elmokit.layers.sampled_softmax import Softmax
from elmokit.model.bilm import BiLM, BiLMState
from elmokit.pretraining.config import PretrainingConfig
from elmokit.pretraining.optimizers import CombinedOptimizer
from elmokit.pretraining.record import RunRecord, write_record
from elmokit.runs.folder import BEST_DIR, CONFIG_NAME, HELD_OUT_NAME
from elmokit.runs.tensor_files import (
    check_tensors,
    expected_optimizer_tensors,
    load_optimizer,
    read_tensors,
    tensors_under,
    write_tensors,
)
from elmokit.system.markdown import escape_markdown
from elmokit.system.messages import FormatError
from elmokit.text.vocabulary import Vocabulary

TENSORS_FILE = "training.safetensors"
PROGRESS_FILE = "training.json"
MAX_PROGRESS_BYTES = 1 << 32
"""The file has the rest of each stream's sentence. A sentence may be a line of up to 16 MB."""
_NAME = re.compile(r"step-\d{8,}")
_DIRECTIONS = ("forward", "backward")


def create_run(run_dir: Path, record: RunRecord, vocabulary: Vocabulary, held_out: Sequence[str]) -> None:
    """Write the files of a run before its first step. config.json comes last, because it makes the folder a run."""
    vocabulary.write(run_dir / VOCABULARY_NAME)
    write_text(run_dir / CARD_NAME, _card(run_dir.name, record, len(vocabulary)))
    (run_dir / HELD_OUT_NAME).unlink(missing_ok=True)  # left by a start that was cut short
    if held_out:
        write_text(run_dir / HELD_OUT_NAME, "".join(f"{sentence}\n" for sentence in held_out))
    write_record(run_dir, record)


def _card(name: str, record: RunRecord, num_tokens: int) -> str:
    start = "" if record.started_from is None else f", starting from {escape_markdown(record.started_from)},"
    shards = escape_markdown(", ".join(Path(shard).name for shard in record.shards))
    text = "" if record.text is None else f" ({record.text.num_tokens:,} tokens)"
    return (
        f"# {escape_markdown(name)}\n\n"
        f"A biLM ({record.config.bilm.num_parameters:,} parameters without the softmax) that `elmokit` is training, "
        f"or has trained{start} on {shards}{text}, with a vocabulary of {num_tokens:,} tokens.\n"
        "`config.json` has all settings, `metrics.jsonl` the losses and perplexities.\n"
    )


@dataclass(frozen=True)
class BestSoFar:
    """The lowest held-out perplexity of the evaluations, and the number of evaluations since."""

    perplexity: float | None = None
    num_evaluations_since: int = 0


@dataclass(frozen=True)
class PretrainingProgress:
    """The progress of a run: the contents of a checkpoint's `training.json`."""

    packers: tuple[PackerState, ...]
    """Position in the text of each direction, forward first."""
    step: int = 0
    num_tokens: int = 0
    seconds: float = 0.0
    """Seconds of reading text and optimising, without evaluations and checkpoints."""
    unlogged_losses: tuple[tuple[float, ...], ...] = ()
    """Mean loss of each direction in each step since the last line of metrics.jsonl, in nats per predicted token."""
    best: BestSoFar = BestSoFar()

    @property
    def mean_losses(self) -> list[float]:
        """Mean of the unlogged losses of each direction."""
        return [sum(column) / len(column) for column in zip(*self.unlogged_losses, strict=True)]

    @property
    def loss(self) -> float:
        return sum(self.mean_losses) / len(self.mean_losses)

    def evaluated(self, perplexity: float) -> PretrainingProgress:
        if self.best.perplexity is None or perplexity < self.best.perplexity:
            return replace(self, best=BestSoFar(perplexity))
        return replace(self, best=BestSoFar(self.best.perplexity, self.best.num_evaluations_since + 1))

    def finished(self, config: PretrainingConfig) -> bool:
        """Whether the last step is done, or the held-out perplexity has not improved for `patience` evaluations."""
        return self.step >= config.num_steps or 0 < config.patience <= self.best.num_evaluations_since


def checkpoint_path(run_dir: Path, step: int) -> Path:
    return run_dir / "checkpoints" / f"step-{step:08d}"


def checkpoints(run_dir: Path) -> list[Path]:
    """The checkpoints of a run, newest first. Copies under other names are ignored."""
    found = (run_dir / "checkpoints").glob("step-*")
    return sorted((path for path in found if _NAME.fullmatch(path.name)), key=_step, reverse=True)


def _step(checkpoint: Path) -> int:
    return int(checkpoint.name.removeprefix("step-"))


def save_checkpoint(
    run_dir: Path,
    config: PretrainingConfig,
    progress: PretrainingProgress,
    *,
    weights: Mapping[str, Tensor],
    tensors: Mapping[str, Tensor],
) -> None:
    """Write a checkpoint, and remove older ones that the config does not keep.

    weights: weights of the biLM and, under `softmax.`, of the softmax.
    tensors: state of the optimiser and, after the first step, the carried LSTM states of all streams.
    """
    final = checkpoint_path(run_dir, progress.step)
    final.parent.mkdir(parents=True, exist_ok=True)
    with temporary_folder(final) as folder:
        writing = folder / final.name
        writing.mkdir()
        write_tensors(writing / WEIGHTS_NAME, weights, metadata={"step": str(progress.step)})
        write_tensors(writing / TENSORS_FILE, tensors)
        write_text(writing / PROGRESS_FILE, json.dumps(dataclasses.asdict(progress)))
        _sync(writing)
        if final.exists():
            shutil.rmtree(final)
        os.replace(writing, final)
    _sync(final.parent)
    settle(final, config)


def settle(newest: Path, config: PretrainingConfig) -> None:
    """Make a checkpoint the run's model, and remove the older ones that the config does not keep."""
    run_dir = newest.parents[1]
    publish(newest / WEIGHTS_NAME, run_dir / WEIGHTS_NAME)
    for old in checkpoints(run_dir)[config.keep_checkpoints :]:
        if not config.keep_every or _step(old) % config.keep_every:
            shutil.rmtree(old)


def newest_checkpoint(run_dir: Path, record: RunRecord) -> Path | None:
    """The checkpoint that a run continues from; None for a run that was stopped before its first one."""
    if found := checkpoints(run_dir):
        return found[0]
    if record.started_from is None and not (run_dir / WEIGHTS_NAME).exists():
        return None
    raise ValueError(
        f"{run_dir} has no checkpoint to continue from; put back a copy of its folder checkpoints, or continue "
        "training its model in another folder (elmokit finetune)"
    )


def load_checkpoint(
    path: Path,
    config: PretrainingConfig,
    *,
    bilm: BiLM,
    softmax: Softmax,
    optimizer: torch.optim.Optimizer | CombinedOptimizer,
) -> tuple[PretrainingProgress, BiLMState | None]:
    """Load a checkpoint into a run's model and optimiser. Returns its progress and the carried states of all streams.

    Raises ValueError, which names the file, for a checkpoint that is damaged or belongs to another run, and OSError for
    one that cannot be read.
    """
    try:
        record = read_json(path / PROGRESS_FILE, max_bytes=MAX_PROGRESS_BYTES)
        for earlier in ("checksum", "settings"):
            record.pop(earlier, None)
        progress = as_type(record, PretrainingProgress, where=path / PROGRESS_FILE)
        weights, tensors = read_tensors(path / WEIGHTS_NAME), read_tensors(path / TENSORS_FILE)
    except (FormatError, FileNotFoundError) as error:
        raise ValueError(f"{error}. Remove {path} to continue from the checkpoint before it") from error
    if [len(packer.rows) for packer in progress.packers] != [config.batch_size] * config.bilm.num_directions:
        raise FormatError(path / PROGRESS_FILE, f"has streams that do not fit batch_size and model in {CONFIG_NAME}")
    try:
        softmax.load_state_dict(tensors_under("softmax.", weights))
        bilm.load_state_dict({name: own for name, own in weights.items() if not name.startswith("softmax.")})
    except RuntimeError as error:
        reason = str(error).splitlines()[-1].strip()
        raise FormatError(path / WEIGHTS_NAME, f"does not fit the model in {CONFIG_NAME}: {reason}") from error
    expected = _expected_states(config) if progress.step else {}
    parts = optimizer.parts if isinstance(optimizer, CombinedOptimizer) else (optimizer,)
    check_tensors(path / TENSORS_FILE, tensors, expected | expected_optimizer_tensors(*parts, found=tensors))
    load_optimizer(optimizer, tensors)
    return progress, _read_state(tensors, bilm) if progress.step else None


def all_weights(bilm: BiLM, softmax: Softmax) -> dict[str, Tensor]:
    """Weights of both by name. The softmax's names begin with `softmax.`."""
    return dict(bilm.state_dict()) | {f"softmax.{name}": tensor for name, tensor in softmax.state_dict().items()}


def state_tensors(state: BiLMState | None) -> dict[str, Tensor]:
    """The carried LSTM states by name; none before the first step."""
    directions = () if state is None else state.directions
    return {
        f"state.{direction}.{index}.{name}": tensor
        for direction, layers in zip(_DIRECTIONS, directions, strict=False)
        for index, layer in enumerate(layers)
        for name, tensor in (("cell", layer.cell), ("output", layer.output))
    }


def _expected_states(config: PretrainingConfig) -> dict[str, Tensor]:
    cell, output = (torch.empty(config.batch_size, dim) for dim in (config.bilm.lstm_dim, config.bilm.projection_dim))
    layers = (LSTMState(cell, output),) * config.bilm.num_layers
    return state_tensors(BiLMState((layers,) * config.bilm.num_directions))


def _read_state(tensors: Mapping[str, Tensor], bilm: BiLM) -> BiLMState:
    device = bilm.char_encoder.embedding.weight.device

    def layers(direction: str) -> tuple[LSTMState, ...]:
        own = (tensors_under(f"state.{direction}.{index}.", tensors) for index in range(bilm.config.num_layers))
        return tuple(LSTMState(layer["cell"].to(device), layer["output"].to(device)) for layer in own)

    return BiLMState(tuple(map(layers, _DIRECTIONS[: bilm.config.num_directions])))


def save_best(run_dir: Path, bilm: BiLM, softmax: Softmax, *, step: int) -> None:
    """Write the weights with the lowest held-out perplexity into the folder `best`, a model in the native format."""
    folder = run_dir / BEST_DIR
    folder.mkdir(exist_ok=True)
    for name in (CONFIG_NAME, VOCABULARY_NAME):
        publish(run_dir / name, folder / name)
    write_tensors(folder / WEIGHTS_NAME, all_weights(bilm, softmax), metadata={"step": str(step)})


def best_step(run_dir: Path) -> int | None:
    """The step of the weights in the folder `best`; None if they are missing or cannot be read."""
    try:
        return int(read_layout(run_dir / BEST_DIR / WEIGHTS_NAME).metadata["step"])
    except (FileNotFoundError, KeyError, ValueError):
        return None


def publish(source: Path, target: Path) -> None:
    """Make `target` a hard link to `source`, or a copy if the file system has no hard links."""
    with temporary_folder(target) as folder:
        temporary = folder / target.name
        try:
            os.link(source, temporary)
        except OSError:
            shutil.copyfile(source, temporary)
            _sync(temporary)
        os.replace(temporary, target)


def _sync(path: Path) -> None:
    """Flush a file, or the names in a folder, to the disk. On Windows, folders cannot be opened and are skipped."""
    is_folder = path.is_dir()
    if is_folder and sys.platform == "win32":
        return
    descriptor = os.open(path, os.O_RDONLY if is_folder else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
