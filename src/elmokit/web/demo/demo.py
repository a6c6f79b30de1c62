"""`elmokit demo`: what contextual vectors know about words with several senses; works offline with a bundled model."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from elmokit.analysis.polysemes import LISTS, language_of, read_polysemes
from elmokit.analysis.sense_study import study_senses
from elmokit.elmo.elmo import Elmo
from elmokit.files.atomic import atomic_write
from elmokit.formats.names import DEFAULT_MODEL, bundled_models, model_name
from elmokit.web.demo.picture import sense_picture
from elmokit.web.demo.terminal import describe, shows_colours, summarise
from elmokit.web.templates import template_environment

if TYPE_CHECKING:
    from elmokit.analysis.polysemes import Language
    from elmokit.analysis.sense_study import SenseStudy

CODE = """\
from elmokit import Elmo
elmo = Elmo.from_pretrained({model})
vectors = elmo.encode([{sentences}])
# float32 arrays, one for each sentence: (tokens, {dim})
"""
TITLE = b"<title>elmokit: one word, many vectors</title>"
"""By which the demo knows its own pages; others are not replaced."""
EXPLORE = "elmokit explore"
"""The command that opens the model in a browser, on sentences that are typed."""
SENTENCES: dict[Language, str] = {
    "en": '"We sat on the river bank.", "The bank raised its rates."',
    "ko": '"마당에 눈이 쌓였다.", "먼지 때문에 눈이 따갑다."',
}


def run(html_path: Path, *, model: str | None = None, output: TextIO | None = None) -> None:
    """Print the results to `output` (by default stdout) and write them as a web page, atomically.

    model: a name or a path as for `Elmo.from_pretrained`; by default the bundled model.
    Raises FileNotFoundError if it is missing, and FileExistsError for a file that is not such a page.
    """
    if html_path.is_file() and TITLE not in html_path.read_bytes()[:1024]:
        raise FileExistsError(f"{html_path} exists and is not a page of the demo; choose another name (--html)")
    stream = output or sys.stdout
    with atomic_write(html_path) as unfinished:
        study = _study(model)
        print(f"elmokit demo: {study.model}, {study.num_parameters:,} parameters\n", file=stream)
        for line in summarise(study, colours=shows_colours(stream)):
            print(line, file=stream)
        unfinished.write_text(page(study, code=_code(study, model), explore=_explore(model)), encoding="utf-8")
    print(
        f"\nThe same with pictures: {html_path}\nOn your own sentences, in a browser: {_explore(model)}\n\n"
        f"In Python:\n\n{_code(study, model)}",
        file=stream,
        flush=True,
    )


def page(study: SenseStudy, *, code: str, explore: str) -> str:
    """A self-contained web page, from `templates/page.html`: the picture, the words in detail and the rates.

    It has no scripts and makes no requests; `code` and `explore` are Python and a command to copy.
    """
    template = template_environment("elmokit.web.demo").get_template("page.html")
    lines = describe(study)
    return template.render(study=study, picture=sense_picture(study), lines=lines, code=code, explore=explore)


def write_picture(svg_path: Path, *, model: str | None = None) -> None:
    """Write the README's picture, docs/demo.svg: the occurrences of a few words in the plane, and the rates."""
    with atomic_write(svg_path) as unfinished:
        unfinished.write_text(sense_picture(_study(model)), encoding="utf-8")


def _study(model: str | None) -> SenseStudy:
    if model is None and DEFAULT_MODEL not in bundled_models():
        raise FileNotFoundError(
            f"the demo needs the bundled model {DEFAULT_MODEL!r}, which this installation lacks: reinstall elmokit "
            "(in a clone: git pull, then pip install .)"
        )
    name = model or DEFAULT_MODEL
    elmo = Elmo.from_pretrained(name)
    language = language_of(elmo.vocabulary)
    return study_senses(elmo, read_polysemes(LISTS[language]), model=model_name(name), language=language)


def _explore(model: str | None) -> str:
    return EXPLORE if model is None else f"{EXPLORE} --model {shlex.quote(model)}"


def _code(study: SenseStudy, model: str | None) -> str:
    sentences = SENTENCES[study.language]
    return CODE.format(model="" if model is None else repr(model), sentences=sentences, dim=study.dim)
