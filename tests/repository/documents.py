#!/usr/bin/env python3
"""Every command and script of the manual, run as it stands there.

usage: documents.py PHIBAL SOURCE_ROOT [--all] [DOCUMENT...]

Takes the blocks of a document, fenced or indented, and runs them in order in an empty folder, with phibal on
the PATH. A block without a language is commands, each of which has to end in 0; where a line begins with "$ ",
what follows is compared with what the command prints, "[...]" standing for left-out text or lines. What else a
block is, or needs, a comment in front of it says:

  <!-- run: not, REASON -->     is not run; the reason is printed
  <!-- run: long -->            with --all (or PHIBAL_ALL=1) only
  <!-- run: long WORDS -->      so are those of its commands that have these words
  <!-- run: needs MODULE -->    skipped where Python has no such module
  <!-- run: network -->         skipped where a command of it finds no package index
  <!-- run: with NAME ... -->   needs files that a reader would have; stand_ins below makes them
  <!-- run: file NAME -->       the block is the text of this file
  <!-- run: exit N -->          its last command ends so
  <!-- run: --steps N -->       appended to its commands that train
  <!-- run: potentials -->      potentials, or their sections, set apart by empty lines: audited
  <!-- run: errors -->          what `phibal audit` says of the files in `errors` below

Several stand apart by semicolons. A block that is not understood fails, and so does a mark without a block. Options that
stand in back ticks have to be in the help of their command, or of any where none is named; links to files have
to lead somewhere. The examples in `phibal COMMAND --help` are run too, and the potentials that PHI-LANGUAGE.md
lists are looked up. The test first tries itself on documents with a fault."""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

DOCUMENTS = ["README.md", "spec/VECTORS.md", "spec/CI.md", "spec/AUDIT.md", "spec/PHI-LANGUAGE.md", "moe/README.md", "python/README.md"]
SECONDS = {False: 300, True: 7200}
NO_INDEX = re.compile("No matching distribution|Max retries exceeded|Temporary failure in name resolution|ensurepip is not")

# PHI-LANGUAGE.md's errors, and a file that has each.
errors = {
    "phibal audit: my.phi:3:15: found 'dleta'; expected a known name, perhaps 'delta'":
        "potential my\nparameter delta in (0, 1) = 1/2\nvalue sum(x^2/dleta)\n",
    "phibal audit: my.phi:2:18: found 'x'; expected it inside sum(...): outside, an expert would have to be named":
        "potential my\nvalue sum(x^2) + x\n",
    "phibal audit: my.phi:2:25: found '1'; expected a default in (0, 1)":
        "potential my\nparameter a in (0, 1) = 1\nvalue sum(x^2)\n",
    "phibal audit: my.phi:2:263: found '('; expected parentheses, signs and powers at most 256 deep":
        "potential my\nvalue " + "(" * 300 + "1" + ")" * 300 + "\n",
    "phibal audit: my.phi:2:12: found the character U+00B2; expected ASCII text, and UTF-8 in comments":
        "potential my\nvalue sum(x\u00b2)\n",
}


class Wrong(Exception):
    pass


class NoIndex(Exception):
    pass


class Block:
    def __init__(self, line, language, text):
        self.line, self.language, self.text, self.marks = line, language, text, []


