"""bench/train_torch.py as far as it needs no PyTorch: token files that phibal reads, for small vocabularies and for one
that 16 bits do not hold, and that it does not measure in an environment that chooses for it.
  usage: corpus.py PHIBAL ROOT FOLDER"""
import json
import os
import subprocess
import sys

PHIBAL, ROOT, FOLDER = sys.argv[1:]
sys.path.insert(0, f"{ROOT}/bench")
import corpus

os.makedirs(FOLDER, exist_ok=True)
path = f"{FOLDER}/tokens.bin"
# The run files' vocabularies and sequences; the last two on either side of 16 bits.
for vocabulary, tokens in ((257, 8 * 128 + 1), (100352, 6 * 2048 + 1), (65536, 4097), (65537, 4097)):
    made = corpus.write(path, vocabulary, tokens)
    said = json.loads(subprocess.run([PHIBAL, "data", "show", "--json", path], check=True, capture_output=True,
                                     text=True).stdout)
    assert (said["domains"][-1]["tokens"], said["vocabulary"]) == (tokens, vocabulary), said
    assert len(made) == tokens and max(made) == vocabulary - 1 and min(made) >= 0
    assert len(set(made)) > 50, "tokens of a text"
# The text is repeated where more is asked for.
text = corpus.text()
made = corpus.write(path, 257, len(text) + 1000)
assert made[1:1000] == made[len(text) + 1 : len(text) + 1000]
assert bytes(made[1:1000].tolist()) == text[1:1000]
# Frequencies fall, and words of a text of a few million tokens do not reach a large vocabulary's end.
made = corpus.write(path, 100352, 10**6)
counts = [made.count(0), made.count(10), sum(900 <= token < 1100 for token in made) / 200]
assert counts[0] > 3 * counts[1] > 30 * counts[2] > 0, counts
for n in (1, 2, 7, 1000):
    for epoch in (0, 1):
        assert sorted(corpus.shuffled(3, epoch * n + i, n) for i in range(n)) == list(range(n)), n

clean = {name: value for name, value in os.environ.items()
         if not name.startswith(("OMP_", "GOMP_", "KMP_", "MKL_", "OPENBLAS_", "PHIBAL_", "TORCH", "LD_PRELOAD"))}
command = [sys.executable, f"{ROOT}/bench/train_torch.py", "--help"]
for name, value in (("OPENBLAS_CORETYPE", "Haswell"), ("OMP_NUM_THREADS", "1"), ("MKL_NUM_THREADS", "1"),
                    ("PHIBAL_ISA", "x86-64-v3"), ("ATEN_CPU_CAPABILITY", "default")):
    ended = subprocess.run(command, env=dict(clean, **{name: value}), capture_output=True, text=True)
    assert ended.returncode == 2 and name in ended.stderr, (name, ended)
ended = subprocess.run(command, env=clean, capture_output=True, text=True)
assert ended.returncode == 0 or ended.returncode == 77 and "pip install torch" in ended.stdout, ended
