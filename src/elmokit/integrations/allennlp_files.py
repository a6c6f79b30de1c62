"""The biLM that the arguments `options_file` and `weight_file` of AllenNLP's classes mean."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from elmokit.formats.read import read_bilm

if TYPE_CHECKING:
    from elmokit.model.bilm import BiLM


def load_files(options_file: str | Path | None, weight_file: str | Path | None) -> BiLM:
    """The biLM of a pair of files, or of any model that elmokit opens, given as the first of the two.

    Raises ValueError for what AllenNLP would download, URLs and no files, and the errors of `Elmo.from_pretrained`.
    """
    check_files(options_file, weight_file)
    assert options_file is not None
    return read_bilm(options_file, weight_file)[0]


def check_files(options_file: str | Path | None, weight_file: str | Path | None) -> None:
    """Raise ValueError for what AllenNLP would download."""
    if options_file is None:
        raise ValueError(
            "no options_file was given, and elmokit does not download the model that AllenNLP would take; "
            "pass the paths of its options and weights, or the name of a bundled model, such as 'mini-en'"
        )
    for file in (options_file, weight_file):
        if "://" in str(file):
            raise ValueError(f"{file} is a URL, which elmokit does not download; download it, and pass the path")
