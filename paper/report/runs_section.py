"""Runs of tasks of which none can be compared -> a part of a page: what each has reached. Imports no torch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from elmokit.system.markdown import ABSENT, escape_markdown, markdown_table
from elmokit.tasks.all_tasks import find_task

if TYPE_CHECKING:
    from collections.abc import Sequence

    from elmokit.tasks.task_runs import TaskRun

HEADER = ("run", "task", "data", "biLM", "score", "best epoch", "development set", "test set", "seconds")
MIXES_HEADER = ("run", "mix at the", "weights", "gamma")


def runs_section(runs: Sequence[TaskRun], notes: Sequence[str]) -> str:
    """A part of a page, from its heading of the second level on. notes: why runs are not compared."""
    parts = [
        "## Runs of tasks",
        markdown_table(HEADER, map(_row, runs), num_names=5),
        "Scores are in percent, those of the weights of the best epoch; a run that has not ended has its best score so "
        "far. Every score is in the last line of the run's metrics.jsonl.",
    ]
    if mixes := [row for run in runs for row in _mix_rows(run)]:
        parts += [
            "### What the mixes have learnt",
            "Weights after the softmax: first the token representation, then the LSTM layers from the lowest up.",
            markdown_table(MIXES_HEADER, mixes, num_names=2),
        ]
    if notes:
        parts += ["### Not compared", "\n".join(f"- {escape_markdown(note)}" for note in notes)]
    return "\n\n".join(parts)


def _row(run: TaskRun) -> Sequence[str]:
    metric = find_task(run.record.task).metric
    elmo = run.record.config.inputs.elmo
    model = run.model if elmo is None else f"{run.model} at {elmo.position}"
    names = (run.name, run.record.task, run.data, model, metric)
    if run.result is None:
        best = max((epoch.score for epoch in run.curve), default=None)
        return (*names, ABSENT, ABSENT if best is None else f"{best:.1f}", ABSENT, ABSENT)
    result = run.result
    test = ", ".join(f"{scores[metric]:.1f}" for scores in result.test.values())
    return (*names, str(result.best_epoch), f"{result.dev[metric]:.1f}", test or ABSENT, f"{result.seconds:,.0f}")


def _mix_rows(run: TaskRun) -> list[Sequence[str]]:
    if run.result is None:
        return []
    return [
        (run.name, place, " ".join(f"{weight:.2f}" for weight in mix.weights) or ABSENT, f"{mix.gamma:.2f}")
        for place, mix in run.result.mixes.items()
    ]
