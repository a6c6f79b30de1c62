"""The component `elmo` of spaCy pipelines: `nlp.add_pipe("elmo")` gives every token its vector (extra `spacy`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

import numpy as np

from elmokit.elmo.elmo import Elmo
from elmokit.formats.find import DEFAULT_MODEL
from elmokit.formats.native import replacing_saved
from elmokit.integrations.model_bytes import bytes_of, elmo_of
from elmokit.layers.packed.linear import Precision
from elmokit.system.optional import require
from elmokit.text.alignment import token_offsets
from elmokit.text.tokenizer import tokenize

if TYPE_CHECKING:
    from jaxtyping import Float32

    from elmokit.elmo.encoding import Layers

    Array = Float32[np.ndarray, "T E"]

_language: Any = require("spacy.language", extra="spacy", purpose="elmokit.integrations.spacy")
_srsly: Any = require("srsly", extra="spacy", purpose="elmokit.integrations.spacy")

Tokens = Literal["spacy", "elmokit"]
MODEL_FOLDER = "model"
"""What `nlp.to_disk` writes into the component's folder."""
_DEFAULTS = {"model": DEFAULT_MODEL, "layers": "top", "tokens": "spacy", "precision": "float32"}


@_language.Language.factory(
    "elmo", assigns=["doc.tensor"], default_config={**_DEFAULTS, "device": None, "batch_size": 128}
)
def make_elmo(
    nlp: Any,
    name: str,
    model: str,
    layers: Layers,
    tokens: Tokens,
    precision: Precision,
    device: str | None,
    batch_size: int,
) -> ElmoPipe:
    """The factory that spaCy calls, with the settings of `ElmoPipe`."""
    return ElmoPipe(
        model, layers=layers, tokens=tokens, precision=precision, device=device, batch_size=batch_size, name=name
    )


