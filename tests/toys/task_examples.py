"""Four examples of each task, and models and inputs small enough to learn them by heart."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Any

import torch

from elmokit.tasks.config import InputConfig, TaggerConfig
from elmokit.tasks.coreference.task import CoreferenceConfig, CoreferenceDocument
from elmokit.tasks.entailment.task import EntailmentConfig, SentencePair
from elmokit.tasks.inputs import TokenInputs, new_word_table
from elmokit.tasks.named_entities.task import TaggedSentence
from elmokit.tasks.question_answering.task import Answer, Question, QuestionAnsweringConfig
from elmokit.tasks.semantic_roles.task import PredicateInSentence, SemanticRolesConfig
from elmokit.tasks.sentiment.task import LabelledText, SentimentConfig
from elmokit.tasks.tags.task import TaggedWords, TagsConfig
from elmokit.tasks.task import Passage, find_task
from elmokit.tasks.train import frozen_layers, read_elmo

Sentences = Sequence[Sequence[str]]


def new_inputs(config: InputConfig, training: Sentences, others: Sentences = ()) -> TokenInputs:
    """Inputs as a run makes them: weights of seed 0 for the words of the training set, on the CPU, in eval mode."""
    words = new_word_table(config, training, others, seed=0) if config.word_dim else None
    elmo = read_elmo(config.elmo, cache=None, device="cpu")
    if (frozen := frozen_layers(elmo)) is not None:
        frozen.add([*training, *others])
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return TokenInputs(config, words=words, elmo=elmo).eval()


def document(text: str, clusters: list[list[tuple[int, int]]], *, name: str = "bc/x") -> CoreferenceDocument:
    sentences = [sentence.split() for sentence in text.split("/")]
    speakers = [f"speaker {number}" for number, sentence in enumerate(sentences) for _ in sentence]
    return CoreferenceDocument(name=name, part=0, sentences=sentences, speakers=speakers, clusters=clusters)


def question(text: str, passage: Passage, *spans: tuple[int, int] | None) -> Question:
    answers = [Answer("x" if span is None else passage.span(*span).text, 0, span) for span in spans]
    return Question(text, text.split(), passage, answers)


DOCUMENTS = [
    document("Ann saw the cat / It saw her", [[(0, 0), (6, 6)], [(2, 3), (4, 4)]]),
    document("the cat slept / Bob slept", []),
    document("Bob saw Ann / Bob fed the cat / he slept", [[(0, 0), (3, 3), (7, 7)]], name="nw/x"),
    document("she saw Bob and his cat", [[(2, 2), (4, 4)]]),
]
RAINS = ["It", "is", "cold", "and", "it", "rains"]
PAIRS = [
    SentencePair(["A", "dog", "runs"], ["An", "animal", "runs"], "entailment"),
    SentencePair(["A", "dog", "runs"], ["A", "dog", "sleeps"], "contradiction"),
    SentencePair(RAINS, ["Ann", "runs"], "neutral"),
    SentencePair(["rains"], RAINS, "neutral"),
]
SENTENCES = [
    TaggedSentence(
        ["Jane", "Ann", "Lee", "is", "in", "Seoul", "."], ["B-PER", "I-PER", "L-PER", "O", "O", "U-LOC", "O"]
    ),
    TaggedSentence(["Seoul", "beats", "New", "York", "."], ["U-ORG", "O", "B-ORG", "L-ORG", "O"]),
    TaggedSentence(["New", "York"], ["B-LOC", "L-LOC"]),
    TaggedSentence(["Hello"], ["O"]),
]
LONG = Passage.of(
    ["Ann", "met", "Bob", "in", "Seoul", "on", "Monday", ",", "and", "Bob", "gave", "her", "a", "red", "hat", "."], None
)
SHORT = Passage.of(["It", "rained", "all", "day", "."], None)
QUESTIONS = [
    question("Where did Ann meet Bob ?", LONG, (4, 4)),
    question("What did Bob give her ?", LONG, (12, 14)),
    question("Who ?", LONG, (0, 0)),
    question("How long did it rain ?", SHORT, (2, 3)),
]
ANN = ["Ann", "told", "Bob", "to", "sing"]
PREDICATES = [
    PredicateInSentence(ANN, 1, ["B-ARG0", "B-V", "B-ARG2", "B-ARG1", "I-ARG1"]),
    PredicateInSentence(ANN, 4, ["O", "O", "B-ARG0", "O", "B-V"]),
    PredicateInSentence(["Sleep", "!"], 0, ["B-V", "O"]),
    PredicateInSentence(["the", "cat", "that", "sat", "slept"], 3, ["B-ARG0", "I-ARG0", "B-R-ARG0", "B-V", "O"]),
]
WORDS = [
    TaggedWords(["She", "can", "fish"], ["PRON", "AUX", "VERB"]),
    TaggedWords(["the", "fish", "can", "run", "."], ["DET", "NOUN", "AUX", "VERB", "PUNCT"]),
    TaggedWords(["the", "run"], ["DET", "NOUN"]),
    TaggedWords(["She"], ["PRON"]),
]
TEXTS = [
    LabelledText(["It", "'s", "good"], "positive"),
    LabelledText(["It", "'s", "not", "good", ",", "it", "is", "bad"], "negative"),
    LabelledText(["not", "bad"], "positive"),
    LabelledText(["it"], "neutral"),
]


@dataclass(frozen=True)
class TaskExamples:
    """What the tests of a task's model need to know about the task."""

    task: str
    examples: Sequence[Any]
    config: Any
    gold: str
    """The field of an example that holds the answer."""
    unlabelled: Any = None
    found: Callable[[Any], Any] = lambda prediction: prediction
    wanted: Callable[[Any], Any] | None = None
    learning: dict[str, Any] = field(default_factory=dict[str, Any])
    """Changes to the config for learning the examples."""
    output_dim: int = 3
    steps: int = 30

    def answer(self, example: Any) -> Any:
        return getattr(example, self.gold) if self.wanted is None else self.wanted(example)

    def without_gold(self) -> list[Any]:
        return [replace(example, **{self.gold: self.unlabelled}) for example in self.examples]

    def words(self) -> list[str]:
        sentences = find_task(self.task).sentences
        return [token for example in self.examples for tokens in sentences(example) for token in tokens]

    def model(self, inputs: Any, **changes: Any) -> Any:
        task = find_task(self.task)
        return task.build(replace(self.config, **changes), inputs, task.symbols(self.examples))

    def learnt(self, inputs: Any) -> Any:
        torch.manual_seed(0)
        model = self.model(inputs, **self.learning)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.04)
        for _ in range(self.steps):
            optimizer.zero_grad()
            model(self.examples).backward()
            optimizer.step()
        return model.eval()


