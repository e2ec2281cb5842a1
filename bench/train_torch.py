"""CPU training of phibal beside the same model in PyTorch, in one run: tokens a second and peak memory.

  python3 bench/train_torch.py [--phibal build/cli/phibal] [--config tiny] [--threads 2,1] [--rounds 7] [--steps 20]
                               [--variants loop,grouped+compiled,...] [--isa avx2] [--checked 10]
                               [--set SECTION.KEY=VALUE ...] [--mistakes]

Both start from the same weights (a phibal checkpoint) and read the same tokens; in every run the loss, the
balancing loss and the gradient norm of the first steps (--checked) have to agree within BAND, or this ends with status 1.
Where the run file has gradients summed over micro-batches, a step is one of them.
The runs alternate; a ratio is of runs of one round. Processor time is that of all threads, in the kernel too;
what else runs on the machine is not in it.
Both are measured as installed, so that nothing in the environment may choose their instructions, threads or
libraries (SETTINGS): status 2 if something does. --isa avx2 holds both to AVX2, each by its own variable.
--mistakes instead trains PyTorch's model with each of torch_model.MISTAKES and ends with status 1 if one of them is
not noticed. Status 77: no PyTorch."""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from statistics import median

# What such variables begin with. A worker has those of --isa.
SETTINGS = ("ATEN_", "BLIS_", "DNNL_", "GOMP_", "GOTO_", "KMP_", "LD_PRELOAD", "MKL_", "OMP_", "ONEDNN_", "OPENBLAS_",
            "PHIBAL_ISA", "TORCH")
given = sorted(name for name in os.environ if name.startswith(SETTINGS))
if given and sys.argv[1:2] != ["--worker"]:
    print("set in the environment: " + ", ".join(given) + "; unset, so that both run as installed", file=sys.stderr)
    sys.exit(2)

try:
    import numpy
    import torch
    from safetensors.torch import load_file

    import torch_model
except ImportError as error:
    print(f"skipped: {error} (pip install torch numpy safetensors)")
    sys.exit(77)

import corpus
from processor import processor

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
UNCOUNTED = 3  # steps at the beginning of a run that are not timed
TIE = 2e-6  # logits nearer than that may be put in another order by roundings
# The learning rate rises slowly, as a whole run's does, by so much a step. AdamW's first steps move each weight by the
# rate whatever its gradient's size, so that a large one makes roundings of small gradients show.
RATE = 1.3e-5
# Relative distances of two programs that round alike but in another order. See TRAINING.md.
BAND = {"loss": 2e-6, "balance_loss": 2e-6, "gradient_norm": 1e-5}
# What holds phibal to an instruction set, and what holds PyTorch, its MKL and its oneDNN; what phibal, PyTorch and MKL
# then may say that they run.
ISAS = {"avx2": ({"PHIBAL_ISA": "x86-64-v3"},
                 {"ATEN_CPU_CAPABILITY": "avx2", "MKL_ENABLE_INSTRUCTIONS": "AVX2", "ONEDNN_MAX_CPU_ISA": "AVX2"},
                 "x86-64-v3", "AVX2", "AVX2|does not say|none")}
PROBE = """import torch
print(torch.backends.cpu.get_cpu_capability(), flush=True)
with torch.backends.mkl.verbose(torch.backends.mkl.VERBOSE_ON):
    torch.mm(torch.ones(64, 64), torch.ones(64, 64))"""


def write_tokens(path, vocabulary, sequence, windows):
    return torch.from_numpy(numpy.asarray(corpus.write(path, vocabulary, windows * sequence + 1)).astype(numpy.int64))


def batches_of(given, steps):
    tokens, sequences, sequence = given["tokens"], given["config"]["sequences"], given["config"]["sequence"]
    windows = (len(tokens) - 1) // sequence
    made = []
    for step in range(steps):
        at = [corpus.shuffled(given["seed"], step * sequences + i, windows) * sequence for i in range(sequences)]
        made.append((torch.stack([tokens[i : i + sequence] for i in at]),
                     torch.stack([tokens[i + 1 : i + 1 + sequence] for i in at])))
    return made


def read_config(path):
    """What a run file says of the model and its training, sections flattened."""
    found, section = {}, ""
    for line in open(path):
        key, colon, value = line.strip().partition(":")
        value = value.strip().strip('"')
        if not line.startswith(" "):
            section = key
        if not line.startswith(" ") or section not in ("model", "balance", "batch", "optimizer"):
            continue
        try:
            found[key] = {"true": True, "false": False}[value] if value in ("true", "false") else float(value)
            if found[key] == int(found[key]) and "." not in value and "e" not in value:
                found[key] = int(value)
        except ValueError:
            found[key] = value
    return found


