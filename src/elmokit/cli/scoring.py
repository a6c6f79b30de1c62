"""Commands of scoring: perplexity and surprisal."""

from __future__ import annotations

import argparse
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from elmokit.cli.options import Parser, check_model, check_option, given, open_elmo, open_output, text_output
from elmokit.system.markdown import aligned_table

if TYPE_CHECKING:
    from elmokit.elmo.surprisal import SurprisalModel
    from elmokit.scoring.breakdown import Breakdown, PerplexityTable
    from elmokit.scoring.perplexity import Perplexity

_OF_TOKENS = ("--rank", "--entropy", "--top", "--boundaries")


def add_perplexity(parser: Parser) -> None:
    add = parser.add_argument
    parser.add_model()
    files = "text, one sentence per line, or the folder that prepare wrote; several get a row each and one for all"
    add("files", metavar="FILE", type=Path, nargs="+", help=files)
    parser.add_text()
    parser.add_flag("--carry-state", "read each file as 256 streams, as bilm-tf does, instead of sentence by sentence")
    parser.add_flag("--bands", "split the results by the rank of the predicted word in the vocabulary")
    top = "list the N words with the largest total loss in each direction, including <UNK> and </S>"
    add("--top", metavar="N", type=int, help=top)
    json = "also write everything as JSON, with bands and, with --top, top words for every file"
    add("--json", metavar="FILE", type=text_output, help=json)


def run_perplexity(arguments: argparse.Namespace) -> None:
    from elmokit.corpus.manifest import held_out_file
    from elmokit.corpus.stream import check_has_text
    from elmokit.files.atomic import check_names
    from elmokit.formats.find import check_is_not_a_model

    check_is_not_a_model(*arguments.files)
    files = list(map(held_out_file, arguments.files))
    text = given(arguments, "column", "as_text", raw_text="tokenize")
    check_has_text(*files, **text)
    if arguments.json:
        check_names(*files)
    check_model(arguments, *files, output=arguments.json)

    from elmokit.scoring.breakdown import measure_files

    how = given(arguments, "carry_state", "weights", "device", num_words="top")
    with open_output(arguments.json, None) as file:
        table = measure_files(arguments.model, files, **text, **how)
        if file:
            file.write(table.to_json())
    if arguments.bands and not table.ids_are_ranks:
        warnings.warn(
            "the vocabulary of the model does not seem to be sorted by descending frequency, so the bands do not show "
            "how frequent words are",
            stacklevel=2,
        )
    print(perplexity_text(table, bands=arguments.bands))


def add_surprisal(parser: Parser) -> None:
    add = parser.add_argument
    parser.add_model()
    add("file", metavar="FILE", help="tokenised text, one sentence per line; - for stdin")
    add("-o", "--output", metavar="OUT.tsv", type=text_output, help="output file (default: stdout)")
    parser.add_text()
    keep = "with --column: repeat these columns in each row, for example --keep item,condition"
    add("--keep", metavar="NAME,NAME", type=_names, default=[], help=keep)
    direction = "given the tokens before it (forward), after it (backward), or a column for each (default: both)"
    add("--direction", choices=("forward", "backward", "both"), help=direction)
    rows = parser.add_mutually_exclusive_group()
    words = "one row per word (split at white space), with the sum over its tokens and its character offsets"
    rows.add_argument("--words", action="store_true", help=words)
    rows.add_argument("--sentences", action="store_true", help="one row per sentence: its log2 probability")
    pairs = "each line is a good sentence, a tab and a bad one: how often is the good one more probable?"
    rows.add_argument("--pairs", action="store_true", help=pairs)
    conditional = "each line is a prefix, a tab and a continuation: the surprisal of each given the other"
    rows.add_argument("--conditional", action="store_true", help=conditional)
    formats = ("lm-zoo", "lm-zoo-tokenize", "lm-zoo-unkify", "lm-zoo-spec")
    lm_zoo = f"output of the programs in an lm-zoo container for raw text, as SyntaxGym reads it: {', '.join(formats)}"
    rows.add_argument("--format", metavar="FORMAT", choices=formats, help=lm_zoo)
    parser.add_flag("--nats", "with --conditional: in nats instead of bits")
    parser.add_flag("--rank", "add the rank of the token in the whole vocabulary")
    parser.add_flag("--entropy", "add the entropy of the prediction, in bits")
    add("--top", metavar="K", type=int, help="add the K likeliest tokens")
    parser.add_flag("--boundaries", "add rows of <S> and </S>")
    story = "read the lines as one story; a blank line, or an empty cell, starts a new one"
    parser.add_flag("--carry-state", story)


