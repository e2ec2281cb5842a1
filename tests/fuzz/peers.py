#!/usr/bin/env python3
"""fuzz/PEERS.md and fuzz/reports: that the operations, flags and reports they name exist, that each bug without a public
thread has a report, and that the reports of the packages installed in the same version print what they say.

usage: peers.py PHIBAL SOURCE_ROOT
"""
import contextlib
import importlib.metadata
import io
import os
import re
import subprocess
import sys
import warnings

phibal, source = sys.argv[1:3]
folder = os.path.join(source, "fuzz", "reports")
failed, skipped, ran = [], [], 0


def read(*path):
    with open(os.path.join(source, *path), encoding="utf-8") as file:
        return file.read()


flags = set(re.findall(r'PHIBAL_FLAG\(\w+, "([^"]+)"', read("spec", "flags.def")))
operations = set(re.findall(r"^  ([\w-]+)", subprocess.run([phibal, "verify", "--list"], capture_output=True, text=True,
                                                            check=True).stdout, re.M)) | \
    set(re.findall(r'PHIBAL_OPERATION\(\w+, "([^"]+)"', read("spec", "ops.def")))
page = read("fuzz", "PEERS.md")
rows = [line.split(" | ") for line in page.splitlines() if re.match(r"\| \d+ \| ", line)]
threadless = set()
for row in rows:
    number, thread, played, verdict = int(row[0][2:]), row[3], row[4], " | ".join(row[5:])
    operation = re.match(r"`([\w-]+)`: ", played)
    if operation and operation.group(1) not in operations:
        failed.append(f"bug {number}: no operation {operation.group(1)}")
    if not operation and "**Found**" in verdict:
        failed.append(f"bug {number}: found without an operation")
    case = re.search(r"\*\*Found\*\* by \d+: `([\w-]+)/1/\d+` \(([\w-]+)\)", verdict)
    if ("**Found**" in verdict) != bool(case) or case and (case.group(1) != operation.group(1) or case.group(2) not in flags):
        failed.append(f"bug {number}: the verdict names no case, or a flag that is not there")
    likely = re.search(r"; likely: (.*) \|$", verdict)
    for cause in likely.group(1).split(", ") if likely else ():
        if cause not in flags and not re.search(r"[=<>]|multiple of|given|absent", cause):
            failed.append(f"bug {number}: {cause} is neither a flag nor a property")
    if thread == "none":
        threadless.add(number)
if sorted(int(row[0][2:]) for row in rows) != list(range(1, 23)):
    failed.append("PEERS.md: the bugs are not 1 to 22")
found = page.count("**Found**")
if f"{found} of {len(rows)} are found" not in page:
    failed.append("PEERS.md: another number of bugs is found than its rows say")
for heading in re.findall(r"^### .* \(`([\w-]+)`\)$", page, re.M):
    if heading not in operations:
        failed.append(f"PEERS.md: no operation {heading}")

os.environ["TORCHDYNAMO_DISABLE"] = "1"
sys.path.insert(0, folder)
warnings.simplefilter("ignore")
reported = set()
for name in sorted(os.listdir(folder)):
    if not re.search(r"-\d+\.md$", name):
        continue
    text = read("fuzz", "reports", name)
    package, version = re.search(r"^([\w-]+) ([\w.]+), torch ", text, re.M).groups()
    number = int(re.search(r"Number (\d+) of", text).group(1))
    reported.add(number)
    if name != f"{package}-{number}.md":
        failed.append(f"{name}: the name is not that of {package}, {number}")
    try:
        here = importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        here = "not installed"
    if here != version:
        skipped.append(f"{name}: {package} is {here}, the report is of {version}")
        continue
    code = re.search(r"```python\n(.*?)```", text, re.S).group(1)
    printed = re.search(r"It prints:\n\n```\n(.*?)\n```", text, re.S).group(1)
    out = io.StringIO()
    try:
        with contextlib.redirect_stdout(out):
            exec(compile(code, name, "exec"), {"__name__": name})
    except Exception as error:
        failed.append(f"{name}: raised {type(error).__name__}: {error}")
        continue
    lines = [line for line in out.getvalue().splitlines() if "[WARNING]" not in line]
    number_of = r"-?\d+\.?\d*(?:e-?\d+)?"
    same = re.sub(number_of, "#", "\n".join(lines)) == re.sub(number_of, "#", printed)
    values = [[float(x) for x in re.findall(number_of, s)] for s in ("\n".join(lines), printed)]
    if "kept rows" in printed:  # which ones is not defined: only that they are not the first ones
        same = same and values[0] != [float(i) for i in range(16)]
    else:
        same = same and len(values[0]) == len(values[1]) and all(abs(a - b) <= 1e-3 * abs(b) for a, b in zip(*values))
    if not same:
        failed.append(f"{name}: printed\n" + "\n".join(lines))
    ran += 1
if reported != threadless:
    failed.append(f"bugs without a thread {sorted(threadless)}, reports {sorted(reported)}")

for words in skipped:
    print(f"skipped: {words}")
print(f"{len(rows)} bugs, {found} found; {ran} reports run")
if failed:
    print("\n".join("not ok: " + words for words in failed))
    sys.exit(1)
