"""The task of named entities: an example is a sentence; scores as conlleval's; output as columns or as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from elmokit.metrics.spans import score_spans, spans_from_tags, tagging_scheme, tags_from_spans
from elmokit.tasks.config import (
    ElmoInput,
    InputConfig,
    TaggerConfig,
    TaskConfig,
    TrainingConfig,
    until_converged,
    variant,
)
from elmokit.tasks.named_entities.reader import TaggedSentence, read_tagged_sentences
from elmokit.tasks.task import Passage, Prediction, Reading, Task, labels_of_tags, sentence_of, shortened


# Recipes. A is AllenNLP's ner.jsonnet and ner_elmo.jsonnet, which reproduce the paper.
def paper() -> TaskConfig:
    """Peters et al. (2018), appendix, but with GloVe's 50-d vectors (give their file) instead of Senna's."""
    return TaskConfig(
        model=TaggerConfig(output_dropout_rate=0.5),  # A, as the other rate; the paper gives none
        inputs=InputConfig(
            word_dim=50,  # paper
            train_word_vectors=True,  # paper
            min_word_count=2,  # ours: rare words that the file lacks teach the unknown word its vector
            character_dim=16,  # paper
            character_filters=((3, 128),),  # paper
            elmo=ElmoInput(position="input", penalty=0.1),  # paper; the penalty is its lambda
        ),
        training=TrainingConfig(
            learning_rate=0.001,  # paper, Adam, constant
            batch_size=64,  # A
            max_epochs=75,  # A
            patience=25,  # A
            clip_norm=5.0,  # paper
        ),
    )


def cpu() -> TaskConfig:
    """Trains in minutes on one core: all sentences of CoNLL-2003, half the widths, few epochs.

    The learning rate, the dropout rates and ELMo's `rescale` are ours: experiments/LOG.md, 2026-11-21.
    """
    return variant(
        paper(),
        model={"first_dim": 100, "second_dim": 64, "dropout_rate": 0.3, "output_dropout_rate": 0.3},
        inputs={"character_filters": ((3, 64),)},
        elmo={"rescale": True},
        training={"learning_rate": 0.003, "decay": 0.95, "batch_size": 32, "max_epochs": 8, "patience": 8},
    )


def cpu_ko() -> TaskConfig:
    """The same for KLUE-NER, with the Korean biLM; the words start at random. Few eojeol occur twice."""
    few = {"max_epochs": 15, "patience": 15}  # each has a fifth of the steps of CoNLL-2003
    return variant(cpu(), elmo={"model": "mini-ko"}, training=few)


@dataclass(frozen=True, slots=True)
class Entity:
    """A name in a sentence, with its kind."""

    label: str
    text: str
    """As the sentence spells it: `sentence.text[start:end]`."""
    first: int
    last: int
    """Indices of the first and the last token, both part of the entity."""
    start: int
    end: int
    """Offsets of the first character, and of the one after the last."""


@dataclass(frozen=True, repr=False)
class TaggedText(Prediction):
    """A sentence with its tags and entities."""

    text: str
    """The sentence as it was given; the tokens joined by spaces if only these were given."""
    tokens: list[str]
    tags: list[str]
    """A tag for each token, in BIO: `B-PER` begins an entity, `I-PER` continues it, `O` is none."""
    entities: list[Entity]

    def __repr__(self) -> str:
        entities = ", ".join(f"{found.label} {found.text!r} {found.start}:{found.end}" for found in self.entities)
        return f"<TaggedText {shortened(self.text)}: {entities or 'no entities'}>"


class NamedEntities(Task[TaggedSentence, list[str]]):
    """Tokens -> BIOUL tags; an example is a sentence."""

    name = "named-entities"
    metric = "f1"
    # train, dev and test files of CoNLL-2003; CoNLL-2002 (two languages); CoNLL-2012; WNUT-17; KLUE-NER as split by
    # elmokit, and as published (its test set is not); CoNLL-2003 under its other usual names
    files = (
        ("eng.train", "eng.testa", "eng.testb"),
        ("esp.train", "esp.testa", "esp.testb"),
        ("ned.train", "ned.testa", "ned.testb"),
        ("train.english.v4_gold_conll", "dev.english.v4_gold_conll", "test.english.v4_gold_conll"),
        ("wnut17train.conll", "emerging.dev.conll", "emerging.test.annotated"),
        ("train.conll", "dev.conll", "test.conll"),
        ("klue-ner-v1.1_train.tsv", "klue-ner-v1.1_dev.tsv", "klue-ner-v1.1_test.tsv"),
        ("train.txt", "valid.txt", "test.txt"),
    )
    model_config = TaggerConfig
    model = "elmokit.tasks.task_model:NameTagger"
    recipes = {"paper": paper, "cpu": cpu, "cpu-converged": partial(until_converged, cpu), "cpu-ko": cpu_ko}

    def read(self, path: Path, config: TaggerConfig, training: bool) -> Reading[TaggedSentence]:
        return Reading(list(read_tagged_sentences(path)))

    def symbols(self, examples: Iterable[TaggedSentence]) -> list[str]:
        """`O`, and all four tags of every kind of entity, so that every span can be written."""
        kinds = {tag[2:] for example in examples for tag in example.tags if tag != "O"}
        return ["O", *(f"{prefix}-{kind}" if kind else prefix for kind in sorted(kinds) for prefix in "BILU")]

    def label_names(self, symbols: Iterable[str]) -> list[str]:
        return labels_of_tags(symbols)

    def score(self, examples: Sequence[TaggedSentence], predictions: Sequence[Sequence[str]]) -> dict[str, float]:
        """The overall scores of conlleval, and the F1 of each kind of entity.

        Tags are compared in the scheme of the file that the examples are from, which decides the accuracy of tokens.
        """
        gold = [example.written or example.tags for example in examples]
        scheme = tagging_scheme(gold)
        result = score_spans(gold=gold, predicted=[_in_scheme(tags, scheme) for tags in predictions])
        return {
            "f1": result.overall.f1,
            "precision": result.overall.precision,
            "recall": result.overall.recall,
            "token_accuracy": result.tokens.percent,
            **{f"f1_{label}": of_label.f1 for label, of_label in result.by_label.items()},
        }

    def from_json(self, fields: Mapping[str, Any]) -> TaggedSentence:
        """Read `{"tokens": ["Jane", "lives", "in", "Seoul"]}`, or `{"text": "Jane lives in Seoul"}`, or both."""
        tokens, text = sentence_of(fields, where="the sentence")
        return TaggedSentence(tokens, [], text=text)

    def to_text(self, predictions: Iterable[tuple[TaggedSentence, Sequence[str]]]) -> Iterator[str]:
        """Lines as conlleval reads them: a token, its gold tag if there is one, and the predicted tag, in BIO.

        Spaces separate these columns, so those within a token or a tag become `_`.
        """
        for example, predicted in predictions:
            tags = [example.tags, predicted] if example.tags else [predicted]
            columns = [example.tokens, *(_in_scheme(each, "BIO") for each in tags)]
            rows = zip(*columns, strict=True)
            yield "".join(" ".join(cell.replace(" ", "_") for cell in row) + "\n" for row in rows)

    def result(self, example: TaggedSentence, prediction: Sequence[str]) -> TaggedText:
        located = Passage.of(example.tokens, example.text)
        spans = [(span.label, located.span(span.first, span.last)) for span in spans_from_tags(prediction)]
        return TaggedText(
            text=located.text,
            tokens=example.tokens,
            tags=_in_scheme(prediction, "BIO"),
            entities=[Entity(label, span.text, span.first, span.last, span.start, span.end) for label, span in spans],
        )


def _in_scheme(tags: Sequence[str], scheme: str) -> list[str]:
    return tags_from_spans(spans_from_tags(tags), num_tokens=len(tags), scheme=scheme)


TASK = NamedEntities()
