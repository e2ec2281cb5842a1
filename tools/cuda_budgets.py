#!/usr/bin/env python3
"""What the CUDA kernels cost by their machine code: kernels/cuda/BUDGETS.md, and its check.

usage: cuda_budgets.py --write [NAME]     makes kernels/cuda/BUDGETS.md anew, and bench/gpu_floors.def; the other rows than
                                          those of kernels with NAME in their names stay as they are
       cuda_budgets.py --floors           makes bench/gpu_floors.def of the page as it is
       cuda_budgets.py --floors-check     fails where bench/gpu_floors.def is not the page's
       cuda_budgets.py --check [SM ...]   fails where a kernel's figures are above those of the page
       cuda_budgets.py --show NAME [SM]   the loops of a kernel that the figures are of
       cuda_budgets.py --parts NAME [SM]  a kernel's instructions of a thread for one unit, by the function they come from

Needs nvcc (PATH or /usr/local/cuda/bin) and nvdisasm: NVDISASM, PATH, beside nvcc, or in the triton package of this
Python. Exit status 77 where one of them is missing or nvcc is not of the page's release.

Registers, spills, stack and static shared memory are ptxas's report of the kernels as they are built. Issue slots are
counted in a second compilation with -DPHIBAL_BUDGETS, where a branch that kernels/cuda/device.h calls SELDOM ends in
a trap: such a block leads nowhere and so is in no loop. Of what is left a control-flow graph is made (blocks; branches;
BSYNC leads to the place that its BSSY names; BRA.DIV, for a warp whose lanes have parted, and calls, which are slow paths
of divisions and roots or sigmoid routers, are cold). Its natural loops are found by dominators. The cost of a loop is
the dearest way from its head back to it, in issue slots: an instruction is one, whether its predicate holds or not; an
inner loop counts as often as the kernel's line below says.

A kernel's figures are those of one unit (a logit, a number, a slot):
  stream   of the loops that store or load units and have no such loop inside, the one with the most bytes of global
           memory, over the units of a warp's pass
  phases   the loop with the most loads and no store, and that with the most stores, each over its units, added
  passes   the same with every innermost loop that loads and does not store
  held     the loops with no loop inside that read a row's pieces from shared memory, each over its units, added
  row      the outermost loop that loads, over the units of a warp's pass: WARP / LANES rows"""
import glob
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import namedtuple

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PAGE = os.path.join(ROOT, "kernels/cuda/BUDGETS.md")
FLOORS = os.path.join(ROOT, "bench/gpu_floors.def")
WARP = 32

# Multiprocessors, GHz, binary64 lanes of a multiprocessor, TB/s of the memory, and shared KiB of a multiprocessor, all
# from the makers' data sheets (A100 and H100 SXM of 80 GB, B200). A copy reaches about nine tenths of the bandwidth.
Device = namedtuple("Device", "name processors clock binary64 bandwidth shared")
DEVICES = {"80": Device("A100", 108, 1.410, 32, 2.039, 164),
           "90a": Device("H100", 132, 1.755, 64, 3.35, 228),
           "100": Device("B200", 148, 1.965, 64, 8.0, 228)}
COPY = 0.9
SCHEDULERS = 4
SHORT = 12  # slots: an inner loop below it finds the width of a tree, and counts once
REGISTERS, MOST_WARPS, MOST_BLOCKS = 65536, 64, 32


class Kernel:
    """name, source file, pattern of the demangled name, threads of a block, way of counting, units of a pass or bytes
    of a unit's stores or loads, bytes of a unit that must move, trips of inner loops, dynamic shared bytes, what is
    compiled before the file."""

    def __init__(self, name, source, pattern, threads, way, unit, moved, trips=1, shared=0, before=""):
        self.name, self.source, self.pattern, self.threads = name, source, re.compile(pattern), threads
        self.way, self.unit, self.moved, self.trips, self.shared, self.before = way, unit, moved, trips, shared, before


# The router at the shapes of the tables in bench/RESULTS.md; the others at widths that are multiples of 4.
ROWS = ("#define ROW_DISPATCH(experts, F) ((experts) <= 8 ? F(1, 8) : (experts) <= 16 ? F(2, 8) : (experts) <= 64 ? F(8, 8) : F(32, 8))\n"
        "#define ROUTER_KERNELS(kernel, LANES, COLUMNS) {kernel<LANES, COLUMNS, ROUTER_FULL>}\n")
ROUTER_THREADS = 128


def router_shared(lanes, columns, experts):
    """load_levels::shared_bytes."""
    warps = ROUTER_THREADS // WARP
    places = warps // 2 if lanes == WARP else warps
    return 8 * (2 * columns * ROUTER_THREADS + places * 5 * experts + 2 * warps + 1)


