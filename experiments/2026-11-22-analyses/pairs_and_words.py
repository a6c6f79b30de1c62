"""Does the cosine of pooled vectors tell entailment from the rest, and which words are near one another on average?

python experiments/2026-11-22-analyses/pairs_and_words.py .data > experiments/2026-11-22-analyses/pairs_and_words.jsonl

The first 2,000 pairs of SNLI's development set, and the words that occur ten times in the first 8,000 sentences of the
English shards: the tables of docs/integrations/sentence_transformers.md and docs/integrations/gensim.md.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections import Counter
from itertools import islice
from pathlib import Path

import numpy as np
from gensim.models import KeyedVectors
from sklearn.metrics import roc_auc_score

from elmokit import Elmo, embed_types

WORDS = ("three", "king", "river", "walked", "happy", "bank")


def cosines(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    return (left * right).sum(axis=1) / np.linalg.norm(left, axis=1) / np.linalg.norm(right, axis=1)


data, elmo = Path(sys.argv[1]), Elmo.from_pretrained("mini-en")
with (data / "tasks/snli/snli_1.0_dev.jsonl").open(encoding="utf-8") as file:
    pairs = [json.loads(line) for line in islice(file, 2_000)]
entails = [pair["gold_label"] == "entailment" for pair in pairs]
sides = [[elmo.tokenize(pair[side]) for pair in pairs] for side in ("sentence1", "sentence2")]
layers = [elmo.encode(side, layers="all") for side in sides]
for name, layer in (
    ("top layer", [2]),
    ("average", [0, 1, 2]),
    ("token representation", [0]),
    ("first LSTM layer", [1]),
):
    left, right = (np.stack([array[layer].mean(axis=(0, 1)) for array in side]) for side in layers)
    of_pairs = cosines(left, right)
    print(
        json.dumps(
            {
                "vector": name,
                "area": round(float(roc_auc_score(entails, of_pairs)), 3),
                "pairs": round(float(of_pairs.mean()), 2),
                "strangers": round(float(cosines(left, np.roll(right, 1, axis=0)).mean()), 2),
            }
        )
    )
counts = [[Counter(token.lower() for token in tokens) for tokens in side] for side in sides]
forms = sorted({token for side in counts for counted in side for token in counted})
columns = {token: column for column, token in enumerate(forms)}
tables = [np.zeros((len(pairs), len(forms)), np.float32) for _ in sides]
for table, side in zip(tables, counts, strict=True):
    for row, counted in enumerate(side):
        for token, count in counted.items():
            table[row, columns[token]] = count
print(json.dumps({"vector": "counts", "area": round(float(roc_auc_score(entails, cosines(*tables))), 3)}))

with (data / "en/train-00000.txt").open(encoding="utf-8") as file:
    lines = list(islice(file, 8_000))
with tempfile.TemporaryDirectory() as folder:
    text, table = Path(folder, "sentences.txt"), Path(folder, "words.vec")
    text.write_text("".join(lines), encoding="utf-8")
    embedded = embed_types(elmo, text, table, min_count=10)
    averaged = KeyedVectors.load_word2vec_format(str(table))
words = list(averaged.key_to_index)
spelt = KeyedVectors(vector_size=elmo.dim)
spelt.add_vectors(words, [vectors[0] for vectors in elmo.encode([[word] for word in words], layers=0)])
print(json.dumps({"tokens": embedded.num_tokens, "words": len(averaged)}))
for word in WORDS:
    near = {
        name: [other for other, _ in table.most_similar(word, topn=5)]
        for name, table in (("averaged", averaged), ("spelt", spelt))
    }
    print(json.dumps({"word": word, **near}))
