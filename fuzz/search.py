#!/usr/bin/env python3
"""Searches with the fuzz targets, and through small cases of every operation; keeps the counts.

usage: search.py [--resume] [--minutes N] [--targets BUILD] [--phibal FILE] [TARGET ...]
       search.py --tables | --check

A TARGET is a folder of fuzz/corpus, or `cases`: `phibal verify --small`. BUILD was made with
-Dlibfuzzer=true; what libFuzzer keeps goes to BUILD/corpus and is taken up again next time, an
input that fails is left in BUILD/findings. Exit status 1 if there is any, or a bound was broken.

Without --resume the time is shared out evenly and nothing is written down. With it the searches go
on where the last ones stopped: the parser searched for the least time is next, for SLICE seconds,
and the operation with the fewest cases, for CHUNK cases. After each the counts are in
fuzz/searches.tsv, so that an interruption loses no more than one of them, and the tables of
fuzz/SEARCHES.md are written anew (--tables does only that; --check says whether they are equal).

The cases of an operation are numbered, and a case is a function of seed and number. A count of N
stands for the small cases 0 .. N-1 of seed 1, and the next search begins with case N: none is
counted twice, as numbers that differ start the generator (random.h) in states that differ.
"""
import argparse
import fcntl
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SLICE, CHUNK = 50, 25000
FIELDS = {"parser": (1, ["inputs", "seconds", "edges", "findings"]),
          "operation": (1, ["cases", "findings"]),
          "output": (2, ["elements", "worst"])}
UNITS = {"EXACT": "exact", "ULP32": "ULP", "ULP64": "ULP64", "COMPONENTWISE": "u|terms|",
         "FRACTION": "of bound"}


class Counts:
    """fuzz/searches.tsv: a line for each parser, operation and output of one."""

    def __init__(self, root):
        self.path = os.path.join(root, "fuzz", "searches.tsv")
        self.rows = {}
        with open(self.path, encoding="utf-8") as f:
            for line in f:
                if line.startswith("#") or not line.strip():
                    continue
                kind, *rest = line.rstrip("\n").split("\t")
                names, fields = FIELDS[kind]
                numbers = [float(x) if name == "worst" else int(x)
                           for name, x in zip(fields, rest[names:], strict=True)]
                self.rows[(kind, *rest[:names])] = dict(zip(fields, numbers))

    def row(self, *key):
        return self.rows.setdefault(key, dict.fromkeys(FIELDS[key[0]][1], 0))

    def write(self):
        text = "# What was searched so far: written by fuzz/search.py --resume, shown by SEARCHES.md.\n"
        for kind, (_, fields) in FIELDS.items():
            text += "# %s\t%s\n" % (kind, "\t".join(fields))
            for key in [k for k in self.rows if k[0] == kind]:
                text += "\t".join(list(key) + [repr(self.rows[key][f]) for f in fields]) + "\n"
        replace(self.path, text)


def replace(path, text):
    with tempfile.NamedTemporaryFile("w", dir=os.path.dirname(path), delete=False,
                                     encoding="utf-8") as f:
        f.write(text)
        f.flush()
        os.fsync(f.fileno())
    os.chmod(f.name, 0o644)
    os.replace(f.name, path)


def lock(path, wait):
    """An open lock, or None where another process has it. It goes with its process."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    f = open(path, "w", encoding="utf-8")
    try:
        fcntl.flock(f, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        f.close()
        return None
    return f


def grouped(n):
    return format(n, ",").replace(",", " ")


def promises(root):
    """(operation, output, measure, bound) in the order of spec/ops.def."""
    with open(os.path.join(root, "spec", "ops.def"), encoding="utf-8") as f:
        text = f.read()
    return re.findall(r'(?m)^PHIBAL_OUTPUT\(\w+,\s*"([^"]+)",\s*"([^"]+)",\s*(\w+),\s*([\d.]+),', text)


def tables(root, counts):
    """SEARCHES.md's tables, by name."""
    cases = {key[1]: row for key, row in counts.rows.items() if key[0] == "operation"}
    lines = ["%s cases of %d operations; %s broke a bound." % (
        grouped(sum(row["cases"] for row in cases.values())), len(cases),
        sum(row["findings"] for row in cases.values()) or "none"), "",
        "| operation | cases | output | elements | worst | promised |", "| --- | --- | --- | --- | --- | --- |"]
    last = None
    for operation, output, measure, bound in promises(root):
        row = counts.row("output", operation, output)
        unit = UNITS[measure].replace("|", "\\|")
        exact = measure == "EXACT"
        lines.append("| %s | %s | %s | %s | %s | %s |" % (
            operation if operation != last else "",
            grouped(cases.get(operation, {"cases": 0})["cases"]) if operation != last else "", output,
            grouped(row["elements"]), "exact" if exact and not row["worst"] else "%.4f" % row["worst"],
            unit if exact else "%s %s" % (bound, unit)))
        last = operation
    found = {"operations": "\n".join(lines)}
    parsers = {key[1]: row for key, row in counts.rows.items() if key[0] == "parser"}
    lines = ["%s inputs in %.1f hours; %d findings." % (
        grouped(sum(row["inputs"] for row in parsers.values())),
        sum(row["seconds"] for row in parsers.values()) / 3600,
        sum(row["findings"] for row in parsers.values())), "",
        "| parser | inputs | seconds | edges | findings |", "| --- | --- | --- | --- | --- |"]
    for name in sorted(parsers):
        row = parsers[name]
        lines.append("| %s | %s | %s | %d | %s |" % (
            name, grouped(row["inputs"]), grouped(row["seconds"]), row["edges"],
            row["findings"] or "none"))
    found["parsers"] = "\n".join(lines)
    return found


