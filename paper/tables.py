"""Tables and figures as views of the results: select, group, compare, print. One function for each kind of table."""

from __future__ import annotations

import math
import statistics
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from operator import itemgetter
from typing import Any

from elmokit.runs.results_table import Result
from elmokit.system.markdown import escape_markdown, markdown_table
from paper.experiments import CURVE_TASKS, DATASETS, EARLIER, EXPERIMENTS, FINETUNED, MODEL, RANDOM, SHIPPED
from paper.results import FOLDER, Results
from paper.statistics import SCORES, Difference, of_interval, over_clusters, over_seeds, share, with_items

Pairs = Sequence[tuple[str, str]]
"""Names of two arms, or of two layers: the first should be better than the second."""
BASELINE = "no ELMo"
FINGERPRINT_DIGITS = 8
IMPROVING = "†"
ABSENT = ""


@dataclass(frozen=True)
class Table:
    """A table that can be printed."""

    title: str
    about: str
    columns: tuple[str, ...]
    rows: Sequence[Sequence[str]]
    num_names: int = 1
    """Number of columns that are names."""


@dataclass(frozen=True)
class Batch:
    """Runs that differ in their seed alone, of one batch: no seed occurs twice."""

    rows: tuple[Result, ...]

    @cached_property
    def scores(self) -> Mapping[int | None, float]:
        return {row.seed: row.value for row in self.rows}

    @property
    def was_improving(self) -> bool:
        """Whether a run was still improving when its training ended."""
        return any(row.was_improving for row in self.rows)

    @property
    def sources(self) -> set[tuple[str, str]]:
        return {(row.commit, row.machine) for row in self.rows}

    @property
    def minutes(self) -> float:
        """CPU minutes of a run."""
        return statistics.fmean(row.cpu_minutes or 0.0 for row in self.rows)

    def __str__(self) -> str:
        """Mean and standard deviation, with a mark if a run was still improving."""
        values = list(self.scores.values())
        deviation = f" ± {statistics.stdev(values):.2f}" if len(values) > 1 else ""
        return f"{statistics.fmean(values):.2f}{deviation}{f' {IMPROVING}' if self.was_improving else ''}"


@dataclass(frozen=True)
class Pair:
    """An arm and the baseline that it is compared with."""

    baseline: Batch
    arm: Batch
    over_items: Difference | None = None
    """The gain over test items, if they are known."""

    @property
    def has_same_source(self) -> bool:
        """Whether both were trained by the same commit on the same kind of machine."""
        return bool(self.baseline.sources & self.arm.sources)

    @property
    def was_improving(self) -> bool:
        return self.baseline.was_improving or self.arm.was_improving

    @cached_property
    def gains(self) -> dict[int | None, float]:
        """By seed."""
        before, after = self.baseline.scores, self.arm.scores
        return {seed: after[seed] - score for seed, score in before.items() if seed in after}

    @property
    def gain(self) -> Difference | None:
        """Over seeds, and over test items where these are known."""
        return with_items(over_seeds(list(self.gains.values())), self.over_items)

    @property
    def relative(self) -> float:
        """Share of the baseline's error that the arm removes, in percent."""
        return 100 * statistics.fmean(self.gains.values()) / (100 - statistics.fmean(self.baseline.scores.values()))

    @property
    def where(self) -> Result:
        return self.arm.rows[0]


def batches(rows: Iterable[Result]) -> list[Batch]:
    """The runs of an arm, in batches if it has been trained again, by another commit."""
    ordered = sorted(rows, key=lambda row: (row.commit, row.seed or 0))
    if len({row.seed for row in ordered}) == len(ordered):
        return [Batch(tuple(sorted(ordered, key=lambda row: row.seed or 0)))] if ordered else []
    by_commit: dict[str, list[Result]] = {}
    for row in ordered:
        by_commit.setdefault(row.commit, []).append(row)
    return [Batch(tuple(one)) for one in by_commit.values()]


