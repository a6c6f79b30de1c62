"""Commands: what they refuse and how they say it, interrupts while they still import, and streams of any kind."""

import io
import os
import subprocess
import sys
import warnings
from contextlib import redirect_stdout
from pathlib import Path
from types import SimpleNamespace

import pytest
from syrupy.assertion import SnapshotAssertion

from elmokit import __version__
from elmokit.__main__ import command as entry_point
from elmokit.cli.main import COMMANDS, main
from elmokit.elmo.elmo import Elmo
from elmokit.integrations.embed_with import embed_with
from elmokit.scoring.minimal_pairs import read_pairs
from toy_bilm import random_bilm, write_toy

IMPORTED = """
import sys
from elmokit.cli.main import main
for line in sys.stdin:
    code = main(line.split())
    print("imported:", code, *(name for name in ("torch", "numpy", "h5py", "tqdm") if name in sys.modules))
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a model that has no softmax and a text of three lines."""
    monkeypatch.chdir(tmp_path)
    Elmo(random_bilm()).save("model")
    Path("text.txt").write_text("the cat sat\n\non the mat .\n")
    return tmp_path


def run(command: str) -> int:
    return main(command.split())


def test_help_lists_the_commands_with_what_they_do_and_there_is_a_version(capsys: pytest.CaptureFixture[str]):
    assert main([]) == 2
    shown = capsys.readouterr().out
    assert all(f"    {command.name}" in shown for command in COMMANDS)
    assert "Compute the contextual vectors of every" in shown
    with pytest.raises(SystemExit) as exit:
        main(["--version"])
    assert exit.value.code == 0
    assert capsys.readouterr().out == f"elmokit {__version__}\n"


def test_help_inspect_convert_and_what_is_refused_need_no_torch():
    """`inspect` opens HDF5, so it needs h5py and numpy; help needs neither."""
    refused = (
        *("embed no.txt -o x.h5", "embed text.txt -o x.h5 --model none"),
        *("perplexity small-en no.txt", "surprisal small-en no.txt", "predict no text.txt", "evaluate no text.txt"),
        *("perplexity model table.csv", "surprisal model table.csv"),
        *("train ner --train no.conll --run x", "train ner --data . --run x"),
        "train ner --train text.txt --run x --set learning_rat=1",
        *("pretrain no.txt --vocabulary text.txt --run x", "finetune small-en no.txt --run x"),
    )
    works = ("inspect model", "convert model pair --to bilm_tf", "inspect pair", "convert pair native")
    Path("table.csv").write_text("text,item\nA cat sat.,1\nA dog sat.,2\n")
    lines = ["", *works, *refused]
    done = subprocess.run([sys.executable, "-c", IMPORTED], input="\n".join(lines), capture_output=True, text=True)
    found = [line.split()[1:] for line in done.stdout.splitlines() if line.startswith("imported: ")]
    assert found[0] == ["2"] and [code for code, *_ in found[1:]] == ["0"] * len(works) + ["2"] * len(refused)
    assert not [line for line, (_, *imported) in zip(lines, found, strict=True) if "torch" in imported]
    assert {path.suffix for path in Path("pair").iterdir()} == {".json", ".hdf5"}
    errors = done.stderr.splitlines()
    assert len(errors) == len(refused) and all(line.startswith("elmokit: error: ") for line in errors)


@pytest.mark.parametrize(
    "command",
    [
        "embed t.npy.tokens.txt -o t.npy --model model",
        "embed t.offsets.npy -o t.npy --model model",
        "embed t.npy -o t.npy --model model",
        "perplexity small-en in.txt --json in.txt",
        "vocabulary in.txt -o in.txt",
        "surprisal small-en in.txt -o in.txt",
        "change text.txt in.txt -o in.txt",
        "change . text.txt --json in.txt",
        "change text.txt text.txt --words in.txt -o in.txt",
        "embed text.txt -o in.txt --model text.txt --weights in.txt",
        "embed text.txt -o in.txt --fasta --model in.txt",
        "perplexity text.txt text.txt --weights in.txt --json in.txt",
        "surprisal in.txt text.txt -o in.txt",
        "change text.txt text.txt --words text.txt --model text.txt --weights in.txt -o in.txt",
    ],
)
def test_no_command_writes_over_what_it_reads(command: str, capsys: pytest.CaptureFixture[str]):
    name = next(word for word in command.split() if word.startswith(("in.", "t.")))
    Path(name).write_text("the cat sat\n")
    assert run(command) == 2
    assert f"{name} would be replaced by the output; give the output another name" in capsys.readouterr().err
    assert Path(name).read_text() == "the cat sat\n"


