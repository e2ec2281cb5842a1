"""The same bits, or a refusal: `train`, `verify`, `audit` and others under what a neighbour, a variable, a
limit or a preloaded library (hostile_library.c) can do to them.

  load   libraries that change the floating-point environment before main, odd numbers of threads, a busy
         machine: the same bits, and a line about what was undone. Pairs; PHIBAL_ALL=1: every combination
  while  libraries that change something while a command runs: the same bits, or exit status 2 with a line
         that names it, and no checkpoint, certificate or result that was written after it
  table  variables of OpenMP and others, locales, the stack's limit, closed files: `train` and one of the two
         others in each; PHIBAL_ALL=1: all three

usage: hostile_ground.py load|while|table PHIBAL FOLDER SOURCE LIBRARY"""
import itertools
import json
import os
import platform
import resource
import shutil
import subprocess
import sys

mode, phibal, folder, source, library = sys.argv[1], *map(os.path.abspath, sys.argv[2:6])
if platform.machine() != "x86_64":
    print("skipped: written for x86-64")
    sys.exit(77)
shutil.rmtree(folder, ignore_errors=True)
os.makedirs(folder + "/text")
os.chdir(folder)
failures = 0
NAMES = {"flush-to-zero": "flush-to-zero", "denormals-are-zero": "denormals-are-zero",
         "upward": "rounding upward", "downward": "rounding downward",
         "towards-zero": "rounding towards zero", "x87-53": "reduced x87 precision",
         "x87-24": "reduced x87 precision", "traps": "trap", "mpfr": "MPFR", "locale": "locale"}
TRAIN = ["train", "--config", "tiny", "--data", "data/train.tokens", "--steps", "3", "--batch", "2", "--quiet",
         "--set", "model.layers=2", "--set", "model.sequence=64", "--set", "checkpoint.keep=1"]
VERIFY = ["verify", "--op", "ema", "--op", "price", "--op", "router-forward", "--op", "expert-ffn",
          "--cases", "8"]
AUDIT = ["audit", "--potential", "softplus", "--check=quick", "--json",
         "--skip", "dynamics,convexity,legendre,gradient,conjugate"]


def check(good, *what):
    global failures
    if not good:
        failures += 1
        print("not ok:", *what)


def run(words, environment={}, prepare=None, **more):
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("OMP_", "GOMP_", "LC_", "LANG"))}
    more = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **more}
    done = subprocess.run([phibal, *words], env={**clean, "OMP_WAIT_POLICY": "passive", **environment},
                          preexec_fn=prepare, **more)
    return done.returncode, (done.stdout or b"").decode(), (done.stderr or b"").decode()


def without_times(text):
    """A certificate without when and how fast, or by how many threads."""
    def strip(value):
        if isinstance(value, dict):
            return {k: strip(v) for k, v in value.items() if k not in ("date", "seconds", "time", "threads")}
        return [strip(v) for v in value] if isinstance(value, list) else value
    return strip(json.loads(text))


def saved(out):
    """The bytes of each checkpoint's tensors; empty where nothing was saved."""
    found = {}
    for path, _, files in os.walk(out + "/checkpoints"):
        for file in files:
            if file.endswith(".safetensors") and not os.path.basename(path).startswith("."):
                found[file] = open(os.path.join(path, file), "rb").read()
    return found


def train(threads=3, **more):
    shutil.rmtree("run", ignore_errors=True)
    status, _, error = run([*TRAIN, "--threads", str(threads), "--out", "run"], **more)
    return status, error, saved("run")


def verify(threads=2, **more):
    if os.path.exists("certificate.json"):
        os.remove("certificate.json")
    more["environment"] = {"OMP_NUM_THREADS": str(threads), **more.get("environment", {})}
    status, _, error = run([*VERIFY, "--certificate", "certificate.json"], **more)
    made = os.path.exists("certificate.json") and without_times(open("certificate.json").read())
    return status, error, made


def audit(threads=2, **more):
    more["environment"] = {"OMP_NUM_THREADS": str(threads), **more.get("environment", {})}
    status, text, error = run(AUDIT, **more)
    return status, error, without_times(text) if status == 0 else None


def build(**more):
    shutil.rmtree("pieces", ignore_errors=True)
    status, _, error = run(["data", "build", "--out", "pieces", "--tokenizer", "sentencepiece", "--train-model",
                            "--vocabulary", "500", "text"], **more)
    made = "pieces/train.tokens"
    return status, error, open(made, "rb").read() if os.path.exists(made) else None


def judge(**more):
    status, text, error = run(["judge", "cases.safetensors", "results.safetensors", "--json"], **more)
    return status, error, without_times(text) if status == 0 else None


def evaluate(**more):
    status, text, error = run(["eval", "--potential", "softplus", "--fn", "gradient", "--at", "0.1,0.5",
                               "--digits", "40"], **more)
    return status, error, text


