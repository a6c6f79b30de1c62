"""Proteins in FASTA files -> vectors of their residues, or one vector per protein (`elmokit embed --fasta`).

This needs a biLM of residues: SeqVec (Heinzinger et al., 2019). SeqVec's files are a released pair.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from elmokit.elmo.encoding import as_layers
from elmokit.files.lines import read_lines, shown_name
from elmokit.system.messages import first_token, warn_caller
from elmokit.system.paths import expanded
from elmokit.vectors.embed_file import EmbeddedFile, Job, run
from elmokit.vectors.sources import Sentence, SentenceSource

if TYPE_CHECKING:
    import numpy as np
    from jaxtyping import Float32

    from elmokit.elmo.elmo import Elmo
    from elmokit.elmo.encoding import Layers

_NO_RESIDUE = re.compile("[^A-Z*]")
DATABASES = ("sp", "tr", "gi", "gb", "emb", "dbj", "ref", "pir", "prf", "lcl")
"""Headers of UniProt and NCBI begin with one of these, then the accession. RCSB's are `1ABC_1|Chain A|...`."""


def embed_fasta(
    elmo: Elmo,
    input_path: str | Path,
    output_path: str | Path,
    *,
    layers: Layers | None = None,
    per_protein: bool = False,
    resume: bool = False,
    overwrite: bool = False,
) -> EmbeddedFile:
    """Embed every sequence of a FASTA file (plain, gzip or xz; `-` is stdin); `load_vectors` reads the output.

    The ending of the output's name decides its layout, as for `embed_file`. Array i belongs to the i-th protein. Its
    shape is (residues, width), or (1, width) for the protein as a whole. Line i of `OUTPUT.names.txt` is its name.

    layers: as in `Elmo.encode`; None is the sum of all layers, which is SeqVec's default.
    per_protein: whether to write the mean over the residues of each protein instead of a vector for each residue.
    resume, overwrite: whether to continue a job that was killed, or replace an output, as in `embed_file`.
    Warns if proteins have the same name. Raises ValueError, naming file and line, if the input is not FASTA, and the
    errors of `embed_file`. After an error, no output is left.
    """
    _warn_of_words(elmo)
    path, output = expanded(input_path), expanded(output_path)

    def read(warns: bool) -> Iterator[Sentence]:
        """The text is `>NAME`, a line end and the sequence. The tokens are its residues."""
        proteins = read_fasta(path)
        if warns:
            proteins = _with_warning_of_equal_names(proteins, path=path)
        return ((f">{name}\n{sequence}", list(sequence)) for name, sequence in proteins)

    def encode(residues: list[list[str]]) -> list[Float32[np.ndarray, "*L T E"]]:
        arrays = elmo.encode(residues, layers="all" if layers is None else layers, show_progress_bar=False)
        arrays = [array.sum(axis=0) for array in arrays] if layers is None else arrays
        return [array.mean(axis=-2, keepdims=True) for array in arrays] if per_protein else arrays

    job = Job(
        elmo,
        SentenceSource(path, read),
        output,
        layers="sum" if layers is None else as_layers(layers, top=elmo.config.num_layers),
        settings={"per_protein": per_protein},
        encode=encode,
        beside={output.with_name(f"{output.name}.names.txt"): lambda protein: protein[0][1:].partition("\n")[0]},
        one_per_sentence=per_protein,
        unit="proteins",
    )
    return run(job, resume=resume, overwrite=overwrite)


def _warn_of_words(elmo: Elmo) -> None:
    """Warn if a model's frequent tokens are words. SeqVec's pair has no vocabulary, so it gives no warning."""
    frequent = elmo.vocabulary.tokens[:100] if elmo.vocabulary else []
    words = [token for token in frequent if len(token) > 1]
    if len(words) > len(frequent) / 2:
        warn_caller(
            f"{elmo.name or 'this model'} is a model of words, such as {first_token(words[-1])}, not trained on "
            "proteins; use a model of residues, such as SeqVec (docs/formats.md)"
        )


def _with_warning_of_equal_names(proteins: Iterator[tuple[str, str]], *, path: Path) -> Iterator[tuple[str, str]]:
    names: Counter[str] = Counter()
    for protein in proteins:
        names[protein[0]] += 1
        yield protein
    [(name, count)] = names.most_common(1) or [("", 0)]
    if count > 1:
        warn_caller(
            f"{shown_name(path)}: {count:,} proteins are named {first_token(name)}, because a name is the header's "
            "accession or first word; give each header another one, or tell the proteins apart by their order"
        )


def read_fasta(path: Path) -> Iterator[tuple[str, str]]:
    """Name and sequence of each record of a FASTA file (Pearson and Lipman, 1988), plain, gzip or xz.

    The name is the header's first word. If that begins with the code of a database, the name is its next field that is
    not empty (`>sp|P12345|...` is P12345), as in SeqVec. The sequence is in upper case, without white space and without
    the stop, `*`, at its end. Lines that begin with `;` are comments. Raises ValueError, naming file and line, for a
    sequence without a header, for a header without a name or a sequence, and for residues that are not letters from A
    to Z.
    """
    name: str | None = None
    header_at = ""
    residues: list[str] = []
    for number, line in enumerate(read_lines(path), start=1):
        where = f"{shown_name(path)}, line {number}"
        if line.startswith(">"):
            if name is not None:
                yield name, _sequence(residues, where=header_at)
            name, residues, header_at = _header_name(line[1:], where=where), [], where
        elif line.strip() and not line.startswith(";"):
            if name is None:
                raise ValueError(f"{where}: a sequence without a header; expected '>NAME' first")
            residues.append("".join(line.split()).upper())
            if strange := _NO_RESIDUE.search(residues[-1]):
                raise ValueError(
                    f"{where}: {strange[0]!r} in the sequence; expected residues, letters from A to Z (X for an "
                    "unknown one), and perhaps a * at the end"
                )
    if name is not None:
        yield name, _sequence(residues, where=header_at)


def _header_name(header: str, *, where: str) -> str:
    first = next(iter(header.split()), "")
    code, *fields = first.split("|")
    name = next(filter(None, fields), "") if fields and code in DATABASES else first
    if not name:
        raise ValueError(f"{where}: the header has no name; expected '>NAME' or '>sp|NAME|...'")
    return name


def _sequence(residues: list[str], *, where: str) -> str:
    sequence = "".join(residues).removesuffix("*")
    if not sequence:
        raise ValueError(f"{where}: no sequence follows the header")
    if "*" in sequence:
        raise ValueError(f"{where}: the sequence has a stop, '*', before its end")
    return sequence
