"""The router's forward pass beside torch.softmax and torch.topk, in one process.

  python3 bench/router_torch.py [--library build/kernels/libphibal.so] [--threads 1] [--rounds 15] [--tokens 65536]

Both take the same binary32 logits and give the probabilities of the k best experts, and which these are. phibal also
sums the loads of all experts exactly and counts the routes, and evaluates in binary64; PyTorch stores all
probabilities and evaluates in binary32. Each calls once a round, in turn. Printed are the least processor time of
each, of all threads together, and the median of the rounds' ratios. Where logits are apart by more than binary32
blurs them, the experts have to agree, and the gates within 8 2^-24 of themselves (PyTorch's x - max is off by up to
4 2^-24 above -8, its exp, sum and quotient by 4 in all): else status 1. Status 77: no PyTorch."""

import argparse
import ctypes
import os
import sys
import time
from statistics import median

from processor import processor

os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # threads that wait take no time of the other's

try:
    import torch
except ImportError as error:
    print(f"skipped: {error} (pip install torch)")
    sys.exit(77)

SHAPES = ((8, 2), (16, 2), (64, 8), (256, 8))  # experts, active: as bench/router.c
PROBABILITY = 1  # PHIBAL_GATE_PROBABILITY
NEAR = 2**-20  # of two logits that binary32 may not tell apart once they are probabilities


class Router(ctypes.Structure):
    _fields_ = [("experts", ctypes.c_int32), ("active", ctypes.c_int32), ("gate", ctypes.c_int),
                ("scale", ctypes.c_float), ("not_set", ctypes.c_int32 * 64)]  # members beyond these four, all 0


class Loads(ctypes.Structure):
    _fields_ = [("experts", ctypes.c_int32), ("active", ctypes.c_int32), ("tokens", ctypes.c_int64),
                ("probability", ctypes.c_void_p), ("count", ctypes.c_void_p)]


def processor_time(call):
    start = time.process_time_ns()
    call()
    return (time.process_time_ns() - start) * 1e-9


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    parser.add_argument("--library", default=os.path.join(root, "build/kernels/libphibal.so"))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--tokens", type=int, default=65536)
    options = parser.parse_args()

    phibal = ctypes.CDLL(options.library)
    phibal.phibal_isa.restype = ctypes.c_char_p
    phibal.phibal_status_message.restype = ctypes.c_char_p
    phibal.phibal_router_forward.argtypes = [ctypes.POINTER(Router), ctypes.c_int64] + 7 * [ctypes.c_void_p] + [
        ctypes.POINTER(Loads)]
    ctypes.CDLL("libgomp.so.1").omp_set_num_threads(options.threads)
    torch.set_num_threads(options.threads)

    def require(status):
        if status != 0:
            sys.exit("bench/router_torch.py: " + phibal.phibal_status_message().decode())

    print(f"{processor()}; {options.threads} thread{'s' * (options.threads != 1)}, {options.tokens} tokens; "
          f"phibal: {phibal.phibal_isa().decode()}; PyTorch {torch.__version__}: "
          f"{torch.backends.cpu.get_cpu_capability()}\n")
    print("     E    k   phibal  PyTorch  ns/(t,e)   ratio")
    torch.manual_seed(1)
    for experts, active in SHAPES:
        tokens = options.tokens
        router, loads = Router(experts, active, PROBABILITY, 1.0), Loads()
        require(phibal.phibal_loads_create(ctypes.byref(router), ctypes.byref(loads)))
        logits = torch.randn(tokens, experts)
        routes = torch.zeros(tokens, active, dtype=torch.int32)
        gates = torch.zeros(tokens, active)
        theirs = []

        def ours_once():
            require(phibal.phibal_router_forward(router, tokens, logits.data_ptr(), None, None, None,
                                                 routes.data_ptr(), gates.data_ptr(), None, loads))

        def theirs_once():
            theirs[:] = torch.topk(torch.softmax(logits, dim=-1), active, dim=-1)

        ours_once(), theirs_once()
        best = torch.topk(logits, min(active + 1, experts), dim=-1).values
        clear = (best[:, :-1] - best[:, 1:] > NEAR).all(dim=-1)
        same = (routes.long() == theirs[1]).all(dim=-1) | ~clear
        near = ((gates - theirs[0]).abs() <= 8 * 2**-24 * gates).all(dim=-1) | ~clear
        if not (same & near).all() or clear.sum() < tokens // 2:
            print(f"E = {experts}: {int((~(same & near)).sum())} tokens are not routed as PyTorch routes them")
            return 1
        times = [(processor_time(ours_once), processor_time(theirs_once)) for _ in range(options.rounds)]
        scale = 1e9 / tokens / experts
        ours, pytorch = (min(t[i] for t in times) * scale for i in (0, 1))
        print(f"{experts:6d} {active:4d} {ours:8.2f} {pytorch:8.2f}  {median(t[1] / t[0] for t in times):16.2f}")
        phibal.phibal_loads_destroy(ctypes.byref(loads))
    return 0


if __name__ == "__main__":
    sys.exit(main())
