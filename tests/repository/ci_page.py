#!/usr/bin/env python3
"""The workflow of spec/CI.md, run as it stands there, all steps in order: it ends in 0 for kernels that are right,
the steps "plugin", "vectors" and "pytest" in 1 for wrong ones, and they write JUnit files that say so. The plugin is that
of examples/, run_cases.py the script of spec/VECTORS.md, test_kernels.py that of python/README.md. Without a repository that phibal is cloned from, the first
step says that it is missing.

usage: ci_page.py PHIBAL SOURCE_ROOT [--all]

Packages that the workflow installs are not installed, and what it clones is not phibal but a repository whose `dev build`
makes links to PHIBAL and to the sources, and whose Python package is the sources' with PHIBAL's libraries. With --all (or PHIBAL_ALL=1), as root and with debootstrap, a bare Debian 12 is
made first, and the workflow runs in there with the last commit of SOURCE_ROOT, with the network's settings of this
machine: minutes. Times of the steps are printed."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree

everything = "--all" in sys.argv or os.environ.get("PHIBAL_ALL", "0") not in ("", "0")
phibal, root = map(os.path.abspath, [a for a in sys.argv[1:] if a != "--all"][:2])
bad = 0
NO_INDEX = re.compile("No matching distribution|Max retries exceeded|Temporary failure in name resolution|ensurepip is not")


def check(good, what):
    global bad
    bad += not good
    print("%s: %s" % ("ok" if good else "not ok", what))


def page(name, folder="spec"):
    with open(os.path.join(root, folder, name), encoding="utf-8") as f:
        return f.read()


def workflow():
    """[name, commands] of its steps that run something. A line of it that is not understood is an error."""
    text = re.search(r"```yaml\n(.*?)```", page("CI.md"), re.S).group(1)
    steps = re.split(r"(?m)^      - ", text)
    if text.count("run:") != len(re.findall(r"(?m)^        run: \|$", text)):
        raise SystemExit("not ok: a step of the workflow has a run that is not 'run: |' on a line of its own")
    found = []
    for step in steps[1:]:
        commands = re.search(r"(?m)^        run: \|\n((?: {10}.*\n)+)", step)
        if commands:
            found.append((re.match(r"name: (.*)", step).group(1), re.sub(r"(?m)^ {10}", "", commands.group(1))))
    return found


def mine(folder, wrong):
    """The repository under test."""
    os.mkdir(os.path.join(folder, "mine"))
    with open(os.path.join(root, "examples/plugin/router.c"), encoding="utf-8") as f:
        plugin = f.read()
    script = re.search(r"```python\n(.*?)```", page("VECTORS.md"), re.S).group(1)
    blocks = re.findall(r"```python\n(.*?)```", page("README.md", "python"), re.S)
    test, = (b for b in blocks if "def test_" in b)
    if wrong:
        check(test.count("* scale") == 1, "the test of python/README.md has a scale to leave out")
        test = test.replace("* scale", "")
        plugin = "#define PLUGIN_FAULT\n" + plugin
        scale = "gates * scale"
        check(script.count(scale) == 1, "the script of VECTORS.md has a scale to leave out")
        script = script.replace(scale, "gates")
    for name, text in (("plugin.c", plugin), ("run_cases.py", script), ("test_kernels.py", test)):
        with open(os.path.join(folder, "mine", name), "w", encoding="utf-8") as f:
            f.write(text)


def git(*arguments):
    subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@localhost", *arguments], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def stand_in(folder):
    """(environment of a runner whose packages are there already, repository that links to what is built)"""
    repository, tools = os.path.join(folder, "repository"), os.path.join(folder, "tools")
    git("init", "-q", repository)
    os.mkdir(tools)
    with open(os.path.join(repository, "setup.py"), "w", encoding="utf-8") as f:
        f.write("from setuptools import setup\nsetup(name='phibal', version='0', packages=['phibal'], install_requires=['numpy'],\n"
                "  entry_points={'pytest11': ['phibal = phibal.pytest_plugin']})\n")
    shutil.copytree(os.path.join(root, "python/phibal"), os.path.join(repository, "phibal"),
                    ignore=shutil.ignore_patterns("__pycache__"))
    for path, text in ((os.path.join(repository, "dev"), '[ "$*" = build ]\ncd "$(dirname "$0")"\nmkdir -p build/cli\n'
                        'ln -s "%s" build/cli/phibal\nln -s "%s/spec" spec\n' % (phibal, root)),
                       (os.path.join(tools, "apt-get"), '[ "$*" = update ] || [ "$1 $2" = "install -y" ]\n'
                        'echo "$*" >> "%s/installed"\n' % folder)):
        with open(path, "w", encoding="utf-8") as f:
            f.write("#!/bin/sh\nset -eu\n" + text)
        os.chmod(path, 0o755)
    git("-C", repository, "add", "dev", "setup.py", "phibal")
    git("-C", repository, "commit", "-qm", "stand-in")
    return tools, "file://" + repository


def junit(path):
    """(cases, failures) of a JUnit file, None where there is no such file."""
    if not os.path.exists(path):
        return None
    suites = list(xml.etree.ElementTree.parse(path).getroot().iter("testsuite"))
    return tuple(sum(int(s.get(key)) for s in suites) for key in ("tests", "failures"))


def run(steps, folder, start, environment, wrong):
    """Runs the steps, each in a shell as a workflow's, which ends with the first command that fails."""
    files = {"plugin": "verify.xml", "vectors": "judge.xml", "pytest": "pytest.xml"}
    kind = "wrong" if wrong else "right"
    for name, commands in steps:
        began = time.monotonic()
        ended = subprocess.run(start + ["bash", "-e", "-o", "pipefail", "-c", commands], cwd=folder, env=environment,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        seconds = time.monotonic() - began
        if ended.returncode and NO_INDEX.search(ended.stdout):
            print("skipped: %s: no package index is reachable, or there is no venv: %s" %
                  (name, ended.stdout.strip().split("\n")[-1]))
            continue
        if name not in files:
            good, said = ended.returncode == 0, ""
        else:
            counts = junit(os.path.join(folder, files[name]))
            good = ended.returncode == wrong and bool(counts) and counts[0] > 0 and (counts[1] > 0) == wrong
            said = ", JUnit %s" % (counts,)
        check(good, "%s, %s kernels: status %d%s (%.0f s)" % (name, kind, ended.returncode, said, seconds))
        if not good:
            print(ended.stdout[-3000:])
            if name not in files:
                return


def in_place(steps, wrong):
    with tempfile.TemporaryDirectory() as folder:
        tools, repository = stand_in(folder)
        environment = dict(os.environ, PATH=tools + ":" + os.environ["PATH"], PHIBAL_REPOSITORY=repository,
                           PHIBAL_BUILD=os.path.dirname(os.path.dirname(phibal)))
        work = os.path.join(folder, "work")
        os.mkdir(work)
        mine(work, wrong)
        if not wrong:
            del environment["PHIBAL_REPOSITORY"]
            ended = subprocess.run(["bash", "-e", "-c", dict(steps)["phibal"]], cwd=work, env=environment,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            check(ended.returncode and "PHIBAL_REPOSITORY: set it" in ended.stdout, "without PHIBAL_REPOSITORY it says so")
            environment["PHIBAL_REPOSITORY"] = repository
        run(steps, work, [], environment, wrong)
        with open(os.path.join(folder, "installed"), encoding="utf-8") as f:
            installed = f.read()
        for package in ("git", "ca-certificates", "python3-venv"):
            check(package in installed.split(), "the workflow installs %s" % package)


def in_bare_debian(steps):
    if os.geteuid() or not shutil.which("debootstrap"):
        print("skipped: a bare Debian needs root and debootstrap")
        return
    tree = tempfile.mkdtemp(prefix="ci_page.")
    work = os.path.join(tree, "work")
    try:
        subprocess.run(["debootstrap", "--variant=minbase", "bookworm", tree], check=True, stdout=subprocess.DEVNULL)
        # How this machine reaches the network.
        for name in ("etc/apt/apt.conf.d", "etc/apt/sources.list.d", "etc/ssl/certs", "usr/local/share/ca-certificates"):
            if os.path.isdir("/" + name):
                shutil.copytree("/" + name, os.path.join(tree, name), dirs_exist_ok=True)
        for name in ("etc/resolv.conf", "etc/pip.conf"):
            if os.path.exists("/" + name):
                shutil.copy("/" + name, os.path.join(tree, name))
        os.mkdir(work)
        mine(work, False)
        git("clone", "-q", "--bare", root, os.path.join(tree, "phibal.git"))
        subprocess.run(["mount", "-t", "proc", "proc", os.path.join(tree, "proc")], check=True)
        environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root",
                       "PHIBAL_REPOSITORY": "file:///phibal.git"}
        run(steps, work, ["chroot", tree, "env", "-C", "/work"], environment, False)
    finally:
        subprocess.run(["umount", os.path.join(tree, "proc")], stderr=subprocess.DEVNULL)
        if not os.path.ismount(os.path.join(tree, "proc")):
            shutil.rmtree(tree)


steps = workflow()
check([name for name, _ in steps] == ["phibal", "plugin", "vectors", "pytest"], "the workflow's steps: %s" % [n for n, _ in steps])
# What a wrong plugin gets in detail is the test "plugin"'s.
in_place(steps, False)
in_place(steps, True)
if everything:
    in_bare_debian(steps)
else:
    print("skipped: in a bare Debian, with --all")
sys.exit(1 if bad else 0)
