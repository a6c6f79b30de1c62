"""Tables as views of the results: select rows, group them, compare, print. `VIEWS` says what each page shows."""

from __future__ import annotations

import math
import statistics
import tomllib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

from elmokit.metrics.statistics import Statistic
from elmokit.runs.results_table import Result
from elmokit.system.markdown import escape_markdown, markdown_table
from paper.experiments import CURVE_TASKS, DATASETS, EXPERIMENTS, LATIN_ARMS, MODEL, SHIPPED
from paper.results import FOLDER, Results
from paper.statistics import BASELINE, IMPROVING, Pair, curve, layer_gain, learnt_mix, pairs

Compared = Sequence[tuple[str, str]]
"""Names of two arms, or of two layers: the first should be better than the second."""
HALF_MILLION = "17 biLMs of half a million tokens"
MARK = f"{IMPROVING}: a run was still improving when its training ended."
GAINS = (
    "Means over the seeds ± one standard deviation, and gains in points, paired by seed, with their 95 % intervals; "
    "*: also over clusters of test items. ‡: the other arm is of another commit or machine, or that is not recorded. "
    f"{MARK}"
)
AS_NAMED = "As the columns say; with the standard deviation where a row is several models."
CURVES = ((SHIPPED, "cpu-converged"), (MODEL, "cpu-converged"), (MODEL, "cpu"))
LEVEL = 0.95


@dataclass(frozen=True)
class Table:
    """A table that can be printed."""

    title: str
    about: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    num_names: int = 1
    """Number of columns that are names."""


def view(results: Results, name: str) -> list[Table]:
    """The tables of a page, without empty ones."""
    papers = printed()[name]
    rows = [[row, *cells] for row, cells in papers.get("rows", {}).items()]
    found = [Table("As published", f"{papers['source']}.", ("", *papers.get("columns", ())), rows)]
    found += [table for make in VIEWS[name] for table in make(results, name)]
    return [table for table in found if table.rows]


def table_text(results: Results, name: str) -> str:
    """The tables of a page."""
    found = printed()[name]
    parts = [f"# {escape_markdown(found['title'])}", escape_markdown(f"{found['source']}. {found['about']}")]
    parts += [bullets(map(escape_markdown, found["notes"]))] if found.get("notes") else []
    for table in view(results, name):
        header = list(map(escape_markdown, table.columns))
        parts += [f"## {escape_markdown(table.title)}", escape_markdown(table.about)]
        parts.append(markdown_table(header, table.rows, num_names=table.num_names))
    return "\n\n".join(parts) + "\n"


@cache
def printed() -> dict[str, dict[str, Any]]:
    """The numbers of the paper, and what each table is about."""
    return tomllib.loads((FOLDER / "printed.toml").read_text(encoding="utf-8"))


def bullets(lines: Iterable[str]) -> str:
    """A Markdown list."""
    return "\n".join(f"- {line}" for line in lines)


def gain_text(pair: Pair) -> str:
    """The gain with its interval, and the marks that `GAINS` explains."""
    return f"{pair.gain}{'*' if pair.over_items else ''}{'' if pair.has_same_source else ' ‡'}"


def comparisons(
    results: Results,
    name: str,
    *,
    compared: Compared = (),
    arms: Sequence[str] | None = None,
    title: str = "Ours",
    tests: bool = False,
    all_batches: bool = False,
) -> list[Table]:
    """A row for each pair of arms, by task, model, recipe and number of examples.

    arms: the arms to compare with the baseline; None for all arms of the table's experiments.
    compared: further pairs of arms.
    tests: shows test sets instead of development sets.
    all_batches: also shows runs that were trained again, instead of only the best pair.
    """
    own = [arm.name for one in EXPERIMENTS.get(name, ()) for arm in one.arms if arm.name != BASELINE]
    compared = [*((arm, BASELINE) for arm in dict.fromkeys(own if arms is None else arms)), *compared]
    found: dict[tuple[object, ...], Pair] = {}
    for order, (better, worse) in enumerate(compared):
        for one in pairs(results, name, better, worse, tests=tests):
            row = one.where
            task, recipe = list(DATASETS).index(row.task), row.settings.get("recipe", "")
            size = (row.corpus_size or 0) if row.task == "tags" else 0
            batch = f"{row.commit} {row.machine}" if all_batches else ""
            key = (task, row.data, size, recipe, row.train_size or 0, row.model, row.fingerprint, order, batch)
            found[key] = max(one, found.get(key, one), key=lambda pair: pair.rank)
    rows = [_pair_row(found[key], *compared[key[7]]) for key in sorted(found)]  # type: ignore[index,call-overload]
    columns = ("task", "arm", "over", "model", "recipe", "examples", "commit", "other", "score", "gain", "CPU minutes")
    about = f"{'Test' if tests else 'Development'} sets. {GAINS}"
    return [Table(title, about, columns, rows, 7)]


