"""The plan carried out on toy data: trained once, resumed, measured, and refused for a run of other settings."""

import lzma
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from elmokit.elmo.elmo import Elmo
from elmokit.pretraining.config import with_settings
from elmokit.pretraining.recipes import recipe
from elmokit.pretraining.train import pretrain
from elmokit.runs.logged_runs import read_runs, write_runs
from elmokit.runs.metrics_log import keep_records
from elmokit.text.vocabulary import Vocabulary
from paper import plan, table1, table7, train
from paper.ablation import Ablation
from paper.models import CURVE_RESULTS, HELD_OUT, make_model
from paper.plan import FINETUNED, RANDOM, Arm, PlannedRun, Scale, Setup
from paper.printed import TABLE_1
from paper.reproduction import find_reproduction
from paper.results import read_results
from paper.runs import read_evidence
from paper.train import Training, check_data, missing_runs, plan_runs, train_for, train_planned

WORDS = {"1": ["good", "fine", "glad"], "0": ["bad", "sad", "dull"]}
OTHERS = ["the", "film", "was", "very"]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sentences in which the last word tells the label, under the names of the data sets."""
    folder = tmp_path_factory.mktemp("data")
    (folder / "tasks" / "sst").mkdir(parents=True)
    rows = "".join(f"the film was very {word}\t{label}\n" for label in WORDS for word in WORDS[label])
    for name, copies in (("train", 4), ("dev", 2), ("test", 2)):
        (folder / "tasks" / "sst" / f"{name}.tsv").write_text(f"text\tlabel\n{copies * rows}")
    words = enumerate([*OTHERS, *WORDS["0"], *WORDS["1"]])
    (folder / "vectors.txt").write_text("".join(f"{word} {n % 2} {n % 3} {n % 5} {n % 7}\n" for n, word in words))
    return folder


@pytest.fixture(scope="module")
def setup(data: Path) -> Setup:
    text, vocabulary = data / "text.txt", data / "vocabulary.txt"
    text.write_text("the film was very good\nthe film was dull\n" * 4)
    Vocabulary(["<S>", "</S>", "<UNK>", *OTHERS, *WORDS["0"], *WORDS["1"]]).write(vocabulary)
    config = with_settings(recipe("tiny"), ["precision=float32", "num_steps=3", "lstm_dim=16", "projection_dim=8"])
    model = pretrain([text], vocabulary_path=vocabulary, run_dir=data / "model", config=config)
    fingerprint = Elmo.from_pretrained(model).fingerprint()[:8]
    return Setup(Scale("cpu", 1, {"sentiment": "vectors.txt"}), data, str(model), fingerprint, (0,))


SMALL = ("max_epochs=2", "projection_dim=4", "encoder_dim=4", "integrator_dim=4", "maxout_dims=[4, 4]")
NONE, SMALL_ELMO = Arm("no ELMo", ("elmo=none", *SMALL)), Arm("+ ELMo", SMALL)
TABLE = Ablation(
    name="table1",
    paper=TABLE_1,
    tasks=("sentiment",),
    arms=(NONE, SMALL_ELMO, *(Arm(kind, SMALL, vectors=kind) for kind in (FINETUNED, RANDOM, "MiniLM-L6"))),
    tests=True,
)


@pytest.fixture
def training(monkeypatch: pytest.MonkeyPatch, setup: Setup, tmp_path: Path) -> Training:
    monkeypatch.setitem(plan.SCALES, "cpu", setup.scale)
    pairs = (table1.Pair("", NONE, SMALL_ELMO, ("sentiment",)),)
    monkeypatch.setattr(train, "tested", lambda evidence: table1.tested(evidence, pairs))
    return Training([(TABLE.reproduction(), setup)], tmp_path / "runs")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*softmax:UserWarning")  # the toy vocabulary is smaller than the negatives
def test_what_tables_need_is_trained_once_and_measured(training: Training, setup: Setup, monkeypatch: Any):
    found = plan.DATASETS["sentiment"]
    monkeypatch.setitem(plan.DATASETS, "sentiment", replace(found, test_set="test.tsv"))
    runs = plan_runs(training)
    assert missing_runs(runs, training) == runs and len(runs) == 4  # another system's vectors are not trained
    train_for(training)
    folder = training.runs_dir
    assert missing_runs(runs, training) == []
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*.safetensors")}
    train_for(training)
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*.safetensors")} == before
    folder = folder.rename(folder.with_name("moved"))
    training = replace(training, runs_dir=folder)
    keep_records(folder / "results.jsonl", lambda record: record.text("reproduction") != "table1")
    train_for(training)  # what an interruption has left unmeasured
    (log,) = folder.glob("*-random-*/metrics.jsonl")
    log.write_text("".join(log.read_text().splitlines(keepends=True)[:-1]))  # without its result
    train_for(training)
    assert missing_runs(runs, training) == []

    evidence = read_evidence(setup, [folder])
    (name, arms), *_ = TABLE.measured(evidence).values()
    assert list(arms) == [arm.name for arm in TABLE.arms[:4]] and name.startswith("SST-5: sst, 24 training examples")
    (items,) = read_results([folder], "table1")
    assert items.read("baseline", list[str]) == [run.name for run in setup.runs("sentiment", NONE)]
    (measured,) = read_results([folder], "table7")
    assert measured.text("data") == "sst" and measured.fields("before").number("mean") > 1
    (perplexities,) = table7.our_rows(evidence)
    assert perplexities.row == "SST" and all(cell is not None for cell in perplexities.cells)


def has_history() -> bool:
    commit, _ = plan.EARLIER[plan.MODEL]
    command = ["git", "cat-file", "-e", f"{commit}^{{commit}}"]
    return subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, check=False).returncode == 0


@pytest.mark.skipif(not has_history(), reason="not a clone with its history")
def test_earlier_weights_come_out_of_the_history_and_are_measured(setup: Setup, monkeypatch: Any, tmp_path: Path):
    earlier, was = "mini-en-115", plan.EARLIER[plan.MODEL]
    monkeypatch.setitem(plan.EARLIER, earlier, was)
    (run,) = replace(setup, model=plan.MODEL, data_dir=tmp_path).runs("sentiment", Arm("", SMALL, vectors=earlier))
    with pytest.raises(FileNotFoundError, match=r"heldout\.txt\.xz: there is no such file; expected held-out text"):
        check_data([run])
    (tmp_path / "en").mkdir()
    with lzma.open(tmp_path / HELD_OUT, "wt") as file:
        file.write("he sat by the river .\n")
    assert run.model is not None

    made = make_model(run.model, tmp_path / "runs" / "models")
    assert make_model(run.model, tmp_path / "runs" / "models") == made  # what is there is not measured again
    assert Elmo(made).fingerprint().startswith(was[1])
    measured = read_results([tmp_path / "runs"], CURVE_RESULTS)
    assert [one.text("model") for one in measured] == [earlier, plan.MODEL]
    assert measured[0].number("mean") == measured[1].number("mean") > 1
    with monkeypatch.context() as patched, pytest.raises(ValueError, match=r"directory: 'git'\); install git, and run"):
        patched.setenv("PATH", "")
        make_model(run.model, tmp_path / "other")
    monkeypatch.setitem(plan.EARLIER, earlier, ("0000000", ""))
    with pytest.raises(ValueError, match=r"is in commit 0000000 of elmokit's repository, which git cannot read here"):
        make_model(run.model, tmp_path / "other")


def one_run(setup: Setup, *settings: str) -> PlannedRun:
    (run,) = setup.runs("sentiment", Arm("", ("elmo=none", "max_epochs=1", *settings)))
    return run


def test_a_run_is_trained_once_and_refused_with_other_settings(training: Training, setup: Setup, tmp_path: Path):
    run = one_run(setup)
    scored = replace(run, scores_tests=True)
    train_planned([run], training)
    write_runs(read_runs([training.runs_dir]), tmp_path / "runs.jsonl")
    elsewhere = replace(training, finished=(tmp_path / "runs.jsonl",), runs_dir=tmp_path / "none")
    other = replace(run, config=one_run(setup, "learning_rate=1").config)
    for where in (training, elsewhere):
        new = one_run(setup, "learning_rate=0.01")
        assert missing_runs([run, scored, new], where) == [scored, new]
        with pytest.raises(ValueError, match=r"holds a run with other settings \(training.learning_rate\); move it"):
            missing_runs([other], where)
    tables = [(replace(TABLE, arms=(Arm("", ("elmo=none", "max_epochs=1")),)).reproduction(), setup)]
    with pytest.raises(ValueError, match=r"runs\.jsonl, run .* has no test scores, and a second run of its name"):
        train_for(replace(elsewhere, plans=tables))
    assert not elsewhere.runs_dir.exists()  # nothing was trained
    moved = replace(scored, data=shutil.copytree(run.data, tmp_path / "moved" / run.data.name))
    (training.runs_dir / run.name / "config.json").write_text(
        text := config_of(training, run).replace("/data", "/gone")
    )
    train_planned([moved], training)  # which adds the test scores
    assert missing_runs([scored, moved], training) == [] and text != config_of(training, run)
    foreign = replace(scored, data=shutil.copytree(run.data, tmp_path / "other" / run.data.name))
    (foreign.data / "dev.tsv").write_text("text\tlabel\nthe film was bad\t0\n")
    with pytest.raises(ValueError, match=r"holds a run on .*moved/sst, not on .*other/sst; give another --results"):
        missing_runs([foreign], training)


def config_of(training: Training, run: PlannedRun) -> str:
    return (training.runs_dir / run.name / "config.json").read_text()


def test_a_run_that_diverges_is_left_out_and_named(training: Training, setup: Setup, capsys: Any):
    (run,) = setup.runs("sentiment", Arm("", ("elmo=none", "learning_rate=1e30", "clip_norm=0")))
    train_planned([run], training)
    assert f"{run.name} has diverged" in capsys.readouterr().err
    assert missing_runs([run], training) == []  # it is not trained again
    assert read_evidence(setup, [training.runs_dir]).runs == {}


def test_some_tasks_alone_are_planned(setup: Setup, tmp_path: Path):
    def planned(name: str, *tasks: str) -> list[PlannedRun]:
        return plan_runs(Training([(find_reproduction(name), setup)], tmp_path, tasks=tasks))

    everything, some = planned("table2"), planned("table2", "srl", "NER")
    assert some == [run for run in everything if run.task in ("semantic-roles", "named-entities")]
    assert 0 < len(some) < len(everything)
    with pytest.raises(ValueError, match="no run of sentiment is needed for figure1; the runs are of named-entities, "):
        planned("figure1", "sst", "srl")
