"""Experiments on toy data: named, trained once, added to the results; and what is refused."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from elmokit.formats.native import write_native
from elmokit.formats.read import to_weights
from elmokit.report.tasks import Line, TaskRun, read_task_run
from elmokit.runs.log import read_runs
from elmokit.tasks.config import ElmoInput, InputConfig, Splits, TrainingConfig
from elmokit.tasks.run import TaskRecord
from elmokit.tasks.tags.task import TagsConfig
from elmokit.tasks.task import task_recipe
from elmokit.tasks.train import train as train_task
from paper import train
from paper.__main__ import main
from paper.experiments import (
    DATASETS,
    ELMO,
    EXPERIMENTS,
    FIXED_EPOCHS,
    NO_ELMO,
    SIX_TASKS,
    Arm,
    Experiment,
    Scale,
    Training,
)
from paper.results import Results
from paper.train import (
    ITEMS_NAME,
    Setup,
    add_runs,
    check_data,
    measure_items,
    missing_runs,
    run_results,
    tag_results,
    train_runs,
)
from toy_bilm import random_bilm
from toy_planned_runs import planned, write_arm


def test_the_name_of_a_run_says_what_its_arm_changes_and_tables_share_runs():
    runs = {run.name: run for run in Setup(seeds=1).runs(["table1", "table2", "table3", "gamma"])}
    roles = runs["semantic-roles-cpu-none-0"]
    assert {place.table for place in roles.places} == {"table1", "table2", "table3", "gamma"}
    assert roles.scores_tests  # because table 1 shows them
    assert "semantic-roles-cpu-elmo-c3b1f14d-penalty.1.0-0" in runs
    assert "named-entities-cpu-cpu-converged-elmo-MiniLM-L6-0" in runs
    (place,) = runs["entailment-cpu-cpu-output-elmo-c3b1f14d-0"].places
    assert (place.recipe, place.arm) == ("cpu-converged", "+ ELMo at the output")


def test_a_scale_has_runs_of_its_own_recipes_alone_and_first_seeds_come_first():
    setup = Setup(scale=Scale("paper", 2, {}), model="mini-en")
    runs = setup.runs(["table1", "korean-tasks"], tasks=["named-entities", "named-entities-ko"])
    assert {run.config.training.seed for run in runs[: len(runs) // 2]} == {0}
    assert not any("converged" in run.name or "-ko-" in run.name for run in runs)


def test_every_run_of_the_committed_results_that_a_table_shows_is_planned():
    named = {run.name for run in Setup().runs(EXPERIMENTS)}
    shown = {row.run for row in Results().rows if row.run and row.table not in ("other", "table7", "latin")}
    assert shown <= named
    missing = missing_runs(Setup().runs(["table1"]), Results().rows, Path("nowhere"))
    assert not any(run.name.startswith("named-entities-cpu-cpu-converged-none") for run in missing)


def test_data_that_are_missing_are_listed_all_at_once(tmp_path: Path):
    with pytest.raises(FileNotFoundError, match=r"conll2003: there is no such folder.*sst: there is no.*glove\.6B"):
        check_data(Setup(tmp_path, seeds=1).runs(["table1"], tasks=SIX_TASKS))


def results_of_a_run(folder: Path, **last: Any) -> list[Any]:
    epochs = tuple((100 * number, 50.0 + number) for number in range(1, 9))
    last = {"epoch": 8, "converged": None, **last}
    (run_dir,) = write_arm(folder, "named-entities", NO_ELMO, (81,), test=(80,), epochs=epochs, **last)
    (run, *_) = planned("named-entities", NO_ELMO)
    return run_results(run, read_task_run(*read_runs([run_dir])))


def test_a_run_becomes_a_row_for_each_score_with_what_it_cost(tmp_path: Path):
    costs = {"processor_seconds": 90, "commit": "abc", "machine": "two cores"}
    dev, test = results_of_a_run(tmp_path / "new", best_epoch=7, **costs)
    assert (dev.split, dev.value, dev.corpus_size, dev.train_size) == ("dev", 81, 50, 200)
    assert (test.split, test.value, test.arm, test.table) == ("eng.testb", 80, "no ELMo", "table1")
    assert (dev.epochs, dev.best_epoch, dev.stopped_by, dev.was_improving) == (8, 7, "max_epochs", True)
    assert (dev.cpu_minutes, dev.commit, dev.machine, dev.settings["recipe"]) == (1.5, "abc", "two cores", "cpu")
    dev, _ = results_of_a_run(tmp_path / "old", best_epoch=2)
    assert not dev.was_improving and dev.stopped_by == "max_epochs"  # the best epoch is too early for that


def test_mixes_are_rows_of_figure_2(tmp_path: Path):
    mixes = {"input": {"gamma": 2.0, "shares": [0.2, 0.3, 0.5]}}
    (run_dir,) = write_arm(tmp_path, "named-entities", ELMO, (86,), mixes=mixes)
    (run, *_) = planned("named-entities", ELMO)
    run = replace(run, places=(replace(run.places[0], table="figure2"),))
    rows = run_results(run, read_task_run(*read_runs([run_dir])))
    assert [(row.metric, row.layer, row.value) for row in rows] == [
        ("gamma", "input", 2.0),
        *(("weight", f"input {layer}", share) for layer, share in enumerate((0.2, 0.3, 0.5))),
    ]


def test_only_finished_planned_runs_with_their_settings_are_added(tmp_path: Path):
    (run_dir,) = write_arm(tmp_path / "runs", "named-entities", NO_ELMO, (81,), test=(80,))
    runs, results = planned("named-entities", NO_ELMO), Results(tmp_path)
    for _ in range(2):  # a run that is added again replaces itself
        assert add_runs([run_dir], results, runs) == [run_dir.name]
        assert len(Results(tmp_path).rows) == 2
    assert Results(tmp_path).curve(Results(tmp_path).rows[0]) == [(9.0, 50.0)]
    with pytest.raises(ValueError, match="is a run that no table has"):
        add_runs([run_dir], results, [])
    others = planned("named-entities", Arm("", ("elmo=none", "learning_rate=1")))
    with pytest.raises(ValueError, match=r"holds a run with other settings \(training.learning_rate\); move it"):
        add_runs([run_dir], results, [replace(run, name=runs[0].name) for run in others[:1]])
    log = run_dir / "metrics.jsonl"
    log.write_text(log.read_text().splitlines()[0] + "\n")
    with pytest.raises(ValueError, match="has not ended; continue it with `elmokit train --resume"):
        add_runs([run_dir], results, runs)


WORDS = {"1": ["good", "fine", "glad"], "0": ["bad", "sad", "dull"]}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Sentences whose last word decides the label, in files with the names of the data sets."""
    folder = tmp_path / "data" / "tasks" / "sst"
    folder.mkdir(parents=True)
    rows = "".join(f"the film was very {word}\t{label}\n" for label in WORDS for word in WORDS[label])
    for name, copies in (("train", 4), ("dev", 2), ("test", 2)):
        (folder / f"{name}.tsv").write_text(f"text\tlabel\n{copies * rows}")
    (tmp_path / "data" / "vectors.txt").write_text(
        "".join(f"{word} {len(word)} 1\n" for word in [*WORDS["0"], *WORDS["1"]])
    )
    return tmp_path / "data"


