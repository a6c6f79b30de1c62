"""Draw docs/overview.svg, the picture in README: senses of one word, gains in six tasks, and Latin if it is measured.

PYTHONPATH=. python experiments/overview.py
"""

from __future__ import annotations

import math
import statistics
from itertools import pairwise
from pathlib import Path

import numpy as np

from elmokit import Elmo
from elmokit.analysis.polysemes import read_polysemes
from elmokit.files.atomic import write_text
from paper.claims import headline
from paper.experiments import DATASETS, LATIN_ARMS, SHIPPED, SIX_TASKS
from paper.results import Results

WORD = "bank"
PANEL, GAP, HEIGHT, TOP = 310, 24, 300, 66
STYLE = """
svg { --paper: #ffffff; --ink: #1b2330; --soft: #5b6675; --line: #d5dae1;
  --first: #1767a8; --second: #b4450f; --third: #2e7d32; }
@media (prefers-color-scheme: dark) { svg { --paper: #14181e; --ink: #e8ebef; --soft: #a2acb9; --line: #3a434f;
  --first: #6fb7f0; --second: #f2955c; --third: #7fc983; } }
text { font: 12px system-ui, sans-serif; fill: var(--ink); } .title { font-size: 14px; font-weight: 600; }
.soft { fill: var(--soft); font-size: 11px; } .axis { stroke: var(--line); fill: none; }
.a { fill: var(--first); } .b { fill: var(--second); }
.whisker { stroke: var(--ink); stroke-width: 1.3; } polyline { fill: none; stroke-width: 2; }
"""


def senses(word: str) -> list[str]:
    """The occurrences of a word in the bundled list, on the first two principal components of their top layers."""
    found = [one for one in read_polysemes() if one.word == word]
    vectors = Elmo(SHIPPED).encode([list(one.tokens) for one in found])
    points = np.stack([vector[one.index] for vector, one in zip(vectors, found, strict=True)])
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    centred = points - points.mean(axis=0)
    plane = centred @ np.linalg.svd(centred, full_matrices=False)[2][:2].T
    low, high = plane.min(axis=0), plane.max(axis=0)
    places = np.array([12, TOP + 30]) + (plane - low) * min(np.array([PANEL - 30, HEIGHT - TOP - 40]) / (high - low))
    names = list(dict.fromkeys(one.sense for one in found))
    lines = title(f"“{word}” in {len(found)} sentences", "One mark per sentence, by the vector of the word (PCA)")
    for place, (name, colour) in enumerate(zip(names, "ab", strict=True)):
        lines += [mark(16 + 90 * place, TOP + 4, colour), f'<text x="{28 + 90 * place}" y="{TOP + 8}">{name}</text>']
    for (x, y), one in zip(places, found, strict=True):
        sentence = " ".join(one.tokens)
        lines.append(mark(x, y, "ab"[names.index(one.sense)], sentence.replace("&", "&amp;")))
    return lines


def gains(results: Results) -> list[str]:
    """The gain of each task on its test set, with its interval."""
    lines = title("What ELMo adds to six tasks", f"Points on the test set, {SHIPPED}, 95 % intervals")
    for place, task in enumerate(SIX_TASKS):
        pair = headline(results, task, "+ ELMo", SHIPPED)
        if pair is None or pair.gain is None or (interval := pair.gain.interval()) is None:
            continue
        low, middle, high = (70 + 16 * value for value in (interval.low, interval.estimate, interval.high))
        y = TOP + 14 + 36 * place
        lines += [
            f'<text x="0" y="{y + 4}">{DATASETS[task].row}</text>',
            f'<rect class="a" x="{min(70, middle):.1f}" y="{y - 9}" width="{abs(middle - 70):.1f}" height="18"/>',
            f'<line class="whisker" x1="{low:.1f}" x2="{high:.1f}" y1="{y}" y2="{y}"/>',
            f'<text class="soft" x="{max(high, 70) + 5:.1f}" y="{y + 4}">{interval.estimate:+.1f}</text>',
        ]
    return [*lines, f'<line class="axis" x1="70" x2="70" y1="{TOP}" y2="{TOP + 36 * len(SIX_TASKS)}"/>']


