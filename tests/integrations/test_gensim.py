"""gensim reads the static vectors that `embed_types` writes."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from elmokit.elmo.elmo import Elmo
from elmokit.vectors.jobs.types import embed_types
from toy_bilm import random_bilm

models: Any = pytest.importorskip("gensim.models")

SENTENCES = [["the", "bank", "of", "the", "river"], [], ["the", "bank"], ["a", "river"]]


def test_gensim_reads_the_averages_of_words(tmp_path: Path):
    elmo = Elmo(random_bilm())
    (tmp_path / "lines.txt").write_text("".join(f"{' '.join(sentence)}\n" for sentence in SENTENCES))
    embed_types(elmo, tmp_path / "lines.txt", tmp_path / "words.vec", min_count=1)
    keyed = models.KeyedVectors.load_word2vec_format(str(tmp_path / "words.vec"))
    assert keyed.index_to_key == ["the", "bank", "river", "of", "a"]  # by falling frequency
    first, _, third, fourth = elmo.encode(SENTENCES)
    bank, river = (first[1] + third[1]) / 2, (first[4] + fourth[1]) / 2
    np.testing.assert_allclose(keyed["bank"], bank, atol=1e-6)
    np.testing.assert_array_equal(keyed["of"], first[2])  # to the bit
    cosine = bank @ river / np.linalg.norm(bank) / np.linalg.norm(river)
    assert keyed.similarity("bank", "river") == pytest.approx(cosine, abs=1e-5)
