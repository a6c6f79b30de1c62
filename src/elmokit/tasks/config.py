"""The settings of a task's run, as frozen dataclasses, as JSON and as `field=value`. Imports no torch."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from elmokit.runs.settings import change_settings, check_bounds, check_choices, check_known
from elmokit.system.paths import expanded
from elmokit.text.corpora.cells import layer_choice

POSITIONS = ("input", "output", "both")
MAX_CHARACTERS = 1 << 16
MAX_FILTERS = 64
"""Largest number of pairs of width and number; the released models have 7."""
MAX_SEED = 1 << 42
"""An epoch's seed is about a million times as large, which still fits in 64 bits."""
OPTIMIZERS = ("adam", "adamw", "adadelta", "sgd")


@dataclass(frozen=True)
class ElmoInput:
    """Where a task model reads ELMo's vectors, and how the biLM's layers are combined: see `ElmoEmbedding`."""

    position: str = "input"
    """Where the vectors are concatenated: input, output (of the first encoder) or both."""
    model: str = "small-en"
    """Name of a bundled model, path of a model, or path of another system's vectors (see `save_vectors`)."""
    layers: str = "mix"
    """mix (a learned weighted sum of all layers), top, average, the number of one layer, or fixed weights, one for each
    layer: 0.1,0.3,0.6."""
    dropout_rate: float = 0.0
    """Rate of the dropout of ELMo's vectors."""
    layer_norm: bool = False
    """Normalise each layer over the whole batch, before the mix. A sentence's vectors then depend on its batch."""
    rescale: bool = False
    """Divide each layer by its root mean square over the training set, measured once and stored with the model, so that
    no layer drowns the others: the token layer of `mini-ko` is five to seven times as large as its LSTM layers."""
    penalty: float = 0.0
    """lambda of the paper: this times `||w||^2` of the mixes is added to the loss."""
    train: bool = False
    """Train the biLM too; it then runs in every step instead of once per data set."""
    train_gamma: bool = True
    """Train gamma, the scale of each mix; false keeps it at 1, as in appendix A.2 of the paper."""

    def __post_init__(self) -> None:
        check_choices(self, {"position": POSITIONS}, prefix="elmo.")
        if layer_choice(self.layers) == self.layers and self.layers not in ("mix", "top", "average"):
            raise ValueError(
                f"elmo.layers is {self.layers!r}; expected mix, top, average, a number, or a weight for each layer, "
                "with commas between them"
            )
        check_bounds(self, counts=("penalty",), rates=("dropout_rate",), prefix="elmo.")

    @property
    def positions(self) -> tuple[str, ...]:
        """The positions; each has a separate mix, so `both` gives two."""
        return ("input", "output") if self.position == "both" else (self.position,)


@dataclass(frozen=True)
class InputConfig:
    """What a task model reads for each token. By default, only word vectors that start at random and are learnt."""

    word_vectors: str = ""
    """GloVe, word2vec or fastText file; if empty, the words of the training set start at random."""
    word_dim: int = 50
    """Width of the word vectors; 0 uses none. A file of word vectors overrides it."""
    train_word_vectors: bool = True
    """Whether the vectors of the training set's words are trained."""
    unit_word_vectors: bool = False
    """Whether the vectors of the file are divided by their length."""
    lower_case: bool = True
    """Whether words are lower-cased, as GloVe's 6B vectors are; characters never are."""
    min_word_count: int = 1
    """A word that the file lacks gets a vector if it occurs at least this often in the training set. Rarer words share
    the vector of the unknown word, which learns from them."""
    num_extra_words: int = 20_000
    """Number of words from the start of the file that are kept for new text, even if no data set has them."""
    character_dim: int = 0
    """Width of the character embeddings of the task's own character CNN; 0 uses none."""
    character_filters: tuple[tuple[int, int], ...] = ((3, 128),)
    """(width, number) of the character CNN's filters."""
    max_characters: int = 50
    """Characters of a token that the character CNN reads, its two boundaries included."""
    elmo: ElmoInput | None = None
    """None reads no ELMo vectors."""

    def __post_init__(self) -> None:
        pairs = self.character_filters
        if self.max_characters > MAX_CHARACTERS:
            raise ValueError(f"max_characters is {self.max_characters}; expected at most {MAX_CHARACTERS}")
        check_bounds(self, counts=("word_dim", "min_word_count", "num_extra_words", "character_dim"))
        widest = max((width for width, _ in pairs), default=1)
        if len(pairs) > MAX_FILTERS:
            raise ValueError(f"character_filters has {len(pairs)} pairs; expected at most {MAX_FILTERS}")
        if not pairs or min(min(pair) for pair in pairs) < 1 or self.max_characters < max(widest, 3):
            raise ValueError(
                f"character_filters are {self.character_filters} and max_characters is {self.max_characters}; expected "
                "widths and numbers of at least 1, and no filter wider than max_characters"
            )
        if self.word_dim == 0 and self.character_dim == 0 and (self.elmo is None or self.elmo.position == "output"):
            raise ValueError(
                "word_dim and character_dim are 0 and ELMo is not at the input, so there is nothing to read; set one "
                "of them, or elmo=input"
            )


