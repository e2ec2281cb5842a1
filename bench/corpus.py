"""Tokens for bench/train_torch.py, and the order in which the trainer reads them.

  write(path, vocabulary, tokens)   this repository's text as a token file, repeated until it has so many tokens;
                                    returns them, an array of integers
  shuffled(seed, index, n)          moe/data/sampler.c: place `index` of the order in which n windows are read

A token is a byte where the vocabulary has no more than 256 and an end of document; else it is a word with the space
before it, a run of spaces, or one other character, numbered by falling frequency, so that frequencies fall about as
in any tokenizer's (Zipf); what is beyond the vocabulary is its last but one. The first token is the vocabulary's last:
the file itself does not say how large the vocabulary is. Files up to 65536 tokens of vocabulary are nanoGPT's (uint16),
others llm.c's (uint32)."""

import array
import collections
import glob
import os
import re

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MASK = (1 << 64) - 1


def mix(x):
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB & MASK
    return x ^ (x >> 31)


def shuffled(seed, index, n):
    key = mix(seed + mix(index // n + 0x9E3779B97F4A7C15 & MASK) & MASK)
    half = 1
    while 1 << 2 * half < n:
        half += 1
    low, x = (1 << half) - 1, index % n
    while True:
        left, right = x >> half, x & low
        for turn in range(8):
            left, right = right, left ^ (mix(key + mix(right + (turn << 56) & MASK) & MASK) & low)
        x = left << half | right
        if x < n:
            return x


def text():
    names = sorted(glob.glob(f"{ROOT}/**/*.[ch]", recursive=True) + glob.glob(f"{ROOT}/**/*.md", recursive=True))
    names = [name for name in names if not os.path.relpath(name, ROOT).startswith("build")]
    return b"".join(open(name, "rb").read() for name in names)


def write(path, vocabulary, tokens):
    # 4 bytes on every machine that PyTorch is made for.
    kind = "H" if vocabulary <= 65536 else "I"
    if vocabulary <= 257:
        found = array.array(kind, (byte % vocabulary for byte in text()[:tokens]))
    else:
        words = re.findall(r" ?\w+|\s+|[^\w\s]", text().decode("utf-8", "replace"))
        order = [word for word, _ in collections.Counter(words).most_common()]
        number = {word: min(i, vocabulary - 2) for i, word in enumerate(order)}
        found = array.array(kind, (number[word] for word in words[:tokens]))
    found *= -(-tokens // len(found))
    del found[tokens:]
    found[0] = vocabulary - 1
    with open(path, "wb") as file:
        if kind == "I":
            array.array("i", [20240801, 7, tokens] + 253 * [0]).tofile(file)
        found.tofile(file)
    return found
