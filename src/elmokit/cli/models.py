"""Verbs of the model: vectors of a text, and its files on disk."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from elmokit.cli.verb import Verb
    from elmokit.model.elmo import Layers


def _add_embed(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("input", metavar="INPUT", help="text, one sentence a line: plain, .gz or .xz; - is stdin")
    parser.add_argument(
        "-o", "--output", type=Path, required=True, metavar="OUT", help="*.h5, *.npz, *.npy or *.safetensors"
    )
    parser.add_argument(
        "--model", metavar="M", help="a bundled model's name, a folder, or an options.json (default: the bundled model)"
    )
    parser.add_argument("--weights", metavar="FILE", help="the HDF5 weights, if the model is an options.json")
    parser.add_argument("--device", help="cpu, cuda, cuda:1, ... (default: the GPU if there is one)")
    parser.add_argument(
        "--layers",
        type=_layers,
        help="average, all, top, or a number (default: all in *.h5, as dump_bilm_embeddings wrote it, else average)",
    )
    parser.add_argument("--batch-size", type=int, default=128, help="sentences run at once (default: %(default)s)")
    parser.add_argument(
        "--precision",
        choices=("float32", "bfloat16", "int8", "auto"),
        default="float32",
        help="float32 is exact; bfloat16 and int8 are faster, and not (default: %(default)s)",
    )
    parser.add_argument(
        "--tokenize", action="store_true", help="the lines are raw text; without it, tokens stand between spaces"
    )
    parser.add_argument(
        "--resume", action="store_true", help="go on with a job that was killed; keep finished lines if this one fails"
    )
    parser.set_defaults(when_interrupted="; the same command with --resume goes on from here")


def _embed(arguments: argparse.Namespace) -> None:
    """Write the contextual vectors of every line of a text file."""
    from elmokit.model.bundled import DEFAULT_MODEL
    from elmokit.model.elmo import Elmo
    from elmokit.vectors.embed_file import embed_file

    done = embed_file(
        Elmo.from_pretrained(
            arguments.model or DEFAULT_MODEL,
            arguments.weights,
            device=arguments.device,
            precision=arguments.precision,
        ),
        arguments.input,
        arguments.output,
        layers=arguments.layers,
        batch_size=arguments.batch_size,
        raw_text=arguments.tokenize,
        resume=arguments.resume,
    )
    size = arguments.output.stat().st_size / 1e6
    print(f"{arguments.output}: {done.num_lines:,} lines, {done.num_tokens:,} tokens, {size:,.1f} MB")


def _add_convert(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("source", metavar="SOURCE", help="a bundled model's name, a folder, or an options.json")
    parser.add_argument("target", type=Path, metavar="TARGET", help="a new folder")
    parser.add_argument("--weights", metavar="FILE", help="the HDF5 weights, if SOURCE is an options.json")
    parser.add_argument(
        "--to",
        choices=("native", "bilm_tf"),
        default="native",
        help="bilm_tf is options.json and HDF5 (default: native)",
    )
    parser.add_argument("--dtype", choices=("float32", "float16"), default="float32", help="of the native weights")
    parser.add_argument("--no-softmax", action="store_true", help="leave it out: embedding needs none, perplexity does")
    parser.add_argument(
        "--max-file-bytes", type=int, metavar="N", help="split the softmax into files of at most N bytes"
    )


def _convert(arguments: argparse.Namespace) -> None:
    """Rewrite a model in another format; its numbers stay the same."""
    from elmokit.model.bundled import find_model
    from elmokit.model.formats.convert import convert

    notes = convert(
        find_model(arguments.source),
        arguments.target,
        to=arguments.to,
        weights=arguments.weights,
        dtype=arguments.dtype,
        include_softmax=not arguments.no_softmax,
        max_file_bytes=arguments.max_file_bytes,
    )
    for note in notes:
        print(f"elmokit: note: {note}", file=sys.stderr)
    print(arguments.target)


def _add_export(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL", help="a bundled model's name, a folder, or an options.json")
    parser.add_argument(
        "-o", "--output", type=Path, required=True, metavar="FILE.onnx", help="large weights go into FILE.onnx.data"
    )
    parser.add_argument("--weights", metavar="FILE", help="the HDF5 weights, if MODEL is an options.json")


def _export(arguments: argparse.Namespace) -> None:
    """Write a model as ONNX, checked in onnxruntime (needs 'elmokit[onnx]'; takes up to a minute)."""
    from elmokit.integrations.onnx_export import export_onnx
    from elmokit.model.elmo import load_bilm

    bilm, _ = load_bilm(arguments.model, arguments.weights)
    name = Path(arguments.weights or arguments.model).resolve().name
    exported = export_onnx(bilm, arguments.output, model_name=name)
    largest = exported.largest_activation
    print(f"differs from torch by {exported.difference:.1e} at most, where activations reach {largest:.1f}")
    for path in exported.files:
        print(path)


def _add_inspect(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", metavar="PATH", help="a bundled model's name, or a model's folder or file")
    parser.add_argument("--weights", metavar="FILE", help="the HDF5 weights, if PATH is an options.json")


def _inspect(arguments: argparse.Namespace) -> int:
    """Tell what a model on disk is: format, sizes, risks. Reads no weights and needs no torch."""
    from elmokit.model.bundled import find_model
    from elmokit.model.formats.inspect import inspect

    inspection = inspect(find_model(arguments.path), arguments.weights)
    print(inspection)
    return 1 if inspection.refusals else 0


def _layers(text: str) -> Layers:
    return int(text) if text.isdecimal() else text  # type: ignore[return-value]  # Elmo.encode refuses what is neither


VERBS: Sequence[Verb] = (
    ("embed", _add_embed, _embed),
    ("convert", _add_convert, _convert),
    ("export", _add_export, _export),
    ("inspect", _add_inspect, _inspect),
)