def pairs(
    results: Results, arm: str, baseline: str = BASELINE, *, models: Sequence[str] | None = None, **wanted: Any
) -> list[Pair]:
    """Each batch of an arm with its baseline: that of the same commit and machine, or else of the same machine.

    wanted: the columns in which both agree, such as table, task, recipe and split.
    """
    found = results.select(arm=arm, **wanted)
    groups: dict[tuple[str, str], list[Result]] = {}
    for row in found:
        if models is None or row.model in models:
            groups.setdefault((row.model, row.fingerprint), []).append(row)
    known: list[Pair] = []
    for (model, _), rows in groups.items():
        before = [row for row in results.select(arm=baseline, **wanted) if _is_of(row, start_of(model))]
        candidates = batches(before)
        for batch in batches(row for row in rows if row.metric == DATASETS[row.task].metric):
            if candidates:
                best = max(candidates, key=lambda one: _likeness(one, batch))
                known.append(Pair(best, batch, _over_items(results, best, batch)))
    return known


def headline(
    results: Results, task: str, arm: str, models: Sequence[str], recipe: str = "cpu-converged"
) -> Pair | None:
    """The pair that stands for a task on its test set: of the same source, with most seeds, with known items."""
    test_set = DATASETS[task].test_set
    found = pairs(results, arm, models=models, table="table1", task=task, recipe=recipe, split=test_set)
    order = ((one.has_same_source, len(one.gains), one.over_items is not None, one.where.commit) for one in found)
    return max(zip(order, found, strict=True), key=itemgetter(0), default=(None, None))[1]


def layer_gain(results: Results, row: Result, better: str, worse: str) -> Difference | None:
    """The gain of a layer over another one of the same model, over clusters of test items."""
    items = [results.probe_items(replace(row, layer=layer)) for layer in (worse, better)]
    if items[0] is not None and items[1] is not None:
        return over_clusters(items[:1], items[1:], score=share)  # type: ignore[arg-type]
    return _kept_interval(results, replace(row, layer=f"{better} over {worse}"), ("gain", "gain in same sense"))


def view(results: Results, name: str) -> list[Table]:
    """The tables of a page, without empty ones."""
    found = [table for make in VIEWS[name] for table in make(results, name)]
    return [table for table in found if table.rows]


def table_text(results: Results, name: str) -> str:
    """The tables of a page."""
    found = printed()[name]
    parts = [f"# {escape_markdown(found['title'])}", escape_markdown(f"{found['source']}. {found['about']}")]
    parts += [bullets(map(escape_markdown, found["notes"]))] if found.get("notes") else []
    return "\n\n".join([*parts, *(part for table in view(results, name) for part in _section(table))]) + "\n"


@cache
def printed() -> dict[str, dict[str, Any]]:
    """The numbers of the paper, and what each table is about."""
    return tomllib.loads((FOLDER / "printed.toml").read_text(encoding="utf-8"))


def bullets(lines: Iterable[str]) -> str:
    """Lines of a list."""
    return "\n".join(f"- {line}" for line in lines)


def _section(table: Table) -> list[str]:
    header = tuple(map(escape_markdown, table.columns))
    return [
        f"## {escape_markdown(table.title)}",
        escape_markdown(table.about),
        markdown_table(header, table.rows, num_names=table.num_names),
    ]


def _likeness(baseline: Batch, arm: Batch) -> tuple[bool, bool, int]:
    machines = {machine for _, machine in baseline.sources} & {machine for _, machine in arm.sources}
    return bool(baseline.sources & arm.sources), bool(machines), len(baseline.scores.keys() & arm.scores.keys())


def _over_items(results: Results, baseline: Batch, arm: Batch) -> Difference | None:
    """The gain over clusters of test items, or the one that was kept without the items."""
    items = [[results.run_items(row) for row in batch.rows] for batch in (baseline, arm)]
    if all(one is not None for batch in items for one in batch):
        return over_clusters(*items, score=SCORES[DATASETS[arm.rows[0].task].task])  # type: ignore[arg-type]
    kept = _kept_interval(results, arm.rows[0], ("gain over items",))
    gains = [score - baseline.scores[seed] for seed, score in arm.scores.items() if seed in baseline.scores]
    is_same = kept is not None and bool(gains) and math.isclose(kept.estimate, statistics.fmean(gains), abs_tol=1e-4)
    return kept if is_same else None


