"""The front door: the names that we promise to keep."""

import ast
import importlib.metadata
import inspect
from pathlib import Path

import pytest

import elmokit

PUBLIC = [
    *("BiLM", "BiLMConfig", "ChangeSettings", "Elmo", "ElmoEmbedding", "Preparation", "ScalarMix", "SoftmaxDetails"),
    *("Splits", "Vocabulary", "__version__", "batch_character_ids"),
    *("convert", "embed_fasta", "embed_file", "embed_types", "embed_with", "find_task", "finetune"),
    *("inspect", "load_task", "load_vectors"),
    *("perplexity", "prepare", "pretrain", "pretraining_recipe", "protein_vectors", "resume_pretraining"),
    *("resume_task", "save_vectors", "semantic_change", "split_sentences"),
    *("task_recipe", "task_sentences", "tokenize", "train_task", "write_vocabulary"),
]


def test_the_public_names_are_these_and_another_is_refused_with_the_list():
    assert sorted(elmokit.__all__) == PUBLIC
    assert [name for name in dir(elmokit) if not name.startswith("__")] == sorted(set(PUBLIC) - {"__version__"})
    with pytest.raises(AttributeError, match=r"module 'elmokit' has no attribute 'ELMo'; its public names are BiLM, "):
        elmokit.ELMo  # noqa: B018


@pytest.mark.parametrize("name", [name for name in PUBLIC if name != "__version__"])
def test_a_public_name_is_there_and_says_what_it_is(name: str):
    thing = getattr(elmokit, name)
    assert callable(thing)
    assert inspect.getdoc(thing)


def test_names_are_imported_from_where_type_checkers_look():
    tree = ast.parse(Path(elmokit.__file__).read_text())
    seen = {
        alias.asname or alias.name: f"{node.module}:{alias.name}"
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    for name, home in elmokit._HOMES.items():
        assert seen[name] == home


def test_the_version_is_that_of_the_package_and_of_the_citation():
    assert elmokit.__version__ == importlib.metadata.version("elmokit")
    citation = (Path(__file__).parents[2] / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {elmokit.__version__}\n" in citation


@pytest.mark.parametrize("name", [name for name in PUBLIC if inspect.isfunction(getattr(elmokit, name))])
def test_every_path_may_be_a_string(name: str):
    parameters = inspect.signature(getattr(elmokit, name)).parameters.values()
    annotations = {parameter.name: str(parameter.annotation) for parameter in parameters}
    assert [which for which, kind in annotations.items() if "Path" in kind and "str" not in kind.lower()] == []
