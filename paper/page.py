"""Tables -> pages in Markdown: docs/results.md, which is one screen, and a page for each table."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from string import Template
from typing import Any

from elmokit.formats.names import DEFAULT_MODEL
from elmokit.metrics.statistics import Statistic
from elmokit.report.output import check_folder, pictures, write_pages
from elmokit.system.markdown import ABSENT, code_span, escape_markdown, markdown_table
from elmokit.tasks.all_tasks import find_task
from elmokit.tasks.task_runs import TaskRun
from paper.ablation import Ablation
from paper.ablations import KOREAN_TABLE
from paper.bootstrap import item_records
from paper.claims import Verdict, verdicts
from paper.figure1 import headlines as headline_curves
from paper.figure2 import learnt_mixes
from paper.figures import gains_figure, sample_figure, weights_figure
from paper.perplexity_curve import gain_curves, mean_gain, with_shared_bilms
from paper.plan import DATASETS, ELMO, MODEL, NO_ELMO, SIX_TASKS
from paper.printed import TABLE_1
from paper.reproduction import REPRODUCTIONS, OurRow, Reproduction, find_reproduction
from paper.results import read_results
from paper.runs import Evidence, gain_text, make_setup, read_evidence
from paper.table1 import CONTROLS, OTHER_SYSTEMS, UNTIL_CONVERGED, difference_on_test, headlines, tested

PAGE_NAME = "results.md"
FOLDER = "results"
"""Of the pages of single tables, next to the page."""
FIGURES: Mapping[str, tuple[Callable[[Evidence], Sequence[Any]], Callable[[Any], Any], str]] = {
    "figure1": (headline_curves, sample_figure, "Development scores by the number of training examples"),
    "perplexity": (gain_curves, gains_figure, "Gain by the perplexity of the biLM on held-out text"),
    "figure2": (learnt_mixes, weights_figure, "Weights of the layers in the mixes that tasks have learnt"),
}
"""What a figure shows, how it is drawn, and its description."""
TEMPLATE = Path(__file__).with_name("results_page.md")


def write_results(paths: Sequence[Path], folder: Path, *, seeds: int | None = None) -> list[Path]:
    """Write `results.md`, a page for each table, the figures and a list of all runs.

    paths: runs of the scale `cpu` and `results.jsonl` files, or folders of them.
    Returns the paths of what was written. Raises the errors of `check_folder`, and ValueError without matplotlib, and,
    naming the file, for what cannot be read.
    """
    check_folder(folder)
    given = [*map(str, paths), *(["--seeds", str(seeds)] if seeds else []), "-o", str(folder)]
    command = shlex.join(["python", "-m", "paper", "page", *given])
    english = read_evidence(make_setup(Path(), model=MODEL, seeds=seeds), paths)
    korean = replace(english, setup=make_setup(Path(), model=KOREAN_TABLE.model, seeds=seeds))
    evidence = {MODEL: english, KOREAN_TABLE.model: korean}
    found = verdicts(english)
    pages: dict[str, list[str]] = {"claims": _claims_page(found)}
    left_out: list[str] = []
    files: dict[str, bytes] = {}
    for name in REPRODUCTIONS:
        reproduction = find_reproduction(name)
        of_model = evidence[reproduction.model]
        parts = table_parts(reproduction, of_model)
        if parts is None:
            left_out.append(f"{escape_markdown(reproduction.paper.name)}: no {reproduction.source}")
            continue
        if name in FIGURES:
            measure, draw, description = FIGURES[name]
            drawn = pictures(partial(draw, measure(of_model)))
            files |= {f"{FOLDER}/{name}.{ending}": picture for ending, picture in drawn.items()}
            parts.insert(2, f"![{description}]({name}.svg)")
        again = f"{code_span(f'python -m paper {name}')} measures it again. {_origin(reproduction, of_model)}"
        pages[name] = [*parts, again]
    if len(pages) == 1:  # that of the claims
        raise ValueError(f"{', '.join(map(str, paths))}: there are no runs of the plan, and no results of the tables")
    links = [f"[{parts[0].removeprefix('# ')}]({FOLDER}/{name}.md)" for name, parts in pages.items()]
    runs = {name: run for of_model in evidence.values() for name, run in of_model.runs.items()}
    reproductions = map(find_reproduction, REPRODUCTIONS)
    planned = {run.name for one in reproductions for run in (one.plan(evidence[one.model].setup) if one.plan else ())}
    in_tables = [run for name, run in runs.items() if name in planned]
    hours = sum(run.result.seconds for run in in_tables if run.result is not None) / 3600
    page = Template(TEMPLATE.read_text(encoding="utf-8")).substitute(
        tasks=_tasks_table(english),
        curve=_curve_text(english),
        claims=_claims_table(found),
        figure=f"![{FIGURES['figure1'][2]}]({FOLDER}/figure1.svg)" if f"{FOLDER}/figure1.svg" in files else "",
        number=f"{len(in_tables):,}",
        others=f"{len(runs) - len(in_tables):,}",
        hours=f"{hours:,.0f}",
        tables=_bullets([*links, *(f"Not measured: {text}" for text in left_out)]),
        command=command,
    )
    written = {f"{FOLDER}/{name}.md": ("\n\n".join(parts) + "\n").encode() for name, parts in pages.items()}
    files = {PAGE_NAME: page.encode(), **written, **files, f"{FOLDER}/runs.tsv": _runs_table(runs)}
    return write_pages(files, folder)


def write_reproduction(reproduction: Reproduction, evidence: Evidence, folder: Path, *, command: str) -> Path | None:
    """Write a table of a paper with our rows, `table1.md`; returns its path, or None if there are none.

    Raises what the table's functions raise.
    """
    name, parts = reproduction.name, table_parts(reproduction, evidence)
    if parts is None:
        return None
    heading, *others = parts
    generated = f"Generated by {code_span(command)} from {reproduction.source}; edits will be overwritten."
    return write_pages({f"{name}.md": ("\n\n".join([heading, generated, *others]) + "\n").encode()}, folder)[0]


def table_parts(reproduction: Reproduction, evidence: Evidence) -> list[str] | None:
    """The parts of a table's page: its heading and what follows; None without our numbers.

    Each row of the paper is followed by our rows for it. Raises ValueError for a row with a different number of cells.
    """
    paper = reproduction.paper
    ours: Sequence[OurRow] = reproduction.measure(evidence) if reproduction.measure else ()
    details = [table for table in reproduction.details(evidence) if table.rows] if reproduction.details else []
    if not ours and not details:
        return None
    printed = [OurRow(name, "paper", cells) for name, cells in paper.rows.items()]
    places = {name: place for place, name in enumerate(paper.rows)}
    together = sorted([*printed, *ours], key=lambda row: places.get(row.row, len(places)))
    rows = [[row.row, row.measured_on, *map(_cell, row.cells)] for row in together]
    section = f", section {paper.section}" if paper.section else ""
    parts = [
        f"# {escape_markdown(f'{paper.name}: {paper.topic}' if paper.topic else paper.name)}",
        f"{escape_markdown(paper.source)}{section}. {escape_markdown(paper.about)}",
    ]
    if rows:
        parts.append(markdown_table(("row", "measured on", *map(escape_markdown, paper.columns)), rows, num_names=2))
    if notes := [*(f"The paper: {statement}" for statement in paper.statements), *paper.notes]:
        parts.append(_bullets(map(escape_markdown, notes)))
    for table in details:
        cells = ([name, *map(_cell, cells)] for name, cells in table.rows.items())
        shown = markdown_table(("", *map(escape_markdown, table.columns)), cells)
        parts += [f"## {escape_markdown(table.title)}", escape_markdown(table.about), shown]
    return parts


def _cell(cell: Statistic | str | None) -> str:
    return ABSENT if cell is None else str(cell)


def _tasks_table(evidence: Evidence) -> str:
    records = item_records(evidence.results)
    found = headlines(evidence)
    smaller = {one.task: f"{one.gain:+.2f}" for one in tested(evidence, [UNTIL_CONVERGED])}
    places = (MODEL, "random biLM (ELMo)", "MiniLM (ELMo)")
    header = ("task", "no ELMo", "+ ELMo", "gain", "error", *places, "the paper's gain", "error")

    def row(task: str) -> list[str]:
        name, one = DATASETS[task].row, found.get(task)
        papers = [_cell(TABLE_1.cell(name, "gain")), f"{TABLE_1.cell(name, 'relative')} %"]
        if one is None:
            return [name, *[ABSENT] * 7, *papers]
        none, elmo = one.none.score(one.test_set), one.elmo.score(one.test_set)
        assert none is not None and elmo is not None, "a pair has test scores"
        gain = str(difference_on_test(one, records) or f"{one.gain:+.2f} (one seed)")
        error = f"{100 * one.gain / (100 - none.mean):.1f} %"
        pairs = ((CONTROLS, "random biLM"), (OTHER_SYSTEMS, "MiniLM-L6"))
        controls = (_control(evidence, table, task, arm) for table, arm in pairs)
        return [name, str(none), str(elmo), gain, error, smaller.get(task, ABSENT), *controls, *papers]

    return markdown_table(header, map(row, SIX_TASKS))


def _control(evidence: Evidence, table: Ablation, task: str, arm: str) -> str:
    """The gain of what stands in ELMo's place over no ELMo, and that of ELMo in the same trainings."""
    _, arms = table.measured(evidence).get(task, ("", {}))
    none, test_set = arms.get(NO_ELMO.name), DATASETS[task].test_set if table.tests else None
    gains = [gain_text(none, arms.get(name), test_set=test_set) for name in (arm, ELMO.name)]
    if gains[0] is None:
        return ABSENT
    control, elmo = ((gain or ABSENT).partition(" ")[0] for gain in gains)
    return f"{control} ({elmo})"


