"""phibal for JAX: a differentiable router and balancing losses as functions (spec/SPEC.md, sections R, M, L and G).

They call phibal's kernels through jax.pure_callback, under jit, grad, vmap and shard_map, and have the bits of the kernels.
A custom call of XLA's (jax.ffi) would save the callback's microseconds, and would tie the wheel to one version of jaxlib's
headers. State is given and returned: nothing is kept between calls. A mistake that only values show, NaN among the logits
for example, raises jax.errors.JaxRuntimeError with phibal's message.

    r = phibal.jax.router(x @ w, k)
    so_far = phibal.jax.add(so_far, r.sums)                              # of this step, starting from Loads.zero(E, k)
    loss = task(r.gates, r.experts) + phibal.jax.balance_loss("negentropy", 0.01, 0.65, m, so_far, r)
    m = phibal.jax.ema(m, so_far, 0.65)                                  # once a step"""
from __future__ import annotations

import ctypes
import functools
from dataclasses import dataclass
from typing import Any, Optional, Tuple, Union

import jax
import jax.numpy as jnp
import numpy as np

from . import _library
from . import numpy as pn

Array = Any
Potential = Union[str, Tuple[str, Optional[float]]]  # a name of the catalogue, or (name, parameter)

F32, I32, U32 = jnp.float32, jnp.int32, jnp.uint32
WORDS = 2 * _library.LIMBS


def _shape(dtype, *shape):
    return jax.ShapeDtypeStruct(shape, dtype)


_libm = ctypes.CDLL(None)
_DEFAULT = ctypes.c_void_p(-1)  # FE_DFL_ENV


def _call(function, results, *arguments):
    """`function` of numpy arrays, on the host, a constant for the gradient; None among the arguments stays None."""
    def host(*given):
        environment = ctypes.create_string_buffer(64)  # a fenv_t
        _libm.fegetenv(environment)
        _libm.fesetenv(_DEFAULT)  # XLA's threads flush subnormal numbers to zero; phibal refuses to compute so
        try:
            return function(*jax.tree.map(lambda a: np.asarray(a, order="C"), given))
        finally:
            _libm.fesetenv(environment)

    @jax.custom_jvp
    def call(*given):
        return jax.pure_callback(host, results, *given, vmap_method="sequential")

    @call.defjvp
    def _(given, _):
        zero = lambda s: jnp.zeros(s.shape, s.dtype) if s.dtype == F32 else np.zeros(s.shape, jax.dtypes.float0)
        return call(*given), jax.tree.map(zero, results)
    return call(*arguments)


def _expect(name, a, dtypes, shape):
    if not isinstance(a, (jax.Array, np.ndarray)):
        raise TypeError(f"{name}: expected an array, got {type(a).__name__}")
    if a.dtype not in dtypes:
        raise TypeError(f"{name}: expected dtype {' or '.join(str(jnp.dtype(d)) for d in dtypes)}, got {a.dtype}")
    if a.ndim != len(shape) or any(s is not None and s != n for s, n in zip(shape, a.shape)):
        wanted = ", ".join("any" if s is None else str(s) for s in shape)
        raise ValueError(f"{name}: expected shape ({wanted}), got {a.shape}")


@functools.partial(jax.tree_util.register_dataclass, data_fields=["words", "counts", "tokens"], meta_fields=["k"])
@dataclass(frozen=True)
class Loads:
    """The exact sums over tokens that loads are made of (R6), (R7): `add` gives the same bits in any order."""
    words: Array   #: uint32 [E, 12], the limbs of phibal.numpy.Loads.probability, low word first
    counts: Array  #: int32 [E], the tokens that selected each expert
    tokens: Array  #: int32, without padding
    k: int         #: experts of a token

    @staticmethod
    def zero(experts: int, k: int) -> "Loads":
        return Loads(jnp.zeros((experts, WORDS), U32), jnp.zeros(experts, I32), jnp.zeros((), I32), k)


