#!/usr/bin/env python3
"""Runs WP over the units of units.list and says what is proved.

  prove.py [--jobs N] [--cache] [--record | --changed] [--pack] [--budget SECONDS]
           [--report FILE.json] [UNIT ...]

A unit is a line of units.list, named in full or in part. `partial` there: only functions that have
contracts are proved, and the others are named as not under proof yet. `waiting`: its functions were
proved one by one; `open`: contracts are stated and some goals are not proved. Such units are replayed
only when they are named, and nothing of them is claimed. Exit status 0 only if every goal of every
unit is proved, every function defined there has a contract, and WP warned of nothing that would weaken
a proof; what it takes without proof is declarations.py's question. WP's own exit status is 0 even when goals fail.

Each goal is given first to the prover that proved it before, as verdicts.xz has it, and to the others
of its unit only when that one gives up: to write a goal down for a prover takes longer than most proofs.

  --cache   takes verdicts of goals proved before from verdicts.xz; without it every goal goes to a
            prover
  --record  takes units as proved of which nothing changed since units.proved was written: not what
            Frama-C reads, nor WP's options, nor the tools. They are replayed last, as far as --budget
            goes, beginning with another one whenever the record changes
  --changed the same, and does not replay them at all
  --pack    with --cache: writes the verdicts, old and new, to verdicts.xz, and of the units that were
            run which prover proved which goal and, of those that hold, what was proved
            to units.proved
  --budget  starts no unit after so many seconds, nor a recorded one, but for the first in turn, that took longer
            when it was recorded than what is left of them; and names those it left out
"""
import argparse
import concurrent.futures
import glob
import json
import os
import re
import subprocess
import sys
import time

import committed

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
WORK = committed.WORK

# What units.list says of units that are not replayed: their functions were proved one by one, or
# contracts are stated and some goals are open.
NOT_YET = {"waiting", "open"}

# Lines of Frama-C's output that say a proof is weaker than it looks.
BAD = re.compile(r"missing assigns|[Mm]issing decreases|incompatible pointers|unsupported|degenerat|"
                 r"Ignoring|not implemented|annot-error|User Error|Invalid|invalid|[Aa]borted|"
                 r"Neither code nor specification|implicit conversion|unknown|No definition|found two different", re.I)
HARMLESS = re.compile(r"\((unknown|interrupted|failed): \d+\)|: (Unknown|Step limit|Timeout)")


def read_units(wanted):
    units = []
    for line in open(os.path.join(HERE, "units.list")):
        words = line.split("#")[0].split()
        later = set(words) & NOT_YET
        words = [w for w in words if w not in NOT_YET]
        if words and (any(w in words[0] for w in wanted) if wanted else not later):
            units.append((words[0], words[1:]))
    return units


def marked_units(mark):
    """Units that are not replayed, by the word that says why."""
    return [line.split()[0] for line in open(os.path.join(HERE, "units.list"))
            if mark in line.split("#")[0].split()]


DEFINITION = re.compile(r"^(?!\s|#|typedef|enum|struct|union)([A-Za-z_][\w\s\*]*?\b(\w+)\s*\([^;{}]*?\))\s*([{;])", re.M)


def functions_of(path):
    """name -> (defined here?, has a contract here?, inline?) of one C file or header."""
    text = committed.without_comments(open(path).read())
    # What Frama-C does not see is not proved.
    text = re.sub(r"^#\s*ifndef __FRAMAC__.*?^#\s*endif", lambda m: re.sub(r"[^\n]", " ", m.group(0)), text,
                  flags=re.S | re.M)
    # Annotations are blanked in a copy, so that their words are not taken for functions.
    plain = re.sub(r"/\*@.*?\*/|//@[^\n]*", lambda m: re.sub(r"[^\n]", " ", m.group(0)), text, flags=re.S)
    found = {}
    for match in DEFINITION.finditer(plain):
        before = text[:match.start()].rstrip()
        opened = before.rfind("/*@")
        contract = (before.endswith("*/") and opened >= 0 and
                    before.rfind("*/", 0, len(before) - 2) < opened and
                    re.search(r"\b(ensures|assigns|requires|terminates)\b", before[opened:]) is not None)
        # A contract of one line, which may be a macro's.
        line = before[before.rfind("\n") + 1:]
        contract = contract or re.match(r"//@ (FREE_)?POINT\(", line) is not None
        name, defined = match.group(2), match.group(3) == "{"
        old = found.get(name, (False, False, False))
        found[name] = (old[0] or defined, old[1] or contract, old[2] or "inline" in match.group(1))
    return found


def headers():
    return sorted(glob.glob(os.path.join(ROOT, "spec/include/phibal/*.h")) +
                  glob.glob(os.path.join(ROOT, "spec/acsl/contracts/**/*.h"), recursive=True) +
                  glob.glob(os.path.join(ROOT, "reference/**/*.h"), recursive=True) +
                  glob.glob(os.path.join(ROOT, "kernels/**/*.h"), recursive=True))