def _curve_text(evidence: Evidence) -> str:
    """What a better biLM brings, in two sentences; empty if it was not measured."""
    curves = with_shared_bilms(gain_curves(evidence))
    points = {point.model: point for point in curves[0].points} if curves else {}
    gains = [mean_gain(curves, model) for model in (MODEL, DEFAULT_MODEL)]
    if None in gains:
        return ""
    of_model, of_default = (escape_markdown(str(gain)) for gain in gains)
    return (
        f"What a better biLM brings, in the mean of {len(curves)} tasks trained on a tenth of their data: `{MODEL}`, "
        f"of perplexity {points[MODEL].perplexity:.1f} on\nheld-out text, gains {of_model} points over weights of "
        f"{curves[0].points[0].perplexity:.1f}; `{DEFAULT_MODEL}`, of {points[DEFAULT_MODEL].perplexity:.1f}, "
        f"{of_default}, but it is\ntwice as wide too, has read other text, and its runs were trained on another "
        f"machine (development sets, over seeds; the\nmean was added after the tasks had been seen: "
        f"[by task]({FOLDER}/perplexity.md))."
    )


def _claims_table(found: Sequence[Verdict]) -> str:
    rows = [[f"{place}", one.claim, one.outcome, str(one.deciding or "no runs")] for place, one in enumerate(found, 1)]
    return markdown_table(("", "claim", "verdict", "the difference that decides"), rows, num_names=4)


def _claims_page(found: Sequence[Verdict]) -> list[str]:
    """Every difference of each claim."""
    rule = "The rule by which a claim is judged is on [the page of results](../results.md)."
    parts = ["# The claims of the paper", rule]
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


def _runs_table(runs: Mapping[str, TaskRun]) -> bytes:
    """Every run with its scores, as tab-separated values."""
    lines = ["run\ttask\tdata\texamples\tmodel\tseed\tepoch\tconverged\tdevelopment\ttest\tminutes\tsource"]
    for name, run in sorted(runs.items()):
        result, metric = run.result, find_task(run.record.task).metric
        assert result is not None, "only runs that have ended are evidence"
        tests = "; ".join(f"{file} {scores[metric]:.2f}" for file, scores in result.test.items())
        what = (name, run.record.task, run.data, run.num_used, run.model, run.seed, result.best_epoch)
        found = (
            str(result.stopped_by == "patience"),
            f"{result.dev[metric]:.2f}",
            tests,
            f"{result.seconds / 60:.1f}",
            result.source or "",
        )
        lines.append("\t".join(map(str, (*what, *found))))
    return ("\n".join(lines) + "\n").encode()


def _bullets(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)
