"""Text files as all verbs read them, by the line, sentence or document; what is no text is refused, or warned of."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from elmokit.files.lines import OLD_LINE_ENDS, is_terminal, read_lines, shown_name, split_tokens, with_head
from elmokit.system.messages import first_token, printable
from elmokit.system.python import warn_caller
from elmokit.text.corpora.column_texts import CONLLU_COLUMNS, column_texts
from elmokit.text.corpora.kinds import Kind, kind_of
from elmokit.text.corpora.tables import spreadsheet_quotes
from elmokit.text.tokenizer import HYPHENATION, split_sentences, tokenize

T = TypeVar("T")
SAMPLE_TOKENS = 1000
"""Tokens at the start of a text that show whether it is tokenised."""
MOST_ATTACHED = 0.03
"""Share of words with a mark at their end: 0.000 to 0.002 in tokenised text, 0.05 to 0.13 in the same before it is."""
MOST_SYMBOLS = 0.15
"""Share of tokens with a bracket or a symbol of programs: below 0.05 in prose, from 0.2 in code."""
MOST_WORDS = 0.9
"""Share of lines that are one word; the rest may be such as `don't`, which are two tokens."""
MOST_BREAKS = 10
"""Ends of sentences within one or two lines, of which a share says nothing. Of more lines, those with such an end are
0 to 2 % in tokenised text, 5 % in petitions, and 42 % in NSMC's reviews."""
WIDEST_PAGE = 120
"""Characters of a line in a book whose lines are broken at a width."""
PIECE_CHARACTERS = 1_000_000
"""Longer documents are cut at line ends into pieces, so that a file without blank lines fits into memory."""
_FINAL = (".", "!", "?", "''", '"', "\u201d", "\u3002")
"""What a sentence ends with."""
_MARKS = ".,;:!?"
_AROUND_WORDS = f" \t{_MARKS}\"'()[]“”‘’"
_SECOND = "[¢-¨¬\xad¯±µ¶¸¼-¾ŒœŸƒ†‡‰€]"
DAMAGED = (
    r"[\ufffd\x80-\x84\x86-\x9f]|[ÃÐÑ][\xa2-\xaa\xac-\xb3\xb5\xb6\xb8-\xba\xbc-\xbe]|â€"
    f"|(?!×[¼-¾])[Â-Þ]{_SECOND}|[à-ï]{_SECOND}{{2}}"
)
"""What is left of letters in UTF-8 that were read as Latin-1 or Windows-1252, or of the latter read as Latin-1.

Marks that real text has after a letter (`»`, `’`, `²`, `®`) are no second byte here, since other words show the damage.
"""
_PIECES = "pieces of words, as subword tokenisers write them; join the pieces"
_OTHER_TOKENS = (
    (0.02, r"\w+@@|##\w+|\u2581.*", _PIECES),
    (0.3, r"\u0120.*", _PIECES),
    (0.5, r".+(?:[_/|](?:[A-Z]{1,5}\$?|[^\w\s]{1,5})|/[a-z]{1,5}\$?)", "words with parts of speech; remove these"),
    (0.3, r"\(\S*", "parts of trees in brackets; write the words of each tree into one line"),
    (0.9, r"\d+", "numbers, such as the ids of another vocabulary; expected words"),
    (0.5, r"""[\[(]?(?:'[^']*'|"[^"]*")[,\])]+""", "lists, as Python writes them; put spaces between the tokens"),
    (0.003, r".*(?:&(?:[a-z]{2,6}|#\d+);|</?(?:br|p)\b).*", "markup or its escapes; remove tags, and write &amp; as &"),
    (0.003, f".*(?:{DAMAGED}).*", "letters that a wrong encoding has damaged; convert the original text again"),
)
"""Kinds of tokens that no model has read as words: the share from which they are warned of, and what to do."""
_INVISIBLE = (
    0.003,
    r".*[\s\xad\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff].*",
    "words with invisible characters or unusual spaces; remove these, or use --tokenize, which does",
)
"""The same of tokens that will not be tokenised."""
_FEWEST_TOKENS = 20
"""Of which such shares say something."""
_SYMBOL = re.compile(r"[={}<>_\\|()\[\]*]")
_WITHIN_WORD = re.compile(r"(?<=\w)['’-](?=\w)")
_FIRST_COLUMN = """awk 'NF {{printf "%s ", $1; next}} {{print ""}}'"""
_TAGGED_COLUMN = r"""awk -F'\t' '/^<\/s>/ || !NF {{print ""; next}} /^<[^\t]*>$/ {{next}} {{printf "%s ", $1}}'"""
_PROTEINS = """awk '/^>/ {{if (s) print s; s = ""; next}} {{gsub(/./, "& "); s = s toupper($0)}} END {{print s}}'"""
_WAYS = {
    Kind.JSON: "{option} FIELD reads a field of JSON lines, and jq -r .FIELD writes one as text",
    Kind.MARKUP: "take the text out of it, with pandoc -t plain --wrap=none, for example, or, where tags have lines of "
    "their own, with sed '/^<.*>$/d'",
    Kind.MARKERS: r"sed -n 's/^\\tx //p' writes what follows one of them as text",
    Kind.TAGGED_COLUMNS: f"{_TAGGED_COLUMN} writes the first column as text, where </s> and blank lines end sentences",
    Kind.CONLLU: "{option} form reads its words",
    Kind.COLUMNS: f"write the tokens of a sentence into one line, the first column with {_FIRST_COLUMN}",
    Kind.WORDS: f"{{option}} NAME reads a column whose rows are sentences, and {_FIRST_COLUMN} writes the first column "
    "as text, where blank lines end sentences",
    Kind.FASTA: f"elmokit embed --fasta reads it, and {_PROTEINS} writes each sequence as a line of residues",
    Kind.TABS: "{option} NAME reads a column, and cut -f N writes one as text (where tabs separate tokens, put "
    r"spaces: tr '\t' ' ')",
    Kind.COMMAS: "{option} NAME reads a column",
    Kind.ONE_COLUMN: "{option} NAME reads it",
    Kind.UNNAMED: "give it a first line with the names of its columns, of which {option} NAME reads one",
}
"""The option is --column, but for a corpus that of `prepare`, which makes one of a column."""