def contracts_in_headers():
    """(name -> the headers that have a contract of it, functions defined in headers)"""
    contracts, inlines = {}, set()
    for path in headers():
        for name, (defined, contract, inline) in functions_of(path).items():
            if contract:
                contracts.setdefault(name, set()).add(os.path.realpath(path))
            if defined and inline:
                inlines.add(name)
    return contracts, inlines


def without_contract(path, defined, contracts):
    """Of the functions that a file defines, those that have a contract neither there nor in a header that the file
    includes: functions of one file may be called as those of another are."""
    read = {os.path.realpath(header) for header in committed.included(path)}
    return {name for name, (here, contract, _) in defined.items()
            if here and not contract and not contracts.get(name, set()) & read}


TESTED = "audit"  # what rests on the proved enclosures and is tested itself


def outside_units():
    """(file, functions) of the reference that no unit of units.list proves."""
    covered = {unit: "partial" in options for unit, options in read_units([""])}
    opened = marked_units("open")
    contracts, _ = contracts_in_headers()
    for path in sorted(glob.glob(os.path.join(ROOT, "reference/**/*.c"), recursive=True)):
        name = os.path.relpath(path, ROOT)
        defined = {n: f for n, f in functions_of(path).items() if f[0]}
        if name not in covered or name in opened:
            yield name, len(defined)
        elif covered[name]:
            yield name, len(without_contract(path, defined, contracts))


def tested_folders():
    """Folder -> (files, functions) of what rests on the proved enclosures and is only tested."""
    paths = glob.glob(os.path.join(ROOT, TESTED, "**/*.c"), recursive=True)
    return {TESTED: (len(paths), sum(sum(1 for f in functions_of(path).values() if f[0]) for path in paths))}


class Result:
    def __init__(self, unit):
        self.unit = unit
        self.goals = self.proved = 0
        self.provers = {}
        self.failed, self.trouble = [], []
        self.functions, self.bare = [], []
        self.seconds = 0.0
        self.text = ""  # hash of what the proof depends on

    @property
    def good(self):
        return self.goals > 0 and not (self.failed or self.trouble or self.bare)


def wp_options(unit, options, contracts, inlines):
    """WP's options for a unit, and its functions as functions_of has them."""
    path = os.path.join(ROOT, unit)
    options = list(options)
    defined = functions_of(path)
    gathering = unit.endswith("inline.c") or unit.endswith("lemmas.c")
    if unit.endswith("inline.c"):
        defined = {n: f for h in committed.included(path) for n, f in functions_of(h).items() if f[2]}
    elif unit.endswith("lemmas.c"):
        defined = {}
    if "partial" in options:
        # The file's other functions have no contract yet and are counted as such. Frama-C says which
        # have one: functions of ghost code are in no text that a pattern finds.
        import declarations
        declarations.compile_plugin()
        listed = sorted(declarations.contracted(declarations.read_unit(unit, options)))
        options = [o for o in options if o != "partial"]
        options += ["-wp-fct", ",".join(listed)]
    skipped = inlines & {n for h in committed.included(path) for n in functions_of(h)} if not gathering else set()
    if skipped:
        options += ["-wp-skip-fct", ",".join(sorted(skipped))]
    return options, defined


def run_unit(unit, options, contracts, inlines, arguments):
    result = Result(unit)
    path = os.path.join(ROOT, unit)
    tag = unit.replace("/", "_")
    report = os.path.join(WORK, tag + ".json")
    if os.path.exists(report):
        os.remove(report)
    partial = "partial" in options
    options, defined = wp_options(unit, options, contracts, inlines)
    result.text = committed.text_of(unit, options)
    command = [os.path.join(HERE, "wp.sh"), path, "-wp-report-json", report]
    # WP keeps "scripts", one file a goal, that name the prover that proved it; "tip" asks that one
    # first and writes the file anew when another did.
    command += ["-wp-prover", "tip", "-wp-time-margin", "1000000", "-wp-session", committed.session_of(unit)]
    command += options
    if arguments.cache:
        command += ["-wp-cache", "update", "-wp-cache-dir", os.path.join(WORK, "cache")]
    started = time.monotonic()
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          env=dict(os.environ, PAR="1"), check=False)
    result.seconds = time.monotonic() - started
    with open(os.path.join(WORK, tag + ".log"), "w") as log:
        log.write(done.stdout)
    if done.returncode != 0:
        result.trouble.append("frama-c ended with status %d" % done.returncode)
    result.trouble += [line.strip() for line in done.stdout.splitlines()
                       if BAD.search(line) and not HARMLESS.search(line)]
    read_report(result, report, done.stdout)
    bare = without_contract(path, defined, contracts)
    result.functions = sorted(n for n, f in defined.items() if f[0] and not (partial and n in bare))
    result.bare = [] if partial else sorted(bare)
    return result


def run_in_time(started, taken, unit, options, contracts, inlines, arguments):
    """run_unit, or None when the time is up, or would be by the seconds that the unit has taken."""
    if time.time() - started + taken > arguments.budget:
        return None
    return run_unit(unit, options, contracts, inlines, arguments)


