"""The demo's findings as one web page that needs nothing else: no scripts, no requests, light and dark."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from elmokit.analysis.homonyms import WHAT_IT_IS
from elmokit.analysis.polysemy import num_triples
from elmokit.web.demo.picture import COLOURS, DARK_COLOURS, PANEL, STYLE, bars, scatter, score

if TYPE_CHECKING:
    from collections.abc import Iterator

    from elmokit.analysis.findings import CloseUp, Findings, Nearest, Plane
    from elmokit.analysis.homonyms import Recorded
    from elmokit.analysis.neighbours import Context
    from elmokit.analysis.polysemes import Language

_NUM_SHADES = 8

_PAGE_STYLE = """
  * { box-sizing: border-box; }
  body { margin: 0 auto; padding: 1.25rem; max-width: 62rem; background: var(--paper); color: var(--ink);
         font: 1rem/1.5 system-ui, sans-serif; }
  h1 { font-size: 1.6rem; line-height: 1.2; } h2 { margin-top: 2.5rem; border-top: 1px solid var(--line);
       padding-top: 1.25rem; }
  svg { max-width: 100%; height: auto; display: block; }
  .scroll { overflow-x: auto; }
  table { border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums; }
  th, td { padding: .25rem .55rem; text-align: left; border-bottom: 1px solid var(--line); }
  td.number { text-align: right; white-space: nowrap; } thead th { vertical-align: bottom; }
  caption { text-align: left; color: var(--soft); padding-bottom: .4rem; }
  .heat td { text-align: center; } .heat th { font-weight: 400; } .heat .sentence { min-width: 16rem; }
  .heat td, .heat thead th + th { width: 3.6rem; } .scroll { margin-bottom: .75rem; }
  .side { display: flex; flex-wrap: wrap; gap: 1.5rem; align-items: flex-start; }
  .grid { display: grid; gap: 1.5rem; grid-template-columns: repeat(auto-fill, minmax(17rem, 1fr)); }
  .soft, summary { color: var(--soft); font-size: .9rem; } mark { background: none; color: inherit; font-weight: 700; }
  pre { background: var(--frame); border: 1px solid var(--line); border-radius: 6px; padding: .9rem; overflow-x: auto; }
