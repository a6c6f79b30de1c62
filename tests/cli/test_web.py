import tempfile
import webbrowser
from http.server import ThreadingHTTPServer
from pathlib import Path

import pytest

from elmokit.cli.main import main
from toy_language_model import write_toy


def test_the_pages_of_explore_are_the_user_s_alone_and_removed_at_the_end_also_those_of_killed_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    def write_site(folder: Path, **_: object) -> None:
        folder.mkdir()

    def interrupt(url: str) -> None:
        (site,) = tmp_path.glob(".elmokit-explore.*/site")
        assert url in capsys.readouterr().out and site.parent.stat().st_mode & 0o777 == 0o700
        raise KeyboardInterrupt

    (tmp_path / ".elmokit-explore.0123456789abcdef.tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr("elmokit.web.explore.site.write_site", write_site)
    monkeypatch.setattr(webbrowser, "open", interrupt)
    assert main(["explore"]) == 0
    assert not list(tmp_path.iterdir())


def test_without_a_browser_the_address_of_the_page_is_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    def serve(server: ThreadingHTTPServer) -> None:
        assert capsys.readouterr().out.startswith(f"http://127.0.0.1:{server.server_port}/")
        raise KeyboardInterrupt

    monkeypatch.setattr(webbrowser, "open", lambda _: pytest.fail("a browser was opened"))
    monkeypatch.setattr(ThreadingHTTPServer, "serve_forever", serve)
    assert main(["explore", "--no-browser", "--model", str(write_toy(tmp_path / "toy"))]) == 0
