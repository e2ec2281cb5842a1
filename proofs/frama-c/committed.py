"""What is committed of WP's proofs, and what it takes to use it again.

  verdicts.xz      compressed text (`xzcat`); two kinds of lines:
                     goal    hash of a goal as a prover reads it, prover, verdict, seconds, steps
                     prover  unit, goal, and the prover that proved it: the one to ask first
  units.proved     units that were proved as a whole, one a line in JSON, with the hash of all that their
                   proof depends on; `carried` where carry.py gave it a new one
  mutants.tried    a mutant a line: name, hash of all that its proof would depend on, verdict, and the
                   goal that breaks; `carried` where mutants.py says why
"""
import argparse
import functools
import glob
import hashlib
import json
import lzma
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
WORK = os.path.join(ROOT, "build-proofs")
VERDICTS = os.path.join(HERE, "verdicts.xz")
PROVED = os.path.join(HERE, "units.proved")
TRIED = os.path.join(HERE, "mutants.tried")

ENTRY = re.compile(r'\{ ?"prover": "([^"]*)", "verdict": "(\w+)"(?:, "time": ([\d.e-]+))?(?:, "steps": (\d+))? ?\}')
SCRIPT = re.compile(r'\[ ?\{ ?"prover": "([^"]*)", "verdict": "valid"')


def configure(tree=ROOT):
    """Tells WP of the provers, before several of it begin side by side."""
    work = os.path.join(tree, "build-proofs")
    os.makedirs(work, exist_ok=True)
    subprocess.run([os.path.join(tree, "proofs/frama-c/why3/configuration.sh"), work], check=True)


def run_plugin(module, unit, options, tree=ROOT):
    """What Frama-C and a plugin say of a unit that is read, not proved: with its options less WP's."""
    kept, words = [], iter(options)
    for word in words:
        if word in ("-wp-prover", "-wp-timeout", "-wp-steps", "-wp-split-depth", "-wp-fct", "-wp-skip-fct"):
            next(words)
        elif not word.startswith("-wp-") and word != "partial":
            kept.append(word)
    return subprocess.run(
        [os.path.join(tree, "proofs/frama-c/wp.sh"), unit, "-wp-prover", "none", "-no-wp", "-wp-no-rte", "-no-unicode",
         "-load-module", module] + kept, cwd=tree, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)


def read_verdicts(kind):
    """The words of each committed line of a kind, less the kind."""
    if not os.path.exists(VERDICTS):
        return []
    with lzma.open(VERDICTS, "rt") as file:
        return [line.split()[1:] for line in file if line.startswith(kind + " ")]


def write_verdicts(kind, rows):
    """Replaces the lines of a kind; the same rows give the same bytes."""
    kinds = {other: read_verdicts(other) for other in ("goal", "prover")}
    kinds[kind] = rows
    with lzma.open(VERDICTS, "wt", preset=9 | lzma.PRESET_EXTREME) as file:
        for name, lines in kinds.items():
            file.writelines(" ".join([name, *words]) + "\n" for words in sorted(lines))


def unpack_cache():
    """Writes WP's cache from the committed file; what WP reads of it will bear a later time of access."""
    folder = os.path.join(WORK, "cache")
    os.makedirs(folder, exist_ok=True)
    for digest, prover, verdict, seconds, steps in read_verdicts("goal"):
        entry = {"prover": prover.replace("=", " "), "verdict": verdict}
        if seconds != "-":
            entry["time"] = float(seconds)
        if steps != "-":
            entry["steps"] = int(steps)
        with open(os.path.join(folder, digest + ".json"), "w") as file:
            json.dump(entry, file)
    for path in glob.glob(os.path.join(folder, "*.json")):
        os.utime(path, (0, os.stat(path).st_mtime))


