"""The commands and the code in the README and the guides in docs/ work, and print what the pages say."""

import json
import re
import shutil
import tomllib
import webbrowser
from dataclasses import fields
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from elmokit.cli.main import main, parse
from elmokit.formats.find import bundled_models
from elmokit.formats.published import find_published
from elmokit.pretraining.recipes import RECIPES, mini
from page_code import ROOT, blocks, commands, read_page, run_page

FIXTURES = ROOT / "tests" / "fixtures"
PAGES = ["README.md", *(f"docs/{path.relative_to(ROOT / 'docs')}" for path in sorted((ROOT / "docs").rglob("*.md")))]

STUBS = {
    "hf download": "needs the network",
    "git push": "needs the network",
    "cd site": "goes with the push",
    "torchrun": "needs four GPUs",
    "python -m paper measure": "needs SemCor and the sets of Raganato et al. (2017)",
    "python -m paper train table1": "trains for hours",
    "python -m paper train table2 --task": "trains for hours",
    "python -m paper add": "needs runs of hours; tests/paper adds small ones",
    "make": "installs; the workflow for pull requests runs it",
    "elmokit explore --corpus senses.tsv --umap": "needs a package that these tests do without",
    "elmokit embed train.txt -o bert.npy": "needs what `hf download` fetches",
    "jq": "may not be installed",
}
"""Commands that no test runs, by how they begin, and why. All others run."""
SMALLER = {
    "--recipe mini": "--recipe tiny",
    "num_steps=20000": "num_steps=20",
    "num_steps=40000": "num_steps=4",
    "num_steps=60000": "num_steps=6",
    "num_steps=8000 lstm_dim=512 dropout_rate=0.1 evaluate_every=500": "num_steps=4 evaluate_every=2",
    "num_steps=1000": "num_steps=2",
    "num_steps=200 warmup_steps=20": "num_steps=2 warmup_steps=0",
    "evaluate_every=1000": "evaluate_every=20",
    "-o runs/cove --set": "-o runs/cove --set epochs=1 hidden_dim=8 target_dim=8",
    "-o runs/context2vec": "-o runs/context2vec --set epochs=1 dim=8 lstm_dim=8",
    "train tags": "train tags --set max_epochs=1",
    **{f"--data {name}": f"--data {name} --set max_epochs=1" for name in ("nsmc", "klue-ner-v1.1")},
    "--set train_word_vectors=true": "--set max_epochs=1 train_word_vectors=true",
    "runs/mine domain --held-out domain": "runs/mine corpus --held-out corpus",
    "export small-en": "export runs/residues",
    "runs/residues --recipe tiny": "runs/residues --recipe tiny --set num_steps=2",
}
"""Replacements that turn hours into seconds."""
MADE_ELSEWHERE = {"model.tar.gz": FIXTURES / "formats/allennlp/frozen.model.tar.gz"}
"""Files of other programs that pages read."""


def texts_of_readers(page: str) -> dict[str, str]:
    """Small texts and data sets, by name, in place of the reader's own files."""
    if page == "README":
        return {
            "sentences.txt": "The bank raised its rates .\n",
            "texts/1.txt": paragraphs("The bank raised its rates."),
        }
    if page == "your-own-language":
        names = ("classical", "late", "medieval", "neo", "heldout_classical", "heldout_medieval", "heldout_neo")
        treebank = "1\taqua\taqua\tNOUN\t_\t_\t0\troot\t_\t_\n2\tfluit\tfluo\tVERB\t_\t_\t1\tdep\t_\t_\n\n"
        splits = ("train", "dev", "test", "new", "ud_perseus/dev", "ud_perseus/test")
        return {
            **{f"{name}.txt": paragraphs(f"Comes {name} in silva virtus aqua .") for name in names},
            **{f"{split}.conllu": treebank for split in splits},
            "latin-words.txt": "comes\naqua\n",
        }
    if page == "surprisal":
        return {"blimp.tsv": "The cats sleep.\tThe cats sleeps.\n"}
    if page == "korean":
        characters = "".join(f"{character}\tO\n" for character in "에 갔다")
        entities = f"## klue-ner-v1_train_00000\t<서울:LC>에 갔다\n서\tB-LC\n울\tI-LC\n{characters}\n"
        pair = {"gold_label": "neutral", "premise": "비가 온다.", "hypothesis": "춥다."}
        answer = {"text": "서울", "answer_start": 0}
        asked = [{"id": str(number), "question": "어디에?", "answers": [answer]} for number in range(22)]
        articles = [{"title": "x", "paragraphs": [{"context": "서울에 갔다.", "qas": [each]}]} for each in asked]
        tree = "1\t눈이\t눈+이\tNOUN\t_\t_\t2\tnsubj\t_\t_\n2\t왔다\t오+았+다\tVERB\t_\t_\t0\troot\t_\t_\n\n"
        reviews = "id\tdocument\tlabel\n" + "".join(f"{n}\t영화가 {n} 좋다\t{n % 2}\n" for n in range(40))
        return {
            "문장.txt": "비가 온다 .\n",
            "글/1.txt": paragraphs("비가 온다."),
            **{f"UD_Korean-GSD/ko_gsd-ud-{split}.conllu": tree for split in ("train", "dev")},
            **{f"nsmc/ratings_{split}.txt": reviews for split in ("train", "test")},
            **{f"klue-ner-v1.1/klue-ner-v1.1_{split}.tsv": entities for split in ("train", "dev")},
            **{f"klue-nli-v1.1/klue-nli-v1.1_{split}.json": json.dumps([pair]) for split in ("train", "dev")},
            **{f"korquad/KorQuAD_v1.0_{split}.json": json.dumps({"data": articles}) for split in ("train", "dev")},
        }
    if page == "paper":
        data = ("srl_ewt_propbank/train.conll", "srl_ewt_propbank/dev.conll", "snli/train.tsv", "snli/dev.tsv")
        more = ("squad_v1.1/train.json", "squad_v1.1/dev.json", "glove/glove.6B.50d.100k.txt.gz")
        return {f".data/tasks/{name}": "" for name in data + more}
    return {}


