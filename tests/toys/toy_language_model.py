"""A tiny biLM with a softmax and a vocabulary, in memory and on disk, for whatever scores text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import torch

from elmokit.elmo.elmo import Elmo
from elmokit.formats.native import write_native
from elmokit.formats.read import to_weights
from elmokit.layers.sampled_softmax import Softmax
from elmokit.model.bilm import BiLM
from elmokit.model.config import BiLMConfig
from elmokit.text.characters import batch_character_ids
from elmokit.text.vocabulary import Vocabulary
from toy_bilm import TINY, random_bilm

VOCABULARY = Vocabulary(["<S>", "</S>", "<UNK>", "a", "b", "c"])


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


def write_toy(folder: Path, config: BiLMConfig = TINY, vocabulary: Vocabulary = VOCABULARY) -> Path:
    """The model as a native folder."""
    write_native(folder, to_weights(*toy_parts(config, vocabulary), vocabulary))
    return folder
