"""Files of vectors in every layout: they are read as written, and errors name damaged ones."""

import csv
import io
import json
import pickle
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
from syrupy.assertion import SnapshotAssertion

from elmokit.vectors.file_vector_source import FileVectorSource
from elmokit.vectors.files import format_to_write, load_vectors, recognise
from elmokit.vectors.flat import FlatVectors, offsets_path
from elmokit.vectors.save_vectors import save_vectors
from elmokit.vectors.text_tables import check_word2vec, write_type_table
from refusals import refusals
from toy_vectors import write_vectors

ENDINGS = (".h5", ".hdf5", ".npz", ".npy", ".safetensors")
TABLES = (".parquet", ".arrow")
ABOUT = {"model": "0123", "precision": "float32", "layers": "all"}
OFFSETS = np.array([0, 2, 2, 5])


def vectors(num_layers: int | None = 2) -> np.ndarray:
    shape = (5, 3) if num_layers is None else (5, num_layers, 3)
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


def written(folder: Path, ending: str, *, num_layers: int | None = 2) -> Path:
    path = folder / f"v{ending}"
    write_vectors(path, FlatVectors(vectors(num_layers), OFFSETS, ABOUT))
    return path


@pytest.mark.parametrize("ending", [*ENDINGS, *TABLES])
@pytest.mark.parametrize("num_layers", [None, 2])
def test_what_was_written_is_read_sentence_by_sentence(tmp_path: Path, ending: str, num_layers: int | None):
    stored = load_vectors(written(tmp_path, ending, num_layers=num_layers))
    assert (len(stored), stored.num_layers, stored.dim) == (3, num_layers, 3)
    assert stored.about == ({} if ending in (".h5", ".hdf5", ".npy") else ABOUT)
    flat = vectors(num_layers)
    for array, (start, end) in zip(stored, [(0, 2), (2, 2), (2, 5)], strict=True):
        np.testing.assert_array_equal(array, flat[start:end] if num_layers is None else flat[start:end].swapaxes(0, 1))
        assert array.dtype == np.float32
    np.testing.assert_array_equal(stored[-1], stored[2])
    for ours, number in zip(stored[:-3:-1], (2, 1), strict=True):
        np.testing.assert_array_equal(ours, stored[number])
    with pytest.raises(TypeError, match="'list' object cannot be interpreted as an integer"):
        stored[[0, 1]]  # pyright: ignore
    with pytest.raises(IndexError, match=r"has 3 sentences; there is no sentence 3"):
        stored[3]
    packed = pickle.dumps(stored)  # a copy for another process opens the file again
    assert flat.tobytes() not in packed
    np.testing.assert_array_equal(pickle.loads(packed)[2], stored[2])


@pytest.mark.parametrize("ending", [".npz", ".npy", ".safetensors"])
def test_flat_layouts_are_mapped_and_cannot_be_written_to(tmp_path: Path, ending: str):
    array = load_vectors(written(tmp_path, ending))[0]
    base = array
    while not isinstance(base, np.memmap):
        assert isinstance(base.base, np.ndarray)
        base = base.base
    with pytest.raises(ValueError, match="read-only"):
        array[0] = 0


def test_every_layout_is_read_and_flat_ones_are_written_without_elmokit_too(tmp_path: Path):
    paths = {ending: written(tmp_path, ending) for ending in ENDINGS}
    with h5py.File(paths[".h5"]) as file:
        assert sorted(file) == ["0", "1", "2"]
        np.testing.assert_array_equal(file["2"], vectors()[2:].swapaxes(0, 1))
    npz, tensors = np.load(paths[".npz"]), load_file(paths[".safetensors"])
    flat = {"vectors": np.load(paths[".npy"]), "offsets": np.load(offsets_path(paths[".npy"]))}
    for arrays in (npz, tensors, flat):
        np.testing.assert_array_equal(arrays["vectors"], vectors())
        np.testing.assert_array_equal(arrays["offsets"], OFFSETS)
        assert arrays["offsets"].dtype == np.int64
    assert json.loads(str(npz["about"])) == ABOUT
    arrays = {"offsets": OFFSETS, "vectors": vectors().astype(np.float16)}
    np.savez(tmp_path / "v.npz", **arrays)
    save_file(arrays, tmp_path / "v.safetensors")
    for name in ("v.npz", "v.safetensors"):
        stored = load_vectors(tmp_path / name)
        assert stored[0].dtype == np.float16 and stored.about == {}
        np.testing.assert_array_equal(stored[2], arrays["vectors"][2:].swapaxes(0, 1))


