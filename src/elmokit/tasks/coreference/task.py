"""The task of coreference: an example is a document; scores as in CoNLL-2012; output as its columns or as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from operator import attrgetter
from pathlib import Path
from typing import Any

from elmokit.files.json_fields import Fields
from elmokit.metrics.coreference import CoreferenceScore, score_coreference
from elmokit.system.messages import first_token
from elmokit.tasks.coreference.reader import CoreferenceDocument, genre, read_coreference_documents
from elmokit.tasks.coreference.recipes import RECIPES, CoreferenceConfig
from elmokit.tasks.task import Prediction, Reading, Task, build_model, find_splits, shortened
from elmokit.tasks.text_spans import Passage, TextSpan, text_of_tokens
from elmokit.text.alignment import token_offsets
from elmokit.text.tokenizer import split_sentences, tokenize

Clusters = list[list[tuple[int, int]]]

# train, dev and test files of OntoGUM (as converted by elmokit) and CoNLL-2012
_FILES = (
    ("train.gold_conll", "dev.gold_conll", "test.gold_conll"),
    ("train.english.v4_gold_conll", "dev.english.v4_gold_conll", "test.english.v4_gold_conll"),
)
_NOBODY = "-"
_TEXT = "text"


def read(path: Path, config: CoreferenceConfig, training: bool) -> Reading[CoreferenceDocument]:
    return Reading(list(read_coreference_documents(path)))


def symbols(examples: Iterable[CoreferenceDocument]) -> list[str]:
    """The genres in the names of the documents."""
    return sorted({genre(example.name) for example in examples} - {""})


def score(examples: Sequence[CoreferenceDocument], predictions: Sequence[Clusters]) -> dict[str, float]:
    """The average F1 of CoNLL-2012, and the three metrics in it."""
    result = CoreferenceScore()
    for example, clusters in zip(examples, predictions, strict=True):
        result += score_coreference(gold=example.clusters, predicted=clusters)
    parts = {"muc": result.muc, "b_cubed": result.b_cubed, "ceaf_e": result.ceaf_e, "mentions": result.mentions}
    numbers = {"average_f1": result.average_f1}
    for name, part in parts.items():
        numbers |= {f"{name}_f1": part.f1, f"{name}_precision": part.precision, f"{name}_recall": part.recall}
    return numbers


def from_text(line: str) -> CoreferenceDocument:
    """A line of text is a document with one speaker and an unknown genre."""
    tokens: list[list[str]] = []
    offsets: list[tuple[int, int]] = []
    end = 0
    for sentence in split_sentences(line):
        start = line.index(sentence, end)
        end = start + len(sentence)
        if words := tokenize(sentence):
            tokens.append(words)
            offsets += [(start + first, start + after) for first, after in token_offsets(sentence, words)]
    if not tokens:
        raise ValueError(f"{first_token(line)} has no tokens; expected the sentences of a document")
    speakers = [_NOBODY] * sum(map(len, tokens))
    return CoreferenceDocument(
        _TEXT, 0, tokens, speakers, clusters=[], located=Passage(line, list(chain.from_iterable(tokens)), offsets)
    )


def from_json(fields: Mapping[str, Any]) -> CoreferenceDocument:
    """`{"sentences": [["Ann", "slept", "."], ["She", "snored", "."]]}`, or `{"text": "Ann slept. She snored."}`.

    Or `{"tokens": ["Ann", "hurt", "herself"]}`, a single sentence. A `"text"` next to either is the one that the tokens
    are from. `"name"`, if given, is the document's name, from which the genre is read as for the training set;
    `"speakers"` has one speaker for each of the `"sentences"`.
    """
    members = dict(fields)
    if "tokens" in members:
        members["sentences"] = [members.pop("tokens")]
    values = Fields("the document", members)
    name = values.text("name") if "name" in values else _TEXT
    if "sentences" not in values:
        if "speakers" in values:
            raise values.error("speakers", "needs sentences, one for each speaker; a text is split by us")
        return replace(from_text(values.text("text")), name=name)
    tokens = [
        Fields("the document", {"sentence": one}).tokens("sentence") for one in values.read("sentences", list[object])
    ]
    if not tokens:
        raise values.error("sentences", "is an empty list; expected at least one sentence")
    speakers = values.read("speakers", list[str]) if "speakers" in values else [_NOBODY] * len(tokens)
    if len(speakers) != len(tokens):
        raise ValueError(
            f"there are {len(speakers)} speakers but {len(tokens)} sentences; expected one speaker per sentence"
        )
    repeated = [speaker for speaker, sentence in zip(speakers, tokens, strict=True) for _ in sentence]
    flat = list(chain.from_iterable(tokens))
    located = Passage.of(flat, text_of_tokens(values, flat))
    return CoreferenceDocument(name, 0, tokens, repeated, clusters=[], located=located)


def to_text(example: CoreferenceDocument, prediction: Clusters) -> str:
    """The columns of CoNLL-2012, which its scorer reads; what is unknown is `-`. White space is one space."""
    name = " ".join(example.name.split()) or _NOBODY
    cells = iter(_coreference_cells(prediction, num_tokens=len(example.speakers)))
    speakers = iter(example.speakers)
    lines = [f"#begin document ({name}); part {example.part:03d}\n"]
    for sentence in example.sentences:
        for number, token in enumerate(sentence):
            speaker = " ".join(next(speakers).split()) or _NOBODY
            columns = [name, str(example.part), str(number), token, "-", "-", "-", "-", "-", speaker]
            lines.append("\t".join([*columns, "*", next(cells)]) + "\n")
        lines.append("\n")
    return "".join([*lines, "#end document"])


def result(example: CoreferenceDocument, prediction: Clusters) -> ResolvedDocument:
    located = example.located or Passage.of(list(chain.from_iterable(example.sentences)), None)
    clusters = [[located.span(first, last) for first, last in cluster] for cluster in prediction]
    return ResolvedDocument(example.name, located.text, example.sentences, clusters)


def _coreference_cells(clusters: Clusters, *, num_tokens: int) -> list[str]:
    """Cells `(0`, `1)`, `(2)` or `-`, several separated by |. Of mentions that begin together, the longest is first."""
    cells: list[list[str]] = [[] for _ in range(num_tokens)]
    mentions = [(first, last, number) for number, cluster in enumerate(clusters) for first, last in cluster]
    for first, last, number in sorted(mentions, key=lambda mention: (mention[0], -mention[1])):
        cells[first].append(f"({number})" if first == last else f"({number}")
    for first, last, number in sorted(mentions, key=lambda mention: (mention[1], -mention[0])):
        if first != last:
            cells[last].append(f"{number})")
    return ["|".join(cell) or "-" for cell in cells]


@dataclass(frozen=True, repr=False)
class ResolvedDocument(Prediction):
    """A document with the clusters of mentions that refer to the same thing."""

    name: str
    text: str
    """The document as it was given; the tokens joined by spaces if only these were given."""
    sentences: list[list[str]]
    """Tokens of each sentence; those of mentions are counted through the document."""
    clusters: list[list[TextSpan]]
    """At least two mentions each, in the order of the document."""

    def __repr__(self) -> str:
        clusters = "; ".join(" = ".join(repr(mention.text) for mention in cluster) for cluster in self.clusters)
        return f"<ResolvedDocument {shortened(self.text)}: {clusters or 'no clusters'}>"


TASK: Task[CoreferenceDocument, Clusters] = Task(
    name="coreference",
    metric="average_f1",
    find=partial(find_splits, names=_FILES, task_name="coreference"),
    read=read,
    sentences=attrgetter("sentences"),
    symbols=symbols,
    build=partial(build_model, "elmokit.tasks.coreference.model:CoreferenceResolver"),
    score=score,
    recipes=RECIPES,
    model_config=CoreferenceConfig,
    from_text=from_text,
    from_json=from_json,
    to_text=to_text,
    result=result,
    label_names=None,
    keep_together=attrgetter("name"),  # all parts of a document share it
)
