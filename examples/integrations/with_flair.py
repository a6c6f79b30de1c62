"""Trains a flair tagger on ELMo vectors, saves it with its model, and tags a sentence. Takes seconds on a CPU."""

import tempfile
from pathlib import Path

import torch
from flair.data import Dictionary, Sentence
from flair.models import SequenceTagger

from elmokit.integrations.flair import ElmoEmbeddings

TAGGED = """
We/PRON sat/VERB on/ADP the/DET bank/NOUN ./PUNCT
They/PRON bank/VERB on/ADP a/DET loan/NOUN ./PUNCT
The/DET children/NOUN play/VERB in/ADP the/DET park/NOUN ./PUNCT
We/PRON saw/VERB a/DET play/NOUN in/ADP town/NOUN ./PUNCT
She/PRON runs/VERB to/ADP the/DET river/NOUN ./PUNCT
"""
torch.manual_seed(0)
tags = Dictionary(add_unk=False)
sentences: list[Sentence] = []
for line in TAGGED.strip().splitlines():
    words, labels = zip(*(pair.split("/") for pair in line.split()), strict=True)
    sentence = Sentence(list(words))
    for token, label in zip(sentence, labels, strict=True):
        tags.add_item(label)
        token.add_label("pos", label)
    sentences.append(sentence)

embeddings = ElmoEmbeddings("small-en", layers="all")
tagger = SequenceTagger(embeddings, tags, "pos", use_rnn=False, use_crf=False, reproject_embeddings=False)
optimizer = torch.optim.Adam(tagger.parameters(), lr=0.01)
for step in range(30):
    optimizer.zero_grad()
    loss, count = tagger.forward_loss(sentences)
    loss.backward()
    optimizer.step()
    if step % 10 == 9:
        print(f"step {step + 1}: loss {loss.item() / count:.3f}")

with tempfile.TemporaryDirectory() as folder:
    tagger.save(Path(folder, "tagger.pt"))
    loaded = SequenceTagger.load(Path(folder, "tagger.pt"))  # works because elmokit.integrations.flair is imported
    new = Sentence(["The", "boats", "sat", "in", "the", "river", "."])
    loaded.predict(new)
    print(" ".join(f"{token.text}/{token.get_label('pos').value}" for token in new))
