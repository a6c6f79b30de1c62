"""Commands of scoring: perplexity and surprisal."""

from __future__ import annotations

import argparse
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from elmokit.cli.options import Parser, add_model, add_text, check_option, given, open_elmo, open_output, text_output

if TYPE_CHECKING:
    from elmokit.elmo.surprisal import SurprisalModel

_OF_TOKENS = ("--rank", "--entropy", "--top", "--boundaries")


def add_perplexity(parser: Parser) -> None:
    add = parser.add_argument
    add_model(parser)
    files = "text, one sentence per line, or the folder that prepare wrote; several get one row each, and one for all"
    add("files", metavar="FILE", type=Path, nargs="+", help=files)
    add_text(parser)
    stream = "read each file as one stream, as bilm-tf does, instead of sentence by sentence"
    add("--carry-state", action="store_true", help=stream)
    bands = "split the results by the rank of the predicted word in the vocabulary"
    add("--bands", action="store_true", help=bands)
    top = "list the N words with the largest total loss in each direction, including <UNK> and </S>"
    add("--top", metavar="N", type=int, help=top)
    count = "with --top: list only words that were predicted at least N times (default: 1)"
    add("--top-min-count", metavar="N", type=int, help=count)
    json = "also write everything as JSON, with bands and, with --top, top words for every file"
    add("--json", metavar="FILE", type=text_output, help=json)


def run_perplexity(arguments: argparse.Namespace) -> None:
    from elmokit.corpus.manifest import held_out_file
    from elmokit.corpus.stream import check_has_text
    from elmokit.files.atomic import check_is_not_input, check_names
    from elmokit.files.lines import check_inputs
    from elmokit.formats.find import check_is_not_a_model, resolve_model

    check_option(arguments, "--top-min-count", needs="--top")
    check_is_not_a_model(*arguments.files)
    arguments.files = list(map(held_out_file, arguments.files))
    check_inputs(*arguments.files)
    check_has_text(*arguments.files, raw_text=arguments.tokenize, **given(arguments, "column", "as_text"))
    if arguments.json:
        check_names(*arguments.files)
    check_is_not_input(arguments.json, *arguments.files, arguments.model, arguments.weights)
    resolve_model(arguments.model)

    from elmokit.cli.scoring_tables import perplexity_text
    from elmokit.scoring.breakdown import measure_files

    with open_output(arguments.json, None) as file:
        table = measure_files(
            arguments.model,
            arguments.files,
            num_words=arguments.top,
            min_count=1 if arguments.top_min_count is None else arguments.top_min_count,
            raw_text=arguments.tokenize,
            **given(arguments, "column", "as_text", "carry_state", "weights", "device"),
        )
        if file:
            file.write(table.to_json())
    if arguments.bands and not table.ids_are_ranks:
        warnings.warn(
            "the vocabulary of the model does not seem to be sorted by falling frequency, so the bands say nothing "
            "about how frequent words are",
            stacklevel=2,
        )
    print(perplexity_text(table, bands=arguments.bands))


def add_surprisal(parser: Parser) -> None:
    add = parser.add_argument
    add_model(parser)
    add("file", metavar="FILE", help="tokenised text, one sentence per line; - for stdin")
    add("-o", "--output", metavar="OUT.tsv", type=text_output, help="output file (default: stdout)")
    add_text(parser)
    keep = "with --column: repeat these columns in each row, for example --keep item,condition"
    add("--keep", metavar="NAME,NAME", type=lambda names: names.split(","), default=[], help=keep)
    direction = "given the tokens before it, those after it, or a column for each (default: both)"
    add("--direction", choices=("forward", "backward", "both"), help=direction)
    rows = parser.add_mutually_exclusive_group()
    words = "a row for each word between white space, with the sum of its tokens and its character offsets"
    rows.add_argument("--words", action="store_true", help=words)
    rows.add_argument("--sentences", action="store_true", help="a row for each sentence: its log2 probability")
    pairs = "a line is a good sentence, a tab and a bad one: how often is the good one more probable?"
    rows.add_argument("--pairs", action="store_true", help=pairs)
    conditional = "a line is a prefix, a tab and a continuation: the surprisal of either given the other"
    rows.add_argument("--conditional", action="store_true", help=conditional)
    formats = ("lm-zoo", "lm-zoo-tokenize", "lm-zoo-unkify", "lm-zoo-spec")
    lm_zoo = f"what programs of an lm-zoo container print for raw text, as SyntaxGym reads it: {', '.join(formats)}"
    rows.add_argument("--format", metavar="FORMAT", choices=formats, help=lm_zoo)
    add("--nats", action="store_true", help="with --conditional: in nats instead of bits")
    add("--rank", action="store_true", help="add the rank of the token among the whole vocabulary")
    add("--entropy", action="store_true", help="add the entropy of the prediction, in bits")
    add("--top", metavar="K", type=int, help="add the K likeliest tokens")
    add("--boundaries", action="store_true", help="add rows of <S> and </S>")
    story = "read the lines as one story; a blank line starts a new one (with --column, all rows are one story)"
    add("--carry-state", action="store_true", help=story)