def environment(o, side):
    """Of phibal (0) or PyTorch (1)."""
    return dict(os.environ, **(ISAS[o.isa][side] if o.isa else {}))


def instructions(o):
    """What phibal, PyTorch and its MKL say that they run; ends the program where that is not what was asked for."""
    info = json.loads(subprocess.run([o.phibal, "info", "--json"], capture_output=True, text=True, check=True,
                                     env=environment(o, 0)).stdout)
    ours = info["isa"]
    probed = subprocess.run([sys.executable, "-c", PROBE], capture_output=True, text=True, check=True,
                            env=environment(o, 1)).stdout
    theirs, _, verbose = probed.partition("\n")
    mkl = re.search(r"\(Intel\(R\) (AVX[-\w]*)\)", verbose)
    mkl = mkl.group(1) if mkl else "does not say" if "MKL_VERBOSE" in verbose else "none"
    for what, said, wanted in zip(("phibal", "PyTorch", "MKL"), (ours, theirs, mkl), ISAS[o.isa][2:] if o.isa else ()):
        if not re.fullmatch(wanted, said):
            sys.exit(f"not held to {o.isa}: {what} runs {said}")
    return f"phibal: {ours}; PyTorch {torch.__version__}: {theirs}, its MKL: {mkl}"


def peak_memory(process="self"):
    """In MiB; 0 where the process is ending."""
    for line in open(f"/proc/{process}/status"):
        if line.startswith("VmHWM"):
            return int(line.split()[1]) / 1024
    return 0


def processor_seconds():
    """Of the programs that have ended."""
    times = os.times()
    return times.children_user + times.children_system


def phibal(o, folder, out, threads, steps, *sets):
    """Trains; returns the steps' lines with their seconds, the peak memory in MiB and the processor's seconds."""
    command = [o.phibal, "train", "--config", o.config, "--data", f"{folder}/tokens.bin", "--out", f"{folder}/{out}",
               "--overwrite", "--quiet", "--threads", str(threads), "--seed", str(o.seed), "--steps", str(steps)]
    rates = ("optimizer.warmup=1", f"optimizer.peak_lr={RATE * steps}")
    for setting in ("checkpoint.keep=0", "data.end_of_document=0", *rates, *o.set, *sets):
        command += ["--set", setting]
    peak, used = 0, -processor_seconds()
    with open(f"{folder}/said", "w+") as said:
        child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=said, env=environment(o, 0))
        while child.poll() is None:
            # Not from its resource usage, which begins with this process's own memory.
            peak = max(peak, peak_memory(child.pid))
            time.sleep(0.05)
        used += processor_seconds()
        said.seek(0)
        if child.returncode:
            sys.exit(f"phibal: {said.read()}")
    lines = [json.loads(line) for line in open(f"{folder}/{out}/metrics.jsonl")]
    lines = [line for line in lines if line["type"] == "step"]
    config, before = read_config(f"{folder}/{out}/config.yaml"), 0.0
    tokens = config["sequences"] * config["sequence"]
    for line in lines:  # the rate is since the start
        now = line["step"] * tokens / line["tokens_per_second"]
        line["seconds"], before = now - before, now
    return lines, peak, used


def worst(checked, ours, theirs):
    """Of each quantity, the largest relative distance over the checked steps."""
    return {key: max(abs(a[key] - b[key]) / abs(a[key]) for a, b in zip(ours[:checked], theirs)) for key in BAND}


def agrees(distances):
    return all(distances[key] <= band for key, band in BAND.items())


