#!/usr/bin/env python3
"""Makes pages of the tables in cells/, and compares a run with them. Needs pandas.

    pages.py FOLDER                    writes FOLDER/SUITE.md for each table
    pages.py --compare SUITE TABLES    lists the cells of a run that differ from the table; exit code 1 if any do
    pages.py --table SUITE TABLES      replaces the table by that of a run
    pages.py --generalization FILE     draws the steps on unseen graphs of paper-generalization; needs matplotlib
    pages.py --leaderboard FILE        writes leaderboard.md, from the table of standard and bench/best_known

TABLES is a folder with cells.csv and histories.csv: `emplace report RUN --table cells -o TABLES/cells.csv`.
"""
import gzip
import json
import math
import pathlib
import re
import sys

import pandas

CELLS = pathlib.Path(__file__).parent / "cells"
BEST_KNOWN = pathlib.Path(__file__).parents[2] / "bench" / "best_known"
SUITES = pathlib.Path(__file__).parents[2] / "bench" / "suites"
ALWAYS = ["graph", "cluster", "agent", "repetition", "max_evaluations", "status", "step_time_us", "evaluations"]
KEYS = ["graph", "cluster", "agent", "label", "policy", "max_evaluations", "repetition"]
# Left out of a table where all cells of the suite agree.
SOMETIMES = ["label", "policy", "learns", "grouping", "problem_groups", "decision_groups", "bound_us", "devices",
             "evaluations_to_best", "evaluations_to_near_best", "evaluations_to_baseline", "wall_s"]
# Another run may differ in these: one is measured, the other needs all cells of the suite.
NOT_COMPARED = ["wall_s", "evaluations_to_baseline"]


def label(cells):
    """Returns the column with what a suite calls its agents."""
    return "label" if "label" in cells else "agent"


def read_text(path):
    """Reads a table whose fields stay the text they are, so that no figure loses a digit."""
    return pandas.read_csv(path, dtype=str, keep_default_na=False)


def evaluations_to_baseline(cells, histories, baselines):
    """Returns the evaluations until each cell had a step as short as the best median of the baselines."""
    steps = pandas.to_numeric(cells.step_time_us.where(cells.status == "ok"))
    problem = [cells.graph, cells.cluster]
    medians = steps.where(cells.label.isin(baselines)).groupby(problem + [cells.label]).median()
    target = medians.groupby(level=[0, 1]).min().rename("target")
    improvements = histories.merge(cells.join(target, on=["graph", "cluster"])[["id", "target"]], on="id")
    reached = ((pandas.to_numeric(improvements.step_time_us) <= improvements.target) &
               (improvements.bytes_over == "0"))
    first = improvements[reached].drop_duplicates("id").set_index("id").evaluations
    return cells.id.map(first).fillna("")


def make_table(suite, tables, columns=None):
    """Returns the table of a run with its rows in order, and all columns that vary unless told which."""
    cells = read_text(tables / "cells.csv")
    baselines = json.loads((SUITES / f"{suite}.json").read_text()).get("baselines", [])
    if baselines:
        histories = read_text(tables / "histories.csv")
        cells["evaluations_to_baseline"] = evaluations_to_baseline(cells, histories, baselines)
    # A placement reads "0*3 1": three groups on device 0, then one on device 1.
    cells["devices"] = cells.placement.map(lambda text: str(len({run.split("*")[0] for run in text.split()})))
    cells["wall_s"] = cells.wall_s.astype(float).map("{:.4g}".format)
    if columns is None:
        columns = ALWAYS + [each for each in SOMETIMES if each in cells and cells[each].nunique() > 1]
        if (cells.label == cells.agent).all():
            columns.remove("label")

    def in_order(column):
        return column.map(lambda text: re.sub(r"\d+", lambda number: number[0].zfill(9), text))

    return cells.sort_values(["graph", "cluster", "label", "repetition"], key=in_order, kind="stable")[columns]


def write_table(suite, tables):
    text = make_table(suite, tables).to_csv(index=False)
    (CELLS / f"{suite}.csv.gz").write_bytes(gzip.compress(text.encode(), 9, mtime=0))


