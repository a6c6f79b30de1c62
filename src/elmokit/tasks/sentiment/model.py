"""Classifiers of texts: the biattentive network BCN (McCann et al., 2017), a biLSTM, and a CNN (Kim, 2014)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import torch
from torch import Tensor, nn
from torch.nn import functional

from elmokit.layers.masks import masked_max, masked_mean, masked_min
from elmokit.layers.tasks.attention import SelfAttentivePooling, biattention
from elmokit.layers.tasks.recurrent import BiLSTM
from elmokit.tasks.task_model import Classifier

if TYPE_CHECKING:
    from jaxtyping import Bool, Float

    from elmokit.tasks.inputs import EncodedTokens, TokenInputs
    from elmokit.tasks.sentiment.task import LabelledText, SentimentConfig


class SentimentClassifier(Classifier):
    """Tokens -> labels; the network computes scores (B,K) from `EncodedTokens`."""

    def __init__(self, config: SentimentConfig, inputs: TokenInputs, labels: Sequence[str]) -> None:
        super().__init__(inputs, labels)
        sizes = {"input_dim": inputs.input_dim, "output_dim": inputs.output_dim, "num_labels": len(labels)}
        self.network: Final = NETWORKS[config.classifier](config, **sizes)

    def scores(self, examples: Sequence[LabelledText]) -> Float[Tensor, "B K"]:
        return self.network(self.inputs([example.tokens for example in examples]))


class BCN(nn.Module):
    """Encode, attend to the text itself, integrate, pool in four ways, three maxout layers."""

    def __init__(self, config: SentimentConfig, *, input_dim: int, output_dim: int, num_labels: int) -> None:
        super().__init__()
        self.encoder: Final = _Encoder(config, input_dim=input_dim, output_dim=output_dim)
        self.integrator: Final = BiLSTM(input_dim=3 * self.encoder.dim, hidden_dim=config.integrator_dim)
        self.integrator_dropout: Final = nn.Dropout(config.integrator_dropout_rate)
        self.pooling: Final = SelfAttentivePooling(dim=2 * config.integrator_dim)
        dims = [4 * 2 * config.integrator_dim, *config.maxout_dims, num_labels]
        self.maxouts: Final = nn.ModuleList(
            Maxout(input_dim=before, output_dim=after, pool_size=config.maxout_pool_size)
            for before, after in zip(dims, dims[1:], strict=False)
        )
        self.dropouts: Final = nn.ModuleList(nn.Dropout(rate) for rate in (*config.output_dropout_rates, 0.0))

    def forward(self, vectors: EncodedTokens) -> Float[Tensor, "B K"]:
        mask = vectors.mask
        attended = biattention(self.encoder(vectors), mask)
        integrated = self.integrator_dropout(self.integrator(attended, mask))
        pools = [pool(integrated, mask) for pool in (masked_max, masked_min, masked_mean, self.pooling)]
        hidden = torch.cat(pools, dim=1)
        for maxout, dropout in zip(self.maxouts, self.dropouts, strict=True):
            hidden = dropout(maxout(hidden))
        return hidden


class Maxout(nn.Module):
    """Each output is the largest of `pool_size` linear functions, (N,D) -> (N,K) (Goodfellow et al., 2013)."""

    def __init__(self, *, input_dim: int, output_dim: int, pool_size: int) -> None:
        super().__init__()
        self.pool_size = pool_size
        self.linear: Final = nn.Linear(input_dim, output_dim * pool_size)  # initialised as in AllenNLP's bcn

    def forward(self, inputs: Float[Tensor, "N D"]) -> Float[Tensor, "N K"]:
        return self.linear(inputs).unflatten(-1, (-1, self.pool_size)).amax(dim=-1)


class BiLSTMClassifier(nn.Module):
    """Encode, take maximum and mean over the tokens, one linear layer."""

    def __init__(self, config: SentimentConfig, *, input_dim: int, output_dim: int, num_labels: int) -> None:
        super().__init__()
        self.encoder: Final = _Encoder(config, input_dim=input_dim, output_dim=output_dim)
        self.dropout: Final = nn.Dropout(config.output_dropout_rates[0])
        self.linear: Final = nn.Linear(2 * self.encoder.dim, num_labels)

    def forward(self, vectors: EncodedTokens) -> Float[Tensor, "B K"]:
        encoded = self.encoder(vectors)
        pools = [masked_max(encoded, vectors.mask), masked_mean(encoded, vectors.mask)]
        return self.linear(self.dropout(torch.cat(pools, dim=1)))


class CNNClassifier(nn.Module):
    """Convolutions over the tokens, the largest response of each filter, one linear layer (Kim, 2014, section 2).

    ELMo's vectors at the output have separate filters. Kim's limit on the norm of the linear layer is left out.
    """

    def __init__(self, config: SentimentConfig, *, input_dim: int, output_dim: int, num_labels: int) -> None:
        super().__init__()
        self.input_dropout: Final = nn.Dropout(config.input_dropout_rate)
        self.filters: Final = _Filters(config.cnn_filters, input_dim=input_dim)
        self.output_filters: Final = _Filters(config.cnn_filters, input_dim=output_dim) if output_dim else None
        num_filters = sum(number for _, number in config.cnn_filters)
        self.dropout: Final = nn.Dropout(config.output_dropout_rates[0])
        self.linear: Final = nn.Linear(num_filters * (2 if output_dim else 1), num_labels)

    def forward(self, vectors: EncodedTokens) -> Float[Tensor, "B K"]:
        found = [self.filters(self.input_dropout(vectors.inputs), vectors.mask)]
        if self.output_filters is not None:
            found.append(self.output_filters(self.input_dropout(vectors.outputs), vectors.mask))
        return self.linear(self.dropout(torch.cat(found, dim=1)))


Network = BCN | BiLSTMClassifier | CNNClassifier
NETWORKS: dict[str, type[Network]] = {"bcn": BCN, "bilstm": BiLSTMClassifier, "cnn": CNNClassifier}


class _Filters(nn.Module):
    """The largest response of each filter, after a ReLU, over all windows that touch a token of the sentence."""

    def __init__(self, filters: Sequence[tuple[int, int]], *, input_dim: int) -> None:
        super().__init__()
        self.convolutions: Final = nn.ModuleList(
            nn.Conv1d(input_dim, number, width, padding=width - 1) for width, number in filters
        )

    def forward(self, vectors: Float[Tensor, "B T D"], mask: Bool[Tensor, "B T"]) -> Float[Tensor, "B F"]:
        channels = (vectors * mask[..., None]).transpose(1, 2)
        responses: list[Tensor] = []
        for convolution in self.convolutions:
            windows = convolution(channels).relu().transpose(1, 2)
            num_more = windows.shape[1] - mask.shape[1]  # windows that end after the last token
            responses.append(masked_max(windows, functional.pad(mask, (num_more, 0), value=True)))
        return torch.cat(responses, dim=1)


class _Encoder(nn.Module):
    """ReLU layer and biLSTM; ELMo's vectors at the output go through a second biLSTM (Peters et al., 2018).

    The second biLSTM's outputs are between -1 and 1. Without it, ELMo's vectors alone would decide the attention.
    """

    def __init__(self, config: SentimentConfig, *, input_dim: int, output_dim: int) -> None:
        super().__init__()
        self.input_dropout: Final = nn.Dropout(config.input_dropout_rate)
        self.projection: Final = nn.Linear(input_dim, config.projection_dim)
        self.projection_dropout: Final = nn.Dropout(config.projection_dropout_rate)
        self.lstm: Final = BiLSTM(input_dim=config.projection_dim, hidden_dim=config.encoder_dim)
        self.output_lstm: BiLSTM | None = None
        self.dim: int = 2 * config.encoder_dim
        if output_dim:
            self.output_lstm = BiLSTM(input_dim=output_dim, hidden_dim=config.encoder_dim)
            self.dim += 2 * config.encoder_dim

    def forward(self, vectors: EncodedTokens) -> Float[Tensor, "B T E"]:
        projected = self.projection(self.input_dropout(vectors.inputs)).relu()
        encoded = self.lstm(self.projection_dropout(projected), vectors.mask)
        if self.output_lstm is None:
            return encoded
        return torch.cat([encoded, self.output_lstm(self.input_dropout(vectors.outputs), vectors.mask)], dim=2)
