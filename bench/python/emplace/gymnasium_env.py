"""The environments of Placeto (Addanki et al. 2019) with the interface of gymnasium.

An episode starts with a placement and visits every group once, in topological order. The action is the device of the
current group, as an index of the placeable devices. With reward="step" each action earns by how much it lowers the
objective, the step time plus the penalty for memory; with reward="terminal" the last action earns the sum of these, and
only the first and the last placement are simulated. Rewards are in units of the problem's work: the sum of the costs
of all groups, each the mean over the placeable devices.

An observation is by default a dict:
    features   (groups, 3) Problem.features
    edges      (edges, 2) producer and consumer of each edge between groups
    current    the group to place; the last one when the episode has ended
    placement  (groups,) the device of each group, as an index of the placeable devices, as actions are;
               problem.placeable_devices[placement] is a placement of the problem
    visited    (groups,) 1 where the episode has chosen
With observations="flat" it is one array: for each group its row of features, its device as a one-hot vector, whether it
was visited and whether it is the current one. With observations="graph" it is a gymnasium.spaces.GraphInstance with
these rows as nodes, and the edges with their share of the bytes of all; torch_geometric_data() turns
it into data of PyTorch Geometric.

The info has the `action_mask` of the current group (0 where the weights of the groups that were visited leave no memory
for its own, unless that is so on all devices), the `objective_us`, the `step_time_us` and whether the placement `fits`.

With gymnasium installed, after `import emplace`, gymnasium.make("emplace/Placement-v0", graph=..., cluster=...) makes
the environment, and make_vec() with vectorization_mode="vector_entry_point" many that are simulated in one batch.
"""

from typing import Any, Optional

import numpy

from emplace import _core
from emplace._errors import UsageError, tells_nearest_argument
from emplace._problems import problem as problem_of
from emplace._types import Path, Status

try:
    import gymnasium
    from gymnasium import spaces
    from gymnasium.vector import VectorEnv
    from gymnasium.vector.utils import batch_space

    Env = gymnasium.Env
except ImportError:
    from emplace import _spaces as spaces  # type: ignore[no-redef]

    gymnasium = None  # type: ignore[assignment]
    Env = VectorEnv = spaces.Env  # type: ignore[misc,attr-defined]

    def batch_space(space, count):  # type: ignore[misc]
        """Returns the space of `count` values of `space`."""
        if isinstance(space, spaces.Dict):
            return spaces.Dict({key: batch_space(part, count) for key, part in space.spaces.items()})
        if isinstance(space, spaces.Discrete):
            return spaces.Box(0, space.n - 1, (count,), space.dtype)
        return spaces.Box(space.low, space.high, (count, *space.shape), space.dtype)


_REWARDS = ("step", "terminal")
_STARTS = ("single", "random")
_OBSERVATIONS = ("dict", "flat", "graph")


