"""`elmokit inspect`: what the files of a model say, and what is wrong with them, without reading weights.

Only files of PyTorch need torch.
"""

from __future__ import annotations

from elmokit.formats.file_kinds import PICKLES
from elmokit.formats.format import Inspection
from elmokit.formats.model_files import ModelFiles, StrPath
from elmokit.formats.recognise import opened
from elmokit.runs.folder import HELD_OUT_NAME, METRICS_NAME
from elmokit.system.messages import join_names, plural, printable

_OF_A_RUN = (METRICS_NAME, HELD_OUT_NAME, "checkpoint")
"""What pretraining writes next to a model, here and in TensorFlow."""


def inspect(path: StrPath, weights: StrPath | None = None) -> Inspection:
    """Describe a model in any format. Problems become part of the result, except FileNotFoundError."""
    files = ModelFiles(path, weights)
    inspection = Inspection(files.path)
    with inspection.noting_refusals(), opened(files) as (known, found):
        inspection.format, inspection.description = known.name, known.description
        known.inspect(found, inspection)
    if files.is_archive:
        inspection.add_files(files.path)
    with inspection.noting_refusals():
        of_folder = (
            inspection.format is not None and not files.is_archive and not set(inspection.files) <= {*files.given}
        )
        kinds = files.in_folder if of_folder or files.is_folder else files.given
        others = {path: kind for path, kind in kinds.items() if path not in inspection.files}
        for other, kind in others.items():
            if kind in PICKLES:
                inspection.risks.append(
                    f"{printable(other.name)} is {kind.value}: never opened here; opening it runs code"
                )
        unread = [other.name for other in others if other.name not in _OF_A_RUN]
        if inspection.format is not None and unread:
            inspection.risks.append(f"{plural(len(unread), 'file')} not of the model: {join_names(unread)}")
    return inspection
