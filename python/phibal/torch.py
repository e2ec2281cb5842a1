"""phibal for PyTorch: a differentiable router, and balancing modules (spec/SPEC.md, sections R, M, L and G).

Operators are registered with torch.library (fake kernels, autograd), so that torch.compile traces them without a
graph break. They take contiguous float32 tensors on the CPU; anything else raises TypeError or ValueError that says
what was expected. OpenMP uses as many threads as torch.get_num_threads(); the bits do not depend on it."""
from __future__ import annotations

from ctypes import byref, c_float
from typing import Dict, NamedTuple, Optional, Tuple, Union

import torch
from torch import Tensor, nn

from . import _library
from ._library import LIMBS, GATES, require

_kernels = _library.kernels


def _expect(name: str, t, dtypes: tuple, shape: tuple) -> None:
    """Only what a fake tensor knows too. In `shape` None is any size."""
    if not isinstance(t, Tensor):
        raise TypeError(f"{name}: expected a tensor, got {type(t).__name__}")
    if t.dtype not in dtypes:
        raise TypeError(f"{name}: expected dtype {' or '.join(map(str, dtypes))}, got {t.dtype}"
                        + ("; .float() converts it" if torch.float32 in dtypes and t.is_floating_point() else ""))
    if t.layout != torch.strided:
        raise TypeError(f"{name}: expected a dense tensor, got layout {t.layout}")
    if t.device.type not in ("cpu", "meta"):
        raise ValueError(f"{name}: expected a tensor on the CPU, got one on {t.device}; .cpu() moves it")
    if t.dim() != len(shape) or any(s is not None and s != n for s, n in zip(shape, t.shape)):
        wanted = ", ".join("any" if s is None else str(s) for s in shape)
        raise ValueError(f"{name}: expected shape ({wanted}), got {tuple(t.shape)}")
    if not t.is_contiguous():
        raise ValueError(f"{name}: expected a contiguous tensor; .contiguous() makes one")


def _address(t: Optional[Tensor]) -> Optional[int]:
    return None if t is None else t.data_ptr()


def _loads(limbs: Tensor, counts: Tensor, tokens: int, k: int) -> _library.Loads:
    loads = _library.Loads(counts.numel(), k, tokens, limbs.data_ptr(), counts.data_ptr())
    loads.owners = limbs, counts  # they live as long as what points to them
    return loads


# The operators. Their arguments are checked in `router`, since a fake kernel runs first under torch.compile.

_Outputs = Tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]


@torch.library.custom_op("phibal::router", mutates_args=(), device_types="cpu")
def _router(logits: Tensor, bias: Optional[Tensor], mask: Optional[Tensor], k: int, gate: int, scale: float) -> _Outputs:
    T, E = logits.shape
    gates, probabilities = logits.new_empty(T, k), torch.empty_like(logits)
    experts, logsumexp = torch.empty(T, k, dtype=torch.int32), logits.new_empty(T)
    limbs, counts = torch.zeros(E, LIMBS, dtype=torch.int64), torch.zeros(E, dtype=torch.int64)
    mean, loads = logits.new_zeros(E), _loads(limbs, counts, 0, k)
    _kernels.omp_set_num_threads(torch.get_num_threads())
    require(_kernels.phibal_router_forward(byref(_library.Router(E, k, gate, scale)), T, logits.data_ptr(), _address(bias),
                                           _address(mask), probabilities.data_ptr(), experts.data_ptr(), gates.data_ptr(),
                                           logsumexp.data_ptr(), byref(loads)))
    if loads.tokens:
        require(_kernels.phibal_loads_mean(byref(loads), mean.data_ptr()))
    return gates, experts, probabilities, logsumexp, mean, limbs, counts, torch.tensor(loads.tokens)


@_router.register_fake
def _(logits, bias, mask, k, gate, scale):
    T, E = logits.shape
    integers = lambda *shape, dtype=torch.int64: logits.new_empty(shape, dtype=dtype)
    return (logits.new_empty(T, k), integers(T, k, dtype=torch.int32), torch.empty_like(logits), logits.new_empty(T),
            logits.new_empty(E), integers(E, LIMBS), integers(E), integers())


