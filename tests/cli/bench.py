"""`phibal bench` says which processor and instructions ran, its peak is one that products stay below and that grows with
the threads, and the work it counts is that of `phibal train --dry-run`, which counts it in another way.
  usage: bench.py PHIBAL"""
import json
import os
import re
import subprocess
import sys


def run(*arguments, **variables):
    return subprocess.run([sys.argv[1], *arguments], check=True, capture_output=True, text=True,
                          env=dict(os.environ, **variables)).stdout


def close(a, b, relative):
    return abs(a - b) <= relative * abs(b)


by_threads = {}
for threads in (1, 2):
    found = json.loads(run("bench", "--steps", "2", "--threads", str(threads), "--json"))
    peak, sections, products = found["peak_flops_per_second"], found["sections"], found["products"]
    # In a loop of a few instructions a processor of the last ten years forms 4 to 64 FLOP a cycle in a thread.
    assert 1e9 < peak / threads < 1e12, found
    for form in ("forward", "input_gradient", "weight_gradient"):
        product = products[form]
        # Two clocks, the peak's of the processor and the products' on the wall, of whose rate turbo may change a fifth.
        assert 0.001 < product["of_peak"] < 1.2, (form, found)
        assert close(product["flops_per_second"], product["of_peak"] * peak, 1e-5), (form, found)
    assert products["rows_out_in"] == [1024, 256, 128], found
    work = sum(s["of_peak"] * s["seconds_per_step"] for name, s in sections.items() if name != "optimizer") * peak
    assert close(found["of_peak"] * found["step_seconds_median"] * peak, work, 1e-4), (work, found)
    said = run("train", "--config", "tiny", "--dry-run")
    a_token = float(re.search(r"FLOPs a token .* ([0-9.e+]+) for training", said).group(1))
    assert close(work / found["tokens_per_step"], a_token, 1e-3), (work, said)
    by_threads[threads] = peak
if len(os.sched_getaffinity(0)) >= 2:
    # Measured apart, each by the processor's time: a fifth for turbo, and for what shares a core.
    assert 1.5 < by_threads[2] / by_threads[1] < 2.5, by_threads

text = run("bench", "--steps", "1", "--threads", "1")
for line in (f"processor +{re.escape(found['processor'])}; kernels for {re.escape(found['isa'])}$", f"by multiply-adds in {found['vectors']};",
             "X 1024 x 128, W 256 x 128:$", "Y = X W.T +[0-9.]+ % of the peak$", "dX = dY W +[0-9.]+ % of the peak$",
             r"dW \+= dY.T X +[0-9.]+ % of the peak$"):
    assert re.search(line, text, re.M), (line, text)
# The peak is that of the instructions that run: on one thread, half for vectors half as wide, or as much where the
# processor has fewer units for the wide ones.
if found["isa"] == "x86-64-v4":
    held = json.loads(run("bench", "--steps", "1", "--threads", "1", "--json", PHIBAL_ISA="x86-64-v3"))
    assert (held["isa"], held["vectors"]) == ("x86-64-v3", "AVX2 and FMA"), held
    assert 0.4 < held["peak_flops_per_second"] / by_threads[1] < 1.2, (held, by_threads)

print({threads: f"{1e-9 * peak:.0f} GFLOP/s" for threads, peak in by_threads.items()})
