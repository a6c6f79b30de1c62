"""The readers on real data, against the counts that were published with it.

The data is not in the repository; CONTRIBUTING.md says where it goes. Without it these tests are skipped.
"""

from collections import Counter
from pathlib import Path

import pytest

from elmokit.metrics.spans import spans_from_tags
from elmokit.tasks.coreference.reader import read_coreference_documents
from elmokit.tasks.entailment.reader import read_sentence_pairs
from elmokit.tasks.named_entities.reader import read_tagged_sentences
from elmokit.tasks.question_answering.reader import read_questions
from elmokit.tasks.semantic_roles.reader import read_role_sentences
from elmokit.tasks.sentiment.reader import FIVE_CLASSES, read_labelled_texts, read_trees
from paper.data_folders import unpacked

DATA = Path(__file__).parents[2] / ".data" / "tasks"


def data(name: str) -> Path:
    path = unpacked((DATA / name).parent) / Path(name).name
    if not path.is_file():
        pytest.skip(f"the data of the tasks is not unpacked: no {path}")
    return path


@pytest.mark.parametrize(
    ("name", "num_sentences", "num_tokens", "num_entities"),
    [("conll2003/eng.testa", 3_250, 51_362, 5_942), ("conll2003/eng.testb", 3_453, 46_435, 5_648)],
)
def test_conll2003(name: str, num_sentences: int, num_tokens: int, num_entities: int):
    sentences = list(read_tagged_sentences(data(name)))
    assert len(sentences) == num_sentences
    assert sum(len(sentence.tokens) for sentence in sentences) == num_tokens
    assert sum(len(spans_from_tags(sentence.tags)) for sentence in sentences) == num_entities


def test_klue_ner():
    sentences = list(read_tagged_sentences(data("ko/ner_klue/test.conll")))
    assert (len(sentences), sum(len(spans_from_tags(sentence.tags)) for sentence in sentences)) == (1_020, 2_967)


@pytest.mark.parametrize(
    ("name", "num_sentences", "num_tokens", "num_propositions", "num_arguments"),
    [("dev", 1_968, 24_892, 3_221, 7_878), ("test", 2_058, 24_944, 3_094, 7_640)],
)
def test_ewt_propbank(name: str, num_sentences: int, num_tokens: int, num_propositions: int, num_arguments: int):
    sentences = list(read_role_sentences(data(f"srl_ewt_propbank/{name}.verbs.gold_conll")))
    propositions = [proposition for sentence in sentences for proposition in sentence.propositions]
    spans = [span for proposition in propositions for span in spans_from_tags(proposition.tags)]
    assert len(sentences) == num_sentences
    assert sum(len(sentence.tokens) for sentence in sentences) == num_tokens
    assert len(propositions) == num_propositions
    assert sum(span.label != "V" for span in spans) == num_arguments


@pytest.mark.parametrize(
    ("name", "num_documents", "num_sentences", "num_tokens", "num_mentions", "num_entities"),
    [("dev", 30, 1_575, 28_119, 3_818, 855), ("test", 30, 1_464, 28_397, 3_581, 857)],
)
def test_ontogum(
    name: str, num_documents: int, num_sentences: int, num_tokens: int, num_mentions: int, num_entities: int
):
    documents = list(read_coreference_documents(data(f"coref_ontogum/{name}.gold_conll")))
    clusters = [cluster for document in documents for cluster in document.clusters]
    assert len(documents) == num_documents
    assert sum(len(document.sentences) for document in documents) == num_sentences
    assert sum(len(document.speakers) for document in documents) == num_tokens
    assert sum(map(len, clusters)) == num_mentions
    assert sum(len(cluster) > 1 for cluster in clusters) == num_entities


@pytest.mark.parametrize(
    ("name", "num_pairs"),
    [
        ("snli/snli_1.0_dev.jsonl", 9_842),
        ("snli_counterfactual/original_test.tsv", 400),
        ("snli_counterfactual/revised_combined_dev.tsv", 800),
        ("ko/nli_klue/dev.jsonl", 2_038),
    ],
)
def test_entailment(name: str, num_pairs: int):
    labels = Counter(pair.label for pair in read_sentence_pairs(data(name)))
    assert (labels.total(), labels[None]) == (num_pairs, 0)


def test_squad():
    questions = list(read_questions(data("squad_v1.1/dev-v1.1.json")))
    assert len(questions) == 10_570
    assert len({question.passage.text for question in questions}) == 2_067
    assert sum(len(question.answers) for question in questions) == 34_726


@pytest.mark.parametrize(
    ("name", "num_by_class", "num_phrases", "num_binary"),
    [
        ("dev", [139, 289, 229, 279, 165], 41_447, 872),
        ("test", [279, 633, 389, 510, 399], 82_600, 1_821),
    ],
)
def test_stanford_sentiment_treebank(name: str, num_by_class: list[int], num_phrases: int, num_binary: int):
    path = data(f"sst/{name}.txt")
    classes = Counter(text.label for text in read_trees(path))
    assert [classes[label] for label in FIVE_CLASSES] == num_by_class
    assert sum(1 for _ in read_trees(path, phrases=True)) == num_phrases
    assert sum(text.label is not None for text in read_trees(path, num_classes=2)) == num_binary


def test_nsmc():
    assert Counter(text.label for text in read_labelled_texts(data("ko/nsmc/dev.tsv"))) == {"0": 5_000, "1": 5_000}