@torch.library.custom_op("phibal::router_backward", mutates_args=(), device_types="cpu")
def _router_backward(logits: Tensor, mask: Optional[Tensor], experts: Tensor, tokens: Tensor, gates_gradient: Optional[Tensor],
                     loads_gradient: Optional[Tensor], probabilities: Tensor, probabilities_gradient: Optional[Tensor],
                     logsumexp_gradient: Optional[Tensor], k: int, gate: int, scale: float) -> Tensor:
    """The gradient of the logits: (G1) through the gates, (L2) through the loads, both by phibal's kernel."""
    T, E = logits.shape
    gradient = torch.empty_like(logits)
    given = [None if t is None else t.contiguous() for t in (gates_gradient, loads_gradient)]
    _kernels.omp_set_num_threads(torch.get_num_threads())
    require(_kernels.phibal_router_backward(byref(_library.Router(E, k, gate, scale)), T, logits.data_ptr(), _address(mask),
                                            experts.data_ptr(), _address(given[0]), _address(given[1]),
                                            1.0 / max(int(tokens), 1), 0.0, gradient.data_ptr()))
    # What else a loss may depend on: p_j (gamma_j - sum_e p_e gamma_e) through the probabilities, with p_j (1 - sigma_j)
    # for sigmoid routers (L2); p_j through logsumexp. Rows of padding have probabilities 0.
    if probabilities_gradient is not None:
        p, g = probabilities.double(), probabilities_gradient.double()
        slope = p * torch.sigmoid(-_padded(logits, mask).double()) if gate == GATES["sigmoid"] else p
        gradient += (slope * (g - (p * g).sum(-1, keepdim=True))).float()
    if logsumexp_gradient is not None:
        if gate == GATES["sigmoid"]:
            probabilities = torch.softmax(_padded(logits, mask).double(), -1)
            if mask is not None:
                probabilities = probabilities * (mask != 0)[:, None]
        gradient += (probabilities * logsumexp_gradient[:, None]).float()
    return gradient


def _padded(logits: Tensor, mask: Optional[Tensor]) -> Tensor:
    """What stands in padding may be NaN."""
    return logits if mask is None else logits.masked_fill((mask == 0)[:, None], 0.0)


@_router_backward.register_fake
def _(logits, mask, experts, tokens, gates_gradient, loads_gradient, probabilities, probabilities_gradient,
      logsumexp_gradient, k, gate, scale):
    return torch.empty_like(logits)


def _router_save(ctx, inputs, output):
    logits, _, mask, ctx.k, ctx.gate, ctx.scale = inputs
    gates, experts, probabilities, logsumexp, mean, limbs, counts, tokens = output
    ctx.save_for_backward(logits, mask, experts, tokens, probabilities)
    ctx.mark_non_differentiable(experts, limbs, counts, tokens)
    ctx.set_materialize_grads(False)


def _router_gradient(ctx, gates, experts, probabilities, logsumexp, mean, limbs, counts, tokens):
    logits, mask, chosen, number, p = ctx.saved_tensors
    return _router_backward(logits, mask, chosen, number, gates, mean, p, probabilities, logsumexp, ctx.k, ctx.gate,
                            ctx.scale), None, None, None, None, None


torch.library.register_autograd("phibal::router", _router_gradient, setup_context=_router_save)


class Routing(NamedTuple):
    """What `router` returns. Gradients flow through gates, probabilities, logsumexp and loads."""
    gates: Tensor          #: float32 [T, k], within 0.501 ULP (R3)-(R5); 0 for padding
    experts: Tensor        #: int64 [T, k] by falling score, equal scores by index (R2); -1 for padding
    probabilities: Tensor  #: float32 [T, E], within 0.501 ULP (R1), (R1s); 0 for padding
    loads: Tensor          #: float32 [E], P: the mean probabilities over the tokens (R6); 0 if there is no token
    counts: Tensor         #: int64 [E], the tokens that selected each expert (R7)
    tokens: Tensor         #: int64, without padding
    logsumexp: Tensor      #: float32 [T] (R8); 0 for padding
    sums: Tensor           #: int64 [E, 6], the exact sums of which P is the mean, in units of 2^(-32 j)
    logits: Tensor         #: the argument
    mask: Optional[Tensor] #: the argument
    k: int                 #: the argument
    gate: str              #: the argument


