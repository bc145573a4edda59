#!/usr/bin/env python3
"""pydot and pygraphviz read the DOT that emplace writes, and all that is in it.

dot_readers_test.py EMPLACE; exit code 77 where neither is installed.
"""
import json
import subprocess
import sys
import tempfile
import unittest

import networkx

EMPLACE = sys.argv.pop(1)
GRAPH = "resnet-50"
READERS = []
try:
    import pydot  # noqa: F401
    READERS.append(networkx.nx_pydot.read_dot)
except ImportError:
    pass
try:
    import pygraphviz  # noqa: F401
    READERS.append(networkx.nx_agraph.read_dot)
except ImportError:
    pass


class DotReaders(unittest.TestCase):
    def test_graph(self):
        written = json.loads(subprocess.run([EMPLACE, "convert", GRAPH], check=True,
                                            capture_output=True).stdout)
        for read in READERS:
            with self.subTest(read.__module__), tempfile.TemporaryDirectory() as folder:
                path = folder + "/graph.dot"
                subprocess.run([EMPLACE, "convert", GRAPH, "-q", "-o", path], check=True)
                graph = read(path)
                ops = {data["op_name"].strip('"'): data for _, data in graph.nodes(data=True) if "op_name" in data}
                self.assertEqual(set(ops), {op["name"] for op in written["ops"]})
                for op in written["ops"]:
                    self.assertEqual(ops[op["name"]]["kind"].strip('"'), op["kind"])
                    self.assertEqual(int(ops[op["name"]].get("flops", "0").strip('"')), op.get("flops", 0))
                self.assertEqual(graph.number_of_edges(), len(written["edges"]))


if __name__ == "__main__":
    if not READERS:
        sys.exit(77)
    unittest.main()
