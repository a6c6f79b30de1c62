"""The bridge to transformers, on a tiny random BERT made here."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from elmokit.comparators.transformer import open_first, open_mean
from unpadded import unpadded

transformers: Any = pytest.importorskip("transformers")
tokenizers: Any = pytest.importorskip("tokenizers")

PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "the", "cat", "un", "##believ", "##able", "sat"]
SENTENCE = ["the", "unbelievable", "cat"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bert")
    ids = {piece: number for number, piece in enumerate(PIECES)}
    pieces = tokenizers.Tokenizer(tokenizers.models.WordPiece(ids, unk_token="[UNK]"))
    pieces.normalizer = tokenizers.normalizers.BertNormalizer(lowercase=True)  # which drops control characters
    pieces.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    pieces.post_processor = tokenizers.processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    names = {"unk_token": "[UNK]", "pad_token": "[PAD]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=pieces, model_max_length=9, **names)
    fast.save_pretrained(folder)
    torch.manual_seed(0)
    sizes = {"hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 8}
    config = transformers.BertConfig(vocab_size=len(PIECES), max_position_embeddings=9, **sizes)
    transformers.BertModel(config).save_pretrained(folder)
    return folder


def states(folder: Path, pieces: list[str]) -> torch.Tensor:
    """The layers of these pieces and the special ones, as the model itself gives them."""
    model = transformers.AutoModel.from_pretrained(folder).eval()
    ids = torch.tensor([[PIECES.index(piece) for piece in ("[CLS]", *pieces, "[SEP]")]])
    with torch.no_grad():
        return torch.cat(model(input_ids=ids, output_hidden_states=True).hidden_states)


def test_a_word_is_its_first_piece_or_the_mean_of_its_pieces(folder: Path):
    own = states(folder, ["the", "un", "##believ", "##able", "cat"])
    first, mean = open_first(str(folder)), open_mean(str(folder))
    assert (first.num_layers, first.dim) == (3, 8)
    np.testing.assert_allclose(unpadded(first, [SENTENCE])[0], own[:, [1, 2, 5]], atol=1e-6)
    expected = torch.stack([own[:, 1], own[:, 2:5].mean(dim=1), own[:, 5]], dim=1)
    np.testing.assert_allclose(unpadded(mean, [SENTENCE])[0], expected, atol=1e-6)
    assert first.fingerprint() != mean.fingerprint()
    assert first.fingerprint() == open_first(str(folder)).fingerprint()


def test_padding_and_other_sentences_change_nothing(folder: Path):
    layers = open_mean(str(folder))
    alone = unpadded(layers, [SENTENCE])[0]
    among = unpadded(layers, [["cat"], SENTENCE, [], ["the", "cat", "sat", "cat"]])
    np.testing.assert_allclose(among[1], alone, atol=1e-6)
    assert among[2].shape == (3, 0, 8)


@pytest.mark.parametrize("has_end", [True, False])
def test_a_model_without_a_padding_token_is_read_in_batches_too(tmp_path: Path, has_end: bool):
    """GPT-2, for one."""
    ids = {piece: number for number, piece in enumerate(PIECES)}
    pieces = tokenizers.Tokenizer(tokenizers.models.WordPiece(ids, unk_token="[UNK]"))
    pieces.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    names = {"unk_token": "[UNK]"} | ({"eos_token": "[SEP]"} if has_end else {})
    fast = transformers.PreTrainedTokenizerFast(
        tokenizer_object=pieces, model_max_length=9, padding_side="left", **names
    )
    fast.save_pretrained(tmp_path)
    torch.manual_seed(0)
    sizes = {"n_positions": 9, "n_embd": 8, "n_layer": 2, "n_head": 2, "bos_token_id": 0, "eos_token_id": 0}
    transformers.GPT2Model(transformers.GPT2Config(vocab_size=len(PIECES), **sizes)).save_pretrained(tmp_path)
    layers = open_mean(str(tmp_path))
    among = unpadded(layers, [["cat"], SENTENCE, [], ["the", "cat"]])
    for sentence, array in zip([["cat"], SENTENCE, ["the", "cat"]], (among[0], among[1], among[3]), strict=True):
        np.testing.assert_allclose(array, unpadded(layers, [sentence])[0], atol=1e-6)


def test_a_sentence_that_is_too_long_is_read_in_parts(folder: Path):
    layers = open_first(str(folder))
    long = ["cat", "the", "unbelievable", "sat", "the", "unbelievable", "sat"]  # 7 pieces, then 4
    both = unpadded(layers, [long])[0]
    np.testing.assert_allclose(both[:, :5], unpadded(layers, [long[:5]])[0], atol=1e-6)
    np.testing.assert_allclose(both[:, 5:], unpadded(layers, [long[5:]])[0], atol=1e-6)


def test_a_word_without_pieces_is_zero(folder: Path):
    array = unpadded(open_first(str(folder)), [["the", "\x01", "cat"]])[0]
    assert not array[:, 1].any()
    np.testing.assert_allclose(array[:, [0, 2]], states(folder, ["the", "cat"])[:, [1, 2]], atol=1e-6)


def test_a_word_with_too_many_pieces_is_refused(folder: Path):
    with pytest.raises(ValueError, match="'unbelievable.*' has 9 pieces; the model reads 7 at once"):
        unpadded(open_first(str(folder)), [["un" + "believable" * 4]])


def test_a_folder_without_a_model_is_refused(tmp_path: Path):
    with pytest.raises((ValueError, OSError)):
        open_first(str(tmp_path))


def test_without_transformers_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(ValueError, match=r"opening a transformer needs transformers: pip install 'elmokit\[hf\]'"):
        open_first("bert-base-cased")


def test_a_causal_model_gives_each_word_its_left_context(folder: Path, tmp_path: Path):
    torch.manual_seed(0)
    sizes = {"n_embd": 8, "n_layer": 2, "n_head": 2, "n_positions": 9, "vocab_size": len(PIECES)}
    transformers.GPT2Model(transformers.GPT2Config(**sizes)).save_pretrained(tmp_path)
    transformers.AutoTokenizer.from_pretrained(folder).save_pretrained(tmp_path)
    layers = open_mean(str(tmp_path))
    assert (layers.num_layers, layers.dim) == (3, 8)
    whole, other = unpadded(layers, [["the", "unbelievable", "cat"], ["the", "unbelievable", "sat"]])
    np.testing.assert_allclose(whole[:, :2], other[:, :2], atol=1e-6)
    assert not np.allclose(whole[1:, 2], other[1:, 2])