def test_a_loop_over_an_hdf5_file_meets_the_sentences_in_their_order(tmp_path: Path):
    stored = FlatVectors(np.zeros((12, 3), np.float32), np.arange(13), ABOUT)
    write_vectors(tmp_path / "v.h5", stored)
    with h5py.File(tmp_path / "v.h5") as file:
        assert list(file) == [str(number) for number in range(12)]  # not 0, 1, 10, 11, 2


def test_only_vectors_are_recognised(tmp_path: Path, tiny_bilms: tuple[Path, Path]):
    for ending in (*ENDINGS, *TABLES):
        assert recognise(written(tmp_path, ending)) is format_to_write(Path(f"v{ending}"))
    (tmp_path / "text.npy").write_text("no array\n")
    with zipfile.ZipFile(tmp_path / "model.npz", "w") as archive:
        archive.writestr("data.pkl", b"")
    np.savez(tmp_path / "weights.npz", weights=np.zeros(3))
    save_file({"weights": np.zeros(3)}, tmp_path / "weights.safetensors")
    with h5py.File(tmp_path / "weights.hdf5", "w") as file:
        file.create_dataset("weights", data=np.zeros(3))
    for name in ("text.npy", "model.npz", "weights.npz", "weights.safetensors", "weights.hdf5", "nothing.npy"):
        assert recognise(tmp_path / name) is None
    for model in tiny_bilms:
        assert [recognise(path) for path in (model, *model.iterdir())].count(None) == 1 + len(list(model.iterdir()))
    with pytest.raises(ValueError, match=r"weights.hdf5: holds no vectors; expected a file of `elmokit embed`"):
        load_vectors(tmp_path / "weights.hdf5")
    with pytest.raises(FileNotFoundError, match=r"nothing.npy: there is no such file"):
        load_vectors(tmp_path / "nothing.npy")
    assert len(load_vectors((tmp_path / "v.npz").rename(tmp_path / "v.vectors"))) == 3
    (tmp_path / "v.vectors").rename(tmp_path / "v.npy")
    with pytest.raises(ValueError, match=r"v.npy: has the contents of a .npz file; rename it"):
        load_vectors(tmp_path / "v.npy")


def npy_bytes(array: np.ndarray, **settings: bool) -> bytes:
    file = io.BytesIO()
    np.save(file, array, **settings)
    return file.getvalue()


def npz_with(path: Path, *, compression: int = zipfile.ZIP_STORED, **entries: bytes) -> Path:
    contents = {"vectors": npy_bytes(vectors()), "offsets": npy_bytes(OFFSETS)} | entries
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, content in contents.items():
            archive.writestr(f"{name}.npy", content)
    return path


def with_entry_beyond_the_end(path: Path) -> None:
    content = bytearray(path.read_bytes())
    entry = content.rindex(b"PK\x01\x02")  # of `about`, in the archive's directory
    struct.pack_into("<I", content, entry + 42, 0xFFFFFF)  # its offset
    path.write_bytes(content)


OBJECTS = npy_bytes(np.array([{}], dtype=object), allow_pickle=True)
CLAIM = npy_bytes(vectors()).replace(b"(5, 2, 3), ", b"(5, 2, 30), ")


def test_damaged_archives_are_refused(tmp_path: Path, snapshot: SnapshotAssertion):
    def read(spoil: Callable[[Path], object]) -> None:
        path = written(tmp_path, ".npz")
        spoil(path)
        load_vectors(path)

    ways: tuple[Callable[[Path], object], ...] = (
        lambda path: npz_with(path, compression=zipfile.ZIP_DEFLATED),
        lambda path: npz_with(path, vectors=OBJECTS),
        lambda path: npz_with(path, vectors=CLAIM),
        lambda path: npz_with(path, offsets=npy_bytes(np.array([0, 4, 2, 5]))),
        lambda path: npz_with(path, offsets=npy_bytes(np.zeros(0, int))),
        lambda path: npz_with(path, about=npy_bytes(np.zeros(3))),
        lambda path: npz_with(path, about=npy_bytes(np.array("no JSON"))),
        lambda path: npz_with(path, about=npy_bytes(np.array('{"layers": 3}'))),
        lambda path: npz_with(path, about=npy_bytes(np.array("x" * 200_000))),
        with_entry_beyond_the_end,
        lambda path: path.write_bytes(path.read_bytes()[:-30]),
        lambda path: np.savez(path, vectors=vectors()),
        lambda path: np.savez(path, vectors=vectors().astype(">f4"), offsets=OFFSETS),
    )
    assert refusals(read, ways, folder=tmp_path) == snapshot


