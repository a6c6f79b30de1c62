"""Labelled spans: read from tags, written as tags, and scored as conlleval does (Perl, version of 2004-01-26)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from elmokit.metrics.score import Accuracy, Score, scores_by_label
from elmokit.system.messages import first_token

# Prefixes of a span's first, inner and last token, and of a span of one token.
_PREFIXES = {"BIO": "BIIB", "IOB1": "IIII", "BIOUL": "BILU", "IOBES": "BIES"}
_STARTS = frozenset("BUS")
_ENDS = frozenset("LEUS")
_KNOWN = frozenset("BILUES")


@dataclass(frozen=True, slots=True)
class Span:
    """Tokens `first` to `last`, inclusive, with one label."""

    label: str
    first: int
    last: int


@dataclass(frozen=True)
class SpanScore:
    """Scores of spans."""

    by_label: dict[str, Score]
    tokens: Accuracy
    """Accuracy of the tags themselves."""

    @property
    def overall(self) -> Score:
        """Micro-average over all labels: the first line of conlleval's output."""
        return sum(self.by_label.values(), Score())


def score_spans(*, gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> SpanScore:
    """Compare tags, one list per sentence. A span is correct if its label, first token and last token are.

    `spans_from_tags` reads both sides, in any scheme; `tokens` compares the tags as written, so both sides should use
    the same scheme.
    """
    by_label = scores_by_label(gold=_items(gold), predicted=_items(predicted))
    tags = [pair for both in zip(gold, predicted, strict=True) for pair in zip(*both, strict=True)]
    return SpanScore(by_label, Accuracy(sum(tag == guess for tag, guess in tags), len(tags)))


def spans_from_tags(tags: Sequence[str]) -> list[Span]:
    """Spans of one sentence's tags, in IOB1, BIO (IOB2), BIOUL or IOBES, as forgivingly as conlleval reads them.

    A span starts at B (U, S), and at any other tag except O if the tag before it is O, has another label or ended its
    span (L, E, U, S). It continues until the next start or O. No sequence is illegal here: after O, `I-PER` starts a
    span. conlleval itself does not know U, L or S: BIOUL and IOBES are read as in seqeval, and legal tags give the
    spans that conlleval finds in the same tags written as BIO.
    Raises ValueError for a tag without a known prefix.
    """
    spans: list[Span] = []
    open_label: str | None = None  # the label of a span that the previous token is in and did not end
    first = 0
    for position, tag in enumerate(tags):
        prefix, label = _split(tag, position)
        if open_label is not None and (prefix == "O" or prefix in _STARTS or label != open_label):
            spans.append(Span(open_label, first, position - 1))
            open_label = None
        if prefix == "O":
            continue
        if open_label is None:
            first = position
        if prefix in _ENDS:
            spans.append(Span(label, first, position))
            open_label = None
        else:
            open_label = label
    if open_label is not None:
        spans.append(Span(open_label, first, len(tags) - 1))
    return spans


def tags_from_spans(spans: Iterable[Span], *, num_tokens: int, scheme: str) -> list[str]:
    """Tags of one sentence. The scheme is `IOB1`, `BIO` (also called IOB2), `BIOUL` or `IOBES`.

    In IOB1, B only marks a span that directly follows another span with the same label. The spans do not overlap.
    """
    begin, inside, end, unit = _PREFIXES[scheme]
    tags = ["O"] * num_tokens
    before: Span | None = None
    for span in sorted(spans, key=lambda span: span.first):
        prefixes = [unit] if span.first == span.last else [begin, *inside * (span.last - span.first - 1), end]
        if scheme == "IOB1" and before is not None and (before.label, before.last) == (span.label, span.first - 1):
            prefixes[0] = "B"
        suffix = f"-{span.label}" if span.label else ""
        tags[span.first : span.last + 1] = [prefix + suffix for prefix in prefixes]
        before = span
    return tags


def tagging_scheme(sentences: Iterable[Sequence[str]]) -> str:
    """The scheme that fits the tags of most sentences. If several fit equally well, it is the first of `BIO`, `IOB1`,
    `BIOUL`, `IOBES`. Raises ValueError for a tag without a known prefix.
    """
    legal = dict.fromkeys(_PREFIXES, 0)
    for tags in sentences:
        spans = spans_from_tags(tags)
        for scheme in legal:
            legal[scheme] += tags_from_spans(spans, num_tokens=len(tags), scheme=scheme) == list(tags)
    return max(legal, key=lambda scheme: legal[scheme])


def _items(sentences: Sequence[Sequence[str]]) -> set[tuple[str, int, Span]]:
    return {(span.label, number, span) for number, tags in enumerate(sentences) for span in spans_from_tags(tags)}


def _split(tag: str, position: int) -> tuple[str, str]:
    """Prefix and label, split at the first hyphen; spans of a single kind need no label (`B`)."""
    prefix, _, label = tag.partition("-")
    if tag != "O" and prefix not in _KNOWN:
        raise ValueError(
            f"token {position}: the tag {first_token(tag)} is unknown; expected 'O', or a label after one of "
            "B-, I- (IOB1, BIO), U-, L- (BIOUL), S-, E- (IOBES)"
        )
    return prefix, label
