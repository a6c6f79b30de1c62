"""`elmokit convert`: a model from one format to another; native -> HDF5 -> native is bitwise exact.

Only files of PyTorch need torch.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from elmokit.files.atomic import check_new_folder
from elmokit.formats.format import WriteSettings
from elmokit.formats.recognise import FORMATS, read_stored

if TYPE_CHECKING:
    from elmokit.formats.model_files import StrPath


def convert(
    source: StrPath,
    target: StrPath,
    *,
    to: str,
    weights: StrPath | None = None,
    dtype: str = "float32",
    softmax_dtype: str | None = None,
    include_softmax: bool = True,
    max_file_bytes: int | None = None,
) -> list[str]:
    """Read `source` (with `weights`, if it is a pair of files) and write the new folder `target` in the format `to`.

    dtype: float32, or float16 in formats that support it (`Format.dtypes`).
    softmax_dtype: type of the softmax's weight, by default that of the others; int8 halves float16, for a change of
        perplexity far below a percent.
    include_softmax: whether to write the softmax, if there is one.
    max_file_bytes: split the softmax into files of at most this size, in formats that support it.

    Returns notes for the user, such as that a softmax was left out. Raises ValueError for a format or setting that
    cannot be written, FileExistsError if the target exists, and the errors of reading.
    """
    target = Path(target).expanduser()
    writers = {known.name: known for known in FORMATS if known.write is not None}
    chosen = writers.get(to)
    if chosen is None or chosen.write is None:
        raise ValueError(f"cannot convert to {to!r}; expected {' or '.join(writers)}")
    if dtype not in chosen.dtypes:
        raise ValueError(f"{to} is written in {' or '.join(chosen.dtypes)}, not in {dtype}")
    if softmax_dtype is not None and softmax_dtype not in chosen.softmax_dtypes:
        expected = f"in {' or '.join(chosen.softmax_dtypes)}" if chosen.softmax_dtypes else "like the other weights"
        raise ValueError(f"the softmax of {to} is written {expected}, not in {softmax_dtype}")
    if not include_softmax and (softmax_dtype or max_file_bytes) is not None:
        raise ValueError("softmax_dtype and max_file_bytes are about the softmax, which is to be left out")
    if max_file_bytes is not None and not chosen.splits_files:
        raise ValueError(f"{to} keeps its weights in one file; max_file_bytes is for formats that split them")
    check_new_folder(target)
    stored = read_stored(source, weights, with_softmax=None if include_softmax else False)
    settings = WriteSettings(dtype=dtype, softmax_dtype=softmax_dtype, max_file_bytes=max_file_bytes)
    return chosen.write(target, stored, settings)
