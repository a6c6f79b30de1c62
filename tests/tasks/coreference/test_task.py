from __future__ import annotations

import pytest

from elmokit.tasks.coreference.reader import CoreferenceDocument, read_coreference_documents
from elmokit.tasks.coreference.recipes import CoreferenceConfig
from elmokit.tasks.coreference.task import from_json, from_text, read, result, score, symbols, to_text

SENTENCES = [["Ann", "saw", "the", "cat", "."], ["It", "saw", "her", "."]]
CLUSTERS = [[(0, 0), (7, 7)], [(2, 3), (5, 5)]]
EXAMPLE = CoreferenceDocument("GUM_news_x", 2, SENTENCES, ["Bob"] * 5 + ["-"] * 4, CLUSTERS)


def test_writes_columns_that_its_reader_reads(write):
    assert list(read_coreference_documents(write(to_text(EXAMPLE, CLUSTERS)))) == [EXAMPLE]
    reading = read(write("\n".join([to_text(EXAMPLE, CLUSTERS)] * 2)), CoreferenceConfig(), True)
    assert reading.examples == [EXAMPLE, EXAMPLE] and not reading.skipped


def test_scores_as_conll2012():
    numbers = score([EXAMPLE, EXAMPLE], [CLUSTERS, [[(0, 0), (7, 7)], [(1, 1), (5, 5)]]])
    # MUC: 2 + 1 of 4 links. B-cubed: 4 + 2 of 8 mentions wholly and one a half. CEAF-e: 2 + 1 + a half of 4 clusters.
    assert numbers["muc_f1"] == pytest.approx(100 * 3 / 4)
    assert numbers["b_cubed_precision"] == pytest.approx(100 * 6.5 / 8)
    assert numbers["ceaf_e_recall"] == pytest.approx(100 * 3.5 / 4)
    assert numbers["average_f1"] == pytest.approx(100 * (6 + 6.5 + 7) / 8 / 3)
    assert numbers["mentions_f1"] == pytest.approx(100 * 7 / 8)


def test_labels_are_genres():
    other = CoreferenceDocument("bc/cnn/00/cnn_0000", 0, SENTENCES, ["-"] * 9, [])
    nameless = CoreferenceDocument("text", 0, SENTENCES, ["-"] * 9, [])
    novel = CoreferenceDocument("the_old_house", 0, SENTENCES, ["-"] * 9, [])  # a title, not a genre of GUM
    assert symbols([EXAMPLE, other, nameless, novel, EXAMPLE]) == ["bc", "news"]


def test_reads_json():
    named = CoreferenceDocument("bc/x", 0, SENTENCES, ["Bob"] * 5 + ["Ann"] * 4, [])
    assert from_json({"sentences": SENTENCES, "speakers": ["Bob", "Ann"], "name": "bc/x"}) == named
    made = from_json({"text": "Ann saw the cat. It saw her.", "name": "bc/x"})
    assert (made.name, made.sentences, made.speakers) == ("bc/x", SENTENCES, ["-"] * 9)
    assert from_json(result(EXAMPLE, CLUSTERS).to_dict()).sentences == SENTENCES
    assert from_json({"tokens": SENTENCES[0]}).sentences == SENTENCES[:1]
    assert from_text("Ann saw the cat. It saw her.") == CoreferenceDocument("text", 0, SENTENCES, ["-"] * 9, [])


def test_writes_json():
    made = result(EXAMPLE, CLUSTERS)
    assert made.to_dict()["name"] == "GUM_news_x" and made.to_dict()["sentences"] == SENTENCES
    assert made.to_dict()["clusters"][1] == [
        {"text": "the cat", "first": 2, "last": 3, "start": 8, "end": 15},
        {"text": "It", "first": 5, "last": 5, "start": 18, "end": 20},
    ]
    assert repr(made) == "<ResolvedDocument 'Ann saw the cat . It saw her .': 'Ann' = 'her'; 'the cat' = 'It'>"


def test_mentions_are_at_their_places_in_the_text():
    text = "  Ann saw the\tcat.  It  saw “her”.  "
    made = result(from_text(text), [[(2, 3), (5, 5)]])
    assert made.text == text
    assert [text[mention.start : mention.end] for mention in made.clusters[0]] == ["the\tcat", "It"]
    made = result(from_json({"text": "Ann's  dog.", "tokens": ["Ann", "'s", "dog", "."]}), [[(0, 0), (2, 2)]])
    assert made.text == "Ann's  dog." and [mention.start for mention in made.clusters[0]] == [0, 7]