def latin(results: Results) -> list[str]:
    """Accuracy of tags by the number of training sentences, on the treebank with the most sizes, if measured."""
    rows = [row for row in results.select("latin", task="tags", metric="accuracy") if row.split != "dev"]
    if not rows:
        return []
    sizes_of = {row.data: sorted({one.train_size or 0 for one in rows if one.data == row.data}) for row in rows}
    data = max(sizes_of, key=lambda one: len(sizes_of[one]))
    sizes, rows = sizes_of[data], [row for row in rows if row.data == data]
    corpus = max(row.corpus_size or 0 for row in rows)
    lines = title("A small language: Latin", f"Accuracy of tags by training sentences; {corpus / 1e6:.1f} M words")
    means: dict[str, dict[int, float]] = {arm: {} for arm in LATIN_ARMS}
    for arm, points in means.items():
        for size in sizes:
            of_size = [row for row in rows if row.arm == arm and row.train_size == size]
            if scores := [row.value for row in of_size if row.corpus_size in (None, corpus)]:
                points[size] = statistics.fmean(scores)
    values = [value for points in means.values() for value in points.values()]
    low, high = min(values), max(values)
    across = {size: 20 + (PANEL - 90) * math.log(size / sizes[0]) / math.log(sizes[-1] / sizes[0]) for size in sizes}
    labels: list[tuple[float, float, str]] = []
    for (arm, points), colour in zip(means.items(), ("--soft", "--second", "--first", "--third"), strict=False):
        places = [(across[size], TOP + 200 - 180 * (value - low) / (high - low or 1)) for size, value in points.items()]
        if places:
            line = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
            lines.append(f'<polyline points="{line}" style="stroke: var({colour})"/>')
            labels.append((places[-1][1] + 4, places[-1][0] + 6, f"{arm} {points[max(points)]:.1f}"))
    bottom = 0.0
    for wanted, x, text in sorted(labels):
        bottom = max(wanted, bottom + 14)
        lines.append(f'<text x="{x:.1f}" y="{bottom:.1f}">{text}</text>')
    below = f'y="{TOP + 222}" text-anchor="middle"'
    ticks = [size for size, other in pairwise(sizes) if across[other] - across[size] > 34] + sizes[-1:]
    return [*lines, *(f'<text class="soft" x="{across[size]:.1f}" {below}>{size:,}</text>' for size in ticks)]


def title(text: str, below: str) -> list[str]:
    return [f'<text class="title" x="0" y="20">{text}</text>', f'<text class="soft" x="0" y="40">{below}</text>']


def mark(x: float, y: float, colour: str, sentence: str = "") -> str:
    """A circle for the first sense, a square for the second, with the sentence as its tooltip."""
    about = f"<title>{sentence}</title>" if sentence else ""
    if colour == "a":
        return f'<circle class="a" cx="{x:.1f}" cy="{y:.1f}" r="5.5">{about}</circle>'
    return f'<rect class="b" x="{x - 5:.1f}" y="{y - 5:.1f}" width="10" height="10">{about}</rect>'


def main() -> None:
    results = Results()
    panels = [lines for lines in (senses(WORD), gains(results), latin(results)) if lines]
    width = len(panels) * (PANEL + GAP) + GAP
    label = "Occurrences of one word by sense; gains of ELMo in six tasks" + "; Latin tags" * (len(panels) == 3)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {HEIGHT + 20}" width="{width}" '
        f'height="{HEIGHT + 20}" role="img" aria-label="{label}">',
        f"<style>{STYLE}</style>",
        f'<rect width="{width}" height="{HEIGHT + 20}" fill="var(--paper)"/>',
    ]
    for place, lines in enumerate(panels):
        parts += [f'<g transform="translate({GAP + place * (PANEL + GAP)} 10)">', *lines, "</g>"]
    write_text(Path("docs/overview.svg"), "\n".join([*parts, "</svg>", ""]))


if __name__ == "__main__":
    main()