@pytest.mark.parametrize(
    "command",
    [
        "prepare text.txt a.txt b.txt -o out",
        "vocabulary text.txt a.txt b.txt -o out",
        "pretrain text.txt a.txt b.txt --vocabulary vocabulary.txt --run out --recipe tiny",
        "pretrain text.txt a.txt --held-out b.txt --vocabulary vocabulary.txt --run out --recipe tiny",
        "change text.txt folder -o out",
        "neighbours cat --word cat --corpus folder",
        "perplexity small-en text.txt a.txt b.txt --json out",
    ],
)
def test_all_files_in_another_encoding_are_named_before_the_first_is_read(
    command: str, capsys: pytest.CaptureFixture[str]
):
    Path("vocabulary.txt").write_text("<S>\n</S>\n<UNK>\nthe\n")
    Path("folder").mkdir()
    for name in ("a.txt", "b.txt", "folder/a.txt", "folder/b.txt"):
        Path(name).write_bytes(b"the cat sat .\n" * 3000 + b"caf\xe9 .\n")
    assert run(command) == 2
    error = capsys.readouterr().err
    assert "a.txt, line 3001: byte 0xe9 at byte 4 is not UTF-8" in error
    assert "(1 more file cannot be read either: " in error and "b.txt)" in error
    assert not Path("out").exists()