def _pair_row(one: Pair, better: str, worse: str) -> list[str]:
    row = one.where
    task = f"{row.data}, {row.corpus_size or 0:,} words" if row.task == "tags" else DATASETS[row.task].row
    commits = ", ".join(sorted(one.arm.commits))
    return [
        *(task, better, worse, row.model, row.settings.get("recipe", ""), f"{row.train_size:,}", commits),
        *(str(one.baseline), str(one.arm), gain_text(one), f"{one.baseline.minutes:.0f} → {one.arm.minutes:.0f}"),
    ]


def grid(
    rows: Iterable[Result],
    names: Sequence[str],
    column: str,
    *,
    title: str,
    about: str = AS_NAMED,
    value: Callable[[Sequence[Result]], str] | None = None,
) -> Table:
    """A row for each combination of the columns `names`, and a column for each value of `column`.

    The biLMs of half a million tokens are one row. value: what a cell shows; None for the mean.
    """
    cells: dict[tuple[str, ...], dict[str, list[Result]]] = {}
    columns: dict[str, None] = {}
    for row in rows:
        key = tuple("" if (each := getattr(row, name)) is None else str(each) for name in names)
        if row.model.startswith("half-million"):
            changed = {"model": HALF_MILLION, "fingerprint": ""}
            key = tuple(changed.get(name, cell) for name, cell in zip(names, key, strict=True))
        what = str(getattr(row, column)) or row.metric
        columns[what] = None
        cells.setdefault(key, {}).setdefault(what, []).append(row)
    show, sizes = value or _mean, {"corpus_size": "corpus", "train_size": "examples"}
    lines: list[list[str]] = []
    for key, own in sorted(
        cells.items(), key=lambda item: [cell.zfill(12) if cell.isdigit() else cell for cell in item[0]]
    ):
        shown = [f"{int(cell):,}" if cell and name in sizes else cell for name, cell in zip(names, key, strict=True)]
        lines.append([*shown, *(show(own[what]) if what in own else "" for what in columns)])
    return Table(title, about, [*(sizes.get(name, name) for name in names), *columns], lines, len(names))


def _mean(rows: Sequence[Result]) -> str:
    values = tuple(row.value for row in rows)
    return f"{values[0]:.4f}" if len(values) == 1 and abs(values[0]) < 0.1 else str(Statistic(values))


def _sample_efficiency(results: Results, name: str) -> list[Table]:
    """ELMo with a tenth of the data, and updates until the baseline's level."""
    tenfold: list[list[str]] = []
    updates: list[list[str]] = []
    for task in CURVE_TASKS:
        for model, recipe in CURVES:
            points = curve(results, task, model, recipe)
            names = [DATASETS[task].row, model, recipe]
            updates += [
                [*names, f"{size:,}", *cells] for size, one in points.items() if (cells := _updates(results, one))
            ]
            for (few, one), (many, more) in zip(points.items(), list(points.items())[1:], strict=False):
                gain = Pair(more.baseline, one.arm).gain
                tenfold.append([*names, f"{few:,} / {many:,}", str(one.arm), str(more.baseline), str(gain)])
    columns = ("task", "model", "recipe", "examples")
    about = f"Development sets: ELMo over none with ten times the examples, paired by seed. {MARK}"
    level = "Updates until 95 % of the baseline's final score, in either arm: the median over the seeds."
    return [
        Table(
            "ELMo with a tenth of the data", about, (*columns, "+ ELMo", "no ELMo, tenfold", "difference"), tenfold, 4
        ),
        Table("Updates until the baseline's level", level, (*columns, BASELINE, "+ ELMo"), updates, 4),
    ]


