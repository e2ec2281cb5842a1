"""bench/train_torch.py on a small model: it ends, as the same computation as PyTorch's, with a table. The model has a
vocabulary that 16 bits do not hold and micro-batches, of which one is a step.
  usage: beside_torch.py PHIBAL ROOT            status 77 without PyTorch"""
import os
import re
import subprocess
import sys

PHIBAL, ROOT = sys.argv[1:]
clean = {name: value for name, value in os.environ.items()
         if not name.startswith(("OMP_", "GOMP_", "KMP_", "MKL_", "OPENBLAS_", "PHIBAL_", "TORCH", "LD_PRELOAD"))}
sets = ("model.layers=2", "model.vocabulary=65700", "model.width=32", "model.hidden=32", "model.sequence=64",
        "batch.sequences=4", "batch.micro_sequences=2")
command = [sys.executable, f"{ROOT}/bench/train_torch.py", "--phibal", PHIBAL, "--steps", "2", "--rounds", "2",
           "--threads", "1", "--variants", "loop,grouped", *[word for s in sets for word in ("--set", s)]]
ended = subprocess.run(command, env=clean, capture_output=True, text=True)
if ended.returncode == 77:
    print(ended.stdout)
    sys.exit(77)
assert ended.returncode == 0, (ended.stdout, ended.stderr)
print(ended.stdout)
assert "batch.sequences=2; 1 thread, 2 rounds of 2 steps of 128 tokens" in ended.stdout
for row in ("phibal +[0-9]+", r"(loop|grouped) +[0-9]+ +[0-9.]+ \( *[0-9.]+, *[0-9.]+\)",
            r"best of a round +[0-9.]+ \( *[0-9.]+, *[0-9.]+\)"):
    assert re.search(f"(?m)^{row}", ended.stdout), row
