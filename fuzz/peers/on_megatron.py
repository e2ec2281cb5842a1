"""megatron-core: its router, losses, group-limited and capacity-limited selection, on the CPU in one process over gloo.

`gating`, the product with the router's weights, is replaced by the identity, so that the logits are the case's, and
torch.cuda.current_device, which says where buffers are made, by the CPU. Fused kernels need a GPU and are not run."""
import os
import tempfile

import numpy as np
import torch
from torch.utils.checkpoint import checkpoint

from common import BiasPlayer, bug, counted, finite, ordered, peer, summed, tensors

from megatron.core import parallel_state
from megatron.core.process_groups_config import ProcessGroupCollection
from megatron.core.transformer.moe import moe_utils, router as routers
from megatron.core.transformer.transformer_config import TransformerConfig

NAME = "megatron-core"
torch.cuda.current_device = lambda: "cpu"
if not torch.distributed.is_initialized():
    torch.distributed.init_process_group("gloo", init_method=f"file://{os.path.join(tempfile.mkdtemp(), 'store')}", rank=0,
                                         world_size=1)
parallel_state.initialize_model_parallel()
GROUPS = ProcessGroupCollection.use_mpu_process_groups()


class Attached:
    """MoEAuxLossAutoScaler, which also writes down the losses that are attached for training."""
    losses = []

    @staticmethod
    def apply(activation, loss):
        Attached.losses.append(loss.detach().clone())
        return moe_utils.MoEAuxLossAutoScaler.apply(activation, loss)


routers.MoEAuxLossAutoScaler = Attached


class OnCpu(routers.TopKRouter):
    def gating(self, x):
        return x.float()


def make(E, k, mtp=False, **options):
    given = dict(num_layers=1, hidden_size=E, num_attention_heads=1, num_moe_experts=E, moe_router_topk=k, ffn_hidden_size=4,
                 moe_router_load_balancing_type="none", moe_aux_loss_coeff=0.0, use_cpu_initialization=True,
                 add_bias_linear=False, moe_router_dtype="fp32", moe_token_dispatcher_type="alltoall")
    given.update(options)
    return OnCpu(TransformerConfig(**given), GROUPS, is_mtp_layer=mtp).train()


def run(module, x, mask=None):
    """Logits [S, B, E] and a mask [S, B] or None; gates and map [S B, E]."""
    return module(x, None if mask is None or bool(mask.all()) else ~mask)


# Selection.

@peer(NAME, "router-forward", "TopKRouter", "--ties", "any", "--times", "128")
def router(p, i):
    x = tensors(i)
    sigmoid = p["gate"] == "sigmoid"
    if "mask" in x or len(x["logits"]) == 0 or ("bias" in x and not sigmoid) or \
            (p["k"] == 1 and p["gate"] != "probability"):  # at k = 1 sigmoid gates are not divided, and softmax gates are 1
        return None
    module = make(x["logits"].shape[1], p["k"], moe_router_score_function="sigmoid" if sigmoid else "softmax",
                  moe_router_pre_softmax=p["gate"] == "probability", moe_router_enable_expert_bias="bias" in x,
                  moe_router_topk_scaling_factor=p["scale"])
    score = x["logits"]
    if "bias" in x:
        module.expert_bias.copy_(x["bias"])
        score = torch.sigmoid(score) + x["bias"]
    gates, selected = run(module, x["logits"].unsqueeze(1))
    return dict(ordered(gates, selected, score), counts=selected.sum(0))


FUNCTIONS = {"sigmoid": "sigmoid", "sqrt-softplus": "sqrtsoftplus", "topk-softmax": "softmax", "probability": "softmax"}


