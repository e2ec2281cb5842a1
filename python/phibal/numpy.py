"""phibal's kernels on numpy arrays. Equations are those of spec/SPEC.md; bounds those of spec/ops.def.

Arrays are C-contiguous and of exactly the dtype that a function names; nothing is converted in silence. T is the
number of tokens, E of experts (1 to 1024), k of the experts that a token selects, d the width of a token. A mask is
uint8 or bool [T]: 0 is padding, which selects no expert (expert -1, gate 0) and counts in nothing. What does not
fit raises TypeError (dtype) or ValueError (shape, layout, range, NaN or infinity among the logits), and says what
was expected. Results have the same bits with any number of threads."""
from __future__ import annotations

import operator
from ctypes import byref, c_double, c_float, c_int32, c_int64
from typing import NamedTuple, Optional

import numpy as np
from numpy.typing import NDArray

from . import _library
from ._library import LIMBS, Potential, require

F32, F64, I32, I64, U8 = (np.dtype(t) for t in ("float32", "float64", "int32", "int64", "uint8"))
_call = _library.kernels


def _array(name: str, a, dtype: np.dtype, shape: tuple) -> int:
    """The address of an array that is what it should be. In `shape` None is any size."""
    if not isinstance(a, np.ndarray):
        raise TypeError(f"{name}: expected a numpy array of {dtype}, got {type(a).__name__}")
    if a.dtype != dtype and not (dtype == U8 and a.dtype == np.bool_):
        raise TypeError(f"{name}: expected dtype {dtype}, got {a.dtype}")
    if a.ndim != len(shape) or any(s is not None and s != n for s, n in zip(shape, a.shape)):
        wanted = ", ".join("any" if s is None else str(s) for s in shape)
        raise ValueError(f"{name}: expected shape ({wanted}), got {a.shape}")
    if not a.flags.c_contiguous:
        raise ValueError(f"{name}: expected a C-contiguous array; np.ascontiguousarray makes one")
    return a.ctypes.data


def _optional(name: str, a, dtype: np.dtype, shape: tuple) -> Optional[int]:
    return None if a is None else _array(name, a, dtype, shape)


def _vector(name: str, a, dtype: np.dtype = F32) -> tuple:
    """Of a vector: address and number of elements."""
    address = _array(name, a, dtype, (None,))
    return address, a.size


def _real(name: str, x) -> float:
    try:
        return float(x)
    except (TypeError, ValueError):
        raise TypeError(f"{name}: expected a number, got {type(x).__name__}") from None


def _integer(name: str, x, low: int, high: int) -> int:
    try:
        n = operator.index(x)
    except TypeError:
        raise TypeError(f"{name}: expected an integer, got {type(x).__name__}") from None
    if not low <= n <= high:
        raise ValueError(f"{name}: expected {low} to {high}, got {n}")
    return n


def _rows(name: str, a, dtype: np.dtype) -> tuple:
    """Of a matrix: address and shape."""
    address = _array(name, a, dtype, (None, None))
    return (address, *a.shape)


class Loads:
    """The exact sums over tokens that loads are made of (R6, R7): additions of any order and grouping give the same bits.

    probability: int64 [E, 6], probability[e, j] counts units of 2^(-32 j). count: int64 [E], the tokens that selected
    each expert. tokens: how many were counted; padding is not."""

    def __init__(self, experts: int, k: int):
        _library.make_router(experts, k, "probability", 1.0)
        self.experts, self.k, self.tokens = experts, k, 0
        self.probability = np.zeros((experts, LIMBS), I64)
        self.count = np.zeros(experts, I64)

    def _as_c(self) -> _library.Loads:
        return _library.Loads(self.experts, self.k, self.tokens, self.probability.ctypes.data, self.count.ctypes.data)

    def clear(self) -> None:
        self.tokens = 0
        self.probability[:] = 0
        self.count[:] = 0

    def add(self, other: "Loads") -> None:
        """self += other, exactly."""
        to = self._as_c()
        require(_call.phibal_loads_add(byref(to), byref(other._as_c())))
        self.tokens = to.tokens

    def mean(self) -> NDArray[np.float32]:
        """(R6) P = sum of the probabilities / tokens, float32 [E], correctly rounded. ValueError if no token was counted."""
        mean = np.empty(self.experts, F32)
        require(_call.phibal_loads_mean(byref(self._as_c()), mean.ctypes.data))
        return mean

    def frequency(self) -> NDArray[np.float32]:
        """(R7) f = count / (k tokens), float32 [E], correctly rounded. ValueError if no token was counted."""
        frequency = np.empty(self.experts, F32)
        require(_call.phibal_loads_frequency(byref(self._as_c()), frequency.ctypes.data))
        return frequency