def run_surprisal(arguments: argparse.Namespace) -> None:
    from elmokit.corpus.stream import check_has_text
    from elmokit.files.atomic import check_is_not_input, check_output
    from elmokit.files.lines import check_inputs, is_read_once
    from elmokit.formats.find import check_is_not_a_model
    from elmokit.scoring.minimal_pairs import read_pairs

    check_option(arguments, "--nats", needs="--conditional")
    check_option(arguments, "--keep", needs="--column")
    check_option(arguments, "--format", without=("--column", "--carry-state", "--direction"))
    check_option(arguments, "--pairs", without=("--column", "--carry-state", "--direction"))
    check_option(arguments, "--conditional", without=("--column", "--carry-state"))
    for option in ("--words", "--sentences", "--pairs", "--conditional", "--format"):
        check_option(arguments, option, without=_OF_TOKENS)
    check_is_not_a_model(arguments.file)
    check_inputs(arguments.file)
    check_is_not_input(arguments.output, arguments.file, arguments.model, arguments.weights)
    if arguments.output:
        check_output(arguments.output)  # because reading a large model takes minutes
    if arguments.pairs or arguments.conditional:
        if not is_read_once(arguments.file):
            how = {"raw_text": arguments.tokenize, **given(arguments, "conditional", "as_text")}
            next(read_pairs(arguments.file, **how))
    elif not arguments.format:
        raw_text = arguments.tokenize or arguments.words
        check_has_text(Path(arguments.file), raw_text=raw_text, **given(arguments, "column", "as_text"))
    model = open_elmo(arguments).surprisal_model()
    if arguments.format:
        _write_for_lm_zoo(model, arguments)
    elif arguments.pairs:
        _judge_pairs(model, arguments)
    elif arguments.conditional:
        _write_conditional(model, arguments)
    else:
        _write_surprisal(model, arguments)


def _write_surprisal(model: SurprisalModel, arguments: argparse.Namespace) -> None:
    from elmokit.elmo.surprisal import SurprisalSettings
    from elmokit.files.lines import is_read_once
    from elmokit.layers.full_softmax import SoftmaxDetails
    from elmokit.scoring.surprisal_table import TableSettings, surprisal_table
    from elmokit.system.progress_bar import counted, progress_bar
    from elmokit.text.corpora.tables import as_tsv

    details = SoftmaxDetails(ranks=arguments.rank, entropies=arguments.entropy, num_likeliest=arguments.top or 0)
    settings = TableSettings(
        rows="words" if arguments.words else "sentences" if arguments.sentences else "tokens",
        raw_text=arguments.tokenize,
        column=arguments.column,
        as_text=arguments.as_text,
        keep=tuple(arguments.keep),
        boundaries=arguments.boundaries,
        surprisal=SurprisalSettings(arguments.direction or "both", details, arguments.carry_state),
    )
    table = surprisal_table(model, arguments.file, settings)
    with open_output(arguments.output, sys.stdout) as file:
        for lines in counted(table, progress_bar(unit="sentence", show=_show(arguments))):
            file.write(as_tsv(lines))
            if is_read_once(arguments.file):
                file.flush()


def _write_for_lm_zoo(model: SurprisalModel, arguments: argparse.Namespace) -> None:
    from datetime import UTC, datetime

    from elmokit.formats.find import model_name
    from elmokit.scoring import lm_zoo

    with open_output(arguments.output, sys.stdout) as file:
        if arguments.format == "lm-zoo":
            file.writelines(lm_zoo.get_surprisals(model, arguments.file))
        elif arguments.format == "lm-zoo-tokenize":
            file.writelines(lm_zoo.tokenized(model.vocabulary, arguments.file))
        elif arguments.format == "lm-zoo-unkify":
            file.writelines(lm_zoo.unkified(model.vocabulary, arguments.file))
        else:
            built = datetime.now(UTC).isoformat(timespec="seconds")
            file.write(lm_zoo.spec(model.vocabulary, name=model_name(arguments.model), built=built))


def _judge_pairs(model: SurprisalModel, arguments: argparse.Namespace) -> None:
    from elmokit.cli.scoring_tables import accuracy_text
    from elmokit.scoring.minimal_pairs import accuracies, pair_rows, read_pairs, score_pairs
    from elmokit.system.progress_bar import counted, progress_bar
    from elmokit.text.corpora.tables import as_tsv

    pairs = list(read_pairs(arguments.file, raw_text=arguments.tokenize, as_text=arguments.as_text))
    with open_output(arguments.output, sys.stdout) as file:
        scores = list(counted(score_pairs(model, pairs), progress_bar(unit="pair", total=len(pairs))))
        if arguments.output:
            file.write(as_tsv(pair_rows(scores)))
    print(accuracy_text(accuracies(scores)))


def _write_conditional(model: SurprisalModel, arguments: argparse.Namespace) -> None:
    from elmokit.scoring.minimal_pairs import read_pairs
    from elmokit.scoring.surprisal_table import conditional_rows
    from elmokit.system.progress_bar import counted, progress_bar
    from elmokit.text.corpora.tables import as_tsv

    pairs = read_pairs(arguments.file, raw_text=arguments.tokenize, as_text=arguments.as_text, conditional=True)
    results = model.read_conditional(pairs, arguments.direction or "both")
    rows = conditional_rows(results, "nats" if arguments.nats else "bits")
    with open_output(arguments.output, sys.stdout) as file:
        for row in counted(rows, progress_bar(unit="pair", show=_show(arguments))):
            file.write(as_tsv([row]))


def _show(arguments: argparse.Namespace) -> bool | None:
    """No bar between the rows of a table on the terminal."""
    return None if arguments.output or not sys.stdout.isatty() else False
