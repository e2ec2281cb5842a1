#!/usr/bin/env python3
"""Carries what is on record over a change that Frama-C does not see: contracts that move to another file, say.

  carry.py REVISION [--mutants]

Records are keyed by the text that a proof depends on (committed.py), so that a text that only moves is proved
anew. For each unit whose record holds in REVISION and not here, Frama-C reads both texts; where it makes the same
program of them (program.ml), up to the order of a contract's clauses and to what no goal names (prototypes, types and
predicates that only other units use), with the same options of WP and the same tools, the goals are the same, and units.proved and units.smoke get the new hash. --mutants: the same for each mutant
of mutants.tried, edited in both texts; it is then marked `carried`. What differs is named, and left to be run.
"""
import concurrent.futures
import functools
import hashlib
import json
import os
import queue
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
import committed  # noqa: E402
import mutants  # noqa: E402
import smoke  # noqa: E402

HERE, ROOT, WORK = committed.HERE, committed.ROOT, committed.WORK
MODULE = os.path.join(WORK, "program.cmxs")
committed.tokens = functools.lru_cache(4096)(committed.tokens)

# What a tree says of its units: options of WP and the hash of each unit's text.
UNITS = """
import json, sys
sys.dont_write_bytecode = True
sys.path.insert(0, "proofs/frama-c")
import committed, prove
contracts, inlines = prove.contracts_in_headers()
said = {}
for unit, options in prove.read_units([]):
    wp = prove.wp_options(unit, options, contracts, inlines)[0]
    said[unit] = [wp, committed.text_of(unit, wp)]
print(json.dumps([committed.tools(), said]))
"""


def compile_module():
    source = os.path.join(WORK, "program.ml")
    shutil.copy(os.path.join(HERE, "program.ml"), source)
    library = committed.output("frama-c", "-print-lib-path").strip()
    subprocess.run(["ocamlfind", "ocamlopt", "-w", "-a", "-package", "zarith", "-I", library, "-shared", source, "-o",
                    MODULE], check=True, cwd=WORK)


def ordered(part):
    """A part without layout, the clauses of its contract in alphabetical order. The word `inline` says nothing to
    proofs, and Frama-C drops it where a prototype comes first."""
    part = re.sub(r"\s+", " ", part.replace("__inline ", "")).strip()
    if not part.startswith("/*@ ") or part.startswith("/*@ ghost"):
        return part
    end = part.index(" */")
    return " ".join(sorted(re.split(r" (?=(?:requires|ensures|assigns|terminates|exits) )", part[4:end]))) + part[end:]


# Parts that say nothing to a goal unless another part names them, and the name: a function without a body, a type, and
# what defines one predicate, logic function or logic type. Axioms, lemmas, variables and functions with bodies stay.
NAMED = [re.compile(r"(\w+): "), re.compile(r"(?:struct|union|enum) (\w+) \{"), re.compile(r"typedef [^{}]*?(\w+)(?:\[\w*\])*;$"),
         re.compile(r"(?:/\*@ )?predicate (\w+)"), re.compile(r"(?:/\*@ )?logic [^(={]*?(\w+)\s*(?:\{[^}]*\})?\s*[(=]")]


def used(parts):
    """Those parts that goals can depend on."""
    kept, named = [], {}
    for part in parts:
        found = [m.group(1) for m in (kind.match(part) for kind in NAMED) if m]
        if found:
            named.setdefault(found[0], []).append(part)
        else:
            kept.append(part)
    new = kept
    while new:
        words = set(re.findall(r"\w+", "\n".join(new)))
        new = [part for name in words & set(named) for part in named.pop(name)]
        kept += new
    return kept


def program(tree, unit, options):
    """What Frama-C makes of a unit, or None where it refuses."""
    said = committed.run_plugin(MODULE, unit, options, tree)
    if said.returncode != 0:
        return None
    # Messages come between parts, at the margin.
    text = re.sub(r"(?m)^\[.*\n(?:  found two contracts.*\n)?", "", said.stdout)
    return sorted(used(list(map(ordered, text.split("\1")))))


def units_of(tree):
    return json.loads(subprocess.run([sys.executable, "-c", UNITS], cwd=tree, check=True, stdout=subprocess.PIPE,
                                     text=True).stdout)