class Routing(NamedTuple):
    """What `router_forward` returns."""
    experts: NDArray[np.int32]          #: [T, k] by falling score, equal scores by index; -1 for padding (R2)
    gates: NDArray[np.float32]          #: [T, k], within 0.501 ULP (R3)-(R5)
    probabilities: NDArray[np.float32]  #: [T, E], within 0.501 ULP (R1), (R1s); 0 for padding
    logsumexp: NDArray[np.float32]      #: [T], within 0.501 ULP plus 2^-45 of its terms (R8)
    loads: Loads                        #: of these tokens


def router_forward(logits: NDArray[np.float32], k: int, *, gate: str = "topk-softmax", scale: float = 1.0,
                   bias: Optional[NDArray[np.float32]] = None, mask: Optional[NDArray] = None) -> Routing:
    """(R1)-(R8): selects k experts for each row of logits, float32 [T, E], all finite.

    gate: 'topk-softmax' (R3), 'probability' (R4) or 'sigmoid' (R5). scale: gates are multiplied by it.
    bias: float32 [E], added to the scores for the selection only. ValueError names the first bad token and expert."""
    x, T, E = _rows("logits", logits, F32)
    router = _library.make_router(E, k, gate, scale)
    r = Routing(np.empty((T, k), I32), np.empty((T, k), F32), np.empty((T, E), F32), np.empty(T, F32), Loads(E, k))
    loads = r.loads._as_c()
    require(_call.phibal_router_forward(byref(router), T, x, _optional("bias", bias, F32, (E,)),
                                        _optional("mask", mask, U8, (T,)), r.probabilities.ctypes.data,
                                        r.experts.ctypes.data, r.gates.ctypes.data, r.logsumexp.ctypes.data, byref(loads)))
    r.loads.tokens = loads.tokens
    return r


def router_backward(logits: NDArray[np.float32], experts: NDArray[np.int32], *, gate: str = "topk-softmax",
                    scale: float = 1.0, mask: Optional[NDArray] = None,
                    gate_gradient: Optional[NDArray[np.float32]] = None, price: Optional[NDArray[np.float32]] = None,
                    price_scale: float = 0.0, z_scale: float = 0.0) -> NDArray[np.float32]:
    """(G1), (G2): the gradient, float32 [T, E], of
         sum gate_gradient gates + price_scale T sum_e P_e price_e + z_scale / 2 sum_t logsumexp_t^2
       in the logits, with price held constant. Its error is at most 1.001 2^-24 of the sum of its terms' sizes.

    experts: int32 [T, k], those of the forward pass. gate_gradient: float32 [T, k]. price: float32 [E]; its mean does
    not matter. price_scale is alpha E / T for the balancing losses, T of the global batch; z_scale 2 c / T."""
    x, T, E = _rows("logits", logits, F32)
    chosen, tokens, k = _rows("experts", experts, I32)
    if tokens != T:
        raise ValueError(f"experts: expected {T} rows, as logits has, got {tokens}")
    router = _library.make_router(E, k, gate, scale)
    gradient = np.empty((T, E), F32)
    require(_call.phibal_router_backward(byref(router), T, x, _optional("mask", mask, U8, (T,)), chosen,
                                         _optional("gate_gradient", gate_gradient, F32, (T, k)),
                                         _optional("price", price, F32, (E,)), _real("price_scale", price_scale),
                                         _real("z_scale", z_scale), gradient.ctypes.data))
    return gradient


def potential(name: str, parameter: Optional[float] = None) -> Potential:
    """A potential of the catalogue (SPEC.md, section P) for the functions below; parameter: its default where None."""
    return _library.find_potential(name, parameter)


def _potential(given) -> Potential:
    return given if isinstance(given, Potential) else potential(given)


def ema(m: NDArray[np.float32], loads: NDArray[np.float32], eta: float) -> NDArray[np.float32]:
    """(M1) (1 - eta) m + eta loads, float32 [E], correctly rounded; 0 < eta <= 1, rounded to binary32."""
    state, E = _vector("m", m)
    result = np.empty_like(m)
    require(_call.phibal_ema(E, _real("eta", eta), state, _array("loads", loads, F32, (E,)), result.ctypes.data))
    return result


