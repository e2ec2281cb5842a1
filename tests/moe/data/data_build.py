"""`phibal data build` as it is used first: one file of text, standard input, a folder as it comes.

usage: data_build.py PHIBAL

Wrong commands that would be noticed: one that wants an option for a single file; that leaves files out
without saying how many and why; that replaces or empties a corpus before it has another.
"""
import gzip
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

phibal = os.path.abspath(sys.argv[1])


def build(status, *arguments, given=None):
    done = subprocess.run([phibal, "data", "build", *arguments], input=given, capture_output=True, check=False)
    out, error = done.stdout.decode(), done.stderr.decode()
    assert done.returncode == status, (arguments, done.returncode, out, error)
    if status:
        last = error.splitlines()[-1 if "--help" not in error else 0]
        assert not out and last.startswith("phibal data"), error
    return out, error


def put(path, text):
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "wb") as f:
        f.write(text)


def held(folder):
    found = {}
    for name in os.listdir(folder):
        with open(os.path.join(folder, name), "rb") as f:
            found[name] = f.read()
    return found


play = b"".join(b"SPEAKER %d:\nTo be, or not to be: that is question %d.\n\n" % (i % 9, i) for i in range(4000))

with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    put("input.txt", play)

    # One file, without an option; the same through a pipe, by either way.
    out, error = build(0, "--out", "a", "input.txt")
    assert "input.txt is one file: split" in error and "--document-bytes" in error, error
    count = int(out.split("1 file read, 0 skipped; ")[1].split(" documents")[0])
    assert 64 <= count < 128 and "%d tokens" % (len(play) + count) in out, out
    assert set(held("a")) == {"train.tokens", "validation.tokens", "corpus.json"}
    build(0, "--out", "b", "--domain", "input=-", given=play)
    os.mkfifo("pipe")
    writer = subprocess.Popen(["sh", "-c", "cat input.txt > pipe"])
    build(0, "--out", "c", "--domain", "input=pipe")
    assert writer.wait() == 0
    assert held("a") == held("b") == held("c")
    assert "domain 'text' has no text" in build(2, "--out", "d", "-", given=b"")[1]
    assert "named twice" in build(2, "--out", "d", "-", "--domain", "x=-", given=play)[1]
    put("input.txt.gz", gzip.compress(play))
    error = build(2, "--out", "d", "input.txt.gz")[1]
    assert "gzip" in error and error.count("\n") == 1, error
    told = json.loads(subprocess.run([phibal, "data", "show", "--json", "b/train.tokens"], capture_output=True, check=True).stdout)
    assert told["domains"][0]["name"] == "input" and told["vocabulary"] == 257

    # Interrupted while it waits for more: nothing is left.
    assert len(play) > 2 * 65536
    before = set(os.listdir("."))
    waiting = subprocess.Popen([phibal, "data", "build", "--out", "d", "-"], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    waiting.stdin.write(play)  # more than a pipe holds, so most of it is read when this returns
    waiting.stdin.flush()
    time.sleep(0.3)  # and then all of it, so that it waits
    waiting.send_signal(signal.SIGINT)
    status = waiting.wait(timeout=20)  # the pipe is open still
    said = waiting.stderr.read().decode()
    assert status == 130 and "interrupted; nothing was written" in said, (status, said)
    assert set(os.listdir(".")) == before

    # JSON lines.
    put("lines.jsonl", b"".join(json.dumps({"text": "document %d" % i}).encode() + b"\n" for i in range(40)))
    out = build(0, "--out", "e", "lines.jsonl")[0]
    assert "40 documents, %d tokens" % sum(len("document %d" % i) + 1 for i in range(40)) in out, out
    with open("lines.jsonl", "rb") as f:
        assert build(0, "--out", "f", "--jsonl", "all", "--domain", "lines=-", given=f.read())[0]
    assert held("e") == held("f")
    put("chats.jsonl", b'{"messages": []}\n')
    assert "--instructions" in build(2, "--out", "d", "chats.jsonl")[1]
    assert "named, all or none" in build(2, "--out", "d", "--jsonl", "some", "chats.jsonl")[1]

    # What is left out is counted, by reason; many of a kind are not all named.
    for i in range(30):
        put("mixed/%d.txt" % i, b"text %d" % i)
        put("mixed/empty%d" % i, b"")
    put("mixed/.hidden", b"x")
    put("mixed/picture", b"\x89PNG\r\n")
    put("mixed/wide.txt", "text".encode("utf-16-le"))
    os.symlink("nowhere", "mixed/broken")
    os.symlink("../input.txt", "mixed/linked")
    os.symlink(".", "mixed/round")
    os.mkfifo("mixed/pipe")
    os.symlink("0.txt", "mixed/00.txt")
    error = build(2, "--out", "d", "mixed")[1]
    assert "not UTF-8" in error or "zero bytes" in error, error
    out, error = build(0, "--out", "d", "mixed", "--invalid-utf8", "skip", "--domain", "more=mixed/picture",
                       "--domain", "more=input.txt")
    assert "30 empty, 2 not UTF-8, 1 with zero bytes, 1 with names that begin with a dot" in out, out
    assert "1 broken links" in out and "other names of files that were read" in out, out
    assert error.count("empty, skipped") == 8 and "others likewise" in error, error
    told = json.loads(build(0, "--out", "g", "mixed", "--invalid-utf8", "skip", "--json")[0])
    assert (told["empty_files"], told["zero_files"], told["broken_links"], told["hidden_names"]) == (30, 1, 1, 1), told
    assert told["repeated_files"] >= 2 and told["no_files"] == 1, told  # 0.txt and the circle

    # A corpus stays until it is to be replaced, and then until the new one is complete.
    before = held("a")
    for options in (["--validation", "0"], ["--json"], []):
        error = build(2, "--out", "a", *options, "input.txt")[1]
        assert "train.tokens already exists; --overwrite" in error and error.count("\n") == 1, error
        assert held("a") == before
    build(2, "--out", "a", "--overwrite", "--validation", "0", "mixed")
    assert held("a") == before
    out, error = build(0, "--out", "a", "--overwrite", "--validation", "0", "input.txt")
    assert "replacing the corpus in a" in error and "resumed" in error, error
    assert set(held("a")) == {"train.tokens", "corpus.json"}
print("ok")
