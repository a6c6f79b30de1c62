"""A biLM in two forms, each made when needed: the module, for training and inspection, and the packed one, for use."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from elmokit.layers.devices import find_device, on_meta_device
from elmokit.layers.packed.linear import check_precision
from elmokit.model.bilm import BiLM
from elmokit.model.packed_bilm import PackedBiLM
from elmokit.model.token_cache import weight_versions

if TYPE_CHECKING:
    from elmokit.layers.packed.linear import Precision


SAMPLE = 1024
"""Numbers of each tensor that tell whether a model was trained on."""


class LoadedBiLM:
    """Holds the weights once as long as only one form is used: a model that can be read again is taken apart.

    It can be pickled and copied, with its weights. The copy is on the same device, or on the CPU where there is no such
    device.
    """

    def __init__(self, bilm: BiLM, *, precision: Precision) -> None:
        self.config = bilm.config
        self.spelling = bilm.spelling
        self.precision: Precision = precision
        self.device = _device_of(bilm)
        self._bilm: BiLM | None = bilm
        self._read_again: Callable[[], BiLM] | None = None
        self._name = self._sample = ""
        self._packed: PackedBiLM | None = None
        self._packed_from = weight_versions(bilm)
        self._fingerprint = ""
        self._hashed_from = self._packed_from

    def can_read_again(self, read: Callable[[], BiLM], *, name: str) -> None:
        """Allow the module to be taken apart: nobody else holds it, and `read` gives it anew. `name` is for errors."""
        self._read_again, self._name, self._sample = read, name, _sample(self.module())

    def check_is_same(self, bilm: BiLM) -> None:
        """Raise ValueError if a biLM that was read again has other weights: its files have changed in between."""
        if self._sample and _sample(bilm) != self._sample:
            raise ValueError(f"the files of {self._name} have changed since it was loaded; load it again")

    @property
    def bilm(self) -> BiLM:
        """The module. Once accessed, it stays in memory, and changes of its weights are noticed."""
        if self._bilm is None:
            self._bilm = self._read()
            self._packed_from = weight_versions(self._bilm)
        self._read_again = None
        return self._bilm

    def module(self) -> BiLM:
        """The module for a moment, not to be changed: what is not in memory is read and not kept."""
        return self._bilm or self._read()

    def packed(self) -> PackedBiLM:
        """The packed form; it is made again if the weights of the module have changed, or its device."""
        if self._bilm is not None and weight_versions(self._bilm) != self._packed_from:
            self._packed = None
            self.device = _device_of(self._bilm)
        if self._packed is None:
            bilm = self.module()
            self._packed_from = weight_versions(bilm)
            weights = {name: tensor.float() for name, tensor in bilm.state_dict().items()}
            is_taken_apart = self._read_again is not None
            if is_taken_apart:
                self._bilm = None
            del bilm  # so that the packed weights can replace the others one by one
            self._packed = PackedBiLM(
                self.config,
                weights,
                spelling=self.spelling,
                precision=self.precision,
                may_overwrite=is_taken_apart,
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
        is_changed = self._bilm is not None and weight_versions(self._bilm) != self._hashed_from
        if is_changed or not self._fingerprint:
            bilm = self.module()
            self._hashed_from = weight_versions(bilm)
            self._fingerprint = _fingerprint(bilm)
        return self._fingerprint

    def __getstate__(self) -> dict[str, Any]:
        bilm = self.module()
        weights = {name: tensor.cpu().numpy() for name, tensor in bilm.state_dict().items()}
        return {
            "config": self.config,
            "spelling": bilm.spelling if self.config.lookup is not None else None,
            "precision": self.precision,
            "device": str(self.device),
            "weights": weights,
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
        self._name, self._sample = state.get("name", ""), state.get("sample", "")  # older pickles have neither
        self.to(_device_or_cpu(state["device"]))

    def _read(self) -> BiLM:
        assert self._read_again is not None
        bilm = self._read_again()
        self.check_is_same(bilm)
        return bilm.to(self.device).requires_grad_(False)


def _fingerprint(bilm: BiLM) -> str:
    digest = hashlib.blake2b(repr(bilm.config).encode(), digest_size=16)
    for name, tensor in sorted(bilm.state_dict().items()):
        digest.update(name.encode())
        digest.update(tensor.cpu().contiguous().numpy().data)
    if bilm.config.lookup is not None:
        digest.update(repr((bilm.config.lookup, bilm.spelling)).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def _sample(bilm: BiLM) -> str:
    """A hash of the config and of the first numbers of each tensor, which training changes, and which are read fast."""
    digest = hashlib.blake2b(repr(bilm.config).encode())
    for name, tensor in sorted(bilm.state_dict().items()):
        digest.update(name.encode() + tensor.flatten()[:SAMPLE].cpu().numpy().tobytes())
    return digest.hexdigest()


def _device_of(bilm: BiLM) -> torch.device:
    return bilm.char_encoder.embedding.weight.device


def _device_or_cpu(name: str) -> torch.device:
    try:
        return find_device(name)
    except ValueError:
        return torch.device("cpu")
