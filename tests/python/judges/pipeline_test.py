#!/usr/bin/env python3
"""Does a placed model train as a pipeline of torch.distributed.pipelining, with the losses and steps of the model?

Stages are those of a placement, and each is a process on the CPU: examples/python/pipeline.py. Larger networks are cut
only: each weight must be in its stage."""
import pathlib
import sys
import unittest

import emplace

try:
    import diffusers  # noqa: F401
    import torch
    import torchvision  # noqa: F401
    import transformers  # noqa: F401
    from torch.distributed import pipelining
except ImportError as error:
    MISSING = error.name
else:
    MISSING = None
    sys.path.insert(0, str(pathlib.Path(__file__).parents[3] / "examples/python"))
    import pipeline as example
    from architectures import ARCHITECTURES
    from emplace._placed_steps import device_of
    from ways_in import arguments


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

    def test_weights_are_in_their_stages(self):
        for name in ("convnext", "llama", "mlp-mixer", "mobilenet-v2", "unet-2d-condition", "vit", "vit-transformers"):
            model, inputs = ARCHITECTURES[name]()
            placed = emplace.place(model, inputs, cluster="p2-8xlarge-2", micro_batches=4, agent="pipeline-dp")
            stages, (positional, keywords) = placed.stages(), arguments(inputs)
            self.assertEqual(len(stages), 2)
            cut = {stages[1][1][0]: pipelining.SplitPoint.BEGINNING}
            pipe = pipelining.pipeline(model, positional, mb_kwargs=keywords, split_spec=cut)
            found = {path: stages[index][0] for index in range(pipe.num_stages)
                     for path, _ in pipe.get_stage_module(index).named_parameters()}
            expected = {path: device_of(path, placed.device_map) for path, _ in model.named_parameters()}
            self.assertEqual(found, expected, name)


if __name__ == "__main__":
    unittest.main()
