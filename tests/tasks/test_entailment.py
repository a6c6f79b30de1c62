"""Pairs of sentences: read, written, scored and classified."""

import json
from dataclasses import replace

import pytest
import torch
from syrupy.assertion import SnapshotAssertion
from torch import Tensor

from elmokit.tasks.entailment.model import EntailmentClassifier
from elmokit.tasks.entailment.task import TASK, SentencePair, read_sentence_pairs
from task_examples import ENTAILMENT


def pair(**fields: object) -> str:
    return json.dumps({"gold_label": "neutral", "sentence1": "A dog.", "sentence2": "It's a cat."} | fields)


KLUE = {"guid": "klue-nli", "premise": "비가 온다.", "hypothesis": "맑다.", "gold_label": "contradiction"}
NEUTRAL = KLUE | {"gold_label": " neutral ", "author": "contradiction"}  # spaces are not part of a label
IT_RAINS = SentencePair(["비가", "온다", "."], ["맑다", "."], "contradiction")


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ('{"id": "1", "premise": "비가 온다.", "hypothesis": "맑다.", "label": "contradiction"}', [IT_RAINS]),
        (json.dumps([KLUE, NEUTRAL], indent=2, ensure_ascii=False), [IT_RAINS, replace(IT_RAINS, label="neutral")]),
        *(  # SICK, with its labels in upper case
            (
                f"pair_ID\tsentence_A\tsentence_B\trelatedness_score\t{column}\n1\tA dog\tA cat\t3.2\tNEUTRAL\n",
                [SentencePair(["A", "dog"], ["A", "cat"], "neutral")],
            )
            for column in ("entailment_judgment", "entailment_label")
        ),
        (
            'pairID\tsentence1\tsentence2\tgold_label\n1\tA "dog\tA cat\tentailment\n2\ta\tb\t-\n',
            [SentencePair(["A", '"', "dog"], ["A", "cat"], "entailment"), SentencePair(["a"], ["b"], None)],
        ),
    ],
    ids=["KLUE, lines", "KLUE, a list", "SICK", "SICK, the other column", "a table"],
)
def test_reads_other_data_sets(write, text: str, pairs: list[SentencePair]):
    assert list(read_sentence_pairs(write(text))) == pairs


def test_refuses(refusals, snapshot: SnapshotAssertion):
    texts = [
        f"{pair()}\n{pair()[:-1]}",
        "\n",
        pair(gold_label=1.5),
        pair(sentence2=" \u200b"),
        '{"sentence2": "a", "label": "neutral"}',
        "premise\thypothesis\na\tb\n",
        f"[{pair()},\n{pair(gold_label=True)}]",
        f"[{pair()},\n{pair()}",
        "[ ]\n",
    ]
    assert refusals(read_sentence_pairs, texts) == snapshot


CAT = ["It", "'s", "a", "cat", "."]


def test_counts_the_pairs_without_a_label(write):
    without = "\n".join(pair(gold_label=label) for label in ("-", "", None, -1))
    reading = TASK.read(write(f"{pair()}\n{without}\n"), TASK.recipes["cpu"]().model, False)
    assert reading.examples == [SentencePair(["A", "dog", "."], CAT, "neutral")]
    assert reading.skipped == {"without a label": 4}
    assert TASK.sentences(reading.examples[0]) == (["A", "dog", "."], CAT)
    assert TASK.symbols(reading.examples) == ["entailment", "neutral", "contradiction"]


def test_labels_are_those_of_the_data(write):
    for text in ("premise\thypothesis\tlabel\na\tb\t1\na\tc\t0\n", f"{pair(gold_label=1)}\n{pair(gold_label=0)}\n"):
        examples = TASK.read(write(text), TASK.recipes["cpu"]().model, False).examples
        assert [example.label for example in examples] == ["1", "0"] and TASK.symbols(examples) == ["0", "1"]
    same = TASK.read(write(f"{pair(gold_label='same')}\n{pair()}\n"), TASK.recipes["cpu"]().model, False).examples
    assert TASK.symbols(same) == ["neutral", "same"]


@pytest.fixture
def classifier(stand_in_inputs) -> EntailmentClassifier:
    return ENTAILMENT.model(stand_in_inputs(ENTAILMENT.words(), output_dim=3))


def test_compares_each_token_with_what_the_other_sentence_has_for_it(classifier: EntailmentClassifier):
    seen: list[Tensor] = []
    classifier.encoder.register_forward_hook(lambda *call: seen.append(call[2]))
    classifier.projection.register_forward_pre_hook(lambda _, arguments: seen.append(arguments[0]))
    pair = SentencePair(["A", "dog"], ["It", "rains"], None)
    classifier.predict([pair])
    encoded, compared = seen
    outputs = classifier.inputs([pair.premise, pair.hypothesis]).outputs
    premise, hypothesis = torch.cat([encoded, outputs], dim=2)
    other = (premise[0] @ hypothesis.T).softmax(dim=0) @ hypothesis  # for the premise's first token
    token = premise[0]
    expected = torch.cat([token, other, token - other, token * other])
    torch.testing.assert_close(compared[0, 0], expected)
    back = (hypothesis[1] @ premise.T).softmax(dim=0) @ premise  # for the hypothesis' second token
    torch.testing.assert_close(compared[1, 1, 19:38], back)


def test_pools_mean_and_maximum_of_the_premise_and_then_of_the_hypothesis(classifier: EntailmentClassifier):
    seen: list[Tensor] = []
    both = [[[1.0] * 16, [3.0] * 16], [[5.0] * 16, [0.0] * 16]]
    classifier.inference.register_forward_hook(lambda *_: torch.tensor(both))
    classifier.hidden.register_forward_pre_hook(lambda _, arguments: seen.append(arguments[0]))
    classifier.predict([SentencePair(["A", "dog"], ["rains"], None)])
    torch.testing.assert_close(seen[0], torch.tensor([[2.0] * 16 + [3.0] * 16 + [5.0] * 32]))
