#!/usr/bin/env python3
"""The tables of moe/RESULTS.md on balancing methods: from runs to rows, from rows to tables.

usage: methods.py rows FOLDER... --commit HASH --instructions NAME [--rows FILE]
       methods.py tables [--rows FILE] [--results FILE] [--write | --check]

`rows` takes the finished runs in FOLDER/CASE,seed=N, of the sweeps moe/sweeps/methods.yaml and change.yaml by the
folder's name, and puts a row for each into methods.jsonl, where it stays: HASH and NAME (`phibal info`: kernels) say what
made it. A run that is there already has to come out the same. `tables` makes the tables from that file alone: prints them,
puts them into RESULTS.md between its marks, or checks those there.

Of a run, MaxVio being the mean over layers: on the validation text the loss and MaxVio of loads (SPEC.md V1), of mean
probabilities (V2) and of the loads of single sequences (V6); of the training batches from step 201 on the mean and the worst
MaxVio of loads and of mean probabilities; `reached`, the first step from which on the mean MaxVio of loads of 50 batches
stays below 0.5. Of a run whose domains change after step C: the mean of the last 100 batches before, the mean of the 50
after and the worst one after; `again`, the least n for which the mean of the batches C+n .. C+n+49 is below 0.5; the mean of
the last 100 batches; the validation loss on the domains before and after. Null: never.

Rows that another commit or other instructions made are compared with the first ones only if some run was made by both, with
the same digest: then all bits are the same. Otherwise there is no table.

Differences are paired by seed, with 95 % intervals of Student's t.
"""
import argparse
import glob
import hashlib
import json
import math
import os
import re
import statistics
import sys

T95 = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262]  # two-sided, 1 to 9 degrees of freedom
WINDOW, SETTLED, BELOW, NEAR = 50, 200, 0.5, 100
HERE = os.path.dirname(os.path.abspath(__file__))
BASE = "phi negentropy"


def moving(x):
    return [statistics.fmean(x[i : i + WINDOW]) for i in range(len(x) - WINDOW + 1)]


def reached(x):
    """The first place, from 1, from which on all means of WINDOW are below BELOW."""
    means = moving(x)
    n = len(means)
    while n > 0 and means[n - 1] < BELOW:
        n -= 1
    return n + 1 if n < len(means) else None


def again(x):
    return next((i + 1 for i, mean in enumerate(moving(x)) if mean < BELOW), None)


def change_of(folder):
    """What config.yaml says of a change: its step, and the domains before and after."""
    with open(os.path.join(folder, "config.yaml")) as f:
        text = f.read()
    value = lambda key: (re.search(r"^\s+%s: *[\"']?([^\"'\n]*)" % key, text, re.M) or [None, ""])[1]
    names = lambda weights: [w.rpartition("=")[0] for w in weights.split(",")]
    step = int(value("change_step") or 0)
    return (step, names(value("mixture")), names(value("changed_mixture")), value("train")) if step else (0, [], [], value("train"))


def figures(folder):
    """The row's part that the run decides; None for a run that has not ended."""
    try:
        with open(os.path.join(folder, "result.json")) as f:
            result = json.load(f)
    except FileNotFoundError:
        return None
    if result["stopped"] or not result.get("validation"):
        return None
    mean = lambda layers, key: statistics.fmean(layer[key] for layer in layers)
    loads, means = [], []
    with open(os.path.join(folder, "metrics.jsonl")) as f:
        for line in f:
            row = json.loads(line)
            if row["type"] == "step":
                loads.append(mean(row["layers"], "maxvio_loads"))
                means.append(mean(row["layers"], "maxvio_mean"))
    if len(loads) != result["steps"]:
        raise SystemExit("%s: %d steps in metrics.jsonl, %d in result.json" % (folder, len(loads), result["steps"]))
    validation = result["validation"]
    found = {
        "steps": result["steps"],
        "digest": result["digest"],
        "loss": validation["loss"],
        "accuracy": validation["accuracy"],
        "loads": mean(validation["layers"], "maxvio_loads"),
        "means": mean(validation["layers"], "maxvio_mean"),
        "sequences": mean(validation["layers"], "maxvio_sequences"),
    }
    step, before, after, data = change_of(folder)
    if step:
        domains = {d["name"]: d["loss"] for d in validation["domains"]}
        found |= {
            "before": statistics.fmean(loads[step - NEAR : step]),
            "first_50": statistics.fmean(loads[step : step + WINDOW]),
            "worst_after": max(loads[step:]),
            "again": again(loads[step:]),
            "end": statistics.fmean(loads[-NEAR:]),
            "loss_before": statistics.fmean(domains[d] for d in before),
            "loss_after": statistics.fmean(domains[d] for d in after),
        }
    else:
        found |= {
            "batches": statistics.fmean(loads[SETTLED:]),
            "worst": max(loads[SETTLED:]),
            "batches_means": statistics.fmean(means[SETTLED:]),
            "worst_means": max(means[SETTLED:]),
            "reached": reached(loads),
        }
    with open(data, "rb") as f:
        found["data"] = hashlib.sha256(f.read()).hexdigest()
    return found


