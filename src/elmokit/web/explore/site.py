"""`elmokit explore`: writes a web page that runs a model. It is only files, so any web server can serve it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined

from elmokit.analysis.polysemes import language_of
from elmokit.elmo.elmo import Elmo
from elmokit.elmo.text_warnings import MIN_SHARE, NUM_FREQUENT_TOKENS, script_counts
from elmokit.files.atomic import check_names, new_folder
from elmokit.files.lines import check_texts
from elmokit.formats.find import DEFAULT_MODEL, bundled_models, find, model_name, packaged_models
from elmokit.formats.native import open_weights, softmax_shards, write_native
from elmokit.web.explore.corpus import read_corpus, write_corpus
from elmokit.web.explore.planes import require_umap

if TYPE_CHECKING:
    from elmokit.analysis.polysemes import Language
    from elmokit.model.weights import Weights

LEARNT_MIXES = "learnt_mixes.json"
"""Mixes that tasks have learnt for the layers of a model, by the fingerprint of its weights. `weights` are the shares
of the layers, the lowest first. `experiments/explorer_presets.py` writes the file from the logs of runs."""
MAX_PARAMETERS = 40_000_000
"""Size of the largest model that a browser should have to load: 80 MB in float16."""
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'"
)
"""The page loads nothing from anywhere else, and runs no script but its own."""
COMMENTS_AND_INDENTATION = re.compile(r"(?ms)^\s*/\*\*.*?\*/\n|^\s*//[^\n]*\n|^\s+")
"""A quarter of the scripts, which browsers do not need. No string in the scripts continues on a second line."""
TEXTS: dict[Language, tuple[str, int]] = {
    "en": ("We sat on the grassy bank of the river .\nThe bank raised its rates last week .", 5),
    "ko": ("먼지가 들어가서 눈이 따갑다 .\n밤새 마당에 눈이 쌓였다 .", 2),
}
"""The first text of the page, and the index of the chosen word in its first sentence."""


def write_site(
    folder: Path,
    *,
    model: str | Path = DEFAULT_MODEL,
    corpora: Sequence[Path] = (),
    raw_text: bool = False,
    column: str | None = None,
    as_text: bool = False,
    umap: bool = False,
    sample: Language | None = None,
) -> Path:
    """Write the explorer of a model into a new folder, and return the page, `index.html`.

    corpora: files to search in, one sentence per line; `raw_text` tokenises them, and `column` reads a column of them.
        A map of a word's occurrences has a colour for each file.
    sample: also search in the bundled sentences of this language, and show how well the model tells their senses apart.
        By default, only a bundled model without corpora does this, for its language.
    umap: whether to compute maps by UMAP, too. That takes about a second per word, for at most 200 words.
    The site shows the model's own vectors exactly: its weights are stored in float16 only if that loses nothing.
    Raises FileNotFoundError if there is no such model; ValueError if it is too large for a browser or looks words up,
    if there are no sentences, or if UMAP is not installed; and FileExistsError if the folder is not empty.
    """
    check_names(*corpora)  # the page shows them
    check_texts(*corpora)
    stored = open_weights(find(model), with_softmax=True)
    if stored.config.num_parameters > MAX_PARAMETERS:
        raise ValueError(
            f"{model} has {stored.config.num_parameters / 1e6:.1f} million parameters; the explorer is for models of "
            f"at most {MAX_PARAMETERS / 1e6:.0f} million, which a browser can run"
        )
    if stored.config.lookup is not None:
        raise ValueError(f"{model} looks words up in a table; the explorer runs models that read characters only")
    if umap:
        require_umap()
    elmo = Elmo(model, device="cpu")
    if sample is None and not corpora:
        if elmo.name not in (*bundled_models(), *packaged_models()):
            raise ValueError(
                f"the bundled sentences are English and Korean, and {model} may have read another language; give text "
                "to search in (--corpus FILE), or the language of the model if it is one of these (--sample en)"
            )
        sample = language_of(elmo.vocabulary)
    corpus = read_corpus(corpora, sample, raw_text=raw_text, column=column, as_text=as_text)
    with new_folder(folder) as target:
        _write_model(target, stored)
        write_corpus(target, corpus, elmo, umap=umap)
        _copy_scripts(target / "scripts")
        settings = {
            "model": model_name(model),
            "files": [name for name, _ in corpus.sources],
            "sample": sample,
            "hasUmap": umap,
            "given": str(model),
            "paths": [*map(str, corpora)],
            "isRawText": raw_text,
            "column": column,
        }
        text, index = ("\n".join(map(" ".join, corpus.sentences[:2])), 0) if sample is None else TEXTS[sample]
        _write_page(target, elmo, {**settings, "text": text, "index": index})
    return folder / "index.html"


def _write_model(target: Path, stored: Weights) -> None:
    is_exact = all(
        np.array_equal(array, array.astype(np.float16).astype(np.float32))
        for array in stored.without_softmax().tensors.values()
    )
    dtype = "float16" if is_exact else "float32"
    write_native(target / "model", stored, dtype=dtype, softmax_dtype="int8")
    shards = [shard.name for shard in softmax_shards(target / "model")]
    (target / "softmax.json").write_text(json.dumps(shards), encoding="utf-8")


def _write_page(target: Path, elmo: Elmo, given: Mapping[str, object]) -> None:
    language = language_of(elmo.vocabulary)
    settings: dict[str, object] = {
        **given,
        "language": language,
        "numLayers": elmo.num_layers,
        "softmaxBytes": sum(path.stat().st_size for path in softmax_shards(target / "model")),
        "presets": presets(elmo),
        "scripts": _scripts(elmo),
        "maxBytes": elmo.config.max_characters_per_token - 2,  # without the boundaries of the word
    }
    loader = PackageLoader("elmokit.web.explore")
    environment = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, keep_trailing_newline=True)
    for file in ("index.html", "style.css"):
        page = environment.get_template(file).render(
            settings=settings, language=language, policy=CONTENT_SECURITY_POLICY
        )
        (target / file).write_text(page, encoding="utf-8")


def presets(elmo: Elmo) -> list[dict[str, object]]:
    """The mixes that tasks have learnt with the weights of a model."""
    fingerprint = elmo.fingerprint()
    mixes = json.loads((files("elmokit.web.explore") / LEARNT_MIXES).read_text(encoding="utf-8"))
    names = ("task", "data", "place", "weights", "num_runs")
    return [{name: mix[name] for name in names} for mix in mixes if fingerprint.startswith(mix["fingerprint"])]


def _scripts(elmo: Elmo) -> list[str]:
    """Scripts that the model has read, from its frequent tokens. Most have the same names in JavaScript."""
    counts = script_counts(() if elmo.vocabulary is None else elmo.vocabulary.tokens[:NUM_FREQUENT_TOKENS])
    read = (name for name, count in counts.items() if count >= MIN_SHARE * counts.total())
    return ["Han" if name == "CJK" else name.capitalize() for name in read]


def _copy_scripts(target: Path) -> None:
    target.mkdir()
    for file in (files("elmokit.web.explore") / "scripts").iterdir():
        if file.name.endswith(".js"):
            text = COMMENTS_AND_INDENTATION.sub("", file.read_text(encoding="utf-8"))
            (target / file.name).write_text(text, encoding="utf-8")
