"""Tables -> pages in Markdown: docs/results.md, which is one screen, and a page for each table."""

from __future__ import annotations

import shlex
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from elmokit.formats.names import bundled_models
from elmokit.metrics.statistics import Statistic
from elmokit.report.pages import check_folder, write_pages
from elmokit.report.pictures import pictures
from elmokit.system.markdown import ABSENT, code_span, escape_markdown, markdown_table
from elmokit.tasks.all_tasks import find_task
from paper.ablation import Ablation
from paper.bootstrap import item_records
from paper.claims import Verdict, test_gain, verdicts
from paper.figure1 import sample_curves
from paper.figure2 import learnt_mixes
from paper.figures import curves_figure, sample_figure, weights_figure
from paper.plan import DATASETS, NO_ELMO, SIX_TASKS
from paper.printed import TABLE_1
from paper.reproduction import REPRODUCTIONS, OurRow, OurTable, Reproduction, find_reproduction
from paper.results import read_results
from paper.runs import Evidence, gain_text, make_setup, read_evidence
from paper.table1 import CONTROLS, OTHER_SYSTEMS, headlines

PAGE_NAME = "results.md"
FOLDER = "results"
"""Of the pages of single tables, next to the page."""
NO_FIGURES = "The figures need matplotlib: `pip install 'elmokit[plots]'`."
FIGURES: Mapping[str, tuple[Callable[[Evidence], Sequence[Any]], Callable[[Any], Any], str]] = {
    "table1": (
        lambda evidence: list(headlines(evidence).values()),
        curves_figure,
        "Development scores by updates, on the part of the set that is scored after each epoch",
    ),
    "figure1": (sample_curves, sample_figure, "Development scores by the number of training examples"),
    "figure2": (learnt_mixes, weights_figure, "Weights of the layers in the mixes that tasks have learnt"),
}
"""What a figure shows, how it is drawn, and its description."""
INTRODUCTION = """The paper's experiments, run again with a small model. The biLM, `mini-en`, has 5.4 million parameters and has read 44 million tokens; the
paper's has 93.6 million and has read the 1B Word Benchmark ten times. The data are free ones: OntoNotes has substitutes, and SNLI and
SQuAD are subsets. So compare signs, not scores. Settings were chosen on development sets, except three of the recipes (the moving average of
the weights, ELMo's dropout of 0.5, and the scaling of its layers), which were chosen in view of test scores too."""
TASKS_NOTE = """Test sets: F1 in percent of SQuAD, SRL and NER, accuracy of SNLI and SST-5, mean F1 of MUC, B3 and CEAF-e of Coref; means over three seeds, ±
one standard deviation. ELMo is at the paper's position in every task, and both arms trained until they stopped improving. The interval (95 %)
is over seeds and test items together. Error: the share of the baseline's error that ELMo removes. The controls stand in ELMo's place, in
shorter trainings: a biLM with random weights (gain on the development set) and all-MiniLM-L6-v2 (gain on the test set). MiniLM has seen SNLI."""
CLAIMS_NOTE = """*Held*: the 95 % intervals of all differences that the claim is about lie above zero. *Contradicted*: one lies wholly below zero, its level
divided by their number. *Not measured*: one is missing or of a single seed. *Undecided*: everything else, and every comparison of runs that had
not stopped improving. With no true effect at most one claim in twenty is judged. The difference shown is the one that decides;
[all of them](results/claims.md)."""
AGAIN = """```sh
python -m paper train table1 --task named-entities --seeds 1   # two runs, about ten minutes of a core
python -m paper table1 runs/reproduce
```

All 390 runs take about 90 hours of a core ([how](paper.md), [every run](results/runs.tsv))."""


def write_results(paths: Sequence[Path], folder: Path) -> list[Path]:
    """Write `results.md` and its figures from runs of the scale `cpu` and `results.jsonl` files, or folders of them.

    Returns the paths of what was written. Without matplotlib there are no figures, and a warning. Raises the errors of
    `check_folder`, and ValueError, naming the file, for what cannot be read.
    """
    check_folder(folder)
    command = shlex.join(["python", "-m", "paper", "page", *map(str, paths), "-o", str(folder)])
    return write_pages(results_files(paths, command=command), folder)


def write_reproduction(reproduction: Reproduction, evidence: Evidence, folder: Path, *, command: str) -> Path:
    """Write a table of a paper with our rows, `table1.md`; returns its path.

    Raises ValueError if there are none, and what the table's functions raise.
    """
    name, parts = reproduction.name, table_parts(reproduction, evidence, level=1)
    if parts is None:
        untrained = f"; `python -m paper train {name}` trains them" if reproduction.plan is not None else ""
        raise ValueError(f"{name}: {', '.join(map(str, evidence.results))} have no {reproduction.source}{untrained}")
    heading, *others = parts
    generated = f"Generated by {code_span(command)} from {reproduction.source}; edits will be overwritten."
    return write_pages({f"{name}.md": ("\n\n".join([heading, generated, *others]) + "\n").encode()}, folder)[0]


