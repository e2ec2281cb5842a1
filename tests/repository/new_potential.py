#!/usr/bin/env python3
"""Adds a tenth potential, psi = x^4/4 + x^2/2, to a copy of the tree, by the steps of CONTRIBUTING.md.

usage: new_potential.py SOURCE SCRATCH

What is added lies in new_potential/, by the path that it goes to: NAME.new is a new file, and NAME.add says where lines
go into one. After each step the build or a test has to name what is missing next; at the end commands, the trainer, the
Python package and the lists of the proofs have to know the potential, cases have to keep their numbers, and a wrong
formula has to be found. Nothing else is edited: at the end the copy is compared with the tree, and the files that
differ are printed.
"""
import filecmp
import json
import os
import re
import shutil
import struct
import subprocess
import sys

SOURCE, SCRATCH = (os.path.abspath(path) for path in sys.argv[1:3])
DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "new_potential")
TREE, BUILD, WORK = (os.path.join(SCRATCH, name) for name in ("tree", "tree/build", "work"))
PHIBAL = os.path.join(BUILD, "cli/phibal")
MOST_FILES = 12
OPERATIONS = ("price", "balance-loss", "balance-step")  # those that take a potential
ADDED = set()  # the files that the steps touched
BEFORE = {}  # cases without the potential
TESTS = ["potential", "potentials", "potential_laws", "mirror", "reference_balance", "price", "balance", "phi_catalogue",
         "audit_convexity", "audit_gradient", "audit_conjugate", "codegen", "vectors_arb", "model_gradient"]
ENVIRONMENT = dict(os.environ, CCACHE_BASEDIR=TREE, CCACHE_NOHASHDIR="1", OMP_WAIT_POLICY="passive",
                   PYTHONDONTWRITEBYTECODE="1")
for name in ("DESTDIR", "PHIBAL", "MESON_TESTTHREADS"):
    ENVIRONMENT.pop(name, None)


def fail(text):
    print("not ok: " + text)
    sys.exit(1)