class Price(NamedTuple):
    price: NDArray[np.float32]  #: [E], within 0.501 ULP
    floored: int                #: how many loads were raised to 2^-126 first (P.k)


def price(potential, m: NDArray[np.float32]) -> Price:
    """(M2) grad phi(m) for m >= 0, float32 [E]. potential: a name or what `potential` returns."""
    state, E = _vector("m", m)
    result, floored = np.empty_like(m), c_int32(0)
    require(_call.phibal_price(byref(_potential(potential)), E, state, result.ctypes.data, byref(floored)))
    return Price(result, floored.value)


def price_centred(potential, m: NDArray[np.float32]) -> Price:
    """(M3) the price minus its mean over the experts, float32 [E], within 0.501 ULP of the exact difference."""
    state, E = _vector("m", m)
    result, floored = np.empty_like(m), c_int32(0)
    require(_call.phibal_price_centred(byref(_potential(potential)), E, state, result.ctypes.data, byref(floored)))
    return Price(result, floored.value)


def balance_loss(potential, alpha: float, loads: NDArray[np.float32], m: NDArray[np.float32]) -> np.float32:
    """(L1) alpha E sum_e loads_e grad phi(m)_e; loads, m: float32 [E]."""
    mean, E = _vector("loads", loads)
    loss = c_float()
    require(_call.phibal_balance_loss(byref(_potential(potential)), E, _real("alpha", alpha), mean,
                                      _array("m", m, F32, (E,)), byref(loss)))
    return np.float32(loss.value)


class Step(NamedTuple):
    """What `balance_step` returns."""
    m: NDArray[np.float32]        #: [E], m of the step so far (M5); of the last micro-batch: the next m (M1)
    loss: np.float32              #: (L1) of this micro-batch's loads
    centred: NDArray[np.float32]  #: [E] (M3): the price, for `router_backward` with price_scale = alpha E / T


def balance_step(potential, alpha: float, eta: float, m: NDArray[np.float32], so_far: Loads, now: Loads) -> Step:
    """(M5), (L1), (M3) of a micro-batch of one layer: m of the step before, float32 [E]; the loads of the step so far, with
    this micro-batch; the loads of this micro-batch alone. All loads are those of all ranks."""
    phi = _potential(potential)
    following = ema(m, so_far.mean(), eta)
    return Step(following, balance_loss(phi, alpha, now.mean(), following), price_centred(phi, following).price)


def switch_loss(alpha: float, frequency: NDArray[np.float32], loads: NDArray[np.float32]) -> np.float32:
    """(L3) alpha E sum_e frequency_e loads_e; frequency, loads: float32 [E]."""
    f, E = _vector("frequency", frequency)
    loss = c_float()
    require(_call.phibal_switch_loss(E, _real("alpha", alpha), f, _array("loads", loads, F32, (E,)), byref(loss)))
    return np.float32(loss.value)


def frequency_centred(frequency: NDArray[np.float32]) -> NDArray[np.float32]:
    """(L3) the price of the Switch loss: frequency minus its mean, float32 [E], within 0.501 ULP."""
    f, E = _vector("frequency", frequency)
    result = np.empty_like(frequency)
    require(_call.phibal_frequency_centred(E, f, result.ctypes.data))
    return result


def sequence_loss(logits: NDArray[np.float32], k: int, sequences: int, alpha: float, *, gate: str = "topk-softmax",
                  bias: Optional[NDArray[np.float32]] = None, mask: Optional[NDArray] = None) -> float:
    """(L4) alpha E sum_b (T_b / T) sum_e f_be P_be over `sequences` runs of equal length of the rows of logits [T, E]."""
    _, T, E = _rows("logits", logits, F32)
    if sequences < 1 or T % sequences:
        raise ValueError(f"sequences: expected a divisor of the {T} tokens, got {sequences}")
    _optional("mask", mask, U8, (T,))
    n, total, tokens = T // sequences, 0.0, 0
    for b in range(sequences):
        part = slice(b * n, b * n + n)
        loads = router_forward(logits[part], k, gate=gate, bias=bias, mask=None if mask is None else mask[part]).loads
        if loads.tokens:
            total += loads.tokens * float(switch_loss(alpha, loads.frequency(), loads.mean()))
            tokens += loads.tokens
    return total / tokens if tokens else 0.0