def _kept_interval(results: Results, row: Result, metrics: Sequence[str]) -> Difference | None:
    same = ("table", "task", "data", "arm", "model", "fingerprint", "layer")
    where = {name: getattr(row, name) for name in same}
    for metric in metrics:
        found = [results.select(**where, metric=f"{metric}{end}") for end in (", low", ", high", "")]
        if all(found):
            low, high, estimate = (one[0].value for one in found)
            return of_interval(low, high, estimate)
    return None


def _papers(results: Results, name: str) -> list[Table]:
    """The rows that the paper prints."""
    found = printed()[name]
    rows = [[row, *cells] for row, cells in found.get("rows", {}).items()]
    return [Table("As published", found["source"] + ".", ("", *found.get("columns", ())), rows)]


def _arms(results: Results, name: str, *, differences: Pairs = (), split: str = "dev") -> list[Table]:
    """Mean scores of all arms of a table, and differences between arms."""
    arms = list(dict.fromkeys(arm.name for one in EXPERIMENTS[name] for arm in one.arms))
    scores: list[list[str]] = []
    gains: list[list[str]] = []
    for key, where in _groups(results, name, split):
        rows = results.select(**where)
        model = key[1]
        cells = [_last(batches(row for row in rows if row.arm == arm and _is_of(row, model))) for arm in arms]
        scores.append([*_names(key), *cells])
        shown = [
            _gain_text(pairs(results, *pair, models=[row.model for row in rows if _is_of(row, model)], **where))
            for pair in differences
        ]
        gains.append([*_names(key), *shown])
    about = f"{'Development' if split == 'dev' else 'Test'} set, means over the seeds ± one standard deviation. {MARK}"
    columns = ("task", "model", "recipe", "examples")
    pairs_about = "Points, paired by seed, with the 95 % interval (Student's t)."
    return [
        Table("Scores", about, (*columns, *arms), scores, 4),
        Table("Differences", pairs_about, (*columns, *(f"{one} over {other}" for one, other in differences)), gains, 4),
    ]


MARK = f"{IMPROVING}: a run was still improving when its training ended."
Key = tuple[str, str, str, int]


def _groups(results: Results, name: str, split: str) -> list[tuple[Key, dict[str, Any]]]:
    """Task, model, recipe and number of training examples of each row of a table of arms, and what selects its runs."""
    own = [row for row in results.select(table=name) if row.run and row.metric == DATASETS.get(row.task, _NONE).metric]
    keys: dict[Key, dict[str, Any]] = {}
    order = list(DATASETS)
    for row in sorted(own, key=lambda row: (order.index(row.task), row.settings["recipe"], -(row.train_size or 0))):
        is_split = row.split == ("dev" if split == "dev" else DATASETS[row.task].test_set)
        if row.arm != BASELINE and is_split:
            recipe = row.settings["recipe"]
            where = {
                "table": name,
                "task": row.task,
                "recipe": recipe,
                "split": row.split,
                "train_size": row.train_size,
            }
            keys[row.task, start_of(row.model), recipe, row.train_size or 0] = where
    return list(keys.items())


_NONE = replace(DATASETS["entailment"], metric="")


def start_of(model: str) -> str:
    """A biLM; of random or fine-tuned weights, the one that they were made from."""
    of_weights = {digits: name for name, digits in EARLIER.items()}
    kind, _, made = model.partition("-")
    return of_weights.get(made[:FINGERPRINT_DIGITS], SHIPPED) if kind in (RANDOM, FINETUNED) else model


def _is_of(row: Result, model: str) -> bool:
    """Whether a run has no biLM, or this one, or weights that were made from it."""
    return row.model == "" or start_of(row.model) == model


