"""The house rules that import-linter cannot hold (ARCHITECTURE.md); it holds the floors."""

import ast
import os
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from unmeasured import unmeasured_environment

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "elmokit"
FILES = sorted(SOURCE.rglob("*.py"))

MAY_IMPORT_LATE = {
    *(f"cli/{path.name}" for path in (SOURCE / "cli").glob("*.py")),  # `elmokit --help` is fast
    *(f"tasks/{task.parent.name}/task.py" for task in SOURCE.glob("tasks/*/task.py")),  # a task costs no torch
}
OPENS_ROOMS = {"__init__.py", "tasks/all_tasks.py", "paper/all_reproductions.py"}  # imported when asked for
KNOWS_HDF5 = {f"files/hdf5{part}.py" for part in ("", "_dataset", "_numbered", "_output")}
LIGHT = ["elmokit", "elmokit.cli.main", "elmokit.__main__", "elmokit.model.config"]
CORE = {"torch", "numpy", "h5py", "tqdm", "jinja2", "filelock"}


def name_of(path: Path) -> str:
    return path.relative_to(SOURCE).as_posix()


def imports_in(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Names of the modules that are imported anywhere below, with their lines."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: relative import"
            yield node.module or "", node.lineno


def for_types_only(tree: ast.Module) -> list[ast.If]:
    return [node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]


def parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def run_python(*arguments: str) -> str:
    """Standard output of a Python that nothing measures."""
    command, environment = [sys.executable, *arguments], unmeasured_environment()
    return subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout


def test_there_is_something_to_look_at():
    assert len(FILES) > 10


@pytest.mark.parametrize("path", [path for path in FILES if path.name == "__init__.py"], ids=name_of)
def test_folders_open_no_second_door(path: Path):
    if path.parent != SOURCE:
        assert path.read_text() == ""


def test_every_folder_with_code_is_a_package():
    for folder in {path.parent for path in FILES}:
        assert (folder / "__init__.py").exists(), folder


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_imports_stand_at_the_top(path: Path):
    late = [
        f"{imported} (line {line})"
        for node in ast.walk(parse(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        for imported, line in imports_in(node)
    ]
    if name_of(path) not in MAY_IMPORT_LATE:
        assert late == []


def calls_in(tree: ast.AST, *names: str) -> list[ast.Call]:
    """Calls of functions of these names, however they are reached (`import_module` or `importlib.import_module`)."""
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return [call for call in calls if ast.unparse(call.func).rpartition(".")[2] in names]


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_modules_are_imported_by_name_only_where_their_absence_is_explained(path: Path):
    if name_of(path) in {"system/python.py", *OPENS_ROOMS}:
        return
    for call in calls_in(parse(path), "import_module", "__import__"):
        module = ast.literal_eval(call.args[0])
        assert module.partition(".")[0] in CORE, f"line {call.lineno}: {module} goes through system.python.require"


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_optional_packages_name_an_extra_that_installs_them(path: Path):
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    tree = parse(path)
    if "elmokit.system.python" not in {imported for imported, _ in imports_in(tree)}:
        return
    for call in calls_in(tree, "require"):
        named = {keyword.arg: ast.literal_eval(keyword.value) for keyword in call.keywords if keyword.arg != "purpose"}
        assert named["extra"] in extras, f"line {call.lineno}: pyproject.toml has no extra {named['extra']}"


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_there_is_one_kind_of_progress_bar(path: Path):
    if name_of(path) != "system/progress_bar.py":
        assert "tqdm" not in {imported for imported, _ in imports_in(parse(path))}


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_nothing_inside_imports_the_front_door(path: Path):
    assert "elmokit" not in {imported for imported, _ in imports_in(parse(path))}


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_runs_on_the_core_dependencies_alone(path: Path):
    tree = parse(path)
    types = {found for block in for_types_only(tree) for found in imports_in(block)}
    needed = {imported.partition(".")[0] for imported, _ in {*imports_in(tree)} - types}
    assert needed <= {*sys.stdlib_module_names, *CORE, "elmokit"}


@pytest.mark.parametrize("path", sorted((SOURCE / "layers").glob("*.py")), ids=name_of)
def test_layers_know_torch_and_each_other(path: Path):
    tree = parse(path)
    allowed = {*sys.stdlib_module_names, "torch"}
    types = {imported for block in for_types_only(tree) for imported, _ in imports_in(block)}
    for imported, line in imports_in(tree):
        known = imported.partition(".")[0] in allowed or imported.startswith("elmokit.layers.")
        assert known or imported in types, f"line {line} imports {imported}"
    assert {imported.partition(".")[0] for imported in types} <= {*allowed, "elmokit", "jaxtyping"}


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_hdf5_stays_in_the_files_that_read_or_write_it(path: Path):
    if any(imported.partition(".")[0] == "h5py" for imported, _ in imports_in(parse(path))):
        assert name_of(path) in KNOWS_HDF5


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_no_pickle_anywhere(path: Path):
    tree = parse(path)
    assert not {imported for imported, _ in imports_in(tree)} & {"pickle", "cloudpickle", "dill", "joblib", "shelve"}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("torch.load", "torch.save"):
            pytest.fail(f"line {node.lineno} calls {ast.unparse(node.func)}; weights are safetensors or HDF5")


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_a_file_says_what_it_is_for(path: Path):
    tree = parse(path)
    assert tree.body == [] or ast.get_docstring(tree), "a docstring on the first line is missing"


@pytest.mark.parametrize("module", LIGHT)
def test_what_must_start_fast_imports_nothing_slow(module: str):
    loaded = run_python("-c", f"import sys, {module}; print(*sys.modules)").split()
    assert CORE.isdisjoint(loaded)


def test_inspecting_a_model_needs_no_torch():
    loaded = run_python("-c", "import sys, elmokit.formats.inspect; print(*sys.modules)").split()
    assert "torch" not in loaded


@pytest.mark.parametrize("arguments", [("-c", "import elmokit"), ("-m", "elmokit", "--help")], ids=["import", "help"])
def test_starts_within_three_tenths_of_a_second(arguments: tuple[str, ...]):
    """CPU seconds, because other processes may be using the machine."""
    used: list[float] = []
    while len(used) < 10 and min(used, default=1.0) > 0.3:
        before = os.times()
        run_python(*arguments)
        after = os.times()
        used.append(sum(after[2:4]) - sum(before[2:4]))
    assert min(used) <= 0.3