def router(logits: Tensor, k: int, *, gate: str = "topk-softmax", scale: float = 1.0, bias: Optional[Tensor] = None,
           mask: Optional[Tensor] = None) -> Routing:
    """(R1)-(R8), differentiable (G1), (G2): selects k of E experts for each row of logits, float32 [T, E].

    gate: 'topk-softmax' (R3), 'probability' (R4) or 'sigmoid' (R5). scale: gates are multiplied by it.
    bias: float32 [E], added to the scores for the selection only, without a gradient (loss-free balancing).
    mask: bool or uint8 [T], 0 is padding, whose logits may be anything. An unmasked NaN or infinity raises
    phibal.NonFiniteError, which names token and expert. The gradients of gates and loads have an error of at most
    1.001 2^-24 of the sum of their terms' sizes."""
    _expect("logits", logits, (torch.float32,), (None, None))
    T, E = logits.shape
    _library.check_router(E, k, gate, scale)
    if bias is not None:
        _expect("bias", bias, (torch.float32,), (E,))
        bias = bias.detach()
    if mask is not None:
        _expect("mask", mask, (torch.bool, torch.uint8), (T,))
    gates, experts, probabilities, logsumexp, mean, limbs, counts, tokens = _router(logits, bias, mask, k, GATES[gate],
                                                                                    float(scale))
    return Routing(gates, experts.long(), probabilities, mean, counts, tokens, logsumexp, limbs, logits, mask, k, gate)


def z_loss(routing: Routing, coefficient: float) -> Tensor:
    """(L5) coefficient / T sum_t logsumexp_t^2, differentiable."""
    return coefficient * routing.logsumexp.square().sum() / routing.tokens.clamp(min=1)


# A loss whose value is known, and whose gradient is that of price_scale T sum_e P_e price_e (L2).

@torch.library.custom_op("phibal::priced", mutates_args=(), device_types="cpu")
def _priced(logits: Tensor, mask: Optional[Tensor], value: Tensor, price: Tensor, price_scale: float, gate: int) -> Tensor:
    return value.clone()


@_priced.register_fake
def _(logits, mask, value, price, price_scale, gate):
    return torch.empty_like(value)


@torch.library.custom_op("phibal::priced_backward", mutates_args=(), device_types="cpu")
def _priced_backward(logits: Tensor, mask: Optional[Tensor], factor: Tensor, price: Tensor, price_scale: float,
                     gate: int) -> Tensor:
    T, E = logits.shape
    gradient, unused = torch.empty_like(logits), torch.zeros(T, 1, dtype=torch.int32)
    _kernels.omp_set_num_threads(torch.get_num_threads())
    require(_kernels.phibal_router_backward(byref(_library.Router(E, 1, gate, 1.0)), T, logits.data_ptr(), _address(mask),
                                            unused.data_ptr(), None, price.data_ptr(), float(factor) * price_scale, 0.0,
                                            gradient.data_ptr()))
    return gradient


@_priced_backward.register_fake
def _(logits, mask, factor, price, price_scale, gate):
    return torch.empty_like(logits)


def _priced_save(ctx, inputs, output):
    logits, mask, _, price, ctx.price_scale, ctx.gate = inputs
    ctx.save_for_backward(logits, mask, price)


def _priced_gradient(ctx, factor):
    logits, mask, price = ctx.saved_tensors
    return _priced_backward(logits, mask, factor, price, ctx.price_scale, ctx.gate), None, None, None, None, None


torch.library.register_autograd("phibal::priced", _priced_gradient, setup_context=_priced_save)


