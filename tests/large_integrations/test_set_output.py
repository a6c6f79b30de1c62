"""`ElmoVectorizer` gives tables of pandas, and takes their columns."""

from __future__ import annotations

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer

from elmokit.elmo.elmo import Elmo
from elmokit.integrations.sklearn import ElmoVectorizer
from toy_bilm import random_bilm

TABLE = pd.DataFrame({"text": ["A good film.", "A bad one."], "stars": [5, 1]}, index=["first", "second"])


def test_a_table_keeps_its_rows_and_has_the_names_of_the_features():
    vectorizer = ElmoVectorizer(Elmo(random_bilm()), device="cpu")
    plain = vectorizer.fit_transform(TABLE["text"])
    columns = make_column_transformer((vectorizer, "text"), remainder="passthrough").set_output(transform="pandas")
    table = columns.fit_transform(TABLE)
    assert list(table.index) == ["first", "second"]
    names = [f"elmovectorizer__elmovectorizer{number}" for number in range(12)]
    assert list(table.columns) == [*names, "remainder__stars"]
    np.testing.assert_allclose(table[names].to_numpy(), plain, atol=1e-6)
