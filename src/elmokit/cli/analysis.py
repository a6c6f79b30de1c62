"""Commands of analyses: change and neighbours."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, fields
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from elmokit.cli.options import Parser, check_model, given, open_elmo, open_output, text_output
from elmokit.system.markdown import aligned_table
from elmokit.system.messages import printable
from elmokit.text.corpora.cells import layer_choice

if TYPE_CHECKING:
    from elmokit.analysis.semantic_change.change import MovedContext, SemanticChange, WordChange
    from elmokit.analysis.semantic_change.distances import Distance

_CONTEXT = 50  # columns on each side of a word
NUM_SHOWN = 20
"""Words in the table for the terminal."""
NUM_WITH_CONTEXTS = 5
"""Words whose contexts are shown there."""
TOKENS_AROUND = 8
"""Tokens of a context that are shown on each side of the word."""

MAX_Q = 0.05
"""A word counts as different if its q is at most this. One in twenty such words is expected to be a false alarm."""

_CONTEXTS = "contexts that moved most, by how much further they are from the other corpus than from their own:"
_MEASURES = ("excess", "prt", "apd")
_PARTS = ("estimate", "low", "high", "unchanged", "p", "q")
"""The fields of a `Distance`."""


def add_change(parser: Parser) -> None:
    add = parser.add_argument
    text = "one sentence per line: a file, a folder of files, or a folder that prepare wrote"
    add("first", type=Path, metavar="CORPUS1", help=f"the earlier text, {text}")
    add("second", type=Path, metavar="CORPUS2", help="the later text")
    words = parser.add_mutually_exclusive_group()
    given_words = "one word per line, with its other forms after a space; - for stdin (default: frequent words)"
    words.add_argument("--words", metavar="FILE", help=given_words)
    stop_words = "without --words: words to leave out, separated by spaces or line breaks; en: function words"
    words.add_argument("--stop-words", metavar="FILE", help=stop_words)
    parser.add_model(has_default=True)
    add("--layers", type=layer_choice, help="top, average, a number, weights, or all (default: top)")
    parser.add_text()
    regex = "with --words: the forms are regular expressions for whole tokens, such as linhas?"
    add("--regex", dest="patterns", action="store_true", help=regex)
    parser.add_flag("--ignore-case", "count Plane as a use of plane")
    add("--max-uses", metavar="N", type=int, help="uses compared per corpus, drawn at random (default: 200)")
    add("--min-uses", metavar="N", type=int, help="leave out words with fewer uses in a corpus (default: 5)")
    add("--max-words", metavar="N", type=int, help="without --words: how many (default: 1000)")
    contexts = "contexts shown per word and corpus (default: 3)"
    add("--contexts", metavar="N", type=int, dest="num_contexts", help=contexts)
    add("--resamples", metavar="N", type=int, help="resamples for each interval and each test (default: 1000)")
    add("--seed", metavar="N", type=int, help="seed of the random draws (default: 0)")
    add("-o", "--output", metavar="OUT.tsv", type=text_output, help="also write all words as a table")
    add("--json", metavar="FILE", type=text_output, help="also write everything as JSON, with the contexts")


def run_change(arguments: argparse.Namespace) -> None:
    from elmokit.analysis.semantic_change.uses import corpus_files
    from elmokit.files.atomic import check_names
    from elmokit.files.lines import check_texts, read_lines

    if arguments.output and arguments.json and arguments.output.resolve() == arguments.json.resolve():
        raise ValueError(f"--output and --json both name {arguments.json}; expected two files")
    if arguments.patterns and not arguments.words:
        raise ValueError("--regex needs --words")
    words = None if arguments.words is None else list(read_lines(arguments.words))
    stop_words = arguments.stop_words or ()
    if stop_words and stop_words != "en":
        stop_words = [word for line in read_lines(stop_words) for word in line.split()]
    inputs = [file for path in (arguments.first, arguments.second) for file in corpus_files(path, arguments.column)]
    check_texts(*inputs)
    for written in (arguments.output, arguments.json):
        check_model(arguments, *inputs, arguments.words, arguments.stop_words, output=written)
    if arguments.json:
        check_names(*inputs)
    with open_output(arguments.output, None) as table, open_output(arguments.json, None) as everything:
        from elmokit.analysis.semantic_change.change import ChangeSettings, semantic_change
        from elmokit.text.corpora.tables import as_tsv

        names = {one.name for one in fields(ChangeSettings)} - {"stop_words", "raw_text"}
        how = given(arguments, *names, raw_text="tokenize")
        settings = ChangeSettings(stop_words=stop_words, **how)
        result = semantic_change(open_elmo(arguments), arguments.first, arguments.second, words, settings)
        if table:
            table.write(as_tsv(change_rows(result)))
        if everything:
            everything.write(change_json(result))
    print(change_text(result))


def add_neighbours(parser: Parser) -> None:
    add = parser.add_argument
    add("text", metavar="TEXT", help="sentence with the word; it is tokenised")
    add("--word", metavar="W", required=True, help="word in the sentence (its first occurrence)")
    corpus = "corpus: one sentence per line (plain or compressed), a folder of such files, or one that prepare wrote"
    add("--corpus", metavar="FILE", type=Path, required=True, help=corpus)
    parser.add_text()
    add("--number", metavar="N", type=int, default=10, help="how many (default: %(default)s)")
    among = "occurrences of any word, of the same word, or of other words (default: %(default)s)"
    add("--among", choices=("any", "same", "other"), default="any", help=among)
    add("--layers", type=layer_choice, default="top", help="top, average, a number, or weights")
    parser.add_model(has_default=True)


def run_neighbours(arguments: argparse.Namespace) -> None:
    from elmokit.analysis.semantic_change.uses import open_corpus
    from elmokit.files.lines import check_texts, shown_name
    from elmokit.formats.find import model_name
    from elmokit.system.markdown import columns

    check_model(arguments, output=None)
    corpus = open_corpus(arguments.corpus, **given(arguments, "column", "as_text", raw_text="tokenize"))
    check_texts(*corpus.files)
    elmo = open_elmo(arguments)
    how = given(arguments, "number", "among", "layers")
    starts: list[tuple[int, Path]] = []  # the index of each file's first sentence

    def sentences() -> Iterator[list[str]]:
        for index, (file, line, text) in enumerate(corpus.lines()):
            if line == 1:
                starts.append((index, corpus.files[file]))
            yield corpus.split(text)

    found = elmo.nearest(arguments.text, arguments.word, sentences(), **how)
    if not found:
        raise ValueError(f"found no occurrence in {arguments.corpus} (--among {arguments.among})")
    print(f"model {printable(model_name(elmo.name or ''))}")
    for one in found:
        left, right = " ".join(one.tokens[: one.index]), " ".join(one.tokens[one.index + 1 :])
        left, right = printable(left[-_CONTEXT:], limit=None), printable(right[:_CONTEXT], limit=None)
        space = " " * (_CONTEXT - columns(left))
        start, file = max(pair for pair in starts if pair[0] <= one.sentence)
        place = f"{printable(shown_name(file), limit=None)}:{one.sentence - start + 1}"
        print(f"{one.similarity:.3f}  {space}{left} [{printable(one.token)}] {right}  ({place})")


def change_text(result: SemanticChange) -> str:
    """The words that changed most, and the contexts that moved most, for each layer."""
    parts = [f"model {printable(result.model)}"]
    for layer, of_layer in groupby(result.changes, key=lambda change: change.layer):
        changes = list(of_layer)
        parts += [f"layer {layer}", _table(changes[:NUM_SHOWN])]
        if len(changes) > NUM_SHOWN:
            parts.append(f"and {len(changes) - NUM_SHOWN:,} more words with a smaller excess")
        contexts = [line for change in changes[:NUM_WITH_CONTEXTS] for line in _contexts(change)]
        if not any(change.distances.excess.q <= MAX_Q for change in changes):
            parts.append(f"no word differs by more than chance: none has a q of at most {MAX_Q} (for the excess)")
        parts += ["", _CONTEXTS, *contexts] if contexts else []
    if unused := _forms_without_uses(result):
        parts += ["", f"forms that occur in neither corpus: {', '.join(map(printable, unused))}"]
    if result.too_rare:
        rare = ", ".join(
            f"{printable(word)} ({first:,} and {second:,})" for word, (first, second) in result.too_rare.items()
        )
        parts += ["", f"left out, because they have too few uses: {rare}"]
    return "\n".join(parts)


def change_rows(result: SemanticChange) -> Iterator[list[str]]:
    """A row of column names, then a row for each word and layer."""
    yield [
        *("layer", "word", "uses_1", "uses_2", "compared_1", "compared_2"),
        *(measure if part == "estimate" else f"{measure}_{part}" for measure in _MEASURES for part in _PARTS),
    ]
    for change in result.changes:
        numbers = (change.first.total, change.second.total, change.first.compared, change.second.compared)
        yield [
            *(change.layer, change.word, *map(str, numbers)),
            *(f"{getattr(getattr(change.distances, name), part):z.6f}" for name in _MEASURES for part in _PARTS),
        ]


def change_json(result: SemanticChange) -> str:
    """The whole result as JSON, with the contexts."""
    return json.dumps(asdict(result), ensure_ascii=False, indent=1, default=str) + "\n"


def _forms_without_uses(result: SemanticChange) -> list[str]:
    """Forms of the compared words that neither corpus uses, each once."""
    changes = {change.word: change for change in result.changes}.values()
    return [
        form
        for change in changes
        for form, uses in change.first.of_forms.items()
        if uses == change.second.of_forms[form] == 0
    ]


def _table(changes: Sequence[WordChange]) -> str:
    rows = [["word", "uses", "uses", "excess", "95 %", "p", "q", "PRT", "95 %", "APD", "95 %"]]
    for change in changes:
        excess, prt, apd = change.distances.excess, change.distances.prt, change.distances.apd
        rows.append(
            [
                *(change.word, f"{change.first.total:,}", f"{change.second.total:,}"),
                *(f"{excess.estimate:z.3f}", _interval(excess), f"{excess.p:z.3f}", f"{excess.q:z.3f}"),
                *(f"{prt.estimate:z.3f}", _interval(prt), f"{apd.estimate:z.3f}", _interval(apd)),
            ]
        )
    return aligned_table(rows)


def _contexts(change: WordChange) -> Iterator[str]:
    for number, uses in enumerate((change.first, change.second), start=1):
        for context in uses.moved_most:
            yield f"{printable(change.word)}, corpus {number}, {context.moved:+z.3f}: {_excerpt(context)}"


def _excerpt(context: MovedContext) -> str:
    start, end = max(context.index - TOKENS_AROUND, 0), context.index + 1 + TOKENS_AROUND
    tokens = [*context.tokens[start : context.index], f"[{context.tokens[context.index]}]"]
    words = " ".join([*tokens, *context.tokens[context.index + 1 : end]])
    return printable(f"{'... ' * (start > 0)}{words}{' ...' * (end < len(context.tokens))}", limit=None)


def _interval(distance: Distance) -> str:
    return f"[{distance.low:z.3f}, {distance.high:z.3f}]"