class _Counter(nn.Module):
    """Exact loads of a step by layer, summed over micro-batches and ranks, each forward pass counted once. The sums are of
    all ranks after each micro-batch, so that buffers are the same on all of them: DDP copies those of rank 0 to the others."""

    def __init__(self, layers: int, experts: int, k: int, gate: str, process_group):
        super().__init__()
        if not isinstance(layers, int) or layers < 1:
            raise ValueError(f"layers: expected at least 1, got {layers!r}")
        _library.check_router(experts, k, gate, 1.0)
        self.layers, self.experts, self.k, self.gate, self.process_group = layers, experts, k, gate, process_group
        self.register_buffer("step_sums", torch.zeros(layers, experts, LIMBS, dtype=torch.int64))
        self.register_buffer("step_counts", torch.zeros(layers, experts, dtype=torch.int64))
        self.register_buffer("step_tokens", torch.zeros(layers, dtype=torch.int64))

    def _apply(self, fn, *args, **kwargs):
        """Moves with the model, but keeps float32: model.bfloat16() must not round the balancing state."""
        kept = {name: b for name, b in self._buffers.items() if b is not None and b.is_floating_point()}
        super()._apply(fn, *args, **kwargs)
        for name, b in kept.items():
            if self._buffers[name].dtype != torch.float32:
                self._buffers[name] = b.to(self._buffers[name].device)
        return self

    def _ranks(self) -> int:
        distributed = torch.distributed.is_available() and torch.distributed.is_initialized()
        return torch.distributed.get_world_size(self.process_group) if distributed else 1

    def _layer(self, layer: int) -> int:
        if not isinstance(layer, int) or not 0 <= layer < self.layers:
            raise ValueError(f"layer: expected 0 to {self.layers - 1}, got {layer!r}")
        return layer

    def _routing(self, given: Union[Tensor, Routing], mask: Optional[Tensor]) -> Routing:
        if not isinstance(given, Routing):
            given = router(given, self.k, gate=self.gate, mask=mask)
        elif mask is not None and mask is not given.mask:
            raise ValueError("mask: the routing has a mask of its own; pass it to `router`")
        if given.counts.numel() != self.experts or given.k != self.k or (given.gate == "sigmoid") != (self.gate == "sigmoid"):
            raise ValueError(f"expected a routing to {self.k} of {self.experts} experts with gate {self.gate}, "
                             f"got one to {given.k} of {given.counts.numel()} with gate {given.gate}")
        return given

    def _global(self, r: Routing) -> _library.Loads:
        """The loads of all ranks: integers, so that their sum has the same bits on any number of them."""
        sums, counts, tokens = r.sums, r.counts, int(r.tokens)
        if self._ranks() > 1:
            packed = torch.cat((sums.flatten(), counts, r.tokens.reshape(1)))
            torch.distributed.all_reduce(packed, group=self.process_group)
            partial = _loads(packed[:sums.numel()], packed[sums.numel():-1], int(packed[-1]), self.k)
            whole = _loads(torch.zeros_like(sums), torch.zeros_like(counts), 0, self.k)
            require(_kernels.phibal_loads_add(byref(whole), byref(partial)))  # with the limbs' carries
            return whole
        return _loads(sums, counts, tokens, self.k)

    def _so_far(self, layer: int) -> _library.Loads:
        return _loads(self.step_sums[layer], self.step_counts[layer], int(self.step_tokens[layer]), self.k)

    def _add(self, layer: int, now: _library.Loads) -> None:
        so_far = self._so_far(layer)
        require(_kernels.phibal_loads_add(byref(so_far), byref(now)))
        self.step_tokens[layer] = so_far.tokens

    def _counted(self) -> list:
        """The layers counted in this step."""
        layers = self.step_tokens.nonzero().flatten().tolist()
        if not layers:
            raise RuntimeError("step(): no token was counted since the last step; loss() or count() counts them, in train() mode")
        return layers

    def discard(self) -> None:
        """Forgets what was counted since the last step: after a dry run, or a batch that is skipped."""
        for buffer in (self.step_sums, self.step_counts, self.step_tokens):
            buffer.zero_()

    def attach(self, optimizer: torch.optim.Optimizer):
        """Calls step() after each optimizer.step(). Returns the handle, whose remove() undoes it."""
        return optimizer.register_step_post_hook(lambda *_: self.step())