def blocks_of(text):
    """The blocks of a document with their marks, in order."""
    lines, found, marks, i = text.split("\n"), [], None, 0
    while i < len(lines):
        line, start = lines[i], i + 1
        mark = re.match(r" *<!--\s*run:(.*)", line)
        fence = re.match(r" *```(.*)", line)
        # Code by four spaces follows an empty line, and no list item.
        indented = line.startswith("    ") and line.strip() and (i == 0 or not lines[i - 1].strip())
        if mark:
            if marks is not None:
                raise Wrong("line %d: a mark without a block" % marks[0])
            whole = re.fullmatch(r" *<!--\s*run:(.*?)\s*-->\s*", line)
            if not whole:
                raise Wrong("line %d: a mark is one line, <!-- run: ... -->" % start)
            marks = (start, [m.strip() for m in whole.group(1).split(";")])
            i += 1
            continue
        if fence:
            body = []
            i += 1
            while i < len(lines) and not re.match(r" *```\s*$", lines[i]):
                body.append(lines[i])
                i += 1
            if i == len(lines):
                raise Wrong("line %d: a fence without an end" % start)
            block = Block(start + 1, fence.group(1).strip(), body)
            i += 1
        elif indented:
            body = []
            while i < len(lines) and (lines[i].startswith("    ") or not lines[i].strip()):
                body.append(lines[i][4:])
                i += 1
            block = Block(start, "", body)
        else:
            if marks is not None and line.strip():
                raise Wrong("line %d: a mark without a block" % marks[0])
            i += 1
            continue
        while block.text and not block.text[-1].strip():
            block.text.pop()
        if marks is not None:
            block.marks, marks = marks[1], None
        found.append(block)
    if marks is not None:
        raise Wrong("line %d: a mark without a block" % marks[0])
    return found


def commands_of(block):
    """[line number, command, shown output or None] of a block."""
    console = any(line.startswith("$ ") for line in block.text)
    found, i = [], 0
    while i < len(block.text):
        line, number = block.text[i], block.line + i
        i += 1
        if console and not line.startswith("$ "):
            if not found:
                raise Wrong("line %d: output before the first command" % number)
            found[-1][2] = (found[-1][2] or []) + [line]
            continue
        command = line[2:] if console else line
        if not command.strip() or command.strip().startswith("#"):
            continue
        while command.endswith("\\") and i < len(block.text):
            command += "\n" + block.text[i]
            i += 1
        here = re.search(r"<<\s*'?(\w+)'?", command)
        if here:
            while i < len(block.text) and command.split("\n")[-1] != here.group(1):
                command += "\n" + block.text[i]
                i += 1
        found.append([number, command, None])
    return found


def is_shown(shown, printed):
    """Whether the printed lines are those that the document shows."""
    shown = [line.rstrip() for line in shown]
    if not shown:
        return not printed
    if shown[0] == "[...]":
        return any(is_shown(shown[1:], printed[n:]) for n in range(len(printed) + 1))
    pattern = ".*".join(map(re.escape, shown[0].split("[...]")))
    return bool(printed) and bool(re.fullmatch(pattern, printed[0])) and is_shown(shown[1:], printed[1:])


