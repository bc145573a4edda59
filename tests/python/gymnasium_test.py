#!/usr/bin/env python3
"""The environments, by the interface of gymnasium; by its own check_env where it is installed."""
import unittest
import warnings

import emplace
import numpy
from emplace import gymnasium_env
from emplace.gymnasium_env import PlacetoEnv, PlacetoVectorEnv

PROBLEM = emplace.problem("inception-v3", "p2-8xlarge-4", groups=16)


def play(env, policy, seed=0, options=None):
    """Runs an episode; returns its rewards and last info."""
    observation, info = env.reset(seed=seed, options=options)
    rewards, ended, first = [], False, info
    while not ended:
        observation, reward, ended, truncated, info = env.step(policy(observation, info))
        assert not truncated
        rewards.append(reward)
    return rewards, first, info


class Interface(unittest.TestCase):
    def test_an_episode(self):
        for reward in ("step", "terminal"):
            env = PlacetoEnv(problem=PROBLEM, reward=reward, start="random")
            observation, info = env.reset(seed=3)
            visited = []
            for step in range(PROBLEM.num_groups):
                self.assertTrue(env.observation_space.contains(observation))
                self.assertTrue(info["action_mask"].any())
                visited.append(int(observation["current"]))
                self.assertEqual(observation["visited"].sum(), step)
                action = env.action_space.sample(info["action_mask"])
                self.assertTrue(env.action_space.contains(action))
                group = observation["current"]
                observation, earned, terminated, truncated, info = env.step(action)
                self.assertIsInstance(earned, float)
                self.assertIsInstance(terminated, bool)
                self.assertFalse(truncated)
                self.assertEqual(terminated, step == PROBLEM.num_groups - 1)
                self.assertEqual(observation["placement"][group], action)
            self.assertTrue(env.observation_space.contains(observation))
            self.assertEqual(visited, PROBLEM.order.tolist())
            with self.assertRaisesRegex(emplace.UsageError, "call reset"):
                env.step(0)

    def test_seeds(self):
        env = PlacetoEnv(problem=PROBLEM, start="random")
        first, again, other = (env.reset(seed=seed)[0]["placement"] for seed in (1, 1, 2))
        numpy.testing.assert_array_equal(first, again)
        self.assertTrue((first != other).any())
        self.assertTrue((env.reset()[0]["placement"] != env.reset()[0]["placement"]).any())

    def test_observations_do_not_change_afterwards(self):
        env = PlacetoEnv(problem=PROBLEM)
        observation, _ = env.reset(seed=0)
        before = observation["placement"].copy()
        env.step(1)
        numpy.testing.assert_array_equal(observation["placement"], before)

    def test_gymnasium_itself(self):
        if gymnasium_env.gymnasium is None:
            self.skipTest("gymnasium is not installed")
        import gymnasium
        from gymnasium.utils.env_checker import check_env
        for observations in ("dict", "flat", "graph"):
            with self.subTest(observations), warnings.catch_warnings():
                warnings.simplefilter("ignore")  # spaces of more than two dimensions "are unusual"
                check_env(gymnasium.make("emplace/Placement-v0", problem=PROBLEM, observations=observations).unwrapped,
                          skip_render_check=True)
        many = gymnasium.make_vec("emplace/Placement-v0", 3, vectorization_mode="vector_entry_point", problem=PROBLEM)
        self.assertTrue(many.observation_space.contains(many.reset(seed=1)[0]))

    def test_flat_observations_hold_those_of_the_dict(self):
        kinds = [PlacetoEnv(problem=PROBLEM, start="random", observations=kind) for kind in ("dict", "flat")]
        (known, _), (flat, _) = (env.reset(seed=5) for env in kinds)
        devices = len(PROBLEM.placeable_devices)
        for action in (1, 3, 0):
            rows = flat.reshape(PROBLEM.num_groups, -1)
            numpy.testing.assert_array_equal(rows[:, :3], known["features"])
            numpy.testing.assert_array_equal(rows[:, 3:3 + devices].argmax(axis=1), known["placement"])
            numpy.testing.assert_array_equal(rows[:, 3:3 + devices].sum(axis=1), 1)
            numpy.testing.assert_array_equal(rows[:, -2], known["visited"])
            self.assertEqual((rows[:, -1].argmax(), rows[:, -1].sum()), (known["current"], 1))
            known, flat = (env.step(action)[0] for env in kinds)
        many = PlacetoVectorEnv(2, problem=PROBLEM, observations="flat")
        self.assertTrue(many.observation_space.contains(many.reset()[0]))

    def test_graphs_have_the_same_rows_and_the_edges(self):
        if gymnasium_env.gymnasium is None:
            with self.assertRaisesRegex(emplace.UsageError, "needs gymnasium"):
                PlacetoEnv(problem=PROBLEM, observations="graph")
            return
        env, flat = (PlacetoEnv(problem=PROBLEM, observations=kind) for kind in ("graph", "flat"))
        graph, rows = env.reset()[0], flat.reset()[0]
        self.assertTrue(env.observation_space.contains(graph))
        numpy.testing.assert_array_equal(graph.nodes.ravel(), rows)
        numpy.testing.assert_array_equal(graph.edge_links, PROBLEM.edges)
        try:
            import torch_geometric  # noqa: F401
        except ImportError:
            return
        data = gymnasium_env.torch_geometric_data(graph)
        self.assertEqual(data.num_nodes, PROBLEM.num_groups)
        self.assertEqual(tuple(data.edge_index.shape), (2, len(PROBLEM.edges)))

    def test_masks_as_booleans(self):
        env = PlacetoEnv(problem=PROBLEM)
        _, info = env.reset()
        self.assertEqual(env.action_masks().dtype, bool)
        numpy.testing.assert_array_equal(env.action_masks(), info["action_mask"])