def _recomputing() -> bool:
    """In the backward pass: activation checkpointing, reentrant or not, runs a forward pass again."""
    return torch._C._current_graph_task_id() != -1


class _Loss(_Counter):
    """What the balancing losses have in common: alpha E sum_e P_e q_e, the price q a constant for the gradient."""

    def __init__(self, layers, experts, k, gate, alpha, process_group, gradients):
        super().__init__(layers, experts, k, gate, process_group)
        if not isinstance(alpha, (int, float)) or not 0 <= alpha < float("inf"):
            raise ValueError(f"alpha: expected a number of at least 0, got {alpha!r}")
        if gradients not in ("averaged", "summed"):
            raise ValueError(f"gradients: expected 'averaged' or 'summed', got {gradients!r}")
        self.alpha, self.gradients = alpha, gradients
        self._first_pass: Dict[tuple, tuple] = {}  # prices of this step, for forward passes that are run again

    def _price(self, layer: int, now: _library.Loads, counted: bool) -> Tuple[Tensor, Tensor]:
        """(value of the loss, centred price) of the micro-batch whose loads are `now`."""
        raise NotImplementedError

    @torch.compiler.disable
    def loss(self, layer: int, logits: Union[Tensor, Routing], mask: Optional[Tensor] = None, *,
             tokens: Optional[int] = None) -> Tensor:
        """The balancing loss of a micro-batch in MoE layer `layer`, to be added to the loss inside the forward pass.

        logits: float32 [T, E], or what `router` returned, which saves routing again. mask: bool or uint8 [T], 0 is
        padding. Its value is that of the loads of all ranks. tokens: the unmasked tokens of the whole global batch;
        the losses of micro-batches then add up to that of the batch (weights T_a / T), whatever their padding.
        Without it each is a mean over its own tokens, as one averages a task's loss over micro-batches.

        In train() the tokens are counted, once: not again where activation checkpointing runs the forward pass a second
        time. In eval() nothing is counted, and m stays as it is."""
        layer, r = self._layer(layer), self._routing(logits, mask)
        ranks, again = self._ranks(), _recomputing()
        key = (layer, r.sums.numpy().tobytes(), r.counts.numpy().tobytes(), int(r.tokens)) if self.training else ()
        if again and self.training:
            if key not in self._first_pass:
                raise RuntimeError("the forward pass was run again in the backward pass with other logits than at first, "
                                   "or after step(); checkpointing has to preserve the random state")
            value, price, total = self._first_pass[key]
        else:
            now = self._global(r)
            total = now.tokens
            if self.training:
                self._add(layer, now)
            if total:
                value, price = self._price(layer, now, self.training)
            else:
                value, price = torch.zeros(()), torch.zeros(self.experts)
            if self.training:
                self._first_pass[key] = value, price, total
        whole = total if tokens is None else int(tokens)
        if whole < total:
            raise ValueError(f"tokens: expected those of the global batch, at least this micro-batch's {total}, got {whole}")
        if tokens is not None and total:
            value = (value.double() * (total / whole)).float()
        scale = self.alpha * self.experts / max(whole, 1) * (ranks if self.gradients == "averaged" else 1)
        return _priced(r.logits, r.mask, value, price, scale, GATES[self.gate])

    def discard(self) -> None:
        super().discard()
        self._first_pass.clear()


class _Attach(torch.autograd.Function):
    @staticmethod
    def forward(ctx, loss, *tensors):
        ctx.save_for_backward(loss)
        ctx.set_materialize_grads(False)
        outputs = tuple(t.view_as(t) for t in tensors)
        ctx.mark_non_differentiable(*(t for t in outputs if not t.is_floating_point()))
        return outputs

    @staticmethod
    def backward(ctx, *gradients):
        return torch.ones_like(ctx.saved_tensors[0]), *gradients


