"""The rules that neither ruff nor import-linter can check (ARCHITECTURE.md, pyproject.toml)."""

import ast
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "elmokit"
FILES = {path.relative_to(SOURCE).as_posix(): ast.parse(path.read_bytes()) for path in sorted(SOURCE.rglob("*.py"))}
CORE = {"torch", "numpy", "h5py", "tqdm", "jinja2", "filelock", "msgspec", "safetensors"}
"""The dependencies that pyproject.toml requires; code asks for everything else with `system.optional.require`."""

IMPORTS_BY_NAME = {"__init__.py", "tasks/task.py", "system/optional.py", "files/lines.py"}  # these import by name


def calls(tree: ast.AST, *names: str) -> Iterator[ast.Call]:
    """Calls of functions of these names, however they are reached (`import_module` or `importlib.import_module`)."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in names:
            yield node


def imported(tree: ast.Module) -> set[str]:
    """The packages that are imported when the code runs."""
    for node in [node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]:
        tree.body.remove(node)
    names = [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    names += [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    return {name.partition(".")[0] for name in names}


def run_python(*arguments: str) -> str:
    """Standard output of a Python process without coverage, which would load modules and take half of the time."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("COV")}
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_only_the_package_has_an_init_file_with_code():
    assert len(FILES) > 100
    assert [name for name, tree in FILES.items() if name.endswith("__init__.py") and tree.body] == ["__init__.py"]


def test_the_package_runs_on_the_core_dependencies_alone():
    allowed = {*sys.stdlib_module_names, *CORE, "elmokit", "triton"}  # triton comes with torch, for GPUs
    assert {name: found for name, tree in FILES.items() if (found := imported(tree) - allowed)} == {}


def test_optional_packages_are_required_with_an_extra_that_installs_them():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    installed = {extra: {re.match(r"[\w-]+", each)[0] for each in packages} for extra, packages in extras.items()}
    installed["spacy"] |= {"srsly", "thinc"}  # with spaCy
    installed["onnx"].add("onnx_ir")  # with onnxscript
    for name, tree in FILES.items():
        if name not in IMPORTS_BY_NAME:
            for call in calls(tree, "import_module", "__import__"):
                assert ast.literal_eval(call.args[0]).partition(".")[0] in {*CORE, "elmokit"}, (
                    f"{name}: goes through require"
                )
        for call in calls(tree, "require"):
            given = {each.arg: each.value for each in call.keywords}
            if "extra" in given and isinstance(call.args[0], ast.Constant):
                package = ast.literal_eval(given.get("package", call.args[0])).partition(".")[0]
                assert package in installed[ast.literal_eval(given["extra"])], f"{name}: {package}"


FAST = ("elmokit", "elmokit.cli.main", "elmokit.__main__", "elmokit.model.config")
LEAN = {
    **dict.fromkeys(("elmokit.formats.find", "elmokit.formats.importers.load", "elmokit.report.report"), ("torch",)),
    "elmokit.web.explore.site": ("paper", "elmokit.tasks"),
}


@pytest.mark.parametrize(
    ("module", "unneeded"), [*((module, tuple(CORE - {"msgspec"})) for module in FAST), *LEAN.items()]
)
def test_what_must_start_fast_or_stay_lean_imports_nothing_else(module: str, unneeded: tuple[str, ...]):
    loaded = run_python("-c", f"import sys, {module}; print(*sys.modules)").split()
    assert [name for name in loaded if name.startswith(unneeded)] == []
    assert module not in FAST or len(loaded) < 200  # about 100, a third of them Python's own start
