"""Optional packages: there, or an error that says what to install."""

import json
import sys

import pytest

from elmokit.system.extras import require


def test_a_module_that_is_there_is_imported():
    assert require("json.decoder", extra="x", purpose="a test").JSONDecoder is json.JSONDecoder


def test_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "spacy", None)
    with pytest.raises(ValueError, match=r"^reading documents needs spacy: pip install 'elmokit\[spacy\]'$"):
        require("spacy.tokens", extra="spacy", purpose="reading documents")


def test_the_error_names_the_package_when_the_module_is_not_its_own(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "json.tool", None)
    with pytest.raises(ValueError, match="^drawing needs jsontool: "):
        require("json.tool", package="jsontool", extra="x", purpose="drawing")
