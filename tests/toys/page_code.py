"""The code on the pages of the documentation, so that tests can run it."""

import io
import re
import shlex
import subprocess
from collections.abc import Mapping
from contextlib import redirect_stdout
from functools import reduce
from itertools import chain
from pathlib import Path

import paper.__main__
from elmokit.cli.main import main

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```', flags=re.DOTALL | re.MULTILINE)
"""The language, the name of the file that the block shows, and the text."""


def needs_large_packages(path: Path) -> bool:
    """Whether `make test-integrations` tests the page or script: it belongs to an integration with large packages."""
    return (ROOT / "tests" / "large_integrations" / f"test_{path.stem.removeprefix('with_')}.py").exists()


def read_page(name: str) -> str:
    """The text of a page by its path from the root: `docs/vectors.md`."""
    return (ROOT / name).read_text(encoding="utf-8")


def blocks(text: str, language: str = "python") -> list[str]:
    """The code blocks of a language, in the order of the page."""
    return [block for which, _, block in BLOCK.findall(text) if which == language]


def command_lines(block: str) -> list[str]:
    """The commands of a shell block, each in one line."""
    return [line for line in block.replace("\\\n", " ").splitlines() if line and not line.startswith("#")]


def commands(text: str) -> list[list[str]]:
    """The words of each command in the shell blocks, without comments."""
    lines = chain.from_iterable(map(command_lines, blocks(text, "sh")))
    return [shlex.split(line, comments=True) for line in lines]


def promised(code: str) -> list[str]:
    """What the comments after calls of `print` say is printed."""
    return re.findall(r"^ *print\(.*\)  # (.*)$", code, flags=re.MULTILINE)


def run_page(
    name: str, *, stubs: Mapping[str, str] | None = None, smaller: Mapping[str, str] | None = None
) -> dict[str, object]:
    """Run the blocks of a page from top to bottom in this folder; returns the names that its Python defines.

    Blocks with a title are written as files. Installations, and commands that start with one of `stubs`, are left out.
    In the other commands, `smaller` replaces parts, so that hours become seconds.
    """
    names: dict[str, object] = {"__name__": "page"}
    for language, title, block in BLOCK.findall(read_page(name)):
        if title:
            Path(title).write_text(block, encoding="utf-8")
        elif language == "python":
            run_python(block, names, f"<{name}>")
        elif language == "sh":
            for line in command_lines(block):
                if not line.startswith(("pip install", *(stubs or ()))):
                    run_command(reduce(lambda line, each: line.replace(*each), (smaller or {}).items(), line))
    return names


def run_python(code: str, names: dict[str, object], page: str) -> None:
    """Run a block, and check that it prints what its comments say; they may add a remark after a colon."""
    printed = io.StringIO()
    with redirect_stdout(printed):
        exec(compile(code, page, "exec"), names)
    lines = iter(printed.getvalue().splitlines())
    for said in promised(code):
        assert any(said == line or said.startswith(f"{line}: ") for line in lines), (said, printed.getvalue())


def run_command(line: str) -> None:
    """Run a command of ours in this process, and any other in a shell."""
    program, *words = shlex.split(line, comments=True)
    if program == "elmokit":
        found = [sorted(map(str, Path().glob(word))) if "*" in word else [word] for word in words]
        assert main([word for each in found for word in each]) == 0, line
    elif (program, *words[:2]) == ("python", "-m", "paper"):
        assert paper.__main__.main(words[2:]) == 0, line
    else:
        subprocess.run(["bash", "-ec", line], check=True)
