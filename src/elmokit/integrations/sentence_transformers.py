"""ELMo as the first module of a `SentenceTransformer`, before the pooling (extra `sentence-transformers`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

import torch
from torch import nn

from elmokit.elmo.elmo import Elmo
from elmokit.elmo.embedding import ElmoEmbedding, LayerChoice
from elmokit.elmo.encoding import Sentence, tokens_of_each
from elmokit.files.safetensors import read_arrays, read_layout, write_arrays
from elmokit.formats.find import DEFAULT_MODEL
from elmokit.formats.native import replacing_saved, write_native
from elmokit.formats.read import to_weights
from elmokit.system.messages import FormatError, plural
from elmokit.system.optional import require
from elmokit.text.characters import padded
from elmokit.text.tokenizer import tokenize

if TYPE_CHECKING:

    class InputModule(nn.Module):
        load_config: Any
        load_dir_path: Any
        load_file_path: Any

        def __getattr__(self, name: str) -> Any: ...
else:
    InputModule = require(
        "sentence_transformers.sentence_transformer.modules",
        extra="sentence-transformers",
        purpose="elmokit.integrations.sentence_transformers",
        package="sentence-transformers",
    ).InputModule

MODEL_FOLDER, MIX_NAME = "elmo", "elmo_mix.safetensors"
"""The files that `save` writes next to its config: a native model, and the weights of the mix."""


class ElmoWordEmbeddings(InputModule):
    """Sentences -> the vectors of their tokens: `SentenceTransformer(modules=[ElmoWordEmbeddings(), Pooling(256)])`.

    model: an `Elmo` (its weights are shared), or what `Elmo.from_pretrained` takes.
    layers: as in `ElmoEmbedding`; "mix" learns a weight for each layer in training.
    requires_grad: whether training changes the biLM, too.
    max_seq_length: number of tokens to read of a sentence and its prompt; None reads all.

    Sentences are strings, which are tokenised, or lists of tokens. Raises ValueError for a layer that the model does
    not have, and the errors of `Elmo.from_pretrained`.
    """

    def __init__(
        self,
        model: Elmo | str | Path = DEFAULT_MODEL,
        *,
        layers: LayerChoice = "top",
        requires_grad: bool = False,
        max_seq_length: int | None = None,
    ) -> None:
        super().__init__()
        elmo = model if isinstance(model, Elmo) else Elmo.from_pretrained(model, device="cpu")
        self.vocabulary: Final = elmo.vocabulary
        self.spelling: Final = elmo.bilm.spelling
        self.embedding: Final = ElmoEmbedding(elmo.bilm, dropout_rate=0.0, layers=layers, requires_grad=requires_grad)
        self.max_seq_length = max_seq_length

    @property
    def tokenizer(self) -> Callable[[str], list[str]]:
        """`elmokit.tokenize`, as `SentenceTransformer.tokenizer`; sentences that are lists are not tokenised."""
        return tokenize

    def preprocess(self, inputs: Sequence[Sentence], prompt: str | None = None, **kwargs: object) -> dict[str, Any]:
        """The features of a batch: `input_ids` (B,T,C), the character ids, and `attention_mask` (B,T); T is at least 1.

        prompt: text to put before sentences that are strings; `prompt_length` is its number of tokens.
        Raises ValueError if `max_seq_length` leaves no room for the sentences after the prompt.
        """
        prompted = [f"{prompt or ''}{text}" if isinstance(text, str) else text for text in inputs]
        tokens = [sentence[: self.max_seq_length] for sentence in tokens_of_each(prompted)]
        ids = torch.from_numpy(padded(tokens, self.spelling.rows)).long()
        if ids.shape[1] == 0:
            ids = nn.functional.pad(ids, (0, 0, 0, 1))
        mask = (ids > 0).any(dim=2).long()
        mask[:, 0] = 1  # a sentence without tokens has a vector of zeros, also with max pooling
        features = {"input_ids": ids, "attention_mask": mask}
        if not prompt or prompted == [*inputs]:
            return features
        prompt_length = len(tokenize(prompt))
        if self.max_seq_length is not None and prompt_length >= self.max_seq_length:
            raise ValueError(
                f"the prompt {prompt[:40]!r} has {plural(prompt_length, 'token')}, and max_seq_length is "
                f"{self.max_seq_length}, so nothing of the sentences would be read; set a larger one, or None"
            )
        return features | {"prompt_length": prompt_length}

    def forward(self, features: dict[str, Any], **kwargs: object) -> dict[str, Any]:
        """Adds `token_embeddings` (B,T,2D), zero at padding."""
        features["token_embeddings"] = self.embedding(features["input_ids"]).mixes[0]
        return features

    def get_embedding_dimension(self) -> int:
        """Width 2D of a vector."""
        return self.embedding.output_dim

    def get_config_dict(self) -> dict[str, object]:
        """The settings that `save` keeps besides the weights."""
        kept = {"layers": self.embedding.layers, "requires_grad": self.embedding.trains_bilm}
        return {**kept, "max_seq_length": self.max_seq_length}

    def save(self, output_path: str, *args: object, safe_serialization: bool = True, **kwargs: object) -> None:
        """Write config, model and mix into a folder. The weights are always safetensors in float32."""
        assert self.embedding.bilm is not None
        stored = to_weights(self.embedding.bilm, vocabulary=self.vocabulary)
        mixes = self.embedding.mixes.state_dict()
        mix = {name: tensor.detach().float().cpu().numpy() for name, tensor in mixes.items()}
        self.save_config(output_path)  # after reading the weights, so that nothing is written if that fails
        with replacing_saved(Path(output_path, MODEL_FOLDER)):  # from an earlier step of training
            write_native(Path(output_path, MODEL_FOLDER), stored)
        write_arrays(Path(output_path, MIX_NAME), mix)

    @classmethod
    def load(cls, model_name_or_path: str, subfolder: str = "", **kwargs: Any) -> Self:
        """Read what `save` wrote, from a folder or, as sentence-transformers does, from a repository of the Hub.

        model_kwargs: its `dtype` (or `torch_dtype`) becomes the module's; the rest is for transformers.
        Raises FileNotFoundError if a file is missing, and FormatError if one is damaged.
        """
        places = {
            name: kwargs[name] for name in ("token", "cache_folder", "revision", "local_files_only") if name in kwargs
        }
        config = cls.load_config(model_name_or_path, subfolder=subfolder, **places)
        model = cls.load_dir_path(model_name_or_path, subfolder=str(Path(subfolder, MODEL_FOLDER)), **places)
        mix = cls.load_file_path(model_name_or_path, MIX_NAME, subfolder=subfolder, **places)
        if model is None or mix is None:
            raise FileNotFoundError(f"{model_name_or_path}: {MODEL_FOLDER} or {MIX_NAME} is missing")
        module = cls(Path(model), **config)
        module._read_mix(Path(mix))
        options: dict[str, Any] = kwargs.get("model_kwargs") or {}
        dtype = str(options.get("dtype") or options.get("torch_dtype") or "auto").removeprefix("torch.")
        return module if dtype == "auto" else module.to(getattr(torch, dtype))

    def _read_mix(self, path: Path) -> None:
        mixes = self.embedding.mixes
        expected = {name: tuple(tensor.shape) for name, tensor in mixes.state_dict().items()}
        layout = read_layout(path, dtypes=["F32"])
        found = {name: entry.shape for name, entry in layout.tensors.items()}
        if found != expected:
            raise FormatError(path, f"has the tensors {found}; expected {expected}")
        mixes.load_state_dict({name: torch.from_numpy(array) for name, array in read_arrays(path, layout).items()})
