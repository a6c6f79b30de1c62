"""What single test items contribute to the score of a run: counts and cluster of each, by the weights in its folder."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Hashable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from elmokit.metrics.answers import answer_f1
from elmokit.metrics.coreference import score_coreference
from elmokit.metrics.roles import score_roles
from elmokit.metrics.score import Score
from elmokit.metrics.spans import score_spans
from elmokit.tasks.data import read_files
from elmokit.tasks.predict import load_task

ITEMS_NAME = "items.json.gz"
Counts = tuple[float, ...]


def measure_items(run_dir: Path, *, elmo_model: str | None = None) -> None:
    """Write the counts and clusters of all test items into a run's folder. Raises what loading its model raises."""
    trained = load_task(run_dir, elmo_model=elmo_model)
    task, record = trained.task, trained.record
    for path in record.splits.test[:1]:
        examples = read_files(task, [path], record.config.model, name=path.name).examples
        predictions = trained.model_predictions(examples)
        counts = [COUNTS[task.name](example, made) for example, made in zip(examples, predictions, strict=True)]
        names = [CLUSTER.get(task.name, id)(example) for example in examples]
        numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
        found = {"test_set": path.name, "clusters": [numbers[name] for name in names], "counts": counts}
        (run_dir / ITEMS_NAME).write_bytes(gzip.compress(json.dumps(found).encode(), mtime=0))


def _matches(example: Any, prediction: Any, *, score: Callable[..., Any]) -> Counts:
    overall: Score = score(gold=[example.tags], predicted=[prediction]).overall
    return (overall.correct, overall.predicted, overall.gold)


def _words(example: Any, prediction: Any) -> Counts:
    """Right words and all words of a sentence, and the same of those whose vectors were not learnt in training."""
    right = [gold == guess for gold, guess in zip(example.tags, prediction.tags, strict=True)]
    unknown = [hit for hit, is_known in zip(right, prediction.known, strict=True) if not is_known]
    return (sum(right), len(right), sum(unknown), len(unknown))


def _labels(example: Any, prediction: Any) -> Counts:
    return (float(example.label == prediction.label), 1.0)


def _answers(example: Any, prediction: Any) -> Counts:
    return (max(answer_f1(prediction.text, answer.text) for answer in example.answers), 1.0)


def _clusters(example: Any, prediction: Any) -> Counts:
    result = score_coreference(gold=example.clusters, predicted=prediction)
    parts = (result.muc, result.b_cubed, result.ceaf_e)
    return tuple(number for part in parts for number in (part.correct, part.predicted, part.recalled, part.gold))


COUNTS: Mapping[str, Callable[[Any, Any], Counts]] = {
    "named-entities": partial(_matches, score=score_spans),
    "semantic-roles": partial(_matches, score=score_roles),
    "coreference": _clusters,
    "entailment": _labels,
    "question-answering": _answers,
    "sentiment": _labels,
    "tags": _words,
}
"""By task: (example, prediction) -> what the item adds to the sums that `statistics.SCORES` makes a score of. Items are
sentences, predicates, documents, pairs, questions, sentences and sentences."""
CLUSTER: Mapping[str, Callable[[Any], Hashable]] = {
    "semantic-roles": lambda example: tuple(example.tokens),
    "question-answering": lambda example: example.article,
}
"""What items have in common that are not independent; in the other tasks each item is a cluster."""
