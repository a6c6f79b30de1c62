"""Fine-tuning: a trained biLM continues on the text of a domain (Peters et al., 2018, table 7)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import torch

from elmokit.files.atomic import as_paths
from elmokit.formats.find import find
from elmokit.formats.native import open_weights
from elmokit.formats.read import softmax_of
from elmokit.layers.devices import seeded
from elmokit.layers.sampled_softmax import Softmax
from elmokit.model.bilm import BiLM
from elmokit.pretraining.config import PretrainingConfig, with_settings
from elmokit.pretraining.recipes import finetuning
from elmokit.pretraining.train import begin, new_softmax
from elmokit.text.vocabulary import Vocabulary


def finetune(
    model: str | Path,
    shards: Iterable[str | Path],
    *,
    run_dir: str | Path,
    settings: Sequence[str] = (),
    weights: str | Path | None = None,
    vocabulary_path: str | Path | None = None,
    held_out: Iterable[str | Path] = (),
    as_text: bool = False,
    device: str | None = None,
) -> Path:
    """Train a bundled model, a folder or a released pair on text shards of a domain. Returns the run folder.

    The recipe is `finetuning`; `settings` (`field=value`) change it, except for the model's sizes. With the model's
    vocabulary, training of the softmax continues too. With a vocabulary of the domain (`vocabulary_path`), the softmax
    starts from the model's rows for the tokens that the model knows, and from new rows for the others.

    Held-out text is measured before the first step, so `best/` is never worse than the model. Then it is measured once
    per pass over the text (or per 20 steps, if that is longer), unless `settings` set `evaluate_every`. The run can be
    resumed like any other. Raises ValueError if the model lacks a vocabulary or a softmax, and no vocabulary is given.
    """
    held_out = as_paths(held_out)
    new_vocabulary = None if vocabulary_path is None else Vocabulary.read(vocabulary_path)
    stored = open_weights(find(model, weights), with_softmax=True)
    if new_vocabulary is None and (stored.vocabulary is None or not stored.has_softmax):
        missing = "vocabulary" if stored.vocabulary is None else "softmax"
        raise ValueError(
            f"{model} has no {missing}, so there is no softmax to continue; give --vocabulary FILE, or "
            "vocabulary_path=FILE, to train a new one (elmokit vocabulary writes it from the shards)"
        )
    bilm, softmax, vocabulary = BiLM.from_weights(stored), softmax_of(stored), stored.vocabulary
    recipe = finetuning(bilm.config)
    config = with_settings(recipe if held_out else replace(recipe, patience=0), settings)
    if config.bilm != bilm.config:
        raise ValueError("a fine-tuned model keeps its sizes; change only settings of the training")
    if new_vocabulary is not None:
        softmax = adapted_softmax(softmax, vocabulary, new_vocabulary, config)
        vocabulary = new_vocabulary
    assert softmax is not None and vocabulary is not None
    each_pass = not any(setting.partition("=")[0].strip() == "evaluate_every" for setting in settings)
    return begin(
        shards,
        vocabulary,
        run_dir,
        config=config,
        held_out=held_out,
        trained=(bilm, softmax),
        started_from=str(model),
        each_pass=each_pass,
        as_text=as_text,
        device=device,
    )


def adapted_softmax(
    softmax: Softmax | None, vocabulary: Vocabulary | None, new_vocabulary: Vocabulary, config: PretrainingConfig
) -> Softmax:
    """A softmax over `new_vocabulary`, with trained rows for the tokens in both and new random rows for the others."""
    with seeded(config.seed):
        adapted = new_softmax(len(new_vocabulary), config)
    if softmax is None or vocabulary is None:
        return adapted
    known = [row for row, token in enumerate(new_vocabulary.tokens) if token in vocabulary]
    rows = torch.from_numpy(vocabulary.ids([new_vocabulary.tokens[row] for row in known]))
    with torch.no_grad():
        adapted.weight[known] = softmax.weight[rows]
        adapted.bias[known] = softmax.bias[rows]
    return adapted
