"""A process that has used several threads is forked: its children end, with the bits that one thread computes."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Iterator

from attacks.outcome import Attempt, Outcome, Part

SECONDS = 120
WAYS = ("pool", "executor", "nested")
SCRIPT = """
import multiprocessing, os, sys
from concurrent.futures import ProcessPoolExecutor
import torch
from elmokit import Elmo

way, threads, number = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
elmo = Elmo("mini-en", device="cpu")
sentences = [[f"w{index}", *"sat on the bank".split() * (index % 7)] for index in range(number)]
encode = lambda: b"".join(array.tobytes() for array in elmo.encode(sentences))
torch.set_num_threads(1)
expected = encode()
torch.set_num_threads(threads)
encode()
context = multiprocessing.get_context("fork")

def child(_):
    return encode() == expected

def grandchild(_):
    with context.Pool(1) as pool:
        return all(pool.map(child, [0]))

if way == "pool":
    with context.Pool(2) as pool:
        found = pool.map(child, range(2))
else:  # the workers of an executor may have children
    with ProcessPoolExecutor(2, mp_context=context) as executor:
        found = list(executor.map(child if way == "executor" else grandchild, range(2)))
sys.exit(not all(found))
"""


def attempts(seed: int, numbers: range) -> Iterator[Attempt]:
    """Attempt `n` is of a way to fork, a number of threads and a number of sentences that follow from it."""
    for number in numbers:
        randomness = random.Random(f"{seed}-{number}")
        way, threads, sentences = randomness.choice(WAYS), randomness.choice((2, 3, 4)), randomness.choice((1, 30, 300))
        outcome, said = _outcome([way, str(threads), str(sentences)])
        yield Attempt(way, outcome, f"--seed {seed} --first {number}: {threads} threads, {sentences} sentences: {said}")


def _outcome(arguments: list[str]) -> tuple[Outcome, str]:
    command = [sys.executable, "-c", SCRIPT, *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return Outcome.HANG, f"not done after {SECONDS} s"
    if "Traceback" in done.stderr:
        return Outcome.TRACEBACK, done.stderr.strip().rpartition("\n")[2]
    return (Outcome.WRONG, "other bits") if done.returncode else (Outcome.OK, "")


PART = Part("forks", attempts, count=60, small_count=1)