@dataclass(frozen=True)
class TrainingConfig:
    """How a task model is trained."""

    optimizer: str = "adam"
    """adam, adamw, adadelta (rho 0.95) or sgd."""
    adadelta_epsilon: float = 1e-6
    """Epsilon of adadelta; the others have torch's own."""
    learning_rate: float = 0.001
    """Learning rate of the first step."""
    batch_size: int = 32
    """Examples per step, of similar length."""
    max_epochs: int = 20
    """Epochs after which training ends in any case."""
    patience: int = 5
    """Training ends after this many epochs in a row without a better score on the development set."""
    min_steps: int = 0
    """Patience does not end training before this many steps."""
    min_epoch_steps: int = 0
    """Smallest number of steps in an epoch. To reach it, an epoch reads a small training set several times, so that
    patience does not run out after a few steps. 0 reads it once."""
    halve_after: int = 0
    """The learning rate is halved after this many epochs in a row without a better score; 0 never halves it."""
    decay: float = 1.0
    """Factor on the learning rate, applied every `decay_steps` steps."""
    decay_steps: int = 100
    """Steps between two applications of `decay`."""
    clip_norm: float = 0.0
    """Largest global norm of the gradient; 0 does not clip it."""
    clip_value: float = 0.0
    """Largest absolute value of each element of the gradient; 0 does not clip it."""
    average_decay: float = 0.0
    """Decay (for example 0.999) of the moving average of the weights that is evaluated and kept; 0 uses the weights
    themselves."""
    average_warm_up: bool = True
    """Whether the first steps use a smaller decay, so that the initial weights leave no trace."""
    weight_decay: float = 0.0
    """L2 penalty on all weights except the scalar mixes: this times the weight is added to its gradient. With adamw,
    each step instead shrinks a weight by this times the learning rate, as a share of the weight."""
    decay_biases: bool = True
    """Whether `weight_decay` applies to biases too."""
    max_train_examples: int = 0
    """Number of training examples used, chosen by the seed; 0 means all."""
    train_share: float = 1.0
    """Share of the training examples used, chosen by the seed; smaller shares are parts of larger ones."""
    dev_share: float = 0.0
    """Share of the training and development files together to hold out as the development set: whole documents
    (articles; in a single document, sentences with all of their examples), spread evenly over the files. 0 keeps the
    files as they are; without a development file, a tenth of the training data is held out."""
    random_dev: bool = False
    """Whether to draw the held-out documents at random, one from each part of the files, instead of every n-th one. All
    seeds draw the same. A new run without a development file always draws: labels may alternate in a file."""
    max_dev_examples: int = 0
    """Number of examples of the development set that are used while training; 0 means all."""
    spread_dev: bool = False
    """Whether these examples are spread evenly over the development set instead of taken from its start."""
    seed: int = 0
    """Seed for initial weights, order, dropout and the choice of examples."""

    def __post_init__(self) -> None:
        check_choices(self, {"optimizer": OPTIMIZERS})
        amounts = ("halve_after", "clip_norm", "clip_value", "weight_decay", "seed")
        check_bounds(
            self,
            positive=("batch_size", "max_epochs", "patience", "decay_steps"),
            counts=(*amounts, "max_train_examples", "max_dev_examples", "min_steps", "min_epoch_steps"),
            above_zero=("learning_rate", "decay", "adadelta_epsilon"),
            rates=("average_decay", "dev_share"),
        )
        if self.seed > MAX_SEED:
            raise ValueError(f"seed is {self.seed}; expected at most {MAX_SEED}")
        if not 0 < self.train_share <= 1:
            raise ValueError(f"train_share is {self.train_share}; it must be above 0 and at most 1")


@dataclass(frozen=True)
class TaggerConfig:
    """Sizes of the tagger of names or words. The default widths are the paper's, the rate at the input AllenNLP's."""

    first_dim: int = 200
    """Width of the first biLSTM, per direction."""
    second_dim: int = 100
    """Width of the second biLSTM, per direction; 200 in AllenNLP's ner.jsonnet."""
    dropout_rate: float = 0.5
    """Dropout at the input of both biLSTMs. It drops the same features at all tokens of a sentence."""
    output_dropout_rate: float = 0.0
    """Dropout before the dense layer, of the same kind."""

    def __post_init__(self) -> None:
        check_bounds(self, positive=("first_dim", "second_dim"), rates=("dropout_rate", "output_dropout_rate"))


