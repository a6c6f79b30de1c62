"""Two actors of a local Ray embed Parquet files, and one of the actors is killed."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from elmokit.elmo.elmo import Elmo
from elmokit.integrations import ray_data
from elmokit.integrations.ray_data import EmbeddedPiece, Piece, PieceEmbedder, embed_parquet, embed_piece, list_pieces
from elmokit.vectors.files import load_vectors
from ray_bulk import ray_workers, start_ray
from toy_bilm import random_bilm

pytestmark = pytest.mark.filterwarnings("ignore")  # Ray's own warnings


@pytest.fixture(scope="module")
def ray() -> Iterator[Any]:
    import ray

    os.environ["PYTHONPATH"] = os.pathsep.join(str(Path(__file__).parents[2] / name) for name in ("src", "tests"))
    start_ray(ray)
    yield ray
    ray.shutdown()


@pytest.fixture
def model(tmp_path: Path) -> str:
    Elmo(random_bilm()).save(tmp_path / "model")
    return str(tmp_path / "model")


def write_corpus(folder: Path, *, num_rows: int = 12) -> Path:
    folder.mkdir()
    texts = [f"line {number} of the text ." for number in range(num_rows)]
    pq.write_table(pa.table({"id": range(num_rows), "text": texts}), folder / "a.parquet", row_group_size=3)
    return folder


def test_a_killed_workers_block_is_embedded_by_another_as_by_one_process_and_a_second_call_computes_the_rest(
    ray: Any, model: str, tmp_path: Path
):
    corpus, out = write_corpus(tmp_path / "in", num_rows=300), tmp_path / "out"
    killed: list[int] = []

    def kill_one() -> None:
        while not any(out.glob("*.parquet")):
            time.sleep(0.01)
        for pid in list(ray_workers())[:1]:
            os.kill(pid, signal.SIGKILL)
            killed.append(pid)

    killer = threading.Thread(target=kill_one)
    killer.start()
    done = embed_parquet(corpus, out, model=model, workers=2)
    killer.join()
    assert len(killed) == 1
    assert (done.num_files, done.num_sentences, done.num_tokens) == (100, 300, 1800)
    assert sorted(row["id"] for row in pq.read_table(out).to_pylist()) == list(range(300))
    assert all(path.suffix == ".parquet" for path in out.iterdir())
    (tmp_path / "alone").mkdir()
    torch.set_num_threads(1)
    alone = Elmo.from_pretrained(model, device="cpu")
    for piece in list_pieces(corpus, tmp_path / "alone"):
        embed_piece(alone, piece)
        for ours, theirs in zip(load_vectors(out / piece.output.name), load_vectors(piece.output), strict=True):
            np.testing.assert_allclose(ours, theirs, atol=1e-6)
    (out / "a-00002.parquet").unlink()
    again = embed_parquet(corpus, out, model=model, workers=1)
    assert (again.num_tokens, again.num_tokens_before) == (1800, 1782)


def test_a_table_without_rows_gives_no_files_and_starts_no_ray(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("ray.init", lambda **_: pytest.fail("nothing is to be done"))
    pq.write_table(pa.table({"text": pa.array([], pa.string())}), tmp_path / "in.parquet")
    done = embed_parquet(tmp_path / "in.parquet", tmp_path / "out")
    assert (done.num_files, done.num_sentences, done.num_tokens, done.num_tokens_before) == (0, 0, 0, 0)
    assert not list((tmp_path / "out").iterdir())


def test_bad_input_and_resources_that_are_not_there_or_make_no_sense_are_refused(ray: Any, model: str, tmp_path: Path):
    corpus = write_corpus(tmp_path / "in")
    pq.write_table(pa.table({"text": ["a", None]}), corpus / "b.parquet")
    missing = "row group 0, row 1: column text has a missing value"
    for inputs, resources, message in (
        (corpus, {"workers": 1}, f"b.parquet: {missing}"),
        (corpus, {"on_gpus": True}, "Ray has no GPU; start Ray with some, or choose the other kind"),
        (corpus, {"workers": 0}, "workers is 0; expected at least 1"),
        (corpus / "b.parquet", {}, f"b.parquet: {missing}"),
    ):
        with pytest.raises(ValueError, match=message):
            embed_parquet(inputs, tmp_path / "out", model=model, **resources)
    assert len(list((tmp_path / "out").iterdir())) == 4


def test_raw_text_is_warned_of_before_ray_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(ray_data, "_running", lambda *_: pytest.fail("after the warning"))
    pq.write_table(pa.table({"text": ["He came, and saw the cat."] * 9}), tmp_path / "in.parquet")
    with pytest.warns(UserWarning, match="in.parquet looks like raw text"), pytest.raises(pytest.fail.Exception):
        embed_parquet(tmp_path / "in.parquet", tmp_path / "out")


def test_files_that_cannot_be_written_are_named(model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def fail(elmo: Elmo, piece: Piece, **settings: Any) -> EmbeddedPiece:
        raise OSError("the file system does not answer")

    monkeypatch.setattr(ray_data, "embed_piece", fail)
    pieces = list_pieces(write_corpus(tmp_path / "in"), tmp_path / "out")
    refused = PieceEmbedder(pieces, {}, model, "float32", on_gpus=False)({"number": 1})
    assert refused["of_files"] and refused["refused"] == "the file system does not answer"
