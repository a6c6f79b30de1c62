"""What the README and the guides in docs/ tell people to type works, and prints what they say."""

import re
import shlex
import tomllib
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from elmokit.cli.main import main, parse
from elmokit.formats.published import find_published
from elmokit.pretraining.recipes import RECIPES, mini
from page_code import ROOT, blocks, commands, promised, read_page, run_in_turn, run_page

SENTENCES = "I sat on the bank .\nIt was very cold .\n\n"
ANIMAL = ["ran under the table", "ate the cheese", "hid from the cat", "slept in its nest", "squeaked", "was caught"]
DEVICE = ["moves the cursor", "has two buttons", "needs no cable", "came with the keyboard", "is wireless", "clicks"]


def of_mice(ends: list[str]) -> str:
    return "".join(f"the mouse {end} .\nplane {len(end)} landed .\n" for end in ends)


PAGES = ["README.md", *(f"docs/{path.relative_to(ROOT / 'docs')}" for path in sorted((ROOT / "docs").rglob("*.md")))]


@pytest.mark.parametrize("name", PAGES)
def test_every_command_of_ours_is_one_that_there_is(name: str):
    for program, *arguments in commands(read_page(name)):
        if program == "elmokit":
            given = arguments[: arguments.index("|")] if "|" in arguments else arguments
            assert parse([word for word in given if word != "&"]).function


@pytest.mark.parametrize("name", ["docs/questions.md", "docs/coming-from.md", "docs/korean.md", "docs/model.md"])
def test_pages_print_what_they_say(name: str, capsys: pytest.CaptureFixture[str]):
    run_page(name)
    said = [comment.partition(":")[0] for comment in promised(read_page(name))]
    if name == "docs/coming-from.md":  # in a loop
        said[4:4] = ["I 0 1 (512,)", "love 2 6 (512,)", "Berlin 7 13 (512,)"]
    assert said and capsys.readouterr().out.splitlines() == said


def test_coming_from_names_options_that_there_are(capsys: pytest.CaptureFixture[str]):
    rows = [row for row in read_page("docs/coming-from.md").splitlines() if row.startswith(("| `", "| a "))]
    named = [command.split() for row in rows for command in re.findall(r"`elmokit ([^`]+)`", row.split(" | ")[1])]
    assert len(named) >= 7
    for verb, *arguments in named:
        with pytest.raises(SystemExit):
            main([verb, "--help"])
        offered = capsys.readouterr().out
        assert all(option in offered for option in arguments if option.startswith("-")), (verb, arguments)


def test_elmo_in_a_model_trains_is_saved_and_trains_in_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    for name, value in {"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "0"}.items():
        monkeypatch.setenv(name, value)
    names: Any = run_in_turn("docs/embedding.md")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model.safetensors", "small.safetensors"]
    assert (tmp_path / "small.safetensors").stat().st_size < 10_000
    names["train_in_each_process"]()


@pytest.mark.parametrize(
    ("name", "files"),
    [
        ("docs/vectors.md", {"sentences.txt": SENTENCES, "book.txt": "I sat. It\nwas cold.\n"}),
        (
            "docs/semantic-change.md",
            {"earlier.txt": of_mice(ANIMAL), "later.txt": of_mice(DEVICE), "words.txt": "mouse mice\nplane\n"},
        ),
    ],
)
def test_commands_and_code_run_in_turn(name: str, files: dict[str, str], tmp_path: Path, monkeypatch: Any, capsys: Any):
    monkeypatch.chdir(tmp_path)
    for file, text in files.items():
        Path(file).write_text(text)
    names: dict[str, object] = {}
    for language, block in re.findall(r"```(python|sh)\n(.*?)```", read_page(name), flags=re.DOTALL):
        if language == "sh":
            assert main(shlex.split(block)[1:]) == 0
            capsys.readouterr()
        else:
            exec(block, names)
            said = [comment.rpartition(":")[0] or comment for comment in promised(block)]
            assert capsys.readouterr().out.splitlines() == said


def test_the_page_of_surprisal_runs(capsys: pytest.CaptureFixture[str]):
    run_page("docs/surprisal.md")
    assert capsys.readouterr().out.count("\n") == 12  # two of a continuation, nine tokens, and what could come next


README = read_page("README.md")


def test_the_python_of_the_readme_runs_and_prints_what_its_comments_say(capsys: pytest.CaptureFixture[str]):
    code, of_published = blocks(README)
    exec(code, {})
    near, far, shape = capsys.readouterr().out.splitlines()
    assert [f"{float(number):.2f}" for number in (near, far)] + [shape] == [
        said.partition(":")[0] for said in promised(code)
    ]
    for name in re.findall(r'"(\S+?)"', of_published):
        assert find_published(name) is not None, name


def test_the_pages_that_the_readme_links_to_are_in_the_source_distribution():
    settings = tomllib.loads(read_page("pyproject.toml"))
    included = settings["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    for target in re.findall(r"\]\(([^)\s]+)\)", README):
        if not target.startswith("https://"):
            assert f"/{Path(target).parts[0]}" in (*included, "/LICENSE"), target  # hatchling adds the licence


PRETRAINING = read_page("docs/pretraining.md")
SMALLER = {"mini": "tiny", "num_steps=20000": "num_steps=20", "num_steps=1000": "num_steps=2"} | {
    "evaluate_every=1000": "evaluate_every=20"
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("elmokit.pretraining.before_training._product_seconds", lambda dtype: 1.0)  # float32, at once
    return tmp_path


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:the vocabulary has", "ignore:.*passes over the text")
def test_the_way_from_raw_text_to_vectors_can_be_walked(folder: Path):
    (folder / "raw").mkdir()
    for number in range(3):
        sentences = [f"The {animal} saw number {number} there.\n" for animal in ("cat", "dog", "horse", "cow", "hen")]
        (folder / f"raw/{number}.txt").write_text("\n".join(sentences))
    (folder / "sentences.txt").write_text("I sat on the bank of the river.\n")
    (folder / "domain").symlink_to("corpus")
    names = run_in_turn("docs/pretraining.md", SMALLER)
    assert getattr(names["vectors"], "shape", None) == (9, 64)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_an_afternoon_with_a_corpus(folder: Path):
    run_in_turn("docs/your-corpus.md", SMALLER)
    assert (folder / "change.svg").is_file()
    assert (folder / "items.tsv").read_text().splitlines()[0].split("\t")[-2:] == ["item", "condition"]


def test_the_fields_of_pretraining_have_the_values_it_says():
    rows = re.findall(r"^\| (`[^|]*) \| ([^|]*) \|", PRETRAINING, flags=re.MULTILINE)
    said = [
        (name, value.strip())
        for names, values in rows
        for name, value in zip(re.findall(r"`(\w+)`", names), values.split(","), strict=False)
    ]
    parts = (mini(), mini().bilm)
    settings = {entry.name: str(getattr(part, entry.name)) for part in parts for entry in fields(part)}
    fields_said = [(name, value) for name, value in said if name in settings]
    assert len(fields_said) == 17
    assert fields_said == [(name, settings[name]) for name, _ in fields_said]
    assert {name for name, _ in said} & RECIPES.keys() >= {"tiny", "mini", "small"}