def run_surprisal(arguments: argparse.Namespace) -> None:
    from elmokit.corpus.stream import check_has_text
    from elmokit.files.atomic import check_output
    from elmokit.files.lines import check_texts, is_read_once
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
    if arguments.pairs or arguments.conditional or arguments.format:
        check_texts(arguments.file)
        if not (arguments.format or is_read_once(arguments.file)):
            next(read_pairs(arguments.file, **given(arguments, "conditional", "as_text", raw_text="tokenize")))
    else:
        raw_text = arguments.tokenize or arguments.words
        check_has_text(Path(arguments.file), raw_text=raw_text, **given(arguments, "column", "as_text"))
    check_model(arguments, arguments.file, output=arguments.output)
    if arguments.output:
        check_output(arguments.output)  # because reading a large model takes minutes
    model = open_elmo(arguments).surprisal_model()
    if arguments.format:
        _write_for_lm_zoo(model, arguments)
    elif arguments.pairs:
        _judge_pairs(model, arguments)
    elif arguments.conditional:
        _write_conditional(model, arguments)
    else:
        _write_surprisal(model, arguments)
    if arguments.output:
        print(arguments.output)


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",")]


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
        keep=tuple(arguments.keep),
        surprisal=SurprisalSettings(arguments.direction or "both", details, arguments.carry_state),
        **given(arguments, "column", "as_text", "boundaries", raw_text="tokenize"),
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
    """Print how many minimal pairs each direction judges right."""
    from elmokit.scoring.minimal_pairs import accuracies, pair_rows, read_pairs, score_pairs
    from elmokit.system.progress_bar import counted, progress_bar
    from elmokit.text.corpora.tables import as_tsv

    pairs = list(read_pairs(arguments.file, **given(arguments, "as_text", raw_text="tokenize")))
    with open_output(arguments.output, sys.stdout) as file:
        scores = list(counted(score_pairs(model, pairs), progress_bar(unit="pair", total=len(pairs))))
        if arguments.output:
            file.write(as_tsv(pair_rows(scores)))
    rows = [["", "right", "pairs", "%"]]
    for name, found in accuracies(scores).items():
        rows.append([name, f"{found.correct:,}", f"{found.total:,}", f"{found.percent:.2f}"])
    print(aligned_table(rows))


def _write_conditional(model: SurprisalModel, arguments: argparse.Namespace) -> None:
    from elmokit.scoring.minimal_pairs import read_pairs
    from elmokit.scoring.surprisal_table import conditional_rows
    from elmokit.system.progress_bar import counted, progress_bar
    from elmokit.text.corpora.tables import as_tsv

    pairs = read_pairs(arguments.file, **given(arguments, "conditional", "as_text", raw_text="tokenize"))
    results = model.read_conditional(pairs, arguments.direction or "both")
    rows = conditional_rows(results, "nats" if arguments.nats else "bits")
    with open_output(arguments.output, sys.stdout) as file:
        for row in counted(rows, progress_bar(unit="pair", show=_show(arguments))):
            file.write(as_tsv([row]))


def _show(arguments: argparse.Namespace) -> bool | None:
    """Whether to show a progress bar: never between the rows of a table on the terminal."""
    return None if arguments.output or not sys.stdout.isatty() else False


def perplexity_text(table: PerplexityTable, *, bands: bool = False) -> str:
    """Perplexities, then bands and worst words of all text together: bands if requested, words if there are any."""
    whole = table.whole
    parts = [_of_files(table)]
    if bands:
        parts += [f"{name}, by rank in the vocabulary\n{_bands(side)}" for name, side in whole.breakdowns()]
    for name, side in whole.breakdowns():
        if side.worst_words:
            parts.append(f"{name}, costliest words\n{_words(side)}")
    if len(parts) > 1:
        parts.append(
            "Losses are in nats; perplexity is exp of the mean loss. The share of loss is how much the log\n"
            "of the perplexity would fall if these words were predicted with certainty."
        )
    return "\n\n".join(parts)


def _of_files(table: PerplexityTable) -> str:
    directions = [name for name, _ in table.whole.breakdowns()]
    titles = [title for name in directions for title in (name, "without UNK")] + ["mean"] * (len(directions) - 1)
    rows = [["", "predictions", "UNK", *titles]]
    for text in (*table.files, *([table.whole] if len(table.files) > 1 else [])):
        measured = text.perplexity
        sides = measured.directions
        numbers = [number for side in sides for number in (side.perplexity, side.perplexity_without_unknown)]
        numbers += [measured.mean] * (len(sides) - 1)
        counts = [text.name, f"{measured.num_predictions:,}", f"{measured.unknown_rate:.2%}"]
        rows.append([*counts, *(f"{number:.2f}" for number in numbers)])
    return f"{aligned_table(rows)}\n{_counts(table.whole.perplexity)}"


def _counts(measured: Perplexity) -> str:
    sentences = "" if measured.num_sentences is None else f"{measured.num_sentences:,} sentences, "
    carried = f"state carried, {measured.num_left_out:,} predictions at the end of the text left out"
    return (
        f"{sentences}{measured.num_predictions:,} predictions per direction, {measured.num_unknown:,} of UNK "
        f"({measured.unknown_rate:.2%}), vocabulary {measured.num_tokens_in_vocabulary:,}, "
        f"{carried if measured.carried_state else 'each sentence by itself'}"
    )


def _bands(side: Breakdown) -> str:
    rows = [["", "predictions", "share", "mean loss", "perplexity", "share of loss"]]
    for band in side.bands:
        counts = [band.name, f"{band.num_predictions:,}", f"{band.share:.1%}"]
        loss = "-" if band.mean_loss is None else f"{band.mean_loss:.3f}"
        perplexity = "-" if band.perplexity is None else f"{band.perplexity:,.2f}"
        rows.append([*counts, loss, perplexity, f"{band.loss_share:.1%}"])
    return aligned_table(rows)


def _words(side: Breakdown) -> str:
    """A table of the worst words. The word comes last, because it may be long."""
    rows = [["", "predictions", "mean loss", "total loss", "share of loss"]]
    for number, word in enumerate(side.worst_words, start=1):
        losses = [f"{word.mean_loss:.3f}", f"{word.total_loss:,.1f}", f"{word.loss_share:.2%}"]
        rows.append([str(number), f"{word.num_predictions:,}", *losses])
    names = ["word", *(word.name for word in side.worst_words)]
    return "\n".join(f"{line}  {name}" for line, name in zip(aligned_table(rows).splitlines(), names, strict=True))