class Reader:
    """Somebody who does what a document says, in an empty folder."""

    def __init__(self, phibal, root, everything):
        self.phibal, self.root, self.all = phibal, root, everything
        self.skipped, self.ran, self.no_index, self.help = [], 0, False, {}
        self.folder = None

    def open(self, document):
        self.document = document
        self.folder = tempfile.mkdtemp(prefix="documents.")
        self.work = os.path.join(self.folder, "work")
        os.makedirs(os.path.join(self.folder, "bin"))
        os.mkdir(self.work)
        os.symlink(self.phibal, os.path.join(self.folder, "bin/phibal"))
        self.environment = dict(os.environ, PATH=":".join((os.path.join(self.folder, "bin"), os.path.dirname(sys.executable),
                                                               os.environ["PATH"])),
                                OMP_WAIT_POLICY="passive", HOME=self.folder, LC_ALL="C.UTF-8")

    def close(self):
        shutil.rmtree(self.folder)

    def shell(self, command, folder=None):
        """(status, what it printed)"""
        process = subprocess.Popen(["bash", "-e", "-o", "pipefail", "-c", command], cwd=folder or self.work,
                                   env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True, start_new_session=True)
        try:
            printed = process.communicate(timeout=SECONDS[self.all])[0]
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            raise Wrong("not done after %d seconds" % SECONDS[self.all])
        return process.returncode, printed

    def need(self, command, folder=None):
        status, printed = self.shell(command, folder)
        if status:
            raise Wrong("a stand-in: %s: status %d\n%s" % (command, status, printed))

    def put(self, name, text):
        path = os.path.join(self.work, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)

    def stand_in(self, name):
        """A file or folder that a reader would have."""
        path = os.path.join(self.work, name)
        if os.path.exists(path):
            return
        if name in ("books/", "src/"):
            os.makedirs(path)
            source, ending = ("spec", ".md") if name == "books/" else ("kernels/cpu", ".c")
            for file in sorted(os.listdir(os.path.join(self.root, source))):
                if file.endswith(ending):
                    shutil.copy(os.path.join(self.root, source, file), path)
        elif name == "spec/include/":
            shutil.copytree(os.path.join(self.root, name), path)
        elif name == "examples/plugin/router.c":
            os.makedirs(os.path.dirname(path))
            shutil.copy(os.path.join(self.root, name), path)
        elif name == "mydata/":
            self.stand_in("books/")
            self.need("phibal data build --out mydata books/")
        elif name == "runs/b":
            self.stand_in("mydata/")
            self.need("phibal train --config tiny --steps 1 --data mydata/train.tokens --out runs/b")
        elif name == "my.phi":
            self.put(name, "potential my\nparameter a in (0, 1) = 1/2\nparameter b in [0, 3] = 1\n"
                     "value sum(x^2 + a*x^3 + b*x^4)\n")
        elif name == "mine.py":
            # Somebody's kernels: phibal's own, on the same cases.
            self.put(name, "import subprocess, sys\nsubprocess.run(['phibal', 'vectors', '--op', 'switch-step',"
                     " '--cases', '60', '--out', 'again.safetensors', '--results', sys.argv[2]], check=True)\n")
        elif name == "chats.jsonl":
            self.put(name, "".join(json.dumps({"messages": [
                {"role": "user", "content": "What is %d and %d?" % (n, n + 1)},
                {"role": "assistant", "content": "It is %d." % (2 * n + 1)}]}) + "\n" for n in range(200)))
        elif name == "tokenizer.model":
            self.stand_in("books/")
            self.need("phibal data build --out tokenizer --tokenizer sentencepiece --train-model --vocabulary 600 books/ &&"
                      " cp tokenizer/tokenizer.model . && rm -r tokenizer")
        elif name in ("OLMoE-1B-7B/", "Mixtral-8x7B-v0.1/"):
            # Of this architecture, with a vocabulary of bytes or the stand-in tokenizer's.
            self.stand_in("books/")
            small = ("width=32 layers=1 heads=2 head_width=16 hidden=32 experts=4 activation=silu embedding_scale=false"
                     " untied_head=true").split()
            tokenizer = ""
            if name == "OLMoE-1B-7B/":
                small.append("qk_norm=projection")
            else:
                self.stand_in("tokenizer.model")
                small.append("vocabulary=600")
                tokenizer = "--tokenizer sentencepiece --model tokenizer.model"
            self.need("phibal data build --out stand-in %s books/ && phibal train --config tiny --steps 1 --data"
                      " stand-in/train.tokens --out stand-in/run %s && phibal export --load stand-in/run --out %s &&"
                      " rm -r stand-in" % (tokenizer, " ".join("--set model." + s for s in small), name))
        elif name == "moe/sweeps/eta.yaml":
            with open(os.path.join(self.root, name), encoding="utf-8") as f:
                text = f.read()
            # Two points, one seed, two steps, on the folder's own data.
            for key, value in (("seeds", "[1]"), ("training.steps", "2"), ("evaluation.final_sequences", "16"),
                               ("data.train", "mydata/train.tokens"), ("data.validation", "mydata/validation.tokens"),
                               ("balance.eta", "[0.3, 0.65]")):
                text, n = re.subn(r"(?m)^( *%s:).*" % re.escape(key), r"\1 " + value, text)
                if n != 1:
                    raise Wrong("a stand-in: %s has no %s" % (name, key))
            self.put(name, text)
        else:
            raise Wrong("nothing stands in for '%s'" % name)

    def run(self, number, command, shown, status, appended):
        if appended and re.search(r"phibal train\b", command):
            code = re.match(r"((?:[^#']|'[^']*')*?)(\s+#.*)?$", command, re.S)
            command = code.group(1) + " " + appended
        ended, printed = self.shell(command)
        if ended != status:
            if ended and NO_INDEX.search(printed):
                raise NoIndex()
            raise Wrong("line %d: %s\nstatus %d, and not %d; it printed:\n%s" % (number, command, ended, status, printed[-3000:]))
        lines = [line.rstrip() for line in printed.rstrip("\n").split("\n")] if printed.strip() else []
        if shown is not None and not is_shown(shown, lines):
            raise Wrong("line %d: %s\nshown is:\n%s\nprinted was:\n%s" % (number, command, "\n".join(shown), printed[-6000:]))
        self.ran += 1

    def skip(self, line, reason):
        self.skipped.append("%s:%d: %s" % (self.document, line, reason))

    def read(self, block):
        status, appended, file, network, kind, long = 0, "", None, False, "", []
        for mark in block.marks:
            word, _, rest = mark.partition(" ")
            if word == "not," and rest:
                return self.skip(block.line, rest)
            if mark == "long":
                if not self.all:
                    return self.skip(block.line, "long: with --all")
            elif word == "long":
                long.append(rest)
            elif word == "needs" and rest.isidentifier():
                if self.shell("python3 -c 'import %s'" % rest)[0]:
                    return self.skip(block.line, "Python has no " + rest)
            elif mark == "network":
                network = True
            elif word == "with" and rest:
                for name in rest.split():
                    self.stand_in(name)
            elif word == "file" and re.fullmatch(r"[\w./-]+", rest):
                file = rest
            elif word == "exit" and rest.isdigit():
                status = int(rest)
            elif re.fullmatch(r"--steps \d+", mark):
                appended = mark
            elif mark in ("potentials", "errors"):
                kind = mark
            else:
                raise Wrong("line %d: the mark '%s' is not understood" % (block.line, mark))
        if file:
            return self.put(file, "\n".join(block.text) + "\n")
        if kind == "potentials":
            return self.potentials(block)
        if kind == "errors":
            return self.errors(block)
        if block.language:
            raise Wrong("line %d: a block of '%s' without a mark that says what to do with it" % (block.line, block.language))
        found = commands_of(block)
        if not found:
            raise Wrong("line %d: a block without a command" % block.line)
        if network and self.no_index:
            return self.skip(block.line, "no package index is reachable, or there is no venv")
        for words in long:
            if not any(words in command for _, command, _ in found):
                raise Wrong("line %d: no command of the block has '%s'" % (block.line, words))
        try:
            for number, command, shown in found:
                if not self.all and any(words in command for words in long):
                    self.skip(number, "long: with --all: %s" % command.split("  #")[0].strip())
                    continue
                last = number == found[-1][0]
                self.run(number, command, shown, status if last else 0, appended)
        except NoIndex:
            if not network:
                raise Wrong("line %d: needs a package index, and no mark says so" % block.line)
            self.no_index = True
            self.skip(block.line, "no package index is reachable, or there is no venv")

    def potentials(self, block):
        texts = [t for t in re.split(r"\n\s*\n", "\n".join(block.text)) if t.strip()]
        for n, text in enumerate(texts):
            if not re.search(r"(?m)^potential ", text):
                text = "potential example-%d\n%s" % (n, text)
            self.put("example.phi", text + "\n")
            self.run(block.line, "phibal audit example.phi --quick", None, 0, "")
            # A conjugate that the audit refutes is no example.
            self.run(block.line, "! phibal audit example.phi --quick | grep REFUTED", None, 0, "")

    def errors(self, block):
        for n, line in enumerate(block.text):
            if line not in errors:
                raise Wrong("line %d: no file of the test has this error" % (block.line + n))
            self.put("my.phi", errors[line])
            self.run(block.line + n, "phibal audit my.phi", [line], 2, "")
        if len(block.text) != len(errors):
            raise Wrong("line %d: the test has %d errors" % (block.line, len(errors)))

    def script_of_vectors(self):
        """The script of VECTORS.md, which has passed by now, with a fault: the judge refuses it. One that leaves
        cases out is refused too, but with --answered-only, which does not excuse wrong results."""
        if self.no_index:
            return self.skip(0, "the script with faults: no package index is reachable, or there is no venv")
        with open(os.path.join(self.work, "mine.py"), encoding="utf-8") as f:
            script = f.read()
        judge = "phibal judge cases.safetensors results.safetensors"
        without = ("    inputs =", "    if 'mask' in case['inputs']: continue\n    inputs =")
        order = ('np.argsort(-(score + bias), axis=-1, kind="stable")[:, :k]',
                 'np.argsort(score + bias, axis=-1, kind="stable")[:, ::-1][:, :k]')
        half = ('"counts": counts, ', "")
        scale = ("gates * scale", "gates")
        for faults, command, status, said in [
                ([order], judge, 1, "ties"), ([scale], judge, 1, "routed-scaling"), ([half], judge, 1, "counts"),
                ([(' or gate == "topk-softmax" and k == 1', "")], judge, 1, "k-one"),
                ([("astype(np.float64)        #", "astype(np.float32)        #")], judge, 1, "ULP"),
                ([without], judge, 1, "padding"), ([without], judge + " --answered-only", 0, "all 95 answered cases passed"),
                ([without, scale], judge + " --answered-only", 1, "routed-scaling"),
                ([without, half], judge + " --answered-only", 1, "counts")]:
            text = script
            for old, new in faults:
                if text.count(old) != 1:
                    raise Wrong("the script has not one '%s'" % old)
                text = text.replace(old, new)
            self.put("faulty.py", text)
            self.need("rm results.safetensors; venv/bin/python faulty.py cases.safetensors results.safetensors")
            ended, printed = self.shell(command)
            if ended != status or said not in printed:
                raise Wrong("the script with %s: '%s' ended in %d:\n%s" % (faults, command, ended, printed[-2000:]))

    def listed_potentials(self, text):
        rows = re.findall(r"(?m)^\| ([a-z-]+) \| `(.*?)` \|", text[text.index("## Examples"):])
        if len(rows) < 5:
            raise Wrong("no list of examples")
        for name, value in rows:
            with open(os.path.join(self.root, "tests/audit/phi", name + ".phi"), encoding="utf-8") as f:
                file = f.read()
            written = re.search(r"(?m)^value\s+(.*)$", file).group(1)
            for let, means in re.findall(r"(?m)^let (\w+) += (.*)$", file):
                written = re.sub(r"\b%s\b" % let, means, written)
            if written != value:
                raise Wrong("tests/audit/phi/%s.phi has not the value %s" % (name, value))

    def examples_of_help(self):
        """None, or which example of a help does not work: lines of two spaces and a command."""
        self.open("--help")
        try:
            for command in re.findall(r"(?m)^  ([a-z-]+) ", self.shell("phibal --help")[1]):
                printed = self.shell("phibal %s --help" % command)[1]
                lines = re.findall(r"(?m)^  phibal (?:[^\n]*\\\n)*[^\n]*", printed)
                for example in lines:
                    # What looks at every binary32, or at as many as a minute has time for.
                    if not self.all and re.search(r"audit (?!.*--(quick|check=quick))", example):
                        self.skip(0, "long: with --all: %s" % example.strip())
                        continue
                    for name in re.findall(r"\bmy\.phi|\bruns/b\b", example):
                        self.stand_in(name)
                    self.run(0, example.strip(), None, 0, "")
            return None if self.ran >= 5 else "few examples: %d" % self.ran
        except Wrong as wrong:
            return str(wrong)
        finally:
            self.close()

    def help_of(self, command):
        if command not in self.help:
            status, printed = self.shell("phibal %s --help" % command, self.folder)
            self.help[command] = set(re.findall(r"--[a-z][\w-]*", printed)) | {"--help"} if status == 0 else None
        return self.help[command]

    def options(self, text):
        """Options in back ticks."""
        listed = re.findall(r"(?m)^  ([a-z-]+) ", self.shell("phibal --help", self.folder)[1])
        if len(listed) < 10:
            raise Wrong("`phibal --help` lists no commands")
        prose = re.sub(r"(?ms)^ *```.*?^ *```", "", text)
        for span in re.findall(r"`([^`]+)`", prose):
            span = " ".join(span.split())
            named = re.search(r"phibal ([a-z-]+)", span)
            if named and named.group(1) not in listed:
                raise Wrong("`%s`: phibal has no command '%s'" % (span, named.group(1)))
            if not named and not span.startswith("--"):
                continue
            known = set().union(*map(self.help_of, [named.group(1)] if named else listed + ["data build", "data debian"]))
            if named and named.group(1) == "data":
                known |= self.help_of("data build") | self.help_of("data debian")
            for option in re.findall(r"(?<![\w-])--[a-z][\w-]*", span):
                if option not in known:
                    raise Wrong("`%s`: no help has %s" % (span, option))

    def links(self, text):
        prose = re.sub(r"(?ms)^ *```.*?^ *```", "", text)
        for target in re.findall(r"\]\(([^)#\s]+)", prose):
            if "://" not in target and not os.path.exists(os.path.join(self.root, os.path.dirname(self.document), target)):
                raise Wrong("a link to '%s', which is not there" % target)

    def all_of(self, document, text):
        """None, or what is wrong with the document."""
        self.open(document)
        try:
            for block in blocks_of(text):
                self.read(block)
            self.options(text)
            self.links(text)
            if document == "spec/VECTORS.md":
                self.script_of_vectors()
            if document == "spec/PHI-LANGUAGE.md":
                self.listed_potentials(text)
            return None
        except Wrong as wrong:
            return str(wrong)
        finally:
            self.close()