def attach_loss(loss: Tensor, *tensors: Tensor) -> tuple:
    """The tensors, unchanged. The backward pass that reaches one of them goes through `loss` too, with gradient 1, once:
    for a loss that is made deep in a model whose training loop cannot add it. It gets no part in what the loop does to
    its own loss (a mean over micro-batches, loss scaling), so that `loss` has to bring the factor along."""
    return _Attach.apply(loss, *tensors) if loss.requires_grad else tensors


class PhiBalancer(_Loss):
    """phi-balancing (M1)-(M6), (L1), (L2): m is a moving average of each layer's loads, its price q = grad phi(m), and
    alpha E sum_e P_e q_e is added to the loss. m changes once a step, at step(), after any number of micro-batches;
    micro-batch a is priced by the loads of the step so far (M5).

    layers, experts: L MoE layers of E experts. k, gate: as in `router`. potential, parameter: of the catalogue (SPEC.md, section P).
    alpha: coefficient of the loss. eta: weight of the new loads, in (0, 1], rounded to binary32. track: 'probability'
    (P, R6) or 'frequency' (f, R7). start: m before the first step, 'zero', 'uniform' or 'zero-corrected' (M6).
    process_group: whose ranks share one global batch; the default group where None, and one rank where there is none.
    gradients: 'averaged' where ranks average their gradients (DDP, FSDP), 'summed' where they add them.

    m: the state, float32 [L, E], in state_dict with the counts of an unfinished step. From equal logits it has the same
    bits as in `phibal train`, on any number of ranks, threads and micro-batches."""

    def __init__(self, layers: int, experts: int, k: int, *, potential: str = "negentropy", parameter: Optional[float] = None,
                 alpha: float = 0.01, eta: float = 0.65, track: str = "probability", start: str = "zero",
                 gate: str = "topk-softmax", process_group=None, gradients: str = "averaged"):
        super().__init__(layers, experts, k, gate, alpha, process_group, gradients)
        if not isinstance(eta, (int, float)) or not 0 < eta <= 1:
            raise ValueError(f"eta: expected a number in (0, 1], got {eta!r}")
        for name, value, known in (("track", track, ("probability", "frequency")),
                                   ("start", start, ("zero", "uniform", "zero-corrected"))):
            if value not in known:
                raise ValueError(f"{name}: expected one of {', '.join(known)}, got {value!r}")
        self.potential = _library.find_potential(potential, parameter)
        self.eta, self.track, self.start = eta, track, start
        self.register_buffer("m", torch.full((layers, experts), 1.0 / experts if start == "uniform" else 0.0))
        self.register_buffer("steps", torch.zeros((), dtype=torch.int64))

    def _tracked(self, layer: int, loads: _library.Loads) -> Tensor:
        """(M5) (1 - eta) m + eta (the loads of the step so far)."""
        mean, state = torch.empty(self.experts), torch.empty(self.experts)
        read = _kernels.phibal_loads_mean if self.track == "probability" else _kernels.phibal_loads_frequency
        require(read(byref(loads), mean.data_ptr()))
        require(_kernels.phibal_ema(self.experts, self.eta, self.m[layer].data_ptr(), mean.data_ptr(), state.data_ptr()))
        return state

    def _price(self, layer, now, counted):
        state = self._tracked(layer, self._so_far(layer)) if counted else self.m[layer].clone()
        updates = int(self.steps) + counted
        if self.start == "zero-corrected" and updates:  # (M6); by squaring, as the trainer does it
            kept, factor, t = 1.0, 1.0 - c_float(self.eta).value, updates
            while t:
                if t % 2:
                    kept *= factor
                factor, t = factor * factor, t // 2
            state = (state.double() / (1.0 - kept)).float()
        mean, price, value = torch.empty(self.experts), torch.empty(self.experts), torch.empty(())
        require(_kernels.phibal_loads_mean(byref(now), mean.data_ptr()))
        require(_kernels.phibal_price_centred(byref(self.potential), self.experts, state.data_ptr(), price.data_ptr(), None))
        loss = c_float()
        require(_kernels.phibal_balance_loss(byref(self.potential), self.experts, self.alpha, mean.data_ptr(),
                                             state.data_ptr(), byref(loss)))
        value.fill_(loss.value)
        return value, price

    @torch.no_grad()
    def step(self) -> None:
        """m <- (1 - eta) m + eta (loads of the step) (M1), for each layer that counted tokens; once an optimizer step."""
        for layer in self._counted():
            self.m[layer] = self._tracked(layer, self._so_far(layer))
        self.steps += 1
        self.discard()

    def extra_repr(self) -> str:
        name = _kernels.phibal_potential_describe(self.potential.id).contents.name.decode()
        return f"{self.layers} layers, {self.k} of {self.experts} experts, {name}, alpha={self.alpha}, eta={self.eta}"