COREFERENCE = TaskExamples(
    "coreference",
    DOCUMENTS,
    CoreferenceConfig(hidden_dim=12, feature_dim=4, scorer_dim=16, max_width=4, spans_per_word=0.8),
    "clusters",
    unlabelled=[],
    learning={"max_width": 2, "spans_per_word": 1.5},  # spans that are never kept are never learnt
    output_dim=0,
    steps=60,
)
ENTAILMENT = TaskExamples(
    "entailment",
    PAIRS,
    EntailmentConfig(
        encoder_dim=8, projection_dim=8, inference_dim=8, hidden_dim=8, lstm_dropout_rate=0.0, output_dropout_rate=0.0
    ),
    "label",
    found=attrgetter("label"),
)
NAMED_ENTITIES = TaskExamples(
    "named-entities",
    SENTENCES,
    TaggerConfig(first_dim=12, second_dim=8, dropout_rate=0.0),
    "tags",
    unlabelled=[],
)
QUESTION_ANSWERING = TaskExamples(
    "question-answering",
    QUESTIONS,
    QuestionAnsweringConfig(hidden_dim=8, dropout_rate=0.0),
    "answers",
    unlabelled=[],
    found=lambda found: (found.text, found.span),
    wanted=lambda example: (example.passage.span(*example.answers[0].span).text, example.answers[0].span),
)
SEMANTIC_ROLES = TaskExamples(
    "semantic-roles",
    PREDICATES,
    SemanticRolesConfig(flag_dim=4, hidden_dim=16, num_layers=3),
    "tags",
    unlabelled=[],
    learning={"flag_dim": 8, "hidden_dim": 24},
)
SENTIMENT = TaskExamples(
    "sentiment",
    TEXTS,
    SentimentConfig(
        projection_dim=12,
        encoder_dim=8,
        integrator_dim=8,
        maxout_dims=(16, 8),
        input_dropout_rate=0.0,
        projection_dropout_rate=0.0,
        integrator_dropout_rate=0.0,
        output_dropout_rates=(0.0, 0.0),
        cnn_filters=((2, 8), (3, 8)),
    ),
    "label",
    found=attrgetter("label"),
)
TAGS = TaskExamples(
    "tags",
    WORDS,
    TagsConfig(first_dim=12, second_dim=8, dropout_rate=0.0),
    "tags",
    unlabelled=[],
    found=attrgetter("tags"),
)
EXAMPLES = {
    each.task: each
    for each in (COREFERENCE, ENTAILMENT, NAMED_ENTITIES, QUESTION_ANSWERING, SEMANTIC_ROLES, SENTIMENT, TAGS)
}
for classifier in ("bilstm", "cnn"):
    EXAMPLES[f"sentiment {classifier}"] = replace(SENTIMENT, config=replace(SENTIMENT.config, classifier=classifier))