"""


def page(findings: Findings, *, code: str) -> str:
    """A whole HTML document; `code` is the Python to copy."""
    close = {close_up.word for close_up in findings.close_ups}
    planes = {plane.word: plane for plane in findings.planes}
    body = [
        *_opening(findings),
        *_rates(findings),
        *(part for close_up in findings.close_ups for part in _close_up(close_up, planes[close_up.word], findings)),
        "<h2>The other words</h2>",
        "<p>All of them, also those that the model does not tell apart.</p>",
        '<div class="grid">',
        *(f"<div>{_scatter(plane, findings)}</div>" for plane in findings.planes if plane.word not in close),
        "</div>",
        *_word_table(findings),
        *_recorded(findings.recorded),
        "<h2>In Python</h2>",
        f"<pre><code>{escape(code)}</code></pre>",
    ]
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n<title>elmokit: one word, many vectors</title>\n'
        f"<style>:root {{{COLOURS}}}\n@media (prefers-color-scheme: dark) {{ :root {{{DARK_COLOURS}}} }}"
        f"{STYLE}{_PAGE_STYLE}{_heat_style()}</style>\n</head>\n<body>\n" + "\n".join(body) + "\n</body>\n</html>\n"
    )


def _opening(findings: Findings) -> Iterator[str]:
    yield "<h1>One word, many vectors</h1>"
    yield (
        "<p>A static word vector is the same in every sentence. A biLM (ELMo; Peters et al., 2018) reads the sentence "
        f"and gives each occurrence a vector of its own. Here the model <b>{escape(findings.model)}</b> "
        f"({findings.num_parameters:,} parameters, vectors of {findings.dim} numbers) has read "
        f"{len(findings.occurrences)} sentences with {findings.extent}. The sentences were written "
        "before any model was run on them, and all of them are counted.</p>"
    )


def _rates(findings: Findings) -> Iterator[str]:
    yield "<h2>How often it tells the senses apart</h2>"
    yield '<div class="side"><div class="scroll"><table>'
    yield "<caption>The whole list; in brackets 95 % intervals</caption>"
    yield (
        '<thead><tr><th scope="col">vector</th><th scope="col">nearest one has the same sense</th>'
        '<th scope="col">same sense is nearer</th></tr></thead><tbody>'
    )
    for one in findings.measured:
        yield (
            f'<tr><th scope="row">{escape(one.name)}</th><td class="number">{one.nearest_rate()}</td>'
            f'<td class="number">{one.triple_rate().percent()}</td></tr>'
        )
    yield f"</tbody></table></div>{_svg(bars(findings.measured), 'Bars of the rates in the table beside')}</div>"
    yield (
        '<p class="soft">First column: is the nearest other occurrence of the word (by cosine) one of the same sense? '
        f"Second: over all {num_triples(findings.occurrences):,} triples of an occurrence, one of the same and one of "
        "another sense, is the same sense nearer? Ties count in part. The static vector is the biLM's layer 0: all "
        "its occurrences are tied, which is chance. The bag of context words is the mean of the static vectors of the "
        "sentence's other words. The average is that of all layers, which <code>encode</code> gives if not told "
        'otherwise. Everything below is of the top layer, <code>layers="top"</code>, as in the paper\'s table 4.</p>'
    )


def _close_up(close_up: CloseUp, plane: Plane, findings: Findings) -> Iterator[str]:
    occurrences = findings.occurrences
    word = _in(findings.language, escape(close_up.word))
    yield f"<h2>{word}: {escape(' or '.join(close_up.senses))}?</h2>"
    yield f'<div class="side"><div>{_scatter(plane, findings)}</div><div class="scroll"><table class="heat">'
    yield "<caption>Cosines of the first sentences of each sense (of static vectors: 1.00 everywhere)</caption>"
    heads = "".join(f'<th scope="col">{escape(label)}</th>' for label in close_up.labels)
    yield f'<thead><tr><th scope="col">sentence</th>{heads}</tr></thead><tbody>'
    table = zip(close_up.labels, close_up.shown, close_up.cosines, close_up.shades(_NUM_SHADES), strict=True)
    for label, index, values, shades in table:
        cells = "".join(f'<td class="h{shade}">{value:.2f}</td>' for value, shade in zip(values, shades, strict=True))
        sentence = _sentence(findings, index, occurrences[index].index)
        yield f'<tr><th scope="row" class="sentence"><b>{escape(label)}</b> {sentence}</th>{cells}</tr>'
    yield "</tbody></table></div></div>"
    for nearest in close_up.nearest:
        yield from _nearest(nearest, findings)
    neighbours = ", ".join(f"{escape(word.token)} {word.cosine:.2f}" for word in close_up.static)
    neighbours = _in(findings.language, neighbours)
    yield f"<p><b>Beside it, the static vector's nearest words</b> (always these): {neighbours}.</p>"


def _nearest(nearest: Nearest, findings: Findings) -> Iterator[str]:
    one = findings.occurrences[nearest.occurrence]
    sentence = _sentence(findings, nearest.occurrence, one.index)
    yield '<div class="scroll"><table>'
    yield f"<caption>Nearest to <q>{sentence}</q> ({escape(one.sense)})</caption><tbody>"
    for context in nearest.same_word:
        sense = findings.occurrences[context.sentence].sense
        yield _context(context, findings, sense if sense == one.sense else f"{sense} (another sense)")
    for context in nearest.other_words:
        yield _context(context, findings, "")
    yield "</tbody></table></div>"


def _context(context: Context, findings: Findings, sense: str) -> str:
    sentence = _sentence(findings, context.sentence, context.index)
    return f'<tr><td class="number">{context.cosine:.2f}</td><td>{sentence}</td><td>{escape(sense)}</td></tr>'


def _scatter(plane: Plane, findings: Findings) -> str:
    """The drawing, what it shows in words, and its sentences for those who cannot hover."""
    label = (
        f"{len(plane.members)} occurrences of {plane.word} in two dimensions, {' and '.join(plane.senses)}; of "
        f"{score(findings, plane.word)} the nearest one has the same sense"
    )
    items = "".join(
        f"<li>{_sentence(findings, index, findings.occurrences[index].index)} "
        f"({escape(findings.occurrences[index].sense)})</li>"
        for index in plane.members
    )
    drawing = _svg(scatter(plane, findings.occurrences, note=score(findings, plane.word)), label)
    return (
        f"{drawing}<details><summary>{escape(plane.contrast)}; {100 * plane.share:.0f} % of the variance is in this "
        f"plane; the sentences</summary><ul>{items}</ul></details>"
    )


def _word_table(findings: Findings) -> Iterator[str]:
    yield "<h2>Word by word</h2>"
    yield '<div class="scroll"><table><caption>Occurrences whose nearest one has the same sense</caption><thead><tr>'
    yield '<th scope="col">word</th><th scope="col">senses</th><th scope="col">contrast</th>'
    yield "".join(f'<th scope="col">{escape(one.name)}</th>' for one in findings.measured) + "</tr></thead><tbody>"
    for plane in findings.planes:
        counts = [one.nearest_rate(plane.members) for one in findings.measured]
        yield (
            f'<tr><th scope="row">{_in(findings.language, escape(plane.word))}</th>'
            f"<td>{escape(', '.join(plane.senses))}</td><td>{escape(plane.contrast)}</td>"
            + "".join(f'<td class="number">{round(count.correct, 1):g}/{count.total}</td>' for count in counts)
            + "</tr>"
        )
    for contrast, members in findings.contrasts().items():
        yield (
            f'<tr><th scope="row" colspan="3">all {escape(contrast)}</th>'
            + "".join(f'<td class="number">{one.nearest_rate(members).percent()}</td>' for one in findings.measured)
            + "</tr>"
        )
    yield "</tbody></table></div>"


def _recorded(recorded: Recorded | None) -> Iterator[str]:
    """What was measured on sentences of others, with the file that says so; nothing if nothing was."""
    if recorded is None:
        return
    same_particle = '<th scope="col">of those with the same particle</th>' if recorded.same_form else ""
    yield "<h2>Measured when the model was bundled</h2>"
    yield f'<p class="soft">{escape(WHAT_IT_IS)}</p>'
    yield '<div class="scroll"><table><caption>homonym_ko; in brackets 95 % intervals</caption><thead><tr>'
    yield '<th scope="col">vector</th><th scope="col">nearest one has the same sense</th>'
    yield f"{same_particle}</tr></thead><tbody>"
    for name, rate in recorded.rates.items():
        same_form = f'<td class="number">{recorded.same_form[name]}</td>' if name in recorded.same_form else ""
        yield f'<tr><th scope="row">{escape(name)}</th><td class="number">{rate}</td>{same_form}</tr>'
    yield "</tbody></table></div>"
    source, command = escape(str(recorded.path)), escape(recorded.command)
    yield f'<p class="soft">Source: <code>{source}</code>, by <code>{command}</code></p>'


def _svg(content: str, label: str) -> str:
    width, height = PANEL
    return (
        f'<svg viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" '
        f'aria-label="{escape(label)}">{content}</svg>'
    )


def _sentence(findings: Findings, number: int, marked: int) -> str:
    """A sentence of the list with one of its tokens marked."""
    tokens = findings.occurrences[number].tokens
    text = " ".join(
        f"<mark>{escape(token)}</mark>" if index == marked else escape(token) for index, token in enumerate(tokens)
    )
    return _in(findings.language, text)


def _in(language: Language, text: str) -> str:
    """Says which language it is, to whoever reads it aloud, if it is not the page's."""
    return text if language == "en" else f'<span lang="{language}">{text}</span>'


def _heat_style() -> str:
    """Shades from the page's frame to blue; text turns white where they are dark."""
    rules = [
        f"  .heat .h{shade} {{ background: hsl(208 {45 + 4 * shade}% {94 - 8.5 * shade:g}%); "
        f"color: {'#10151c' if shade < 6 else '#ffffff'}; }}"
        for shade in range(_NUM_SHADES)
    ]
    return "\n".join(rules) + "\n"
