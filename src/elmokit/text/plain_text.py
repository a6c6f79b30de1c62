"""Judge by its first lines whether a file is plain text, another format, or text of a kind that models do not know."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from elmokit.files.lines import HEAD_LINES, split_tokens
from elmokit.system.messages import first_token, printable
from elmokit.text.corpora.tables import csv_reader
from elmokit.text.tokenizer import split_sentences, tokenize

_JSON_START = re.compile(r'\s*(?:\{\s*(?:["}]|$)|\[\s*(?:["{\[]|$|-?\d[\d.]*\s*[,\]]\s*(?:$|[-\d"\[{])))')
_JSON_LINE = re.compile(r'\s*(?:[{}\[\]"]|-?\d+(?:\.\d+)?\s*,?\s*$|(?:true|false|null)\b)')
_DECLARATION = re.compile(r"\s*<(?:\?xml|!doctype|!--|html)", re.IGNORECASE)
_TAG = re.compile(r"\s*</?[A-Za-z][^<>]*>")
_OF_MARKUP = re.compile(r"</(?![sS]>)[A-Za-z]|<[A-Za-z][\w:.-]*\s+[\w:.-]+\s*=")
"""An end tag or an attribute. `<s> We sat . </s>` and `<unk>` are tokens."""
_SEQUENCE = re.compile(r"(?:[A-Za-z*.-]{10,} )*[A-Za-z*.-]+")
_RESIDUES = re.compile("[A-Z]{3}|[A-Za-z]{20}")
_TIMES = re.compile(r"\s*\[?(?:\d+:)?\d?\d:\d\d[,.]\d{2,3}\b")
_STAMP = re.compile(r"\s*\[?(?:\d+[-./]\d+[-./]\d+,?[ T]\s*)?\d?\d:\d\d\b")
"""The time, perhaps with a date, that a line of a chat or a log begins with."""
_TIER = re.compile(r"@[A-Z][\w ]*(?::\t|$)|[*%]\w{3}:\t")
_TAG_CELL = re.compile(r"O|[-_]|\S*\*\S*|[BIESLUM]-\S+|[A-Z]{2,5}\$?")
"""Annotations of tokens: names (`B-PER`), parts of speech (`NN`), brackets of trees, or an empty cell (`_`)."""
_NUMBER = re.compile(r"\s*-?\d+(?:\.\d+)?\s*")
_FIELD = re.compile(
    r'\s*(?:[A-Za-z][\w.-]+ *=(?!=)|\[(?=[^\]]+\]$)|@\w+\{|\\\w+(?=\s|$)|%[A-Z](?= )|[A-Z][A-Z\d]  - |msg\w+.* "'
    r'|"(?=.*\\n"$))'
)
"""The key of a field in BibTeX, INI, TextGrid (`key =`), Toolbox (`\\key`), EndNote, RIS, or PO."""
_CODE = re.compile(r"(?=.*\S;$)|\s*\}(?=\W*$)")
"""The end of a statement or a block. Tokenised programs have spaces before `;`."""

_RECIPES = "docs/vectors.md has commands that write its words as text"
_COLUMN = "prepare, embed and other commands read {} with --column {}"
_TABLE = _COLUMN.format("a column that the first line names", "NAME")
_CONLLU = _COLUMN.format("the words of CoNLL-U", "form")


def other_than_text(head: Sequence[str], *, has_columns: bool = False) -> str | None:
    """What a file looks like if it is not plain text, and how to read it, for an error message; None for text.

    head: the first lines that are not blank. The majority decides. Lines that begin with `#` count as comments and are
        left out, unless all lines begin with it.
    has_columns: whether tabs may separate columns.
    """
    lines = [line for line in head if not line.startswith("#")][:HEAD_LINES] or list(head)
    if not lines:
        return None
    if any(map(_JSON_START.match, lines)) and _most(_JSON_LINE, lines):
        return f"JSON: {_COLUMN.format('a field of JSON lines', 'FIELD')}; jq -c '.[]' makes JSON lines of an array"
    if 5 * sum(map(bool, map(_TIMES.match, lines))) >= len(lines):
        return r"subtitles: remove the numbers and times: sed '/-->/d; /^[0-9]*\r\?$/d'"
    if _most(_STAMP, lines):
        return "a chat or a log, with a time at the start of each line: remove the times and names"
    if _most(_TIER, lines):
        return r"a transcript in CHAT: write the speech as text: sed -n 's/^\*[A-Z0-9]*:\t//p'"
    rows = [line.strip("\t") for line in lines if not _TAG.fullmatch(line)]
    if len(rows) > 1 and not has_columns and 2 * sum("\t" in row for row in rows) > len(rows):
        is_numbered = all(re.match(r"\d+(?:[-.]\d+)?\t", row) for row in rows)
        way = _CONLLU if is_numbered else f"{_TABLE}; cut -f N writes one as text"
        return f"columns separated by tabs: {way}; {_RECIPES}"
    if _DECLARATION.match(lines[0]) or (_most(_TAG, lines) and _OF_MARKUP.search("\n".join(lines))):
        return "XML or HTML: take the text out of it, for example with pandoc -t plain --wrap=none"
    if _is_fasta([line.strip() for line in lines if not line.startswith(";")]):
        return f"FASTA: elmokit embed --fasta reads it; {_RECIPES}"
    if re.match(r"@.*\n[ACGTN]{4,}\n\+", "\n".join(lines)):
        return f"FASTQ: sed -n '1~4s/^@/>/p; 2~4p' makes FASTA of it, which elmokit embed --fasta reads; {_RECIPES}"
    if _are_records(_FIELD, lines):
        return f"fields, with a key at the start of each line: write their text without the keys; {_RECIPES}"
    if _are_records(_CODE, lines):
        return "source code: write the text in it, such as comments, to a file"
    if _are_tagged_tokens(rows):
        return f"columns, with a token on each line: {_RECIPES}"
    if any(_are_cells(lines, delimiter) for delimiter in ",;|"):
        return f"a table of cells separated by commas, semicolons or bars: {_TABLE}"
    return None


def _most(pattern: re.Pattern[str], lines: Sequence[str]) -> bool:
    return 2 * sum(pattern.match(line) is not None for line in lines) > len(lines)


def _is_fasta(lines: Sequence[str]) -> bool:
    """Whether lines are headers, first of all, and residues, perhaps in blocks of ten. `> words` is a quotation."""
    residues = [line for line in lines if not line.startswith(">")]
    sequences = [line for line in residues if _SEQUENCE.fullmatch(line)]
    is_headed = bool(lines) and re.match(r">\s*\S", lines[0]) is not None
    return is_headed and 2 * len(sequences) > len(residues) and any(map(_RESIDUES.search, sequences))


def _are_records(key: re.Pattern[str], lines: Sequence[str]) -> bool:
    """Whether most lines have a key, and some keys, but not all, are the same. In a dictionary, no key repeats."""
    keys = [found[0].strip() for line in lines if (found := key.match(line))]
    return 2 * len(keys) > len(lines) and 1 < len({*keys}) < len(keys)


def _are_tagged_tokens(lines: Sequence[str]) -> bool:
    """Whether most lines have the same number of cells between spaces, one of them an annotation: `EU NNP B-ORG`."""
    rows = [split_tokens(line) for line in lines]
    ((width, _),) = Counter(map(len, rows)).most_common(1) or [(0, 0)]
    for cell in range(1, width):
        tagged = [row for row in rows if len(row) == width and _TAG_CELL.fullmatch(row[cell])]
        is_dash = {row[cell] for row in tagged} == {"-"}  # as in `Haus - house`
        if len(tagged) > max(2, len(lines) / 2) and not is_dash and not all(row[0].isupper() for row in tagged):
            return True
    return False


def _are_cells(lines: Sequence[str], delimiter: str) -> bool:
    """Whether most lines have the same number of cells, and the cells are not parts of prose or single words."""
    rows = [_cells(line, delimiter) for line in lines]
    ((width, number),) = Counter(map(len, rows)).most_common(1)
    if width < 2 or len(lines) < 2 or 2 * number <= len(lines):
        return False
    rows = [row for row in rows if len(row) == width]
    if any(2 * sum(map(bool, map(_NUMBER.fullmatch, column))) > number for column in zip(*rows, strict=True)):
        return True
    after = [cell for row in rows for cell in row[1:]]
    is_prose = 2 * sum(cell.startswith(" ") for cell in after) >= len(after)  # where a space follows a comma
    return not is_prose and any(" " in cell.strip() for row in rows for cell in row)


def _cells(line: str, delimiter: str) -> list[str]:
    line = re.sub(r"(?<=\d),(?=\d{3}(?!\d))|&#?\w+;", "", line)  # 1,000 people; &apos;
    try:
        cells: list[str] = next(csv_reader([line], delimiter))
    except csv.Error:
        return [line]
    return cells[:-1] if len(cells) > 1 and not cells[-1].strip() else cells


MOST_ATTACHED = 0.03
"""Share of words with a mark at their end: 0.000 to 0.002 in tokenised text, 0.05 to 0.13 in the same text before."""
MOST_SYMBOLS = 0.15
"""Share of tokens with a bracket or a symbol of programs: below 0.05 in prose, from 0.2 in code."""
MOST_WORDS = 0.9
"""Share of lines that are one word. The other lines may be words like `don't`, which are two tokens."""
MOST_BREAKS = 10
"""Up to this many sentence ends inside only one or two lines mean nothing. The share of lines with a sentence end
inside is 0 to 2 % in tokenised text, 5 % in petitions, and 42 % in NSMC's reviews."""
WIDEST_PAGE = 120
"""Width, in characters, up to which a book's lines may be wrapped to the width of a page."""
_LONG_WORD = 20
_FEWEST = 20
"""Number of tokens or lines from which a share is meaningful."""
_FINAL = ("''", *'.!?"\u201d\u3002\uff01\uff1f\u0964\u0965\u061f\u06d4\u0589')
"""What a sentence ends with, also in Chinese, Japanese, Hindi, Arabic, Urdu and Armenian."""
_MARKS = ".,;:!?"
_AROUND_WORDS = f" \t{_MARKS}\"'()[]“”‘’"
_SYMBOL = re.compile(r"[={}<>_\\|()\[\]*]")
_WITHIN_WORD = re.compile(r"(?<=\w)['’-](?=\w)")

