import numpy as np
import pytest

from elmokit.elmo.elmo import Elmo
from elmokit.integrations.model_bytes import bytes_of, elmo_of
from elmokit.system.messages import FormatError
from toy_bilm import random_bilm
from toy_language_model import toy_elmo

SENTENCES = [["the", "cat"], ["밥"]]


@pytest.mark.usefixtures("on_cpu")
def test_the_bytes_of_a_model_are_the_model():
    elmo = toy_elmo()
    same = elmo_of(bytes_of(elmo))
    for one, other in zip(elmo.encode(SENTENCES), same.encode(SENTENCES), strict=True):
        np.testing.assert_array_equal(one, other)
    assert same.fingerprint() == elmo.fingerprint()
    assert same.vocabulary is not None and elmo.vocabulary is not None
    assert same.vocabulary.tokens == elmo.vocabulary.tokens
    assert elmo_of(bytes_of(elmo), precision="int8").precision == "int8"


def test_a_damaged_model_is_refused_and_a_name_leads_nowhere_else():
    files = bytes_of(Elmo(random_bilm()))
    with pytest.raises(FormatError, match=r"model\.safetensors"):
        elmo_of(files | {"model.safetensors": files["model.safetensors"][:-1]})
    with pytest.raises(FormatError, match=r"config\.json"):
        elmo_of({"../config.json": b"{", "model.safetensors": files["model.safetensors"]})