def read_rows(path):
    if not os.path.exists(path):
        return []
    with open(path) as f:
        return [json.loads(line) for line in f]


def key_of(row):
    return row["sweep"], row["case"], row["seed"], row["commit"], row["instructions"]


def add_rows(a):
    rows = {key_of(row): row for row in read_rows(a.rows)}
    new = 0
    for folder in a.folders:
        sweep = os.path.basename(os.path.normpath(folder))
        for run in sorted(glob.glob(os.path.join(folder, "*,seed=*"))):
            case, seed = re.fullmatch(r"(.*),seed=(\d+)", os.path.basename(run)).groups()
            found = figures(run)
            if not found:
                continue
            row = {"sweep": sweep, "case": case.replace("_", " "), "seed": int(seed), "commit": a.commit,
                   "instructions": a.instructions} | found
            had = rows.setdefault(key_of(row), row)
            if had != row:
                raise SystemExit("%s: not what %s has" % (run, a.rows))
            new += had is row
    comparable(rows.values())
    with open(a.rows, "w") as f:
        for key in sorted(rows):
            f.write(json.dumps(rows[key]) + "\n")
    print("%d rows, %d of them new" % (len(rows), new))


def comparable(rows):
    """{(sweep, case): {seed: row}}, if all rows' bits are known to agree."""
    first, makers = {}, {}
    for row in rows:
        maker = (row["commit"], row["instructions"])
        makers.setdefault(maker, {})[row["sweep"], row["case"], row["seed"]] = row
    data = {row["data"] for row in rows}
    if len(data) > 1:
        raise SystemExit("rows of different data: %s" % ", ".join(sorted(data)))
    for maker, theirs in sorted(makers.items(), key=lambda item: (-len(item[1]), item[0])):
        common = [key for key in theirs if key in first]
        differ = [key for key in common if theirs[key]["digest"] != first[key]["digest"]]
        if first and not common:
            raise SystemExit("no run was made by %s, %s and by the others: their bits may differ" % maker)
        if differ:
            raise SystemExit("%s: another digest by %s, %s" % (differ[0], *maker))
        first = theirs | first
    cases = {}
    for sweep, case, seed in first:
        cases.setdefault((sweep, case), {})[seed] = first[sweep, case, seed]
    return cases


def spread(runs, key, digits):
    values = [r[key] for r in runs.values()]
    text = f"{statistics.fmean(values):.{digits}f}"
    return text if len(values) < 2 else f"{text} ± {statistics.stdev(values):.{digits}f}"


def median_of(runs, key):
    """In the median, or in how many runs, if not in all."""
    values = [r[key] for r in runs.values() if r[key] is not None]
    if len(values) == len(runs):
        return f"{statistics.median(values):g}"
    return f"in {len(values)} of {len(runs)}" if values else "never"


def difference(runs, base, key):
    """Mean of the differences paired by seed, and half the width of its interval; None without two pairs."""
    both = sorted(set(runs) & set(base))
    if not 2 <= len(both) <= len(T95) + 1:
        return None
    d = [runs[s][key] - base[s][key] for s in both]
    return statistics.fmean(d), T95[len(both) - 2] * statistics.stdev(d) / math.sqrt(len(both))


def rows_of(cases, sweep, key):
    found = [(case, runs) for (its, case), runs in cases.items() if its == sweep]
    return sorted(found, key=lambda item: (statistics.fmean(r[key] for r in item[1].values()), item[0]))


def table(head, rows):
    if not rows:
        return "No run has ended yet.\n"
    return "\n".join("| " + " | ".join(r) + " |" for r in [head, ["---"] * len(head)] + rows) + "\n"


