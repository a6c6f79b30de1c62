"""A biLM in two forms, each made when needed: the module, for training and inspection, and the packed one, for use."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from elmokit.model.packed_bilm import PackedBiLM
from elmokit.model.token_cache import weight_versions

if TYPE_CHECKING:
    from collections.abc import Callable

    from elmokit.layers.packed.linear import Precision
    from elmokit.model.bilm import BiLM


class LoadedBiLM:
    """Holds the weights once as long as only one form is used: a model that can be read again is taken apart."""

    def __init__(self, bilm: BiLM, *, precision: Precision) -> None:
        self.config = bilm.config
        self.precision: Precision = precision
        self._bilm: BiLM | None = bilm
        self._read_again: Callable[[], BiLM] | None = None
        self._packed: PackedBiLM | None = None
        self._packed_from = weight_versions(bilm)

    def can_read_again(self, read: Callable[[], BiLM]) -> None:
        """Allow the module to be taken apart: nobody else holds it, and `read` gives it anew."""
        self._read_again = read

    @property
    def bilm(self) -> BiLM:
        """The module. Once accessed, it stays in memory, and changes of its weights are noticed."""
        if self._bilm is None:
            self._bilm = self._read()
            self._packed_from = weight_versions(self._bilm)
        self._read_again = None
        return self._bilm

    def packed(self) -> PackedBiLM:
        """The packed form; it is made again if the weights of the module have changed."""
        if self._packed is None or (self._bilm is not None and weight_versions(self._bilm) != self._packed_from):
            bilm = self._bilm or self._read()
            self._packed_from = weight_versions(bilm)
            weights = dict(bilm.state_dict())
            self._packed = None
            if self._read_again is not None:
                self._bilm = None
            del bilm  # so that the packed weights can replace the others one by one
            self._packed = PackedBiLM(self.config, weights, precision=self.precision)
        return self._packed

    def fingerprint(self) -> str:
        """A hash of config and weights: equal for equal models, however they are stored."""
        bilm = self._bilm or self._read()
        digest = hashlib.blake2b(repr(bilm.config).encode(), digest_size=16)
        for name, tensor in sorted(bilm.state_dict().items()):
            digest.update(name.encode())
            digest.update(tensor.cpu().contiguous().numpy().data)
        return digest.hexdigest()

    def _read(self) -> BiLM:
        assert self._read_again is not None
        return self._read_again()
