"""Models that read words and characters by their numbers: ELMoForManyLangs, and word-input models of bilm-tf."""

import json
import pickle
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from elmokit.elmo.elmo import Elmo
from elmokit.formats.find import convert, inspect
from elmokit.model.config import BiLMConfig, LookupConfig
from elmokit.pretraining.config import PretrainingConfig
from elmokit.system.messages import FormatError
from toy_stored import assert_equal, assert_refused, read_stored

FIXTURES = Path(__file__).parents[1] / "fixtures" / "formats"


@pytest.fixture
def model(tmp_path: Path):
    return shutil.copytree(FIXTURES / "many_langs" / "char_word", tmp_path / "model")


def test_it_is_told_by_the_folder_and_by_each_of_its_files_and_plain_lstms_are_refused(model: Path):
    for path in (model, model / "config.json", model / "encoder.pkl", model / "token_embedder.pkl"):
        assert inspect(path).format == "many_langs"
    with pytest.raises(FormatError, match="is a model of plain LSTMs"):
        read_stored(FIXTURES / "many_langs" / "lstm_word")


def test_an_inspection_says_what_is_read_and_an_absent_architecture_is_a_risk(model: Path):
    inspection = inspect(model)
    assert (inspection.num_parameters, inspection.refusals, inspection.risks) == (7233, [], [])
    assert "a dictionary of 53, embedded in 7" in str(inspection)
    assert "at most 21 per token" in str(inspection)
    assert "characters" not in str(inspect(FIXTURES / "checkpoints" / "word"))
    (model / "cnn_50_100_512_4096_sample.json").unlink()
    assert read_stored(model).config.max_characters_per_token == 50
    assert "at most 50 characters per token are assumed" in str(inspect(model))


@pytest.mark.parametrize("name", ["many_langs/char_word", "many_langs/word_only", "checkpoints/word"])
def test_it_is_converted_to_the_native_format_and_to_no_hdf5(name: str, tmp_path: Path):
    convert(FIXTURES / name, tmp_path / "native", to="native")
    stored, again = read_stored(FIXTURES / name), read_stored(tmp_path / "native")
    assert_equal(again, stored)
    assert again.spelling == stored.spelling
    assert inspect(tmp_path / "native").refusals == []
    with pytest.raises(FormatError, match="stores only models that read bytes; this one reads words"):
        convert(FIXTURES / name, tmp_path / "pair", to="bilm_tf")


def test_a_copy_of_elmo_keeps_the_dictionaries_and_tells_which_words_are_cut(model: Path):
    elmo = Elmo(model, device="cpu")
    copy = pickle.loads(pickle.dumps(elmo))
    sentences = [["The", "dog"], ["밥"]]
    assert all(map(np.array_equal, copy.encode(sentences), elmo.encode(sentences)))
    assert copy.fingerprint() == elmo.fingerprint()
    with pytest.warns(UserWarning, match="1 of 2 tokens are longer than the 19 characters that this model reads"):
        Elmo(model, device="cpu").encode([["밥" * 20, "밥" * 19]])


def changed(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


REFUSALS = {
    "another size": ("cnn_50_100_512_4096_sample.json", '"dim": 13', '"dim": 14', "lstm_dim is 13 in the tensors"),
    "another encoder": ("cnn_50_100_512_4096_sample.json", '"elmo"', '"lstm"', "encoder.name: is 'lstm'"),
    "another activation": ("cnn_50_100_512_4096_sample.json", '"relu"', '"gelu"', "activation is 'gelu'"),
    "a number too high": ("word.dic", "<oov>\t0", "<oov>\t53", r"word\.dic, line 1: is number 53; the weights have 53"),
    "no number": ("word.dic", "<oov>\t0", "<oov>\tx", r"word\.dic, line 1: is '<oov>' \.\.\.; expected a symbol"),
    "two tabs": ("char.dic", "b\t1", "b\tb\t1", r"char\.dic, line 2"),
    "no boundary": ("word.dic", "<bos>", "<boss>", "the dictionary of words lacks <bos>"),
    "no padding": ("char.dic", "<pad>", "<pat>", "the dictionary of characters lacks <pad>"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_files_that_do_not_belong_together_are_refused(model: Path, name: str):
    file, old, new, reason = REFUSALS[name]
    changed(model / file, old, new)
    assert_refused(reason, model)


def test_missing_files_and_links_are_refused(model: Path, tmp_path: Path):
    (model / "word.dic").rename(tmp_path / "word.dic")
    (model / "word.dic").symlink_to(tmp_path / "word.dic")
    assert_refused(r"word\.dic: is missing, or a symlink that", model)
    (model / "token_embedder.pkl").unlink()
    assert_refused(r"has no token_embedder\.pkl", model)


@pytest.mark.parametrize("name", ["word.dic", "char.dic"])
def test_a_dictionary_of_another_version_is_refused(model: Path, name: str):
    lines = (model / name).read_text(encoding="utf-8").splitlines()
    symbols = [line.rpartition("\t")[0] for line in lines]
    for others in (
        [f"{symbol}\t{number}" for number, symbol in enumerate(symbols[:9] + symbols[10:])],  # one fewer
        lines[: len(lines) // 2 + 4],
        [*lines[:9], *lines[10:]],
        [*lines[:9], lines[9].replace("9", "8"), *lines[10:]],
    ):
        (model / name).write_text("\n".join(others) + "\n", encoding="utf-8")
        assert_refused(rf"{name}: has only \d+ of the row numbers from 0 to (52|71): it is", model)


def test_a_vocabulary_of_another_size_is_refused(tmp_path: Path):
    folder = shutil.copytree(FIXTURES / "checkpoints" / "word", tmp_path / "word")
    changed(folder / "vocab.txt", "<UNK>\n", "<UNK>\nmore\n")
    assert_refused("has 45 tokens, but the table of words has 44 rows", folder)
    (folder / "vocab.txt").unlink()
    with pytest.raises(FormatError, match="reads words of a vocabulary, but there is no vocabulary"):
        read_stored(folder)


def test_a_damaged_dictionary_of_a_native_model_is_refused_and_a_large_one_unparsed(model: Path, tmp_path: Path):
    convert(model, tmp_path / "native", to="native")
    path = tmp_path / "native" / "dictionary.json"
    values = json.loads(path.read_text())
    for damage, reason in (
        ({"words": {"<bos>": 1}}, "lacks <eos> and <oov>"),
        ({"words": {"<bos>": True}}, r"field words\[\.\.\.\]: expected `int`"),
        ({"begin": None}, "field begin: expected `str`"),
        ({"more": 1}, "more"),
    ):
        path.write_text(json.dumps(values | damage))
        assert_refused(rf"dictionary\.json: .*{reason}", tmp_path / "native")
    path.write_text('{"words": [' + "[]," * 400_000 + "[]]}")
    assert_refused(r"dictionary\.json: has more than 1\.1 MiB", tmp_path / "native")


def test_such_a_model_is_not_trained():
    lookup = LookupConfig(num_words=9, word_dim=512, num_symbols=0, padding_symbol=0, projects=False)
    bilm = replace(BiLMConfig(), filters=(), num_highway_layers=0, lookup=lookup)
    with pytest.raises(ValueError, match="cannot be trained"):
        replace(PretrainingConfig(), bilm=bilm)
    with pytest.raises(ValueError, match="projection_dim is .*; without lookup.projects, expected 511"):
        replace(bilm, lookup=replace(lookup, word_dim=511))
    with pytest.raises(ValueError, match="neither|expected words of at least width 1"):
        replace(lookup, num_words=0)
