"""The exported biLM computes what torch does, for any configuration, batch and length; no file is half written."""

import inspect
import io
import json
import shutil
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from syrupy.assertion import SnapshotAssertion

from elmokit import __version__
from elmokit.cli.main import main
from elmokit.elmo.elmo import Elmo
from elmokit.files.locks import InUseError, lock
from elmokit.integrations import onnx_export
from elmokit.integrations.onnx_export import ExportableBiLM, export_onnx, torch_scan
from elmokit.model.bilm import BiLM
from elmokit.model.config import BiLMConfig
from elmokit.text.characters import batch_character_ids
from page_code import blocks, read_page
from refusals import refusals
from toy_bilm import TINY, random_bilm

pytestmark = pytest.mark.slow  # an export needs 5 to 15 processor seconds

BOTH = replace(TINY, num_highway_layers=1, lstm_dim=10, cell_clip=0.5, projection_clip=0.4)
WORDS = ["a", "the", "river", "bank", "밥", "x" * 60, ""]


def made(config: BiLMConfig, *, seed: int = 0) -> BiLM:
    return random_bilm(config, seed=seed, std=0.4).eval()


def ids(lengths: list[int], *, max_characters_per_token: int = 50) -> torch.Tensor:
    """Sentences with these numbers of tokens, including boundaries; 0 gives a row of padding."""
    sentences = [["<S>", *(WORDS * 10)[: length - 2], "</S>"][:length] for length in lengths]
    batch = batch_character_ids(sentences, max_characters_per_token=max_characters_per_token)
    return torch.from_numpy(batch.astype(np.int64))


def loop(
    step: Callable[[Any, torch.Tensor], tuple[Any, torch.Tensor]], carry: Any, inputs: torch.Tensor
) -> tuple[Any, torch.Tensor]:
    """What `scan` does."""
    outputs: list[torch.Tensor] = []
    for each in inputs:
        carry, output = step(carry, each)
        outputs.append(output)
    return carry, torch.stack(outputs)


def assert_same(layers: object, mask: object, bilm: BiLM, batch: torch.Tensor) -> None:
    with torch.no_grad():
        expected = bilm(batch)
    torch.testing.assert_close(torch.as_tensor(layers), expected.layers, rtol=2e-6, atol=2e-6)
    assert torch.equal(torch.as_tensor(mask), expected.mask)


