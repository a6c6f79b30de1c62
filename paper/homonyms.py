"""The occurrences of homonym_ko and other labelled Korean words, and how well a model tells their senses apart."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from elmokit.analysis.polysemes import Occurrence, senses_of, words_of
from elmokit.analysis.polysemy import Rate, measure_senses
from elmokit.files.json_fields import Fields, parse_json_object
from elmokit.files.lines import read_lines, split_tokens
from elmokit.system.messages import FormatError, first_token
from elmokit.text.corpora.cells import whole_number
from elmokit.text.corpora.tables import table_rows

if TYPE_CHECKING:
    from elmokit.analysis.polysemy import SenseRates
    from elmokit.elmo.elmo import Elmo


def read_homonyms(path: str | os.PathLike[str]) -> list[Occurrence]:
    """The occurrences in a file of JSON lines: word (the noun without its particle), sense, index, tokens.

    The token at `index` is the noun with its particle, so the forms of a word differ, and a static vector can tell
    some senses apart. Raises ValueError, naming the line, where a line is anything else.
    """
    lines = list(read_lines(path))  # to its end, so that the file is closed when a line is refused
    return [_occurrence(line, f"{os.fspath(path)}, line {number}") for number, line in enumerate(lines, start=1)]


def read_examples(path: str | os.PathLike[str]) -> list[Occurrence]:
    """The occurrences in a table with the columns word, sense, index and tokens (separated by spaces).

    The token at `index` begins with the word. Raises ValueError, naming the line, where a line is anything else.
    """
    occurrences: list[Occurrence] = []
    columns = [["word"], ["sense"], ["index"], ["tokens"]]
    for where, (word, sense, column, text) in table_rows(read_lines(path), name=os.fspath(path), columns=columns):
        tokens, index = tuple(split_tokens(text)), whole_number(column)
        if index is None or index >= len(tokens) or not tokens[index].startswith(word):
            raise FormatError(
                where, f"{first_token(column)} is not the index of {first_token(word)} in {first_token(text)}"
            )
        occurrences.append(Occurrence(word, "pragmatic", sense, index, tokens))
    return occurrences


def measure_homonyms(elmo: Elmo, train: Sequence[Occurrence], test: Sequence[Occurrence]) -> list[SenseRates]:
    """How often the nearest train occurrence of a test occurrence's word has its sense: chance, baselines and layers.

    Raises ValueError if the train half lacks a sense of the test half, or has no other sense of that word.
    """
    known = {(occurrence.word, occurrence.sense) for occurrence in train}
    num_senses = Counter(word for word, _ in known)
    for word, sense in dict.fromkeys((occurrence.word, occurrence.sense) for occurrence in test):
        if (word, sense) not in known or num_senses[word] < 2:
            raise ValueError(
                f"the train half needs {first_token(word)} in the sense {sense[:40]!r} and in another sense"
            )
    occurrences = [*train, *test]
    encoded = elmo.encode([list(occurrence.tokens) for occurrence in occurrences], layers="all")
    return measure_senses(encoded, occurrences, num_known=len(train))


def of_one_form(train: Sequence[Occurrence], test: Sequence[Occurrence]) -> tuple[list[Occurrence], list[Occurrence]]:
    """Both halves with `word` set to the form with its particle, so that particles give nothing away.

    Test occurrences are left out if the train half does not have their form in the same sense and in another one.
    """
    known, asked = (
        [replace(occurrence, word=occurrence.tokens[occurrence.index]) for occurrence in half] for half in (train, test)
    )
    senses = {form: set(senses_of(form, known)) for form in words_of(asked)}
    return known, [
        occurrence
        for occurrence in asked
        if occurrence.sense in senses[occurrence.word] and len(senses[occurrence.word]) > 1
    ]


def as_record(rates: Mapping[str, Rate]) -> dict[str, dict[str, float]]:
    """Hits and total of each rate, by name, in the JSON form that `read_recorded` reads."""
    return {
        name: {"hits": round(rate.correct, 3), "total": rate.total, "guessed": rate.guessed}
        for name, rate in rates.items()
    }


def _occurrence(line: str, where: str) -> Occurrence:
    fields = Fields(where, parse_json_object(line, where=where))
    word, sense, index = fields.text("word"), fields.text("sense"), fields.integer("index")
    tokens = tuple(fields.tokens("tokens"))
    if index >= len(tokens) or not tokens[index].startswith(word):
        raise fields.error(
            "index", f"is {index}, which is not the index of {first_token(word)} in {first_token(' '.join(tokens))}"
        )
    return Occurrence(word, "noun/noun", sense, index, tokens)
