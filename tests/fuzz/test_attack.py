"""A little of tests/fuzz/attack.py: nothing that is attacked may end otherwise than whole or refused in one line."""

import faulthandler
import os
import sys
from itertools import repeat
from pathlib import Path

import pytest

import attack
from attacks.limited_child import Call, Ending, WrongError, run_limited
from attacks.outcome import Outcome, read_results
from attacks.writing_verbs import verbs_not_attacked
from unmeasured import run_python


@pytest.mark.slow
@pytest.mark.parametrize("parts", [("disks", "kills", "pairs", "determinism"), ("text",)])
@pytest.mark.skipif(sys.platform != "linux", reason="memory is limited as Linux does it")
def test_a_little_of_each_attack_finds_nothing(parts: tuple[str, ...], tmp_path: Path):
    output = tmp_path / "attack.json"
    run_python(attack.__file__, "small", *parts, "--output", str(output))
    counts = {result.part: result.counts for result in read_results(output)}
    assert counts.keys() == set(parts) and all(counts.values())


def kill_itself() -> None:
    faulthandler.disable()  # its report would look as if the tests had been aborted
    os.abort()


def give_other_bits() -> None:
    raise WrongError("other bits")


@pytest.mark.skipif(sys.platform != "linux", reason="memory is limited as Linux does it")
def test_every_ending_of_a_call_is_told_apart_and_the_calls_after_it_run():
    calls = [
        (Outcome.OK, Call(lambda: None)),
        (Outcome.REFUSED, Call(lambda: int("no number"))),
        (Outcome.TRACEBACK, Call(lambda: {}["no key"])),
        (Outcome.CRASH, Call(kill_itself)),
        (Outcome.HANG, Call(lambda: all(repeat("for ever")))),
        (Outcome.MEMORY, Call(lambda: bytearray(1 << 40))),
        (Outcome.OK, Call(lambda: bytearray(50 << 20))),
        (Outcome.WRONG, Call(give_other_bits)),
    ]
    endings = list(run_limited([call for _, call in calls], seconds=1.0))
    assert [ending.outcome for ending in endings] == [outcome for outcome, _ in calls]
    assert endings[3] == Ending(Outcome.CRASH, "SIGABRT")
    assert 45 << 20 <= endings[6].memory < 60 << 20 and endings[0].memory < 1 << 20


def test_every_verb_that_writes_is_killed_and_gets_full_disks():
    assert verbs_not_attacked() == set(), "add a job to tests/fuzz/attacks/writing_verbs.py, or name it in NOT_WRITING"
