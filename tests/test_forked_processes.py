"""A process forked after torch used several threads does not hang, and computes what one thread computes."""

from pathlib import Path
from typing import Any

SCRIPT = """
import os, pickle, signal, sys
import torch
from elmokit import Elmo, ElmoEmbedding, perplexity

elmo = Elmo("small-en")
module = ElmoEmbedding(elmo.bilm).eval()
sentences = [["We", "sat", "on", "the", "bank", *"of a river".split() * (number % 9)] for number in range(9)]
uses = {
    "encode": lambda: elmo.encode(sentences),
    "surprisal": lambda: list(elmo.surprisal(sentences)),
    "module": lambda: module(sentences).mixes[0].detach().numpy(),
    "perplexity": lambda: perplexity("small-en", [sys.argv[1]]),
}
torch.set_num_threads(1)
expected = {name: pickle.dumps(use()) for name, use in uses.items()}
torch.set_num_threads(2)
for use in uses.values():
    use()
if (child := os.fork()) == 0:
    signal.alarm(60)  # ends what would wait for ever
    for name, use in uses.items():
        print(name, pickle.dumps(use()) == expected[name], flush=True)
    os._exit(0)
os.waitpid(child, 0)
print(torch.get_num_threads())  # in the parent nothing has changed
"""


def test_a_child_of_a_process_that_has_used_threads_does_not_wait_for_them(forks: Any, tmp_path: Path):
    (tmp_path / "text.txt").write_text("We sat on the bank of a river .\n" * 10, encoding="utf-8")
    done = forks.run_script(SCRIPT, tmp_path / "text.txt")
    assert done.stdout == "encode True\nsurprisal True\nmodule True\nperplexity True\n2\n", done.stderr


UNTOUCHED = """
import os
import torch
import elmokit

def threads_of_a_child():
    if (child := os.fork()) == 0:
        os._exit(torch.get_num_threads())
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

torch.set_num_threads(2)
print(threads_of_a_child())
elmokit.Elmo
print(threads_of_a_child())
elmokit.Elmo("small-en").encode(["By the bank ."])
print(threads_of_a_child(), torch.get_num_threads())
"""


def test_importing_elmokit_leaves_forked_children_alone(forks: Any):
    done = forks.run_script(UNTOUCHED)
    assert done.stdout == "2\n2\n1 2\n", done.stderr


FORK_WHILE_PACKING = """
import os, signal, threading, time
import elmokit.elmo.elmo as holder
from elmokit import Elmo

elmo, is_packing, pack = Elmo("small-en"), threading.Event(), holder.PackedBiLM

def pack_slowly(*given, **settings):
    is_packing.set()
    time.sleep(0.5)
    return pack(*given, **settings)

holder.PackedBiLM = pack_slowly
thread = threading.Thread(target=elmo._packed_bilm)
thread.start()
is_packing.wait()
if (child := os.fork()) == 0:
    signal.alarm(20)
    os._exit(len(elmo.encode(["By the bank."])[0]))
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
thread.join()
"""


def test_a_child_of_a_process_whose_other_thread_packs_the_weights_does_not_wait_for_it(forks: Any):
    done = forks.run_script(FORK_WHILE_PACKING)
    assert done.stdout == "4\n", done.stderr
