"""`elmokit <verb>`: each verb is a library function with a parser in front.

The library is imported when a verb runs, so that `--help`, `--version` and wrong arguments cost no torch. Exit codes:
0 done; 1 `doctor` or `inspect` found something wrong; 2 wrong arguments, or files that are not what they should be;
130 interrupted.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from elmokit import __version__

if TYPE_CHECKING:
    from collections.abc import Sequence

    from elmokit.model.elmo import Layers

BROKEN_PIPE = 141  # 128 + SIGPIPE, as the shell reports a reader that went away
INTERRUPTED = 130  # 128 + SIGINT


def main(argv: Sequence[str] | None = None) -> int:
    """Run one verb and return the exit code; argparse leaves by SystemExit for --help, --version and wrong usage."""
    parser = _parser()
    arguments = parser.parse_args(argv)
    if "run" not in arguments:
        parser.print_help()
        return 2
    if arguments.run is not _doctor:  # which tells what Python programs find here
        os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # threads that spin on busy cores are up to 30 times slower
        os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")  # huge pages for large tensors: up to a third faster
    with warnings.catch_warnings():
        warnings.simplefilter("default", UserWarning)
        warnings.showwarning = _show_warning
        try:
            code = arguments.run(arguments)
            sys.stdout.flush()
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python complains again when it ends
            return BROKEN_PIPE
        except KeyboardInterrupt:
            print(f"\nelmokit: interrupted{arguments.when_interrupted}", file=sys.stderr)
            return INTERRUPTED
        except (ValueError, OSError) as error:
            if getattr(arguments, "debug", False):
                raise
            print(f"elmokit: error: {_message(error)}", file=sys.stderr)
            return 2
    return code or 0


def _parser() -> argparse.ArgumentParser:
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--debug", action="store_true", default=argparse.SUPPRESS, help="show tracebacks of errors")
    parser = argparse.ArgumentParser(
        prog="elmokit",
        description="Contextual word vectors from a bidirectional language model (ELMo).",
        parents=[common],
    )
    parser.add_argument("--version", action="version", version=f"elmokit {__version__}")
    verbs = parser.add_subparsers(metavar="VERB", title="verbs")
    for name, add_arguments, run in (
        ("demo", _add_demo, _demo),
        ("embed", _add_embed, _embed),
        ("prepare", _add_prepare, _prepare),
        ("vocabulary", _add_vocabulary, _vocabulary),
        ("pretrain", _add_pretrain, _pretrain),
        ("finetune", _add_finetune, _finetune),
        ("perplexity", _add_perplexity, _perplexity),
        ("train", _add_train, _train),
        ("evaluate", _add_evaluate, _evaluate),
        ("predict", _add_predict, _predict),
        ("report", _add_report, _report),
        ("convert", _add_convert, _convert),
        ("export", _add_export, _export),
        ("inspect", _add_inspect, _inspect),
        ("doctor", _add_doctor, _doctor),
    ):
        summary = (run.__doc__ or "").strip()
        verb = verbs.add_parser(name, help=summary, description=summary, parents=[common])
        verb.set_defaults(run=run, when_interrupted="")
        add_arguments(verb)
    return parser


def _add_demo(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--html", type=Path, default=Path("demo.html"), help="the picture (default: %(default)s)")
    parser.add_argument("--model", metavar="M", help="a bundled model's name or a folder (default: the bundled model)")


def _demo(arguments: argparse.Namespace) -> None:
    """See contextual word vectors of the bundled model, offline; writes a picture."""
    from elmokit.analysis import demo

    demo.run(arguments.html, model=arguments.model)


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
    from elmokit.model.embed import embed_file

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


def _add_prepare(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "raw", nargs="+", type=Path, metavar="RAW", help="text: plain, .gz or .xz; a blank line ends a document"
    )
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FOLDER", help="a new folder")
    parser.add_argument(
        "--language",
        choices=("en", "ko", "other"),
        default="other",
        help="en and ko drop sentences that are mostly in another script (default: other, which drops none)",
    )
    parser.add_argument(
        "--unit",
        choices=("eojeol", "morphemes"),
        default="eojeol",
        help="tokens of Korean: as it is spaced, punctuation split (the default), or morphemes (needs 'elmokit[ko]')",
    )
    parser.add_argument("--min-tokens", type=int, metavar="N", help="drop shorter sentences (default: 4)")
    parser.add_argument("--max-tokens", type=int, metavar="N", help="drop longer sentences (default: 100)")
    parser.add_argument("--keep-duplicates", action="store_true", help="keep sentences that were there before")
    parser.add_argument("--no-nfc", action="store_true", help="keep each character's spelling (default: Unicode's NFC)")
    parser.add_argument(
        "--held-out", type=_share, metavar="SHARE", help="of the documents, as 0.5%% or 0.005 (default: 0.5%%)"
    )
    parser.add_argument("--seed", type=int, default=0, help="of shuffling and holding out (default: %(default)s)")
    parser.add_argument(
        "--shard-megabytes", type=float, metavar="N", help="text in a shard, before it is packed (default: 40)"
    )


def _prepare(arguments: argparse.Namespace) -> None:
    """Make a corpus of raw text: sentences, tokens, no duplicates, shuffled shards and held-out text."""
    from elmokit.pretraining.prepare import Preparation, prepare

    given = {name: getattr(arguments, name) for name in ("min_tokens", "max_tokens", "held_out", "shard_megabytes")}
    how = Preparation(
        language=arguments.language,
        unit=arguments.unit,
        nfc=not arguments.no_nfc,
        keep_duplicates=arguments.keep_duplicates,
        seed=arguments.seed,
        **{name: value for name, value in given.items() if value is not None},
    )
    print(prepare(arguments.raw, arguments.output, how).text())
    print(arguments.output)


def _add_vocabulary(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shards", nargs="+", type=Path, metavar="SHARD", help="tokenised text, one sentence a line")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FILE", help="one token a line")
    parser.add_argument("--min-count", type=int, default=1, metavar="N", help="leave out rarer tokens (default: 1)")
    parser.add_argument("--max-size", type=int, metavar="N", help="lines at most, <S>, </S> and <UNK> among them")


def _vocabulary(arguments: argparse.Namespace) -> None:
    """Count the tokens of text; write them, the most frequent first."""
    from elmokit.pretraining.vocabulary_counts import write_vocabulary

    summary = write_vocabulary(
        arguments.shards, arguments.output, min_count=arguments.min_count, max_size=arguments.max_size
    )
    print(summary.text())
    print(arguments.output)


def _add_pretrain(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shards", nargs="*", type=Path, metavar="SHARD", help="tokenised text, one sentence a line")
    parser.add_argument("--vocabulary", type=Path, metavar="FILE", help="one token a line, most frequent first")
    parser.add_argument(
        *("--run", "--run-dir"),  # torchrun takes --run for its own --run-path
        type=Path,
        dest="run_dir",
        metavar="DIR",
        help="a new folder for all that the run writes",
    )
    parser.add_argument(
        "--recipe", metavar="NAME", help="tiny, mini, small, medium or original: the sizes and settings (default: mini)"
    )
    parser.add_argument(
        "--set", nargs="+", action="extend", default=[], metavar="FIELD=VALUE", help="change settings of the recipe"
    )
    parser.add_argument(
        "--held-out",
        nargs="+",
        type=Path,
        default=[],
        metavar="FILE",
        help="text to measure on: every evaluate_every steps, and after the last",
    )
    parser.add_argument("--resume", type=Path, metavar="DIR", help="go on with the run in this folder")
    parser.add_argument("--device", help="cpu, cuda, cuda:1, ... (default: the GPU if there is one)")
    parser.set_defaults(when_interrupted="; elmokit pretrain --resume DIR goes on from the last checkpoint")


def _pretrain(arguments: argparse.Namespace) -> None:
    """Train a biLM on text, or go on with a run."""
    _check_pretrain(arguments)
    from elmokit.pretraining.config import with_settings
    from elmokit.pretraining.recipes import recipe
    from elmokit.pretraining.train import pretrain, resume

    if arguments.resume:
        run_dir = resume(arguments.resume, arguments.set, device=arguments.device)
    else:
        run_dir = pretrain(
            arguments.shards,
            vocabulary_path=arguments.vocabulary,
            run_dir=arguments.run_dir,
            config=with_settings(recipe(arguments.recipe or "mini"), arguments.set),
            held_out=arguments.held_out,
            device=arguments.device,
        )
    print(run_dir)


def _check_pretrain(arguments: argparse.Namespace) -> None:
    given = {
        "SHARD": arguments.shards,
        "--vocabulary FILE": arguments.vocabulary,
        "--run DIR": arguments.run_dir,
    }
    if arguments.resume:
        own = given | {"--recipe NAME": arguments.recipe, "--held-out FILE": arguments.held_out}
        superfluous = [name for name, value in own.items() if value]
        if superfluous:
            raise ValueError(f"--resume takes the run's own; leave out {', '.join(superfluous)}")
    elif missing := [name for name, value in given.items() if not value]:
        raise ValueError(f"a new run needs {', '.join(missing)} too (to go on with an old one: --resume DIR)")


def _add_finetune(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL", help="a bundled model's name, a folder, or an options.json")
    parser.add_argument("shards", nargs="+", type=Path, metavar="SHARD", help="tokenised text, one sentence a line")
    parser.add_argument(
        *("--run", "--run-dir"), type=Path, dest="run_dir", required=True, metavar="DIR", help="a new folder"
    )
    parser.add_argument(
        "--held-out", nargs="+", type=Path, default=[], metavar="FILE", help="text that says when to stop"
    )
    parser.add_argument(
        "--vocabulary", type=Path, metavar="FILE", help="of the domain, for a new softmax (default: the model's own)"
    )
    parser.add_argument(
        "--set", nargs="+", action="extend", default=[], metavar="FIELD=VALUE", help="change settings of the training"
    )
    parser.add_argument("--weights", metavar="FILE", help="the HDF5 weights, if MODEL is an options.json")
    parser.add_argument("--device", help="cpu, cuda, cuda:1, ... (default: the GPU if there is one)")
    parser.set_defaults(when_interrupted="; elmokit pretrain --resume DIR goes on from the last checkpoint")


def _finetune(arguments: argparse.Namespace) -> None:
    """Let a trained biLM go on with the text of a domain; stops when held-out text gets no better."""
    from elmokit.pretraining.finetune import finetune

    run_dir = finetune(
        arguments.model,
        arguments.shards,
        run_dir=arguments.run_dir,
        settings=arguments.set,
        weights=arguments.weights,
        vocabulary_path=arguments.vocabulary,
        held_out=arguments.held_out,
        device=arguments.device,
    )
    print(run_dir)


def _add_perplexity(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL", help="a bundled model's name, a folder, or an options.json")
    parser.add_argument(
        "files",
        nargs="+",
        type=Path,
        metavar="FILE",
        help="tokenised text, one sentence a line; several have a row each, and one together",
    )
    parser.add_argument("--weights", metavar="FILE", help="the HDF5 weights, if MODEL is an options.json")
    parser.add_argument(
        "--carry-state",
        action="store_true",
        help="read each file as a stream, as bilm-tf does, not sentence by sentence",
    )
    parser.add_argument(
        "--bands", action="store_true", help="split by how frequent the predicted word is: its rank in the vocabulary"
    )
    parser.add_argument(
        "--top",
        type=int,
        metavar="N",
        help="name the N words that cost most in each direction: by the sum of their losses, <UNK> and </S> included",
    )
    parser.add_argument(
        "--top-min-count",
        type=int,
        default=1,
        metavar="N",
        help="leave words out of these that were predicted fewer than N times (default: 1, which leaves out none)",
    )
    parser.add_argument(
        "--json",
        type=Path,
        metavar="FILE",
        help="write everything there too; bands and top words of every file",
    )


def _perplexity(arguments: argparse.Namespace) -> None:
    """Measure how well a model predicts text, in both directions, with the full softmax."""
    from contextlib import nullcontext

    from elmokit.model.bundled import find_model
    from elmokit.pretraining.perplexity_table import measure_files
    from elmokit.runs import atomic_write

    with atomic_write(arguments.json) if arguments.json else nullcontext() as unfinished:
        table = measure_files(
            str(find_model(arguments.model)),
            arguments.files,
            num_words=arguments.top,
            min_count=arguments.top_min_count,
            carry_state=arguments.carry_state,
            weights=arguments.weights,
        )
        if unfinished:
            unfinished.write_text(table.to_json(), encoding="utf-8")
    print(table.text(bands=arguments.bands))


def _add_train(parser: argparse.ArgumentParser) -> None:
    from elmokit.tasks.all_tasks import TASKS

    parser.add_argument("task", nargs="?", metavar="TASK", help=", ".join(TASKS))
    parser.add_argument("--data", type=Path, metavar="DIR", help="the data set's folder, its files under their names")
    parser.add_argument(
        "--run", type=Path, dest="run_dir", metavar="DIR", help="a new folder for all that the run writes"
    )
    parser.add_argument("--recipe", metavar="NAME", help="cpu (minutes) or paper (the published sizes; default: cpu)")
    parser.add_argument(
        "--elmo", metavar="PLACE", help="input, output (of the first encoder), both or none (default: the recipe's)"
    )
    parser.add_argument("--model", metavar="M", help="the biLM: a bundled model's name or a folder")
    parser.add_argument("--word-vectors", metavar="FILE", help="GloVe, word2vec or fastText (default: the recipe's)")
    parser.add_argument("--seed", type=int, metavar="N", help="of weights, order and dropout (default: 0)")
    parser.add_argument(
        "--set", nargs="+", action="extend", default=[], metavar="FIELD=VALUE", help="change settings of the recipe"
    )
    parser.add_argument(
        "--resume", type=Path, metavar="DIR", help="go on with the run in this folder (--set: max_epochs and patience)"
    )
    parser.add_argument(
        "--cache", type=Path, metavar="DIR", help="for the activations of frozen biLMs (default: ~/.cache/elmokit)"
    )
    parser.add_argument("--no-cache", action="store_true", help="compute the activations anew, and keep none")
    parser.add_argument("--device", help="cpu, cuda, cuda:1, ... (default: the GPU if there is one)")
    parser.set_defaults(when_interrupted="; elmokit train --resume DIR goes on from the last epoch")


def _train(arguments: argparse.Namespace) -> None:
    """Train a model of a task on a data set, with or without ELMo, or go on with a run."""
    _check_train(arguments)
    from elmokit.tasks.activations import default_cache
    from elmokit.tasks.all_tasks import find_task
    from elmokit.tasks.settings import recipe, with_settings
    from elmokit.tasks.train import resume, train

    cache = None if arguments.no_cache else arguments.cache or default_cache()
    if arguments.resume:
        run_dir = resume(arguments.resume, arguments.set, cache=cache, device=arguments.device)
    else:
        task = find_task(arguments.task)
        own = {
            "inputs.elmo": arguments.elmo,
            "inputs.elmo_model": arguments.model,
            "inputs.word_vectors": arguments.word_vectors,
            "training.seed": arguments.seed,
        }
        settings = [f"{name}={value}" for name, value in own.items() if value is not None] + arguments.set
        config = with_settings(recipe(task, arguments.recipe or "cpu"), settings)
        run_dir = train(
            task, arguments.data, run_dir=arguments.run_dir, config=config, cache=cache, device=arguments.device
        )
    print(run_dir)


def _check_train(arguments: argparse.Namespace) -> None:
    given = {"TASK": arguments.task, "--data DIR": arguments.data, "--run DIR": arguments.run_dir}
    if arguments.resume:
        own = {"--recipe NAME": arguments.recipe, "--elmo PLACE": arguments.elmo, "--model M": arguments.model}
        own |= {"--word-vectors FILE": arguments.word_vectors, "--seed N": arguments.seed}
        superfluous = [name for name, value in (given | own).items() if value is not None]
        if superfluous:
            raise ValueError(f"--resume takes the run's own; leave out {', '.join(superfluous)}")
    elif missing := [name for name, value in given.items() if value is None]:
        raise ValueError(f"a new run needs {', '.join(missing)} too (to go on with an old one: --resume DIR)")
    if arguments.cache and arguments.no_cache:
        raise ValueError("--cache DIR and --no-cache exclude each other")


def _add_evaluate(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run_dir", type=Path, metavar="RUN", help="the folder of a run that elmokit train made")
    parser.add_argument(
        "data", type=Path, metavar="DATA", help="a file of the task's format, or a folder with a dev and a test file"
    )
    _add_trained(parser)


def _evaluate(arguments: argparse.Namespace) -> None:
    """Score a trained task model as the official scorer does."""
    import json

    from elmokit.tasks.saved import load_task

    trained = load_task(arguments.run_dir, elmo_model=arguments.model, device=arguments.device)
    for path in trained.files_to_score(arguments.data):
        scores = {name: round(number, 2) for name, number in trained.evaluate(path).items()}
        print(json.dumps({"file": str(path), **scores}, ensure_ascii=False))


def _add_predict(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run_dir", type=Path, metavar="RUN", help="the folder of a run that elmokit train made")
    parser.add_argument("input", metavar="INPUT", help="a file, plain, .gz or .xz; - is stdin")
    parser.add_argument("-o", "--output", type=Path, metavar="OUT", help="a file (default: standard output)")
    parser.add_argument(
        "--format", choices=("text", "json"), default="text", help="the format of the field, or JSON (default: text)"
    )
    parser.add_argument(
        "--input-kind",
        choices=("text", "json", "data"),
        help="raw text, one a line; JSON, one object a line; or the task's format (default: *.txt and - are text, "
        "*.jsonl is JSON, all else is the task's format)",
    )
    _add_trained(parser)


def _predict(arguments: argparse.Namespace) -> None:
    """Tag, parse, resolve, classify or answer: a trained task model's predictions about a file."""
    from contextlib import nullcontext

    from elmokit.runs import atomic_write
    from elmokit.tasks.saved import load_task

    with atomic_write(arguments.output) if arguments.output else nullcontext() as unfinished:
        trained = load_task(arguments.run_dir, elmo_model=arguments.model, device=arguments.device)
        predictions = trained.predict_file(arguments.input, kind=arguments.input_kind, form=arguments.format)
        with unfinished.open("w", encoding="utf-8") if unfinished else nullcontext(sys.stdout) as file:
            for prediction in predictions:
                print(prediction, file=file)


