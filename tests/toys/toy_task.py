"""Fixtures that several subpackages share: imports in this process, a toy task, its data, and two tiny biLMs."""

import copy
import random
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest
import torch
from torch import Tensor, nn

from elmokit.formats.importers import child
from elmokit.formats.importers import load as importer
from elmokit.formats.native import write_native
from elmokit.formats.read import to_weights
from elmokit.model.bilm import BiLM
from elmokit.tasks.config import InputConfig, TaskConfig, TrainingConfig
from elmokit.tasks.inputs import EncodedTokens, TokenInputs
from elmokit.tasks.sentiment.task import LabelledText, Sentiment
from elmokit.tasks.task import TASKS, Reading, Task
from elmokit.tasks.task_model import Classifier
from toy_bilm import TINY

IMPORT_IN_A_CHILD = child.run


@pytest.fixture(scope="session", autouse=True)
def import_here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Import models of other formats in this process, in less than a second, into a cache of the tests."""

    def read(path: Path, weights: Path | None, target: Path | None) -> child.Report:
        return importer.read(path, weights, target=target, size=1 << 30)

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ELMOKIT_CACHE", str(tmp_path_factory.mktemp("cache")))
        patch.setattr(child, "run", read)
        yield


@pytest.fixture
def in_a_child(monkeypatch: pytest.MonkeyPatch) -> None:
    """For the tests of the child process."""
    monkeypatch.setattr(child, "run", IMPORT_IN_A_CHILD)


@pytest.fixture(scope="session")
def write(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A function that writes a text into a file, always the same one, and returns its path."""
    path = tmp_path_factory.mktemp("reader") / "data"

    def write_text(text: str) -> Path:
        path.write_bytes(text.encode())
        return path

    return write_text


@pytest.fixture
def two_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def refusals(write: Callable[[str], Path]) -> Callable[..., list[str]]:
    """`refusals(read, texts)`: the errors that a reader of files raises for these texts, without the file's name."""

    def of_texts(read: Callable[[Path], Iterable[object]], texts: Iterable[str]) -> list[str]:
        said: list[str] = []
        for text in texts:
            path = write(text)
            with pytest.raises(ValueError) as refused:
                list(read(path))
            said.append(str(refused.value).replace(str(path), "FILE"))
        return said

    return of_texts


class StandInInputs(nn.Module):
    """Called like `TokenInputs`: a learned vector for each word, and another one for the output."""

    def __init__(self, words: Sequence[str], *, input_dim: int = 16, output_dim: int = 0) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.input_dim, self.output_dim = input_dim, output_dim
        self.rows = {word: row for row, word in enumerate(dict.fromkeys(words), start=1)}
        self.vectors = nn.Embedding(len(self.rows) + 1, input_dim + output_dim, padding_idx=0)

    def known(self, tokens: Sequence[str]) -> list[bool]:
        return [token in self.rows for token in tokens]

    def forward(self, sentences: Sequence[Sequence[str]]) -> EncodedTokens:
        longest = max((len(tokens) for tokens in sentences), default=0)
        rows = torch.zeros(len(sentences), longest, dtype=torch.long)
        for index, tokens in enumerate(sentences):
            rows[index, : len(tokens)] = torch.tensor([self.rows[token] for token in tokens], dtype=torch.long)
        rows = rows.to(self.vectors.weight.device)
        inputs, outputs = self.vectors(rows).split([self.input_dim, self.output_dim], dim=2)
        return EncodedTokens(inputs=inputs, outputs=outputs, mask=rows > 0)


@pytest.fixture(scope="session")
def stand_in_inputs() -> type[StandInInputs]:
    """`stand_in_inputs(words, input_dim=16, output_dim=0)`: inputs of a model in a test, with seeded vectors."""
    return StandInInputs


@dataclass(frozen=True)
class ToyConfig:
    hidden_dim: int = 8
    dropout_rate: float = 0.3


class ToyModel(Classifier):
    def __init__(self, config: ToyConfig, inputs: TokenInputs, labels: Sequence[str]) -> None:
        super().__init__(inputs, labels)
        self.dropout = nn.Dropout(config.dropout_rate)
        self.encode = nn.Linear(inputs.input_dim, config.hidden_dim)
        self.score = nn.Linear(config.hidden_dim + inputs.output_dim, len(labels))

    def scores(self, examples: Sequence[LabelledText]) -> Tensor:
        tokens = self.inputs([example.tokens for example in examples])
        hidden = torch.cat([torch.tanh(self.encode(self.dropout(tokens.inputs))), tokens.outputs], dim=2)
        return self.score(hidden[:, 0])


def _tiny() -> TaskConfig:
    return TaskConfig(
        ToyConfig(),
        InputConfig(word_dim=6, character_dim=4, character_filters=((2, 5),)),
        TrainingConfig(batch_size=4, max_epochs=4, learning_rate=0.02),
    )


class Toy(Sentiment):
    name = "toy"
    files = (("train.tsv", "dev.tsv", "test.tsv"), ("train.tsv", "", ""))
    recipes: ClassVar[dict[str, Any]] = {"cpu": _tiny}
    model_config = ToyConfig
    model = "toy_task:ToyModel"

    def read(self, path: Path, config: Any, training: bool) -> Reading[LabelledText]:
        reading = Reading[LabelledText]([])
        for line in path.read_text().splitlines():
            label, text = line.split("\t")
            if label == "?":
                reading.skipped["without a label"] += 1
            else:
                reading.examples.append(LabelledText(text.split(), label))
        return reading


TOY = Toy()


def changed(task: Task[Any, Any], **others: Any) -> Task[Any, Any]:
    """The task with other methods or attributes."""
    other = copy.copy(task)
    vars(other).update(others)
    return other


@pytest.fixture(scope="session")
def toy() -> Toy:
    """A tiny task, to test what all tasks share: the first word of a sentence decides its label."""
    return TOY


@pytest.fixture
def known_toy(monkeypatch: pytest.MonkeyPatch) -> None:
    """The toy as one of elmokit's own tasks."""
    monkeypatch.setitem(sys.modules, "elmokit.tasks.toy.task", SimpleNamespace(TASK=TOY))
    monkeypatch.setitem(TASKS, "toy", "t")


@pytest.fixture(scope="session")
def toy_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Forty sentences to train on, twenty each to develop and test on; one of each file has no label."""
    folder = tmp_path_factory.mktemp("toy")
    randomness = random.Random(0)
    words = {"a": ["Apple", "ant", "axe"], "b": ["bear", "Boat", "bike"], "c": ["cat", "car", "cow"]}
    everything = [word for some in words.values() for word in some]
    for name, number in (("train", 40), ("dev", 20), ("test", 20)):
        lines = ["?\tnothing"]
        for _ in range(number):
            label = randomness.choice("abc")
            tokens = [randomness.choice(words[label]), *randomness.choices(everything, k=randomness.randrange(6))]
            lines.append(f"{label}\t{' '.join(tokens)}")
        (folder / f"{name}.tsv").write_text("\n".join(lines) + "\n")
    return folder


@pytest.fixture(scope="session")
def tiny_bilms(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two untrained models of the same sizes (D=6, L=3), with different weights."""
    folders = (tmp_path_factory.mktemp("bilm") / "model", tmp_path_factory.mktemp("bilm") / "model")
    for seed, folder in enumerate(folders, start=1):
        torch.manual_seed(seed)
        write_native(folder, to_weights(BiLM(TINY)))
    return folders