def read_report(result, report, output):
    try:
        data = json.load(open(report))
    except (OSError, ValueError):
        result.trouble.append("no report")
        return
    groups = list(data.get("wp:functions", {}).items()) + list(data.get("wp:axiomatics", {}).items())
    for name, properties in groups:
        for key, counts in properties.items():
            main = counts.get("wp:main")
            if key.startswith("wp:") or main is None:
                continue
            result.goals += main["total"]
            result.proved += main.get("valid", 0)
            if main.get("valid", 0) != main["total"]:
                result.failed.append("%s: %s" % (name, key))
    for prover, counts in data.get("wp:global", {}).items():
        if prover != "wp:main":
            result.provers[prover] = result.provers.get(prover, 0) + counts.get("valid", 0)
    summary = re.search(r"Proved goals:\s+(\d+) / (\d+)", output)
    if not summary:
        result.trouble.append("no summary")
    elif summary.group(1) != summary.group(2) and not result.failed:
        result.failed.append("%s of %s goals proved" % summary.groups())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--cache", action="store_true")
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--changed", action="store_true")
    parser.add_argument("--pack", action="store_true")
    parser.add_argument("--budget", type=float, default=float("inf"))
    parser.add_argument("--report")
    parser.add_argument("units", nargs="*")
    arguments = parser.parse_args()
    committed.configure()
    if arguments.cache:
        committed.unpack_cache()
    started = time.time()
    contracts, inlines = contracts_in_headers()
    units = read_units(arguments.units)
    committed.unpack_provers([unit for unit, _ in units])
    recorded = unchanged(units, contracts, inlines) if arguments.record or arguments.changed else {}
    results, left = [], list(recorded) if arguments.changed else []
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        turn = in_turn(units, recorded)
        first = next((u for u, _ in turn if u in recorded), None)
        jobs = {pool.submit(run_in_time, started, recorded[u]["seconds"] if u in recorded and u != first else 0, u, o,
                            contracts, inlines, arguments): u
                for u, o in turn if u not in left}
        for job in concurrent.futures.as_completed(jobs):
            result = job.result()
            if result is None:
                left.append(jobs[job])
                continue
            results.append(result)
            print("%-44s %5d goals, %d not proved, %3d functions, %d without contract  %6.1f s" % (
                result.unit, result.goals, result.goals - result.proved, len(result.functions),
                len(result.bare), result.seconds), flush=True)
            for line in result.failed + result.trouble + ["no contract: " + n for n in result.bare]:
                print("    " + line, flush=True)
    ok = all(r.good for r in results)
    if not arguments.units:
        for mark, what in (("waiting", "not replayed as a whole yet"), ("open", "not every goal proved yet")):
            if marked_units(mark):
                print("not claimed, %s: %s" % (what, ", ".join(marked_units(mark))))
        outside = list(outside_units())
        if outside:
            print("not under proof yet: " + ", ".join("%s (%d functions)" % w for w in outside))
    kept = [recorded[unit] for unit in sorted(left) if unit in recorded]
    if kept:
        print("as recorded, on trust in units.proved: %d goals of %d units that nothing changed for; `./dev prove "
              "--uncached` takes nothing on trust: %s" % (
                  sum(k["goals"] for k in kept), len(kept), " ".join(k["unit"] for k in kept)))
    left = sorted(unit for unit in left if unit not in recorded)
    if left:
        print("not replayed here, for want of time: " + " ".join(left))
    goals, proved = sum(r.goals for r in results), sum(r.proved for r in results)
    held = sum(k["goals"] for k in kept)
    print("wp: %d of %d goals proved, %d of them replayed here, %d functions in %d units, %.0f s" % (
        proved + held, goals + held, proved,
        sum(len(r.functions) for r in results) + sum(len(k["functions"]) for k in kept),
        len(results) + len(kept), time.time() - started))
    entries = [vars(r) for r in results] + kept
    ok = ok and bool(entries)
    if arguments.report:
        with open(arguments.report, "w") as report:
            json.dump(sorted(entries, key=lambda entry: entry["unit"]), report, indent=1)
    if arguments.pack and results:
        pack(results, whole=not (arguments.units or left or kept))
    sys.exit(0 if ok else 1)


def unchanged(units, contracts, inlines):
    """The units that are as units.proved has them: unit -> its entry."""
    proved, found = committed.read_proved(), {}
    for unit, options in units:
        if unit in proved:
            text = committed.text_of(unit, wp_options(unit, options, contracts, inlines)[0])
            if text == proved[unit]["text"]:
                found[unit] = proved[unit]
    return found


def in_turn(units, recorded):
    """What changed first; then what is recorded, from another unit on whenever the record changes."""
    known = [u for u in units if u[0] in recorded]
    first = sum(int(recorded[u[0]]["text"], 16) for u in known) % max(1, len(known))
    return [u for u in units if u[0] not in recorded] + known[first:] + known[:first]


def pack(results, whole):
    """Writes what was proved to the files that are committed."""
    committed.pack_cache(whole)
    committed.pack_provers([r.unit for r in results])
    committed.write_proved([vars(r) for r in results if r.good])


if __name__ == "__main__":
    main()
