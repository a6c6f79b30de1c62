"""Fine-tuning: a model continues on a domain, stops in time, and may change its vocabulary."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from elmokit.formats.find import convert, find
from elmokit.formats.native import open_weights
from elmokit.formats.read import softmax_of
from elmokit.layers.sampled_softmax import Softmax
from elmokit.model.bilm import BiLM
from elmokit.pretraining import train
from elmokit.pretraining.finetune import finetune
from elmokit.pretraining.train import Run, pretrain, resume_pretraining
from elmokit.scoring.perplexity import perplexity
from elmokit.text.vocabulary import Vocabulary
from toy_run import pretrain_toy, toy_config, write_text

GENERAL = "the boat lay by the bank of the river\nshe put the money in the bank\n"
DOMAIN = "the court hears the case of the boat\nthe judge put the case in the court\n"


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("text")
    write_text(folder, GENERAL + DOMAIN)
    (folder / "general.txt").write_text(GENERAL)
    (folder / "domain.txt").write_text(DOMAIN)
    return folder / "general.txt", folder / "domain.txt"


@pytest.fixture(scope="module")
def model(shards: tuple[Path, Path]) -> Path:
    vocabulary, run_dir = (shards[0].with_name(name) for name in ("vocabulary.txt", "model"))
    config = toy_config("num_steps=40", "lstm_dim=48", "checkpoint_every=100")
    return pretrain([shards[0]], vocabulary_path=vocabulary, run_dir=run_dir, config=config)


FAST = [
    *("num_steps=60", "evaluate_every=20", "batch_size=4", "bptt_steps=10", "precision=float32", "warmup_steps=5"),
    "softmax=full",
]
UNCHANGED = ("num_steps=1", "learning_rate=1e-30", "warmup_steps=0")
Tune = Callable[..., Path]


@pytest.fixture
def tune(model: Path, shards: tuple[Path, Path], tmp_path: Path) -> Tune:
    """Continues the model on the domain: `tune(*settings, **given)`."""

    def begin(*settings: str, **given: Any) -> Path:
        return finetune(str(model), [shards[1]], run_dir=tmp_path / "run", settings=[*FAST, *settings], **given)

    return begin


def killed(*arguments: object) -> None:
    raise KeyboardInterrupt


def evaluated(run: Path) -> dict[int, float]:
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    return {line["step"]: line["heldout"]["mean"] for line in lines if "heldout" in line}


@pytest.mark.learnt
@pytest.mark.parametrize("held_out", [0, 1])
def test_learns_a_domain_stops_when_patience_ends_and_keeps_the_best(
    model: Path, shards: tuple[Path, Path], tune: Tune, capsys: Any, held_out: int
) -> None:
    text = [shards[held_out]]
    run = tune("num_steps=30", "evaluate_every=5", "patience=2", "learning_rate=0.01", held_out=text)
    summary = capsys.readouterr().err.splitlines()[-1]
    measured = evaluated(run)
    best_step, best = min(measured.items(), key=lambda pair: pair[1])
    assert (best_step == 0) == (held_out == 0)  # the model forgets the general text that it knew
    assert measured[0] == pytest.approx(perplexity(str(model), text).mean, rel=1e-6)
    assert perplexity(str(run / "best"), text).mean == pytest.approx(best, rel=1e-6)
    assert {path.name for path in (run / "best").iterdir()} == {"config.json", "model.safetensors", "vocabulary.txt"}
    if best_step == 0:
        assert list(measured) == [0, 5, 10]
        last = f"; the last weights have {measured[10]:.1f}: {run}"
        never = f"held-out perplexity {best:.1f} at the start, never lower; weights of the start: {run}/best"
        assert summary == never + last
    else:
        assert best < measured[0] / 4  # usually a sixtieth
        assert summary.startswith(f"held-out perplexity {measured[0]:.1f} -> {best:.1f} (step {best_step}): {run}/best")
    record = json.loads((run / "config.json").read_text())
    assert record["pretraining"]["started_from"] == str(model)
    assert record["bilm"] == json.loads((model / "config.json").read_text())["bilm"]
    size = (run / "metrics.jsonl").stat().st_size
    resume_pretraining(run)  # a resumed run knows that it has ended
    assert (run / "metrics.jsonl").stat().st_size == size


def test_a_start_that_was_killed_is_made_or_continued(model: Path, shards: Any, tune: Tune, tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(train, "create_run", killed)
        tune("num_steps=3")
    with pytest.raises(FileNotFoundError, match="is not a run folder"):
        resume_pretraining(tmp_path / "run")
    with pytest.MonkeyPatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Run, "_advance", killed)
        tune(*UNCHANGED, held_out=[shards[0]])
    resume_pretraining(tmp_path / "run")
    assert (tmp_path / "run" / "metrics.jsonl").read_text().count('"heldout"') == 2
    assert list(evaluated(tmp_path / "run")) == [0, 1]
    before = perplexity(str(model), list(shards)).mean  # it starts from the model, not from random weights
    last = tmp_path / "run" / "model.safetensors"
    assert perplexity(str(last), list(shards)).mean == pytest.approx(before, rel=1e-6)


@pytest.mark.parametrize(
    ("num_lines", "given", "every"), [(2, [], 20), (120, [], 27), (2, ["evaluate_every=50"], 50), (999, [], 200)]
)
def test_held_out_text_is_measured_at_least_once_per_pass(
    model: Path, tmp_path: Path, monkeypatch: Any, num_lines: int, given: list[str], every: int
) -> None:
    monkeypatch.setattr(Run, "train", lambda self, on_step: None)
    domain = tmp_path / "domain.txt"
    domain.write_text("the judge put the case in the court\n" * num_lines)  # 9 predictions each
    settings = ["batch_size=4", "bptt_steps=10", "softmax=full", "precision=float32", *given]
    run = finetune(model, [domain], run_dir=tmp_path / "run", settings=settings, held_out=[model / "vocabulary.txt"])
    assert json.loads((run / "config.json").read_text())["pretraining"]["evaluate_every"] == every


def test_a_loss_worse_than_guessing_does_not_end_it(tune: Tune, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(train, "WORSE_THAN_GUESSING", -100)
    assert (tune(*UNCHANGED) / "model.safetensors").exists()
    with pytest.raises(train.DivergenceError, match="step 0: a loss is .* nats"):  # a new run ends with an error
        pretrain_toy(tmp_path / "new")


def _parts(folder: Path) -> tuple[BiLM, Softmax, Vocabulary]:
    stored = open_weights(find(folder), with_softmax=True)
    softmax = softmax_of(stored)
    assert softmax is not None and stored.vocabulary is not None
    return BiLM.from_weights(stored), softmax, stored.vocabulary


def test_a_new_vocabulary_keeps_the_encoder_and_the_rows_it_knows(model: Path, tune: Tune, tmp_path: Path) -> None:
    own = tmp_path / "domain-vocab.txt"
    Vocabulary(["<S>", "</S>", "<UNK>", "the", "court", "gavel"]).write(own)
    bilm, softmax, vocabulary = _parts(model)
    run = tune(*UNCHANGED, vocabulary_path=own)
    new_bilm, new_softmax, new_vocabulary = _parts(run)
    assert len(new_softmax.bias) == 6
    for name, tensor in bilm.state_dict().items():
        torch.testing.assert_close(new_bilm.state_dict()[name], tensor)
    for token in ("the", "court"):
        row, old_row = new_vocabulary.id(token), vocabulary.id(token)
        torch.testing.assert_close(new_softmax.weight[row], softmax.weight[old_row])
        torch.testing.assert_close(new_softmax.bias[row], softmax.bias[old_row])
    assert not torch.equal(new_softmax.weight[5], softmax.weight[vocabulary.unknown_id])


def test_a_model_keeps_its_sizes_and_without_softmax_asks_for_a_vocabulary(
    model: Path, shards: tuple[Path, Path], tune: Tune, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match="keeps its sizes"):
        tune("lstm_dim=64")
    convert(model, tmp_path / "bare", to="native", include_softmax=False)
    with pytest.raises(ValueError, match="has no softmax, so there is no softmax to continue; give --vocabulary"):
        finetune(str(tmp_path / "bare"), [shards[1]], run_dir=tmp_path / "run")
    assert not (tmp_path / "run").exists()
    own = tmp_path / "domain-vocab.txt"
    Vocabulary(["<S>", "</S>", "<UNK>", "the", "court"]).write(own)
    settings = [*FAST, "num_steps=1"]
    finetune(str(tmp_path / "bare"), [shards[1]], run_dir=tmp_path / "run", settings=settings, vocabulary_path=own)
