"""Check shapes while the tests run: `Float[Tensor, "B T D"]` in a signature is a promise that can fail.

`src` imports jaxtyping for type checkers only, so that users do not need it. `install` adds an import hook. When a test
imports a file of `src` that has shapes in its annotations, the hook runs the file's `if TYPE_CHECKING:` imports, and
beartype checks each function and dataclass that has a shape, but only these annotations. Nothing is cached on disk, and
other processes do not see the hook.
"""

from __future__ import annotations

import ast
import functools
import inspect
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, ModuleType
from typing import Any, get_type_hints

import jaxtyping
import numpy as np
import torch
from beartype.door import die_if_unbearable

CHECKED = "_with_checked_shapes"


def install() -> None:
    """Check the shapes of every file of elmokit that is imported from now on."""
    already = [name for name in sys.modules if name.startswith("elmokit")]
    assert not already, f"imported before shapes were checked: {already}"
    sys.meta_path.insert(0, _Finder())


def with_checked_shapes(thing: Any) -> Any:
    """Make a function or a dataclass check its shapes after it has run, so that its own errors come first."""
    call = thing.__init__ if isinstance(thing, type) else thing
    parameters = list(inspect.signature(call).parameters)
    hints: dict[str, Any] = {}
    passed: set[Any] = set()  # a check costs much more than a test's small tensors: equal shapes are checked once

    @functools.wraps(call)
    def checked(*args: Any, **kwargs: Any) -> Any:
        result = call(*args, **kwargs)
        if torch.compiler.is_compiling():  # an export traces with lengths that are symbols
            return result
        if not hints:  # only now does everything that they name exist
            hints.update({name: hint for name, hint in get_type_hints(call).items() if hint is not object})
        given = dict(zip(parameters, args, strict=False)) | kwargs | {"return": result}
        values = [(name, given[name]) for name in hints if name in given]
        kinds = tuple((name, _kind(value)) for name, value in values)
        if kinds not in passed:
            with jaxtyping.jaxtyped("context"):  # one letter, one length
                for name, value in values:
                    die_if_unbearable(value, hints[name], exception_prefix=f"{call.__qualname__}, {name}: ")
            passed.add(kinds)
        return result

    if isinstance(thing, type):
        thing.__init__ = checked
        return thing
    return checked


def _kind(value: Any) -> Any:
    """Everything about a value that a shape check looks at."""
    if isinstance(value, torch.Tensor | np.ndarray):
        return type(value), value.dtype, tuple(value.shape)
    if isinstance(value, dict):
        return dict, *map(_kind, value.values())
    if isinstance(value, list | tuple):
        return type(value), *map(_kind, value)
    return type(value)


class _Finder(MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not fullname.startswith("elmokit."):
            return None  # this also skips the package itself, which has no shapes and would import everything
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and isinstance(spec.loader, SourceFileLoader):
            spec.loader = _Loader(spec.loader.name, spec.loader.path)
        return spec


class _Loader(SourceFileLoader):
    def get_code(self, fullname: str) -> CodeType | None:
        source = self.get_data(self.path)
        if b"from jaxtyping import" not in source:
            return super().get_code(fullname)
        tree = ast.fix_missing_locations(_CheckShapes().visit(ast.parse(source, self.path)))
        return compile(tree, self.path, "exec", dont_inherit=True)

    def exec_module(self, module: ModuleType) -> None:
        setattr(module, CHECKED, with_checked_shapes)
        super().exec_module(module)


class _CheckShapes(ast.NodeTransformer):
    def visit_If(self, node: ast.If) -> Any:
        self.generic_visit(node)
        return [*node.body, *node.orelse] if ast.unparse(node.test) == "TYPE_CHECKING" else node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        self.generic_visit(node)
        for part in ast.walk(node.args):
            if isinstance(part, ast.arg):
                part.annotation = _shape_or(None, part.annotation)
        node.returns = _shape_or(None, node.returns)
        if node.returns or _has_shape(node.args):
            node.decorator_list.append(ast.Name(CHECKED, ast.Load()))
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        self.generic_visit(node)
        fields = [field for field in node.body if isinstance(field, ast.AnnAssign)]
        if any("dataclass" in ast.unparse(decorator) for decorator in node.decorator_list) and any(
            _has_shape(field.annotation) for field in fields
        ):
            for field in fields:
                field.annotation = _shape_or(ast.Name("object", ast.Load()), field.annotation)
            node.decorator_list.insert(0, ast.Name(CHECKED, ast.Load()))
        return node


def _shape_or(other: Any, annotation: ast.expr | None) -> Any:
    return annotation if annotation is not None and _has_shape(annotation) else other


def _has_shape(node: ast.AST) -> bool:
    """Whether these annotations contain a `Float[Tensor, ...]` or a similar type."""
    subscribed = [part.value for part in ast.walk(node) if isinstance(part, ast.Subscript)]
    kinds = [getattr(jaxtyping, value.id, None) for value in subscribed if isinstance(value, ast.Name)]
    return any(isinstance(kind, type) and issubclass(kind, jaxtyping.AbstractDtype) for kind in kinds)
