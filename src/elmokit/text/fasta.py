"""FASTA files: names and sequences, one residue per letter (Pearson and Lipman, 1988)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from elmokit.files.lines import read_lines, shown_name

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

DATABASES = ("sp", "tr", "gi", "gb", "emb", "dbj", "ref", "pir", "prf", "lcl")
"""The headers of UniProt and NCBI begin with them, and the accession is next; RCSB's are `1ABC_1|Chain A|...`."""


def read_fasta(path: str | os.PathLike[str]) -> Iterator[tuple[str, str]]:
    """Name and sequence of each record of a file, plain, gzip or xz. Sequences are in upper case, without white space.

    The name is the second field of a header that begins with the code of a database (`>sp|P12345|...` is P12345, as
    SeqVec has it), and otherwise the first word of the header. Raises ValueError, naming file and line, for a sequence
    without a header, and for a header without a name or a sequence.
    """
    name: str | None = None
    header_line = 0
    residues: list[str] = []
    for number, line in enumerate(read_lines(path), start=1):
        if line.startswith(">"):
            if name is not None:
                yield name, _sequence(path, header_line, residues)
            name, residues, header_line = _name(path, number, line[1:]), [], number
        elif line.strip():
            if name is None:
                raise ValueError(
                    f"{shown_name(path)}, line {number}: a sequence without a header; expected '>NAME' first"
                )
            residues.append("".join(line.split()).upper())
    if name is not None:
        yield name, _sequence(path, header_line, residues)


def _name(path: str | os.PathLike[str], number: int, header: str) -> str:
    fields = header.split("|")
    is_coded = len(fields) > 1 and fields[0].strip() in DATABASES
    name = fields[1].strip() if is_coded else next(iter(header.split()), "")
    if not name:
        raise ValueError(
            f"{shown_name(path)}, line {number}: the header has no name; expected '>NAME' or '>sp|NAME|...'"
        )
    return name


def _sequence(path: str | os.PathLike[str], number: int, residues: list[str]) -> str:
    sequence = "".join(residues)
    if not sequence:
        raise ValueError(f"{shown_name(path)}, line {number}: the header is followed by no sequence")
    return sequence
