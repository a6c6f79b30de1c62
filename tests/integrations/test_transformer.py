"""The integration with transformers, tested on a tiny random BERT."""

import shutil
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from elmokit.integrations.embed_with import embed_with
from elmokit.integrations.transformer import HF_FIRST, HF_MEAN, TransformerEncoder
from elmokit.vectors.files import load_vectors
from toy_vectors import unpadded

transformers: Any = pytest.importorskip("transformers")

PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "the", "cat", "un", "##believ", "##able", "sat"]
SENTENCE = ["the", "unbelievable", "cat"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bert")
    ids = {piece: number for number, piece in enumerate(PIECES)}
    transformers.BertTokenizer(vocab=ids, model_max_length=9).save_pretrained(folder)  # drops control characters
    save_encoder(folder, "Bert", max_position_embeddings=9)
    return folder


def save_encoder(folder: Path, name: str, *, vocab_size: int = len(PIECES), **settings: int) -> None:
    torch.manual_seed(0)
    sizes = {"hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 8}
    config = getattr(transformers, f"{name}Config")(vocab_size=vocab_size, **sizes, **settings)
    getattr(transformers, f"{name}Model")(config).save_pretrained(folder)


def states(folder: Path, pieces: list[str], *, kind: str = "AutoModel") -> torch.Tensor:
    """The layers that the model itself gives for these pieces and the special ones."""
    model = getattr(transformers, kind).from_pretrained(folder).eval()
    ids = torch.tensor([[PIECES.index(piece) for piece in ("[CLS]", *pieces, "[SEP]")]])
    with torch.no_grad():
        return torch.cat(model(input_ids=ids, output_hidden_states=True).hidden_states)


def test_a_word_is_its_first_piece_or_the_mean_of_its_pieces(folder: Path):
    own = states(folder, ["the", "un", "##believ", "##able", "cat"])
    first, mean = HF_FIRST.open(str(folder)), HF_MEAN.open(str(folder))
    assert (first.num_layers, first.dim) == (3, 8)
    np.testing.assert_allclose(unpadded(first, [SENTENCE])[0], own[:, [1, 2, 5]], atol=1e-6)
    expected = torch.stack([own[:, 1], own[:, 2:5].mean(dim=1), own[:, 5]], dim=1)
    np.testing.assert_allclose(unpadded(mean, [SENTENCE])[0], expected, atol=1e-6)
    assert first.fingerprint() != mean.fingerprint()
    assert first.fingerprint() == HF_FIRST.open(str(folder)).fingerprint()


def test_pooling_gives_the_bits_of_a_loop_over_the_words(folder: Path):
    generator = torch.Generator().manual_seed(0)
    states = torch.randn(3, 2, 12, 8, generator=generator)
    words = [[None, 0, 0, 1, 1, 1, 1, 1, 1, 1, 3, None], [0, 1, 2, None, 3, 3, 3, 3, 3, None, None, None], [None] * 12]
    for pieces in ("first", "mean"):
        encoder = TransformerEncoder(None, None, pieces)
        pooled = encoder._pooled(states, words, 4)
        for row, word in product(range(3), range(4)):
            own = [piece for piece, of in enumerate(words[row]) if of == word]
            own = own[:1] if pieces == "first" else own
            expected = states[row][:, own].mean(dim=1) if own else torch.zeros(2, 8)
            assert torch.equal(pooled[row, :, word], expected)


def test_a_transformer_computes_on_the_device_that_is_named_and_word_vectors_on_none(folder: Path, tmp_path: Path):
    (tmp_path / "text.txt").write_text("the cat\n")
    (tmp_path / "glove.txt").write_text("the 1 2\n")
    with pytest.raises(ValueError, match="device 'no' cannot be used"):
        embed_with("hf-mean", folder, tmp_path / "text.txt", tmp_path / "out.npy", device="no")
    with pytest.raises(ValueError, match="static does not use a device; leave out --device"):
        embed_with("static", tmp_path / "glove.txt", tmp_path / "text.txt", tmp_path / "out.npy", device="cpu")
    embed_with("hf-mean", folder, tmp_path / "text.txt", tmp_path / "out.npy", device="cpu")
    assert load_vectors(tmp_path / "out.npy")[0].shape == (3, 2, 8)


def test_weights_of_16_bits_are_computed_with_as_float32(folder: Path, tmp_path: Path):
    model = transformers.AutoModel.from_pretrained(folder)
    for name, dtype in (("half", torch.bfloat16), ("whole", torch.float32)):  # of the same values
        shutil.copytree(folder, tmp_path / name)
        model.to(dtype).save_pretrained(tmp_path / name)
    half, whole = (HF_MEAN.open(str(tmp_path / name)) for name in ("half", "whole"))
    np.testing.assert_allclose(unpadded(half, [SENTENCE])[0], unpadded(whole, [SENTENCE])[0], atol=1e-6)
    assert half.fingerprint() == whole.fingerprint()


def test_a_sentence_that_is_too_long_is_read_in_parts_and_a_word_without_pieces_is_zero(folder: Path):
    layers = HF_FIRST.open(str(folder))
    array = unpadded(layers, [["the", "\x01", "cat"]])[0]
    assert not array[:, 1].any()
    np.testing.assert_allclose(array[:, [0, 2]], states(folder, ["the", "cat"])[:, [1, 2]], atol=1e-6)
    long = ["cat", "the", "unbelievable", "sat", "the", "unbelievable", "sat"]  # 7 pieces, then 4
    both = unpadded(layers, [long])[0]
    np.testing.assert_allclose(both[:, :5], unpadded(layers, [long[:5]])[0], atol=1e-6)
    np.testing.assert_allclose(both[:, 5:], unpadded(layers, [long[5:]])[0], atol=1e-6)


def test_a_word_with_too_many_pieces_and_a_folder_without_a_model_are_refused(folder: Path, tmp_path: Path):
    with pytest.raises(ValueError, match="'unbelievable.*' has 9 pieces; the model reads at most 7 at once"):
        unpadded(HF_FIRST.open(str(folder)), [["un" + "believable" * 4]])
    with pytest.raises(FileNotFoundError, match=rf"{tmp_path.name} has no config\.json; expected a folder of save_pre"):
        HF_FIRST.open(str(tmp_path))
    with pytest.raises(FileNotFoundError, match="no/such is neither a folder nor .*; download it: hf download no/such"):
        HF_FIRST.open("no/such")


@pytest.mark.parametrize("settings", [None, {"pad_token": None}, {"padding_side": "left"}], ids=str)
def test_padding_on_any_side_changes_nothing(folder: Path, tmp_path: Path, settings: dict[str, object] | None):
    if settings is not None:
        save_encoder(tmp_path, "GPT2", n_positions=9)
        transformers.AutoTokenizer.from_pretrained(folder, **settings).save_pretrained(tmp_path)
    layers = HF_MEAN.open(str(folder if settings is None else tmp_path))
    cat, sentence, empty, _ = unpadded(layers, [["cat"], SENTENCE, [], ["the", "cat", "sat", "cat"]])
    for among, alone in ((cat, ["cat"]), (sentence, SENTENCE)):
        np.testing.assert_allclose(among, unpadded(layers, [alone])[0], atol=1e-6)
    assert empty.shape == (3, 0, 8)


@pytest.mark.parametrize("name", ["Roberta", "Camembert", "MPNet"])
def test_positions_that_start_after_that_of_padding_are_not_all_used(folder: Path, tmp_path: Path, name: str):
    save_encoder(tmp_path, name, max_position_embeddings=10, pad_token_id=1)
    transformers.AutoTokenizer.from_pretrained(folder, model_max_length=100).save_pretrained(tmp_path)
    layers = HF_FIRST.open(str(tmp_path))
    words = ["cat"] * 7  # 9 with the special pieces, but the model has positions for 8
    both = unpadded(layers, [words])[0]
    np.testing.assert_allclose(both[:, 6:], unpadded(layers, [words[6:]])[0], atol=1e-6)


@pytest.mark.parametrize("name", ["GPT2", "Roberta", "GPTNeoX", "Qwen2"])
def test_words_are_read_as_in_a_text(tmp_path: Path, name: str):
    letters = transformers.convert_slow_tokenizer.bytes_to_unicode().values()
    merges = [("t", "h"), ("th", "e"), ("\u0120", "the"), ("c", "a"), ("ca", "t"), ("\u0120", "cat")]  # U+0120: a space
    specials = ["<|endoftext|>", "<s>", "</s>", "<pad>", "<unk>", "<mask>"]
    pieces = [*letters, *map("".join, merges), *specials]
    numbers = {piece: number for number, piece in enumerate(pieces)}
    tokenizer = getattr(transformers, f"{name}Tokenizer")(vocab=numbers, merges=merges)
    tokenizer.save_pretrained(tmp_path)
    save_encoder(tmp_path, "GPT2", n_positions=9, vocab_size=len(pieces))
    network = transformers.AutoModel.from_pretrained(tmp_path).eval()
    words, first_of_each = ["the", "cat-(the)", "the"], [0, 1, 6]  # the cat - ( the ) the
    ids = tokenizer(" ".join(words), add_special_tokens=False, return_tensors="pt")["input_ids"]
    assert ids.shape[1] == 7
    begins = tokenizer("", return_tensors=None)["input_ids"][:1]  # <s> of RoBERTa
    with torch.no_grad():
        whole = torch.tensor([[*begins, *ids[0].tolist()]])
        states = torch.cat(network(input_ids=whole, output_hidden_states=True).hidden_states)[:, len(begins) :]
    (found,) = unpadded(HF_FIRST.open(str(tmp_path)), [words])
    np.testing.assert_allclose(found, states[:, first_of_each], atol=1e-6)


def test_of_an_encoder_and_decoder_the_encoder_is_read(folder: Path, tmp_path: Path):
    save_encoder(tmp_path, "T5", d_kv=4, d_ff=8)
    transformers.AutoTokenizer.from_pretrained(folder).save_pretrained(tmp_path)
    expected = states(tmp_path, ["the", "cat"], kind="T5EncoderModel")[:, 1:3]
    np.testing.assert_allclose(unpadded(HF_FIRST.open(str(tmp_path)), [["the", "cat"]])[0], expected, atol=1e-6)
