"""python -m phibal verify module:function --op OPERATION: the judge on a Python function, without pytest."""
from __future__ import annotations

import argparse
import importlib
import os
import sys
import traceback

from . import verify

STATUS = {"verified": 0, "mismatch": 1, "not verified": 3}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m phibal", epilog="Exit status 0: verified; 1: mismatch; 2: the function, "
                                     "the operation or an option cannot be used; 3: not verified, no case was answered.")
    commands = parser.add_subparsers(required=True)
    v = commands.add_parser("verify", help="judge a function on the cases of an operation", epilog=parser.epilog)
    v.add_argument("function", metavar="MODULE:FUNCTION")
    v.add_argument("--op", required=True, help="operation; `phibal verify --list` names them")
    v.add_argument("--cases", type=int, help="by number; without, the default set of `phibal vectors`")
    v.add_argument("--seed", type=int, default=1)
    v.add_argument("--times", type=float, default=1.0, help="multiplies the bounds")
    v.add_argument("--format", choices=("binary32", "bfloat16", "binary16"), help="of the results")
    v.add_argument("--without", action="append", default=[], metavar="OUTPUT", help="not judged (repeatable)")
    v.add_argument("--torch", action="store_true", help="inputs are PyTorch tensors")
    v.add_argument("--markdown", metavar="FILE", help="writes a summary")
    options = parser.parse_args()
    try:
        sys.path.insert(0, os.getcwd())
        module, _, name = options.function.partition(":")
        function = getattr(importlib.import_module(module), name)
        to = None
        if options.torch:
            import torch
            to = torch.from_numpy
        report = verify.judge(options.op, function, cases=options.cases, seed=options.seed, times=options.times,
                              format=options.format, without=options.without, to=to)
    except Exception as error:
        traceback.print_exc()
        print(f"phibal: unusable: {error}", file=sys.stderr)
        return 2
    print(report)
    if options.markdown:
        with open(options.markdown, "w", encoding="utf-8") as file:
            file.write(report.markdown())
    return STATUS[report.verdict]


if __name__ == "__main__":
    sys.exit(main())
