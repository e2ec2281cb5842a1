#!/usr/bin/env python3
"""Files of every format, changed by rule and not by chance, given to the commands that read them.

usage: hostile_inputs.py PHIBAL TARGETS SOURCE_ROOT FOLDER

Mutants: each byte of a header set to 0, 0x7f and 0xff, counts one more and one less, files cut at
each boundary, lines doubled and exchanged, keys doubled, numbers replaced by huge, negative, NaN,
text, null and nesting, two files spliced, control characters, deep nesting. They go through the
format's fuzz target in TARGETS, in its process and under its sanitizers, and through the command
itself: a share of them, and all with PHIBAL_ALL=1, which builds phibal with AddressSanitizer and
UndefinedBehaviorSanitizer first.

A command may do what the file says, or refuse it: exit status 2 and a line, and perhaps another
that says where help is. It does not crash, say nothing, take longer than SECONDS, print control
characters, or leave a file. What changes a value that matters is not accepted.
"""
import concurrent.futures
import os
import re
import shutil
import struct
import subprocess
import sys

phibal, targets, source, folder = (os.path.abspath(x) for x in sys.argv[1:5])
ALL = bool(os.environ.get("PHIBAL_ALL"))
SECONDS = 60 if ALL else 20
SHARE = 9  # mutants of a format that the command gets where not all of them are wanted
shutil.rmtree(folder, ignore_errors=True)
os.makedirs(folder)
environment = {**os.environ, "OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "passive",
               "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1:abort_on_error=1",
               "UBSAN_OPTIONS": "halt_on_error=1:abort_on_error=1"}


def run(*command, cwd=folder, **how):
    return subprocess.run(command, cwd=cwd, env=environment, stdin=subprocess.DEVNULL, capture_output=True,
                          **how)


def make(*command):
    done = run(phibal, *command)
    if done.returncode:
        sys.exit("%s: %s" % (" ".join(command), done.stderr.decode()))


def read(*path):
    with open(os.path.join(folder, *path), "rb") as f:
        return f.read()


if ALL:
    build = os.path.join(source, "build-sanitize")
    if not os.path.exists(os.path.join(build, "build.ninja")):
        subprocess.run(["meson", "setup", build, source, "-Dcuda=disabled", "-Db_sanitize=address,undefined",
                        "-Db_lundef=false", "-Dbuildtype=debugoptimized"], check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["ninja", "-C", build, "cli/phibal"], check=True, stdout=subprocess.DEVNULL)
    phibal = os.path.join(build, "cli", "phibal")

# Good files, made by phibal.
with open(os.path.join(folder, "text.txt"), "w", encoding="utf-8") as f:
    f.write("".join("Line %d of a text of no great interest.\n\n" % i for i in range(200)))
make("data", "build", "--out", "corpus", "text.txt")
make("vectors", "--op", "price", "--op", "permutation", "--cases", "2", "--out", "v.safetensors", "--results",
     "r.safetensors")
make("vectors", "--op", "price", "--cases", "1", "--out", "n.npz", "--results", "rn.npz")
make("verify", "--small", "--op", "z-loss", "--cases", "2", "--certificate", "c.json")
os.makedirs(os.path.join(folder, "spare"))
hf = os.path.join(source, "fuzz", "corpus", "huggingface")


def seed(*path):
    with open(os.path.join(source, *path), "rb") as f:
        return f.read()