def _updates(results: Results, one: Pair) -> list[str]:
    """Updates until each arm reaches the level; empty if the baseline has learnt nothing."""
    found: list[list[float]] = [[], []]
    others = {row.seed: row for row in one.arm.rows}
    for row in one.baseline.rows:
        level = LEVEL * row.value
        if row.seed in others and level > DATASETS[row.task].chance + 1:
            for at, run in enumerate((row, others[row.seed])):
                reached = (step for step, score in results.curve(run) if score >= level)
                found[at].append(next(reached, math.inf))
    medians = [statistics.median(steps) if steps else math.nan for steps in found]
    return ["never" if math.isinf(step) else f"{step:,.0f}" for step in medians] if found[0] else []


def _mixes(results: Results, name: str) -> list[Table]:
    """The weights that tasks have learnt for the layers, after the softmax."""
    rows: list[list[str]] = []
    for model, arm, place in mixes_of(results):
        for task in dict.fromkeys(row.task for row in results.select(name, model=model, arm=arm, layer=place)):
            weights, gamma = learnt_mix(results, task, model, arm, place)
            numbers = [f"{number:.2f}" for number in (*weights, gamma)]
            rows += [[place, DATASETS[task].row, model, arm, *numbers]] if weights else []
    columns = ("position", "task", "model", "arm", "token layer", "LSTM layer 1", "LSTM layer 2", "gamma")
    return [Table("Weights after the softmax", "Means over the seeds.", columns, sorted(rows), 4)]


def mixes_of(results: Results) -> list[tuple[str, str, str]]:
    """Model, arm and position of the mixes that have been learnt."""
    rows = results.select("figure2", metric="gamma")
    return list(dict.fromkeys((row.model, row.arm, row.layer) for row in rows))


def _probes(
    results: Results, name: str, *, column: str = "split", compared: Compared = (), split: str = "test"
) -> list[Table]:
    """Numbers of systems by layer, and differences between layers, for each corpus."""
    tables: list[Table] = []
    for data in dict.fromkeys(row.data for row in results.select(name)):
        rows = [row for row in results.select(name, data=data) if "gain" not in row.metric]
        tables.append(grid(rows, ("model", "fingerprint", "layer"), column, title=data or name))
        gains = layer_gains(results, name, data, compared, split=split)
        about = "Points, with the 95 % interval over sentences where the items are known."
        tables.append(Table(f"{data}: differences", about, ("system", "fingerprint", "layers", "gain"), gains, 3))
    return tables


def layer_gains(results: Results, name: str, data: str, compared: Compared, *, split: str) -> list[list[str]]:
    """Differences between layers, by system; for the biLMs of half a million tokens, their mean and deviation."""
    rows: list[list[str]] = []
    own = results.select(name, data=data)
    systems = {(row.model, row.fingerprint): row for row in own if row.layer.startswith("layer")}
    for better, worse in compared:
        half: list[float] = []
        for (model, print_), row in sorted(systems.items()):
            gain = layer_gain(results, replace(row, split=split), better, worse)
            if gain is not None and model.startswith("half-million"):
                half.append(gain.estimate)
            elif gain is not None:
                rows.append([model, print_, f"{better} over {worse}", str(gain)])
        if half:
            gains = Statistic(tuple(half))
            rows.append([HALF_MILLION, "", f"{better} over {worse}", f"{'+' if gains.mean > 0 else ''}{gains}"])
    return rows


def _selected(
    results: Results, name: str, *, where: dict[str, str], names: Sequence[str], column: str, title: str, about: str
) -> list[Table]:
    """The rows of a table with these values, as a grid."""
    rows = [row for row in results.select(name, **where) if row.task != "tags" or row.split != "dev"]
    return [grid(rows, names, column, title=title, about=about)]


_PERPLEXITY = partial(_selected, where={"metric": "perplexity", "layer": "mean"}, title="Perplexity")


def _changes(results: Results, name: str) -> list[Table]:
    """How far the use of words differs between classical and medieval text."""
    about = "Excess of `elmokit change`: words that dictionaries of medieval Latin give a new main sense, and others."
    return [grid(results.select(name, metric="excess"), ("data",), "arm", title="Semantic change", about=about)]


