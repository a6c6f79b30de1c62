"""The task of semantic roles: an example is a predicate; scores as srl-eval's; output as CoNLL-2005 columns or JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from elmokit.files.json_fields import Fields
from elmokit.metrics.roles import arguments_from_tags, props_from_tags, score_roles
from elmokit.system.messages import first_token
from elmokit.tasks.semantic_roles.reader import Lemma, PredicateInSentence, read_predicates
from elmokit.tasks.semantic_roles.recipes import RECIPES, SemanticRolesConfig
from elmokit.tasks.task import (
    Prediction,
    Reading,
    Task,
    TextBlocks,
    build_model,
    document_of,
    find_splits,
    labels_of_tags,
    of_several_documents,
    own_tokens,
    shortened,
)
from elmokit.tasks.text_spans import Passage, TextSpan, text_of_tokens
from elmokit.text.alignment import token_offsets
from elmokit.text.tokenizer import tokenize

# train, dev and test files of EWT's PropBank, only its verbs; all its predicates; CoNLL-2012; CoNLL-2005 (pasted)
_FILES = (
    ("train.verbs.gold_conll", "dev.verbs.gold_conll", "test.verbs.gold_conll"),
    ("train.gold_conll", "dev.gold_conll", "test.gold_conll"),
    ("train.english.v4_gold_conll", "dev.english.v4_gold_conll", "test.english.v4_gold_conll"),
    ("train.conll", "dev.conll", "test.conll"),
)
_MARK = "*"


def read(path: Path, config: SemanticRolesConfig, training: bool) -> Reading[PredicateInSentence]:
    """Read one example per predicate. For training only, predicates without V and long sentences are skipped."""
    reading = Reading[PredicateInSentence]([])
    for example in read_predicates(path):
        if example.fault:
            reading.skipped[example.fault] += 1
        elif not example.tags:
            reading.skipped["sentences without a predicate"] += 1
        elif training and example.predicate is None:
            reading.skipped["predicates without a V"] += 1
        elif training and 0 < config.max_train_tokens < len(example.tokens):
            reading.skipped[f"predicates in sentences of more than {config.max_train_tokens} tokens"] += 1
        else:
            reading.examples.append(example)
    return Reading(of_several_documents(reading.examples), reading.skipped)


def read_sentences(path: Path, config: SemanticRolesConfig) -> Reading[PredicateInSentence]:
    """Read one example per predicate, as `without_labels` makes it, and one without for each sentence that has none."""
    examples = [*map(without_labels, read_predicates(path))]
    return Reading(examples, Counter(example.fault for example in examples if example.fault))


def without_labels(example: PredicateInSentence) -> PredicateInSentence:
    """The example; where its column has no roles at all, its predicate is the token of its lemma."""
    if example.predicate is None and example.lemma is not None and not {*example.tags} - {"O"}:
        return replace(example, predicate=example.lemma.token)
    return example


def symbols(examples: Iterable[PredicateInSentence]) -> list[str]:
    """`O`, and both tags of every role, so that every span can be written."""
    roles = {tag[2:] for example in examples for tag in example.tags if tag != "O"}
    return ["O", *(f"{prefix}-{role}" for role in sorted(roles) for prefix in "BI")]


def score(examples: Sequence[PredicateInSentence], predictions: Sequence[Sequence[str]]) -> dict[str, float]:
    """The overall scores of srl-eval, and the F1 of each role."""
    result = score_roles(gold=[example.tags for example in examples], predicted=predictions)
    return {
        "f1": result.overall.f1,
        "precision": result.overall.precision,
        "recall": result.overall.recall,
        "perfect": 100 * result.num_perfect / max(result.num_predicates, 1),
        **{f"f1_{role}": of_role.f1 for role, of_role in result.by_role.items()},
    }


def from_text(line: str) -> PredicateInSentence:
    """Read a sentence with its predicate between asterisks: `The cat *sat* on the mat .`"""
    before, _, rest = line.partition(_MARK)
    predicate, second_mark, after = rest.partition(_MARK)
    if not second_mark or len(predicate.split()) != 1 or _MARK in after:
        raise ValueError(
            f"{first_token(line)} marks no predicate; expected one word between asterisks, as in 'The cat *sat* down "
            ".' (give a text that contains asterisks as JSON)"
        )
    text = before + predicate + after
    tokens = tokenize(text)
    start = len(before) + len(predicate) - len(predicate.lstrip())
    stop = len(before) + len(predicate)
    offsets = token_offsets(text, tokens)
    index = next((index for index, (first, end) in enumerate(offsets) if end > start and first < stop), None)
    if index is None:
        raise ValueError(f"{first_token(line)}: there is no token between the asterisks")
    return PredicateInSentence(tokens, index, [], text=text)


def from_json(fields: Mapping[str, Any]) -> PredicateInSentence:
    """Read `{"tokens": ["The", "cat", "sat"], "predicate": 2}`, counted from 0, or `{"text": "The cat *sat*"}`.

    A text next to tokens has no asterisks.
    """
    sentence = Fields("the sentence", fields)
    if "tokens" not in sentence:
        return from_text(sentence.text("text"))
    tokens = sentence.tokens("tokens")
    predicate = sentence.integer("predicate", most=len(tokens) - 1)
    return PredicateInSentence(tokens, predicate, [], text=text_of_tokens(sentence, tokens))


def to_text(example: PredicateInSentence, prediction: Sequence[str]) -> str:
    """The block of a sentence with a single predicate (see `to_blocks`)."""
    return _block([(example, prediction)])


def to_blocks(predictions: Iterable[tuple[PredicateInSentence, Sequence[str]]]) -> Iterator[str]:
    """Blocks of CoNLL-2005 columns, one per sentence: words, the predicates' lemmas, a column of roles per predicate.

    Without the words (`cut -f2-`), these are the props that srl-eval.pl scores. A lemma is that of the input; where it
    has none, the predicate's word as spelt. Spaces within a word or a lemma become `_`, and so does a lemma `-`, which
    would say that there is no predicate. The predicates of a sentence must follow each other.
    """
    block: list[tuple[PredicateInSentence, Sequence[str]]] = []
    for example, prediction in predictions:
        if block and (example.sentence is None or example.sentence != block[-1][0].sentence):
            yield _block(block)
            block = []
        block.append((example, prediction))
    if block:
        yield _block(block)


def _block(predictions: Sequence[tuple[PredicateInSentence, Sequence[str]]]) -> str:
    tokens = predictions[0][0].tokens
    columns: dict[Lemma, list[str]] = {}
    for example, tags in predictions:
        lemma = example.lemma
        if lemma is None and example.predicate is not None:
            lemma = Lemma(example.predicate, tokens[example.predicate])
        if lemma is not None:
            columns[lemma] = props_from_tags(tags)
    in_order = sorted(columns, key=lambda lemma: lemma.token)
    lemmas = ["-"] * len(tokens)
    for lemma in in_order:
        lemmas[lemma.token] = "_" if lemma.text == "-" else lemma.text.replace(" ", "_")
    words = [token.replace(" ", "_") for token in tokens]
    rows = zip(words, lemmas, *(columns[lemma] for lemma in in_order), strict=True)
    return "".join("\t".join(row) + "\n" for row in rows)


def result(example: PredicateInSentence, prediction: Sequence[str]) -> PredicateRoles:
    located = Passage.of(example.tokens, example.text)
    arguments: list[RoleArgument] = []
    for argument in arguments_from_tags(prediction):
        pieces = [located.span(first, last) for first, last in argument.pieces]
        arguments.append(RoleArgument(argument.role, " ... ".join(piece.text for piece in pieces), pieces))
    return PredicateRoles(located.text, example.tokens, example.predicate, list(prediction), arguments)


@dataclass(frozen=True, slots=True)
class RoleArgument:
    """An argument of a predicate, or the predicate itself, whose role is V."""

    role: str
    text: str
    """Its pieces as the sentence spells them, with ` ... ` between two of them."""
    pieces: list[TextSpan]
    """Usually one; several if the argument is interrupted (`C-A1` continues `A1`)."""


@dataclass(frozen=True, repr=False)
class PredicateRoles(Prediction):
    """A sentence with the roles of one of its predicates."""

    text: str
    """The sentence as it was given, without the asterisks; the tokens joined by spaces if only these were given."""
    tokens: list[str]
    predicate: int | None
    """Index of the predicate's token; None for a sentence of a file that has none."""
    tags: list[str]
    """A tag for each token, in BIO: `B-A0` begins an argument, `I-A0` continues it, `O` is none."""
    arguments: list[RoleArgument]

    def __repr__(self) -> str:
        found = ", ".join(f"{argument.role} {argument.text!r}" for argument in self.arguments)
        return f"<PredicateRoles {shortened(self.text)}: {found or 'no arguments'}>"


TASK: Task[PredicateInSentence, list[str]] = Task(
    name="semantic-roles",
    metric="f1",
    find=partial(find_splits, names=_FILES, task_name="semantic roles"),
    read=read,
    sentences=own_tokens,
    symbols=symbols,
    build=partial(build_model, "elmokit.tasks.semantic_roles.model:SemanticRoleParser"),
    score=score,
    recipes=RECIPES,
    model_config=SemanticRolesConfig,
    from_text=from_text,
    from_json=from_json,
    to_text=to_text,
    result=result,
    without_labels=without_labels,
    label_names=labels_of_tags,
    keep_together=document_of,
    blocks=TextBlocks(read=read_sentences, to_text=to_blocks),
)
