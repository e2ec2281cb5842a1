"""No command replaces what it did not just make: a file that is there stays, byte for byte, with one line
of refusal and exit status 2, until --overwrite is said.

usage: overwrite.py PHIBAL

Wrong commands that would be noticed: one that refuses after it has written, or has written one of its
files; that refuses nothing under another name of the same option; that replaces a device by a file.
"""
import os
import stat
import subprocess
import sys
import tempfile
import time

phibal = os.path.abspath(sys.argv[1])


def run(status, *arguments):
    done = subprocess.run([phibal, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == status, (arguments, done.returncode, done.stdout, done.stderr)
    return done.stdout, done.stderr


def put(path, text):
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


def everything(folder="."):
    """{path: bytes} below a folder."""
    found = {}
    for where, _, names in os.walk(folder):
        for name in names:
            with open(os.path.join(where, name), "rb") as f:
                found[os.path.join(where, name)] = f.read()
    return found


def refuses(word, *arguments):
    before = everything()
    out, error = run(2, *arguments)
    assert error.count("\n") == 1 and word in error and not out, (arguments, out, error)
    assert everything() == before, arguments


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    ema = ("vectors", "--op", "ema", "--cases", "3")

    # Vectors: the file, its manifest and the results; each alone is enough.
    for there in ("v.safetensors", "v.json", "r.safetensors"):
        put(there, "mine")
        refuses(there + " already exists; --overwrite", *ema, "--out", "v.safetensors", "--results", "r.safetensors")
        os.remove(there)
    run(0, *ema, "--out", "v.safetensors", "--results", "r.safetensors")
    refuses("v.safetensors", *ema, "--out", "v.safetensors")
    refuses("named twice", *ema, "--out", "w.safetensors", "--results", "w.safetensors", "--overwrite")
    refuses("named twice", *ema, "--out", "w.safetensors", "--results", "w.json")
    for ending in ("npy", "pt", "gguf"):
        refuses("the name must end in", *ema, "--out", "v." + ending)
        refuses("the name must end in", *ema, "--results", "v." + ending)
    put("v.safetensors", "mine")
    run(0, *ema, "--out", "v.safetensors", "--overwrite")
    run(0, "judge", "v.safetensors", "r.safetensors")

    # Certificates and JUnit reports are made anew with each run, but only over their own kind.
    judge = ("judge", "v.safetensors", "r.safetensors")
    verify = ("verify", "--op", "ema", "--cases", "2")
    for command in (judge, verify):
        for _ in range(2):
            run(0, *command, "--certificate", "c", "--junit", "j")
        refuses("another kind", *command, "--certificate", "j")
        refuses("another kind", *command, "--junit", "c")
        refuses("another kind", *command, "--certificate", "v.json")
        refuses("another kind", *command, "--junit", "v.safetensors")
        refuses("both", *command, "--junit", "new", "--certificate", "new")
        for option in ("--certificate", "--junit"):
            run(0, *command, option, "/dev/null")
            assert stat.S_ISCHR(os.stat("/dev/null").st_mode), command
            with open("caught", "wb") as f:
                subprocess.run([phibal, *command, option, "/dev/stdout"], stdout=f, check=True)
            with open("caught", "rb") as f:
                caught = f.read()
            assert (b"phibal-certificate" in caught or b"<testsuite" in caught) and b"ema" in caught, caught
            refuses("no folder", *command, option, "nowhere/at/all")

    # The page of an audit.
    audit = ("audit", "--potential", "euclid", "--skip", "convexity,legendre,gradient,conjugate,core,dynamics")
    put("mine.html", "mine")
    refuses("mine.html already exists", *audit, "--html", "mine.html")
    os.link("mine.html", "kept")
    run(0, *audit, "--html", "mine.html", "--overwrite")
    assert open("kept").read() == "mine", "the page was written in place: an error would lose the old one"
    run(0, *audit, "--html", "new.html")
    refuses("new.html already exists", *audit, "--html", "new.html")
    run(0, *audit, "--html", "/dev/null")

    # A report: where it is said to go, it replaces nothing; in the run's own folder it is made again.
    put("text.txt", "All the world's a stage. " * 400)
    run(0, "data", "build", "--out", "data", "--validation", "0", "--document-bytes", "2000", "text.txt")
    run(0, "train", "--config", "tiny", "--data", "data/train.tokens", "--steps", "2", "--batch", "2", "--quiet",
        "--set", "model.layers=2", "--set", "model.sequence=32", "--set", "model.activation=silu",
        "--set", "model.embedding_scale=false", "--out", "run")
    refuses("data/train.tokens already exists", "data", "build", "--out", "data", "--validation", "0", "text.txt")
    run(0, "report", "run")
    run(0, "report", "run")
    put("run/report.html", "mine")
    refuses("run/report.html", "report", "run")
    run(0, "report", "run", "--overwrite")
    put("page.html", "mine")
    refuses("page.html already exists", "report", "run", "--out", "page.html")
    run(0, "report", "run", "--out", "page.html", "--overwrite")
    refuses("page.html", "report", "run", "--out", "page.html")
    put("pictures/mine.svg", "mine")
    refuses("pictures", "report", "run", "--out", "other.html", "--pictures", "pictures")
    run(0, "report", "run", "--out", "other.html", "--pictures", "pictures", "--overwrite")
    assert everything("pictures")["pictures/mine.svg"] == b"mine"

    # What is told of each question.
    put("q.jsonl", '{"ctx": "All the", "endings": ["world", "q#"], "label": 0}\n')
    put("details.jsonl", "mine")
    questions = ("eval-model", "--load", "run", "--choices", "q.jsonl", "--details", "details.jsonl")
    refuses("details.jsonl already exists", *questions)
    run(0, *questions, "--overwrite")

    # Every option that names a file, onto everything that is no file: it is written into as what it is, or refused,
    # and stays what it is. Vectors are named by their endings.
    outputs = [(command, option, "x", overwrite) for command, overwrite in ((judge, ()), (verify, ()))
               for option in ("--certificate", "--junit")]
    outputs += [(audit, "--html", "x", ("--overwrite",)), (("report", "run"), "--out", "x", ("--overwrite",)),
                (questions[:-2], "--details", "x", ("--overwrite",)), (ema, "--out", "x.safetensors", ("--overwrite",)),
                ((*ema, "--out", "y.safetensors"), "--results", "x.safetensors", ("--overwrite",))]
    put("target", "mine")
    os.mkdir("into")
    for command, option, x, overwrite in outputs:
        for kind in ("link", "broken", "folder link", "folder", "device link", "read pipe", "pipe", "full"):
            name, got = x, b""
            if kind == "link":
                os.symlink("target", x)
            elif kind == "broken":
                os.symlink("nowhere", x)
            elif kind == "folder link":
                os.symlink("into", x)
            elif kind == "folder":
                os.mkdir(x)
            elif kind in ("device link", "full"):
                os.symlink("/dev/null" if kind == "device link" else "/dev/full", x)
            else:
                os.mkfifo(x)
            before = os.lstat(name)
            reader = os.open(x, os.O_RDONLY | os.O_NONBLOCK) if kind == "read pipe" else None
            with open("said", "w+", encoding="utf-8") as out, open("error", "w+", encoding="utf-8") as error:
                process = subprocess.Popen([phibal, *command, option, name, *overwrite], stdout=out, stderr=error)
                for _ in range(12000):
                    ended = process.poll() is not None
                    try:
                        got += os.read(reader, 1 << 20) if reader is not None else b""
                    except BlockingIOError:
                        pass
                    if ended:
                        break
                    time.sleep(0.005)
                else:
                    process.kill()
                out.seek(0)
                error.seek(0)
                done = subprocess.CompletedProcess(command, process.wait(), out.read(), error.read())
            if reader is not None:
                os.close(reader)
            what = (command, option, kind, done.returncode, done.stdout[-200:], done.stderr)
            after = os.lstat(name)
            assert (after.st_ino, after.st_mode) == (before.st_ino, before.st_mode), what
            # A file of vectors has its manifest beside it: no device is one.
            if kind in ("device link", "read pipe") and done.returncode == 0:
                assert not done.stderr and (kind == "device link" or got), what
            else:
                assert done.returncode == 2 and done.stderr.count("\n") == 1, what
                assert kind not in ("device link", "read pipe") or command[0] == "vectors", what
            (os.rmdir if kind == "folder" else os.unlink)(x)
            assert open("target").read() == "mine" and not os.listdir("into"), what
            assert not os.path.lexists("nowhere"), what
            for made in ("x.json", "y.safetensors", "y.json", "said", "error"):
                if os.path.lexists(made):
                    os.remove(made)
    assert not [n for n in os.listdir(".") if n.startswith(".")], os.listdir(".")

    # A run that is killed again and again leaves nothing behind when it has ended.
    killed = ["train", "--config", "tiny", "--data", "data/train.tokens", "--steps", "6", "--batch", "2", "--quiet",
              "--set", "model.layers=1", "--set", "model.sequence=32", "--set", "checkpoint.every=1", "--out", "killed"]
    for i in range(12):
        process = subprocess.Popen([phibal, *killed, "--overwrite"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(0.03 + 0.02 * i)
        process.kill()
        process.wait()
    run(0, *killed, "--overwrite")
    left = [os.path.join(w, n) for w, d, f in os.walk("killed") for n in d + f if n.startswith(".")]
    assert not left, left

    # An exported model never goes into a folder with something in it.
    put("model/mine", "mine")
    refuses("model", "export", "--load", "run", "--out", "model")
    run(0, "export", "--load", "run", "--out", "exported")
    refuses("exported", "export", "--load", "run", "--out", "exported")
print("ok")
