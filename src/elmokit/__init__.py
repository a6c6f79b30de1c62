"""elmokit: contextual word vectors from a bidirectional language model (ELMo; Peters et al., 2018).

The names below are the public ones. Each is imported when it is first asked for: `import elmokit` costs no torch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from elmokit.layers.scalar_mix import ScalarMix
    from elmokit.model.bilm import BiLM
    from elmokit.model.config import BiLMConfig
    from elmokit.model.elmo import Elmo
    from elmokit.model.embedding import ElmoEmbedding
    from elmokit.tasks.saved import load_task
    from elmokit.text.tokenizer import tokenize
    from elmokit.text.vocabulary import Vocabulary

__version__ = "0.1.0"

__all__ = [
    "BiLM",
    "BiLMConfig",
    "Elmo",
    "ElmoEmbedding",
    "ScalarMix",
    "Vocabulary",
    "__version__",
    "load_task",
    "tokenize",
]

_HOMES = {
    "BiLM": "elmokit.model.bilm",
    "BiLMConfig": "elmokit.model.config",
    "Elmo": "elmokit.model.elmo",
    "ElmoEmbedding": "elmokit.model.embedding",
    "ScalarMix": "elmokit.layers.scalar_mix",
    "Vocabulary": "elmokit.text.vocabulary",
    "load_task": "elmokit.tasks.saved",
    "tokenize": "elmokit.text.tokenizer",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'elmokit' has no attribute {name!r}; its public names are {', '.join(__all__)}")
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value  # asked for once
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