KERNELS = []
for E, k, lanes, columns in ((8, 2, 1, 8), (16, 2, 2, 8), (64, 8, 8, 8), (256, 8, 32, 8)):
    units = WARP // lanes * E
    KERNELS += [Kernel("router forward without bias E = %d, k = %d" % (E, k), "router_forward",
                       r"forward_kernel<%d, %d, \(router_kind\)0>" % (lanes, columns),
                       ROUTER_THREADS, "row", units,
                       4 + 8 * k / E, k, router_shared(lanes, columns, E), ROWS),
                Kernel("router backward E = %d, k = %d" % (E, k), "router_backward",
                       r"backward_kernel<%d, %d, \(router_kind\)0>" % (lanes, columns), ROUTER_THREADS, "row", units,
                       8 + 8 * k / E, k, 0, ROWS)]
    # Rounds of the largest, one for each selected expert and one for the cut-off; 256 threads' biases in shared memory.
    KERNELS += [Kernel("required biases E = %d, k = %d" % (E, k), "quantile", r"required_kernel<%d, %d>" % (lanes, columns), 256,
                       "row", units, 8, k + 1, 4 * (256 // lanes) * (E + max(1, lanes // 8)), ROWS)]
for S, size in (("float", 4), ("bfloat16", 2)):
    by = 16 // size
    KERNELS += [
        Kernel("activate %s" % S, "activation", r"activate_kernel<%s, %d, true>" % (S, by), 256, "stream", ("store", size), 3 * size),
        Kernel("activate backward %s" % S, "activation", r"activate_backward_kernel<%s, %d, true>" % (S, by), 256,
               "stream", ("store", 2 * size), 5 * size),
        Kernel("recompute %s" % S, "activation", r"recompute_kernel<%s, %d, true>" % (S, by), 256, "stream", ("store", 3 * size),
               6 * size),
        Kernel("recompute %s, with gates" % S, "activation", r"route_kernel<%s, %d, true, true>" % (S, by), 256, "stream",
               ("store", 3 * size), 6 * size),
        Kernel("attention's softmax %s" % S, "attention", r"softmax_kernel<%s>" % S, 128, "passes", (4, size), 4 + size),
        Kernel("attention's softmax backward %s" % S, "attention", r"softmax_backward_kernel<%s>" % S, 128, "passes",
               (8, 2 * size), 8 + 2 * size),
        Kernel("gather %s" % S, "combine", r"gather_kernel<%s, 4>" % S, 256, "stream", ("store", size), 2 * size),
        # Of a token's result, read and written once, an eighth falls to each of k = 8 slots.
        Kernel("combine %s, a number of a slot" % S, "combine", r"combine_kernel<%s, 4>" % S, 256, "stream", ("load", size), size + 8 / 8),
        Kernel("combine backward %s" % S, "combine", r"combine_backward_kernel<%s, 4>" % S, 256, "stream", ("store", size), 4 + 2 * size),
        Kernel("RoPE %s" % S, "rope", r"rope_kernel<%s, 4, false>" % S, 256, "stream", ("store", size), 2 * size),
        Kernel("cross-entropy %s" % S, "cross_entropy", r"loss_kernel<%s, %d>" % (S, by), 1024,
               "held", size, 2 * size),
    ]
KERNELS += [
    Kernel("AdamW and bfloat16 weights", "optimizer", r"adamw_kernel<4>", 256, "stream", ("store", 14), 30),
    Kernel("gradient norm", "optimizer", r"gradient_norm_kernel", 256, "stream", ("load", 4), 4),
    Kernel("RMSNorm", "norm", r"norm_forward_row_kernel<float, bfloat16, 8, false>", 128, "stream", ("store", 2), 6),
    Kernel("RMSNorm backward", "norm", r"norm_backward_row_kernel<float, 8, false>", 128, "stream", ("store", 4), 12),
    Kernel("identities and their gradients", "zero_experts", r"zero_kernel", 256, "stream", ("store", 4), 16),
    Kernel("embedding", "embedding", r"embedding_kernel<4>", 256, "stream", ("store", 4), 8),
    Kernel("permutation: counts of slots", "permutation", r"count_kernel", 256, "stream", ("load", 4), 4),
    Kernel("permutation: places of slots", "permutation", r"place_kernel", 256, "stream", ("load", 4), 20),
    Kernel("capacity: a route of the last pass", "capacity", r"capacity_kernel", 256, "stream", ("store", 12), 24),
    Kernel("gates after dropping, backward", "capacity", r"gates_kernel", 256, "phases", (12, 4), 16),
    Kernel("factors of gates, backward", "gate_factor", r"factor_kernel", 256, "stream", ("store", 4), 16),
    Kernel("gates over a sum", "gate_floor", r"floor_kernel", 256, "phases", (4, 4), 8),
    Kernel("gates over a sum, backward", "gate_floor", r"floor_backward_kernel", 256, "phases", (8, 4), 12),
    Kernel("z-loss", "z_loss", r"z_loss_kernel", 128, "stream", ("load", 5), 5),
    Kernel("rounding of keys' and values' sums", "attention", r"narrow_kernel", 256, "stream", ("store", 2), 6),
    Kernel("a round of an order statistic", "quantile", r"quantile_kernel", 256, "stream", ("load", 4), 4),
    Kernel("histogram of required biases", "balance_trainer", r"histogram_kernel", 256, "stream", ("load", 4), 4),
    Kernel("addition of bfloat16 rows", "embedding", r"rows_kernel<bfloat16, float, 4, true>", 256, "stream", ("store", 4), 10),
]


def find_nvcc():
    return shutil.which("nvcc") or shutil.which("nvcc", path="/usr/local/cuda/bin")


def find_nvdisasm(nvcc):
    places = [os.environ.get("NVDISASM"), shutil.which("nvdisasm"), os.path.join(os.path.dirname(nvcc), "nvdisasm")]
    try:
        import importlib.util
        triton = importlib.util.find_spec("triton")
        places.append(os.path.join(os.path.dirname(triton.origin), "backends/nvidia/bin/nvdisasm"))
    except (ImportError, AttributeError):
        pass
    return next((p for p in places if p and os.access(p, os.X_OK)), None)


def release(nvcc):
    return re.search(r"release ([\d.]+)", subprocess.run([nvcc, "--version"], capture_output=True, text=True).stdout).group(1)


def compile_kernels(nvcc, source, sm, before, into, *options):
    """The cubin, and ptxas's report: mangled name -> (registers, spilled bytes, stack, shared)."""
    unit = into + ".cu"
    with open(unit, "w", encoding="utf-8") as f:
        f.write('%s#include "kernels/cuda/%s.cu"\n' % (before, source))
    done = subprocess.run(
        [nvcc, "-std=c++17", "-O3", "--fmad=false", "-I" + ROOT, "-I" + os.path.join(ROOT, "spec/include"), "-cubin",
         "-arch=sm_" + sm, "-Xptxas", "-v", "-w", *options, "-o", into, unit],
        capture_output=True, text=True)
    if done.returncode:
        sys.exit("nvcc: " + source + "\n" + done.stderr)
    report = {}
    for part in re.split(r"Compiling entry function '", done.stderr)[1:]:
        number = lambda pattern: int((re.search(pattern, part) or [0, 0])[1])
        report[part.split("'")[0]] = (number(r"Used (\d+) registers"), number(r"(\d+) bytes spill stores"),
                                      number(r"(\d+) bytes stack frame"), number(r"(\d+) bytes smem"))
    return report


# --- the control-flow graph ---

Instruction = namedtuple("Instruction", "predicate name operands part", defaults=[None])
LINE = re.compile(r"^\s+/\*[0-9a-f]+\*/\s+(?:\{\s*)?(@!?U?P[0-9T]+\s+)?([A-Z][A-Z0-9_.]*)\s*([^;]*);")


PLACE = re.compile(r'//## File "([^"]+)", line (\d+)')
DEFINED = re.compile(r"\b(?!(?:if|for|while|switch|return|__launch_bounds__)\b)(\w+)\(")
PARTS = ("row_load", "row_largest", "row_largest_of", "row_select", "row_routes", "row_gates", "row_logsumexp_out", "levels_add",
         "routing_load", "routing_products", "routing_gradient", "row_common_gradient", "row_sum", "row_weights",
         "row_probabilities", "backward_row", "forward_row")


class Source:
    """Which function a line of a file is in: of a definition that begins a line, or is indented by a parameter list."""

    files = {}

    @classmethod
    def function(cls, path, line):
        if path not in cls.files:
            names, now = [], "?"
            with open(path, encoding="utf-8") as f:
                for text in f:
                    if text[:1] not in " \n#/}*" or re.match(r"    \w+_kernel\(", text) or re.match(r"row_\w+\(|\w+\(", text):
                        found = DEFINED.search(text)
                        now = found.group(1) if found else now
                    names.append(now)
            cls.files[path] = names
        names = cls.files[path]
        return names[line - 1] if line <= len(names) else "?"

    @classmethod
    def part(cls, chain):
        """Of the functions that an instruction was inlined into, innermost first: the outermost of PARTS, or where that
        only calls others, what it calls."""
        names = [cls.function(*place) for place in chain]
        if "kernels" not in str([p for p, _ in chain]):
            return "?"
        inner = [n for n in reversed(names) if n in PARTS[:-2]]
        if not inner:
            return names[-1]
        if inner[0] == "row_common_gradient" and len(inner) > 1:
            return inner[0] + ": " + inner[1]
        return inner[1] if inner[0] in ("row_probabilities", "row_routes") and len(inner) > 1 else inner[0]


def functions(text):
    """name -> list of labels and instructions."""
    found, now, chain, fresh = {}, None, (), True
    for line in text.splitlines():
        place = PLACE.search(line)
        if place:
            chain = (() if fresh else chain) + ((place.group(1), int(place.group(2))),)
            fresh = False
            continue
        fresh = True
        section = re.match(r"\s*\.section\s+\.text\.([^,\s]+)", line)
        if section:
            now = found.setdefault(section.group(1).strip('"'), [])
            continue
        if now is None:
            continue
        label = re.match(r"^(\.L_[\w.]+|\$[\w$.]+):", line)
        if label:
            now.append(label.group(1))
            continue
        code = LINE.match(line)
        if code:
            now.append(Instruction((code.group(1) or "").strip(), code.group(2), code.group(3).strip(),
                                   Source.part(chain) if chain else None))
    return found


class Graph:
    """Blocks of a function: block[i], follow[i]."""

    def __init__(self, code):
        self.block, place, self.cold = [[]], {}, set()
        for item in code:
            if isinstance(item, str):
                if self.block[-1]:
                    self.block.append([])
                place[item] = len(self.block) - 1
                continue
            self.block[-1].append(item)
            if re.match(r"(BRA|BRX|EXIT|RET|BSYNC|CALL|JMP|BPT)", item.name):
                self.block.append([])
        n = len(self.block)
        self.follow = [set() for _ in range(n)]
        sync = {}  # of a barrier: where its BSSY leads
        for i, block in enumerate(self.block):
            through = True
            for x in block:
                target = re.search(r"`\((\.L_[\w.]+|\$[\w$.]+)\)", x.operands)
                to = place.get(target.group(1)) if target else None
                if x.name.startswith("BSSY"):
                    sync[x.operands.split(",")[0]] = to
                elif x.name.startswith("BSYNC"):
                    to = sync.get(x.operands.strip())
                    if to is not None:
                        self.follow[i].add(to)
                        through = bool(x.predicate)
                elif x.name.startswith("BRA") and ".DIV" not in x.name:
                    always = not x.predicate and x.operands.startswith("`")
                    if to is not None:
                        self.follow[i].add(to)
                    through = not always
                elif x.name.startswith(("EXIT", "RET", "BPT")):
                    through = bool(x.predicate)
                elif x.name.startswith("CALL"):
                    self.cold.add(i)
            if through and i + 1 < n:
                self.follow[i].add(i + 1)
        self.reached = self.reach(0, lambda i: self.follow[i])
        self.before = [set() for _ in range(n)]
        for i in self.reached:
            for j in self.follow[i]:
                self.before[j].add(i)
        self.loops = self.natural_loops()

    @staticmethod
    def reach(start, step, stop=()):
        seen, left = set(stop), [start]
        while left:
            i = left.pop()
            if i not in seen:
                seen.add(i)
                left += step(i)
        return seen

    def natural_loops(self):
        """header -> blocks."""
        every = set(self.reached)
        above = {i: every for i in every}
        above[0] = {0}
        order, changed = sorted(every), True
        while changed:
            changed = False
            for i in order:
                if i == 0:
                    continue
                mine = set.intersection(*[above[j] for j in self.before[i]]) | {i}
                if mine != above[i]:
                    above[i], changed = mine, True
        loops = {}
        for i in every:
            for head in self.follow[i] & above[i]:
                body = self.reach(i, lambda j: self.before[j], {head})
                loops.setdefault(head, set()).update(body)
        # A loop that lanes take apart from one another has as its second tail the place where they meet: still one head.
        return loops

    def hot(self, head):
        """The loop's blocks without the cold ones, as long as it then still is a loop."""
        body = self.loops[head] - self.cold
        there = self.reach(head, lambda i: self.follow[i] & body) & body if head in body else set()
        tails = {i for i in there if head in self.follow[i]}
        if not tails:
            return self.loops[head]
        back = set()
        for t in tails:
            back |= self.reach(t, lambda i: (self.before[i] & there) if i != head else set())
        return back | {head}


class Cost(dict):
    def plus(self, other, times=1):
        for key, value in other.items():
            self[key] = self.get(key, 0) + times * value
        return self


BINARY64 = re.compile(r"^(DADD|DMUL|DFMA|DSETP|DMNMX)")
INTEGER = re.compile(r"^(IADD3|LEA|LOP3|SHF|ISETP|SEL|FSEL|VIMNMX|IMNMX|FMNMX|FSETP|PLOP3|PRMT|BMSK|P2R|R2P|IABS|VABSDIFF)")
CONVERTED = re.compile(r"^(F2F|I2F|F2I|FRND).*64")


def width(name):
    if ".128" in name:
        return 16
    if ".64" in name:
        return 8
    if re.search(r"\.U?S?16", name):
        return 2
    if re.search(r"\.[US]8", name):
        return 1
    return 4


def cost_of(block):
    cost = Cost(slots=0, binary64=0, load=0, store=0)
    for x in block:
        if x.name == "NOP":
            continue
        cost["slots"] += 1
        if x.part:
            kind = "binary64" if BINARY64.match(x.name) else "integer" if INTEGER.match(x.name) else "other"
            key = "part %s, %s" % (x.part, kind)
            cost[key] = cost.get(key, 0) + 1
        if BINARY64.match(x.name) or CONVERTED.match(x.name):
            cost["binary64"] += 1
        if x.name.startswith("LDG"):
            cost["load"] += width(x.name)
            cost["widest load"] = max(cost.get("widest load", 0), width(x.name))
        if x.name.startswith("LDS.128"):
            cost["held"] = cost.get("held", 0) + 16
        if x.name.startswith("STG"):
            cost["store"] += width(x.name)
            cost["widest store"] = max(cost.get("widest store", 0), width(x.name))
    return cost


def added(a, b, times=1):
    sum_ = Cost(a)
    for key, value in b.items():
        sum_[key] = max(sum_.get(key, 0), value) if key.startswith("widest") else sum_.get(key, 0) + times * value
    return sum_


def loop_cost(graph, head, trips):
    """The dearest way round; trips(head of an inner loop) of inner ones."""
    body = graph.hot(head)
    inner = [h for h in graph.loops if h in body and h != head and graph.loops[h] < graph.loops[head]]
    outermost = [h for h in inner if not any(h in graph.loops[g] and g != h and graph.loops[h] < graph.loops[g] for g in inner)]
    inside = {}
    for h in outermost:
        for i in graph.loops[h]:
            inside[i] = h
    value = {}

    def node_cost(i):
        return added(Cost(), loop_cost(graph, i, trips), trips(i)) if i in outermost else cost_of(graph.block[i])

    def follows(i):
        out = set()
        for j in (graph.loops[i] if i in outermost else {i}):
            out |= graph.follow[j]
        if i in outermost:
            out -= graph.loops[i]
        return {inside.get(j, j) for j in out if j in body and j != head}

    order, seen = [], set()

    def visit(i):
        work = [(i, iter(sorted(follows(i))))]
        seen.add(i)
        while work:
            at, rest = work[-1]
            for j in rest:
                if j not in seen:
                    seen.add(j)
                    work.append((j, iter(sorted(follows(j)))))
                    break
            else:
                order.append(at)
                work.pop()

    visit(head)
    for i in order:  # successors come first
        best = max((value[j] for j in follows(i) if j in value), key=lambda c: c["slots"], default=Cost())
        value[i] = added(node_cost(i), best)
    return value[head]


def of_kernel(kernel, code, show=False):
    """slots, binary64, load, store of a unit; widest load and store."""
    graph = Graph(code)
    inner = {h: sum(1 for g in graph.loops if h in graph.loops[g] and g != h and graph.loops[h] < graph.loops[g])
             for h in graph.loops}
    costs = {h: loop_cost(graph, h, lambda _: 1) for h in graph.loops}
    if show:
        for h in sorted(graph.loops):
            print("loop at block %d, within %d others, %d blocks: %s" % (h, inner[h], len(graph.loops[h]), dict(costs[h])))
    memory = lambda h: costs[h].get("load", 0) + costs[h].get("store", 0)

    def over(cost, units):
        return {key: value if key.startswith("widest") else value / units for key, value in cost.items()}

    leaves = [h for h in graph.loops if not any(graph.loops[g] < graph.loops[h] for g in graph.loops)]
    if kernel.way == "stream":
        what, size = kernel.unit
        moves = [h for h in graph.loops if costs[h].get(what, 0)]
        best = max((h for h in moves if not any(graph.loops[g] < graph.loops[h] for g in moves)), key=memory)
        return over(costs[best], WARP * costs[best][what] / size)
    if kernel.way in ("phases", "passes"):
        loads = max((h for h in leaves if costs[h]["store"] == 0), key=lambda h: costs[h]["load"])
        stores = max(leaves, key=lambda h: (costs[h]["store"], costs[h]["load"]))
        total = Cost(over(costs[stores], WARP * costs[stores]["store"] / kernel.unit[1]))
        for h in [loads] if kernel.way == "phases" else [h for h in leaves if costs[h]["load"] and not costs[h]["store"]]:
            total = added(total, over(costs[h], WARP * costs[h]["load"] / kernel.unit[0]))
        return total
    if kernel.way == "held":
        total = Cost()
        for h in leaves:
            if costs[h].get("held", 0):
                total = added(total, over(costs[h], WARP * costs[h]["held"] / kernel.unit))
        return total
    outer = max(graph.loops, key=lambda h: len(graph.loops[h]))
    within = sorted(h for h in graph.loops if h != outer and h in graph.hot(outer))
    times = {h: kernel.trips if costs[h]["slots"] >= SHORT else 1 for h in within}
    return over(loop_cost(graph, outer, lambda h: times.get(h, 1)), kernel.unit)


# --- the table ---

Figures = namedtuple("Figures", "registers spills stack shared blocks slots binary64 load store widest")


def occupancy(registers, threads, shared, device):
    warps = (threads + WARP - 1) // WARP
    of_warp = (registers * WARP + 255) // 256 * 256
    by_registers = REGISTERS // of_warp // SCHEDULERS * SCHEDULERS // warps if of_warp else MOST_BLOCKS
    by_shared = device.shared * 1024 // ((shared + 1024 + 127) // 128 * 128)
    return min(by_registers, by_shared, MOST_WARPS // warps, MOST_BLOCKS)


def demangled(names):
    done = subprocess.run(["c++filt"], input="\n".join(names), capture_output=True, text=True)
    return dict(zip(names, done.stdout.splitlines()))


def print_parts(cost):
    """Instructions of a thread for one unit: all, those of binary64, those of the integer pipe."""
    parts = {}
    for key, value in cost.items():
        if key.startswith("part "):
            part, kind = key[5:].rsplit(", ", 1)
            parts.setdefault(part, {"binary64": 0, "integer": 0, "other": 0})[kind] += value * WARP
    for part, kinds in sorted(parts.items(), key=lambda x: -sum(x[1].values())):
        print("%-40s %7.2f  binary64 %6.2f  integer %6.2f  other %6.2f" % (
            part, sum(kinds.values()), kinds["binary64"], kinds["integer"], kinds["other"]))
    every = {kind: sum(kinds[kind] for kinds in parts.values()) for kind in ("binary64", "integer", "other")}
    print("%-40s %7.2f  binary64 %6.2f  integer %6.2f  other %6.2f" % ("all", sum(every.values()), *every.values()))


# What ptxas says of a kernel, the most of all its instances that are compiled.
Resources = namedtuple("Resources", "instances registers spills stack shared")
KERNEL = re.compile(r"(\w+_kernel)\b")


def resources_of(source, report, names):
    """"file kernel" -> Resources."""
    found = {}
    for mangled, numbers in report.items():
        name = "%s.cu %s" % (source, KERNEL.search(names[mangled]).group(1))
        old = found.get(name, Resources(0, 0, 0, 0, 0))
        found[name] = Resources(old.instances + 1, *map(max, old[1:], numbers))
    return found


def measure(sm, nvcc, nvdisasm, show=None, parts=False, loops=False):
    """Figures of each of KERNELS and, unless one is shown, the resources of every kernel that there is."""
    figures, resources, kept = {}, {}, {}
    with tempfile.TemporaryDirectory() as folder:
        cubin = os.path.join(folder, "x.cubin")
        for kernel in KERNELS:
            if show and show not in kernel.name:
                continue
            key = (kernel.source, kernel.before)
            if key not in kept:
                report = compile_kernels(nvcc, kernel.source, sm, kernel.before, cubin)
                compile_kernels(nvcc, kernel.source, sm, kernel.before, cubin, "-DPHIBAL_BUDGETS",
                                *(["-lineinfo"] if parts else []))
                text = subprocess.run([nvdisasm, "-c", *(["-gi"] if parts else []), cubin], capture_output=True, text=True, check=True).stdout
                kept[key] = report, functions(text), demangled(list(report))
            report, code, names = kept[key]
            match = [m for m in report if kernel.pattern.search(names[m])]
            if len(match) != 1:
                sys.exit("%s: %d kernels of %s.cu match '%s'" % (kernel.name, len(match), kernel.source, kernel.pattern.pattern))
            registers, spills, stack, static = report[match[0]]
            shared = static + kernel.shared
            cost = of_kernel(kernel, code[match[0]], loops)
            if parts:
                print("%s, sm_%s:" % (kernel.name, sm))
                print_parts(cost)
            figures[kernel.name] = Figures(registers, spills, stack, shared,
                                           occupancy(registers, kernel.threads, shared, DEVICES[sm]),
                                           cost["slots"], cost["binary64"], cost.get("load", 0) * WARP, cost.get("store", 0) * WARP,
                                           "%d, %d" % (cost.get("widest load", 0), cost.get("widest store", 0)))
        for path in [] if show else sorted(glob.glob(os.path.join(ROOT, "kernels/cuda/*.cu"))):
            source = os.path.basename(path)[:-3]
            with open(path, encoding="utf-8") as f:
                if "__global__" not in f.read():
                    continue
            reports = [report for (of, _), (report, _, _) in kept.items() if of == source]
            every = {m: r for report in reports or [compile_kernels(nvcc, source, sm, "", cubin)] for m, r in report.items()}
            resources.update(resources_of(source, every, demangled(list(every))))
    return figures, resources


def floors(kernel, f, device):
    """ps of a unit: by bytes at the copy's speed, by issue, by binary64."""
    by_bytes = kernel.moved / (device.bandwidth * COPY)
    clocks = device.processors * device.clock / 1e3  # of the device in a ps
    return by_bytes, f.slots / (clocks * SCHEDULERS), f.binary64 * WARP / (clocks * device.binary64)


HEAD = """# What the kernels cost by their machine code

Made by `python3 tools/cuda_budgets.py --write` with nvcc %s; the head of that file says how it counts. The test `budgets of
the CUDA kernels` fails when a kernel compiled anew needs more registers, spills, stack or shared memory, or issues more,
than stands here. Nothing here was measured on a device; bench/RESULTS.md compares.

Slots, binary64 (instructions of a warp, conversions included) and bytes (of a thread, counted in the code) are those of
one unit: a logit, a number of a row, a parameter. `wide`: the widest load and store of global memory, in bytes. Floors
are ps of a unit: bytes that must move, at 0.9 of the memory's bandwidth; issue slots, at four a clock and multiprocessor;
binary64 lanes, at the data sheet's. `ceiling`: the most of a copy's speed that the kernel can reach, the bytes' floor
over the largest of the three.

How far off a floor can be. Below what a device needs: every slot is taken to issue at once, so latency, bank conflicts,
branches that wait, and warps too few to cover them (`blocks`, of which a multiprocessor holds so many) come on top; a
kernel near its floor by issue runs at half of it where eight warps a multiprocessor are all that fit. Above: the dearest
of several ways through a loop is counted, where data may take a cheaper one; work outside the loop is not counted; clocks
are the highest that the data sheet names. Inner loops that data bounds count as often as `KERNELS` says: the selection's
k times. A ceiling says what cannot be, not what is: on an H200 the router's kernels executed 0.95 to 1.01 of the
instructions counted here, in 1.9 to 2.2 times the floor's time; activations and copies came within 1.03 to 1.11 of theirs.

Behind the kernels with floors come all that there are, with the most that one of their instances needs; of the router the
instances of the shapes above are compiled. `shared` leaves out what a launch asks for.
"""


def rows_of(page, sm):
    """kernel -> its line of the page."""
    part = page.split("## sm_%s:" % sm)[1].split("\n## ")[0]
    return {line.split("|")[1].strip(): line for line in part.splitlines() if line.startswith("|")}


def table(sm, measured, rows):
    """Of the kernels that were not measured, the rows that they have."""
    figures, resources = measured
    device = DEVICES[sm]
    out = ["", "## sm_%s: %s, %d multiprocessors, %g GHz, %d binary64 lanes each, %g TB/s" % (
        sm, device.name, device.processors, device.clock, device.binary64, device.bandwidth), "",
        "| kernel | registers | spills | stack | shared | blocks | slots | binary64 | loads | stores | wide | bytes ps | issue ps "
        "| binary64 ps | ceiling |", "| --- |" + " --- |" * 14]
    for kernel in KERNELS:
        if kernel.name not in figures and kernel.name in rows:
            out.append(rows[kernel.name])
            continue
        f = figures[kernel.name]
        by = floors(kernel, f, device)
        out.append("| %s | %d | %d | %d | %d | %d | %.3f | %.3f | %.1f | %.1f | %s | %.2f | %.2f | %.2f | %d %% |" % (
            kernel.name, f.registers, f.spills, f.stack, f.shared, f.blocks, f.slots, f.binary64, f.load, f.store, f.widest, *by,
            math.floor(100 * by[0] / max(by))))
    out += ["", "| all kernels | instances | registers | spills | stack | shared |", "| --- |" + " --- |" * 5]
    out += (["| %s | %d | %d | %d | %d | %d |" % (name, *resources[name]) for name in sorted(resources)] or
            [rows[name] for name in rows if rows[name].count("|") == 7 and name not in ("all kernels", "---")])
    return "\n".join(out) + "\n"


def floors_of(page):
    """bench/gpu_floors.def: the floor of a kernel's instructions, for bench_gpu to print beside its times."""
    out = ["/* Of kernels/cuda/BUDGETS.md, made by `tools/cuda_budgets.py --floors`. DEVICE: compute capability, name,",
           "   multiprocessors, GHz, and TB/s of a copy. FLOOR: compute capability, kernel, and the clocks of a multiprocessor that",
           "   the instructions for a unit take at the least. */"]
    for part in page.split("\n## sm_")[1:]:
        sm = re.match(r"(\d+a?):", part).group(1)
        device, number = DEVICES[sm], sm.rstrip("a")
        out.append('DEVICE(%s, "%s", %d, %g, %.3f)' % (number, device.name, device.processors, device.clock, COPY * device.bandwidth))
        for line in part.splitlines():
            cells = [cell.strip() for cell in line.split("|")[1:-1]]
            if len(cells) == 15 and cells[0] not in ("kernel", "---"):
                clocks = max(float(cells[6]) / SCHEDULERS, float(cells[7]) * WARP / device.binary64)
                out.append('FLOOR(%s, "%s", %.4f)' % (number, cells[0], clocks))
    return "\n".join(out) + "\n"


def main():
    arguments = sys.argv[1:]
    if not arguments or arguments[0] not in ("--write", "--check", "--show", "--parts", "--floors", "--floors-check"):
        sys.exit(__doc__)
    if arguments[0].startswith("--floors"):
        with open(PAGE, encoding="utf-8") as f:
            text = floors_of(f.read())
        if arguments[0] == "--floors":
            with open(FLOORS, "w", encoding="utf-8") as f:
                f.write(text)
            return
        with open(FLOORS, encoding="utf-8") as f:
            if f.read() != text:
                sys.exit("bench/gpu_floors.def is not that of BUDGETS.md: python3 tools/cuda_budgets.py --floors")
        print("%d floors" % text.count("\nFLOOR("))
        return
    nvcc = find_nvcc()
    nvdisasm = nvcc and find_nvdisasm(nvcc)
    if not nvdisasm:
        print("skipped: no " + ("nvdisasm" if nvcc else "nvcc"))
        sys.exit(77)
    if arguments[0] == "--show":
        for name, f in measure(arguments[2] if len(arguments) > 2 else "90a", nvcc, nvdisasm, arguments[1],
                               loops=True)[0].items():
            print(name, f)
        return
    if arguments[0] == "--parts":
        measure(arguments[2] if len(arguments) > 2 else "90a", nvcc, nvdisasm, arguments[1], True)
        return
    if arguments[0] == "--write":
        only = arguments[1] if len(arguments) > 1 else None
        with open(PAGE, encoding="utf-8") as f:
            page = f.read()
        text = HEAD % release(nvcc) + "".join(
            table(sm, measure(sm, nvcc, nvdisasm, only), rows_of(page, sm) if only else {}) for sm in ("90a", "80", "100"))
        with open(PAGE, "w", encoding="utf-8") as f:
            f.write(text)
        with open(FLOORS, "w", encoding="utf-8") as f:
            f.write(floors_of(text))
        return
    with open(PAGE, encoding="utf-8") as f:
        page = f.read()
    written = re.search(r"with nvcc ([\d.]+);", page).group(1)
    if written != release(nvcc):
        print("skipped: nvcc %s here, %s on the page" % (release(nvcc), written))
        sys.exit(77)
    wrong = 0
    for sm in arguments[1:] or ["90a"]:
        part = page.split("## sm_%s:" % sm)[1].split("\n## ")[0]
        budgets = {c[0]: c[1:] for c in ([x.strip() for x in line.split("|")[1:-1]] for line in part.splitlines()
                                         if line.startswith("|"))}
        figures, resources = measure(sm, nvcc, nvdisasm)
        for name, f in {**figures, **resources}.items():
            if name not in budgets:
                print("not ok: sm_%s: %s has no budget" % (sm, name))
                wrong += 1
                continue
            columns = (("registers", "spills", "stack", "shared", None, "slots", "binary64", "load", "store") if name in figures
                       else (None, "registers", "spills", "stack", "shared"))
            for column, budget in zip(columns, budgets[name]):
                if column and getattr(f, column) > float(budget) + (0.0006 if column in ("slots", "binary64") else 0.051):
                    print("not ok: sm_%s: %s: %s %.3f, budget %s" % (sm, name, column, getattr(f, column), budget))
                    wrong += 1
        for name in budgets.keys() - figures.keys() - resources.keys() - {"kernel", "all kernels", "---"}:
            print("not ok: sm_%s: there is no kernel '%s'" % (sm, name))
            wrong += 1
        print("sm_%s: %d kernels, %d of them with floors" % (sm, len(resources), len(figures)))
    if wrong:
        print("Where that is as it should be: python3 tools/cuda_budgets.py --write")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