class _Episodes:
    """Episodes of one problem side by side; each visits the same group at the same time."""

    def __init__(self, graph, cluster, groups, reward, start, observations, problem, count):
        if observations not in _OBSERVATIONS:
            raise UsageError(f"observations is {observations!r}, expected one of {_OBSERVATIONS}")
        if observations == "graph" and (gymnasium is None or count > 1):
            raise UsageError('observations="graph" needs gymnasium, and is for one episode at a time')
        if reward not in _REWARDS:
            raise UsageError(f"reward is {reward!r}, expected one of {_REWARDS}")
        if start not in _STARTS:
            raise UsageError(f"start is {start!r}, expected one of {_STARTS}")
        self.problem = problem if problem is not None else problem_of(graph, cluster, groups)
        self.reward, self.start, self.observations, self.count = reward, start, observations, count
        problem = self.problem
        self.devices = problem.placeable_devices
        self.features, self.edges, self.order = problem.features, problem.edges, problem.order
        self.weights, self.capacities = problem.persistent_bytes, problem.capacities[self.devices]
        self.unit_us = float(problem.costs[:, self.devices].mean(axis=1).sum()) or 1.0
        self.at = len(self.order)

    def observation_space(self):
        groups, edges = self.problem.num_groups, len(self.edges)
        width = self.features.shape[1] + len(self.devices) + 2
        if self.observations == "flat":
            return spaces.Box(0.0, 1.0, (groups * width,), numpy.float32)
        if self.observations == "graph":
            return spaces.Graph(spaces.Box(0.0, 1.0, (width,), numpy.float32),
                                spaces.Box(0.0, 1.0, (1,), numpy.float32))
        return spaces.Dict({
            "features": spaces.Box(0.0, 1.0, self.features.shape, numpy.float32),
            "edges": spaces.Box(0, max(groups - 1, 0), (edges, 2), numpy.int32),
            "current": spaces.Discrete(groups),
            "placement": spaces.Box(0, len(self.devices) - 1, (groups,), numpy.int32),
            "visited": spaces.Box(0, 1, (groups,), numpy.int8)})

    def begin(self, random, start):
        """Starts episodes from `start`, devices of the problem, or as the environment says."""
        shape = (self.count, self.problem.num_groups)
        if start is not None:
            start = numpy.asarray(start)
            if start.shape not in (shape, shape[1:]):
                raise UsageError(f"start: an array of the shape {start.shape}, expected {shape[1:]} or {shape}")
            self.problem.evaluate(start)  # refuses what are no placements
            index = numpy.full(self.problem.num_devices, -1)
            index[self.devices] = numpy.arange(len(self.devices))
            placements = numpy.broadcast_to(index[start], shape).astype(numpy.int32)
            if (placements < 0).any():
                row, group = numpy.argwhere(placements < 0)[0]
                device = numpy.broadcast_to(start, shape)[row, group]
                raise UsageError(f"start: group {group} of placement {row} is on device {device}, expected one of "
                                 f"{self.devices.tolist()}, which are placeable")
            self.placements = placements
        elif self.start == "random":
            self.placements = random.integers(len(self.devices), size=shape, dtype=numpy.int32)
        else:
            self.placements = numpy.zeros(shape, numpy.int32)
        self.at = 0
        self.visited = numpy.zeros(self.problem.num_groups, numpy.int8)
        self.used = numpy.zeros((self.count, len(self.devices)), numpy.int64)
        self.evaluations = self.problem.evaluate(self.devices[self.placements])
        self.first_us = self.evaluations.objective_us

    def advance(self, actions):
        """Places the current group; returns the rewards."""
        if self.ended():
            raise UsageError("the episode has ended; call reset()")
        actions = numpy.asarray(actions)
        if actions.shape != (self.count,) or actions.dtype.kind not in "iu":
            raise UsageError(f"actions of the shape {actions.shape} and type {actions.dtype}, expected {self.count} "
                             "integers")
        if (actions < 0).any() or (actions >= len(self.devices)).any():
            raise UsageError(f"action {actions}, expected 0 to {len(self.devices) - 1}")
        group = self.order[self.at]
        changed = bool((self.placements[:, group] != actions).any())
        self.placements[:, group] = actions
        self.used[numpy.arange(self.count), actions] += self.weights[group]
        self.visited[group] = 1
        self.at += 1
        before_us = self.evaluations.objective_us
        if self.reward == "step" and changed or self.reward == "terminal" and self.ended():
            self.evaluations = self.problem.evaluate(self.devices[self.placements])
        if self.reward == "terminal" and self.ended():
            before_us = self.first_us
        return (before_us - self.evaluations.objective_us) / self.unit_us

    def ended(self):
        return self.at == len(self.order)

    def current(self):
        return int(self.order[min(self.at, len(self.order) - 1)])

    def observe(self):
        """Returns the observations of all episodes, in new arrays; a graph is of the only one."""
        if self.observations == "dict":
            def repeated(array):
                return array[numpy.newaxis].repeat(self.count, axis=0)

            return {"features": repeated(self.features), "edges": repeated(self.edges),
                    "current": numpy.full(self.count, self.current()), "placement": self.placements.copy(),
                    "visited": repeated(self.visited)}
        nodes = self.nodes()
        if self.observations == "flat":
            return nodes.reshape(self.count, -1)
        shares = self.problem.edge_bytes[:, numpy.newaxis] / max(self.problem.edge_bytes.sum(), 1)
        return spaces.GraphInstance(nodes[0], shares.astype(numpy.float32), self.edges.copy())

    def nodes(self):
        """Returns a row for each group of each episode; see the head of this module."""
        width = self.features.shape[1]
        nodes = numpy.zeros((self.count, self.problem.num_groups, width + len(self.devices) + 2), numpy.float32)
        nodes[:, :, :width] = self.features
        episodes, groups = numpy.ix_(*map(numpy.arange, self.placements.shape))
        nodes[episodes, groups, width + self.placements] = 1
        nodes[:, :, -2] = self.visited
        nodes[:, self.current(), -1] = 1
        return nodes

    def masks(self):
        masks = self.used + self.weights[self.current()] <= self.capacities
        masks[~masks.any(axis=1)] = True
        return masks.astype(numpy.int8)


def torch_geometric_data(observation: Any) -> Any:
    """Returns a torch_geometric.data.Data of an observation of observations="graph".

    `x` is (groups, row) float32, `edge_index` (2, edges) int64, from producer to consumer, and `edge_attr` (edges, 1)
    float32. Raises ImportError where PyTorch Geometric is not installed.
    """
    import torch
    from torch_geometric.data import Data  # type: ignore[import-not-found]

    return Data(x=torch.from_numpy(observation.nodes),
                edge_index=torch.from_numpy(observation.edge_links.T.astype(numpy.int64)),
                edge_attr=torch.from_numpy(observation.edges))