def _names(key: Key) -> list[str]:
    task, model, recipe, size = key
    return [DATASETS[task].row, model, recipe, f"{size:,}"]


def _last(found: Sequence[Batch]) -> str:
    return str(found[-1]) if found else ABSENT


def _gain_text(found: Sequence[Pair]) -> str:
    best = max(found, key=lambda one: (one.has_same_source, len(one.gains)), default=None)
    return ABSENT if best is None else f"{best.gain}{f' {IMPROVING}' if best.was_improving else ''}"


def _table1(results: Results, name: str) -> list[Table]:
    """Every batch of every arm with its baseline."""
    rows: list[list[str]] = []
    recipes = list(dict.fromkeys(one.training.name for one in EXPERIMENTS[name]))
    for task in dict.fromkeys(row.task for row in results.select(table=name)):
        for recipe in recipes:
            for arm in dict.fromkeys(arm.name for one in EXPERIMENTS[name] for arm in one.arms if arm.name != BASELINE):
                split = DATASETS[task].test_set
                for one in pairs(results, arm, table=name, task=task, recipe=recipe, split=split):
                    rows.append(_table1_row(one, recipe))
    about = (
        "Test sets. The interval is over seeds, and over clusters of test items where the last column says so. "
        f"Baseline: same, of the same commit and machine. {MARK}"
    )
    columns = ("task", "arm", "model", "recipe", "examples", "commit")
    numbers = ("no ELMo", "score", "gain", "error removed", "CPU minutes", "baseline", "interval over")
    rows.sort(key=lambda row: ([one.row for one in DATASETS.values()].index(row[0]), recipes.index(row[3])))
    ensembles = [
        [DATASETS[row.task].row, row.arm, row.layer, f"{row.value:.2f}"]
        for row in results.select(name, metric="ensemble")
    ]
    dev = _development(results, name)
    return [
        Table("Ours", about, (*columns, *numbers), rows, 6),
        Table(
            "Ensembles",
            "Test scores of the mean of the models' probabilities, with mini-en.",
            ("task", "arm", "models", "score"),
            ensembles,
            2,
        ),
        Table(
            "Controls",
            f"Development sets, mini-en. {MARK}",
            ("task", "recipe", "random biLM", "gain", "token layer", "gain"),
            dev,
            2,
        ),
    ]


def _table1_row(one: Pair, recipe: str) -> list[str]:
    row = one.where
    over = "seeds and items" if one.over_items else "seeds"
    source = "same" if one.has_same_source else "other"
    cells = [str(one.baseline), str(one.arm), str(one.gain), f"{one.relative:.1f} %"]
    minutes = f"{one.baseline.minutes:.0f} → {one.arm.minutes:.0f}"
    return [
        DATASETS[row.task].row,
        row.arm,
        row.model,
        recipe,
        f"{row.train_size:,}",
        row.commit,
        *cells,
        minutes,
        source,
        over,
    ]


def _development(results: Results, name: str) -> list[list[str]]:
    rows: list[list[str]] = []
    for task in DATASETS:
        for recipe, arms in (
            ("cpu", ("random biLM", "token layer")),
            ("cpu-converged", ("random biLM at the output",)),
        ):
            where = {"table": name, "task": task, "recipe": recipe, "split": "dev"}
            cells = [
                [_last([one.arm for one in found]), _gain_text(found)]
                for arm in arms
                if (found := pairs(results, arm, **where))
            ]
            if cells:
                rows.append(
                    [
                        DATASETS[task].row,
                        recipe,
                        *(cell for pair in cells for cell in pair),
                        *[ABSENT] * (4 - 2 * len(cells)),
                    ]
                )
    return rows


