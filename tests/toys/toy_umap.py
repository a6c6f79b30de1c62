"""In place of umap-learn, which takes minutes to import and compile: the first two columns of what is reduced."""

from types import SimpleNamespace


def first_two_columns() -> SimpleNamespace:
    def reduction(**settings: object) -> SimpleNamespace:
        assert settings == {"n_neighbors": 15, "metric": "cosine", "random_state": 0, "n_jobs": 1}
        return SimpleNamespace(fit_transform=lambda vectors: vectors[:, :2])

    return SimpleNamespace(UMAP=reduction)
