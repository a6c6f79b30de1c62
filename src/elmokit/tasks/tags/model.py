"""The tagger of words: that of named entities, whose tags may follow each other in any order."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import torch

from elmokit.tasks.tags.reader import WordTags
from elmokit.tasks.task_model import Tagger

if TYPE_CHECKING:
    from elmokit.tasks.inputs import TokenInputs
    from elmokit.tasks.tags.task import TagsConfig


def word_tagger(config: TagsConfig, inputs: TokenInputs, labels: Sequence[str]) -> Tagger:
    """A tagger of these labels, with fresh weights."""
    allowed = torch.ones(len(labels) + 1, len(labels) + 1, dtype=torch.bool)
    return Tagger(config, inputs, labels, allowed=allowed, predicted=partial(WordTags, config.column))