def pack_cache(whole):
    """Writes the verdicts that WP read or wrote to the committed file, and, unless the whole was
    replayed, those that stand there: also those of provers that gave up, since WP asks one prover after
    another, and would wait for each again. They can prove nothing. (WP's entries are not quite JSON:
    "10.".)"""
    paths = glob.glob(os.path.join(WORK, "cache", "*.json"))
    used = {path for path in paths if os.stat(path).st_atime > 0}
    if not used:
        sys.exit("verdicts.xz: nothing was read, or this file system keeps no times of access")
    kept = set() if whole else {words[0] for words in read_verdicts("goal")}
    rows = []
    for path in paths:
        if path not in used and os.path.basename(path)[:-5] not in kept:
            continue
        entry = ENTRY.match(" ".join(open(path).read().split()))
        if entry:
            prover, verdict, seconds, steps = entry.groups()
            rows.append([os.path.basename(path)[:-5], prover.replace(" ", "="), verdict, seconds or "-", steps or "-"])
    write_verdicts("goal", rows)


def session_of(unit):
    """WP's session of a unit: its "scripts", one file a goal, name the prover that proved it."""
    return os.path.join(WORK, "sessions", unit.replace("/", "_"))


def scripts_of(unit):
    return os.path.join(session_of(unit), "script")


def unpack_provers(units):
    """Writes the sessions of the units from the committed file."""
    for unit in units:
        shutil.rmtree(session_of(unit), ignore_errors=True)
        os.makedirs(scripts_of(unit))
    for unit, goal, prover in read_verdicts("prover"):
        if unit in units:
            with open(os.path.join(scripts_of(unit), goal + ".json"), "w") as file:
                json.dump([{"prover": prover, "verdict": "valid"}], file)


def pack_provers(units):
    """Writes what the sessions of units that were run say to the committed file."""
    rows = [words for words in read_verdicts("prover") if words[0] not in units]
    for unit in units:
        for path in glob.glob(os.path.join(scripts_of(unit), "*.json")):
            script = SCRIPT.match(" ".join(open(path).read().split()))
            if script:
                rows.append([unit, os.path.basename(path)[:-5], script.group(1)])
    write_verdicts("prover", rows)


def parser(what):
    """Options of the programs that remember what they tried; `what` they try is named behind these."""
    options = argparse.ArgumentParser()
    options.add_argument("--jobs", type=int, default=os.cpu_count())
    options.add_argument("--anew", action="store_true")
    options.add_argument("--budget", type=float, default=float("inf"))
    options.add_argument(what, nargs="*")
    return options


def copy_tree(name):
    """A copy, in build-proofs, of all that Frama-C reads; the caller removes it."""
    copy = os.path.join(WORK, name)
    shutil.rmtree(copy, ignore_errors=True)
    for tree in ("reference", "spec", "kernels", "proofs/frama-c"):
        shutil.copytree(os.path.join(ROOT, tree), os.path.join(copy, tree), symlinks=True)
    return copy


def output(*command, tree=ROOT):
    return subprocess.run(command, cwd=tree, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                          check=True).stdout


def without_comments(text):
    """C text without plain comments, of the same length; annotations stay."""
    def blank(match):
        token = match.group(0)
        if token.startswith(("/*@", "//@", '"', "'")):
            return token
        return re.sub(r"[^\n]", " ", token)
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])\'', blank, text, flags=re.S)


LEXEME = re.compile(r'''
  (?P<directive> ^[ \t]*\#(?:\\\n|/\*.*?\*/|[^\n])* )
| (?P<block> /\*@.*?\*/ )
| (?P<line> //@(?:\\\n|[^\n])* )
| (?P<comment> /\*.*?\*/ | //(?:\\\n|[^\n])* )
| (?P<space> \s+ | \\\n )
| (?P<token> /@ | @/ | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])+' | [A-Za-z_]\w* | \.?\d(?:[eEpP][+-]|[\w.])*
  | \.\.\. | <==> | ==> | <<= | >>= | -> | \+\+ | -- | << | >> | [<>=!]= | && | \|\| | \^\^ | [-+*/%&^|]= | \#\# | . )
''', re.M | re.S | re.X)


