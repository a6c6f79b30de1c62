import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from elmokit.cli.main import main
from elmokit.elmo.elmo import Elmo
from elmokit.vectors import embed_file as embed
from elmokit.vectors.embed_file import embed_file
from elmokit.vectors.files import load_vectors
from elmokit.vectors.flat import FlatVectors
from elmokit.vectors.save_vectors import save_vectors
from limited_disk import files_of_at_most
from toy_bilm import random_bilm
from toy_vectors import write_vectors

LINES = ["the cat sat", "", "on\tthe  mat .", "a\u2028b \u3000 c", "밥", *(f"line {n} of many" for n in range(12))]
TOKENS = [["the", "cat", "sat"], [], ["on", "the", "mat", "."], ["a\u2028b", "\u3000", "c"], ["밥"]]
ENDINGS = (".h5", ".npz", ".npy", ".safetensors")
ELMO = Elmo(random_bilm())
pytestmark = pytest.mark.filterwarnings("ignore:.* look like words with invisible characters")


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embed, "BLOCK_LINES", 4)


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_bytes("".join(f"{line}\n" for line in LINES).encode())
    return path


@pytest.mark.parametrize("raw_text", [False, True])
def test_a_column_of_a_text_file_is_embedded_and_its_tokens_are_found_with_the_vectors(tmp_path: Path, raw_text: bool):
    table = tmp_path / "out.txt"  # a reader of out.npz would take it for the file of sentences
    table.write_text('{"text": "The cat, too"}\n{"text": "the mat"}\n')
    embed_file(ELMO, table, tmp_path / "out.npz", raw_text=raw_text, column="text")
    vectors = load_vectors(tmp_path / "out.npz")
    tokens = [["The", "cat", ",", "too"] if raw_text else ["The", "cat,", "too"], ["the", "mat"]]
    assert vectors.sentences() == tokens
    for ours, theirs in zip(vectors, ELMO.encode(tokens), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=2e-6)
    with pytest.raises(ValueError, match=r"out.txt looks like JSON: .* --column FIELD"):
        embed_file(ELMO, table, tmp_path / "other.npz")
    with pytest.raises(ValueError, match=r"out\.txt: only a text can be split into sentences, not a column"):
        embed_file(ELMO, table, tmp_path / "other.npz", split_sentences=True, column="text")
    assert not (tmp_path / "other.npz").exists()


@pytest.mark.parametrize(
    ("ending", "given", "layers"),  # default: in HDF5 all layers, as in the released tool; elsewhere the top one
    [(".h5", None, "all"), (".npz", "all", "all"), (".npy", None, "top"), (".safetensors", 0, 0)],
)
def test_every_format_holds_the_vectors_of_every_line_and_says_what_made_them(
    text: Path, tmp_path: Path, ending: str, given: embed.Layers | None, layers: embed.Layers
):
    output = tmp_path / f"out{ending}"
    done = embed_file(ELMO, text, output, layers=given)
    expected = ELMO.encode(TOKENS + [line.split() for line in LINES[5:]], layers=layers)
    assert done == embed.EmbeddedFile(num_lines=17, num_tokens=11 + 48)
    vectors = load_vectors(output)
    about = {"model": ELMO.fingerprint(), "precision": "float32", "layers": str(layers)}
    assert vectors.about == ({} if ending in (".h5", ".npy") else about)
    for ours, theirs in zip(vectors, expected, strict=True):
        assert ours.shape == theirs.shape and ours.dtype == np.float32
        np.testing.assert_allclose(ours, theirs, atol=2e-6)
    beside = [f"out.offsets{ending}"] if ending == ".npy" else []
    assert sorted(os.listdir(tmp_path)) == sorted([f"out{ending}", "text.txt", *beside])


class Killed(BaseException):
    """An exception that no code catches."""


def killed(text: Path, output: Path, monkeypatch: pytest.MonkeyPatch, *, sync: int, **options: bool) -> None:
    """Embed, and die in this sync to disk: -1 writes the record, 0 to 4 write blocks, later ones come from `finish`."""
    syncs = iter(range(-1, 100))

    def die(*args: object) -> int:
        if next(syncs) == sync:
            raise Killed
        return 0

    with monkeypatch.context() as patched, pytest.raises(Killed):
        patched.setattr(os, "fsync", die)
        embed_file(ELMO, text, output, layers="all", **options)


@pytest.mark.parametrize(
    ("ending", "sync", "lost", "encoded"),  # lost bytes, and lines that are encoded after resuming
    [
        *((ending, 2, 1000, 9) for ending in (*ENDINGS, ".parquet", ".arrow", ".tsv")),
        (".npz", 0, 0, 13),
        (".npz", 0, 1, 17),
        (".npy", 4, 0, 0),
        (".npy", 3, 10**6, 17),  # the file has no row, or not even a header
        (".h5", 5, 0, 0),
        (".npy", 5, 0, 0),  # the sync of the offsets
        (".npy", 6, 0, 17),
    ],
)
def test_a_killed_job_that_is_resumed_gives_the_same_bytes(
    text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str, sync: int, lost: int, encoded: int
):
    whole, output = tmp_path / f"whole{ending}", tmp_path / f"out{ending}"
    partial = output.with_name(f"{output.name}.partial")
    embed_file(ELMO, text, whole, layers="all")
    killed(text, output, monkeypatch, sync=sync)
    assert not output.exists() and partial.is_dir()
    if lost:
        os.truncate(partial / "vectors", max(0, (partial / "vectors").stat().st_size - lost))
    place = (partial / "vectors").stat().st_ino if sync == 2 else None

    lines: list[int] = []
    encode = ELMO.encode
    monkeypatch.setattr(ELMO, "encode", lambda s, **options: lines.append(len(s)) or encode(s, **options))
    embed_file(ELMO, text, output, layers="all", resume=True)
    assert sum(lines) == encoded  # complete blocks are not embedded again
    assert output.read_bytes() == whole.read_bytes()
    if ending == ".npy":
        assert output.with_suffix(".offsets.npy").read_bytes() == whole.with_suffix(".offsets.npy").read_bytes()
    if ending in (".npy", ".safetensors") and place is not None:
        assert output.stat().st_ino == place  # these files are appended to, never copied
    assert not partial.exists()


def test_an_output_is_written_from_the_partial_one_in_parts(
    text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """If it were memory-mapped, all of the partial output would count as memory of the process."""
    monkeypatch.setattr(np, "memmap", None)
    for ending in (".npz", ".h5", ".parquet", ".tsv"):
        embed_file(ELMO, text, tmp_path / f"out{ending}")


def flip_a_bit(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[:43] + bytes([content[43] ^ 1]) + content[44:])


@pytest.mark.parametrize(
    ("file", "spoil", "message"),
    [
        ("vectors", flip_a_bit, r"vectors: is damaged; delete the folder .*out\.npy\.partial to start over"),
        ("vectors", lambda path: path.write_bytes(path.read_bytes() * 3), r"vectors: is damaged; delete the folder"),
        ("job.json", lambda path: os.truncate(path, 20), r"job\.json: is not valid JSON"),
        ("journal.jsonl", Path.touch, r"partial holds journal\.jsonl, which this version of elmokit does not write"),
    ],
)
def test_a_partial_output_that_is_damaged_or_of_something_else_is_refused_and_kept(
    text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str, spoil: Callable[[Path], None], message: str
):
    output = tmp_path / "out.npy"
    killed(text, output, monkeypatch, sync=3)
    folder = tmp_path / "out.npy.partial"
    spoil(folder / file)
    there = sorted(os.listdir(folder))
    with pytest.raises(ValueError, match=message):
        embed_file(ELMO, text, output, layers="all", resume=True)
    assert not output.exists() and sorted(os.listdir(folder)) == there


def test_what_is_left_of_a_job_without_a_record_is_no_obstacle(text: Path, tmp_path: Path):
    folder = tmp_path / "out.npz.partial"
    folder.mkdir()
    for name in ("vectors", ".job.json.0123456789abcdef.tmp", "out.npz.tokens.txt"):
        (folder / name).write_text("x")
    embed_file(ELMO, text, tmp_path / "out.npz")
    assert sorted(os.listdir(tmp_path)) == ["out.npz", "text.txt"]


@pytest.mark.parametrize("changed", ["line 9", "a\nb", "line 9 of many\nmore"])
def test_a_text_that_changes_while_it_is_embedded_is_noticed(
    text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changed: str
):
    survey = embed._survey

    def change(*args: Any, **options: Any) -> Any:
        found = survey(*args, **options)
        text.write_text(text.read_text().replace("line 9 of many", changed))
        return found

    monkeypatch.setattr(embed, "_survey", change)
    with pytest.raises(ValueError, match=r"out\.npy: the text has changed since it was first read; start over"):
        embed_file(ELMO, text, tmp_path / "out.npy")


def test_the_command_refuses_a_folder_as_output(text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["embed", str(text), "-o", str(tmp_path)]) == 2
    assert f"{tmp_path} is a folder; expected the name of a file" in capsys.readouterr().err


@pytest.mark.parametrize("ending", [*ENDINGS, ".parquet"])
def test_what_exists_is_replaced_only_when_that_is_asked_for(text: Path, tmp_path: Path, ending: str):
    output = tmp_path / f"out{ending}"
    embed_file(ELMO, text, output, raw_text=True)
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    for resume in (False, True):
        with pytest.raises(FileExistsError, match=rf"out\{ending} exists; choose another name, or add --overwrite, or"):
            embed_file(ELMO, text, output, layers=0, resume=resume)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before
    embed_file(ELMO, text, output, layers=0, overwrite=True)
    assert load_vectors(output)[0].shape == (3, 12) and output.read_bytes() != before[output]
    assert load_vectors(output).sentences() == TOKENS + [line.split() for line in LINES[5:]]


def test_files_next_to_the_output_that_another_program_wrote_stay(text: Path, tmp_path: Path):
    (tmp_path / "out.npy.sentences.txt").write_text("mine\n")
    (tmp_path / "out.npy.tokens.txt").write_text("mine\n")
    with pytest.raises(FileExistsError, match=r"out\.npy\.tokens\.txt exists"):
        embed_file(ELMO, text, tmp_path / "out.npy")
    with pytest.raises(FileExistsError, match=r"out\.npy\.tokens\.txt exists"):
        save_vectors(tmp_path / "out.npy", [["a"]], [np.zeros((1, 3))])
    embed_file(ELMO, text, tmp_path / "other.npy")
    assert (tmp_path / "out.npy.sentences.txt").read_text() == "mine\n"


def test_a_pipe_is_read_once(text: Path, tmp_path: Path):
    lines = text.read_bytes()
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=[lines])
    writer.start()
    embed_file(ELMO, tmp_path / "pipe", tmp_path / "out.parquet", raw_text=True)
    writer.join()
    embed_file(ELMO, text, tmp_path / "whole.parquet", raw_text=True)
    assert (tmp_path / "out.parquet").read_bytes() == (tmp_path / "whole.parquet").read_bytes()


@pytest.mark.parametrize("ending", [".h5", ".npy"])
def test_tokens_are_next_to_vectors_unless_a_text_of_their_name_is_what_was_embedded(tmp_path: Path, ending: str):
    (tmp_path / "raw.txt").write_text("It isn't here.\n\n(Yes.)\n" * 2)
    output = tmp_path / f"raw{ending}"
    embed_file(ELMO, tmp_path / "raw.txt", output, raw_text=True)
    assert Path(f"{output}.tokens.txt").read_text() == "It is n't here .\n\n( Yes . )\n" * 2
    vectors = load_vectors(output)
    assert vectors.sentences() == [["It", "is", "n't", "here", "."], [], ["(", "Yes", ".", ")"]] * 2
    embed_file(ELMO, f"{output}.tokens.txt", tmp_path / f"other{ending}")
    assert load_vectors(tmp_path / f"other{ending}").sentences() is None
    (tmp_path / "other.txt").write_text("x y .\n")
    embed_file(ELMO, tmp_path / "other.txt", output, overwrite=True)
    assert load_vectors(output).sentences() == [["x", "y", "."]]
    (tmp_path / "raw.txt").write_text("a b .\n\ufeffc\n\ufeff\n")  # concatenated files with byte order marks
    embed_file(ELMO, tmp_path / "raw.txt", output, overwrite=True)
    assert load_vectors(output).sentences() == [["a", "b", "."], ["c"], []]


@pytest.mark.parametrize("ending", [".npz", ".parquet", ".tsv"])
def test_a_book_becomes_its_sentences_in_their_order(tmp_path: Path, ending: str):
    book = tmp_path / "book.txt"
    book.write_text("CHAPTER I\n\nMr. Fox had\nleft. It\n  was very cold.\n\u200b\n\nHe said: Yes.\n")
    sentences = ["CHAPTER I", "Mr. Fox had left.", "It was very cold.", "He said: Yes."]
    output = tmp_path / f"book{ending}"
    done = embed_file(ELMO, book, output, split_sentences=True)
    assert Path(f"{output}.sentences.txt").read_text() == "".join(f"{sentence}\n" for sentence in sentences)
    tokens = [ELMO.tokenize(sentence) for sentence in sentences]
    assert done == embed.EmbeddedFile(num_lines=4, num_tokens=sum(map(len, tokens)))
    if ending == ".tsv":
        rows = [line.split("\t")[:3] for line in output.read_text().splitlines()[1:]]
        assert [row[2] for row in rows] == [token for sentence in tokens for token in sentence]
    else:
        vectors = load_vectors(output)
        assert vectors.sentences() == tokens
        for ours, theirs in zip(vectors, ELMO.encode(tokens), strict=True):
            np.testing.assert_allclose(ours, theirs, atol=2e-6)
    with pytest.raises(ValueError, match=r"sentences\.txt would be replaced by the output"):
        embed_file(ELMO, f"{output}.sentences.txt", output, split_sentences=True, overwrite=True)


@pytest.mark.parametrize(
    ("output", "neighbour", "options"),
    [
        ("out.npy", "out.npy.tokens.txt", {"raw_text": True}),
        ("out.npy", "out.offsets.npy", {}),
        ("out.parquet", "out.parquet.sentences.txt", {"split_sentences": True}),
    ],
)
def test_what_is_in_the_way_of_files_next_to_the_output_is_refused_at_once(
    text: Path, tmp_path: Path, output: str, neighbour: str, options: dict[str, bool], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(embed, "Writer", None)  # nothing is computed
    (tmp_path / neighbour).mkdir()
    with pytest.raises(IsADirectoryError, match=f"{neighbour} is a folder"):
        embed_file(ELMO, text, tmp_path / output, **options, overwrite=True)
    (tmp_path / neighbour).rmdir()
    (tmp_path / neighbour).symlink_to("nowhere")
    with pytest.raises(FileNotFoundError, match=f"{neighbour} is a link to .*nowhere, which does not exist"):
        embed_file(ELMO, text, tmp_path / output, **options)
    assert sorted(os.listdir(tmp_path)) == sorted([neighbour, "text.txt"])


def test_resume_refuses_other_models_options_and_text(text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    output = tmp_path / "out.h5"
    killed(text, output, monkeypatch, sync=2)
    original = text.read_text()
    for elmo, changes, message in (
        (ELMO, {"resume": False}, "holds an interrupted job; add --resume, or resume=True, to continue it"),
        (ELMO, {"resume": False, "overwrite": True}, "holds an interrupted job; add --resume, or resume=True"),
        (Elmo(random_bilm(seed=6)), {}, "the interrupted job had a different model"),
        (Elmo(ELMO.bilm, precision="bfloat16"), {}, "the interrupted job had a different precision"),
        (ELMO, {"layers": "top"}, r"a different layers \('all', now 'top'\)"),
        (ELMO, {"raw_text": True}, "a different raw_text"),
    ):
        with pytest.raises(ValueError, match=message):
            embed_file(elmo, text, output, **{"layers": "all", "resume": True} | changes)
    for changed in (original.replace("cat", "dog"), "the cat sat\n", original + "one more\n"):
        text.write_text(changed)
        with pytest.raises(ValueError, match=r"the interrupted job had a different text \("):
            embed_file(ELMO, text, output, layers="all", resume=True)
    text.write_text(original)
    assert embed_file(ELMO, text, output, layers="all", resume=True, batch_size=3).num_lines == 17


@pytest.mark.parametrize(("num_bytes", "resume", "left"), [(20, True, 0), (2000, False, 0), (2000, True, 1)])
def test_a_full_disk_leaves_only_what_is_resumed(text: Path, tmp_path: Path, num_bytes: int, resume: bool, left: int):
    with files_of_at_most(num_bytes), pytest.raises(OSError, match="File too large.*out.npz"):
        embed_file(ELMO, text, tmp_path / "out.npz", resume=resume)
    assert sorted(os.listdir(tmp_path)) == [*["out.npz.partial"] * left, "text.txt"]
    assert embed_file(ELMO, text, tmp_path / "out.npz", resume=resume).num_lines == 17


@pytest.mark.parametrize("ending", [".npz", ".h5", ".parquet", ".tsv"])
def test_a_writer_stops_at_a_full_disk_and_hdf5_does_not_crash(tmp_path: Path, ending: str):
    path = tmp_path / f"out{ending}"
    vectors = FlatVectors(np.zeros((5000, 8), np.float32), np.arange(0, 5001, 10), {})
    with files_of_at_most(50_000), pytest.raises(OSError, match="File too large"):
        write_vectors(path, vectors)
    assert os.listdir(tmp_path) == []
