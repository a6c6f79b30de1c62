"""A toy corpus: the two senses of `bank` and of `play`, told apart by their neighbours."""

from paper.probes.sense_corpora import Instance, SenseSentence, Word
from paper.probes.targets import Target

DICTIONARY: dict[Word, tuple[str, ...]] = {
    ("bank", "NOUN"): ("bank%money", "bank%river"),
    ("play", "NOUN"): ("play%stage", "play%game"),
    ("dog", "NOUN"): ("dog%animal", "dog%person"),
    ("cat", "NOUN"): ("cat%animal", "cat%person"),
}
LINES = [
    ("the bank lends money", "bank%money"),
    ("a bank gave money", "bank%money"),
    ("the bank of the river", "bank%river"),
    ("a bank near a river", "bank%river"),
    ("an old play by him", "play%stage"),
    ("the dog barks", "dog%animal"),
]


def annotated(name: str, word: Word, start: int, end: int, *senses: str) -> Instance:
    return Instance(name, *word, Target(0, start, end), senses)


def sentence(name: str, line: str, *senses: str) -> SenseSentence:
    """A sentence whose word is the first one that the dictionary has."""
    tokens = line.split()
    start, word = next((at, (token, "NOUN")) for at, token in enumerate(tokens) if (token, "NOUN") in DICTIONARY)
    tags = ["NOUN" if token.isalpha() and len(token) > 3 else "X" for token in tokens]
    return SenseSentence(tokens, tags, [annotated(name, word, start, start + 1, *senses)])


def training() -> list[SenseSentence]:
    return [sentence(str(number), line, sense) for number, (line, sense) in enumerate(LINES)]


def senses(word: Word) -> tuple[str, ...]:
    return DICTIONARY.get(word, ())