class PlacetoEnv(Env):  # type: ignore[misc,valid-type]
    """One episode at a time; see the head of this module."""

    metadata: dict[str, Any] = {"render_modes": []}

    @tells_nearest_argument
    def __init__(self, graph: Path = "inception-v3", cluster: Path = "p2-8xlarge-4", groups: int = 128,
                 reward: str = "step", start: str = "single", observations: str = "dict",
                 problem: Optional[_core.Problem] = None, render_mode: Optional[str] = None) -> None:
        if render_mode is not None:
            raise UsageError(f"render_mode is {render_mode!r}; this environment draws nothing")
        self._episodes = _Episodes(graph, cluster, groups, reward, start, observations, problem, 1)
        self.problem = self._episodes.problem
        self.render_mode = None
        self.observation_space = self._episodes.observation_space()
        self.action_space = spaces.Discrete(len(self._episodes.devices))

    def reset(self, *, seed: Optional[int] = None,
              options: Optional[dict[str, Any]] = None) -> tuple[dict[str, Any], dict[str, Any]]:
        """Starts an episode, from options["start"], (groups,) devices of the problem; returns observation and info."""
        super().reset(seed=seed)
        self._episodes.begin(self.np_random, (options or {}).get("start"))
        return self._observe(), self._inform()

    def step(self, action: int) -> tuple[dict[str, Any], float, bool, bool, dict[str, Any]]:
        """Places the current group; returns observation, reward, whether the episode ended, False, and info."""
        rewards = self._episodes.advance(numpy.reshape(action, (1,)))
        return self._observe(), float(rewards[0]), self._episodes.ended(), False, self._inform()

    def action_masks(self) -> numpy.ndarray:
        """Returns info["action_mask"] as booleans, as sb3_contrib's MaskablePPO asks for it."""
        return self._episodes.masks()[0].astype(bool)

    def _observe(self):
        observation = self._episodes.observe()
        if self._episodes.observations == "dict":
            return {key: value[0] for key, value in observation.items()}
        return observation[0] if self._episodes.observations == "flat" else observation

    def _inform(self):
        evaluations = self._episodes.evaluations
        return {"action_mask": self._episodes.masks()[0], "objective_us": float(evaluations.objective_us[0]),
                "step_time_us": float(evaluations.step_time_us[0]),
                "fits": bool(evaluations.status[0] == Status.OK)}


class PlacetoVectorEnv(VectorEnv):  # type: ignore[misc,valid-type]
    """Many episodes of one problem side by side, simulated in one batch on all threads.

    All of them end together; the next step() ignores its actions and starts new ones (gymnasium's NEXT_STEP).
    """

    metadata: dict[str, Any] = {"render_modes": []}
    if gymnasium is not None and hasattr(gymnasium.vector, "AutoresetMode"):
        metadata["autoreset_mode"] = gymnasium.vector.AutoresetMode.NEXT_STEP

    @tells_nearest_argument
    def __init__(self, num_envs: int = 1, graph: Path = "inception-v3", cluster: Path = "p2-8xlarge-4",
                 groups: int = 128, reward: str = "step", start: str = "single", observations: str = "dict",
                 problem: Optional[_core.Problem] = None, render_mode: Optional[str] = None) -> None:
        if num_envs < 1:
            raise UsageError(f"num_envs is {num_envs}, expected 1 or more")
        if render_mode is not None:
            raise UsageError(f"render_mode is {render_mode!r}; this environment draws nothing")
        self._episodes = _Episodes(graph, cluster, groups, reward, start, observations, problem, num_envs)
        self.problem = self._episodes.problem
        self.num_envs = num_envs
        self.render_mode = None
        self.single_observation_space = self._episodes.observation_space()
        self.single_action_space = spaces.Discrete(len(self._episodes.devices))
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._start = None

    def reset(self, *, seed: Optional[int] = None,
              options: Optional[dict[str, Any]] = None) -> tuple[dict[str, Any], dict[str, Any]]:
        """Starts the episodes, all from options["start"], or each from a row of it; returns observations and info."""
        super().reset(seed=seed)
        start = (options or {}).get("start")
        self._episodes.begin(self.np_random, start)
        self._start = start
        return self._episodes.observe(), self._inform()

    def step(self, actions: numpy.ndarray
             ) -> tuple[dict[str, Any], numpy.ndarray, numpy.ndarray, numpy.ndarray, dict[str, Any]]:
        """Places the current group of each episode by `actions`, (num_envs,); returns what PlacetoEnv.step() does."""
        episodes = self._episodes
        if episodes.ended():
            episodes.begin(self.np_random, self._start)
            rewards = numpy.zeros(self.num_envs)
        else:
            rewards = episodes.advance(actions)
        ended = numpy.full(self.num_envs, episodes.ended())
        return episodes.observe(), rewards, ended, numpy.zeros(self.num_envs, bool), self._inform()

    def _inform(self):
        evaluations, present = self._episodes.evaluations, numpy.ones(self.num_envs, bool)
        info = {"action_mask": self._episodes.masks(), "objective_us": evaluations.objective_us.copy(),
                "step_time_us": evaluations.step_time_us.copy(), "fits": evaluations.status == Status.OK}
        return {**info, **{"_" + key: present for key in info}}


if gymnasium is not None:
    gymnasium.register(id="emplace/Placement-v0", entry_point="emplace.gymnasium_env:PlacetoEnv",
                       vector_entry_point="emplace.gymnasium_env:PlacetoVectorEnv")
