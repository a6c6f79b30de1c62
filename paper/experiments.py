"""The experiments of the tables: data sets, and which arms are trained on which, with how many seeds.

This is data: `train.py` makes training runs of it, and `tables.py` shows their scores. CONTRIBUTING.md says where each
data set comes from.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

WHERE_DATA_ARE = "CONTRIBUTING.md (Data) says where each data set has to be, docs/tasks.md (Data) where it comes from"
RANDOM, FINETUNED = "random", "finetuned"
MODEL, SHIPPED, KOREAN_MODEL = "mini-en", "small-en", "mini-ko"
"""The English model before `small-en`, and the present models for English and Korean."""
EARLIER = {"mini-en-138": "276f453c", "mini-en-115": "f10ea4d3", MODEL: "c3b1f14d", "small-en-86": "d864464f"}
"""Fingerprints of biLMs that the package had, named after their perplexity on held-out text. The results have rows of
them; their weights are in the history of the repository (`src/elmokit/bundled`)."""


def start_of(model: str) -> str:
    """The biLM itself or, for random or fine-tuned weights, the biLM that they were made from."""
    of_weights = {digits: name for name, digits in EARLIER.items()}
    kind, _, made = model.partition("-")
    return of_weights.get(made[:8], SHIPPED) if kind in (RANDOM, FINETUNED) else model


def unpacked(folder: Path) -> Path:
    """The folder of a data set, or the folder of the same name inside it: some archives unpack to one."""
    inner = folder / folder.name
    return inner if inner.is_dir() else folder


@dataclass(frozen=True)
class Dataset:
    """The data set of a task."""

    task: str
    row: str
    """The paper's name of the task: NER."""
    folder: str
    """Its folder in the folder of all data."""
    test_set: str
    """Name of its test file."""
    metric: str
    """Name of the score in results."""
    about: str = ""
    """Its name and size in tables."""
    chance: float = 0.0
    """Score of guessing."""
    recipe: str = ""
    """Its recipe, if it has runs only at the scale `cpu`; empty for the recipe that the scale names."""
    settings: tuple[str, ...] = ()
    """Changes to the recipe in all runs."""
    other_metrics: tuple[str, ...] = ()
    """Other scores on the test set to keep."""


DATASETS = {
    "named-entities": Dataset(*("named-entities", "NER", "tasks/conll2003", "eng.testb", "f1"), about="CoNLL-2003"),
    "sentiment": Dataset(*("sentiment", "SST-5", "tasks/sst", "test.txt", "accuracy"), about="SST", chance=20.0),
    "semantic-roles": Dataset(
        *("semantic-roles", "SRL", "tasks/srl_ewt_propbank", "test.verbs.gold_conll", "f1"), about="EWT PropBank"
    ),
    "entailment": Dataset(
        *("entailment", "SNLI", "tasks/snli", "snli_1.0_test.jsonl", "accuracy"), about="SNLI", chance=100 / 3
    ),
    "coreference": Dataset(
        *("coreference", "Coref", "tasks/coref_ontogum", "test.gold_conll", "average_f1"), about="OntoGUM"
    ),
    "question-answering": Dataset(
        *("question-answering", "SQuAD", "tasks/squad_v1.1", "dev-v1.1.json", "f1"), about="SQuAD 1.1"
    ),
    "named-entities-ko": Dataset(
        *("named-entities", "KLUE-NER", "ko/tasks/ner_klue", "test.conll", "f1"), recipe="cpu-ko"
    ),
    "sentiment-ko": Dataset(
        *("sentiment", "NSMC", "ko/tasks/nsmc", "test.tsv", "accuracy"),
        chance=50.0,
        recipe="cpu-ko",
        settings=("max_train_examples=0", "max_dev_examples=0", "max_epochs=4", "patience=1"),
    ),
    "tags": Dataset(
        *("tags", "UPOS", "la/tasks", "", "accuracy"),
        recipe="cpu",
        other_metrics=("accuracy_known", "accuracy_unknown"),
    ),
}
"""The data sets, by their names in runs and results. SRL and Coref replace OntoNotes, which is not free. SNLI and SQuAD
are trained on subsets, and SQuAD is tested on its public development set."""
LATIN_ARMS = ("none", "fastText", "biLM", "both", "masked-LM")
"""What taggers of Latin read besides their treebank."""
SIX_TASKS = tuple(name for name, dataset in DATASETS.items() if not dataset.recipe)


