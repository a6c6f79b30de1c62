import io
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from elmokit.cli.main import main
from elmokit.elmo import nearest
from elmokit.elmo.elmo import Elmo
from refusals import refused_options
from toy_bilm import random_bilm

ELMO = Elmo(random_bilm())
RIVER, LAKE = "the bank of a river", "a bank by the lake"
CORPUS = ["a cat sat", RIVER, "the bank", "", LAKE, LAKE, "the cat ran to the bank", RIVER]
QUERY = "the bank"


@pytest.mark.parametrize("among", ["any", "same", "other"])
@pytest.mark.parametrize("layers", ["top", 1, [0.2, 0.3, 0.5]])
def test_they_are_the_occurrences_with_the_largest_cosines(
    monkeypatch: pytest.MonkeyPatch, among: nearest.Among, layers: Any
):
    monkeypatch.setattr(nearest, "_SENTENCES_AT_ONCE", 2)
    found = ELMO.nearest(QUERY, "bank", CORPUS, number=4, among=among, layers=layers)
    query = ELMO.encode(QUERY, layers=layers)[1]
    cosines = {
        (number, index): float(ELMO.similarity(vector, query))
        for number, (sentence, array) in enumerate(zip(CORPUS, ELMO.encode(CORPUS, layers=layers), strict=True))
        for index, (token, vector) in enumerate(zip(sentence.split(), array, strict=True))
        if CORPUS.index(sentence) == number and sentence != QUERY  # the first of repeated sentences
        if (among == "any" or (token == "bank") == (among == "same"))
    }
    best = sorted(cosines, key=lambda place: -cosines[place])[:4]
    assert [(one.sentence, one.index) for one in found] == best
    np.testing.assert_allclose([one.similarity for one in found], [cosines[place] for place in best], atol=1e-6)
    assert all(one.tokens == CORPUS[one.sentence].split() and one.token == one.tokens[one.index] for one in found)


def test_the_verb_shows_the_word_in_the_middle_and_its_place_at_the_end(
    tmp_path: Path, tiny_bilms: tuple[Path, Path], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "0.txt").write_text("\n".join(CORPUS[:4]))
    (tmp_path / "1.txt").write_text("")
    (tmp_path / "2.txt").write_text("\n".join(CORPUS[4:]))
    arguments = ["neighbours", QUERY, "--word", "bank", "--corpus", str(tmp_path)]
    assert main([*arguments, "--model", str(tiny_bilms[0]), "--number", "3", "--among", "same"]) == 0
    model, *lines = capsys.readouterr().out.splitlines()
    assert (
        model == f"model {tiny_bilms[0].name}"
        and len(lines) == 3
        and {line.index("[bank]") for line in lines} == {len("0.000  ") + 51}
    )
    places = {f"({tmp_path / place})" for place in ("0.txt:2", "2.txt:1", "2.txt:3")}
    assert {line.rpartition("  ")[2] for line in lines} == places
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(b"\nthe bank of a river\n"))))
    assert main([*arguments, "--model", str(tiny_bilms[0]), "--corpus", "-"]) == 0
    assert "the [bank] of a river  (standard input:2)\n" in capsys.readouterr().out
    assert main([*arguments, "--model", str(tiny_bilms[0]), "--word", "river"]) == 2
    assert "the sentence has no token 'river'; its tokens are: the bank" in capsys.readouterr().err


def test_tokens_are_compared_in_nfc_and_a_word_may_be_spelt_as_in_raw_text():
    composed, decomposed = ["the", "caf\u00e9"], ["the", "cafe\u0301"]
    for sentence, word, other in ((composed, decomposed[1], decomposed), (decomposed, composed[1], composed)):
        corpus = [other, [*other, "sat"]]
        (found,) = ELMO.nearest(sentence, word, corpus, among="same")
        assert (found.sentence, found.index, found.tokens) == (1, 1, corpus[1])
        assert {one.index for one in ELMO.nearest(sentence, word, corpus, among="other")} == {0, 2}
    tokens = ["the", "l'eau", "coop"]
    for word, index in (("l’eau", 1), ("co\u00adop", 2)):
        assert ELMO.nearest(tokens, word, CORPUS) == ELMO.nearest(tokens, index, CORPUS)
    with pytest.raises(ValueError, match=r"no token 'a\\xadb'; its tokens are: the l'eau coop"):
        ELMO.nearest(tokens, "a\u00adb", CORPUS)


def test_what_cannot_be_meant_is_refused(snapshot: SnapshotAssertion):
    options = [{"word": 2}, {"word": True}, {"corpus": QUERY}, {"layers": "all"}, {"number": 0}, {"among": "words"}]
    assert refused_options(partial(ELMO.nearest, QUERY, word="bank", corpus=CORPUS), options) == snapshot
