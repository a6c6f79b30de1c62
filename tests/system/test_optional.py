import sys
from pathlib import Path
from typing import Any

import pytest

from elmokit.system.optional import require


@pytest.mark.parametrize(("package", "named"), [(None, "no_such_package"), ("no-such-package", "no-such-package")])
def test_the_error_says_what_to_install(package: str | None, named: str):
    said = rf"^reading documents needs {named}: pip install 'elmokit\[x\]'$"
    with pytest.raises(ModuleNotFoundError, match=said) as caught:
        require("no_such_package.part", package=package, extra="x", purpose="reading documents")
    assert isinstance(caught.value, ValueError)  # the command line shows these


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("import no_such_package", "ModuleNotFoundError: No module named 'no_such_package'"),
        ("from json import no_such_name", "ImportError: cannot import name 'no_such_name' from 'json' .*"),
        ("import json; json.no_such_name", "AttributeError: module 'json' has no attribute 'no_such_name'"),
        ("", "ModuleNotFoundError: No module named 'toy_package.part'"),  # an older version
    ],
)
def test_a_package_that_is_there_and_fails_is_not_called_missing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, code: str, reason: str
):
    (tmp_path / "toy_package").mkdir()
    (tmp_path / "toy_package" / "__init__.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "toy_package", raising=False)
    said = rf"^drawing needs toy_package, which is installed but fails to import \({reason}\); try pip install 'elmokit"
    with pytest.raises(ImportError, match=said) as caught:
        require("toy_package.part", extra="x", purpose="drawing")
    assert isinstance(caught.value, ValueError) and not isinstance(caught.value, ModuleNotFoundError)


WALK = """
import importlib, pkgutil, sys

class WithoutPackages:
    def find_spec(self, name, path=None, target=None):
        if name in ("flair", "sentence_transformers", "sklearn", "spacy", "ray", "onnx", "transformers"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, WithoutPackages())
from elmokit import integrations
for found in pkgutil.walk_packages(integrations.__path__, "elmokit.integrations."):
    try:
        importlib.import_module(found.name)
    except ModuleNotFoundError:
        print(found.name.rpartition(".")[2])
"""


def test_whoever_imports_all_integrations_meets_nothing_but_missing_packages(forks: Any):
    done = forks.run_script(WALK)
    assert done.stdout.split() == ["flair", "sentence_transformers", "sklearn", "spacy", "spacy_mix"], done.stderr


MEMORY = """
import resource
from pathlib import Path
from elmokit.cli.pretraining import keep_freed_memory
from elmokit.model.packed_bilm import _give_back_freed_memory as give_back_freed_memory

def resident():
    return int(Path("/proc/self/status").read_text().split("VmRSS:")[1].split()[0]) // 1024

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(20):
        block = bytearray(b"x") * 50_000_000  # more than glibc keeps by itself
        del block
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

blocks = [bytearray(b"x" * 50_000) for _ in range(2_000)]  # 100 MB in pieces that the allocator keeps
kept = blocks[::100]
del blocks
before = resident()
give_back_freed_memory()
given_back, fetched = before - resident(), faults()
keep_freed_memory()
faults()
print(given_back, fetched, faults())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the allocator is that of Linux")
def test_what_was_freed_between_other_things_leaves_the_process_and_what_is_kept_is_not_fetched_again(forks: Any):
    done = forks.run_script(MEMORY)
    assert done.returncode == 0, done.stderr
    given_back, fetched, fetched_again = map(int, done.stdout.split())
    assert given_back > 50 and fetched_again * 10 < fetched
