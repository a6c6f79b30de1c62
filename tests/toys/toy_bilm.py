"""A tiny biLM with random weights: alone, with a softmax and a vocabulary, on disk, and written as plain loops."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import torch
from torch import Tensor

from elmokit.elmo.elmo import Elmo
from elmokit.formats.native import write_native
from elmokit.formats.read import to_weights
from elmokit.layers.projected_lstm import LSTMState, ProjectedLSTMLayer
from elmokit.layers.sampled_softmax import Softmax
from elmokit.model.bilm import BiLM
from elmokit.model.config import BiLMConfig
from elmokit.text.characters import batch_character_ids
from elmokit.text.vocabulary import Vocabulary

TINY = BiLMConfig(filters=((1, 4), (3, 8)), character_dim=4, projection_dim=6, lstm_dim=16)
VOCABULARY = Vocabulary(["<S>", "</S>", "<UNK>", "a", "b", "c"])


def random_bilm(config: BiLMConfig = TINY, *, seed: int = 5, std: float = 0.3) -> BiLM:
    """The same weights for the same seed, far enough from zero to tell layers and directions apart.

    The padding character's row is zero, as in every model.
    """
    torch.manual_seed(seed)
    bilm = BiLM(config)
    with torch.no_grad():
        for parameter in bilm.parameters():
            parameter.normal_(std=std)
        bilm.char_encoder.embedding.weight[0] = 0.0
    return bilm


def toy_parts(config: BiLMConfig = TINY, vocabulary: Vocabulary = VOCABULARY) -> tuple[BiLM, Softmax]:
    """The same weights every time; the softmax is far from uniform."""
    bilm = random_bilm(config).eval()
    torch.manual_seed(0)
    softmax = Softmax(num_tokens=len(vocabulary), dim=config.projection_dim)
    torch.nn.init.normal_(softmax.weight, std=3.0)
    return bilm, softmax


def toy_elmo(config: BiLMConfig = TINY) -> Elmo:
    bilm, softmax = toy_parts(config)
    return Elmo(bilm, VOCABULARY, softmax=softmax)


def write_toy(folder: Path, config: BiLMConfig = TINY, vocabulary: Vocabulary = VOCABULARY) -> Path:
    """Write the model as a native folder."""
    write_native(folder, to_weights(*toy_parts(config, vocabulary), vocabulary))
    return folder


def losses_by_definition(
    sentences: Iterable[Sequence[str]], *, backward: bool, vocabulary: Vocabulary = VOCABULARY
) -> list[list[tuple[str, float]]]:
    """(token, loss in nats) of every prediction of `toy_parts` in each sentence, in the order of the text."""
    bilm, softmax = toy_parts(vocabulary=vocabulary)
    found: list[list[tuple[str, float]]] = []
    for sentence in sentences:
        bounded = ["<S>", *sentence, "</S>"]
        with torch.no_grad():
            top = bilm(torch.from_numpy(batch_character_ids([bounded]))).layers[-1][0]
            losses = -softmax(top.chunk(2, dim=1)[backward]).log_softmax(dim=1)
        read, predicted = (losses[1:], bounded[:-1]) if backward else (losses[:-1], bounded[1:])
        known = [token if token in vocabulary else "<UNK>" for token in predicted]
        found.append([(token, float(row[vocabulary.id(token)])) for row, token in zip(read, known, strict=True)])
    return found


def plain_layer(
    layer: ProjectedLSTMLayer, inputs: Tensor, state: LSTMState, sizes: list[int], carry_mask: Tensor
) -> tuple[Tensor, ...]:
    """bilm-tf's cell, one step after the other (docs/model.md, section 3).

    Returns outputs, cell and last output; `sizes[t]` rows are read at step `t`, and the others stay as they are.
    """
    c, h = state.cell, state.output
    outputs: list[Tensor] = []
    for step, rows in enumerate(sizes):
        gates = inputs[step] @ layer.input_weight.T + (h * carry_mask[step]) @ layer.recurrent_weight.T + layer.bias
        i, f, o, j = gates.chunk(4, dim=1)
        cell = torch.sigmoid(f + 1.0) * (c * carry_mask[step]) + torch.sigmoid(i) * torch.tanh(j)
        if layer.cell_clip is not None:
            cell = cell.clamp(-layer.cell_clip, layer.cell_clip)
        output = torch.sigmoid(o) * torch.tanh(cell)
        if layer.projection_weight is not None:
            output = output @ layer.projection_weight.T
            if layer.projection_clip is not None:
                output = output.clamp(-layer.projection_clip, layer.projection_clip)
        alive = (torch.arange(len(c)) < rows)[:, None]
        c, h = torch.where(alive, cell, c), torch.where(alive, output, h)
        outputs.append(torch.where(alive, output, torch.zeros_like(output)))
    return torch.stack(outputs), c, h
