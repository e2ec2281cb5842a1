"""Every example of `phibal audit --help` and `phibal eval --help` works as it stands.

usage: help_examples.py PHIBAL
"""
import os
import re
import shlex
import subprocess
import sys
import tempfile

phibal = os.path.abspath(sys.argv[1])
FILE = """potential mine
parameter a in (0, 1) = 1/2
parameter b in [1, 4] = 2
value    sum(a*xlogx(x) + b*x^2)
gradient a*(log(x) + 1) + 2*b*x
"""
count = 0
with tempfile.TemporaryDirectory() as folder:
    with open(os.path.join(folder, "my.phi"), "w", encoding="utf-8") as file:
        file.write(FILE)
    for command in ("audit", "eval"):
        text = subprocess.run([phibal, command, "--help"], capture_output=True, check=True,
                              text=True).stdout
        examples = re.findall(r"^  phibal (.*)$", text.replace("\\\n", " "), re.MULTILINE)
        assert len(examples) >= 3, text
        for example in examples:
            words = shlex.split(example)
            if command == "audit":  # no longer than this is about
                words += ["--seconds", "5"]
                if "--check=quick" not in words and "--quick" not in words:
                    words.append("--quick")
            done = subprocess.run([phibal, *words], cwd=folder, capture_output=True, text=True,
                                  check=False)
            assert done.returncode == 0, (example, done.returncode, done.stderr, done.stdout)
            assert done.stdout and not done.stderr, (example, done.stderr)
            count += 1
print(f"{count} examples work")
