"""All formats, in the order in which they are tried on files."""

from __future__ import annotations

from elmokit.formats.allennlp import ALLENNLP
from elmokit.formats.bilm_tf import BILM_TF
from elmokit.formats.format import Format
from elmokit.formats.hugging_face import HUGGING_FACE
from elmokit.formats.many_langs import MANY_LANGS
from elmokit.formats.native import NATIVE
from elmokit.formats.tensorflow import TENSORFLOW
from elmokit.formats.token_vectors import TOKEN_VECTORS

FORMATS: tuple[Format, ...] = (NATIVE, TENSORFLOW, ALLENNLP, MANY_LANGS, TOKEN_VECTORS, BILM_TF, HUGGING_FACE)
