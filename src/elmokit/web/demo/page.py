"""A sense study as a self-contained web page: no scripts, no requests, for light and dark screens."""

from __future__ import annotations

from typing import TYPE_CHECKING

from elmokit.analysis.homonyms import WHAT_IT_IS
from elmokit.analysis.polysemy import num_triples
from elmokit.web.demo.picture import PANEL, bars, scatter
from elmokit.web.demo.wording import extent, nearest_share, shades
from elmokit.web.templates import template_environment

if TYPE_CHECKING:
    from elmokit.analysis.sense_study import SenseStudy

NUM_SHADES = 8
"""Number of shades in the tables of cosines, from the colour of the page's frame to blue."""


def page(study: SenseStudy, *, code: str, explore: str) -> str:
    """A complete HTML document, from `templates/page.html`; `code` and `explore` are Python and a command to copy."""
    return (
        template_environment("elmokit.web.demo")
        .get_template("page.html")
        .render(
            study=study,
            code=code,
            explore=explore,
            extent=extent(study),
            num_triples=num_triples(study.occurrences),
            planes={plane.word: plane for plane in study.planes},
            close_words={close_up.word for close_up in study.close_ups},
            scatters={plane.word: scatter(plane, study) for plane in study.planes},
            bars=bars(study.measured),
            panel=PANEL,
            scores={plane.word: nearest_share(study, plane.word) for plane in study.planes},
            shades={close_up.word: shades(close_up.cosines, number=NUM_SHADES) for close_up in study.close_ups},
            num_shades=NUM_SHADES,
            what_homonyms_are=WHAT_IT_IS,
        )
    )
