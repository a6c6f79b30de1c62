"""Memory after hundreds of thousands of calls with ever new tokens, and after many resumes in one process.

An attempt is a block of calls of `encode`, or of resumes. The memory of the process is measured after each block; what
it has more than after the first blocks, when everything is warm, must stay within `MOST_BYTES`.
"""

from __future__ import annotations

import gc
import random
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr
from io import StringIO
from pathlib import Path

from attacks.outcome import Attempt, Outcome, Part
from attacks.run_folders import PRETRAINING
from attacks.targets import fast_disk
from attacks.weights import SPECIALS, WORDS, stored_bilm
from elmokit.elmo.elmo import Elmo
from elmokit.formats.native import write_native
from elmokit.pretraining.recipes import recipe
from elmokit.pretraining.train import pretrain, resume_pretraining

MOST_BYTES = 20_000_000
CALLS = 200
"""Of `encode` in a block."""
RESUMES = 1
"""In a block."""
BLOCKS = 1000
"""Of calls, before those of resumes: 200,000 calls and 50 resumes in all."""
_WARM = 50
"""Blocks after which memory may no longer grow."""


def attempts(seed: int, numbers: range) -> Iterator[Attempt]:
    """Blocks of calls; those below `BLOCKS` are of `encode`, the others of resumes."""
    folder = Path(tempfile.mkdtemp(prefix="attack-leaks-", dir=fast_disk()))
    try:
        write_native(folder / "bilm", stored_bilm())
        encode = _Encode(Elmo.from_pretrained(folder / "bilm", device="cpu"), random.Random(seed))
        yield from _measured("encode", CALLS, encode, [number for number in numbers if number < BLOCKS])
        resumes = [number for number in numbers if number >= BLOCKS]
        if resumes:
            yield from _measured("resume", RESUMES, _Resume(folder), resumes)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class _Encode:
    """A block of calls, each with tokens that no call had before."""

    def __init__(self, elmo: Elmo, randomness: random.Random) -> None:
        self.elmo = elmo
        self.randomness = randomness

    def __call__(self) -> None:
        for _ in range(CALLS):
            tokens = [f"{self.randomness.getrandbits(64):x}" for _ in range(self.randomness.randrange(1, 4))]
            self.elmo.encode([tokens], show_progress_bar=False)


class _Resume:
    """A block of resumes of one run, each for one more step."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "shard.txt").write_text("the cat sat on a mat .\n" * 9)
        (folder / "vocabulary.txt").write_text("".join(f"{word}\n" for word in (*SPECIALS, *WORDS)))
        self.num_steps = 2
        with redirect_stderr(StringIO()):
            pretrain(
                [folder / "shard.txt"],
                vocabulary_path=folder / "vocabulary.txt",
                run_dir=folder / "run",
                config=recipe("tiny", PRETRAINING),
                device="cpu",
            )

    def __call__(self) -> None:
        for _ in range(RESUMES):
            self.num_steps += 1
            with redirect_stderr(StringIO()):
                resume_pretraining(self.folder / "run", [f"num_steps={self.num_steps}"], device="cpu")


def _measured(name: str, units: int, block: Callable[[], None], numbers: list[int]) -> Iterator[Attempt]:
    start = 0
    for done, number in enumerate(numbers, start=1):
        block()
        gc.collect()
        memory = _resident_bytes()
        if done <= _WARM:
            start = memory
        grown = memory - start
        leaks = grown > MOST_BYTES
        outcome = Outcome.MEMORY if leaks else Outcome.OK
        note = f"block {number}: {grown / 1e6:.1f} MB more than after block {numbers[0] + _WARM - 1}" if leaks else ""
        yield Attempt(name, outcome, note, units=units, measured={f"MB more after {name}": grown / 1e6})


def _resident_bytes() -> int:
    fields = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(fields["VmRSS"].split()[0]) * 1024


PART = Part("leaks", "memory after many calls", attempts, count=BLOCKS + 50, small_count=3)
