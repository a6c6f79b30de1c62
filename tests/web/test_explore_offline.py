"""The explorer after `pip install` on a machine without a network: what the wheel has, and the verb in Chromium."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from elmokit.text.vocabulary import Vocabulary
from toy_language_model import write_toy

ROOT = Path(__file__).parents[2]
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
WITHOUT_NETWORK = ["unshare", "--map-root-user", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]
VISIT = """
import socket, subprocess, sys
from playwright.sync_api import sync_playwright

try:
    socket.create_connection(("192.0.2.1", 80), timeout=5)
except OSError as error:
    print("unreachable:", error.strerror)
verb = [sys.executable, "-m", "elmokit", "explore", "--no-browser", "--model", sys.argv[2]]
with subprocess.Popen(verb, stdout=subprocess.PIPE, text=True) as process, sync_playwright() as playwright:
    browser = playwright.chromium.launch(executable_path=sys.argv[1], args=["--no-sandbox", "--disable-gpu"])
    page = browser.new_page()
    page.on("console", lambda message: print(message.type, message.text))
    page.goto(process.stdout.readline().split()[0])
    page.wait_for_selector("body[data-ready]", timeout=60_000)
    print(page.inner_text("#panel h2"))
    browser.close()
    process.terminate()
"""


def can_leave_the_network() -> bool:
    if CHROMIUM is None or shutil.which("unshare") is None:
        return False
    return subprocess.run([*WITHOUT_NETWORK, "true"], capture_output=True).returncode == 0


@pytest.mark.skipif(not (ROOT / "pyproject.toml").is_file(), reason="the tests are not next to a source tree")
def test_the_wheel_has_every_file_of_the_pages():
    wheel = pytest.importorskip("hatchling.builders.wheel", reason="hatchling is not installed")
    packed = {file.distribution_path for file in wheel.WheelBuilder(str(ROOT)).recurse_included_files()}
    web = ROOT / "src" / "elmokit" / "web"
    needed = [path for path in web.rglob("*.*") if path.is_file() and "__pycache__" not in path.parts]
    assert {path.relative_to(ROOT / "src").as_posix() for path in needed} <= packed
    assert {path.suffix for path in needed} == {".py", ".js", ".html", ".css", ".svg", ".json"}


@pytest.mark.slow
@pytest.mark.skipif(not can_leave_the_network(), reason="needs Chromium, and Linux that lets a user leave the network")
def test_the_explorer_works_without_a_network(tmp_path: Path):
    pytest.importorskip("playwright.sync_api", reason="the extra `browser` is not installed")
    model = write_toy(tmp_path / "model", vocabulary=Vocabulary(["<S>", "</S>", "<UNK>", "the", "bank"]))
    command = [*WITHOUT_NETWORK, sys.executable, "-c", VISIT, CHROMIUM, model]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.stdout.splitlines() == [
        "unreachable: Network is unreachable",
        "Nearest contexts of “bank” in the corpus",
    ]
    assert done.returncode == 0 and done.stderr == ""
