#!/usr/bin/env python3
"""Does a placed model train as a pipeline of torch.distributed.pipelining, with the losses and steps of the model?

Stages are those of a placement, and each is a process on the CPU: examples/python/pipeline.py."""
import pathlib
import sys
import unittest

import emplace

try:
    import torch
    from torch.distributed import pipelining  # noqa: F401
except ImportError as error:
    MISSING = error.name
else:
    MISSING = None
    sys.path.insert(0, str(pathlib.Path(__file__).parents[3] / "examples/python"))
    import pipeline as example


@unittest.skipIf(MISSING, f"needs the package {MISSING}")
class Pipeline(unittest.TestCase):
    def test_stages_train_as_the_model_does(self):
        parameters, losses = example.train_whole(3)
        part = example.batch()[0].chunk(example.MICRO_BATCHES)[0]
        modules = [path for path, _ in example.network().named_children()]
        for cluster, count in (("p2-8xlarge-2", 2), ("p2-8xlarge-4", 4)):
            placed = emplace.place(example.network(), part, cluster=cluster, micro_batches=example.MICRO_BATCHES,
                                   agent="pipeline-dp", constraints={"together": modules})
            stages = placed.stages()
            self.assertEqual(len(stages), count)
            self.assertEqual([path for _, own in stages for path in own], modules)
            trained, found = example.train_in(stages, 3)
            self.assertEqual(set(trained), set(parameters))
            for name, tensor in parameters.items():  # sums over micro-batches have another order
                torch.testing.assert_close(trained[name], tensor.detach(), rtol=1e-4, atol=1e-6, msg=name)
            torch.testing.assert_close(torch.tensor(found), torch.tensor(losses))


if __name__ == "__main__":
    unittest.main()