def sentence_lines(
    path: str | os.PathLike[str],
    *,
    raw_text: bool = False,
    column: str | None = None,
    has_columns: bool = False,
    is_shard: bool = False,
    warn: Callable[[str], object] | None = warn_caller,
) -> Iterator[str]:
    """Lines of a file as `prose_lines` yields them, with a warning if they do not look like one sentence each.

    raw_text: whether the lines will be tokenised; otherwise raw text is warned of.
    column: of JSON lines, a table or CoNLL-U (`column_texts`), whose texts are the lines; None for text.
    warn: is given the warning; None if no line is looked at.
    """
    if column is None:
        lines = prose_lines(path, has_columns=has_columns, is_shard=is_shard)
    else:
        lines = (" ".join(text.splitlines()) for text in column_texts(path, column, raw_text=raw_text))
    if warn is None:
        yield from lines
        return
    within_word = "\u00a0" if (column or "").lower() in CONLLU_COLUMNS else ""
    yield from with_warning(
        lines,
        lambda line: line.replace(within_word, ""),
        name=shown_name(path),
        raw_text=raw_text,
        is_shard=is_shard,
        warn=warn,
    )


def with_warning(
    sentences: Iterator[T],
    line_of: Callable[[T], str],
    *,
    name: str,
    raw_text: bool,
    is_shard: bool = False,
    warn: Callable[[str], object] = warn_caller,
) -> Iterator[T]:
    """The same sentences, with the warning of `sentence_lines` if their lines do not look like one sentence each."""
    sample: list[str] = []
    num_tokens = 0
    while num_tokens < SAMPLE_TOKENS and (sentence := next(sentences, None)) is not None:
        yield sentence
        sample.append(line_of(sentence))
        num_tokens += len(split_tokens(sample[-1]))
    _warn_of(sample, name=name, raw_text=raw_text, is_shard=is_shard, warn=warn)
    yield from sentences


