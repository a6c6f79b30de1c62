"""Run the scripts and the notebook in `examples`, and the pages of integrations that need no large packages."""

import http.client
import json
import re
import runpy
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from elmokit import Elmo
from page_code import ROOT, needs_large_packages, run_page

FOLDER = ROOT / "examples"
NEEDS_A_HUB = FOLDER / "integrations" / "hub.py"  # tests/formats/test_hub.py serves one
SERVER = FOLDER / "serve.py"  # tested below
EXAMPLES = sorted(path for path in set(FOLDER.rglob("*.py")) - {NEEDS_A_HUB, SERVER} if not needs_large_packages(path))
PAGES = [page.stem for page in sorted(ROOT.glob("docs/integrations/*.md")) if not needs_large_packages(page)]
PAGES.remove("hub")  # needs a hub, like its example


def test_there_is_one_for_each_task_and_one_for_a_model_of_your_own():
    tasks = {path.parent.name for path in (ROOT / "src/elmokit/tasks").glob("*/task.py")}
    assert len(tasks) == 7 and {*tasks, "own_model"} <= {path.stem for path in EXAMPLES}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_it_runs_in_an_empty_folder(path: Path, forks: Any, tmp_path: Path):
    script = path.read_text(encoding="utf-8")
    assert len(script.splitlines()) <= 70
    sooner = re.sub(r"max_epochs=\d+", "max_epochs=2", script)
    done = forks.run_script(sooner, folder=tmp_path, XDG_CACHE_HOME=str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) >= 3


@pytest.mark.parametrize("page", PAGES)
def test_the_code_of_a_page_runs(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    lines = ["We sat on the bank of the river .", "The bank raised its rates .", "A river and its bank ."]
    (tmp_path / "sentences.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    run_page(f"docs/integrations/{page}.md")


NOTEBOOK = json.loads((FOLDER / "first_five_minutes.ipynb").read_text(encoding="utf-8"))


def sources(kind: str) -> list[str]:
    return ["".join(cell["source"]) for cell in NOTEBOOK["cells"] if cell["cell_type"] == kind]


@pytest.mark.slow
def test_the_cells_of_the_notebook_run_from_top_to_bottom(forks: Any, tmp_path: Path):
    ends = [source.splitlines()[-1] for source in sources("code")]
    shown = [f"\nprint({end})" if end.isidentifier() else "" for end in ends]  # as a notebook shows it
    script = "\n".join(source + printed for source, printed in zip(sources("code"), shown, strict=True))
    done = forks.run_script(script, folder=tmp_path, XDG_CACHE_HOME=str(tmp_path), TMPDIR=str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert "<Elmo 'small-en'" in done.stdout
    assert "<TaggedText 'Tom works for Apple in China.'" in done.stdout
    assert "warning" not in done.stderr.lower()


def test_the_notebook_is_committed_clean_imports_public_names_only_and_its_links_lead_somewhere():
    cells = NOTEBOOK["cells"]
    assert NOTEBOOK["nbformat"] == 4 and len({cell["id"] for cell in cells}) == len(cells)
    assert [cell for cell in cells if cell.get("outputs") or cell.get("execution_count") is not None] == []
    targets = [target for text in sources("markdown") for target in re.findall(r"\]\(([^)]+)\)", text)]
    assert len(targets) >= 5
    assert all((FOLDER / target).exists() for target in targets)
    assert [source for source in sources("code") if "elmokit." in source.replace("`elmokit", "")] == []


SCRIPT = runpy.run_path(str(SERVER))
SENTENCES = [f"The bank raised its {word} rates{'.' * (word % 3)}" for word in range(40)]


class Counted(Elmo):
    """Remembers the sizes of batches."""

    def __init__(self) -> None:
        super().__init__("small-en")
        self.sizes: list[int] = []

    def encode_sentences(self, sentences: Any, **options: Any) -> Any:
        self.sizes.append(len(sentences))
        return super().encode_sentences(sentences, **options)


@pytest.fixture(scope="module")
def server() -> Iterator[Any]:
    with SCRIPT["Server"](("127.0.0.1", 0), Counted()) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def post(server: Any, body: str) -> tuple[int, Any]:
    with closing(http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=60)) as connection:
        connection.request("POST", "/", body.encode())
        response = connection.getresponse()
        return response.status, json.loads(response.read())


def test_requests_share_batches_and_get_the_bits_of_single_ones(server: Any):
    elmo = server.batcher._elmo
    with ThreadPoolExecutor(len(SENTENCES)) as clients:
        answers = list(clients.map(lambda sentence: post(server, json.dumps([sentence])), SENTENCES))
    assert sum(elmo.sizes) == len(SENTENCES) > len(elmo.sizes)
    for sentence, (status, (answer,)) in zip(SENTENCES, answers, strict=True):
        assert status == 200
        (alone,) = elmo.encode([sentence])
        assert len(answer["tokens"]) == len(alone)
        np.testing.assert_array_equal(np.array(answer["vectors"], np.float32), alone)


@pytest.mark.parametrize("body", ["", "{", '"a text"', "[1]"])
def test_another_body_is_refused(server: Any, body: str):
    status, answer = post(server, body)
    assert status == 400 and answer["error"]
    assert post(server, '["It continues."]')[0] == 200


def test_an_error_of_a_batch_is_answered_and_the_next_is_encoded(server: Any, monkeypatch: pytest.MonkeyPatch):
    with monkeypatch.context() as patched:
        patched.setattr(server.batcher, "_elmo", None)
        status, answer = post(server, '["a"]')
    assert status == 500 and "encode_sentences" in answer["error"]
    assert post(server, "[]") == (200, [])
