"""Each command that reads text gets odd lines: row `i` of its output belongs to line `i`, or an error names the line.

Most lines begin with a word that tells them apart, so that a vector or a prediction can be traced to its line.
"""

import gzip
import hashlib
import json
import lzma
from collections import Counter
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from elmokit.corpus.prepare import Preparation, prepare
from elmokit.corpus.vocabulary_counts import write_vocabulary
from elmokit.elmo.elmo import Elmo
from elmokit.files.lines import read_lines
from elmokit.scoring.breakdown import measure_files
from elmokit.tasks.config import Splits
from elmokit.tasks.predict import TrainedTask, load_task
from elmokit.tasks.train import train
from elmokit.text.tokenizer import tokenize
from elmokit.text.vocabulary import Vocabulary
from elmokit.vectors.embed_file import embed_file
from elmokit.vectors.files import load_vectors
from toy_bilm import write_toy

SPECIALS = ["<S>", "</S>", "<UNK>"]
BLANK = ("", " ", "\t  ", "\u3000", "\x1c", "\x85", "\u2028", "\xa0 ")
SEPARATORS = (" ", "  ", "\t", " \t ", "\u3000", "\u2028", "\x85", "\x0b", "\x1d", "\xa0", "\ufeff")
PIECES = (
    *("e\u0301", "q\u0323\u0307", "\u0301", "\u1112\u1161\u11ab", "\u202eabc\u202c", "\u05e9\u05dc\u05d5\u05dd"),
    *("\U0001f469\u200d\U0001f469\u200d\U0001f467", "\U0001f1f0\U0001f1f7", "\x1b[31m", "\x07", "\x7f", "can't"),
    *("\ufeff", "\u2028", "\x85", "\ufffd", "\u0e01\u0e33", "\u200b", "3.14", "...", "http://a.b/c"),
    *("<S>x", "Mr.", "U.S.", "-", "''", "a" * 60, "밥" * 60, "\u0301" * 5000),
)
NOT_UTF8 = (b"\xff", b"\xc0\xaf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe2\x82", b"\x80", b"\0", b"a\0b")


def first_word(number: int) -> str:
    """The word at the start of line `number`, made of letters that no tokenizer splits."""
    digest = hashlib.blake2b(str(number).encode(), digest_size=7).hexdigest()
    return digest.translate(str.maketrans("0123456789", "ghijklmnop"))


FIRST_WORDS = [first_word(number) for number in range(40)]
CHARACTERS = st.characters(exclude_categories=["Cs"], exclude_characters="\0\n\r")
PIECE = st.one_of(st.sampled_from(PIECES), st.text(CHARACTERS, min_size=1, max_size=4))
REST = st.lists(st.tuples(PIECE, st.sampled_from(SEPARATORS)).map("".join), max_size=4).map("".join)
LINES = st.lists(st.one_of(REST, REST, REST, st.none()), max_size=len(FIRST_WORDS) - 1)
"""What follows the first word of a line; None is a blank line."""


@dataclass(frozen=True)
class OddText:
    """A file, and what its lines are."""

    path: Path
    lines: list[str]


@st.composite
def contents(draw: Any) -> tuple[bytes, list[str]]:
    """Bytes of a file, and its lines."""
    rests, blank = [draw(REST), *draw(LINES)], draw(st.sampled_from(BLANK))  # one sentence at least
    lines = [blank if rest is None else f"{word} {rest}" for word, rest in zip(FIRST_WORDS, rests, strict=False)]
    assume(2 * sum("\t" in line.strip("\t") for line in lines) <= len(lines))  # more tabs would look like columns
    ends = draw(st.sampled_from(("\n", "\r\n")))
    content = ends.join(lines).encode() + (b"" if lines[-1] and draw(st.booleans()) else ends.encode())
    return draw(st.sampled_from((b"", b"", b"\xef\xbb\xbf"))) + content, lines


PACKINGS = st.sampled_from((bytes, bytes, gzip.compress, lzma.compress))


@dataclass(frozen=True)
class Models:
    bilm: Path
    elmo: Elmo
    tagger: TrainedTask
    vectors: np.ndarray
    """Vectors of the first words in layer 0, which does not depend on the context."""


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Models:
    folder = tmp_path_factory.mktemp("models")
    bilm = write_toy(folder / "bilm", vocabulary=Vocabulary([*SPECIALS, *FIRST_WORDS]))
    elmo = Elmo.from_pretrained(bilm, device="cpu")
    vectors = np.stack([array[0] for array in elmo.encode([[word] for word in FIRST_WORDS], layers=0)])
    (folder / "data.txt").write_text("Jane B-PER\nlives O\nin O\nSeoul B-LOC\n")
    small = ["word_dim=5", "first_dim=4", "second_dim=3", "elmo=none", "max_epochs=1"]
    data = Splits((folder / "data.txt",), (folder / "data.txt",))
    run = train("named-entities", data, run_dir=folder / "run", settings=small, device="cpu")
    return Models(bilm, elmo, load_task(run, device="cpu"), vectors)


