#!/usr/bin/env python3
"""An agent in Python that speaks the agent protocol of emplace: it moves one group at a time and keeps what is better.

    emplace place inception-v3 --cluster p2-8xlarge-2 --agent exec:examples/exec/hill_climb.py

Needs the standard library only.
"""
import json
import random
import sys

BATCH = 32  # placements in a request, which emplace simulates in parallel


def send(message):
    """Writes one line, at once."""
    print(json.dumps(message, separators=(",", ":")), flush=True)


def receive():
    """Reads one line; without one, emplace has no more use for an answer."""
    line = sys.stdin.readline()
    return json.loads(line) if line else sys.exit(0)


def neighbour(placement, devices, rng):
    """Returns the placement with one group on another device."""
    moved = list(placement)
    group = rng.randrange(len(moved))
    moved[group] = rng.choice([device for device in devices if device != moved[group]])
    return moved


def climb(problem):
    """Returns the best placement that fits into the budget."""
    rng = random.Random(problem["seed"])
    devices = [index for index, device in enumerate(problem["devices"]) if device["placeable"]]
    best = [devices[0]] * problem["groups"]["count"]
    if len(devices) == 1:
        return best
    send({"evaluate": [best]})
    answer = receive()
    objective = answer["objective_us"][0]
    while answer["evaluations_left"] != 0:
        batch = [neighbour(best, devices, rng) for _ in range(BATCH)]
        send({"evaluate": batch})
        answer = receive()
        for placement, status, us in zip(batch, answer["status"], answer["objective_us"]):
            if status != "budget-spent" and us < objective:
                best, objective = placement, us
    send({"best": True})
    known = receive()["best"]
    return known["placement"] if known else best


def main():
    send({"hello": "emplace-agent", "version": 1})
    send({"placement": climb(receive()["problem"])})


if __name__ == "__main__":
    main()
