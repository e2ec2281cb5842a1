#!/usr/bin/env python3
"""Asks Frama-C's Eva whether memory is used while it lives: nothing read before it is written or after it
is freed, nothing freed twice. WP has no goals for these.

  memory.py [PART ...]

Eva runs the functions of memory.c on the code that compilers read, not on what WP reads in its place: malloc and
free are Frama-C's own. A number of MPFR or GMP is here a pointer to one limb, which its init allocates and its clear
frees. Every other function of include/mpfr.h and include/gmp.h is made from its prototype: it reads the limb of each
argument, writes that of each result, and returns any number, so that every branch on a number is taken. Exit status
0 only if Eva finds no such use but those of UNDECIDED, and finds each of FAULTS, planted one at a time.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
PARTS = ["numbers", "operations", "tokens"]
FILES = ["reference/%s.c" % name for name in (
    "number", "enclosure", "enclosure_arithmetic", "enclosure_elementary", "enclosure_decimal", "precision", "token")]
# Whose results say whether there is memory: what holds in the one case and in the other is kept apart.
RETURNS = ["digits_new", "places_new", "indices_new", "scores_new", "phibal_enclosure_vector", "token_allocate",
           "phibal_reference_token_init"]
ALARM = re.compile(r"^\[eva:alarm\] (\S+?):\d+: Warning:\s+((?:(?!^\[).*\n)*)", re.M)
USE = re.compile(r"\\initialized|\\dangling|\\freeable")

# What Eva cannot decide, with the reason.
UNDECIDED = {
    ("reference/enclosure_decimal.c", "assert \\initialized(text + (size_t)(from + i));"):
        "how many digits there are and where they stand are not related in Eva; Valgrind runs the tests of it",
}

# file, expression of sed: what was not noticed by WP
FAULTS = [
    ("digits used after they are freed", "reference/number.c",
     r"s/^  phibal_status status = read_digits_and_exponent\(c, q, digits\);/  digits_free(digits);\n&/", "numbers"),
    ("digits freed twice", "reference/number.c", r"s/^  digits_free\(digits\);/&\n  digits_free(digits);/", "numbers"),
    ("a number used after it is cleared", "reference/enclosure_arithmetic.c",
     r"s/^  phibal_enclosure_hull\(z, z, &t\);/  phibal_enclosure_clear(\&t);\n&/", "operations"),
    ("a number cleared twice", "reference/number.c", r"s/^  mpz_clear\(power\);/&\n  mpz_clear(power);/", "numbers"),
    ("a number that was not made", "reference/number.c", r"/^  mpq_init\(denominator\);/d", "numbers"),
    ("a sign that is not always read", "reference/number.c",
     r"s/^  \*sign = accept_minus\(c\) .*/  if (accept_minus(c)) *sign = -1;/", "numbers"),
    ("places of a vector used after they are freed", "reference/enclosure.c",
     r"s/^  for \(size_t i = 0; i < n; i\+\+\) phibal_enclosure_clear/  places_free(v);\n&/", "numbers"),
    ("a selection freed twice", "reference/token.c", r"s/^  indices_free\(selection\);/&\n  indices_free(selection);/",
     "tokens"),
    ("a token that is cleared though nothing was made", "reference/token.c",
     r"s/^  scores_free\(score\);/&\n  return true;/", "tokens"),
    ("a vector that is not filled", "reference/enclosure.c", r"/^  init_all\(v, n, precision\);/d", "numbers"),
]


def prototypes(path):
    text = re.sub(r"/\*.*?\*/|//[^\n]*", "", open(path).read(), flags=re.S)
    for match in re.finditer(r"^(\w[\w ]*?[ *]+)((?:mpfr|mpz|mpq)_\w+)\(([^)]*)\);", text, re.M):
        yield match.group(1).strip(), match.group(2), [p.strip() for p in match.group(3).split(",")]


def model(folder):
    """Writes gmp.h, mpfr.h and what their functions do to memory."""
    bodies = []
    for header in ("gmp.h", "mpfr.h"):
        path = os.path.join(HERE, "include", header)
        text = re.sub(r"/\*.*?\*/", "", open(path).read(), flags=re.S)
        text = re.sub(r"struct (gmp_integer|mpfr_number) \*(value|number);", r"unsigned long *\2;", text)
        open(os.path.join(folder, header), "w").write(text)
        for result, name, parameters in prototypes(path):
            body = []
            for p in parameters:
                kind, variable = re.match(r"(.*?)(\w+)$", p).groups()
                parts = {"mpfr": ["%s->number"], "mpz_": ["%s->value"],
                         "mpq_": ["%s->_mp_num.value", "%s->_mp_den.value"]}.get(kind.strip()[:4], [])
                for limb in (part % variable for part in parts) if kind.strip().endswith("ptr") else ():
                    if "_init" in name:
                        body.append("%s = limb();%s" % (limb, "" if "mpfr" in name else " *%s = 0;" % limb))
                    elif name.endswith("_clear"):
                        body.append("free(%s);" % limb)
                    elif name == "mpfr_swap":
                        body.append("{ unsigned long *t = x->number; x->number = y->number; y->number = t; }"
                                    if variable == "x" else "")
                    elif name == "mpfr_get_prec":
                        body.append("if (!%s) abort();" % limb)
                    elif kind.strip().endswith("srcptr"):
                        body.append("(void)read_limb(%s);" % limb)
                    else:
                        body.append("*%s = any();" % limb)
            if name == "mpfr_get_str":
                body = ["(void)read_limb(x->number);", "*exponent = any_between(-8, 9);",
                        "for (size_t i = 0; i <= n; i++) text[i] = (char)any_between('-', '9');", "text[n + 1] = 0;",
                        "return text;"]
            elif result == "double":
                body.append("return any_double();")
            elif result != "void":
                body.append("return (%s)any();" % result)
            bodies.append("%s %s(%s) { %s }" % (result, name, ", ".join(parameters), " ".join(body)))
    return "\n".join(bodies)


def bare_tree(tree):
    """Copies the reference without its annotations, which are WP's business."""
    for folder in ("reference", "spec"):
        shutil.copytree(os.path.join(ROOT, folder), os.path.join(tree, folder), symlinks=False)
        for where, _, names in os.walk(os.path.join(tree, folder)):
            for name in names:
                if name.endswith((".c", ".h")):
                    path = os.path.join(where, name)
                    text = open(path).read()
                    with open(path, "w") as file:
                        file.write(re.sub(r"/\*@.*?\*/|//@[^\n]*", lambda m: re.sub(r"[^\n]", " ", m.group(0)), text,
                                          flags=re.S))


