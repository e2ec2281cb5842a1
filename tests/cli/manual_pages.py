"""Manual pages and completions: each option that a command's parser takes is in its page and in the completions of
both shells, and no other; the pages are right for groff and mandoc; bash completes commands, options, names, files.

The parser's options are read in the sources, where getopt_long is called once, for tables that manuals name.

usage: manual_pages.py PHIBAL SOURCE_ROOT [PAGES_OF_THE_BUILD]"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

phibal, source = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
failures = 0


def check(good, *what):
    global failures
    if not good:
        failures += 1
        print("not ok:", *what)


def run(*words, status=0):
    done = subprocess.run([phibal, *words], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    check(done.returncode == status, words, done.returncode, done.stderr)
    return done.stdout


def options_of(text):
    return set(re.findall(r"(?<![\w-])--([a-z][\w-]*)", text))


listed = [line.split()[0] for line in run("--help").splitlines()
          if line.startswith("  ") and "not in this build" not in line]
pages = {(): run("help", "--man")}
check(re.findall(r"(?m)^\.BR phibal\\-(\S+) \(1\)$", pages[()]) == [c.replace("-", "\\-") for c in listed], "phibal.1")
for command in listed:
    parts = re.findall(r"(?m)^  ([a-z]+) ", run(command, "--help")) if command == "data" else []
    for words in [(command,)] + [(command, part) for part in parts]:
        pages[words] = run("help", "--man", *words)
        check(run("help", *words) == run(*words, "--help"), "help", *words)

# What parsers take, of the sources: a table, and the manual that names it.
parsed = {}
for name in sorted(os.listdir(source + "/cli")):
    if not name.endswith(".c"):
        continue
    with open(os.path.join(source, "cli", name), encoding="utf-8") as f:
        text = f.read()
    check(("getopt_long(" in text) == (name == "main.c"), name, "calls getopt_long")
    tables = {t[0]: re.findall(r'\{\s*"([\w-]+)",\s*(?:no|required|optional)_argument', t[1]) for t in re.findall(
        r"(?s)static const struct option (\w+)\[\] = \{(.*?)\n?\s*\{0\}\};", text)}
    keys = re.findall(r'(?m)^  ROW\("([\w-]+)"', text)
    count = len(re.findall(r'"\s*,\s*(?:no|required|optional)_argument', text))
    check(count == sum(map(len, tables.values())), name, "has options outside of its tables", count, tables)
    for title, fields in re.findall(r'(?s)const command_manual manual_\w+ = \{\s*\.name = "([\w -]+)",(.*?)\};', text):
        table = re.search(r"\.options = (\w+)", fields)
        if table:
            parsed[tuple(title.split())] = set(tables.pop(table[1])) | set(keys)
    check(not tables, name, "has a table that no manual names:", tables)
parsed[("data",)] = {"help"}
check(set(pages) - {()} <= set(parsed), "no table of", set(pages) - set(parsed))

bash, zsh = run("help", "--completion", "bash"), run("help", "--completion", "zsh")
for words, page in pages.items():
    if not words or words == ("data",):
        continue
    title = " ".join(words)
    wanted = parsed[words]
    check(len(wanted) > 1, title, "has no options")
    listed_there = {o for label in re.findall(r"(?m)^\.TP\n\\fB(.*)\\fR$", page)
                    for o in options_of(label.replace("\\-", "-"))}
    check(listed_there == wanted, title, "page:", listed_there ^ wanted)
    row = re.search(r"(?m)^  '%s'\)\n    words='([^']*)'" % title, bash)
    check(row and options_of(row[1]) == wanted, title, "bash:", row and options_of(row[1]) ^ wanted)
    block = re.search(r"(?ms)^  \('%s'\)\n(.*?) ;;$" % title, zsh)
    found = set(re.findall(r"(?m)^ +'(?:\*)?--([\w-]+)", block[1])) if block else set()
    check(found == wanted, title, "zsh:", found ^ wanted)

# Names that are completed are names that are taken.
names = dict(re.findall(r"(?m)^  (?:'[^']*' \| )?'([^']*)='\) names='([^']*)'", bash))
check(len(names["eval --potential"].split()) >= 9, names["eval --potential"])
for name in names["train --method"].split():
    run("train", "--config", "tiny", "--dry-run", "--method", name)
for name in names["train --potential"].split():
    run("train", "--config", "tiny", "--dry-run", "--potential", name)
check({"tiny", "111M"} < set(names["train --config"].split()), names["train --config"])
if "eval" in listed:
    at = ("--fn", "value", "--at", "0.25,0.75", "--potential")
    for name in names["eval --potential"].split():
        run("eval", *at, name)
    for name in names["eval --round"].split():
        for direction in names["eval --direction"].split():
            run("eval", *at, "euclid", "--round", name, "--direction", direction)
    run("verify", "--cases", "1", "--small", *(w for name in names["verify --op"].split() for w in ("--op", name)))

for tool in (["groff", "-man", "-ww", "-z"], ["mandoc", "-T", "lint", "-W", "warning"]):
    if not shutil.which(tool[0]):
        print("skipped: no", tool[0])
        continue
    for words, page in pages.items():
        done = subprocess.run(tool, input=page, capture_output=True, text=True)
        check(not done.returncode and not done.stdout and not done.stderr, words, done.stdout, done.stderr)
if len(sys.argv) > 3:
    made = {tuple(n[:-2].split("-")) for n in os.listdir(sys.argv[3]) if n.endswith(".1")}
    check(made == {tuple(("phibal",) + tuple("-".join(w).split("-")) if w else ("phibal",)) for w in pages}, "made:", made)

# Bash at work: what stands on the line, the words that it offers.
with tempfile.TemporaryDirectory() as folder:
    os.makedirs(folder + "/runs/one two")
    for name in ("my potential.phi", "text.tokens"):
        open(os.path.join(folder, name), "w").close()
    with open(folder + "/completion", "w") as f:
        f.write(bash)

    def offered(*words):
        """Of the line `phibal WORDS`, the last of which is being typed; = is a word of its own, as in bash."""
        words = [w for word in words for w in re.findall(r"=|[^=]+", word) or [""]]
        script = ('. ./completion\nCOMP_WORDS=(phibal "$@") COMP_CWORD=$#\n_phibal\n'
                  'printf "%s\\n" "${COMPREPLY[@]}"\n')
        done = subprocess.run(["bash", "-c", script, "bash", *words], cwd=folder, capture_output=True, text=True)
        check(not done.returncode and not done.stderr, words, done.stderr)
        return done.stdout.split("\n")[:-1] if done.stdout != "\n" else []

    def offers(words, wanted):
        found = offered(*words)
        check(sorted(found) == sorted(wanted), "bash offers", found, "for", words)

    offers(["co"], ["compare"])
    offers(["e"], [c for c in listed if c.startswith("e")])
    offers(["help", "pl"], ["plan"])
    offers(["train", "--met"], ["--method"])
    offers(["train", "--method", "s"], ["switch", "switch-global", "sequence"])
    offers(["train", "--method=s"], ["switch", "switch-global", "sequence"])
    offers(["train", "--method="], names["train --method"].split())
    offers(["train", "--potential", "te"], ["text.tokens"])
    offers(["train", "--potential", "r"], ["renyi", "runs"])
    offers(["train", "--data", "m"], ["my potential.phi"])
    offers(["train", "--resume", "runs/"], ["runs/one two"])
    offers(["train", "--resume", "t"], [])
    offers(["train", "--steps", ""], [])
    offers(["data", "b"], ["build"])
    offers(["data", "build", "--js"], ["--json", "--jsonl"])
    offers(["data", "build", "--jsonl", ""], ["named", "all", "none"])
    offers(["data", "build", "t"], ["text.tokens"])
    offers(["data", "show", "--"], ["--help", "--json"])
    offers(["compare", "r"], ["runs"])
    offers(["compare", "t"], [])
    if "audit" in listed:
        offers(["audit", "m"], ["my potential.phi"])
        offers(["audit", "--skip", "leg"], ["legendre"])
        offers(["audit", "--skip", "core,leg"], ["core,legendre"])
        offers(["audit", "--check=q"], ["quick"])
        offers(["audit", "--check", "m"], ["my potential.phi"])
        offers(["verify", "--backend", ""], ["cpu", "cuda", "host-cuda"])
        offers(["vectors", "--op", "al"], ["all"])
    if shutil.which("zsh"):
        with open(folder + "/_phibal", "w") as f:
            f.write(zsh)
        done = subprocess.run(["zsh", "-n", "_phibal"], cwd=folder, capture_output=True, text=True)
        check(not done.returncode and not done.stderr, done.stderr)
    else:
        print("skipped: no zsh")
print("%d pages, %d options" % (len(pages), sum(len(parsed[w]) for w in pages if w)))
sys.exit(failures > 0)
