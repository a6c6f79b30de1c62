"""A little of tests/fuzz/attack.py: nothing that is attacked may end otherwise than whole or refused in one line."""

from __future__ import annotations

import faulthandler
import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import attack
from attack import main
from attacks import mutations
from attacks.limited_child import Call, Ending, Limits, RefusedError, WrongError, run_limited
from attacks.outcome import Attempt, Outcome, Part, Result, read_results, write_results
from attacks.writing_verbs import verbs_not_attacked
from unmeasured import unmeasured_environment

ATTACK = Path(__file__).with_name("attack.py")


@pytest.mark.slow
@pytest.mark.parametrize("part", attack.PARTS)
@pytest.mark.skipif(sys.platform != "linux", reason="memory is limited as Linux does it")
def test_a_little_of_each_attack_finds_nothing(part: str, tmp_path: Path):
    output = tmp_path / "attack.json"
    command = [sys.executable, str(ATTACK), "small", part, "--output", str(output)]
    done = subprocess.run(command, env=unmeasured_environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (result,) = read_results(output)
    assert result.part == part and sum(sum(outcomes.values()) for outcomes in result.counts.values()) > 0


def one_and_then_killed(seed: int, numbers: range) -> Iterator[Attempt]:
    for number in numbers:
        if number == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        yield Attempt(f"number {number}", Outcome.OK)


@pytest.mark.timeout(60)
def test_a_process_that_is_killed_ends_the_part_and_is_not_waited_for(monkeypatch: pytest.MonkeyPatch):
    part = Part("toy", "", one_and_then_killed, count=6, small_count=1)
    seen: list[str] = []
    with pytest.raises(RuntimeError, match="1 of 2 processes of toy failed"):
        for attempt in attack._in_jobs(part, 0, range(6), jobs=2):
            seen.append(attempt.target)
    assert sorted(seen) == ["number 0", "number 1", "number 2", "number 4"]


def test_an_unknown_part_is_refused(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(os, "environ", dict(os.environ))  # which `main` changes
    with pytest.raises(SystemExit):
        main(["small", "text", "lies"])
    assert "no part 'lies'; expected some of mutants, text, determinism" in capsys.readouterr().err


def test_no_attempts_are_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    part = Part("text", "", one_and_then_killed, count=6, small_count=1)
    monkeypatch.setattr(attack, "part_named", lambda _: part)
    monkeypatch.setattr(os, "environ", dict(os.environ))  # which `main` changes
    assert main(["text", "--count", "0", "--output", str(tmp_path / "none.json")]) == 0
    assert all(not outcomes for result in read_results(tmp_path / "none.json") for outcomes in result.counts.values())


def hang() -> None:
    while True:
        pass


def kill_itself() -> None:
    faulthandler.disable()  # its report would look as if the tests had been aborted
    os.abort()


def raise_(error: BaseException) -> Call:
    def run() -> None:
        raise error

    return Call(run)


@pytest.mark.skipif(sys.platform != "linux", reason="memory is limited as Linux does it")
def test_every_ending_of_a_call_is_told_apart_and_the_calls_after_it_run():
    calls = [
        Call(lambda: None),
        raise_(ValueError("no")),
        raise_(RefusedError("no")),
        raise_(WrongError("other bits")),
        raise_(KeyError("x")),
        Call(kill_itself),
        Call(hang),
        Call(lambda: bytearray(1 << 40)),
        Call(lambda: bytearray(50 << 20)),
    ]
    endings = list(run_limited(calls, Limits(seconds=1.0)))
    assert [ending.outcome for ending in endings] == [
        Outcome.OK,
        Outcome.REFUSED,
        Outcome.REFUSED,
        Outcome.WRONG,
        Outcome.TRACEBACK,
        Outcome.CRASH,
        Outcome.HANG,
        Outcome.MEMORY,
        Outcome.OK,
    ]
    assert endings[5] == Ending(Outcome.CRASH, "SIGABRT")
    assert 45 << 20 <= endings[8].memory < 60 << 20 and endings[0].memory < 1 << 20


@pytest.mark.parametrize(
    ("inside", "name"),
    [(mutations._torch, "many_langs/word_only/encoder.pkl"), (mutations._hdf5, "checkpoints/char.dumped.hdf5")],
)
def test_files_whose_tensors_share_their_numbers_are_made(inside: mutations.Way, name: str):
    content = (Path(__file__).parents[1] / "fixtures" / "formats" / name).read_bytes()
    assert mutations._INSIDE_OF[mutations._kind(content)] is inside
    assert len({inside(content, random.Random(seed)) for seed in range(5)} - {content}) > 1


def result(part: str, seed: int, **counts: int) -> Result:
    command = f"attack {seed}"
    return Result(part, [command], "machine", "1.0", 2.0, {"model": counts}, {"seconds": seed}, [])


def test_results_of_several_runs_add_up_by_part(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    paths = [tmp_path / "1.json", tmp_path / "2.json", tmp_path / "all.json"]
    write_results(paths[0], [result("mutants", 1, ok=2, crash=1), result("text", 1, ok=5)])
    write_results(paths[1], [result("mutants", 2, ok=3)])
    command = ["report", *map(str, paths[:2]), "--output", str(paths[2])]
    assert main(command) == 1  # for the crash
    together = {found.part: found for found in read_results(paths[2])}
    assert together["mutants"].counts == {"model": {"crash": 1, "ok": 5}}
    assert together["mutants"].commands == ["attack 1", "attack 2"]
    assert (together["mutants"].largest, together["mutants"].num_defects) == ({"seconds": 2}, 1)
    assert together["text"].counts == {"model": {"ok": 5}}
    assert "mutants: 1 defects" in capsys.readouterr().out


def test_every_verb_that_writes_is_killed_and_gets_full_disks():
    assert verbs_not_attacked() == set(), "add a job to tests/fuzz/attacks/writing_verbs.py, or name it in NOT_WRITING"


@pytest.mark.skipif(sys.platform != "linux", reason="processes are killed in writes as Linux does it")
def test_a_command_dies_when_it_is_meant_to_and_its_operations_are_counted(tmp_path: Path):
    script = """
import sys
from pathlib import Path
from attacks.stopped_child import Command, Kill

def run(kill=None):
    words = ["vocabulary", "text.txt", "-o", "v.txt"]
    return Command(words, Path(sys.argv[1]), kill=kill).wait()

whole = run()
assert whole.code == 0 and whole.num_operations > 3 and "coverage 100.00%" in whole.said, whole
Path(sys.argv[1], "v.txt").unlink()
for kill in (Kill(operation=3), Kill(operation=1, file_bytes=3), Kill(processor_seconds=0.0)):
    ended = run(kill)
    assert ended.killed and not Path(sys.argv[1], "v.txt").exists(), ended
    assert ended.num_operations <= whole.num_operations
assert run().code == 0 and sorted(path.name for path in Path(sys.argv[1]).iterdir()) == ["text.txt", "v.txt"]
"""
    (tmp_path / "text.txt").write_text("the cat sat\n" * 9)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([*sys.path, str(ATTACK.parent)])}
    command = [sys.executable, "-c", script, str(tmp_path)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
