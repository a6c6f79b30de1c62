import io
import json
import os
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import h5py
import pytest

from elmokit import __version__
from elmokit.cli.main import VERBS, main
from elmokit.corpus.stream import SentenceStream
from elmokit.elmo.elmo import Elmo
from elmokit.integrations.embed_with import embed_with
from elmokit.scoring.minimal_pairs import read_pairs
from elmokit.vectors.jobs.proteins import read_fasta
from toy_bilm import random_bilm
from toy_language_model import write_toy

TINY_VECTORS = "vectors.txt"


IMPORTED = """
import sys
from elmokit.cli.main import main
for line in sys.stdin:
    code = main(line.split())
    print("imported:", code, *(name for name in ("torch", "numpy", "h5py", "tqdm") if name in sys.modules))
"""


@pytest.fixture
def model(tmp_path: Path) -> Path:
    Elmo(random_bilm()).save(tmp_path / "model")
    return tmp_path / "model"


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_text("the cat sat\n\non the mat .\n")
    return path


def shapes(path: Path) -> list[tuple[int, ...]]:
    """Of the datasets of the three lines."""
    with h5py.File(path) as file:
        datasets = [file[name] for name in "012"]
        return [each.shape for each in datasets if isinstance(each, h5py.Dataset)]


def run(*arguments: object) -> int:
    return main([str(argument) for argument in arguments])


def test_help_lists_the_verbs_with_what_they_do_and_there_is_a_version(capsys: pytest.CaptureFixture[str]):
    assert main([]) == 2
    shown = capsys.readouterr().out
    assert all(f"    {verb}" in shown for verb, *_ in VERBS)
    assert "Compute the contextual vectors of every" in shown
    with pytest.raises(SystemExit) as exit:
        main(["--version"])
    assert exit.value.code == 0
    assert capsys.readouterr().out == f"elmokit {__version__}\n"


@pytest.mark.parametrize("arguments", [["embed"], ["nonsense"], ["inspect"], ["convert", "a"]])
def test_wrong_usage_exits_with_2(arguments: list[str], capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as exit:
        main(arguments)
    assert exit.value.code == 2
    assert "usage: elmokit" in capsys.readouterr().err


def test_help_inspect_convert_and_what_is_refused_need_no_torch(model: Path, text: Path):
    """`inspect` opens HDF5, so it needs h5py and numpy; help needs neither."""
    refused = (
        *("embed no.txt -o x.h5", "embed text.txt -o x.h5 --model none"),
        *("perplexity small-en no.txt", "surprisal small-en no.txt", "predict no text.txt", "evaluate no text.txt"),
        *("train ner --train no.conll --run x", "train ner --data . --run x"),
        "train ner --train text.txt --run x --set learning_rat=1",
        *("pretrain no.txt --vocabulary text.txt --run x", "finetune small-en no.txt --run x"),
    )
    works = (f"inspect {model}", f"convert {model} pair --to bilm_tf", "inspect pair", "convert pair native")
    lines = ["", *works, *refused]
    done = subprocess.run(
        [sys.executable, "-c", IMPORTED], input="\n".join(lines), capture_output=True, text=True, cwd=text.parent
    )
    found = [line.split()[1:] for line in done.stdout.splitlines() if line.startswith("imported: ")]
    assert found[0] == ["2"] and [code for code, *_ in found[1:]] == ["0"] * len(works) + ["2"] * len(refused)
    assert not [line for line, (_, *imported) in zip(lines, found, strict=True) if "torch" in imported]
    errors = done.stderr.splitlines()
    assert len(errors) == len(refused) and all(line.startswith("elmokit: error: ") for line in errors)


def test_embed_writes_a_file_and_says_what_is_in_it(
    model: Path, text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    output = tmp_path / "out.h5"
    assert run("embed", text, "-o", output, "--model", model, "--layers", "all") == 0
    assert capsys.readouterr().out.startswith(f"{output}: 3 lines, 7 tokens, ")
    assert shapes(output) == [(3, 3, 12), (3, 0, 12), (3, 4, 12)]
    for layers in ("average", "top", "0"):
        assert run("embed", text, "-o", output, "--model", model, "--layers", layers, "--device", "cpu") == 0
        assert shapes(output) == [(3, 12), (0, 12), (4, 12)]


@pytest.mark.parametrize("name", ["t.npy.tokens.txt", "t.offsets.npy", "t.npy"])
def test_an_output_never_replaces_its_input(name: str, model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / name).write_text("the cat sat\n")
    assert run("embed", tmp_path / name, "-o", tmp_path / "t.npy", "--model", model) == 2
    assert f"{name} would be replaced by the output; give the output another name" in capsys.readouterr().err
    assert (tmp_path / name).read_text() == "the cat sat\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ("perplexity", "small-en", "IN", "--json", "IN"),
        ("vocabulary", "IN", "-o", "IN"),
        ("surprisal", "small-en", "IN", "-o", "IN"),
        ("change", "OTHER", "IN", "-o", "IN"),
        ("change", "FOLDER", "OTHER", "--json", "IN"),
        ("change", "OTHER", "OTHER", "--words", "IN", "-o", "IN"),
        ("embed", "OTHER", "-o", "IN", "--model", "OTHER", "--weights", "IN"),
        ("embed", "OTHER", "-o", "IN", "--fasta", "--model", "IN"),
        ("perplexity", "OTHER", "OTHER", "--weights", "IN", "--json", "IN"),
        ("surprisal", "IN", "OTHER", "-o", "IN"),
        ("change", "OTHER", "OTHER", "--words", "OTHER", "--model", "OTHER", "--weights", "IN", "-o", "IN"),
    ],
)
def test_no_verb_writes_over_what_it_reads(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...]
):
    paths = {"IN": tmp_path / "in.txt", "OTHER": tmp_path / "other.txt", "FOLDER": tmp_path}
    for name in ("IN", "OTHER"):
        paths[name].write_text("the cat sat\n")
    assert run(*(paths.get(argument, argument) for argument in arguments)) == 2
    assert "in.txt would be replaced by the output" in capsys.readouterr().err
    assert paths["IN"].read_text() == "the cat sat\n"


