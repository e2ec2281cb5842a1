#!/usr/bin/env python3
"""Real code of packages from PyPI under phibal's vectors and traces, and the bugs found in it: prints fuzz/PEERS.md.

usage: PHIBAL_BUILD=BUILD PYTHONPATH=python fuzz/peers/run.py BUILD/cli/phibal [--only bugs|tables] [on_NAME ...] > fuzz/PEERS.md

One file a package, on_NAME.py; one that is not installed is said and left out. Takes about twenty minutes on two cores.
"""
import argparse
import importlib
import importlib.metadata
import os
import platform
import sys
import tempfile
import warnings

MODULES = ("on_torch", "on_jax", "on_transformers", "on_megatron", "on_torchtitan", "on_olmo", "on_deepspeed", "on_automodel",
           "on_sonic")
MORE = {"router-forward": 400, "capacity": 400, "described-router": 400}  # for bugs, cases beside the default ones: few have all that a certain bug needs
MORE_OF_TABLES = {"quantile": 200}  # few cases have tokens of which experts get equal shares
HERE = os.path.dirname(os.path.abspath(__file__))


def cell(text):
    return str(text).replace("|", "\\|").replace("\n", " ")


def version(package):
    return importlib.metadata.version(package)


def row_of(bug, verdict):
    """number, package, bug, thread, operation and how it is played, verdict"""
    played = f"`{bug.operation}`: {bug.trigger}" if bug.operation else bug.why
    if verdict is None:
        words = "not found"
    else:
        v = verdict
        first = next(iter(v["found"].items()), None)
        words = f"{len(v['bad'])} of {v['played']} fail; {bug.without}: {len(v['also'])} of {v['control']}. "
        words += f"**Found** by {len(v['found'])}: `{first[0]}` ({first[1][0]}): {first[1][1]}" if first else "Not found"
        words += f"; likely: {', '.join(v['causes'][:2])}" if first and v["causes"] and not first[1][1].startswith("raised") else ""
    return f"| {bug.number} | {bug.package} {version(bug.package)} | {cell(bug.what)} | {bug.thread or 'none'} | {cell(played)} | " \
        f"{cell(words)} |"


def table_of(peer, report, rows):
    words = f"### {peer.package} {version(peer.package)}: {peer.what} (`{peer.operation}`)\n\n"
    words += f"With `{' '.join(peer.options)}`.\n\n" if peer.options else ""
    if rows:
        words += "| output | wrong elements | worst | promised |\n| --- | --- | --- | --- |\n" + "\n".join(rows) + "\n\n"
    return words + report + "\n"


def judged(peer, cases):
    report = cases.judge(peer.play, peer.options)
    rows = []
    for o in report["outputs"].values():
        exact = o["unit"] == "exact"
        rows.append(f"| {o['output']} | {o['wrong']} of {o['elements']} | {'' if exact else cell('%.3g %s' % (o['worst'], o['unit']))} | "
                    f"{'exact' if exact else '%g' % o['bound']} |")
    bad = ", ".join(f"{kind} {n} of {report['kinds'][kind]}" for kind, n in sorted(report["bad_kinds"].items()))
    words = f"{report['played']} cases, {len(report['failing'])} fail{': ' + bad if bad else ''}."
    raised = next((words for _, words in report["failing"].values() if words.startswith("raised")), "")
    likely = f" Likely: {', '.join(report['likely'][:3])}." if report["likely"] else ""
    return table_of(peer, words + likely + (f" One {cell(raised)}." if raised else ""), rows)


def short(peers, cases):
    """Routers of one package in one table."""
    if not peers:
        return ""
    lines = [f"### {peers[0].package} {version(peers[0].package)}: {len(peers)} routers (`{peers[0].operation}`)", "",
             f"With `{' '.join(peers[0].options)}`. The kinds of cases that fail, and what the judge thinks likely.", "",
             "| class | gates | cases | fail | kinds | likely |", "| --- | --- | --- | --- | --- | --- |"]
    for peer in peers:
        print(f"{peer.package}: {peer.what}", file=sys.stderr, flush=True)
        r = cases(peer.operation).judge(peer.play, peer.options)
        bad = ", ".join(f"{kind} {n}" for kind, n in sorted(r["bad_kinds"].items()))
        lines.append(f"| {peer.what} | {r['played']} | {len(r['failing'])} | {bad} | {', '.join(r['likely'][:2])} |")
    return "\n".join(lines) + "\n"


def played(peer):
    import phibal
    def create(**case):
        try:
            return peer.play(**case)
        except NotImplementedError:
            return None
    times = float(peer.options[peer.options.index("--times") + 1]) if "--times" in peer.options else 1.0
    report = phibal.play(create, op=peer.operation, times=times)
    kinds = {}
    for failure in report.failures:
        kinds[failure.kind] = kinds.get(failure.kind, 0) + 1
    bad = ", ".join(f"{kind} {n}" for kind, n in sorted(kinds.items()))
    words = f"{report.judged} scripts, {len(report.failures)} fail{': ' + bad if bad else ''}."
    likely = f" Likely: {', '.join(c.flag for c in report.causes[:3])}." if report.causes else ""
    first = f" First: `{report.failures[0].case}`: {cell(report.failures[0].words.splitlines()[0])}." if report.failures else ""
    return table_of(peer, words + likely + first, [])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("phibal")
    parser.add_argument("modules", nargs="*")
    parser.add_argument("--only", choices=("bugs", "tables"))
    arguments = parser.parse_intermixed_args()
    sys.path.insert(0, HERE)
    warnings.simplefilter("ignore")
    import common
    import bugs
    for module in arguments.modules or MODULES:
        try:
            importlib.import_module(module)
        except ImportError as error:
            print(f"left out: {module}: {error}", file=sys.stderr)
    phibal = os.path.abspath(arguments.phibal)
    packages = sorted({p.package for p in common.PEERS})
    versions = ", ".join([f"Python {platform.python_version()}"] + [f"{p} {version(p)}" for p in packages])
    with open(os.path.join(HERE, "head.md"), encoding="utf-8") as file:
        print(file.read().replace("VERSIONS", f"{versions}; {platform.machine()}"))
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        def cases(operation, more=0, kept={}):
            if (operation, more) not in kept and operation and operation not in common.TRACES:
                kept[operation, more] = common.Cases(phibal, folder, operation, more)
            return kept.get((operation, more))
        if arguments.only != "tables":
            rows = []
            for bug in sorted(common.BUGS, key=lambda b: b.number):
                verdict = bugs.verdict(bug, cases(bug.operation, MORE.get(bug.operation, 0)))
                found[bug.number] = bool(verdict and verdict["found"])
                rows.append(row_of(bug, verdict))
                print(f"bug {bug.number}: {'found' if found[bug.number] else 'not found'}", file=sys.stderr, flush=True)
            print(f"## The bugs\n\n{sum(found.values())} of {len(found)} are found.\n\n"
                  "| | package | bug | public thread | played as | verdict |\n| --- | --- | --- | --- | --- | --- |\n" +
                  "\n".join(rows) + "\n")
        if arguments.only != "bugs":
            print("## Tables\n")
            print(short([p for p in common.PEERS if p.short], cases))
            for peer in (p for p in common.PEERS if not p.short):
                print(f"{peer.package}: {peer.what}", file=sys.stderr, flush=True)
                more = MORE_OF_TABLES.get(peer.operation, 0)
                print(played(peer) if peer.operation in common.TRACES else judged(peer, cases(peer.operation, more)))


if __name__ == "__main__":
    main()
