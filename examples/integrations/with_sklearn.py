"""`ElmoVectorizer` in a pipeline with a grid search; needs `pip install 'elmokit[sklearn]'`.

On real data, compare with TF-IDF first: pooled vectors are weak features.
"""

from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from elmokit.integrations.sklearn import ElmoVectorizer

RIVERS = [
    "We sat on the bank of the river.",
    "They walked along the muddy bank.",
    "The boat was tied to the bank.",
    "Trees grow on both banks of the stream.",
]
MONEY = [
    "The bank raised its rates.",
    "She works at a bank in London.",
    "He opened an account at the bank.",
    "Two banks refused to lend them money.",
]

pipeline = make_pipeline(ElmoVectorizer("small-en"), StandardScaler(), LogisticRegression())
grid = {"elmovectorizer__layers": ["average", "top"], "elmovectorizer__pooling": ["mean", "max"]}
search = GridSearchCV(pipeline, grid, cv=2)
search.fit(RIVERS + MONEY, ["river"] * len(RIVERS) + ["money"] * len(MONEY))

print("best:", search.best_params_)
for parameters, accuracy in zip(search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True):
    print(f"{accuracy:.2f}", parameters["elmovectorizer__layers"], parameters["elmovectorizer__pooling"])
for text in ("The fish swam near the bank.", "The bank lent him nothing."):
    print(text, search.predict([text])[0])