def results_files(paths: Sequence[Path], *, command: str) -> dict[str, bytes]:
    """The page, a page for each table, the pictures and a list of all runs, by the names of their files.

    command: what writes them.
    """
    evidence = {model: read_evidence(make_setup(Path(), model=model), paths) for model in bundled_models()}
    english = evidence[find_reproduction("table1").model]
    found = verdicts(english)
    pages: dict[str, list[str]] = {"claims": _claims_page(found)}
    left_out: list[str] = []
    files: dict[str, bytes] = {}
    for name in REPRODUCTIONS:
        reproduction = find_reproduction(name)
        of_model = evidence[reproduction.model]
        parts = table_parts(reproduction, of_model, level=1)
        if parts is None:
            left_out.append(f"{escape_markdown(reproduction.paper.name)}: no {reproduction.source}")
            continue
        if drawn := _pictures(name, of_model):
            files |= {f"{FOLDER}/{file}": contents for file, contents in drawn.items()}
            parts.insert(2, f"![{FIGURES[name][2]}]({name}.svg)")
        pages[name] = [
            *parts,
            f"{code_span(f'python -m paper {name}')} measures it again. {_origin(reproduction, of_model)}",
        ]
    links = [f"[{parts[0].removeprefix('# ')}]({FOLDER}/{name}.md)" for name, parts in pages.items()]
    page = [
        "# Results",
        INTRODUCTION,
        "## The six tasks",
        _tasks_table(english),
        TASKS_NOTE,
        "## The claims of the paper",
        _claims_table(found),
        CLAIMS_NOTE,
        *([f"![{FIGURES['figure1'][2]}]({FOLDER}/figure1.svg)"] if f"{FOLDER}/figure1.svg" in files else []),
        "## Run one row again",
        AGAIN,
        "## All tables",
        _bullets([*links, *(f"Not measured: {text}" for text in left_out)]),
        f"Generated by {code_span(command)}; edits will be overwritten.",
    ]
    written = {f"{FOLDER}/{name}.md": _text(parts) for name, parts in pages.items()}
    return {PAGE_NAME: _text(page), **written, **files, f"{FOLDER}/runs.tsv": _runs_table(evidence.values())}


def table_parts(reproduction: Reproduction, evidence: Evidence, *, level: int) -> list[str] | None:
    """The parts of a table's page or section: its heading, of that level, and what follows; None without our numbers.

    Each row of the paper is followed by our rows for it. Raises ValueError for a row of ours that the paper does not
    have, or with a different number of cells.
    """
    paper = reproduction.paper
    ours = reproduction.measure(evidence)
    details = [table for table in reproduction.details(evidence) if table.rows] if reproduction.details else []
    if not ours and not details:
        return None
    for row in ours:
        if (row.row not in paper.rows and not row.is_extra) or len(row.cells) != len(paper.columns):
            raise ValueError(
                f"our row {row.row!r} has {len(row.cells)} cells; {paper.name} has {len(paper.columns)} columns "
                f"and the rows {', '.join(paper.rows)}"
            )
    rows: list[list[str]] = []
    for name, cells in paper.rows.items():
        rows.append([name, "paper", *map(_cell, cells)])
        rows += [_ours(row) for row in ours if row.row == name and not row.is_extra]
    rows += [_ours(row) for row in ours if row.is_extra]
    section = f", section {paper.section}" if paper.section else ""
    parts = [
        f"{'#' * level} {escape_markdown(paper.heading)}",
        f"{escape_markdown(paper.source)}{section}. {escape_markdown(paper.about)}",
    ]
    if rows:
        parts.append(markdown_table(("row", "measured on", *map(escape_markdown, paper.columns)), rows, num_names=2))
    if notes := [*(f"The paper: {statement}" for statement in paper.statements), *paper.notes]:
        parts.append(_bullets(map(escape_markdown, notes)))
    for table in details:
        parts += [f"{'#' * (level + 1)} {escape_markdown(table.title)}", escape_markdown(table.about), _table(table)]
    return parts


def _ours(row: OurRow) -> list[str]:
    return [row.row, row.measured_on, *map(_cell, row.cells)]


def _table(table: OurTable) -> str:
    rows = ([name, *map(_cell, cells)] for name, cells in table.rows.items())
    return markdown_table(("", *map(escape_markdown, table.columns)), rows)


def _cell(cell: Statistic | str | None) -> str:
    return ABSENT if cell is None else str(cell)


