"""What phi-balancing costs a training step in each framework, beside the framework's own balancing, in one process.

  PHIBAL_BUILD=build PYTHONPATH=python python3 bench/adapters.py [--threads 1] [--rounds 15]

transformers: forward and backward pass of a small OLMoE (4 layers, width 256, 64 experts of 128, k = 8, 2 x 512 tokens).
The other three: their router alone, width 512, 64 experts, k = 8, 4096 tokens, since their experts are kernels of a GPU:
the cost in ms is what a layer pays, the ratio is not that of a step. Balanced: 'none', the framework's 'own' (an auxiliary
loss; torchtitan 0.3 has a bias and no loss), and 'phi' by the adapter. Each runs once a round, in turn; printed are the
least processor times and the medians of the rounds' differences from 'none'. Packages that are missing are left out.
Status 77: none is there."""

import argparse
import copy
import os
import sys
import tempfile
import time
from statistics import median

from processor import processor

os.environ.setdefault("OMP_WAIT_POLICY", "passive")

try:
    import torch
    import torch.nn.functional as F

    import phibal
    import phibal.torch
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

WIDTH, EXPERTS, K, TOKENS = 512, 64, 8, 4096


def transformers_steps():
    """{name: a function that runs one forward and backward pass}"""
    import transformers as tf

    import phibal.transformers as adapter
    config = tf.OlmoeConfig(vocab_size=1024, hidden_size=256, intermediate_size=128, num_hidden_layers=4, num_attention_heads=4,
                            num_key_value_heads=4, num_experts=EXPERTS, num_experts_per_tok=K, pad_token_id=0, bos_token_id=1,
                            eos_token_id=2)
    ids, steps = torch.randint(3, 1024, (2, 512)), {}
    for name in ("none", "own", "phi"):
        model = tf.AutoModelForCausalLM.from_config(copy.deepcopy(config)).train()
        model.config.output_router_logits = name == "own"
        balancer = None
        if name == "phi":
            trainer = tf.Trainer(model=model, args=tf.TrainingArguments(output_dir=tempfile.gettempdir(), use_cpu=True, report_to=[]))
            balancer = adapter.balance(trainer, alpha=0.01)
            trainer.current_gradient_accumulation_steps = 1

        def step(model=model, balancer=balancer):
            model.zero_grad()
            model(input_ids=ids, labels=ids).loss.backward()
            if balancer:
                balancer.step()
        steps[name] = step
    return steps, tf.__version__