@pytest.mark.parametrize("rows", ["", "--words", "--sentences", "--pairs", "--conditional", "--format lm-zoo"])
def test_a_bad_line_at_the_end_of_a_text_is_found_before_the_model_is_read(
    rows: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(Elmo, "from_pretrained", None)
    Path("bad.txt").write_bytes(b"the cat\tsat .\n" * 3000 + b"caf\xe9 .\n")
    assert run(f"surprisal small-en bad.txt {rows} -o out.tsv") == 2
    assert "bad.txt, line 3001: byte 0xe9" in capsys.readouterr().err


def test_names_warnings_and_descriptions_are_escaped(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    name = "\x1b[2J\u202eno\nfile"
    assert main(["inspect", name]) == 2
    error = capsys.readouterr().err
    assert r"\x1b[2J\u202eno" in error and "\x1b" not in error and error.count("\n") == 1
    with pytest.raises(SystemExit):
        main(["inspect", "model", name])
    error = capsys.readouterr().err
    assert r"unrecognized arguments: \x1b[2J\u202eno\nfile" in error and "\x1b" not in error
    model = Path("model").rename("mo\x1bdel")
    (model / "vocabulary.txt").write_text("no specials\n")
    assert run(f"inspect {model}") == 1
    output = capsys.readouterr().out
    assert r"mo\x1bdel" in output and "\x1b" not in output

    def inspect(*_: object) -> str:
        warnings.warn("of\nmo\x1bdel", stacklevel=1)
        warnings.warn("of\nmo\x1bdel", stacklevel=1)  # from another line; it is shown once
        raise ValueError("x" * 1_000_000)

    monkeypatch.setattr("elmokit.formats.find.inspect", inspect)
    assert run(f"inspect {model}") == 2
    warning, error = capsys.readouterr().err.splitlines()
    assert warning == r"elmokit: warning: of mo\x1bdel"
    assert len(error) < 2100


def test_what_a_device_or_memory_lacks_is_one_line_and_mistakes_of_ours_or_with_debug_a_traceback(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    command = "embed text.txt -o out.h5 --model model"

    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("elmokit.vectors.embed_file.embed_file", fail)
    error = RuntimeError("CUDA error: out of memory\nCompile with TORCH_USE_CUDA_DSA")
    assert run(command) == 2
    assert capsys.readouterr().err == "elmokit: error: CUDA error: out of memory\n"
    error = MemoryError()
    assert run(command) == 2
    assert capsys.readouterr().err == "elmokit: error: there is not enough memory for this\n"
    error = RuntimeError("a mistake of ours")
    with pytest.raises(RuntimeError, match="a mistake of ours"):
        run(command)
    for of_users in ("--debug inspect no", "inspect no --debug"):
        with pytest.raises(FileNotFoundError):
            run(of_users)
    error = KeyboardInterrupt()
    assert run(command) == 130
    assert "the same command with --resume" in capsys.readouterr().err


def test_a_reader_that_goes_away_is_no_error():
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "elmokit", "inspect", "model"]
    done = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, text=True)
    os.close(write)
    assert (done.returncode, done.stderr) == (141, "")


def test_change_compares_two_corpora_and_says_where_no_word_is_frequent_enough(capsys: pytest.CaptureFixture[str]):
    for name in ("a.txt", "b.txt", "caf\udce9.txt"):
        Path(name).write_text("the bank of the river\nthe bank\n")
    Path("stop.txt").write_text("The of\nriver\n")
    command = "change a.txt b.txt --model model --resamples 9"
    assert run(f"{command} --min-uses 2 -o c.tsv") == 0
    assert "bank" in capsys.readouterr().out and Path("c.tsv").read_text().count("\n") == 3
    assert run(f"{command} --min-uses 2 --stop-words stop.txt -o c.tsv") == 0
    assert [row.split("\t")[1] for row in Path("c.tsv").read_text().splitlines()] == ["word", "bank"]
    for refused, message in (
        (command, "no word occurs at least 5 times in both corpora"),
        ("change a.txt caf\udce9.txt --json c.json", "its name is not UTF-8; rename"),
        (f"{command} --max-uses 1", "max_uses is 1; expected a whole number, at least 2"),
    ):
        assert run(refused) == 2
        assert message in capsys.readouterr().err


def refusal(command: str, capsys: pytest.CaptureFixture[str]) -> str:
    """The last line that a command prints when it exits with 2: its only line, or the line after the usage."""
    try:
        code = run(command)
    except SystemExit as exit:
        code = exit.code
    output, error = capsys.readouterr()
    assert (code, output) == (2, "") and error.startswith(("elmokit: error: ", "usage: "))
    assert error.count("\n") == 1 or error.startswith("usage: ")
    return error.splitlines()[-1].replace(str(Path.cwd()), "HERE")


REFUSED = """
embed text.txt -o out.npy --fasta --batch-size 2
embed text.txt -o out.npy --fasta --types
embed text.txt -o out.npy --with static:x --split-sentences
embed text.txt -o out.npy --with static:x --batch-size 2
embed text.txt -o out.vec --types --resume
embed text.txt -o out.npy --min-count 2
embed text.txt -o out.npy --with static
embed text.txt -o out.npy --with statik:x
embed text.txt -o out.npy --weights text.txt
explore --tokenize
prepare text.txt -o out --exclude-words 5
prepare text.txt -o out --held-out half
pretrain text.txt
pretrain text.txt --resume . --recipe tiny
surprisal model text.txt -o out.tsv --nats
surprisal model text.txt -o out.tsv --sentences --words
surprisal model text.txt -o out.tsv --format lm-zoo --words
surprisal model text.txt -o out.tsv --conditional --rank
surprisal model text.txt -o out.tsv --conditional --carry-state
surprisal model text.txt -o out/x.tsv
surprisal m t -o o.CSV
perplexity m t --json o.json.gz
change a b -o o.xlsx
change a b --words text.txt --stop-words en
vocabulary t -o o.xz
train ner --data . --train text.txt --run out
train ner --data . --run out --cache . --no-cache
neighbours a --word a --corpus text.txt --among others
embed bad.txt -o out.h5 --model model
embed text.txt -o out.txt --model model
embed no.txt -o out.h5 --model model
convert model model
perplexity model text.txt
pretrain text.txt --run out --vocabulary text.txt --recipe huge
"""


def test_errors_are_one_line_and_exit_with_2(snapshot: SnapshotAssertion, capsys: pytest.CaptureFixture[str]):
    Path("bad.txt").write_bytes(b"good\n\xff\n")
    said = [f"{command}\n  {refusal(command, capsys)}" for command in REFUSED.strip().splitlines()]
    assert "\n".join(said) == snapshot
    assert sorted(os.listdir()) == ["bad.txt", "model", "text.txt"]


def test_errors_call_standard_input_by_its_name(monkeypatch: pytest.MonkeyPatch):
    Path("vectors.txt").write_text("the 0.1 0.2\n")
    for read, content, message in (
        (lambda: list(read_pairs("-")), b"a b\n", "^standard input, line 1: expected two sentences"),
        (lambda: list(read_pairs("-")), b"", "^standard input: has no pair"),
        (lambda: embed_with("static", "vectors.txt", "-", "out.npy"), b"", "^standard input has no lines"),
    ):
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BufferedReader(io.BytesIO(content))))
        with pytest.raises(ValueError, match=message):
            read()


