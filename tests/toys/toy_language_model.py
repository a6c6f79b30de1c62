"""A tiny biLM with a softmax and a vocabulary, in memory and on disk, for whatever scores text."""

from __future__ import annotations

from pathlib import Path

import torch

from elmokit.elmo.elmo import Elmo
from elmokit.formats.native import write_native
from elmokit.formats.read import to_stored
from elmokit.layers.sampled_softmax import Softmax
from elmokit.model.bilm import BiLM
from elmokit.model.config import BiLMConfig
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


def write_toy(folder: Path) -> Path:
    """The model as a native folder."""
    bilm, softmax = toy_parts()
    write_native(folder, to_stored(bilm, softmax, VOCABULARY))
    return folder
