"""Intervals over test items, and ensembles, of the models in run folders; kept as results of table 1."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import torch

from elmokit.files.json_fields import Fields
from elmokit.metrics.answers import answer_f1
from elmokit.metrics.coreference import CoreferenceScore, score_coreference
from elmokit.metrics.roles import score_roles
from elmokit.metrics.score import Score, percentage
from elmokit.metrics.spans import score_spans
from elmokit.system.batches import batched
from elmokit.tasks.all_tasks import find_task
from elmokit.tasks.question_answering.model import AnswerFinder, FoundAnswer, best_spans
from elmokit.tasks.question_answering.reader import Question
from elmokit.tasks.reading import read_files
from elmokit.tasks.saved import TrainedTask, load_task
from elmokit.tasks.task_model import LabelPrediction
from elmokit.tasks.task_runs import TaskRun
from paper.differences import Counts, paired_bootstrap
from paper.models import MODELS_FOLDER
from paper.plan import DATASETS
from paper.results import append_result, read_interval, read_results
from paper.runs import Tested

RunNames = tuple[str, ...]
"""A test set, and the names of the runs without ELMo and with it: `Tested.names`."""
NAME = "table1"
QUESTIONS_AT_ONCE = 16


def measure_test_items(found: Sequence[Tested], folder: Path) -> None:
    """Measure what the results of a folder lack: an interval and an ensemble for each pair with the weights in it.

    Raises what loading the models raises.
    """
    known = item_records([folder])
    for one in found:
        runs = [*one.none.runs, *one.elmo.runs]
        if item_record(one, known) or not all((folder / run.name).is_dir() for run in runs):
            continue
        _, score = ITEM_COUNTS[DATASETS[one.task].task]
        none, elmo = ([_counts(run, one.test_set, folder) for run in arm.runs] for arm in (one.none, one.elmo))
        record = {
            "task": DATASETS[one.task].task,
            "data": one.elmo.runs[0].data,
            "test_set": one.test_set,
            "baseline": [run.name for run in one.none.runs],
            "elmo": [run.name for run in one.elmo.runs],
            "model": one.elmo.runs[0].model,
            "interval": asdict(paired_bootstrap(none, elmo, score=score)),
            "ensembles": _ensembles(one, folder),
        }
        append_result(folder, NAME, record)


def item_records(paths: Sequence[Path]) -> Mapping[RunNames, Fields]:
    """The records by `Tested.names`."""
    records: dict[RunNames, Fields] = {}
    for fields in read_results(paths, NAME):
        runs = (",".join(fields.read(arm, list[str])) for arm in ("baseline", "elmo"))
        records[fields.text("test_set"), *runs] = fields
    return records


def item_record(one: Tested, records: Mapping[RunNames, Fields]) -> Fields | None:
    """The record of a pair; None also if its runs were trained again since, so that it is of another gain."""
    record = records.get(one.names)
    return record if record and abs(read_interval(record).estimate - one.gain) < 1e-6 else None


def _counts(run: TaskRun, test_set: str, folder: Path) -> list[Counts]:
    examples, (of, _) = _examples(run, test_set), ITEM_COUNTS[run.record.task]
    predictions = _load(run, folder).model_predictions(examples)
    return [of(example, made) for example, made in zip(examples, predictions, strict=True)]


def _ensembles(one: Tested, folder: Path) -> dict[str, dict[str, float]]:
    """The scores of the arms' ensembles; empty for tasks without ensembles, and for a single run."""
    if DATASETS[one.task].task not in ENSEMBLES or len(one.elmo.runs) < 2:
        return {}
    scores: dict[str, dict[str, float]] = {}
    for name, arm in (("baseline", one.none), ("elmo", one.elmo)):
        members = [_load(run, folder) for run in arm.runs]
        examples = _examples(arm.runs[0], one.test_set)
        together = ENSEMBLES[members[0].task.name](members, examples)
        scores[name] = dict(members[0].task.score(examples, together))
    return scores