def router_steps(routers, call, end):
    """routers: {name: module}; call(module, x) -> a tensor that depends on the gates."""
    x, steps = torch.randn(TOKENS // 8, 8, WIDTH), {}
    for name, router in routers.items():
        torch.nn.init.normal_(router.weight if hasattr(router, "weight") else router.gate.weight, std=0.02)

        def step(name=name, router=router):
            router.zero_grad()
            call(router, x).backward()
            end[name]()
        steps[name] = step
    return steps


def megatron_steps():
    import megatron.core
    from megatron.core import parallel_state
    from megatron.core.process_groups_config import ProcessGroupCollection
    from megatron.core.transformer.moe.router import TopKRouter
    from megatron.core.transformer.transformer_config import TransformerConfig

    from phibal.megatron import PhiRouter
    store = tempfile.mkdtemp()
    torch.distributed.init_process_group("gloo", init_method=f"file://{store}/store", rank=0, world_size=1)
    parallel_state.initialize_model_parallel()
    groups = ProcessGroupCollection.use_mpu_process_groups()
    routers, end = {}, {}
    for name, loss in (("none", "none"), ("own", "aux_loss"), ("phi", "none")):
        config = TransformerConfig(num_layers=1, hidden_size=WIDTH, num_attention_heads=8, num_moe_experts=EXPERTS,
                                   moe_router_topk=K, moe_router_load_balancing_type=loss, moe_router_dtype="fp32",
                                   moe_aux_loss_coeff=0.01 if name == "own" else 0.0, use_cpu_initialization=True,
                                   add_bias_linear=False)

        class OnCpu(PhiRouter if name == "phi" else TopKRouter):  # Megatron's moves the weights to a GPU
            def gating(self, x):
                return F.linear(x.float(), self.weight.float())
        balancer = phibal.torch.PhiBalancer(1, EXPERTS, K, alpha=0.01)
        routers[name] = OnCpu(config, groups, balancer=balancer) if name == "phi" else OnCpu(config, groups)
        routers[name].set_layer_number(1)
        end[name] = balancer.step if name == "phi" else lambda: None
    return router_steps(routers, lambda r, x: r(x)[0].square().sum(), end), megatron.core.__version__


def olmo_core_steps():
    import importlib.metadata

    from olmo_core.nn.moe.router import MoELinearRouter
    from olmo_core.ops import attach_auxiliary_loss

    import phibal.olmo_core as adapter

    class Model(torch.nn.Module):
        def __init__(self, router):
            super().__init__()
            self.router, self.post_batch = router, lambda dry_run=False: router.post_batch(dry_run=dry_run)
    routers, end = {}, {}
    for name in ("none", "own", "phi"):
        routers[name] = MoELinearRouter(d_model=WIDTH, num_experts=EXPERTS, top_k=K, lb_loss_weight=0.01 if name == "own" else None)
        model = Model(routers[name])
        if name == "phi":
            adapter.balance(model, alpha=0.01)
        end[name] = model.post_batch

    def call(router, x):
        weights, _, _, loss = router(x)
        weights = weights.square().sum()
        return weights if loss is None else attach_auxiliary_loss(weights, loss)
    return router_steps(routers, call, end), importlib.metadata.version("ai2-olmo-core")


def torchtitan_steps():
    import importlib.metadata

    from torchtitan.models.common.linear import Linear
    from torchtitan.models.common.moe import TokenChoiceTopKRouter

    import phibal.torchtitan as adapter
    config = TokenChoiceTopKRouter.Config(num_experts=EXPERTS, top_k=K, score_func="softmax",
                                          gate=Linear.Config(in_features=WIDTH, out_features=EXPERTS, bias=False))
    routers, end = {name: config.build() for name in ("none", "phi")}, {"none": lambda: None}

    class Part(torch.nn.Module):
        def __init__(self, router):
            super().__init__()
            block, moe = torch.nn.Module(), torch.nn.Module()
            block.moe_enabled, block.moe, moe.router, moe.load_balance_coeff = True, moe, router, None
            self.layers = torch.nn.ModuleDict({"0": block})
    end["phi"] = adapter.balance([Part(routers["phi"])], None, alpha=0.01).step
    return router_steps(routers, lambda r, x: r(x)[0].square().sum(), end), importlib.metadata.version("torchtitan")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(1)
    lines, ran = [], 0
    for name, make in (("transformers", transformers_steps), ("megatron-core", megatron_steps),
                       ("olmo-core", olmo_core_steps), ("torchtitan", torchtitan_steps)):
        try:
            steps, version = make()
        except ImportError as error:
            lines.append(f"{name:<22} left out: {error}")
            continue
        for step in steps.values():
            step()
        times = []
        for _ in range(options.rounds):
            row = {}
            for kind, step in steps.items():
                start = time.process_time_ns()
                step()
                row[kind] = (time.process_time_ns() - start) * 1e-6
            times.append(row)
        cost = {kind: median(t[kind] - t["none"] for t in times) for kind in steps}
        own = f"{cost['own']:8.2f}" if "own" in cost else "       -"
        lines.append(f"{name + ' ' + version:<22} {min(t['none'] for t in times):8.1f} {own} {cost['phi']:8.2f}")
        ran += 1
    if not ran:
        print("skipped: no framework")
        return 77
    print(f"{processor()}; {options.threads} thread{'s' * (options.threads != 1)}; phibal: {phibal.instruction_set()}; PyTorch "
          f"{torch.__version__}: {torch.backends.cpu.get_cpu_capability()}\n\nforward and backward, ms of processor time\n"
          f"{'':<22} {'none':>8} {'+ own':>8} {'+ phi':>8}")
    print("\n".join(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