def _host(loads: Loads) -> pn.Loads:
    result = pn.Loads(len(loads.counts), loads.k)
    result.probability[:] = loads.words.view("<i8")
    result.count[:] = loads.counts
    result.tokens = int(loads.tokens)
    return result


def _device(loads: pn.Loads) -> tuple:
    if loads.tokens >= 2**31 or (loads.count >= 2**31).any():
        raise OverflowError("more than 2^31 - 1 tokens")
    return loads.probability.view("<u4").reshape(loads.experts, WORDS), loads.count.astype(np.int32), np.int32(loads.tokens)


def _shapes(experts):
    return _shape(U32, experts, WORDS), _shape(I32, experts), _shape(I32)


def add(a: Loads, b: Loads) -> Loads:
    """The loads of both, exactly."""
    if a.counts.shape != b.counts.shape or a.k != b.k:
        raise ValueError(f"expected loads of {a.k} of {a.counts.shape} experts, got {b.k} of {b.counts.shape}")

    def host(a, b):
        total = _host(a)
        total.add(_host(b))
        return _device(total)
    return Loads(*_call(host, _shapes(a.counts.shape[0]), a, b), a.k)


def all_devices(loads: Loads, axis_name: str) -> Loads:
    """The loads of all devices of a mapped axis (shard_map, pmap), the same bits on each."""
    parts = jax.lax.all_gather(loads, axis_name)

    def host(parts):
        total = pn.Loads(parts.counts.shape[1], parts.k)
        for words, counts, tokens in zip(parts.words, parts.counts, parts.tokens):
            total.add(_host(Loads(words, counts, tokens, parts.k)))
        return _device(total)
    return Loads(*_call(host, _shapes(loads.counts.shape[0]), parts), loads.k)


def mean(loads: Loads) -> Array:
    """(R6) P, float32 [E], correctly rounded; 0 if there is no token. Without a gradient: Routing.loads has one."""
    return _call(lambda a: _host(a).mean() if a.tokens else np.zeros(len(a.counts), np.float32),
                 _shape(F32, *loads.counts.shape), jax.lax.stop_gradient(loads))


def frequency(loads: Loads) -> Array:
    """(R7) f, float32 [E], correctly rounded; 0 if there is no token."""
    return _call(lambda a: _host(a).frequency() if a.tokens else np.zeros(len(a.counts), np.float32),
                 _shape(F32, *loads.counts.shape), jax.lax.stop_gradient(loads))


# The router.

@functools.partial(jax.custom_vjp, nondiff_argnums=(3, 4, 5))
def _router(logits, bias, mask, k, gate, scale):
    T, E = logits.shape

    def host(x, bias, mask):
        r = pn.router_forward(x, k, gate=gate, scale=scale, bias=bias, mask=mask)
        mean = r.loads.mean() if r.loads.tokens else np.zeros(E, np.float32)
        return (r.gates, r.experts, r.probabilities, r.logsumexp, mean, *_device(r.loads))
    return _call(host, (_shape(F32, T, k), _shape(I32, T, k), _shape(F32, T, E), _shape(F32, T), _shape(F32, E), *_shapes(E)),
                 logits, bias, mask)


def _router_forward(logits, bias, mask, k, gate, scale):
    out = _router(logits, bias, mask, k, gate, scale)
    gates, experts, probabilities, logsumexp, mean, words, counts, tokens = out
    return out, (logits, bias, mask, experts, probabilities, tokens)