def prose_lines(path: str | os.PathLike[str], *, has_columns: bool = False, is_shard: bool = False) -> Iterator[str]:
    r"""Lines of a file of any text, as `read_lines` yields them.

    has_columns: whether the lines may have columns after the sentence.
    is_shard: whether the file is of a corpus for training, so that messages name `elmokit prepare` as the only way.
    Raises ValueError for JSON, CoNLL-U, columns, FASTA and tables, naming how they are read, for a line with `\r` in
    it, and the errors of `read_lines`.
    """
    lines = read_lines(path)
    if not is_terminal(path):  # where the first line is to be answered before the second is typed
        lines, head = with_head(lines)
        kind = kind_of(head)
        if kind is not None and not (has_columns and kind in (Kind.TABS, Kind.WORDS)):
            expected = "lines of text, with tabs between their columns"
            if not has_columns:
                way = _WAYS[kind].format(option="elmokit prepare --column" if is_shard else "--column")
                expected = f"text, one sentence per line: {way}"
            raise ValueError(f"{shown_name(path)} is {kind.value}; expected {expected}")
    for number, line in enumerate(lines, start=1):
        if "\r" in line:  # which cells of tables may have
            raise ValueError(f"{shown_name(path)}, line {number}: {OLD_LINE_ENDS}")
        yield line


def read_sentences(path: str | os.PathLike[str]) -> Iterator[str]:
    """The sentences of a file of raw text, such as a book, each in one line: a line end within one becomes a space.

    A blank line ends a sentence, too (`split_sentences`). Raises the errors of `prose_lines`, which name the file.
    """
    for _, text in read_raw_documents(path):
        for sentence in split_sentences(text):
            yield " ".join(map(str.strip, sentence.split("\n")))


def read_raw_documents(path: str | os.PathLike[str]) -> Iterator[tuple[int, str]]:
    """Number and text of each document of a file, separated by blank lines; pieces of a long one share its number.

    A word that a soft hyphen breaks at a line end is joined. Raises the errors of `prose_lines`, which name the file.
    """
    number = size = 0
    inside = False
    lines: list[str] = []
    for line in prose_lines(path):
        blank = not line or line.isspace()
        if not blank:
            inside = True
            lines.append(line)
            size += len(line)
        if lines and (blank or size >= PIECE_CHARACTERS):
            yield number, HYPHENATION.sub("", "\n".join(lines))
            lines, size = [], 0
        if blank and inside:
            number += 1
            inside = False
    if lines:
        yield number, HYPHENATION.sub("", "\n".join(lines))


