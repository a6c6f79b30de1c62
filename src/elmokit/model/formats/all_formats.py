"""Every format that is known, in the order in which files are tried."""

from __future__ import annotations

from elmokit.model.formats.bilm_tf import BILM_TF
from elmokit.model.formats.format import Format
from elmokit.model.formats.native import NATIVE

FORMATS: tuple[Format, ...] = (NATIVE, BILM_TF)
