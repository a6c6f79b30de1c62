"""Odd lines through every verb that reads text: row `i` of an output belongs to line `i`, or the line is refused.

An attempt is a file of `LINES` lines in one verb. Most lines begin with a word that tells them apart, so that a vector,
a prediction or a sentence of a corpus can be traced to its line. Some files have one line that is not UTF-8: an error
has to name it.
"""

import gzip
import hashlib
import json
import lzma
import random
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stderr
from dataclasses import dataclass
from functools import partial
from io import StringIO
from pathlib import Path

import numpy as np

from attacks.limited_child import Call, RefusedError, WrongError, run_limited
from attacks.outcome import Attempt, Part
from attacks.run_folders import train_tagger
from attacks.targets import new_folder
from attacks.weights import SPECIALS, stored_bilm
from elmokit.corpus.prepare import Preparation, prepare
from elmokit.corpus.vocabulary_counts import write_vocabulary
from elmokit.elmo.elmo import Elmo
from elmokit.files.lines import read_lines
from elmokit.formats.native import write_native
from elmokit.scoring.breakdown import measure_files
from elmokit.tasks.predict import TrainedTask, load_task
from elmokit.text.tokenizer import tokenize
from elmokit.text.vocabulary import Vocabulary
from elmokit.vectors.embed_file import embed_file
from elmokit.vectors.files import load_vectors

LINES = 500
BLANK = ("", " ", "\t  ", "\u3000", "\x1c", "\x85", "\u2028", "\xa0 ")
NO_TOKENS = ("\u200b", "\u200b \u200b")
_SEPARATORS = (" ", " ", " ", "  ", "\t", " \t ", "\u3000", "\u2028", "\x85", "\x0b", "\x1d", "\xa0", "\ufeff")
_PIECES = (
    *("e\u0301", "q\u0323\u0307", "\u0301", "\u1112\u1161\u11ab", "\u202eabc\u202c", "\u05e9\u05dc\u05d5\u05dd"),
    *("\U0001f469\u200d\U0001f469\u200d\U0001f467", "\U0001f1f0\U0001f1f7", "\x1b[31m", "\x07", "\x7f", "can't"),
    *("\ufeff", "\u2028", "\x85", "\ufffd", "\u0e01\u0e33", "\u200b", "3.14", "...", "http://a.b/c"),
    *("<S>x", "Mr.", "U.S.", "-", "''"),
)
_NOT_UTF8 = (b"\xff", b"\xc0\xaf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe2\x82", b"\x80", b"\0", b"a\0b")
_PACKINGS: tuple[Callable[[bytes], bytes], ...] = (
    *(bytes, bytes, partial(gzip.compress, compresslevel=1), partial(lzma.compress, preset=0)),
)


@dataclass(frozen=True)
class OddText:
    """A file, and what its lines are."""

    path: Path
    lines: list[str]
    bad_line: int | None
    """Number of the line that is not UTF-8, counted from 1."""


@dataclass(frozen=True)
class Models:
    """What the verbs are called with; made once."""

    folder: Path
    elmo: Elmo
    tagger: TrainedTask
    first_words: list[str]
    vectors: np.ndarray
    """Of the first words: layer 0, which does not depend on the context, (LINES,E)."""


def first_word(number: int) -> str:
    """The word at the start of line `number`, of letters that no tokenizer takes apart."""
    digest = hashlib.blake2b(str(number).encode(), digest_size=7).hexdigest()
    return digest.translate(str.maketrans("0123456789", "ghijklmnop"))


def odd_text(path: Path, randomness: random.Random) -> OddText:
    """Write a file of odd lines."""
    no_tokens = randomness.random() < 0.1
    bad = randomness.randrange(LINES) if randomness.random() < 0.2 else None
    content = b"\xef\xbb\xbf" if randomness.random() < 0.2 else b""
    for number in range(LINES):
        line = _odd_line(number, randomness, blank=BLANK + NO_TOKENS if no_tokens else BLANK).encode()
        if number == bad:
            at = randomness.choice((0, len(line)))
            line = line[:at] + randomness.choice(_NOT_UTF8) + line[at:]
        content += line + randomness.choice((b"\n", b"\n", b"\r\n"))
    if randomness.random() < 0.3:
        content = content[:-1]
    path.write_bytes(randomness.choice(_PACKINGS)(content))
    pieces = content.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    pieces = pieces[:-1] if pieces[-1] == b"" else pieces
    lines = [piece.removesuffix(b"\r").decode("utf-8", "replace") for piece in pieces]
    return OddText(path, lines, None if bad is None else bad + 1)


def _odd_line(number: int, randomness: random.Random, *, blank: Sequence[str]) -> str:
    if randomness.random() < 0.1:
        return randomness.choice(blank)
    pieces = [_odd_piece(randomness) for _ in range(randomness.randrange(5))]
    return " ".join([first_word(number), "".join(piece + randomness.choice(_SEPARATORS) for piece in pieces)])


def _odd_piece(randomness: random.Random) -> str:
    kind = randomness.random()
    if kind < 0.4:
        return randomness.choice(_PIECES)
    if kind < 0.402:
        return randomness.choice("ab밥\u0301") * randomness.choice((60, 5000))
    points = [
        randomness.randrange(17) * 0x10000 + randomness.randrange(0x10000) for _ in range(randomness.randrange(1, 5))
    ]
    return "".join(chr(point) for point in points if not 0xD800 <= point < 0xE000 and point not in (0, 10, 13))


