"""`elmokit demo`: how well a model tells the senses of ambiguous words apart, as text and as a web page."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from jinja2 import Environment, PackageLoader, StrictUndefined

from elmokit.analysis.polysemes import LISTS, language_of, members_of, read_polysemes, senses_of, words_of
from elmokit.analysis.polysemy import measure_senses, occurrence_vectors, principal_plane
from elmokit.elmo.elmo import Elmo
from elmokit.files.atomic import write_text
from elmokit.formats.find import DEFAULT_MODEL, model_name
from elmokit.system.markdown import aligned_table

if TYPE_CHECKING:
    from elmokit.analysis.polysemes import Language, Occurrence
    from elmokit.analysis.polysemy import Floats, SenseRates

TITLE = b"<title>elmokit: one word, many vectors</title>"
"""The demo replaces a file only if it has this title."""
NUM_DRAWN = 6
"""Number of words to draw, from the start of the list."""
WIDTH, HEIGHT, MARGIN = 300.0, 190.0, 14.0  # of a drawing
SENTENCES: dict[Language, str] = {
    "en": '"We sat on the river bank.", "The bank raised its rates."',
    "ko": '"마당에 눈이 쌓였다.", "먼지 때문에 눈이 따갑다."',
}


@dataclass(frozen=True)
class Drawing:
    """The occurrences of a word in the plane where their vectors differ most."""

    word: str
    senses: list[str]
    rate: str
    """Number of occurrences whose nearest one has the same sense, out of all: `15/16`."""
    marks: list[tuple[int, float, float, str]]
    """For each occurrence, the number of its sense, its place (x, y), and its sentence."""


def run(html_path: Path, *, model: str | None = None) -> None:
    """Print the rates and write the page.

    model: a name or a path as for `Elmo.from_pretrained`; by default the bundled model. Raises FileNotFoundError if it
    is missing, and FileExistsError for a file that is not a page of the demo.
    """
    if html_path.is_file() and TITLE not in html_path.read_bytes()[:1024]:
        raise FileExistsError(f"{html_path} exists and is not a page of the demo; choose another name (--html)")
    elmo = Elmo.from_pretrained(model or DEFAULT_MODEL)
    language = language_of(elmo.vocabulary)
    uses = read_polysemes(LISTS[language])
    encoded = elmo.encode([use.tokens for use in uses], layers="all")
    measured = measure_senses(encoded, uses)
    name, words = model_name(model or DEFAULT_MODEL), words_of(uses)
    top = measured[-2]  # of the top layer; the last one is the average of all
    rates = [(one.name, one.nearest_rate().fraction(), one.nearest_rate().percent()) for one in measured]
    by_word = ", ".join(f"{word} {top.nearest_rate(members_of(word, uses)).fraction()}" for word in words)
    explore = "elmokit explore" if model is None else f"elmokit explore --model {shlex.quote(model)}"
    code = (
        f"from elmokit import Elmo\nelmo = Elmo({'' if model is None else repr(model)})\n"
        f"vectors = elmo.encode([{SENTENCES[language]}])  # float32 arrays, one per sentence: (tokens, {elmo.dim})\n"
    )
    vectors = occurrence_vectors(encoded, uses)[-1]
    loader = PackageLoader("elmokit.web")
    template = Environment(loader=loader, autoescape=True, undefined=StrictUndefined).get_template("senses.html")
    page = template.render(
        model=name,
        num_parameters=elmo.config.num_parameters,
        num_words=len(words),
        num_sentences=len(uses),
        language=language,
        rates=rates,
        drawings=[_drawing(word, uses, vectors, top) for word in words[:NUM_DRAWN]],
        by_word=by_word,
        size=(WIDTH, HEIGHT),
        explore=explore,
        code=code,
    )
    write_text(html_path, page)
    print(
        f"{name}: {len(words)} words with several senses, in {len(uses)} sentences\n\n"
        f"{aligned_table([('nearest one has the same sense', '', ''), *rates])}\n\n"
        f"For each word, in the top layer: {by_word}\n\n"
        f"The same with pictures: {html_path}\nOn your own sentences, in a browser: {explore}\n\nIn Python:\n\n{code}",
        end="",
    )


def _drawing(word: str, uses: list[Occurrence], vectors: Floats, top: SenseRates) -> Drawing:
    members, senses = members_of(word, uses), senses_of(word, uses)
    points = principal_plane(vectors[members])
    low, high = points.min(axis=0), points.max(axis=0)
    # the same scale on both axes, so that distances are comparable
    scale = min(
        float(space / max(size, 1e-9))
        for space, size in zip((WIDTH - 2 * MARGIN, HEIGHT - 2 * MARGIN), high - low, strict=True)
    )
    placed = (points - (low + high) / 2) * scale * (1, -1) + (WIDTH / 2, HEIGHT / 2)
    marks = [
        (senses.index(uses[member].sense), float(x), float(y), " ".join(uses[member].tokens))
        for member, (x, y) in zip(members, placed, strict=True)
    ]
    return Drawing(word, senses, top.nearest_rate(members).fraction(), marks)
