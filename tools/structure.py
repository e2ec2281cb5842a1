#!/usr/bin/env python3
"""The structure of the repository, counted, and held to ARCHITECTURE.md.

usage: structure.py [--draw] [LIBRARY ...]

Prints how many lines of annotations the reference has to how many of code, in all (which may not be more than one to
one) and in the file with the most (two to one), how many the contracts beside it, and the functions with the most
parameters (in the reference, 8); the edges of includes between folders; and how many global symbols a library has. The
libraries are those of build/, unless others are named. What is wrong is named: symbols without phibal_; files that
include each other; what ARCHITECTURE.md says that is not so, an edge that its table does not allow or that is there no
more, a file that is not there, a tag without an equation, an operation that is none, a picture that is not this page's;
folders of which nothing says what they hold; switches over potentials or operations with a default. --draw writes the
picture anew.
Ends in 1 if anything is wrong."""
import html
import os
import re
import subprocess
import sys
import xml.etree.ElementTree

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PAGE, PICTURE = "ARCHITECTURE.md", "ARCHITECTURE.svg"
SOURCE = re.compile(r"\.(c|h|cc|cpp|cu|def)$")
GENERATED = {"build_features.h", "kernels/cuda/cuda_features.h", "reference/potential_names.h"}

LIBRARIES = [folder + "/" + name + ending for folder, name in (("kernels", "libphibal"), ("reference", "libphibal-reference"))
             for ending in (".a", ".so")]


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as f:
        return f.read()


def sources(kind=SOURCE):
    skip = re.compile(r"^(\.|build|fuzz/corpus|shared)|/\.")
    for folder, folders, files in os.walk(ROOT):
        here = os.path.relpath(folder, ROOT)
        folders[:] = [f for f in folders if not skip.search(os.path.normpath(os.path.join(here, f)))]
        for name in files:
            if kind.search(name):
                yield os.path.normpath(os.path.join(here, name))


def undescribed(page):
    """Folders of sources and programs without a head of their own (README.md, or the comment that meson.build or
    __init__.py begins with), a row of the page's table, or a mention as NAME/ in the head of a folder above."""
    def head(folder):
        texts = [(mark, read(os.path.join(folder, name))) for name, mark in (
            ("README.md", "#"), ("meson.build", "#"), ("__init__.py", '"""'))
            if os.path.exists(os.path.join(ROOT, folder, name))]
        return "\n".join(text for mark, text in texts if text.startswith(mark))

    for folder in sorted({os.path.dirname(path) for path in sources(re.compile(SOURCE.pattern + r"|\.(py|sh)$"))} - {""}):
        above = [folder.rsplit("/", n)[0] for n in range(1, folder.count("/") + 1)]
        if not (head(folder) or "\n| `%s` |" % folder in page or any(
                re.search(r"\b%s/" % re.escape(os.path.basename(folder)), head(one)) for one in above)):
            yield folder


def includes(paths):
    """(graph, wrong): the files that each file includes, and the quoted ones that are nowhere."""
    known, graph, wrong = set(paths), {}, []
    for path in paths:
        graph[path] = set()
        for mark, name in re.findall(r'(?m)^[ \t]*#[ \t]*include[ \t]+([<"])([^">]+)', read(path)):
            near = os.path.normpath(os.path.join(os.path.dirname(path), name))
            # Units under proof are compiled with -I reference and -I kernels besides.
            tried = [near, name] * (mark == '"') + ["spec/include/" + name, "spec/" + name[len("phibal/"):]]
            tried += ["reference/" + name, "kernels/" + name] * (path.split("/")[0] in ("proofs", "reference", "kernels"))
            found = [t for t in tried if t in known]
            if found:
                graph[path].add(found[0])
            elif mark == '"' and name not in GENERATED:
                wrong.append("%s includes %s, which is nowhere" % (path, name))
    return graph, wrong


def circles(graph):
    """Lists of files of which each includes the next and the last the first. A source and its headers, X.c, X.h and
    X_internal.h, count as one."""
    module = lambda f: re.sub(r"(_internal)?\.\w+$", "", f)
    parts = {}
    for f, targets in graph.items():
        if not f.endswith(".def"):  # catalogues include themselves
            parts.setdefault(module(f), set()).update(module(t) for t in targets if not t.endswith(".def"))
    state, path, found = {}, [], []

    def visit(f):
        state[f] = 1
        path.append(f)
        for g in sorted(parts.get(f, ())):
            if state.get(g) == 1 and g != f:
                found.append(path[path.index(g):])
            elif g not in state:
                visit(g)
        path.pop()
        state[f] = 2

    for f in sorted(parts):
        if f not in state:
            visit(f)
    return found


def lines_of(text):
    """(code, ACSL): lines with code, and lines of annotations, less empty ones and plain comments."""
    code = acsl = 0
    state = None
    for line in text.split("\n"):
        line = line.strip()
        if state == "acsl" or not state and line.startswith(("/*@", "//@")):
            acsl += bool(line)
            if not line.startswith("//@"):
                state = None if "*/" in line else "acsl"
        elif state == "comment" or not state and line.startswith("/*"):
            state = None if line.endswith("*/") else "comment"
        elif line and not line.startswith("//"):
            code += 1
    return code, acsl


