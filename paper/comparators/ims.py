"""IMS with word embeddings: a linear support vector machine for each word (extra `comparators`).

The features are parts of speech around the word, surrounding words and local collocations (Zhong and Ng, 2010). With
word vectors, their sum over the context is added; weights decay with the distance (Iacobacci et al., 2016). Surrounding
words come from the word's sentence, in lower case; the original program takes lemmas of the text without stop words.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from elmokit.model.vector_source import VectorSource
from elmokit.system.optional import require
from elmokit.system.progress_bar import progress_bar
from paper.senses import Instance, Senses, SenseSentence, Word

if TYPE_CHECKING:
    from jaxtyping import Float

TAG_WINDOW = 3
COLLOCATIONS = ((-2, -2), (-1, -1), (1, 1), (2, 2), (-2, -1), (-1, 1), (1, 2), (-3, -1), (-2, 1), (-1, 2), (1, 3))
"""First and last place of each collocation, counted from the word."""
VECTOR_WINDOW = 10
"""Tokens on each side whose vectors are summed; the farthest counts a tenth of the nearest."""
_OUTSIDE = "<none>"
_Features = dict[str, float]


@dataclass(frozen=True)
class TrainedIMS:
    """A classifier of features for each word of the training corpus."""

    classifiers: Mapping[Word, Any]
    vectors: VectorSource | None
    surrounding_words: bool

    def predict(self, sentences: Sequence[SenseSentence], senses: Senses) -> dict[str, str]:
        """A sense for each word, by the word's name. A word that was not trained gets the dictionary's first sense.

        A word that the dictionary lacks too gets no answer.
        """
        answers: dict[str, str] = {}
        for asked, features in _examples(sentences, self.vectors, self.surrounding_words):
            if asked.word in self.classifiers:
                answers[asked.name] = str(self.classifiers[asked.word].predict([features])[0])
            elif first := senses.get(asked.word, ())[:1]:
                answers[asked.name] = first[0]
        return answers


def train_ims(
    sentences: Sequence[SenseSentence], *, vectors: VectorSource | None = None, surrounding_words: bool = True
) -> TrainedIMS:
    """Train a classifier for each annotated word; an occurrence with several senses is an example of each.

    vectors: word vectors (layer 0 is read) for the embedding feature; None leaves it out.
    surrounding_words: False leaves out the surrounding words, as the paper's IMS-s+emb does.
    Raises ValueError without scikit-learn.
    """
    dummy, extraction, pipeline, preprocessing, svm = (
        require(f"sklearn.{part}", extra="comparators", purpose="training sense classifiers", package="scikit-learn")
        for part in ("dummy", "feature_extraction", "pipeline", "preprocessing", "svm")
    )
    examples: dict[Word, list[tuple[_Features, str]]] = {}
    for known, features in _examples(sentences, vectors, surrounding_words):
        for sense in known.senses:
            examples.setdefault(known.word, []).append((features, sense))
    classifiers: dict[Word, Any] = {}
    with progress_bar(unit="word", total=len(examples)) as bar:
        for word, labelled in examples.items():
            features, senses = zip(*labelled, strict=True)
            machine = svm.LinearSVC(random_state=0) if len(set(senses)) > 1 else dummy.DummyClassifier()
            steps = (extraction.DictVectorizer(), preprocessing.FunctionTransformer(_with_narrow_indices), machine)
            classifiers[word] = pipeline.make_pipeline(*steps).fit(features, senses)
            bar.update()
    return TrainedIMS(classifiers, vectors, surrounding_words)


def _with_narrow_indices(rows: Any) -> Any:
    """A sparse matrix with 32-bit indices, because LinearSVC accepts no others."""
    rows.indices, rows.indptr = rows.indices.astype(np.int32), rows.indptr.astype(np.int32)
    return rows


def _examples(
    sentences: Sequence[SenseSentence], vectors: VectorSource | None, surrounding_words: bool
) -> Iterator[tuple[Instance, _Features]]:
    """The words of the sentences with their features: discrete ones with the value 1, and the sum of vectors."""
    if vectors is not None:
        vectors.add(sentence.tokens for sentence in sentences)
    for sentence in sentences:
        context = None if vectors is None else vectors([sentence.tokens])[0, 0].numpy()
        for word in sentence.words:
            features = dict.fromkeys(_discrete_features(sentence, word, surrounding_words), 1.0)
            if context is not None:
                features |= {f"vector {at}": value for at, value in enumerate(decayed_sum(context, word).tolist())}
            yield word, features


def _discrete_features(sentence: SenseSentence, word: Instance, surrounding_words: bool) -> Iterator[str]:
    tokens, tags = [token.lower() for token in sentence.tokens], sentence.tags
    before, after = word.target.start, word.target.end - 1

    def at(items: Sequence[str], place: int) -> str:
        """The item at a place that is counted from the word."""
        index = before + place if place < 0 else after + place
        return items[index] if 0 <= index < len(items) else _OUTSIDE

    yield from (f"tag {place} {at(tags, place)}" for place in range(-TAG_WINDOW, TAG_WINDOW + 1))
    for first, last in COLLOCATIONS:
        places = [place for place in range(first, last + 1) if place != 0]
        yield f"{first} to {last} {' '.join(at(tokens, place) for place in places)}"
    if surrounding_words:
        around = tokens[:before] + tokens[after + 1 :]
        yield from (f"word {token}" for token in around if any(map(str.isalpha, token)))


def decayed_sum(vectors: Float[np.ndarray, "T E"], word: Instance) -> Float[np.ndarray, " E"]:
    """The sum of the vectors around a word, each times `(1 - a) ** (distance - 1)` with `a = 1 - 0.1 ** (1 / (W - 1))`.

    W is `VECTOR_WINDOW`, and the word's own vectors are left out.
    """
    places = np.arange(len(vectors))
    distances = np.maximum(word.target.start - places, places - word.target.end + 1)
    near = (distances > 0) & (distances <= VECTOR_WINDOW)
    return 0.1 ** ((distances[near] - 1) / (VECTOR_WINDOW - 1)) @ vectors[near]
