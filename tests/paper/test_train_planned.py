"""Plans carried out on toy data: trained once, resumed, measured, and refused where a folder holds something else."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

from elmokit.elmo.elmo import Elmo
from elmokit.pretraining.config import with_settings
from elmokit.pretraining.recipes import recipe
from elmokit.pretraining.train import pretrain
from elmokit.runs.logged_runs import read_runs, write_runs
from elmokit.text.vocabulary import Vocabulary
from paper import carry_out, scales, table1, table7
from paper.carry_out import Training, missing_runs, plan_runs, train_for
from paper.comparisons import comparisons_among
from paper.families import usual_runs
from paper.planned_runs import PlannedModel, PlannedRun, Setup
from paper.reproduction import OurRow, Reproduction
from paper.results import read_results
from paper.scales import Scale
from paper.train_planned import is_finished, not_finished_elsewhere, train_planned

WORDS = {"1": ["good", "fine", "glad"], "0": ["bad", "sad", "dull"]}
OTHERS = ["the", "film", "was", "very"]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sentences in which one word tells the label, under the names of the data sets."""
    folder = tmp_path_factory.mktemp("data")
    randomness = random.Random(0)
    (folder / "tasks" / "sst").mkdir(parents=True)
    for name, number in (("train", 24), ("dev", 12), ("test", 12)):
        rows = ["text\tlabel"]
        for _ in range(number):
            label = randomness.choice("01")
            rows.append(
                f"the film was {' '.join(randomness.choices(OTHERS, k=2))} {randomness.choice(WORDS[label])}\t{label}"
            )
        (folder / "tasks" / "sst" / f"{name}.tsv").write_text("\n".join(rows) + "\n")
    words = [*OTHERS, *WORDS["0"], *WORDS["1"]]
    vectors = [f"{word} {' '.join(f'{randomness.gauss(0, 1):.3f}' for _ in range(4))}" for word in words]
    (folder / "vectors.txt").write_text("\n".join(vectors) + "\n")
    return folder


@pytest.fixture(scope="module")
def model(data: Path) -> Path:
    text, vocabulary = data / "text.txt", data / "vocabulary.txt"
    text.write_text("the film was very good\nthe film was dull\n" * 4)
    Vocabulary(["<S>", "</S>", "<UNK>", *OTHERS, *WORDS["0"], *WORDS["1"]]).write(vocabulary)
    config = with_settings(recipe("tiny"), ["precision=float32", "num_steps=3", "lstm_dim=16", "projection_dim=8"])
    return pretrain([text], vocabulary_path=vocabulary, run_dir=data / "model", config=config)


SMALL = ("max_epochs=2", "projection_dim=4", "encoder_dim=4", "integrator_dim=4", "maxout_dims=[4, 4]")
TOY = Scale("toy", "cpu", 1, {"sentiment": "vectors.txt"}, {"sentiment": SMALL})


@pytest.fixture
def setup(data: Path, model: Path) -> Setup:
    fingerprint = Elmo.from_pretrained(model).fingerprint()[:8]
    return Setup(TOY, data, str(model), fingerprint, (0,))


def plan(setup: Setup) -> list[PlannedRun]:
    tuned = PlannedModel("finetuned", setup.model, setup.fingerprint, "sentiment", setup.data("sentiment"))
    random = PlannedModel("random", setup.model, setup.fingerprint)
    none, elmo = setup.runs("sentiment", "elmo=none", tests=True), setup.runs("sentiment", tests=True)
    return [*none, *elmo, *setup.runs("sentiment", model=tuned), *setup.runs("sentiment", model=random)]


@pytest.fixture
def training(monkeypatch: pytest.MonkeyPatch, data: Path, model: Path, tmp_path: Path) -> Training:
    def find(name: str) -> Reproduction:
        rows: list[OurRow] = []
        return Reproduction(name, table1.TABLE_1, reads="runs", measure=lambda paths: rows, plan=plan)

    monkeypatch.setitem(scales.SCALES, "toy", TOY)
    monkeypatch.setattr(carry_out, "find_reproduction", find)
    return Training(data, tmp_path / "runs", scale="toy", model=str(model), device="cpu")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*softmax:UserWarning")  # the toy vocabulary is smaller than the negatives
def test_what_tables_need_is_trained_once_and_measured(training: Training):
    runs = plan_runs(["table1", "table7"], training)
    assert missing_runs(runs, training) == runs and len(runs) == 4
    (folder,) = train_for(["table1"], training)
    assert missing_runs(runs, training) == []
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*.safetensors")}
    assert train_for(["table7"], training) == [folder]
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*.safetensors")} == before

    assert table1.our_rows([folder]) == []  # the paper has no sentiment of two classes
    intervals, _, ensembles, controls, others = table1.details([folder])
    assert len(intervals.rows) == len(controls.rows) == 1 and not ensembles.rows and not others.rows
    (measured,) = read_results([folder], "table7")
    assert measured.text("data") == "sst" and measured.fields("before").number("mean") > 1
    (perplexities,) = table7.our_rows([folder])
    assert perplexities.row == "SST" and all(cell is not None for cell in perplexities.cells)
    directions, scores, _, printed = table7.details([folder])
    assert len(directions.rows) == len(scores.rows) == len(printed.rows) == 1