class SwitchLoss(_Loss):
    """(L3) alpha E sum_e f_e P_e. frequencies: f of the 'micro-batch', or of the 'global' batch so far.
    Arguments and loss() as in PhiBalancer; step() ends a global batch."""

    def __init__(self, layers: int, experts: int, k: int, *, alpha: float = 0.01, frequencies: str = "micro-batch",
                 gate: str = "topk-softmax", process_group=None, gradients: str = "averaged"):
        super().__init__(layers, experts, k, gate, alpha, process_group, gradients)
        if frequencies not in ("micro-batch", "global"):
            raise ValueError(f"frequencies: expected 'micro-batch' or 'global', got {frequencies!r}")
        self.frequencies = frequencies

    def _price(self, layer, now, counted):
        mean, f, price, value = (torch.empty(n) for n in (self.experts, self.experts, self.experts, ()))
        require(_kernels.phibal_loads_mean(byref(now), mean.data_ptr()))
        counted_in = self._so_far(layer) if counted and self.frequencies == "global" else now
        require(_kernels.phibal_loads_frequency(byref(counted_in), f.data_ptr()))
        require(_kernels.phibal_frequency_centred(self.experts, f.data_ptr(), price.data_ptr()))
        loss = c_float()
        require(_kernels.phibal_switch_loss(self.experts, self.alpha, f.data_ptr(), mean.data_ptr(), byref(loss)))
        value.fill_(loss.value)
        return value, price

    def step(self) -> None:
        """Ends the global batch."""
        self._counted()
        self.discard()


class LossFree(_Counter):
    """(L6) Loss-free balancing: a bias for the selection alone, moved by `rate` against the counts after each step.

    In the forward pass of layer l: r = router(logits, k, gate=..., bias=balancer.bias[l]); balancer.count(l, r).
    bias: float32 [L, E], in state_dict."""

    def __init__(self, layers: int, experts: int, k: int, *, rate: float = 0.001, gate: str = "sigmoid", process_group=None):
        super().__init__(layers, experts, k, gate, process_group)
        if not isinstance(rate, (int, float)) or not 0 <= rate < float("inf"):
            raise ValueError(f"rate: expected a number of at least 0, got {rate!r}")
        self.rate = rate
        self.register_buffer("bias", torch.zeros(layers, experts))

    @torch.compiler.disable
    def count(self, layer: int, routing: Routing) -> None:
        """Counts the routes of a micro-batch: in train() only, and not where a forward pass is run again."""
        layer, r = self._layer(layer), self._routing(routing, None)
        if self.training and not _recomputing():
            self._add(layer, self._global(r))

    @torch.no_grad()
    def step(self) -> None:
        """b_e <- b_e + rate sgn(mean(n) - n_e), n the counts of all micro-batches and ranks of the step."""
        for layer in self._counted():
            require(_kernels.phibal_loss_free_update(self.experts, self.rate, self.step_counts[layer].data_ptr(),
                                                     self.bias[layer].data_ptr()))
        self.discard()