def run(*command, cwd=TREE, right=True, environment=()):
    """What a command prints; it has to end in 0, or in something else where `right` is False, or None for either."""
    done = subprocess.run(command, cwd=cwd, env=dict(ENVIRONMENT, **dict(environment)), stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    if right is not None and (done.returncode == 0) != right:
        fail("%s ends in %d:\n%s" % (" ".join(command), done.returncode, done.stdout[-4000:]))
    return done.stdout


def build(*targets, right=True):
    return run("ninja", "-k", "0", "-C", BUILD, *targets, right=right)


def test(*names, right=True):
    return run("meson", "test", "-C", BUILD, "--no-rebuild", "--print-errorlogs", *names, right=right)


def names(output, what, step):
    """The output of a build or a test names what is missing."""
    line = next((line for line in output.splitlines() if re.search(what, line)), None)
    if line is None:
        fail("after '%s' nothing names %s:\n%s" % (step, what, output[-4000:]))
    print("    missing: " + re.sub(r"\x1b\[[\d;]*m|%s/" % re.escape(TREE), "", line).strip()[:150])


def insert(text, rows):
    """The text with lines put in: `after EXPRESSION` goes on behind the last line that matches, or the first one behind
    the place before where another `after` precedes; `end` to the end."""
    lines, at, searching = text.splitlines(True), None, False
    for row in rows.splitlines(True):
        if row.startswith("after "):
            pattern = row[len("after "):-1]
            found = [i for i, line in enumerate(lines) if re.search(pattern, line) and (not searching or i >= at)]
            if not found:
                fail("nothing to put lines behind: " + pattern)
            at, searching = (found[0] if searching else found[-1]) + 1, True
        elif row == "end\n":
            at = len(lines)
        else:
            lines.insert(at, row)
            at, searching = at + 1, False
    return "".join(lines)


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def write(path, text):
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


def add(*paths):
    """Takes files of new_potential/ into the copy."""
    for path in paths:
        target, data = os.path.join(TREE, path), os.path.join(DATA, path)
        if os.path.exists(data + ".new"):
            if os.path.exists(target):
                fail(path + " is there already")
            shutil.copyfile(data + ".new", target)
        else:
            write(target, insert(read(target), read(data + ".add")))
        ADDED.add(path)


def step(title, *paths):
    print("  %s" % title, flush=True)
    add(*paths)
    return title


def outside():
    """What prove.py says of the files that it does not prove, for which Frama-C is not needed."""
    return run(sys.executable, "-c", "import prove\nfor name, n in prove.outside_units(): print(name, n)\n"
               "print('open:', *prove.marked_units('open'))", cwd=os.path.join(TREE, "proofs/frama-c"))


def phibal(*arguments, right=True):
    return run(PHIBAL, *arguments, cwd=WORK, right=right)


def expect(output, what, title):
    if not re.search(what, output):
        fail("%s: no %s in:\n%s" % (title, what, output[-4000:]))


def differing():
    """The files of the copy that are not as in the tree."""
    found = []
    for folder, folders, files in os.walk(TREE):
        here = os.path.relpath(folder, TREE)
        folders[:] = [f for f in folders if f not in ("build", "build-proofs", "__pycache__")]
        for path in (os.path.normpath(os.path.join(here, name)) for name in files):
            new, old = os.path.join(TREE, path), os.path.join(SOURCE, path)
            if not os.path.islink(new) and not (os.path.exists(old) and filecmp.cmp(old, new, shallow=False)):
                found.append(path)
    return set(found)


def copy_tree():
    shutil.rmtree(SCRATCH, ignore_errors=True)
    os.makedirs(WORK)

    def not_copied(folder, files):
        top = os.path.samefile(folder, SOURCE)
        return [f for f in files if f in ("__pycache__", ".git") or
                (top and (f.startswith(("build", ".mesonpy-")) or f == "shared")) or
                os.path.abspath(os.path.join(folder, f)) == SCRATCH]
    shutil.copytree(SOURCE, TREE, symlinks=True, ignore=not_copied)
    run("meson", "setup", BUILD, "-Dwerror=true", "-Dcuda=disabled", "-Ddoxygen=disabled", "-Dmpi=disabled")


def golden(name):
    """Exports golden vectors of each operation that takes a potential: id -> a case, with the bytes of its tensors."""
    found = {}
    for operation in OPERATIONS:
        path = os.path.join(WORK, "%s-%s" % (name, operation))
        phibal("vectors", "--op", operation, "--cases", "80", "--out", path + ".safetensors")
        with open(path + ".safetensors", "rb") as f:
            data = f.read()
        start, tensors = 8 + struct.unpack("<Q", data[:8])[0], {}
        for tensor, said in json.loads(data[8:start]).items():
            if tensor != "__metadata__":
                prefix, inside = tensor.split("/", 1)
                first, last = said["data_offsets"]
                tensors.setdefault(prefix, {})[inside] = data[start + first:start + last]
        for case in json.loads(read(path + ".json"))["cases"]:
            found[case["id"]] = (case["kind"], case["parameters"], tensors[case["prefix"]])
    return found


def known(host_cuda):
    """What is to be so at the end."""
    expect(phibal("eval", "--potential", "quartic", "--fn", "value", "--at", "1", "--digits", "20"), r"\b0\.75", "eval")
    expect(phibal("eval", "--potential", "quartic", "--fn", "gradient", "--at", "1/2"), r"\b0\.625", "eval")
    expect(phibal("eval", "--potential", "quartic", "--fn", "conjugate", "--at", "2"), r"\b1\.25", "eval")
    expect(phibal("eval", "--help"), r"\bquartic\b", "the help")
    expect(phibal("eval", "--potential", "quartik", "--fn", "value", "--at", "1", right=False), r"and quartic\b",
           "the names in a message")
    expect(run("cat", os.path.join(BUILD, "cli/pages/phibal")), r"\bquartic\b", "the completion")
    print("  eval, help and completion", flush=True)

    certificate = json.loads(phibal("audit", "--potential", "quartic", "--check=quick", "--json"))
    claims = {claim["id"]: claim["verdict"] for claim in certificate["claims"]}
    if not certificate["passes"] or any(claims[claim] != "proved" for claim in ("strictly-convex", "gradient")):
        fail("audit: %s" % claims)
    expect(phibal("audit", "--all"), r"(?m)^ *quartic\b", "audit --all")
    print("  audit: strictly convex, with this gradient", flush=True)

    # One case of each later row for nine of the first rows.
    for backend in [()] + [("--backend", "host-cuda")] * bool(host_cuda):
        for operation in OPERATIONS:
            phibal("verify", "--op", operation, "--cases", "200", *backend)
    phibal("vectors", "--op", "price", "--cases", "120", "--out", "cases.safetensors", "--results", "results.safetensors")
    said = [case["parameters"]["potential"] for case in json.loads(read(os.path.join(WORK, "cases.json")))["cases"]]
    if said.count("quartic") != 12:
        fail("vectors: %d of 120 cases are of quartic" % said.count("quartic"))
    phibal("judge", "cases.safetensors", "results.safetensors")
    print("  verify%s, vectors and judge" % (" on cpu and host-cuda" if host_cuda else ""), flush=True)
    test("vectors")
    after = golden("after")
    kept = [case for case in after if int(case.split("/")[-1]) < 1 << 40]
    for case in kept:
        if BEFORE.get(case) != after[case]:
            fail(case + " is another case than before")
    if len(kept) != 0.9 * len(after):
        fail("%d of %d cases are of the potentials before" % (len(kept), len(after)))
    print("  %d cases have their numbers and their bytes" % len(kept), flush=True)

    os.makedirs(os.path.join(WORK, "text"), exist_ok=True)
    for name in ("README.md", "ARCHITECTURE.md", "spec/ERRATA.md", "spec/AUDIT.md"):
        shutil.copy(os.path.join(SOURCE, name), os.path.join(WORK, "text"))
    phibal("data", "build", "--out", "data", "--domain", "text=text/")
    losses = {}
    tiny = read(os.path.join(TREE, "moe/configs/tiny.yaml"))
    for name, potential in (("catalogue", "quartic"), ("file", os.path.join(TREE, "spec/phi/quartic.phi")),
                            ("other", "euclid")):
        write(os.path.join(WORK, name + ".yaml"), re.sub(r"(?m)^( *potential:).*", r"\1 " + potential, tiny))
        phibal("train", "--config", name + ".yaml", "--data", "data/train.tokens", "--steps", "3", "--batch", "2",
               "--set", "model.layers=2", "--set", "model.sequence=64", "--quiet", "--out", name)
        losses[name] = re.findall(r'"loss": *[-0-9.e]+', read(os.path.join(WORK, name, "metrics.jsonl")))
    if not losses["catalogue"] or losses["catalogue"] != losses["file"] or losses["catalogue"] == losses["other"]:
        fail("train: other losses than with the file, or the same as with another potential: %s" % losses)
    print("  train, from the catalogue as from the file", flush=True)

    python = "import phibal; p = phibal.Potential('quartic'); assert p.gradient([0.5]).lo[0] == 0.625"
    said = run(os.environ.get("PHIBAL_PYTHON", sys.executable), "-c", python, right=None,
               environment={"PYTHONPATH": os.path.join(TREE, "python"), "PHIBAL_BUILD": BUILD})
    if "No module named 'numpy'" in said:
        print("  skipped: the Python package, for there is no numpy")
    elif said:
        fail("the Python package: " + said)
    else:
        print("  the Python package", flush=True)


def other_rows():
    """A row that is floored, or not separable, would need more of the reference, and is not taken for another one."""
    path = os.path.join(TREE, "spec/potentials.def")
    text = read(path)
    for columns, source in (("1, 1)", "balance_price.c"), ("0, 0)", "potentials_dispatch.c")):
        write(path, re.sub(r"(?m)(^PHIBAL_POTENTIAL\(QUARTIC.*, )\d, \d\)$", r"\g<1>" + columns, text))
        names(build("reference/libphibal-reference-inside.a.p/%s.o" % source, right=False),
              r"PHIBAL_POTENTIAL_QUARTIC. not handled", columns)
    write(path, text)


def wrong_formulas():
    """A wrong kernel and a wrong reference are found."""
    for path, right, wrong, what in (
            ("kernels/core/potentials/quartic.h", "core_two_sum(m * m, 1.0)", "core_two_sum(m * m, 1.0000001)", "verify"),
            ("reference/potentials/quartic.c", "set_si(&t[1], 3);\n  TRY(phibal_enclosure_mul(z",
             "set_si(&t[1], 2);\n  TRY(phibal_enclosure_mul(z", "potentials")):
        text = read(os.path.join(TREE, path))
        if text.count(right) != 1:
            fail("nothing to make wrong in " + path)
        write(os.path.join(TREE, path), text.replace(right, wrong))
        if what == "verify":
            build("cli/phibal")
            phibal("verify", "--op", "price", "--cases", "200", right=False)
        else:
            build("tests/test_" + what)
            test(what, right=False)
        write(os.path.join(TREE, path), text)
    build("cli/phibal")
    print("  a wrong kernel and a wrong reference are found")


def main():
    copy_tree()
    run("ninja", "-C", BUILD, "cli/phibal")
    targets = run("ninja", "-C", BUILD, "-t", "targets", "all")
    host_cuda = re.findall(r"(?m)^(\S*libphibal-cuda-on-host\.so):", targets)
    libraries = re.findall(r"(?m)^(\S*libphibal(?:-reference)?\.so[\d.]*):", targets)
    BEFORE.update(golden("before"))

    at = step("the row", "spec/potentials.def")
    names(build("cli/phibal", right=False), r"reference/meson.build.*potentials/quartic\.c does not exist", at)
    at = step("the reference", "reference/potentials/quartic.c")
    names(build("cli/phibal", right=False), r"spec/phi/quartic\.phi does not exist", at)
    at = step("the text in the phi language", "spec/phi/quartic.phi")
    names(build("cli/phibal", right=False), r"core_quartic_price", at)
    at = step("the kernel", "kernels/core/potentials/quartic.h", "kernels/core/price.h")
    names(build("cli/phibal", right=False), r"FAMILY_QUARTIC. undeclared", at)
    at = step("the reference's functions, declared", "reference/potentials/potentials.h")
    build("cli/phibal")
    other_rows()
    names(build("tests/test_potentials", right=False), r"PHIBAL_POTENTIAL_QUARTIC. not handled", at)
    at = step("the test formulas", "tests/reference/potential_formulas.def")
    build("cli/phibal", *("tests/test_" + name for name in TESTS))
    test(*TESTS)
    if "mpmath" not in run(sys.executable, "tests/reference/eval_peer.py", PHIBAL, right=None):
        run(sys.executable, "tests/reference/eval_peer.py", PHIBAL)
    run(sys.executable, "tests/verify/vectors_faults.py", PHIBAL, "--seeds", "1", "--every", "12")
    print("    pass: " + ", ".join(TESTS))
    page = ("tests/proofs/specification_proofs.py", TREE)
    names(run(sys.executable, *page, right=False), r"quartic: no formulas", at)
    at = step("the equations", "spec/SPEC.md")
    run(sys.executable, *page)
    bits = ("tests/moe/train/training_bits.sh", TREE, os.path.join(WORK, "bits"))
    program = os.path.join(BUILD, "tests/moe/train/training_bits")
    build(os.path.relpath(program, BUILD))
    names(run("sh", *bits, "build", program, right=False), r"phi, quartic", at)
    print("  the bits of a training run")
    run("sh", *bits, "pin", program)
    ADDED.add("tests/moe/train/training_bits.txt")
    run("sh", *bits, "build", program)
    vectors = ("tests/verify/vectors_bytes.py", PHIBAL, os.path.join(TREE, "spec/vectors"))
    wrong = run(sys.executable, *vectors, right=False)
    if sorted(re.findall(r"not ok: (.*): digest", wrong)) != sorted(OPERATIONS) or "other bytes" in wrong:
        fail("golden vectors of others than %s: %s" % (OPERATIONS, wrong))
    names(wrong, "price: digest", "the bits of a training run")
    print("  the sets of golden vectors, which have the new potential's cases")
    run(sys.executable, *vectors, "--write")
    ADDED.add("spec/vectors/digests.json")
    run(sys.executable, *vectors)
    names(outside(), r"reference/potentials/quartic\.c \d", "the sets of golden vectors")
    at = step("what is not proved yet", "proofs/frama-c/units.list")
    names(outside(), r"open: .*reference/potentials/quartic\.c", at)
    print("at the end", flush=True)
    build("cli/pages/phibal", "tests/test_vectors", *host_cuda, *libraries)
    known(host_cuda)
    wrong_formulas()

    touched = differing()
    if touched != ADDED:
        fail("files differ that no step touched, or the reverse: %s" % sorted(touched ^ ADDED))
    print("%d files:" % len(touched), *sorted(touched), sep="\n  ")
    if len(touched) > MOST_FILES:
        fail("more than %d" % MOST_FILES)


if __name__ == "__main__":
    main()
