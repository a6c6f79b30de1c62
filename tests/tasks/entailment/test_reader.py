import json
from dataclasses import replace
from pathlib import Path

import pytest

from elmokit.tasks.entailment.reader import SentencePair, read_sentence_pairs


def pair(**fields: object) -> str:
    return json.dumps({"gold_label": "neutral", "sentence1": "A dog.", "sentence2": "It's a cat."} | fields)


def read(path: Path) -> list[SentencePair]:
    return list(read_sentence_pairs(path))


def test_reads_snli_and_keeps_what_has_no_label(write):
    path = write(f"{pair(captionID='x')}\n\n{pair(gold_label='-')}\n")
    tokens = ["A", "dog", "."], ["It", "'s", "a", "cat", "."]
    assert read(path) == [SentencePair(*tokens, "neutral"), SentencePair(*tokens, None)]


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
    assert read(write(text)) == pairs


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"{pair()}\n{pair()[:-1]}", "data, line 2: is not valid JSON: .* at character \\d+"),
        ("\n", "data has no pairs; expected JSON lines, or a header"),
        (f"{pair()}\n[]", "data, line 2: holds a list; expected an object"),
        (
            pair(gold_label="perhaps"),
            "data, line 1: the label is 'perhaps'; expected entailment, neutral, contradiction",
        ),
        (pair(gold_label=1), "data, line 1: the label is .1.; expected entailment, .* for none; write the names"),
        (pair(sentence2=" \u200b"), "data, line 1, hypothesis: '\\\\u200b' has no tokens"),
        (
            '{"sentence2": "a", "label": "neutral"}',
            "data, line 1: field sentence1: is missing; there are sentence2, label",
        ),
        ("premise\thypothesis\tlabel\na\tb\n", "data, line 2: 2 tab-separated columns, but 3 in the header"),
        ("premise\thypothesis\tlabel\na\t\tneutral\n", "data, line 2, hypothesis: '' has no tokens"),
        ("premise\thypothesis\na\tb\n", "data, line 1: the header has no column gold_label or label"),
        (f"[{pair()}, {pair(gold_label='x')}]", "data, pair 1: the label is 'x'; expected entailment"),
        (f"[{pair()},\n{pair(gold_label=1)}]", "data, pair 1: the label is '1'; .*; write the names"),
        (f"[{pair()},\n{pair()}", "data: is not valid JSON: .* at line 2, character"),
        ("[ ]\n", "data has no pairs; the list is empty"),
        ("[1]", r"data: field pairs\[0\]: is a number; expected an object"),
        (f"[{pair(premise=' ', sentence1=' ')}]", "data, pair 0, premise: ' ' has no tokens"),
    ],
)
def test_refuses(write, text: str, message: str):
    with pytest.raises(ValueError, match=message):
        read(write(text))