def z_loss(logsumexp: NDArray[np.float32], coefficient: float, mask: Optional[NDArray] = None) -> np.float32:
    """(L5) coefficient / T sum_t logsumexp_t^2 over the unmasked tokens; 0 if there is none."""
    lse, T = _vector("logsumexp", logsumexp)
    loss = c_float()
    require(_call.phibal_z_loss(T, _real("coefficient", coefficient), lse, _optional("mask", mask, U8, (T,)), byref(loss)))
    return np.float32(loss.value)


def loss_free_update(bias: NDArray[np.float32], count: NDArray[np.int64], rate: float) -> NDArray[np.float32]:
    """(L6) bias_e + rate sign(mean(count) - count_e), float32 [E], the sign decided in integers."""
    _, E = _vector("bias", bias)
    result = bias.copy()
    require(_call.phibal_loss_free_update(E, _real("rate", rate), _array("count", count, I64, (E,)), result.ctypes.data))
    return result


def quantile_required(logits: NDArray[np.float32], k: int, *, gate: str = "topk-softmax",
                      bias: Optional[NDArray[np.float32]] = None, mask: Optional[NDArray] = None) -> NDArray[np.float32]:
    """(L7) the (k+1)-th largest biased score of each row of logits [T, E], less each expert's score: float32 [E, T].

    Any bias above that keeps an expert that is selected, with the others' as they are; another one is selected with a bias above
    that and the gap between the k-th and the (k+1)-th largest. +infinity for padding."""
    x, T, E = _rows("logits", logits, F32)
    router = _library.make_router(E, k, gate, 1.0)
    required = np.empty((E, T), F32)
    require(_call.phibal_quantile_required(byref(router), T, x, _optional("bias", bias, F32, (E,)),
                                           _optional("mask", mask, U8, (T,)), T, required.ctypes.data))
    return required


