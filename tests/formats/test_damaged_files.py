"""Files of every format, damaged or cut anywhere: each is read, or refused by an error that names it."""

from __future__ import annotations

import shutil
import sys
from functools import partial
from pathlib import Path

import pytest

from attacks.limited_child import Call, run_limited
from attacks.mutations import mutants
from attacks.outcome import Outcome
from elmokit.formats.inspect import inspect
from elmokit.formats.native import read_native
from elmokit.formats.recognise import read_stored
from elmokit.system.messages import FormatError

FIXTURES = Path(__file__).parents[1] / "fixtures" / "formats"
MANY_LANGS = ("word.dic", "config.json", "cnn_50_100_512_4096_sample.json", "encoder.pkl", "token_embedder.pkl")
CHECKPOINT = ("model.ckpt-7.index", "model.ckpt-7.data-00000-of-00001", "checkpoint", "options.json")
ALONE = ("nlpl/typical.zip", "allennlp/frozen.model.tar.gz", "allennlp/elmo_two_mixes.state_dict.th")


@pytest.mark.parametrize(
    ("model", "name"),
    [
        *((name, "") for name in ALONE),
        *(("many_langs/word_only", name) for name in MANY_LANGS),
        *(("checkpoints/char", name) for name in CHECKPOINT),
    ],
)
def test_a_damaged_file_is_read_or_refused(tmp_path: Path, model: str, name: str):
    given = tmp_path / Path(model).name
    (shutil.copytree if name else shutil.copyfile)(FIXTURES / model, given)
    for content in mutants((given / name).read_bytes(), number=8, seed=5):
        (given / name).write_bytes(content)
        try:
            read_stored(given, with_softmax=None)
        except ValueError as error:
            assert str(given) in str(error) and "/tmp/elmokit-" not in str(error)


@pytest.mark.skipif(sys.platform != "linux", reason="memory is limited as Linux does it")
def test_damaged_hdf5_is_read_or_refused_and_crashes_nothing(pair: Path):
    weights = pair / "weights.hdf5"
    contents = mutants(weights.read_bytes(), number=60, seed=3)
    calls = [Call(partial(read_stored, pair), prepare=partial(weights.write_bytes, content)) for content in contents]
    endings = list(run_limited(calls))
    assert {ending.outcome for ending in endings} == {Outcome.OK, Outcome.REFUSED}
    assert all(str(pair) in ending.said for ending in endings if ending.outcome is Outcome.REFUSED)


def test_hdf5_that_is_cut_short_is_refused_wherever_it_is_cut(pair: Path):
    weights = pair / "weights.hdf5"
    whole = weights.read_bytes()
    for length in [*range(0, 100, 19), *range(100, len(whole), 2999), len(whole) - 1]:
        weights.write_bytes(whole[:length])
        with pytest.raises(FormatError, match=r"weights\.hdf5"):
            read_stored(pair / "options.json", weights)
        assert inspect(pair / "options.json", weights).refusals


def test_safetensors_that_are_cut_short_or_longer_are_refused(folder: Path):
    weights = folder / "model.safetensors"
    whole = weights.read_bytes()
    for length in [*range(0, 3000, 97), *range(3000, len(whole), 1999), len(whole) - 1]:
        weights.write_bytes(whole[:length])
        with pytest.raises(FormatError, match=r"model\.safetensors: "):
            read_native(folder)
    weights.write_bytes(whole + b"\0")
    with pytest.raises(FormatError, match=r"its tensors end at byte"):
        read_native(folder)
