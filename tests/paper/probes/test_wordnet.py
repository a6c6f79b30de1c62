"""WordNet's index of senses: each word's senses in order, satellite adjectives among the adjectives."""

from __future__ import annotations

from pathlib import Path

import pytest

from paper.probes.wordnet import read_inventory, word_of
from toy_senses import INDEX_SENSE, MONEY, RIVER


def test_senses_are_in_wordnets_order(tmp_path: Path):
    (tmp_path / "index.sense").write_text(
        INDEX_SENSE + "able%5:00:00:capable:00 00306663 2 0\nable%3:00:00:: 1 1 1\n".replace(" 1 1 1", " 00001740 1 1")
    )
    inventory = read_inventory(tmp_path / "index.sense")
    assert inventory.senses(("bank", "NOUN")) == (RIVER, MONEY)
    assert inventory.senses(("able", "ADJ")) == ("able%3:00:00::", "able%5:00:00:capable:00")
    assert inventory.senses(("bank", "ADV")) == () and len(inventory) == 6


def test_a_key_names_its_word():
    assert word_of(MONEY) == ("bank", "NOUN") and word_of("able%5:00:00:capable:00") == ("able", "ADJ")
    with pytest.raises(ValueError, match="'bank' is not a sense key"):
        word_of("bank")


@pytest.mark.parametrize("line", ["bank 1 2 3", "bank%6:00:00:: 00306663 1 0", "bank%1:14:00:: 00306663 1"])
def test_a_strange_line_is_refused(tmp_path: Path, line: str):
    (tmp_path / "index.sense").write_text(f"{INDEX_SENSE}{line}\n")
    with pytest.raises(ValueError, match="line 5: is .* expected a line of index.sense"):
        read_inventory(tmp_path / "index.sense")
