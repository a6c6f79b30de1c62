"""The picture in README has the gains of the present results."""

from page_code import ROOT, read_page
from paper.claims import headline
from paper.experiments import SHIPPED, SIX_TASKS
from paper.results import Results


def test_the_picture_shows_the_gains_of_the_results():
    picture = (ROOT / "docs" / "overview.svg").read_text(encoding="utf-8")
    for task in SIX_TASKS:
        pair = headline(Results(), task, "+ ELMo", SHIPPED)
        assert pair and pair.gain and (interval := pair.gain.interval())
        assert f">{interval.estimate:+.1f}<" in picture, "draw it again: python experiments/overview.py"
    assert "docs/overview.svg" in read_page("README.md")
