"""Tables as views of the results: which runs are compared, what is printed, and which modules that needs."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from elmokit.runs.results_table import Result
from page_code import ROOT, read_page
from paper.claims import headline, verdicts
from paper.experiments import SHIPPED, SIX_TASKS
from paper.page import TRANSFORMER, claims_page, front_page, latin_figure, table_page
from paper.results import Results, cluster_steps
from paper.statistics import batches, best_pair, curve, learnt_mix, pairs
from paper.tables import VIEWS, view

NER = Result(
    *(0.0, "f1", "table1", "named-entities", "conll2003", 6, "no ELMo"),
    split="eng.testb",
    train_size=14041,
    machine="m",
    epochs=20,
    best_epoch=15,
    stopped_by="patience",
    settings={"recipe": "cpu-converged"},
)


def runs(arm: str, scores: tuple[float, ...], *, commit: str = "a", model: str = "", **others: object) -> list[Result]:
    rows = [
        replace(NER, value=score, seed=seed, arm=arm, commit=commit, model=model) for seed, score in enumerate(scores)
    ]
    return [replace(row, run=f"ner-{model or 'none'}-{row.seed}", **others) for row in rows]  # type: ignore[arg-type]


def results_of(folder: Path, *groups: list[Result], arrays: dict[str, np.ndarray] | None = None) -> Results:
    folder.mkdir(exist_ok=True)
    results = Results(folder)
    results.add([row for group in groups for row in group], arrays)
    return Results(folder)  # as it is read back


WHERE = {"task": "named-entities", "recipe": "cpu-converged", "split": "eng.testb"}


def test_an_arm_is_compared_with_the_baseline_of_its_commit_and_all_baselines_are_shown(tmp_path: Path):
    old, new = runs("no ELMo", (88, 88)), runs("no ELMo", (89, 89), commit="b")
    elmo = [*runs("+ ELMo", (90, 91), model="small-en"), *runs("+ ELMo", (90, 90.5), commit="b", model="small-en")]
    results = results_of(tmp_path, old, new, elmo)
    found = pairs(results, "table1", "+ ELMo", **WHERE)
    assert [str(one.gain) for one in found] == ["+2.50 [-3.85, 8.85]", "+1.25 [-1.93, 4.43]"]
    assert all(one.has_same_source for one in found)
    cells = [row[7] for row in next(table for table in view(results, "table1") if table.title == "Ours").rows]
    assert cells == ["88.00 ± 0.00", "89.00 ± 0.00"]


def batch_pair(commit: str, day: int, gain: float, *, seeds: int = 2, machine: str = "m") -> list[Result]:
    """An arm on machine m with its baseline, all of one commit."""
    settings = {"recipe": "cpu-converged", "date": f"2026-01-{day:02}"}
    before = runs("no ELMo", (80,) * seeds, commit=commit, machine=machine, settings=settings)
    after = runs("+ ELMo", (80 + gain,) * seeds, commit=commit, model="small-en", machine="m", settings=settings)
    return [*before, *after]


@pytest.mark.parametrize(
    ("other", "gain"),
    [
        (batch_pair("a", 3, 5), 5),  # newer, though its hash comes first
        (batch_pair("a", 1, 5), 1),
        (batch_pair("a", 1, 5, seeds=3), 5),
        (batch_pair("a", 3, 5, seeds=1), 1),
        (batch_pair("a", 3, 5, seeds=3, machine="n"), 5),
        (batch_pair("a", 3, 5, machine="n"), 1),  # its baseline is of another machine
    ],
)
def test_tables_use_the_pair_with_three_seeds_then_of_one_commit_and_machine_then_of_most_seeds_then_the_newest(
    other: list[Result], gain: float, tmp_path: Path
):
    rows = [*batch_pair("z", 2, 1), *other]
    results = results_of(tmp_path, rows, [replace(row, table="figure1", split="dev") for row in rows])
    one = best_pair(results, "table1", "+ ELMo", model="small-en", **WHERE)
    assert one is not None and set(one.gains.values()) == {gain}
    assert headline(results, "named-entities", "+ ELMo", "small-en") == one
    (point,) = curve(results, "named-entities", "small-en", "cpu-converged").values()
    assert point.gains == one.gains


def test_a_mix_is_the_mean_over_the_best_batch_alone(tmp_path: Path):
    rows: list[Result] = []
    for commit, day, weight in (("b", 1, 0.2), ("a", 2, 0.6)):
        for row in runs("+ ELMo", (1, 1), commit=commit, model="small-en", settings={"date": f"2026-01-0{day}"}):
            mix = replace(row, table="figure2", split="dev")
            rows.append(replace(mix, metric="gamma", layer="input", value=10 * weight))
            rows += [replace(mix, metric="weight", layer=f"input {at}", value=weight) for at in (0, 1)]
    found = learnt_mix(results_of(tmp_path, rows), "named-entities", "small-en", "+ ELMo", "input")
    assert found == ([0.6, 0.6], 6.0)


def test_runs_of_several_commits_are_one_batch_unless_a_seed_occurs_twice():
    first, again = runs("no ELMo", (1, 2)), runs("no ELMo", (3, 4), commit="b")
    assert [list(one.scores.values()) for one in batches([*first, *again])] == [[1, 2], [3, 4]]
    assert [list(one.scores.values()) for one in batches([first[0], again[1]])] == [[1, 4]]


def test_the_error_over_items_counts_clusters_where_predictions_are_known(tmp_path: Path):
    none, elmo = runs("no ELMo", (60, 60)), runs("+ ELMo", (80, 80), model="small-en")
    counts = {"none": [[1, 2, 2], [1, 2, 2]], "small-en": [[2, 2, 2], [1, 2, 2]]}
    arrays = {
        f"counts/{row.run}@a/eng.testb": np.array(counts[row.model or "none"] * 3, np.float32) for row in (*none, *elmo)
    }
    arrays["clusters/named-entities/eng.testb"] = cluster_steps([0, 0, 1, 1, 2, 2])
    one = headline(results_of(tmp_path, none, elmo, arrays=arrays), "named-entities", "+ ELMo", "small-en")
    assert one is not None and one.over_items is not None
    assert one.over_items.of_items == pytest.approx(0, abs=1e-9)  # the clusters are alike
    arrays["clusters/named-entities/eng.testb"] = cluster_steps(range(6))
    one = headline(results_of(tmp_path, none, elmo, arrays=arrays), "named-entities", "+ ELMo", "small-en")
    assert one is not None and one.over_items is not None and one.over_items.of_items > 5


def test_a_table_is_printed_in_a_fresh_clone_without_arguments_a_model_or_torch():
    program = (
        "import sys, time; from paper.__main__ import main; main(['table1']); "
        "own = [name for name, module in sys.modules.items() if name.split('.')[0] in ('elmokit', 'paper') "
        "and not (module.__file__ or '').endswith('__init__.py')]; "
        "print(len(own), 'torch' in sys.modules, time.process_time(), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    number, has_torch, seconds = done.stderr.split()
    assert (
        done.stdout.startswith("# Table 1: test scores of the six tasks")
        and "| NER | + ELMo | no ELMo | small-en |" in done.stdout
    )
    assert has_torch == "False" and int(number) <= 13 and float(seconds) < 3  # a second on a free core


def test_the_page_of_results_is_one_screen_and_answers_its_question_first(tmp_path: Path):
    page = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
    title, answer, *_ = page.split("\n\n")
    assert title == "# Does ELMo help?" and answer.startswith("Yes for ")
    assert len(page.splitlines()) <= 70
    captions = [part for part in page.split("\n\n") if part.startswith("Test sets")]
    assert len(captions) == 1 and len(captions[0].split()) <= 40
    assert all(
        len(part.split()) <= 40 for part in page.split("\n\n")[3:] if part[:1].isupper() and "results.tsv" not in part
    )
    assert "random" not in page.partition("## The claims")[0]  # random controls are not in the headline


def test_the_transformer_is_judged_by_the_interval_of_its_difference_from_elmo(tmp_path: Path):
    none, elmo = runs("no ELMo", (88, 88.1, 87.9)), runs("+ ELMo", (90, 90.1, 89.9), model=SHIPPED)
    for kind, scores in {
        "is better in NER": (92, 92.3, 91.8),
        "is worse in NER": (89, 89.3, 88.8),
        "may be better or worse in NER": (93, 88, 90.2),
    }.items():
        other = runs(TRANSFORMER, scores, model=TRANSFORMER)
        page = front_page(results_of(tmp_path / kind, none, elmo, other), [])
        assert f"a sentence encoder of 2021 (22 million), {kind}." in page and "MiniLM over ELMo: NER " in page
    assert "MiniLM over ELMo" not in front_page(results_of(tmp_path / "without", none, elmo), [])


def test_the_pages_are_up_to_date():
    results = Results()
    found = verdicts(results)
    folder = ROOT / "docs"
    pages = {name: table_page(results, name) for name in VIEWS if results.select(name)}
    assert set(VIEWS) - set(pages) <= {"latin"}
    for name, text in (pages | {"claims": claims_page(found), "../results": front_page(results, found)}).items():
        assert (folder / "results" / f"{name}.md").read_text(encoding="utf-8") == text


def test_taggers_of_latin_are_compared_with_the_same_raw_text_and_drawn_as_a_line_each(tmp_path: Path):
    score = {"none": 70.0, "fastText": 80.0, "biLM": 84.0, "both": 85.0}
    tag = Result(0.0, "accuracy", "latin", "tags", "ITTB", split="test.conllu", machine="m", commit="a")
    rows = [
        replace(
            tag,
            value=score[arm] + seed + size / 100 + words / 1e6,
            arm=arm,
            seed=seed,
            train_size=size,
            corpus_size=None if arm == "none" else words,
            model="la" if arm in ("biLM", "both") else "",
            run=f"{arm}-{words}-{size}-{seed}",
        )
        for arm in score
        for words in ((500_000, 2_000_000) if arm != "none" else (0,))
        for size in (100, 300)
        for seed in (0, 1)
    ]
    results = results_of(tmp_path, rows, [replace(row, metric="accuracy_unknown") for row in rows])
    ours, known = view(results, "latin")
    cells = {(row[0], row[1], row[2], row[5]): row[8] for row in ours.rows}
    assert cells["ITTB, 2,000,000 words", "biLM", "fastText", "300"] == "89.50 ± 0.71"
    assert cells["ITTB, 500,000 words", "fastText", "none", "100"] == "82.00 ± 0.71"
    assert len(cells) == 2 * 2 * 5 and len(known.rows) == 2 * 7
    for axes in latin_figure(results).axes:
        assert [text.get_text() for text in axes.get_legend().get_texts()] == list(score)
    assert [axes.get_title()[:15] for axes in latin_figure(results).axes] == ["ITTB, 500,000 w", "ITTB, 2,000,000"]
    assert "| 2,000,000 | 73.50 ± 0.71 | 85.50 ± 0.71 | 89.50 ± 0.71 | 90.50 ± 0.71 | +4.00 " in front_page(results, [])


def test_the_picture_shows_the_gains_of_the_results():
    picture = (ROOT / "docs" / "overview.svg").read_text(encoding="utf-8")
    for task in SIX_TASKS:
        pair = headline(Results(), task, "+ ELMo", SHIPPED)
        assert pair and pair.gain and (interval := pair.gain.interval())
        assert f">{interval.estimate:+.1f}<" in picture, "draw it again: python experiments/overview.py"
    assert "docs/overview.svg" in read_page("README.md")