def compare(suite, tables):
    """Prints the cells of a run that differ from the table; returns whether there are any."""
    stored = read_text(CELLS / f"{suite}.csv.gz")
    columns = [each for each in stored if each not in NOT_COMPARED]
    run = make_table(suite, tables, columns)
    keys = [each for each in KEYS if each in columns]
    known = stored[columns].merge(run[keys], on=keys)
    both = known.merge(run, how="outer", indicator="from")
    same = (both["from"] == "both").sum()
    if same < len(run):
        others = both[both["from"] != "both"].astype({"from": str})
        others = others.replace({"from": {"left_only": "table", "right_only": "run"}})
        print(others.sort_values(keys).to_csv(index=False), end="")
    print(f"{suite}: {same} of {len(run)} cells as in the table, which has {len(stored)}")
    return bool(same < len(run))


def summarize(cells):
    """Returns a row for each agent on one graph and cluster, the fastest first."""
    cells = cells.assign(step=(cells.step_time_us / 1000).where(cells.status == "ok"))
    groups = cells.groupby(label(cells), sort=False)
    rows = groups.step.agg(["median", "min", "max"])
    rows["seeds"] = groups.size()
    rows["memory"] = (cells.status == "out_of_memory").groupby(cells[label(cells)]).sum()
    rows["evaluations"] = groups.evaluations.median()
    if "evaluations_to_baseline" in cells:
        rows["baseline"] = groups.evaluations_to_baseline.agg(lambda counts: counts.fillna(float("inf")).median())
    rows["over"] = rows["median"] / rows["median"].min()
    return rows.sort_values("median", kind="stable")


def text_of(value, form):
    return "-" if pandas.isna(value) or value == float("inf") else format(value, form)


def write_page(suite, path):
    cells = pandas.read_csv(CELLS / f"{suite}.csv.gz")
    columns = {"median": ("median [ms]", ".1f"), "min": ("min", ".1f"), "max": ("max", ".1f"),
               "seeds": ("seeds", "d"), "memory": ("out of memory", "d"), "evaluations": ("evaluations", ".0f"),
               "baseline": ("to baseline", ".0f"), "over": ("ratio to best", ".3f")}
    lines = [f"# {suite}", "",
             f"{len(cells)} cells. Steps are of the seeds that fit into memory; evaluations are medians. To baseline: "
             "evaluations until a step was as short as the fastest baseline's in the end."]
    for (graph, cluster), part in cells.groupby(["graph", "cluster"], sort=False):
        rows = summarize(part)
        shown = {each: form for each, form in columns.items() if each in rows}
        lines += ["", f"## {graph} on {cluster}", "",
                  f"| agent | {' | '.join(title for title, _ in shown.values())} |", f"|---|{'---:|' * len(shown)}"]
        for agent, row in zip(rows.index, rows.itertuples()):
            fields = [text_of(getattr(row, each), form) for each, (_, form) in shown.items()]
            lines.append(f"| {agent} | {' | '.join(fields)} |")
    path.write_text("\n".join(lines) + "\n")


# The agents of the picture, by their labels, with their colours of the report's palette.
ON_UNSEEN_GRAPHS = {"learned-search zero-shot, 257": "#1b7837", "placeto (paper, 640) zero-shot, 257": "#2166ac",
                    "rnn-hdp zero-shot, 257": "#e08214", "rnn-colocrl zero-shot, 257": "#b2182b",
                    "human-expert": "#878787", "random, 257": "#40004b"}
TRAINED_ON_THE_GRAPH = "placeto (paper) per graph, 2,560"


def draw_generalization(path):
    """Draws for each family the distribution over its graphs, and what more training brings."""
    import matplotlib
    from matplotlib import pyplot
    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "emplace", "font.size": 9})
    cells = pandas.read_csv(CELLS / "paper-generalization.csv.gz")
    medians = cells[cells.status == "ok"].groupby(["label", "graph"]).step_time_us.median()
    ratios = medians / medians[TRAINED_ON_THE_GRAPH].reindex(medians.index, level="graph")
    figure, axes = pyplot.subplots(2, 3, figsize=(9, 5.6), sharey="row", layout="constrained")
    for family, (above, below) in zip(["cifar10", "ptb", "nmt-family"], axes.T):
        part = ratios[ratios.index.get_level_values("graph").str.startswith(family + ":")]
        for label, color in ON_UNSEEN_GRAPHS.items():
            some = part[label].sort_values()
            above.step(some, [(i + 1) / len(some) for i in range(len(some))], where="post", color=color, label=label)
        above.axvline(1, color="black", linewidth=0.8)
        above.set(title=family, xscale="log", xlabel="step over trained on the graph")
        above.xaxis.set_major_locator(matplotlib.ticker.LogLocator(subs=(1, 1.5, 2, 3)))
        above.xaxis.set_minor_locator(matplotlib.ticker.NullLocator())
        above.xaxis.set_major_formatter("{x:g}")
        for kind, style in (("257", "o-"), ("one episode", "s--")):
            labels = [each for each in part.index.levels[0]
                      if re.fullmatch(r"placeto \(paper, \d+\) zero-shot, " + kind, each) and each in part]
            episodes = [int(re.search(r"\d+", each)[0]) for each in labels]
            means = [100 * (math.exp(part[each].map(math.log).mean()) - 1) for each in labels]
            below.plot(*zip(*sorted(zip(episodes, means))), style, color="#2166ac", markersize=4,
                       label="257 evaluations" if kind == "257" else "one greedy episode")
        below.axhline(0, color="black", linewidth=0.8)
        below.set(xscale="log", xlabel="training episodes on each of 12 graphs")
        below.xaxis.set_major_formatter("{x:g}")
    axes[0, 0].set_ylabel("share of 16 unseen graphs")
    axes[1, 0].set_ylabel("zero-shot over trained on the graph [%]")
    axes[1, 0].legend(frameon=False)
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
    figure.savefig(path, metadata={"Date": None})