def test_tensors_that_are_no_vectors_are_refused(tmp_path: Path, snapshot: SnapshotAssertion):
    def read(tensors: tuple[np.ndarray, np.ndarray]) -> None:
        save_file(dict(zip(("vectors", "offsets"), tensors, strict=True)), tmp_path / "v.safetensors")
        load_vectors(tmp_path / "v.safetensors")

    doubles, row = vectors().astype(np.float64), np.zeros(5, np.float32)
    given = (vectors(), OFFSETS.astype(np.int32)), (doubles, OFFSETS), (row, OFFSETS)
    assert refusals(read, given, folder=tmp_path) == snapshot


def test_a_dataset_that_may_not_be_read_is_named_when_it_is_asked_for(tmp_path: Path, snapshot: SnapshotAssertion):
    def read(make: Callable[[h5py.File], object]) -> None:
        with h5py.File(tmp_path / "v.h5", "w") as file:
            for other in (0, 2):
                file.create_dataset(str(other), data=np.zeros((2, other, 3), np.float32))
            make(file)
        stored = load_vectors(tmp_path / "v.h5")
        assert stored[2].shape == (2, 2, 3)
        stored[1]

    ways: tuple[Callable[[h5py.File], object], ...] = (
        lambda file: file.create_dataset("1", data=np.zeros((2, 1, 4), np.float32)),
        lambda file: file.create_dataset("1", data=np.zeros((1, 3), np.float32)),
        lambda file: file.create_dataset("1", data=[1, 2]),
        lambda file: file.create_group("1"),
        lambda file: file.create_dataset("later", data=np.zeros(1)),
        lambda file: file.__setitem__("1", h5py.SoftLink("/0")),
        lambda file: file.create_dataset("1", (2, 10**9, 3), "f4", chunks=(2, 9, 3)),
    )
    assert refusals(read, ways, folder=tmp_path) == snapshot


TOKENS = [["a", '"'], [], ["\u2028", "\xa0", "밥"]]


def any_floats(*shape: int) -> np.ndarray:
    """Floats of every size: largest, smallest, denormal, negative zero, and random bits."""
    bits = np.random.default_rng(0).integers(0, 2**32, size=shape, dtype=np.uint32)
    numbers = bits.view(np.float32)
    numbers[~np.isfinite(numbers)] = 1 / 3
    numbers.flat[:5] = [3.4028235e38, 1e-45, 1.17549435e-38, -0.0, 16777217]
    return numbers


def rows_of(path: Path) -> list[list[str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file, delimiter="\t"))


@pytest.mark.parametrize("num_layers", [None, 2])
def test_a_table_has_a_row_for_each_token_and_layer(num_layers: int | None, tmp_path: Path) -> None:
    vectors = any_floats(5, *([] if num_layers is None else [num_layers]), 3)
    texts = [("", tokens) for tokens in TOKENS]
    path = tmp_path / "v.tsv"
    write_vectors(path, FlatVectors(vectors, OFFSETS, texts=texts))
    names, *rows = rows_of(path)
    keys = ["sentence_id", "token_id", "token", *([] if num_layers is None else ["layer"])]
    assert names == [*keys, "v1", "v2", "v3"]
    expected = [(1, 1, "a"), (1, 2, '"'), (3, 1, "\u2028"), (3, 2, "\xa0"), (3, 3, "밥")]
    layers = [()] if num_layers is None else [("0",), ("1",)]
    assert [tuple(row[: len(keys)]) for row in rows] == [
        (str(sentence), str(place), token, *layer) for sentence, place, token in expected for layer in layers
    ]
    numbers = np.array([row[len(keys) :] for row in rows], np.float32)
    assert numbers.tobytes() == vectors.tobytes()  # negative zeros, too
    with pytest.raises(ValueError, match=r"v\.tsv: is a table for other programs"):
        load_vectors(path)


def test_a_table_of_words_has_their_counts_and_one_without_texts_no_tokens(tmp_path: Path) -> None:
    with (tmp_path / "w.tsv").open("w", encoding="utf-8", newline="") as file:
        write_type_table(file, [('"', 2, np.array([0.5, 0.1], np.float32))], num_words=1, dim=2)
    assert rows_of(tmp_path / "w.tsv") == [["word", "count", "v1", "v2"], ['"', "2", "0.5", "0.100000001"]]
    path = tmp_path / "v.tsv"
    write_vectors(path, FlatVectors(any_floats(5, 1), OFFSETS))
    assert rows_of(path)[0] == ["sentence_id", "token_id", "v1"]
    with pytest.raises(ValueError, match=r"\.vec has one vector for each word: add --types"):
        format_to_write(tmp_path / "v.vec")


