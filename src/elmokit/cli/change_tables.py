"""Semantic change for people and programs: a table and contexts for the terminal, TSV, and JSON with everything."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, fields
from itertools import groupby
from typing import TYPE_CHECKING

from elmokit.analysis.semantic_change.distances import Distance
from elmokit.system.markdown import aligned_table
from elmokit.system.messages import printable

if TYPE_CHECKING:
    from elmokit.analysis.semantic_change.change import MovedContext, SemanticChange, WordChange

NUM_SHOWN = 20
"""Words in the table for the terminal."""
NUM_WITH_CONTEXTS = 5
"""Words whose contexts are shown there."""
TOKENS_AROUND = 8
"""Tokens of a context that are shown on each side of the word."""

MAX_Q = 0.05
"""Largest q of a word that is said to differ: of such words, one in twenty is expected to be a false alarm."""

_CONTEXTS = "contexts that moved most, by how much further they are from the other corpus than from their own:"
_MEASURES = ("excess", "prt", "apd")
_PARTS = tuple(field.name for field in fields(Distance))


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
            parts.append(
                f"no word differs more than chance would have it: none has a q of at most {MAX_Q} (of the excess)"
            )
        parts += ["", _CONTEXTS, *contexts] if contexts else []
    if unused := _forms_without_uses(result):
        parts += ["", f"forms without a use in either corpus: {', '.join(map(printable, unused))}"]
    if result.too_rare:
        rare = ", ".join(
            f"{printable(word)} ({first:,} and {second:,})" for word, (first, second) in result.too_rare.items()
        )
        parts += ["", f"left out, because there are too few uses: {rare}"]
    return "\n".join(parts)


def change_rows(result: SemanticChange) -> Iterator[list[str]]:
    """A row of the columns' names, and then a row for each word and layer."""
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
    """Everything, with the contexts."""
    return json.dumps(asdict(result), ensure_ascii=False, indent=1, default=str) + "\n"


def _forms_without_uses(result: SemanticChange) -> list[str]:
    """Forms of the words that were compared, each once."""
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
    return printable(f"{'... ' * (start > 0)}{words}{' ...' * (end < len(context.tokens))}", most=None)


def _interval(distance: Distance) -> str:
    return f"[{distance.low:z.3f}, {distance.high:z.3f}]"