def _figure1(results: Results, name: str) -> list[Table]:
    """Scores by the size of the training set, ELMo with a tenth of the data, and updates to the baseline's level."""
    where = [(task, model, recipe) for task in CURVE_TASKS for model, recipe in CURVES]
    curves = [(*key, curve(results, *key)) for key in where]
    scores = [
        [DATASETS[task].row, model, recipe, f"{size:,}", str(one.baseline), str(one.arm), str(one.gain)]
        for task, model, recipe, points in curves
        for size, one in points.items()
    ]
    tenfold: list[list[str]] = []
    for task, model, recipe, points in curves:
        for (few, one), (many, more) in zip(points.items(), list(points.items())[1:], strict=False):
            gain = Pair(more.baseline, one.arm).gain
            tenfold.append(
                [DATASETS[task].row, model, recipe, f"{few:,} / {many:,}", str(one.arm), str(more.baseline), str(gain)]
            )
    updates = [
        [DATASETS[task].row, model, recipe, f"{size:,}", *cells]
        for task, model, recipe, points in curves
        for size, one in points.items()
        if (cells := _updates(results, one))
    ]
    columns = ("task", "model", "recipe", "examples")
    paired = "Development set; gains are paired by seed, with their 95 % intervals."
    level = "Updates until 95 % of the baseline's final score, in either arm: the median over the seeds."
    return [
        Table(
            "Scores by the size of the training set",
            f"{paired} {MARK}",
            (*columns, BASELINE, "+ ELMo", "gain"),
            scores,
            4,
        ),
        Table(
            "ELMo with a tenth of the data",
            f"ELMo over none with ten times the examples. {paired}",
            (*columns, "+ ELMo", "no ELMo, tenfold", "difference"),
            tenfold,
            4,
        ),
        Table("Updates until the baseline's level", level, (*columns, BASELINE, "+ ELMo"), updates, 4),
    ]


CURVES = ((SHIPPED, "cpu-converged"), (MODEL, "cpu-converged"), (MODEL, "cpu"))
LEVEL = 0.95


def curve(results: Results, task: str, model: str, recipe: str) -> dict[int, Pair]:
    """A task's pairs by the size of its training set, smallest first."""
    sizes = sorted(
        {row.train_size or 0 for row in results.select(table="figure1", task=task, recipe=recipe, model=model)}
    )
    found = {
        size: pairs(
            results, "+ ELMo", models=[model], table="figure1", task=task, recipe=recipe, train_size=size, split="dev"
        )
        for size in sizes
    }
    return {size: pair[-1] for size, pair in found.items() if pair}


def _updates(results: Results, one: Pair) -> list[str]:
    """Updates of both arms until they have the level; none where the baseline has learnt nothing."""
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


def _figure2(results: Results, name: str) -> list[Table]:
    """The weights that tasks have learnt for the layers, after the softmax."""
    rows: list[list[str]] = []
    for model, arm, place in mixes_of(results):
        for task in dict.fromkeys(row.task for row in results.select(table=name, model=model, arm=arm, layer=place)):
            weights, gamma = learnt_mix(results, task, model, arm, place)
            if weights:
                rows.append(
                    [place, DATASETS[task].row, model, arm, *(f"{weight:.2f}" for weight in weights), f"{gamma:.2f}"]
                )
    rows.sort()
    columns = ("position", "task", "model", "arm", "token layer", "LSTM layer 1", "LSTM layer 2", "gamma")
    return [Table("Weights after the softmax", "Means over the seeds.", columns, rows, 4)]


def mixes_of(results: Results) -> list[tuple[str, str, str]]:
    """Model, arm and position of the mixes that have been learnt."""
    rows = results.select(table="figure2", metric="gamma")
    return list(dict.fromkeys((row.model, row.arm, row.layer) for row in rows))


def learnt_mix(results: Results, task: str, model: str, arm: str, place: str) -> tuple[list[float], float]:
    """The weights, lowest layer first, and gamma: means over the runs."""
    own = results.select(table="figure2", task=task, model=model, arm=arm)
    layers = sorted({row.layer for row in own if row.metric == "weight" and row.layer.startswith(f"{place} ")})
    means = [statistics.fmean(row.value for row in own if row.layer == layer) for layer in layers]
    return means, statistics.fmean(row.value for row in own if row.layer == place)


