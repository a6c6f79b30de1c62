"""The biLM that the arguments `options_file` and `weight_file` of AllenNLP's classes mean."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from elmokit.formats.published import find_published
from elmokit.formats.read import read_bilm

if TYPE_CHECKING:
    from elmokit.model.bilm import BiLM


def load_files(options_file: str | Path | None, weight_file: str | Path | None) -> BiLM:
    """The biLM of a pair of files, or of any model that elmokit opens, given as the first of the two.

    The addresses of a published model's two files are its name. Raises ValueError for other addresses and no files, and
    the errors of `Elmo.from_pretrained`.
    """
    check_files(options_file, weight_file)
    assert options_file is not None
    return read_bilm(options_file, weight_file)[0]


def check_files(options_file: str | Path | None, weight_file: str | Path | None) -> None:
    """Raise ValueError for no files, and for addresses that are not those of a published model."""
    if options_file is None:
        raise ValueError(
            "no options_file was given; pass 'original', the name of the model that AllenNLP would take, which is "
            "downloaded at its first use, or another name, or the paths of options and weights"
        )
    if find_published(str(options_file)) is not None:
        return
    for file in (options_file, weight_file):
        if "://" in str(file):
            raise ValueError(f"{file} is a URL, which elmokit does not download; download it, and pass the path")
