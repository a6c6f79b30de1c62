"""The front door: the names that we promise to keep."""

import ast
import importlib.metadata
import inspect
from pathlib import Path

import pytest

import elmokit

PUBLIC = [
    *("BiLM", "BiLMConfig", "Elmo", "ElmoEmbedding", "ScalarMix", "Vocabulary"),
    *("__version__", "load_task", "tokenize"),
]


def test_the_public_names_are_these():
    assert sorted(elmokit.__all__) == PUBLIC


@pytest.mark.parametrize("name", [name for name in PUBLIC if name != "__version__"])
def test_a_public_name_is_there_and_says_what_it_is(name: str):
    thing = getattr(elmokit, name)
    assert thing.__name__ == name
    assert inspect.getdoc(thing)


def test_names_are_imported_from_where_type_checkers_look():
    tree = ast.parse(Path(elmokit.__file__).read_text())
    seen = {
        alias.name: node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    for name, module in elmokit._HOMES.items():
        assert seen[name] == module


def test_dir_lists_the_public_names():
    assert set(PUBLIC) <= set(dir(elmokit))


def test_another_name_is_refused_with_the_list():
    with pytest.raises(AttributeError, match=r"module 'elmokit' has no attribute 'ELMo'; its public names are BiLM, "):
        elmokit.ELMo  # noqa: B018


def test_the_version_is_that_of_the_package():
    assert elmokit.__version__ == importlib.metadata.version("elmokit")
