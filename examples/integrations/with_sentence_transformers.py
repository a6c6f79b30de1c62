"""Builds a SentenceTransformer from ELMo and pooling, compares sentences, and saves it. Takes seconds on a CPU."""

import tempfile

import numpy as np
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Pooling

from elmokit.integrations.sentence_transformers import ElmoWordEmbeddings

SENTENCES = [
    "The bank raised its interest rates again.",
    "Banks now ask more for a loan.",
    "We sat on the bank of the river.",
]
words = ElmoWordEmbeddings("small-en", layers="top")
model = SentenceTransformer(modules=[words, Pooling(words.get_embedding_dimension(), "mean")], device="cpu")
vectors = model.encode(SENTENCES, normalize_embeddings=True)
print(f"{len(vectors)} vectors of {vectors.shape[1]} numbers")
print(np.round(model.similarity(vectors, vectors).numpy(), 2))

with tempfile.TemporaryDirectory() as folder:
    model.save(folder)
    loaded = SentenceTransformer(folder, device="cpu", trust_remote_code=True)  # its first module is elmokit's
    print("saved and loaded:", np.array_equal(loaded.encode(SENTENCES, normalize_embeddings=True), vectors))
