"""Where results come from: the commit of the source, and of nothing else."""

import shutil
import subprocess
from pathlib import Path

import pytest

from elmokit.runs.provenance import commit_of


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with a tracked file, and one that it does not track."""
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    for name in ("tracked.py", "installed.py"):
        (tmp_path / name).write_text("one = 1\n")
    identity = ("-c", "user.name=a", "-c", "user.email=a@b")
    for words in (("init", "-q"), ("add", "tracked.py"), (*identity, "commit", "-qm", "one")):
        subprocess.run(("git", "-C", str(tmp_path), *words), check=True)
    return tmp_path


def test_the_commit_has_a_plus_where_the_source_differs_from_it_and_is_of_tracked_files_only(repository: Path):
    commit = commit_of(repository / "tracked.py")
    assert len(commit) == 12 and int(commit, 16) >= 0
    (repository / "tracked.py").write_text("one = 2\n")
    assert commit_of(repository / "tracked.py") == f"{commit}+"
    assert commit_of(repository / "installed.py") == "unknown"


def test_without_a_repository_or_without_git_the_commit_is_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "a.py").touch()
    assert commit_of(tmp_path / "a.py") == "unknown"
    monkeypatch.setenv("PATH", str(tmp_path))
    assert commit_of(Path(__file__)) == "unknown"