def _minimal_pairs(results: Results, name: str) -> list[Table]:
    """Accuracy over all pairs and by phenomenon."""

    def accuracy(rows: Sequence[Result]) -> str:
        return f"{statistics.fmean(row.value for row in rows):.2f}"

    own = sorted(results.select(name, corpus_size=PAIRS_OF_A_PARADIGM), key=lambda row: row.task)
    by_term = [replace(row, task=PAPERS_TERMS.get(row.task, row.task)) for row in own]
    rows = [replace(row, task="all pairs") for row in own] + by_term
    return [grid(rows, ("model", "fingerprint", "layer"), "task", title="Ours", value=accuracy)]


PAIRS_OF_A_PARADIGM = 1000
"""All pairs. Older measurements read the first 100 of each paradigm."""
PAPERS_TERMS = {"s-selection": "argument_structure"}
"""Phenomena in BLiMP's files that table 3 of its paper counts under another phenomenon."""


_TOP = (
    ("layer 2", "layer 1"),
    *(("layer 2", one) for one in ("average", "average without layer 0", "average of layers of equal size")),
)
PLACES = (("both", "input"), ("both", "output"), ("input", "output"))
GAMMA = tuple((f"{layers} layers, gamma learnt", f"{layers} layers, gamma 1") for layers in ("top", "all"))
_LATIN = (
    *((arm, LATIN_ARMS[0]) for arm in LATIN_ARMS[1:]),
    *(("biLM", "fastText"), ("biLM", "masked-LM"), ("both", "fastText")),
)
View = Callable[[Results, str], list[Table]]
VIEWS: dict[str, tuple[View, ...]] = {
    "table1": (
        partial(comparisons, tests=True, all_batches=True),
        partial(
            _selected,
            where={"metric": "ensemble"},
            names=("task", "arm", "layer"),
            column="metric",
            title="Ensembles",
            about="Test scores of the mean of the models' probabilities, with mini-en; layer is the number of models.",
        ),
        partial(comparisons, arms=("random biLM", "random biLM at the output", "token layer"), title="Controls"),
    ),
    "table2": (partial(comparisons, compared=(("lambda=0.001", "last layer"), ("lambda=0.001", "lambda=1.0"))),),
    "table3": (partial(comparisons, compared=PLACES),),
    "table4": (partial(_probes, column="metric", compared=(("layer 2", "layer 0"), *_TOP)),),
    "table5": (partial(_probes, compared=_TOP, split="ALL"),),
    "senses-supervised": (_probes,),
    "table6": (partial(_probes, compared=(("layer 1", "layer 2"), ("layer 1", "layer 0"))),),
    "table6-ko": (partial(_probes, compared=(("layer 1", "layer 2"), ("layer 1", "layer 0"))),),
    "table7": (
        partial(
            _PERPLEXITY,
            names=("data", "model"),
            column="arm",
            about="Development text; the full softmax over the biLM's own vocabulary, each sentence by itself.",
        ),
        partial(comparisons, compared=[("fine-tuned", "not fine-tuned")]),
    ),
    "figure1": (comparisons, _sample_efficiency),
    "figure2": (_mixes,),
    "perplexity": (
        partial(comparisons, title="Gains with a tenth of the data"),
        partial(
            _PERPLEXITY,
            names=("model", "fingerprint"),
            column="layer",
            about="Held-out English text. `small-en` is twice as wide as `mini-en`, and has read other text.",
        ),
    ),
    "gamma": (partial(comparisons, compared=GAMMA),),
    "layernorm": (comparisons,),
    "dropout": (comparisons,),
    "latin": (
        partial(comparisons, arms=(), compared=_LATIN, tests=True),
        partial(
            _selected,
            where={"task": "tags"},
            names=("data", "corpus_size", "train_size", "arm"),
            column="metric",
            title="Known and unknown words",
            about="Test sets, percent: means over the seeds ± a standard deviation. An arm knows the words that occur "
            "twice in its training sentences or have a word vector, so arms with fastText know more words.",
        ),
        partial(
            _PERPLEXITY,
            names=("model", "corpus_size"),
            column="data",
            about="Held-out text of each period. The corpus is the words of raw text that the biLM has read.",
        ),
        _changes,
    ),
    "blimp": (_minimal_pairs,),
    "reading-times": (partial(_probes, column="metric"),),
    "polysemy-ko": (_probes,),
    "wic": (partial(_probes, compared=_TOP),),
    "kobest": (partial(_probes, compared=_TOP),),
    "korean-tasks": (partial(comparisons, tests=True),),
}
"""The tables and figures by name."""
