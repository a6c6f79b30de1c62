"""Trained task models, loaded to predict: `load_task("runs/ner").predict("Jane lives in Seoul .")`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import torch

from elmokit.files.json import parse_json
from elmokit.files.lines import STDIN, is_read_once, is_terminal, read_lines, shown_name, with_head
from elmokit.layers.devices import find_device
from elmokit.system.batches import batched
from elmokit.system.paths import expanded
from elmokit.tasks.data import read_files, report_foreign_labels, report_skipped
from elmokit.tasks.loop import predict_all
from elmokit.tasks.run import BEST_FILE, TaskRecord, read_record
from elmokit.tasks.task import Task, find_task, shortened
from elmokit.tasks.task_model import TaskModel
from elmokit.tasks.train import ModelParts
from elmokit.text.plain_text import other_than_text
from elmokit.text.sentence_lines import with_warning

INPUT_KINDS = ("text", "json", "data")
EXAMPLES_AT_ONCE = 1000
"""Number of examples to read from a file before they are predicted. It limits the memory."""


class TrainedTask:
    """A task's model with the weights of its best epoch. It can be copied, pickled and sent to other processes."""

    def __init__(self, task: Task[Any, Any], record: TaskRecord, model: TaskModel) -> None:
        self.task = task
        self.record = record
        self.model = model

    def __repr__(self) -> str:
        elmo = self.record.inputs.elmo
        reads = "without ELMo" if elmo is None else f"with {shortened(elmo.model)} at {elmo.position}"
        labels = ", ".join(self.task.label_names(self.record.symbols))
        return f"<TrainedTask {self.task.name} {reads}{labels and f': {labels}'}>"

    def predict(self, value: object) -> Any:
        """The prediction for a text, a list of tokens, the fields of a JSON object, or an example of the task.

        Texts are split by `elmokit.tokenize`. The result is the task's own frozen dataclass, for instance a
        `TaggedText` with `text`, `tokens`, `tags` and `entities`; its `to_dict()` is what `elmokit predict` writes as
        JSON. Raises ValueError if the value lacks something that the task needs.
        """
        return self.predict_all([value])[0]

    def predict_all(self, values: Iterable[object]) -> list[Any]:
        """The predictions for several values, each as in `predict`, in batches. A string is one value."""
        several: Iterable[object] = [cast("object", values)] if isinstance(values, str | Mapping) else values
        examples = [self._example(value) for value in several]
        return list(map(self.task.result, examples, self.model_predictions(examples)))

    def predict_file(self, path: str | Path, *, kind: str | None = None, form: str = "text") -> Iterator[str]:
        """Yield each example of a file with its prediction, as text in the usual format of the task, or as JSON.

        A blank line of text, or between JSON objects, is yielded as a blank line, or as `null` in JSON.

        kind: "text", one example per line; "json", one object per line; "data", the format of the training data.
            None decides by the name: `.jsonl` is JSON; `-` and `.txt` are text, except the files of a data set that the
            task knows, such as `test.txt` of the Stanford treebank; anything else is data. It raises ValueError if a
            file is text by its name but begins like JSON, a table or columns, because its kind is uncertain.
        form: "text", "json", or one of the task's `other_forms`, such as "squad", which covers all examples together.
        Raises ValueError, naming the file and the line, for input that cannot be read.
        """
        forms = ("text", "json", *self.task.other_forms)
        if form not in forms:
            raise ValueError(f"the form is {form!r}; expected one of {', '.join(forms)}")
        is_named, kind = kind is not None, kind or self._kind_of(Path(path))
        if kind not in INPUT_KINDS:
            raise ValueError(f"kind is {kind!r}; expected one of {', '.join(INPUT_KINDS)}")
        if kind == "data":
            examples = self._data_to_predict(path, as_text=form == "text", is_named=is_named)
        else:
            lines, name = read_lines(path), shown_name(path)
            if kind == "text" and not (is_named or is_terminal(path)):
                lines = self._checked_text(lines, name=name)
            if kind == "text":
                lines = with_warning(lines, str, name=name, raw_text=True, are_texts=not self.task.line_is_sentence)
            examples = self._of_lines(lines, kind, name=name)
        predicted = self._predictions(examples)
        together = self.task.to_text if (kind, form) == ("data", "text") else self.task.other_forms.get(form)
        if together is not None:
            yield from together(pair for pair in predicted if pair is not None)
            return
        for pair in predicted:
            if form == "json":
                yield json.dumps(pair and self.task.result(*pair).to_dict(), ensure_ascii=False)
            else:
                yield from self.task.to_text([pair]) if pair else [""]

    def model_predictions(self, examples: Sequence[Any]) -> list[Any]:
        """Predictions in the internal form that `task.score` takes. Users call `predict_all` instead."""
        return predict_all(self.task, self.model, examples, batch_size=self.record.training.batch_size)

    def evaluate(self, path: str | Path) -> dict[str, float]:
        """The scores on a file in the format of the training data, as the official scorer computes them.

        Labels that the model does not know, or a file without labels, are reported on stderr: these cannot be right.
        """
        examples = read_files(self.task, [Path(path)], self.record.model, name=str(path)).examples
        report_foreign_labels(self.task, {str(path): examples}, self.record.symbols)
        return dict(self.task.score(examples, self.model_predictions(examples)))

    def _predictions(self, examples: Iterable[Any]) -> Iterator[tuple[Any, Any] | None]:
        """Yield each example with its prediction. None, which means a blank line, stays None."""
        for group in batched(examples, size=EXAMPLES_AT_ONCE):
            made = iter(self.model_predictions([example for example in group if example is not None]))
            yield from (None if example is None else (example, next(made)) for example in group)

    def _kind_of(self, path: Path) -> str:
        suffix = next((suffix for suffix in reversed(path.suffixes) if suffix not in (".gz", ".bz2", ".xz")), "")
        if str(path) != STDIN and suffix != ".txt":
            return "json" if suffix == ".jsonl" else "data"
        with suppress(ValueError, OSError):
            splits = self.task.find(path.parent)
            return "data" if path in splits.paths else "text"
        return "text"

    def _example(self, value: object) -> Any:
        if isinstance(value, str):
            return self.task.from_text(value)
        if isinstance(value, Mapping):
            return self.task.from_json(cast("Mapping[str, Any]", value))
        if isinstance(value, Sequence):
            return self.task.from_json({"tokens": list(cast("Sequence[str]", value))})
        return value

    def _data_to_predict(self, path: str | Path, *, as_text: bool, is_named: bool) -> list[Any]:
        """The examples of data, with or without labels. An error says what to do if the file may be raw text or JSON.

        is_named: whether the user said that it is data.
        """
        try:
            reading = self.task.read_to_predict(Path(path), self.record.model, as_text=as_text)
            report_skipped(str(path), reading.skipped)
            if not reading.examples:
                raise ValueError(f"no examples in {path}")
        except ValueError as error:
            if is_named or not self._is_like_text(path):
                raise
            raise ValueError(
                f"{error}; if this is raw text, or JSON lines, say so with --input-kind text or json, or kind='text' "
                "or 'json'"
            ) from error
        return reading.examples

    def _is_like_text(self, path: str | Path) -> bool:
        """Whether the first lines look like raw text or JSON. True for a stream, because its lines are gone."""
        if is_read_once(path):
            return True
        try:
            _, head = with_head(read_lines(path))
        except (ValueError, OSError):
            return False
        other = other_than_text(head)
        return other is None or other.startswith("JSON")

    def _checked_text(self, lines: Iterator[str], *, name: str) -> Iterator[str]:
        """The lines of a file that its name says is text. Raises ValueError if its first lines are something else."""
        lines, head = with_head(lines)
        if other := other_than_text(head, has_columns=len(self.task.text_fields) > 1):
            say = "Say what it is: --input-kind text, json or data, or kind='text', 'json' or 'data'"
            raise ValueError(f"{name} looks like {other}. {say}")
        return lines

    def _of_lines(self, lines: Iterator[str], kind: str, *, name: str) -> Iterator[Any]:
        """An example for each line; None for a blank line."""
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                yield None
                continue
            where = f"{name}, line {number}"
            try:
                yield self._example(parse_json(line, where=where) if kind == "json" else line)
            except ValueError as error:
                raise ValueError(str(error) if str(error).startswith(where) else f"{where}: {error}") from None


def load_task(
    folder: str | Path,
    *,
    task: Task[Any, Any] | None = None,
    elmo_model: str | Path | None = None,
    device: str | torch.device | None = None,
) -> TrainedTask:
    """Load a model that `elmokit train` has trained, with the weights of its best epoch so far.

    task: the run's task, if it is not one of elmokit's own.
    elmo_model: where the biLM is now, if it has moved since training; a different biLM raises ValueError.
    Raises FileNotFoundError if the run or the biLM is missing, and ValueError for files that do not fit together.
    """
    folder, device = expanded(folder), find_device(device)
    record = read_record(folder, task)
    task = task or find_task(record.task)
    if elmo_model is not None:
        record = record.with_elmo_model(str(elmo_model))
    if not (folder / BEST_FILE).is_file():
        raise FileNotFoundError(f"{folder} has no {BEST_FILE} yet; the first epoch of the run has not ended")
    parts = ModelParts[Any, Any].of_run(folder, task, record, elmo_model=elmo_model, device=device)
    weights = parts.read_weights(folder / BEST_FILE)
    model = parts.new_model()
    model.load_state_dict(weights)
    return TrainedTask(task, record, model.eval())
