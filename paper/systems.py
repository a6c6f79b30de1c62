"""Systems that a table measures: what the user names on the command line, as frozen layers with a name."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from elmokit.elmo.elmo import Elmo
from elmokit.formats.names import DEFAULT_MODEL, bundled_models, model_name
from elmokit.model.vector_source import VectorSource
from elmokit.system.python import default_cache
from elmokit.vectors.cache import CachedActivations
from elmokit.vectors.file_vector_source import FileVectorSource
from paper.comparators.all_comparators import COMPARATORS, open_comparator
from paper.data_folders import glove_file
from paper.models import RANDOM_SEED, random_elmo
from paper.plan import RANDOM

VECTOR_ENDINGS = (".npy", ".npz", ".h5", ".hdf5", ".safetensors")


KOREAN_SYSTEMS = ("mini-ko", "random:mini-ko")


def english_systems(data_dir: Path) -> tuple[str, ...]:
    """The systems that English tables measure if none are named."""
    return DEFAULT_MODEL, f"random:{DEFAULT_MODEL}", f"static:{glove_file(data_dir)}"


@dataclass(frozen=True)
class System:
    """Something that gives every token of a sentence a vector, or one for each layer."""

    name: str
    """Name in tables and results: `small-en`."""
    layers: VectorSource
    is_bilm: bool = False
    """Whether it is a biLM that has been trained."""

    @property
    def fingerprint(self) -> str:
        """Of the vectors."""
        return self.layers.fingerprint()


def open_system(given: str, *, word_vectors: Path | None = None) -> System:
    """Open a system: a model, `random:MODEL`, a comparator (`static:FILE`, `cove:FOLDER`), or a file of vectors.

    `random:MODEL` has the sizes of the model and random weights. The activations of a model are cached on disk
    (`vectors/cache.py`), so that the tables share them.

    word_vectors: the word vectors of comparators that read some; others ignore them.
    Raises FileNotFoundError and ValueError for what cannot be opened.
    """
    kind, _, model = given.partition(":")
    if model and kind == RANDOM:
        config = Elmo.from_pretrained(model).config
        control = random_elmo(config, seed=RANDOM_SEED)
        return System(f"{model_name(model)}, random weights", CachedActivations(control, folder=default_cache()))
    if model and kind in COMPARATORS:
        needed = word_vectors if COMPARATORS[kind].reads_word_vectors else None
        return System(f"{kind}, {_file_name(model)}", open_comparator(kind, model, word_vectors=needed))
    if given not in bundled_models() and Path(given).suffix in VECTOR_ENDINGS:
        return System(Path(given).stem, FileVectorSource(given))
    layers = CachedActivations(Elmo.from_pretrained(given), folder=default_cache())
    return System(model_name(given), layers, is_bilm=True)


def _file_name(path: str) -> str:
    return Path(path).name.removesuffix(".gz").removesuffix(".xz").removesuffix(".txt")
