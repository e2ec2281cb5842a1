#!/usr/bin/env python3
"""The table of moe/RESULTS.md on balancing methods, from the runs of moe/sweeps/methods.yaml.

usage: methods.py FOLDER [--base CASE] [--from STEP] [--below MAXVIO]

FOLDER holds one folder for each run, CASE,seed=N. MaxVio (SPEC.md V1, V2) is the mean over layers. Printed for each
case, with mean and sample deviation over seeds: the validation loss; MaxVio of loads and of mean probabilities on the
validation text; of the training batches from step STEP on the mean and the worst MaxVio of loads; the step from which
on the mean MaxVio of 50 batches is below MAXVIO for good. Then the differences in validation loss from CASE, paired by
seed, with 95 % intervals of Student's t.
"""
import argparse
import glob
import json
import math
import os
import re
import statistics

T95 = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262]  # two-sided, 1 to 9 degrees of freedom
WINDOW = 50


def read(folder, first, below):
    """The figures of one run."""
    with open(os.path.join(folder, "result.json")) as f:
        validation = json.load(f).get("validation")
    if not validation:  # stopped before its end
        return None
    loads = []
    with open(os.path.join(folder, "metrics.jsonl")) as f:
        for line in f:
            row = json.loads(line)
            if row["type"] == "step":
                loads.append(statistics.fmean(layer["maxvio_loads"] for layer in row["layers"]))
    means = [statistics.fmean(loads[i : i + WINDOW]) for i in range(len(loads) - WINDOW + 1)]
    reached = len(means)
    while reached > 0 and means[reached - 1] < below:
        reached -= 1
    layers = validation["layers"]
    return {
        "loss": validation["loss"],
        "loads": statistics.fmean(layer["maxvio_loads"] for layer in layers),
        "mean": statistics.fmean(layer["maxvio_mean"] for layer in layers),
        "batch": statistics.fmean(loads[first:]),
        "worst": max(loads[first:]),
        "reached": reached + 1 if reached < len(means) else None,
    }


def spread(values, digits):
    text = f"{statistics.fmean(values):.{digits}f}"
    return text if len(values) < 2 else f"{text} ± {statistics.stdev(values):.{digits}f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--base", default="phi_negentropy")
    parser.add_argument("--from", type=int, default=200, dest="first")
    parser.add_argument("--below", type=float, default=0.5)
    a = parser.parse_args()
    cases = {}
    for result in glob.glob(os.path.join(a.folder, "*,seed=*", "result.json")):
        folder = os.path.dirname(result)
        case, seed = re.fullmatch(r"(.*),seed=(\d+)", os.path.basename(folder)).groups()
        figures = read(folder, a.first, a.below)
        if figures:
            cases.setdefault(case, {})[int(seed)] = figures
    print("| method | seeds | loss | MaxVio, loads | MaxVio, mean probabilities | batches, mean | worst batch | balanced from step |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for case, runs in sorted(cases.items(), key=lambda item: statistics.fmean(r["batch"] for r in item[1].values())):
        column = lambda key: [r[key] for r in runs.values()]
        reached = [r for r in column("reached") if r]
        step = f"{statistics.median(reached):.0f}" if len(reached) == len(runs) else f"{len(reached)} of {len(runs)} runs"
        print(
            f"| {case.replace('_', ' ')} | {len(runs)} | {spread(column('loss'), 3)} | {spread(column('loads'), 3)} | "
            f"{spread(column('mean'), 3)} | {spread(column('batch'), 3)} | {max(column('worst')):.2f} | {step} |"
        )
    base = cases[a.base]
    print(f"\n| loss less that of {a.base.replace('_', ' ')}, nats | seeds | difference | 95 % interval |")
    print("| --- | --- | --- | --- |")
    for case, runs in sorted(cases.items()):
        both = sorted(set(runs) & set(base))
        if case == a.base or len(both) < 2:
            continue
        differences = [runs[s]["loss"] - base[s]["loss"] for s in both]
        mean = statistics.fmean(differences)
        half = T95[len(both) - 2] * statistics.stdev(differences) / math.sqrt(len(both))
        print(f"| {case.replace('_', ' ')} | {len(both)} | {mean:+.4f} | {mean - half:+.4f} to {mean + half:+.4f} |")


if __name__ == "__main__":
    main()