def session_of(path: Path) -> Any:
    onnxruntime = pytest.importorskip("onnxruntime")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(path, options)


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A biLM with both directions, exported with the command, with its weights in a separate file."""
    for name in ("onnx", "onnxscript", "onnxruntime"):
        pytest.importorskip(name, reason="needs the extra: pip install 'elmokit[onnx]'")
    path = tmp_path_factory.mktemp("exported") / "both.onnx"
    model = tmp_path_factory.mktemp("model") / "toy"
    Elmo(made(BOTH)).save(model)
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(io.StringIO()) as shown:
        patch.setattr(onnx_export, "MAX_FILE_BYTES", 0)
        assert main(["export", str(model), "-o", str(path)]) == 0
    assert shown.getvalue().splitlines()[1:] == [str(path), f"{path}.data"]
    return path


@pytest.mark.parametrize(
    "change",
    [
        *({}, {"num_layers": 1}, {"num_layers": 3}, {"num_highway_layers": 0}, {"num_highway_layers": 2}),
        *({"lstm_dim": 6}, {"projection_dim": 12, "lstm_dim": 12}, {"cell_clip": None, "projection_clip": None}),
        *({"use_skip_connections": False}, {"bidirectional": False}, {"activation": "tanh"}),
        {"max_characters_per_token": 12},
    ],
    ids=str,
)
def test_every_configuration_computes_what_the_bilm_computes(change: dict[str, Any]) -> None:
    bilm = made(replace(BOTH, **change))
    batch = ids([7, 1, 0, 9, 3], max_characters_per_token=bilm.config.max_characters_per_token)
    exportable = ExportableBiLM(bilm, loop)
    with torch.no_grad():
        layers, mask = exportable(batch)
    assert_same(layers, mask, bilm, batch)
    assert {id(parameter) for parameter in exportable.parameters()} == {id(own) for own in bilm.parameters()}


def test_batch_and_time_are_free(exported: Path) -> None:
    session, bilm = session_of(exported), made(BOTH)
    for lengths in ([1], [2], [4, 4, 4], [11, 3, 0, 7], [1, 40, 39, 2, 40]):
        batch = ids(lengths)
        assert_same(*session.run(["layers", "mask"], {"character_ids": batch.numpy()}), bilm, batch)


def test_the_two_files_go_anywhere_together_and_say_what_they_are(exported: Path, tmp_path: Path) -> None:
    for path in exported.parent.iterdir():
        shutil.copy(path, tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["both.onnx", "both.onnx.data"]  # and nothing else
    session = session_of(tmp_path / "both.onnx")
    about = session.get_modelmeta().custom_metadata_map
    assert (about["elmokit_version"], about["model"]) == (__version__, "toy")
    assert BiLMConfig(**json.loads(about["config"])) == BOTH
    assert (session.get_inputs()[0].name, session.get_inputs()[0].type) == ("character_ids", "tensor(int64)")
    assert session.get_inputs()[0].shape == ["sentences", "tokens", 50]
    assert str(Path(onnx_export.__file__).parent).encode() not in exported.read_bytes()


def test_a_file_that_computes_something_else_goes(exported: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def save(path: Path, **_: object) -> None:
        for written in exported.parent.iterdir():
            shutil.copy(written, path.parent)

    other = SimpleNamespace(model=SimpleNamespace(metadata_props={}), save=save)  # its weights may be other ones
    monkeypatch.setattr(onnx_export, "_program", lambda _: other)
    assert 0 < export_onnx(made(BOTH), tmp_path / "both.onnx", model_name="toy").difference <= 2e-6
    folder = tmp_path / "other"
    folder.mkdir()
    with pytest.raises(ValueError, match=r"and torch .* disagree: activations differ by .*nothing"):
        export_onnx(made(BOTH, seed=1), folder / "both.onnx", model_name="toy")
    assert list(folder.iterdir()) == []


def test_a_place_that_is_taken_or_missing_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    monkeypatch.setattr(onnx_export, "_onnxruntime", lambda: None)
    (tmp_path / "graph.onnx").write_text("mine")
    (tmp_path / "weights.onnx.data").write_text("mine")
    (tmp_path / "link.onnx").symlink_to("nowhere")
    before = sorted(tmp_path.iterdir())
    names = ("model.bin", "graph.onnx", "weights.onnx", "link.onnx", "no/model.onnx")
    bilm = made(BOTH)
    said = refusals(lambda name: export_onnx(bilm, tmp_path / name, model_name="toy"), names, folder=tmp_path)
    assert said == snapshot
    with pytest.raises(ValueError, match=r"float32 on the CPU"):
        export_onnx(made(BOTH).double(), tmp_path / "model.onnx", model_name="toy")
    with lock(tmp_path / "model.onnx"), pytest.raises(InUseError, match=r"model\.onnx is in use by another process"):
        export_onnx(bilm, tmp_path / "model.onnx", model_name="toy")
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize("missing", ["onnx", "onnxscript", "onnxruntime"])
def test_without_the_extra_the_command_names_it(
    missing: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    Elmo(made(BOTH)).save(tmp_path / "model")
    assert main(["export", str(tmp_path / "model"), "-o", str(tmp_path / "model.onnx")]) == 2
    assert "pip install 'elmokit[onnx]'" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_torchs_private_scan_is_where_it_was_and_a_torch_without_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    assert list(inspect.signature(torch_scan()).parameters) == ["combine_fn", "init", "xs", "dim", "reverse"]
    monkeypatch.setitem(sys.modules, "torch._higher_order_ops.scan", None)
    with pytest.raises(ValueError, match=r"torch 2\..* has no torch._higher_order_ops.scan"):
        torch_scan()


def test_the_example_of_the_page_gives_vectors(exported: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    shutil.copy(exported, tmp_path / "small-en.onnx")
    shutil.copy(exported.with_name("both.onnx.data"), tmp_path)
    monkeypatch.chdir(tmp_path)
    (code,) = (block for block in blocks(read_page("docs/formats.md")) if "onnxruntime" in block)
    names: dict[str, Any] = {}
    exec(code, names)
    (expected,) = Elmo(made(BOTH)).encode(names["sentences"][:1])
    np.testing.assert_allclose(names["top"], expected, atol=2e-6)
