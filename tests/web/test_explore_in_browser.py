"""The explorer in Chromium: exactness, every view, hostile text. Skipped without Chromium or Playwright."""

import csv
import json
import re
import shutil
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest

from elmokit.analysis.polysemes import LISTS, Occurrence, read_polysemes, words_of
from elmokit.analysis.polysemy import nearest_hits, occurrence_vectors
from elmokit.analysis.semantic_change.distances import measure_distances
from elmokit.elmo.elmo import Elmo
from elmokit.text.corpora.tables import as_tsv
from elmokit.text.tokenizer import tokenize
from elmokit.text.vocabulary import Vocabulary
from elmokit.web.explore.planes import _spread
from elmokit.web.explore.server import address, serve
from elmokit.web.explore.site import LEARNT_MIXES, write_site
from toy_language_model import write_toy
from toy_umap import first_two_columns

playwright = pytest.importorskip("playwright.sync_api", reason="the extra `browser` is not installed")
NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
CHROMIUM = next(filter(None, map(shutil.which, NAMES)), None)
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium (Debian: apt install chromium-headless-shell)"),
    pytest.mark.xdist_group("browser"),
]
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking", "--disable-sync"]
HOSTILE = '<script>alert(1)</script> <img src=x onerror=alert(2)> \u202eabc\u202c 👨‍👩‍👧‍👦 مرحبا "quoted" & a\u0301'
ENGLISH = ["We sat on the bank of the river .", "Unbelievableness , he said ( twice ) .", "a", "x" * 70]
KOREAN = ["먼지가 들어가서 눈이 따갑다 .", "ㅋㅋㅋ 밥을 먹었다 !"]
LEAD = """(state) => new Promise((done) => {
  addEventListener("hashchange", () => setTimeout(done), { once: true }); // when the page has heard of it
  location.hash = state;
  setTimeout(done, 2000);
})"""


class Page:
    """A page of the explorer, and all that it did besides."""

    def __init__(self, page: Any, site: str) -> None:
        self.page, self.site = page, site
        self.complaints: list[str] = []
        self.requests: list[str] = []
        page.on("console", lambda message: self.complaints.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("dialog", lambda dialog: (self.complaints.append("a dialog"), dialog.dismiss()))
        page.on("request", lambda request: self.requests.append(request.url))

    def open(self, state: str = "#") -> None:
        """Open the page once; afterwards, a link to a state of it."""
        if self.page.url.startswith(self.site):
            self.page.evaluate(LEAD, state)
            if language := re.search(r"\bl=(en|ko)\b", state):
                self.page.wait_for_selector(f"html[lang={language[1]}]")  # its words are fetched first
        else:
            self.page.goto(f"{self.site}{state}")
            self.page.wait_for_selector("body[data-ready]", timeout=60_000)
        self.settle()

    def settle(self) -> None:
        self.page.wait_for_selector("#panel:not([aria-busy])", timeout=60_000)

    def show(self, tab: str) -> str:
        self.page.click(f"#tab-{tab}")
        self.settle()
        return self.page.inner_text("#panel")

    def type(self, text: str) -> None:
        self.run("() => { document.getElementById('edit').open = true; }")
        self.page.fill("#text", text)
        self.page.wait_for_function("(text) => new URLSearchParams(location.hash.slice(1)).get('t') === text", arg=text)
        self.settle()

    def load_softmax(self) -> None:
        if self.page.locator("#panel button:has-text('MB')").count():
            self.page.click("#panel button:has-text('MB')")
        self.page.wait_for_selector("#panel table", state="attached", timeout=60_000)
        self.settle()

    def rows(self, selector: str) -> list[list[str]]:
        """Texts of the cells of rows, also where they are folded away."""
        script = "(rows) => rows.map((row) => [...row.cells].map((cell) => cell.textContent))"
        return self.page.locator(selector).evaluate_all(script)

    def run(self, script: str, argument: object = None) -> Any:
        return self.page.evaluate(script, argument)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as started:
        yield started.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)


@contextmanager
def served(site: Path) -> Iterator[str]:
    """The address of a site that is being served."""
    with serve(site.parent) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield address(server)
        server.shutdown()


def first_words(path: Path = LISTS["en"]) -> list[Occurrence]:
    """The first five words of a list, and one whose sentences have `bank`, because models need minutes for them all."""
    uses = read_polysemes(path)
    return [use for use in uses if use.word in (*words_of(uses)[:5], "interest")]


@pytest.fixture(scope="module", autouse=True)
def short_lists() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for module in ("elmokit.web.explore.corpus", "elmokit.analysis.polysemes"):
            patch.setattr(f"{module}.read_polysemes", first_words)
        yield