@dataclass(frozen=True)
class Scale:
    """One size of the experiments."""

    name: str
    """Also the name of each task's recipe."""
    seeds: int
    """Number of seeds."""
    word_vectors: Mapping[str, str]
    """File of word vectors in the folder of all data, by data set; other data sets have none."""


SCALES = {
    "cpu": Scale("cpu", 3, dict.fromkeys(SIX_TASKS, "tasks/glove/glove.6B.50d.100k.txt.gz")),
    "paper": Scale(
        "paper",
        5,  # section 4 of the paper, for the small data sets
        dict.fromkeys(SIX_TASKS, "tasks/glove/glove.840B.300d.txt.gz")
        | {"named-entities": "tasks/glove/glove.6B.50d.txt.gz", "semantic-roles": "tasks/glove/glove.6B.100d.txt.gz"},
    ),
}
"""A run of `cpu` takes minutes of a core; `paper` needs a GPU and GloVe's larger files."""


@dataclass(frozen=True)
class Training:
    """How the arms of an experiment are trained; the same for all of them."""

    recipe: str = ""
    """Empty for the recipe of the scale, which ends after a fixed number of epochs."""
    settings: tuple[str, ...] = ()
    """Changes to the recipe."""

    @property
    def name(self) -> str:
        """Its name in the column `recipe` of results; the number of training examples has a separate column."""
        return ", ".join([self.recipe or "cpu", *(one for one in self.settings if not one.startswith("train_share"))])


@dataclass(frozen=True)
class Arm:
    """Runs that differ only in their seed."""

    name: str
    settings: tuple[str, ...] = ()
    """Changes to the recipe, as `elmokit train --set` takes them."""
    vectors: str = ""
    """What takes the model's place: RANDOM (new weights of the same sizes), FINETUNED (one epoch on the text of the
    task), or something made elsewhere: one of EARLIER, or a file with another system's vectors."""
    recipe: str = ""
    """A recipe that differs from the training's only in ELMo's settings."""


@dataclass(frozen=True)
class Experiment:
    """Arms that are trained on tasks."""

    tasks: tuple[str, ...]
    arms: tuple[Arm, ...]
    training: Training = Training()
    models: tuple[str, ...] = (MODEL,)
    tests: bool = False
    """Whether test sets are scored."""


