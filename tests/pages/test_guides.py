"""What the guides in docs/ tell people to type works, and prints what they say."""

import inspect
import io
import re
import shlex
from pathlib import Path

import pytest

import elmokit
from elmokit.cli import main as cli
from elmokit.cli.main import main
from elmokit.elmo.embedding import ElmoEmbedding
from elmokit.layers.packed.linear import PRECISIONS
from elmokit.vectors.files import BY_ENDING
from page_code import blocks, commands, promised, read_page, run_page

ANIMAL = ["ran under the table", "ate the cheese", "hid from the cat", "slept in its nest", "squeaked", "was caught"]
DEVICE = ["moves the cursor", "has two buttons", "needs no cable", "came with the keyboard", "is wireless", "clicks"]


@pytest.mark.parametrize("name", ["README.md", "docs/korean.md", "docs/questions.md"])
def test_every_command_of_ours_is_one_that_there_is(name: str):
    for program, *arguments in commands(read_page(name)):
        if program == "elmokit":
            assert cli._parser().parse_args(arguments).run


def test_questions_print_what_they_say(capsys: pytest.CaptureFixture[str]):
    run_page("docs/questions.md")
    said = promised("".join(blocks(read_page("docs/questions.md"))))
    assert capsys.readouterr().out.splitlines() == said


def test_coming_from_prints_what_it_says(capsys: pytest.CaptureFixture[str]):
    run_page("docs/coming-from.md")
    said = re.findall(r"print\(.*?  # (.*)", "".join(blocks(read_page("docs/coming-from.md"))))
    words = ["I 0 1 (512,)", "love 2 6 (512,)", "Berlin 7 13 (512,)"]
    assert capsys.readouterr().out.splitlines() == [*said[:3], *words, *said[3:]]


def test_coming_from_names_options_that_there_are(capsys: pytest.CaptureFixture[str]):
    rows = [row for row in read_page("docs/coming-from.md").splitlines() if row.startswith(("| `", "| a "))]
    named = [command.split() for row in rows for command in re.findall(r"`elmokit ([^`]+)`", row.split(" | ")[1])]
    assert len(named) >= 7
    for verb, *arguments in named:
        with pytest.raises(SystemExit):
            main([verb, "--help"])
        offered = capsys.readouterr().out
        assert all(option in offered for option in arguments if option.startswith("-")), (verb, arguments)


@pytest.mark.filterwarnings("ignore:This DataLoader will create")  # on a machine with one core
def test_embedding_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    run_page("docs/embedding.md")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model.safetensors", "small.safetensors"]
    assert (tmp_path / "small.safetensors").stat().st_size < 10_000


def test_korean_prints_what_it_says(capsys: pytest.CaptureFixture[str]):
    run_page("docs/korean.md")
    assert capsys.readouterr().out.split() == re.findall(r"# (0\.\d\d):", read_page("docs/korean.md"))


@pytest.mark.parametrize(
    ("name", "files"),
    [
        (
            "docs/vectors.md",
            {"sentences.txt": "I sat on the bank .\nIt was very cold .\n\n", "book.txt": "I sat. It\nwas cold.\n"},
        ),
        (
            "docs/semantic-change.md",
            {
                "earlier.txt": "".join(f"the mouse {end} .\nplane {len(end)} landed .\n" for end in ANIMAL),
                "later.txt": "".join(f"the mouse {end} .\nplane {len(end)} landed .\n" for end in DEVICE),
                "words.txt": "mouse mice\nplane\n",
            },
        ),
    ],
)
def test_commands_and_code_run_in_turn(
    name: str,
    files: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
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


def test_surprisal_says_what_the_bundled_model_gives(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    page = read_page("docs/surprisal.md")
    run_page("docs/surprisal.md")
    assert capsys.readouterr().out.count("\n") == 12  # two of a continuation, nine tokens, and what could come next
    details = elmokit.SoftmaxDetails(ranks=True)
    (found,) = elmokit.Elmo("small-en").surprisal(["i am going to the store"], details=details)
    assert found.forward is not None and found.forward.ranks is not None
    said = re.search(r"`store` has rank ([\d,]+) of 98,841", page)
    assert said is not None and int(said[1].replace(",", "")) == found.forward.ranks[found.tokens.index("store")]
    (words, command) = re.findall(r'^echo "(.*)" \| elmokit (.*)$', page, flags=re.MULTILINE)[0]
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(f"{words}\n".encode()))))
    assert main(shlex.split(command)) == 0
    header, *rows = (line.split("\t") for line in capsys.readouterr().out.splitlines())
    last = dict(zip(header, rows[-1], strict=True))
    likeliest = [each.rpartition(":")[0] for each in last["top"].split(" ")]
    named = re.search(r"it expects an unknown word, `(\w+)`, `(\w+)`, `(\w+)`\nand `(\w+)` before it", page)
    assert named is not None and (last["token"], likeliest) == ("</S>", ["<UNK>", *named.groups()])


@pytest.mark.parametrize(
    ("name", "pattern", "things"),
    [
        ("docs/questions.md", r"^\| `(\w+)` \| \S", {*PRECISIONS}),
        ("docs/vectors.md", r"`(\.h?\w+)`", {*BY_ENDING}),
        (
            "docs/embedding.md",
            r"^\| `(\w+)` \|",
            set(inspect.signature(ElmoEmbedding.from_pretrained).parameters) - {"name_or_path", "weights"},
        ),
    ],
)
def test_tables_name_everything(name: str, pattern: str, things: set[str]):
    assert things <= set(re.findall(pattern, read_page(name), flags=re.MULTILINE))