_SECOND = "[¢-¨¬\xad¯±µ¶¸¼-¾ŒœŸƒ†‡‰€]"
DAMAGED = (
    r"[\ufffd\x80-\x84\x86-\x9f]|[ÃÐÑ][\xa2-\xaa\xac-\xb3\xb5\xb6\xb8-\xba\xbc-\xbe]|â€"
    f"|(?!×[¼-¾])[Â-Þ]{_SECOND}|[à-ï]{_SECOND}{{2}}"
)
"""Garbled letters: UTF-8 that was read as Latin-1 or Windows-1252, or Windows-1252 that was read as Latin-1.

In real text, some marks follow a letter (`»`, `’`, `²`, `®`). They do not count as a second byte here, because other
words show the damage.
"""
MARKER = r"</?[sS]>|<(?:unk|UNK|pad|bos|eos|mask)>|\[(?:CLS|SEP|UNK|MASK|PAD)\]|<\|\w+\|>"
"""A special token of a language model: the end of a sentence, or a word that was left out."""
OF_MARKERS = (
    "special tokens of a language model; models of elmokit add the ends of sentences themselves: remove these tokens, "
    "and write the words in place of <unk>"
)
LATEX = r"\\(?:begin|end|documentclass|usepackage|(?:sub)*section|chapter|cite\w*|ref|label|footnote)\b\*?[{\[]"
"""A LaTeX command. `\\alpha` and `\\item` are left out, because they occur in other texts, too."""
_PIECES = "pieces of words, as subword tokenisers write them; join the pieces"
_OTHER_TOKENS = (
    (0.02, r"\w+@@|##\w+|\u2581.*", _PIECES),
    (0.3, r"\u0120.*", _PIECES),
    (0.02, r"__label__\S+", "labels, as fastText reads them; remove these"),
    (0.5, r".+(?:[_/|](?:[A-Z]{1,5}\$?|[^\w\s]{1,5})|/[a-z]{1,5}\$?)", "words with parts of speech; remove these"),
    (0.3, r"\(\S*", "parts of trees in brackets; write the words of each tree into one line"),
    (0.9, r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?", "numbers, such as ids of another vocabulary, or vectors; expected words"),
    (0.02, r".*\|\|\|.*", "annotations between bars, as in M2; write the sentences alone"),
    (0.003, r"@[-,.]@", "marks of WikiText within words and numbers; join their parts"),
    (0.003, f".*{LATEX}.*", "commands of LaTeX; take the text out of it, for example with pandoc -t plain --wrap=none"),
    (0.5, r"""[\[(]?(?:'[^']*'|"[^"]*")[,\])]+""", "lists, as Python writes them; put spaces between the tokens"),
    (0.003, r".*(?:&(?:[a-z]{2,6}|#\d+);|</?(?:br|p)\b).*", "markup or its escapes; remove tags, and write &amp; as &"),
    (0.003, f".*(?:{DAMAGED}).*", "letters that a wrong encoding has damaged; convert the original text again"),
)
"""Tokens that models have not read as words: the share above which a text looks like them, and what to do."""
_MARKERS = (0.003, MARKER, OF_MARKERS)
"""For text that no model reads as it is. A model gives this warning itself (`elmo/text_warnings.py`)."""
_INVISIBLE = (
    0.003,
    r".*[\s\xad\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff].*",
    "words with invisible characters or unusual spaces; remove these, or use --tokenize, which does",
)
"""For text that elmokit does not tokenise."""


def doubt(
    lines: Sequence[str], *, name: str, raw_text: bool, is_shard: bool = False, are_texts: bool = False
) -> str | None:
    """A warning if the lines at the start of a text do not look like one sentence of tokens each; None if they do.

    raw_text: whether the lines will be tokenised; otherwise raw text causes a warning.
    is_shard: whether the text is read to train a model. Then no model checks it, so its warnings are given here.
    are_texts: whether lines may have several sentences, as reviews do.
    """
    tokens = [token for line in lines for token in split_tokens(line)]
    kinds = [*_OTHER_TOKENS, *([_MARKERS] if raw_text or is_shard else []), *([] if raw_text else [_INVISIBLE])]
    for share, pattern, what in kinds if len(tokens) >= _FEWEST else ():
        found = [token for token in tokens if re.fullmatch(pattern, token)]
        if len(found) > share * len(tokens):
            return f"the tokens of {name}, such as {printable(found[0], limit=40)!r}, look like {what}"
    written = [line for line in lines if line.strip()]
    if len(written) >= _FEWEST and _are_words(written):
        return (
            f"each line of {name} looks like one word, but each is read as a sentence; join the words of a sentence "
            "with spaces (docs/vectors.md has a command for words below each other)"
        )
    if _are_numbered(written):
        return f"the lines of {name} are numbered, and the numbers are read as tokens; remove them"
    if not raw_text and len(written) > 2 and all(re.fullmatch(r'"[^\s"].*"', line.strip()) for line in written[1:]):
        return f"lines of {name} are in quotation marks, which are read as tokens; remove them"
    attached = None if raw_text else _attached_word(tokens)
    if attached is not None:
        return (
            f"{name} looks like raw text: words have marks at their ends, such as {first_token(attached)}, but models "
            "expect tokenised text, with spaces in front of marks. Use --tokenize, or raw_text=True, if the command "
            "has it. For vocabulary and pretrain, run elmokit prepare first and give its folder; for a book, use embed "
            "--split-sentences"
        )
    if is_wrapped(lines):
        return (
            f"the lines of {name} look wrapped at a fixed width, but each is read as a sentence; "
            "elmokit.split_sentences (in Python), elmokit prepare and embed --split-sentences join them"
        )
    if are_texts:
        return None
    parts = [line.split("\t") for line in written]  # a line may be a pair of sentences
    breaks = [sum(" " in after for part in line for after in split_sentences(part)[1:]) for line in parts]
    several = [line for line, num_breaks in zip(written, breaks, strict=True) if num_breaks]
    if len(several) > len(written) / 2 and (len(several) > 2 or sum(breaks) > MOST_BREAKS):
        return (
            f"lines of {name} look like several sentences, such as {printable(several[0], limit=40)!r}, but models "
            "expect one sentence per line"
        )
    return None


def _are_words(lines: Sequence[str]) -> bool:
    """Whether nearly all lines are one word of a text, perhaps with marks. In a word list, all words are different."""
    stripped = (line.strip(_AROUND_WORDS) for line in lines if len(line) < 50)
    num_words = sum(" " not in word and len(tokenize(word)) < 2 for word in stripped)
    return num_words > MOST_WORDS * len(lines) and len({*lines}) < len(lines)


def _are_numbered(lines: Sequence[str]) -> bool:
    """Whether each line begins with a number, one higher than in the previous line."""
    found = [re.match(r"\s*[(\[]?(\d{1,9})[.):\]]*\s+\S", line) for line in lines]
    numbers = [int(number[1]) for number in found if number]
    return len(lines) > 2 and len(numbers) == len(lines) and {b - a for a, b in pairwise(numbers)} == {1}


def _attached_word(tokens: Sequence[str]) -> str | None:
    """The first word with a mark at its end, if such words are more frequent than in tokenised text."""
    attached = [token for token in tokens if not token[-1].isalnum() and _has_mark(token)]
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


def is_wrapped(lines: Sequence[str]) -> bool:
    """Whether lines end where the next word would not fit, mostly mid-sentence, and many do not begin with a capital.

    Some lines may be wider, such as titles. In scripts without spaces, a "word" is up to a whole line.
    """
    lengths = sorted(len(line.rstrip()) for line in lines if line.strip())
    width = lengths[9 * len(lengths) // 10] if lengths else 0
    pairs = [(line, after) for line, after in zip(lines, lines[1:], strict=False) if line.strip() and after.strip()]
    if not 40 <= width <= WIDEST_PAGE or len(pairs) < 8:
        return False
    num_full = sum(len(line.rstrip()) + 1 + min(len(after.split()[0]), _LONG_WORD) > width for line, after in pairs)
    firsts = [after.lstrip(_AROUND_WORDS)[:1] for _, after in pairs]
    num_inside = sum(first.isalpha() and not first.isupper() for first in firsts)
    num_ended = sum(line.partition("\t")[0].rstrip().endswith(_FINAL) for line, _ in pairs)
    return num_full > 0.75 * len(pairs) and num_inside > 0.3 * len(pairs) and num_ended < 0.5 * len(pairs)
