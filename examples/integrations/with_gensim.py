"""Static word vectors as gensim's KeyedVectors; needs `pip install gensim`.

Averages over a dozen sentences only show how it works: use a corpus of a few hundred thousand words.
"""

from pathlib import Path

from gensim.models import KeyedVectors

from elmokit import Elmo, embed_types

SENTENCES = [
    "The king met the queen in the old castle.",
    "The queen wrote a letter to the king.",
    "A king and a queen ruled the country.",
    "The doctor met the nurse in the new hospital.",
    "The nurse wrote a note to the doctor.",
    "A doctor and a nurse looked after the child.",
    "They bought bread and milk in the shop.",
    "We ate bread with milk and honey.",
    "The shop sells milk, bread and fruit.",
]

elmo = Elmo("small-en")
Path("sentences.txt").write_text("\n".join(SENTENCES) + "\n", encoding="utf-8")
print(embed_types(elmo, "sentences.txt", "words.vec", raw_text=True, min_count=2))
averaged = KeyedVectors.load_word2vec_format("words.vec")
print(len(averaged.index_to_key), "words, the most frequent first:", *averaged.index_to_key[:5])
for word in ("king", "doctor", "bread"):
    print(word, "is nearest to", ", ".join(near for near, _ in averaged.most_similar(word, topn=3)))

words = ["king", "kingdom", "kings", "doctor", "doctors", "bread", "breadth"]
spelt = KeyedVectors(vector_size=elmo.dim)
spelt.add_vectors(words, [vectors[0] for vectors in elmo.encode([[word] for word in words], layers=0)])
print("by spelling alone, king is nearest to", ", ".join(near for near, _ in spelt.most_similar("king", topn=2)))
