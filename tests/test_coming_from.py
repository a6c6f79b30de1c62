"""docs/coming-from.md: what it says is ours runs, from top to bottom, and prints what its comments say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from elmokit.cli.main import _parser
from elmokit.formats.names import DEFAULT_MODEL, bundled_models

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "coming-from.md").read_text(encoding="utf-8")


@pytest.mark.skipif(DEFAULT_MODEL not in bundled_models(), reason="the shapes are those of the bundled model")
def test_the_code_runs_and_prints_what_its_comments_say(capsys: pytest.CaptureFixture[str]):
    code = "".join(re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL))
    exec(compile(code, "<docs/coming-from.md>", "exec"), {})
    shown = capsys.readouterr().out.splitlines()
    assert shown[:3] == re.findall(r"print\(.*?  # (.*)", code)[:3]
    assert shown[3:6] == ["I 0 1 (256,)", "love 2 6 (256,)", "Berlin 7 13 (256,)"]
    assert shown[6:] == re.findall(r"print\(.*?  # (.*)", code)[3:]


def test_every_verb_and_option_is_one_that_there_is(capsys: pytest.CaptureFixture[str]):
    ours = [row.split(" | ")[1] for row in PAGE.splitlines() if row.startswith(("| `", "| a "))]
    commands = [command.split() for cell in ours for command in re.findall(r"`elmokit ([^`]+)`", cell)]
    assert len(commands) >= 7
    for verb, *arguments in commands:
        with pytest.raises(SystemExit):
            _parser().parse_args([verb, "--help"])
        offered = capsys.readouterr().out
        assert all(option in offered for option in arguments if option.startswith("-")), (verb, arguments)
