"""Several processes train what one process trains: the same losses, the same weights, and resumed by any number."""

import json
import shutil
import socket
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from elmokit.cli.main import main
from elmokit.files.locks import lock
from elmokit.pretraining.ranks import Ranks, join_ranks
from elmokit.pretraining.train import resume_pretraining
from toy_run import SENTENCES, write_text

SETTINGS = (
    *("precision=float64", "softmax=sampled", "num_negatives=6", "reset_state=false", "dropout_rate=0"),
    *("batch_size=4", "bptt_steps=5", "num_steps=4", "checkpoint_every=2", "log_every=1", "evaluate_every=2"),
    *("lstm_dim=12", "projection_dim=8", "filters=[[1,4],[2,4]]", "optimizer=muon", "accumulate=2"),
)

PROCESS = """
import os, sys
from elmokit.cli.main import main
from elmokit.pretraining import before_training

if os.environ["RANK"] == "1":
    assert callable(before_training._read_text)
    before_training._read_text = None  # only the first process reads the whole corpus
sys.exit(main(sys.argv))
"""


def run_together(folder: Path, forks: Any, *arguments: object) -> tuple[list[int], str]:
    """Run `pretrain` in two forks, as torchrun starts processes; returns the exit codes and the second's stderr."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        group = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free.getsockname()[1])}
    said = [folder / f"stderr-{rank}" for rank in range(2)]
    start = partial(forks.start, "pretrain", *arguments, script=PROCESS, **group)
    processes = [start(stderr=path, RANK=path.name[-1]) for path in said]
    return [forks.wait(process) for process in processes], said[1].read_text()


def losses(run: Path) -> list[tuple[int, list[float]]]:
    lines = map(json.loads, (run / "metrics.jsonl").read_text().splitlines())
    return [(line["step"], line["losses"]) for line in lines if "losses" in line]


def assert_same_losses(run: Path, other: Path) -> None:
    expected = [(step, pytest.approx(both, abs=1e-9)) for step, both in losses(other)]
    assert losses(run) == expected and len(expected) == 4


@pytest.fixture(scope="module")
def begin(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The arguments of every run, except its folder."""
    shard, vocabulary = write_text(tmp_path_factory.mktemp("text"), SENTENCES * 8)
    files = [shard, "--vocabulary", vocabulary, "--recipe", "tiny", "--held-out", shard, "--device", "cpu"]
    return [*map(str, files), "--set", *SETTINGS]


@pytest.fixture(scope="module")
def alone(begin: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run of a single process."""
    run = tmp_path_factory.mktemp("alone") / "run"
    assert main(["pretrain", *begin, "--run-dir", str(run)]) == 0
    return run


@pytest.mark.parametrize("directions", ["separate", "stacked"])
def test_two_processes_train_what_one_trains_and_each_resumes_the_other(
    alone: Path, begin: list[str], tmp_path: Path, forks: Any, directions: str
) -> None:
    together = tmp_path / "together"
    assert run_together(tmp_path, forks, *begin, f"directions={directions}", "--run-dir", together)[0] == [0, 0]
    assert_same_losses(alone, together)
    weights, others = (load_file(run / "model.safetensors") for run in (alone, together))
    for name, tensor in weights.items():
        torch.testing.assert_close(tensor, others[name], atol=1e-9, rtol=0)

    for num_processes in (1, 2):
        halfway = tmp_path / f"resumed-by-{num_processes}"
        shutil.copytree(together, halfway)
        shutil.rmtree(halfway / "checkpoints" / "step-00000004")
        if num_processes == 1:
            resume_pretraining(halfway, device="cpu")
        else:
            assert run_together(tmp_path, forks, "--resume", halfway, "--device", "cpu")[0] == [0, 0]
        assert_same_losses(alone, halfway)
    same = (tmp_path / "resumed-by-2" / "model.safetensors").read_bytes()
    assert same == (together / "model.safetensors").read_bytes()


def test_a_run_that_another_process_trains_is_refused_by_both(alone: Path, tmp_path: Path, forks: Any) -> None:
    with lock(alone):
        codes, said = run_together(tmp_path, forks, "--resume", alone, "--device", "cpu")
    assert codes == [2, 2] and f"elmokit: error: {alone} is in use by another process" in said


def test_streams_are_shared_out_evenly_or_not_at_all() -> None:
    cpu = torch.device("cpu")
    assert [Ranks(cpu, rank, 3).share(12) for rank in range(3)] == [slice(0, 4), slice(4, 8), slice(8, 12)]
    with pytest.raises(ValueError, match="batch_size is 10, which 3 processes cannot split evenly"):
        Ranks(cpu, 0, 3).share(10)


def test_several_processes_do_not_share_apples_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(ValueError, match="2 processes cannot share Apple's GPU; give device='cpu'"):  # noqa: SIM117
        with join_ranks(torch.device("mps")):
            pytest.fail("there is no such group")
