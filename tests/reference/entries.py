#!/usr/bin/env python3
"""Each function that the reference's headers declare has a door in entries.c, or is one of those without arithmetic;
the doors of those that are given a precision look at it.

A function without a door computes in whatever range of exponents and environment the caller's thread has: outside its
proof. The names come from the library's own symbols.

usage: entries.py NM ARCHIVE_OF_THE_FUNCTIONS_INSIDE LIBRARY SOURCE_ROOT
"""
import os
import re
import subprocess
import sys

nm, inside, library, source = sys.argv[1:5]

# Memory, comparisons and names: no result of theirs depends on the range or the environment.
plain = {"phibal_enclosure_" + name for name in (
    "create clear vector_clear swap is_exact is_zero is_positive is_negative contains_zero is_less "
    "overlaps").split()} | {
    "phibal_format_find", "phibal_direction_find", "phibal_precision_check", "phibal_reference_token_clear"}


def read(path):
    with open(os.path.join(source, path), encoding="utf-8") as f:
        return f.read()


def symbols(path):
    arguments = ["-D"] if re.search(r"\.(so|dylib)\b", path) else []
    lines = subprocess.run([nm, *arguments, path], check=True, capture_output=True, text=True).stdout.splitlines()
    return {line.split()[-1] for line in lines if re.search(r" [TW] ", line)}


def code(text):
    return re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.S)


def wrong(headers, rows, renamed, compiled, offered):
    """headers, rows, renamed: text. compiled, offered: the symbols of the functions inside, and of the library."""
    declared = set(re.findall(r"\b(phibal_\w+)\s*\(", code(headers)))
    doors = set(re.findall(r"(?m)^(?:SET|REFUSE|PRECISE|THREADS)\((\w+)|^ANSWER\([^,]+, (\w+)|"
                           r"^(?:void|phibal_\w+) \*?(phibal_\w+(?<!_inside))\(", code(rows)))
    doors = {a or b or c for a, b, c in doors}
    bits = set(re.findall(r"\b(phibal_\w+)\s*\([^;]*?\bmpfr_prec_t\b[^;]*?;", code(headers))) - {
        "phibal_enclosure_create", "phibal_precision_check"}
    looking = set(re.findall(r"(?m)^(?:PRECISE|THREADS)\((\w+)|check_precision\(\"(\w+)|_precision_check\(\"(\w+)",
                             code(rows)))
    behind = {name[:-len("_inside")] for name in compiled if name.endswith("_inside")}
    defines = [line for line in code(renamed).splitlines() if line.strip()]
    found = ["inside.h: " + line for line in defines if not re.fullmatch(r"#define (\w+) \1_inside", line)]
    found += ["inside.h and entries.c differ: " + name
              for name in sorted({line.split()[1] for line in defines} ^ doors)]
    found += ["no function behind the door: " + name for name in sorted(doors - behind)]
    found += ["not offered by the library: " + name for name in sorted(doors - offered)]
    found += ["a door that no header declares: " + name for name in sorted(doors - declared)]
    found += ["declared, computes, and has no door: " + name
              for name in sorted((declared & compiled) - plain)]
    found += ["said to be without arithmetic, and not there: " + name for name in sorted(plain - (declared & compiled))]
    found += ["takes a precision and does not look at it: " + name
              for name in sorted(bits & (doors | compiled) - {a or b or c for a, b, c in looking})]
    return found if len(doors) > 50 else found + ["too few doors: %d" % len(doors)]


headers = "".join(read("spec/include/phibal/" + name + ".h")
                  for name in ("enclosure", "precision", "rounding", "reference", "reference_moe", "reference_quantile",
                               "reference_capacity", "reference_sinkhorn", "reference_gate_factor", "reference_zero_experts", "reference_router"))
now = [headers, read("reference/entries.c"), read("reference/inside.h"), symbols(inside), symbols(library)]
faults = [
    now[:2] + [now[2].replace("#define phibal_enclosure_add phibal_enclosure_add_inside\n", "")] + now[3:],
    now[:2] + [now[2].replace("enclosure_add_inside", "enclosure_sub_inside")] + now[3:],
    now[:1] + [now[1].replace("PRECISE(phibal_reference_ema,", "PRECISE(phibal_reference_em,")] + now[2:],
    now[:1] + [now[1].replace("PRECISE(phibal_reference_gini,", "REFUSE(phibal_reference_gini,")] + now[2:],
    now[:1] + [now[1].replace("SET(phibal_enclosure_exp,", "// SET(phibal_enclosure_exp,")] + now[2:],
    now[:3] + [now[3] - {"phibal_enclosure_mul_inside"} | {"phibal_enclosure_mul"}] + now[4:],
    [now[0] + "void phibal_enclosure_sin(phibal_enclosure *z);"] + now[1:3] +
    [now[3] | {"phibal_enclosure_sin"}] + now[4:],
    [now[0].replace("phibal_reference_gini", "phibal_reference_other")] + now[1:],
    now[:4] + [now[4] - {"phibal_reference_price"}],
]
missed = [i for i, fault in enumerate(faults) if not wrong(*fault)]
problems = wrong(*now) + ["a planted fault is not noticed: %d" % i for i in missed]
for line in problems:
    print("not ok: " + line)
sys.exit(1 if problems else 0)
