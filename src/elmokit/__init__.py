"""elmokit: contextual word vectors from a bidirectional language model (ELMo; Peters et al., 2018).

The names below are the public ones; docs/api.md has an example of each. A name is imported on its first use, so
`import elmokit` does not load torch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from elmokit.version import __version__ as __version__

if TYPE_CHECKING:
    from elmokit.analysis.semantic_change.change import ChangeSettings as ChangeSettings
    from elmokit.analysis.semantic_change.change import semantic_change as semantic_change
    from elmokit.analysis.semantic_change.change import use_vectors as use_vectors
    from elmokit.corpus.prepare import Preparation as Preparation
    from elmokit.corpus.prepare import prepare as prepare
    from elmokit.corpus.vocabulary_counts import write_vocabulary as write_vocabulary
    from elmokit.elmo.elmo import Elmo as Elmo
    from elmokit.elmo.embedding import ElmoEmbedding as ElmoEmbedding
    from elmokit.formats.find import convert as convert
    from elmokit.formats.find import inspect as inspect
    from elmokit.integrations.embed_with import embed_with as embed_with
    from elmokit.layers.full_softmax import SoftmaxDetails as SoftmaxDetails
    from elmokit.layers.scalar_mix import ScalarMix as ScalarMix
    from elmokit.model.bilm import BiLM as BiLM
    from elmokit.model.config import BiLMConfig as BiLMConfig
    from elmokit.pretraining.finetune import finetune as finetune
    from elmokit.pretraining.recipes import recipe
    from elmokit.pretraining.train import pretrain as pretrain
    from elmokit.pretraining.train import resume_pretraining as resume_pretraining
    from elmokit.scoring.perplexity import perplexity as perplexity
    from elmokit.tasks.config import Splits as Splits
    from elmokit.tasks.data import task_sentences as task_sentences
    from elmokit.tasks.predict import load_task as load_task
    from elmokit.tasks.task import find_task as find_task
    from elmokit.tasks.task import task_recipe as task_recipe
    from elmokit.tasks.train import resume_task as resume_task
    from elmokit.tasks.train import train
    from elmokit.text.characters import batch_character_ids as batch_character_ids
    from elmokit.text.tokenizer import split_sentences as split_sentences
    from elmokit.text.tokenizer import tokenize as tokenize
    from elmokit.text.vocabulary import Vocabulary as Vocabulary
    from elmokit.vectors.embed_file import embed_file as embed_file
    from elmokit.vectors.embed_types import embed_types as embed_types
    from elmokit.vectors.files import load_vectors as load_vectors
    from elmokit.vectors.proteins import embed_fasta as embed_fasta
    from elmokit.vectors.save_vectors import save_vectors as save_vectors

    pretraining_recipe = recipe
    train_task = train

_HOMES = {
    "BiLM": "elmokit.model.bilm:BiLM",
    "BiLMConfig": "elmokit.model.config:BiLMConfig",
    "ChangeSettings": "elmokit.analysis.semantic_change.change:ChangeSettings",
    "Elmo": "elmokit.elmo.elmo:Elmo",
    "ElmoEmbedding": "elmokit.elmo.embedding:ElmoEmbedding",
    "Preparation": "elmokit.corpus.prepare:Preparation",
    "ScalarMix": "elmokit.layers.scalar_mix:ScalarMix",
    "SoftmaxDetails": "elmokit.layers.full_softmax:SoftmaxDetails",
    "Splits": "elmokit.tasks.config:Splits",
    "Vocabulary": "elmokit.text.vocabulary:Vocabulary",
    "batch_character_ids": "elmokit.text.characters:batch_character_ids",
    "convert": "elmokit.formats.find:convert",
    "embed_fasta": "elmokit.vectors.proteins:embed_fasta",
    "embed_file": "elmokit.vectors.embed_file:embed_file",
    "embed_types": "elmokit.vectors.embed_types:embed_types",
    "embed_with": "elmokit.integrations.embed_with:embed_with",
    "find_task": "elmokit.tasks.task:find_task",
    "finetune": "elmokit.pretraining.finetune:finetune",
    "inspect": "elmokit.formats.find:inspect",
    "load_task": "elmokit.tasks.predict:load_task",
    "load_vectors": "elmokit.vectors.files:load_vectors",
    "perplexity": "elmokit.scoring.perplexity:perplexity",
    "prepare": "elmokit.corpus.prepare:prepare",
    "pretrain": "elmokit.pretraining.train:pretrain",
    "pretraining_recipe": "elmokit.pretraining.recipes:recipe",
    "resume_pretraining": "elmokit.pretraining.train:resume_pretraining",
    "resume_task": "elmokit.tasks.train:resume_task",
    "save_vectors": "elmokit.vectors.save_vectors:save_vectors",
    "semantic_change": "elmokit.analysis.semantic_change.change:semantic_change",
    "split_sentences": "elmokit.text.tokenizer:split_sentences",
    "task_recipe": "elmokit.tasks.task:task_recipe",
    "task_sentences": "elmokit.tasks.data:task_sentences",
    "tokenize": "elmokit.text.tokenizer:tokenize",
    "train_task": "elmokit.tasks.train:train",
    "use_vectors": "elmokit.analysis.semantic_change.change:use_vectors",
    "write_vocabulary": "elmokit.corpus.vocabulary_counts:write_vocabulary",
}
"""Public name -> its module, and its name in that module."""

if not TYPE_CHECKING:  # for type checkers, an import `X as X` or an assignment makes a name public
    __all__ = sorted(["__version__", *_HOMES])


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'elmokit' has no attribute {name!r}; its public names are {', '.join(_HOMES)}")
    module, _, own_name = _HOMES[name].partition(":")
    value = getattr(importlib.import_module(module), own_name)
    globals()[name] = value  # so that Python finds it next time
    return value


def __dir__() -> list[str]:
    return sorted({*_HOMES, *(name for name in globals() if name.startswith("__") and name.endswith("__"))})
