"""Commands of models: models, convert, export and inspect."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from elmokit.cli.options import MODEL, Parser, given
from elmokit.system.messages import did_you_mean

ABOUT_BUNDLED = {
    "small-en": ("English", "open texts, 38.5 M tokens", "Apache-2.0"),
    "mini-ko": ("Korean", "open texts, 21.0 M tokens", "Apache-2.0"),
}
"""Language, text and licence of the bundled models, from their cards."""


def add_convert(parser: Parser) -> None:
    add = parser.add_argument
    add("source", metavar="SOURCE", help=MODEL)
    add("target", metavar="TARGET", type=Path, help="output folder (must not exist)")
    parser.add_weights()
    formats = "native, or bilm_tf (options.json and HDF5) (default: %(default)s)"
    add("--to", metavar="FORMAT", default="native", help=formats)
    dtypes = "type of the weights: float32, or float16 in the native format (default: %(default)s)"
    add("--dtype", metavar="TYPE", default="float32", help=dtypes)
    softmax = "type of the softmax (default: as --dtype); in the native format also int8"
    add("--softmax-dtype", metavar="TYPE", help=softmax)
    parser.add_flag("--no-softmax", "leave the softmax out: perplexity and fine-tuning need it, embedding does not")
    add("--max-file-bytes", metavar="N", type=int, help="split the softmax into files of at most N bytes each")


def run_convert(arguments: argparse.Namespace) -> None:
    from elmokit.formats.find import convert

    how = given(arguments, "to", "weights", "dtype", "softmax_dtype", "max_file_bytes")
    notes = convert(arguments.source, arguments.target, include_softmax=not arguments.no_softmax, **how)
    for note in notes:
        print(f"elmokit: note: {note}", file=sys.stderr)
    print(arguments.target)


def add_export(parser: Parser) -> None:
    parser.add_argument("model", metavar="MODEL", help=MODEL)
    output = "output file; large weights go into FILE.onnx.data"
    parser.add_argument("-o", "--output", metavar="FILE.onnx", type=Path, required=True, help=output)
    parser.add_weights()


def run_export(arguments: argparse.Namespace) -> None:
    from elmokit.formats.read import read_bilm
    from elmokit.integrations.onnx_export import export_onnx

    bilm = read_bilm(arguments.model, arguments.weights)
    name = Path(arguments.weights or arguments.model).resolve().name
    exported = export_onnx(bilm, arguments.output, model_name=name)
    largest = exported.largest_activation
    print(f"differs from torch by {exported.difference:.1e} at most, where activations reach {largest:.1f}")
    for path in exported.files:
        print(path)


def add_inspect(parser: Parser) -> None:
    parser.add_argument("path", metavar="PATH", help="name of a bundled model, a model folder, or a model file")
    parser.add_weights()


def run_inspect(arguments: argparse.Namespace) -> int:
    from elmokit.formats.find import inspect

    inspection = inspect(arguments.path, arguments.weights)
    print(inspection)
    return 1 if inspection.refusals else 0


def add_models(parser: Parser) -> None:
    parser.add_argument(
        "action",
        nargs="?",
        choices=("list", "get", "add"),
        default="list",
        help="list all models; get one into the cache, or check it there; add files that you downloaded yourself",
    )
    parser.add_argument("name", nargs="?", metavar="NAME", help="name of a published model, such as original")
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE", help="files to add: options.json weights.hdf5")


def run_models(arguments: argparse.Namespace) -> None:
    from elmokit.formats import published
    from elmokit.formats.find import is_model_name

    if (arguments.action == "list") != (arguments.name is None):
        raise ValueError("expected elmokit models, or elmokit models get NAME, or elmokit models add NAME FILE...")
    if arguments.action == "list":
        print(_table_of_models())
        return
    model = published.find_published(arguments.name)
    if model is None and is_model_name(arguments.name):
        raise ValueError(f"{arguments.name} is bundled or in a package: there is nothing to {arguments.action}")
    if model is None:
        hint = did_you_mean(arguments.name.lower(), published.published_names())
        raise ValueError(f"unknown published model {arguments.name!r}; {hint}`elmokit models` lists them")
    if arguments.action == "get":
        if arguments.files:
            raise ValueError(f"expected one name; `elmokit models add {model.name} FILE...` adds files")
        folder = published.published_folder(model)
        published.verify_published(model)
    else:
        folder = published.add_published(model, arguments.files)
    print(folder)


def _table_of_models() -> str:
    from elmokit.formats.find import bundled_models, packaged_models
    from elmokit.formats.native import CONFIG_NAME, WEIGHTS_NAME, read_config
    from elmokit.formats.published import published_models
    from elmokit.system.markdown import aligned_table

    rows = [["name", "where", "parameters", "size", "language", "text", "licence"]]
    bundled = bundled_models()
    for name, folder in (bundled | packaged_models()).items():
        millions = read_config(folder / CONFIG_NAME)[0].num_parameters / 1e6
        megabytes = (folder / WEIGHTS_NAME).stat().st_size / 1e6
        place = "bundled" if name in bundled else "installed"
        rows.append([name, place, f"{millions:.1f} M", f"{megabytes:.0f} MB", *ABOUT_BUNDLED.get(name, ())])
    for model in published_models().values():
        name = ", ".join([model.name, *(alias for alias in model.aliases if alias.startswith("efml:"))])
        place = "in the cache" if model.is_here else "to download"
        rows.append([name, place, model.parameters, model.size, model.language, model.text, model.licence])
    return aligned_table([[*row, *[""] * (len(rows[0]) - len(row))] for row in rows], num_names=len(rows[0]))
