"""`elmokit convert`: a model from one format to another; native -> HDF5 -> native is bitwise exact."""

from __future__ import annotations

from typing import TYPE_CHECKING

from elmokit.files.atomic import check_new_folder
from elmokit.formats.find import find
from elmokit.formats.importers.bilm_tf import write_bilm_tf
from elmokit.formats.native import open_weights, write_native
from elmokit.system.paths import expanded

if TYPE_CHECKING:
    from elmokit.formats.find import StrPath


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

    to: native, or bilm_tf, which keeps float32 in one file and takes none of dtype, softmax_dtype and max_file_bytes.
    dtype: float32 or float16.
    softmax_dtype: type of the softmax's weight, by default that of the others; int8 halves float16, for a change of
        perplexity far below a percent.
    include_softmax: whether to write the softmax, if there is one.
    max_file_bytes: split the softmax into files of at most this size.

    Returns notes for the user, such as that a softmax was left out. Raises ValueError for a format or setting that
    cannot be written, FileExistsError if the target exists, and the errors of reading.
    """
    target = expanded(target)
    if to not in ("native", "bilm_tf"):
        raise ValueError(f"cannot convert to {to!r}; expected native or bilm_tf")
    if to == "bilm_tf" and (dtype != "float32" or softmax_dtype is not None or max_file_bytes is not None):
        raise ValueError("bilm_tf keeps float32 in one file; dtype, softmax_dtype and max_file_bytes are for native")
    if not include_softmax and (softmax_dtype or max_file_bytes) is not None:
        raise ValueError("softmax_dtype and max_file_bytes are about the softmax, which is to be left out")
    check_new_folder(target)
    model = open_weights(find(source, weights), with_softmax=include_softmax)
    if to == "bilm_tf":
        return write_bilm_tf(target, model)
    write_native(target, model, dtype=dtype, softmax_dtype=softmax_dtype, max_file_bytes=max_file_bytes)
    return []