class Peer:
    """PyTorch in a process of its own, that keeps what it has compiled."""

    def __init__(self, o, folder, variant, threads):
        self.variant = variant
        self.process = subprocess.Popen([sys.executable, __file__, "--worker", folder, variant, str(threads)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment(o, 1))

    def run(self, steps):
        """None where this PyTorch cannot."""
        self.process.stdin.write(f"{steps}\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        return json.loads(line) if line else None

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def worker(folder, variant, threads):
    torch.set_num_threads(int(threads))
    imported = peak_memory()
    given = torch.load(f"{folder}/given.pt")
    batches = batches_of(given, len(given["rates"]))
    fresh = lambda: torch_model.Model(given["config"], load_file(f"{folder}/weights.safetensors"), variant)
    model = None
    for line in sys.stdin:
        if model is None or "+" not in variant:
            model = None
            model = fresh()
        else:  # which has been compiled
            model.load_state_dict(fresh().state_dict())
        steps = int(line)
        lines = torch_model.train(model, batches[:steps], given["rates"][:steps], given["checked"])
        if "+" not in variant:
            model = None  # the others need its memory
        print(json.dumps({"lines": lines, "peak": peak_memory(), "imported": imported}), flush=True)


def check_mistakes(given, folder, lines):
    """Every mistake has to leave the band in one of the quantities, and the model without one to stay in it."""
    missed = 0
    weights = load_file(f"{folder}/weights.safetensors")
    checked = given["checked"]
    batches = batches_of(given, checked)
    print(f"{'':18} {'loss':>9} {'balance':>9} {'norm':>9}   relative distance from phibal, most of {checked} steps")
    for name in ("", *torch_model.MISTAKES):
        model = torch_model.Model(given["config"], weights, "loop", name)
        found = worst(checked, lines, torch_model.train(model, batches, given["rates"][:checked], checked))
        good = agrees(found) != bool(name)
        missed += not good
        print(f"{name or 'none':18} {found['loss']:9.1e} {found['balance_loss']:9.1e} "
              f"{found['gradient_norm']:9.1e}   {'' if good else 'NOT NOTICED' if name else 'APART'}", flush=True)
    return 1 if missed else 0


def measure(o, given, folder, threads):
    tokens = given["config"]["sequences"] * given["config"]["sequence"]
    seconds = lambda lines: sum(line["seconds"] for line in lines[UNCOUNTED:]) / o.steps
    peers = [Peer(o, folder, variant, threads) for variant in o.variants.split(",")]
    found = {"phibal": [], **{peer.variant: [] for peer in peers}}
    processor_ms = {variant: [] for variant in found}
    peaks, failed = {}, False
    lines, _, start = phibal(o, folder, "run", threads, UNCOUNTED)
    for number in range(-1, o.rounds):  # the first, of few steps, is for compilers and caches
        if number >= 0:
            lines, peaks["phibal"], whole = phibal(o, folder, "run", threads, o.steps + UNCOUNTED)
            found["phibal"].append(seconds(lines))
            processor_ms["phibal"].append(1e3 * (whole - start) / o.steps)
        for peer in [p for p in peers if p.variant in found]:
            answer = peer.run(UNCOUNTED + (o.steps if number >= 0 else 0))
            if answer is None:
                print(f"{peer.variant}: not with this PyTorch", file=sys.stderr)
                del found[peer.variant]
                continue
            distances = worst(given["checked"], lines, answer["lines"])
            if not agrees(distances):
                print(f"{peer.variant}: not the same computation: {distances}; allowed: {BAND}", file=sys.stderr)
                failed = True
            peaks[peer.variant], imported = answer["peak"], answer["imported"]
            if number >= 0:
                found[peer.variant].append(seconds(answer["lines"]))
                used = sum(line["processor"] for line in answer["lines"][UNCOUNTED:])
                processor_ms[peer.variant].append(1e3 * used / o.steps)
        if number >= 0:
            rates = [f"{name} {tokens / all[-1]:.0f}" for name, all in found.items()]
            print(f"round {number + 1}, tokens a second: " + ", ".join(rates), file=sys.stderr, flush=True)
    for peer in peers:
        peer.end()
    if len(found) == 1:
        sys.exit("none of the variants runs with this PyTorch")
    print(f"\n{' '.join([o.config, *o.set])}; {threads} thread{'s' * (threads > 1)}, {o.rounds} rounds of {o.steps} "
          f"steps of {tokens} tokens")
    print(f"{'':18} {'tokens/s':>9} {'phibal is faster by (least, most)':>36} "
          f"{'processor ms a step, phibal less by':>36} {'peak MiB':>9}")
    ours, own = found.pop("phibal"), processor_ms["phibal"]
    print(f"{'phibal':18} {tokens / median(ours):9.0f} {'':36} {median(own):17.0f} {'':18} {peaks['phibal']:9.0f}")
    for variant, theirs in found.items():
        ratios = [b / a for a, b in zip(ours, theirs)]
        used = processor_ms[variant]
        print(f"{variant:18} {tokens / median(theirs):9.0f} "
              f"{median(ratios):16.2f} ({min(ratios):8.2f},{max(ratios):8.2f}) {median(used):17.0f} "
              f"{median([b / a for a, b in zip(own, used)]):18.2f} {peaks[variant]:9.0f}")
    best = [min(times) / a for a, *times in zip(ours, *found.values())]
    print(f"{'best of a round':18} {'':9} {median(best):16.2f} ({min(best):8.2f},{max(best):8.2f})")
    print(f"(PyTorch's memory: {imported:.0f} MiB once it is imported)", flush=True)
    return failed


def one_micro_batch(o):
    """Where gradients are summed over micro-batches, a step of one."""
    at = o.config if os.path.isfile(o.config) else f"{ROOT}/moe/configs/{o.config}.yaml"
    found = {"micro_sequences": 0, **(read_config(at) if os.path.isfile(at) else {})}
    for setting in o.set:
        key, _, value = setting.partition("=")
        if key in ("batch.sequences", "batch.micro_sequences"):
            found[key.partition(".")[2]] = int(value)
    if found["micro_sequences"] not in (0, found.get("sequences")):
        o.set.append(f"batch.sequences={found['micro_sequences']}")


def prepare(o, folder):
    """Weights, tokens and rates for the first seed with which no route hangs on a rounding; returns them, phibal's
    steps and their distances from those of PyTorch's model in binary64."""
    steps, threads = o.steps + UNCOUNTED, max(int(n) for n in o.threads.split(","))
    torch.set_num_threads(threads)
    for o.seed in range(1, 100):
        # A learning rate that moves no binary32 number leaves the initial weights in a checkpoint. The
        # model's shape is not known before: the first tokens are only to be legal ones, and enough of them.
        write_tokens(f"{folder}/tokens.bin", 257, 1 << 16, 8)
        phibal(o, folder, "start", threads, 1, "optimizer.peak_lr=1e-100", "checkpoint.keep=1")
        os.rename(f"{folder}/start/checkpoints/step-000000000001/model.safetensors", f"{folder}/weights.safetensors")
        config = read_config(f"{folder}/start/config.yaml")
        shutil.rmtree(f"{folder}/start")
        if config["micro_sequences"] not in (0, config["sequences"]):
            sys.exit("batch.micro_sequences has to be batch.sequences")
        windows = config["sequences"] * steps
        tokens = write_tokens(f"{folder}/tokens.bin", config["vocabulary"], config["sequence"], windows)
        lines, _, _ = phibal(o, folder, "run", threads, steps)
        given = {"config": config, "tokens": tokens, "seed": o.seed, "rates": [line["lr"] for line in lines],
                 "checked": min(o.checked, steps)}
        torch.save(given, f"{folder}/given.pt")
        batches = batches_of(given, given["checked"])
        model = torch_model.Model(config, load_file(f"{folder}/weights.safetensors"), exact=TIE)
        try:
            found = torch_model.train(model, batches, given["rates"], given["checked"])
            return given, lines, worst(given["checked"], lines, found)
        except torch_model.Tie as gap:
            print(f"seed {o.seed}: two logits within {gap.args[0]:.1e}; the next", file=sys.stderr, flush=True)
        model = None  # phibal needs its memory
    sys.exit("with every seed a route hangs on a rounding")


def main():
    if sys.argv[1:2] == ["--worker"]:
        return worker(*sys.argv[2:])
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--phibal", default=f"{ROOT}/build/cli/phibal")
    parser.add_argument("--config", default="tiny")
    parser.add_argument("--threads", default="2,1", help="one or several numbers of threads")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--steps", type=int, default=20, help="timed steps in a run")
    parser.add_argument("--variants", default="loop,grouped,padded,loop+compiled,grouped+compiled")
    parser.add_argument("--isa", choices=sorted(ISAS), help="hold both to these instructions")
    parser.add_argument("--checked", type=int, default=10,
                        help="steps that are compared; few where a larger model's routes hang on roundings soon")
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--mistakes", action="store_true")
    o = parser.parse_args()
    if o.steps < 1 or o.rounds < 1:
        parser.error("--steps, --rounds: at least 1")
    if o.checked < 1:
        parser.error("--checked: at least 1")
    if o.mistakes and o.steps + UNCOUNTED < o.checked:
        parser.error(f"--mistakes: at least {o.checked - UNCOUNTED} --steps, so that {o.checked} are compared")
    one_micro_batch(o)
    print(f"{processor()}; {os.cpu_count()} processors; nothing set in the environment"
          f"{f', both held to {o.isa}' if o.isa else ''}\n{instructions(o)}; band {BAND}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        given, lines, distances = prepare(o, folder)
        print(f"seed {o.seed}; phibal from the model in binary64: "
              + ", ".join(f"{key} {value:.1e}" for key, value in distances.items()), flush=True)
        if not agrees(distances):
            sys.exit("not the same computation")
        if o.mistakes:
            return check_mistakes(given, folder, lines)
        return 1 if sum(measure(o, given, folder, int(threads)) for threads in o.threads.split(",")) else 0


if __name__ == "__main__":
    sys.exit(main())