RUN_FILE = re.sub(rb"(?m)^#.*\n", b"", seed("moe", "configs", "tiny.yaml"))
TRAIN = ["train", "--dry-run", "--config"]
# The name of the fuzz target, a good file, another, its name, the command that reads it, whether it is
# text. {} is the file, {folder} where it lies: a folder of its own, in which `around` is, too.
FORMATS = [
    ("run_file", RUN_FILE, seed("fuzz", "corpus", "run_file", sorted(os.listdir(
        os.path.join(source, "fuzz", "corpus", "run_file")))[0]), "run.yaml", TRAIN + ["{}"], True, {}),
    ("sweep", seed("fuzz", "corpus", "sweep", "grid"), seed("fuzz", "corpus", "sweep", "cases"), "sweep.yaml",
     ["sweep", "{}", "--dry-run"], True, {}),
    ("phi", re.sub(rb"#.*", b"", seed("spec", "phi", "log-cosh.phi")), seed("spec", "phi", "lp.phi"), "p.phi",
     ["eval", "--potential", "{}", "--fn", "value", "--at", "1/4,3/4"], True, {}),
    ("token_file", read("corpus", "train.tokens"), read("corpus", "validation.tokens"), "t.tokens",
     ["data", "show", "{}"], False, {}),
    ("foreign_file", seed("fuzz", "corpus", "foreign_file", "llmc")[1:],
     seed("fuzz", "corpus", "foreign_file", "nanogpt")[1:], "t.bin", ["data", "show", "{}"], False, {}),
    ("safetensors", read("r.safetensors"), read("v.safetensors"), "r.safetensors",
     ["judge", os.path.join(folder, "v.safetensors"), "{}"], False, {}),
    ("npz", read("rn.npz"), read("n.npz"), "r.npz", ["judge", os.path.join(folder, "n.npz"), "{}"], False, {}),
    ("judge", read("v.json"), read("n.json"), "v.json",
     ["judge", "{folder}/v.safetensors", os.path.join(folder, "r.safetensors")], True,
     {"v.safetensors": read("v.safetensors")}),
    ("certificate", read("c.json"), b"{}", "c.json", ["judge", "--certificate", "{}"], True, {}),
    ("huggingface", seed("fuzz", "corpus", "huggingface", "olmoe"),
     seed("fuzz", "corpus", "huggingface", "deepseek_v3"), "config.json",
     ["train", "--dry-run", "--config", "tiny", "--from", "{folder}"], True,
     {"model.safetensors": read("r.safetensors")}),
    ("corpus_manifest", read("corpus", "corpus.json"), b"{}", "corpus.json",
     ["data", "show", "{folder}"], True, {}),
    ("instructions", seed("fuzz", "corpus", "instructions", "chat"),
     seed("fuzz", "corpus", "instructions", "plain"), "i.jsonl",
     ["data", "build", "--instructions", "--validation", "0", "--out", os.path.join(folder, "spare", "{number}"),
      "{}"], True, {}),
    ("tokenizer_json", seed("fuzz", "corpus", "tokenizer_json", "gpt2").split(b"\0")[0],
     seed("fuzz", "corpus", "tokenizer_json", "metaspace").split(b"\0")[0], "tokenizer.json",
     ["data", "build", "--tokenizer", "huggingface", "--model", "{}", "--validation", "0", "--out",
      os.path.join(folder, "spare", "{number}"), os.path.join(folder, "text.txt")], True, {}),
    ("metrics", seed("fuzz", "corpus", "metrics", "run"), b'{"step": 1}\n', "metrics.jsonl",
     ["report", "{folder}", "--out", os.path.join(folder, "spare", "{number}.html")], True,
     {"result.json": b"{}", "config.yaml": RUN_FILE}),
    ("result", b'{"method": "phi", "loss": 2.5, "balance": [{"layer": 1, "maxvio": 0.25}]}', b"{}", "result.json",
     ["compare", "{folder}"], True, {}),
]
NUMBER = re.compile(rb"(?<![\w.+-])[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.])")
# What no number can be: accepting it where one stood would be to understand it as something else.
SENSELESS = [b"NaN", b'"some text"', b"[[1]]", b'{"a": 1}']
STRANGE = [b"-1", b"0", b"1e999", b"99999999999999999999", b"-9223372036854775808", b"2147483648", b"0.5", b"null",
           b"true", b"1_0", b"0x", b"", b"'"]


