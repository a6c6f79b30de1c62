import pytest

from elmokit.elmo.elmo import Elmo
from elmokit.integrations.model_bytes import bytes_of, elmo_of
from elmokit.system.messages import FormatError
from toy_bilm import random_bilm


def test_a_damaged_model_is_refused_and_a_name_leads_nowhere_else():
    files = bytes_of(Elmo(random_bilm()))
    with pytest.raises(FormatError, match=r"model\.safetensors"):
        elmo_of(files | {"model.safetensors": files["model.safetensors"][:-1]})
    with pytest.raises(FormatError, match=r"config\.json"):
        elmo_of({"../config.json": b"{", "model.safetensors": files["model.safetensors"]})
