"""The semantic-roles task: an example is a predicate from the columns of CoNLL-2012 or CoNLL-2005.

Scores are srl-eval's; output is columns of CoNLL-2005 or JSON.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from elmokit.files.json import picked
from elmokit.files.lines import lines_and_first
from elmokit.metrics.roles import arguments_from_tags, props_from_tags, score_roles, tags_from_props
from elmokit.runs.settings import check_bounds
from elmokit.system.messages import first_token
from elmokit.tasks.config import (
    ElmoInput,
    FileNames,
    InputConfig,
    Recipes,
    TaskConfig,
    TrainingConfig,
    until_converged,
    variant,
)
from elmokit.tasks.task import Passage, Prediction, Reading, SpanTask, TextSpan, shortened, span_scores, text_and_tokens
from elmokit.text.alignment import token_offsets
from elmokit.text.corpora import conll2012
from elmokit.text.corpora.cells import plain_token
from elmokit.text.corpora.columns import ColumnSentence, column_sentences, with_words_first, without_documents
from elmokit.text.tokenizer import tokenize

_MARK = "*"
MAX_LAYERS = 64
_NONE = "-"


@dataclass(frozen=True, slots=True)
class Lemma:
    """The lemma of a predicate, and the index of the token whose row has it."""

    token: int
    text: str


@dataclass(frozen=True, slots=True)
class PredicateInSentence:
    """An example: the tokens of a sentence, one of its predicates, and the roles to be found."""

    tokens: list[str]
    predicate: int | None
    """Index of the token where V begins; None if the column has no V (OntoNotes has some): nothing is predicted."""
    tags: list[str]
    """BIO tags of the predicate's roles, including V; empty if they are unknown or the sentence has no predicate."""
    lemma: Lemma | None = None
    """The lemma in the file; None if the file does not give one lemma for each column of roles."""
    sentence: int | None = None
    """Number of the sentence in its file, the same for all its predicates; None for a sentence from elsewhere."""
    text: str | None = field(default=None, compare=False)
    """The text that the tokens are from, without asterisks; None if only the tokens are known."""
    document: str = field(default="", compare=False)
    """File and name of its document; empty in CoNLL-2005, which has no documents."""
    fault: str = field(default="", compare=False)
    """Why the roles of the predicate cannot be used; such a predicate has no tags."""


def read_predicates(path: str | os.PathLike[str]) -> Iterator[PredicateInSentence]:
    """Read an example for each predicate, and one without tags for a sentence that has no predicate.

    The file is CoNLL-2012 if the first line that is not blank is `#begin document`, otherwise CoNLL-2005.
    The columns of CoNLL-2005 are separate files, to be pasted together: words first, props last (the lemma of each
    predicate or `-`, and a column of brackets per predicate), with any columns between. Tokens become plain
    (`plain_token`).
    Some predicates of OntoNotes have brackets that nest or overlap: the `fault` of their examples says so.
    Raises ValueError, with the file and the lines, for rows of different lengths, cells without brackets, more or fewer
    columns than predicates, a first column of CoNLL-2005 that numbers the words, and a file without sentences. Warns if
    a tenth of the sentences are very long.
    """
    name = os.fspath(path)
    lines, first = lines_and_first(path)
    read = _conll2012(lines, name) if first.startswith(conll2012.BEGIN) else _conll2005(lines, name)
    sentences = without_documents(read, lambda sentence: [sentence[0].tokens], name=name, expected="predicates")
    for number, sentence in enumerate(sentences):
        yield from (replace(example, sentence=number) for example in sentence)


def _conll2012(lines: Iterable[str], name: str) -> Iterator[list[PredicateInSentence]]:
    for document in conll2012.read_conll2012(lines, name=name):
        for sentence in document.sentences:
            tokens, props = conll2012.plain_tokens(sentence), conll2012.role_columns(sentence)
            lemmas = conll2012.predicate_lemmas(sentence)
            yield _predicates(sentence, tokens, props, lemmas=lemmas, document=f"{name} {document.name}")


