#!/usr/bin/env python3
"""The stubs of emplace._core have the names of the module, and the types of the package are right."""
import ast
import inspect
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import emplace
from emplace import _core, gymnasium_env


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

    def test_annotations(self):
        functions = [getattr(emplace, name) for name in emplace.__all__]
        functions += [gymnasium_env.PlacetoEnv.__init__, gymnasium_env.PlacetoEnv.reset, gymnasium_env.PlacetoEnv.step,
                      gymnasium_env.PlacetoVectorEnv.__init__, gymnasium_env.PlacetoVectorEnv.reset,
                      gymnasium_env.PlacetoVectorEnv.step]
        checked = 0
        for function in functions:
            if inspect.isfunction(function):
                signature = inspect.signature(function)
                described = [signature.return_annotation]
                described += [parameter.annotation for parameter in signature.parameters.values()
                              if parameter.name != "self"]
                self.assertNotIn(inspect.Signature.empty, described, function.__qualname__)
                checked += 1
        self.assertGreater(checked, 9)

    @unittest.skipUnless(shutil.which("mypy"), "mypy is not installed")
    def test_types(self):
        with tempfile.TemporaryDirectory() as folder:
            package = pathlib.Path(emplace.__file__).parent
            for source in [*package.glob("*.py"), *package.glob("*.pyi")]:
                target = pathlib.Path(folder, "emplace", source.name)
                target.parent.mkdir(exist_ok=True)
                shutil.copy(source, target)
            found = subprocess.run(["mypy", "--ignore-missing-imports", "--check-untyped-defs", "-p", "emplace"],
                                   cwd=folder, capture_output=True, text=True)
            self.assertEqual(found.returncode, 0, found.stdout)


if __name__ == "__main__":
    unittest.main()