def described(p, i, group_scores=("none", "share")):
    """Of described routers, topk_routing_with_score_function: groups by the k // g largest; with use_pre_softmax probabilities
    are selected (R2p), and are the gates."""
    x, back = counted(p, i)
    logits, k, gate = x["logits"], p["k"], p["gate"]
    T, E = logits.shape
    function, scored = FUNCTIONS[gate], gate in ("sigmoid", "sqrt-softplus")
    if scored:
        scores = torch.sigmoid(logits) if gate == "sigmoid" else torch.nn.functional.softplus(logits).sqrt()
    else:
        scores = logits.softmax(-1) if gate == "probability" else logits
    if T == 0 or p["group-score"] not in group_scores or p.get("zero-gates") == "left-out" or ("bias" in x and not scored):
        return None
    if scored and not (p["normalisation"] == "none" if k == 1 else summed(p, 1e-20, scores)):
        return None
    if gate == "topk-softmax" and k == 1 or p.get("score") == "probability" and gate != "probability" or \
            gate == "probability" and (p["normalisation"] == "sum" or p.get("score") != "probability"):
        return None
    groups = dict(num_groups=p["groups"], group_topk=p["active-groups"]) if p["groups"] else {}
    given = x["given"].long() if "given" in x else None
    gates, selected = moe_utils.topk_routing_with_score_function(
        logits, k, use_pre_softmax=gate == "probability", scaling_factor=p["scale"], score_function=function,
        expert_bias=x.get("bias"), precomputed_indices=given, **groups)
    out = {"experts": given, "gates": gates.gather(1, given)} if given is not None else \
        ordered(gates, selected, scores + x.get("bias", 0))
    return back(out["experts"], out["gates"])


peer(NAME, "described-router", "topk_routing_with_score_function (R2g), (R2p), (R5s), (R5e), given selections", "--ties", "any",
     "--times", "128")(described)


@bug(11, NAME, "group_limited_topk with k < groups scores every group 0, an empty sum of the k // groups largest",
     "[Megatron-LM #4667](https://github.com/NVIDIA/Megatron-LM/pull/4667), of the same score", "described-router",
     "cases whose groups are scored by their largest expert, fewer experts than groups are selected",
     "cases of the same score, as many experts as groups are selected, or up to twice as many")