def _router_backward(k, gate, scale, saved, gradients):
    logits, bias, mask, experts, probabilities, tokens = saved

    def host(x, mask, experts, p, tokens, gates, of_p, of_lse, price):
        total = pn.router_backward(x, experts, gate=gate, scale=scale, mask=mask, gate_gradient=gates, price=price,
                                   price_scale=1.0 / max(int(tokens), 1))
        if of_p.any() or of_lse.any():  # p_j (gamma_j - sum_e p_e gamma_e), with p_j (1 - sigma_j) for sigmoid routers (L2)
            real = np.ones(len(x), bool) if mask is None else mask != 0
            x, p, g = np.where(real[:, None], x, 0).astype(float), p.astype(float), of_p.astype(float)
            slope = p / (1 + np.exp(x)) if gate == "sigmoid" else p
            total += (slope * (g - (p * g).sum(-1, keepdims=True))).astype(np.float32)
            if gate == "sigmoid":
                e = np.exp(x - x.max(-1, keepdims=True))
                p = e / e.sum(-1, keepdims=True) * real[:, None]
            total += (p * of_lse[:, None]).astype(np.float32)
        return total
    gates, _, of_p, of_lse, price, *_ = gradients
    gradient = _call(host, _shape(F32, *logits.shape), logits, mask, experts, probabilities, tokens, gates, of_p, of_lse, price)
    none = lambda a: None if a is None else jnp.zeros_like(a) if a.dtype == F32 else np.zeros(a.shape, jax.dtypes.float0)
    return gradient, none(bias), none(mask)


_router.defvjp(_router_forward, _router_backward)


@functools.partial(jax.tree_util.register_dataclass, meta_fields=["gate"], data_fields=[
    "gates", "experts", "probabilities", "logsumexp", "loads", "sums", "logits", "mask"])
@dataclass(frozen=True)
class Routing:
    """What `router` returns. Gradients flow through gates, probabilities, logsumexp and loads."""
    gates: Array          #: float32 [T, k], within 0.501 ULP (R3)-(R5); 0 for padding
    experts: Array        #: int32 [T, k] by falling score, equal scores by index (R2); -1 for padding
    probabilities: Array  #: float32 [T, E], within 0.501 ULP (R1), (R1s); 0 for padding
    logsumexp: Array      #: float32 [T] (R8); 0 for padding
    loads: Array          #: float32 [E], P: the mean probabilities over the tokens (R6); 0 if there is no token
    sums: Loads           #: the exact sums of which P is the mean, and the counts
    logits: Array         #: the argument
    mask: Optional[Array] #: the argument
    gate: str             #: the argument


def router(logits: Array, k: int, *, gate: str = "topk-softmax", scale: float = 1.0, bias: Optional[Array] = None,
           mask: Optional[Array] = None) -> Routing:
    """(R1)-(R8), differentiable (G1), (G2): selects k of E experts for each row of logits, float32 [T, E].

    gate: 'topk-softmax' (R3), 'probability' (R4) or 'sigmoid' (R5). scale: gates are multiplied by it. bias: float32 [E],
    added to the scores for the selection only, without a gradient. mask: bool or uint8 [T], 0 is padding, whose logits may
    be anything. The gradients of gates and loads have an error of at most 1.001 2^-24 of the sum of their terms' sizes."""
    _expect("logits", logits, (F32,), (None, None))
    T, E = logits.shape
    _library.check_router(E, k, gate, scale)
    if bias is not None:
        _expect("bias", bias, (F32,), (E,))
    if mask is not None:
        _expect("mask", mask, (jnp.bool_, jnp.uint8), (T,))
    gates, experts, probabilities, logsumexp, loads, *sums = _router(logits, bias, mask, k, gate, float(scale))
    return Routing(gates, experts, probabilities, logsumexp, loads, Loads(*sums, k), logits, mask, gate)


def z_loss(r: Routing, coefficient: float) -> Array:
    """(L5) coefficient / T sum_t logsumexp_t^2, differentiable."""
    return coefficient * jnp.square(r.logsumexp).sum() / jnp.maximum(r.sums.tokens, 1)


# A loss whose value is known, and whose gradient is that of alpha E / T_all sum_t sum_e p_te price_e (L2).

@functools.partial(jax.custom_vjp, nondiff_argnums=(5, 6))
def _priced(logits, mask, value, price, tokens, alpha, gate):
    return value


def _priced_forward(logits, mask, value, price, tokens, alpha, gate):
    return value, (logits, mask, price, tokens)