def _conll2005(lines: Iterable[str], name: str) -> Iterator[list[PredicateInSentence]]:
    num_predicates = 0
    for sentence in with_words_first(column_sentences(lines, name=name)):
        lemmas, props = _props(sentence)
        num_predicates += len(props)
        yield _predicates(sentence, [plain_token(word) for word in sentence.column(0)], props, lemmas=lemmas)
    if not num_predicates:
        raise ValueError(
            f"{name} has no predicate; expected the columns of CoNLL-2005, or the line '{conll2012.BEGIN} (NAME); part "
            "000' and then the columns of CoNLL-2012"
        )


def _props(sentence: ColumnSentence) -> tuple[list[tuple[int, str]], list[list[str]]]:
    """Row and lemma of each predicate, and the columns of brackets.

    The column of lemmas is the last one that has a cell without `*`; the columns of brackets come after it.
    """
    columns = [sentence.column(index) for index in range(sentence.num_columns)]
    last = next((index for index in reversed(range(1, len(columns))) if any("*" not in c for c in columns[index])), 0)
    if last == 0:
        raise ValueError(f"{sentence.line(0)}: {first_token(' '.join(sentence.rows[0]))} has no column of predicates")
    lemmas = [(row, cell) for row, cell in enumerate(columns[last]) if cell != _NONE]
    props = columns[last + 1 :]
    if len(lemmas) != len(props):
        expected = "expected one column per predicate, of brackets such as (A0* *) (V*); BIO tags are not read"
        raise ValueError(
            f"{sentence.where}: {len(lemmas)} predicates in column {last + 1}, but {len(props)} columns of "
            f"roles after it; {expected}"
        )
    return lemmas, props


def _predicates(
    sentence: ColumnSentence,
    tokens: list[str],
    columns: list[list[str]],
    *,
    lemmas: list[tuple[int, str]],
    document: str = "",
) -> list[PredicateInSentence]:
    predicates: list[PredicateInSentence] = []
    of_columns = [Lemma(*lemma) for lemma in lemmas] if len(lemmas) == len(columns) else [None] * len(columns)
    for number, (column, lemma) in enumerate(zip(columns, of_columns, strict=True), start=1):
        starts: list[int] = []
        fault = ""
        try:
            tags = tags_from_props(column)
            starts = [position for position, tag in enumerate(tags) if tag == "B-V"]
        except ValueError as error:
            if not all("*" in cell for cell in column):
                raise ValueError(f"{sentence.where}, predicate {number}, {error}") from None
            tags, fault = [], "predicates whose roles nest, overlap or have no end"
        if len(starts) > 1:
            fault = "predicates with more than one V"
        elif starts and starts[0] in [before.predicate for before in predicates]:
            fault = "predicates with the same V as another predicate"
        if fault:
            predicates.append(PredicateInSentence(tokens, None, [], document=document, fault=fault))
        else:
            predicate = starts[0] if starts else None
            predicates.append(PredicateInSentence(tokens, predicate, tags, lemma, document=document))
    return predicates or [PredicateInSentence(tokens, None, [])]


@dataclass(frozen=True)
class SemanticRolesConfig:
    """Sizes of the parser, and its longest training sentence, by default as in He et al. (2017)."""

    flag_dim: int = 100
    """Width of the embedding of the flag that marks the predicate. From He's code; the other values are section 4's."""
    hidden_dim: int = 300
    """Width of each LSTM layer."""
    num_layers: int = 8
    """Number of LSTM layers; every second one reads backward."""
    recurrent_dropout_rate: float = 0.1
    """Dropout of the LSTMs' states."""
    input_dropout_rate: float = 0.0
    """Dropout of the tokens' vectors, not of the flag. It drops the same features at all tokens of a sentence."""
    output_dropout_rate: float = 0.0
    """Dropout before the dense layer, of the same kind."""
    max_train_tokens: int = 100
    """Longer sentences of the training set are skipped; 0 keeps all. He's configuration has 100."""

    def __post_init__(self) -> None:
        rates = ("recurrent_dropout_rate", "input_dropout_rate", "output_dropout_rate")
        check_bounds(self, positive=("flag_dim", "hidden_dim"), counts=("max_train_tokens",), rates=rates)
        if not 1 <= self.num_layers <= MAX_LAYERS:
            raise ValueError(f"num_layers is {self.num_layers}; expected 1 to {MAX_LAYERS}")


