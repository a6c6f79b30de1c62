"""Uploads a model to the Hugging Face Hub and loads it again: `hf auth login`, then `python hub.py hf://me/my-model`."""

import sys

import numpy as np

from elmokit import Elmo

ADDRESS = sys.argv[1]
SENTENCE = "We sat on the bank of the river ."

elmo = Elmo.from_pretrained("small-en")
pinned = elmo.push_to_hub(ADDRESS, dtype="float16", private=True, message="small-en, in float16")
print(f"uploaded: {pinned}")

same = Elmo.from_pretrained(pinned)  # from now on in the cache: needs no network
print(f"loaded:   {same!r}")

difference = np.abs(elmo.encode(SENTENCE) - same.encode(SENTENCE)).max()
print(f"largest difference of a vector: {difference:.1e}")