INTERRUPTED_AT = """
import runpy, signal, sys

class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == module:
            signal.raise_signal(signal.SIGINT)

module = sys.argv.pop(1)
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background is started without it
sys.meta_path.insert(0, Interrupt())
runpy.run_module("elmokit", run_name="__main__")
"""


@pytest.mark.parametrize("module", ["elmokit.cli.main", "elmokit.cli.tasks", "elmokit.tasks.task"])
def test_an_interrupt_in_the_first_moments_is_one_line(module: str):
    done = subprocess.run([sys.executable, "-c", INTERRUPTED_AT, module, "train"], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "elmokit: interrupted\n")


def test_a_current_folder_that_is_gone_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert entry_point() == 2
    said = "elmokit: error: the current folder is unusable (No such file or directory); change to another\n"
    assert capsys.readouterr() == ("", said)


@pytest.mark.parametrize(
    ("name", "encoding", "errors"),
    [
        (b"\xff.txt", "utf-8", "strict"),  # most locales: printed unchanged
        *(("눈œ.txt".encode(), "ascii", errors) for errors in ("surrogateescape", "strict")),
        *(("눈œ.txt".encode(), encoding, "strict") for encoding in ("cp1252", "cp949")),
    ],
)
def test_what_the_encoding_of_the_output_does_not_have_is_escaped(
    name: bytes, encoding: str, errors: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "shard").write_text("one two\n")
    output = bytes(tmp_path) + b"/" + name
    printed = io.BytesIO()
    monkeypatch.setattr(sys, "argv", ["elmokit", "vocabulary", str(tmp_path / "shard"), "-o", os.fsdecode(output)])
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(printed, encoding=encoding, errors=errors))
    expected = output if encoding == "utf-8" else output.decode().encode(encoding, "backslashreplace")
    assert entry_point() == 0
    assert expected in printed.getvalue()


def test_standard_output_that_cannot_be_written_is_named(
    tiny_bilms: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
):
    with Path("/dev/full").open("w") as full, redirect_stdout(full):
        assert main(["inspect", str(tiny_bilms[0])]) == 2
    assert capsys.readouterr().err.endswith("elmokit: error: standard output: No space left on device\n")


@pytest.mark.parametrize(
    "command",
    [
        "prepare text.csv --held-out 0 --min-tokens 1 -o out",
        "perplexity toy text.csv --json out.json",
        "surprisal toy text.csv -o out.tsv",
        "embed text.csv --model toy -o out.npz",
        "embed text.csv --model toy -o out.tsv --types --min-count 1",
        "embed text.csv --model toy -o out.npy --split-sentences",
        "change text.csv text.csv --model toy --min-uses 2 --resamples 9 -o out.tsv",
        "neighbours a --word a --corpus text.csv --model toy",
        "vocabulary text.csv -o out",
        "pretrain text.csv --vocabulary vocabulary --run out --recipe tiny --set num_steps=1 batch_size=1 bptt_steps=2",
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_a_command_reads_a_table_as_text_or_a_column_of_it(
    command: str, folder: Path, capsys: pytest.CaptureFixture[str]
):
    write_toy(folder / "toy")
    Path("text.csv").write_text("id,text\n1,a b\n2,b a\n3,a a b\n")
    Path("vocabulary").write_text("<S>\n</S>\n<UNK>\na\nb\n")
    assert run(command) == 2
    said = capsys.readouterr().err
    assert "text.csv looks like a table of cells separated by commas" in said and "--as-text" in said
    assert run(f"{command} --as-text") == 0, capsys.readouterr().err
    if not command.startswith(("vocabulary", "pretrain")) and "--split-sentences" not in command:
        assert "--column NAME. --as-text" in said
        assert run(f"{command.replace(' out', ' column')} --column text") == 0, capsys.readouterr().err