def _probes(
    results: Results, name: str, *, metrics: Sequence[str] = (), compared: Pairs = (), split: str = "test"
) -> list[Table]:
    """Numbers of systems by layer, and differences between layers. The biLMs of half a million tokens are one line."""
    tables: list[Table] = []
    for data in dict.fromkeys(row.data for row in results.select(table=name)):
        rows = [row for row in results.select(table=name, data=data) if "gain" not in row.metric]
        names = list(dict.fromkeys((row.metric if metrics else row.split) or "accuracy" for row in rows))
        lines: dict[tuple[str, str, str], dict[str, list[float]]] = {}
        for row in rows:
            model, print_ = (HALF_MILLION, "") if row.model.startswith("half-million") else (row.model, row.fingerprint)
            cell = (row.metric if metrics else row.split) or "accuracy"
            lines.setdefault((model, print_, row.layer), {}).setdefault(cell, []).append(row.value)
        shown = [
            [model, print_, layer, *(_spread(cells.get(one, [])) for one in names)]
            for (model, print_, layer), cells in sorted(lines.items())
        ]
        columns = ("system", "fingerprint", "layer")
        tables.append(Table(data or name, "Percent.", (*columns, *names), shown, 3))
        gains = layer_gains(results, name, data, compared, split=split)
        about = "Points, with the 95 % interval over sentences where the items are known."
        tables.append(Table(f"{data}: differences", about, ("system", "fingerprint", "layers", "gain"), gains, 3))
    return tables


HALF_MILLION = "17 biLMs of half a million tokens"


def layer_gains(results: Results, name: str, data: str, compared: Pairs, *, split: str) -> list[list[str]]:
    """Differences between layers, by system; mean and deviation of the biLMs of half a million tokens."""
    rows: list[list[str]] = []
    own = results.select(table=name, data=data)
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
            rows.append([HALF_MILLION, "", f"{better} over {worse}", _spread(half, sign="+")])
    return rows


def _spread(values: Sequence[float], *, sign: str = "") -> str:
    if not values:
        return ABSENT
    deviation = f" ± {statistics.stdev(values):.2f}" if len(values) > 1 else ""
    return f"{statistics.fmean(values):{sign}.2f}{deviation}"


def _perplexity(results: Results, name: str) -> list[Table]:
    """The gain of biLMs by their perplexity on held-out text."""
    rows: list[list[str]] = []
    for row in sorted(results.select(table=name, metric="perplexity", layer="mean"), key=lambda row: -row.value):
        for task in CURVE_TASKS:
            for one in pairs(results, "+ ELMo", models=[row.model], table=name, task=task, split="dev"):
                rows.append(
                    [DATASETS[task].row, row.model, f"{row.value:.1f}", str(one.baseline), str(one.arm), str(one.gain)]
                )
    rows.sort(key=lambda row: row[0])
    about = (
        "Perplexity of held-out English text, mean of both directions; score on the development set, with a tenth of "
        "the data. `small-en` is twice as wide as `mini-en`, and has read other text."
    )
    return [Table("Gain by perplexity", about, ("task", "model", "perplexity", BASELINE, "+ ELMo", "gain"), rows, 2)]


def _table7(results: Results, name: str) -> list[Table]:
    """Perplexities before and after fine-tuning."""
    rows: list[list[str]] = []
    for row in results.select(table=name, arm="before", layer="mean"):
        after = results.select(table=name, arm="after", layer="mean", data=row.data, model=row.model)
        rows.append([row.data, row.model, f"{row.value:.1f}", f"{after[0].value:.1f}" if after else ABSENT])
    about = "Development text; the full softmax over the biLM's own vocabulary, each sentence by itself."
    return [Table("Perplexity", about, ("text", "model", "before", "after"), rows, 2)]


