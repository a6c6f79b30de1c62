"""Texts with a sentiment: read, written, scored and classified."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor

from elmokit.tasks.inputs import EncodedTokens
from elmokit.tasks.sentiment.model import CNNClassifier, Maxout
from elmokit.tasks.sentiment.task import FIVE_CLASSES, TASK, LabelledText, SentimentConfig, read_texts
from task_examples import SENTIMENT

TREES = """(3 (2 It) (4 (2 's) (3 good)))

(1 (2 -LRB-) (0 bad\\/worse))
"""


def trees(path: Path, **options: object) -> list[tuple[str, str | None]]:
    return [(" ".join(text.tokens), text.label) for text in read_texts(path, **options)]


def test_reads_the_sentences_and_the_phrases_of_trees(write):
    assert trees(write(TREES)) == [("It 's good", "positive"), ("( bad/worse", "negative")]
    assert trees(write("(2 (2 2\u00a01\\/2) (2 a))"))[0][0] == "2\u00a01/2 a"  # only spaces separate words
    assert trees(write(TREES), phrases=True) == [
        ("It 's good", "positive"),
        ("'s good", "very positive"),
        ("good", "positive"),
        ("'s", "neutral"),
        ("It", "neutral"),
        ("( bad/worse", "negative"),
        ("bad/worse", "very negative"),
        ("(", "neutral"),
    ]


def test_with_two_classes_what_is_neutral_has_no_label(write):
    path = write("\n".join(f"({label} x)" for label in range(5)))
    assert [label for _, label in trees(path)] == list(FIVE_CLASSES)
    assert [label for _, label in trees(path, num_classes=2)] == ["negative", "negative", None, "positive", "positive"]
    with pytest.raises(ValueError, match="num_classes is 3; expected 5, or 2"):
        trees(path, num_classes=3)


@pytest.mark.parametrize(
    ("tree", "character"),
    [
        ("(3 (2 It) (2 is)", 17),  # never closed
        ("(3 (2 It (2 is))", 6),
        ("(3 It is)", 3),
        ("(3 (2 It) is)", 10),
        ("(3 It))", 7),
        ("It", 1),
        ("(3 It) (2 is)", 7),  # a second tree
        ("(3 (2 ) (2 is))", 6),
        ("(3 a" + 20_000 * " " + "x", 3),  # must be refused at once
        *((tree, 1) for tree in ("(5 It)", "(It)", "((2 It))")),
    ],
)
def test_refuses_what_is_no_tree(write, tree: str, character: int):
    with pytest.raises(ValueError, match=f"data, line 2, character {character}: .* does not continue a tree; expected"):
        trees(write(f"(2 ok)\n{tree}\n"))


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        (  # a text may be empty, as some in NSMC are
            'id\tdocument\tlabel\trating\n1\t정말 "좋다"\t1\t10\n2\t \u200b\t0\t1\n',
            [LabelledText(["정말", '"', "좋다", '"'], "1"), LabelledText([], "0")],
        ),
        ("label\ttext\tx\n0\tIt's\t\n", [LabelledText(["It", "'s"], "0")]),
        ("sentence\tlabel\nfine\t1\n", [LabelledText(["fine"], "1")]),
        (
            '{"text": "fine", "label": 1}\n{"text": "bad", "label": "no"}\n',
            [LabelledText(["fine"], "1"), LabelledText(["bad"], "no")],
        ),
        ('[{"text": "fine", "label": 1, "id": null}]', [LabelledText(["fine"], "1")]),
    ],
)
def test_reads_tables(write, table: str, expected: list[LabelledText]):
    assert list(read_texts(write(table))) == expected
    with pytest.raises(ValueError, match="data, line 2: the label is ''; expected a label"):
        trees(write("text\tlabel\na\t\n"))


TWO_TREES = "(3 (2 It) (4 (2 's) (3 good)))\n(2 (2 so) (2 so))\n"


@pytest.mark.parametrize(
    ("text", "changes", "training", "tokens", "skipped"),
    [
        *(
            ("document\tlabel\n\t1\n굿\t0\n", {}, training, [["굿"]], {"without a word": 1})
            for training in (True, False)
        ),
        (TWO_TREES, {"min_phrase_tokens": 3}, True, [["It", "'s", "good"]], {"shorter than 3 tokens": 7}),
        (TWO_TREES, {"min_phrase_tokens": 3}, False, [["It", "'s", "good"], ["so", "so"]], {}),
        (TWO_TREES, {"num_classes": 2}, False, [["It", "'s", "good"]], {"neutral": 1}),
    ],
)
def test_counts_what_is_left_out(
    write, text: str, changes: dict[str, int], training: bool, tokens: list[list[str]], skipped: dict[str, int]
):
    reading = TASK.read(write(text), SentimentConfig(**changes), training)  # type: ignore[arg-type]
    assert [text.tokens for text in reading.examples] == tokens and reading.skipped == skipped


def test_trains_on_phrases_and_evaluates_on_sentences(write):
    path, config = write(TWO_TREES), SentimentConfig(phrases=True)
    assert len(TASK.read(path, config, True).examples) == 8
    assert [text.tokens for text in TASK.read(path, config, False).examples] == [["It", "'s", "good"], ["so", "so"]]
    assert len(TASK.read(path, replace(config, phrases=False), True).examples) == 2
    table = TASK.read(write("text\tlabel\nnot bad\t1\nbad\t0\n"), config, True).examples
    assert table == [LabelledText(["not", "bad"], "1"), LabelledText(["bad"], "0")]
    assert (TASK.symbols(table), TASK.sentences(table[0])) == (["0", "1"], [["not", "bad"]])


def test_a_filter_gives_its_largest_response_over_all_windows_that_touch_the_text():
    config = SentimentConfig(cnn_filters=((2, 1),), classifier="cnn")
    with pytest.raises(ValueError, match=r"cnn_filters are \(\(0, 8\),\); expected pairs"):
        replace(config, cnn_filters=((0, 8),))
    network = CNNClassifier(config, input_dim=1, output_dim=1, num_labels=2).eval()
    assert network.output_filters is not None
    for filters, weight in ((network.filters, [1.0, 10.0]), (network.output_filters, [1.0, 0.0])):
        convolution = filters.convolutions[0]
        with torch.no_grad():
            convolution.weight.copy_(torch.tensor([[weight]]))
            convolution.bias.fill_(-1.0)
    inputs = torch.tensor([[[1.0], [2.0], [3.0]], [[-1.0], [5.0], [9.0]]])
    mask = torch.tensor([[True, True, True], [True, False, False]])
    given: list[Tensor] = []
    network.linear.register_forward_pre_hook(lambda _, arguments: given.append(arguments[0]))
    network(EncodedTokens(inputs, inputs, mask))
    # windows of the first text: 0 1, 1 2, 2 3, 3 0; of the second: 0 -1, -1 0, with responses below 0
    torch.testing.assert_close(given[0], torch.tensor([[2.0 + 30 - 1, 3.0 - 1], [0.0, 0.0]]))


def test_each_output_is_the_largest_of_its_own_linear_functions():
    maxout = Maxout(input_dim=1, output_dim=2, pool_size=3)
    with torch.no_grad():
        maxout.linear.weight.copy_(torch.tensor([[1.0], [-1.0], [0.0], [2.0], [0.0], [0.0]]))
        maxout.linear.bias.copy_(torch.tensor([0.0, 0.0, 0.5, 0.0, 0.0, -1.0]))
    torch.testing.assert_close(
        maxout(torch.tensor([[3.0], [-3.0], [0.25]])), torch.tensor([[3.0, 6.0], [3.0, 0.0], [0.5, 0.5]])
    )


def test_bcn_pools_maximum_minimum_mean_and_what_it_attends_to(stand_in_inputs):
    network = SENTIMENT.model(stand_in_inputs(["so", "good"])).network
    pooled: list[Tensor] = []
    network.integrator.register_forward_hook(lambda *call: call[2].copy_(torch.tensor([[[1.0] * 16, [3.0] * 16]])))
    network.maxouts[0].register_forward_pre_hook(lambda _, arguments: pooled.append(arguments[0]))
    with torch.no_grad():
        network.pooling.score.weight.fill_(1.0)  # scores 16 and 48: all the weight is on the second token
        network(stand_in_inputs(["so", "good"])([["so", "good"]]))
    torch.testing.assert_close(pooled[0], torch.tensor([[3.0] * 16 + [1.0] * 16 + [2.0] * 16 + [3.0] * 16]))
