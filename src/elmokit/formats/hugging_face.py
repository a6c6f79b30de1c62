"""A repository of the Hugging Face Hub: the native format, with a card whose first lines the Hub reads.

A folder that has been written so is an ordinary native model: to read it is left to that format.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from elmokit.files.folder import new_folder, write_text
from elmokit.formats.native import NATIVE, short_card, write_native

if TYPE_CHECKING:
    from elmokit.formats.format import WriteSettings
    from elmokit.formats.model_files import ModelFiles
    from elmokit.formats.weights import StoredBiLM

ATTRIBUTES_NAME = ".gitattributes"
_ATTRIBUTES = "*.safetensors filter=lfs diff=lfs merge=lfs -text\n"
_METADATA = """---
library_name: elmokit
pipeline_tag: feature-extraction
tags:
- elmo
- word-embeddings
---

"""


def card_of(stored: StoredBiLM, *, name: str = "this folder") -> str:
    """The README.md: metadata for the Hub, sizes, how to open the model, and what the author has to add."""
    return _METADATA + short_card(stored, name=name)


def write_repository(folder: Path, stored: StoredBiLM, settings: WriteSettings, *, card: str) -> None:
    """Write a new folder with all files of a repository. Raises FileExistsError if the folder is not empty."""
    with new_folder(folder) as staging:
        write_native(
            staging,
            stored,
            dtype=settings.dtype,
            softmax_dtype=settings.softmax_dtype,
            max_file_bytes=settings.max_file_bytes,
            card=card,
        )
        write_text(staging / ATTRIBUTES_NAME, _ATTRIBUTES)


def _write(folder: Path, stored: StoredBiLM, settings: WriteSettings) -> list[str]:
    write_repository(folder, stored, settings, card=card_of(stored))
    return ["README.md lacks the language, the training text and the licence; add them before you publish the model"]


def _recognise(files: ModelFiles) -> bool:
    return False  # it is a native model


HUGGING_FACE = replace(
    NATIVE,
    name="hugging_face",
    description="Hugging Face Hub (config.json, safetensors, model card)",
    recognise=_recognise,
    write=_write,
)
