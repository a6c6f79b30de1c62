"""Flows through the explorer in Chromium. Skipped without Chromium or Playwright."""

import csv
import json
import re
import shutil
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
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
from elmokit.web.explore.server import address, serve
from elmokit.web.explore.site import write_site
from toy_bilm import write_toy
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
    """A page of the explorer, with a record of its errors and requests."""

    def __init__(self, page: Any, site: str) -> None:
        self.page, self.site = page, site
        self.complaints: list[str] = []
        self.requests: list[str] = []
        page.on("console", lambda message: self.complaints.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("dialog", lambda dialog: (self.complaints.append("a dialog"), dialog.dismiss()))
        page.on("request", lambda request: self.requests.append(request.url))

    def open(self, state: str = "#") -> None:
        """Open the page once; after that, follow a link to one of its states."""
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
        """The texts of the cells of rows, even if the rows are folded away."""
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
    """Uses of the first five words, and of one with `bank` in its sentences; models need minutes for the whole list."""
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
    """A model for tests that do not depend on the weights."""
    vocabulary = Vocabulary(["<S>", "</S>", "<UNK>", "the", "bank"])
    return write_toy(tmp_path_factory.mktemp("models") / "toy-en", vocabulary=vocabulary)


@pytest.fixture(scope="module")
def sites(short_lists: None, toy_en: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    folder = tmp_path_factory.mktemp("sites")
    toy_ko = write_toy(folder / "toy", vocabulary=Vocabulary(["<S>", "</S>", "<UNK>", "눈이", "배를"]))
    models = {"small-en": "small-en", "mini-ko": "mini-ko", "toy-en": toy_en, "toy-ko": toy_ko}
    with ExitStack() as stack:
        samples = {name: "ko" if name.endswith("ko") else "en" for name in models}
        sites = {name: write_site(folder / name, model=models[name], sample=samples[name]) for name in models}
        yield {name: stack.enter_context(served(site)) for name, site in sites.items()}


@pytest.fixture(scope="module")
def elmo() -> Elmo:
    return Elmo("small-en")


@pytest.fixture
def new_page(browser: Any, sites: dict[str, str]) -> Iterator[Callable[..., Page]]:
    """Makes pages that are not open yet; no page may report an error until the test ends."""
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
    """The page in its initial state; whatever a test does, it reports no error and requests nothing from elsewhere."""
    opened.open("#")
    yield opened
    assert opened.complaints == []
    assert all(url.startswith((opened.site, "data:", "blob:")) for url in opened.requests)


VIEWS = ["similarity", "contexts", "map", "expectations", "characters", "tour"]
READ = """async ([sentences]) => {
  const { BiLM } = await import("/scripts/bilm.js");
  const { readSafetensors } = await import("/scripts/safetensors.js");
  const config = await (await fetch("/model/config.json")).json();
  const weights = await (await fetch("/model/model.safetensors")).arrayBuffer();
  const bilm = await BiLM.create(config.bilm, readSafetensors(weights));
  return sentences.map((tokens) => bilm.read(tokens).map((layer) => [...layer]));
}"""


@pytest.mark.parametrize(("name", "texts"), [("small-en", ENGLISH), ("mini-ko", KOREAN)])
def test_vectors_and_tokens_are_those_of_python(new_page: Callable[..., Page], name: str, texts: list[str]):
    page = new_page(name)
    page.page.goto(page.site)
    sentences = [text.split() for text in texts]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about the token that is too long
        expected = Elmo(name).encode(sentences, layers="all")
    found = page.run(READ, [sentences])
    for layers, exact, tokens in zip(found, expected, sentences, strict=True):
        np.testing.assert_allclose(np.array(layers).reshape(3, len(tokens), -1), exact, atol=1e-4)
    texts = ["I don't think it's $3.50 (5%), Mr. Fox.", "e.g. U.S. 3:30 -- a_b www.a.com", HOSTILE]
    texts += ["밥을 먹었다!!!!!", "漢字かな", "밥\ue5dc\uf0a0", "5\u200bខ្ញុំ\u200bភាសា", "m\uf158rk\ue5dc \uf0b7a"]
    texts += ["col\u00b7legi a\u00b7b", 'צה״ל ג׳ירפה ד"ר ב"הארץ"', "Ինչպե՞ս ես՞", "ㅋㅋㅋㅋㅋ!!", "ın't İN'T"]
    texts += ["ᄒᆞᄂᆞᆯ 天地 “ᄯᅡ” ꥠힰ", "‹oﬃce› ﬀﬁﬂﬄﬅﬆ"]
    script = "async (texts) => texts.map((await import('/scripts/tokenizer.js')).tokenize)"
    assert page.run(script, texts) == [tokenize(text) for text in texts]


def test_nearest_contexts_have_senses_are_sorted_and_are_added_and_back_undoes_a_step(english: Page):
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
    english.page.locator("#panel tr", has_text="canoe").click()
    english.settle()
    assert english.page.input_value("#text").endswith("\nHe pulled the canoe up the bank and tied it to a tree .")
    english.page.select_option("#among", "any")
    english.page.select_option("#number", "25")
    english.settle()
    assert len(english.rows("#panel tbody tr")) == 25
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


def test_similarities_and_characters_choose_words_and_long_texts_are_cut(english: Page):
    english.type(f"{'𝒜' * 15} river bank")
    english.show("similarity")
    names = english.page.locator("#panel svg text")
    assert names.all_text_contents().count(f"{'𝒜' * 13}…") == 2
    names.filter(has_text="bank").first.click()
    english.settle()
    assert english.page.locator("#tokens [aria-pressed=true]").inner_text() == "bank"
    english.type("cheeriness")
    text = english.show("characters")
    assert "^" in text and "ness$" in text.replace("\t", " ")
    link = english.page.locator("#panel table >> nth=1 >> button.link").first
    word = link.inner_text()
    link.click()
    english.settle()
    assert english.page.locator("#tokens p").nth(1).locator("[aria-pressed=true]").inner_text() == word
    english.type("a bank by the river " * 900)
    assert english.page.locator("button.token").count() == 0
    assert "A line has more than 1000 tokens" in english.page.inner_text("#notes")
    english.type("a bank by the river .\n" * 200)
    assert english.page.locator("button.token").count() == 996  # only whole lines
    assert english.page.inner_text("#notes").startswith("Only the first 166 of 200 lines are read")
    assert "The first 48 of 996 tokens." in english.show("similarity")
    for text, note in (
        ("가나다 라마바", "small-en was hardly trained on the script"),
        ("x" * 49, "longer than the 48 bytes"),
    ):
        english.type(text)
        assert note in english.page.inner_text("#notes")


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


def test_the_mix_of_the_layers_follows_the_mouse_and_its_rate_is_the_one_that_python_measures(
    english: Page, elmo: Elmo
):
    uses = first_words()
    vectors = occurrence_vectors(elmo.encode([use.tokens for use in uses], layers="all"), uses)
    weights = "(sliders) => sliders.map((slider) => [Number(slider.dataset.layer), Number(slider.value)])"

    def rate() -> float:
        english.settle()
        mix = dict(english.page.locator("#weights input").evaluate_all(weights))
        rate = 100 * nearest_hits(sum(mix[layer] * vectors[layer] for layer in mix), uses).mean()
        assert english.page.inner_text("#rate strong") == f"{rate:.1f} %"
        return rate

    english.show("contexts")
    top = rate()
    english.page.click("#best")
    assert rate() > top and english.page.locator("#weights .curve path").count() == 3
    choices = english.page.locator("#preset option").all_text_contents()
    (learnt,) = (text for text in choices if text.startswith("learnt for named entities, input"))
    english.page.select_option("#preset", label=learnt)
    rate()
    english.open("#")
    mouse, slider = english.page.mouse, english.page.locator("input[data-layer='0']")
    box = slider.bounding_box()
    left, width, y = box["x"] + 8, box["width"] - 16, box["y"] + box["height"] / 2  # 8: half of the thumb
    mouse.move(left, y)
    mouse.down()
    mouse.move(left + width, y)
    mouse.up()
    english.settle()
    assert english.page.locator("#weights output").all_text_contents() == ["0.50", "0.00", "0.50"]
    assert english.run("() => location.hash").endswith("&w=1%2C0%2C1")
    english.open("#")
    methods = english.run(DRAG_WHILE_THE_WORKER_IS_BUSY)  # computes only the newest view asked for meanwhile
    assert methods[-2:] == ["neighbours", "rate"] and len(methods) <= 3


PLACES = "(marks) => marks.map((mark) => mark.getAttribute('transform').match(/[-\\d.]+/g).map(Number))"


def test_a_map_is_read_by_keyboard_zoomed_and_saved(english: Page, tmp_path: Path):
    english.open("#v=map&w=1%2C0%2C0")
    said = "All occurrences of “bank” (19 of 19) have the same vector. Layer 0"
    assert english.page.inner_text("#panel").startswith(said)
    english.open("#v=map&p=layers")
    titles = english.page.locator("#panel svg text.title").all_text_contents()
    assert titles == ["Layer 0: same sense 47 %", "Layer 1: same sense 75 %", "Layer 2: same sense 94 %"]
    english.open("#v=map")
    marks = english.page.locator("#panel .scroll path.mark")
    before = np.array(marks.evaluate_all(PLACES))
    english.page.click("#panel .zoom button:has-text('+')")
    zoomed = np.array(marks.evaluate_all(PLACES))
    np.testing.assert_allclose(zoomed - zoomed[0], 1.5 * (before - before[0]), atol=0.3)
    english.page.click("#panel .zoom button:has-text('Show all')")
    english.page.check("#labels")
    english.settle()
    assert "grassy · and" in english.page.locator("#panel .labels text").all_text_contents()
    english.page.click("#panel summary")
    for label, ending in (("SVG", ".svg"), ("PNG", ".png"), ("TSV", ".tsv")):
        with english.page.expect_download() as waiting:
            english.page.click(f"button.save:has-text('{label}')")
        waiting.value.save_as(tmp_path / f"saved{ending}")
    drawing = (tmp_path / "saved.svg").read_text(encoding="utf-8")
    texts = ("Occurrences of “bank” (19 of 19)", ">river<", ">yours<", ">PC 1: 43 %<", ">distance 2<")
    assert all(text in drawing for text in (*texts, "elmokit, small-en, Mix of the layers: 0.00, 0.00, 1.00"))
    assert (tmp_path / "saved.png").read_bytes()[:4] == b"\x89PNG"
    rows = list(csv.reader((tmp_path / "saved.tsv").read_text(encoding="utf-8").splitlines(), delimiter="\t"))
    assert rows[0] == ["x", "y", "token", "sense", "file", "index", "sentence"] and len(rows) == 20
    cells = [["1", "", 'the " bank'], ["a\tb\nc", "\r", '""']]
    script = "async (data) => (await import('/scripts/save.js')).tableText({ data })"
    assert english.run(script, cells) == as_tsv(cells)
    marks.first.focus()
    english.page.keyboard.press("ArrowRight")
    sentence = english.page.inner_text("#panel .below .sentence")
    english.page.keyboard.press("Enter")
    english.settle()
    assert english.page.input_value("#text").split("\n")[2:] == [sentence]


PAIR = ["The keys to the cabinet are here .", "The keys to the old cabinet is here ."]


def test_expectations_are_those_of_python_and_sentences_are_compared(english: Page, elmo: Elmo):
    held: list[Any] = []
    is_held = True
    english.page.route("**/softmax-*", lambda route: held.append(route) if is_held else route.continue_())
    english.show("expectations")
    with english.page.expect_request("**/softmax-*"):
        english.page.click("#panel button")
    assert "of “bank” in the corpus" in english.show("contexts")  # other views work meanwhile
    is_held = False
    held[0].continue_()
    english.show("expectations")
    english.load_softmax()
    (expected,) = elmo.surprisal([["We", "sat", "on", "the", "grassy", "bank", "of", "the", "river", "."]])
    rows = english.rows("#panel details tbody tr")
    assert [row[0] for row in rows] == expected.tokens
    forward, backward = ([float(row[column]) for row in rows] for column in (1, 2))
    np.testing.assert_allclose(forward, expected.forward.bits[: len(rows)], atol=0.01)
    np.testing.assert_allclose(backward, expected.backward.bits[1:], atol=0.01)
    english.open(f"#v=expectations&c=2&i=5&t={quote(chr(10).join(PAIR))}")
    first, second = elmo.surprisal([sentence.split() for sentence in PAIR])
    columns = english.rows("#panel details tbody tr")
    assert [row[:2] for row in columns][4:7] == [["", "old"], ["cabinet", "cabinet"], ["are", "is"]]
    difference = float(columns[6][3]) - float(columns[6][2])
    np.testing.assert_allclose(difference, second.bits()[6] - first.bits()[5], atol=0.02)


def test_a_text_tells_whether_a_vocabulary_is_sorted_by_frequency_in_no_time(english: Page):
    script = """async ([words, text]) => {
      const { isByFrequency } = await import('/scripts/softmax.js');
      const start = performance.now();
      return [isByFrequency(words, text), performance.now() - start];
    }"""
    vocabulary = [f"{'often' if number < 5000 else 'once'}{number}" for number in range(50_000)]
    text = vocabulary + vocabulary[:5000] * 2
    for words, expected in ((vocabulary, True), (vocabulary[::-1], False), (vocabulary[4990:5010], False)):
        found, milliseconds = english.run(script, [words, text])
        assert found == expected and milliseconds < 5000  # comparing each pair of words takes a minute


@pytest.mark.parametrize("view", ["similarity", "contexts", "map", "characters", "tour"])
def test_the_lines_of_python_compute_what_is_shown(english: Page, view: str):
    english.open(f"#v={view}&w=0,0.5,0.5")
    english.page.click("#python summary")
    english.page.wait_for_selector("#python code:not(:empty)")
    names: dict[str, Any] = {}
    exec(english.page.inner_text("#python code"), names)
    english.page.click("#python summary")
    if view == "map":
        english.page.click("#panel summary")
        english.page.wait_for_selector("#panel table")
    data = english.run("() => document.querySelector('#panel table').data.slice(1)")
    if view == "contexts":
        assert [near.tokens for near in names["found"]] == [row[-1].split(" ") for row in data]
        np.testing.assert_allclose([near.similarity for near in names["found"]], [row[0] for row in data], atol=1e-4)
    elif view == "map":
        shown = np.array([row[:2] for row in data], float)[-len(names["plane"]) :]
        plane = np.roll(names["plane"], -2, axis=0)  # the page draws the uses in the text last
        distances = [np.linalg.norm(points[:, None] - points, axis=-1) for points in (shown, plane)]
        np.testing.assert_allclose(*distances, atol=1e-3)
    elif view == "similarity":
        cells = english.rows("#panel details tbody tr")
        np.testing.assert_allclose(np.array([row[1:] for row in cells], float), names["found"], atol=0.006)
    elif view == "characters":
        words = english.rows("#panel table >> nth=1 >> tbody tr")
        assert [word for word, _ in names["found"]] == [row[1] for row in words]
    else:
        found = {one.name: one.nearest_rate().share for one in names["found"]}
        rates = english.run("async () => (await (await fetch('corpus.json')).json()).rates")
        assert rates == pytest.approx([found[name] for name in ("static vector", "lstm1", "lstm2")])


def test_without_the_bundled_sentences_there_is_neither_rate_nor_exercise_and_python_reads_the_file(
    new_page: Callable[..., Page], toy_en: Path, tmp_path: Path
):
    lines = [json.dumps({"text": f"the cafe\u0301 number {number} .", "id": number}) for number in range(4)]
    (tmp_path / "old.jsonl").write_text("\n".join(lines), encoding="utf-8")
    site = write_site(tmp_path / "site", model=toy_en, corpora=[tmp_path / "old.jsonl"], column="text")
    with served(site) as place:
        page = new_page(place)
        page.open("#t=a+caf\u00e9&i=1&v=contexts&f=2&x=1")
        assert page.page.locator("#tabs button").count() == 5 and page.page.is_hidden("#exercise")
        assert page.page.inner_text("#rate") == "" and "4 sentences to search in" in page.page.inner_text("#status")
        page.page.click("#python summary")
        page.page.wait_for_selector("#python code:not(:empty)")
        names: dict[str, Any] = {}
        exec(page.page.inner_text("#python code"), names)
        page.page.wait_for_selector("#panel table")
        data = page.run("() => document.querySelector('#panel table').data.slice(1)")
        for tab in ("map", "similarity", "characters"):
            page.show(tab)
    assert sorted(near.tokens for near in names["found"]) == sorted(row[-1].split(" ") for row in data)
    assert len(data) == 4


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
    site = write_site(tmp_path / "site", model=toy_en, corpora=corpora, umap=True, sample="en")
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
        assert page.page.inner_text("#panel").startswith("There is no UMAP of “river”")
        page.open("#t=Bush+said+it+.&i=0&v=contexts")
        page.page.locator("#panel tbody tr").first.click()
        page.settle()
        assert page.page.locator("#tokens [aria-pressed=true]").inner_text() == "Bush"
        page.show("map")
        assert "person (yours)" in page.page.inner_text("#panel .legend")  # one of the files has this label
        page.open("#t=a+jackdaw&i=1&v=contexts")
        page.page.locator("#panel tbody tr").first.click()
        assert page.page.inner_text("#notes").startswith("A line has more than 1000 tokens")
        assert page.page.input_value("#text") == "a jackdaw"
        page.open("#t=a+mouse&i=1&v=map&p=corpora&f=3&g=3")  # not compared with itself
        elmo = Elmo(toy_en, device="cpu")
        old, new = (np.stack([elmo.encode([use.split()])[0][2] for use in of]).astype(float) for of in uses)
        found = [float(text) for text in page.page.locator("#panel dd").all_inner_texts()]
        distances = measure_distances(old, new, resamples=1, randomness=np.random.default_rng(0))
        expected = [each.estimate for each in (distances.prt, distances.apd, distances.excess)]
        np.testing.assert_allclose(found, expected, atol=0.001)
        titles = page.page.locator("#panel svg text.title").all_text_contents()
        assert titles == ["old.txt (3)", "new.txt (3)"] and page.page.locator("#panel svg .ghost").count() == 6


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


def test_every_view_can_be_read_aloud_and_reached_by_keyboard_and_stands_out(english: Page):
    for scheme in ("light", "dark"):
        english.page.emulate_media(color_scheme=scheme)
        for tab in VIEWS:
            english.show(tab)
            assert english.run(NAMELESS) == [], tab
            assert english.run(CONTRAST) == [], tab
    english.page.emulate_media(color_scheme="light")
    english.show("contexts")
    english.page.focus("#tab-contexts")
    english.page.keyboard.press("ArrowRight")
    english.settle()
    assert english.page.get_attribute("#tab-map", "aria-selected") == "true"
    assert english.run("() => document.activeElement.id") == "tab-map"
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


HANGUL_THAT_IS_NOT_MARKED = """() => {
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const found = [];
  for (let text = texts.nextNode(); text; text = texts.nextNode()) {
    const { lang } = text.parentElement.closest("[lang]").attributes;
    if (/[가-힣]/.test(text.data) && lang.value !== "ko") found.push(text.data);
  }
  return found;
}"""


MARKS_THAT_BEGIN_A_LINE = """() => {
  const all = [...document.querySelectorAll(".token")];
  const tops = all.map((token) => [token.textContent, token.getBoundingClientRect().top]);
  return tops.filter(([text, top], at) => text === "." && Math.abs(top - tops[at - 1][1]) > 8).length;
}"""


def test_the_korean_page_speaks_korean_and_fits_a_telephone(new_page: Callable[..., Page]):
    page = new_page("toy-ko", width=390, height=700)
    page.open()
    assert page.run("() => document.documentElement.lang") == "ko" and "문맥" in page.page.inner_text("#tabs")
    assert page.page.locator("#panel tbody tr").nth(3).bounding_box()["y"] < 700  # a result on the first screen
    tabs = page.page.locator("#tabs button")
    assert all(tabs.nth(number).bounding_box()["x"] + 20 < 390 for number in range(tabs.count()))
    assert "눈(날씨)" in page.show("tour") and "snow" not in page.page.inner_text("#panel")
    assert page.run("() => document.documentElement.scrollWidth") <= 390
    page.type(" ".join(f"{'밥' * length} ." for length in range(1, 30)))
    assert page.run(MARKS_THAT_BEGIN_A_LINE) == 0
    page.page.click("#language")
    page.page.wait_for_selector("html[lang=en]")
    for tab in VIEWS:
        page.show(tab)
        if tab == "expectations":
            page.load_softmax()
        assert page.run(HANGUL_THAT_IS_NOT_MARKED) == [], tab


def test_hostile_text_nonsense_and_a_damaged_model_do_no_harm(new_page: Callable[..., Page], english: Page):
    expected = english.show("contexts")
    english.type(HOSTILE)
    for tab in ("similarity", "contexts", "map", "characters"):
        english.show(tab)
    assert "script" in english.page.inner_text("#tokens")
    assert english.page.locator("#tokens script, #panel script, #panel img").count() == 0
    english.open("#t=&w=9,NaN,-1&g=1e9&s=99999&i=-3&v=%00&a=%3Cscript%3E&l=xx")
    assert english.page.inner_text("#panel").startswith("Type a sentence")
    english.open("#x")
    assert english.page.inner_text("#panel") == expected

    def cut(route: Any) -> None:
        whole = route.fetch()
        route.fulfill(response=whole, body=whole.body()[:-1000])

    page = new_page()
    page.page.route("**/model.safetensors", cut)
    page.page.goto(page.site)
    page.page.wait_for_selector("#error:not(:empty)", timeout=60_000)
    assert "does not fit into the file of weights" in page.page.inner_text("#error")
