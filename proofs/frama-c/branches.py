#!/usr/bin/env python3
"""Lists each branch on __FRAMAC__ in the sources, with its reason and the test that ties what proofs read to
what compilers read, of branches.list; exit status 0 only if all of them are tied.

A branch of which compilers see nothing, and Frama-C nothing but annotations, declarations of no C, headers of
logic, and headers of contracts whose every prototype the file has outside of such branches, is *logic*: it changes no
code. Any other needs a row that names something in it.
"""
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
FOLDERS = ("spec", "reference", "kernels", "moe", "formats", "cli")


def without_comments(text):
    return re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.S)


def branches(text):
    """(line, text) of every #if that names __FRAMAC__, to its #endif."""
    lines, open_ifs = text.split("\n"), []
    for i, line in enumerate(lines):
        if re.match(r"\s*#\s*if", line):
            open_ifs.append(i)
        elif re.match(r"\s*#\s*endif", line) and open_ifs:
            begin = open_ifs.pop()
            if "__FRAMAC__" in lines[begin]:
                yield begin + 1, "\n".join(lines[begin:i + 1])


def is_logic_header(name, root, declared):
    """Has it nothing for a compiler but macros in capitals, and prototypes that are declared without it?"""
    for folder in ("spec/include", "kernels/cpu", "reference"):
        path = os.path.join(root, folder, name)
        if os.path.exists(path):
            text = without_comments(open(path, encoding="utf-8").read()).replace("\\\n", " ")
            left = [line for line in text.split("\n") if line.strip() and not re.match(
                r"\s*#\s*(define\s+[A-Z0-9_]+\b|undef\s+[A-Z0-9_]+\b|include|if|else|endif)", line)]
            return all(words(part) in declared for part in "\n".join(left).split(";") if words(part))
    return False


def words(text):
    return tuple(re.findall(r"\w+|[^\w\s]", text))


def declarations(text):
    """The prototypes at the margin of a file, each as its words, less those in branches on __FRAMAC__."""
    for _, branch in branches(text):
        text = text.replace(branch, "")
    text = re.sub(r"(?m)^\s*#.*", "", without_comments(text))
    return {words(prototype) for prototype in re.findall(r"(?m)^[A-Za-z_][^;{}]*\)(?=\s*;)", text)}


def is_logic(text, root, declared=frozenset()):
    text = without_comments(text)
    return all(not line.strip() or re.match(r"\s*#\s*(ifdef __FRAMAC__|endif)", line) or
               ((found := re.match(r'\s*#\s*include\s*[<"]([^>"]+)[>"]', line)) and
                is_logic_header(found.group(1), root, declared))
               for line in text.split("\n"))


def has_test(name, root):
    path, _, test = name.partition(":")
    if not os.path.isfile(os.path.join(root, path)):
        return False
    text = open(os.path.join(root, path), encoding="utf-8").read()
    return not path.endswith(".c") or not path.startswith("tests/") or re.search(
        r"(?m)^Test\(\w+, %s\b" % re.escape(test or "?"), text) is not None


def judged(rows, root=ROOT, sources=None):
    """(what is wrong, the lines of the list); sources: path -> text, or those of the tree."""
    if sources is None:
        sources = {}
        for folder in FOLDERS:
            for where, _, names in os.walk(os.path.join(root, folder)):
                for name in names:
                    if name.endswith((".c", ".h", ".cpp", ".cu", ".cuh", ".inc", ".def")):
                        path = os.path.relpath(os.path.join(where, name), root)
                        sources[path] = open(os.path.join(root, path), encoding="utf-8").read()
    listed = []
    for row in rows.splitlines():
        words, _, reason = row.partition("#")
        if words.split():
            listed.append(words.split() + [reason.strip()])
    wrong = ["not a row: " + " ".join(row) for row in listed if len(row) != 4 or not row[3]]
    listed = [row for row in listed if len(row) == 4]
    wrong += ["%s %s: there is no test %s" % (row[0], row[1], row[2]) for row in listed if not has_test(row[2], root)]
    lines, met = [], [0] * len(listed)
    for path, text in sorted(sources.items()):
        if "__FRAMAC__" not in text:
            continue
        found = list(branches(text))
        if len(found) != without_comments(text).count("__FRAMAC__"):
            wrong.append("%s: __FRAMAC__ elsewhere than in an #if" % path)
        for line, branch in found:
            if is_logic(branch, root, declarations(text)):
                lines.append("%s:%d logic" % (path, line))
                continue
            fits = [i for i, row in enumerate(listed)
                    if row[0] == path and re.search(r"(?<!\w)%s(?!\w)" % re.escape(row[1]), branch)]
            if len(fits) != 1:
                wrong.append("%s:%d: %d rows" % (path, line, len(fits)))
                continue
            met[fits[0]] += 1
            lines.append("%s:%d %s: %s; tied by %s" % (path, line, listed[fits[0]][1], listed[fits[0]][3], listed[fits[0]][2]))
    wrong += ["%s %s: %d branches" % (row[0], row[1], n) for row, n in zip(listed, met) if n != 1]
    return wrong, lines


def main():
    wrong, lines = judged(open(os.path.join(HERE, "branches.list"), encoding="utf-8").read())
    for line in lines + ["    " + w for w in wrong]:
        print(line)
    other = sum(not line.endswith(" logic") for line in lines)
    print("branches: %d on __FRAMAC__, %d of them of logic alone, %d tied by tests" % (len(lines), len(lines) - other, other))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
