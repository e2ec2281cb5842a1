"""phi-balancing in a training script of Hugging Face transformers: one line after the Trainer.

    trainer = Trainer(model=model, args=args, train_dataset=dataset)
    balancer = phibal.transformers.balance(trainer, alpha=0.01)      # replaces the model's auxiliary loss
    trainer.train()

The model itself says which of its modules are routers and which of their outputs are logits: its class's
`_can_record_outputs["router_logits"]`. A hook on each computes the balancing loss of its micro-batch from these logits and
attaches it to the router's outputs, so that it works under gradient checkpointing and in any subclass of Trainer."""
from __future__ import annotations

import os
import weakref
from typing import Optional

import torch
import transformers
from safetensors.torch import load_file, save_file

from .torch import PhiBalancer, attach_loss

#: Scores of the model families that were read: the function whose normalised values are P (R1), (R1s), and whether the
#: k largest logits are selected, with neither a bias nor groups of experts.
ROUTERS = {
    "deepseek_v2": ("softmax", False), "deepseek_v3": ("sigmoid", False), "dots1": ("sigmoid", False),
    "ernie4_5_moe": ("softmax", False), "flex_olmo": ("softmax", True), "glm4_moe": ("sigmoid", False),
    "gpt_oss": ("softmax", True), "granitemoe": ("softmax", True), "hunyuan_v1_moe": ("softmax", True),
    "jamba": ("softmax", True), "minimax": ("softmax", True), "mixtral": ("softmax", True), "olmoe": ("softmax", True),
    "qwen2_moe": ("softmax", True), "qwen3_moe": ("softmax", True),
}

STATE = "phibal.safetensors"


def _recorders(model: torch.nn.Module) -> list:
    """[(class of the routers, index of the logits among its outputs)]"""
    found = []
    for module in model.modules():
        recorded = (getattr(type(module), "_can_record_outputs", None) or {}).get("router_logits")
        for one in recorded if isinstance(recorded, (list, tuple)) else [recorded] if recorded is not None else []:
            if isinstance(one, type):
                one = transformers.utils.output_capturing.OutputRecorder(one)
            if (one.target_class, one.index) not in found:
                found.append((one.target_class, one.index))
    return found


def balance(trainer: transformers.Trainer, *, scores: Optional[str] = None, experts: Optional[int] = None,
            k: Optional[int] = None, **options) -> PhiBalancer:
    """Balances the routers of trainer.model, and returns the PhiBalancer, whose m has a row for each MoE layer.

    options: PhiBalancer's: potential, parameter, alpha, eta, track, start. scores: 'softmax' or 'sigmoid', what the model
    makes of its logits; known for the families in ROUTERS. experts, k: where the router does not say them.
    Called again, it replaces what it attached before. Padding is taken from a two-dimensional `attention_mask`. Each
    micro-batch weighs 1 / (accumulation steps), as in Trainer's mean of micro-batches. Checkpoints of the Trainer get a
    file phibal.safetensors, which is read on resumption.
    Refused: loss scaling (fp16) and several devices in one process, which would leave the attached loss out; and
    track='frequency' where the model selects by a bias or in groups, since f would not be the model's."""
    model, args = trainer.model, trainer.args
    if args.fp16:
        raise ValueError("fp16: Trainer would scale its own loss, and not the balancing loss; bf16 needs no loss scaling")
    if args.n_gpu > 1:
        raise ValueError("expected one device a process, got torch.nn.DataParallel; start it with torchrun")
    routers = [(module, index) for cls, index in _recorders(model) for module in model.modules()
               if isinstance(module, cls)]
    if not routers:
        raise TypeError(f"{type(model).__name__}: none of its modules is a router; _can_record_outputs has no router_logits")
    config = model.config.get_text_config()
    kind, plain = ROUTERS.get(config.model_type, (None, False))
    if (scores or kind) not in ("softmax", "sigmoid"):
        raise ValueError(f"scores: expected 'softmax' or 'sigmoid' for model_type {config.model_type}, which is not in ROUTERS")
    if options.get("track") == "frequency" and not plain:
        raise ValueError(f"track: {config.model_type} may select by a bias or in groups; expected 'probability'")
    sizes = {(experts or getattr(m, "num_experts", None), k or getattr(m, "top_k", None)) for m, _ in routers}
    if len(sizes) != 1 or None in next(iter(sizes)):
        raise ValueError(f"expected one number of experts and one k in all routers, got {sorted(sizes, key=str)}")
    E, k = sizes.pop()
    balancer = PhiBalancer(len(routers), E, k, gate="sigmoid" if (scores or kind) == "sigmoid" else "topk-softmax", **options)

    for one in (model.config, config):  # the model's own auxiliary loss
        if getattr(one, "output_router_logits", False):
            one.output_router_logits = False
    mask = [None]

    def remember(module, positional, named):
        given = named.get("attention_mask")
        mask[0] = given.reshape(-1) != 0 if isinstance(given, torch.Tensor) and given.dim() == 2 else None

    def attach(layer, index):
        def hook(router, _, outputs):
            if not router.training:
                return None
            logits = outputs[index].reshape(-1, E).float()
            loss = balancer.loss(layer, logits.contiguous(), mask[0])
            return attach_loss(loss / trainer.current_gradient_accumulation_steps, *outputs)
        return hook

    for former in _hooks.pop(model, []):
        former.remove()
    _hooks[model] = [model.register_forward_pre_hook(remember, with_kwargs=True)]
    _hooks[model] += [router.register_forward_hook(attach(layer, index)) for layer, (router, index) in enumerate(routers)]
    trainer.remove_callback(_Callback)
    trainer.add_callback(_Callback(balancer))
    return balancer


_hooks = weakref.WeakKeyDictionary()  # model -> its hooks, which another call replaces


class _Callback(transformers.TrainerCallback):
    """m moves after each optimizer step, and is in the Trainer's checkpoints."""

    def __init__(self, balancer: PhiBalancer):
        self.balancer = balancer

    def on_optimizer_step(self, args, state, control, **_):
        self.balancer.step()

    def on_save(self, args, state, control, **_):
        if state.is_world_process_zero:
            save_file(self.balancer.state_dict(), os.path.join(args.output_dir, f"checkpoint-{state.global_step}", STATE))

    def on_train_begin(self, args, state, control, **_):
        if state.global_step:
            path = os.path.join(args.output_dir, f"checkpoint-{state.global_step}", STATE)
            if not os.path.exists(path):
                raise FileNotFoundError(f"{path}: m of the run that is resumed; without it prices would start anew")
            self.balancer.load_state_dict(load_file(path))
