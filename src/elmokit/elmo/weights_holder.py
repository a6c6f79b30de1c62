"""A biLM in two forms, each made when needed: the module, for training and inspection, and the packed one, for use."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, MutableMapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np
import torch

from elmokit.formats.read import from_stored
from elmokit.layers.devices import find_device, on_meta_device
from elmokit.layers.packed.linear import check_precision
from elmokit.model.bilm import BiLM, spelling_of
from elmokit.model.packed_bilm import PackedBiLM
from elmokit.model.token_cache import weight_versions
from elmokit.system.python import STATE_LOCK

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from elmokit.formats.weights import StoredBiLM
    from elmokit.layers.packed.linear import Precision
    from elmokit.model.config import BiLMConfig
    from elmokit.text.indexer import Spelling

Weights: TypeAlias = MutableMapping[str, Any]
"""Tensors or arrays by the names of `BiLM.state_dict()`."""

_T = TypeVar("_T")

SAMPLE = 1024
"""Numbers of each tensor that tell whether a model was trained on."""


class LoadedBiLM:
    """Holds the weights once as long as only one form is used: those of files are packed as they are read.

    It can be pickled and copied, with its weights. The copy is on the same device, or on the CPU where there is no such
    device.
    """

    def __init__(self, model: BiLM | StoredBiLM, *, precision: Precision, device: torch.device | None = None) -> None:
        """model: a module, which stays on its device, or what was read from files, which is packed for `device`."""
        self.config = model.config
        self.precision: Precision = precision
        self._bilm: BiLM | None = None
        self._stored: StoredBiLM | None = None
        if isinstance(model, BiLM):
            self._bilm, self.spelling, self.device = model, model.spelling, _device_of(model)
        else:
            self._stored, self.spelling = model, spelling_of(model.config, model.spelling)
            self.device = device or torch.device("cpu")
        self._read_again: Callable[[], StoredBiLM] | None = None
        self._name = self._sample = ""
        self._packed: PackedBiLM | None = None
        self._packed_from = self._hashed_from = self._versions()
        self._fingerprint = ""

    def can_read_again(self, read: Callable[[], StoredBiLM], *, name: str) -> None:
        """`read` gives anew what is in the files, which is not kept once it is packed; `name` is for errors."""
        self._read_again, self._name, self._sample = read, name, _sample(self.config, self._weights())

    def check_is_same(self, config: BiLMConfig, weights: Weights) -> None:
        """Raise ValueError if a biLM that was read again has other weights: its files have changed in between."""
        if self._sample and _sample(config, weights) != self._sample:
            raise ValueError(f"the files of {self._name} have changed since it was loaded; load it again")

    def again(self, read: Callable[[], _T]) -> _T:
        """What `read` gives from the files of the model. Raises FileNotFoundError if they have gone."""
        try:
            return read()
        except FileNotFoundError as error:
            reason = "have gone since it was loaded; load it again from where they are"
            raise FileNotFoundError(f"the files of {self._name} {reason}") from error

    @property
    def bilm(self) -> BiLM:
        """The module. Once accessed, it stays in memory, and changes of its weights are noticed."""
        with STATE_LOCK:
            if self._bilm is None:
                self._bilm = self.module()
                self._packed_from = self._versions()
            self._read_again = self._stored = None
            return self._bilm

    def module(self) -> BiLM:
        """The module for a moment, not to be changed: what is not in memory is read and not kept."""
        with STATE_LOCK:
            return self._bilm or from_stored(self._read())[0].to(self.device).requires_grad_(False)

    def packed(self) -> PackedBiLM:
        """The packed form; it is made again if the weights of the module have changed, or its device."""
        with STATE_LOCK:
            if self._bilm is not None and self._versions() != self._packed_from:
                self._packed = None
                self.device = _device_of(self._bilm)
            if self._packed is None:
                self._packed_from = self._versions()
                weights, self._stored = self._weights(), None  # so that the packed ones can replace them one by one
                self._packed = PackedBiLM(
                    self.config,
                    weights,
                    spelling=self.spelling,
                    precision=self.precision,
                    device=self.device,
                    may_overwrite=self._bilm is None,
                )
            return self._packed

    def to(self, device: torch.device) -> None:
        """Move the model, in both forms. Raises ValueError for a device that does not have the precision."""
        check_precision(self.precision, device)
        device = torch.empty(0, device=device).device  # `cuda` is `cuda:0`, or another that the program has chosen
        if self._bilm is not None:
            self._bilm.to(device)
        if device != self.device:
            self._packed = None
        self.device = device

    def fingerprint(self) -> str:
        """As `Elmo.fingerprint`; it is kept until the weights of the module change."""
        with STATE_LOCK:
            if self._versions() != self._hashed_from or not self._fingerprint:
                self._hashed_from = self._versions()
                self._fingerprint = _fingerprint(self.config, self.spelling, self._weights())
            return self._fingerprint

    def __getstate__(self) -> dict[str, Any]:
        bilm = self.module()
        return {
            "config": self.config,
            "spelling": bilm.spelling if self.config.lookup is not None else None,
            "precision": self.precision,
            "device": str(self.device),
            "weights": dict(_arrays(bilm.state_dict())),
            "trainable": [name for name, parameter in bilm.named_parameters() if parameter.requires_grad],
            "name": self._name,
            "sample": self._sample,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        with on_meta_device():
            bilm = BiLM(state["config"], state["spelling"])
        weights = {name: torch.from_numpy(np.array(array)) for name, array in state["weights"].items()}
        bilm.load_state_dict(weights, assign=True)
        for name, parameter in bilm.named_parameters():
            parameter.requires_grad_(name in state["trainable"])
        LoadedBiLM.__init__(self, bilm.eval(), precision=state["precision"])
        self._name, self._sample = state["name"], state["sample"]
        with suppress(ValueError):  # where there is no such device
            self.to(find_device(state["device"]))

    def _versions(self) -> list[tuple[int, int, bytes]]:
        return [] if self._bilm is None else weight_versions(self._bilm)

    def _weights(self) -> Weights:
        return self._read().tensors if self._bilm is None else self._bilm.state_dict()

    def _read(self) -> StoredBiLM:
        if self._stored is not None:
            return self._stored
        assert self._read_again is not None
        stored = self.again(self._read_again)
        self.check_is_same(stored.config, stored.tensors)
        return stored


def _fingerprint(config: BiLMConfig, spelling: Spelling, weights: Weights) -> str:
    digest = hashlib.blake2b(repr(config).encode(), digest_size=16)
    for name, array in _arrays(weights):
        digest.update(name.encode())
        digest.update(array.data)
    if config.lookup is not None:
        digest.update(repr((config.lookup, spelling)).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def _sample(config: BiLMConfig, weights: Weights) -> str:
    """A hash of the config and of the first numbers of each tensor, which training changes, and which are read fast."""
    digest = hashlib.blake2b(repr(config).encode())
    for name, array in _arrays(weights):
        digest.update(name.encode() + array.reshape(-1)[:SAMPLE].tobytes())
    return digest.hexdigest()


def _arrays(weights: Weights) -> Iterator[tuple[str, NDArray[Any]]]:
    """All weights in the order of their names, one by one; NumPy has no bfloat16."""
    for name in sorted(weights):
        weight = torch.as_tensor(weights[name], device="cpu").contiguous()
        yield name, (weight.float() if weight.dtype == torch.bfloat16 else weight).numpy()


def _device_of(bilm: BiLM) -> torch.device:
    return bilm.char_encoder.embedding.weight.device