def geometric_mean(ratios):
    return math.exp(ratios.map(math.log).mean())


LEADERBOARD = """# Leaderboard

Every agent on the same problems: the suite `standard`, which places eight networks and a held-out member of each of
four families on three clusters, in 128 groups, with 1, 250 and 5,000 evaluations. Agents whose placements do not
depend on a budget are there once.

- **fits**: on how many of the {problems} problems it fits into memory.
- **over best known**, **over bound**: geometric mean of the ratio of the steps, over the problems on which it fits.
- **within 10 %**, **1 %**: share of the problems on which the step is at most that far above the best known. Those
  placements are of finer groups, with orders, so that on most problems none of 128 groups is as fast.

[Benchmark yours](../guide/write-an-agent.md#4-benchmark-it). `pages.py --leaderboard` makes this page of
`cells/standard.csv.gz` and the [best known placements](../../bench/best_known).

| agent | evaluations | fits | over best known | over bound | within 10 % | within 1 % |
|---|---:|---:|---:|---:|---:|---:|
"""


def write_leaderboard(path):
    cells = pandas.read_csv(CELLS / "standard.csv.gz")
    cells = cells[cells.status != "failed"].set_index(["graph", "cluster"])
    entries = [json.loads(entry.read_text()) for entry in BEST_KNOWN.glob("*.json")]
    best = pandas.Series({(entry["graph"], entry["cluster"]): entry["step_time_us"] for entry in entries})
    cells["best"] = best.reindex(cells.index)
    problems = cells.index.unique()
    rows = []
    for agent, all_cells in cells.groupby("label"):
        steps = all_cells[all_cells.status == "ok"].groupby(level=[0, 1])[["step_time_us", "best", "bound_us"]].median()
        over = steps.step_time_us / steps.best
        rows.append((-len(steps), geometric_mean(over), agent, geometric_mean(steps.step_time_us / steps.bound_us),
                     sum(over <= 1.1) / len(problems), sum(over <= 1.01) / len(problems)))
    text = LEADERBOARD.format(problems=len(problems))
    for fits, over_best, agent, over_bound, close, near in sorted(rows):
        name, _, budget = agent.partition(", ")
        text += (f"| {name} | {f'{int(budget):,} ' if budget else ''}| {-fits} | {over_best:.3f} | {over_bound:.3f} |"
                 f" {close:.0%} | {near:.0%} |\n").replace("%", " %")
    path.write_text(text)


def main():
    if len(sys.argv) == 3 and sys.argv[1] == "--leaderboard":
        return write_leaderboard(pathlib.Path(sys.argv[2]))
    if len(sys.argv) == 3 and sys.argv[1] == "--generalization":
        return draw_generalization(sys.argv[2])
    if len(sys.argv) == 4 and sys.argv[1] == "--compare":
        sys.exit(compare(sys.argv[2], pathlib.Path(sys.argv[3])))
    if len(sys.argv) == 4 and sys.argv[1] == "--table":
        return write_table(sys.argv[2], pathlib.Path(sys.argv[3]))
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for table in sorted(CELLS.glob("*.csv.gz")):
        suite = table.name.removesuffix(".csv.gz")
        write_page(suite, folder / f"{suite}.md")


if __name__ == "__main__":
    main()