def _load(run: TaskRun, folder: Path) -> TrainedTask:
    """The model of a run, whose folder may have moved with the biLM in it."""
    elmo = run.record.config.inputs.elmo
    made = None if elmo is None else folder / MODELS_FOLDER / Path(elmo.model).name
    return load_task(folder / run.name, elmo_model=made if made and made.is_dir() else None)


def _examples(run: TaskRun, test_set: str) -> Sequence[Any]:
    task = find_task(run.record.task)
    paths = [path for path in run.record.splits.test if path.name == test_set]
    return read_files(task, paths, run.record.config.model, name=test_set).examples


def _matches(example: Any, prediction: Any, *, score: Callable[..., Any]) -> Counts:
    overall: Score = score(gold=[example.tags], predicted=[prediction]).overall
    return (overall.correct, overall.predicted, overall.gold)


def _labels(example: Any, prediction: Any) -> Counts:
    return (float(example.label == prediction.label), 1.0)


def _answers(example: Any, prediction: Any) -> Counts:
    return (max(answer_f1(prediction.text, answer.text) for answer in example.answers), 1.0)


def _clusters(example: Any, prediction: Any) -> Counts:
    result = score_coreference(gold=example.clusters, predicted=prediction)
    parts = (result.muc, result.b_cubed, result.ceaf_e)
    return tuple(number for part in parts for number in (part.correct, part.predicted, part.recalled, part.gold))


def _f1(sums: Counts) -> float:
    correct, predicted, gold = sums
    return Score.of_matches(correct=correct, predicted=predicted, gold=gold).f1


def _share(sums: Counts) -> float:
    return percentage(sums[0], sums[1])


def _average_f1(sums: Counts) -> float:
    muc, b_cubed, ceaf_e = (Score(*sums[start : start + 4]) for start in (0, 4, 8))
    return CoreferenceScore(muc=muc, b_cubed=b_cubed, ceaf_e=ceaf_e).average_f1


ITEM_COUNTS: Mapping[str, tuple[Callable[[Any, Any], Counts], Callable[[Counts], float]]] = {
    "named-entities": (partial(_matches, score=score_spans), _f1),
    "semantic-roles": (partial(_matches, score=score_roles), _f1),
    "coreference": (_clusters, _average_f1),
    "entailment": (_labels, _share),
    "question-answering": (_answers, _share),
    "sentiment": (_labels, _share),
}
"""By task: (example, prediction) -> what the item adds, and the sums of all -> the score that `Task.metric` names.
Items are sentences, predicates, documents, pairs and questions."""


def _mean_labels(members: Sequence[TrainedTask], examples: Sequence[Any]) -> list[LabelPrediction]:
    together: list[LabelPrediction] = []
    for predictions in zip(*(member.model_predictions(examples) for member in members), strict=True):
        labels = predictions[0].probabilities
        means = {label: sum(one.probabilities[label] for one in predictions) / len(members) for label in labels}
        together.append(LabelPrediction(max(means, key=means.__getitem__), means))
    return together


def _mean_answers(members: Sequence[TrainedTask], examples: Sequence[Question]) -> list[FoundAnswer]:
    finders = [member.model for member in members if isinstance(member.model, AnswerFinder)]
    most = max(finder.max_answer_tokens for finder in finders)
    answers: list[FoundAnswer] = []
    for group in batched(examples, size=QUESTIONS_AT_ONCE):
        both = [finder.probabilities(group) for finder in finders]
        start, end = (torch.stack(side).mean(dim=0) for side in zip(*both, strict=True))
        spans = best_spans(start.log(), end.log(), max_tokens=most)
        for row, (question, (first, last)) in enumerate(zip(group, spans, strict=True)):
            probability = float(start[row, first] * end[row, last])
            answers.append(FoundAnswer(question.passage.span(first, last).text, (first, last), probability))
    return answers


ENSEMBLES: Mapping[str, Callable[..., list[Any]]] = {"entailment": _mean_labels, "question-answering": _mean_answers}
"""Tasks whose ensembles are measured: the predictions by the mean of the models' probabilities (section 4)."""
