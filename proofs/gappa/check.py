"""Proves every bound of bounds.list, by Gappa or in rational arithmetic, from the headers of the cores.
usage: check.py [-v] [-c] [SCRIPT...]
With -c each goal's hypotheses are also asked to prove that 1 is 2: what contradicts itself proves
everything. CORE names another directory of headers, for the planted faults."""
from itertools import product
from math import log2
from pathlib import Path
import os
import re
import subprocess
import sys

import approximation
import double_double
import model

HERE = Path(__file__).resolve().parent
# What Gappa says of a script that needs no second look. Above all, a rewriting that it cannot verify,
# or verifies only under a condition that is not written, is none of these.
HARMLESS = ("renaming identifier", "maximum number of iterations", "variable without definition",
            "no need for the rewriting")


def read_bounds(path):
    pairs = (line.split("#")[0].split("=") for line in path.read_text().split("\n") if "=" in line.split("#")[0])
    return {name.strip(): value.strip() for name, value in pairs}


def expand(definitions, goal):
    """The goals that `#@ each NAME A; B; ..` and `#@ with NAME A; B; ..` make of one; the second goes
    through its values together with the `each` before it."""
    axes = []
    for line in definitions:
        word, name, values = line[3:].split(" ", 2)
        values = [v.strip() for v in values.split(";")]
        if word == "each":
            axes.append([{name: v} for v in values])
        else:
            for chosen, v in zip(axes[-1], values, strict=True):
                chosen[name] = v
    for choice in product(*axes):
        text = goal
        for values in choice:
            for name, v in values.items():
                text = text.replace("{%s}" % name, v)
        yield text


def goals(text):
    """A script is definitions, then goals, each from a line that begins with "{ " to the next, with its
    hints. Yields the text for Gappa but for the bounds' values, and the bounds that the goal needs
    and proves."""
    directives, parts = [], [[]]
    for line in text.split("\n"):
        if line.startswith(("#@ each", "#@ with")):
            directives.append(line)
            continue
        if line.startswith("{ "):
            parts.append((directives, []))
            directives = []
        (parts[0] if len(parts) == 1 else parts[-1][1]).append(line)
    for directives, lines in parts[1:]:
        for goal in expand(directives, "\n".join(lines)):
            m = re.match(r"\{(.*?)\n?\s*->(.*?) \}\n", goal + "\n", re.S)
            if not m:
                raise model.Unmodelled("a goal is { hypotheses -> conclusions }: " + goal)
            yield ("\n".join(parts[0]) + "\n" + goal, re.findall(r"\{(\w+)\}", m[1]),
                   re.findall(r"\|([^|]*)\| <= \{(\w+)\}", m[2]), m[2].strip())


def gappa(text, seconds=120):
    r = subprocess.run(["gappa", "-Eprecision=160"], input=text, capture_output=True, text=True, timeout=seconds)
    said = [l for l in (r.stdout + r.stderr).split("\n") if l and not any(h in l for h in HARMLESS)]
    return r.returncode == 0 and not any("Warning" in l or "Error" in l for l in said), "\n".join(said)


def contradictory(text):
    """Whether the script's hypotheses prove a false conclusion; without the case splits, and for 10
    seconds, which is more than any goal's hypotheses alone need."""
    text = re.sub(r"->(?:(?!->).)*? \}\n", "-> 1 in [2, 2] }\n", text, count=1, flags=re.S)
    text = re.sub(r"^.*\$ .*;$", "", text, flags=re.M)
    try:
        return gappa(text, 10)[0]
    except subprocess.TimeoutExpired:
        return False


def power_of_two(text):
    x = float(approximation.number(text))
    return f"2^{log2(x):.2f}" + (f", {x * 2.0**106:.2f} u^2" if 2.0**-110 < x < 2.0**-99 else "")


class Run:
    def __init__(self, core, verbose, consistent):
        self.core, self.verbose, self.consistent = core, verbose, consistent
        self.bounds = read_bounds(HERE / "bounds.list")
        self.proved, self.needed, self.failed = {}, {}, 0

    def fail(self, name, why):
        print(f"{name}: NOT PROVED: {why}")
        self.failed += 1

    def script(self, path):
        name, statements = path.stem, {}
        try:
            count = 0
            for text, needs, proves, conclusion in goals(path.read_text()):
                ok, said = gappa(model.script(text, self.bounds, self.core))
                count += 1
                if not ok:
                    return self.fail(name, f"goal {count}, {conclusion}\n{said}")
                if self.consistent and contradictory(model.script(text, self.bounds, self.core)):
                    return self.fail(name, f"goal {count}: the hypotheses contradict each other")
                for n in needs:
                    self.needed.setdefault(n, name)
                if not proves:
                    statements.setdefault(conclusion, None)
                for statement, n in proves:
                    statements.setdefault(statement, n)
                    self.proved[n] = name
        except (model.Unmodelled, subprocess.TimeoutExpired, KeyError) as e:
            return self.fail(name, repr(e))
        for statement, n in statements.items():
            if n:
                print(f"{name}: proved |{statement}| <= {power_of_two(self.bounds[n])}")
            else:
                print(f"{name}: proved {statement}")
        if self.verbose:
            print(f"  {count} goals")

    def rational(self, name, bound):
        """Adds a bound proved in rational arithmetic."""
        try:
            x = bound(self.bounds, self.core)
        except (model.Unmodelled, KeyError) as e:
            return self.fail(name, repr(e))
        if x > approximation.number(self.bounds[name]):
            return self.fail(name, f"{log2(x):.3f} > {power_of_two(self.bounds[name])}")
        self.proved[name] = "rational"
        print(f"{name}: proved {' '.join(bound.__doc__.split()).rstrip(',;.')} <= {power_of_two(self.bounds[name])}")

    def close(self):
        for name, user in self.needed.items():
            if name not in self.proved:
                self.fail(name, f"assumed by {user}, proved nowhere")
        for name in self.bounds:
            if name not in self.proved:
                self.fail(name, "stated, proved nowhere")


def main(arguments):
    chosen = [a for a in arguments if a not in ("-v", "-c")]
    core = Path(os.environ["CORE"]) if "CORE" in os.environ else None
    run = Run(core, "-v" in arguments, "-c" in arguments)
    for name, bound in {**approximation.BOUNDS, **double_double.BOUNDS}.items():
        if not chosen or name in chosen:
            run.rational(name, bound)
    for path in sorted(HERE.glob("*.gappa")):
        if not chosen or path.stem in chosen:
            run.script(path)
    if not chosen:
        run.close()
    print(f"{len(run.proved)} bounds proved, {run.failed} failures")
    return 1 if run.failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
