"""Examples of agents with PyTorch that nothing else runs: do they do what every agent must, on any problem?"""
import contextlib
import importlib.util
import io
import pathlib
import unittest

import emplace

EXAMPLES = pathlib.Path(__file__).parents[3] / "examples" / "python"


def example(name):
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Examples(unittest.TestCase):
    def test_agents_do_what_every_agent_must(self):
        for name, agent in (("doppler", "Doppler"), ("gdp", "Gdp"), ("gnn_policy", "GnnPolicy"), ("hsdag", "Hsdag"),
                            ("regal", "Regal")):
            with self.subTest(name):
                emplace.check_agent(getattr(example(name), agent))

    def test_graphs_of_doppler_have_the_sizes_of_the_authors_files(self):
        doppler = example("doppler")
        graphs = (doppler.chain_mm(), doppler.ffnn(), doppler.llama(layer=False), doppler.llama(layer=True))
        problems = [emplace.problem(graph, doppler.four_gpus()) for graph in graphs]
        sizes = [(problem.num_groups, len(problem.edges)) for problem in problems]
        self.assertEqual(sizes, [(76, 80), (180, 208), (182, 234), (229, 284)])

    def test_both_policies_of_doppler_learn(self):
        doppler = example("doppler")
        problem = emplace.problem(doppler.llama(layer=True), doppler.four_gpus())
        steps = [emplace.place(problem, doppler.Doppler, evaluations=evaluations).step_time_us
                 for evaluations in (1, 1000)]
        self.assertLess(steps[1], 0.95 * steps[0])

    def test_embeddings_of_placeto_are_compared(self):
        with contextlib.redirect_stdout(io.StringIO()) as out:
            example("embeddings").compare(episodes=2, graphs=1, seeds=2, groups=8)
        names = [row[:12].strip() for row in out.getvalue().splitlines()[2:]]
        self.assertEqual(names, ["placeto", "graphsage", "p-gnn", "pools only", "no learning"])


if __name__ == "__main__":
    unittest.main()