@pytest.mark.parametrize("word", ["", "New York", "a\nb", "a\tb"])
def test_a_word_that_word2vec_s_format_cannot_hold_is_refused(word: str) -> None:
    with pytest.raises(ValueError, match=r"is empty or has white space in it, .*write a \.tsv file"):
        check_word2vec(["good", word])


SENTENCES = [["the", "cat"], [], ["밥"]]
ARRAYS = [np.arange(12, dtype=np.float32).reshape(2, 2, 3), np.zeros((2, 0, 3)), np.full((2, 1, 3), 0.1)]


def test_what_was_saved_is_loaded_with_its_sentences_from_files_that_numpy_would_save(tmp_path: Path):
    save_vectors(tmp_path / "v.npy", SENTENCES, ARRAYS)
    vectors = load_vectors(tmp_path / "v.npy")
    assert vectors.sentences() == SENTENCES
    for ours, theirs in zip(vectors, ARRAYS, strict=True):
        assert ours.dtype == np.float16
        np.testing.assert_array_equal(ours, theirs.astype(np.float16))
    rows = np.concatenate([array.swapaxes(0, 1) for array in ARRAYS]).astype(np.float16)
    for name, array in (("v.npy", np.ascontiguousarray(rows)), ("v.offsets.npy", np.array([0, 2, 2, 3], np.int64))):
        np.save(tmp_path / "array.npy", array)
        assert (tmp_path / name).read_bytes() == (tmp_path / "array.npy").read_bytes()
    assert (tmp_path / "v.npy.tokens.txt").read_bytes() == "the cat\n\n밥\n".encode()


def test_a_text_of_the_same_name_stays_and_what_exists_is_replaced_only_if_asked_for(tmp_path: Path):
    (tmp_path / "corpus.txt").write_text("my corpus\n")
    save_vectors(tmp_path / "corpus.npy", [["a"]], [np.zeros((1, 3))])
    assert (tmp_path / "corpus.txt").read_text() == "my corpus\n"
    arrays = iter(ARRAYS)
    with pytest.raises(FileExistsError, match=r"corpus\.npy exists; .* overwrite=True, to replace it"):
        save_vectors(tmp_path / "corpus.npy", SENTENCES, arrays)
    assert len(list(arrays)) == len(ARRAYS)  # nothing was computed
    save_vectors(tmp_path / "corpus.npy", SENTENCES, ARRAYS, overwrite=True)
    assert load_vectors(tmp_path / "corpus.npy").sentences() == SENTENCES


def test_vectors_with_their_sentences_in_a_text_of_their_name_are_still_read(tmp_path: Path):
    save_vectors(tmp_path / "v.npy", SENTENCES, ARRAYS)
    (tmp_path / "v.npy.tokens.txt").rename(tmp_path / "v.txt")  # as save_vectors wrote them until November 2026
    assert load_vectors(tmp_path / "v.npy").sentences() == SENTENCES
    assert FileVectorSource(tmp_path / "v.npy")(SENTENCES[:1]).shape == (2, 1, 2, 3)


TWO, ROW = [["a"], ["b"]], np.zeros((1, 4))


def test_what_cannot_be_saved_leaves_nothing(tmp_path: Path, snapshot: SnapshotAssertion):
    cases = (
        ("v.h5", [["a"]], [ROW]),
        *(("v.npy", [[token]], [ROW]) for token in ("a b", "a\0", "\ufeffa", "a\ud83d", "a\r")),
        *(("v.npy", [["a", "b"]], [ROW]), ("v.npy", [], []), ("v.npy", ["ab"], [np.zeros((2, 4))])),
        ("v.npy", TWO, [ROW, np.zeros((1, 5))]),
        *(("v.npy", TWO, [ROW, ROW + value]) for value in (1e6, -1e6, np.nan)),
        *(("v.npy", TWO, [ROW]), ("v.npy", TWO, [ROW] * 3)),
    )
    said = refusals(lambda case: save_vectors(tmp_path / case[0], *case[1:]), cases, folder=tmp_path)
    assert said == snapshot
    assert list(tmp_path.iterdir()) == []