def paper() -> TaskConfig:
    """The model of He et al. (2017), which Peters et al. (2018) use; A is AllenNLP's configuration with ELMo.

    Give GloVe's 100-d vectors (6B). Gradients are clipped by value, as Peters et al. write; He et al.'s code clips
    their norm.
    """
    return TaskConfig(
        model=SemanticRolesConfig(),
        inputs=InputConfig(
            word_dim=100,  # He, section 4
            train_word_vectors=True,  # He
            lower_case=True,  # He
            min_word_count=2,  # ours; He: all words that GloVe lacks share one vector
            elmo=ElmoInput(
                position="input",  # Peters, table 3
                dropout_rate=0.1,  # A
                penalty=0.001,  # A; Peters, table 2
            ),
        ),
        training=TrainingConfig(
            optimizer="adadelta",  # He, section 4: rho 0.95, epsilon 1e-6
            learning_rate=1.0,  # Peters, appendix
            batch_size=80,  # He, section 4
            max_epochs=500,  # He, section 4
            patience=200,  # Peters, appendix
            clip_value=1.0,  # Peters, appendix
        ),
    )


def cpu() -> TaskConfig:
    """Trains in minutes on one core: half of the layers, a third of the width, Adam, sentences of up to 40 tokens.

    These sentences have 22,949 of the 26,434 predicates of the English Web Treebank's training set.
    """
    return variant(
        paper(),
        model={
            "flag_dim": 16,
            "hidden_dim": 96,
            "num_layers": 4,
            "recurrent_dropout_rate": 0.05,
            "input_dropout_rate": 0.1,  # ELMo's too
            "max_train_tokens": 40,
        },
        inputs={"word_dim": 50},
        elmo={"rescale": True, "dropout_rate": 0.0},
        training={
            "optimizer": "adam",  # faster than Adadelta over so few steps
            "learning_rate": 0.006,
            "batch_size": 64,
            "max_epochs": 7,
            "patience": 7,
            "decay": 0.93,  # to a sixth over the 2,513 steps
            "clip_norm": 5.0,
            "clip_value": 0.0,
            "max_dev_examples": 1_000,
        },
    )


@dataclass(frozen=True, slots=True)
class RoleArgument:
    """An argument of a predicate, or the predicate itself (its role is V)."""

    role: str
    text: str
    """The pieces as the sentence spells them, with ` ... ` between them."""
    pieces: list[TextSpan]
    """Usually one; several if the argument is interrupted (`C-A1` continues `A1`)."""


@dataclass(frozen=True, repr=False)
class PredicateRoles(Prediction):
    """A sentence with the roles of one of its predicates."""

    text: str
    """The sentence as it was given, without asterisks, or the tokens joined by spaces if only tokens were given."""
    tokens: list[str]
    predicate: int | None
    """Index of the predicate's token; None for a sentence without a predicate in a file."""
    tags: list[str]
    """A tag for each token, in BIO: `B-A0` begins an argument, `I-A0` continues it, `O` is none."""
    arguments: list[RoleArgument]

    def __repr__(self) -> str:
        found = ", ".join(f"{argument.role} {argument.text!r}" for argument in self.arguments)
        return f"<PredicateRoles {shortened(self.text)}: {found or 'no arguments'}>"


