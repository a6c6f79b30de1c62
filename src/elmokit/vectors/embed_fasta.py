"""A FASTA file -> a file of vectors of residues or of proteins, as SeqVec has them (`elmokit embed --fasta`)."""

from __future__ import annotations

import hashlib
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from elmokit.model.layer_choice import as_layers
from elmokit.system.files import atomic_write, check_is_not_input, check_output
from elmokit.system.locks import lock
from elmokit.system.progress import progress_bar
from elmokit.text.fasta import read_fasta
from elmokit.vectors.embed_file import EmbeddedFile, removed_on_failure
from elmokit.vectors.files import format_to_write
from elmokit.vectors.partial import PartialVectors
from elmokit.vectors.proteins import batches_of_proteins
from elmokit.vectors.stored import tokens_path

if TYPE_CHECKING:
    import numpy as np
    from jaxtyping import Float32

    from elmokit.model.elmo import Elmo
    from elmokit.model.layer_choice import Layers
    from elmokit.vectors.proteins import ProteinVectors


def names_path(path: Path) -> Path:
    """Where the names of the proteins are: `NAME.names.txt`, one per line, in the order of the vectors."""
    return path.with_suffix(".names.txt")


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
    (residues, width), or (1, width) of the protein as a whole; `NAME.names.txt` has its name.

    layers: as in `Elmo.encode`; None is the sum of all layers, which is SeqVec's default.
    per_protein: whether to write the mean over the residues of each protein in place of a vector for each residue.
    resume: whether to continue a job that was killed, as `embed_file` does.
    Raises ValueError, naming file and line, for what is not FASTA, OSError for files that cannot be read or written,
    and InUseError, an OSError, if another process writes the same output; then no output is left.
    """
    output = Path(output_path)
    layout = format_to_write(output)
    check_output(output)
    for written in (names_path(output), *layout.files(output)):
        check_is_not_input(written, input_path)
    layers = None if layers is None else as_layers(layers, top=elmo.config.num_layers)
    job = {
        "model": elmo.fingerprint(),
        "precision": elmo.precision,
        "layers": "sum" if layers is None else layers,
        "per_protein": per_protein,
    }
    shape = (elmo.num_layers, elmo.dim) if layers == "all" else (elmo.dim,)
    total = sum(len(sequence) for _, sequence in read_fasta(input_path)) if Path(input_path).is_file() else None
    with lock(output):
        partial = PartialVectors(output.with_name(f"{output.name}.partial"), job=job, shape=shape, resume=resume)
        records = read_fasta(input_path)
        names: list[str] = []
        digest = hashlib.blake2b(digest_size=16)
        with removed_on_failure(partial, output, keep=resume), progress_bar(unit="residue", total=total) as bar:
            for name, sequence in islice(records, partial.num_lines):
                digest.update(f">{name}\n{sequence}\n".encode())
                names.append(name)
                bar.update(len(sequence))
            if partial.num_lines and (len(names) < partial.num_lines or digest.hexdigest() != partial.digest):
                raise ValueError(
                    f"{input_path}: the first {partial.num_lines:,} proteins are not those that the interrupted job "
                    f"embedded; give the same file, or delete the folder {partial.folder} to start over"
                )
            for group in batches_of_proteins(elmo, records):
                vectors = [_chosen(protein, layers) for protein in group]
                if per_protein:
                    vectors = [array.mean(axis=-2, keepdims=True) for array in vectors]
                for protein in group:
                    digest.update(f">{protein.name}\n{protein.sequence}\n".encode())
                partial.append(vectors, digest=digest.hexdigest())
                names += [protein.name for protein in group]
                bar.update(sum(len(protein.sequence) for protein in group))
            if not names:
                raise ValueError(f"{input_path} has no sequences; expected FASTA, '>NAME' and then a sequence")
            with atomic_write(names_path(output)) as unfinished:
                unfinished.write_text("".join(f"{name}\n" for name in names), encoding="utf-8")
                layout.write(output, partial.stored())
            tokens_path(output).unlink(missing_ok=True)  # of what was there before
        partial.remove()
        return EmbeddedFile(num_lines=partial.num_lines, num_tokens=partial.num_tokens)


def _chosen(protein: ProteinVectors, layers: Layers | None) -> Float32[np.ndarray, "*L T E"]:
    if layers is None:
        return protein.residues
    if layers == "all":
        return protein.layers
    if layers == "average":
        return protein.layers.mean(axis=0)
    return protein.layers[-1 if layers == "top" else int(layers)]
