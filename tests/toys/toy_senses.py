"""A folder of data with the layouts of the real data, and vectors in which the next word decides what `bank` means."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from paper.probes import System

MONEY, RIVER, RUN = "bank%1:14:00::", "bank%1:17:01::", "bank%2:38:00::"
INDEX_SENSE = f"{RIVER} 09213565 1 25\n{MONEY} 08420278 2 20\n{RUN} 02039413 1 0\nzoo%1:06:00:: 03745146 1 0\n"


class CueLayers:
    """Layer 0 knows the word. Layer 1 adds the next word; so does layer 2, with longer vectors."""

    num_layers, dim = 3, 32

    def add(self, sentences: Iterable[Sequence[str]]) -> None:
        """Nothing to prepare."""

    def __call__(self, sentences: Sequence[Sequence[str]]) -> Tensor:
        longest = max(map(len, sentences))
        batch = torch.zeros(3, len(sentences), longest, self.dim)
        for row, tokens in enumerate(sentences):
            for at, token in enumerate(tokens):
                word, cue = self._vector(token), self._vector("".join(tokens[at + 1 : at + 2]))
                batch[:, row, at] = torch.stack([word, word + 2 * cue, 2 * word + 6 * cue])
        return batch

    def fingerprint(self) -> str:
        return "cues"

    def _vector(self, token: str) -> Tensor:
        randomness = np.random.default_rng(list(token.lower().encode()))
        return torch.from_numpy(randomness.standard_normal(self.dim)).float()


def cue_system(given: str = "cues", *, word_vectors: Path | None = None) -> System:
    return System(given, CueLayers())


def instance(name: str, text: str = "bank", *, lemma: str = "bank", pos: str = "NOUN") -> str:
    return f'<instance id="{name}" lemma="{lemma}" pos="{pos}">{text}</instance>'


def sense_xml(sentences: Iterable[str]) -> str:
    inside = "\n".join(f"<sentence>\n{sentence}\n</sentence>" for sentence in sentences)
    return (
        f'<?xml version="1.0" encoding="UTF-8" ?>\n<corpus lang="en">\n<text id="d0">\n{inside}\n</text>\n</corpus>\n'
    )


def words(text: str) -> str:
    return "".join(f'<wf lemma="{word}" pos="X">{word}</wf>' for word in text.split())


def write_senses(data: Path, keys: Path, sentences: Sequence[tuple[str, str, str, str]]) -> None:
    """Write sentences, given as (name, words before, words after, key), with `bank` between the words."""
    data.parent.mkdir(parents=True, exist_ok=True)
    pos = {"1": "NOUN", "2": "VERB"}
    data.write_text(
        sense_xml(
            words(before) + instance(name, pos=pos[key.partition("%")[2][0]]) + words(after)
            for name, before, after, key in sentences
        )
    )
    keys.write_text("".join(f"{name} {key}\n" for name, _, _, key in sentences))


def write_sense_data(folder: Path) -> Path:
    """Write SemCor and the five test sets, with WordNet's index."""
    framework = folder / "tasks/wsd_raganato/wsd_raganato"
    semcor = framework / "Training_Corpora/SemCor"
    known = [
        *((f"d0.s{n}", "the", "loans money", MONEY) for n in range(3)),
        *((f"d1.s{n}", "a muddy", "flooded", RIVER) for n in range(3)),
        *((f"d2.s{n}", "planes", "left", RUN) for n in range(2)),
    ]
    write_senses(semcor / "semcor.data.xml", semcor / "semcor.gold.key.txt", known)
    all_sets = framework / "Evaluation_Datasets/ALL"
    asked = [
        ("senseval2.d0", "our", "loans nothing", MONEY),
        ("senseval3.d0", "green", "flooded", RIVER),
        ("semeval2007.d0", "my", "loans", MONEY),
        ("semeval2013.d0", "planes", "left", RUN),
        ("semeval2015.d0", "this", "loans", RIVER),
    ]
    write_senses(all_sets / "ALL.data.xml", all_sets / "ALL.gold.key.txt", asked)
    (folder / "tasks/wordnet30/wordnet30").mkdir(parents=True)
    (folder / "tasks/wordnet30/wordnet30/index.sense").write_text(INDEX_SENSE)
    return folder
