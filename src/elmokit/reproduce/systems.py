"""Systems that a table measures: what the user names on the command line, as frozen layers with a name."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from elmokit.model.bundled import bundled_models
from elmokit.model.elmo import Elmo
from elmokit.vectors.cache import Activations
from elmokit.vectors.cache_folder import default_cache
from elmokit.vectors.elmo_layers import random_elmo
from elmokit.vectors.static_layers import StaticLayers
from elmokit.vectors.stored_layers import StoredLayers

if TYPE_CHECKING:
    from collections.abc import Callable

    from elmokit.model.frozen_layers import FrozenLayers

    Kind = Literal["biLM", "random biLM", "word vectors", "stored vectors"]

VECTOR_ENDINGS = (".npy", ".npz", ".h5", ".hdf5", ".safetensors")
RANDOM_SEED = 0


@dataclass(frozen=True)
class System:
    """Something that gives every token of a sentence a vector, or one for each layer."""

    name: str
    """Name in tables and results: `mini-en`."""
    kind: Kind
    layers: FrozenLayers


def open_system(given: str) -> System:
    """Open a system: a model, `random:MODEL`, `static:FILE` of word vectors, or a file of vectors of sentences.

    `random:MODEL` has the sizes of the model and random weights. The activations of a model are cached on disk
    (`vectors/cache.py`), so that the tables share them. Raises FileNotFoundError and ValueError for what
    cannot be opened.
    """
    prefix, _, rest = given.partition(":")
    if rest and prefix in _OPENERS:
        return _OPENERS[prefix](rest)
    if given not in bundled_models() and Path(given).suffix in VECTOR_ENDINGS:
        return System(Path(given).stem, "stored vectors", StoredLayers(given))
    return System(_model_name(given), "biLM", Activations(Elmo.from_pretrained(given), folder=default_cache()))


def _random(model: str) -> System:
    config = Elmo.from_pretrained(model).config
    name = f"{_model_name(model)}, random weights"
    return System(name, "random biLM", Activations(random_elmo(config, seed=RANDOM_SEED), folder=default_cache()))


def _static(path: str) -> System:
    name = Path(path).name.removesuffix(".gz").removesuffix(".xz").removesuffix(".txt")
    return System(name, "word vectors", StaticLayers(path))


def _model_name(model: str) -> str:
    return model if model in bundled_models() else Path(model).resolve().name


_OPENERS: dict[str, Callable[[str], System]] = {"random": _random, "static": _static}
