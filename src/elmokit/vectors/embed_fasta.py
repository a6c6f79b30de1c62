"""A FASTA file -> a file of vectors of residues or of proteins, as SeqVec has them (`elmokit embed --fasta`)."""

from __future__ import annotations

import functools
import itertools
from pathlib import Path
from typing import TYPE_CHECKING

from elmokit.elmo.layer_choice import as_layers
from elmokit.files.atomic import atomic_write, check_is_not_input, check_output
from elmokit.files.lines import shown_name
from elmokit.files.locks import lock
from elmokit.system.progress_bar import progress_bar
from elmokit.text.fasta import read_fasta
from elmokit.vectors.embed_file import EmbeddedFile, check_room, removed_on_failure
from elmokit.vectors.files import format_to_write
from elmokit.vectors.partial import PartialVectors
from elmokit.vectors.proteins import batches_of_proteins
from elmokit.vectors.reader import tokens_path

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from jaxtyping import Float32

    from elmokit.elmo.elmo import Elmo
    from elmokit.elmo.layer_choice import Layers
    from elmokit.vectors.proteins import ProteinVectors


def names_path(path: Path) -> Path:
    """Where the names of the proteins are: `OUTPUT.names.txt`, one per line, in the order of the vectors."""
    return path.with_name(f"{path.name}.names.txt")


def embed_fasta(
    elmo: Elmo,
    input_path: str | Path,
    output_path: str | Path,
    *,
    layers: Layers | None = None,
    per_protein: bool = False,
    resume: bool = False,
) -> EmbeddedFile:
    """Embed every sequence of a FASTA file (plain, gzip or xz; `-` is stdin); `load_vectors` reads the output.

    The ending of the output's name decides its layout, as for `embed_file`. Vectors i are those of the i-th protein,
    (residues, width), or (1, width) of the protein as a whole; `OUTPUT.names.txt` has its name.

    layers: as in `Elmo.encode`; None is the sum of all layers, which is SeqVec's default.
    per_protein: whether to write the mean over the residues of each protein in place of a vector for each residue.
    resume: whether to continue a job that was killed, as `embed_file` does.
    Raises ValueError, naming file and line, for what is not FASTA, OSError for files that cannot be read or written,
    and InUseError, an OSError, if another process writes the same output; then no output is left. While it runs, the
    folder of the output needs twice the output's size.
    """
    output = Path(output_path)
    layout = format_to_write(output)
    check_output(output)
    for written in (names_path(output), *layout.files(output)):
        check_is_not_input(written, input_path)
    layers = None if layers is None else as_layers(layers, top=elmo.config.num_layers)
    job = {
        "version": 1,
        "model": elmo.fingerprint(),
        "precision": elmo.precision,
        "layers": "sum" if layers is None else layers,
        "per_protein": per_protein,
    }
    shape = (elmo.num_layers, elmo.dim) if layers == "all" else (elmo.dim,)
    lengths = [len(sequence) for _, sequence in read_fasta(input_path)] if Path(input_path).is_file() else None
    with lock(output):
        if lengths is not None:
            check_room(output, num_tokens=len(lengths) if per_protein else sum(lengths), shape=shape)
        partial = PartialVectors(output.with_name(f"{output.name}.partial"), job=job, shape=shape, resume=resume)
        chosen = functools.partial(_chosen, layers=layers, per_protein=per_protein)
        with removed_on_failure(partial, output, keep=resume):
            with progress_bar(unit="residue", total=None if lengths is None else sum(lengths)) as bar:
                names = _embed_proteins(elmo, input_path, partial, chosen, when_done=bar.update)
            if not names:
                raise ValueError(
                    f"{shown_name(input_path)} has no sequences; expected FASTA, '>NAME' and then a sequence"
                )
            with atomic_write(names_path(output)) as unfinished:
                unfinished.write_text("".join(f"{name}\n" for name in names), encoding="utf-8")
                layout.write(output, partial.stored())
            tokens_path(output).unlink(missing_ok=True)  # of what was there before
        partial.remove()
        return EmbeddedFile(num_lines=partial.num_lines, num_tokens=partial.num_tokens)


def _embed_proteins(
    elmo: Elmo,
    path: str | Path,
    partial: PartialVectors,
    chosen: Callable[[ProteinVectors], Float32[np.ndarray, "*L T E"]],
    *,
    when_done: Callable[[int], object],
) -> list[str]:
    """Embed the proteins that are not finished; returns the names of all.

    chosen: the vectors of a protein that are kept.
    when_done: called with numbers of residues, finished before or now.
    """
    names: list[str] = []

    def noted(name: str, sequence: str) -> str:
        names.append(name)
        when_done(len(sequence))
        return f">{name}\n{sequence}\n"

    records = read_fasta(path)
    digest = partial.pass_over_finished(itertools.starmap(noted, records), source=str(path), unit="proteins")
    for group in batches_of_proteins(elmo, records):
        for protein in group:
            digest.update(noted(protein.name, protein.sequence).encode())
        partial.append([chosen(protein) for protein in group], digest=digest.hexdigest())
    return names


def _chosen(protein: ProteinVectors, *, layers: Layers | None, per_protein: bool) -> Float32[np.ndarray, "*L T E"]:
    vectors = _of_layers(protein, layers)
    return vectors.mean(axis=-2, keepdims=True) if per_protein else vectors


def _of_layers(protein: ProteinVectors, layers: Layers | None) -> Float32[np.ndarray, "*L T E"]:
    if layers is None:
        return protein.residues
    if layers == "all":
        return protein.layers
    if layers == "average":
        return protein.layers.mean(axis=0)
    return protein.layers[-1 if layers == "top" else int(layers)]
