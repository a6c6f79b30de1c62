"""How large the training runs of the tables are: data, recipes, seeds and settings by the name of a scale."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from elmokit.system.messages import find_named

if TYPE_CHECKING:
    from collections.abc import Mapping


CONVERGED = "cpu-converged"
"""The recipe of runs that end when the development score stops improving; not every task needs to have it."""
AT_OUTPUT = "cpu-output"
"""The same with ELMo at the output alone, of tasks where that is better on the development set than the paper's place.
Without ELMo it is `CONVERGED`."""


@dataclass(frozen=True)
class TaskData:
    """The data set of a task, and what training on it costs."""

    row: str
    """The paper's name of the task: NER."""
    folder: str
    """Its folder in the folder of all data."""
    num_train: int
    """Training examples, for the estimate of time."""
    seconds: float
    """CPU seconds of the recipe `cpu` with ELMo per epoch and thousand training examples, with evaluation: the means
    of experiments/2026-11-22-reproduce on one core of an EPYC, with and without AVX-512."""


TASK_DATA = {
    "named-entities": TaskData("NER", "tasks/conll2003", 14_041, 1.7),
    "sentiment": TaskData("SST-5", "tasks/sst", 8_544, 3.0),
    "semantic-roles": TaskData("SRL", "tasks/srl_ewt_propbank", 22_949, 1.8),
    "entailment": TaskData("SNLI", "tasks/snli", 19_999, 1.9),
    "coreference": TaskData("Coref", "tasks/coref_ontogum", 177, 220.0),
    "question-answering": TaskData("SQuAD", "tasks/squad_v1.1", 10_000, 16.6),
}
"""The English data sets of the six tasks."""

_GLOVE = "tasks/glove"


@dataclass(frozen=True)
class Scale:
    """One size of the experiments."""

    name: str
    recipe: str
    """The recipe of every task."""
    seeds: int
    """Number of seeds."""
    word_vectors: Mapping[str, str]
    """File of word vectors in the folder of all data, by task."""
    settings: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: dict[str, tuple[str, ...]]())
    """Changes to the recipe, by task."""
    compares_converged: bool = False
    """Whether table 1 is made of converged runs as well, which count before those that a number of epochs ended."""
    largest_share: float = 1.0
    """Share of a training set that runs on shares of it have at most."""


_SMALL_VECTORS = dict.fromkeys(TASK_DATA, f"{_GLOVE}/glove.6B.50d.100k.txt.gz")

SCALES = {
    "small": Scale(
        name="small",
        recipe="cpu",
        seeds=3,
        word_vectors=_SMALL_VECTORS,
        largest_share=0.1,
        settings={
            "named-entities": ("max_train_examples=1000", "max_dev_examples=500"),
            "sentiment": ("max_train_examples=2000", "max_epochs=6"),
            "semantic-roles": ("max_train_examples=1500", "max_dev_examples=300"),
            "entailment": ("max_train_examples=2000", "max_dev_examples=1000"),
            "coreference": ("max_train_examples=40", "max_epochs=6"),
            "question-answering": (
                *("max_train_examples=1500", "max_epochs=4"),
                *("max_dev_examples=200", "spread_dev=false"),  # as in the runs that are kept
            ),
        },
    ),
    "cpu": Scale(name="cpu", recipe="cpu", seeds=3, word_vectors=_SMALL_VECTORS, compares_converged=True),
    "paper": Scale(
        name="paper",
        recipe="paper",
        seeds=5,  # section 4 of the paper, for the small data sets
        word_vectors=dict.fromkeys(TASK_DATA, f"{_GLOVE}/glove.840B.300d.txt.gz")
        | {
            "named-entities": f"{_GLOVE}/glove.6B.50d.txt.gz",
            "semantic-roles": f"{_GLOVE}/glove.6B.100d.txt.gz",
        },
    ),
}
"""A run of `small` takes a minute or two of a core, one of `cpu` minutes; `paper` needs a GPU and GloVe's larger
files."""


def find_scale(name: str) -> Scale:
    """The scale of that name. Raises ValueError, suggesting the nearest name, if there is none."""
    return find_named(SCALES, name, what="scale")