def analyse(tree, folder, part):
    """What Eva finds: (file, what it asserts)."""
    os.makedirs(folder, exist_ok=True)
    stubs = model(folder)
    with open(os.path.join(folder, "memory.c"), "w") as file:
        file.write(open(os.path.join(HERE, "memory.c")).read().replace("FUNCTIONS_OF_MPFR_AND_GMP;", stubs))
    done = subprocess.run(
        ["frama-c", "-machdep", "gcc_x86_64", "-no-unicode",
         "-cpp-extra-args=-U__FRAMAC__ -I%s -Ispec/include -Ispec -Ireference -Ikernels -DWHICH=%s" % (folder, part),
         os.path.join(folder, "memory.c"), *FILES, "-warn-special-float", "none", "-eva", "-eva-slevel", "3000",
         "-eva-alloc-builtin", "fresh", "-eva-msg-key=-summary",
         "-eva-split-return-function", ",".join(name + ":0" for name in RETURNS)],
        cwd=tree, env=dict(os.environ, PWD=tree), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0 or "[eva] done for function main" not in done.stdout:
        sys.exit("memory.py: Eva stopped:\n" + done.stdout[-2000:])
    if re.search(r"Values at end of function main:\s+NON TERMINATING", done.stdout):
        return {("memory.c", "the end is not reached")}
    return {(where, " ".join(what[what.index("assert"):].split())) for where, what in ALARM.findall(done.stdout)
            if USE.search(what)}


def main():
    wrong, undecided = [], set()
    with tempfile.TemporaryDirectory() as folder:
        tree, model_folder = os.path.join(folder, "tree"), os.path.join(folder, "model")
        bare_tree(tree)
        parts = sys.argv[1:] or PARTS
        for part in parts:
            found = analyse(tree, model_folder, part)
            undecided |= found & UNDECIDED.keys()
            wrong += ["%s: %s: %s" % ((part,) + use) for use in sorted(found - UNDECIDED.keys())]
        for what, name, edit, part in FAULTS:
            path = os.path.join(tree, name)
            text = open(path).read()
            subprocess.run(["sed", "-E", "-i", edit, path], check=True)
            if open(path).read() == text:
                wrong.append("%s: the edit matches nothing" % what)
            elif not analyse(tree, model_folder, part) - UNDECIDED.keys():
                wrong.append("planted and not found: " + what)
            with open(path, "w") as file:
                file.write(text)
    if not sys.argv[1:]:
        wrong += ["undecided, and not met: %s: %s" % use for use in sorted(UNDECIDED.keys() - undecided)]
    for use in sorted(undecided):
        print("not decided: %s: %s: %s" % (use + (UNDECIDED[use],)))
    for line in wrong:
        print("    " + line)
    print("memory: %s: no use of what is not written or is freed, places not decided: %d; %d of %d planted faults found" % (
        ", ".join(parts), len(undecided), len(FAULTS) - sum("planted" in w or "edit" in w for w in wrong), len(FAULTS)))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
