"""Which words does a reader find hard? Surprisal of a garden-path sentence; with Natural Stories, a regression too.

    python examples/reading_times.py [FOLDER]

FOLDER has the stories' `all_stories.tok` and `processed_wordinfo.tsv` (github.com/languageMIT/naturalstories).
"""

import sys
from pathlib import Path

import numpy as np

from elmokit import Elmo, split_sentences, tokenize

GARDEN_PATH = "The old man the boat while the captain sleeps ."


def story_words(folder: Path) -> dict[str, list[tuple[str, float]]]:
    """The words of each story with their mean reading times, in milliseconds."""
    rows = [line.split("\t") for line in (folder / "processed_wordinfo.tsv").read_text("utf-8").splitlines()[1:]]
    times = {(story, zone): float(mean) for _, zone, story, _, mean, *_ in rows}
    stories: dict[str, list[tuple[str, float]]] = {}
    for line in (folder / "all_stories.tok").read_text("utf-8").splitlines()[1:]:
        word, zone, story = line.split("\t")
        if (story, zone) in times:
            stories.setdefault(story, []).append((word, times[story, zone]))
    return stories


def bits_of_words(elmo: Elmo, words: list[str]) -> list[float]:
    """Bits of each word of a story, read sentence by sentence with carried state: the sum over the word's tokens."""
    sentences = [[tokenize(word) for word in sentence.split()] for sentence in split_sentences(" ".join(words))]
    flat = [[token for word in sentence for token in word] for sentence in sentences]
    found = elmo.surprisal(flat, direction="forward", carry_state=True)
    ends = [np.cumsum([len(word) for word in sentence])[:-1] for sentence in sentences]
    return [float(bits.sum()) for one, at in zip(found, ends, strict=True) for bits in np.split(one.bits(), at)]


def log_likelihood(predictors: np.ndarray, times: np.ndarray) -> float:
    """Mean log likelihood of the times under a linear regression."""
    errors = times - predictors @ np.linalg.lstsq(predictors, times, rcond=None)[0]
    return float(-0.5 * (np.log(2 * np.pi * errors.var()) + 1))


elmo = Elmo.from_pretrained()
(found,) = elmo.surprisal([GARDEN_PATH.split()])
for token, bits in zip(found.tokens, found.bits(), strict=True):
    print(f"{token:10}{bits:6.1f} bits  {'#' * round(bits)}")

if len(sys.argv) > 1:
    rows, times = [], []
    for story in story_words(Path(sys.argv[1])).values():
        bits = bits_of_words(elmo, [word for word, _ in story])
        rows += [[1.0, len(word), number, *bits[number - 1 : number + 1]] for number, (word, _) in enumerate(story)][1:]
        times += [time for _, time in story][1:]
    table, observed = np.array(rows), np.array(times)
    added = log_likelihood(table, observed) - log_likelihood(table[:, :3], observed)
    print(f"{len(observed):,} words: surprisal adds {added:.4f} nats per word to length and position")
