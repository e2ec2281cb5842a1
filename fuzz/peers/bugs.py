"""Plays the bugs that were found in the packages (common.BUGS) to phibal's judge."""
import phibal

from common import TRACES


def play(bug, cases, broken):
    """The cases that fail, by id; the number played; the likely causes."""
    if bug.operation not in TRACES:
        report = cases.judge(lambda p, i: bug.play(p, i, broken), bug.options)
        return report["failing"], report["played"], report["likely"]
    def make(**case):
        try:
            return bug.play(case, broken)
        except NotImplementedError:
            return None
    times = float(bug.options[bug.options.index("--times") + 1]) if "--times" in bug.options else 1.0
    report = phibal.play(make, op=bug.operation, times=times)
    return {f.case: (f.kind, f.words) for f in report.failures}, report.judged, [c.flag for c in report.causes]


def verdict(bug, cases):
    """What the judge says with the trigger and without it; `found`: the cases that only the trigger makes fail."""
    if not bug.operation:
        return None
    bad, played, causes = play(bug, cases, True)
    also, control, _ = play(bug, cases, False)
    return dict(bad=bad, played=played, also=also, control=control, causes=causes,
                found={i: words for i, words in bad.items() if i not in also})
