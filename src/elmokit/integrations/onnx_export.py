"""Export of a biLM to ONNX, for any number of sentences and tokens, checked with onnxruntime (extra `onnx`).

`nn.LSTM(proj_size=...)` cannot be exported, and a Python loop would fix the number of tokens. So we use torch's private
`scan` operator, which becomes the Scan operator of ONNX.
"""

from __future__ import annotations

import importlib
import json
import logging
import os
import random
import string
import warnings
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from elmokit.files.atomic import atomic_write, check_output, temporary_folder
from elmokit.files.locks import lock
from elmokit.formats.native import fields_of
from elmokit.layers.char_encoder import CharEncoder
from elmokit.layers.projected_lstm import FORGET_BIAS, ProjectedLSTM, ProjectedLSTMLayer
from elmokit.model.bilm import as_read, join_directions
from elmokit.system.optional import require
from elmokit.text.characters import batch_character_ids
from elmokit.version import __version__

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int
    from numpy.typing import NDArray

    from elmokit.model.bilm import BiLM
    from elmokit.model.config import BiLMConfig

    Carry = tuple[Tensor, Tensor]
    Step = Callable[[Carry, Tensor], tuple[Carry, Tensor]]
    Scan = Callable[[Step, Carry, Tensor], tuple[Carry, Tensor]]

MAX_DIFFERENCE = 2e-6
"""Largest difference allowed between onnxruntime and torch for activations up to 1. It grows with the largest
activation, because float32 rounds relative to size: layer 0 of the bundled English model, the input of the other
layers, reaches 125."""
MAX_FILE_BYTES = 128 * 2**20
"""Larger weights go into a separate file, which onnxruntime maps instead of copying (protobuf is limited to 2 GiB)."""
CHECKED_BATCHES = ((1, 0), (1, 5), (4, 10), (7, 30))
"""Batches of the check: number of sentences, number of tokens of the longest."""


@dataclass(frozen=True)
class ExportedModel:
    """Result of an export: its files and how exact it is."""

    files: tuple[Path, ...]
    """The graph, then the weights if they are in a separate file. Keep both in one folder, under their names."""
    difference: float
    """Largest difference between the activations of onnxruntime and torch in the check; see `MAX_DIFFERENCE`."""
    largest_activation: float
    """Largest absolute activation in the check."""


def export_onnx(bilm: BiLM, path: str | Path, *, model_name: str) -> ExportedModel:
    """Write the biLM, without carried state, to `path` (*.onnx). The file appears only if it passes the check.

    The input is `character_ids` (B,T,C), int64, as for `BiLM`, including the sentence boundaries; T is at least 1.
    Rows of zeros after the end of a sentence are padding (elsewhere they are not detected). The outputs are `layers`
    (L,B,T,2D) and `mask` (B,T). The metadata contain the name of the model, its config and the version of elmokit.

    Raises ValueError without the extra, when this version of torch cannot export, and when the result of onnxruntime
    differs from torch's; FileExistsError when the file exists; InUseError, an OSError, when another process writes it.
    """
    if bilm.config.lookup is not None:
        raise ValueError("the ONNX export is for models that read bytes; this one looks its words up in dictionaries")
    onnxruntime, scan = _onnxruntime(), torch_scan()
    path = Path(path)
    weights_path = path.with_name(f"{path.name}.data")  # the graph refers to it by this name
    _check_free(path, weights_path)
    check_output(path)
    if {(weight.device.type, weight.dtype) for weight in bilm.parameters()} != {("cpu", torch.float32)}:
        raise ValueError("the ONNX export needs a biLM in float32 on the CPU: use bilm.float().cpu()")
    with lock(path), atomic_write(path) as unfinished, temporary_folder(path) as folder:
        draft = folder / path.name
        draft_weights = draft.with_name(weights_path.name)
        program = _program(ExportableBiLM(bilm, scan))
        program.model.metadata_props.update(
            elmokit_version=__version__, model=model_name, config=json.dumps(fields_of(bilm.config))
        )
        num_bytes = sum(weight.nbytes for weight in bilm.parameters())
        program.save(draft, external_data=num_bytes > MAX_FILE_BYTES)
        difference, largest_activation = _check(onnxruntime, draft, bilm)
        files = [path]
        if draft_weights.exists():
            files.append(weights_path)
            with atomic_write(weights_path) as unfinished_weights:
                draft_weights.replace(unfinished_weights)
        draft.replace(unfinished)  # last: weights without a graph are not a model
    return ExportedModel(tuple(files), difference, largest_activation)


