from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, settings

import shape_checks

shape_checks.install()  # before the fixtures below import elmokit
os.fsync = lambda _: None  # fsync takes long, and only helps if a machine loses power
for name in ("ELMOKIT_OFFLINE", "HF_HUB_OFFLINE"):  # clusters set them; the tests reach no network anyway
    os.environ.pop(name, None)

if not torch.cuda.is_available():
    os.environ["TRITON_INTERPRET"] = "1"  # if Triton is installed, its interpreter runs the kernels on the CPU

pytest_plugins = ["toy_task"]


def pytest_configure(config: pytest.Config) -> None:
    """Ignore warnings about toys that learn a few sentences by heart in a few steps; tests of the warnings see them."""
    for toy in (".*model learns them by heart", ".*steps would be warm-up"):
        config.addinivalue_line("filterwarnings", f"ignore:{toy}")


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("cuda") and not torch.cuda.is_available():
        pytest.skip("there is no NVIDIA GPU")


# The same examples on every run, and no failure because the machine is busy.
settings.register_profile(
    "elmokit", deadline=None, derandomize=True, max_examples=50, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("elmokit")

# Runs commands and scripts in forks of a process that has imported torch and computed nothing.
FORKS = """
import json, os, sys, traceback
import torch._dynamo  # which a first optimiser imports
import elmokit.pretraining.train
import elmokit.tasks.predict
import elmokit.tasks.train
import elmokit.vectors.embed_file
from elmokit.cli.main import main

def run(job):
    os.chdir(job["folder"])
    os.environ.update(job["environment"])
    for descriptor, path in enumerate(job["outputs"], start=1):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), descriptor)
    sys.argv = job["words"]
    if job["script"] is None:
        return main(job["words"])
    exec(compile(job["script"], job["words"][0], "exec"), {"__name__": "__main__", "__file__": job["words"][0]})
    return 0

for line in sys.stdin:
    job = json.loads(line)
    if "wait" in job:
        print(os.waitstatus_to_exitcode(os.waitpid(job["wait"], 0)[1]), flush=True)
    elif pid := os.fork():
        print(pid, flush=True)
    else:
        code = 1
        try:
            code = run(job)
        except SystemExit as leaving:
            code = leaving.code
            if isinstance(code, str):
                print(code, file=sys.stderr)
                code = 1
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code or 0)
os._exit(0)
"""


class Forks:
    """`elmokit` commands and Python scripts in separate processes, which start with torch imported."""

    def __init__(self, server: subprocess.Popen[str], folder: Path) -> None:
        self._server = server
        self._folder = folder

    def start(
        self,
        *words: object,
        script: str | None = None,
        folder: Path | None = None,
        stdout: object = os.devnull,
        stderr: object = os.devnull,
        **environment: str,
    ) -> int:
        """Start a command, or a script with arguments; `wait` for its exit code."""
        job = {"script": script, "folder": str(folder or Path.cwd()), "environment": environment}
        return self._ask(job | {"words": list(map(str, words)), "outputs": [str(stdout), str(stderr)]})

    def wait(self, process: int) -> int:
        """The exit code, or the negative number of the signal."""
        return self._ask({"wait": process})

    def run_script(
        self, script: str, *arguments: object, folder: Path | None = None, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        """Run a script to its end, as `python -c` does."""
        outputs = {name: self._folder / name for name in ("stdout", "stderr")}
        code = self.wait(self.start("-c", *arguments, script=script, folder=folder, **outputs, **environment))
        return subprocess.CompletedProcess(script, code, *(path.read_text("utf-8") for path in outputs.values()))

    def _ask(self, job: dict[str, object]) -> int:
        assert self._server.stdin is not None and self._server.stdout is not None
        self._server.stdin.write(json.dumps(job) + "\n")
        self._server.stdin.flush()
        return int(self._server.stdout.readline())


@pytest.fixture(scope="module")
def on_cpu() -> Iterator[None]:
    """Compute nothing on a GPU until the module ends; for tests of equal bits, which GPUs do not guarantee."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch.cuda, "is_available", lambda: False)
        yield


@pytest.fixture(scope="session")
def forks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Forks]:
    environment = os.environ | {"OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "passive"}  # no spinning on busy cores
    command = [sys.executable, "-c", FORKS]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as server:  # ends with its input
        yield Forks(server, tmp_path_factory.mktemp("forks"))
