"""docs/pretraining.md: its commands, one after the other, lead from raw text to vectors."""

import re
from dataclasses import fields
from pathlib import Path

import pytest

from elmokit.cli.main import main
from elmokit.pretraining.recipes import RECIPES, mini
from page_code import blocks, commands, read_page

PAGE = read_page("docs/pretraining.md")
SMALLER = {"mini": "tiny", "num_steps=20000": "num_steps=20", "num_steps=1000": "num_steps=2"}


def as_the_shell_reads(word: str) -> list[str]:
    return sorted(map(str, Path().glob(word))) if "*" in word else [SMALLER.get(word, word)]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:the vocabulary has")
def test_the_way_from_raw_text_to_vectors_can_be_walked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("elmokit.pretraining.before_training._product_seconds", lambda dtype: 1.0)  # float32, at once
    Path("raw").mkdir()
    for number in range(3):
        sentences = [f"The {animal} saw number {number} there.\n" for animal in ("cat", "dog", "horse", "cow", "hen")]
        Path(f"raw/{number}.txt").write_text("\n".join(sentences))
    Path("sentences.txt").write_text("I sat on the bank of the river.\n")
    verbs: list[str] = []
    Path("domain").symlink_to("corpus")
    for program, verb, *arguments in commands(PAGE):
        assert program == "elmokit"
        assert main([verb, *(word for given in arguments for word in as_the_shell_reads(given))]) == 0
        verbs.append(verb)
    use = ("perplexity", "embed", "convert", "inspect")
    assert verbs == ["prepare", "vocabulary", "pretrain", "report", "pretrain", *use, "finetune"]
    (code,) = blocks(PAGE)
    names: dict[str, object] = {}
    exec(code, names)
    assert getattr(names["vectors"], "shape", None) == (9, 64)


def test_the_fields_have_the_values_it_says():
    rows = re.findall(r"^\| (`[^|]*) \| ([^|]*) \|", PAGE, flags=re.MULTILINE)
    said = [
        (name, value.strip())
        for names, values in rows
        for name, value in zip(re.findall(r"`(\w+)`", names), values.split(","), strict=False)
    ]
    parts = (mini(), mini().bilm)
    settings = {entry.name: str(getattr(part, entry.name)) for part in parts for entry in fields(part)}
    fields_said = [(name, value) for name, value in said if name in settings]
    assert len(fields_said) == 18
    assert fields_said == [(name, settings[name]) for name, _ in fields_said]
    assert {name for name, _ in said} & RECIPES.keys() >= {"tiny", "mini", "small"}
