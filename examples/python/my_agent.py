"""An agent in Python: evaluates batches of placements near the best one."""
import emplace
import numpy


@emplace.agent("mutate", parameters={"batch": emplace.Parameter(32, 1, 1000, summary="placements of a batch"),
                                     "rate": emplace.Parameter(0.02, 0.0, 1.0, summary="share of groups that move")})
class Mutate:
    """Moves a few groups of the best placement at random, many times in parallel."""

    def __init__(self, batch, rate):
        self.batch, self.rate = batch, rate

    def place(self, problem, evaluator):
        devices = problem.placeable_devices
        best = numpy.full(problem.num_groups, devices[0])
        evaluator.evaluate(best)
        shape = (self.batch, problem.num_groups)
        while not evaluator.exhausted:
            others = devices[evaluator.random.integers(len(devices), shape)]
            moves = evaluator.random.uniform(shape) < self.rate
            evaluator.evaluate(numpy.where(moves, others, evaluator.best_placement))
        return best if evaluator.best_placement is None else evaluator.best_placement