class Rewards(unittest.TestCase):
    def test_steps_telescope_to_the_terminal_reward(self):
        actions = numpy.random.default_rng(4).integers(4, size=PROBLEM.num_groups)
        for start in (None, emplace.place(PROBLEM, "heft").placement):
            totals = []
            for kind in ("step", "terminal"):
                env = PlacetoEnv(problem=PROBLEM, reward=kind)
                rewards, first, last = play(env, lambda o, i: int(actions[o["current"]]), options={"start": start})
                work_us = PROBLEM.costs[:, PROBLEM.placeable_devices].mean(axis=1).sum()
                expected = (first["objective_us"] - last["objective_us"]) / work_us
                self.assertAlmostEqual(sum(rewards), expected, places=12)
                totals.append(expected)
                self.assertEqual(last["objective_us"],
                                 PROBLEM.evaluate(PROBLEM.placeable_devices[actions]).objective_us)
            self.assertEqual(totals[0], totals[1])

    def test_each_step_reward_is_the_difference(self):
        env = PlacetoEnv(problem=PROBLEM)
        _, before = env.reset(seed=0)
        placement = numpy.full(PROBLEM.num_groups, PROBLEM.placeable_devices[0])
        for step, group in enumerate(PROBLEM.order):
            action = step % 3
            _, reward, _, _, info = env.step(action)
            placement[group] = PROBLEM.placeable_devices[action]
            self.assertEqual(info["objective_us"], PROBLEM.evaluate(placement).objective_us)
            self.assertEqual(numpy.sign(reward), numpy.sign(before["objective_us"] - info["objective_us"]))
            before = info

    def test_masks_are_of_full_devices(self):
        problem = emplace.problem("nmt:layers=8,batch=16", "p2-8xlarge-2", groups=16)
        env = PlacetoEnv(problem=problem, reward="terminal")
        _, info = env.reset(seed=0)
        used = numpy.zeros(2, int)
        for group in problem.order:
            fits = used + problem.persistent_bytes[group] <= problem.capacities[problem.placeable_devices]
            numpy.testing.assert_array_equal(info["action_mask"], fits if fits.any() else [1, 1])
            used[0] += problem.persistent_bytes[group]
            _, _, _, _, info = env.step(0)


