"""IMS with word embeddings: a linear support vector machine for each word (extra `comparators`).

Features: parts of speech around the word, surrounding words and local collocations (Zhong and Ng, 2010); and, with word
vectors, their sum over the context, which decays with the distance (Iacobacci et al., 2016). Surrounding words are
those of the word's own sentence, as they are spelled; the original program takes lemmas of the whole text without stop
words.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from elmokit.model.vector_source import VectorSource
from elmokit.system.progress_bar import progress_bar
from elmokit.system.python import require
from paper.probes.sense_corpora import Instance, Senses, SenseSentence, Word

if TYPE_CHECKING:
    from jaxtyping import Float

TAG_WINDOW = 3
COLLOCATIONS = ((-2, -2), (-1, -1), (1, 1), (2, 2), (-2, -1), (-1, 1), (1, 2), (-3, -1), (-2, 1), (-1, 2), (1, 3))
"""First and last place of each collocation, counted from the word."""
VECTOR_WINDOW = 10
"""Tokens on each side whose vectors are summed; the farthest counts a tenth of the nearest."""
_OUTSIDE = "<none>"


class _Example(NamedTuple):
    sentence: SenseSentence
    word: Instance
    around: Float[np.ndarray, " E"] | None
    """The sum of the vectors around the word, if there are any."""


@dataclass(frozen=True)
class _Classifier:
    """Either the only sense of a word, or what chooses among several."""

    senses: tuple[str, ...]
    vectorizer: Any = None
    machine: Any = None


@dataclass(frozen=True)
class TrainedIMS:
    """A classifier for each word of the training corpus."""

    classifiers: Mapping[Word, _Classifier]
    vectors: VectorSource | None
    surrounding_words: bool

    def predict(self, sentences: Sequence[SenseSentence], senses: Senses) -> dict[str, str]:
        """A sense for each word by its name; the first one of the dictionary for words that were not trained.

        A word that the dictionary lacks too has no answer.
        """
        answers: dict[str, str] = {}
        for example in _examples(sentences, self.vectors):
            name, word = example.word.name, example.word.word
            classifier = self.classifiers.get(word)
            if classifier is not None and classifier.machine is not None:
                row = _rows([example], classifier.vectorizer, self.surrounding_words)
                answers[name] = str(classifier.machine.predict(row)[0])
            elif first := (classifier.senses if classifier else senses.get(word, ()))[:1]:
                answers[name] = first[0]
        return answers


def train_ims(
    sentences: Sequence[SenseSentence], *, vectors: VectorSource | None = None, surrounding_words: bool = True
) -> TrainedIMS:
    """Train a classifier for each annotated word; an occurrence with several senses is an example of each.

    vectors: word vectors (layer 0 is read) for the embedding feature; None leaves it out.
    surrounding_words: False leaves out the surrounding words, as the paper's IMS-s+emb does.
    Raises ValueError without scikit-learn.
    """
    purpose = "training sense classifiers"
    extraction = require("sklearn.feature_extraction", extra="comparators", purpose=purpose, package="scikit-learn")
    svm = require("sklearn.svm", extra="comparators", purpose=purpose, package="scikit-learn")
    examples: dict[Word, list[_Example]] = {}
    for example in _examples(sentences, vectors):
        examples.setdefault(example.word.word, []).append(example)
    classifiers: dict[Word, _Classifier] = {}
    with progress_bar(unit="word", total=len(examples)) as bar:
        for name, occurrences in examples.items():
            labelled = [(example, sense) for example in occurrences for sense in example.word.senses]
            senses = tuple(sorted({sense for _, sense in labelled}))
            if len(senses) > 1:
                vectorizer = extraction.DictVectorizer()
                vectorizer.fit([_features(example, surrounding_words) for example, _ in labelled])
                rows = _rows([example for example, _ in labelled], vectorizer, surrounding_words)
                machine = svm.LinearSVC(random_state=0).fit(rows, [sense for _, sense in labelled])
                classifiers[name] = _Classifier(senses, vectorizer, machine)
            elif senses:
                classifiers[name] = _Classifier(senses)
            bar.update()
    return TrainedIMS(classifiers, vectors, surrounding_words)


def _examples(sentences: Sequence[SenseSentence], vectors: VectorSource | None) -> Iterator[_Example]:
    if vectors is not None:
        vectors.add(sentence.tokens for sentence in sentences)
    for sentence in sentences:
        context = None if vectors is None else vectors([sentence.tokens])[0, 0].numpy()
        for word in sentence.words:
            yield _Example(sentence, word, None if context is None else decayed_sum(context, word))


def _features(example: _Example, surrounding_words: bool) -> dict[str, float]:
    """The discrete features; each is 1."""
    tokens, tags = [token.lower() for token in example.sentence.tokens], example.sentence.tags
    before, after = example.word.target.start, example.word.target.end - 1

    def at(items: Sequence[str], place: int) -> str:
        """The item at a place that is counted from the word."""
        index = before + place if place < 0 else after + place
        return items[index] if 0 <= index < len(items) else _OUTSIDE

    features = {f"tag {place} {at(tags, place)}": 1.0 for place in range(-TAG_WINDOW, TAG_WINDOW + 1)}
    for first, last in COLLOCATIONS:
        places = [place for place in range(first, last + 1) if place != 0]
        features[f"{first} to {last} {' '.join(at(tokens, place) for place in places)}"] = 1.0
    if surrounding_words:
        around = tokens[:before] + tokens[after + 1 :]
        features |= {f"word {token}": 1.0 for token in around if any(map(str.isalpha, token))}
    return features


def _rows(examples: Sequence[_Example], vectorizer: Any, surrounding_words: bool) -> Any:
    """A sparse matrix with a row for each example: its features, and the sum of the vectors around it, if any."""
    sparse = require("scipy.sparse", extra="comparators", purpose="training sense classifiers")
    rows = vectorizer.transform([_features(example, surrounding_words) for example in examples])
    dense = [example.around for example in examples if example.around is not None]
    if dense:
        rows = sparse.hstack([rows, np.stack(dense)])
    rows = rows.tocsr()
    indices = (rows.data, rows.indices.astype(np.int32), rows.indptr.astype(np.int32))  # all that LinearSVC accepts
    return sparse.csr_matrix(indices, shape=rows.shape)


def decayed_sum(vectors: Float[np.ndarray, "T E"], word: Instance) -> Float[np.ndarray, " E"]:
    """The sum of the vectors around a word, each times `(1 - a) ** (distance - 1)` with `a = 1 - 0.1 ** (1 / (W - 1))`.

    W is `VECTOR_WINDOW`, and the word's own vectors are left out.
    """
    decay = 0.1 ** (1 / (VECTOR_WINDOW - 1))
    total = np.zeros(vectors.shape[1], vectors.dtype)
    for distance in range(1, VECTOR_WINDOW + 1):
        for index in (word.target.start - distance, word.target.end - 1 + distance):
            if 0 <= index < len(vectors):
                total += decay ** (distance - 1) * vectors[index]
    return total