CONLL2012 = """#begin document (bc/x); part 000
bc/x   0   0   Ann     NNP   (TOP*   -      -    -   -   *   (ARG0*)   (ARG0*)   (1)
bc/x   0   1   tried   VBD   *       try    01   -   -   *   (V*)      *         -
bc/x   0   2   to      TO    *       -      -    -   -   *   (ARG1*    *         -
bc/x   0   3   sing    VB    *)      sing   01   -   -   *   *)        (V*)      (1)

#end document
"""
CONLL2005 = "The DT * * - - (A0*\ncat NN *) (X*) - - *)\nsat VBD (VP* * 01 sit (V*)\ndown RB *)) * - - (AM-DIR*)\n\n"
ANSWER = {"text": "Ann", "answer_start": 0}
QUESTION = {"id": "q1", "question": "Who sang?", "answers": [ANSWER]}
SQUAD = json.dumps({"data": [{"paragraphs": [{"context": "Ann sang in Seoul.", "qas": [QUESTION]}]}]})
PAIR = json.dumps({"gold_label": "neutral", "sentence1": "A dog runs.", "sentence2": "It's a cat."})
DATA_FILES = (
    ("named-entities", "conll", "-DOCSTART- -X- O\n\nJane NNP B-PER\nlives VB O\n\nSeoul NNP I-LOC\n"),
    ("semantic-roles", "conll2012", CONLL2012),
    ("semantic-roles", "conll2005", CONLL2005),
    ("coreference", "conll2012", CONLL2012),
    ("question-answering", "squad", SQUAD),
    ("entailment", "json", f"{PAIR}\n{PAIR}\n"),
    ("entailment", "table", "sentence1\tsentence2\tgold_label\nA dog\tA cat\tentailment\na\tb\t-\n"),
    ("sentiment", "trees", "(3 (2 It) (4 (2 's) (3 good)))\n(1 (2 -LRB-) (0 bad))\n"),
    ("sentiment", "table", "id\tdocument\tlabel\n1\tA good film.\t1\n2\tbad\t0\n"),
)
"""A data set in each format: task, format, text."""