def _warn_of(
    sample: Sequence[str], *, name: str, raw_text: bool, is_shard: bool, warn: Callable[[str], object]
) -> None:
    tokens = [token for line in sample for token in split_tokens(line)]
    kinds = _OTHER_TOKENS if raw_text else (*_OTHER_TOKENS, _INVISIBLE)
    for share, pattern, what in kinds if len(tokens) >= _FEWEST_TOKENS else ():
        found = [token for token in tokens if re.fullmatch(pattern, token)]
        if len(found) > share * len(tokens):
            warn(f"the tokens of {name}, such as {found[0][:40]!r}, look like {what}")
            return
    lines = [line for line in sample if line.strip()]
    if len(lines) >= _FEWEST_TOKENS and _are_words(lines):
        warn(
            f"each line of {name} looks like one word, but is taken for a sentence; join the words of a sentence with "
            f"spaces (for the first column, with blank lines between sentences: {_FIRST_COLUMN.format()})"
        )
        return
    is_quoted = not raw_text and len(lines) > 2 and all(re.fullmatch(r'"[^\s"].*"', line.strip()) for line in lines[1:])
    if is_quoted or spreadsheet_quotes(cell for line in lines for cell in line.split("\t")):
        warn(f"lines of {name} are in quotation marks, which are taken for tokens of the text; remove them")
        return
    example = None if raw_text else _sign_of_raw_text(tokens)
    is_wrapped = _is_wrapped(sample)
    breaks = [sum(" " in after for after in split_sentences(line)[1:]) for line in lines]
    several = [line for line, num_breaks in zip(lines, breaks, strict=True) if num_breaks]
    if example is not None:
        remedy = "; it and embed --split-sentences also join the lines of sentences" if is_wrapped else ""
        splits = "" if is_shard else "--tokenize, or raw_text=True, splits lines; "
        warn(
            f"{name} looks like raw text: words have marks at their ends, such as {first_token(example)}, but models "
            f"know tokenised text, where spaces separate them; {splits}elmokit prepare makes a corpus of it{remedy}"
        )
    elif is_wrapped:
        warn(
            f"the lines of {name} look broken at a width, but each is taken for a sentence; elmokit prepare and embed "
            "--split-sentences join them"
        )
    elif len(several) > len(lines) / 2 and (len(several) > 2 or sum(breaks) > MOST_BREAKS):
        warn(
            f"lines of {name} look like several sentences, such as {printable(several[0], most=40)!r}, but models have "
            "read one per line, and do not expect a word after its end; write one sentence per line"
        )


def _are_words(lines: Sequence[str]) -> bool:
    """Whether nearly all lines are a word, perhaps with marks, of a text; the words of a list are all different."""
    num_words = sum(len(line) < 50 and len(tokenize(line.strip(_AROUND_WORDS))) < 2 for line in lines)
    return num_words > MOST_WORDS * len(lines) and len({*lines}) < len(lines)


def _sign_of_raw_text(tokens: Sequence[str]) -> str | None:
    """The first word with a mark at its end, if there are more than in tokenised text."""
    attached = [token for token in tokens if _has_mark(token)]
    num_free = sum(not token.strip(_MARKS) for token in tokens)
    if len(attached) <= max(1, MOST_ATTACHED * len(tokens), num_free):
        return None
    is_code = sum(_SYMBOL.search(token) is not None for token in tokens) > MOST_SYMBOLS * len(tokens)
    return None if is_code else attached[0]


def _has_mark(token: str) -> bool:
    """Whether a token is a word with a mark that the tokenizer splits off: `rates;`, but not `Mr.` or `a.m.`."""
    opened = token.rstrip("\"'”’)]")
    word = opened.rstrip(_MARKS)
    letters = _WITHIN_WORD.sub("", word.lstrip("\"'“‘(["))
    return word != opened and len(letters) > 1 and letters.isalpha() and len(tokenize(token)) > 1


def _is_wrapped(lines: Sequence[str]) -> bool:
    """Whether lines end where the next word has no room, mostly in mid-sentence, and the next begin in lower case."""
    width = max(map(len, lines), default=0)
    pairs = [(line, after) for line, after in zip(lines, lines[1:], strict=False) if line.strip() and after.strip()]
    if not 40 <= width <= WIDEST_PAGE or len(pairs) < 8:
        return False
    num_full = sum(len(line.rstrip()) + 1 + len(after.split()[0]) > width for line, after in pairs)
    num_lower = sum(after.lstrip()[0].islower() for _, after in pairs)
    num_ended = sum(line.partition("\t")[0].rstrip().endswith(_FINAL) for line, _ in pairs)
    return num_full > 0.75 * len(pairs) and num_lower > 0.3 * len(pairs) and num_ended < 0.5 * len(pairs)
