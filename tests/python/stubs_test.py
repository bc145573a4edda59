#!/usr/bin/env python3
"""The stubs of emplace._core have the names of the module, no more and no fewer."""
import ast
import pathlib
import unittest

import emplace
from emplace import _core


def public(names):
    return {name for name in names if not name.startswith("_")}


class Stubs(unittest.TestCase):
    def test_names(self):
        folder = pathlib.Path(emplace.__file__).parent
        self.assertTrue((folder / "py.typed").exists())
        stubs = ast.parse((folder / "_core.pyi").read_text()).body
        classes = {node.name: node for node in stubs if isinstance(node, ast.ClassDef)}
        functions = {node.name for node in stubs if isinstance(node, ast.FunctionDef)}
        self.assertEqual(public(dir(_core)), public(classes) | public(functions))
        for name, node in classes.items():
            described = {member.name for member in node.body if isinstance(member, ast.FunctionDef)}
            self.assertEqual(public(dir(getattr(_core, name))), public(described), name)
            properties = {member.name for member in node.body if isinstance(member, ast.FunctionDef)
                          and member.decorator_list}
            self.assertEqual({member for member in public(described)
                              if isinstance(getattr(getattr(_core, name), member), property)}, properties, name)

    def test_all(self):
        for name in emplace.__all__:
            self.assertTrue(hasattr(emplace, name), name)


if __name__ == "__main__":
    unittest.main()
