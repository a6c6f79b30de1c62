"""What docs/korean.md tells people to type works, and its numbers are those that were measured."""

import re
import shlex
from pathlib import Path

import pytest

from elmokit.cli import main as cli
from elmokit.formats.names import bundled_models

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "korean.md").read_text(encoding="utf-8")


@pytest.mark.skipif("mini-ko" not in bundled_models(), reason="mini-ko is not in this checkout")
def test_the_python_prints_what_its_comments_say(capsys: pytest.CaptureFixture[str]):
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
    exec(code, {})
    assert capsys.readouterr().out.split() == re.findall(r"# (0\.\d\d):", code)


def test_every_command_is_one_that_there_is():
    lines = "".join(re.findall(r"```sh\n(.*?)```", PAGE, flags=re.DOTALL)).splitlines()
    commands = [shlex.split(line, comments=True)[1:] for line in lines]
    for arguments in commands:
        assert cli._parser().parse_args(arguments).run
    assert {arguments[0] for arguments in commands} >= {"demo", "explore", "embed", "prepare", "pretrain", "train"}


@pytest.mark.parametrize(
    ("shown", "source", "measured"),
    [
        ("86.6 % (문맥 단어의 평균 65.8 %)", "README.md", "86.6 % in the top layer, and 65.8 % for a bag"),
        ("50.5 % (문맥 단어의 평균 50.0 %)", "README.md", "50.5 %, no better than the bag (50.0 %)"),
        ("64.8 → 76.7", "docs/results.md", "3 seeds, not converged | 64.83 ± 1.06 | 76.66 ±"),
        ("83.4 → 84.8", "docs/results.md", "1 seed | 83.40 | 84.79 |"),
        ("58.4 %", "docs/results.md", "| layer 2 | mini-ko (ff76235b) | 58.41 |"),
    ],
)
def test_its_numbers_are_those_of_other_pages(shown: str, source: str, measured: str):
    assert shown in PAGE
    assert measured in (ROOT / source).read_text(encoding="utf-8").replace("\n", " ")
