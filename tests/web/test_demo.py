import html
import io
import re
import shlex
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from jinja2 import UndefinedError

from elmokit.analysis.polysemes import LISTS, Occurrence, read_polysemes, words_of
from elmokit.analysis.sense_study import SenseStudy, study_senses
from elmokit.cli.main import main
from elmokit.elmo.elmo import Elmo
from elmokit.system.markdown import columns
from elmokit.text.vocabulary import Vocabulary
from elmokit.web.demo import demo, terminal
from elmokit.web.demo.picture import sense_picture
from elmokit.web.templates import template_environment
from toy_bilm import random_bilm

THE_LIST = read_polysemes()
SVG = "{http://www.w3.org/2000/svg}"
VOCABULARY = Vocabulary(["<S>", "</S>", "<UNK>", "the", ",", "bank", "banks", "shore", "play", "a", "tree"])
ELMO = Elmo(random_bilm(seed=7, std=0.4), VOCABULARY)


@pytest.fixture(scope="module")
def study() -> SenseStudy:
    return study_senses(ELMO, THE_LIST, model="random")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    ELMO.save(folder := tmp_path_factory.mktemp("model") / "random")
    return str(folder)


def tags(page: str) -> list[ElementTree.Element]:
    """Of a page, which is XML except for its first line and its <meta> tags, which stay open."""
    text = re.sub(r"(<meta [^>]*)>", r"\1/>", page.removeprefix("<!doctype html>\n"))
    return list(ElementTree.fromstring(text).iter())


def test_writes_a_page_and_ends_with_python_to_copy(model: str, tmp_path: Path, capsys: Any, monkeypatch: Any):
    monkeypatch.setattr(demo, "read_polysemes", lambda path: read_polysemes(path)[:32])  # all would show no more
    (tmp_path / "demo.html").write_text("<!doctype html><title>Mine</title>")
    for expected in (2, 0, 0):  # a page of another's, none, and its own
        assert main(["demo", "--model", model, "--html", str(tmp_path / "demo.html")]) == expected
        shown, error = capsys.readouterr()
        if expected:
            assert "demo.html exists and is not a page of the demo; choose another" in error
            (tmp_path / "demo.html").unlink()
    page = (tmp_path / "demo.html").read_text(encoding="utf-8")
    assert [path.name for path in tmp_path.iterdir()] == ["demo.html"]
    assert f"The same with pictures: {tmp_path / 'demo.html'}" in shown
    code = shown.partition("In Python:\n\n")[2]
    names: dict[str, list] = {}
    exec(code, names)
    assert [vectors.shape for vectors in names["vectors"]] == [(7, 12), (6, 12)]
    assert "(tokens, 12)" in code
    assert f"from_pretrained({model!r})" in code
    command = f"elmokit explore --model {shlex.quote(model)}"
    assert command in shown
    assert page.startswith("<!doctype html>") and f"<code>{html.escape(command)}</code></pre>" in page


def test_the_text_has_rates_counts_and_every_word_and_the_terminal_the_first_word(study: SenseStudy):
    lines = list(terminal.describe(study))
    text = "\n".join(lines)
    for one in study.measured:
        assert f"{one.name:22}{one.nearest_rate()}" in text
    assert "24 words, 384 sentences" in text
    for word in words_of(THE_LIST):
        assert re.search(rf" {word} [\d.]+[,\n]|{word} [\d.]+$", text)
    for contrast in ("noun/noun", "noun/verb", "noun/adjective"):
        assert contrast in text
    assert max(map(len, lines)) <= terminal.WIDTH
    assert text.isascii() and "\x1b" not in text
    nearest = [near for close_up in study.close_ups for _, contexts in close_up.nearest for near in contexts]
    listed = re.findall(r"^    -?\d\.\d\d  (.{51}) ?(.*)$", "\n".join(line.ljust(80) for line in lines), re.MULTILINE)
    for near, (_, sense) in zip(nearest, listed, strict=True):  # what is listed is the sense of one token
        occurrence = THE_LIST[near.sentence]
        assert sense.strip() == (occurrence.sense if near.index == occurrence.index else "")
    assert {near.index == THE_LIST[near.sentence].index for near in nearest} == {True, False}
    lines = list(terminal.summarise(study, colours=False))
    assert lines[0].startswith("Measured over the whole list") and len(lines) < 70
    words = [line.partition(":")[0] for line in lines if re.fullmatch(r"\S+: .+\?", line)]
    assert words == [study.close_ups[0].word] and max(map(len, lines)) <= terminal.WIDTH