def _pictures(name: str, evidence: Evidence) -> dict[str, bytes]:
    """The pictures of a figure by file name; empty for a table, and for a figure of which nothing was measured."""
    if name not in FIGURES:
        return {}
    measure, draw, _ = FIGURES[name]
    shown = measure(evidence)
    if not shown:
        return {}
    if find_spec("matplotlib") is None:
        warnings.warn(NO_FIGURES, stacklevel=4)
        return {}
    return {f"{name}.{ending}": contents for ending, contents in pictures(partial(draw, shown)).items()}


def _tasks_table(evidence: Evidence) -> str:
    records = item_records(evidence.results)
    found = headlines(evidence)
    header = ("task", "no ELMo", "+ ELMo", "gain", "error", "random biLM", "MiniLM", "the paper's gain", "error")

    def row(task: str) -> list[str]:
        name = DATASETS[task].row
        papers = [_cell(TABLE_1.cell(name, "gain")), f"{TABLE_1.cell(name, 'relative')} %"]
        if task not in found:
            return [name, *[ABSENT] * 6, *papers]
        one = found[task]
        none, elmo = one.none.score(one.test_set), one.elmo.score(one.test_set)
        assert none is not None and elmo is not None, "a pair has test scores"
        error = f"{100 * one.gain / (100 - none.mean):.1f} %"
        controls = (
            _control(evidence, CONTROLS, task, "random biLM"),
            _control(evidence, OTHER_SYSTEMS, task, "MiniLM-L6"),
        )
        return [name, str(none), str(elmo), str(test_gain(task, one, records).difference), error, *controls, *papers]

    return markdown_table(header, map(row, SIX_TASKS))


def _control(evidence: Evidence, table: Ablation, task: str, arm: str) -> str:
    """The gain of what stands in ELMo's place over no ELMo."""
    _, arms = table.measured(evidence).get(task, ("", {}))
    gain = gain_text(arms.get(NO_ELMO.name), arms.get(arm), test_set=DATASETS[task].test_set if table.tests else None)
    return (gain or ABSENT).partition(" ")[0]


def _claims_table(found: Sequence[Verdict]) -> str:
    rows = [
        [str(number), one.claim, one.outcome, str(one.deciding or "no runs")]
        for number, one in enumerate(found, start=1)
    ]
    return markdown_table(("", "claim", "verdict", "the difference that decides"), rows, num_names=4)


def _claims_page(found: Sequence[Verdict]) -> list[str]:
    """Every difference of each claim."""
    parts = ["# The claims of the paper", CLAIMS_NOTE.replace(f"{FOLDER}/claims.md", "#1")]
    parts[1] = parts[1].rpartition(" The difference shown")[0]
    for number, one in enumerate(found, start=1):
        shown = [*map(str, one.findings), *(f"not counted: {finding}" for finding in one.uncounted)]
        lines = map(escape_markdown, shown or ["no runs"])
        parts += [f"## {number}. {escape_markdown(one.claim)}: {one.outcome}", _bullets(lines)]
    return parts


def _origin(reproduction: Reproduction, evidence: Evidence) -> str:
    """Versions and commits, and machines, of the runs and results of a table."""
    planned = reproduction.plan(evidence.setup) if reproduction.plan is not None else ()
    found = [evidence.runs[run.name].result for run in planned if run.name in evidence.runs]
    records = read_results(evidence.results, reproduction.name)
    sources = {one.source or "not recorded" for one in found if one is not None}
    sources |= {f"{record.text('version')}, {record.text('commit')}" for record in records}
    machines = {one.machine or "not recorded" for one in found if one is not None}
    machines |= {record.text("machine") for record in records}
    parts = ("; ".join(sorted(sources)), "; ".join(sorted(machines)))
    return escape_markdown(f"Version and commit (a plus: with changes): {parts[0]}. Machines: {parts[1]}.")


def _runs_table(evidence: Iterable[Evidence]) -> bytes:
    """Every planned run with its scores, as tab-separated values."""
    runs = {name: run for one in evidence for name, run in one.runs.items()}
    header = (
        "run",
        "task",
        "data",
        "examples",
        "model",
        "seed",
        "epoch",
        "converged",
        "development",
        "test",
        "minutes",
        "source",
    )
    lines = ["\t".join(header)]
    for name, run in sorted(runs.items()):
        assert run.result is not None, "only runs that have ended are evidence"
        metric = find_task(run.record.task).metric
        tests = "; ".join(f"{file} {scores[metric]:.2f}" for file, scores in run.result.test.items())
        cells = (
            name,
            run.record.task,
            run.data,
            run.num_used,
            run.model,
            run.seed,
            run.result.best_epoch,
            run.is_converged,
        )
        dev = f"{run.result.dev[metric]:.2f}"
        lines.append(
            "\t".join(map(str, (*cells, dev, tests, f"{run.result.seconds / 60:.1f}", run.result.source or "")))
        )
    return ("\n".join(lines) + "\n").encode()


def _text(parts: Sequence[str]) -> bytes:
    return ("\n\n".join(parts) + "\n").encode()


def _bullets(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)
