"""Every verb that writes, on a disk that is full: one line that names the output, exit code 2, and nothing left."""

from __future__ import annotations

from contextlib import redirect_stdout
from pathlib import Path

import pytest

from attacks.limited_disk import files_of_at_most
from elmokit.cli.main import main

TOO_LARGE = "File too large"


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_text("".join(f"the word {number} of a sentence , and another one .\n\n" for number in range(300)))
    return path


@pytest.mark.parametrize(
    ("command", "output"),
    [
        *((f"embed TEXT -o OUT/v{ending} --model MODEL", f"v{ending}") for ending in (".h5", ".npz", ".safetensors")),
        ("embed TEXT -o OUT/v.npy --model MODEL", "v.npy"),
        ("convert MODEL OUT/new --to native", "new"),
        ("convert MODEL OUT/new --to bilm_tf", "new"),
        ("vocabulary TEXT -o OUT/vocab.txt", "vocab.txt"),
        ("prepare TEXT -o OUT/corpus", "corpus"),
        ("demo --html OUT/demo.html --model MODEL", "demo.html"),
        ("pretrain TEXT --vocabulary VOCABULARY --run OUT/run --recipe tiny --set precision=float32", "run"),
    ],
)
@pytest.mark.parametrize("num_bytes", [100, 1000])
def test_a_full_disk_is_one_line_that_names_the_output(
    tiny_bilms: tuple[Path, Path],
    text: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    command: str,
    output: str,
    num_bytes: int,
):
    out = tmp_path / "out"
    out.mkdir()
    vocabulary = tmp_path / "vocabulary.txt"
    vocabulary.write_text("".join(f"{token}\n" for token in ["<S>", "</S>", "<UNK>", *map(str, range(300))]))
    places = {"TEXT": text, "OUT": out, "MODEL": tiny_bilms[0], "VOCABULARY": vocabulary}
    for name, place in places.items():
        command = command.replace(name, str(place))
    with files_of_at_most(num_bytes):
        assert main(command.split()) == 2
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith(f"elmokit: error: {out / output}") and last.endswith(TOO_LARGE)
    assert {path.name for path in out.rglob("*") if path.is_file()} <= {".starting"}  # which says that a run began here


def test_standard_output_that_cannot_be_written_is_named(
    tiny_bilms: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
):
    with Path("/dev/full").open("w") as full, redirect_stdout(full):
        assert main(["inspect", str(tiny_bilms[0])]) == 2
    assert capsys.readouterr().err.endswith("elmokit: error: standard output: No space left on device\n")
