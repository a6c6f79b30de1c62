"""A process that is forked after torch has used several threads ends, with what one thread computes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

SCRIPT = """
import os, pickle, signal, sys
import torch
from elmokit import Elmo, ElmoEmbedding, perplexity

signal.alarm(100)  # ends what would wait for ever
elmo = Elmo("mini-en")
module = ElmoEmbedding(elmo.bilm).eval()
sentences = [["We", "sat", "on", "the", "bank", *"of a river".split() * (number % 9)] for number in range(60)]
use = {
    "encode": lambda: elmo.encode(sentences),
    "surprisal": lambda: list(elmo.surprisal(sentences)),
    "module": lambda: module(sentences).mixes[0].detach().numpy(),
    "perplexity": lambda: perplexity("mini-en", [sys.argv[2]]),
}[sys.argv[1]]
torch.set_num_threads(1)
expected = pickle.dumps(use())
torch.set_num_threads(2)
use()
if (child := os.fork()) == 0:
    signal.alarm(50)  # a child does not inherit its parent's
    os._exit(0 if pickle.dumps(use()) == expected else 1)
assert os.waitpid(child, 0)[1] == 0
assert torch.get_num_threads() == 2  # in the parent nothing has changed
"""


@pytest.mark.parametrize("use", ["encode", "surprisal", "module", "perplexity"])
def test_a_child_of_a_process_that_has_used_threads_does_not_wait_for_them(use: str, forks: Any, tmp_path: Path):
    (tmp_path / "text.txt").write_text("We sat on the bank of a river .\n" * 60, encoding="utf-8")
    done = forks.run_script(SCRIPT, use, tmp_path / "text.txt")
    assert done.returncode == 0, done.stderr