@pytest.fixture(scope="module")
def toy_en(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model for what does not depend on the weights."""
    vocabulary = Vocabulary(["<S>", "</S>", "<UNK>", "the", "bank"])
    return write_toy(tmp_path_factory.mktemp("models") / "toy-en", vocabulary=vocabulary)


@pytest.fixture(scope="module")
def sites(short_lists: None, toy_en: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    folder = tmp_path_factory.mktemp("sites")
    toy_ko = write_toy(folder / "toy", vocabulary=Vocabulary(["<S>", "</S>", "<UNK>", "눈이", "배를"]))
    models = {"small-en": "small-en", "mini-ko": "mini-ko", "toy-en": toy_en, "toy-ko": toy_ko}
    with ExitStack() as stack:
        sites = {name: write_site(folder / name, model=model) for name, model in models.items()}
        yield {name: stack.enter_context(served(site)) for name, site in sites.items()}


@pytest.fixture(scope="module")
def elmo() -> Elmo:
    return Elmo("small-en")


@pytest.fixture
def new_page(browser: Any, sites: dict[str, str]) -> Iterator[Callable[..., Page]]:
    """Makes pages that are not opened yet, which complain of nothing until the test ends."""
    pages: list[Page] = []

    def make(site: str = "toy-en", **viewport: int) -> Page:
        page = browser.new_page(**({"viewport": viewport} if viewport else {}))
        pages.append(Page(page, sites.get(site, site)))
        return pages[-1]

    yield make
    assert [page.complaints for page in pages] == [[] for _ in pages]
    for page in pages:
        page.page.close()


@pytest.fixture(scope="module")
def opened(browser: Any, sites: dict[str, str]) -> Iterator[Page]:
    page = Page(browser.new_page(viewport={"width": 1280, "height": 900}), sites["small-en"])
    page.open()
    yield page
    page.page.close()


@pytest.fixture
def english(opened: Page) -> Iterator[Page]:
    """The page as it is at first; whatever a test does, it complains of nothing and asks nobody else for anything."""
    opened.open("#")
    yield opened
    assert opened.complaints == []
    assert all(url.startswith((opened.site, "data:", "blob:")) for url in opened.requests)


READ = """async ([sentences]) => {
  const { BiLM } = await import("/scripts/bilm.js");
  const { readSafetensors } = await import("/scripts/safetensors.js");
  const config = await (await fetch("/model/config.json")).json();
  const weights = await (await fetch("/model/model.safetensors")).arrayBuffer();
  const bilm = await BiLM.create(config.bilm, readSafetensors(weights));
  return sentences.map((tokens) => bilm.read(tokens).map((layer) => [...layer]));
}"""


@pytest.mark.parametrize(("name", "texts"), [("small-en", ENGLISH), ("mini-ko", KOREAN)])
def test_all_layers_are_those_of_python(new_page: Callable[..., Page], name: str, texts: list[str]):
    page = new_page(name)
    page.page.goto(page.site)
    sentences = [text.split() for text in texts]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the token that is too long
        expected = Elmo(name).encode(sentences, layers="all")
    found = page.run(READ, [sentences])
    for layers, exact, tokens in zip(found, expected, sentences, strict=True):
        np.testing.assert_allclose(np.array(layers).reshape(3, len(tokens), -1), exact, atol=1e-4)


def test_text_is_tokenised_as_in_python(english: Page):
    texts = ["I don't think it's $3.50 (5%), Mr. Fox.", "e.g. U.S. 3:30 -- a_b www.a.com", HOSTILE]
    texts += ["밥을 먹었다!!!!!", "漢字かな", "밥\ue5dc\uf0a0", "5\u200bខ្ញុំ\u200bភាសា", "m\uf158rk\ue5dc \uf0b7a"]
    texts += ["col\u00b7legi a\u00b7b", 'צה״ל ג׳ירפה ד"ר ב"הארץ"', "Ինչպե՞ս ես՞", "ㅋㅋㅋㅋㅋ!!", "ın't İN'T"]
    texts += ["ᄒᆞᄂᆞᆯ 天地 “ᄯᅡ” ꥠힰ", "‹oﬃce› ﬀﬁﬂﬄﬅﬆ"]
    script = """async (texts) => {
      const { tokenize } = await import("/scripts/tokenizer.js");
      return texts.map(tokenize);
    }"""
    assert english.run(script, texts) == [tokenize(text) for text in texts]


def test_nearest_contexts_of_a_word_have_its_sense_and_are_sorted_by_what_stands_left_or_right(english: Page):
    english.show("contexts")
    rows = english.rows("#panel tbody tr")
    assert [row[4] for row in rows] == ["river"] * 7 + ["money"] * 4 + ["river"]
    assert rows[0][1:4] == ["The soldiers reached the opposite", "bank", "of the Rhine before dawn ."]
    assert english.page.locator("#panel .legend li").all_inner_texts() == ["river 8", "money 4"]
    for order, column, outwards in (("left", 1, -1), ("right", 3, 1)):
        english.page.click(f"#panel th.{order} button")
        english.settle()
        contexts = [row[column].lower().split()[::outwards] for row in english.rows("#panel tbody tr")]
        words = [context[:1] for context in contexts]
        assert words == sorted(words) and english.page.get_attribute(f"#panel th.{order}", "aria-sort") == "ascending"
    english.open(english.run("() => location.hash"))
    assert english.page.locator("#panel th[aria-sort]").inner_text().startswith("right context")
    english.page.select_option("#among", "any")
    english.page.select_option("#number", "25")
    english.settle()
    assert len(english.rows("#panel tbody tr")) == 25


def test_names_next_to_the_similarities_choose_their_token_and_are_shortened_between_characters(english: Page):
    english.type(f"{'𝒜' * 15} river bank")
    english.show("similarity")
    names = english.page.locator("#panel svg text")
    assert names.all_text_contents().count(f"{'𝒜' * 13}…") == 2
    bank = english.page.locator("button.token:has-text('bank')")
    for side in (0, 1):  # of a row, and of a column
        english.page.click("button.token:has-text('river')")
        assert bank.get_attribute("aria-pressed") == "false"
        names.filter(has_text="bank").nth(side).click()
        english.settle()
        assert bank.get_attribute("aria-pressed") == "true"


def test_a_slider_follows_the_mouse_and_keeps_the_only_layer_and_is_shown_where_it_matters(english: Page):
    english.show("contexts")
    mouse, slider = english.page.mouse, english.page.locator("input[data-layer='0']")
    box = slider.bounding_box()
    left, width, y = box["x"] + 8, box["width"] - 16, box["y"] + box["height"] / 2  # 8: half of the thumb
    mouse.move(left, y)
    mouse.down()
    values: list[float] = []
    for tenth in range(1, 11):
        mouse.move(left + width * tenth / 10, y)
        english.settle()
        values.append(float(slider.input_value()))
    mouse.up()
    np.testing.assert_allclose(values, np.arange(1, 11) / 10, atol=0.02)
    assert english.page.locator("#weights output").all_text_contents() == ["0.50", "0.00", "0.50"]
    assert english.run("() => location.hash").endswith("&w=1%2C0%2C1")
    english.open("#")
    slider = english.page.locator("input[data-layer='2']")
    slider.fill("0")
    assert slider.input_value() == "1"  # the only layer
    for tab, is_shown in (("map", True), ("tour", False), ("characters", False)):
        english.show(tab)
        assert english.page.is_visible("#mixture") == is_shown


DRAG_WHILE_THE_WORKER_IS_BUSY = """async () => {
  const methods = [];
  const post = Worker.prototype.postMessage;
  Worker.prototype.postMessage = function (message) {
    methods.push(message.method);
    return post.call(this, message);
  };
  const slider = document.querySelector("input[data-layer='0']");
  for (let step = 1; step <= 60; step++) {
    slider.value = step / 100;
    slider.dispatchEvent(new Event("input"));
    for (let tick = 0; tick < 20; tick++) await null; // enough for what is asked of the worker, not for its answer
  }
  while (document.querySelector("#panel[aria-busy]")) await new Promise((resolve) => setTimeout(resolve, 10));
  Worker.prototype.postMessage = post;
  return methods;
}"""


def test_of_the_views_asked_for_while_one_is_computed_only_the_newest_is_computed(english: Page):
    english.show("contexts")
    methods = english.run(DRAG_WHILE_THE_WORKER_IS_BUSY)
    assert methods[-2:] == ["neighbours", "rate"] and len(methods) <= 3
    newest = english.page.inner_text("#panel")
    english.open(english.run("() => location.hash").replace("&w=0%2C", "&w=0.6%2C"))
    assert english.page.inner_text("#panel") == newest


def test_mixes_that_tasks_have_learnt_are_presets(new_page: Callable[..., Page], english: Page):
    fixed = ["…", "the top layer", "the first LSTM layer", "the token alone (layer 0)", "all layers alike"]
    assert english.page.locator("#preset option").all_text_contents() == fixed  # where no task has learnt a mix
    page = new_page("mini-ko")
    page.open("#l=en")
    before = page.show("contexts")
    choices = page.page.locator("#preset option").all_text_contents()
    (choice,) = (text for text in choices if text.startswith("learnt for named entities, input"))
    page.page.select_option("#preset", label=choice)
    page.settle()
    assert page.page.inner_text("#panel") != before
    link = page.run("() => location.hash")
    page.open("#l=en")
    page.open(link)
    assert page.page.locator("#preset option:checked").text_content() == choice
    text = (files("elmokit.web.explore") / LEARNT_MIXES).read_text(encoding="utf-8")
    learnt = {(mix["model"], mix["task"], mix["place"]): mix["weights"] for mix in json.loads(text)}
    top = learnt["mini-ko", "named-entities", "input"][2]
    assert page.page.locator("#weights output").first.text_content() == f"{top:.2f}"


def test_the_map_says_how_many_of_the_occurrences_it_shows(english: Page):
    english.type("bank " * 301)
    assert english.show("map").startswith("Occurrences of “bank” (300 of 318): ")
    assert english.page.locator("#panel .scroll path.mark").count() == 300
    legend = english.page.locator("ul.legend li").all_inner_texts()
    assert [name.strip() for name in legend] == ["river", "money", "sense unknown", "yours"]


def test_every_source_has_its_share_of_the_map(english: Page):
    script = "async (groups) => (await import('/scripts/corpus.js')).spread(groups, 300)"
    for sizes in ([2, 400, 700, 500], [0, 299, 3382, 3409], [1, 0, 30], [301], []):
        groups = [[10_000 * at + number for number in range(size)] for at, size in enumerate(sizes)]
        found = english.run(script, groups)
        assert found == _spread([np.array(group) for group in groups], 300)
        if sizes[:1] == [2]:
            assert [sum(number // 10_000 == at for number in found) for at in range(4)] == [2, 99, 100, 99]


PLACES = "(marks) => marks.map((mark) => mark.getAttribute('transform').match(/[-\\d.]+/g).map(Number))"


def test_a_map_has_one_scale_equal_vectors_in_its_middle_and_layers_next_to_each_other(english: Page):
    english.open("#v=map&w=1%2C0%2C0")
    said = "All occurrences of “bank” (19 of 19) have the same vector. Layer 0"
    assert english.page.inner_text("#panel").startswith(said)
    marks = english.page.locator("#panel .scroll path.mark")
    assert {tuple(place) for place in marks.evaluate_all(PLACES)} == {(424, 188)}
    english.open("#v=map")
    english.page.click("#panel summary")
    english.page.wait_for_selector("#panel table")
    rows = english.run("() => document.querySelector('#panel table').data.slice(1).map((row) => row.slice(0, 2))")
    data, drawn = np.array(rows), np.array(marks.evaluate_all(PLACES))
    scale = np.linalg.norm(drawn[0] - drawn[1:], axis=1) / np.linalg.norm(data[0] - data[1:], axis=1)
    np.testing.assert_allclose(scale, scale[0], rtol=0.01)
    english.open("#v=map&p=layers")
    titles = english.page.locator("#panel svg text.title").all_text_contents()
    assert titles == ["Layer 0: same sense 47 %", "Layer 1: same sense 75 %", "Layer 2: same sense 94 %"]
    assert english.page.locator("#panel .scroll path.mark").count() == 3 * 19
    assert english.page.locator("#panel .scroll path.mark[tabindex='0']").count() == 1


def test_a_mark_shows_its_sentence_and_a_sentence_is_added_to_the_text(english: Page):
    english.show("map")
    first = english.page.locator("#panel .scroll path.mark").first
    first.focus()
    english.page.keyboard.press("ArrowRight")
    assert english.page.locator("#panel .scroll path.mark[tabindex='0']").count() == 1
    sentence = english.page.inner_text("#panel .below .sentence")
    assert sentence in english.page.locator("#panel .scroll path.mark").nth(1).get_attribute("aria-label")
    english.page.keyboard.press("Enter")
    english.settle()
    assert english.page.input_value("#text").split("\n")[2:] == [sentence]
    assert english.page.locator("#tokens p").nth(2).locator("[aria-pressed=true]").inner_text() == "bank"
    english.show("contexts")
    english.page.locator("#panel tr", has_text="canoe").click()
    english.settle()
    assert english.page.input_value("#text").endswith("\nHe pulled the canoe up the bank and tied it to a tree .")


def test_the_rate_beside_the_sliders_is_the_one_that_python_measures(english: Page, elmo: Elmo):
    uses = first_words()
    vectors = occurrence_vectors(elmo.encode([use.tokens for use in uses], layers="all"), uses)
    weights = "(sliders) => sliders.map((slider) => [Number(slider.dataset.layer), Number(slider.value)])"

    def check() -> float:
        english.settle()
        mix = dict(english.page.locator("#weights input").evaluate_all(weights))
        rate = 100 * nearest_hits(sum(mix[layer] * vectors[layer] for layer in mix), uses).mean()
        assert english.page.inner_text("#rate strong") == f"{rate:.1f} %"
        return rate

    english.show("contexts")
    top = check()
    english.page.select_option("#preset", label="all layers alike")
    check()
    english.page.click("#best")
    assert check() > top
    assert english.page.locator("#weights .curve path").count() == 3


def test_nearest_words_and_cells_choose_their_words_and_characters_of_unseen_words_are_found(english: Page):
    english.show("characters")
    link = english.page.locator("#panel table >> nth=1 >> button.link").first
    word = link.inner_text()
    link.click()
    english.settle()
    assert english.page.locator("#tokens p").nth(2).locator("[aria-pressed=true]").inner_text() == word
    english.show("similarity")
    english.page.locator("#panel svg.heat rect").nth(3).click()
    english.settle()
    assert english.page.locator("#tokens [aria-pressed=true]").inner_text() == "We"
    english.type("cheeriness")
    text = english.show("characters")
    assert "^" in text and "ness$" in text.replace("\t", " ")
    assert english.page.locator("#panel table").first.locator("tbody tr").count() == 20
    english.type("a")
    groups = [row[0] for row in english.rows("#panel table >> nth=0 >> tbody tr")]
    assert "^a$" in groups and all(groups)  # filters that found padding alone are in none


def test_a_map_can_be_zoomed_moved_and_labelled(english: Page):
    english.show("map")
    marks = english.page.locator("#panel .scroll path.mark")
    before = np.array(marks.evaluate_all(PLACES))
    english.page.click("#panel .zoom button:has-text('+')")
    english.page.keyboard.press("Tab")
    zoomed = np.array(marks.evaluate_all(PLACES))
    np.testing.assert_allclose(zoomed - zoomed[0], 1.5 * (before - before[0]), atol=0.3)
    box = english.page.locator("#panel .scroll svg.map").bounding_box()
    english.page.mouse.move(box["x"] + 20, box["y"] + 20)
    english.page.mouse.down()
    english.page.mouse.move(box["x"] + 50, box["y"] + 30)
    english.page.mouse.up()
    np.testing.assert_allclose(np.array(marks.evaluate_all(PLACES)) - zoomed, [[30, 10]] * len(zoomed), atol=1)
    english.page.click("#panel .zoom button:has-text('Show all')")
    np.testing.assert_allclose(marks.evaluate_all(PLACES), before, atol=0.2)
    english.page.check("#labels")
    english.settle()
    assert "grassy · and" in english.page.locator("#panel .labels text").all_text_contents()


PAIR = ["The keys to the cabinet are here .", "The keys to the old cabinet is here ."]


def test_two_sentences_are_compared_word_by_word(english: Page, elmo: Elmo):
    script = "async ([one, other]) => (await import('/scripts/surprisal.js')).aligned([...one], [...other])"
    assert english.run(script, ["abd", "acbe"]) == [[0, 0], [None, 1], [1, 2], [2, 3]]
    english.open(f"#v=expectations&c=2&i=5&t={quote(chr(10).join(PAIR))}")
    english.load_softmax()
    first, second = elmo.surprisal([sentence.split() for sentence in PAIR])
    columns = english.rows("#panel details tbody tr")
    assert [row[:2] for row in columns][4:7] == [["", "old"], ["cabinet", "cabinet"], ["are", "is"]]
    difference = float(columns[6][3]) - float(columns[6][2])
    np.testing.assert_allclose(difference, second.bits()[6] - first.bits()[5], atol=0.02)
    total = second.bits("backward").sum() - first.bits("backward").sum()
    assert f"{total:+.1f} backward" in english.page.inner_text("#panel")


def test_the_exercise_leads_through_five_views(english: Page):
    english.show("tour")
    english.page.click("#panel button:has-text('Start')")
    seen: list[tuple[str, str]] = []
    for step in range(1, 6):
        english.page.wait_for_selector(f"#exercise:has-text('Step {step} of 5')")
        english.settle()
        english.page.click("#exercise summary")
        assert len(english.page.inner_text("#exercise details p")) > 100
        top = english.page.locator("input[data-layer='2']").input_value()
        seen.append((english.page.get_attribute("[aria-selected=true]", "id") or "", top))
        english.page.click("#next")
    names = ["contexts", "contexts", "contexts", "map", "expectations"]
    english.settle()
    assert seen == [(f"tab-{name}", top) for name, top in zip(names, "10111", strict=True)]
    assert english.page.is_hidden("#exercise")


VIEWS = ["similarity", "contexts", "map", "expectations", "characters", "tour"]


@pytest.mark.parametrize("view", [*VIEWS, "map&p=layers"])
def test_the_lines_of_python_compute_what_is_shown(english: Page, view: str, capsys: pytest.CaptureFixture[str]):
    english.open(f"#v={view}&w=0,0.5,0.5")
    if view == "expectations":
        english.load_softmax()
    english.page.click("#python summary")
    english.page.wait_for_selector("#python code:not(:empty)")
    names: dict[str, Any] = {}
    exec(english.page.inner_text("#python code"), names)
    english.page.click("#python summary")
    if view.startswith("map"):
        english.page.click("#panel summary")
        english.page.wait_for_selector("#panel table")
    data = english.run("() => document.querySelector('#panel table').data.slice(1)")
    if view == "contexts":
        assert [near.tokens for near in names["found"]] == [row[-1].split(" ") for row in data]
        np.testing.assert_allclose([near.similarity for near in names["found"]], [row[0] for row in data], atol=1e-4)
    elif view.startswith("map"):
        shown = np.array([row[:2] for row in data], float)[-len(names["plane"]) :]
        plane = np.roll(names["plane"], -2, axis=0)  # the page draws those of the text last
        distances = [np.linalg.norm(points[:, None] - points, axis=-1) for points in (shown, plane)]
        np.testing.assert_allclose(*distances, atol=1e-3)
    elif view == "similarity":
        cells = english.rows("#panel details tbody tr")
        np.testing.assert_allclose(np.array([row[1:] for row in cells], float), names["found"], atol=0.006)
    elif view == "characters":
        words = english.rows("#panel table >> nth=1 >> tbody tr")
        assert [word for word, _ in names["found"]] == [row[1] for row in words]
    elif view == "expectations":
        assert "'side'" in capsys.readouterr().out
    else:
        found = {one.name: one.nearest_rate().share for one in names["found"]}
        rates = english.run("async () => (await (await fetch('corpus.json')).json()).rates")
        assert rates == pytest.approx([found[name] for name in ("static vector", "lstm1", "lstm2")])


def test_the_lines_of_python_read_files_as_the_page_has(new_page: Callable[..., Page], toy_en: Path, tmp_path: Path):
    lines = [json.dumps({"text": f"the cafe\u0301 number {number} .", "id": number}) for number in range(4)]
    (tmp_path / "old.jsonl").write_text("\n".join(lines), encoding="utf-8")
    site = write_site(tmp_path / "site", model=toy_en, corpora=[tmp_path / "old.jsonl"], column="text")
    with served(site) as place:
        page = new_page(place)
        page.open("#t=a+caf\u00e9&i=1&v=contexts&f=2")
        page.page.click("#python summary")
        page.page.wait_for_selector("#python code:not(:empty)")
        names: dict[str, Any] = {}
        exec(page.page.inner_text("#python code"), names)
        page.page.wait_for_selector("#panel table")
        data = page.run("() => document.querySelector('#panel table').data.slice(1)")
    assert sorted(near.tokens for near in names["found"]) == sorted(row[-1].split(" ") for row in data)
    assert len(data) == 4


def test_back_undoes_a_step_and_brings_back_what_was_typed(english: Page):
    english.type("my own text\nof two lines")
    english.show("tour")
    english.page.click("#panel button:has-text('match')")
    english.settle()
    assert english.page.input_value("#text") != "my own text\nof two lines"
    for tab in ("tour", "contexts"):
        english.page.go_back()
        english.page.wait_for_selector(f"#tab-{tab}[aria-selected=true]")
        english.settle()
        assert english.page.input_value("#text") == "my own text\nof two lines"
        assert english.page.locator("button.token").count() == 6


def test_what_the_model_expects_is_what_python_computes_and_is_put_into_the_sentence(english: Page, elmo: Elmo):
    english.show("expectations")
    english.load_softmax()
    (expected,) = elmo.surprisal([["We", "sat", "on", "the", "grassy", "bank", "of", "the", "river", "."]])
    rows = english.rows("#panel details tbody tr")
    assert [row[0] for row in rows] == expected.tokens
    forward, backward = ([float(row[column]) for row in rows] for column in (1, 2))
    np.testing.assert_allclose(forward, expected.forward.bits[: len(rows)], atol=0.01)
    np.testing.assert_allclose(backward, expected.backward.bits[1:], atol=0.01)
    english.page.locator("#panel td :text-is('shore')").first.click()
    english.settle()
    assert english.page.input_value("#text").endswith("\nWe sat on the grassy shore of the river .")
    assert "Surprisal of the second sentence minus" in english.page.inner_text("#panel")


def test_how_frequent_a_word_is_counts_once_in_both_directions_together_and_a_text_tells_it(english: Page):
    """If either direction knows how frequent words are and nothing else, so do both together."""
    script = """async ([logs, isRanked]) =>
      (await import('/scripts/softmax.js')).together(logs, logs, (id) => id > 2, isRanked)"""
    frequent = -np.log(np.arange(1000) + 2.7)
    for is_ranked, times in ((True, 1), (False, 2)):  # a vocabulary that is not sorted says nothing of frequencies
        found = english.run(script, [list(frequent), is_ranked])
        expected = np.where(np.arange(1000) > 2, times * frequent, -np.inf)
        probabilities = [0 if log is None else np.exp(log) for log in found]
        np.testing.assert_allclose(probabilities, np.exp(expected) / np.exp(expected).sum(), atol=1e-9)
    script = "async ([words, text]) => (await import('/scripts/softmax.js')).isByFrequency(words, text)"
    vocabulary = [f"{'often' if number < 100 else 'once'}{number}" for number in range(200)]
    text = vocabulary + vocabulary[:100] * 2
    found = [english.run(script, [words, text]) for words in (vocabulary, vocabulary[::-1], vocabulary[90:110])]
    assert found == [True, False, False]


def test_hostile_text_is_text(english: Page):
    english.type(HOSTILE)
    for tab in ("similarity", "contexts", "map", "characters"):
        english.show(tab)
    assert "script" in english.page.inner_text("#tokens")
    assert english.page.locator("#tokens script, #panel script, #panel img").count() == 0


def test_fifty_thousand_lines_do_not_stop_it(english: Page):
    english.type("a bank by the river " * 900)
    assert english.page.locator("button.token").count() == 0
    assert "A line of more than 1000 tokens" in english.page.inner_text("#notes")
    english.page.focus("#text")
    english.page.keyboard.press("Control+A")
    english.page.evaluate("document.execCommand('insertText', false, 'a bank by the river .\\n'.repeat(50000))")
    english.page.locator("#notes :text('The first 20000 characters of the text are kept')").wait_for()
    english.settle()
    assert len(english.page.input_value("#text")) == 20_000
    english.type("a bank by the river .\n" * 200)
    assert english.page.locator("button.token").count() == 996  # whole lines alone
    assert english.page.inner_text("#notes").startswith("The first 166 of 200 lines are read")
    assert "The first 48 of 996 tokens." in english.show("similarity")
    english.page.click("button.token:has-text('bank') >> nth=7")
    english.show("contexts")
    english.page.locator("#panel tbody tr").first.click()
    english.settle()
    assert english.page.input_value("#text").endswith("\na bank by the river .\n")  # an end that is not read
    assert english.page.locator("#tokens p").first.locator("[aria-pressed=true]").inner_text() == "bank"


def test_the_page_says_what_the_model_does_not_read(english: Page):
    for text, note in (
        ("가나다 라마바", "Most of this text is in a script of which small-en has read almost nothing."),
        ("x" * 49, "1 of the words are longer than the 48 bytes"),
        ("a bank . " * 250, "The address of this page is long"),
        ("A café in São Paulo , naïve .", ""),
        ("3.50 % !", ""),
    ):
        english.type(text)
        assert note in english.page.inner_text("#notes") if note else english.page.inner_text("#notes") == ""


def test_the_keyboard_chooses_views_and_words_and_reaches_everything_in_the_order_of_the_page(english: Page):
    english.page.focus("#tab-contexts")
    english.page.keyboard.press("ArrowRight")
    english.settle()
    assert english.page.get_attribute("#tab-map", "aria-selected") == "true"
    assert english.run("() => document.activeElement.id") == "tab-map"
    english.page.focus("button.token:has-text('river')")
    english.page.keyboard.press("Enter")
    english.settle()
    focused = "() => [document.activeElement.textContent, document.activeElement.ariaPressed]"
    assert english.run(focused) == ["river", "true"]
    english.open("#")
    english.page.focus("#language")
    order = ["language"]
    for _ in range(60):
        english.page.keyboard.press("Tab")
        focused = english.run("() => [document.activeElement.id, document.activeElement.tagName.toLowerCase()]")
        order.append(focused[0] or focused[1])
        if focused[1] == "body":
            break
    marks = ["language", "preset", "best", "tab-contexts", "among", "number", "panel"]
    assert [name for name in order if name in marks] == marks and order.count("summary") == 3
    assert order.count("tab-contexts") == 1 and "tab-map" not in order  # the arrows move between the tabs


def test_a_view_that_takes_the_place_of_the_focused_control_gets_the_focus(new_page: Callable[..., Page]):
    page = new_page()
    page.open("#v=tour")
    focused = "() => document.activeElement.id"
    page.page.focus("#panel button:has-text('play')")
    page.page.keyboard.press("Enter")
    page.page.wait_for_selector("#tab-map[aria-selected=true]")
    page.settle()
    assert page.run(focused) == "panel"
    page.show("expectations")
    assert page.run(focused) == "tab-expectations"
    page.page.focus("#panel button")
    page.page.keyboard.press("Enter")
    page.page.wait_for_selector("#panel table", state="attached", timeout=60_000)
    assert page.run(focused) == "panel"


def test_other_views_can_be_looked_at_while_the_softmax_is_loading(new_page: Callable[..., Page]):
    page = new_page()
    held: list[Any] = []
    page.page.route("**/softmax-*", lambda route: held.append(route))
    page.open("#v=expectations")
    with page.page.expect_request("**/softmax-*"):
        page.page.click("#panel button")
    assert "of “bank” in the corpus" in page.show("contexts")
    held[0].continue_()
    page.page.wait_for_selector("#progress", state="hidden", timeout=60_000)
    page.show("expectations")
    page.load_softmax()


NAMELESS = """() => {
  const hidden = (element) => element.closest("[hidden], [aria-hidden=true]");
  const labels = (element) => [...(element.labels ?? [])].map((label) => label.textContent).join("");
  const pointed = (element) => document.getElementById(element.getAttribute("aria-labelledby"))?.textContent;
  const own = (element) => (["SELECT", "TEXTAREA"].includes(element.tagName) ? "" : element.textContent.trim());
  const named = (element) => element.getAttribute("aria-label") || labels(element) || pointed(element) || own(element);
  const roles = ["img", "button", "region", "tabpanel"].map((role) => `[role=${role}]`);
  const needs = ["button", "input", "select", "textarea", "progress", "summary", "svg", ...roles].join(", ");
  const nameless = [...document.querySelectorAll(needs)].filter((element) => !hidden(element) && !named(element));
  return nameless.map((element) => element.outerHTML.slice(0, 200));
}"""
CONTRAST = """() => {
  const luminance = (colour) => {
    const [red, green, blue] = colour.match(/[\\d.]+/g).map(Number).map((value) => value / 255)
      .map((value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4));
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const behind = (element) => {
    const colour = getComputedStyle(element).backgroundColor;
    return /, 0\\)$/.test(colour) && element.parentElement ? behind(element.parentElement) : colour;
  };
  const faint = [];
  const texts = "p, td, th, button, label, caption, summary, li, h1, output, a";
  for (const element of document.querySelectorAll(texts)) {
    if (!element.checkVisibility() || !element.textContent.trim()) continue;
    const lights = [getComputedStyle(element).color, behind(element)].map(luminance).sort((one, other) => other - one);
    const contrast = (lights[0] + 0.05) / (lights[1] + 0.05);
    if (contrast < 4.5) faint.push([element.outerHTML.slice(0, 120), contrast]);
  }
  return faint;
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_view_has_names_for_screen_readers_and_text_that_stands_out(english: Page, scheme: str):
    english.page.emulate_media(color_scheme=scheme)
    for tab in VIEWS:
        english.show(tab)
        assert english.run(NAMELESS) == [], tab
        assert english.run(CONTRAST) == [], tab
    roles = "[...document.querySelectorAll('[role=tab]')].filter((tab) => tab.ariaSelected === 'true').length"
    assert english.run(f"() => {roles}") == 1
    assert english.page.get_attribute("#panel", "aria-labelledby") == "tab-tour"
    assert english.page.locator("#panel th[scope=col]").count() == 6
    english.page.emulate_media(color_scheme="light")


def test_labels_of_a_corpus_are_senses_and_its_planes_are_a_choice(
    new_page: Callable[..., Page], toy_en: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setitem(sys.modules, "umap", first_two_columns())
    lines = [f"number {number} is a sycamore by the house .\t4\tplant\n" for number in range(21)]
    names = "President George W. Bush said it ."
    (tmp_path / "trees.tsv").write_text("".join([*lines, *lines, f"{names}\t3\tperson\n"]), encoding="utf-8")
    uses: list[list[str]] = []
    for name, rest in (("old.txt", "ate cheese"), ("new.txt", "was clicked")):
        uses.append([f"The {word} mouse {rest} ." for word in ("old", "small", "grey")])
        (tmp_path / name).write_text("\n".join([*uses[-1], names, "jackdaw " * 1001]), encoding="utf-8")
    corpora = [tmp_path / name for name in ("trees.tsv", "old.txt", "new.txt")]
    site = write_site(tmp_path / "site", model=toy_en, corpora=corpora, umap=True)
    with served(site) as place:
        page = new_page(place)
        page.open("#t=a+sycamore+by+the+river&i=1&v=contexts")
        assert page.page.locator("#panel .legend li").all_inner_texts() == ["plant 12"]  # no bundled sentence has one
        assert page.page.locator("#panel table").first.locator("th").all_text_contents()[-1] == "file"
        page.page.click("button.token:has-text('river')")
        page.page.select_option("#among", "any")
        for source, number in (("the bundled sample", 0), ("trees.tsv", 12)):
            page.page.select_option("#source", label=source)
            page.settle()
            assert [row[-1] for row in page.rows("#panel tbody tr")].count("trees.tsv") == number
        page.page.click("button.token:has-text('sycamore')")
        page.show("map")
        assert "(22 of 22)" in page.page.inner_text("#panel")
        page.page.select_option("#picture", "umap")
        page.settle()
        assert "UMAP of the top layer" in page.page.inner_text("#panel")
        assert page.page.locator("#panel .scroll path").count() == 21
        page.page.click("button.token:has-text('river')")
        page.settle()
        assert page.page.inner_text("#panel").startswith("UMAP was not computed for “river”")
        page.open("#t=Bush+said+it+.&i=0&v=contexts")
        page.page.locator("#panel tbody tr").first.click()
        page.settle()
        assert page.page.locator("#tokens [aria-pressed=true]").inner_text() == "Bush"
        page.show("map")
        assert "person (yours)" in page.page.inner_text("#panel .legend")  # which one of the files knows
        page.open("#t=a+jackdaw&i=1&v=contexts")
        page.page.locator("#panel tbody tr").first.click()
        assert page.page.inner_text("#notes").startswith("A line of more than 1000 tokens")
        assert page.page.input_value("#text") == "a jackdaw"
        page.open("#t=a+mouse&i=1&v=map&p=corpora&f=3&g=3")  # and not with itself
        elmo = Elmo(toy_en, device="cpu")
        old, new = (np.stack([elmo.encode([use.split()])[0][2] for use in of]).astype(float) for of in uses)
        found = [float(text) for text in page.page.locator("#panel dd").all_inner_texts()]
        distances = measure_distances(old, new, resamples=1, randomness=np.random.default_rng(0))
        expected = [each.estimate for each in (distances.prt, distances.apd, distances.excess)]
        np.testing.assert_allclose(found, expected, atol=0.001)
        titles = page.page.locator("#panel svg text.title").all_text_contents()
        assert titles == ["old.txt (3)", "new.txt (3)"] and page.page.locator("#panel svg .ghost").count() == 6


def test_tables_and_pictures_can_be_saved(english: Page, tmp_path: Path):
    english.page.emulate_media(color_scheme="dark")
    english.show("map")
    english.page.click("#panel summary")
    for label, ending in (("SVG", ".svg"), ("PNG", ".png"), ("TSV", ".tsv")):
        with english.page.expect_download() as waiting:
            english.page.click(f"button.save:has-text('{label}')")
        waiting.value.save_as(tmp_path / f"saved{ending}")
    english.page.emulate_media(color_scheme="light")
    drawing = (tmp_path / "saved.svg").read_text(encoding="utf-8")
    assert drawing.startswith("<svg") and "<script" not in drawing
    assert 'fill="white"' in drawing and 'fill="rgb(23, 103, 168)"' in drawing  # light, to be printed
    texts = ("Occurrences of “bank” (19 of 19)", ">river<", ">yours<", ">PC 1: 43 %<", ">distance 2<")
    assert all(text in drawing for text in (*texts, "elmokit, small-en, Mix of the layers: 0.00, 0.00, 1.00"))
    assert (tmp_path / "saved.png").read_bytes()[:4] == b"\x89PNG"
    rows = list(csv.reader((tmp_path / "saved.tsv").read_text(encoding="utf-8").splitlines(), delimiter="\t"))
    assert rows[0] == ["x", "y", "token", "sense", "file", "index", "sentence"] and len(rows) == 20
    assert all(row[-1].split(" ")[int(row[-2])] == row[2] and len(row[0].split(".")[1]) > 3 for row in rows[1:])
    cells = [["1", "", 'the " bank'], ["a\tb\nc", "\r", '""']]
    script = "async (data) => (await import('/scripts/save.js')).tableText({ data })"
    assert english.run(script, cells) == as_tsv(cells)


def test_the_page_speaks_korean_and_fits_a_telephone(new_page: Callable[..., Page]):
    page = new_page("toy-ko", width=360, height=700)
    page.open()
    assert page.run("() => document.documentElement.lang") == "ko" and "문맥" in page.page.inner_text("#tabs")
    assert page.run("() => document.documentElement.scrollWidth") <= 360
    assert page.page.locator("#panel tbody tr").nth(3).bounding_box()["y"] < 700  # a result on the first screen
    page.page.click("#language")
    page.page.wait_for_selector("html[lang=en]")


HANGUL_THAT_IS_NOT_MARKED = """() => {
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const found = [];
  for (let text = texts.nextNode(); text; text = texts.nextNode()) {
    const { lang } = text.parentElement.closest("[lang]").attributes;
    if (/[가-힣]/.test(text.data) && lang.value !== "ko") found.push(text.data);
  }
  return found;
}"""


def test_korean_words_are_marked_as_korean_on_a_page_in_english(new_page: Callable[..., Page]):
    page = new_page("toy-ko")
    page.open("#l=en")
    assert page.page.locator("#text:lang(ko)").count() == 1
    for tab in VIEWS:
        page.show(tab)
        if tab == "expectations":
            page.load_softmax()
        assert page.page.locator("#panel :lang(en)").count() > 0, tab
        assert page.run(HANGUL_THAT_IS_NOT_MARKED) == [], tab
    page.show("map")
    assert page.page.locator("#panel path[tabindex]:not(:lang(ko))").count() == 0
    page.type("뷁 뷁")
    for tab in ("contexts", "map"):
        assert "“뷁”" in page.show(tab) and page.run(HANGUL_THAT_IS_NOT_MARKED) == []
    page.page.click("#language")
    page.settle()
    assert page.page.locator("#language :lang(ko)").inner_text() == "한국어"
    assert page.page.locator("#language :lang(en)").inner_text() == "English"


def test_a_damaged_model_is_an_error_that_is_shown(new_page: Callable[..., Page]):
    def cut(route: Any) -> None:
        whole = route.fetch()
        route.fulfill(response=whole, body=whole.body()[:-1000])

    page = new_page()
    page.page.route("**/model.safetensors", cut)
    page.page.goto(page.site)
    page.page.wait_for_selector("#error:not(:empty)", timeout=60_000)
    assert "does not fit into the file of weights" in page.page.inner_text("#error")


def test_an_address_of_nonsense_is_the_first_page(english: Page):
    expected = english.show("contexts")
    english.open("#t=&w=9,NaN,-1&g=1e9&s=99999&i=-3&v=%00&a=%3Cscript%3E&l=xx")
    assert english.page.inner_text("#panel").startswith("Type a sentence")
    english.open("#x")
    assert english.page.inner_text("#panel") == expected
