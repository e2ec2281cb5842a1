#!/usr/bin/env python3
"""Each tag of SPEC.md has one row that names its proofs, and there are such proofs: theorems of proofs/coq, and
functions that proofs/frama-c/units.proved has as proved. Each potential of the catalogue has a tag with its formulas and
its conjugate's.

usage: specification_proofs.py SOURCE_ROOT
"""
import json
import os
import re
import sys

source = sys.argv[1]


def read(path):
    with open(os.path.join(source, path), encoding="utf-8") as f:
        return f.read()


def wrong(text):
    """What is wrong with the list at the end of the specification."""
    body, _, section = text.partition("\n## What is proved\n")
    tags = re.findall(r"\(([A-Z][0-9.][\w.∞]*)\)", " ".join(re.findall(r"\*\*(\([^*]*\))\*\*", body)))
    tags += re.findall(r"\(([A-Z]\.k)\)\*\*", body)
    tags += re.findall(r"(?m)^\| (P\d+) \| [a-z]", body)
    rows = [[cell.strip() for cell in row.split("|")] for row in re.findall(r"(?m)^\| (?!tag|---)(.*)\|$", section)]
    listed = [row[0] for row in rows]
    found = ["%s: no row" % tag for tag in sorted(set(tags) - set(listed))]
    formulas = {name: tag for tag, name in re.findall(r"(?m)^\| (P\d+) \| ([a-z][\w-]*)", body)}
    found += ["%s: no formulas" % name for name in potentials if name not in formulas]
    found += ["%s: no conjugate" % name for name, tag in formulas.items()
              if len(re.findall(r"(?m)^\| %s[ ,]" % tag, body)) < 2]
    found += ["%s: no such tag" % tag for tag in sorted(set(listed) - set(tags))]
    found += ["%s: two rows" % tag for tag in sorted({tag for tag in listed if listed.count(tag) > 1})]
    for tag, proofs, *_ in rows:
        if proofs not in ("definition", "not proved") and not re.fullmatch(r"`\w+`(, `\w+`)*", proofs):
            found.append("%s: neither proofs, nor 'definition', nor 'not proved': %s" % (tag, proofs))
    for name in set(re.findall(r"`(\w+)`", section)):
        if name not in (functions if name.startswith("phibal_") else theorems):
            found.append("nothing proved is named %s" % name)
    return found


theorems = set()
for name in read("proofs/coq/files.list").split():
    if os.path.exists(os.path.join(source, "proofs/coq", name + ".v")):  # others are generated
        text = re.sub(r"\(\*.*?\*\)", " ", read("proofs/coq/%s.v" % name), flags=re.S)
        theorems |= set(re.findall(r"(?m)^ *(?:Theorem|Lemma|Corollary) +(\w+)", text))
functions = set()
for line in read("proofs/frama-c/units.proved").splitlines():
    unit = json.loads(line)
    if unit["proved"] == unit["goals"] and not unit["failed"]:
        functions |= set(unit["functions"])

potentials = re.findall(r'(?m)^PHIBAL_POTENTIAL\([^"]*"([^"]+)"', read("spec/potentials.def"))
page = read("spec/SPEC.md")
faults = [page.replace("`euclid_five`", "`euclid_six`"), page.replace("| M5 | not proved", "| M5 | argued"),
          page.replace("| M5 | not proved | |\n", ""), page.replace("**(N8)**", "**(N8)** and **(N9)**"),
          page.replace("| N1 | definition", "| N1 | `phibal_enclosure`"), page.partition("## What is proved")[0],
          page.replace("**(P.k)**", "(P.k)"), page.replace("| P9 | softplus |", "| P10 | softplus |"),
          page.replace("| P9 | softplus |", "| P9 | softmax |"), page.replace("| P9 | y log y", "| P99 | y log y")]
missed = [i for i, text in enumerate(faults) if text == page or not wrong(text)]
for line in wrong(page) + ["a planted fault is not noticed: %d" % i for i in missed]:
    print("not ok: " + line)
print("%d theorems and %d functions are known" % (len(theorems), len(functions)))
sys.exit(1 if wrong(page) or missed else 0)
