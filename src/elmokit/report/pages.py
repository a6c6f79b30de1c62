"""Run folders -> pages of tables: pretraining runs with a picture, runs of tasks as comparisons."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from elmokit.pretraining.config import PretrainingConfig
from elmokit.pretraining.recipes import RECIPES
from elmokit.report.run_history import LoggedPerplexity, RunHistory, read_history
from elmokit.report.task_results import compare_runs, is_task_run
from elmokit.report.tasks_page import results_page
from elmokit.report.training_curve import training_curve
from elmokit.runs.folder import CONFIG_NAME, METRICS_NAME
from elmokit.system.files import atomic_write
from elmokit.text.markdown import escape_markdown, markdown_table

CURVE_NAME = "training-curve.svg"
TRAINING_NAME = "training.md"
RESULTS_NAME = "results.md"
ABSENT = "–"


def report(runs: Sequence[Path], folder: Path) -> list[Path]:
    """Write what `report_training` does of the pretraining runs, and `report_tasks` of the others; return the paths.

    A run is its folder or its metrics.jsonl; a folder that is no run stands for the runs in it. Nothing is written
    where one of the two refuses its runs.
    """
    found = [run for path in runs for run in _runs_in(path)]
    of_tasks = [run for run in found if is_task_run(run)]
    others = [run for run in found if run not in of_tasks]
    command = _command(runs, folder)
    texts = _training_texts(others, command) if others else {}
    texts |= _task_texts(of_tasks, command) if of_tasks else {}
    return _write(texts, folder)


def report_training(runs: Sequence[Path], folder: Path) -> list[Path]:
    """Write `training-curve.svg` and `training.md` of pretraining runs into a folder; return the paths of both.

    A run is its folder or its metrics.jsonl. Raises FileNotFoundError where there is none, ValueError for a log that
    cannot be read or has fewer than two training lines; nothing is written then.
    """
    return _write(_training_texts(runs, _command(runs, folder)), folder)


def report_tasks(runs: Sequence[Path], folder: Path) -> list[Path]:
    """Write `results.md`, each task with ELMo beside the same without it, into a folder; return its path.

    A run is the folder of `elmokit train`, or config.json and metrics.jsonl of it alone. Runs that have not ended or
    have no other arm are named on the page. Raises FileNotFoundError and ValueError as `tasks.results.compare_runs`
    does; nothing is written then.
    """
    return _write(_task_texts(runs, _command(runs, folder)), folder)


def _runs_in(path: Path) -> list[Path]:
    if not path.is_dir() or _is_run(path):
        return [path]
    return [child for child in sorted(path.iterdir()) if child.is_dir() and _is_run(child)] or [path]


def _is_run(folder: Path) -> bool:
    return (folder / CONFIG_NAME).exists() or (folder / METRICS_NAME).exists()


def _command(runs: Sequence[Path], folder: Path) -> str:
    return shlex.join(["elmokit", "report", *map(str, runs), "-o", str(folder)])


def _task_texts(runs: Sequence[Path], command: str) -> dict[str, str]:
    return {RESULTS_NAME: results_page(compare_runs(runs), command)}


def _training_texts(runs: Sequence[Path], command: str) -> dict[str, str]:
    histories = [read_history(run) for run in runs]
    if len({history.name for history in histories}) < len(histories):
        histories = [replace(history, name=str(run)) for run, history in zip(runs, histories, strict=True)]
    return {CURVE_NAME: training_curve(histories), TRAINING_NAME: _training_page(histories, command)}


def _write(texts: Mapping[str, str], folder: Path) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        with atomic_write(folder / name) as unfinished:
            unfinished.write_text(text, encoding="utf-8")
    return [folder / name for name in texts]


def _training_page(histories: Sequence[RunHistory], command: str) -> str:
    names = ", ".join(escape_markdown(history.name) for history in histories)
    parts = [
        "# Training",
        f"This file is written by `{command}`; the next time, changes in it are lost.",
        f"![Perplexity of {names} against tokens read]({CURVE_NAME})",
        "Tokens are those read of the corpus; hours and tokens/s are of optimisation alone. The training loss is in "
        "nats per predicted token, the mean over the steps of the last log line.",
        markdown_table(
            ("run", "steps", "tokens", "hours", "tokens/s", "loss forward", "loss backward"),
            map(_progress_row, histories),
        ),
    ]
    if any(history.config is not None and history.config.softmax == "sampled" for history in histories):
        parts.append(
            "The loss of a sampled softmax chooses among fewer words: it is lower than that of the full softmax, and "
            "not comparable with held-out perplexity."
        )
    evaluated = [history for history in histories if history.evaluations]
    if evaluated:
        parts += [
            "Held-out perplexity is measured with the full softmax, on sentences sampled from text that the run is not "
            "trained on. Best is the lowest mean of the directions.",
            markdown_table(
                (
                    *(
                        "run",
                        "best: step",
                        "forward",
                        "backward",
                        "mean",
                    ),
                    *(
                        "last: step",
                        "forward",
                        "backward",
                        "mean",
                    ),
                ),
                map(_heldout_row, evaluated),
            ),
        ]
    configured = [(history.name, history.config) for history in histories if history.config is not None]
    if configured:
        parts.append(
            markdown_table(
                (
                    "settings",
                    "sizes",
                    "projection, LSTM cells",
                    "filters",
                    "parameters",
                    "softmax",
                    "optimizer",
                    "learning rate",
                    "batch",
                    "dropout",
                ),
                (_settings_row(name, config) for name, config in configured),
            )
        )
    return "\n\n".join(parts) + "\n"


def _progress_row(history: RunHistory) -> list[str]:
    last = history.training[-1]
    planned = last.step if history.config is None else history.config.num_steps
    return [
        history.name,
        f"{last.step:,}" if last.step == planned else f"{last.step:,} of {planned:,}",
        f"{last.num_tokens:,}",
        f"{last.seconds / 3600:.2f}",
        f"{last.num_tokens / max(last.seconds, 1e-9):,.0f}",
        f"{last.losses[0]:.3f}",
        f"{last.losses[1]:.3f}" if len(last.losses) == 2 else ABSENT,
    ]


def _heldout_row(history: RunHistory) -> list[str]:
    best = min(history.evaluations, key=lambda measured: measured.mean)
    return [history.name, *_perplexity_cells(best), *_perplexity_cells(history.evaluations[-1])]


def _perplexity_cells(measured: LoggedPerplexity) -> list[str]:
    backward = ABSENT if measured.backward is None else f"{measured.backward:,.1f}"
    return [f"{measured.step:,}", f"{measured.forward:,.1f}", backward, f"{measured.mean:,.1f}"]


def _settings_row(name: str, config: PretrainingConfig) -> list[str]:
    sizes = [recipe for recipe, settings in RECIPES.items() if settings().bilm == config.bilm]
    return [
        name,
        *(sizes or ["other"])[:1],
        f"{config.bilm.projection_dim}, {config.bilm.lstm_dim}",
        f"{config.bilm.num_filters}",
        f"{config.bilm.num_parameters:,}",
        f"sampled, {config.num_negatives:,}" if config.softmax == "sampled" else config.softmax,
        config.optimizer,
        f"{config.learning_rate:g}, {config.schedule}",
        f"{config.batch_size} x {config.bptt_steps}" + (f" x {config.accumulate}" if config.accumulate > 1 else ""),
        f"{config.dropout_rate:g}",
    ]
