#!/usr/bin/env python3
"""fuzz/search.py, with programs in the place of fuzz targets and phibal that write down how they
were called; and which cases `phibal verify --first-case` runs.

usage: search.py PHIBAL SOURCE_ROOT FOLDER
"""
import json
import os
import shutil
import signal
import subprocess
import sys
import time

phibal, source, folder = sys.argv[1:4]
script = os.path.join(source, "fuzz", "search.py")
sys.path.insert(0, os.path.join(source, "fuzz"))
import search  # noqa: E402

shutil.rmtree(folder, ignore_errors=True)
failed = 0


def check(good, what):
    global failed
    if not good:
        failed += 1
        print("not ok: %s" % (what,))


# The page of the repository shows its counts.
run = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True)
check(run.returncode == 0, run.stdout)

# --first-case: two runs are together what one is, and a case has the same number alone.
def verify(*arguments):
    out = subprocess.run([phibal, "verify", "--json", *arguments], capture_output=True, text=True)
    return json.loads(out.stdout)["outputs"] if out.returncode == 0 else out


SMALL = 1 << 32
for operation in ["price", "router-forward", "permutation"]:
    for small in ([], ["--small"]) if operation == "price" else (["--small"],):
        op = ["--op", operation, *small]
        whole = verify(*op, "--cases", "60")
        head, tail = verify(*op, "--cases", "25"), verify(*op, "--first-case", "25", "--cases", "35")
        check(len(whole) > 0, operation)
        for w, h, t in zip(whole, head, tail, strict=True):
            name = "%s of %s %s" % (w["output"], operation, small)
            check(w["elements"] == h["elements"] + t["elements"], "elements of " + name)
            check(w["worst"] == max(h["worst"], t["worst"]), "worst of " + name)
            first = 25 + (SMALL if small else 0)
            check(t["worst"] == 0 or first <= t["worst_case"] < first + 35, "case of " + name)
        number = max(tail, key=lambda row: row["worst"])["worst_case"]
        alone = verify("--op", operation, "--case", str(number))
        check(max(r["worst"] for r in alone) == max(r["worst"] for r in tail), "case alone " + operation)
for wrong in [["--first-case", "5"], ["--first-case", "-1", "--cases", "2"],
              ["--first-case", str(SMALL), "--cases", "1"], ["--first-case", str(SMALL - 1), "--cases", "2"],
              ["--first-case", "5", "--case", "2", "--op", "exp"]]:
    out = subprocess.run([phibal, "verify", *wrong], capture_output=True, text=True)
    check(out.returncode == 2 and "\n" not in out.stderr.split("\n", 1)[0], wrong)

# A tree with two operations and four parsers.
for path in ["spec", "build/fuzz/targets"] + ["fuzz/corpus/" + n for n in ("old", "new", "bad", "mid")]:
    os.makedirs(os.path.join(folder, path))


def write(name, text, mode=0o644):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    os.chmod(path, mode)


def lines(name):
    try:
        with open(os.path.join(folder, name), encoding="utf-8") as f:
            return f.read().splitlines()
    except FileNotFoundError:
        return []


write("spec/ops.def", 'PHIBAL_OUTPUT(A, "a", "x", ULP32, 0.5, 0, "N")\n'
      'PHIBAL_OUTPUT(B, "b", "y", EXACT, 0, 0, "N")\nPHIBAL_OUTPUT(BZ, "b", "z", COMPONENTWISE, 2, 0, "N")\n')
write("fuzz/SEARCHES.md", "<!-- operations -->\n\n<!-- end -->\n<!-- parsers -->\n\n<!-- end -->\n")
COUNTS = ("parser\told\t7\t100\t3\t1\nparser\tmid\t5\t3\t4\t0\noperation\ta\t75000\t0\noperation\tb\t50000\t0\n"
          "output\ta\tx\t90\t0.5\noutput\tb\ty\t11\t0\noutput\tb\tz\t12\t0.25\n")
write("fuzz/searches.tsv", COUNTS)
for name in ("old", "new", "mid", "bad"):
    write("build/fuzz/targets/fuzz_" + name, """#!/bin/sh
echo "%s $1" >>"%s/called"
echo "#40	INITED cov: 5 ft: 6 corp: 1/2b" >&2
sleep 1
echo "#90	DONE   cov: 17 ft: 6 corp: 1/2b" >&2
echo "stat::number_of_executed_units: 90" >&2
%s""" % (name, folder, "echo SUMMARY: broken >&2; exit 77\n" if name == "bad" else ""), 0o755)
# Takes --small --op NAME --cases N --first-case K --json.
write("phibal", """#!/usr/bin/env python3
import json, sys, os, time
_, _, small, op, name, cases, n, first, k, j = sys.argv
assert (small, op, cases, first, j) == ("--small", "--op", "--cases", "--first-case", "--json")
log = "%s/cases"
before = len(open(log).readlines()) if os.path.exists(log) else 0
with open(log, "a") as f:
    f.write("%%s %%s %%s\\n" %% (name, k, n))
if os.path.exists("%s/slow") and before == 3:
    with open("%s/pid", "w") as f:
        f.write(str(os.getpid()))
    time.sleep(60)
worst = 0.375 if int(k) < 100000 else 0.125
rows = [("a", "x", worst)] if name == "a" else [("b", "y", 0), ("b", "z", worst)]
broken = os.path.exists("%s/broken") and name == "b"
print(json.dumps({"seed": 1, "outputs": [{"operation": o, "output": out, "cases": int(n),
  "elements": 3 * int(n), "failures": int(broken), "worst": w, "worst_case": int(k)} for o, out, w in rows]}))
sys.exit(1 if broken else 0)
""" % ((folder,) * 4), 0o755)


