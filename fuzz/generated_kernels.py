"""The generated kernels of the built-in potentials over every positive binary32 up to 1, as a table.

usage: generated_kernels.py PHIBAL TABLE [--given] [CERTIFICATE ...]

Runs `phibal audit --potential NAME` without the other parts and without a limit of time for all of them;
about 45 minutes of processor time. A certificate, what that printed, saves the run of its potential;
with --given nothing else is run, and the table says so.
Exits with 1 if a kernel breaks its bound somewhere, or was not run over everything.
"""
import json
import os
import platform
import re
import subprocess
import sys

with open(os.path.join(os.path.dirname(__file__), "../spec/potentials.def"), encoding="utf-8") as catalogue:
    NAMES = re.findall(r'^PHIBAL_POTENTIAL\([^"]*"([^"]+)"', catalogue.read(), re.M)
HEAD = """# Generated kernels over all loads

`phibal audit` generates a kernel of each built-in's price at its default parameter, compiles it, and runs it over
all 1 065 353 216 positive binary32 loads up to 1, each with its own error bound from running error
analysis. Bounds and prices are compared with the enclosed derivative at every bfloat16 up to 1 and at
thousands of other loads ("compared"). The command takes about 45 minutes of CPU time:

```
python3 fuzz/generated_kernels.py build/cli/phibal fuzz/KERNELS.md
```

"Not decided" are loads whose price is not proved to be correctly rounded: ties, and values closer to a tie than
the double-double bound; the bound in ULP holds for them too. [`AUDIT.md`](../spec/AUDIT.md) explains the columns,
under `core`. A price is *proved* if it depends on one load only; Rényi's is *checked* with other loads of 1/2, 1/4 and
1/1024.

| potential | verdict | loads | in binary64 | in double-double | not decided | largest bound, ULP | at | compared | largest error found, ULP | underflow at or below | centred bits | condition |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
"""


def certificate(phibal, name):
    command = [phibal, "audit", "--potential", name, "--json", "--seconds", "1e6",
               "--skip", "convexity,legendre,gradient,conjugate,dynamics"]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)


def row(document):
    potential = document["potential"]
    core = next(c for c in document["claims"] if c["id"] == "core")
    d = core["findings"][0]["data"]
    at = ", ".join(f"{p['name']} = {float(p['at']['lo']):.6g}" for p in potential["parameters"])
    name = potential["name"] + (f" ({at})" if at else "")
    low = d["underflow"]
    cells = [name, core["verdict"], d["inputs"], d["decided_in_binary64"], d["decided_in_double_double"],
             d["undecided"], f"{d['bound_ulp']:.7g}", float(d["bound_load"]).hex(), d["compared"],
             f"{d['measured_ulp']:.7g}", f"{low['high']:.3g}" if low["count"] else "-",
             f"{d['centred_bits']:.0f}", f"{d['condition_low']:.3g} to {d['condition_high']:.3g}"]
    good = core["verdict"] in ("proved", "checked") and d["exhaustive"]
    return good, "| " + " | ".join(str(c) for c in cells) + " |\n"


phibal, table, *files = sys.argv[1:]
only_given = "--given" in files
files = [file for file in files if file != "--given"]
given = {}
for file in files:
    document = json.load(open(file, encoding="utf-8"))
    given[document["potential"]["name"]] = document
rows = [(False, f"| {name} | not run {'| ' * 11}|\n") if only_given and name not in given
        else row(given.get(name) or certificate(phibal, name)) for name in NAMES]
with open(table, "w", encoding="utf-8") as out:
    out.write(HEAD + "".join(text for _, text in rows))
    out.write(f"\n{platform.machine()}, gcc.\n")
sys.exit(not all(good for good, _ in rows))
