"""The docstrings of emplace._core: they are written in its stubs, where editors look for them, and nowhere else."""

import ast
import pathlib
from typing import Any

from emplace import _core


def _describe(thing: Any, node: ast.FunctionDef) -> None:
    text = ast.get_docstring(node) or ""
    if isinstance(thing, property) or hasattr(thing, "__code__"):
        thing.__doc__ = text
        return
    for argument in ast.walk(node.args):
        if isinstance(argument, ast.arg):
            argument.annotation = None
    # The form from which inspect.signature() and help() read a signature.
    _core.set_docstring(thing, f"{node.name}({ast.unparse(node.args)})\n--\n\n{text}")


def attach() -> None:
    """Gives the classes and functions of emplace._core the docstrings of _core.pyi."""
    stubs = pathlib.Path(__file__).with_name("_core.pyi").read_text(encoding="utf-8")
    for node in ast.parse(stubs).body:
        if isinstance(node, ast.FunctionDef):
            _describe(getattr(_core, node.name), node)
        elif isinstance(node, ast.ClassDef):
            bound = getattr(_core, node.name)
            bound.__doc__ = ast.get_docstring(node)
            for member in node.body:
                if isinstance(member, ast.FunctionDef):
                    _describe(getattr(bound, member.name), member)