# Documents with one fault each, and one without; what is said of them.
FENCE = "```"
GOOD = """Text, `phibal audit FILE --quick` and `--seed`, a [link](spec/SPEC.md).

<!-- run: file a.txt -->
```text
one
```

```
cat a.txt          # a comment
test -d \\
  . && phibal --help
```

<!-- run: not, a reason -->
```yaml
a: 1
```

    cat a.txt

<!-- run: with books/; --steps 2 -->
```
$ ls books/
[...]
SPEC.md
[...]
$ cat a.txt
one
$ printf '1.5 s\\ntwo\\nthree\\n'
[...] s
[...]
$ cat <<'END'
$x
END
$x
```

<!-- run: potentials -->
```
value sum(x^2)
gradient 2*x
```

<!-- run: long false -->
```
false     # with --all
echo
```

<!-- run: exit 3 -->
```
exit 3
```
"""
FAULTS = [
    ("a command that fails", "cat a.txt", "cat b.txt", "status 1"),
    ("an indented command that fails", "    cat a.txt", "    cat b.txt", "status 1"),
    ("a command that fails before a pipe", "cat a.txt  ", "false | true  ", "status 1"),
    ("a command that fails behind a continuation", "test -d", "test -f", "status 1"),
    ("output that is not printed", "$ cat a.txt\none", "$ cat a.txt\ntwo", "shown is"),
    ("output that is shown in part", "$ cat a.txt\none", "$ cat a.txt\non", "shown is"),
    ("output that goes on", "[...]\nSPEC.md\n[...]", "[...]\nSPEC.md", "shown is"),
    ("output that ends before", "$ cat a.txt\none", "$ cat a.txt\none\ntwo", "shown is"),
    ("output behind [...] that is not printed", "[...]\nSPEC.md", "[...]\nSPEK.md", "shown is"),
    ("a wrong line with [...] in it", "[...] s", "[...] m", "shown is"),
    ("another status", "exit 3\n" + FENCE, "exit 2\n" + FENCE, "status 2, and not 3"),
    ("a status that is not marked", "<!-- run: exit 3 -->", "", "status 3"),
    ("a block that is not marked", "<!-- run: not, a reason -->\n", "", "without a mark"),
    ("a reason that is missing", "not, a reason", "not,", "is not understood"),
    ("a long command that is not there", "long false", "long falls", "no command of the block"),
    ("a long command that is another", "long false", "long echo", "status 1"),
    ("a potential that is refuted", "gradient 2*x", "gradient 3*x", "status 1"),
    ("a potential that is none", "sum(x^2)", "sum(x^2", "status 2"),
    ("an error that no file has", "<!-- run: potentials -->", "<!-- run: errors -->", "no file of the test"),
    ("a module that is there, and a command that fails", "long false", "needs json", "status 1"),
    ("an unknown mark", "exit 3 -->", "leave 3 -->", "is not understood"),
    ("a mark without a block", "    cat a.txt", "<!-- run: long -->", "a mark without a block"),
    ("a mark at the end", "exit 3\n" + FENCE, "exit 3\n" + FENCE + "\n<!-- run: long -->", "a mark without a block"),
    ("a stand-in that nobody makes", "with books/", "with shelves/", "nothing stands in"),
    ("a fence without an end", "exit 3\n" + FENCE, "exit 3", "without an end"),
    ("an option that no help has", "--quick", "--quickly", "no help has --quickly"),
    ("an option of another command", "audit FILE --quick", "vectors --quick", "no help has --quick"),
    ("an option by itself that no help has", "`--seed`", "`--sead`", "no help has --sead"),
    ("a command that phibal has not", "audit FILE", "audits FILE", "no command 'audits'"),
    ("a link that leads nowhere", "spec/SPEC.md", "spec/SPIC.md", "which is not there"),
    ("a package index that is not marked", "cat a.txt  ", "echo Max retries exceeded; exit 1  ", "no mark says so"),
]


