import tempfile
import webbrowser
from http.server import ThreadingHTTPServer
from pathlib import Path

import pytest

from elmokit.cli.main import main


@pytest.mark.parametrize("options", [[], ["--no-browser"]])
def test_the_pages_of_explore_are_the_user_s_alone_and_removed_at_the_end_also_those_of_killed_processes(
    options: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    opened: list[str] = []

    def interrupt(server: ThreadingHTTPServer) -> None:
        (site,) = tmp_path.glob(".elmokit-explore.*/site")
        url = f"http://127.0.0.1:{server.server_port}/"
        assert capsys.readouterr().out.startswith(url) and site.parent.stat().st_mode & 0o777 == 0o700
        assert opened == ([] if options else [url])
        raise KeyboardInterrupt

    (tmp_path / ".elmokit-explore.0123456789abcdef.tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr("elmokit.web.explore.site.write_site", lambda folder, **_: folder.mkdir())
    monkeypatch.setattr(webbrowser, "open", opened.append)
    monkeypatch.setattr(ThreadingHTTPServer, "serve_forever", interrupt)
    assert main(["explore", *options]) == 0
    assert not list(tmp_path.iterdir())
