"""Several parameters, and fractions, mean the same to `phibal audit` and `phibal eval`.

usage: parameters.py PHIBAL
"""
import json
import os
import subprocess
import sys
import tempfile
from fractions import Fraction

phibal = os.path.abspath(sys.argv[1])
FILE = """potential two
parameter a in (0, 1) = 1/2
parameter b in [1, 4] = 2
value sum(a*x + b*x^2)
"""


def run(*arguments):
    return subprocess.run([phibal, *arguments], capture_output=True, text=True, check=False)


def holds(enclosure, number):
    return Fraction(enclosure["lo"]) <= number <= Fraction(enclosure["hi"])


with tempfile.TemporaryDirectory() as folder:
    file = os.path.join(folder, "two.phi")
    with open(file, "w", encoding="utf-8") as out:
        out.write(FILE)
    for given, a, b in (([], "1/2", "2"), (["a=1/3"], "1/3", "2"), (["b=7/3"], "1/2", "7/3"),
                        (["b=0x1.8p0", "a=1e-3"], "1/1000", "3/2")):
        options = [word for text in given for word in ("--param", text)]
        done = run("eval", "--potential", file, *options, "--fn", "gradient", "--at", "1/7", "--json")
        assert done.returncode == 0, done.stderr
        answer = json.loads(done.stdout)
        wanted = Fraction(a) + 2*Fraction(b)*Fraction(1, 7)
        low, high = (Fraction(answer[end][0]) for end in ("lo", "hi"))
        assert low <= wanted <= high and high - low < Fraction(1, 10**15), (given, answer)
        done = run("audit", file, *options, "--json", "--skip", "core,dynamics")
        assert done.returncode == 0, done.stderr
        at = [p["at"] for p in json.loads(done.stdout)["potential"]["parameters"]]
        assert holds(at[0], Fraction(a)) and holds(at[1], Fraction(b)), (given, at)

    # one line each, the parameter and its value named as they were written
    for text, part in (("a=1/0", "--param a=1/0: cannot read '1/0'"),
                       ("b=zz", "--param b=zz: cannot read 'zz'"),
                       ("b=5", "b is 5; it must be in [1, 4]"),
                       ("a=3/2", "a is 1.5; it must be in (0, 1)"),
                       ("c=1", "--param c=1: ")):
        for command in (["eval", "--potential", file, "--fn", "value", "--at", "1"],
                        ["audit", file, "--skip", "core,dynamics"]):
            done = run(*command, "--param", text)
            assert done.returncode == 2 and not done.stdout, (command, text)
            assert part in done.stderr.splitlines()[0], (command, text, done.stderr)
    done = run("eval", "--potential", file, "--fn", "value", "--at", "1", "--param", "a=1/4..1/2")
    assert done.returncode == 2 and "expected one number" in done.stderr, done.stderr
print("fractions and several parameters mean the same")