def _priced_backward(alpha, gate, saved, factor):
    logits, mask, price, tokens = saved

    def host(x, mask, price, tokens, factor):
        scale = float(factor) * (alpha * x.shape[1] / max(int(tokens), 1))
        return pn.router_backward(x, np.zeros((len(x), 1), np.int32), gate=gate, mask=mask, price=price, price_scale=scale)
    gradient = _call(host, _shape(F32, *logits.shape), logits, mask, price, tokens, factor)
    zero = np.zeros((), jax.dtypes.float0)
    return (gradient, None if mask is None else np.zeros(mask.shape, jax.dtypes.float0), jnp.zeros((), F32),
            jnp.zeros_like(price), zero)


_priced.defvjp(_priced_forward, _priced_backward)


def _loss(host, alpha, r, now, tokens, *state):
    if not 0 <= alpha < float("inf"):
        raise ValueError(f"alpha: expected a number of at least 0, got {alpha!r}")
    E, now = r.loads.shape[0], r.sums if now is None else now

    def of_tokens(now, tokens, *state):
        if not now.tokens:
            return np.float32(0), np.zeros(E, np.float32)
        whole = int(now.tokens if tokens is None else tokens)
        if whole < now.tokens:
            raise ValueError(f"tokens: expected those of the global batch, at least this micro-batch's {now.tokens}, got {whole}")
        value, price = host(_host(now), *state)
        return np.float32(float(value) * (int(now.tokens) / whole)) if tokens is not None else np.float32(value), price
    tokens = None if tokens is None else jnp.asarray(tokens, I32)
    value, price = _call(of_tokens, (_shape(F32), _shape(F32, E)), jax.lax.stop_gradient(now), tokens,
                         *jax.lax.stop_gradient(state))
    return _priced(r.logits, r.mask, value, price, now.tokens if tokens is None else tokens, float(alpha), r.gate)


def balance_loss(potential: Potential, alpha: float, eta: float, m: Array, so_far: Loads, r: Routing, *,
                 now: Optional[Loads] = None, tokens: Optional[Array] = None) -> Array:
    """(L1) alpha E sum_e P_e grad phi((1 - eta) m + eta P_so_far)_e of a micro-batch, with (M5) and (L2).

    m: float32 [E], of the step before. so_far: the loads of the step, with this micro-batch, of all devices. now: this
    micro-batch's of all devices, r.sums where None; the gradient is then that of the global loss for this device's tokens,
    and devices' gradients have to be added. tokens: the unmasked tokens of the global batch, with which the losses of
    micro-batches add up to that of the batch; without it each is a mean over its own."""
    _expect("m", m, (F32,), r.loads.shape)
    phi = pn.potential(*([potential] if isinstance(potential, str) else potential))

    def host(now, m, so_far):
        step = pn.balance_step(phi, alpha, eta, m, _host(so_far), now)
        return step.loss, step.centred
    return _loss(host, alpha, r, now, tokens, m, so_far)


def switch_loss(alpha: float, counted: Loads, r: Routing, *, now: Optional[Loads] = None,
                tokens: Optional[Array] = None) -> Array:
    """(L3) alpha E sum_e f_e P_e, f of `counted`: r.sums, or the loads of the step so far. The rest as in balance_loss."""
    def host(now, counted):
        f = _host(counted).frequency()
        return pn.switch_loss(alpha, f, now.mean()), pn.frequency_centred(f)
    return _loss(host, alpha, r, now, tokens, counted)


def ema(m: Array, loads: Loads, eta: float) -> Array:
    """(M1) (1 - eta) m + eta P of the whole step's loads, float32 [E], correctly rounded; m if no token was counted."""
    _expect("m", m, (F32,), loads.counts.shape)
    return _call(lambda m, a: pn.ema(m, _host(a).mean(), eta) if a.tokens else m, _shape(F32, *m.shape),
                 *jax.lax.stop_gradient((m, loads)))


def loss_free_update(bias: Array, loads: Loads, rate: float) -> Array:
    """(L6) bias_e + rate sign(mean(n) - n_e), float32 [E], n the counts of the step."""
    _expect("bias", bias, (F32,), loads.counts.shape)
    return _call(lambda b, a: pn.loss_free_update(b, a.counts.astype(np.int64), rate), _shape(F32, *bias.shape), bias, loads)
