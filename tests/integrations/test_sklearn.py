"""`ElmoVectorizer` is the kind of transformer that scikit-learn expects, and gives what `encode` gives."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from refusals import refused_options

pytest.importorskip("sklearn")

from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_union
from sklearn.utils import estimator_checks

from elmokit.elmo.elmo import Elmo
from elmokit.integrations.sklearn import ElmoVectorizer
from toy_bilm import random_bilm

TEXTS = ["A good film.", "A bad film!", "Good, good.", "Bad; so bad.", "The good one", "The bad one"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    Elmo(random_bilm()).save(folder / "toy")
    return folder / "toy"


@pytest.fixture
def fitted(folder: Path) -> Any:
    return ElmoVectorizer(folder, device="cpu").fit(TEXTS)


API_CHECKS = (
    *("estimator_cloneable", "estimator_repr", "estimator_tags_renamed", "get_params_invariance", "mixin_order"),
    *("no_attributes_set_in_init", "parameters_default_constructible", "set_params", "valid_tag_types"),
)


@pytest.mark.parametrize("check", API_CHECKS)
def test_it_passes_the_checks_that_need_no_table(check: str):
    getattr(estimator_checks, f"check_{check}")("ElmoVectorizer", ElmoVectorizer())


def test_its_tags_are_those_of_a_text_vectorizer_and_features_have_names(fitted: Any):
    ours, theirs = ElmoVectorizer().__sklearn_tags__(), TfidfVectorizer().__sklearn_tags__()
    assert (ours.input_tags, ours.target_tags) == (theirs.input_tags, theirs.target_tags)
    assert ours.transformer_tags.preserves_dtype == []  # float32, whatever comes in
    names = fitted.get_feature_names_out()
    assert list(names[:2]) == ["elmovectorizer0", "elmovectorizer1"] and len(names) == 12
    union = make_union(ElmoVectorizer(fitted.elmo_), TfidfVectorizer()).fit(TEXTS)
    assert "tfidfvectorizer__good" in union.get_feature_names_out()


@pytest.mark.parametrize(("layers", "pooling"), [("top", "mean"), ("average", "max"), (0, "mean")])
def test_it_gives_the_pooled_vectors_of_encode(folder: Path, layers: Any, pooling: Any):
    vectorizer = ElmoVectorizer(folder, layers=layers, pooling=pooling, normalize=True, batch_size=2, device="cpu")
    expected = Elmo(folder, device="cpu").encode(TEXTS, layers=layers, pooling=pooling, normalize_embeddings=True)
    found = vectorizer.fit_transform(TEXTS, [1, 0, 1, 0, 1, 0])
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_by_default_it_gives_what_encode_gives_of_texts_lists_of_tokens_or_an_array(fitted: Any):
    np.testing.assert_allclose(fitted.transform(TEXTS), fitted.elmo_.encode(TEXTS, pooling="mean"), atol=1e-6)
    from_tokens = fitted.transform([["A", "good", "film", "."], []])
    np.testing.assert_allclose(from_tokens[0], fitted.transform(np.array(TEXTS))[0], atol=1e-6)
    assert not from_tokens[1].any()
    assert fitted.transform([]).shape == (0, 12)


def test_a_copy_is_not_fitted_and_has_the_same_parameters(fitted: Any):
    copy = clone(fitted)
    assert copy.get_params() == fitted.get_params()
    with pytest.raises(NotFittedError):
        copy.transform(TEXTS)
    with pytest.raises(NotFittedError):
        copy.get_feature_names_out()
    with_model = clone(ElmoVectorizer(fitted.elmo_))  # the model is copied with its weights
    np.testing.assert_array_equal(with_model.fit_transform(TEXTS), fitted.transform(TEXTS))


def test_what_is_no_collection_of_texts_is_refused(fitted: Any, snapshot: SnapshotAssertion):
    with pytest.raises(ValueError, match="the sentences are 'A good film.' .str.; expected a list of sentences"):
        fitted.transform("A good film.")
    settings = ({"layers": "all"}, {"pooling": "sum"}, {"layers": "botom"}, {"layers": 9}, {"batch_size": 0})
    said = refused_options(lambda **given: ElmoVectorizer(fitted.elmo_, **given).fit(TEXTS), settings)
    assert said == snapshot


def test_one_column_of_a_table_is_read_and_a_table_of_one_column_is_refused(folder: Path):
    table = np.array([[text, "other"] for text in TEXTS], dtype=object)
    vectorizer = ElmoVectorizer(folder, device="cpu")
    of_column = ColumnTransformer([("elmo", vectorizer, 0)]).fit_transform(table)
    np.testing.assert_array_equal(of_column, vectorizer.fit_transform(TEXTS))
    message = r"got a table \(ndarray with 2 axes\); give one column of it, in a ColumnTransformer as 0, not as \[0\]"
    with pytest.raises(ValueError, match=message):
        ColumnTransformer([("elmo", vectorizer, [0])]).fit(table)
    with pytest.raises(ValueError, match=message):
        vectorizer.transform(table[:, :1])