def tokens(text):
    """What compilers and Frama-C make of a text: its tokens, and the ends of what ends with its line,
    directives and annotations behind //@. Layout and plain comments are all that is lost."""
    found = []
    for lexeme in LEXEME.finditer(text):
        kind, part = lexeme.lastgroup, lexeme.group()
        if kind == "token":
            found.append(part)
        elif kind == "block":
            found += ["/*@"] + tokens(part[3:-2]) + ["*/"]
        elif kind == "line":
            found += ["//@"] + tokens(part[3:]) + ["\n"]
        elif kind == "directive":
            parameters = re.match(r"\s*#\s*define\s+\w+\(", part) is not None
            found += ["\n", "macro" if parameters else "#"] + tokens(part.lstrip(" \t#")) + ["\n"]
    return found


@functools.lru_cache
def tools():
    """Hash of the programs' versions and of what says how they are run."""
    said = [output("frama-c", "-version"), output("why3", "--version"), output("z3", "--version"),
            output("cvc4", "--version").splitlines()[0], output("cvc5", "--version").splitlines()[0]]
    for path in sorted(glob.glob(os.path.join(HERE, "why3", "*")) +
                       [os.path.join(HERE, "wp.sh"), os.path.join(HERE, "preprocess.sh")]):
        said.append(open(path).read())
    return hashlib.sha256("\n".join(said).encode()).hexdigest()


def included(path, tree=ROOT, seen=None):
    """The project's headers that a file includes, directly or not, in whatever branch."""
    seen = set() if seen is None else seen
    for name in re.findall(r'^\s*#\s*include\s+[<"]([^>"]+)[>"]', open(path).read(), re.M):
        for base in (os.path.dirname(path), "proofs/frama-c/include", "spec/include", "spec", "reference", "kernels"):
            candidate = os.path.normpath(os.path.join(tree, base, name))
            if os.path.exists(candidate) and candidate not in seen:
                seen.add(candidate)
                included(candidate, tree, seen)
    return seen


def text_of(unit, options, tree=ROOT):
    """Hash of all that the proof of a unit depends on: the tokens that Frama-C reads, macros included,
    since its annotations use them; the tokens of the project's files that were read for it, since what
    compilers read of them is what is proved; WP's options; the tools."""
    share = output("frama-c", "-print-share-path").strip()
    folders = ["proofs/frama-c/include", "spec/include", "spec", "reference", "kernels", share + "/libc"]
    read = output("gcc", "-E", "-C", "-P", "-dD", "-nostdinc", "-D__FRAMAC__", "-D__FC_MACHDEP_GCC_X86_64",
                  *["-I" + folder for folder in folders], unit, tree=tree)
    path = os.path.join(tree, unit)
    files = [path] + sorted(included(path, tree))
    parts = [tokens(read)] + [[os.path.relpath(f, tree)] + tokens(open(f).read()) for f in files]
    parts += [options, [tools()]]
    return hashlib.sha256("\1".join("\0".join(part) for part in parts).encode()).hexdigest()


def read_proved():
    """unit -> what was recorded of it."""
    if not os.path.exists(PROVED):
        return {}
    return {entry["unit"]: entry for entry in map(json.loads, open(PROVED))}


def write_proved(entries):
    """Writes the entries, and those of other units as they stand."""
    proved = read_proved()
    proved.update((entry["unit"], entry) for entry in entries)
    with open(PROVED, "w") as file:
        file.writelines(json.dumps(proved[unit], sort_keys=True) + "\n" for unit in sorted(proved))


def read_tried():
    """name of a mutant -> (hash, verdict, goal)"""
    if not os.path.exists(TRIED):
        return {}
    return {line.split()[0]: tuple(line.split()[1:]) for line in open(TRIED)}


def write_tried(tried):
    with open(TRIED, "w") as file:
        file.writelines(" ".join((name,) + tried[name]) + "\n" for name in sorted(tried))
