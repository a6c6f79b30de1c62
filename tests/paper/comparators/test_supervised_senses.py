"""IMS and the neural tagger: features by hand, and the senses of a toy corpus told apart."""

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from elmokit.vectors.file_vector_source import WordVectorSource
from paper.comparators.ims import decayed_sum, train_ims
from paper.comparators.sense_tagger import train_sense_tagger
from paper.senses import Instance, SenseSentence, Target, Word

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
    """A sentence. Its annotated word is the first one that is in the dictionary."""
    tokens = line.split()
    start, word = next((at, (token, "NOUN")) for at, token in enumerate(tokens) if (token, "NOUN") in DICTIONARY)
    tags = ["NOUN" if token.isalpha() and len(token) > 3 else "X" for token in tokens]
    return SenseSentence(tokens, tags, [annotated(name, word, start, start + 1, *senses)])


TRAINING = [sentence(str(number), line, sense) for number, (line, sense) in enumerate(LINES)]
TAGGER = ["word_dim=12", "hidden_dim=12", "min_count=1", "dropout_rate=0", "learning_rate=0.02", "batch_size=3"]
needs_sklearn = pytest.mark.skipif(find_spec("sklearn") is None, reason="needs scikit-learn")


@needs_sklearn
@pytest.mark.parametrize("surrounding_words", [True, False])
def test_ims_tells_senses_apart_by_the_words_around(surrounding_words: bool):
    model = train_ims(TRAINING, surrounding_words=surrounding_words)
    asked = [sentence("money", "my bank lends money"), sentence("river", "its bank of the river")]
    asked += [sentence("one", "a dog barks"), sentence("none", "a cat sits")]  # one sense in the corpus; unknown
    asked.append(SenseSentence(["a", "zebra"], ["X", "NOUN"], [annotated("z", ("zebra", "NOUN"), 1, 2)]))
    expected = {"money": "bank%money", "river": "bank%river", "one": "dog%animal", "none": "cat%animal"}
    assert model.predict(asked, DICTIONARY) == expected


@needs_sklearn
def test_the_features_of_a_word_of_two_tokens_are_those_around_both(tmp_path: Path):
    (tmp_path / "vectors.txt").write_text("saw 1 0\n")
    word = annotated("1", ("new_york", "NOUN"), 2, 4, "new_york%city", "new_york%state")
    around = SenseSentence(["He", "saw", "New", "York", "City", "today"], ["P", "V", "N", "N", "M", "A"], [word])
    model = train_ims([around], vectors=WordVectorSource(tmp_path / "vectors.txt"))
    classifier = model.classifiers["new_york", "NOUN"]
    assert set(classifier.classes_) == {"new_york%city", "new_york%state"}  # an example of each
    assert set(classifier[0].get_feature_names_out()) == {
        *("tag -3 <none>", "tag -2 P", "tag -1 V", "tag 0 N", "tag 1 M", "tag 2 A", "tag 3 <none>"),
        *("-2 to -2 he", "-1 to -1 saw", "1 to 1 city", "2 to 2 today"),
        *("-2 to -1 he saw", "-1 to 1 saw city", "1 to 2 city today", "-3 to -1 <none> he saw"),
        *("-2 to 1 he saw city", "-1 to 2 saw city today", "1 to 3 city today <none>"),
        *("word he", "word saw", "word city", "word today", "vector 0", "vector 1"),
    }


def test_the_sum_decays_to_a_tenth_within_the_window():
    total = decayed_sum(np.eye(25), annotated("w", ("w", "NOUN"), 12, 14))
    assert total[11] == total[14] == 1
    assert total[2] == total[23] == pytest.approx(0.1)
    assert total[[1, 12, 13, 24]].tolist() == [0, 0, 0, 0]


@pytest.mark.learnt
def test_the_tagger_learns_the_senses_of_a_toy_corpus_by_heart():
    tagger = train_sense_tagger(TRAINING, [*TAGGER, "epochs=20"])
    asked = [sentence(str(number), line) for number, (line, _) in enumerate(LINES)]
    assert tagger.predict(asked, DICTIONARY) == {str(number): sense for number, (_, sense) in enumerate(LINES)}
    assert tagger.predict([sentence("unseen", "a cat sits")], DICTIONARY) == {"unseen": "cat%animal"}
    assert tagger.predict([sentence("x", "the dog barks")], {}) == {}


def test_tokens_without_a_sense_are_tagged_with_themselves_and_what_cannot_be_learnt_is_refused():
    tagger = train_sense_tagger(TRAINING, [*TAGGER[:2], "epochs=1"])  # words that occur twice
    row = tagger.targets([sentence("0", "the bank lends money", "bank%money")])[0].tolist()
    assert row == [tagger.labels["the"], tagger.labels["bank%money"], -100, tagger.labels["money"]]
    with pytest.raises(ValueError, match="the corpus has no sentence with a token"):
        train_sense_tagger([SenseSentence([], [], [])])
    with pytest.raises(ValueError, match="dropout_rate"):
        train_sense_tagger(TRAINING, ["dropout_rate=1"])