def eval_model(**more):
    status, text, error = run(["eval-model", "--load", "model", "--data", "data/validation.tokens", "--json",
                               "--threads", "2"], **more)
    return status, error, without_times(text) if status == 0 else None


def preload(what, at, **more):
    return {"LD_PRELOAD": library, "HOSTILE_WHAT": what, "HOSTILE_AT": at, **more}


class Busy:
    """Both processors at work beside it."""
    def __init__(self, processes):
        self.processes = processes

    def __enter__(self):
        self.started = [subprocess.Popen([sys.executable, "-c", "while True: pass"])
                        for _ in range(self.processes)]

    def __exit__(self, *_):
        for process in self.started:
            process.kill()
            process.wait()


for name in ("spec/SPEC.md", "spec/ERRATA.md", "README.md"):
    shutil.copy(os.path.join(source, name), "text/")
status, _, error = run(["data", "build", "--out", "data", "text"])
assert status == 0, error
plain = {}
for command in (train, verify, audit):
    plain[command] = command()
    check(plain[command][:2] == (0, "") and plain[command][2], command.__name__, "alone:", plain[command][:2])


def under_load():
    settings = [None, "flush-to-zero", "denormals-are-zero", "upward", "downward", "towards-zero", "x87-53",
                "x87-24"]
    threads, loads = [1, 2, 3, 5, 7], [0, 2]
    if os.environ.get("PHIBAL_ALL"):
        cases = list(itertools.product((train, verify, audit), settings, threads, loads))
    else:
        # Each setting with each command, on another number of threads each time; half of them busy, the
        # other half for the next command.
        cases = [(command, what, threads[(i + j) % 5], loads[(i + j) % 2])
                 for i, what in enumerate(settings) for j, command in enumerate((train, verify, audit))]
    for command, what, count, busy in cases:
        where = (command.__name__, what, count, "threads", "busy" if busy else "quiet")
        with Busy(busy):
            status, error, made = command(count, environment=preload(what, "load") if what else {})
        undone = f"phibal: a library that was loaded before it began had set {NAMES[what]}; this has been reset\n" \
            if what else ""
        check((status, error) == (0, undone), *where, status, error)
        check(made == plain[command][2], *where, "other bits")


def same_or_refused(command, what, at, refused, **more):
    """refused: None where either is right, else whether it must be."""
    status, error, made = command(environment=preload(what, at, **more))
    where = (command.__name__, what, at, status, error)
    if status == 0:
        check(made == plain[command][2], *where, "other bits")
        check(not refused, *where, "not refused")
        return
    check(status == 2 and NAMES[what] in error and len(error.splitlines()) == 1, *where)
    check(refused is None or refused, *where, "refused")
    if command is not evaluate and what not in ("mpfr", "locale"):
        # What was saved before it, at most.
        check(not made or made == plain[command][2], *where, "left something else")


def while_it_runs():
    run(["vectors", "--op", "ema", "--op", "price", "--cases", "4", "--out", "cases.safetensors",
         "--results", "results.safetensors"])
    status, _, error = run([*TRAIN, "--threads", "2", "--out", "model"])
    assert status == 0, error
    for command in (judge, evaluate, eval_model, build):
        plain[command] = command()
        check(plain[command][:2] == (0, ""), command.__name__, "alone:", plain[command][:2])
    # In the middle of training, in one thread and in all: always before the first checkpoint.
    for what, at in itertools.product(("flush-to-zero", "upward", "x87-53", "traps"), ("chunk=3", "chunk=40", "chunks=90")):
        same_or_refused(train, what, at, True)
    # As the last of all calls returns, found by bisection: before the checkpoint, too.
    least, beyond = 90, 1 << 20
    while beyond - least > 1:
        middle = (least + beyond) // 2
        status, _, _ = train(environment=preload("flush-to-zero", f"chunk={middle}"))
        least, beyond = (middle, beyond) if status else (least, middle)
    same_or_refused(train, "flush-to-zero", f"chunk={least}", True)
    check(not saved("run"), "a checkpoint was written after the last chunk of a loop had changed the environment")
    # In threads as they start: undone where training begins, refused elsewhere.
    for what, at in itertools.product(("flush-to-zero", "towards-zero"), ("thread=1", "thread=2")):
        same_or_refused(train, what, at, None)
        same_or_refused(verify, what, at, None)
        same_or_refused(audit, what, at, None)
        same_or_refused(eval_model, what, at, None)
    same_or_refused(verify, "flush-to-zero", "thread=1", True)
    same_or_refused(eval_model, "flush-to-zero", "thread=1", True)
    same_or_refused(verify, "upward", "chunk=1", True)
    # Anywhere.
    for i, (command, what) in enumerate(itertools.product(
            (train, verify, audit, judge, evaluate, eval_model, build),
            ("flush-to-zero", "downward", "traps", "mpfr"))):
        for n in (20 + 3 * i, 300 + 50 * i):
            same_or_refused(command, what, f"malloc={n}", None)
    same_or_refused(judge, "upward", "malloc=60", True)
    for what in ("flush-to-zero", "upward"):
        if plain[build][2]:
            same_or_refused(build, what, "sentencepiece=3", True)
            check(not os.path.exists("pieces/train.tokens"), "a corpus was written")


