"""Standard output that cannot be written: every command of `phibal --help` says so in one line and
with status 2, as text and as JSON; and nobody else's file gets what a closed one should have had.

usage: standard_output.py PHIBAL FOLDER"""
import os
import shutil
import signal
import subprocess
import sys

phibal, folder = os.path.abspath(sys.argv[1]), sys.argv[2]
shutil.rmtree(folder, ignore_errors=True)
os.makedirs(folder + "/text")
os.chdir(folder)
failures = 0


def run(words, stdout, **more):
    done = subprocess.run([phibal, *words], stdout=stdout, stderr=subprocess.PIPE, text=True,
                          stdin=subprocess.DEVNULL, **more)
    return done.returncode, done.stderr


def check(good, what):
    global failures
    if not good:
        failures += 1
        print("not ok:", what)


def prepare(words):
    status, error = run(words.split(), subprocess.DEVNULL)
    if status:
        sys.exit(f"{words}: status {status}: {error}")


# What the commands below read.
with open("text/words.txt", "w") as text:
    for i in range(400):
        text.write(f"one two three {i * i} four\n")
prepare("data build --document-bytes 500 --out corpus text")
small = ("--quiet --threads 1 --batch 2 --steps 2 --set model.layers=2 --set model.width=32 "
         "--set model.sequence=24 --set checkpoint.every=0")
train = f"train --config tiny --data corpus/train.tokens {small}"
prepare(f"{train} --out run")
prepare("vectors --op loss-free --cases 2 --out cases.safetensors --results results.safetensors")
prepare("verify --op loss-free --cases 2 --certificate certificate.json")
with open("sweep.yaml", "w") as file:
    file.write("base: tiny\nout: sweep\nseeds: [1]\nset: {data.train: corpus/train.tokens, "
               "training.steps: 2, model.layers: 2, model.width: 32, model.sequence: 24, "
               "batch.sequences: 2, batch.micro_sequences: 2, training.threads: 1}\n"
               "grid:\n  balance.eta: [0.5, 1]\n")
prepare("sweep sweep.yaml --quiet")

# Each prints: the answers of the commands, one or more a command. N is a number not yet used.
cases = {
    "info": ["info", "info --json"],
    "eval": ["eval --potential euclid --fn value --at 1", "eval --potential euclid --fn value --at 1 --json",
             "eval --potential negentropy --fn gradient --at 0.1,0.2,0.7 --digits 3000"],
    "audit": ["audit --potential euclid --quick --skip core,dynamics",
              "audit --potential euclid --quick --skip core,dynamics --json",
              "audit --potential euclid --quick --skip core,dynamics --check"],
    "verify": ["verify --op loss-free --cases 2", "verify --op loss-free --cases 2 --json", "verify --list"],
    "vectors": ["vectors --op loss-free --cases 2 --out vectorsN.safetensors"],
    "judge": ["judge cases.safetensors results.safetensors",
              "judge cases.safetensors results.safetensors --json",
              "judge --certificate certificate.json",
              "judge cases.safetensors cases.safetensors"],  # the answer is no, or was to be
    "data": ["data build --document-bytes 500 --out corpusN text",
             "data build --document-bytes 500 --out corpusN text --json",
             "data show corpus/train.tokens", "data show corpus/train.tokens --json", "data --help"],
    "train": [f"{train} --out runN", f"{train} --out runN --json", f"{train} --out runN --dry-run",
              f"{train} --out runN --dry-run --json", "train --keys"],
    "sweep": ["sweep sweep.yaml --quiet", "sweep sweep.yaml --quiet --json", "sweep sweep.yaml --table",
              "sweep sweep.yaml --dry-run"],
    "eval-model": ["eval-model --load run --data corpus/train.tokens --sequences 2",
                   "eval-model --load run --data corpus/train.tokens --sequences 2 --json"],
    "generate": ["generate --load run --length 4", "generate --load run --length 4 --json"],
    "export": ["export --help"],
    "report": ["report run --out reportN.html"],
    "plan": ["plan --flops 1e20", "plan --flops 1e20 --json", "plan --config tiny",
             "plan --config tiny --json", "plan --paper", "plan --paper --json"],
    "compare": ["compare run", "compare run --json"],
    "bench": ["bench --steps 1 --threads 1", "bench --steps 1 --threads 1 --json"],
}
number = 0


def words(line):
    global number
    number += 1
    return line.replace("N.", f"{number}.").replace("runN", f"run{number}").replace(
        "corpusN", f"corpus{number}").split()


silent = {cases["vectors"][0]}  # what it writes is all that it says
# A file of the command's own must not become descriptor 1 and get what was for standard output.
corpus = "data build --document-bytes 500 --out closed text"
status, error = run(corpus.split(), None, preexec_fn=lambda: os.close(1))
check(status == 2 and "standard output: Bad file descriptor" in error, f"{corpus}: {status}: {error}")
for file in "train.tokens", "validation.tokens":
    check(open("closed/" + file, "rb").read() == open("corpus/" + file, "rb").read(),
          f"closed/{file} is not what it is with standard output")

listed = [line.split()[0] for line in subprocess.run([phibal, "--help"], capture_output=True, text=True)
          .stdout.splitlines() if line.startswith("  ")]
check(len(listed) > 10, "the commands were not read out of the help")
check(sorted(listed) == sorted(cases), f"without a case here: {set(listed) ^ set(cases)}")

for name in [""] + listed:
    lines = cases.get(name, []) + [f"{name} --help"] if name else ["--help", "--version"]
    said = f"phibal {name}: standard output: " if name else "phibal: standard output: "
    for line in lines:
        with open("answer", "w") as answer:
            status, error = run(words(line), answer)
        check(status in (0, 1), f"{line}: status {status}: {error}")
        printed = os.path.getsize("answer") > 0 or line in silent
        check(printed, f"{line}: prints nothing")
        with open("/dev/full", "w") as full:
            status, error = run(words(line), full)
        if line in silent:
            check(status == 0, f"{line}: status {status}: {error}")
            continue
        check((status, error) == (2, said + "No space left on device\n"),
              f"{line} to a full disk: status {status}: {error}")
    status, error = run(words(lines[-1]), None, preexec_fn=lambda: os.close(1))
    check((status, error) == (2, said + "Bad file descriptor\n"),
          f"{lines[-1]} without standard output: status {status}: {error}")

# A usage error has its own line and no other; it has printed nothing.
with open("/dev/full", "w") as full:
    status, error = run(["plan"], full)
check(status == 2 and "standard output" not in error, f"plan to a full disk: {status}: {error}")

# Readers who leave: in silence, by the signal unless it is ignored.
for ignored in (False, True):
    read, write = os.pipe()
    os.close(read)
    status, error = run(["train", "--keys"], write, preexec_fn=lambda: signal.signal(
        signal.SIGPIPE, signal.SIG_IGN if ignored else signal.SIG_DFL), restore_signals=False)
    os.close(write)
    check((status, error) == (2 if ignored else -signal.SIGPIPE, ""),
          f"a pipe without reader, signal {'' if ignored else 'not '}ignored: {status}: {error}")

print("failures:", failures)
sys.exit(failures > 0)