def test_a_model_with_a_korean_vocabulary_shows_the_korean_list_in_columns_of_its_width(tmp_path: Path):
    words = ["그", "눈이", "배를", "하지만", "the"]  # nothing else says so, the name of the model least of all
    elmo, output = Elmo(ELMO.bilm, Vocabulary(["<S>", "</S>", "<UNK>", ".", *words])), io.StringIO()
    elmo.save(tmp_path / "en")
    demo.run(tmp_path / "demo.html", model=str(tmp_path / "en"), output=output)
    shown, _, code = output.getvalue().partition("In Python:\n\n")
    text = (tmp_path / "demo.html").read_text(encoding="utf-8")
    titles = re.findall(r"^(?:.*>)?(\S+): (.+)\?$", text, flags=re.MULTILINE)
    assert [word for word, _ in titles] == ["눈이", "배를", "말을", "사과를", "잘한다"]
    assert titles[1][1] == "ship or pear or belly" and titles[4][1] == "praise or sarcasm"
    assert "11 words, 184 sentences" in shown
    assert "(of 16, chance is 7.5; of 24, chance is 7.3)" in shown
    names: dict[str, list] = {}
    exec(code, names)
    assert [vectors.shape for vectors in names["vectors"]] == [(4, 12), (5, 12)]
    assert any(tag.tag == "pre" and tag.get("lang") == "ko" for tag in tags(text))
    assert "눈이: eye or snow?" in text
    found = study_senses(elmo, read_polysemes(LISTS["ko"]), model="ko", language="ko")
    lines = list(terminal.describe(found))
    assert max(map(columns, lines)) <= terminal.WIDTH
    for close_up in found.close_ups:
        start = lines.index(f"{close_up.word}: {' or '.join(close_up.senses)}?") + 4
        table = lines[start : start + len(close_up.shown) + 1]
        assert len(close_up.shown) == 6 and table[-1].startswith("  static vector")
        assert {columns(line) for line in table[:-1]} == {2 + 48 + 6 * 5 - 1}


def test_colours_only_on_a_terminal_that_wants_them(study: SenseStudy, monkeypatch: pytest.MonkeyPatch):
    for term, no_color, shows in (("xterm-256color", "", True), ("dumb", "", False), ("xterm-256color", "1", False)):
        monkeypatch.setenv("TERM", term)
        monkeypatch.setenv("NO_COLOR", no_color)
        assert bool(terminal.shows_colours(SimpleNamespace(isatty=lambda: True))) == shows  # pyright: ignore
        assert not terminal.shows_colours(io.StringIO())
    coloured = list(terminal.summarise(study, colours=True))
    plain = [re.sub(r"\x1b\[[\d;]*m", "", line) for line in coloured]
    assert plain == list(terminal.summarise(study, colours=False))
    assert plain != coloured


def test_shades_are_spread_over_the_cosines_and_snippets_have_as_many_korean_words_as_fit():
    cosines = torch.tensor([[1, 0.5, 0.7], [0.5, 1, 0.9], [0.7, 0.9, 1]]).double().numpy()
    assert terminal.shades(cosines, number=4) == [[3, 0, 2], [0, 3, 3], [2, 3, 3]]
    assert terminal.shades(cosines * 0 + 1, number=4) == [[0, 0, 0]] * 3
    assert terminal.snippet(["하얀", "눈이", "온다", "."], 1, 11) == "하얀 [눈이]"
    assert terminal.snippet(["하얀", "눈이", "온다", "."], 1, 16) == "하얀 [눈이] 온다"
    for width, expected in ((3, "[c]"), (7, "b [c] d"), (9, "a b [c] d"), (99, "a b [c] d e f g")):
        assert terminal.snippet(list("abcdefg"), 2, width) == expected


