#!/usr/bin/env python3
"""Prints how far the four ways of a PyTorch model into emplace agree, as Markdown.

    python3 tests/python/judges/agreement.py [--details] [--update] [ARCHITECTURE...]

A cell has the differences from emplace.from_torch() (or the next way, if that is refused), or "equal" if none is above
1 %: of kinds (ops that one has and the other has not, by all ops), FLOPs, bytes and simulated time of a step on a GPU.
`--details` adds what fails, with numbers and kinds; `--update` writes known_failures.txt again for these architectures,
with the reasons that it has.
"""
import argparse
import collections
import pathlib

import emplace
import ways_in
from architectures import ARCHITECTURES
from facts import TOLERANCE, differences, kinds_that_differ, ratio

MODES = {False: "inference", True: "training"}
KNOWN = pathlib.Path(__file__).with_name("known_failures.txt")

Outcome = collections.namedtuple("Outcome", "parameters counted facts failures")


def base_of(facts, training):
    """Returns the Facts with which others are compared: those of the first way that is not refused."""
    return next((facts[way, training] for way in ways_in.WAYS if not isinstance(facts[way, training], Exception)), None)


def judge(name):
    """Returns the Outcome of an architecture: what fails is {(way, mode, check): what was found}."""
    model, inputs = ARCHITECTURES[name]()
    parameters = sum(parameter.numel() for parameter in model.parameters())
    counted = ways_in.counted_flops(model, inputs)
    facts = ways_in.facts_of(model, inputs)
    failures = {}
    for (way, training), found in facts.items():
        mode = MODES[training]
        if isinstance(found, Exception):
            check = "import" if isinstance(found, emplace.Error) else "export"
            failures[way, mode, check] = str(found).replace("\n", " ")
            continue
        if found.parameters != parameters:
            failures[way, mode, "parameters"] = f"{found.parameters}, PyTorch has {parameters}"
        if not training and abs(ratio(found.products, counted)) > TOLERANCE:
            failures[way, mode, "products"] = f"{found.products} FLOPs, PyTorch counts {counted}"
        for what, share in differences(found, base_of(facts, training)).items():
            if abs(share) > TOLERANCE:
                more = f": {kinds_that_differ(found, base_of(facts, training))}" if what == "kinds" else ""
                failures[way, mode, what] = f"{100 * share:+.1f} %{more}"
    return Outcome(parameters, counted, facts, failures)


def known_failures():
    """Returns {architecture: {(way, mode, check): reason}}."""
    known = collections.defaultdict(dict)
    reason = ""
    for line in KNOWN.read_text().splitlines():
        if line.startswith("# "):
            reason = line[2:]
        elif line and not line.startswith("#"):
            name, way, mode, *checks = line.split()
            known[name].update({(way, mode, check): reason for check in checks})
    return known


def cell(outcome, way, training):
    found = outcome.facts[way, training]
    if isinstance(found, Exception):
        return "refused" if isinstance(found, emplace.Error) else "no export"
    base = base_of(outcome.facts, training)
    shares = {what: share for what, share in differences(found, base).items() if abs(share) > TOLERANCE}
    return ", ".join(f"{what} {100 * share:+.0f} %" for what, share in shares.items()) or "equal"


def print_row(name, outcome):
    def of_base(training, text):
        base = outcome.facts["from-torch", training]
        return "refused" if isinstance(base, Exception) else text(base)

    cells = [name, f"{outcome.parameters:,}", f"{outcome.counted / 1e6:.2f}",
             of_base(False, lambda base: f"{base.products / 1e6:.2f}")]
    for training in MODES:
        cells.append(of_base(training, lambda base: f"{base.step_us:.0f}"))
        cells += [cell(outcome, way, training) for way in ways_in.WAYS[1:]]
    print(f"| {' | '.join(cells)} |", flush=True)


def write_known(known):
    """Writes known_failures.txt again, with the lines of each reason together."""
    by_reason = collections.defaultdict(lambda: collections.defaultdict(list))
    for name in [*ARCHITECTURES, *sorted(set(known) - set(ARCHITECTURES))]:
        for (way, mode, check), reason in known.get(name, {}).items():
            by_reason[reason][name, way, mode].append(check)
    header = "".join(line for line in KNOWN.open() if line.startswith("#:"))
    parts = ["\n".join([f"# {reason}", *(" ".join((*key, *checks)) for key, checks in lines.items())])
             for reason, lines in sorted(by_reason.items())]
    KNOWN.write_text(header + "".join(f"\n{part}\n" for part in parts))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("architectures", nargs="*")
    parser.add_argument("--details", action="store_true")
    parser.add_argument("--update", action="store_true")
    options = parser.parse_args()
    known = known_failures()
    details = []
    print("| architecture | parameters | MFLOP, PyTorch | emplace | inference [us] |",
          *(f"{way} |" for way in ways_in.WAYS[1:]), "training [us] |", *(f"{way} |" for way in ways_in.WAYS[1:]))
    print("|" + 12 * "---|")
    for name in options.architectures or ARCHITECTURES:
        outcome = judge(name)
        print_row(name, outcome)
        known[name] = {key: known[name].get(key, "not explained yet") for key in outcome.failures}
        details += [f"{name} {' '.join(key)}: {found}" for key, found in outcome.failures.items()]
    if options.details:
        print("", *details, sep="\n")
    if options.update:
        write_known(known)


if __name__ == "__main__":
    main()
