"""`elmokit <command>`: the table of commands, and the code that runs one.

A command is a library function with a parser in front. Only the module and the parser of the chosen command are loaded,
and they import the library only when they run. So `--help`, `--version` and wrong arguments do not import torch.
"""

from __future__ import annotations

import argparse
import os
import pkgutil
import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from elmokit.cli.options import MAX_SHOWN, Parser
from elmokit.system.messages import printable
from elmokit.version import __version__

REFUSED = 2
"""Exit code for wrong arguments, files that are not what they should be, or a device that is missing or too small.

1 means that `doctor` or `inspect` found something wrong, or that `report` left runs out.
"""
INTERRUPTED = 130  # 128 + SIGINT, as the shell reports it
BROKEN_PIPE = 141  # 128 + SIGPIPE, as the shell reports a reader that went away


@dataclass(frozen=True)
class Command:
    """A command of the command line.

    Its module in `elmokit.cli` has `add_NAME`, which adds the arguments to a parser, and `run_NAME`, which takes the
    parsed arguments and returns the exit code (None: 0).
    """

    name: str
    module: str
    summary: str


COMMANDS = (
    Command("demo", "web", "Show a few words that have several senses. Works offline and writes a web page."),
    Command("explore", "web", "Open a page that runs a model in your browser: nearest contexts, maps, surprisal."),
    Command("embed", "vectors", "Compute the contextual vectors of every line of a text file."),
    Command("cache", "vectors", "Show or clear cached activations, and models imported from other formats."),
    Command("models", "models", "List the models that have a name, and download published ones."),
    Command("convert", "models", "Convert a model to another format; the weights keep their values."),
    Command("export", "models", "Export a model as ONNX and check it in onnxruntime (needs 'elmokit[onnx]')."),
    Command("inspect", "models", "Describe a model on disk: format, sizes, risks."),
    Command("prepare", "corpus", "Turn raw text into a corpus: tokenised sentences, shuffled, and held-out text."),
    Command("vocabulary", "corpus", "Count the tokens of a corpus and write them, most frequent first."),
    Command("pretrain", "pretraining", "Train a biLM on text, or continue a run."),
    Command("finetune", "pretraining", "Continue training a biLM on text of a domain."),
    Command("perplexity", "scoring", "Measure the perplexity of a model on text, in both directions."),
    Command("surprisal", "scoring", "Compute the surprisal of every token of a text, in bits, with the full softmax."),
    Command("change", "analysis", "Measure how much the use of words differs between two corpora (semantic change)."),
    Command("neighbours", "analysis", "Find the occurrences in a corpus that are nearest to a word in a sentence."),
    Command("train", "tasks", "Train a task model on a data set, with or without ELMo, or continue a run."),
    Command("evaluate", "tasks", "Score a trained task model on labelled data, as the official scorer does."),
    Command("predict", "tasks", "Run a trained task model on a file."),
    Command("report", "report", "Report on runs: training curves, and task results with and without ELMo."),
    Command("doctor", "report", "Check this installation: versions, processor, GPU, threads, bundled models."),
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return the exit code; argparse raises SystemExit for --help, --version and wrong usage."""
    arguments = parse(list(sys.argv[1:] if argv is None else argv))
    if "function" not in arguments:
        _parser(None).print_help()
        return REFUSED
    if arguments.command != "doctor":  # it shows what other Python programs find
        os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # threads that spin on busy cores are up to 30 times slower
        os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")  # huge pages for large tensors: up to a third faster
    return execute(arguments)


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """Parse the arguments with the parser of the command that they name."""
    return _parser(next((word for word in argv if not word.startswith("-")), None)).parse_args(argv)


def _parser(chosen: str | None) -> Parser:
    """The parser of all commands. Only the chosen one gets its arguments."""
    common = Parser(add_help=False)
    common.add_argument("--debug", action="store_true", default=argparse.SUPPRESS, help="show tracebacks of errors")
    about = "Contextual word vectors from a bidirectional language model (ELMo)."
    parser = Parser(prog="elmokit", description=about, parents=[common])
    parser.add_argument("--version", action="version", version=f"elmokit {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", title="commands")
    for command in COMMANDS:
        name, summary = command.name, command.summary
        subparser = commands.add_parser(name, help=summary, description=summary, parents=[common])
        if name == chosen:
            module = f"elmokit.cli.{command.module}"
            subparser.set_defaults(command=name, function=pkgutil.resolve_name(f"{module}:run_{name}"))
            pkgutil.resolve_name(f"{module}:add_{name}")(subparser)
    return parser


def execute(arguments: argparse.Namespace) -> int:
    """Call `arguments.function` with the arguments and return the exit code. Each error and warning becomes one line.

    `arguments.when_interrupted`, if it is set, tells the user what to do after Ctrl-C.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("default", UserWarning)
        show_once = cache(_show_warning)  # several parts of a command may give the same warning

        def show(message: Warning | str, *_: object) -> None:
            show_once(str(message))

        warnings.showwarning = show
        try:
            code = arguments.function(arguments)
            sys.stdout.flush()
        except BrokenPipeError:
            _discard_output()
            return BROKEN_PIPE
        except KeyboardInterrupt:
            print(f"\nelmokit: interrupted{getattr(arguments, 'when_interrupted', '')}", file=sys.stderr)
            return INTERRUPTED
        except (ValueError, OSError, RuntimeError, MemoryError) as error:
            if getattr(arguments, "debug", False) or not _is_refusal(error):
                raise
            print(f"elmokit: error: {_message(error)}", file=sys.stderr)
            return REFUSED
    return code or 0


def _is_refusal(error: Exception) -> bool:
    """Whether the error is about the input or about a device. Any other RuntimeError is a bug in elmokit."""
    if not isinstance(error, RuntimeError):
        return True
    from elmokit.layers.devices import is_about_devices

    return is_about_devices(error)


def _message(error: Exception) -> str:
    """The error in one line.

    Errors of the operating system name the file first and have no number. Torch's errors keep only the first line; the
    rest is advice to torch's developers.
    """
    text = str(error).partition("\n")[0] if isinstance(error, RuntimeError) else str(error)
    if isinstance(error, MemoryError):
        text = f"there is not enough memory for this: {text}" if text else "there is not enough memory for this"
    if isinstance(error, OSError) and error.strerror and error.errno:
        name = error.filename or _unwritten()
        text = f"{name}: {error.strerror}" if name else error.strerror
    return _one_line(text) or type(error).__name__


def _unwritten() -> str:
    """`standard output` if the printed text cannot be written, for example on a full disk; otherwise nothing."""
    try:
        sys.stdout.flush()
    except OSError:
        _discard_output()
        return "standard output"
    return ""


def _discard_output() -> None:
    """Throw away the printed text, because Python would complain about it again when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _one_line(text: str) -> str:
    """The text without line ends and control characters, because names and contents of files may hold any."""
    return printable(" ".join(text.split()), limit=MAX_SHOWN)


def _show_warning(message: str) -> None:
    print(f"elmokit: warning: {_one_line(message)}", file=sys.stderr)