@dataclass(frozen=True)
class TaskConfig:
    """All settings of a task's run. `model` is the task's own frozen dataclass."""

    model: Any
    inputs: InputConfig = field(default_factory=InputConfig)
    training: TrainingConfig = field(default_factory=TrainingConfig)


Recipes = Mapping[str, Callable[[], TaskConfig]]
FileNames = Sequence[tuple[str, str, str]]
"""Training, development and test file of each known data set."""


@dataclass(frozen=True)
class Splits:
    """The files of a data set; each split may have several, and `dev` and `test` may be empty.

    A single file, or file names, become tuples of paths.
    """

    train: tuple[Path, ...]
    dev: tuple[Path, ...] = ()
    test: tuple[Path, ...] = ()

    def __post_init__(self) -> None:
        for name in ("train", "dev", "test"):
            files: Any = getattr(self, name)
            several = (files,) if isinstance(files, str | Path) else files
            object.__setattr__(self, name, tuple(expanded(file) for file in several))

    @property
    def paths(self) -> tuple[Path, ...]:
        return (*self.train, *self.dev, *self.test)

    def absolute(self) -> Splits:
        """The same files with absolute paths; a file that is a link keeps its name."""
        return Splits(*(tuple(path.parent.resolve() / path.name for path in paths) for paths in vars(self).values()))


def with_settings(config: TaskConfig, settings: Sequence[str]) -> TaskConfig:
    """Change settings of the model, the inputs and the training: `learning_rate=0.01`, `model.dropout_rate=0.3`.

    A field of `ElmoInput` is set by `inputs.elmo.dropout_rate=0.2`, or `elmo.dropout_rate=0.2` for short. `elmo=input`,
    `elmo=output` and `elmo=both` set its position; `elmo=none` removes ELMo, whatever its other settings are.

    Raises ValueError, naming the setting, for unknown fields, fields that exist in two of the three parts, wrong
    values, and settings of ELMo in a config without ELMo.
    """
    elmo = config.inputs.elmo
    position = None if elmo is None else elmo.position
    of_elmo: list[str] = []
    others: list[str] = []
    for setting in settings:
        name, equals, value = (part.strip() for part in setting.strip().removeprefix("inputs.").partition("="))
        if equals and name in ("elmo", "elmo.position"):
            position = value
        elif name.startswith("elmo"):
            check_known(name, [f"elmo.{entry.name}" for entry in dataclasses.fields(ElmoInput)])
            of_elmo.append(f"{name}{equals}{value}")
        else:
            others.append(setting)
    if position is None and of_elmo:
        raise ValueError(f"setting {of_elmo[0]}: this config has no ELMo; add elmo=input, elmo=output or elmo=both")
    if position not in (None, "none", *POSITIONS):
        raise ValueError(f"elmo is {position!r}; expected none, {', '.join(POSITIONS)}")
    readable = replace(config.inputs, elmo=ElmoInput())  # valid on its own; checked with the real ELMo below
    changed = change_settings({"model": config.model, "inputs": readable, "training": config.training}, others)
    if position in (None, "none"):
        elmo = None
    else:
        elmo = change_settings({"elmo": elmo or ElmoInput()}, [f"elmo.position={position}", *of_elmo])["elmo"]
    return TaskConfig(**changed | {"inputs": replace(changed["inputs"], elmo=elmo)})


def variant(
    config: TaskConfig,
    *,
    model: Mapping[str, Any] | None = None,
    inputs: Mapping[str, Any] | None = None,
    elmo: Mapping[str, Any] | None = None,
    training: Mapping[str, Any] | None = None,
) -> TaskConfig:
    """The config with some fields of its parts changed. `elmo` changes fields of a config that has ELMo."""
    if elmo is not None:
        assert config.inputs.elmo is not None
        inputs = {**(inputs or {}), "elmo": replace(config.inputs.elmo, **elmo)}
    return TaskConfig(
        model=replace(config.model, **(model or {})),
        inputs=replace(config.inputs, **(inputs or {})),
        training=replace(config.training, **(training or {})),
    )


def until_converged(recipe: Callable[[], TaskConfig]) -> TaskConfig:
    """Replace a recipe's schedule: train until the development score stops improving. The numbers are ours.

    The learning rate is halved after every two epochs without a better score, and five such epochs end the run. An
    epoch has at least 100 steps and a run at least 1,000, so that a small training set gets more than a few updates.
    `max_epochs` is a limit that a run should not reach; its log says if it did. The scored development examples are
    spread evenly over the set.
    """
    schedule = {"max_epochs": 100, "patience": 5, "min_steps": 1_000, "min_epoch_steps": 100, "halve_after": 2}
    return variant(recipe(), training={**schedule, "decay": 1.0, "spread_dev": True})
