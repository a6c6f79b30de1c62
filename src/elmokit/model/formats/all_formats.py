"""All formats, in the order in which they are tried on files."""

from __future__ import annotations

from elmokit.model.formats.allennlp import ALLENNLP
from elmokit.model.formats.bilm_tf import BILM_TF
from elmokit.model.formats.format import Format
from elmokit.model.formats.hugging_face import HUGGING_FACE
from elmokit.model.formats.many_langs import MANY_LANGS
from elmokit.model.formats.native import NATIVE
from elmokit.model.formats.tensorflow import TENSORFLOW
from elmokit.model.formats.token_vectors import TOKEN_VECTORS

FORMATS: tuple[Format, ...] = (NATIVE, TENSORFLOW, ALLENNLP, MANY_LANGS, TOKEN_VECTORS, BILM_TF, HUGGING_FACE)