def carry_units(old, pool):
    (old_tools, before), (tools, now) = pool.map(units_of, (old, ROOT))
    if old_tools != tools:
        sys.exit("the tools are not those of the records")
    proved, passed = committed.read_proved(), smoke.read_passed()
    tests = lambda text: hashlib.sha256("\0".join([text, smoke.PROVER, smoke.STEPS] + smoke.TESTS).encode()).hexdigest()

    def one(unit):
        options, text = now[unit]
        if unit not in before or before[unit][0] != options:
            return unit, "has other options"
        if before[unit][1] == text:
            return unit, ""
        a, b = program(old, unit, options), program(ROOT, unit, options)
        return unit, "carried" if a is not None and a == b else "is another program"

    counts = {"units": 0, "smoke": 0}
    for unit, verdict in pool.map(one, sorted(now)):
        if verdict == "carried":
            if unit in proved and proved[unit]["text"] == before[unit][1]:
                proved[unit].update(text=now[unit][1], carried=True)
                counts["units"] += 1
            if unit in passed and passed[unit][0] == tests(before[unit][1]):
                passed[unit] = (tests(now[unit][1]),) + passed[unit][1:]
                counts["smoke"] += 1
        elif verdict:
            print("%s %s" % (unit, verdict), flush=True)
    committed.write_proved(proved.values())
    with open(smoke.PASSED, "w") as file:
        file.writelines(" ".join((name,) + passed[name]) + "\n" for name in sorted(passed))
    print("carried: %d of %d units, the smoke tests of %d" % (counts["units"], len(now), counts["smoke"]), flush=True)


def mutants_of(tree):
    """The rows of a tree's list; read_list reads that of its own folder."""
    here, mutants.HERE = mutants.HERE, os.path.join(tree, "proofs/frama-c")
    rows = {row[0]: row for row in mutants.read_list()}
    mutants.HERE = here
    return rows


def carry_mutants(old, pool, jobs):
    before, now, tried = mutants_of(old), mutants_of(ROOT), committed.read_tried()
    places = queue.Queue()
    for i in range(jobs):
        pair = []
        for name, tree in (("old", old), ("new", ROOT)):
            copy = os.path.join(WORK, "carry", "%s%d" % (name, i))
            for folder in ("reference", "spec", "kernels", "proofs/frama-c"):
                shutil.copytree(os.path.join(tree, folder), os.path.join(copy, folder), symlinks=True)
            pair.append(copy)
        places.put(pair)

    def edited(tree, row):
        """(hash, program) of a tree with a mutant's edit."""
        _, changed, unit, function, edit = row
        path = os.path.join(tree, changed)
        text = open(path).read()
        try:
            subprocess.run(["sed", "-E", "-i", edit, path], check=True)
            if open(path).read() == text:
                return "", None
            options = mutants.arguments_of(unit, function)
            return committed.text_of(unit, options, tree), program(tree, unit, options)
        finally:
            with open(path, "w") as file:
                file.write(text)

    def one(name):
        if name not in tried or name not in before or before[name][2:4] != now[name][2:4]:
            return name, None, "is new, or was not tried"
        pair = places.get()
        try:
            a, b = edited(pair[0], before[name]), edited(pair[1], now[name])
        finally:
            places.put(pair)
        if tried[name][0] == b[0]:
            return name, tried[name], ""
        if tried[name][0] != a[0]:
            return name, None, "was not up to date"
        if a[1] is None or a[1] != b[1]:
            return name, None, "is another program"
        return name, (b[0], *tried[name][1:3], "carried"), "carried"

    count = 0
    for name, row, verdict in pool.map(one, sorted(now)):
        if row:
            tried[name] = row
            count += verdict == "carried"
            committed.write_tried(tried)
        else:
            print("%s %s" % (name, verdict), flush=True)
    print("carried: %d of %d mutants" % (count, len(now)))


def main():
    words = sys.argv[1:]
    if not words or words[0].startswith("-") or words[1:] not in ([], ["--mutants"]):
        sys.exit(__doc__)
    jobs = os.cpu_count()
    old = os.path.join(WORK, "carry", "tree")
    shutil.rmtree(os.path.dirname(old), ignore_errors=True)
    os.makedirs(old)
    archive = subprocess.Popen(["git", "archive", words[0], "reference", "spec", "kernels", "proofs"], cwd=ROOT,
                               stdout=subprocess.PIPE)
    subprocess.run(["tar", "-x", "-C", old], stdin=archive.stdout, check=True)
    committed.configure()
    committed.configure(old)
    compile_module()
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        if words[1:]:
            carry_mutants(old, pool, jobs)
        else:
            carry_units(old, pool)
    shutil.rmtree(os.path.dirname(old))


if __name__ == "__main__":
    main()