def test_the_page_has_the_picture_and_what_the_terminal_shows_and_needs_nothing_from_elsewhere(study: SenseStudy):
    text = demo.page(study, code="from elmokit import Elmo", explore="elmokit explore")
    found = tags(text)
    (picture,) = [tag for tag in found if tag.tag == f"{SVG}svg"]
    assert picture.get("role") == "img" and picture.get("aria-label")
    assert "on 384 sentences with 24 ambiguous words." in text
    assert sense_picture(study) in text and "prefers-color-scheme: dark" in text
    assert "".join(f"{line}\n" for line in terminal.describe(study)) in html.unescape(text)
    assert (found[0].tag, found[0].attrib) == ("html", {"lang": "en"})
    assert any(tag.get("name") == "viewport" for tag in found if tag.tag == "meta")
    names = {tag.tag for tag in found}
    assert not names & {"script", "link", "img", "iframe", "object", "embed", "base", "form"}
    attributes = {name for tag in found for name in tag.attrib}
    assert not {name for name in attributes if name.startswith("on")} and not attributes & {"src", "href", "style"}
    assert "url(" not in text and "@import" not in text
    assert set(re.findall(r"https?://[^\"]*", text)) == {"http://www.w3.org/2000/svg"}


def test_text_is_escaped_in_the_page_and_in_the_picture():
    bad = "<blink>&\"x'"
    occurrences = [
        Occurrence("a<i>", bad, sense, 1, (word, "a<i>", bad)) for sense in ("<u>", "</svg>") for word in ("x", "y")
    ]
    found = study_senses(ELMO, occurrences, model="</style>")
    page = demo.page(found, code="<script>", explore="elmokit explore")
    assert tags(page)  # which is well-formed
    for text in (page, sense_picture(found)):
        for raw in ("<blink>", "<i>", "<u>", "<script>"):
            assert raw not in text
        assert text.count("</style>") == text.count("<style>")
        assert "a&lt;i&gt;" in text
    with pytest.raises(UndefinedError, match="'word' is undefined"):
        template_environment("elmokit.web.demo").from_string("{{ word }}").render()


def test_the_picture_needs_no_other_file(model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(model)
    demo.write_picture(tmp_path / "demo.svg", model=".")
    text = (tmp_path / "demo.svg").read_text()
    root = ElementTree.fromstring(text)
    assert root.tag == f"{SVG}svg" and root.get("role") == "img"
    assert "bank, match, park, play, spring" in (root.get("aria-label") or "")
    assert re.findall(r"https?://[^\"]*", text) == ["http://www.w3.org/2000/svg"]
    marks = [element for element in root.iter() if element.get("class", "").startswith("mark")]
    assert len(marks) == 5 * (16 + 2)  # the occurrences, and the legend
    assert ">random: each mark is one sentence" in text  # the model is called as the folder is


def test_without_the_model_or_a_folder_the_error_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(demo, "bundled_models", dict)
    with pytest.raises(FileNotFoundError, match="the demo needs the bundled model 'small-en', .* reinstall elmokit"):
        demo.run(tmp_path / "demo.html", output=io.StringIO())
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(FileNotFoundError, match="the folder .* does not exist"):
        demo.run(tmp_path / "nowhere" / "demo.html", model="no model", output=io.StringIO())


def test_the_bundled_model_is_better_than_its_baselines():
    rates = {one.name: one.nearest_rate() for one in study_senses(Elmo(), THE_LIST, model="small-en").measured}
    assert rates["static vector"].share == pytest.approx(7 / 15)
    best_baseline = max(rates["chance"].share, rates["bag of context words"].interval[1])
    assert rates["average"].interval[0] > best_baseline
    assert rates["lstm2"].interval[0] > best_baseline
