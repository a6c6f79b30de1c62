"""Models on the Hub (a stand-in on this machine): uploaded, downloaded, pinned, and read from the cache."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from elmokit.elmo.elmo import Elmo
from elmokit.formats import hub
from elmokit.formats.find import convert, inspect
from toy_bilm import random_bilm, write_toy
from toy_hub import Repository, ToyHub, serving_hub

pytest.importorskip("huggingface_hub", reason="needs the extra: pip install 'elmokit[hub]'")

pytestmark = [
    pytest.mark.usefixtures("on_cpu"),
    # huggingface_hub passes a file to httpx in a way that httpx has deprecated.
    pytest.mark.filterwarnings("ignore:Use 'content=<...>':DeprecationWarning"),
]

SENTENCES = [["the", "cat", "sat", "."], ["밥"]]
ADDRESS = "hf://ann/tiny"
ELMO = Elmo(random_bilm(seed=5))
OTHER = Elmo(random_bilm(seed=6))


@pytest.fixture
def toy_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ToyHub]:
    """Sets what HF_ENDPOINT, HF_HUB_CACHE and HF_TOKEN set; huggingface_hub reads them only when it is imported."""
    constants: Any = pytest.importorskip("huggingface_hub.constants")
    with serving_hub() as serving:
        monkeypatch.setattr(constants, "ENDPOINT", serving.url)
        template = constants.HUGGINGFACE_CO_URL_TEMPLATE.replace("https://huggingface.co", serving.url)
        monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
        monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
        monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
        monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "token"))
        monkeypatch.setenv("HF_TOKEN", serving.token)
        yield serving


def assert_same_vectors(one: Elmo, other: Elmo) -> None:
    for a, b in zip(one.encode(SENTENCES, layers="all"), other.encode(SENTENCES, layers="all"), strict=True):
        np.testing.assert_array_equal(a, b)


def test_what_is_pushed_can_be_loaded_and_may_be_private_in_float16_and_with_a_message(toy_hub: ToyHub):
    address = ELMO.push_to_hub(ADDRESS)
    loaded = Elmo.from_pretrained(ADDRESS)
    assert_same_vectors(loaded, ELMO)
    assert loaded.name == ADDRESS and address == f"{ADDRESS}@{toy_hub.repositories['ann/tiny'].names['main']}"
    files = toy_hub.repositories["ann/tiny"].files("main")
    assert sorted(files) == [".gitattributes", "README.md", "config.json", "model.safetensors"]
    card = files["README.md"].decode()
    assert card.startswith("---\nlibrary_name: elmokit\n") and f"Elmo.from_pretrained('{ADDRESS}')" in card
    ELMO.push_to_hub("hf://ann/half", dtype="float16", private=True, message="Half of it")
    repository = toy_hub.repositories["ann/half"]
    assert repository.private and repository.messages[-1] == "Half of it"
    assert inspect("hf://ann/half").dtypes == ["float16"]


def test_a_branch_a_tag_or_a_commit_can_be_asked_for(toy_hub: ToyHub):
    first = ELMO.push_to_hub(ADDRESS)
    repository = toy_hub.repositories["ann/tiny"]
    repository.names |= {"v1": repository.names["main"], "next": repository.names["main"]}
    OTHER.push_to_hub(f"{ADDRESS}@next")
    for name, expected in (("v1", ELMO), ("next", OTHER), (first.partition("@")[2], ELMO)):
        assert_same_vectors(Elmo.from_pretrained(f"{ADDRESS}@{name}"), expected)
    assert_same_vectors(Elmo.from_pretrained(ADDRESS), ELMO)


def test_what_is_in_the_cache_is_enough_for_a_commit_and_without_a_network(toy_hub: ToyHub, monkeypatch: Any):
    pinned = ELMO.push_to_hub(ADDRESS)
    Elmo.from_pretrained(pinned)
    toy_hub.requests.clear()
    Elmo.from_pretrained(pinned)
    assert toy_hub.requests == []
    Elmo.from_pretrained(ADDRESS)
    assert toy_hub.requests == ["GET /api/models/ann/tiny/revision/main"]
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    assert_same_vectors(Elmo.from_pretrained(ADDRESS), ELMO)
    assert len(toy_hub.requests) == 1
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.setenv("ELMOKIT_OFFLINE", "1")
    assert_same_vectors(Elmo.from_pretrained(ADDRESS), ELMO)
    with pytest.raises(FileNotFoundError, match="hf://ann/other is not in the cache, and the Hub cannot be reached"):
        Elmo.from_pretrained("hf://ann/other")
    with pytest.raises(OSError, match="hf://ann/tiny: nothing is uploaded while ELMOKIT_OFFLINE or HF_HUB_OFFLINE is"):
        ELMO.push_to_hub(ADDRESS)
    assert len(toy_hub.requests) == 1


@pytest.mark.parametrize("files", [{"model.safetensors": b""}, {"config.json": b'{"model_type": "bert"}'}])
def test_other_models_are_refused_before_their_weights_are_downloaded(toy_hub: ToyHub, files: dict[str, bytes]):
    toy_hub.repositories["ann/bert"] = Repository()
    toy_hub.repositories["ann/bert"].commit({"model.safetensors": b"", **files})
    with pytest.raises(ValueError, match="hf://ann/bert is not a model of elmokit.*elmokit convert FILES FOLDER"):
        Elmo.from_pretrained("hf://ann/bert")
    assert not [request for request in toy_hub.requests if "safetensors" in request]


def test_a_model_is_read_with_its_softmax_and_other_files_are_not_downloaded(toy_hub: ToyHub, tmp_path: Path):
    convert(write_toy(tmp_path / "toy"), tmp_path / "repository", to="native", max_file_bytes=60_000)
    files = {path.name: path.read_bytes() for path in (tmp_path / "repository").iterdir()}
    assert any(name.startswith("softmax-") for name in files)
    toy_hub.repositories["ann/toy"] = Repository()
    others = ("pytorch_model.bin", "elmo.hdf5", "deeper/model.safetensors", "run.py")
    toy_hub.repositories["ann/toy"].commit(files | dict.fromkeys(others, b"..."))
    assert {path.name for path in hub.download("hf://ann/toy").rglob("*")} == files.keys()
    (surprisal,) = Elmo.from_pretrained("hf://ann/toy").surprisal([["a", "b"]])
    (expected,) = Elmo.from_pretrained(tmp_path / "toy").surprisal([["a", "b"]])
    np.testing.assert_array_equal(surprisal.forward.bits, expected.forward.bits)


@pytest.mark.parametrize("wrong", ["hf://", "hf://tiny", "hf://a/b/c", "hf://a/b@", "hf://a/../b", "hf://a/b@x y"])
def test_what_is_not_an_address_is_refused(wrong: str):
    with pytest.raises(ValueError, match="is not the address of a model on the Hub; expected hf://user/model"):
        Elmo.from_pretrained(wrong)
    with pytest.raises(ValueError, match="is not the address of a model"):
        ELMO.push_to_hub(wrong)


def test_what_is_not_there_is_said(toy_hub: ToyHub, monkeypatch: pytest.MonkeyPatch):
    ELMO.push_to_hub(ADDRESS, private=True)
    with pytest.raises(FileNotFoundError, match="hf://ann/tiny@v9: the repository has no such branch, tag or commit"):
        Elmo.from_pretrained(f"{ADDRESS}@v9")
    monkeypatch.delenv("HF_TOKEN")
    with pytest.raises(FileNotFoundError, match="hf://ann/tiny: the Hub has no such repository.*hf auth login"):
        Elmo.from_pretrained(ADDRESS)
    with pytest.raises(OSError, match="hf://ann/tiny: the Hub refused the request or could not be reached: .*401"):
        ELMO.push_to_hub(ADDRESS)
    for code, message in (
        ("GatedRepo", " is gated: ask for access"),
        ("", ": the Hub refused.* 403 Forbidden.*HF_TOKEN"),
    ):
        toy_hub.repositories["ann/gated"] = Repository(refusal=code)
        toy_hub.repositories["ann/gated"].commit({"config.json": b"{}"})
        with pytest.raises(PermissionError, match=f"hf://ann/gated{message}"):
            Elmo.from_pretrained("hf://ann/gated")


@pytest.mark.slow
def test_the_example_runs_with_the_hub_and_the_cache_of_the_environment(toy_hub: ToyHub, forks: Any, tmp_path: Path):
    example = Path(__file__).parents[2] / "examples" / "integrations" / "hub.py"
    environment = {"HF_ENDPOINT": toy_hub.url, "HF_HOME": str(tmp_path / "home"), "HF_HUB_DISABLE_XET": "1"}
    done = forks.run_script(example.read_text(encoding="utf-8"), "hf://ann/mini", HF_TOKEN="hf_toy", **environment)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"uploaded: hf://ann/mini@{toy_hub.repositories['ann/mini'].names['main']}\n")
    assert "largest difference of a vector: 0.0e+00" in done.stdout  # the bundled model is already in float16