def _blimp(results: Results, name: str) -> list[Table]:
    """Accuracy over all pairs and by phenomenon."""
    tables: dict[str, dict[tuple[str, str], list[Result]]] = {"": {}}
    for row in results.select(table=name):
        term = PAPERS_TERMS.get(row.task, row.task)
        for group in ("all pairs", term):
            tables[""].setdefault((group, f"{row.model} ({row.fingerprint}), {row.layer}"), []).append(row)
    systems = sorted({system for _, system in tables[""]})
    terms = sorted({group for group, _ in tables[""]}, key=lambda group: (group != "all pairs", group))
    rows = [[system, *(_accuracy(tables[""].get((term, system), [])) for term in terms)] for system in systems]
    return [Table("Ours", "Accuracy in percent, by phenomenon.", ("system", *terms), rows, 1)]


PAPERS_TERMS = {"s-selection": "argument_structure"}
"""Phenomena of files that table 3 of BLiMP's paper counts as another one."""


def _accuracy(rows: Sequence[Result]) -> str:
    total = sum(row.corpus_size or 0 for row in rows)
    return f"{sum(row.value * (row.corpus_size or 0) for row in rows) / total:.2f}" if total else ABSENT


def _reading_times(results: Results, name: str) -> list[Table]:
    rows: list[list[str]] = []
    for row in results.select(table=name, metric="added log likelihood"):
        same = {"fingerprint": row.fingerprint, "layer": row.layer, "corpus_size": row.corpus_size}
        error = results.select(table=name, metric="standard error", **same)[0].value
        rows.append([row.model, row.layer, f"{row.corpus_size:,}", f"{row.value:.4f} ± {error:.4f}"])
    return [
        Table("Ours", "Nats per word ± standard error over words.", ("model", "direction", "words", "added"), rows, 2)
    ]


_TOP = (
    ("layer 2", "layer 1"),
    *(("layer 2", one) for one in ("average", "average without layer 0", "average of layers of equal size")),
)
LAYERS = (("last layer", BASELINE), ("lambda=0.001", "last layer"))
SMALL_LAMBDA = (("lambda=0.001", "lambda=1.0"),)
PLACES = (("input", BASELINE), ("both", "input"), ("both", "output"), ("input", "output"))
GAMMA = (("top layers, gamma learnt", "top layers, gamma 1"), ("all layers, gamma learnt", "all layers, gamma 1"))
FINE_TUNED = (("fine-tuned", "not fine-tuned"),)
_NORMS = tuple((arm, BASELINE) for arm in ("layers as they are", "layer norm", "rescaled"))
View = Callable[[Results, str], list[Table]]
VIEWS: dict[str, tuple[View, ...]] = {
    "table1": (_papers, _table1),
    "table2": (_papers, partial(_arms, differences=(*LAYERS, *SMALL_LAMBDA))),
    "table3": (_papers, partial(_arms, differences=PLACES)),
    "table4": (_papers, partial(_probes, metrics=("same sense",), compared=(("layer 2", "layer 0"), *_TOP))),
    "table5": (_papers, partial(_probes, compared=_TOP, split="ALL")),
    "senses-supervised": (_papers, _probes),
    "table6": (_papers, partial(_probes, compared=(("layer 1", "layer 2"), ("layer 1", "layer 0")))),
    "table6-ko": (partial(_probes, compared=(("layer 1", "layer 2"), ("layer 1", "layer 0"))),),
    "table7": (_papers, _table7, partial(_arms, differences=FINE_TUNED)),
    "figure1": (_figure1,),
    "figure2": (_figure2,),
    "perplexity": (_perplexity,),
    "gamma": (partial(_arms, differences=GAMMA),),
    "layernorm": (partial(_arms, differences=_NORMS),),
    "dropout": (partial(_arms, differences=tuple((rate, BASELINE) for rate in ("0.0", "0.2", "0.5"))),),
    "blimp": (_papers, _blimp),
    "reading-times": (_reading_times,),
    "polysemy-ko": (_probes,),
    "wic": (_papers, partial(_probes, compared=_TOP)),
    "kobest": (partial(_probes, compared=_TOP),),
    "korean-tasks": (partial(_arms, differences=(("+ ELMo", BASELINE),), split="test"),),
}
"""The tables and figures by name."""