def paragraphs(sentence: str) -> str:
    """A text that is long enough to hold some of it out."""
    return "".join(f"{number} {sentence}\n\n" for number in range(300))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("elmokit.pretraining.before_training._product_seconds", lambda dtype: 1.0)  # float32, at once
    for name, path in MADE_ELSEWHERE.items():
        shutil.copy(path, tmp_path / name)
    return tmp_path


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "page",
    [
        *("coming-from", "comparators", "explorer", "formats", "model", "pretraining", "questions"),
        *("semantic-change", "surprisal", "tasks", "vectors", "your-corpus", "your-own-language"),
        *("README", "korean", "paper", "results"),
    ],
)
def test_the_blocks_of_a_page_run_from_top_to_bottom(page: str, folder: Path, monkeypatch: pytest.MonkeyPatch):
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(ThreadingHTTPServer, "serve_forever", stop)
    monkeypatch.setattr(webbrowser, "open", lambda _: None)
    monkeypatch.setattr("elmokit.formats.find.published_folder", lambda _: bundled_models()["small-en"])
    for name, text in texts_of_readers(page).items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text, encoding="utf-8")
    path = f"{page}.md" if page == "README" else f"docs/{page}.md"
    names: Any = run_page(path, stubs=STUBS, smaller=SMALLER)
    if page == "pretraining":
        assert names["vectors"].shape == (9, 64)
    elif page == "your-corpus":
        assert (folder / "change.svg").is_file()
        assert (folder / "items.tsv").read_text().splitlines()[0].split("\t")[-2:] == ["item", "condition"]


def test_extras_that_pages_name_can_be_installed():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    named = {extra for page in PAGES for extra in re.findall(r"elmokit\[([\w-]+)\]", read_page(page))}
    assert named and named <= project["optional-dependencies"].keys()


@pytest.mark.parametrize("name", PAGES)
def test_every_command_of_ours_is_one_that_there_is(name: str):
    for program, *arguments in commands(read_page(name)):
        if program == "elmokit":
            given = arguments[: arguments.index("|")] if "|" in arguments else arguments
            assert parse([word for word in given if word != "&"]).function


def test_coming_from_names_options_that_there_are(capsys: pytest.CaptureFixture[str]):
    rows = [row for row in read_page("docs/coming-from.md").splitlines() if row.startswith(("| `", "| a "))]
    named = [words.split() for row in rows for words in re.findall(r"`elmokit ([^`]+)`", row.split(" | ")[1])]
    assert len(named) >= 7
    for command, *arguments in named:
        with pytest.raises(SystemExit):
            main([command, "--help"])
        offered = capsys.readouterr().out
        assert all(option in offered for option in arguments if option.startswith("-")), (command, arguments)


@pytest.mark.slow
def test_elmo_in_a_model_is_saved_without_the_bilm_and_trains_in_processes(
    folder: Path, monkeypatch: pytest.MonkeyPatch
):
    for name, value in {"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "0"}.items():
        monkeypatch.setenv(name, value)
    names: Any = run_page("docs/embedding.md")
    assert (folder / "small.safetensors").stat().st_size < 10_000
    names["train_in_each_process"]()


@pytest.mark.filterwarnings("ignore")
def test_published_models_open_by_name(folder: Path, monkeypatch: pytest.MonkeyPatch):
    """A small AllenNLP model takes the place of each download."""
    pair = [FIXTURES / "allennlp" / name for name in ("options.json", "lm_weights.hdf5")]
    shutil.copy(pair[0], folder)
    shutil.copy(pair[1], folder / "weights.hdf5")
    stored = folder / "stored"
    assert main(["convert", *map(str, pair[:1]), str(stored)]) == 0
    monkeypatch.setattr("elmokit.formats.find.published_folder", lambda _: stored)
    run_page("docs/models.md")


README = read_page("README.md")


def test_the_models_that_the_readme_names_are_published():
    _, of_published = blocks(README)
    for name in re.findall(r'"(\S+?)"', of_published):
        assert find_published(name) is not None, name


def test_the_pages_that_the_readme_links_to_are_in_the_source_distribution():
    settings = tomllib.loads(read_page("pyproject.toml"))
    included = settings["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    for target in re.findall(r"\]\(([^)\s]+)\)", README):
        if not target.startswith("https://"):
            assert f"/{Path(target).parts[0]}" in (*included, "/LICENSE"), target  # hatchling adds the licence


def test_the_fields_of_pretraining_have_the_values_it_says():
    rows = re.findall(r"^\| (`[^|]*) \| ([^|]*) \|", read_page("docs/pretraining.md"), flags=re.MULTILINE)
    said = [
        (name, value.strip())
        for names, values in rows
        for name, value in zip(re.findall(r"`(\w+)`", names), values.split(","), strict=False)
    ]
    parts = (mini(), mini().bilm)
    settings = {entry.name: str(getattr(part, entry.name)) for part in parts for entry in fields(part)}
    fields_said = [(name, value) for name, value in said if name in settings]
    assert len(fields_said) == 15
    assert fields_said == [(name, settings[name]) for name, _ in fields_said]
    assert {name for name, _ in said} & RECIPES.keys() >= {"tiny", "mini", "small"}
