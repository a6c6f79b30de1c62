"""The readers on real data, against the counts that were published with it.

The data is not in the repository; CONTRIBUTING.md says where it goes. Without it these tests are skipped.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from elmokit.metrics.spans import spans_from_tags
from elmokit.tasks.coreference.reader import CoreferenceDocument, read_coreference_documents
from elmokit.tasks.entailment.task import read_sentence_pairs
from elmokit.tasks.named_entities.reader import TaggedSentence, read_tagged_sentences
from elmokit.tasks.question_answering.reader import read_questions
from elmokit.tasks.semantic_roles.reader import PredicateInSentence, read_predicates
from elmokit.tasks.sentiment.reader import FIVE_CLASSES, read_texts
from paper.experiments import unpacked

DATA = Path(__file__).parents[2] / ".data"


def entities(path: Path) -> list[int]:
    """Sentences, tokens and entities."""
    read: list[TaggedSentence] = list(read_tagged_sentences(path))
    return [len(read), sum(len(each.tokens) for each in read), sum(len(spans_from_tags(each.tags)) for each in read)]


def roles(path: Path) -> list[int]:
    """Sentences, tokens, propositions and arguments."""
    read: list[PredicateInSentence] = list(read_predicates(path))
    sentences = {example.sentence: example.tokens for example in read}
    tags = [example.tags for example in read if example.tags]
    arguments = [span for each in tags for span in spans_from_tags(each) if span.label != "V"]
    return [len(sentences), sum(map(len, sentences.values())), len(tags), len(arguments)]


def coreference(path: Path) -> list[int]:
    """Documents, sentences, tokens, mentions, and entities of several mentions."""
    read: list[CoreferenceDocument] = list(read_coreference_documents(path))
    sizes = [len(cluster) for document in read for cluster in document.clusters]
    sentences = [sentence for document in read for sentence in document.sentences]
    return [len(read), len(sentences), sum(map(len, sentences)), sum(sizes), sum(size > 1 for size in sizes)]


def pairs(path: Path) -> list[int]:
    """Pairs, and pairs without a label."""
    labels = Counter(pair.label for pair in read_sentence_pairs(path))
    return [labels.total(), labels[None]]


def questions(path: Path) -> list[int]:
    """Questions, passages and answers."""
    read = list(read_questions(path))
    return [len(read), len({each.passage.text for each in read}), sum(len(each.answers) for each in read)]


def trees(path: Path) -> list[int]:
    """Sentences of each class, phrases, and sentences of two classes."""
    classes = Counter(text.label for text in read_texts(path))
    binary = sum(text.label is not None for text in read_texts(path, num_classes=2))
    return [*(classes[label] for label in FIVE_CLASSES), sum(1 for _ in read_texts(path, phrases=True)), binary]


def nsmc(path: Path) -> list[int]:
    return [Counter(text.label for text in read_texts(path))[label] for label in "01"]


@pytest.mark.parametrize(
    ("name", "count", "published"),
    [
        ("tasks/conll2003/eng.testb", entities, [3_453, 46_435, 5_648]),
        ("tasks/srl_ewt_propbank/dev.verbs.gold_conll", roles, [1_968, 24_892, 3_221, 7_878]),
        ("tasks/coref_ontogum/dev.gold_conll", coreference, [30, 1_575, 28_119, 3_818, 855]),
        ("tasks/snli/snli_1.0_dev.jsonl", pairs, [9_842, 0]),
        ("tasks/snli_counterfactual/original_test.tsv", pairs, [400, 0]),
        ("ko/tasks/nli_klue/dev.jsonl", pairs, [2_038, 0]),
        ("tasks/squad_v1.1/dev-v1.1.json", questions, [10_570, 2_067, 34_726]),
        ("tasks/sst/dev.txt", trees, [139, 289, 229, 279, 165, 41_447, 872]),
        ("ko/tasks/nsmc/dev.tsv", nsmc, [5_000, 5_000]),
    ],
)
def test_counts_are_the_published_ones(name: str, count: Callable[[Path], Iterable[Any]], published: list[int]):
    path = unpacked((DATA / name).parent) / Path(name).name
    if not path.is_file():
        pytest.skip(f"the data of the tasks is not unpacked: no {path}")
    assert count(path) == published