class ExportableBiLM(nn.Module):
    """`BiLM.forward` from a zero state, with the same parameters, in operations that fix neither B nor T.

    Character ids (B,T,C) -> layer activations (L,B,T,2D), zero at padding, and mask (B,T), without gradients. `scan`
    is torch's or an equivalent. Padding is processed like tokens, and comes after them in both directions.
    """

    def __init__(self, bilm: BiLM, scan: Scan) -> None:
        super().__init__()
        self.training = False  # the biLM keeps its mode; it makes no difference here
        self.bilm = bilm
        self.scan = scan

    def forward(self, character_ids: Int[Tensor, "B T C"]) -> tuple[Float[Tensor, "L B T E"], Bool[Tensor, "B T"]]:
        mask = (character_ids > 0).any(dim=2)
        tokens = torch.where(mask[:, :, None], self._encode_tokens(character_ids), 0.0).transpose(0, 1)
        lengths = mask.sum(dim=1)
        outputs = [self._read(lstm, as_read(tokens, lengths, number)) for number, lstm in enumerate(self.bilm.lstms)]
        return torch.where(mask[:, :, None], join_directions(tokens, outputs, lengths), 0.0), mask

    def _encode_tokens(self, character_ids: Int[Tensor, "B T C"]) -> Float[Tensor, "B T D"]:
        """`CharEncoder.forward`, but visiting all windows, even windows of padding characters only."""
        encoder = self.bilm.char_encoder
        assert isinstance(encoder, CharEncoder)
        characters = encoder.embedding(character_ids.flatten(0, 1)).transpose(1, 2)
        pooled = [convolution(characters).amax(dim=2) for convolution in encoder.convolutions]
        tokens = encoder.transform(torch.cat(pooled, dim=1))
        return tokens.view(*character_ids.shape[:2], self.bilm.config.projection_dim)

    def _read(self, lstm: ProjectedLSTM, inputs: Float[Tensor, "T B D"]) -> list[Float[Tensor, "T B D"]]:
        outputs: list[Tensor] = []
        for layer in lstm.layers:
            output = self._read_layer(cast("ProjectedLSTMLayer", layer), inputs)
            inputs = output + inputs if lstm.use_skip_connections and outputs else output
            outputs.append(inputs)
        return outputs

    def _read_layer(self, layer: ProjectedLSTMLayer, inputs: Float[Tensor, "T B D"]) -> Float[Tensor, "T B D"]:
        lstm_dim = len(layer.bias) // 4
        forget = functional.pad(layer.bias.new_full((lstm_dim,), FORGET_BIAS), (lstm_dim, 2 * lstm_dim))
        from_inputs = functional.linear(inputs, layer.input_weight, layer.bias + forget)
        recurrent = layer.recurrent_weight.t()  # outside `step`, because `scan` would transpose at every step
        projection = None if layer.projection_weight is None else layer.projection_weight.t()

        def step(carry: Carry, from_input: Tensor) -> tuple[Carry, Tensor]:
            cell, output = carry
            gates = from_input + output @ recurrent
            i, f, o = gates[:, : 3 * lstm_dim].sigmoid().chunk(3, dim=1)
            cell = _clip(f * cell + i * gates[:, 3 * lstm_dim :].tanh(), layer.cell_clip)
            output = o * cell.tanh()
            if projection is not None:
                output = _clip(output @ projection, layer.projection_clip)
            return (cell, output), output.clone()  # `scan` needs results that share no memory

        batch_size, dim = inputs.shape[1:]
        start = inputs.new_zeros(batch_size, lstm_dim), inputs.new_zeros(batch_size, dim)
        return self.scan(step, start, from_inputs)[1]


