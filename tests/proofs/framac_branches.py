#!/usr/bin/env python3
"""Each branch on __FRAMAC__ that changes code has its row of branches.list, with a test that there is.

usage: framac_branches.py SOURCE_ROOT
"""
import os
import sys

root = sys.argv[1]
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(root, "proofs/frama-c"))
import branches  # noqa: E402

with open(os.path.join(root, "proofs/frama-c/branches.list"), encoding="utf-8") as f:
    rows = f.read()
wrong, lines = branches.judged(rows, root)

ROW = "x.c free tests/kernels/test_status.c:a_message_is_cut # a reason\n"
BRANCH = "#ifdef __FRAMAC__\n#define free(x)\n#endif\n"
LOGIC = "#ifdef __FRAMAC__\n#include <phibal/acsl/heap.h>\n/*@ lemma x: 1 == 1; */\n#endif\n"
# A header of contracts, whose prototypes the file has to have outside of the branch.
CHECK = ("phibal_status phibal_precision_check(const char *who, mpfr_prec_t precision);\n"
         "phibal_status phibal_enclosure_create(phibal_enclosure *z, mpfr_prec_t precision);\n")
CONTRACT = "#ifdef __FRAMAC__\n#include <phibal/acsl/contracts/precision.h>\n#endif\n"
faults = [("", CONTRACT), ("", CHECK.replace("mpfr_prec_t", "long", 1) + CONTRACT),
          ("", CONTRACT.replace("#endif", CHECK + "#endif")), ("", "/* %s */\n" % CHECK + CONTRACT), ("", BRANCH), (ROW, ""), (ROW, LOGIC), (ROW.replace("cut", "shortened"), BRANCH),
          (ROW.replace("_status.c", "_statute.c"), BRANCH), (ROW.replace("# a reason", "#"), BRANCH),
          (ROW + ROW, BRANCH), (ROW, BRANCH + BRANCH), (ROW, BRANCH + "#if A\n#elif defined(__FRAMAC__)\n#endif\n"),
          ("", LOGIC.replace("heap.h", "../router.h")), ("", LOGIC.replace("#endif", "int x;\n#endif")),
          ("", LOGIC.replace("ifdef", "ifndef")), ("", "#if defined(__FRAMAC__) && 1\n#else\nint x;\n#endif\n"),
          ("", LOGIC.replace("#endif", "#else\nint x;\n#endif")), (ROW.replace("free", "fre"), BRANCH)]
right = [(ROW, BRANCH), ("", LOGIC), (ROW, LOGIC + BRANCH), ("", CHECK + CONTRACT), ("", CONTRACT + CHECK)]
wrong += ["a planted fault is not noticed: %s%s" % fault for fault in faults
          if not branches.judged(fault[0], root, {"x.c": fault[1]})[0]]
wrong += ["refused: %s%s" % case for case in right if branches.judged(case[0], root, {"x.c": case[1]})[0]]
for line in wrong:
    print("not ok: " + line)
print("%d branches are known" % len(lines))
sys.exit(1 if wrong else 0)
