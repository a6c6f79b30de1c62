"""A linear probe learns what is in the vectors, and only that; the same seed gives the same score."""

from __future__ import annotations

from paper.probes.tag_probe import TaggedSplits, probe_tags
from paper.probes.tagged_text import TaggedSentence
from toy_senses import CueLayers

BANKS = [TaggedSentence(["bank", cue], [tag, "X"]) for cue, tag in (("loans", "MONEY"), ("flooded", "RIVER"))] * 40
SPLITS = TaggedSplits(BANKS, BANKS[:4], BANKS[:4])


def test_tags_that_depend_on_the_next_word_are_learnt_from_layers_that_know_it():
    scores = probe_tags(CueLayers(), SPLITS)
    assert scores["layer 1"].test == scores["layer 2"].dev == 100 and all(scores["layer 1"].hits)
    assert scores["layer 0"].test == 75  # `bank` is always the same there


def test_the_same_seed_gives_the_same_scores():
    assert probe_tags(CueLayers(), SPLITS, seed=3) == probe_tags(CueLayers(), SPLITS, seed=3)


def test_a_tag_that_was_never_seen_is_an_error():
    new = [TaggedSentence(["bank", "loans"], ["NEW", "X"])]
    assert probe_tags(CueLayers(), TaggedSplits(BANKS, BANKS, new))["layer 2"].hits == (False, True)