def limit(kind, bytes):
    return lambda: resource.setrlimit(kind, (bytes, bytes))


def close(*files):
    return lambda: [os.close(file) for file in files]


def table():
    rows = [
        # name, variables, what happens in the child, what a refusal says (null: it must be the same bits)
        ("no threads", {"OMP_NUM_THREADS": "0"}, None, None),
        ("nonsense for a number", {"OMP_NUM_THREADS": "many"}, None, None),
        ("dynamic threads", {"OMP_DYNAMIC": "true"}, None, None),
        ("nested threads", {"OMP_NESTED": "true", "OMP_MAX_ACTIVE_LEVELS": "4"}, None, None),
        ("schedule", {"OMP_SCHEDULE": "guided,7"}, None, None),
        ("thread limit", {"OMP_THREAD_LIMIT": "1"}, None, None),
        ("stacks of 16 KiB", {"OMP_STACKSIZE": "16k"}, None, None),
        ("stacks of 200000 bytes", {"OMP_STACKSIZE": "200000B"}, None, None),
        ("stacks of nonsense", {"OMP_STACKSIZE": "-3x"}, None, None),
        ("active waiting", {"OMP_WAIT_POLICY": "active"}, None, None),
        ("bound to nonsense", {"GOMP_CPU_AFFINITY": "9999 x-y"}, None, None),
        ("bound", {"OMP_PROC_BIND": "true", "OMP_PLACES": "cores"}, None, None),
        ("memory of 0xa5", {"MALLOC_PERTURB_": "165", "MALLOC_ARENA_MAX": "1"}, None, None),
        ("another time", {"TZ": ":nowhere"}, None, None),
        ("German", {"LC_ALL": "de_DE.UTF-8", "LANG": "de_DE.UTF-8"}, None, None),
        ("no such locale", {"LANG": "xx_YY", "LC_ALL": "none"}, None, None),
        ("no home", {"HOME": ""}, None, None),
        ("no terminal", {"TERM": ""}, None, None),
        ("a stack of 256 KiB", {}, limit(resource.RLIMIT_STACK, 256 << 10), "the stack's limit is 256 KiB"),
        ("a stack of 2 MiB", {}, limit(resource.RLIMIT_STACK, 2 << 20), None),
        ("a soft limit of 256 KiB", {},
         lambda: resource.setrlimit(resource.RLIMIT_STACK,
                                    (256 << 10, resource.getrlimit(resource.RLIMIT_STACK)[1])), None),
        ("a hundred thousand threads", {"OMP_NUM_THREADS": "100000"}, None, "100000 threads requested"),
        ("no standard input", {}, close(0), None),
        ("no standard error", {}, close(2), None),
        ("nothing open", {}, close(0, 2), None),
    ]
    for i, (name, variables, prepare, refusal) in enumerate(rows):
        for command in (train, verify, audit) if os.environ.get("PHIBAL_ALL") else (train, (verify, audit)[i % 2]):
            status, error, made = command(environment=variables, prepare=prepare)
            where = (name, command.__name__, status, error)
            if status == 0:
                check(made == plain[command][2], *where, "other bits")
            else:
                check(status == 2 and refusal and refusal in error, *where)
                check(not made, *where, "left something")
    # A refusal is better than a thread that runs beyond its stack; but this one is not needed.
    check(train(prepare=limit(resource.RLIMIT_STACK, 256 << 10))[0] == 2, "a stack of 256 KiB")
    # A decimal comma, set by a library: undone before, refused while it runs.
    made = subprocess.run(["localedef", "-i", "de_DE", "-f", "UTF-8", folder + "/de_DE.UTF-8"],
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) \
        if shutil.which("localedef") else None
    if not os.path.exists(folder + "/de_DE.UTF-8/LC_NUMERIC"):
        print("no German locale could be made here: the decimal comma was not tried")
        return
    comma = {"LOCPATH": folder, "HOSTILE_LOCALE": "de_DE.UTF-8"}
    for command in (train, verify, audit):
        status, error, made = command(environment=preload("locale", "load", **comma))
        check(status == 0 and "had set the locale de_DE.UTF-8; this has been reset" in error, command.__name__, error)
        check(made == plain[command][2], command.__name__, "other bits with a decimal comma")
        status, error, made = command(environment=preload("locale", "malloc=60", **comma))
        check(status == 0 and made == plain[command][2] or status == 2 and "locale" in error,
              command.__name__, "with a decimal comma from malloc:", status, error)


{"load": under_load, "while": while_it_runs, "table": table}[mode]()
print("not ok" if failures else "ok", failures, "failures")
sys.exit(failures > 0)