class SemanticRoles(SpanTask[PredicateInSentence, list[str]]):
    """Tokens and a predicate -> BIO tags of its roles; an example is a predicate."""

    name = "semantic-roles"
    # train, dev and test files of EWT's PropBank (verbs only, or all predicates), CoNLL-2012, and CoNLL-2005 (pasted)
    files: ClassVar[FileNames] = (
        ("train.verbs.gold_conll", "dev.verbs.gold_conll", "test.verbs.gold_conll"),
        ("train.gold_conll", "dev.gold_conll", "test.gold_conll"),
        ("train.english.v4_gold_conll", "dev.english.v4_gold_conll", "test.english.v4_gold_conll"),
        ("train.conll", "dev.conll", "test.conll"),
    )
    line_is_sentence = True
    model_config = SemanticRolesConfig
    model = "elmokit.tasks.semantic_roles.model:SemanticRoleParser"
    recipes: ClassVar[Recipes] = {"paper": paper, "cpu": cpu, "cpu-converged": partial(until_converged, cpu)}

    def read(self, path: Path, config: SemanticRolesConfig, training: bool) -> Reading[PredicateInSentence]:
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
        return reading

    def read_to_predict(
        self, path: Path, config: SemanticRolesConfig, *, as_text: bool
    ) -> Reading[PredicateInSentence]:
        """Fill in predicates by `with_predicate`. For text output, a sentence without predicates is an example too."""
        if as_text:
            examples = [*map(with_predicate, read_predicates(path))]
            return Reading(examples, Counter(example.fault for example in examples if example.fault))
        reading = self.read(path, config, False)
        return Reading([*map(with_predicate, reading.examples)], reading.skipped)

    def symbols(self, examples: Iterable[PredicateInSentence]) -> list[str]:
        """`O`, and both tags of every role, so that every span can be written."""
        roles = {tag[2:] for example in examples for tag in example.tags if tag != "O"}
        return ["O", *(f"{prefix}-{role}" for role in sorted(roles) for prefix in "BI")]

    def score(self, examples: Sequence[PredicateInSentence], predictions: Sequence[Sequence[str]]) -> dict[str, float]:
        """The overall scores of srl-eval, and the F1 of each role."""
        result = score_roles(gold=[example.tags for example in examples], predicted=predictions)
        return span_scores(result, perfect=result.perfect.percent)

    def from_json(self, fields: Mapping[str, Any]) -> PredicateInSentence:
        """Read `{"tokens": ["The", "cat", "sat"], "predicate": 2}`, counted from 0, or `{"text": "The cat *sat*"}`.

        If tokens are given too, the text has no asterisks.
        """
        text, tokens = text_and_tokens(fields, where="the sentence")
        if tokens is None:
            return _marked(text or "")
        predicate = picked(fields, _Predicate, where="the sentence").predicate
        if not 0 <= predicate < len(tokens):
            raise ValueError(f"the sentence: field predicate: is {predicate}; expected 0 to {len(tokens) - 1}")
        return PredicateInSentence(tokens, predicate, [], text=text)

    def to_text(self, predictions: Iterable[tuple[PredicateInSentence, Sequence[str]]]) -> Iterator[str]:
        """Blocks of CoNLL-2005 columns, one per sentence: words, lemmas of predicates, a column of roles per predicate.

        srl-eval.pl scores these props without the words (`cut -f2-`). Lemmas are copied from the input; if there is
        none, the predicate's word is the lemma. Spaces in a word or a lemma become `_`. So does a lemma `-`, because it
        would mean "not a predicate". The predicates of a sentence must follow each other.
        """
        block: list[tuple[PredicateInSentence, Sequence[str]]] = []
        for example, prediction in predictions:
            if block and (example.sentence is None or example.sentence != block[-1][0].sentence):
                yield _block(block)
                block = []
            block.append((example, prediction))
        if block:
            yield _block(block)

    def result(self, example: PredicateInSentence, prediction: Sequence[str]) -> PredicateRoles:
        located = Passage.of(example.tokens, example.text)
        arguments: list[RoleArgument] = []
        for argument in arguments_from_tags(prediction):
            pieces = [located.span(first, last) for first, last in argument.pieces]
            arguments.append(RoleArgument(argument.role, " ... ".join(piece.text for piece in pieces), pieces))
        return PredicateRoles(located.text, example.tokens, example.predicate, list(prediction), arguments)


def with_predicate(example: PredicateInSentence) -> PredicateInSentence:
    """The example. If its column has no roles at all, the token of its lemma becomes its predicate."""
    if example.predicate is None and example.lemma is not None and not {*example.tags} - {"O"}:
        return replace(example, predicate=example.lemma.token)
    return example


def _marked(line: str) -> PredicateInSentence:
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
        raise ValueError(f"{first_token(line)}: no token is between the asterisks")
    return PredicateInSentence(tokens, index, [], text=text)


@dataclass(frozen=True)
class _Predicate:
    predicate: int


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


TASK = SemanticRoles()