class ElmoPipe:
    """Writes the vectors of a document's tokens into `doc.tensor` (T,2D), or (T,L*2D) for all layers.

    model: what `Elmo.from_pretrained` takes. It is read for the first document, or from the pipeline's folder.
    layers: as in `Elmo.encode`; "all" concatenates the layers.
    tokens: "spacy" reads the tokens of the document. "elmokit" splits the text with `elmokit.tokenize`; a token of the
        document then gets the mean of the vectors of all tokens that it overlaps.
    precision, device: as in `Elmo.from_pretrained`.
    batch_size: number of sentences to encode at once.

    If the document has sentences, each is read separately; otherwise the whole document is read at once. White space
    gets zeros. Raises ValueError for other `tokens`; `Elmo` checks the other settings at the first document.
    """

    def __init__(
        self,
        model: str | Path = DEFAULT_MODEL,
        *,
        layers: Layers = "top",
        tokens: Tokens = "spacy",
        precision: Precision = "float32",
        device: str | None = None,
        batch_size: int = 128,
        name: str = "elmo",
    ) -> None:
        if tokens not in get_args(Tokens):
            raise ValueError(f"tokens is {tokens!r}; expected {' or '.join(get_args(Tokens))}")
        self.model = model
        self.layers: Layers = cast("Any", layers).tolist() if isinstance(layers, np.ndarray) else layers
        self.tokens: Tokens = tokens
        self.precision: Precision = precision
        self.device = device
        self.batch_size = batch_size
        self.name = name
        self._elmo: Elmo | None = None

    @property
    def elmo(self) -> Elmo:
        """The model. It is read at its first use."""
        if self._elmo is None:
            self._elmo = Elmo.from_pretrained(self.model, device=self.device, precision=self.precision)
        return self._elmo

    @property
    def width(self) -> int:
        """Number of columns of `doc.tensor`."""
        return self.elmo.dim * (self.elmo.num_layers if self.layers == "all" else 1)

    def __call__(self, doc: Any) -> Any:
        """The document, with its vectors."""
        self._annotate([doc])
        return doc

    def pipe(self, stream: Iterable[Any], *, batch_size: int) -> Iterator[Any]:
        """The documents of a stream, with their vectors; `batch_size` of them are read at once."""
        docs = iter(stream)
        while batch := list(islice(docs, batch_size)):
            self._annotate(batch)
            yield from batch

    def to_disk(self, path: str | Path, *, exclude: Sequence[str] = ()) -> None:
        """Write the model into a folder, in the native format, for `nlp.to_disk`, unless `model` is excluded."""
        if MODEL_FOLDER not in exclude:
            elmo = self.elmo  # opened before its folder is replaced
            with replacing_saved(Path(path, MODEL_FOLDER)):  # from an earlier step of training
                elmo.save(Path(path, MODEL_FOLDER))

    def from_disk(self, path: str | Path, *, exclude: Sequence[str] = ()) -> ElmoPipe:
        """Read the model that `to_disk` wrote. Raises FormatError if one of its files is damaged."""
        if MODEL_FOLDER not in exclude:
            self._elmo = Elmo.from_pretrained(Path(path, MODEL_FOLDER), device=self.device, precision=self.precision)
        return self

    def to_bytes(self, *, exclude: Sequence[str] = ()) -> bytes:
        """The files of the model, for `nlp.to_bytes`; none if `model` is excluded."""
        return _srsly.msgpack_dumps({} if MODEL_FOLDER in exclude else bytes_of(self.elmo))

    def from_bytes(self, data: bytes, *, exclude: Sequence[str] = ()) -> ElmoPipe:
        """Read the model from the result of `to_bytes`. Raises FormatError if one of its files is damaged."""
        files = _srsly.msgpack_loads(data)
        if files and MODEL_FOLDER not in exclude:
            self._elmo = elmo_of(files, device=self.device, precision=self.precision)
        return self

    def _annotate(self, docs: Sequence[Any]) -> None:
        spans = [span for doc in docs for span in _sentences(doc)]
        sentences = [self._read(span) for span in spans]
        encoded = iter(self.elmo.encode(sentences, layers=self.layers, batch_size=self.batch_size))
        for doc in docs:
            rows = [self._rows(span, next(encoded)) for span in _sentences(doc)]
            doc.tensor = np.concatenate([np.zeros((0, self.width), np.float32), *rows])
            _set_hooks(doc)

    def _read(self, span: Any) -> list[str]:
        return tokenize(span.text) if self.tokens == "elmokit" else [token.text for token in span if not token.is_space]

    def _rows(self, span: Any, vectors: Float32[np.ndarray, "*L N E"]) -> Array:
        """A row for each token of the sentence, made from the vectors of the tokens that were read."""
        flat = np.concatenate(list(vectors), axis=-1) if self.layers == "all" else vectors
        rows = np.zeros((len(span), self.width), np.float32)
        if self.tokens == "spacy":
            rows[[not token.is_space for token in span]] = flat
        else:
            starts, ends = np.array(token_offsets(span.text, tokenize(span.text)), np.int64).reshape(-1, 2).T
            furthest = np.maximum.accumulate(ends)  # a token of combining marks may end before the previous token
            for row, token in zip(rows, span, strict=True):
                start: int = token.idx - span.start_char
                near = slice(furthest.searchsorted(start, "right"), starts.searchsorted(start + len(token)))
                overlapping = flat[near][ends[near] > start]
                if len(overlapping):
                    row[:] = overlapping.mean(axis=0)
        return rows


def _sentences(doc: Any) -> list[Any]:
    return list(doc.sents) if doc.has_annotation("SENT_START") else [doc[:]]


def _set_hooks(doc: Any) -> None:
    """Use our vectors and similarities for the document, also in a pipeline with static vectors.

    Without the hook, spaCy gives a token and the same word in another context the similarity 1.
    """
    for hooks, vector in (
        (doc.user_hooks, _vector_of_doc),
        (doc.user_span_hooks, _vector_of_span),
        (doc.user_token_hooks, _vector_of_token),
    ):
        own = {"vector": vector, "has_vector": _has_vector, "vector_norm": _norm, "similarity": _similarity}
        hooks.update(own)


def _vector_of_doc(doc: Any) -> Float32[np.ndarray, " E"]:
    return _mean(doc.tensor)


def _vector_of_span(span: Any) -> Float32[np.ndarray, " E"]:
    return _mean(span.doc.tensor[span.start : span.end])


def _vector_of_token(token: Any) -> Float32[np.ndarray, " E"]:
    return token.doc.tensor[token.i]


def _has_vector(of: Any) -> bool:
    return len(of) > 0


def _similarity(one: Any, other: Any) -> float:
    return float(Elmo.similarity(one.vector, other.vector)) if other.has_vector else 0.0  # a lexeme may have none


def _norm(of: Any) -> float:
    return float(np.linalg.norm(of.vector))


def _mean(rows: Array) -> Float32[np.ndarray, " E"]:
    return rows.sum(axis=0) / np.float32(max(len(rows), 1))