def test_a_run_that_was_trained_without_its_test_scores_gets_them_when_they_are_needed(setup: Setup, tmp_path: Path):
    (run,) = setup.runs("sentiment", "elmo=none")
    train_planned([run], tmp_path)
    assert is_finished(run, tmp_path) and not is_finished(replace(run, scores_tests=True), tmp_path)
    train_planned([replace(run, scores_tests=True)], tmp_path)
    assert is_finished(replace(run, scores_tests=True), tmp_path)


def test_some_tasks_alone_are_planned(data: Path, model: Path, tmp_path: Path):
    training = Training(data, tmp_path, scale="small", model=str(model))
    everything = plan_runs(["table2"], training)
    some = plan_runs(["table2"], replace(training, tasks=("semantic-roles", "named-entities")))
    assert some == [run for run in everything if run.task in ("semantic-roles", "named-entities")]
    assert 0 < len(some) < len(everything)
    assert plan_runs(["table2"], replace(training, tasks=("srl", "NER"))) == some
    with pytest.raises(ValueError, match="no run of sentiment is needed for figure1; the runs are of named-entities, "):
        plan_runs(["figure1"], replace(training, tasks=("sst", "srl")))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*softmax:UserWarning")
def test_what_was_trained_elsewhere_is_not_trained_again(training: Training, tmp_path: Path):
    none, elmo, *others = plan_runs(["table1"], training)
    log = tmp_path / "logs" / "runs.jsonl"
    log.parent.mkdir()
    train_planned([none], tmp_path / "elsewhere")
    write_runs(read_runs([tmp_path / "elsewhere"]), log)
    train_planned([replace(others[0], scores_tests=False)], tmp_path / "without tests")

    training = replace(training, finished=(log, tmp_path / "without tests"))
    wanted = replace(others[0], scores_tests=True)  # its test scores are not there
    assert missing_runs([none, elmo, wanted], training) == [elmo, wanted]

    assert train_for(["table1"], training) == [training.runs_dir, *training.finished]
    assert not (training.runs_dir / none.name).exists() and (training.runs_dir / elmo.name).is_dir()
    (compared,) = comparisons_among(usual_runs(read_runs([training.runs_dir, log]))).comparisons
    assert [run.name for run in (*compared.baseline.runs, *compared.elmo.runs)] == [none.name, elmo.name]

    everything = replace(training, finished=(*training.finished, training.runs_dir), runs_dir=tmp_path / "nothing")
    assert train_for(["table1"], everything) == list(everything.finished) and not everything.runs_dir.exists()


def test_a_run_of_other_settings_that_was_trained_elsewhere_is_refused(setup: Setup, tmp_path: Path):
    (run,) = setup.runs("sentiment", "elmo=none", "max_epochs=1")
    train_planned([run], tmp_path)
    other = replace(run, config=setup.runs("sentiment", "elmo=none", "max_epochs=1", "learning_rate=1")[0].config)
    with pytest.raises(ValueError, match=r"holds a run with other settings \(training.learning_rate\)"):
        not_finished_elsewhere([other], [tmp_path])


def test_a_folder_with_a_run_of_other_settings_is_refused(setup: Setup, tmp_path: Path):
    (run,) = setup.runs("sentiment", "elmo=none", "max_epochs=1")
    train_planned([run], tmp_path)
    other = replace(run, config=setup.runs("sentiment", "elmo=none", "max_epochs=1", "learning_rate=1")[0].config)
    with pytest.raises(ValueError, match=r"holds a run with other settings \(training.learning_rate\); move it away"):
        train_planned([other], tmp_path)


def test_a_run_that_diverges_is_left_out_and_named(setup: Setup, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (run,) = setup.runs("sentiment", "elmo=none", "learning_rate=1e30", "clip_norm=0")
    assert train_planned([run], tmp_path) == []
    assert f"{run.name} has diverged" in capsys.readouterr().err
    assert is_finished(run, tmp_path) and train_planned([run], tmp_path) == []
    assert capsys.readouterr().err == ""  # it is not trained again
    assert comparisons_among(read_runs([tmp_path])).notes[0] == f"{tmp_path / run.name} has diverged"


def test_numbers_of_jobs_and_seeds_are_checked(tmp_path: Path):
    with pytest.raises(ValueError, match="0 jobs; expected at least 1"):
        Training(tmp_path, tmp_path, jobs=0)
    with pytest.raises(ValueError, match="0 seeds; expected at least 1"):
        Training(tmp_path, tmp_path, seeds=0)
    with pytest.raises(ValueError, match="sentimental"):
        Training(tmp_path, tmp_path, tasks=("sentimental",))