def embed(models: Models, text: OddText, *, raw: bool) -> None:
    output = text.path.parent / "out.npy"
    assert embed_file(models.elmo, text.path, output, layers=0, raw_text=raw).num_lines == len(text.lines)
    for number, (line, found) in enumerate(zip(text.lines, load_vectors(output), strict=True)):
        tokens = (tokenize if raw else tokens_of)(line)
        assert len(tokens) == len(found)
        if first_word(number) in line:
            assert tokens[0] == first_word(number)
            np.testing.assert_allclose(found[0], models.vectors[number], atol=1e-4)


def perplexity(models: Models, text: OddText) -> None:
    sentences = [tokens_of(line) for line in text.lines if line and not line.isspace()]
    measured = measure_files(str(models.bilm), [text.path]).whole.perplexity
    assert measured.num_predictions == sum(len(sentence) + 1 for sentence in sentences)
    known = {*SPECIALS, *FIRST_WORDS} - {"<UNK>"}
    assert measured.num_unknown == sum(token not in known for sentence in sentences for token in sentence)


def vocabulary(models: Models, text: OddText) -> None:
    counts = Counter(token for line in text.lines if line and not line.isspace() for token in tokens_of(line))
    write_vocabulary([text.path], output := text.path.parent / "words.txt")
    words = Vocabulary.read(output).tokens[len(SPECIALS) :]
    assert sorted(counts) == sorted(words)
    assert sorted(counts.values(), reverse=True) == [counts[word] for word in words]


def prepare_corpus(models: Models, text: OddText) -> None:
    output = text.path.parent / "corpus"
    prepare([text.path], output, Preparation(min_tokens=1, max_tokens=1 << 30, keep_duplicates=True, held_out=0))
    tokens = Counter(token for path in output.glob("*.xz") for line in read_lines(path) for token in line.split(" "))
    for number, line in enumerate(text.lines):
        assert tokens[first_word(number)] == line.startswith(first_word(number))


def predict(models: Models, text: OddText) -> None:
    made = list(models.tagger.predict_file(text.path, kind="text", form="json"))
    for line, prediction in zip(text.lines, map(json.loads, made), strict=True):
        assert (prediction["tokens"] == tokenize(line)) if line.strip() else prediction is None


def tokens_of(line: str) -> list[str]:
    """Tokens of tokenised text; this is a second implementation."""
    return [token for part in line.split("\t") for token in part.split(" ") if token]


COMMANDS = {
    "embed": partial(embed, raw=False),
    "embed --tokenize": partial(embed, raw=True),
    "perplexity": perplexity,
    "vocabulary": vocabulary,
    "prepare": prepare_corpus,
    "predict": predict,
}
with_each_command = pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
pytestmark = pytest.mark.filterwarnings("ignore")  # commands warn about odd text


@with_each_command
def test_each_line_has_its_row(command: Any, models: Models, tmp_path_factory: pytest.TempPathFactory):
    @settings(max_examples=10)
    @given(contents(), PACKINGS)
    def check(odd: tuple[bytes, list[str]], pack: Any) -> None:
        content, lines = odd
        path = tmp_path_factory.mktemp("odd") / "text.txt"
        path.write_bytes(pack(content))
        command(models, OddText(path, lines))

    check()


@with_each_command
def test_a_line_that_is_not_utf8_is_named_and_nothing_is_left(
    command: Any, models: Models, tmp_path_factory: pytest.TempPathFactory
):
    @settings(max_examples=6)
    @given(contents(), st.data())
    def check(odd: tuple[bytes, list[str]], data: st.DataObject) -> None:
        lines = odd[1]
        encoded = [line.encode() for line in lines]
        number = data.draw(st.integers(0, len(lines) - 1))
        bad = data.draw(st.sampled_from(NOT_UTF8))
        encoded[number] = data.draw(st.sampled_from((bad + encoded[number], encoded[number] + bad)))
        path = tmp_path_factory.mktemp("odd") / "text.txt"
        path.write_bytes(b"\n".join(encoded))
        with pytest.raises((ValueError, OSError), match=rf"text\.txt, line {number + 1}:"):
            command(models, OddText(path, lines))
        assert [each for each in path.parent.iterdir() if each != path and each.suffix != ".lock"] == []

    check()
