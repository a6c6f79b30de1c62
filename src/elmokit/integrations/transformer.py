"""Encoders of Hugging Face's transformers as token vectors (extra `hf`): all layers, first or mean of a word's pieces.

elmokit reads only weights in safetensors, runs no code that comes with a model, and downloads nothing.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch
from torch.nn.utils.rnn import pad_sequence

from elmokit.integrations.encoder import Comparator, SystemLayers
from elmokit.layers.devices import find_device
from elmokit.system.messages import first_token
from elmokit.system.optional import require

if TYPE_CHECKING:
    from jaxtyping import Float, Float32
    from torch import Tensor

PIECES_PER_BATCH = 2048
_PROBES = ("a", "1", "가")
"""Words that show whether a tokenizer adds spaces; every vocabulary has at least one of them."""

Pieces = Literal["first", "mean"]


@dataclass(frozen=True)
class _Part:
    """Consecutive words of a sentence that fit into the model together."""

    sentence: int
    start: int
    words: list[str]
    """Each with the space before it, if the tokenizer needs that."""
    num_pieces: int


@dataclass(frozen=True)
class TransformerEncoder:
    """A model with its tokenizer: sentences of words -> layers. Layer 0 is the embedding of the pieces."""

    model: Any
    tokenizer: Any
    pieces: Pieces

    @cached_property
    def before_word(self) -> str:
        """Text before each word except the first: a space, for tokenizers that do not add it to single words.

        ModernBERT's, Llama 3's and Gemma's do not. Without it, they would read a word as the end of the previous word.
        """
        words = ["a", *_PROBES]
        spaced = ["a", *(f" {word}" for word in _PROBES)]
        as_text = self._ids(" ".join(words), is_split_into_words=False)
        return " " if self._ids(words) != self._ids(spaced) == as_text else ""

    @cached_property
    def max_pieces(self) -> int:
        """Pieces, special ones included, that the model reads at once."""
        limit = getattr(self.model.config, "max_position_embeddings", 1 << 30)
        for name, module in self.model.named_modules():
            padding = getattr(module, "padding_idx", None)
            if name.endswith("position_embeddings") and padding is not None:
                limit -= padding + 1  # RoBERTa and similar models: positions start after the padding's
        return min(int(limit), int(self.tokenizer.model_max_length))

    def layers(self, sentences: Sequence[Sequence[str]]) -> list[Float32[np.ndarray, "L T E"]]:
        """The layers of each sentence.

        A sentence with more pieces than the model reads is split between words into as few parts as possible. A word
        without pieces gets zeros. Raises ValueError for a single word that the model cannot read at once.
        """
        num_layers, dim = self.model.config.num_hidden_layers + 1, self.model.config.hidden_size
        arrays = [np.zeros((num_layers, len(sentence), dim), np.float32) for sentence in sentences]
        texts = [[*each[:1], *(self.before_word + word for word in each[1:])] for each in sentences]
        parts = [part for number, text in enumerate(texts) for part in self._parts(number, text)]
        parts.sort(key=lambda part: part.num_pieces)
        for batch in _batches(parts):
            for part, vectors in zip(batch, self._encode([part.words for part in batch]), strict=True):
                arrays[part.sentence][:, part.start : part.start + len(part.words)] = vectors
        return arrays

    def _ids(self, text: str | list[str], *, is_split_into_words: bool = True) -> list[int]:
        return self.tokenizer(text, is_split_into_words=is_split_into_words, add_special_tokens=False)["input_ids"]

    def _parts(self, number: int, sentence: Sequence[str]) -> Iterator[_Part]:
        if not sentence:
            return
        most = self.max_pieces - int(self.tokenizer.num_special_tokens_to_add())
        options = {"is_split_into_words": True, "add_special_tokens": False, "verbose": False}
        sizes: Counter[int] = Counter(self.tokenizer(list(sentence), **options).word_ids())
        start = num_pieces = 0
        for position, size in enumerate(sizes[word] for word in range(len(sentence))):
            if size > most:
                word = sentence[position].strip()[:40]
                raise ValueError(f"{first_token(word)} has {size} pieces; the model reads at most {most} at once")
            if num_pieces + size > most:
                yield _Part(number, start, list(sentence[start:position]), num_pieces)
                start, num_pieces = position, 0
            num_pieces += size
        if num_pieces:
            yield _Part(number, start, list(sentence[start:]), num_pieces)

    @torch.no_grad()
    def _encode(self, batch: Sequence[Sequence[str]]) -> list[Float32[np.ndarray, "L T E"]]:
        encoded = self.tokenizer(list(map(list, batch)), is_split_into_words=True)
        device = self.model.device
        rows = [torch.tensor(ids, device=device) for ids in encoded["input_ids"]]
        # Pad at the end, where it moves no position. Some tokenizers pad elsewhere, and GPT-2's cannot pad at all.
        ids = pad_sequence(rows, batch_first=True, padding_value=self.tokenizer.pad_token_id or 0)
        mask = pad_sequence([torch.ones_like(row) for row in rows], batch_first=True)
        output = self.model(input_ids=ids, attention_mask=mask, output_hidden_states=True)
        hidden = torch.stack(output.hidden_states, dim=1).float()
        pooled = self._pooled(hidden, [encoded.word_ids(row) for row in range(len(batch))], max(map(len, batch)))
        return [vectors[:, : len(words)] for vectors, words in zip(pooled.cpu().numpy(), batch, strict=True)]

    def _pooled(
        self, states: Float[Tensor, "B L P E"], words: Sequence[Sequence[int | None]], most_words: int
    ) -> Float[Tensor, "B L T E"]:
        """The first piece of each word, or the mean of its pieces; `words` has the word of each piece, if any."""
        pieces: defaultdict[tuple[int, int], list[int]] = defaultdict(list)
        for row, of_row in enumerate(words):
            for piece, word in enumerate(of_row):
                if word is not None:
                    pieces[row, word].append(piece)
        by_number: defaultdict[int, list[tuple[int, int, list[int]]]] = defaultdict(list)
        for (row, word), own in pieces.items():
            own = own[:1] if self.pieces == "first" else own
            by_number[len(own)].append((row, word, own))
        pooled = states.new_zeros(len(states), states.shape[1], most_words, states.shape[3])
        for group in by_number.values():  # words with the same number of pieces, averaged at once
            rows, places, own = (torch.tensor(column, device=states.device) for column in zip(*group, strict=True))
            pooled[rows, :, places] = states[rows[:, None], :, own].mean(dim=1)
        return pooled


def open_transformer(model: str, *, pieces: Pieces, device: str | torch.device | None = None) -> SystemLayers:
    """Open a folder of `save_pretrained`, or the name of a Hub model that was downloaded before, with all layers.

    pieces: whether a word's vector is its first piece's vector or the mean over its pieces.
    device: by default the GPU if there is one.

    Raises ValueError without transformers, for a device that is not there and for a tokenizer that does not know words,
    OSError for a name or folder that is not a model.
    """
    on_device = find_device(device)
    transformers = require("transformers", extra="hf", purpose="opening a transformer")
    safely = {"local_files_only": True, "trust_remote_code": False}
    if Path(model).is_dir() and not Path(model, "config.json").exists():  # transformers blames the tokenizer
        raise FileNotFoundError(f"{model} has no config.json; expected a folder of save_pretrained")
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(model, use_fast=True, **safely)
    except OSError as error:
        if Path(model).is_dir():
            raise
        # transformers blames the network, although it was told not to use it
        where = "neither a folder nor a model that was downloaded before"
        raise FileNotFoundError(f"{model} is {where}; download it: hf download {model}") from error
    # As an argument, it would make Qwen's tokenizer add spaces within words. Without it, some tokenizers refuse words.
    tokenizer.add_prefix_space = True
    if not tokenizer.is_fast:
        raise ValueError(f"the tokenizer of {model} cannot map pieces to words; expected a fast tokenizer")
    network = transformers.AutoModel.from_pretrained(model, use_safetensors=True, **safely)
    if network.config.is_encoder_decoder:
        network = network.get_encoder()
    network = network.float()  # newer versions keep 16-bit weights; with these, padding changes the vectors
    encoder = TransformerEncoder(network.eval().requires_grad_(False), tokenizer, pieces)
    num_layers, dim = network.config.num_hidden_layers + 1, network.config.hidden_size
    settings = f"{pieces}, spaced {_digest(encoder)}"  # older versions gave some tokenizers words without spaces
    network.to(on_device)
    return SystemLayers(encoder.layers, num_layers=num_layers, dim=dim, files=(), settings=settings)


def _digest(encoder: TransformerEncoder) -> str:
    """A hash of all weights and of the tokenizer."""
    digest = hashlib.blake2b(encoder.tokenizer.backend_tokenizer.to_str().encode())
    for tensor in encoder.model.state_dict().values():
        digest.update(tensor.contiguous().reshape(-1).view(torch.uint8).numpy())
    return digest.hexdigest()


def _batches(parts: Sequence[_Part]) -> Iterator[list[_Part]]:
    """Parts, sorted by length, of at most `PIECES_PER_BATCH` pieces with their padding."""
    batch: list[_Part] = []
    for part in parts:
        if batch and (len(batch) + 1) * part.num_pieces > PIECES_PER_BATCH:
            yield batch
            batch = []
        batch.append(part)
    if batch:
        yield batch


_OPENS = "a folder of `save_pretrained`, or the name of a model of the Hub that has been downloaded"
HF_FIRST = Comparator(name="hf-first", opens=_OPENS, open=partial(open_transformer, pieces="first"), takes_device=True)
HF_MEAN = Comparator(name="hf-mean", opens=_OPENS, open=partial(open_transformer, pieces="mean"), takes_device=True)