def try_itself(phibal, root):
    bad = 0
    for what, old, new, said in [("no fault", "", "", None)] + FAULTS:
        at = GOOD.rfind(old) if what.startswith(("output", "an indented")) else GOOD.find(old)
        text = GOOD[:at] + new + GOOD[at + len(old):]
        if old not in GOOD or old and text == GOOD:
            wrong, good = "the fault is not in the document", False
        else:
            reader = Reader(phibal, root, False)
            wrong = reader.all_of("README.md", text)
            good = wrong is None if said is None else wrong is not None and said in wrong
            if said is None:
                good = good and reader.ran == 11 and len(reader.skipped) == 2
        if not good:
            bad += 1
            print("not ok: a document with %s: %s" % (what, wrong))
    print("%s: %d documents with a fault are refused, and one without is not" % ("not ok" if bad else "ok", len(FAULTS)))
    return bad


def main(arguments):
    everything = "--all" in arguments or os.environ.get("PHIBAL_ALL", "0") not in ("", "0")
    arguments = [a for a in arguments if a != "--all"]
    phibal, root = map(os.path.abspath, arguments[:2])
    bad = 0 if arguments[2:] else try_itself(phibal, root)
    for document in arguments[2:] or DOCUMENTS:
        with open(os.path.join(root, document), encoding="utf-8") as f:
            text = f.read()
        reader = Reader(phibal, root, everything)
        wrong = reader.all_of(document, text)
        bad += wrong is not None
        for reason in reader.skipped:
            print("skipped: %s" % reason)
        print("%s: %s: %d commands%s" % ("not ok" if wrong else "ok", document, reader.ran, "\n" + wrong if wrong else ""))
    if not arguments[2:]:
        reader = Reader(phibal, root, everything)
        wrong = reader.examples_of_help()
        bad += wrong is not None
        for reason in reader.skipped:
            print("skipped: %s" % reason)
        print("%s: examples of --help: %d commands%s" % ("not ok" if wrong else "ok", reader.ran, "\n" + wrong if wrong else ""))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
