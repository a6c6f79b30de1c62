"""`elmokit <verb>`: each verb is a library function with a parser in front (a file of this folder for each room).

The library is imported when a verb runs, so that `--help`, `--version` and wrong arguments cost no torch.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Sequence
from typing import Any

from elmokit.cli import analysis, corpus, models, pretraining, report, scoring, tasks, vectors, web
from elmokit.cli.exit_codes import BROKEN_PIPE, INTERRUPTED, REFUSED
from elmokit.cli.verb import MAX_SHOWN, Parser, Verb
from elmokit.system.messages import printable
from elmokit.version import __version__

VERBS: tuple[Verb, ...] = (
    *(*web.VERBS, *vectors.VERBS, *models.VERBS),
    *(*corpus.VERBS, *pretraining.VERBS, *scoring.VERBS, *analysis.VERBS),
    *(*tasks.VERBS, *report.VERBS),
)


def main(argv: Sequence[str] | None = None, *, program: str = "elmokit", verbs: Sequence[Verb] = VERBS) -> int:
    """Run one verb and return the exit code; argparse leaves by SystemExit for --help, --version and wrong usage."""
    parser = _parser(program, verbs)
    arguments = parser.parse_args(argv)
    if "run" not in arguments:
        parser.print_help()
        return REFUSED
    if arguments.verb != "doctor":  # which tells what Python programs find here
        os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # threads that spin on busy cores are up to 30 times slower
        os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")  # huge pages for large tensors: up to a third faster
    with warnings.catch_warnings():
        warnings.simplefilter("default", UserWarning)
        warnings.showwarning = _show_warning
        try:
            code = arguments.run(arguments)
            sys.stdout.flush()
        except BrokenPipeError:
            _discard_output()
            return BROKEN_PIPE
        except KeyboardInterrupt:
            print(f"\nelmokit: interrupted{arguments.when_interrupted}", file=sys.stderr)
            return INTERRUPTED
        except (ValueError, OSError, RuntimeError, MemoryError) as error:
            if getattr(arguments, "debug", False) or not _is_refusal(error):
                raise
            print(f"elmokit: error: {_message(error)}", file=sys.stderr)
            return REFUSED
    return code or 0


def _parser(program: str = "elmokit", known: Sequence[Verb] = VERBS) -> Parser:
    common = Parser(add_help=False)
    common.add_argument("--debug", action="store_true", default=argparse.SUPPRESS, help="show tracebacks of errors")
    parser = Parser(
        prog=program,
        description="Contextual word vectors from a bidirectional language model (ELMo).",
        parents=[common],
    )
    parser.add_argument("--version", action="version", version=f"elmokit {__version__}")
    verbs = parser.add_subparsers(metavar="VERB", title="verbs")
    for name, add_arguments, run in known:
        summary = (run.__doc__ or "").strip()
        verb = verbs.add_parser(name, help=summary, description=summary, parents=[common])
        verb.set_defaults(verb=name, run=run, when_interrupted="")
        add_arguments(verb)
    return parser


def _is_refusal(error: Exception) -> bool:
    """Whether the error is about what was given, or about a device; any other RuntimeError is a mistake of ours."""
    if not isinstance(error, RuntimeError):
        return True
    from elmokit.layers.devices import is_about_devices

    return is_about_devices(error)


def _message(error: Exception) -> str:
    """In one line; `[Errno 28] ...` of the operating system without its number, with the file first.

    Of torch's complaints the first line, which is followed by advice to its developers.
    """
    text = str(error).partition("\n")[0] if isinstance(error, RuntimeError) else str(error)
    if isinstance(error, MemoryError):
        text = f"there is not enough memory for this: {text}" if text else "there is not enough memory for this"
    if isinstance(error, OSError) and error.strerror and error.errno:
        name = error.filename or _unwritten()
        text = f"{name}: {error.strerror}" if name else error.strerror
    return _one_line(text) or type(error).__name__


def _unwritten() -> str:
    """Standard output, if what was printed cannot be written, as on a full disk; else nothing."""
    try:
        sys.stdout.flush()
    except OSError:
        _discard_output()
        return "standard output"
    return ""


def _discard_output() -> None:
    """Write what was printed nowhere, or Python complains again when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _one_line(text: str) -> str:
    """Names of files and what they hold come from strangers: nothing of them reaches the terminal unescaped."""
    return printable(" ".join(text.split()), most=MAX_SHOWN)


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    print(f"elmokit: warning: {_one_line(str(message))}", file=sys.stderr)