def page_with(page, found):
    for name, text in found.items():
        mark = r"(<!-- %s -->\n).*?(\n<!-- end -->)" % name
        page, n = re.subn(mark, lambda m, text=text: m[1] + text + m[2], page, flags=re.S)
        if n != 1:
            sys.exit("search.py: SEARCHES.md has no place for the table of %s" % name)
    return page


def write_tables(root, counts, check=False):
    path = os.path.join(root, "fuzz", "SEARCHES.md")
    with open(path, encoding="utf-8") as f:
        page = f.read()
    new = page_with(page, tables(root, counts))
    if not check and new != page:
        replace(path, new)
    return new == page


class Search:
    def __init__(self, root, build, phibal, resume, deadline):
        self.root, self.build, self.phibal = root, build, phibal
        self.resume, self.deadline = resume, deadline
        # The programs as they are now, whoever builds meanwhile.
        self.programs = tempfile.mkdtemp(prefix="phibal-search-")
        self.failed, self.child = set(), None
        os.makedirs(os.path.join(build, "findings"), exist_ok=True)

    def say(self, text):
        print(text, flush=True)

    def program(self, path):
        copy = os.path.join(self.programs, os.path.basename(path))
        if not os.path.exists(copy):
            shutil.copy(path, copy)
        return copy

    def run(self, command, **how):
        """Exit status, output and seconds of a process that ends with this one."""
        start = time.monotonic()
        self.child = subprocess.Popen(command, start_new_session=True, **how)
        try:
            out, _ = self.child.communicate()
        finally:
            if self.child.poll() is None:
                os.killpg(self.child.pid, signal.SIGKILL)
                self.child.wait()
        return self.child.returncode, out, time.monotonic() - start

    def keep(self, change):
        """Changes the counts, which another search may have changed since."""
        with lock(os.path.join(self.build, "locks", "counts"), True):
            counts = Counts(self.root)
            change(counts)
            counts.write()
            write_tables(self.root, counts)

    def parser(self, name, seconds):
        """One search of a parser. False where another process has it."""
        held = lock(os.path.join(self.build, "locks", name), False)
        if not held:
            return False
        findings = os.path.join(self.build, "findings")
        seeds = os.path.join(self.build, "corpus", name)
        os.makedirs(seeds, exist_ok=True)
        log = os.path.join(findings, name + ".log")
        with open(log, "wb") as to:
            status, _, spent = self.run(
                [self.program(os.path.join(self.build, "fuzz", "targets", "fuzz_" + name)),
                 "-max_total_time=%d" % seconds, "-timeout=20", "-rss_limit_mb=4096", "-max_len=65536",
                 "-print_final_stats=1", "-artifact_prefix=%s/%s-" % (findings, name), seeds,
                 os.path.join(self.root, "fuzz", "corpus", name)], stdout=to, stderr=to)
        with open(log, encoding="utf-8", errors="replace") as f:
            text = f.read()
        ran = re.findall(r"stat::number_of_executed_units: *(\d+)", text)
        before = re.findall(r"(?m)^#(\d+)\s+INITED", text)
        # What was in the corpus is not counted again.
        inputs = int(ran[-1]) - int(before[-1]) if ran and before else 0
        edges = re.findall(r" cov: (\d+)", text)

        def add(counts):
            row = counts.row("parser", name)
            row["inputs"] += inputs
            row["seconds"] += round(spent)
            row["edges"] = int(edges[-1]) if edges else row["edges"]
            row["findings"] += status != 0
        if self.resume:
            self.keep(add)
        if status:
            self.failed.add(name)
            self.say("%s: FAILED" % name)
            told = re.findall(r".*(?:ERROR|SUMMARY|does not hold|runtime error|Test unit written).*", text)
            self.say("\n".join(told or text.splitlines()[-5:]))
        else:
            self.say("%s: %d inputs in %d s, %s edges: no crash, no leak, no hang" % (
                name, inputs, round(spent), edges[-1] if edges else "?"))
        held.close()
        return True

    def cases(self, operation, first):
        """CHUNK cases of an operation from `first` on. False where another process has it."""
        held = lock(os.path.join(self.build, "locks", "op-" + operation), False)
        if not held:
            return False
        status, out, spent = self.run(
            [self.program(self.phibal), "verify", "--small", "--op", operation, "--cases", str(CHUNK),
             "--first-case", str(first), "--json"], stdout=subprocess.PIPE,
            env={**os.environ, "OMP_NUM_THREADS": "1",
                 # MPFR's many small allocations: a tenth of the time.
                 "GLIBC_TUNABLES": "glibc.malloc.tcache_count=2000"})
        if status not in (0, 1):
            self.failed.add(operation)
            self.say("%s, from case %d: FAILED, exit status %d" % (operation, first, status))
            held.close()
            return True
        found = json.loads(out)

        def add(counts):
            row = counts.row("operation", operation)
            if row["cases"] != first and self.resume:
                self.say("%s: another search counted these cases" % operation)
                return
            row["cases"] += CHUNK
            row["findings"] += status
            for output in found["outputs"]:
                row = counts.row("output", output["operation"], output["output"])
                row["elements"] += output["elements"]
                row["worst"] = max(row["worst"], float(output["worst"]))
        if any(output["cases"] != CHUNK for output in found["outputs"]) or found["seed"] != 1:
            sys.exit("search.py: %s ran other cases than it was told" % operation)
        if self.resume:
            self.keep(add)
        if status:
            self.failed.add(operation)
            self.say("%s, from case %d: FAILED" % (operation, first))
            for output in found["outputs"]:
                if output["failures"]:
                    self.say("again: phibal verify --op %s --case %d" % (operation, output["worst_case"]))
        else:
            self.say("%s: cases %d to %d in %.1f s, bounds kept" % (
                operation, first, first + CHUNK - 1, spent))
        held.close()
        return True

    def left(self):
        return self.deadline - time.monotonic()

    def go(self, names):
        """Turn by turn until the time is over: parsers for a slice, operations for a chunk."""
        counts = Counts(self.root)
        operations = []
        if "cases" in names:
            operations = list(dict.fromkeys(p[0] for p in promises(self.root)))
        parsers = [n for n in names if n != "cases"]
        mine = {}  # without --resume: what this run did
        even = max(1, round(self.left() / max(1, len(names)))) if not self.resume else SLICE
        busy = set()
        turn = 0
        while True:
            if self.resume:
                counts = Counts(self.root)
            seconds = {n: counts.row("parser", n)["seconds"] if self.resume else mine.get(n, 0)
                       for n in parsers if n not in self.failed | busy}
            done = {o: counts.row("operation", o)["cases"] if self.resume else mine.get(o, 0)
                    for o in operations if o not in self.failed | busy}
            if not self.resume:
                seconds = {n: s for n, s in seconds.items() if not s}
            if not seconds and not done or (self.left() < 1 and (self.resume or not seconds)):
                break
            turn += 1
            if seconds and (turn % 2 or not done):
                name = min(seconds, key=seconds.get)
                mine[name] = 1
                took = self.parser(name, min(even, max(1, int(self.left()))) if self.resume else even)
            else:
                name = min(done, key=done.get)
                mine[name] = done[name] + CHUNK
                took = self.cases(name, done[name])
            if not took:
                busy.add(name)
                self.say("%s: skipped, another search has it" % name)
        return 1 if self.failed else 0


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--targets", default=os.path.join(ROOT, "build-fuzz"))
    parser.add_argument("--phibal", default=os.path.join(ROOT, "build", "cli", "phibal"))
    parser.add_argument("--root", default=ROOT)
    parser.add_argument("--tables", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("names", nargs="*")
    a = parser.parse_args()
    if a.tables or a.check:
        equal = write_tables(a.root, Counts(a.root), a.check)
        if a.check and not equal:
            print("fuzz/SEARCHES.md does not show fuzz/searches.tsv: run fuzz/search.py --tables")
            return 1
        return 0
    there = sorted(os.listdir(os.path.join(a.root, "fuzz", "corpus"))) + ["cases"]
    names = a.names or (there if a.resume else there[:-1])
    for name in names:
        if name not in there:
            sys.exit("search.py: no target '%s': they are %s" % (name, ", ".join(there)))
    absent = [n for n in names if n != "cases" and not os.access(
        os.path.join(a.targets, "fuzz", "targets", "fuzz_" + n), os.X_OK)]
    for name in absent:
        print("%s: skipped, not in this build" % name)
    search = Search(a.root, os.path.abspath(a.targets), os.path.abspath(a.phibal), a.resume,
                    time.monotonic() + 60 * a.minutes)

    def stop(number, _):
        raise SystemExit(128 + number)
    signal.signal(signal.SIGINT, stop)
    signal.signal(signal.SIGTERM, stop)
    try:
        return search.go([n for n in names if n not in absent])
    finally:
        shutil.rmtree(search.programs, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
