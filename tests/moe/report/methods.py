#!/usr/bin/env python3
"""moe/results/methods.py: its figures of runs that were made up, its tables, what it refuses; and that the tables of
moe/RESULTS.md are those of the rows beside it.

usage: methods.py SOURCE_ROOT
"""
import json
import os
import subprocess
import sys
import tempfile

source = os.path.abspath(sys.argv[1])
script = os.path.join(source, "moe/results/methods.py")


def call(*arguments, status=0):
    done = subprocess.run([sys.executable, "-B", script, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == status, (arguments, done.stdout)
    return done.stdout


def run(folder, loads, validation, change=None, digest="d", stopped=False):
    """A run whose two layers have MaxVio x - 0.25 and x + 0.25 in a batch, x of `loads`, and 10 x of the probabilities."""
    os.makedirs(folder)
    with open(os.path.join(folder, "metrics.jsonl"), "w") as f:
        for i, x in enumerate(loads):
            layers = [{"maxvio_loads": x + d, "maxvio_mean": 10 * x + d} for d in (-0.25, 0.25)]
            f.write(json.dumps({"type": "step", "step": i + 1, "layers": layers}) + "\n")
            if i % 100 == 50:
                f.write(json.dumps({"type": "evaluation", "step": i + 1, "layers": [{"maxvio_loads": 99}]}) + "\n")
    with open(os.path.join(folder, "config.yaml"), "w") as f:
        f.write("training:\n  steps: %d\ndata:\n  train: 'data'\n  mixture: '%s'\n  change_step: %d\n  changed_mixture: '%s'\n"
                % (len(loads), *(change or ("", 0, ""))))
    with open(os.path.join(folder, "result.json"), "w") as f:
        json.dump({"steps": len(loads), "stopped": stopped, "digest": digest, "validation": validation}, f)


def validation(loss, maxvio, domains=()):
    layers = [{"maxvio_loads": maxvio + d, "maxvio_mean": 2 * maxvio + d, "maxvio_sequences": 3 * maxvio + d} for d in (-0.125, 0.125)]
    return {"loss": loss, "accuracy": 0.5, "layers": layers, "domains": [{"name": n, "loss": x} for n, x in domains]}


call("tables", "--check")
with tempfile.TemporaryDirectory() as work:
    os.chdir(work)
    with open("data", "w") as f:
        f.write("text")
    # 2 until step 300, then 0.25: of steps 201 .. 1000 a mean of (100 * 2 + 700 / 4) / 800. Means of 50 batches are below
    # 0.5 from 7 batches with 2 on: 7 * 2 + 43 / 4 = 24.75 < 25, 8 of them are 26.5; so from step 294 on.
    falls = [2.0] * 300 + [0.25] * 700
    for seed, x in ((1, 1.0), (2, 2.0), (3, 3.0)):
        falls[0:0] = [2.0] * (20 if seed == 3 else 0)
        run("sweeps/methods/phi_negentropy,seed=%d" % seed, falls, validation(x, 0.5), digest="p%d" % seed)
        run("sweeps/methods/switch,seed=%d" % seed, [0.25] * 1000, validation(3 * x, 0.25), digest="s%d" % seed)
    run("sweeps/methods/none,seed=1", [2.0] * 1000, validation(1.0, 1.0))
    run("sweeps/methods/none,seed=2", [2.0] * 1000, validation(1.0, 1.0), stopped=True)
    # 5, then 0.25 but for the last batch, 1.25; after the change at step 500 falls by jumps: 3 for 8 batches, then 0.25 but for one batch of 4.
    late = [5.0] * 10 + [0.25] * 489 + [1.25] + [3.0] * 8 + [0.25] * 391 + [4.0] + [0.25] * 100
    run("sweeps/change/switch,seed=1", late, validation(0, 0.5, (("a", 1.0), ("b", 2.0), ("c", 5.0), ("e", 9.0))),
        change=("a=1,b=2", 500, "c=1"))
    rows = os.path.join(work, "rows.jsonl")
    maker = ["--rows", rows, "--commit", "abc", "--instructions", "x"]
    print(call("rows", "sweeps/methods", "sweeps/change", *maker))
    with open(rows) as f:
        found = {(r["sweep"], r["case"], r["seed"]): r for r in map(json.loads, f)}
    assert len(found) == 8, sorted(found)
    p = found["methods", "phi negentropy", 2]
    assert (p["loss"], p["loads"], p["means"], p["sequences"], p["commit"], p["digest"]) == (2, 0.5, 1, 1.5, "abc", "p2"), p
    assert p["worst"] == 2 and p["worst_means"] == 20 and p["reached"] == 294, p
    assert abs(p["batches"] - (200 + 175) / 800) < 1e-12 and abs(p["batches_means"] - 10 * p["batches"]) < 1e-12, p
    assert found["methods", "switch", 1]["reached"] == 1 and found["methods", "none", 1]["reached"] is None
    c = found["change", "switch", 1]
    # 4 batches of 3 and 46 of 0.25 are a mean of 0.47, 5 are 0.525.
    assert abs(c["before"] - 0.26) < 1e-12 and abs(c["first_50"] - (24 + 42 / 4) / 50) < 1e-12 and c["worst_after"] == 4, c
    assert c["again"] == 5 and abs(c["end"] - 0.25) < 1e-12 and c["loss_before"] == 1.5 and c["loss_after"] == 5, c
    assert found["methods", "phi negentropy", 3]["reached"] == 314  # the median stays
    # Differences of 2, 4 and 6: 4 +- 4.303 * 2 / sqrt(3).
    text = call("tables", "--rows", rows)
    print(text)
    assert "| phi negentropy | 3 | 2.000 ± 1.000 | 0.500 ± 0.000 | 1.000 ± 0.000 | 1.500 ± 0.000 | 0.481 ± 0.022 | 2.00 | 294 |" in text
    assert "| switch | 3 | +4.0000 ± 4.9687 | -0.250 ± 0.000 | -0.500 ± 0.000 | -0.750 ± 0.000 | -0.231 ± 0.054 | -1.75 ± 0.00 |" in text
    assert "| none | 1 | 1.000 | 1.000 | 2.000 | 3.000 | 2.000 | 2.00 | never |" in text
    assert "| loss | phi negentropy | switch | none |" in text and "| MaxVio, loads | switch | none | phi negentropy |" in text
    assert "| switch | 1 | 0.260 | 0.690 | 4.00 | 5 | 0.250 | 1.500 | 5.000 |" in text
    # Into a text and back; then a row that has another loss.
    marks = "".join("<!-- methods.py: %s -->\n\nold\n<!-- end -->\nword\n" % n for n in "methods probabilities differences winners change".split())
    with open("text.md", "w") as f:
        f.write("head\n" + marks)
    both = ["--rows", rows, "--results", "text.md"]
    assert "are not those that the rows make" in call("tables", *both, "--check", status=1)
    call("tables", *both, "--write")
    call("tables", *both, "--check")
    with open("text.md") as f:
        assert f.read().count("word\n") == 5
    with open(rows) as f:
        kept = f.read()
    with open(rows, "w") as f:
        f.write(kept.replace('"loss": 2.0', '"loss": 2.125'))
    assert "are not those that the rows make" in call("tables", *both, "--check", status=1)
    assert "not what" in call("rows", "sweeps/methods", *maker, status=1)
    with open(rows, "w") as f:
        f.write(kept)
    # Others may add rows if they have made one of these with the same bits.
    other = ["--rows", rows, "--commit", "abc", "--instructions", "y"]
    run("other/methods/switch,seed=4", [0.25] * 1000, validation(4.0, 0.25))
    assert "their bits may differ" in call("rows", "other/methods", *other, status=1)
    run("other/methods/switch,seed=3", [0.25] * 1000, validation(9.0, 0.25), digest="another")
    assert "another digest" in call("rows", "other/methods", *other, status=1)
    with open("other/methods/switch,seed=3/result.json") as f:
        same = f.read().replace("another", "s3")
    with open("other/methods/switch,seed=3/result.json", "w") as f:
        f.write(same)
    with open(rows) as f:
        assert f.read() == kept
    print(call("rows", "other/methods", *other))
    assert "| switch | 4 |" in call("tables", "--rows", rows)
    with open("data", "w") as f:
        f.write("another text")
    run("third/methods/switch,seed=3", [0.25] * 1000, validation(9.0, 0.25), digest="s3")
    assert "different data" in call("rows", "third/methods", "--rows", rows, "--commit", "z", "--instructions", "x", status=1)
print("figures, tables and refusals are as they should be")
