"""A run that is paused, lengthened and cooled says so: in its config, its card and its report."""

import json
import re
import shutil
from pathlib import Path

import pytest

from elmokit.formats.convert import convert
from elmokit.pretraining.checkpoints import checkpoints
from elmokit.pretraining.config import with_settings
from elmokit.pretraining.recipes import recipe
from elmokit.pretraining.run_folder import Change, read_record, with_change
from elmokit.pretraining.train import Run, pretrain, resume_pretraining
from elmokit.report.report import write_report
from elmokit.text import vocabulary as vocabulary_file
from elmokit.text.vocabulary import Vocabulary
from toy_run import pretrain_toy, toy_config, write_text

TEXT = "the boat lay by the bank of the river\nshe put the money in the bank\n"
FAST = ("num_steps=4", "checkpoint_every=2", "log_every=1", "keep_checkpoints=1")
TWICE = (
    Change(4, 160, {"num_steps": 4}, {"num_steps": 6}),
    Change(6, 240, {"num_steps": 6, "schedule": "cosine"}, {"num_steps": 8, "schedule": "linear"}),
)


@pytest.fixture(scope="module")
def short(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of four steps."""
    return pretrain_toy(tmp_path_factory.mktemp("short") / "run", *FAST, text=TEXT)


@pytest.fixture
def run(short: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(short, tmp_path / "run"))


def test_every_change_stands_in_config_card_and_report_and_a_users_card_stays(run: Path, tmp_path: Path) -> None:
    before = (run / "README.md").read_text()
    resume_pretraining(run)
    assert read_record(run).changes == () and (run / "README.md").read_text() == before
    resume_pretraining(run, ["num_steps=6"])
    resume_pretraining(run, ["num_steps=8", "schedule=linear"])
    assert read_record(run).changes == TWICE
    assert json.loads((run / "config.json").read_text())["pretraining"]["changes"][0]["after"] == {"num_steps": 6}
    card = (run / "README.md").read_text()
    assert "has trained for 8 steps" in card
    assert "step 4: num\\_steps 4 -\\> 6; step 6: num\\_steps 6 -\\> 8, schedule cosine -\\> linear." in card
    write_report([run], tmp_path / "report")
    page = (tmp_path / "report" / "training.md").read_text()
    assert "- run, step 6: num\\_steps 6 -\\> 8, schedule cosine -\\> linear" in page
    picture = (tmp_path / "report" / "training-curve.svg").read_text()
    assert picture.count("stroke-dasharray: 1,1.65") == 2
    (run / "README.md").write_text("# Mine\n")
    resume_pretraining(run, ["num_steps=9"])
    assert (run / "README.md").read_text() == "# Mine\n" and len(read_record(run).changes) == 3


def test_a_change_whose_checkpoint_was_lost_holds_from_the_step_where_the_run_continues() -> None:
    old = recipe("tiny")
    new = with_settings(old, ["learning_rate=0.5"])
    known = with_change(TWICE, old, new, step=5, num_tokens=200)
    assert [(change.step, change.num_tokens) for change in known] == [(4, 160), (5, 200), (5, 200)]
    assert (known[2].before, known[2].after) == ({"learning_rate": 0.02}, {"learning_rate": 0.5})
    assert with_change((), old, old, step=5, num_tokens=200) == ()


def test_settings_that_are_damaged_are_refused_with_the_name_of_their_file(run: Path) -> None:
    whole = json.loads((run / "config.json").read_text())
    change = {"step": 4, "num_tokens": 160, "before": {"num_steps": 4}, "after": {"num_steps": 6}}
    for name, value, message in (
        ("changes", [change | {"before": {}}], r"pretraining.changes\[0\]: before has other settings"),
        ("shard_bytes", [], "field pretraining.shard_bytes: has 0 entries; expected 1, one for"),
    ):
        damaged = whole | {"pretraining": whole["pretraining"] | {name: value}}
        (run / "config.json").write_text(json.dumps(damaged))
        with pytest.raises(ValueError, match=f"^{re.escape(str(run))}/config.json: {message}"):
            read_record(run)


def test_checkpoints_to_keep_stay_for_good(tmp_path: Path) -> None:
    run = pretrain_toy(tmp_path / "run", *FAST, "num_steps=10", "keep_every=4")
    assert [path.name for path in checkpoints(run)] == ["step-00000010", "step-00000008", "step-00000004"]


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("num_steps=3", "num_steps is 3; .* is at step 4, so expected at least that"),
        ("patience=1", "patience counts evaluations; give held-out text"),
        ("evaluate_sentences=5", "a resumed run keeps its model, .*, evaluate_sentences"),
        ("seed=1763840000123456789", "seed"),
    ],
)
def test_changes_that_cannot_be_are_refused_and_change_nothing(run: Path, setting: str, message: str) -> None:
    before = (run / "config.json").read_bytes()
    with pytest.raises(ValueError, match=message):
        resume_pretraining(run, [setting])
    assert (run / "config.json").read_bytes() == before


def test_a_model_is_not_a_run_that_could_start_again(short: Path, tmp_path: Path) -> None:
    model = tmp_path / "model"
    convert(short, model, to="native")
    before = (model / "model.safetensors").read_bytes()
    for from_start in (False, True):
        with pytest.raises(ValueError, match=r"model is a model and not a run: .*elmokit finetune"):
            resume_pretraining(model, from_start=from_start)
    assert (model / "model.safetensors").read_bytes() == before


def test_a_vocabulary_of_another_text_and_tokens_that_are_too_long_are_warned_of(tmp_path: Path) -> None:
    shard, vocabulary = write_text(tmp_path, TEXT)
    Vocabulary(["<S>", "</S>", "<UNK>", "강", "은행"]).write(vocabulary)
    with pytest.warns(UserWarning, match="100% of the first 16 tokens are not in the vocabulary") as given:
        pretrain([shard], vocabulary_path=vocabulary, run_dir=tmp_path / "run", config=toy_config("num_steps=1"))
    assert given[0].filename == __file__
    with pytest.warns(UserWarning, match="31% of the first 16 tokens are longer than the 3 bytes that the model reads"):
        pretrain_toy(tmp_path / "other", "max_characters_per_token=5", "num_steps=1", text=TEXT)


def test_a_vocabulary_that_is_not_sorted_is_warned_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vocabulary_file, "LEAST_TO_JUDGE", (500, 1_000))
    monkeypatch.setattr(Run, "train", lambda self, on_step: None)
    words = [f"w{rank * 7919 % 600:03}" for rank in range(600)]  # most frequent first, their spellings in any order
    (tmp_path / "shard.txt").write_text("".join(" ".join(words[: 600 // n]) + "\n" for n in range(1, 40)))
    settings = ("num_steps=1", "warmup_steps=0", "num_negatives=64", "softmax=full", "zipf_bias=false")

    def begin(name: str, setting: str, tokens: list[str]) -> None:
        Vocabulary(["<S>", "</S>", "<UNK>", *tokens]).write(tmp_path / "vocabulary.txt")
        files = {"vocabulary_path": tmp_path / "vocabulary.txt", "run_dir": tmp_path / name}
        pretrain([tmp_path / "shard.txt"], config=toy_config(*settings, setting), **files)

    begin("sorted", "softmax=sampled", words)
    begin("full", "softmax=full", sorted(words))
    for setting in ("softmax=sampled", "zipf_bias=true"):
        with pytest.warns(UserWarning, match="^the vocabulary does not seem to be sorted by falling"):
            begin(setting, setting, sorted(words))
