"""What surprisals add to the likelihood of reading times, in the small."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from paper.surprisal import ReadWord, ScoredWord, added_likelihood, read_words, reading_times_results, score_words
from toy_language_model import toy_elmo, write_toy

STORIES = {1: ["A", "b!", "C", "a", "b", "a!", "B", "b", "c!"], 2: ["A,", "c", "b", "a!", "C", "c", "a", "z", "a!"]}


def write_stories(folder: Path, stories: dict[int, list[str]] = STORIES) -> Path:
    """Tiny stories in the layout of Natural Stories; the second word of the first has no time."""
    folder.mkdir(parents=True)
    words = [(word, zone, item) for item, story in stories.items() for zone, word in enumerate(story, start=1)]
    lines = [f"{word}\t{zone}\t{item}\n" for word, zone, item in words]
    (folder / "all_stories.tok").write_text("".join(["word\tzone\titem\n", *lines]))
    times = [f"{word}\t{zone}\t{item}\t80\t{300 + 7 * zone % 40}\t1\t1\t1\n" for word, zone, item in words]
    del times[1]
    (folder / "processed_wordinfo.tsv").write_text("".join(["header\n", *reversed(times)]))
    return folder


def test_each_word_has_the_bits_of_its_tokens_in_its_own_sentence(tmp_path: Path):
    words = read_words(write_stories(tmp_path / "ns"))
    assert words[0] == ReadWord("A", story=1, zone=1, milliseconds=307.0)
    assert [word.zone for word in words[:3]] == [1, 3, 4]  # in order, those with a time
    scored = score_words(toy_elmo().surprisal_model(), words)
    second = [each for each in scored if each.word.story == 2]
    first, last = toy_elmo().surprisal([["A", ",", "c", "b", "a", "!"], ["C", "c", "a", "z", "a", "!"]])
    assert [each.word.text for each in second[:4]] == ["A,", "c", "b", "a!"]
    for direction in ("forward", "backward"):
        bits = first.bits(direction)
        expected = [bits[0] + bits[1], bits[2], bits[3], bits[4] + bits[5]]
        assert [each.bits[direction] for each in second[:4]] == pytest.approx(expected, rel=1e-5)
    assert second[4].bits["forward"] == pytest.approx(last.bits()[0], rel=1e-5)
    assert [each.is_at_edge for each in second[:5]] == [True, False, False, True, True]
    assert [each.is_known for each in second[:4]] == [False, True, True, False]  # no marks, no capitals
    assert second[1].log_rank == math.log(1 + 5)


@pytest.mark.parametrize("name", ["processed_wordinfo.tsv", "all_stories.tok"])
def test_a_damaged_file_is_named_with_the_line(name: str, tmp_path: Path):
    path = write_stories(tmp_path / "ns") / name
    header, *lines = path.read_text().splitlines(keepends=True)
    for damaged in ("\n", "A 1 1 80 300\n", "A\t1", "A\tone\t1\t80\t300\n", "A\t1\t\t80\t300\n"):
        path.write_text(header + lines[0] + damaged)
        with pytest.raises(ValueError, match=rf"{name}, line 3: cannot be read; expected a word, its zone"):
            read_words(tmp_path / "ns")


def scored_words(*, times_from_surprisal: bool) -> list[ScoredWord]:
    random = np.random.default_rng(0)
    words: list[ScoredWord] = []
    for story in range(1, 5):
        for zone in range(1, 200):
            bits = {"forward": float(random.exponential(6)), "backward": float(random.exponential(6))}
            time = 300 + random.normal(0, 10) + (4 * bits["forward"] if times_from_surprisal else 0.0)
            word = ReadWord("x" * int(random.integers(1, 9)), story, zone, time)
            words.append(ScoredWord(word, float(random.random()), bits, is_known=True, is_at_edge=zone % 20 == 0))
    return words


def test_surprisal_that_times_depend_on_adds_likelihood_and_noise_does_not():
    words = scored_words(times_from_surprisal=True)
    added = added_likelihood(words, ["forward"])
    assert len(added) == 4 * (198 - 9)
    # the variance of the errors falls from 10^2 + (4 * 6)^2 to 10^2
    assert added.mean() == pytest.approx(0.5 * math.log(6.76), abs=0.15)
    assert added.mean() > 10 * added.std() / math.sqrt(len(added))
    assert abs(added_likelihood(words, ["backward"]).mean()) < 0.02
    assert abs(added_likelihood(scored_words(times_from_surprisal=False), ["forward"]).mean()) < 0.02


def test_a_story_is_predicted_from_the_others_and_not_from_itself():
    slopes = {1: 4.0, 2: -4.0}
    opposite = [
        replace(each, word=replace(each.word, milliseconds=300 + slopes[each.word.story] * each.bits["forward"]))
        for each in scored_words(times_from_surprisal=False)
        if each.word.story in slopes
    ]
    assert added_likelihood(opposite, ["forward"]).mean() < -1  # what each story teaches is wrong for the other
    with pytest.raises(ValueError, match="there are fewer than two stories"):
        added_likelihood([each for each in opposite if each.word.story == 1], ["forward"])


def test_a_model_has_the_added_likelihood_of_each_direction_with_its_error(tmp_path: Path):
    stories = {item: list("abcabacbabca"[::item]) for item in (1, 2)}
    folder = write_stories(tmp_path / "external" / "natural_stories" / "ns", stories)
    rows = reading_times_results(tmp_path, str(write_toy(tmp_path / "toy")))
    names = [(row.layer, row.metric) for row in rows]
    assert names == [
        (way, name) for way in ("forward", "backward", "both") for name in ("added log likelihood", "standard error")
    ]
    (folder / "all_stories.tok").write_text("word\tzone\titem\n")
    with pytest.raises(ValueError, match=r"all_stories\.tok has nothing that can be measured"):
        reading_times_results(tmp_path, str(tmp_path / "toy"))
