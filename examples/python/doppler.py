"""DOPPLER (Yao et al., ICLR 2026): two policies, one selects the next op, the other places it on a device.

Both imitate critical-path list scheduling first, and then learn by REINFORCE from simulated steps. The four graphs of
the paper are generated below, as are four GPUs with the costs of its simulator. As in the paper, messages are passed
once an episode, and actions are epsilon-greedy. Unlike there, 32 episodes run at a time, rewards are not discounted, an
op's score does not depend on which others are ready, and networks are smaller: 32 features and 4 rounds, not 128 and 6.

Needs PyTorch: pip install torch. `doppler.py [EVALUATIONS [SEEDS]]` compares the agent, its ablations and others.
"""
import collections
import sys

import emplace
import numpy
import torch
from torch import nn

HIDDEN, ROUNDS, EPISODES, IMITATIONS, IMITATION_RATE = 32, 4, 32, 40, 3e-3
LEARNING_RATE, EPSILON = 1e-2, 0.2


# ---- The graphs of the paper: matrix products in blocks. An op costs FLOPs / 10^7 us, and sends four bytes for each.
class Blocks:
    """A program under construction. A matrix is a list of rows of blocks, a block the number of the op that makes it.

    Matrices that are there from the start, such as weights, are no ops.
    """

    def __init__(self):
        self.flops, self.edges = [], []

    def op(self, flops, *inputs):
        self.flops.append(flops)
        self.edges += [(block, len(self.flops) - 1) for block in inputs]
        return len(self.flops) - 1

    def product(self, flops, size, rows, columns):
        """Multiplies with a matrix of some columns. A row is a list of parts, a part the blocks that one op reads."""
        return [[self.op(size, *[self.op(flops, *part) for part in row]) for _ in range(columns)] for row in rows]

    def softmax(self, size, length, row):
        largest = self.op(length, *[self.op(size, block) for block in row])
        exponentials = [self.op(size, self.op(size, block, largest)) for block in row]
        total = self.op(length, *[self.op(size, block) for block in exponentials])
        return [self.op(size, block, total) for block in exponentials]

    def norm(self, rows, joined=False):
        """RMSNorm with a cast before and after. `joined` makes one block of each row."""
        normed = []
        for row in rows:
            cast = [self.op(SIZE, *block) for block in row]
            total = self.op(WIDTH, *[self.op(SIZE, self.op(SIZE, block)) for block in cast])
            root = self.op(WIDTH, self.op(WIDTH, total))
            parts = [cast] if joined else [[block] for block in cast]
            normed.append([self.op(SIZE, self.op(SIZE, self.op(SIZE, *part, root))) for part in parts])
        return normed

    def rotate(self, block, *angles):
        """Rotary embedding: by way of complex numbers, half as many."""
        turned = self.op(SIZE // 2, self.op(SIZE // 2, self.op(SIZE, block)), *angles)
        return self.op(SIZE, self.op(SIZE, turned))

    def graph(self, name):
        return emplace.from_arrays({"name": [f"op{i}" for i in range(len(self.flops))], "flops": self.flops,
                                    "cost_us:gpu-doppler": [flops / 1e7 for flops in self.flops],
                                    "output_bytes": [4 * flops for flops in self.flops]}, self.edges, name=name)


WIDTH, FEED, HEADS, WORDS = 4096, 11008, 32, 32000  # of Llama-7B; a block has 4,096 rows and columns
SIZE, CUBE = WIDTH**2, WIDTH**3


def chain_mm():
    """(A B) C + D E, in blocks of 10,000 rows and columns."""
    blocks, side = Blocks(), 10**4
    ab = blocks.product(side**3, side**2, [[()] * 4] * 2, 2)
    abc = blocks.product(side**3, side**2, [[(block,) for block in row] for row in ab], 4)
    de = blocks.product(side**3, side**2, [[()] * 2] * 2, 4)
    for row, other in zip(abc, de):
        for block, added in zip(row, other):
            blocks.op(side**2, block, added)
    return blocks.graph("chain-mm")


def ffnn():
    """softmax(relu(X V) W), with 2^15 x 2^16 blocks of the hidden layer, and 2^5 columns of X and W."""
    blocks = Blocks()
    hidden = blocks.product(2**36, 2**31, [[()]] * 4, 4)
    hidden = [[(blocks.op(2**31, block),) for block in row] for row in hidden]
    for row in blocks.product(2**36, 2**20, hidden, 1):
        for _ in range(4):
            blocks.softmax(2**20, 2**15, row)
    return blocks.graph("ffnn")


def llama(layer):
    """A Llama block: norm, attention and feed-forward. As a layer, with mask and head, and other ways to split."""
    blocks = Blocks()
    masks, angles = ([blocks.op(SIZE) for _ in range(2)], [blocks.op(2**18)]) if layer else ([], [])
    x = blocks.norm([[(), ()]] * 2)
    by_row, by_column = [[tuple(row)] for row in x], [list(zip(*x))]
    wide, deep = (by_row, by_column) if layer else (by_column, by_row)
    query, key = ([[blocks.rotate(block, *angles) for block in row] for row in blocks.product(CUBE, SIZE, rows, 2)]
                  for rows in (wide, deep))
    value, attended = blocks.product(CUBE, SIZE, deep, 2), []
    for heads in range(2):  # one half each
        outputs = []
        for rows, queries in enumerate(query):
            scores = []
            for keys in key:
                score = blocks.op(SIZE * HEADS, blocks.op(CUBE, queries[heads], keys[heads]))
                score = blocks.op(SIZE * HEADS, score)
                score = blocks.op(SIZE * HEADS, score, masks[rows]) if layer else score
                scores.append(blocks.op(SIZE * HEADS, score))
            shares = [blocks.op(SIZE * HEADS, share)
                      for share in blocks.softmax(SIZE * HEADS, WIDTH * HEADS, scores)]
            outputs.append(blocks.op(SIZE, *[blocks.op(CUBE, share, values[heads])
                                             for share, values in zip(shares, value)]))
        attended.append(outputs)
    projected = blocks.product(CUBE, SIZE, [[(block,) for block in row] for row in zip(*attended)], 1 if layer else 2)
    residual = [[blocks.op(SIZE, block) for block in row] for row in projected]
    rows = [[tuple(row)] for row in blocks.norm([[(block,) for block in row] for row in residual], joined=True)]
    gate, up = (blocks.product(SIZE * FEED, WIDTH * FEED, rows, 2 if layer else 4) for _ in range(2))
    hidden = [[(blocks.op(WIDTH * FEED, blocks.op(WIDTH * FEED, a), b),) for a, b in zip(*both)]
              for both in zip(gate, up)]
    down = blocks.product(SIZE * FEED, SIZE, hidden, 1)
    added = [blocks.op(SIZE, *row, *more) for row, more in zip(residual, down)]
    if layer:  # the last word alone is predicted
        last = blocks.norm([[(block,)] for block in added])[-1]
        blocks.product(WIDTH * WORDS, WORDS, [[(blocks.op(WIDTH, blocks.op(WIDTH, *last)),)]], 4)
    return blocks.graph("llama-layer" if layer else "llama-block")


def four_gpus():
    """Equal devices that run one op at a time, and links that transfers do not share."""
    names = [f"gpu:{i}" for i in range(4)]
    profile = {"device_class": "gpu-doppler", "peak_flops_per_s": 1e13, "memory_bytes_per_s": 1e18,
               "memory_bytes": 10**15}
    links = [{"between": [a, b], "bandwidth_bytes_per_us": 1e7, "latency_us": 0.0, "sharing": "fatpipe"}
             for a in names for b in names if a < b]
    return emplace.cluster(devices=[{"name": name, "profile": profile} for name in names], links=links)


# ---- The agent.
class Graph:
    """The tensors of a problem. A group of ops is placed as one; times are in units of the mean time of a group."""

    def __init__(self, problem):
        self.devices = problem.placeable_devices
        costs = problem.costs[:, self.devices]
        unit_us, groups, edges = costs.mean() or 1.0, len(costs), problem.edges
        self.costs, mean_costs = torch.tensor(costs / unit_us).float(), costs.mean(1) / unit_us
        transfers = numpy.array([[[problem.transfer_us(int(size), a, b) if a != b else 0.0 for b in self.devices]
                                  for a in self.devices] for size in (*problem.edge_bytes, 0)]) / unit_us
        transfers[-1] = 0.0  # of no edge, which fills the rows of `inputs`
        self.transfers = torch.tensor(transfers).float()  # by edge, device of the producer, device that reads
        mean_transfers = transfers.sum((1, 2)) / max(len(self.devices) * (len(self.devices) - 1), 1)
        incoming, outgoing = ([numpy.flatnonzero(edges[:, side] == group) for group in range(groups)]
                              for side in (1, 0))
        most = max(1, *map(len, incoming))
        self.inputs = torch.tensor([[*some, *[len(edges)] * (most - len(some))] for some in incoming]).long()
        self.producers = torch.tensor([*edges[:, 0], groups]).long()[self.inputs]
        self.reads = torch.zeros(groups, groups).index_put_(tuple(torch.tensor(edges.T).long()), torch.tensor(1.0),
                                                            accumulate=True)
        # The longest ways to the end and from the start: their lengths, and the groups on them.
        order, levels, self.ways = problem.order.tolist(), [], []
        for walk, onward, end in ((order[::-1], outgoing, 1), (order, incoming, 0)):
            lengths, ways = mean_costs.copy(), torch.eye(groups)
            for group in walk:
                if len(onward[group]):
                    through = mean_transfers[onward[group]] + lengths[edges[onward[group], end]]
                    lengths[group] += through.max()
                    ways[group] += ways[edges[onward[group][through.argmax()], end]]
            levels.append(lengths)
            self.ways.append(ways)
        self.bottom_level = torch.tensor(levels[0]).float()
        sums = [[mean_transfers[some].sum() for some in side] for side in (incoming, outgoing)]
        self.features = normalized(torch.tensor(numpy.stack([mean_costs, *levels, *sums], 1)).float(), 0)
        both_ways = torch.tensor(numpy.concatenate([edges, edges[:, ::-1]])).long()
        self.sources, self.targets = both_ways.T
        self.edge_features = normalized(torch.tensor(numpy.tile(mean_transfers[:-1], 2)).float()[:, None], 0)


def normalized(values, dim):
    values = values - values.mean(dim, keepdim=True)
    return values / (values.square().mean(dim, keepdim=True) + 1e-12).sqrt()


class Embedding(nn.Module):
    """What a policy knows of each group: of itself, and by messages along the edges and against them."""

    def __init__(self):
        super().__init__()
        self.own, self.start, self.message = nn.Linear(5, HIDDEN), nn.Linear(5, HIDDEN), nn.Linear(HIDDEN + 1, HIDDEN)
        self.update, self.activation = nn.GRUCell(HIDDEN, HIDDEN), nn.LeakyReLU(0.1)

    def forward(self, graph):
        x = self.activation(self.start(graph.features))
        for _ in range(ROUNDS):
            messages = self.activation(self.message(torch.cat([x[graph.sources], graph.edge_features], 1)))
            x = self.update(torch.zeros_like(x).index_add(0, graph.targets, messages), x)
        return x, self.activation(self.own(graph.features))


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.select, self.place = Embedding(), Embedding()
        self.select_score = nn.Sequential(nn.Linear(4 * HIDDEN, HIDDEN), nn.LeakyReLU(0.1), nn.Linear(HIDDEN, 1))
        self.of_group, self.of_neighbour = nn.Linear(2 * HIDDEN, HIDDEN), nn.Linear(HIDDEN, HIDDEN)
        self.of_device, self.place_score = nn.Linear(5, HIDDEN), nn.Linear(HIDDEN, 1)

    def group_scores(self, graph):
        x, own = self.select(graph)
        return self.select_score(torch.cat([own, x, *[normalized(ways @ x, 0) for ways in graph.ways]], 1)).squeeze(1)

    def groups_to_place(self, graph):
        """Embeds each group twice: as the one to be placed, and as one that is on a device."""
        x, own = self.place(graph)
        return self.of_group(torch.cat([own, x], 1)), self.of_neighbour(x)

    def device_scores(self, group, features, sums):
        """Scores (..., devices) for a group to place; `sums` embeds what is on each device by then."""
        hidden = group[..., None, :] + self.of_device(normalized(features, -2)) + normalized(sums, -2)
        return self.place_score(nn.functional.leaky_relu(hidden, 0.1)).squeeze(-1)


# Of the episodes: placements, and by step what was chosen, which groups were ready, what was known of the devices for
# the chosen group, and what list scheduling would have chosen.
Rollout = collections.namedtuple("Rollout", "placements groups devices masks features best_groups best_devices")


@emplace.agent("doppler", kind="learned", reference="Yao et al., ICLR 2026", parameters={
    "select": emplace.Parameter("learned", choices=("learned", "critical-path"), summary="who selects the next group"),
    "place": emplace.Parameter("learned", choices=("learned", "earliest-finish"), summary="who selects its device")})
class Doppler:
    """Two policies, one that selects the next group and one that places it: imitation, then REINFORCE."""

    def __init__(self, select, place):
        self.learns = select == "learned", place == "learned"
        self.policy = None

    @torch.no_grad()
    def rollout(self, graph, count, generator, epsilon=0.0):
        """Runs some episodes at a time. Critical-path list scheduling says what it would do in each state."""
        groups, devices = graph.costs.shape
        chances = [torch.rand(groups, count, many + 1, generator=generator) for many in (groups, devices)]

        def choose(learned, scores, allowed, best, chances):
            """What is done, and what list scheduling would do. Among groups that look alike, the first is chosen."""
            taught = chances[:, 1:].masked_fill(~best, -1).argmax(1)
            explored = torch.where(chances[:, :1] < epsilon, chances[:, 1:], scores).masked_fill(~allowed, -1e9)
            return explored.argmax(1) if learned else taught, taught

        (to_place, placed), group_scores = self.policy.groups_to_place(graph), self.policy.group_scores(graph)
        rows, steps = torch.arange(count), []
        placements = torch.zeros(count, groups + 1, dtype=torch.long)  # the last column is that of no group
        starts, ends = torch.zeros(count, groups + 1), torch.zeros(count, groups + 1)
        mean_costs = torch.cat([graph.costs.mean(1), torch.zeros(1)])
        free, loads, sums = (torch.zeros(count, devices, *more) for more in ((), (), (HIDDEN,)))
        missing = graph.reads.sum(0).repeat(count, 1)
        for group_chances, device_chances in zip(*chances):
            mask = missing == 0  # those that are ready
            levels = graph.bottom_level.masked_fill(~mask, -1)
            group, best_group = choose(self.learns[0], group_scores, mask, levels == levels.amax(1, keepdim=True),
                                       group_chances)
            producers = graph.producers[group]
            places = placements.gather(1, producers)
            arrivals = ends.gather(1, producers)[..., None] + graph.transfers[graph.inputs[group], places]
            finish = torch.maximum(arrivals.amax(1), free) + graph.costs[group]
            there = nn.functional.one_hot(places, devices) * (producers < groups)[..., None]
            first = torch.where(there > 0, starts.gather(1, producers)[..., None], torch.inf).amin(1)
            features = torch.stack([loads, (there * mean_costs[producers][..., None]).sum(1),
                                    first.nan_to_num(posinf=0.0),
                                    (there * ends.gather(1, producers)[..., None]).amax(1), finish], 2)
            scores = self.policy.device_scores(to_place[group], features, sums)
            device, best_device = choose(self.learns[1], scores, torch.ones_like(scores, dtype=torch.bool),
                                         finish <= finish.amin(1, keepdim=True) * (1 + 1e-6), device_chances)
            steps.append((group, device, mask, features, best_group, best_device))
            placements[rows, group] = device
            ends[rows, group] = free[rows, device] = finish[rows, device]
            starts[rows, group] = finish[rows, device] - graph.costs[group, device]
            loads[rows, device] += graph.costs[group, device]
            sums[rows, device] += placed[group]
            missing -= graph.reads[group]
            missing[rows, group] = -1
        return Rollout(placements[:, :groups], *(torch.stack(some, 1) for some in zip(*steps)))

    def log_probabilities(self, graph, rollout, groups, devices):
        """Returns those of choices in the states of some episodes: (episodes, steps)."""
        total = torch.zeros(groups.shape)
        if self.learns[0]:
            scores = self.policy.group_scores(graph).expand(rollout.masks.shape).masked_fill(~rollout.masks, -1e9)
            total = total + scores.log_softmax(2).gather(2, groups[..., None]).squeeze(2)
        if self.learns[1]:
            to_place, placed = self.policy.groups_to_place(graph)
            there = nn.functional.one_hot(rollout.devices, len(graph.devices))[..., None]
            added = there * placed[rollout.groups][:, :, None]
            sums = added.cumsum(1) - added  # before each step
            scores = self.policy.device_scores(to_place[rollout.groups], rollout.features, sums)
            total = total + scores.log_softmax(2).gather(2, devices[..., None]).squeeze(2)
        return total

    def update(self, optimizer, loss):
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.policy.parameters(), 1.0)
        optimizer.step()

    def prepare(self, graphs, evaluators):
        """Makes a new policy that imitates if there is none; returns a source of random numbers."""
        seed = evaluators[0].random.bits() >> 1
        generator = torch.Generator().manual_seed(seed)
        if self.policy is None:
            torch.manual_seed(seed)
            self.policy = Policy()
            self.imitate(graphs, evaluators, generator)
        return generator

    def train(self, problems, evaluators, report):
        graphs = list(map(Graph, problems))
        self.reinforce(graphs, evaluators, report, self.prepare(graphs, evaluators))

    @torch.no_grad()
    def place_with_policy(self, problem, evaluator):
        graph = Graph(problem)
        best = graph.devices[self.rollout(graph, 1, torch.Generator().manual_seed(0)).placements[0].numpy()]
        evaluator.evaluate(best)
        return best

    def place(self, problem, evaluator):
        """The most probable placement, then samples from which the policy learns."""
        graphs, evaluators = [Graph(problem)], [evaluator]
        generator = self.prepare(graphs, evaluators)
        best = self.place_with_policy(problem, evaluator)
        self.reinforce(graphs, evaluators, lambda *_: True, generator)
        return best if evaluator.best_placement is None else evaluator.best_placement

    def imitate(self, graphs, evaluators, generator):
        """Learns what critical-path list scheduling would do in the states that the policy comes to."""
        optimizer = torch.optim.Adam(self.policy.parameters(), IMITATION_RATE)
        for done in range(IMITATIONS if any(self.learns) else 0):
            for graph in graphs:
                if any(evaluator.exhausted for evaluator in evaluators):
                    return
                rollout = self.rollout(graph, EPISODES // 4, generator, 1 - done / IMITATIONS)
                taught = self.log_probabilities(graph, rollout, rollout.best_groups, rollout.best_devices)
                self.update(optimizer, -taught.mean())

    def reinforce(self, graphs, evaluators, report, generator):
        """Learns from simulated steps. The baseline is the mean over all episodes of a graph so far, of logarithms."""
        optimizer, sums, episodes = torch.optim.Adam(self.policy.parameters()), numpy.zeros(len(graphs)), 0
        while not any(evaluator.exhausted for evaluator in evaluators):
            optimizer.param_groups[0]["lr"] = LEARNING_RATE * (1 - evaluators[0].share_used)
            last_us, episodes = [], episodes + EPISODES
            for index, (graph, evaluator) in enumerate(zip(graphs, evaluators)):
                rollout = self.rollout(graph, EPISODES, generator, EPSILON * (1 - evaluator.share_used))
                evaluations = evaluator.evaluate(graph.devices[rollout.placements.numpy()])
                if (evaluations.status == emplace.Status.BUDGET_SPENT).any():
                    return
                logs = numpy.log(evaluations.objective_us)
                sums[index] += logs.sum()
                advantages = torch.tensor((sums[index] / episodes - logs) / (logs.std() + 1e-6)).float()
                last_us.append(evaluations.objective_us.mean())
                if any(self.learns):
                    chosen = self.log_probabilities(graph, rollout, rollout.groups, rollout.devices)
                    self.update(optimizer, -(advantages * chosen.sum(1)).mean())
            if not report(episodes * len(graphs), last_us):
                return

    def evaluations_per_episode(self, groups):
        return 1

    def save(self):
        return {name: tensor.tolist() for name, tensor in self.policy.state_dict().items()}

    def load(self, policy):
        self.policy = Policy()
        self.policy.load_state_dict({name: torch.tensor(values) for name, values in policy.items()})


AGENTS = ["heft", "doppler:select=critical-path,place=earliest-finish", "doppler", "doppler:place=earliest-finish",
          "doppler:select=critical-path", "placeto", "rnn-hdp", "learned-search"]


def compare(evaluations, seeds):
    """Prints the step that each agent finds, in ms: the median over the seeds."""
    problems = [emplace.problem(graph, four_gpus()) for graph in (chain_mm(), ffnn(), llama(False), llama(True))]
    problems += [emplace.problem(graph, "p2-8xlarge-4", groups=128) for graph in ("rnnlm", "inception-v3")]
    print(f"{'':50}", *[f"{problem.graph:>12}" for problem in problems])
    for agent in AGENTS:
        steps_us = [numpy.median([emplace.place(problem, agent, evaluations=evaluations, seed=seed).step_time_us
                                  for seed in range(seeds)]) for problem in problems]
        print(f"{agent:50}", *[f"{step_us / 1e3:12.1f}" for step_us in steps_us], flush=True)


if __name__ == "__main__":
    torch.set_num_threads(1)
    compare(*map(int, sys.argv[1:] + ["2000", "3"][len(sys.argv) - 1:]))
