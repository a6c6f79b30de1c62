"""Table 4: nearest contexts of `play`, and how often the nearest other occurrence is alike, over all of SemCor."""

from __future__ import annotations

from collections.abc import Sequence

from elmokit.analysis.polysemes import read_polysemes
from elmokit.analysis.polysemy import nearest_hits, occurrence_vectors
from elmokit.text.tokenizer import tokenize
from paper.data_folders import GLOVE, glove_file
from paper.printed import TABLE_4
from paper.probes.neighbours import nearest_contexts, nearest_words, neighbour_shares
from paper.probes.sense_corpora import SenseCorpus
from paper.probes.targets import mixes, sentence_vectors
from paper.reproduction import OurRow, Reproduction, Request
from paper.runs import Evidence
from paper.systems import (
    Measured,
    System,
    SystemTable,
    english_systems,
    gain_name,
    measure_systems,
    read_system_results,
    share_gain,
)
from paper.table5 import TOP_LAYER_OVER_OTHERS, read_semcor

NAME = "table4"
WORD = "play"
STATIC_ROW = "GloVe"
QUERIES = {
    "biLM, 1": (tokenize("He made a spectacular play on the grounder in the ninth inning ."), 4),
    "biLM, 2": (tokenize("The actress signed to do a Broadway play next season ."), 7),
}
"""Sentences of ours, in the two senses of the paper's."""
POS, SENSE, POLYSEMES = "same part of speech", "same sense", "list of polysemes"
WORDS_AROUND = 4
_PAIRS = (("layer 0", "layer 2"), *TOP_LAYER_OVER_OTHERS)


def compute(request: Request) -> None:
    """Find neighbours with each system."""
    corpus = read_semcor(request.data_dir)
    measure_systems(
        NAME,
        request,
        lambda system: _measure(system, corpus),
        default=english_systems(request.data_dir),
        data=f"SemCor 3.0, {len(corpus.instances):,} annotated words in {len(corpus.sentences):,} sentences",
        without_vectors=lambda: Measured(
            {}, texts={STATIC_ROW: ", ".join(nearest_words(glove_file(request.data_dir), WORD))}
        ),
    )


def _measure(system: System, corpus: SenseCorpus) -> Measured:
    shares = neighbour_shares(system.layers, corpus)
    occurrences = read_polysemes()
    of_list = occurrence_vectors(sentence_vectors(system.layers, [each.tokens for each in occurrences]), occurrences)
    rows = {
        row: {POS: 100 * float(same_pos.mean()), SENSE: 100 * float(same_sense.mean())}
        for row, (same_pos, same_sense) in shares.items()
    }
    for row, mix in mixes(system.layers.num_layers).items():
        rows[row][POLYSEMES] = 100 * float(nearest_hits(mix(of_list), occurrences).mean())
    nearest = nearest_contexts(system.layers, list(QUERIES.values()), corpus.sentences)
    contexts = {
        f"{query}, {row}": shown_context(corpus.sentences[number], index)
        for row, of_queries in nearest.items()
        for query, (number, index) in zip(QUERIES, of_queries, strict=True)
    }
    gains = {
        gain_name(first, second): share_gain(shares[first][1].tolist(), shares[second][1].tolist())
        for first, second in _PAIRS
        if first in shares and second in shares
    }
    return Measured(rows, gains=gains, texts=contexts)


def shown_context(tokens: Sequence[str], index: int) -> str:
    """The token with a few words around it, in brackets."""
    before = tokens[max(0, index - WORDS_AROUND) : index]
    after = tokens[index + 1 : index + 1 + WORDS_AROUND]
    return " ".join([*before, f"[{tokens[index]}]", *after])


def our_rows(evidence: Evidence) -> list[OurRow]:
    """The nearest words of GloVe, and the nearest context of each of our two sentences, by system and layer."""
    rows: list[OurRow] = []
    for result in read_system_results(evidence.results, NAME):
        for name, text in result.measured.texts.items():
            query, _, layer = name.rpartition(", ")
            if query in QUERIES:
                row = query if result.is_bilm else f"{query}, other vectors"
                rows.append(OurRow(row, f"{result.label}, {layer}", (" ".join(QUERIES[query][0]), text)))
            else:
                rows.append(OurRow(STATIC_ROW, GLOVE, (WORD, text)))
    return rows


DETAILS = SystemTable(
    name=NAME,
    paper=TABLE_4,
    compute=compute,
    row=lambda result, row: None,
    title="Neighbours that are alike",
    about="Percent of occurrences whose nearest other occurrence of the same lemma has the same part of speech, or the "
    "same sense among those of its part of speech; over lemmas that have several. `chance` is a random other "
    "occurrence. The list of polysemes is ours: 24 English words in 384 sentences. The two sentences in the table "
    "above are like the paper's own, which are in SemCor and are the best answers.",
    pairs=_PAIRS,
    differences="Same sense, in points.",
)
REPRODUCTION = Reproduction(NAME, TABLE_4, our_rows, DETAILS.details, compute)
