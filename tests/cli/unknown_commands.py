"""Commands and options that there are not: one line with the nearest that there is, where one is
near, and a short usage. Every command knows its own options.

usage: unknown_commands.py PHIBAL"""
import subprocess
import sys

failures = 0


def refused(words, wanted, most_lines):
    global failures
    done = subprocess.run([sys.argv[1], *words], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    lines = done.stderr.splitlines()
    if done.returncode == 2 and not done.stdout and lines[:1] == [wanted] and len(lines) <= most_lines:
        return
    failures += 1
    print("not ok:", words, done.returncode, done.stdout, done.stderr)


listed = [line.split()[0] for line in subprocess.run([sys.argv[1], "--help"], capture_output=True, text=True)
          .stdout.splitlines() if line.startswith("  ")]
for wrong, near in [("tarin", "train"), ("evla", "eval"), ("eval_model", "eval-model"), ("planx", "plan"),
                    ("sweeps", "sweep"), ("Bench", "bench")]:
    refused([wrong], f"phibal: unknown command '{wrong}'; perhaps '{near}'", 3)
for wrong in ["", "x", "launch", "tr", "a" * 5000]:
    refused([wrong], f"phibal: unknown command '{wrong}'", 3)
for name in listed:
    # Two letters change places: prefixes alone are getopt's business.
    for words in [["data", "build"], ["data", "debian"], ["data", "show"]] if name == "data" else [[name]]:
        command = " ".join(words)
        refused([*words, "--hlep"], f"phibal {command}: unknown option '--hlep'; perhaps '--help'", 2)
        refused([*words, "--zzzz"], f"phibal {command}: unknown option '--zzzz'", 2)
refused(["train", "--dta=x"], "phibal train: unknown option '--dta=x'; perhaps '--data'", 2)
refused(["eval", "--protential", "x"], "phibal eval: unknown option '--protential'; perhaps '--potential'", 2)
sys.exit(failures > 0)