def quantile(required: NDArray[np.float32], k: int) -> NDArray[np.float32]:
    """(L7) of each row of float32 [E, T] the ceil(k n / E)-th smallest, n the tokens that are no padding: float32 [E].

    The micro-batches of a step go in side by side (np.concatenate(..., axis=1))."""
    r, E, T = _rows("required", required, F32)
    result = np.empty(E, F32)
    n = int((required[:1] != np.inf).sum())
    if not n:
        raise ValueError("required: expected an expert and a token that is no padding")
    place = -(-_integer("k", k, 1, E) * n // E)
    require(_call.phibal_quantile(E, T, T, r, place, None, result.ctypes.data))
    return result


def quantile_histogram(required: NDArray[np.float32], low: float, high: float, bins: int) -> NDArray[np.int64]:
    """(L8) int64 [E, bins]: how many of each row of float32 [E, T] lie in each of equal bins over [low, high]. Counts of
    micro-batches and ranks are added up."""
    r, E, T = _rows("required", required, F32)
    count = np.zeros((E, _integer("bins", bins, 1, 2**20)), I64)
    require(_call.phibal_quantile_histogram(E, T, T, r, _real("low", low), _real("high", high), count.shape[1], count.ctypes.data))
    return count


def quantile_interpolated(count: NDArray[np.int64], k: int, low: float, high: float) -> NDArray[np.float32]:
    """(L8) float32 [E]: where the counts of int64 [E, bins] over [low, high] reach a share of k/E, linear inside a bin."""
    c, E, bins = _rows("count", count, I64)
    result = np.empty(E, F32)
    require(_call.phibal_quantile_interpolated(E, _integer("k", k, 1, max(E, 1)), _real("low", low), _real("high", high), bins, c,
                                                result.ctypes.data))
    return result


def quantile_bias(bias: NDArray[np.float32], quantile: NDArray[np.float32], eta: float = 1.0) -> NDArray[np.float32]:
    """(L7) (1 - eta) bias + eta c, float32 [E], c the quantiles minus their mean."""
    _, E = _vector("bias", bias)
    result = bias.copy()
    require(_call.phibal_quantile_bias(E, _real("eta", eta), _array("quantile", quantile, F32, (E,)), result.ctypes.data))
    return result


def sinkhorn(logits: NDArray[np.float32], rounds: int, mask: Optional[NDArray] = None) -> NDArray[np.float32]:
    """(L10) float32 [T, E]: exp of the logits, scaled so many rounds to rows that sum to 1/T and columns that sum to 1/E."""
    x, T, E = _rows("logits", logits, F32)
    plan = np.zeros((T, E), F32)
    require(_call.phibal_sinkhorn(T, E, _integer("rounds", rounds, 1, 50), x, _optional("mask", mask, U8, (T,)), plan.ctypes.data))
    return plan


def gate_factor(experts: NDArray[np.int32], gates: NDArray[np.float32], factors: NDArray[np.float32]) -> NDArray[np.float32]:
    """(R5f) gates float32 [T, k] times the factors of their experts, float32 [E]; 0 where the expert is -1."""
    chosen, T, k = _rows("experts", experts, I32)
    f = _array("factors", factors, F32, (None,))
    scaled = np.empty((T, k), F32)
    require(_call.phibal_gate_factor(T, k, len(factors), chosen, _array("gates", gates, F32, (T, k)), f, scaled.ctypes.data))
    return scaled


def gate_factor_backward(experts: NDArray[np.int32], gates: NDArray[np.float32], factors: NDArray[np.float32],
                         scaled_gradient: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """(R5f) the gradients of the gates, float32 [T, k], and of the factors, float32 [E], from that of the scaled gates. The sums
    over tokens are exact and rounded once."""
    chosen, T, k = _rows("experts", experts, I32)
    f = _array("factors", factors, F32, (None,))
    gates_gradient, factor_gradient = np.empty((T, k), F32), np.empty(len(factors), F32)
    require(_call.phibal_gate_factor_backward(T, k, len(factors), chosen, _array("gates", gates, F32, (T, k)), f,
                                              _array("scaled_gradient", scaled_gradient, F32, (T, k)),
                                              gates_gradient.ctypes.data, factor_gradient.ctypes.data))
    return gates_gradient, factor_gradient


class Permutation(NamedTuple):
    offsets: NDArray[np.int64]  #: [E + 1]: rows offsets[e] .. offsets[e + 1] - 1 belong to expert e
    source: NDArray[np.int64]   #: [N]: row n is slot source[n] = i k + s, of token i
    row: NDArray[np.int64]      #: [T, k]: the inverse; -1 for padding


def permutation(experts: NDArray[np.int32], count: int) -> Permutation:
    """(E1) the slots of int32 [T, k] sorted by expert, stable; `count` is E. Padding (-1) gets no row."""
    chosen, T, k = _rows("experts", experts, I32)
    if not 1 <= count <= _library.MAX_EXPERTS or k < 1:
        raise ValueError(f"expected 1 to {_library.MAX_EXPERTS} experts and a slot a token, got {count} and {k}")
    p = Permutation(np.zeros(count + 1, I64), np.empty(T * k, I64), np.empty((T, k), I64))
    require(_call.phibal_permutation(T, k, count, chosen, p.offsets.ctypes.data, p.source.ctypes.data, p.row.ctypes.data))
    return p._replace(source=p.source[:p.offsets[-1]])


CAPACITY_POLICIES = ("token-order", "slot-order", "lowest-gate")  # phibal_capacity_policy


def capacity_limit(factor: float, tokens: int, k: int, count: int, minimum: int = 0) -> int:
    """(E7) how many routes an expert of `count` keeps: max(minimum, ceil(factor k tokens / count)), exactly for the binary32
    number nearest to the factor; `tokens` are those that are no padding."""
    limit = c_int64()
    require(_call.phibal_capacity_limit(_real("factor", factor), _integer("minimum", minimum, 0, 2**63 - 1),
                                        _integer("tokens", tokens, 0, 2**63 - 1), _integer("k", k, 1, _library.MAX_EXPERTS),
                                        _integer("count", count, 1, _library.MAX_EXPERTS), byref(limit)))
    return limit.value


class Capacity(NamedTuple):
    """What `capacity` returns."""
    kept: NDArray[np.int32]     #: [T, k]: the experts, -1 for dropped and padding: what `permutation` takes
    place: NDArray[np.int64]    #: [T, k]: where the route stands in its expert's buffer, or -1
    gates: NDArray[np.float32]  #: [T, k]: 0 for what is dropped
    counts: NDArray[np.int64]   #: [E]: before dropping, those of (R7)
    dropped: NDArray[np.int64]  #: [E]


def capacity(experts: NDArray[np.int32], gates: NDArray[np.float32], count: int, limit: int, policy: str = "token-order",
             renormalise: bool = False) -> Capacity:
    """(E8), (E9) at most `limit` of the routes int32 [T, k] to each of `count` experts: first come first served token by
    token, or slot by slot, or the largest gates, float32 [T, k]. Padding (-1) takes no place."""
    if policy not in CAPACITY_POLICIES:
        raise ValueError(f"policy: expected one of {', '.join(CAPACITY_POLICIES)}, got {policy!r}")
    p = permutation(experts, count)
    T, k = p.row.shape
    g, most = _array("gates", gates, F32, (T, k)), _integer("limit", limit, 0, 2**63 - 1)
    kept, place, after = np.empty((T, k), I32), np.empty((T, k), I64), np.empty((T, k), F32)
    require(_call.phibal_capacity(CAPACITY_POLICIES.index(policy), T, k, count, most, p.offsets.ctypes.data, p.source.ctypes.data,
                                  g, kept.ctypes.data, place.ctypes.data))
    require(_call.phibal_capacity_gates(T, k, bool(renormalise), kept.ctypes.data, g, after.ctypes.data))
    counts = np.diff(p.offsets)
    return Capacity(kept, place, after, counts, np.maximum(counts - most, 0))


def capacity_backward(kept: NDArray[np.int32], gates: NDArray[np.float32], gradient: NDArray[np.float32],
                      renormalise: bool = False) -> NDArray[np.float32]:
    """(E9) the gradient of `gates` before dropping, float32 [T, k], from that of the gates after it."""
    chosen, T, k = _rows("kept", kept, I32)
    before = np.empty((T, k), F32)
    require(_call.phibal_capacity_gates_backward(T, k, bool(renormalise), chosen, _array("gates", gates, F32, (T, k)),
                                                 _array("gradient", gradient, F32, (T, k)), before.ctypes.data))
    return before


ZERO_OUTPUTS = ("null", "identity")  # phibal_zero_output


def _zero_output(output: str) -> int:
    if output not in ZERO_OUTPUTS:
        raise ValueError(f"output: expected one of {', '.join(ZERO_OUTPUTS)}, got {output!r}")
    return ZERO_OUTPUTS.index(output)


def zero_experts_dispatch(experts: NDArray[np.int32], count: int, zero_experts: int) -> NDArray[np.int32]:
    """(E10) int32 [T, k] with -1 for the last `zero_experts` of `count` experts, which compute nothing: what `permutation` takes."""
    chosen, T, k = _rows("experts", experts, I32)
    E = _integer("count", count, 1, _library.MAX_EXPERTS)
    real = np.empty((T, k), I32)
    require(_call.phibal_zero_experts_dispatch(T, k, E, _integer("zero_experts", zero_experts, 0, E), chosen, real.ctypes.data))
    return real


def zero_experts(experts: NDArray[np.int32], gates: NDArray[np.float32], x: NDArray[np.float32], y: NDArray[np.float32],
                 count: int, zero_experts: int, output: str = "identity") -> NDArray[np.float32]:
    """(E10) y, float32 [T, d], and the tokens x times their gates of identities."""
    chosen, T, k = _rows("experts", experts, I32)
    tokens, rows, d = _rows("x", x, F32)
    E = _integer("count", count, 1, _library.MAX_EXPERTS)
    _array("x", x, F32, (T, None))
    _array("y", y, F32, (T, d))
    result = y.copy()
    require(_call.phibal_zero_experts(_zero_output(output), T, k, E, _integer("zero_experts", zero_experts, 0, E), d, chosen,
                                      _array("gates", gates, F32, (T, k)), tokens, result.ctypes.data))
    return result


def zero_experts_backward(experts: NDArray[np.int32], gates: NDArray[np.float32], x: NDArray[np.float32],
                          y_gradient: NDArray[np.float32], x_gradient: NDArray[np.float32], gate_gradient: NDArray[np.float32],
                          count: int, zero_experts: int, output: str = "identity"
                          ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """(E10) x_gradient, float32 [T, d], with what identities add to it, and gate_gradient, float32 [T, k], with their slots
    filled in."""
    chosen, T, k = _rows("experts", experts, I32)
    tokens, rows, d = _rows("x", x, F32)
    E = _integer("count", count, 1, _library.MAX_EXPERTS)
    _array("x", x, F32, (T, None))
    _array("x_gradient", x_gradient, F32, (T, d))
    _array("gate_gradient", gate_gradient, F32, (T, k))
    back, of_gates = x_gradient.copy(), gate_gradient.copy()
    require(_call.phibal_zero_experts_backward(_zero_output(output), T, k, E, _integer("zero_experts", zero_experts, 0, E), d,
                                               chosen, _array("gates", gates, F32, (T, k)), tokens,
                                               _array("y_gradient", y_gradient, F32, (T, d)), back.ctypes.data,
                                               of_gates.ctypes.data))
    return back, of_gates


def gather(x: NDArray[np.float32], p: Permutation) -> NDArray[np.float32]:
    """(E1) the rows of the experts, float32 [N, d], from tokens x, float32 [T, d]."""
    T, k = p.row.shape
    tokens = _array("x", x, F32, (T, None))
    source = _array("source", p.source, I64, (None,))
    if p.source.size and not (0 <= p.source.min() and p.source.max() < T * k):
        raise ValueError(f"source: expected slots from 0 to {T * k - 1}")
    rows = np.empty((p.source.size, x.shape[1]), F32)
    require(_call.phibal_gather(p.source.size, k, x.shape[1], source, tokens, rows.ctypes.data))
    return rows


def _row(p_row, T, k, rows):
    address = _array("row", p_row, I64, (T, k))
    if p_row.size and not (-1 <= p_row.min() and p_row.max() < rows):
        raise ValueError(f"row: expected -1 for padding, or rows from 0 to {rows - 1}")
    return address


def gather_backward(gradient: NDArray[np.float32], p: Permutation) -> NDArray[np.float32]:
    """(E1b) x' [T, d] from the gradient of the rows, float32 [N, d]."""
    T, k = p.row.shape
    rows = _array("gradient", gradient, F32, (p.source.size, None))
    x_gradient = np.zeros((T, gradient.shape[1]), F32)
    require(_call.phibal_gather_backward(T, k, gradient.shape[1], _row(p.row, T, k, len(gradient)), rows,
                                         x_gradient.ctypes.data))
    return x_gradient


def combine(rows: NDArray[np.float32], gates: NDArray[np.float32], row: NDArray[np.int64],
            y: Optional[NDArray[np.float32]] = None) -> NDArray[np.float32]:
    """(E4) y_i + sum_s g_is rows[row[i, s]], float32 [T, d], from the experts' outputs float32 [N, d] and gates [T, k];
    y: float32 [T, d], 0 where None."""
    g, T, k = _rows("gates", gates, F32)
    output = _array("rows", rows, F32, (None, None))
    _optional("y", y, F32, (T, rows.shape[1]))
    y = np.zeros((T, rows.shape[1]), F32) if y is None else y.copy()
    require(_call.phibal_combine(T, k, rows.shape[1], _row(row, T, k, len(rows)), g, output, y.ctypes.data))
    return y


def combine_backward(rows: NDArray[np.float32], gates: NDArray[np.float32], row: NDArray[np.int64],
                     y_gradient: NDArray[np.float32]) -> tuple:
    """(E5) the gradients of `combine`: of rows [N, d] and of gates [T, k], from y' [T, d]."""
    g, T, k = _rows("gates", gates, F32)
    output = _array("rows", rows, F32, (None, None))
    d = rows.shape[1]
    row_gradient, gate_gradient = np.zeros_like(rows), np.empty((T, k), F32)
    require(_call.phibal_combine_backward(T, k, d, _row(row, T, k, len(rows)), g, output,
                                          _array("y_gradient", y_gradient, F32, (T, d)), row_gradient.ctypes.data,
                                          gate_gradient.ctypes.data))
    return row_gradient, gate_gradient


ACTIVATIONS = {"silu": 0, "gelu-tanh": 1}  # phibal_activation


class Ffn(NamedTuple):
    """What `ffn_forward` returns: y, and a, b, h of (E2), which the backward pass needs."""
    y: NDArray[np.float32]  #: [N, d]
    a: NDArray[np.float32]  #: [N, f]
    b: NDArray[np.float32]  #: [N, f]
    h: NDArray[np.float32]  #: [N, f]


def _ffn(offsets, x, w_gate, w_up, w_down, activation) -> tuple:
    """(phibal_ffn, addresses of offsets to w_down, (E, f, d, N))"""
    if activation not in ACTIVATIONS:
        raise ValueError(f"activation: expected one of {', '.join(ACTIVATIONS)}, got {activation!r}")
    gate = _array("w_gate", w_gate, F32, (None, None, None))
    E, f, d = w_gate.shape
    rows, N, _ = _rows("x", x, F32)
    addresses = (_array("offsets", offsets, I64, (E + 1,)), _array("x", x, F32, (None, d)), gate,
                 _array("w_up", w_up, F32, (E, f, d)), _array("w_down", w_down, F32, (E, d, f)))
    if offsets[0] != 0 or offsets[-1] != N or (np.diff(offsets) < 0).any():
        raise ValueError(f"offsets: expected to rise from 0 to the {N} rows of x")
    return _library.Ffn(E, d, f, ACTIVATIONS[activation]), addresses, (E, f, d, N)


def ffn_forward(offsets: NDArray[np.int64], x: NDArray[np.float32], w_gate: NDArray[np.float32], w_up: NDArray[np.float32],
                w_down: NDArray[np.float32], *, activation: str = "silu") -> Ffn:
    """(E2) for row n of expert e: a = w_gate[e] x, b = w_up[e] x, h = act(a) b, y = w_down[e] h.

    offsets: int64 [E + 1], as `permutation` gives them. x: [N, d]. w_gate, w_up: [E, f, d]. w_down: [E, d, f]."""
    ffn, addresses, (_, f, d, N) = _ffn(offsets, x, w_gate, w_up, w_down, activation)
    r = Ffn(np.empty((N, d), F32), *(np.empty((N, f), F32) for _ in range(3)))
    require(_call.phibal_ffn_forward(byref(ffn), *addresses, r.a.ctypes.data, r.b.ctypes.data, r.h.ctypes.data,
                                     r.y.ctypes.data))
    return r


class FfnGradients(NamedTuple):
    """What `ffn_backward` returns."""
    x: NDArray[np.float32]       #: [N, d]
    w_gate: NDArray[np.float32]  #: [E, f, d]
    w_up: NDArray[np.float32]    #: [E, f, d]
    w_down: NDArray[np.float32]  #: [E, d, f]


def ffn_backward(offsets: NDArray[np.int64], x: NDArray[np.float32], w_gate: NDArray[np.float32], w_up: NDArray[np.float32],
                 w_down: NDArray[np.float32], forward: Ffn, y_gradient: NDArray[np.float32], *,
                 activation: str = "silu") -> FfnGradients:
    """(E3) the gradients of `ffn_forward`, which returned `forward`, from y' [N, d]."""
    ffn, addresses, (_, f, d, N) = _ffn(offsets, x, w_gate, w_up, w_down, activation)
    for name in ("a", "b", "h"):
        _array(name, getattr(forward, name), F32, (N, f))
    a, b, h_gradient = forward.a.copy(), forward.b.copy(), np.empty((N, f), F32)
    g = FfnGradients(np.empty((N, d), F32), *(np.zeros_like(w) for w in (w_gate, w_up, w_down)))
    require(_call.phibal_ffn_backward(byref(ffn), *addresses, a.ctypes.data, b.ctypes.data, forward.h.ctypes.data,
                                      _array("y_gradient", y_gradient, F32, (N, d)), h_gradient.ctypes.data,
                                      *(part.ctypes.data for part in g)))
    return g


def _metric(function, name, x, dtype) -> float:
    result = c_double()
    address, E = _vector(name, x, dtype)
    if not E:
        raise ValueError(f"{name}: expected at least one expert")
    require(function(E, address, byref(result)))
    return result.value


def maxvio_counts(count: NDArray[np.int64]) -> float:
    """(V1) max_e n_e / mean(n) - 1 of int64 [E]: 0 at balance. Correctly rounded; all 0 is a ValueError."""
    return _metric(_call.phibal_maxvio_counts, "count", count, I64)


def maxvio_mean(mean: NDArray[np.float32]) -> float:
    """(V2) E max_e P_e / sum P - 1 of float32 [E]."""
    return _metric(_call.phibal_maxvio_mean, "mean", mean, F32)


def gini(x: NDArray[np.float64]) -> float:
    """(V3) sum_ej |x_e - x_j| / (2 E sum x) of float64 [E], x >= 0."""
    return _metric(_call.phibal_gini, "x", x, F64)


def entropy(x: NDArray[np.float64]) -> float:
    """(V4) the entropy of x / sum x in nats, of float64 [E], x >= 0; log E at balance."""
    return _metric(_call.phibal_entropy, "x", x, F64)
