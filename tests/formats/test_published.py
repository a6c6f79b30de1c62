"""Published models by name, from a server on this machine that has their layout, and the faults of real servers."""

import errno
import http.server
import importlib
import json
import re
import shutil
import socket
import ssl
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
from filelock import FileLock

from elmokit.cli.main import main
from elmokit.elmo.elmo import Elmo
from elmokit.files import downloads
from elmokit.files.locks import InUseError
from elmokit.formats import find as finding
from elmokit.formats import published
from elmokit.formats.published import find_published, published_folder, published_models
from elmokit.formats.read import read_bilm
from elmokit.integrations import allennlp
from page_code import blocks, read_page

FIXTURES = Path(__file__).parents[1] / "fixtures"
PAIR = FIXTURES / "allennlp"
MANY = FIXTURES / "formats" / "many_langs" / "char_word"
LIST = """
[mirrors]
site = ["{url}/one/", "{url}/two/"]
[models.tiny]
language = "English"
text = "a toy"
aliases = ["toy"]
files."options.json" = ["site:tiny_options.json"]
files."weights.hdf5" = ["site:tiny_weights.hdf5"]
[models."nlpl:161"]
language = "Korean"
text = "a toy"
files."161.zip" = ["site:161.zip"]
[many-langs]
text = ""
licence = ""
"""


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SimpleNamespace]:
    """Files by path. Faults by path: a status, `html`, `stall` (the answer never comes), or the address of a redirect.
    Cuts: the number of bytes after which each of the next answers with weights ends. Requests, with their ranges.
    """
    state = SimpleNamespace(files={}, faults={}, cuts=[], requests=[])

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            content, fault = state.files.get(self.path), state.faults.get(self.path)
            state.requests.append((self.path, self.headers["Range"]))
            if fault == "html":
                self.answer(200, b"<html>moved</html>", {"Content-Type": "text/html; charset=utf-8"})
            elif fault == "stall":
                time.sleep(2)
            elif isinstance(fault, str):
                self.answer(302, b"", {"Location": fault})
            elif fault or content is None:
                self.answer(fault or 404)
            else:
                self.send(content, int((self.headers["Range"] or "bytes=0-")[len("bytes=") : -1]))

        def send(self, content: bytes, start: int) -> None:
            if self.headers["If-Range"] not in (None, tag := f'"{hash(content)}"'):
                start = 0
            part = {"Content-Range": f"bytes {start}-{len(content) - 1}/{len(content)}"} if start else {}
            if start < len(content):
                self.answer(206 if start else 200, content[start:], {"ETag": tag, **part})
            else:
                self.answer(416, headers={"Content-Range": f"bytes */{len(content)}"})

        def answer(self, status: int, body: bytes = b"", headers: dict[str, str] | None = None) -> None:
            self.send_response(status)
            for name, value in {"Content-Length": str(len(body)), **(headers or {})}.items():
                self.send_header(name, value)
            self.end_headers()
            sent = state.cuts.pop(0) if body and self.path.endswith("hdf5") and state.cuts else len(body)
            self.wfile.write(body[:sent])
            self.close_connection = self.close_connection or sent < len(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as httpd:
        httpd.daemon_threads = True
        threading.Thread(target=httpd.serve_forever, args=(0.01,), daemon=True).start()
        state.url = f"http://127.0.0.1:{httpd.server_port}"
        (tmp_path / "list.toml").write_text(LIST.replace("{url}", state.url))
        monkeypatch.setattr(published, "LIST", tmp_path / "list.toml")
        monkeypatch.setattr(downloads, "WAITS", (0, 0))
        monkeypatch.setenv("ELMOKIT_CACHE", str(tmp_path / "cache"))
        for name in downloads.OFFLINE:
            monkeypatch.delenv(name, raising=False)
        for mirror in ("one", "two"):
            state.files[f"/{mirror}/tiny_options.json"] = (PAIR / "options.json").read_bytes()
            state.files[f"/{mirror}/tiny_weights.hdf5"] = (PAIR / "lm_weights.hdf5").read_bytes()
        yield state
        httpd.shutdown()


def vectors(model: str | Path, weights: str | Path | None = None) -> np.ndarray:
    return Elmo(model, weights=weights, device="cpu").encode(["the cat sat"], layers="all")[0]


def left(tmp_path: Path) -> list[str]:
    return sorted(path.name for path in (tmp_path / "cache" / "models").iterdir())


def test_a_name_is_downloaded_once_and_gives_the_vectors_of_its_files(server: Any, tmp_path: Path):
    expected = vectors(PAIR / "options.json", PAIR / "lm_weights.hdf5")
    np.testing.assert_array_equal(vectors("toy"), expected)
    assert [path for path, _ in server.requests] == ["/one/tiny_options.json", "/one/tiny_weights.hdf5"]
    server.files.clear()
    folder = tmp_path / "cache" / "models" / "tiny"
    for name in ("tiny", "Tiny", "toy", f"{server.url}/two/tiny_options.json"):
        assert finding.resolve_model(name) == folder
    assert finding.lasting_name("tiny") == "tiny"
    assert left(tmp_path) == ["tiny", "tiny.json"]
    assert sorted(path.name for path in folder.iterdir()) == ["README.md", "config.json", "model.safetensors"]


def test_a_cut_transfer_is_continued_by_range(server: Any, tmp_path: Path):
    server.cuts, path = [1000, 1000], tmp_path / "weights.hdf5"
    downloads.download([f"{server.url}/one/tiny_weights.hdf5"], path, check=lambda path: None)
    assert [wanted for _, wanted in server.requests] == [None, "bytes=1000-", "bytes=2000-"]
    assert path.read_bytes() == server.files["/one/tiny_weights.hdf5"] and list(tmp_path.glob("weights.*")) == [path]


def test_nothing_of_a_download_that_failed_is_kept(server: Any, tmp_path: Path):
    server.faults["/two/tiny_weights.hdf5"] = "/two/tiny_weights.hdf5"  # redirects to itself
    server.cuts = [1000, 0, 0]
    with pytest.raises(OSError, match=r"tiny could not .* bytes arrived; .*302.* loop\.; download .* with a browser"):
        published_folder(published_models()["tiny"])
    assert not list((tmp_path / "cache").rglob("weights.hdf5*"))
    folder = published_folder(published_models()["tiny"])
    assert (
        Elmo(folder, device="cpu").fingerprint()
        == Elmo(PAIR / "options.json", weights=PAIR / "lm_weights.hdf5").fingerprint()
    )


def test_a_file_that_is_larger_than_any_model_is_refused(server: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(downloads, "MAX_BYTES", 5000)
    with pytest.raises(downloads.DownloadError, match=r"has .* KiB; expected at most 4.9 KiB"):
        downloads.download([f"{server.url}/one/tiny_weights.hdf5"], tmp_path / "weights.hdf5", check=lambda path: None)
    assert not list(tmp_path.glob("weights.*"))


@pytest.mark.parametrize("step", ["file_digest", "import_model", "write_text"])
def test_a_download_that_is_interrupted_at_its_end_is_continued(server: Any, tmp_path: Path, step: str):
    def interrupted(*arguments: object) -> None:
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(published, step, interrupted)
        published_folder(published_models()["tiny"])
    assert main(["models", "get", "tiny"]) == main(["inspect", "tiny"]) == 0
    assert len(server.requests) == 2
    assert left(tmp_path) == ["tiny", "tiny.json"]


@pytest.mark.parametrize(
    "error", [socket.gaierror(-2, "unknown"), OSError(errno.ENETUNREACH, "down"), ssl.SSLCertVerificationError("wrong")]
)
def test_an_address_that_cannot_be_reached_is_not_waited_for(monkeypatch: pytest.MonkeyPatch, error: OSError):
    monkeypatch.setattr(socket, "create_connection", Mock(side_effect=error))
    monkeypatch.setattr(downloads, "WAITS", (-1,))  # any sleep would be an error
    with pytest.raises(downloads.DownloadError, match=r"a: cannot be reached: .*; http://127.0.0.1/b: cannot"):
        addresses = ["http://127.0.0.1/a", "http://127.0.0.1/b"]
        downloads.download(addresses, Path("weights.hdf5"), check=lambda path: None)


def test_a_proxy_that_is_set_later_is_used(server: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("http_proxy", server.url)
    monkeypatch.setenv("no_proxy", "")
    server.files[address := "http://elmokit.invalid/a"] = b"1"
    assert downloads.download([address], tmp_path / "a", check=lambda path: None) == address


@pytest.mark.parametrize("fault", [404, 403, 500, "html", "stall", "ftp://elsewhere/weights.hdf5"])
def test_the_next_mirror_is_tried(server: Any, monkeypatch: pytest.MonkeyPatch, fault: int | str):
    monkeypatch.setattr(downloads, "TIMEOUT", 0.3 if fault == "stall" else downloads.TIMEOUT)
    server.faults["/one/tiny_weights.hdf5"] = fault
    finding.resolve_model("tiny")
    assert server.requests[-1][0] == "/two/tiny_weights.hdf5"


@pytest.mark.parametrize("variable", downloads.OFFLINE)
def test_without_network_the_error_says_how_to_get_it_by_hand(
    server: Any, tmp_path: Path, monkeypatch: Any, capsys: Any, variable: str
):
    monkeypatch.setenv(variable, "1")
    (tmp_path / "t.txt").write_text("the cat\n")
    assert main(["embed", "--model", "tiny", str(tmp_path / "t.txt"), "-o", str(tmp_path / "o.npy")]) == 2
    error = capsys.readouterr().err
    addresses = f"download {server.url}/one/tiny_options.json and {server.url}"
    assert "downloads are forbidden" in error and addresses in error
    shutil.copy(PAIR / "options.json", tmp_path / "tiny_options.json")
    shutil.copy(PAIR / "lm_weights.hdf5", tmp_path / "tiny_weights.hdf5")
    command = error[error.index("models add") : error.rindex("`")].split()
    monkeypatch.chdir(tmp_path)
    assert main(command) == 0
    assert capsys.readouterr().out == f"{tmp_path / 'cache' / 'models' / 'tiny'}\n"
    assert finding.resolve_model("tiny").is_dir()
    assert server.requests == []


def test_what_is_added_is_checked(server: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "weights.hdf5").write_text("<html>")
    for files, message in [
        ([tmp_path / "weights.hdf5"], "weights.hdf5: is a"),
        ([tmp_path / "tpyo.hdf5"], "tpyo.hdf5: there is no such file"),
        ([], "weights.hdf5 is not among them"),
        ([PAIR / "lm_weights.hdf5", PAIR / "sentences.json"], "3 files given"),
    ]:
        assert main(["models", "add", "tiny", str(PAIR / "options.json"), *map(str, files)]) == 2
        assert message in capsys.readouterr().err
    assert not (tmp_path / "cache").exists()


def test_sums_are_kept_and_compared(server: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["models", "get", "tiny"]) == 0
    folder = tmp_path / "cache" / "models" / "tiny"
    kept = json.loads((folder.parent / "tiny.json").read_text())
    assert kept["files"].keys() == {"options.json", "weights.hdf5"}
    assert kept["imported"].keys() == {path.name for path in folder.iterdir()}
    with (folder / "model.safetensors").open("ab") as file:
        file.write(b"x")
    capsys.readouterr()
    assert main(["models", "get", "tiny"]) == 2
    assert f"model.safetensors: has been changed; remove {folder}" in capsys.readouterr().err
    shutil.rmtree(folder)
    server.files["/one/tiny_weights.hdf5"] += b"x"
    finding.resolve_model("tiny")  # from the second mirror, which still has the old file
    assert server.requests[-1][0] == "/two/tiny_weights.hdf5"
    shutil.rmtree(folder)
    server.files["/two/tiny_weights.hdf5"] += b"x"
    with pytest.raises(OSError, match=r"has the SHA-256 .*, not the .* that an earlier .* remove .*tiny.json"):
        published_folder(published_models()["tiny"])


def test_a_cache_that_cannot_be_made_is_an_error_with_advice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    (tmp_path / "file").touch()
    monkeypatch.setenv("ELMOKIT_CACHE", str(tmp_path / "file" / "cache"))
    assert main(["models", "get", "original"]) == 2
    assert "set ELMOKIT_CACHE to a folder that can be written" in capsys.readouterr().err


@pytest.mark.parametrize("kept", [None, "{}", '{"files": {}}'])
def test_a_model_without_sums_is_not_called_whole(server: Any, tmp_path: Path, capsys: Any, kept: str | None):
    folder = tmp_path / "cache" / "models" / "tiny"
    Elmo(PAIR / "options.json", weights=PAIR / "lm_weights.hdf5", device="cpu").save(folder)
    if kept is not None:
        (folder.parent / "tiny.json").write_text(kept)
    assert main(["models", "get", "tiny"]) == 2
    assert re.search(r"models/tiny: has no checksums .*; remove it", capsys.readouterr().err)
    (folder.parent / "tiny.json").write_text('{"files": 5}')
    assert main(["models", "get", "tiny"]) == 2 and "tiny.json: field files" in capsys.readouterr().err
    shutil.rmtree(folder)
    folder.symlink_to("nowhere")
    assert main(["models", "get", "tiny"]) == 2 and server.requests == []
    assert "models/tiny: is not a model that elmokit imported; remove it" in capsys.readouterr().err


def test_an_archive_is_unpacked_once(server: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    full_disk = Mock(side_effect=OSError(errno.ENOSPC, "No space left on device", "config.json"))
    with zipfile.ZipFile(tmp_path / "161.zip", "w") as archive:
        for path in MANY.rglob("*"):
            archive.write(path, f"ko.model/{path.relative_to(MANY)}")
    server.files["/one/161.zip"] = (tmp_path / "161.zip").read_bytes()
    with monkeypatch.context() as full, pytest.raises(OSError, match=r"^\[Errno 28\] No space.*config.json'$"):
        full.setattr(published, "import_model", full_disk)
        vectors("nlpl:161")
    np.testing.assert_array_equal(vectors("nlpl:161"), vectors(MANY))
    assert len(server.requests) == 1
    assert left(tmp_path) == ["nlpl-161", "nlpl-161.json"]
    assert main(["models", "get", "nlpl:161"]) == 0
    changed = next((tmp_path / "cache" / "models" / "nlpl-161").rglob("model.safetensors"))
    with changed.open("ab") as file:
        file.write(b"x")
    assert main(["models", "get", "nlpl:161"]) == 2
    shutil.rmtree(tmp_path / "cache")
    server.files["/one/161.zip"] = server.files["/one/161.zip"][:-100]
    with pytest.raises(ValueError, match=r"161.zip: cannot be unpacked"):
        vectors("nlpl:161")
    assert left(tmp_path) == []


@pytest.mark.filterwarnings("ignore:waiting for another process that is downloading tiny:UserWarning")
def test_callers_that_start_together_download_it_once(server: Any):
    model = published_models()["tiny"]
    with ThreadPoolExecutor(3) as threads:
        assert set(threads.map(published_folder, [model] * 3)) == {model.folder}
    assert len(server.requests) == 2


def test_a_path_of_that_name_comes_first_and_a_name_has_its_weights(server: Any, tmp_path: Path, monkeypatch: Any):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(PAIR, "tiny")
    assert finding.resolve_model("tiny") == Path("tiny")
    assert finding.lasting_name("tiny") == str(tmp_path / "tiny")
    with pytest.raises(ValueError, match="toy is the name of a model, which has its own weights"):
        Elmo("toy", weights="weights.hdf5")
    assert server.requests == []


def test_both_addresses_of_allennlp_s_scripts_are_the_model(server: Any):
    pair = f"{server.url}/two/tiny_options.json", f"{server.url}/one/tiny_weights.hdf5"
    expected = vectors("tiny")
    np.testing.assert_array_equal(vectors(*pair), expected)
    embedder = allennlp.ElmoEmbedder(*pair)
    np.testing.assert_array_equal(embedder.embed_sentence(["the", "cat", "sat"]), expected)
    assert allennlp.Elmo(*pair, 1, dropout=0.0).get_output_dim() == expected.shape[-1]
    assert len(server.requests) == 2
    with pytest.raises(ValueError, match=r"tiny_options\.json is the name of a model, which has its own weights"):
        Elmo(pair[0], weights=f"{server.url}/other.hdf5")


ALLENNLP = "https://s3-us-west-2.amazonaws.com/allennlp/models/elmo/"


def test_the_list_is_whole(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ELMOKIT_CACHE", str(tmp_path))
    assert main(["models"]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert len(shown) == 1 + len(finding.bundled_models() | finding.packaged_models()) + len(published_models())
    assert re.fullmatch(r"mini-ko +installed +5.4 M +11 MB +Korean +open texts, .* +Apache-2.0", shown[2].strip())
    assert re.fullmatch(r"small-en +bundled +10.1 M +20 MB +English +open texts, .* +Apache-2.0", shown[1].strip())
    known = {"small", "medium", "original", "original-5.5b", "pubmed", "pt-brwac", "pt-wikipedia", "ja", "de", "eu"}
    assert known < set(published_models())
    for asked, name in [
        ("large", "original-5.5b"),
        ("efml:korean", "nlpl:161"),
        ("Original", "original"),
        ("pt", "pt-wikipedia"),
        (f"{ALLENNLP}contributed/pt/elmo_pt_options.json", "pt-wikipedia"),  # as in flair
    ]:
        found = find_published(asked)
        assert found is not None and found.name == name
    for model in published_models().values():
        assert all(a.startswith(("https://", "http://vectors.nlpl.eu/")) for of in model.files.values() for a in of)
    for arguments, message in (
        (["get", "orignal"], "unknown published model 'orignal'; did you mean original?"),
        (["get", "efml:Korena"], "did you mean efml:korean?"),
        (["get", "Small-EN"], "Small-EN is bundled or in a package: there is nothing to get"),
        (["list", "original"], ""),
    ):
        assert main(["models", *arguments]) == 2
        assert message in capsys.readouterr().err
    with pytest.raises(FileNotFoundError, match=r"did you mean efml:korean\?"):
        finding.resolve_model("efml:Korena")


def test_a_package_made_as_the_page_says_brings_a_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    pytest.importorskip("setuptools")
    (project,) = blocks(read_page("docs/models.md"), "toml")
    source, package = tmp_path / "project" / "elmokit_finnish", tmp_path / "site" / "elmokit_finnish"
    Elmo(PAIR / "options.json", weights=PAIR / "lm_weights.hdf5", device="cpu").save(source / "model")
    (source.parent / "pyproject.toml").write_text(project)
    (source / "__init__.py").write_text("raise RuntimeError('a model is found without running its package')\n")
    build = f"from setuptools.build_meta import build_wheel; build_wheel({str(tmp_path)!r})"
    subprocess.run([sys.executable, "-c", build], cwd=source.parent, check=True, capture_output=True)
    with zipfile.ZipFile(tmp_path / "elmokit_finnish-1.0-py3-none-any.whl") as wheel:
        wheel.extractall(package.parent)
    monkeypatch.syspath_prepend(package.parent)
    assert finding.packaged_models()["finnish"] == package / "model"
    np.testing.assert_array_equal(vectors("finnish"), vectors(package / "model"))
    assert finding.lasting_name("finnish") == "finnish"
    assert read_bilm("Finnish").config.num_layers == 2
    shutil.rmtree(package)
    importlib.invalidate_caches()
    assert "finnish" not in finding.packaged_models() and finding.resolve_model("small-en").is_dir()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_full_disk_is_said_with_the_file(server: Any, tmp_path: Path):
    (tmp_path / "weights.hdf5.partial").symlink_to("/dev/full")
    with pytest.raises(OSError, match=r"No space left.*weights.hdf5.partial"):
        downloads.download([f"{server.url}/one/tiny_weights.hdf5"], tmp_path / "weights.hdf5", check=lambda path: None)


def test_the_lock_of_another_user_is_not_waited_for(server: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def acquire(self: FileLock, **options: object) -> None:
        Path(self.lock_file).touch()
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(FileLock, "acquire", acquire)
    with pytest.raises(InUseError, match="tiny: the lock belongs to another user"):
        published_folder(published_models()["tiny"])