def test_a_run_is_trained_once_with_the_outcomes_of_its_test_items(data: Path, monkeypatch: Any):
    small = ("elmo=none", "max_epochs=2", "projection_dim=4", "encoder_dim=4", "integrator_dim=4", "maxout_dims=[4, 4]")
    experiment = Experiment(("sentiment",), (Arm("no ELMo", small),), FIXED_EPOCHS, ("mini-en",), tests=True)
    monkeypatch.setitem(EXPERIMENTS, "table1", (experiment,))
    monkeypatch.setitem(DATASETS, "sentiment", replace(DATASETS["sentiment"], test_set="test.tsv"))
    setup = Setup(data, Scale("cpu", 1, {"sentiment": "vectors.txt"}))
    runs, folder = setup.runs(["table1"]), data / "runs"
    assert missing_runs(runs, [], folder) == runs
    train_runs(runs, folder)
    assert missing_runs(runs, [], folder) == []
    results = Results(data)
    add_runs([folder / runs[0].name], results, runs)
    dev, test = Results(data).rows
    items = Results(data).run_items(test)
    assert items is not None and len(items.counts) == test.corpus_size == 12
    assert 100 * items.counts[:, 0].sum() / 12 == pytest.approx(test.value)
    assert missing_runs(runs, results.rows, data / "elsewhere") == []
    (folder / runs[0].name / ITEMS_NAME).unlink()
    measure_items(folder / runs[0].name)
    assert (folder / runs[0].name / ITEMS_NAME).exists() and dev.split == "dev"