FIXED_EPOCHS, CONVERGED = Training(), Training("cpu-converged")
"""CONVERGED ends when the development score stops improving."""
NO_ELMO, ELMO = Arm("no ELMo", ("elmo=none",)), Arm("+ ELMo")
AT_OUTPUT = Arm("+ ELMo at the output", recipe="cpu-output")
"""For tasks where that is better on the development set than the paper's position."""
RANDOM_BILM, MINILM, COVE = (
    Arm("random biLM", vectors=RANDOM),
    *(Arm(name, vectors=name) for name in ("MiniLM-L6", "CoVe")),
)
_AS_THEY_ARE = "elmo.rescale=false"
"""As in the paper: rescaling is another remedy for vectors of the wrong size."""
_NER, _SST = ("named-entities",), ("sentiment",)
_LAYERS = (
    NO_ELMO,
    Arm("last layer", ("elmo.layers=top",)),
    *(Arm(f"lambda={rate}", ("elmo.layers=mix", f"elmo.penalty={rate}")) for rate in ("1.0", "0.1", "0.001", "0.0")),
)
_PLACES = (NO_ELMO, *(Arm(place, (f"elmo={place}",)) for place in ("input", "both", "output")))
_GAMMA = (
    NO_ELMO,
    *(
        Arm(
            f"{words} layers, gamma {'learnt' if learnt == 'true' else '1'}",
            (f"elmo.layers={layers}", f"elmo.train_gamma={learnt}", _AS_THEY_ARE),
        )
        for words, layers in (("top", "top"), ("all", "mix"))
        for learnt in ("true", "false")
    ),
)
CURVE_TASKS = ("named-entities", "semantic-roles", "entailment")
SHARES = (0.001, 0.01, 0.1, 1.0)
_TENTH = replace(CONVERGED, settings=("train_share=0.1",))
EXPERIMENTS: dict[str, tuple[Experiment, ...]] = {
    "table1": (
        Experiment(SIX_TASKS, (NO_ELMO, ELMO), CONVERGED, (SHIPPED, MODEL), tests=True),
        Experiment(tuple(task for task in SIX_TASKS if task != "entailment"), (MINILM,), CONVERGED, tests=True),
        Experiment(
            ("sentiment", "entailment"),
            (AT_OUTPUT, replace(RANDOM_BILM, recipe="cpu-output", name="random biLM at the output")),
            CONVERGED,
            tests=True,
        ),
        Experiment(SIX_TASKS, (NO_ELMO, ELMO, RANDOM_BILM, Arm("token layer", ("elmo.layers=0",))), tests=True),
        Experiment(CURVE_TASKS, (COVE, MINILM), tests=True),
        Experiment(_NER, (NO_ELMO, ELMO), Training(settings=("character_dim=0",)), tests=True),
        Experiment(_NER, (Arm("TagLM", ("elmo=output", "elmo.layers=top")),), tests=True),
        Experiment(_SST, (NO_ELMO, ELMO), Training("cpu-cnn"), tests=True),
        Experiment(_SST, (NO_ELMO, ELMO), Training("cpu-converged", ("classifier=bilstm",)), tests=True),
    ),
    "table2": (
        Experiment((*CURVE_TASKS, "question-answering"), _LAYERS),
        Experiment(
            ("semantic-roles", "entailment", "question-answering"), (*_LAYERS[:3], _LAYERS[4]), CONVERGED, (SHIPPED,)
        ),
    ),
    # the paper's three tasks; coreference, where the paper found the input best; and sentiment, with ELMo at both
    "table3": (
        Experiment(("semantic-roles", "coreference", "entailment", "question-answering", "sentiment"), _PLACES),
        Experiment(("semantic-roles", "entailment", "question-answering"), _PLACES, CONVERGED, (SHIPPED,)),
    ),
    "table7": (
        Experiment(
            ("named-entities", "semantic-roles", "entailment", "question-answering", "sentiment"),
            (NO_ELMO, replace(ELMO, name="not fine-tuned"), Arm("fine-tuned", vectors=FINETUNED)),
        ),
        Experiment(
            ("entailment",),
            (NO_ELMO, replace(ELMO, name="not fine-tuned"), Arm("fine-tuned", vectors=FINETUNED)),
            CONVERGED,
            (SHIPPED,),
        ),
    ),
    "figure1": tuple(
        Experiment(CURVE_TASKS, (NO_ELMO, ELMO), replace(training, settings=(f"train_share={share}",)), models)
        for training, models in ((CONVERGED, (SHIPPED, MODEL)), (FIXED_EPOCHS, (MODEL,)))
        for share in SHARES
    ),
    "figure2": (
        Experiment(SIX_TASKS, (ELMO,), CONVERGED, (SHIPPED, MODEL)),
        Experiment(SIX_TASKS, (_PLACES[2],)),
        Experiment(("named-entities-ko", "sentiment-ko"), (ELMO,), models=(KOREAN_MODEL,)),
    ),
    "perplexity": (
        Experiment(CURVE_TASKS, (NO_ELMO, ELMO), _TENTH, (SHIPPED, "small-en-86", MODEL)),
        *(Experiment(CURVE_TASKS, (replace(ELMO, vectors=name),), _TENTH) for name in ("mini-en-115", "mini-en-138")),
    ),
    "gamma": (
        Experiment(CURVE_TASKS, _GAMMA),
        Experiment(("semantic-roles", "entailment"), _GAMMA, CONVERGED, (SHIPPED,)),
    ),
    "layernorm": (
        Experiment(
            ("semantic-roles", "entailment", "sentiment"),
            (
                NO_ELMO,
                Arm("layers as they are", ("elmo.layer_norm=false", _AS_THEY_ARE)),
                Arm("layer norm", ("elmo.layer_norm=true", _AS_THEY_ARE)),
                Arm("rescaled", ("elmo.layer_norm=false", "elmo.rescale=true")),
            ),
        ),
    ),
    "dropout": (
        Experiment(
            ("semantic-roles", "entailment", "sentiment"),
            (NO_ELMO, *(Arm(rate, (f"elmo.dropout_rate={rate}",)) for rate in ("0.0", "0.2", "0.5"))),
        ),
    ),
    "korean-tasks": (
        Experiment(("named-entities-ko", "sentiment-ko"), (NO_ELMO, ELMO), models=(KOREAN_MODEL,), tests=True),
    ),
}
"""The experiments, by the table or figure that shows them."""