def parameters_of(text):
    """Function defined at the margin -> how many parameters it has."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.S)
    found = re.findall(r"(?m)^[A-Za-z_][\w\s*]*?\b(\w+)\(([^;{}()]*)\)\s*\{", text)
    return {name: 0 if said.strip() in ("", "void") else said.count(",") + 1 for name, said in found}


def open_switches(text):
    """How many switches over potentials or operations have a default: a new row would take it in silence."""
    found = 0
    for start in re.finditer(r"\bswitch\s*\([^{]*\)\s*\{", text):
        depth, at = 1, start.end()
        while depth and at < len(text):
            depth += {"{": 1, "}": -1}.get(text[at], 0)
            at += 1
        body = text[start.end():at]
        found += bool(re.search(r"\bcase (PHIBAL_POTENTIAL|OPERATION)_", body) and re.search(r"\bdefault\s*:", body))
    return found


def symbols_of(library):
    """The global symbols that a library defines; those of GCC's OpenMP are not its own."""
    said = subprocess.run(["nm", *["-D"] * library.endswith(".so"), "-g", "--defined-only", library], check=True,
                          stdout=subprocess.PIPE, text=True).stdout
    names = [line.split()[2] for line in said.splitlines() if len(line.split()) == 3]
    return [name for name in names if not name.startswith(".gomp_")]


def tables(page):
    """Title of a section -> the rows of its table, as lists of cells."""
    found = {}
    for section in page.split("\n## ")[1:]:
        title, _, text = section.partition("\n")
        rows = re.findall(r"(?m)^\|(.*)\|$", text)
        found[title] = [[cell.strip() for cell in row.split("|")] for row in rows if not row.startswith(" ---")][1:]
    return found


def drawing(page):
    """The page's tables as a picture: the two ways as columns of boxes, the folders as layers."""
    table = tables(page)
    out, width = [], 1000
    text = lambda x, y, s, **a: out.append('<text x="%g" y="%g"%s>%s</text>' % (
        x, y, "".join(' %s="%s"' % (k.replace("_", "-"), v) for k, v in a.items()), html.escape(s)))
    box = lambda x, y, w, h, fill: out.append('<rect x="%g" y="%g" width="%g" height="%g" rx="5" fill="%s" stroke="#345"/>'
                                              % (x, y, w, h, fill))
    arrow = lambda x, y, to: out.append('<path d="M%g %gV%g" stroke="#345" marker-end="url(#tip)"/>' % (x, y, to))
    plain = lambda s: s.replace("`", "")
    step, top = 46, 50
    text(20, 28, "From a logit to its gradient", font_weight="bold")
    logit = table["From a logit to its gradient"]
    for i, (station, equation, reference, cpu, _, operation) in enumerate(logit):
        y = top + i * step
        box(20, y, 560, 34, "#eef4fa")
        text(30, y + 14, station)
        text(200, y + 14, equation, fill="#a40")
        text(30, y + 28, plain(reference), font_size="10", fill="#456")
        text(300, y + 28, plain(cpu), font_size="10", fill="#456")
        text(300, y + 14, "verify --op " + plain(operation), font_size="10")
        if i:
            arrow(60, y - step + 34, y - 3)
    text(620, 28, "From a row to a certificate", font_weight="bold")
    potential = table["A potential, from its catalogue row to a certificate"]
    for i, (station, where) in enumerate(potential):
        y = top + i * step
        box(620, y, 360, 34, "#f6f1e4")
        text(630, y + 14, station)
        text(630, y + 28, plain(where), font_size="10", fill="#456")
        if i:
            arrow(660, y - step + 34, y - 3)
    y = top + max(len(logit), len(potential)) * step + 24
    text(20, y, "Folders: each row includes rows above it only", font_weight="bold")
    y += 12
    level = {}
    for folder, _, includes_cell in table["Folders"]:
        names = re.findall(r"`([^`]+)`", includes_cell)
        level[plain(folder)] = (level["moe/report"] + 1 if includes_cell == "any" else
                                1 + max([level[n] for n in names], default=-1))
    for n in range(max(level.values()) + 1):
        x = 20
        for folder in (f for f, v in level.items() if v == n):
            w = 16 + 7.2 * len(folder)
            box(x, y, w, 24, "#eaf3ea")
            text(x + 8, y + 16, folder)
            x += w + 10
        y += 32
    head = ('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">\n'
            '<!-- Made by tools/structure.py from the tables of ARCHITECTURE.md. -->\n'
            '<defs><marker id="tip" markerWidth="6" markerHeight="6" refX="3" refY="3" orient="auto">'
            '<path d="M0 0L6 3L0 6Z" fill="#345"/></marker></defs>\n<rect width="100%%" height="100%%" fill="#fff"/>\n')
    return head % (width, y + 8) + "\n".join(out) + "\n</svg>\n"


