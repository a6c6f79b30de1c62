"""options.json: what published files vary is read, what a hostile or mistaken one says is refused by name."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from elmokit.formats.find import inspect
from elmokit.formats.importers.bilm_tf import read_options
from toy_stored import assert_refused, read_stored

Change = Callable[[dict[str, Any]], object]


def _changed(pair: Path, change: Change) -> Path:
    path = pair / "options.json"
    options = json.loads(path.read_text())
    change(options)
    path.write_text(json.dumps(options))
    return path


@pytest.mark.parametrize(
    ("change", "field", "value"),
    [
        (lambda o: o["lstm"].pop("n_layers"), "num_layers", 1),
        (lambda o: o["lstm"].pop("cell_clip"), "cell_clip", None),
        (lambda o: o["lstm"].pop("use_skip_connections"), "use_skip_connections", False),
        (lambda o: o["char_cnn"].pop("n_highway"), "num_highway_layers", 0),
        (lambda o: o["char_cnn"].update(n_highway=None), "num_highway_layers", 0),
        (lambda o: o["char_cnn"].pop("n_characters"), "num_characters", 262),
        (lambda o: o["char_cnn"].update(activation="tanh"), "activation", "tanh"),
        (lambda o: o.update(bidirectional=False), "bidirectional", False),
    ],
)
def test_defaults_are_those_of_the_loaders(pair: Path, change: Change, field: str, value: object):
    assert getattr(read_options(_changed(pair, change)).config, field) == value


def test_a_clip_of_0_is_no_clip_and_a_risk_as_are_fields_that_are_not_known(pair: Path):
    _changed(pair, lambda options: options["lstm"].update(cell_clip=0))
    assert read_stored(pair).config.cell_clip is None
    assert any("lstm.cell_clip is 0: read as no clipping" in risk for risk in inspect(pair).risks)
    _changed(pair, lambda options: (options["lstm"].update(peepholes=True), options.update(author={"name": "a"})))
    read_stored(pair)
    ignored = "unknown fields, which are ignored: author, lstm.peepholes"
    assert any(risk.endswith(ignored) for risk in inspect(pair).risks)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda o: o.pop("lstm"), "expected an options.json|field lstm: is missing"),
        (lambda o: o["lstm"].update(dim=1 << 40), r"lstm_dim is 1,099,511,627,776; expected at most 1,048,576"),
        (lambda o: o["lstm"].update(dim=5), "projection_dim 6 is wider than lstm_dim 5"),
        (lambda o: o["lstm"].update(cell_clip=-3), r"cell_clip is -3.0; expected a positive number"),
        (lambda o: o["lstm"].update(use_skip_connections=1), r"field lstm\.use_skip_connections: expected `bool`"),
        (lambda o: o["char_cnn"].update(n_characters=60), r"num_characters is 60; a byte-level biLM has 261"),
        (lambda o: o["char_cnn"].update(activation="gelu"), "activation is 'gelu'"),
        (lambda o: o["char_cnn"].update(max_characters_per_token=5, filters=[[7, 1]]), "at least the widest filter"),
        (lambda o: o["char_cnn"].update(filters=[]), r"filters are .*expected at least one"),
    ],
)
def test_refuses(pair: Path, change: Change, message: str):
    path = _changed(pair, change)
    assert_refused(rf"options\.json: .*({message})", path, pair / "weights.hdf5")


def test_without_a_character_cnn_the_words_must_be_in_the_weights(pair: Path):
    _changed(pair, lambda options: options.pop("char_cnn"))
    assert_refused(r"weights\.hdf5: tensor .*: is not called for by options\.json", pair)