def _embed(models: Models, text: OddText, *, raw: bool) -> None:
    output = text.path.parent / "out.npy"
    done = embed_file(models.elmo, text.path, output, layers=0, raw_text=raw)
    split = tokenize if raw else _tokens
    vectors = load_vectors(output)
    _same(len(text.lines), done.num_lines, "lines")
    _same(len(text.lines), len(vectors), "sentences")
    for number, (line, found) in enumerate(zip(text.lines, vectors, strict=True)):
        tokens = split(line)
        _same(len(tokens), len(found), f"tokens of line {number + 1}")
        if tokens and tokens[0] == models.first_words[number]:
            if np.abs(found[0] - models.vectors[number]).max() > 1e-4:
                raise WrongError(f"the vectors of line {number + 1} are those of another one")
        elif first_word(number) in line:
            raise WrongError(f"the first word of line {number + 1} is not its first token")


def _perplexity(models: Models, text: OddText) -> None:
    sentences = [_tokens(line) for line in text.lines if line and not line.isspace()]
    known = {*SPECIALS, *models.first_words}
    measured = measure_files(str(models.folder / "bilm"), [text.path]).whole.perplexity
    _same(sum(len(sentence) + 1 for sentence in sentences), measured.num_predictions, "predictions")
    unknown = sum(token not in known or token == "<UNK>" for sentence in sentences for token in sentence)
    _same(unknown, round(measured.unknown_rate * measured.num_predictions), "unknown tokens")


def _vocabulary(models: Models, text: OddText) -> None:
    counts = Counter(token for line in text.lines if line and not line.isspace() for token in _tokens(line))
    output = text.path.parent / "words.txt"
    write_vocabulary([text.path], output)
    words = Vocabulary.read(output).tokens[len(SPECIALS) :]
    _same(sorted(counts), sorted(words), "words")
    _same(sorted(counts.values(), reverse=True), [counts[word] for word in words], "order")


def _prepare(models: Models, text: OddText) -> None:
    output = text.path.parent / "corpus"
    prepare([text.path], output, Preparation(min_tokens=1, max_tokens=1 << 30, keep_duplicates=True, held_out=0.1))
    expected = [first_word(number) for number, line in enumerate(text.lines) if line.startswith(first_word(number))]
    tokens = Counter(token for path in output.glob("*.xz") for line in read_lines(path) for token in line.split(" "))
    for number, word in enumerate(expected):
        _same(1, tokens[word], f"occurrences of line {number + 1} in the corpus")


def _predict(models: Models, text: OddText) -> None:
    numbers = [number for number, line in enumerate(text.lines) if line.strip()]
    without = [number + 1 for number in numbers if not tokenize(text.lines[number])]
    try:
        made = list(models.tagger.predict_file(text.path, kind="text", form="json"))
    except ValueError as error:
        if without and f"line {without[0]}:" in str(error):
            raise RefusedError(str(error)) from error
        raise
    _same(len(text.lines), len(made), "predictions")
    for number, (line, prediction) in enumerate(zip(text.lines, map(json.loads, made), strict=True), start=1):
        _same(tokenize(line), prediction["tokens"] if line.strip() else [], f"tokens of line {number}")


def _tokens(line: str) -> list[str]:
    """Tokens of tokenised text, written here a second time."""
    return [token for part in line.split("\t") for token in part.split(" ") if token]


def _same(expected: object, found: object, what: str) -> None:
    if expected != found:
        raise WrongError(f"{what}: expected {str(expected)[:100]}, found {str(found)[:100]}")


VERBS: dict[str, Callable[[Models, OddText], None]] = {
    "embed": partial(_embed, raw=False),
    "embed --tokenize": partial(_embed, raw=True),
    "perplexity": _perplexity,
    "vocabulary": _vocabulary,
    "prepare": _prepare,
    "predict": _predict,
}


def attempts(seed: int, numbers: range) -> Iterator[Attempt]:
    """One file of odd lines for each number, in one verb after the other."""
    with new_folder() as folder:
        with redirect_stderr(StringIO()):
            models = _models(folder)
        calls = (Call(partial(_attempt, models, seed, number)) for number in numbers)
        for number, ending in zip(numbers, run_limited(calls), strict=True):
            note = f"--seed {seed} --first {number}: {ending.said}" if ending.outcome.is_defect else ""
            yield Attempt(list(VERBS)[number % len(VERBS)], ending.outcome, note, units=LINES)


def _attempt(models: Models, seed: int, number: int) -> None:
    place = models.folder / "text"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    text = odd_text(place / "text.txt", random.Random(f"{seed}/{number}"))
    run = list(VERBS.values())[number % len(VERBS)]
    if text.bad_line is None:
        run(models, text)
        return
    try:
        run(models, text)
    except (ValueError, OSError) as error:
        if f"text.txt, line {text.bad_line}:" not in str(error):
            raise WrongError(f"line {text.bad_line} is not UTF-8, but: {error}") from error
        if left := [path for path in place.iterdir() if path != text.path and path.suffix != ".lock"]:
            raise WrongError(f"refused, but {left} is left") from error
        raise
    raise WrongError(f"line {text.bad_line} is not UTF-8, which was not said")


def _models(folder: Path) -> Models:
    words = [first_word(number) for number in range(LINES)]
    write_native(folder / "bilm", stored_bilm(words=words))
    elmo = Elmo.from_pretrained(folder / "bilm", device="cpu")
    vectors = np.stack([array[0] for array in elmo.encode([[word] for word in words], layers=0)])
    distances = np.abs(vectors[:, None] - vectors[None]).max(axis=2) + np.eye(LINES)
    assert distances.min() > 1e-3, "two first words have the same vector"
    train_tagger(folder, None, folder / "tagger")
    return Models(folder, elmo, load_task(folder / "tagger", device="cpu"), words, vectors)


PART = Part("text", attempts, count=1_000_000 // LINES, small_count=6)