class Vector(unittest.TestCase):
    def test_equals_single_episodes(self):
        actions = numpy.random.default_rng(1).integers(4, size=(5, PROBLEM.num_groups))
        for kind in ("step", "terminal"):
            many = PlacetoVectorEnv(5, problem=PROBLEM, reward=kind)
            observation, info = many.reset(seed=0)
            totals = numpy.zeros(5)
            for _ in range(PROBLEM.num_groups):
                self.assertTrue(many.observation_space.contains(observation))
                observation, rewards, terminated, truncated, info = many.step(actions[:, observation["current"][0]])
                totals += rewards
            self.assertTrue(terminated.all())
            self.assertFalse(truncated.any())
            for row in range(5):
                env = PlacetoEnv(problem=PROBLEM, reward=kind)
                alone, _, last = play(env, lambda o, i: int(actions[row, o["current"]]))
                self.assertAlmostEqual(sum(alone), totals[row], places=12)
                self.assertEqual(last["objective_us"], info["objective_us"][row])
            observation, rewards, terminated, _, _ = many.step(actions[:, 0])
            self.assertEqual((rewards.tolist(), terminated.any(), observation["visited"].sum()), ([0] * 5, False, 0))

    def test_placements_are_indices_of_the_placeable_devices(self):
        start = emplace.place(PROBLEM, "heft").placement
        observation, info = PlacetoEnv(problem=PROBLEM).reset(options={"start": start})
        numpy.testing.assert_array_equal(PROBLEM.placeable_devices[observation["placement"]], start)

    def test_starts(self):
        devices = PROBLEM.placeable_devices
        batch = numpy.stack([numpy.full(PROBLEM.num_groups, devices[row]) for row in range(3)])
        many = PlacetoVectorEnv(3, problem=PROBLEM)
        observation, _ = many.reset(options={"start": batch})
        numpy.testing.assert_array_equal(devices[observation["placement"]], batch)
        observation, _ = many.reset(options={"start": batch[1]})
        self.assertEqual(set(observation["placement"].ravel()), {1})
        cpu = next(device for device in range(PROBLEM.num_devices) if device not in devices)
        for wrong, text in ((99, "placement 2: group 5 is on device 99, expected 0 to"),
                            (-1, "placement 2: group 5 is on device -1, expected 0 to"),
                            (cpu, f"start: group 5 of placement 2 is on device {cpu}, expected one of ")):
            bad = batch.copy()
            bad[2, 5] = wrong
            with self.subTest(wrong), self.assertRaisesRegex(emplace.UsageError, text):
                many.reset(options={"start": bad})
        for shape in ((2, PROBLEM.num_groups), (3, 1), (1,), ()):
            with self.subTest(shape), self.assertRaisesRegex(emplace.UsageError, "start: an array of the shape"):
                many.reset(options={"start": numpy.zeros(shape, int)})

    def test_wrong_use(self):
        for call in (lambda: PlacetoEnv(problem=PROBLEM, reward="none"),
                     lambda: PlacetoEnv(problem=PROBLEM, start="none"),
                     lambda: PlacetoEnv(problem=PROBLEM, observations="none"),
                     lambda: PlacetoVectorEnv(2, problem=PROBLEM, observations="graph"),
                     lambda: PlacetoEnv(problem=PROBLEM, render_mode="human"),
                     lambda: PlacetoVectorEnv(0, problem=PROBLEM),
                     lambda: PlacetoEnv(problem=PROBLEM).step(0),
                     lambda: play(PlacetoEnv(problem=PROBLEM), lambda o, i: 99),
                     lambda: play(PlacetoEnv(problem=PROBLEM), lambda o, i: 0.5),
                     lambda: PlacetoEnv(problem=PROBLEM).reset(options={"start": numpy.full(PROBLEM.num_groups, 4)})):
            with self.assertRaises(emplace.UsageError):
                call()


if __name__ == "__main__":
    unittest.main()
