"""Logistic regression on pooled vectors of SST's positive and negative sentences, compared with TF-IDF.

python experiments/2026-11-22-analyses/pooled.py .data/tasks/sst/sst > experiments/2026-11-26-small-en-2/pooled.jsonl
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from elmokit import Elmo
from paper.probes import mixes

PENALTIES = (0.01, 0.1, 1.0, 10.0)


def main() -> None:
    folder = Path(sys.argv[1])
    texts: dict[str, list[list[str]]] = {}
    labels: dict[str, np.ndarray] = {}
    for part in ("train", "dev", "test"):
        trees = (folder / f"{part}.txt").read_text(encoding="utf-8").splitlines()
        chosen = [tree for tree in trees if tree[1] != "2"]
        texts[part] = [[word.rstrip(")") for word in tree.split() if word.endswith(")")] for tree in chosen]
        labels[part] = np.array([tree[1] in "34" for tree in chosen])
    words = TfidfVectorizer(analyzer=lambda tokens: [token.lower() for token in tokens], sublinear_tf=True)
    fitted = words.fit_transform(texts["train"])
    report("TF-IDF", {"train": fitted, **{part: words.transform(texts[part]) for part in ("dev", "test")}}, labels)
    for name in sys.argv[2:] or ["small-en"]:
        elmo = Elmo.from_pretrained(name)
        for pooling in ("mean", "max"):
            pooled = {part: elmo.encode(texts[part], layers="all", pooling=pooling).swapaxes(0, 1) for part in texts}
            for row, mix in mixes(elmo.config.num_layers + 1).items():
                if pooling == "mean" or not row.startswith("average"):
                    report(f"{name}, {pooling}, {row}", {part: mix(array) for part, array in pooled.items()}, labels)


def report(name: str, features: dict, labels: dict[str, np.ndarray]) -> None:
    start = time.process_time()
    if isinstance(features["train"], np.ndarray):
        scaler = StandardScaler().fit(features["train"])
        features = {part: scaler.transform(array) for part, array in features.items()}
    fits = [LogisticRegression(C=c, max_iter=300).fit(features["train"], labels["train"]) for c in PENALTIES]
    best = max(fits, key=lambda fit: fit.score(features["dev"], labels["dev"]))
    scores = {part: round(100 * best.score(features[part], labels[part]), 2) for part in ("train", "dev", "test")}
    seconds = round(time.process_time() - start, 1)
    print(json.dumps({"features": name, **scores, "penalty": best.C, "processor_seconds": seconds}), flush=True)


main()