def _add_trained(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--model", metavar="M", help="where the biLM is now, if not where it was; another is refused")
    parser.add_argument("--device", help="cpu, cuda, cuda:1, ... (default: the GPU if there is one)")


def _add_report(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "runs",
        nargs="+",
        type=Path,
        metavar="RUN",
        help="the folder of a run of pretrain or train, or its metrics.jsonl, or a folder of such folders",
    )
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        default=Path("docs"),
        metavar="FOLDER",
        help="for training.md and training-curve.svg of pretraining runs, results.md of runs of tasks (default: "
        "%(default)s)",
    )


def _report(arguments: argparse.Namespace) -> None:
    """Draw the training curves of pretraining runs; compare runs of tasks with ELMo and without it."""
    from elmokit.report import report

    for path in report(arguments.runs, arguments.output):
        print(path)


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
    from elmokit.model.formats.conversion import convert

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
    from elmokit.model.formats.inspection import inspect

    inspection = inspect(find_model(arguments.path), arguments.weights)
    print(inspection)
    return 1 if inspection.refusals else 0


def _add_doctor(parser: argparse.ArgumentParser) -> None:
    del parser


def _doctor(arguments: argparse.Namespace) -> int:
    """Check this installation: versions, processor, GPU, threads, bundled models."""
    from elmokit.doctor import report

    text, healthy = report()
    print(text)
    return 0 if healthy else 1


def _message(error: ValueError | OSError) -> str:
    """In one line; `[Errno 28] ...` of the operating system without its number, with the file first."""
    text = str(error)
    if isinstance(error, OSError) and error.strerror and error.errno:
        text = f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return " ".join(text.split()) or type(error).__name__


def _layers(text: str) -> Layers:
    return int(text) if text.isdecimal() else text  # type: ignore[return-value]  # Elmo.encode refuses what is neither


def _share(text: str) -> float:
    """`0.5%` or `0.005`; argparse makes a line of the ValueError."""
    return float(text.removesuffix("%")) / 100 if text.endswith("%") else float(text)


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    print(f"elmokit: warning: {message}", file=sys.stderr)