EMPTY_CELLS = 6 * "\t_"
TREEBANK = [[("canis", "NOUN"), ("currit", "VERB")], [("ille", "PRON"), ("canis", "NOUN"), ("dormit", "VERB")]]


def test_runs_of_train_tags_are_rows_by_what_they_read_with_the_outcomes_of_sentences(tmp_path: Path, monkeypatch: Any):
    write_native(tmp_path / "biLM-2M", to_weights(random_bilm()))
    (tmp_path / "ittb").mkdir()
    lines = [
        "".join(f"{at}\t{word}\t_\t{tag}{EMPTY_CELLS}\n" for at, (word, tag) in enumerate(each, 1)) for each in TREEBANK
    ]
    for name in ("train", "dev", "test"):
        (tmp_path / "ittb" / f"{name}.conllu").write_text("\n".join(lines * 3))
    (tmp_path / "vectors.vec").write_text("canis 1 0\ncurrit 0 1\n")
    fast, model = [f"word_vectors={tmp_path / 'vectors.vec'}"], [f"elmo.model={tmp_path / 'biLM-2M'}"]
    arms = {"none": ["elmo=none"], "fastText": ["elmo=none", *fast], "biLM": model, "both": [*model, *fast]}
    small = ["max_epochs=1", "min_epoch_steps=0", "max_train_examples=4", "first_dim=4", "second_dim=4"]
    for arm, settings in arms.items():
        config = task_recipe("tags", "cpu", [*settings, *small])
        train_task("tags", tmp_path / "ittb", run_dir=tmp_path / "runs" / arm, config=config, test=True)
    monkeypatch.setattr("paper.__main__.Results", lambda: Results(tmp_path))
    assert (
        main(["add", *(str(tmp_path / "runs" / arm) for arm in arms), "--corpus-size", "2000000", "--data", "ITTB"])
        == 0
    )
    results = Results(tmp_path)
    rows = results.select("latin", task="tags", split="test.conllu", metric="accuracy")
    assert {(row.arm, row.corpus_size, row.train_size, row.data) for row in rows} == {
        (arm, None if arm == "none" else 2_000_000, 4, "ITTB") for arm in arms
    }
    assert len(results.select("latin", metric="accuracy_unknown")) == 4
    for row in rows:
        items = results.run_items(row)
        assert items is not None and len(items.counts) == 6
        assert row.value == pytest.approx(100 * items.counts[:, 0].sum() / items.counts[:, 1].sum())


@pytest.mark.parametrize(
    ("vectors", "model", "arm"),
    [("", "fasttext-la.npy", "fastText"), ("", "mlm.npy", "mlm"), ("la.vec", "mlm.npy", "fastText, mlm")],
)
def test_vectors_of_another_system_are_an_arm_of_their_own(vectors: str, model: str, arm: str):
    record = TaskRecord(
        "tags",
        model=TagsConfig(),
        inputs=InputConfig(word_vectors=vectors, elmo=ElmoInput(model=model)),
        training=TrainingConfig(seed=2, patience=3),
        elmo_fingerprint="0123456789",
        symbols=[],
        files=Splits(Path("la/ittb/train.conllu")),  # pyright: ignore[reportArgumentType]
        examples={"train": {"examples": 9}, "dev": {"examples": 5}},
        other_vectors=True,
    )
    done = Line(epoch=1, best_epoch=1, dev={"accuracy": 50.0}, result=True)
    (row,) = tag_results(TaskRun("x", "x", record, None, done), data="", corpus_size=7)
    assert (row.arm, row.data, row.corpus_size, row.run) == (arm, "ittb", 7, f"tags-ittb-{arm}-7-01234567-9-2")


def test_the_command_lists_what_is_missing_and_names_missing_data(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    arguments = ["--data", str(tmp_path), "--results", str(tmp_path / "runs"), "--dry-run"]
    assert main(["train", "table2", "--task", "semantic-roles", "--seeds", "1", *arguments]) == 2
    said = capsys.readouterr()
    assert "semantic-roles-cpu-cpu-converged-elmo-fafd1334-layers.top-0" in said.out
    assert "there is no such folder" in said.err
    assert main(["train", "gamma", "--task", "sentiment", *arguments]) == 2
    assert "gamma need no run of sentiment" in capsys.readouterr().err
    assert train.Setup(seeds=0).runs(["table1"]) == [] and Training("cpu-cnn").name == "cpu-cnn"