def torch_scan() -> Scan:
    """`torch._higher_order_ops.scan.scan`, which is private and may move. Raises ValueError when it is missing."""
    try:
        return importlib.import_module("torch._higher_order_ops.scan").scan
    except (ImportError, AttributeError):
        raise ValueError(
            f"torch {torch.__version__} has no torch._higher_order_ops.scan, which the ONNX export needs: "
            "install a version that has it, such as torch 2.13"
        ) from None


def _clip(values: Tensor, limit: float | None) -> Tensor:
    return values if limit is None else values.clamp(-limit, limit)


def _check_free(path: Path, weights_path: Path) -> None:
    if path.suffix != ".onnx":
        raise ValueError(f"{path}: the name of an ONNX file must end in .onnx")
    for file in (path, weights_path):
        if os.path.lexists(file):
            raise FileExistsError(f"{file} exists; choose another name or remove it")


def _onnxruntime() -> Any:
    for name in ("onnx", "onnxscript"):  # torch.onnx needs them
        require(name, extra="onnx", purpose="the ONNX export")
    return require("onnxruntime", extra="onnx", purpose="the ONNX export")


def _program(module: ExportableBiLM) -> Any:
    """The exported `torch.onnx.ONNXProgram`, without metadata about our source files."""
    sizes = {0: torch.export.Dim("sentences"), 1: torch.export.Dim("tokens")}
    example = torch.ones(2, 3, module.bilm.config.max_characters_per_token, dtype=torch.int64)
    with _quiet(), torch.no_grad():  # with gradients, `scan` would also export what its backward pass needs
        program: Any = torch.onnx.export(
            module,
            (example,),
            input_names=["character_ids"],
            output_names=["layers", "mask"],
            dynamic_shapes={"character_ids": sizes},
            dynamo=True,
            verbose=False,
        )
    passes = require("onnx_ir.passes.common", extra="onnx", purpose="the ONNX export")
    passes.ClearMetadataAndDocStringPass()(program.model)
    return program


@contextmanager
def _quiet() -> Generator[None]:
    """Context that silences torch 2.13 about its own deprecations and about torchvision, which we do not use."""
    registration = logging.getLogger("torch.onnx._internal.exporter._registration")
    level = registration.level
    registration.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", r"`isinstance\(treespec, LeafSpec\)` is deprecated", FutureWarning)
            yield
    finally:
        registration.setLevel(level)


def _check(onnxruntime: Any, path: Path, bilm: BiLM) -> tuple[float, float]:
    """Largest difference between onnxruntime and torch, and largest activation. Raises ValueError if they disagree."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    difference = largest = 0.0
    same_masks = True
    for character_ids in _batches(bilm.config):
        with torch.no_grad():
            expected = bilm(torch.from_numpy(character_ids))
        layers, mask = session.run(["layers", "mask"], {"character_ids": character_ids})
        difference = np.maximum(difference, np.abs(layers - expected.layers.numpy()).max())  # NaN stays
        largest = max(largest, float(expected.layers.abs().max()))
        same_masks &= np.array_equal(mask, expected.mask.numpy())
    allowed = MAX_DIFFERENCE * max(1.0, largest)
    if not (difference <= allowed and same_masks):
        raise ValueError(
            f"onnxruntime {onnxruntime.__version__} and torch {torch.__version__} disagree: "
            f"activations differ by {difference:.1e}, but at most {allowed:.1e} is allowed; nothing was written"
        )
    return float(difference), largest


def _batches(config: BiLMConfig) -> Iterator[NDArray[np.int64]]:
    """Character ids of sentences of various lengths; the last of several sentences is only padding."""
    generator = random.Random(0)
    for num_sentences, num_tokens in CHECKED_BATCHES:
        lengths = [num_tokens, *(generator.randint(0, num_tokens) for _ in range(num_sentences - 1))]
        sentences = [
            ["".join(generator.choices(string.ascii_lowercase, k=generator.randint(0, 12))) for _ in range(length)]
            for length in lengths
        ]
        character_ids = batch_character_ids(
            sentences, max_characters_per_token=config.max_characters_per_token, add_boundaries=True
        )
        character_ids[1:][-1:] = 0
        yield character_ids.astype(np.int64)
