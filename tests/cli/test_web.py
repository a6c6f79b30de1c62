import signal
import tempfile
import webbrowser
from pathlib import Path

import pytest

from elmokit.cli.main import main


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_the_pages_of_explore_are_removed_when_its_terminal_is_closed(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    def write_site(folder: Path, **_: object) -> None:
        folder.mkdir()

    def close_terminal(url: str) -> None:
        assert url in capsys.readouterr().out and list(tmp_path.glob("*/site"))
        signal.raise_signal(getattr(signal, name))

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr("elmokit.web.explore.site.write_site", write_site)
    monkeypatch.setattr(webbrowser, "open", close_terminal)
    assert main(["explore"]) == 0
    assert not list(tmp_path.iterdir())


def test_without_a_browser_the_address_is_printed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    monkeypatch.setattr("elmokit.web.explore.site.write_site", lambda folder, **_: folder)
    monkeypatch.setattr("http.server.ThreadingHTTPServer.serve_forever", interrupt)
    assert main(["explore", "--no-browser"]) == 0
    assert capsys.readouterr().out.startswith("http://127.0.0.1:") and not opened