def groups_k(p, i, broken):
    if not p["groups"] or (p["k"] >= p["active-groups"] if broken else p["k"] // p["active-groups"] != 1) or \
            (p["gate"] != "topk-softmax" and i["logits"].min() < -80):  # gates that this CPU flushes to 0
        return None
    return described(p, i, ("largest",))


@bug(10, NAME, "sinkhorn takes exp of logits without a shift: NaN for large ones, 0 / eps for small ones", "", "router-forward",
     "each token with all rotations of its logits: then no expert is crowded, and the right selection is the k largest",
     "the largest logit of each token is taken off first", options=("--ties", "any"))
def sinkhorn(p, i, broken):
    x = tensors(i)
    logits = x["logits"]
    T, E = logits.shape
    if p["gate"] == "sigmoid" or "mask" in x or "bias" in x or T == 0 or T * E * E > 1 << 20:
        return None
    module = make(E, p["k"], moe_router_load_balancing_type="sinkhorn", moe_router_pre_softmax=True)
    given = logits if broken else logits - logits.max(1, keepdim=True).values
    rotations = torch.stack([given.roll(n, 1) for n in range(E)], 1).reshape(T * E, 1, E)
    _, selected = run(module, rotations)
    return {"experts": ordered(logits, selected.view(T, E, E)[:, 0], logits)["experts"]}


def routes(experts, E):
    """The map [T, E] of routes [T, k], -1 for none, and where in [T, k] there is one."""
    rows, slots = (experts >= 0).nonzero(as_tuple=True)
    assigned = torch.zeros(len(experts), E, dtype=torch.bool)
    assigned[rows, experts[rows, slots].long()] = True
    return assigned, rows, slots


def dropped(p, i, policy, probabilities=None):
    """What apply_router_token_dropping keeps, where its limit, of all tokens and without a minimum, is the case's."""
    x = tensors(i)
    (T, k), E = x["experts"].shape, p["experts"]
    if T == 0 or T * E > 1 << 16 or moe_utils.get_capacity(T * k, E, p["factor"]) != p["limit"]:
        return None
    assigned, rows, slots = routes(x["experts"], E)
    own = probabilities is None
    if own:
        probabilities = torch.zeros(T, E)
        probabilities[rows, x["experts"][rows, slots].long()] = x["gates"][rows, slots]
    gates, kept = moe_utils.apply_router_token_dropping(probabilities * assigned, assigned, k, p["factor"], policy)
    chosen = x["experts"].clamp(min=0).long()
    here = kept.gather(1, chosen) & (x["experts"] >= 0)
    out = {"kept": torch.where(here, x["experts"], -1), "counts": assigned.sum(0), "dropped": (assigned & ~kept).sum(0)}
    return dict(out, gates=gates.gather(1, chosen) * here) if own else out


@peer(NAME, "capacity", "apply_router_token_dropping, policy \"probs\"", "--where", "policy=lowest-gate", "--where", "renormalise=0")
def drop_by_gate(p, i):
    return dropped(p, i, "probs") if p["policy"] == "lowest-gate" and not p["renormalise"] else None


@bug(8, NAME, "moe_token_drop_policy=\"position\" keeps arbitrary tokens: torch.topk among equal ones has no order", "",
     "capacity", "cases in the order of tokens", "the policy \"probs\" with probabilities that fall with the position", options=())
def drop_by_position(p, i, broken):
    T = len(i["experts"])
    return dropped(p, i, "position" if broken else "probs", torch.linspace(1, .5, max(T, 1))[:T].unsqueeze(1)) \
        if p["policy"] == "token-order" else None


# State: the loss-free bias.

class LossFree(BiasPlayer):
    """A trace's player: moe_router_enable_expert_bias, finalize_model_grads' update."""
    bias = "expert_bias"

    def __init__(self, method, k, ranks, start, rate, gate, reentrant=True, padding=True, **options):
        if gate != "sigmoid":
            raise NotImplementedError("expert bias needs sigmoid scores")
        self.module = make(len(start), k, moe_router_score_function="sigmoid", moe_router_enable_expert_bias=True,
                           moe_router_bias_update_rate=rate, **options)
        self.reentrant, self.padding, self.rate = reentrant, padding, rate
        self.module.expert_bias.copy_(torch.from_numpy(start))

    def run(self, x, mask):
        if not self.padding and not mask.all():
            raise NotImplementedError
        return run(self.module, x.unsqueeze(1), mask.unsqueeze(1))[0]

    def forward(self, logits, mask, rank):
        self.run(torch.from_numpy(logits).requires_grad_(), torch.from_numpy(mask) != 0).sum().backward()

    def checkpointed(self, logits, mask, rank):
        x, mask = torch.from_numpy(logits).requires_grad_(), torch.from_numpy(mask) != 0
        checkpoint(lambda y: self.run(y, mask), x, use_reentrant=self.reentrant).sum().backward()

    def step(self):
        m = self.module
        m.expert_bias.copy_(moe_utils.get_updated_expert_bias(m.local_tokens_per_expert, m.expert_bias, self.rate,
                                                              GROUPS.tp_dp_cp))
        m.local_tokens_per_expert.zero_()


peer(NAME, "trace", "TopKRouter's expert bias and get_updated_expert_bias")(LossFree.offered)


@bug(1, NAME, "expert bias with a padding mask: [N, E] & [N] raises; where N = E the counts are silently wrong",
     "[Megatron-LM #6111](https://github.com/NVIDIA/Megatron-LM/issues/6111)", "trace", "scripts of loss-free with padding",
     "scripts without")
def padded_bias(case, broken):
    return LossFree(padding=broken, **case) if case["method"] == "loss-free" else None


@bug(7, NAME, "expert bias with moe_pad_expert_input_to_capacity counts the padded map: every expert has its capacity", "",
     "trace", "scripts of loss-free without padding, capacity factor 1", "without a capacity")
def padded_to_capacity(case, broken):
    return LossFree(padding=False, **case, **(dict(moe_expert_capacity_factor=1.0, moe_pad_expert_input_to_capacity=True)
                                              if broken else {})) if case["method"] == "loss-free" else None


@bug(2, NAME, "a cast of the module makes the token counters bfloat16: they stop at 256, and the signs of the update are wrong",
     "[Megatron-LM #7081](https://github.com/NVIDIA/Megatron-LM/issues/7081)", "loss-free",
     "the case's counts are counted from routing maps after module.bfloat16(), in 64 micro-batches", "without the cast",
     options=())
def cast_counters(p, i, broken):
    counts = torch.from_numpy(i["counts"])
    E, T = len(counts), int(counts.max())
    if T * E > 1 << 23:
        return None
    module = make(E, 1, moe_router_score_function="sigmoid", moe_router_enable_expert_bias=True)
    if broken:
        module.bfloat16()
    module._maintain_float32_expert_bias()
    module.expert_bias.copy_(torch.from_numpy(i["bias"]))
    for part in range(64):
        rows = torch.arange(part * T // 64, (part + 1) * T // 64).unsqueeze(1)
        module._apply_expert_bias(rows < counts)
    return {"bias": moe_utils.get_updated_expert_bias(module.local_tokens_per_expert, module.expert_bias, p["rate"],
                                                      GROUPS.tp_dp_cp)}


# Losses.

class Losses:
    """A loss-trace's player: gradients are divided by the number of micro-batches, as the pipeline schedules divide them."""
    kinds = {"switch": "aux_loss", "switch-global": "global_aux_loss", "sequence": "seq_aux_loss", "z-loss": "none"}

    def __init__(self, method, k, ranks, start, gate, weights, sequences, alpha, padding="any", casting=True, mtp=False):
        if ranks > 1 or start is not None or weights != "micro-batches" or (method == "z-loss" and gate == "sigmoid"):
            raise NotImplementedError
        self.method, self.k, self.gate, self.sequences, self.alpha = method, k, gate, sequences, alpha
        self.padding, self.casting, self.mtp, self.module, self.done = padding, casting, mtp, None, []

    def made(self, E):
        if self.module is None:
            z = self.method == "z-loss"
            self.module = make(E, self.k, self.mtp, moe_router_load_balancing_type=self.kinds[self.method],
                               moe_aux_loss_coeff=0.0 if z else self.alpha, moe_z_loss_coeff=self.alpha if z else None,
                               moe_router_pre_softmax=self.k == 1,  # of the gates, which the losses do not have
                               moe_router_score_function="sigmoid" if self.gate == "sigmoid" else "softmax",
                               **(dict(mtp_num_layers=2, mtp_use_repeated_layer=True) if self.mtp else {}))
            if self.mtp:
                self.module.set_layer_number(1)
        return self.module

    def once(self, logits, mask, checkpointed=False):
        # Logits of padding that are no numbers are multiplied by 0, so NaN: another matter than how padding is counted.
        if not np.isfinite(logits).all() or (self.padding == "none" and not mask.all()) or \
                (self.padding == "some" and not mask.any()):
            raise NotImplementedError
        x = torch.from_numpy(logits).requires_grad_()
        T, E = x.shape
        B = self.sequences if self.method == "sequence" else 1
        module, real = self.made(E), (torch.from_numpy(mask) != 0).view(B, T // B).t()
        call = lambda y: run(module, y.view(B, T // B, E).transpose(0, 1).contiguous(), real)[0]
        del Attached.losses[:]
        for _ in range(2 if self.mtp else 1):  # a repeated layer is called for each depth
            (checkpoint(call, x, use_reentrant=True) if checkpointed else call(x)).mul(0).sum().backward()
        self.done.append((x.grad, float(sum(Attached.losses[:2 if self.mtp else 1]))))

    def forward(self, logits, mask, rank):
        self.once(logits, mask)

    def checkpointed(self, logits, mask, rank):
        self.once(logits, mask, True)

    def evaluate(self, logits, mask, rank):
        module = self.made(logits.shape[1]).eval()
        with torch.no_grad():
            run(module, torch.from_numpy(logits).unsqueeze(1), (torch.from_numpy(mask) != 0).unsqueeze(1))
        module.train()

    def cast(self):
        if self.casting and self.module is not None:
            self.module.bfloat16()

    def step(self):
        done, self.done = self.done, []
        self.module.reset_global_aux_loss_tracker()
        return {"gradients": [gradient / len(done) for gradient, _ in done], "losses": [loss for _, loss in done]}


@peer(NAME, "loss-trace", "aux_loss, global_aux_loss, seq_aux_loss and z-loss of TopKRouter", "--times", "128")
def losses(**case):
    return Losses(**case)


LOSS_TRACE = dict(options=("--times", "128"))


@bug(3, NAME, "a cast of the module under global_aux_loss: the step counter is bfloat16 and stays at 256", "", "loss-trace",
     "scripts of switch-global with casts", "casts left out", **LOSS_TRACE)
def cast_steps(case, broken):
    return Losses(casting=broken, padding="none", **case) if case["method"] == "switch-global" else None


@bug(4, NAME, "global_aux_loss divides the counts of all micro-batches by the tokens of the current one",
     "[Megatron-LM #7213](https://github.com/NVIDIA/Megatron-LM/issues/7213)", "loss-trace", "scripts of switch-global with padding",
     "scripts without padding", **LOSS_TRACE)
def current_tokens(case, broken):
    return Losses(casting=False, padding="some" if broken else "none", **case) if case["method"] == "switch-global" else None


@bug(5, NAME, "seq_aux_loss takes the mean number of valid tokens for each sequence's own", "", "loss-trace",
     "scripts of sequence with padding", "scripts without padding", **LOSS_TRACE)
def sequence_tokens(case, broken):
    return Losses(casting=False, padding="some" if broken else "none", **case) if case["method"] == "sequence" else None


@bug(6, NAME, "aux_loss of a micro-batch of padding alone is 0 / 0: NaN gradients", "", "loss-trace",
     "scripts of switch with padding", "those without a micro-batch of padding alone", **LOSS_TRACE)
def all_padding(case, broken):
    return Losses(casting=False, padding="any" if broken else "some", **case) if case["method"] == "switch" else None


@bug(9, NAME, "z-loss of a repeated multi-token-prediction layer is divided by its depths in the log, not in the gradient",
     "[Megatron-LM #6748](https://github.com/NVIDIA/Megatron-LM/issues/6748)", "loss-trace",
     "scripts of z-loss in a layer that is called for each of two depths", "called once, in an ordinary layer", **LOSS_TRACE)
def repeated_layer(case, broken):
    return Losses(casting=False, mtp=broken, **case) if case["method"] == "z-loss" else None


@bug(12, NAME, "pad_routing_map cannot reach a multiple above the number of tokens, and says nothing",
     "[Megatron-LM #6086](https://github.com/NVIDIA/Megatron-LM/issues/6086)", "", "",
     why="no operation of phibal pads an expert's rows to a multiple")
def pad_routing_map(p, i, broken):
    return None


# Other operations.

@peer(NAME, "permutation", "permute")
def permutation(p, i):
    x = tensors(i)
    if len(x["experts"]) == 0:
        return None
    assigned, _, _ = routes(x["experts"], p["experts"])
    out = moe_utils.permute(x["x"], assigned, num_out_tokens=int(assigned.sum()))
    return {"gathered": out[0]}


@peer(NAME, "quantile", "qb_dual_update, the order statistic before the one that it returns")
def quantiles(p, i):
    """(L7) takes the (T k / E)-th largest score less cut-off of an expert, and it takes the next."""
    x = tensors(i)
    T, E = x["logits"].shape
    if p["gate"] == "sigmoid" or "mask" in x or "bias" in x or p["micro-batches"] != 1 or T == 0 or T * p["k"] % E:
        return None
    _, beta = moe_utils.qb_dual_update(x["logits"], p["k"], torch.zeros(E))
    alpha = x["logits"].sort(dim=1, descending=True).values[:, p["k"]:p["k"] + 1]
    column = (x["logits"] - alpha).sort(dim=0, descending=True).values
    m = T * p["k"] // E
    if m == T or not torch.equal(column[m], beta):
        raise AssertionError("not the number after the T k / E largest")
    return {"quantile": -column[m - 1]}