def text_mutants(good, other):
    """(what, bytes, whether it must be refused)"""
    found = list(NUMBER.finditer(good))
    for place in found[:: max(1, len(found) // 25)]:
        for value in SENSELESS + STRANGE:
            yield ("%s for %s at %d" % (value.decode(), place[0].decode(), place.start()),
                   good[:place.start()] + value + good[place.end():], value in SENSELESS)
    lines = good.splitlines(keepends=True)
    for i in range(0, len(lines), max(1, len(lines) // 25)):
        yield "line %d twice" % i, b"".join(lines[:i + 1] + lines[i:]), False
        yield "line %d exchanged" % i, b"".join(lines[:i] + lines[i + 1:i + 2] + lines[i:i + 1] + lines[i + 2:]), False
        yield "without line %d" % i, b"".join(lines[:i] + lines[i + 1:]), False
        yield "cut in line %d" % i, b"".join(lines[:i]) + lines[i][:len(lines[i]) // 2], False
        yield "spliced at %d" % i, b"".join(lines[:i]) + other[len(other) // 2:], False
    for mark in b"[]{}:,\"\n":
        at = [i for i, c in enumerate(good) if c == mark]
        for i in at[:: max(1, len(at) // 6)]:
            yield "cut at %d" % i, good[:i], False
            yield "byte %d left out" % i, good[:i] + good[i + 1:], False
            yield "byte %d twice" % i, good[:i] + good[i:i + 1] + good[i:], False
            for c in (b"\0", b"\x1b[31m", b"\x7f", b"\xff", b"\xc3"):
                yield "%r at %d" % (c, i), good[:i] + c + good[i:], False
    for bracket in (b"[", b"{", b"(", b'{"a":', b"- ", b"[{", b"&a [*a, ", b"-"):
        yield "deep %r" % bracket, bracket * 30000, bracket != b"-"
        yield "deep %r within" % bracket, good[:len(good) // 2] + bracket * 30000, False
    yield "nothing", b"", False
    yield "a mark of order", b"\xef\xbb\xbf" + good, False
    yield "UTF-16", good.decode("utf-8").encode("utf-16"), False
    yield "a long line", good + b"#" + b"x" * 200000, False


def binary_mutants(good, other):
    head = min(len(good), 96)
    for i in range(head):
        for value in (0, 0x7f, 0xff):
            if good[i] != value:
                yield "byte %d is %d" % (i, value), good[:i] + bytes([value]) + good[i + 1:], False
    for width, code in ((2, "<H"), (4, "<I"), (8, "<Q")):
        for i in range(0, head - width, width):
            value = struct.unpack_from(code, good, i)[0]
            for more in (-1, 1):
                yield ("%+d at %d, %d bytes" % (more, i, width), good[:i] +
                       struct.pack(code, (value + more) % 256 ** width) + good[i + width:], False)
    for i in sorted({*range(0, 72), *range(72, len(good), max(1, len(good) // 40)), len(good) - 1}):
        if i < len(good):
            yield "cut at %d" % i, good[:i], False
    for i in range(8, len(good), max(1, len(good) // 40)):
        yield "spliced at %d" % i, good[:i] + other[i:], False
        yield "a byte more at %d" % i, good[:i] + b"\0" + good[i:], False
    yield "twice", good + good, False
    yield "a byte more", good + b"\0", False


# Where every number means something; elsewhere some are passed over.
MEANT = ("run_file", "sweep", "phi", "certificate", "huggingface")
PASSED_OVER = re.compile(rb'"(\w*_token_id|router_aux_loss_coef|initializer_range|attention_dropout|'
                         rb'transformers_version|pretraining_tp)":[^,}]*\Z')


def may_be_accepted(name, good, data):
    same = next((i for i, (a, b) in enumerate(zip(good, data)) if a != b), 0)
    return name not in MEANT or PASSED_OVER.search(good[:same + 1]) is not None


GOOD = "as it is"
problems, ran, replayed = [], 0, 0


def attempt(job):
    number, name, what, data, refused, file, command, around = job
    place = os.path.join(folder, "m%d" % number)
    os.makedirs(place)
    for other, content in around.items():
        with open(os.path.join(place, other), "wb") as f:
            f.write(content)
    path = os.path.join(place, file)
    with open(path, "wb") as f:
        f.write(data)
    before = sorted(os.listdir(place))
    words = [w.replace("{}", path).replace("{folder}", place).replace("{number}", str(number)) for w in command]
    wrong = None
    try:
        done = run(phibal, *words, cwd=place, timeout=SECONDS)
        said = done.stderr.decode("utf-8", "replace")
        if done.returncode not in (0, 1, 2):
            wrong = "exit status %d: %s" % (done.returncode, said[-300:])
        elif "Sanitizer" in said or "runtime error" in said:
            wrong = "sanitizer: " + said[:300]
        elif done.returncode == 2 and not 1 <= len([x for x in said.splitlines() if x]) <= 2:
            wrong = "%d lines for a refusal: %r" % (len(said.splitlines()), said[:300])
        elif re.search(r"[\x00-\x08\x0b-\x1f\x7f]", said + done.stdout.decode("utf-8", "replace")):
            wrong = "control characters: %r" % said[:300]
        elif refused and done.returncode == 0:
            wrong = "accepted"
        elif what == GOOD and name in MEANT + ("token_file", "foreign_file", "safetensors", "npz",
                                             "tokenizer_json") and done.returncode:
            wrong = "refused: " + said
        elif done.returncode and sorted(os.listdir(place)) != before:
            wrong = "leaves %s" % (set(os.listdir(place)) - set(before))
        elif done.returncode and [x for x in os.listdir(os.path.join(folder, "spare"))
                                  if x.split(".")[0] == str(number)]:
            wrong = "leaves its output"
        if done.returncode == 0 and name in ("corpus_manifest", "instructions", "metrics", "tokenizer_json") and not wrong:
            for x in os.listdir(os.path.join(folder, "spare")):
                if x.split(".")[0] == str(number):
                    shutil.rmtree(os.path.join(folder, "spare", x), ignore_errors=True)
    except subprocess.TimeoutExpired:
        wrong = "no end after %d s" % SECONDS
    shutil.rmtree(place)
    if wrong:
        keep = os.path.join(folder, "finding-%s-%d" % (name, number))
        with open(keep, "wb") as f:
            f.write(data)
        return "%s: %s: %s (%s)" % (name, what, wrong, keep)
    return None


jobs = []
for name, good, other, file, command, text, around in FORMATS:
    mutants = list((text_mutants if text else binary_mutants)(good, other))
    mutants_here = mutants if ALL else mutants[:: max(1, len(mutants) // SHARE)]
    jobs.append((len(jobs), name, GOOD, good, False, file, command, around))
    for what, data, refused in mutants_here:
        refused = refused and not may_be_accepted(name, good, data)
        jobs.append((len(jobs), name, what, data, refused, file, command, around))
    target = os.path.join(targets, "fuzz_" + name)
    if not os.access(target, os.X_OK):
        print("%s: no target, the command only" % name)
        continue
    inputs = os.path.join(folder, "inputs-" + name)
    os.makedirs(inputs)
    head = {"phi_derivatives": b"abc", "foreign_file": b"\0\0\0"}.get(name, b"")
    taken = mutants if ALL else mutants[:: 8]
    for i, (what, data, refused) in enumerate(taken):
        with open(os.path.join(inputs, "%05d" % i), "wb") as f:
            f.write(head + data)
    replayed += len(taken)
    crash = os.path.join(folder, "finding-in-process-" + name)
    done = subprocess.run([target, "-runs=0", inputs], capture_output=True, env={**os.environ, "FUZZ_CRASH": crash})
    if done.returncode:
        problems.append("%s, in its target: %s (%s)" % (name, done.stderr.decode("utf-8", "replace")[-400:], crash))
    shutil.rmtree(inputs)

with concurrent.futures.ThreadPoolExecutor(2) as pool:
    for wrong in pool.map(attempt, jobs):
        ran += 1
        if wrong:
            problems.append(wrong)
for line in problems:
    print("not ok: " + line)
print("%d mutants in process, %d commands, %d problems" % (replayed, ran, len(problems)))
sys.exit(1 if problems else 0)
