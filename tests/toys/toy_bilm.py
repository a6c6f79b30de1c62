"""A tiny biLM with random weights, all of them far enough from zero to tell layers and directions apart."""

import torch

from elmokit.model.bilm import BiLM
from elmokit.model.config import BiLMConfig

TINY = BiLMConfig(filters=((1, 4), (3, 8)), character_dim=4, projection_dim=6, lstm_dim=16)


def random_bilm(config: BiLMConfig = TINY, *, seed: int = 5, std: float = 0.3) -> BiLM:
    """The same weights for the same seed; the padding character's row is zero, as in every model."""
    torch.manual_seed(seed)
    bilm = BiLM(config)
    with torch.no_grad():
        for parameter in bilm.parameters():
            parameter.normal_(std=std)
        bilm.char_encoder.embedding.weight[0] = 0.0
    return bilm
