"""The code on the pages of the documentation, so that tests can run it."""

import re
import shlex
from collections.abc import Mapping
from pathlib import Path

from elmokit.cli.main import main

ROOT = Path(__file__).parents[2]


def needs_large_packages(path: Path) -> bool:
    """Whether `make test-integrations` tests the page or script: it belongs to an integration with large packages."""
    return (ROOT / "tests" / "large_integrations" / f"test_{path.stem.removeprefix('with_')}.py").exists()


def read_page(name: str) -> str:
    """The text of a page by its path from the root: `docs/vectors.md`."""
    return (ROOT / name).read_text(encoding="utf-8")


def blocks(text: str, language: str = "python") -> list[str]:
    """The code blocks of a language, in the order of the page."""
    return re.findall(rf"^```{language}\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)


def commands(text: str) -> list[list[str]]:
    """The words of each command in the shell blocks, without comments."""
    lines = "".join(blocks(text, "sh")).replace("\\\n", " ").splitlines()
    return [words for line in lines if (words := shlex.split(line, comments=True))]


def promised(code: str) -> list[str]:
    """What the comments behind calls of `print` say is printed."""
    return re.findall(r"^ *print\(.*\)  # (.*)$", code, flags=re.MULTILINE)


def run_in_turn(name: str, smaller: Mapping[str, str] | None = None) -> dict[str, object]:
    """Run the commands (`sh`) and the Python of a page from top to bottom; returns the names that its Python defines.

    `smaller` replaces words of commands, so that hours of training become seconds. A command with a pipe is left out.
    """
    names: dict[str, object] = {"__name__": "page"}
    for language, block in re.findall(r"^```(python|sh)\n(.*?)^```", read_page(name), flags=re.DOTALL | re.MULTILINE):
        if language == "python":
            exec(compile(block, f"<{name}>", "exec"), names)
            continue
        for program, *words in commands(f"```sh\n{block}```\n"):
            if "|" not in words:
                assert program == "elmokit", program
                replaced = [(smaller or {}).get(word, word) for word in words]
                found = [sorted(map(str, Path().glob(word))) if "*" in word else [word] for word in replaced]
                assert main([word for given in found for word in given]) == 0, words
    return names


def run_page(name: str) -> None:
    """Run the Python of a page from top to bottom."""
    names: dict[str, object] = {"__name__": "page"}
    code = blocks(read_page(name))
    assert code, name
    for block in code:
        exec(compile(block, f"<{name}>", "exec"), names)
