"""Tagged sentences from two layouts; what is not a word is left out, and a different number of columns refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from paper.probes.tagged_text import UPOS, XPOS, TaggedSentence, read_conllu, read_tagged

ROW = "{}\t{}\tlemma\t{}\t{}\t_\t0\troot\t_\t_\n"


def test_columns_of_token_and_tag_with_plain_brackets(tmp_path: Path):
    (tmp_path / "x.tsv").write_text("-LRB-\t-LRB-\n#\t#\n\n10\tCD\n")
    assert read_tagged(tmp_path / "x.tsv") == [
        TaggedSentence(["(", "#"], ["-LRB-", "#"]),
        TaggedSentence(["10"], ["CD"]),
    ]


def test_conllu_words_without_ranges_empty_nodes_and_comments(tmp_path: Path):
    rows = [("1-2", "don't", "_", "_"), ("1", "do", "AUX", "VBP"), ("2", "n't", "PART", "RB"), ("2.1", "x", "X", "X")]
    text = (
        "# text = don't\n"
        + "".join(ROW.format(*row) for row in rows)
        + "\n# sent_id = 2\n"
        + ROW.format(1, "#", "SYM", "#")
    )
    (tmp_path / "x.conllu").write_text(text)
    assert read_conllu(tmp_path / "x.conllu", column=UPOS) == [
        TaggedSentence(["do", "n't"], ["AUX", "PART"]),
        TaggedSentence(["#"], ["SYM"]),
    ]
    assert read_conllu(tmp_path / "x.conllu", column=XPOS)[0].tags == ["VBP", "RB"]


def test_another_number_of_columns_is_refused(tmp_path: Path):
    (tmp_path / "x.tsv").write_text("the\tDT\textra\n")
    with pytest.raises(ValueError, match="lines 1-1: 3 columns; expected 2"):
        read_tagged(tmp_path / "x.tsv")