def table_methods(cases):
    head = ["method", "seeds", "loss", "MaxVio, loads", "mean probabilities", "single sequences", "batches, mean", "worst batch", "balanced from step"]
    return table(head, [[case, str(len(runs)), spread(runs, "loss", 3), spread(runs, "loads", 3), spread(runs, "means", 3),
                         spread(runs, "sequences", 3), spread(runs, "batches", 3), f"{max(r['worst'] for r in runs.values()):.2f}",
                         median_of(runs, "reached")] for case, runs in rows_of(cases, "methods", "batches")])


def table_probabilities(cases):
    return table(["method", "seeds", "batches, mean", "worst batch"],
                 [[case, str(len(runs)), spread(runs, "batches_means", 3), f"{max(r['worst_means'] for r in runs.values()):.2f}"]
                  for case, runs in rows_of(cases, "methods", "batches_means")])


FIGURES = [("loss", "loss", 4), ("MaxVio, loads", "loads", 3), ("mean probabilities", "means", 3),
           ("single sequences", "sequences", 3), ("batches, mean", "batches", 3), ("worst batch", "worst", 2)]


def table_differences(cases):
    base = cases.get(("methods", BASE), {})
    rows = []
    for case, runs in rows_of(cases, "methods", "batches"):
        cells = [difference(runs, base, key) for _, key, _ in FIGURES]
        if case == BASE or None in cells:
            continue
        rows.append([case, str(len(set(runs) & set(base)))] + [
            f"{mean:+.{digits}f} ± {half:.{digits}f}" for (mean, half), (_, _, digits) in zip(cells, FIGURES)])
    return table(["less phi negentropy", "pairs"] + [name for name, _, _ in FIGURES], rows) if rows else "No method has two seeds yet.\n"


def table_winners(cases):
    rows = []
    for name, key, digits in FIGURES:
        ranked = [(case, runs) for case, runs in rows_of(cases, "methods", key) if len(runs) > 1]
        if not ranked:
            return "No method has two seeds yet.\n"
        best, of_best = ranked[0]
        behind, level = [], []
        for case, runs in ranked[1:]:
            d = difference(runs, of_best, key)
            (behind if d and d[0] - d[1] > 0 else level).append(case)
        rows.append([name, best, ", ".join(level) or "none", ", ".join(behind) or "none"])
    return table(["figure", "least mean", "not told apart from it", "behind it"], rows)


def table_change(cases):
    head = ["method", "seeds", "100 batches before", "50 after", "worst after", "again below 0.5 after", "last 100", "loss, prose", "loss, code"]
    rows = [[case, str(len(runs)), spread(runs, "before", 3), spread(runs, "first_50", 3), f"{max(r['worst_after'] for r in runs.values()):.2f}",
             median_of(runs, "again"), spread(runs, "end", 3), spread(runs, "loss_before", 3), spread(runs, "loss_after", 3)]
            for case, runs in rows_of(cases, "change", "first_50")]
    return table(head, rows)


TABLES = {"methods": table_methods, "probabilities": table_probabilities, "differences": table_differences,
          "winners": table_winners, "change": table_change}
MARKED = re.compile(r"(<!-- methods\.py: (\w+) -->\n\n)(.*?)(\n<!-- end -->)", re.S)


def make_tables(a):
    cases = comparable(read_rows(a.rows))
    if not a.write and not a.check:
        for name, make in TABLES.items():
            print(name + "\n\n" + make(cases))
        return
    with open(a.results) as f:
        text = f.read()
    if sorted(m[2] for m in MARKED.finditer(text)) != sorted(TABLES):
        raise SystemExit("%s: the marks are not those of %s" % (a.results, ", ".join(TABLES)))
    made = MARKED.sub(lambda m: m[1] + TABLES[m[2]](cases) + m[4], text)
    if a.write:
        with open(a.results, "w") as f:
            f.write(made)
    elif made != text:
        raise SystemExit("the tables of %s are not those that the rows make: 'methods.py tables --write'" % a.results)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    rows, tables = commands.add_parser("rows"), commands.add_parser("tables")
    for command in (rows, tables):
        command.add_argument("--rows", default=os.path.join(HERE, "methods.jsonl"))
    rows.add_argument("folders", nargs="+")
    rows.add_argument("--commit", required=True)
    rows.add_argument("--instructions", required=True)
    tables.add_argument("--results", default=os.path.join(HERE, "../RESULTS.md"))
    tables.add_argument("--write", action="store_true")
    tables.add_argument("--check", action="store_true")
    a = parser.parse_args()
    (add_rows if a.command == "rows" else make_tables)(a)


if __name__ == "__main__":
    sys.exit(main())
