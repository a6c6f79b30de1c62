"""Verbs of analyses: what a model's vectors say about words in corpora."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from elmokit.cli.vectors import layer_choice, open_elmo
from elmokit.cli.verb import Parser, add_model, add_text, check_apart, given, open_output, text_output
from elmokit.system.messages import printable

_CONTEXT = 50  # columns on each side of a word


def _add_change(parser: Parser) -> None:
    text = "one sentence per line: a file (plain, .gz or .xz), or a folder of such files"
    parser.add_argument("first", type=Path, metavar="CORPUS1", help=f"the earlier text, {text}")
    parser.add_argument("second", type=Path, metavar="CORPUS2", help="the later text")
    parser.option(
        "--words FILE",
        "words to measure, one per line, other forms of it after a space; - for stdin (default: the words that "
        "are most frequent in both corpora)",
    )
    add_model(parser, has_default=True)
    parser.option("--layers", "top, average, a number, weights, or all (default: top)", type=layer_choice)
    add_text(parser)
    parser.option("--ignore-case", "count Plane as a use of plane")
    parser.option("--max-uses N", "uses compared per corpus, drawn at random (default: 200)", type=int)
    parser.option("--min-uses N", "leave out words with fewer uses in a corpus (default: 5)", type=int)
    parser.option("--max-words N", "without --words: how many (default: 1000)", type=int)
    parser.option(
        "--stop-words FILE",
        "without --words: words to leave out, in any case, in lines or separated by spaces; en: function words",
    )
    parser.option("--contexts N", "contexts shown per word and corpus (default: 3)", type=int, dest="num_contexts")
    parser.option("--resamples N", "resamples for each interval and each test (default: 1000)", type=int)
    parser.option("--seed N", "seed of the random draws (default: 0)", type=int)
    parser.option("-o, --output OUT.tsv", "also write all words as a table", type=text_output)
    parser.option("--json FILE", "also write everything as JSON, with the contexts", type=text_output)


def _change(arguments: argparse.Namespace) -> None:
    """Measure how much the use of words differs between two corpora (semantic change)."""
    from elmokit.analysis.semantic_change.uses import corpus_files
    from elmokit.files.atomic import check_is_not_input, check_names
    from elmokit.files.lines import read_lines

    if arguments.output and arguments.json and arguments.output.resolve() == arguments.json.resolve():
        raise ValueError(f"{arguments.json} is named by --output and by --json; expected two files")
    check_apart(arguments, "--words", "--stop-words")
    words = None if arguments.words is None else list(read_lines(arguments.words))
    stop_words = arguments.stop_words or ()
    if stop_words and stop_words != "en":
        stop_words = [word for line in read_lines(stop_words) for word in line.split()]
    inputs = [file for path in (arguments.first, arguments.second) for file in corpus_files(path, arguments.column)]
    for written in (arguments.output, arguments.json):
        check_is_not_input(written, *inputs, arguments.words, arguments.stop_words, arguments.model, arguments.weights)
    if arguments.json:
        check_names(*inputs)
    with open_output(arguments.output, None) as table, open_output(arguments.json, None) as everything:
        from elmokit.analysis.semantic_change.change import ChangeSettings, semantic_change
        from elmokit.cli.change_tables import change_json, change_rows, change_text
        from elmokit.text.corpora.tables import as_tsv

        names = ("layers", "max_uses", "min_uses", "max_words", "num_contexts", "resamples", "seed")
        how = given(arguments, "ignore_case", "column", *names)
        settings = ChangeSettings(stop_words=stop_words, raw_text=arguments.tokenize, **how)
        result = semantic_change(open_elmo(arguments), arguments.first, arguments.second, words, settings)
        if table:
            table.write(as_tsv(change_rows(result)))
        if everything:
            everything.write(change_json(result))
    print(change_text(result))


def _add_neighbours(parser: Parser) -> None:
    parser.add_argument("text", metavar="TEXT", help="a sentence, which is tokenised")
    parser.option("--word W", "its word; the first, if it has several", required=True)
    parser.option(
        "--corpus FILE",
        "where to look: one sentence per line (plain, .gz or .xz), or a folder of such files",
        required=True,
        type=Path,
    )
    add_text(parser)
    parser.option("--number N", "how many (default: %(default)s)", type=int, default=10)
    parser.option(
        "--among",
        "occurrences of which words (default: %(default)s)",
        choices=("any word", "same word", "other words"),
        default="any word",
    )
    parser.option("--layers", "top, average, a number, or weights", type=layer_choice, default="top")
    add_model(parser, has_default=True)


def _neighbours(arguments: argparse.Namespace) -> None:
    """Find the occurrences in a corpus that are nearest to a word in a sentence."""
    from elmokit.analysis.semantic_change.uses import open_corpus
    from elmokit.files.lines import shown_name
    from elmokit.system.markdown import columns

    corpus = open_corpus(arguments.corpus, raw_text=arguments.tokenize, column=arguments.column)
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
        raise ValueError(f"{arguments.corpus} has no such occurrence, among {arguments.among}")
    for one in found:
        left, right = " ".join(one.tokens[: one.index]), " ".join(one.tokens[one.index + 1 :])
        left, right = printable(left[-_CONTEXT:], most=None), printable(right[:_CONTEXT], most=None)
        space = " " * (_CONTEXT - columns(left))
        start, file = max(pair for pair in starts if pair[0] <= one.sentence)
        place = f"{printable(shown_name(file), most=None)}:{one.sentence - start + 1}"
        print(f"{one.similarity:.3f}  {space}{left} [{printable(one.token)}] {right}  ({place})")


VERBS = (("change", _add_change, _change), ("neighbours", _add_neighbours, _neighbours))
