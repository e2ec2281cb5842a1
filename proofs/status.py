#!/usr/bin/env python3
"""Writes STATUS.md from what a full run of prove.sh left, and the totals into the README.

  status.py WORK     WORK holds wp.json and the steps' *.out
"""
import collections
import json
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(HERE, "frama-c"))
import committed  # noqa: E402
import prove  # noqa: E402


def first_line(command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return done.stdout.strip().splitlines()[0].strip() if done.stdout.strip() else "not found"


def last_line(work, step):
    lines = open(os.path.join(work, step + ".out")).read().strip().splitlines()
    return lines[-1] if lines else ""


def model_functions():
    """The functions of MPFR, GMP and others whose contracts are trusted."""
    count = {}
    for name in sorted(os.listdir(os.path.join(HERE, "frama-c/include"))):
        path = os.path.join(HERE, "frama-c/include", name)
        count[name] = sum(1 for f in prove.functions_of(path).values() if f[1] and not f[0])
    return count


def kernels_without_contract():
    """Functions without contract in files of the kernels where others have one."""
    units = [os.path.join(ROOT, unit) for unit, _ in prove.read_units([""])]
    paths = {path for unit in units for path in committed.included(unit) | {unit} if "/kernels/" in path}
    contracts, _ = prove.contracts_in_headers()
    bare = []
    for path in paths:
        defined = {name: contract or name in contracts
                   for name, (here, contract, _) in prove.functions_of(path).items() if here}
        if any(defined.values()):
            bare += [name for name, contract in defined.items() if not contract]
    return sorted(bare)


def main():
    work = sys.argv[1]
    units = json.load(open(os.path.join(work, "wp.json")))
    goals = sum(u["goals"] for u in units)
    proved = sum(u["proved"] for u in units)
    functions = sum(len(u["functions"]) for u in units)
    provers = collections.Counter()
    for unit in units:
        provers.update(unit["provers"])
    out = ["# What is proved",
           "",
           "Written by `./dev prove`; what the figures mean and what they do not is in"
           " [SOUNDNESS.md](SOUNDNESS.md).",
           "",
           "| | |", "|---|---|",
           "| Frama-C/WP | %d of %d goals proved, run-time errors included; %d functions under contract |" % (
               proved, goals, functions),
           "| Not under contract | of the reference %d functions%s |" % (
               sum(n for _, n in prove.outside_units()), "".join(
                   " and, in `%s`, all %d of %d files, which are tested" % (folder, inside, files)
                   for folder, (files, inside) in prove.tested_folders().items())),
           "| Coq | %s |" % last_line(work, "coq").replace("coq: ", ""),
           "| Gappa | %s |" % last_line(work, "gappa").replace("gappa: ", ""),
           "| Model of MPFR and GMP | %s |" % last_line(work, "model").replace("model: ", ""),
           "| Keys of the kernels' selection | %s |" % last_line(work, "keys").replace("select_key: ", ""),
           "| Use of memory, by Eva | %s |" % last_line(work, "memory").replace("memory: ", ""),
           "",
           "## Frama-C/WP",
           "",
           "Each unit as it was replayed last; nothing that its proof depends on changed since.",
           "",
           "| unit | goals | functions | seconds |", "|---|---:|---:|---:|"]
    for unit in units:
        out.append("| `%s` | %d | %d | %.0f |" % (unit["unit"], unit["goals"], len(unit["functions"]),
                                                 unit["seconds"]))
    for mark, what in (("waiting", "Proved function by function, and not replayed as a whole yet"),
                       ("open", "Contracts stated, some goals open; none of it is claimed")):
        if prove.marked_units(mark):
            out += ["", what + ": " + ", ".join("`%s`" % unit for unit in prove.marked_units(mark)) + "."]
    outside = list(prove.outside_units())
    if outside:
        out += ["", "Not under proof yet: " + ", ".join("`%s` (%d functions)" % w for w in outside) + "."]
    bare = kernels_without_contract()
    if bare:
        out += ["", "Functions of proved kernels without contract: " + ", ".join("`%s`" % name for name in bare) + "."]
    out += ["", "Goals by prover: " + ", ".join(
        "%s %d" % (name.replace(":", " "), count) for name, count in provers.most_common()) + ".",
        "",
        "## Trusted base",
        "",
        "Taken without proof in ACSL: %s. `frama-c/declarations.py --list` names each; `frama-c/axioms.list` and"
        " `frama-c/contracts.list` have the reasons." % last_line(work, "declared").replace("declarations: ", ""),
        "",
        "Trusted contracts: " + ", ".join("%d functions in `frama-c/include/%s`" % (n, name)
                                          for name, n in model_functions().items() if n) + ".",
        "",
        "Tools: " + "; ".join([
            "Frama-C " + first_line(["frama-c", "-version"]),
            first_line(["why3", "--version"]),
            first_line(["z3", "--version"]),
            "cvc4 " + re.sub(r".*version ", "", first_line(["cvc4", "--version"])),
            first_line(["cvc5", "--version"]),
            first_line(["gappa", "--version"]),
            first_line(["coqc", "--version"])]) + ".",
        ""]
    with open(os.path.join(HERE, "STATUS.md"), "w") as status:
        status.write("\n".join(out))
    readme = os.path.join(ROOT, "README.md")
    text = open(readme).read()
    line = "%d goals of Frama-C/WP over %d functions, %s" % (
        proved, functions, last_line(work, "coq").replace("coq: ", "").split(" in ")[0] + " in Coq")
    new = re.sub(r"(<!-- proved -->).*?(<!-- /proved -->)", lambda m: m.group(1) + line + m.group(2), text)
    if new != text:
        open(readme, "w").write(new)
    print("status: written to proofs/STATUS.md")


if __name__ == "__main__":
    main()
