#!/usr/bin/env python3
"""Names from outside (files, folders, run names, questions, parameters) reach no terminal as more than text:
every command is given one with control characters, and none of them comes out.

usage: shown_names.py PHIBAL
"""
import json
import os
import re
import subprocess
import sys
import tempfile
import xml.dom.minidom

phibal = os.path.abspath(sys.argv[1])
BAD = b"n\x1b]0;x\x07\x1b[2J\r\xc2\x9b2J\x9b\xff\xe2\x80\xae\x7fm"
LINE = b"n\nphibal: all is well"
wrong = []
runs = 0


def run(*arguments, ok=(0, 1, 2)):
    """The two streams; no byte in them but lines, tabs and printable UTF-8."""
    global runs
    runs += 1
    done = subprocess.run([phibal.encode()] + [a if isinstance(a, bytes) else a.encode() for a in arguments],
                          capture_output=True, timeout=120, check=False)
    shown = " ".join(repr(a) for a in arguments)
    for stream in (done.stdout, done.stderr):
        try:
            text = stream.decode("utf-8")
        except UnicodeDecodeError:
            wrong.append("not UTF-8: " + shown + repr(stream[-300:]))
            continue
        found = re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]", text)
        if found:
            wrong.append("control character: " + shown + repr(text[max(0, found.start() - 60):found.end() + 20]))
        # A result may be the name of a file, with whatever is in it.
        if stream is done.stderr and "\nphibal: all is well" in text:
            wrong.append("a line of somebody else's: " + shown + repr(text))
    if done.returncode not in ok:
        wrong.append("exit status %d: %s: %r" % (done.returncode, shown, done.stderr[-300:]))
    return done.stdout


def put(name, content):
    with open(name, "wb") as f:
        f.write(content)


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    put("text.txt", b"To be, or not to be, that is the question. " * 400)
    run("data", "build", "--out", "data", "text.txt", ok=[0])
    for bad in (BAD, LINE):
        # What is not there, and what is no such thing, as every command's input.
        for kind in ("nothing", "file", "folder"):
            name = bad + kind.encode()
            if kind == "file":
                put(name, b"{")
            if kind == "folder":
                os.mkdir(name)
            for arguments in (
                    ["eval", name], ["eval", "--phi", name], ["audit", name + b".phi"], ["verify", "--plugin", name],
                    ["verify", name], ["vectors", "--out", name + b"/x"], ["judge", name], ["judge", name, name],
                    ["data", "build", "--out", "other", name], ["data", "info", name], ["data", name],
                    ["train", "--config", b"./" + name], ["train", "--config", "tiny", "--data", name, "--out", "run0"],
                    ["train", "--resume", name], ["train", "--set", name + b"=1", "--config", "tiny"],
                    ["train", "--config", "tiny", "--set", b"model.width=" + name],
                    ["train", "--config", "tiny", "--method", name], ["train", "--config", "tiny", "--from", name],
                    ["sweep", name], ["eval-model", "--load", name], ["export", "--load", name, "--out", "made"],
                    ["report", name], ["report", name, "--out", name + b".html"], ["plan", "--config", b"./" + name],
                    ["compare", name, name], ["bench", "--config", b"./" + name], [name], ["info", name],
                    ["train", b"--" + name]):
                run(*arguments, ok=[2])
        # What is good, under such a name.
        data = bad + b"data"
        run("data", "build", "--out", data, "text.txt", ok=[0])
        run("data", "info", data + b"/train.tokens")
        put(bad + b".yaml", b"""model: {vocabulary: 257, width: 8, layers: 1, heads: 1, head_width: 2, sequence: 8, experts: 2,
  active: 1, hidden: 4}
batch: {sequences: 2}
optimizer: {peak_lr: 0.01}
training: {steps: 2}
""")
        common = ["train", "--config", b"./" + bad + b".yaml", "--data", data + b"/train.tokens", "--validation",
                  data + b"/validation.tokens"]
        out = bad + b"run"
        run(*common, "--dry-run")
        json.loads(run(*common, "--dry-run", "--json"))
        run(*common, "--out", out)
        run(*common, "--out", out)
        for arguments in (["eval-model", "--load", out], ["compare", out, out],
                          ["report", out, "--out", bad + b"page.html"], ["report", out, "--out", bad + b"page.html"],
                          ["eval-model", "--load", out, "--json"], ["compare", out, out, "--json"],
                          ["export", "--load", out, "--out", bad + b"made"]):
            found = run(*arguments)
            if "--json" in arguments and found:
                json.loads(found)
        # A potential in a file, in an audit's page, certificate and JSON.
        put(bad + b".phi", b"phi(x) = x^2\n")
        for arguments in (["audit", bad + b".phi", "--quick", "--seconds", "1"],
                          ["audit", bad + b".phi", "--quick", "--seconds", "1", "--json"],
                          ["eval", bad + b".phi", "--at", "1/2"]):
            found = run(*arguments)
            if "--json" in arguments and found:
                json.loads(found)
    # A tensor, and a plugin's name in the verdict, JUnit's file and the certificate.
    header = json.dumps({BAD.decode("latin-1"): {"dtype": "F99", "shape": [1], "data_offsets": [0, 4]}}).encode()
    os.mkdir("model")
    put("model/model.safetensors", len(header).to_bytes(8, "little") + header + b"\0" * 4)
    put("model/config.yaml", b"{}")
    run("eval-model", "--load", "model", ok=[2])
    config = {BAD.decode("latin-1"): 1, "model_type": BAD.decode("latin-1")}
    put("model/config.json", json.dumps(config).encode())
    run("eval-model", "--load", "model", ok=[2])
    run("verify", "--plugin", b"./" + BAD + b"nothing", "--junit", "out.xml", "--certificate", "out.json", ok=[2])
    run("verify", "--cases", "2", "--small", "--op", "exp", "--junit", BAD + b".xml", "--certificate", BAD + b".json", ok=[0])
    with open(BAD + b".xml", "rb") as f:
        xml.dom.minidom.parse(f)
    with open(BAD + b".json", "rb") as f:
        json.load(f)

for line in wrong[:40]:
    print("not ok: " + line)
print("%d commands, %d wrong" % (runs, len(wrong)))
sys.exit(1 if wrong or runs < 100 else 0)
