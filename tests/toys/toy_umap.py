"""A stand-in for umap-learn, which takes minutes to import and compile: it keeps the first two columns."""

from types import SimpleNamespace


def first_two_columns() -> SimpleNamespace:
    def reduction(**settings: object) -> SimpleNamespace:
        assert settings == {"n_neighbors": 15, "metric": "cosine", "random_state": 0, "n_jobs": 1}
        return SimpleNamespace(fit_transform=lambda vectors: vectors[:, :2])

    return SimpleNamespace(UMAP=reduction)
