"""The output of the programs of an lm-zoo container (Gauthier et al., 2020). SyntaxGym reads it.

`get_surprisals` prints a table, `tokenize` the tokens of each line, `unkify` which of them are unknown, and `spec` a
description of the model. They read raw text. A known token is spelled as in the text (`“`, although the model reads
`"`), because SyntaxGym looks for it there. An unknown token is `<UNK>`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import tee
from pathlib import Path

from elmokit.elmo.surprisal import SurprisalModel, SurprisalSettings
from elmokit.files.lines import read_lines, shown_name
from elmokit.scoring.surprisal_table import first_sizes
from elmokit.text.alignment import token_offsets
from elmokit.text.corpora.tables import as_tsv
from elmokit.text.tokenizer import PLAIN_MARKS, tokenize
from elmokit.text.vocabulary import UNKNOWN, Vocabulary
from elmokit.version import __version__


def get_surprisals(model: SurprisalModel, path: Path | str) -> Iterator[str]:
    """A table of surprisals in bits, each given the tokens before it, with a row for each token, sentence by sentence.

    Blank lines have no rows. Raises ValueError if the text has no sentence, and the errors of `read_lines`.
    """
    to_write, to_predict = tee((number, text) for number, text in enumerate(read_lines(path), start=1) if text.strip())
    sentences = (tokenize(text) for _, text in to_predict)
    results = model.read(sentences, SurprisalSettings("forward"), first_sizes=first_sizes(path))
    head = [["sentence_id", "token_id", "token", "surprisal"]]
    for (number, text), result in zip(to_write, results, strict=True):
        spelled = zip(spellings(text, model.vocabulary), result.bits(), strict=True)
        rows = [[str(number), str(place), token, f"{bits:.6f}"] for place, (token, bits) in enumerate(spelled, start=1)]
        yield as_tsv([*head, *rows])
        head = []
    if head:
        raise ValueError(f"{shown_name(path)}: has no sentence; expected text with one sentence per line")


def tokenized(vocabulary: Vocabulary, path: Path | str) -> Iterator[str]:
    """Each line of a text, with spaces between its tokens."""
    for text in read_lines(path):
        yield " ".join(spellings(text, vocabulary)) + "\n"


def unkified(vocabulary: Vocabulary, path: Path | str) -> Iterator[str]:
    """For each line of a text, 1 for each unknown token and 0 for each known one."""
    for text in read_lines(path):
        yield " ".join("0" if token in vocabulary else "1" for token in tokenize(text)) + "\n"


def spec(vocabulary: Vocabulary, *, name: str, built: str) -> str:
    """The description of a model as JSON. `built` is the time when the container was built, in ISO 8601."""
    features = {"tokenize": True, "unkify": True, "get_surprisals": True}
    marks = [chr(mark) for mark, plain in PLAIN_MARKS.items() if plain.strip() in vocabulary]
    described = {
        "name": name,
        "ref_url": "https://aclanthology.org/N18-1202/",
        "image": {
            "maintainer": "the elmokit developers",
            "version": __version__,
            "datetime": built,
            "supported_features": {**features, "get_predictions": False, "mount_checkpoint": False},
            "gpu": {"required": False, "supported": True},
        },
        "vocabulary": {
            "items": list(dict.fromkeys([*vocabulary.tokens, *marks])),
            "unk_types": [UNKNOWN],
            "prefix_types": [],
            "suffix_types": [],
            "special_types": [],
        },
        "tokenizer": {"type": "word", "cased": True, "behaviors": ["ptb"]},
    }
    return json.dumps(described, ensure_ascii=False, indent=1) + "\n"


def spellings(text: str, vocabulary: Vocabulary) -> list[str]:
    """The tokens of a text as the text spells them; `<UNK>` for tokens outside the vocabulary."""
    tokens = tokenize(text)
    return [
        _as_written(text[start:end], token) if token in vocabulary else UNKNOWN
        for token, (start, end) in zip(tokens, token_offsets(text, tokens), strict=True)
    ]


def _as_written(written: str, token: str) -> str:
    """A token as the text spells it, unless that contains white space, as between two shortened runs of a mark."""
    return written if written.split() == [written] else token