def main():
    page = read(PAGE)
    table = tables(page)
    allowed = {folder.strip("`"): cells for folder, _, cells in table["Folders"]}
    order = list(allowed)

    def folder_of(path):
        parts = path.split("/")
        return "/".join(parts[:2]) if "/".join(parts[:2]) in allowed else parts[0]

    paths = sorted(sources())
    graph, wrong = includes(paths)
    counted = {path: lines_of(read(path)) for path in paths if path.startswith("reference/")}
    code, acsl = (sum(n[i] for n in counted.values()) for i in (0, 1))
    contracts = sum(lines_of(read(path))[1] for path in paths if path.startswith("spec/acsl/contracts/"))
    print("reference: %d lines of code, %d of ACSL, %.2f to one; contracts in headers of their own: %d lines" % (
        code, acsl, acsl / code, contracts))
    if acsl > code:
        wrong.append("reference/ has more lines of ACSL than of code")
    wrong += ["%s has %d lines of ACSL to %d of code, more than 2 to 1" % (path, a, c)
              for path, (c, a) in counted.items() if a > 2 * c]
    print("  the most in one file: %.1f to one (%s)" % max((a / max(c, 1), path) for path, (c, a) in counted.items()))
    parameters = [(n, name, path) for path in paths if path.split("/")[0] not in ("tests", "fuzz", "bench", "proofs")
                  for name, n in parameters_of(read(path)).items()]
    many = [row for row in parameters if row[0] > 8]
    print("functions of more than 8 parameters: %d" % len(many))
    wrong += ["%s (%s) takes %d parameters, more than 8" % (name, path, n)
              for n, name, path in many if path.startswith("reference/")]
    for n, name, path in sorted(parameters, reverse=True)[:5]:
        print("  %2d  %s (%s)" % (n, name, path))
    edges = {}
    for path, targets in graph.items():
        for target in targets:
            a, b = folder_of(path), folder_of(target)
            if a != b:
                edges.setdefault((a, b), []).append("%s includes %s" % (path, target))
    for (a, b), examples in sorted(edges.items()):
        print("%-12s -> %-12s %3d" % (a, b, len(examples)))
        if a not in allowed:
            wrong.append("%s has no row in %s" % (a, PAGE))
        elif allowed[a] == "any":
            if b not in allowed or order.index(b) > order.index(a):
                wrong.append("%s, whose row does not stand above" % examples[0])
        elif "`%s`" % b not in allowed[a]:
            wrong.append("%s, which %s does not allow" % (examples[0], PAGE))
    for a, cells in allowed.items():
        for b in re.findall(r"`([^`]+)`", cells):
            if (a, b) not in edges:
                wrong.append("%s includes nothing of %s: %s allows it for nothing" % (a, b, PAGE))
            if order.index(b) > order.index(a):
                wrong.append("%s stands below %s, which it includes" % (b, a))
    for path in paths:
        if open_switches(read(path)):
            wrong.append("%s: a switch over potentials or operations has a default" % path)
    built = [os.path.join(ROOT, "build", path) for path in LIBRARIES]
    for library in [a for a in sys.argv[1:] if a != "--draw"] or [path for path in built if os.path.exists(path)]:
        names = symbols_of(library)
        foreign = [name for name in names if not name.startswith("phibal_")]
        print("%s: %d global symbols, %d without phibal_" % (os.path.basename(library), len(names), len(foreign)))
        wrong += ["%s defines %s" % (library, name) for name in foreign]
    for circle in circles(graph):
        wrong.append("files include each other: " + " ".join(circle))
    wrong += ["nothing says what %s/ holds" % folder for folder in undescribed(page)]
    specification, operations = read("spec/SPEC.md"), read("spec/ops.def")
    for row in table["From a logit to its gradient"]:
        wrong += ["no equation (%s)" % tag for tag in row[1].split() if "(%s)" % tag not in specification]
        if '"%s"' % row[5].strip("`") not in operations:
            wrong.append("no operation %s" % row[5])
    for name in set(re.findall(r"`([a-z]+/[\w./-]*)`", page)):
        if not os.path.exists(os.path.join(ROOT, name)) and not any(
                os.path.exists(os.path.join(ROOT, folder, name)) for folder in ("kernels",)):
            wrong.append("%s is not there" % name)
    picture = drawing(page)
    xml.etree.ElementTree.fromstring(picture)  # well-formed
    if "--draw" in sys.argv[1:]:
        with open(os.path.join(ROOT, PICTURE), "w", encoding="utf-8") as f:
            f.write(picture)
    elif not os.path.exists(os.path.join(ROOT, PICTURE)) or read(PICTURE) != picture:
        wrong.append("%s is not the picture of %s: tools/structure.py --draw" % (PICTURE, PAGE))
    for line in wrong:
        print("wrong: " + line)
    print("structure: %d files, %d edges between folders, %s" % (len(paths), len(edges), "%d wrong" % len(wrong) if wrong else "as said"))
    sys.exit(1 if wrong else 0)


main()
