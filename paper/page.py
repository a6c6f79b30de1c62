"""Tables -> pages in Markdown: one of a single table, and docs/results.md, which has all that was measured."""

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
from elmokit.system.markdown import ABSENT, code_span, escape_markdown, heading_link, markdown_table
from paper.bootstrap import item_records
from paper.claims import interval_and_kind, verdicts
from paper.figure1 import sample_curves
from paper.figure2 import learnt_mixes
from paper.figures import curves_figure, sample_figure, weights_figure
from paper.plan import DATASETS
from paper.printed import TABLE_1
from paper.reproduction import REPRODUCTIONS, OurRow, OurTable, Reproduction, find_reproduction
from paper.results import read_results
from paper.runs import Evidence, Tested, make_setup, read_evidence
from paper.table1 import headlines

PAGE_NAME = "results.md"
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
NOTES = (
    "The biLM, `mini-en`, has 5.4 million parameters and has read 44 million tokens; the paper's has 93.6 million and "
    "has read the 1B Word Benchmark ten times. The data are free ones, some of them subsets. So signs are compared, "
    "not scores. What is below was trained and measured with `python -m paper`: [paper.md](paper.md).",
    "All numbers come from runs and results, except in rows that say paper, which are of the publication named below "
    "the heading. ± is the sample standard deviation over seeds, unless a note says otherwise.",
    "A table has the runs that its plan names (`paper/`). layers 0 is the token representation alone, layers top the "
    "last LSTM layer alone.",
)
RULES = (
    "A claim held if the 95 % intervals of all differences that it is about are above zero (paired bootstrap over test "
    "items, or Student's t over seeds, paired).",
    "It did not hold if one of these differences is zero or has the wrong sign, also within its interval; where no "
    "interval is wholly below zero, which may be chance, the row says so.",
    "It is not measurable here if something is missing, if there is a single seed, or if the signs are right but an "
    "interval contains zero.",
    "Claim 1 is judged on test sets; claims 2 to 4 and 8 to 10 on development sets, over seeds; claims 5 to 7 and 11 "
    "over tagged tokens, words with senses, and their occurrences. Differences that are not counted are of tasks that "
    "the paper's claim is not about.",
    "Claim 1 and the table above show runs that ended when they got no better, with ELMo at the output for tasks where "
    "that was better on the development set (SNLI, SST-5), and at the paper's place for the others. Claim 8 is about "
    "such runs, too.",
    "Intervals are not corrected for their number, and those over items are of the models that were trained: they "
    "leave out how much seeds differ.",
    "Not converged means that training ended at its last epoch, not because the development score had stopped rising. "
    "Such a gain may only show faster learning.",
)


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
    """The page and its pictures by the names of their files; `command` is the command that writes them."""
    evidence = {model: read_evidence(make_setup(Path(), model=model), paths) for model in bundled_models()}
    sections: list[str] = []
    origins: list[tuple[str, ...]] = []
    left_out: list[str] = []
    files: dict[str, bytes] = {}
    english = evidence[find_reproduction("table1").model]
    for name in REPRODUCTIONS:
        reproduction = find_reproduction(name)
        of_model = evidence[reproduction.model]
        parts = table_parts(reproduction, of_model, level=2)
        if parts is None:
            left_out.append(f"{escape_markdown(reproduction.paper.name)}: no {reproduction.source}")
            continue
        if drawn := _pictures(name, of_model):
            files |= drawn
            parts.insert(2, f"![{FIGURES[name][2]}]({name}.svg)")
        sections.append("\n\n".join([*parts, f"{code_span(f'python -m paper {name}')} measures it again."]))
        origins.append(_origin(reproduction, of_model))
    shown = [_tasks_section(english), _claims_section(english), *sections]
    if left_out:
        shown.append("\n\n".join(["## Not measured", _bullets(left_out)]))
    shown.append(_origins_section(origins))
    weights = ", ".join(f"{model} ({of_model.setup.fingerprint})" for model, of_model in evidence.items())
    notes = (
        *NOTES,
        f"The first digits of a model's fingerprint are in brackets. The bundled models are {weights}; other "
        "fingerprints are of other weights, or of word vectors. random-DIGITS, and random weights, are biLMs of the "
        "same sizes that were not trained.",
    )
    page = [
        "# Results",
        f"Generated by {code_span(command)}; edits will be overwritten.",
        _bullets(notes),
        "## Contents",
        _bullets(heading_link(text.partition("\n")[0].removeprefix("## ")) for text in shown),
        *shown,
    ]
    return {PAGE_NAME: ("\n\n".join(page) + "\n").encode(), **files}


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


def _tasks_section(evidence: Evidence) -> str:
    records = item_records(evidence.results)
    header = ("task", "measured on", "no ELMo", "+ ELMo", "gain, with its 95 % interval", "the paper's gain")

    def row(one: Tested) -> list[str]:
        interval, over = interval_and_kind(one, records)
        gain = f"{one.gain:+.2f} (one seed)" if interval is None else f"{interval} over {over}"
        scores = [str(arm.score(one.test_set)) for arm in (one.none, one.elmo)]
        name = DATASETS[one.task].row
        return [name, one.measured_on, *scores, gain, _cell(TABLE_1.cell(name, "gain"))]

    table = markdown_table(header, map(row, headlines(evidence).values()), num_names=2)
    return "\n\n".join(["## The six tasks in short", table, escape_markdown(TABLE_1.about)])


def _claims_section(evidence: Evidence) -> str:
    header = ("", "claim", "verdict", "differences in points, with their intervals")
    found = enumerate(verdicts(evidence), start=1)
    rows = [[str(number), one.claim, one.outcome, one.numbers] for number, one in found]
    return "\n\n".join(["## The claims of the paper", markdown_table(header, rows, num_names=4), _bullets(RULES)])


def _origin(reproduction: Reproduction, evidence: Evidence) -> tuple[str, ...]:
    """Versions and commits, and machines, of the runs and results of a table."""
    planned = reproduction.plan(evidence.setup) if reproduction.plan is not None else ()
    found = [evidence.runs[run.name].result for run in planned if run.name in evidence.runs]
    records = read_results(evidence.results, reproduction.name)
    sources = {one.source or "not recorded" for one in found if one is not None}
    sources |= {f"{record.text('version')}, {record.text('commit')}" for record in records}
    machines = {one.machine or "not recorded" for one in found if one is not None}
    machines |= {record.text("machine") for record in records}
    return reproduction.name, "; ".join(sorted(sources)), "; ".join(sorted(machines))


def _origins_section(origins: Sequence[tuple[str, ...]]) -> str:
    table = markdown_table(("table", "version, commit", "machine"), origins, num_names=3)
    about = "Of its runs and results. A plus after a commit says that tracked files differed from it."
    return "\n\n".join(["## Versions and machines", about, table])


def _bullets(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)
