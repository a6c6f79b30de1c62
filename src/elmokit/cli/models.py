"""Verbs of models on disk: describe, convert, export."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

    from elmokit.cli.verb import Verb


def _add_convert(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("source", metavar="SOURCE", help="name of a bundled model, a model folder, or an options.json")
    parser.add_argument("target", type=Path, metavar="TARGET", help="output folder (must not exist)")
    parser.add_argument("--weights", metavar="FILE", help="HDF5 weights that belong to an options.json")
    parser.add_argument(
        "--to",
        default="native",
        metavar="FORMAT",
        help="native, bilm_tf (options.json and HDF5) or hugging_face (for the Hub) (default: native)",
    )
    parser.add_argument(
        "--dtype",
        default="float32",
        metavar="TYPE",
        help="type of the weights: float32, or float16 in the native format (default: float32)",
    )
    parser.add_argument(
        "--softmax-dtype",
        metavar="TYPE",
        help="type of the softmax, if it is not that of the other weights; in the native format also int8",
    )
    parser.add_argument(
        "--no-softmax",
        action="store_true",
        help="leave the softmax out: perplexity and fine-tuning need it, embedding does not",
    )
    parser.add_argument(
        "--max-file-bytes", type=int, metavar="N", help="split the softmax into files of at most N bytes each"
    )


def _convert(arguments: argparse.Namespace) -> None:
    """Convert a model to another format; the weights keep their values."""
    from elmokit.formats.convert import convert

    notes = convert(
        arguments.source,
        arguments.target,
        to=arguments.to,
        weights=arguments.weights,
        dtype=arguments.dtype,
        softmax_dtype=arguments.softmax_dtype,
        include_softmax=not arguments.no_softmax,
        max_file_bytes=arguments.max_file_bytes,
    )
    for note in notes:
        print(f"elmokit: note: {note}", file=sys.stderr)
    print(arguments.target)


def _add_export(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL", help="name of a bundled model, a model folder, or an options.json")
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        required=True,
        metavar="FILE.onnx",
        help="output file; large weights go into FILE.onnx.data",
    )
    parser.add_argument("--weights", metavar="FILE", help="HDF5 weights that belong to an options.json")


def _export(arguments: argparse.Namespace) -> None:
    """Export a model as ONNX and check it in onnxruntime (needs 'elmokit[onnx]'; takes up to a minute)."""
    from elmokit.formats.read import read_bilm
    from elmokit.integrations.onnx_export import export_onnx

    bilm, _, _ = read_bilm(arguments.model, arguments.weights)
    name = Path(arguments.weights or arguments.model).resolve().name
    exported = export_onnx(bilm, arguments.output, model_name=name)
    largest = exported.largest_activation
    print(f"differs from torch by {exported.difference:.1e} at most, where activations reach {largest:.1f}")
    for path in exported.files:
        print(path)


def _add_inspect(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", metavar="PATH", help="name of a bundled model, a model folder, or a model file")
    parser.add_argument("--weights", metavar="FILE", help="HDF5 weights that belong to an options.json")


def _inspect(arguments: argparse.Namespace) -> int:
    """Describe a model on disk: format, sizes, risks. Does not read the weights or import torch."""
    from elmokit.formats.inspect import inspect

    inspection = inspect(arguments.path, arguments.weights)
    print(inspection)
    return 1 if inspection.refusals else 0


VERBS: Sequence[Verb] = (
    ("convert", _add_convert, _convert),
    ("export", _add_export, _export),
    ("inspect", _add_inspect, _inspect),
)
