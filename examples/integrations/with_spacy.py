"""Compares the uses of a word in spaCy documents, and saves the pipeline with its model. Takes seconds on a CPU."""

import tempfile
from itertools import combinations

import spacy

nlp = spacy.blank("en")
nlp.add_pipe("sentencizer")
nlp.add_pipe("elmo", config={"model": "small-en", "layers": "top"})

TEXTS = [
    "We sat on the bank of the river and watched the boats.",
    "Trees grow along the bank of the stream.",
    "The bank raised its interest rates again. Nobody liked it.",
    "She works for a bank in the city.",
]
docs = list(nlp.pipe(TEXTS))
print(f"{docs[2].tensor.shape[0]} tokens with vectors of {docs[2].tensor.shape[1]} numbers")

banks = [token for doc in docs for token in doc if token.text == "bank"]
for one, other in combinations(banks, 2):
    print(f"{one.similarity(other):.2f}  {one.sent.text}  |  {other.sent.text}")

with tempfile.TemporaryDirectory() as folder:
    nlp.to_disk(folder)
    again = spacy.load(folder)(TEXTS[0])
    print("saved and loaded:", (again.tensor == docs[0].tensor).all())
