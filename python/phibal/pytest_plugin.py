"""The pytest plugin: tests marked by phibal.check, --phibal-seed and --phibal-summary."""
from __future__ import annotations

import pytest

from . import verify


def pytest_addoption(parser):
    group = parser.getgroup("phibal", "kernels judged by phibal")
    group.addoption("--phibal-seed", type=int, default=1, metavar="S", help="seed of the cases (default 1)")
    group.addoption("--phibal-summary", metavar="FILE", help="writes the verdicts as Markdown, for a pull request")


def pytest_configure(config):
    config._phibal_reports = {}


def pytest_generate_tests(metafunc):
    marked = getattr(metafunc.function, "_phibal", None)
    if marked is None:
        return
    options = dict(marked.options)
    if options["seed"] is None:
        options["seed"] = metafunc.config.getoption("--phibal-seed")
    reports = metafunc.config._phibal_reports
    name = metafunc.definition.nodeid

    def report():
        if name not in reports:
            reports[name] = verify.judge(marked.op, marked.function, **options)
        return reports[name]

    def judged(kind):
        def run():
            __tracebackhide__ = True
            r = report()
            failures = [f for f in r.failures if f.kind == kind]
            if failures:
                pytest.fail(str(r._replace(failures=failures)), pytrace=False)
            if r.verdict == "not verified":
                pytest.skip("not verified: the function returned None for every case")
        return run
    kinds = sorted({c.kind for c in verify.vectors(marked.op, options["seed"], options["cases"])})
    metafunc.parametrize("phibal_kind", [judged(kind) for kind in kinds], ids=kinds)


def pytest_sessionfinish(session):
    path = session.config.getoption("--phibal-summary")
    if path:
        with open(path, "w", encoding="utf-8") as file:
            for name, report in session.config._phibal_reports.items():
                file.write(f"## `{name}`\n\n{report.markdown()}\n")