def test_errors_are_one_line_and_exit_with_2(
    model: Path, text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    bad = tmp_path / "bad.txt"
    bad.write_bytes(b"good\n\xff\n")
    for arguments, message in (
        (["embed", bad, "-o", tmp_path / "out.h5", "--model", model], "bad.txt, line 2"),
        (["embed", text, "-o", tmp_path / "out.h5", "--model", model, "--layers", "3"], "layers is 3"),
        (["embed", text, "-o", tmp_path / "out.h5", "--model", model, "--layers", "-1"], "layers is '-1'"),
        (["embed", text, "-o", tmp_path / "out.h5", "--model", model, "--device", "x"], "device 'x' cannot be used"),
        (["embed", text, "-o", tmp_path / "out.h5", "--model", model, "--device", "cuda:99"], "device 'cuda:99'"),
        (["embed", text, "-o", tmp_path / "out.txt", "--model", model], "unknown ending .txt"),
        (["embed", text, "-o", tmp_path / "out.h5", "--model", "nothing"], "no model 'nothing'"),
        (["inspect", tmp_path / "nothing"], "no model"),
        (["convert", model, model], "is not an empty folder"),
        (["perplexity", model, text], "softmax"),
        (["pretrain", text], "a new run also needs --vocabulary FILE, --run DIR"),
        (["pretrain", text, "--resume", tmp_path, "--recipe", "tiny"], "leave out --recipe NAME"),
        (["pretrain", text, "--resume", tmp_path], "is not a run folder"),
        (["pretrain", text, "--run", tmp_path / "run", "--vocabulary", text, "--recipe", "huge"], "unknown recipe"),
        (["pretrain", text, "--run", tmp_path / "run", "--vocabulary", text, "--set", "x=1"], "unknown field"),
    ):
        assert run(*arguments) == 2
        output, error = capsys.readouterr()
        assert output == ""
        assert error.startswith("elmokit: error: ") and error.count("\n") == 1 and message in error
    assert sorted(os.listdir(tmp_path)) == ["bad.txt", "model", "text.txt"]


def test_names_of_files_warnings_and_descriptions_do_not_reach_the_terminal_unescaped(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    name = "\x1b[2J\u202eno\nfile"
    assert run("inspect", tmp_path / name) == 2
    error = capsys.readouterr().err
    assert r"\x1b[2J\u202eno" in error and "\x1b" not in error and error.count("\n") == 1
    with pytest.raises(SystemExit):
        main(["inspect", "model", name])
    error = capsys.readouterr().err
    assert r"unrecognized arguments: \x1b[2J\u202eno\nfile" in error and "\x1b" not in error
    model = model.rename(tmp_path / "mo\x1bdel")
    (model / "vocabulary.txt").write_text("no specials\n")
    assert run("inspect", model) == 1
    output = capsys.readouterr().out
    assert r"mo\x1bdel" in output and "\x1b" not in output

    def inspect(*_: object) -> str:
        warnings.warn("of\nmo\x1bdel", stacklevel=1)
        raise ValueError("x" * 1_000_000)

    monkeypatch.setattr("elmokit.formats.recognise.inspect", inspect)
    assert run("inspect", model) == 2
    warning, error = capsys.readouterr().err.splitlines()
    assert warning == r"elmokit: warning: of mo\x1bdel"
    assert len(error) < 2100


def test_what_a_device_or_memory_lacks_is_one_line_and_any_other_mistake_a_traceback(
    model: Path, text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    arguments = ("embed", text, "-o", tmp_path / "out.h5", "--model", model)

    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("elmokit.vectors.jobs.embed_file.embed_file", fail)
    error = RuntimeError("CUDA error: out of memory\nCompile with TORCH_USE_CUDA_DSA")
    assert run(*arguments) == 2
    assert capsys.readouterr().err == "elmokit: error: CUDA error: out of memory\n"
    error = MemoryError()
    assert run(*arguments) == 2
    assert capsys.readouterr().err == "elmokit: error: there is not enough memory for this\n"
    error = RuntimeError("a mistake of ours")
    with pytest.raises(RuntimeError, match="a mistake of ours"):
        run(*arguments)


def test_debug_shows_the_traceback(tmp_path: Path):
    for arguments in (["--debug", "inspect", str(tmp_path / "no")], ["inspect", str(tmp_path / "no"), "--debug"]):
        with pytest.raises(FileNotFoundError):
            main(arguments)


def test_an_interrupted_job_says_how_to_go_on(
    model: Path, text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("elmokit.vectors.jobs.partial.PartialVectors.append", interrupt)
    assert run("embed", text, "-o", tmp_path / "out.h5", "--model", model) == 130
    assert "the same command with --resume" in capsys.readouterr().err


def test_a_reader_that_goes_away_is_no_error(model: Path):
    command = f"{sys.executable} -m elmokit inspect {model}; echo $? >&2"
    environment = os.environ | {"PYTHONUNBUFFERED": "1"}
    shell = subprocess.run(["bash", "-c", f"({command}) | true"], capture_output=True, text=True, env=environment)
    assert shell.stderr in ("141\n", "0\n")  # whether true has gone when we write is a matter of luck


def test_convert_writes_a_pair_and_the_pair_embeds_the_same_and_inspect_describes_a_model(
    model: Path, text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    assert run("convert", model, tmp_path / "pair", "--to", "bilm_tf") == 0
    options = next((tmp_path / "pair").glob("*.json"))
    weights = next((tmp_path / "pair").glob("*.hdf5"))
    assert "lstm" in json.loads(options.read_text())
    assert run("embed", text, "-o", tmp_path / "one.npz", "--model", model) == 0
    assert run("embed", text, "-o", tmp_path / "two.npz", "--model", options, "--weights", weights) == 0
    assert (tmp_path / "one.npz").read_bytes() == (tmp_path / "two.npz").read_bytes()
    assert run("inspect", model) == 0
    assert "native" in capsys.readouterr().out
    (model / "model.safetensors").write_bytes(b"")
    assert run("inspect", model) == 1


def test_change_compares_two_corpora_and_says_where_no_word_is_frequent_enough(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    for name in ("a", "b"):
        (tmp_path / f"{name}.txt").write_text("the bank of the river\nthe bank\n")
    arguments = ("change", tmp_path / "a.txt", tmp_path / "b.txt", "--model", model, "--resamples", "9")
    assert run(*arguments, "--min-uses", "2", "-o", tmp_path / "c.tsv") == 0
    assert "bank" in capsys.readouterr().out and (tmp_path / "c.tsv").read_text().count("\n") == 3
    assert run(*arguments) == 2
    assert "no word occurs at least 5 times in both corpora" in capsys.readouterr().err
    (tmp_path / "stop.txt").write_text("The of\nriver\n")
    assert run(*arguments, "--min-uses", "2", "--stop-words", tmp_path / "stop.txt", "-o", tmp_path / "c.tsv") == 0
    assert [row.split("\t")[1] for row in (tmp_path / "c.tsv").read_text().splitlines()] == ["word", "bank"]
    assert run(*arguments, "--words", tmp_path / "stop.txt", "--stop-words", "en") == 2
    assert "--stop-words cannot be combined with --words" in capsys.readouterr().err
    (tmp_path / "b.txt").rename(tmp_path / "caf\udce9.txt")
    assert run("change", tmp_path / "a.txt", tmp_path / "caf\udce9.txt", "--json", tmp_path / "c.json") == 2
    assert "its name is not UTF-8; rename" in capsys.readouterr().err
    (tmp_path / "caf\udce9.txt").rename(tmp_path / "b.txt")
    assert run(*arguments, "--max-uses", "1") == 2
    assert "max_uses is 1; expected a whole number, at least 2" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("embed TEXT -o OUT.npy --fasta --batch-size 2", "--batch-size cannot be combined with --fasta"),
        ("embed TEXT -o OUT.npy --fasta --split-sentences", "--split-sentences cannot be combined with --fasta"),
        ("embed TEXT -o OUT.npy --with static:TEXT --split-sentences", "--split-sentences cannot be combined with"),
        ("embed TEXT -o OUT.vec --types --resume", "--resume cannot be combined with --types"),
        ("embed TEXT -o OUT.npy --min-count 2", "--min-count needs --types"),
        ("embed TEXT -o OUT.npy --with static:TEXT --batch-size 2", "--batch-size cannot be combined with --with"),
        ("embed TEXT -o OUT.npy --with static:TEXT --layers 0", "--layers cannot be combined with --with"),
        ("embed TEXT -o OUT.npy --with static", "--with static: expected SYSTEM:MODEL"),
        ("embed TEXT -o OUT.npy --with statik:x", "no system 'statik'; did you mean static?"),
        ("perplexity small-en TEXT --top-min-count 2", "--top-min-count needs --top N"),
        ("prepare TEXT -o OUT --exclude-words 5", "--exclude-words needs --exclude FILE"),
        ("surprisal MODEL TEXT -o OUT.tsv --nats", "--nats needs --conditional"),
        ("surprisal MODEL TEXT -o OUT.tsv --conditional --rank", "are for rows of tokens, not for --conditional"),
        ("surprisal MODEL TEXT -o OUT.tsv --conditional --carry-state", "--conditional reads each pair of two columns"),
        ("cache clear --cache OUT --unused-days -1", "--unused-days is -1.0; expected a number of days, at least 0"),
        ("cache clear --cache OUT --unused-days nan", "--unused-days is nan; expected a number of days"),
        ("surprisal MODEL TEXT -o OUT/x.tsv", "out does not exist; create it first"),
        ("embed TEXT -o OUT.npy --weights TEXT", "small-en is the name of a model, which has weights of its own"),
        ("inspect hf://user/model --weights TEXT", "hf://user/model is the name of a model, which has weights of its"),
    ],
)
def test_what_would_be_ignored_is_refused(
    arguments: str, message: str, model: Path, text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    places = {"TEXT": str(text), "OUT": str(tmp_path / "out"), "MODEL": str(model)}
    for name, place in places.items():
        arguments = arguments.replace(name, place)
    assert run(*arguments.split()) == 2
    assert message in capsys.readouterr().err
    assert not list(tmp_path.glob("out*"))


@pytest.mark.parametrize(
    ("read", "content", "message"),
    [
        (lambda: list(read_pairs("-")), b"a b\n", "^standard input, line 1: expected two sentences"),
        (lambda: list(read_pairs("-")), b"", "^standard input: has no pair"),
        (lambda: list(read_fasta("-")), b">a\n", "^standard input, line 1: the header is followed by no sequence"),
        (lambda: next(SentenceStream([Path("-")])), b"\n", "the shards contain no sentence: standard input$"),
        (lambda: embed_with("static", TINY_VECTORS, "-", "out.npy"), b"", "^standard input has no lines"),
    ],
)
def test_errors_call_standard_input_by_its_name(
    read: Callable[[], object], content: bytes, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    Path(TINY_VECTORS).write_text("the 0.1 0.2\n")
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BufferedReader(io.BytesIO(content))))
    with pytest.raises(ValueError, match=message):
        read()


@pytest.mark.parametrize(
    "arguments",
    [
        "embed TEXT -o OUT.npz --model MODEL",
        "surprisal MODEL TEXT -o OUT.tsv",
        "perplexity MODEL TEXT --json OUT.json",
        "prepare TEXT -o OUT --min-tokens 1",
        "change TEXT TEXT --min-uses 2 --resamples 9 --model MODEL -o OUT.tsv",
        "neighbours a --word a --corpus TEXT --model MODEL",
    ],
)
def test_verbs_that_read_text_read_a_column_of_it(arguments: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    text = tmp_path / "text.csv"
    text.write_text('id,text\n1,"a,b"\n2,"a b a"\n3,b a\n')
    places = {"TEXT": str(text), "OUT": str(tmp_path / "out"), "MODEL": str(write_toy(tmp_path / "model"))}
    for name, place in places.items():
        arguments = arguments.replace(name, place)
    assert run(*arguments.split()) == 2
    assert "text.csv is a table of columns separated by commas" in (said := capsys.readouterr().err)
    assert "one sentence per line: --column NAME reads a column" in said
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert run(*arguments.split(), "--column", "text") == 0
