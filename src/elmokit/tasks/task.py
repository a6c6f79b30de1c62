"""What the loop, the verbs and `load_task` know of a task: a record of functions, and what a run of it can vary."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from elmokit.tasks.inputs import InputConfig, TokenInputs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from jaxtyping import Float
    from torch import Tensor

E = TypeVar("E")  # an example: what a reader gives, for instance a sentence with its tags
P = TypeVar("P")  # a prediction about one example

OPTIMIZERS = ("adam", "adamw", "adadelta", "sgd")


@dataclass(frozen=True)
class TrainingConfig:
    """How a task model is trained."""

    optimizer: str = "adam"
    """adam, adamw, adadelta (rho 0.95, epsilon 1e-6) or sgd."""
    learning_rate: float = 0.001
    batch_size: int = 32
    """Examples of a step, of similar length."""
    max_epochs: int = 20
    patience: int = 5
    """Epochs in a row without a better score on the development set after which training ends."""
    halve_after: int = 0
    """Epochs in a row without a better score after which the rate is halved; 0 keeps it."""
    decay: float = 1.0
    """Factor on the learning rate, every `decay_steps` steps."""
    decay_steps: int = 100
    clip_norm: float = 0.0
    """Largest global norm of the gradient; 0 cuts nothing."""
    clip_value: float = 0.0
    """Largest absolute value of each number of the gradient; 0 cuts nothing."""
    average_decay: float = 0.0
    """Decay of the moving average of the weights that is evaluated and kept (0.999), which starts with quicker ones; 0
    takes the weights themselves."""
    weight_decay: float = 0.0
    """L2 penalty on all weights but those of the scalar mixes."""
    max_train_examples: int = 0
    """Examples of the training set that are used, chosen by the seed; 0 means all."""
    max_dev_examples: int = 0
    """First examples of the development set that are used while training; 0 means all."""
    seed: int = 0
    """Of initial weights, order, dropout and the choice of examples."""

    def __post_init__(self) -> None:
        if self.optimizer not in OPTIMIZERS:
            raise ValueError(f"optimizer is {self.optimizer!r}; expected {', '.join(OPTIMIZERS)}")
        for name in ("learning_rate", "decay"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} is {getattr(self, name)}; it must be positive")
        for name in ("batch_size", "max_epochs", "patience", "decay_steps"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}; it must be at least 1")
        amounts = ("halve_after", "clip_norm", "clip_value", "weight_decay", "seed")
        for name in (*amounts, "max_train_examples", "max_dev_examples"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} is {getattr(self, name)}; it must not be negative")
        if not 0 <= self.average_decay < 1:
            raise ValueError(f"average_decay is {self.average_decay}; it must be at least 0 and below 1")


@dataclass(frozen=True)
class TaskConfig:
    """All that a run of a task can vary. `model` is the task's own frozen dataclass."""

    model: Any
    inputs: InputConfig = field(default_factory=InputConfig)
    training: TrainingConfig = field(default_factory=TrainingConfig)


class TaskModel(Protocol):
    """An `nn.Module`. What padding holds, and which examples share a batch, changes no result (dropout aside)."""

    def __call__(self, examples: Sequence[Any]) -> Float[Tensor, ""]:
        """The loss of a batch, without the penalty of the inputs' mixes."""
        ...

    def predict(self, examples: Sequence[Any]) -> list[Any]:
        """One prediction for each example; does not look at what is to be predicted."""
        ...


@dataclass(frozen=True)
class Splits:
    """The files of a data set."""

    train: tuple[Path, ...]
    dev: tuple[Path, ...]
    test: tuple[Path, ...] = ()


@dataclass
class Reading(Generic[E]):
    """The examples of a file, and how many there were of each kind that nothing can be done with."""

    examples: list[E]
    skipped: Counter[str] = field(default_factory=lambda: Counter[str]())


@dataclass(frozen=True)
class Task(Generic[E, P]):
    """The six tasks differ in these functions, and in nothing else."""

    name: str
    """As the command line and the folders call it, for instance `named-entities`."""
    metric: str
    """Of `score`'s numbers, the one that says which epoch is best; higher is better, in percent."""
    find: Callable[[Path], Splits]
    """Files of a folder, by the names that its data set gave them; ValueError says which were expected."""
    read: Callable[[Path, Any, bool], Reading[E]]
    """(file, model config, whether for training) -> examples."""
    sentences: Callable[[E], Sequence[Sequence[str]]]
    """Every token list that the model will ask its inputs for: what words there are, and what is cached."""
    labels: Callable[[Iterable[E]], list[str]]
    """Labels of the training set, in a fixed order; empty where a task has none."""
    build: Callable[[Any, TokenInputs, Sequence[str]], TaskModel]
    """(model config, inputs, labels) -> the model, with fresh weights."""
    score: Callable[[Sequence[E], Sequence[P]], Mapping[str, float]]
    """Names -> numbers, as the official scorer has them."""
    recipes: Mapping[str, Callable[[], TaskConfig]]
    """`paper`: the published sizes. `cpu`: minutes on two cores."""
    model_config: type[Any]
    """Of `TaskConfig.model`."""
    from_text: Callable[[str], E]
    """A line of raw text as an example without labels (tokens by `elmokit.tokenize`); ValueError if it is not one."""
    from_json: Callable[[Mapping[str, Any]], E]
    """The fields of a JSON line as an example without labels, for what a line of text cannot say."""
    to_text: Callable[[E, P], str]
    """The example and its prediction in the format of the field: lines, without the end of the last one. Where a blank
    line ends a sentence, that is the last one."""
    to_json: Callable[[E, P], dict[str, Any]]
    """The same as JSON."""


def find_splits(folder: Path, names: Sequence[tuple[str, str, str]], *, of: str) -> Splits:
    """The first of the data sets (train, dev and test file) whose first two files are there; the test file is optional.

    ValueError, with the names, if there is none; `of` is the task.
    """
    for train, dev, test in names:
        if (folder / train).is_file() and (folder / dev).is_file():
            held_out = folder / test
            return Splits((folder / train,), (folder / dev,), (held_out,) if held_out.is_file() else ())
    known = "; ".join(", ".join(files) for files in names)
    raise ValueError(f"{folder} has no data set of {of}; expected files of one of these names: {known}")


def batches(examples: Iterable[E], *, size: int) -> Iterator[list[E]]:
    """In order, the last one as long as it is."""
    batch: list[E] = []
    for example in examples:
        batch.append(example)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch
