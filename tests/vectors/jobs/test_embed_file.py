import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from attacks.limited_disk import files_of_at_most
from elmokit.elmo.elmo import Elmo
from elmokit.vectors.files import format_to_write, load_vectors
from elmokit.vectors.jobs import embed_file as embed
from elmokit.vectors.jobs import partial
from elmokit.vectors.jobs.embed_file import embed_file
from elmokit.vectors.reader import FlatVectors
from toy_bilm import random_bilm

LINES = ["the cat sat", "", "on\tthe  mat .", "a\u2028b \u3000 c", "밥", *(f"line {n} of many" for n in range(12))]
TOKENS = [["the", "cat", "sat"], [], ["on", "the", "mat", "."], ["a\u2028b", "\u3000", "c"], ["밥"]]
ENDINGS = (".h5", ".npz", ".npy", ".safetensors")
PARTS = ("journal.jsonl", "vectors", "offsets")
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
    table = tmp_path / "out.txt"  # readers of out.npz would take it for the sentences
    table.write_text('{"text": "The cat, too"}\n{"text": "the mat"}\n')
    embed_file(ELMO, table, tmp_path / "out.npz", raw_text=raw_text, column="text")
    vectors = load_vectors(tmp_path / "out.npz")
    tokens = [["The", "cat", ",", "too"] if raw_text else ["The", "cat,", "too"], ["the", "mat"]]
    assert vectors.sentences() == tokens
    for ours, theirs in zip(vectors, ELMO.encode(tokens), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=2e-6)
    with pytest.raises(ValueError, match=r"out.txt is JSON; expected text, one sentence per line: --column FIELD"):
        embed_file(ELMO, table, tmp_path / "other.npz")
    with pytest.raises(ValueError, match=r"out\.txt: only a text can be split into sentences, not a column"):
        embed_file(ELMO, table, tmp_path / "other.npz", split_sentences=True, column="text")
    assert not (tmp_path / "other.npz").exists()


@pytest.mark.parametrize(
    ("ending", "given", "layers"),  # all in HDF5, as the released tool wrote them; elsewhere the top one
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
    """What no code catches."""


def killed_while_embedding(text: Path, output: Path, monkeypatch: pytest.MonkeyPatch, *, sync: int) -> None:
    """Embed, and die when this is written: the job, for each block vectors, offsets and line, or the output."""
    parts = iter(range(100))

    def die(*args: object) -> int:
        if next(parts) == sync:
            raise Killed
        return 0

    with monkeypatch.context() as patched, pytest.raises(Killed):
        patched.setattr(os, "fsync", die)
        embed_file(ELMO, text, output, layers="all")


@pytest.mark.parametrize(
    ("ending", "sync"), [(".h5", 2), (".npz", 14), (".h5", 16), *((ending, 5) for ending in (*ENDINGS, ".parquet"))]
)
def test_a_killed_job_that_is_resumed_gives_the_same_bytes(
    text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str, sync: int
):
    whole, output = tmp_path / f"whole{ending}", tmp_path / f"out{ending}"
    embed_file(ELMO, text, whole, layers="all")
    killed_while_embedding(text, output, monkeypatch, sync=sync)
    assert not output.exists() and (tmp_path / f"out{ending}.partial").is_dir()

    encoded: list[int] = []
    encode = ELMO.encode
    monkeypatch.setattr(ELMO, "encode", lambda s, **kw: encoded.append(len(s)) or encode(s, **kw))
    embed_file(ELMO, text, output, layers="all", resume=True)
    assert sum(encoded) == max(0, 17 - 4 * (sync // 3))  # finished blocks are not embedded again
    assert output.read_bytes() == whole.read_bytes()
    if ending == ".npy":
        offsets = (path.with_suffix(".offsets.npy").read_bytes() for path in (output, whole))
        assert len(set(offsets)) == 1
    assert not (tmp_path / f"out{ending}.partial").exists()


def flip_a_bit(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[:43] + bytes([content[43] ^ 1]) + content[44:])


def make_a_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


@pytest.mark.parametrize(
    ("file", "spoil", "message"),
    [
        *(
            (file, lambda path: os.truncate(path, 50), r"is cut short; delete the folder .*out\.npz\.partial to start")
            for file in PARTS[1:]
        ),
        ("offsets", flip_a_bit, ".*expected numbers that grow from 0"),
        *((file, make_a_pipe, "there is no such file; delete the folder .* to start over") for file in PARTS),
    ],
)
def test_a_part_that_is_damaged_is_refused_and_a_pipe_not_waited_for(
    text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str, spoil: Callable[[Path], None], message: str
):
    output = tmp_path / "out.npz"
    killed_while_embedding(text, output, monkeypatch, sync=11)
    spoil(tmp_path / "out.npz.partial" / file)
    with pytest.raises((ValueError, FileNotFoundError), match=f"{file}: {message}"):
        embed_file(ELMO, text, output, layers="all", resume=True)
    assert not output.exists()


def test_a_folder_that_is_not_of_such_a_job_is_left_alone(text: Path, tmp_path: Path):
    folder = tmp_path / "out.npz.partial"
    folder.mkdir()
    (folder / "journal.json").write_text("{}")  # as earlier versions named it
    for resume in (False, True):
        with pytest.raises(ValueError, match=r"out\.npz\.partial holds journal\.json, which a job of this"):
            embed_file(ELMO, text, tmp_path / "out.npz", resume=resume)
    assert (folder / "journal.json").exists()


@pytest.mark.parametrize("was_killed_at_its_start", [False, True])
def test_a_job_killed_while_it_removes_its_finished_lines_can_be_run_again(
    text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, was_killed_at_its_start: bool
):
    output, whole = tmp_path / "out.npz", tmp_path / "whole.npz"

    def die(folder: Path) -> None:
        (folder / "vectors").unlink()
        raise Killed

    embed_file(ELMO, text, whole)
    if was_killed_at_its_start:
        killed_while_embedding(text, output, monkeypatch, sync=2)
    with monkeypatch.context() as patched, pytest.raises(Killed):
        patched.setattr(partial, "shutil", SimpleNamespace(rmtree=die))
        embed_file(ELMO, text, output)
    embed_file(ELMO, text, output, resume=not was_killed_at_its_start)
    assert output.read_bytes() == whole.read_bytes()
    assert sorted(os.listdir(tmp_path)) == ["out.npz", "text.txt", "whole.npz"]


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
    embed_file(ELMO, tmp_path / "other.txt", output)
    assert load_vectors(output).sentences() == [["x", "y", "."]]
    (tmp_path / "raw.txt").write_text("a b .\n\ufeffc\n\ufeff\n")  # files with byte order marks, one after the other
    embed_file(ELMO, tmp_path / "raw.txt", output)
    assert load_vectors(output).sentences() == [["a", "b", "."], ["c"], []]
    assert not Path(f"{output}.tokens.txt").exists()


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
        embed_file(ELMO, f"{output}.sentences.txt", output, raw_text=True)
    embed_file(ELMO, book, output, raw_text=True)
    assert not Path(f"{output}.sentences.txt").exists()


@pytest.mark.parametrize(
    ("output", "neighbour", "options"),
    [
        ("out.npy", "out.npy.tokens.txt", {"raw_text": True}),
        ("out.npy", "out.npy.tokens.txt", {}),  # which would be removed
        ("out.npy", "out.offsets.npy", {}),
        ("out.parquet", "out.parquet.sentences.txt", {"split_sentences": True}),
    ],
)
def test_what_is_in_the_way_of_files_next_to_the_output_is_refused_at_once(
    text: Path, tmp_path: Path, output: str, neighbour: str, options: dict[str, bool], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(embed, "PartialVectors", None)  # nothing is computed
    (tmp_path / neighbour).mkdir()
    with pytest.raises(IsADirectoryError, match=f"{neighbour} is a folder"):
        embed_file(ELMO, text, tmp_path / output, **options)
    (tmp_path / neighbour).rmdir()
    (tmp_path / neighbour).symlink_to("nowhere")
    with pytest.raises(FileNotFoundError, match=f"{neighbour} is a link to .*nowhere, which does not exist"):
        embed_file(ELMO, text, tmp_path / output, **options)
    assert sorted(os.listdir(tmp_path)) == sorted([neighbour, "text.txt"])


def test_resume_refuses_other_models_options_and_text(text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    output = tmp_path / "out.h5"
    killed_while_embedding(text, output, monkeypatch, sync=8)
    for elmo, changes, message in (
        (ELMO, {"resume": False}, "8 lines of an interrupted job; add --resume, or resume=True, to continue"),
        (Elmo(random_bilm(seed=6)), {}, "the interrupted job had a different model"),
        (Elmo(ELMO.bilm, precision="bfloat16"), {}, "the interrupted job had a different precision"),
        (ELMO, {"layers": "top"}, r"a different layers \('all', now 'top'\)"),
        (ELMO, {"raw_text": True}, "a different raw_text"),
    ):
        with pytest.raises(ValueError, match=message):
            embed_file(elmo, text, output, **{"layers": "all", "resume": True} | changes)
    original = text.read_text()
    for changed in (original.replace("cat", "dog"), "the cat sat\n"):
        text.write_text(changed)
        with pytest.raises(ValueError, match="the first 8 lines are not those"):
            embed_file(ELMO, text, output, layers="all", resume=True)
    text.write_text(original + "one more\n")  # behind what is finished, text may change
    assert embed_file(ELMO, text, output, layers="all", resume=True, batch_size=3).num_lines == 18


@pytest.mark.parametrize(("num_bytes", "resume", "left"), [(20, True, 0), (2000, False, 0), (2000, True, 1)])
def test_a_full_disk_leaves_only_what_is_resumed(text: Path, tmp_path: Path, num_bytes: int, resume: bool, left: int):
    with files_of_at_most(num_bytes), pytest.raises(OSError, match="File too large.*out.npz"):
        embed_file(ELMO, text, tmp_path / "out.npz", resume=resume)
    assert sorted(os.listdir(tmp_path)) == [*["out.npz.partial"] * left, "text.txt"]
    assert embed_file(ELMO, text, tmp_path / "out.npz", resume=resume).num_lines == 17


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_writer_stops_at_a_full_disk_and_hdf5_does_not_crash(tmp_path: Path, ending: str):
    path = tmp_path / f"out{ending}"
    vectors = FlatVectors(np.zeros((5000, 8), np.float32), np.arange(0, 5001, 10), {})
    with files_of_at_most(50_000), pytest.raises(OSError, match="File too large"):
        format_to_write(path).write(path, vectors)
    assert os.listdir(tmp_path) == []
