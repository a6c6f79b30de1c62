"""The house rules that import-linter cannot hold (ARCHITECTURE.md); it holds the floors."""

import ast
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "elmokit"
FILES = sorted(SOURCE.rglob("*.py"))

MAY_IMPORT_LATE = {
    *("cli/models.py", "cli/show.py", "cli/pretraining.py", "cli/tasks.py"),  # `elmokit --help` is fast
    "cli/doctor.py",  # it looks at what may be broken
    "pretraining/metrics_log.py",  # TensorBoard is an extra
}
KNOWS_HDF5 = {"model/formats/containers/hdf5.py", "model/formats/containers/hdf5_output.py"}
LIGHT = ["elmokit", "elmokit.cli.main", "elmokit.__main__", "elmokit.model.config"]
CORE = {"torch", "numpy", "safetensors", "h5py", "tqdm", "jinja2"}


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
    command = [sys.executable, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout


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


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_nothing_inside_imports_the_front_door(path: Path):
    """Only the version is there to be read; a public name comes from its own file."""
    for node in ast.walk(parse(path)):
        if isinstance(node, ast.Import):
            assert "elmokit" not in [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module == "elmokit":
            assert [alias.name for alias in node.names] == ["__version__"]


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
    loaded = run_python("-c", "import sys, elmokit.model.formats.inspect; print(*sys.modules)").split()
    assert "torch" not in loaded


@pytest.mark.parametrize("arguments", [("-c", "import elmokit"), ("-m", "elmokit", "--help")], ids=["import", "help"])
def test_starts_within_three_tenths_of_a_second(arguments: tuple[str, ...]):
    best = float("inf")
    for _ in range(20):  # the fastest of several: the machine may be busy
        start = time.perf_counter()
        run_python(*arguments)
        best = min(best, time.perf_counter() - start)
        if best <= 0.3:
            break
    assert best <= 0.3
