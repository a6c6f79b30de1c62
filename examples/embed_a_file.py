"""Embeds a file of sentences, and compares the uses of a word in it. Takes seconds on a CPU."""

import tempfile
from itertools import combinations
from pathlib import Path

import numpy as np

from elmokit import Elmo, embed_file, load_vectors

WORD = "bank"
TEXT = """\
We sat on the bank of the river and watched the boats .
The bank raised its interest rates again .
Trees grow along the bank of the stream .
She works for a bank in the city .
"""

with tempfile.TemporaryDirectory() as folder:
    text, output = Path(folder, "sentences.txt"), Path(folder, "vectors.safetensors")
    text.write_text(TEXT, encoding="utf-8")
    done = embed_file(Elmo.from_pretrained(), text, output)
    print(f"{done.num_lines} lines, {done.num_tokens} tokens, {output.stat().st_size:,} bytes")

    vectors = load_vectors(output)  # stays on disk: an array is read when you ask for it
    sentences = [line.split() for line in text.read_text(encoding="utf-8").splitlines()]
    uses = [vectors[number][tokens.index(WORD)] for number, tokens in enumerate(sentences)]
    print(f"the {vectors.about['layers']} layer of the model {vectors.about['model'][:12]}..., width {vectors.dim}")

    for first, second in combinations(range(len(uses)), 2):
        cosine = uses[first] @ uses[second] / np.linalg.norm(uses[first]) / np.linalg.norm(uses[second])
        print(f"{cosine:.2f}  {' '.join(sentences[first])}  |  {' '.join(sentences[second])}")