def command(*arguments):
    return [sys.executable, script, "--root", folder, "--targets", os.path.join(folder, "build"), "--phibal",
            os.path.join(folder, "phibal"), *arguments]


def counts():
    return search.Counts(folder).rows


# Killed in its fourth chunk: three are counted, and nothing goes on.
write("slow", "")
process = subprocess.Popen(command("--resume", "cases"), stdout=subprocess.DEVNULL)
for _ in range(200):
    if lines("pid"):
        break
    time.sleep(0.1)
time.sleep(0.2)
process.send_signal(signal.SIGTERM)
check(process.wait(20) == 128 + signal.SIGTERM, "exit status after a signal")
try:
    os.kill(int(lines("pid")[0]), 0)
    check(False, "the program runs on")
except ProcessLookupError:
    pass
CHUNK = search.CHUNK
three = ["b 50000 %d" % CHUNK, "a 75000 %d" % CHUNK, "b 75000 %d" % CHUNK]
check(sorted(lines("cases")[:3]) == sorted(three), lines("cases"))
check(counts()["operation", "a"]["cases"] == counts()["operation", "b"]["cases"] == 100000, counts())
check(counts()["output", "b", "z"] == {"elements": 12 + 6 * CHUNK, "worst": 0.375}, counts())
check(counts()["output", "a", "x"]["worst"] == 0.5, "the worst of all runs")
check(any("| b | 100 000 | y | %s | exact | exact |" % search.grouped(11 + 6 * CHUNK) == line
          for line in lines("fuzz/SEARCHES.md")), lines("fuzz/SEARCHES.md"))
# The next goes on with the chunk that was lost, and takes nothing twice.
os.remove(os.path.join(folder, "slow"))
for _ in range(10):
    subprocess.run(command("--resume", "--minutes", "0.05", "cases"), stdout=subprocess.DEVNULL, check=True)
    done = lines("cases")
    if len(done) > 7:
        break
check(len(done) > 7 and done[3] == done[4], done)
later = done[:3] + done[4:]
check(len(set(later)) == len(later), "cases twice")
for operation, first in (("a", 75000), ("b", 50000)):
    numbers = [int(line.split()[1]) for line in later if line.startswith(operation)]
    check(numbers == list(range(first, first + CHUNK * len(numbers), CHUNK)), numbers)
    check(counts()["operation", operation]["cases"] == numbers[-1] + CHUNK, operation)
# A broken bound is a finding, and ends the operation's turns.
write("broken", "")
run = subprocess.run(command("--resume", "--minutes", "0.3", "cases"), capture_output=True, text=True)
check(run.returncode == 1 and "again: phibal verify --op b --case" in run.stdout, run.stdout)
check(counts()["operation", "b"]["findings"] == 1, "findings")

# Parsers: the least time first; what the corpus held is not counted; one that fails is a finding.
run = subprocess.run(command("--resume", "--minutes", "0.12", "old", "new", "mid", "bad"),
                     capture_output=True, text=True)
order = [line.split()[0] for line in lines("called")]
check(run.returncode == 1, run.stdout)
check(sorted(order[:2]) == ["bad", "new"] and order.count("bad") == 1, order)
check("old" not in order and "new" in order[2:4], order)
new = counts()["parser", "new"]
check(new["inputs"] == 50 * order.count("new") and new["edges"] == 17 and new["findings"] == 0, new)
check(counts()["parser", "bad"]["findings"] == 1 and "bad: FAILED\n" in run.stdout, run.stdout)
check(counts()["parser", "old"] == {"inputs": 7, "seconds": 100, "edges": 3, "findings": 1}, "old")
check(os.path.isdir(os.path.join(folder, "build", "corpus", "new")), "no corpus is kept")
# Without --resume every one has its turn, and nothing is counted.
before = lines("fuzz/searches.tsv")
os.remove(os.path.join(folder, "called"))
subprocess.run(command("--minutes", "0.1", "old", "new", "mid"), stdout=subprocess.DEVNULL, check=True)
check([line.split()[0] for line in lines("called")] == ["old", "new", "mid"], lines("called"))
check(lines("called")[0] == "old -max_total_time=2", lines("called"))
check(lines("fuzz/searches.tsv") == before, "counted without --resume")

# The page and the counts are held equal.
def checked():
    return subprocess.run(command("--check"), stdout=subprocess.DEVNULL).returncode


check(checked() == 0, "equal")
text = "\n".join(lines("fuzz/searches.tsv")) + "\n"
write("fuzz/searches.tsv", text.replace("parser\told\t7\t", "parser\told\t8\t"))
check(checked() == 1, "an input more")
write("fuzz/searches.tsv", text.replace("output\ta\tx", "output\ta\tx").replace("\t0.5\n", "\t0.75\n"))
check(checked() == 1, "another worst")
check(subprocess.run(command("nothing"), capture_output=True).returncode == 1, "no such target")
print("%d failed" % failed)
sys.exit(1 if failed else 0)
