"""`elmokit convert`: a model from one format into another, without torch; native -> HDF5 -> native is bitwise."""

from __future__ import annotations

from pathlib import Path

from elmokit.model.formats.bilm_tf import write_bilm_tf
from elmokit.model.formats.folder import is_free
from elmokit.model.formats.native import write_native
from elmokit.model.formats.recognise import StrPath, read_stored

FORMATS = ("native", "bilm_tf")


def convert(
    source: StrPath,
    target: StrPath,
    *,
    to: str,
    weights: StrPath | None = None,
    dtype: str = "float32",
    include_softmax: bool = True,
    max_file_bytes: int | None = None,
) -> list[str]:
    """Read `source` (with `weights`, if it is a pair of files) and write the new folder `target`.

    `to` is `native` or `bilm_tf` (always float32). `dtype`, `include_softmax` and `max_file_bytes` are as in
    `write_native`. Returns what the user should be told of it, such as that a softmax was left out.
    """
    target = Path(target)
    if to not in FORMATS:
        raise ValueError(f"cannot convert to {to!r}; expected {' or '.join(FORMATS)}")
    if to == "bilm_tf" and (dtype != "float32" or max_file_bytes is not None):
        raise ValueError("the HDF5 format is one file in float32; dtype and max_file_bytes are for the native one")
    if not is_free(target):
        raise FileExistsError(f"{target} exists and is not an empty folder: choose another one or remove it")
    stored = read_stored(source, weights, with_softmax=None if include_softmax else False)
    if to == "native":
        write_native(target, stored, dtype=dtype, max_file_bytes=max_file_bytes)
        return []
    write_bilm_tf(target, stored.without_softmax())
    notes: list[str] = []
    config = stored.config
    if stored.has_softmax:
        notes.append("the softmax was left out: the HDF5 format has no place for it (keep the native model for it)")
    if not config.bidirectional:
        notes.append("bilm-tf and AllenNLP read models of both directions only; this one is a forward model")
    if not config.use_skip_connections:
        notes.append("AllenNLP refuses models without skip connections; bilm-tf reads them")
    if config.num_filters <= config.projection_dim:
        notes.append(
            f"AllenNLP wants a projection and bilm-tf none that widens; this model has {config.num_filters} filters "
            f"and projection_dim {config.projection_dim}"
        )
    return notes
