"""The adapters, each with the real package on the CPU. For each: some steps of training with the adapter give m and the
weights of a loop written out here, up to rounding: hooks of its own collect the logits, and PhiBalancer's loss is added by
hand. Padding, micro-batches, evaluation passes and checkpointing are part of it. And balance improves where it is trained
for. What a package cannot do without a GPU is replaced, and said where it is."""
import copy
import functools
import os
import tempfile
import unittest

from needs import need, run

need("numpy", "torch")
import torch
import torch.nn.functional as F
from torch import nn

import phibal.torch as pt


def have(module):
    try:
        __import__(module)
        return True
    except ImportError:
        return False


def imbalance(balancer):
    """MaxVio of each layer's m, as a share."""
    m = balancer.m / balancer.m.sum(-1, keepdim=True)
    return float((m * m.shape[-1]).max() - 1)


def same_weights(case, one, other):
    for (name, a), (_, b) in zip(one.named_parameters(), other.named_parameters()):
        case.assertLess(float((a - b).abs().max()), 2e-6, name)


class Attach(unittest.TestCase):
    def test_gradient(self):
        """Once, with factor 1, through whichever output is used, and only there."""
        for used in ([0], [1], [0, 1]):
            w, x = torch.tensor(3.0, requires_grad=True), torch.tensor([1.0, 2.0], requires_grad=True)
            outputs = pt.attach_loss(w * w, x * 1, x * 2, torch.tensor([1, 2]))
            self.assertEqual([o.tolist() for o in outputs], [[1, 2], [2, 4], [1, 2]])
            self.assertFalse(outputs[2].requires_grad)
            sum(5 * outputs[i].sum() for i in used).backward()
            self.assertEqual(float(w.grad), 6)
            self.assertEqual(x.grad.tolist(), [5.0 * sum(i + 1 for i in used)] * 2)
        with torch.no_grad():
            self.assertEqual(float(pt.attach_loss(torch.tensor(1.0), x)[0].sum()), 3)


@unittest.skipUnless(have("transformers") and have("accelerate"), "needs transformers and accelerate")
class Transformers(unittest.TestCase):
    def configs(self):
        import transformers as tf
        small = dict(vocab_size=64, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=2,
                     num_experts_per_tok=2, bos_token_id=1, eos_token_id=2, pad_token_id=0)
        yield tf.MixtralConfig(**small, intermediate_size=32, num_local_experts=8, output_router_logits=True)
        yield tf.OlmoeConfig(**small, intermediate_size=32, num_experts=8)
        yield tf.Qwen3MoeConfig(**small, intermediate_size=32, moe_intermediate_size=32, head_dim=16, num_experts=8)
        yield tf.GptOssConfig(**small, intermediate_size=32, head_dim=16, num_local_experts=8, layer_types=["full_attention"] * 2)
        for cls in (tf.DeepseekV3Config, tf.DeepseekV2Config):
            yield cls(**small, intermediate_size=32, moe_intermediate_size=32, n_routed_experts=8, n_group=2, topk_group=1,
                      first_k_dense_replace=1, q_lora_rank=None, kv_lora_rank=8, qk_nope_head_dim=8, qk_rope_head_dim=8,
                      v_head_dim=8)

    class Data(torch.utils.data.IterableDataset):
        """Sequences of 12 tokens, some of them padded."""

        def __iter__(self):
            random = torch.Generator().manual_seed(3)
            for _ in range(1000):
                ids, mask = torch.randint(3, 64, (12,), generator=random), torch.ones(12, dtype=torch.int64)
                mask[12 - int(torch.randint(0, 6, (1,), generator=random)):] = 0
                yield {"input_ids": ids, "attention_mask": mask, "labels": ids.masked_fill(mask == 0, -100)}

    def trainer(self, model, folder, **options):
        import transformers as tf
        options = dict(max_steps=3, gradient_accumulation_steps=2, save_strategy="no") | options
        args = tf.TrainingArguments(output_dir=folder, per_device_train_batch_size=4, report_to=[], use_cpu=True,
                                    lr_scheduler_type="constant", disable_tqdm=True, max_grad_norm=0, **options)
        data = {"eval_dataset": list(self.Data())[:8]}
        return tf.Trainer(model=model, args=args, train_dataset=self.Data(),
                          optimizers=(torch.optim.SGD(model.parameters(), lr=0.5), None), **data)

    def by_hand(self, model, router_class, gate, steps, alpha, micro_batches=2):
        routers = [m for m in model.modules() if type(m).__name__ == router_class]
        E = routers[0].weight.shape[0]
        balancer, logits = pt.PhiBalancer(len(routers), E, 2, gate=gate, alpha=alpha), []
        for r in routers:
            def collect(module, inputs, _):
                bias = getattr(module, "bias", None)
                logits.append(F.linear(inputs[0].reshape(-1, inputs[0].shape[-1]), module.weight, bias))
            r.register_forward_hook(collect)
        optimizer, rows = torch.optim.SGD(model.parameters(), lr=0.5), list(self.Data())
        for step in range(steps):
            micro = [rows[4 * i:4 * i + 4] for i in range(micro_batches * step, micro_batches * step + micro_batches)]
            batches = [{key: torch.stack([r[key] for r in part]) for key in part[0]} for part in micro]
            targets = sum(int((b["labels"][:, 1:] != -100).sum()) for b in batches)
            for b in batches:
                logits.clear()
                out = model(input_ids=b["input_ids"], attention_mask=b["attention_mask"]).logits[:, :-1]
                loss = F.cross_entropy(out.reshape(-1, 64), b["labels"][:, 1:].reshape(-1), reduction="sum") / targets
                for layer, x in enumerate(logits):
                    loss = loss + balancer.loss(layer, x, b["attention_mask"].reshape(-1) != 0) / micro_batches
                loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            balancer.step()
        return balancer

    def test_training(self):
        import transformers as tf

        import phibal.transformers as adapter
        for config in self.configs():
            for checkpointing in (None, {"use_reentrant": False}, {"use_reentrant": True}):
                with self.subTest(config.model_type, checkpointing=checkpointing), tempfile.TemporaryDirectory() as folder:
                    torch.manual_seed(1)
                    config.output_router_logits = config.model_type == "mixtral"
                    model = tf.AutoModelForCausalLM.from_config(copy.deepcopy(config))
                    model.config.use_cache = False
                    config.output_router_logits = False
                    plain = tf.AutoModelForCausalLM.from_config(copy.deepcopy(config))
                    plain.load_state_dict(model.state_dict())
                    options = {"eval_strategy": "steps", "eval_steps": 1}  # evaluation between steps counts nothing
                    if checkpointing:
                        options |= {"gradient_checkpointing": True, "gradient_checkpointing_kwargs": checkpointing}
                    trainer = self.trainer(model, folder, **options)
                    adapter.balance(trainer, alpha=0.3)
                    balancer = adapter.balance(trainer, alpha=0.1)  # replaces the first
                    trainer.train()
                    (cls, _), = set(adapter._recorders(plain))
                    plain.train()
                    other = self.by_hand(plain, cls.__name__, balancer.gate, 3, 0.1)
                    self.assertEqual(int(balancer.steps), 3)
                    self.assertTrue(torch.allclose(balancer.m, other.m, rtol=1e-6, atol=0))
                    same_weights(self, model, plain)

    def test_balance_improves_and_resumes(self):
        import transformers as tf

        import phibal.transformers as adapter

        def train(alpha, steps, folder, resume=None, **options):
            torch.manual_seed(2)
            # Trainer 5.24 resumes without the weights of fused experts, so that the model has to come from the checkpoint.
            model = tf.AutoModelForCausalLM.from_pretrained(resume) if resume else \
                tf.AutoModelForCausalLM.from_config(next(self.configs()))
            with torch.no_grad():
                for layer in [] if resume else model.model.layers:
                    layer.mlp.gate.weight[0] += 0.5 * torch.randn(32).sign()
                    layer.mlp.gate.weight[1] = layer.mlp.gate.weight[0]
            trainer = self.trainer(model, folder, max_steps=steps, **options)
            balancer = adapter.balance(trainer, alpha=alpha)
            trainer.train(resume_from_checkpoint=resume)
            return model, balancer

        with tempfile.TemporaryDirectory() as folder:
            model, balanced = train(0.1, 60, folder, save_strategy="steps", save_steps=20)
            self.assertLess(imbalance(balanced), 0.5 * imbalance(train(0.0, 60, folder)[1]))
            resumed, again = train(0.1, 60, folder, resume=os.path.join(folder, "checkpoint-40"))
            self.assertTrue(torch.equal(again.m, balanced.m))
            same_weights(self, model, resumed)
            os.remove(os.path.join(folder, "checkpoint-20", adapter.STATE))
            with self.assertRaisesRegex(FileNotFoundError, "prices would start anew"):
                train(0.1, 60, folder, resume=os.path.join(folder, "checkpoint-20"))

    def test_refused(self):
        import transformers as tf

        import phibal.transformers as adapter
        with tempfile.TemporaryDirectory() as folder:
            dense = self.trainer(tf.AutoModelForCausalLM.from_config(tf.LlamaConfig(
                vocab_size=64, hidden_size=32, intermediate_size=32, num_hidden_layers=1, num_attention_heads=2)), folder)
            with self.assertRaisesRegex(TypeError, "none of its modules is a router"):
                adapter.balance(dense)
            *_, v3, _ = self.configs()
            trainer = self.trainer(tf.AutoModelForCausalLM.from_config(v3), folder)
            with self.assertRaisesRegex(ValueError, "in groups"):
                adapter.balance(trainer, track="frequency")
            trainer.model.config.model_type = "unread"
            with self.assertRaisesRegex(ValueError, "softmax.*sigmoid.*unread"):
                adapter.balance(trainer)
            trainer.args.fp16 = True
            with self.assertRaisesRegex(ValueError, "loss scaling"):
                adapter.balance(trainer, scores="sigmoid")


class Blocks(unittest.TestCase):
    """What the other three have in common: a model of two blocks, x + moe(x), and a task whose loss is a mean square."""

    def data(self, steps, micro_batches, width):
        random = torch.Generator().manual_seed(4)
        return torch.randn(steps, micro_batches, 3, 8, width, generator=random) + torch.randn(width, generator=random)

    def loop(self, model, steps, forward, begin=lambda: None, end=lambda: None, optimizer=None, loss_of=None):
        """Steps of two micro-batches, and an evaluation pass after each. begin: before each pass; end: before each update."""
        optimizer = optimizer or torch.optim.SGD(model.parameters(), lr=0.05)
        for batch in self.data(steps, 2, 32):
            for x in batch:
                begin()
                loss = forward(x).square().mean() / 2
                (loss if loss_of is None else loss_of(loss)).backward()
            end()
            optimizer.step()
            optimizer.zero_grad()
            with torch.no_grad():
                model.eval()(batch[0])
                model.train()

    def by_hand(self, model, routers, logits_of, gate, end=lambda: None):
        """Three steps with alpha 0.1; a micro-batch weighs 1/2."""
        balancer, logits = pt.PhiBalancer(2, 8, 2, gate=gate, alpha=0.1), []

        def collect(module, inputs, _):
            if module.training:
                logits.append(logits_of(module, inputs[0]))
        for r in routers:
            r.register_forward_hook(collect)

        def loss_of(loss):
            for layer, z in enumerate(logits):
                loss = loss + balancer.loss(layer, z.reshape(-1, 8)) / 2
            return loss

        def step():
            end()
            balancer.step()
        self.loop(model, 3, model, logits.clear, step, loss_of=loss_of)
        return balancer

    def same(self, model, balancer, plain, other):
        self.assertTrue(torch.allclose(balancer.m, other.m, rtol=1e-6, atol=0))
        same_weights(self, model, plain)

    def improves(self, train):
        """train(alpha) gives the balancer of 40 steps."""
        self.assertLess(imbalance(train(1.0)), 0.5 * imbalance(train(0.0)))


@unittest.skipUnless(have("megatron.core.transformer.moe.router"), "needs megatron-core")
class Megatron(Blocks):
    """Real: TopKRouter, MoELayer with its allgather dispatcher and SequentialMLP, MoEAuxLossAutoScaler. Replaced: `gating`,
    which moves weights to a GPU, by the same product; the schedule of pipelines, by a loop that does what it does."""

    @classmethod
    def setUpClass(cls):
        from megatron.core import parallel_state
        from megatron.core.process_groups_config import ProcessGroupCollection
        cls.folder = tempfile.TemporaryDirectory()
        torch.distributed.init_process_group("gloo", init_method=f"file://{cls.folder.name}/store", rank=0, world_size=1)
        parallel_state.initialize_model_parallel()
        cls.groups = ProcessGroupCollection.use_mpu_process_groups()

    @classmethod
    def tearDownClass(cls):
        from megatron.core import parallel_state
        parallel_state.destroy_model_parallel()
        torch.distributed.destroy_process_group()
        cls.folder.cleanup()

    def model(self, balancer, router, **options):
        from megatron.core.models.gpt.gpt_layer_specs import get_gpt_layer_local_spec
        from megatron.core.transformer.moe.moe_layer import MoELayer
        from megatron.core.transformer.transformer_config import TransformerConfig
        torch.manual_seed(5)
        config = TransformerConfig(num_layers=2, hidden_size=32, num_attention_heads=2, num_moe_experts=8, moe_router_topk=2,
                                   moe_router_load_balancing_type="none", moe_aux_loss_coeff=0.0, ffn_hidden_size=32,
                                   use_cpu_initialization=True, add_bias_linear=False, moe_router_dtype="fp32",
                                   moe_token_dispatcher_type="allgather", **options)

        class OnCpu(router):
            def gating(self, x):
                return F.linear(x.float(), self.weight.float())

        submodules = copy.copy(get_gpt_layer_local_spec(num_experts=8, moe_grouped_gemm=False).submodules.mlp.submodules)
        submodules.router = functools.partial(OnCpu, balancer=balancer) if balancer else OnCpu

        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.moe = nn.ModuleList(MoELayer(config, submodules=submodules, layer_number=i + 1,
                                                  pg_collection=Megatron.groups) for i in range(2))
                for i, layer in enumerate(self.moe):
                    layer.set_layer_number(i + 1)

            def forward(self, x):
                for layer in self.moe:
                    x = x + layer(x)[0]
                return x

        model = Model()
        for p in model.parameters():
            nn.init.normal_(p, std=0.1)
        return model.train(), config

    def train(self, model, balancer, steps):
        from megatron.core.transformer.moe.moe_utils import MoEAuxLossAutoScaler

        import phibal.megatron as adapter
        finalize = adapter.end_of_batch(balancer, lambda model, tokens=None: "finalized")
        self.loop(model, steps, model,  # as the schedule does, for two micro-batches
                  begin=lambda: MoEAuxLossAutoScaler.set_loss_scale(torch.tensor(1 / 2)),
                  end=lambda: self.assertEqual(finalize([model], tokens=1), "finalized"))

    def test_training(self):
        from megatron.core.transformer.moe.router import TopKRouter

        import phibal.megatron as adapter
        for gate, options in (("topk-softmax", {}), ("sigmoid", {"moe_router_score_function": "sigmoid"}),
                              ("sigmoid", {"moe_router_score_function": "sigmoid", "moe_router_num_groups": 4,
                                           "moe_router_group_topk": 2})):
            with self.subTest(gate, **options):
                balancer = pt.PhiBalancer(2, 8, 2, gate=gate, alpha=0.1)
                model, _ = self.model(balancer, adapter.PhiRouter, **options)
                self.train(model, balancer, 3)
                plain, _ = self.model(None, TopKRouter, **options)
                other = self.by_hand(plain, [layer.router for layer in plain.moe], lambda r, x: F.linear(x, r.weight), gate)
                self.same(model, balancer, plain, other)

    def test_balance_improves(self):
        import phibal.megatron as adapter

        def train(alpha):
            balancer = pt.PhiBalancer(2, 8, 2, alpha=alpha)
            self.train(self.model(balancer, adapter.PhiRouter)[0], balancer, 40)
            return balancer
        self.improves(train)

    def test_padding_and_token_loss(self):
        """A padded token counts in nothing; with calculate_per_token_loss the loss is multiplied by the number of tokens."""
        from megatron.core.transformer.moe.moe_utils import MoEAuxLossAutoScaler

        import phibal.megatron as adapter
        MoEAuxLossAutoScaler.set_loss_scale(torch.tensor(1.0))
        x, padding, gradient = self.data(1, 1, 32)[0, 0], torch.zeros(3, 8, dtype=torch.bool), []
        padding[1, 2:] = True
        for per_token in (False, True):
            balancer = pt.PhiBalancer(2, 8, 2, alpha=0.1)
            model, _ = self.model(balancer, adapter.PhiRouter, calculate_per_token_loss=per_token)
            router = model.moe[0].router
            probs, _ = router(x, padding.clone())
            (0 * probs.sum()).backward()
            self.assertEqual(balancer.step_tokens.tolist(), [18, 0])
            gradient.append(router.weight.grad)
        self.assertTrue(torch.allclose(gradient[1], 18 * gradient[0], rtol=1e-5, atol=1e-9))
        self.assertGreater(float(gradient[0].abs().max()), 0)

    def test_refused(self):
        import phibal.megatron as adapter
        good = pt.PhiBalancer(2, 8, 2)
        for balancer, options, message in (
                (pt.PhiBalancer(2, 4, 2), {}, "2 of 8 experts, got 2 of 4"),
                (pt.PhiBalancer(2, 8, 2, gate="sigmoid"), {}, "softmax scores, got sigmoid"),
                (pt.PhiBalancer(2, 8, 2, track="frequency"), {"moe_router_num_groups": 4, "moe_router_group_topk": 2}, "in groups")):
            with self.assertRaisesRegex(ValueError, message):
                self.model(balancer, adapter.PhiRouter, **options)
        model, config = self.model(good, adapter.PhiRouter)
        config.moe_router_load_balancing_type, config.moe_aux_loss_coeff = "aux_loss", 0.01
        with self.assertRaisesRegex(ValueError, "expected 'none'"):
            adapter.PhiRouter(config, self.groups, balancer=good)


@unittest.skipUnless(have("olmo_core.nn.moe.router"), "needs ai2-olmo-core")
class OlmoCore(Blocks):
    """Real: MoETransformer's blocks' MoE with MoELinearRouter, attach_auxiliary_loss, post_batch. Replaced: the experts,
    whose permutation is a Triton kernel, by the same SwiGLU in a loop; attention and embedding, by nothing."""

    def model(self, **options):
        from olmo_core.nn.moe import MoEConfig, MoERouterConfig
        torch.manual_seed(6)
        router = MoERouterConfig(top_k=2, **{k: options.pop(k) for k in ("bias_gamma", "gating_function") if k in options})
        config = MoEConfig(num_experts=8, hidden_size=32, router=router, **{"lb_loss_weight": None, "capacity_factor": 4.0} | options)

        class Experts(nn.Module):
            def __init__(self):
                super().__init__()
                self.w = nn.Parameter(torch.empty(8, 32, 32))

            def forward(self, x, weights, indices, sizes):
                y = torch.einsum("bsd,edh->bseh", x, self.w)
                return (weights.unsqueeze(-1) * torch.take_along_dim(y, indices.unsqueeze(-1), 2)).sum(2)

        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.moe = nn.ModuleList(config.build(32, init_device="cpu") for _ in range(2))
                for layer in self.moe:
                    layer.experts = Experts()

            def forward(self, x, **named):
                for layer in self.moe:
                    x = x + layer(x, **named)
                return x

            def post_batch(self, dry_run=False):
                for layer in self.moe:
                    layer.post_batch(dry_run=dry_run)

        model = Model()
        for p in model.parameters():
            nn.init.normal_(p, std=0.1)
        return model.train()

    def train(self, model, steps):
        whole = torch.tensor(2 * 3 * 8)
        self.loop(model, steps, lambda x: model(x, loss_div_factor=whole), end=model.post_batch)

    def test_training(self):
        from olmo_core.nn.moe import MoERouterGatingFunction

        import phibal.olmo_core as adapter
        for gate, options in (("topk-softmax", {}), ("sigmoid", {"gating_function": MoERouterGatingFunction.sigmoid}),
                              ("topk-softmax", {"bias_gamma": 0.01})):
            with self.subTest(gate, **options):
                model, plain = self.model(**options), self.model(**options)
                balancer = adapter.balance(model, alpha=0.1)
                for x in self.data(1, 2, 32)[0]:  # a dry run counts nothing
                    model(x)
                model.post_batch(dry_run=True)
                self.train(model, 3)
                other = self.by_hand(plain, [layer.router for layer in plain.moe],
                                     lambda r, x: F.linear(x, r.weight.view(8, 32)), gate, plain.post_batch)
                self.same(model, balancer, plain, other)

    def test_balance_improves(self):
        import phibal.olmo_core as adapter

        def train(alpha):
            model = self.model()
            balancer = adapter.balance(model, alpha=alpha)
            self.train(model, 40)
            return balancer
        self.improves(train)

    def test_refused(self):
        import phibal.olmo_core as adapter
        with self.assertRaisesRegex(ValueError, "lb_loss_weight: expected None"):
            adapter.balance(self.model(lb_loss_weight=0.01))
        with self.assertRaisesRegex(ValueError, "beside bias_gamma"):
            adapter.balance(self.model(bias_gamma=0.01), track="frequency")
        with self.assertRaisesRegex(TypeError, "MoERouter"):
            adapter.balance(nn.Linear(2, 2))


@unittest.skipUnless(have("torchtitan.models.common.moe"), "needs torchtitan")
class Torchtitan(Blocks):
    """Real: MoE with TokenChoiceTopKRouter, RoutedExperts and GroupedExperts. Replaced: attention, by nothing; the trainer,
    by a loop that adds up the micro-batches' losses as it does."""

    def model(self, coefficient=None, **options):
        from torchtitan.models.common.linear import Linear
        from torchtitan.models.common.moe import GroupedExperts, MoE, RoutedExperts, TokenChoiceTopKRouter
        from torchtitan.models.common.token_dispatcher import LocalTokenDispatcher
        torch.manual_seed(7)
        options = {"score_func": "softmax"} | options
        config = MoE.Config(
            num_experts=8, load_balance_coeff=coefficient,
            routed_experts=RoutedExperts.Config(inner_experts=GroupedExperts.Config(dim=32, hidden_dim=32, num_experts=8),
                                                token_dispatcher=LocalTokenDispatcher.Config(num_experts=8, top_k=2)),
            router=TokenChoiceTopKRouter.Config(num_experts=8, top_k=2, gate=Linear.Config(in_features=32, out_features=8,
                                                                                           bias=False), **options))

        class Block(nn.Module):
            def __init__(self):
                super().__init__()
                self.moe_enabled, self.moe = True, config.build()

            def forward(self, x):
                return x + self.moe(x)

        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.layers = nn.ModuleDict({"0": Block(), "1": Block()})

            def forward(self, x):
                for block in self.layers.values():
                    x = block(x)
                return x

        model = Model()
        for p in model.parameters():
            nn.init.normal_(p, std=0.1)
        return model.train()

    def train(self, model, alpha, steps):
        import phibal.torchtitan as adapter
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        balancer = adapter.balance([model], optimizer, alpha=alpha, micro_batches=2)
        self.loop(model, steps, model, optimizer=optimizer)
        return balancer

    def test_training(self):
        for gate, options in (("topk-softmax", {}), ("sigmoid", {"score_func": "sigmoid", "route_norm": True}),
                              ("sigmoid", {"score_func": "sigmoid", "num_expert_groups": 4, "num_limited_groups": 2})):
            with self.subTest(gate, **options):
                model, plain = self.model(**options), self.model(**options)
                balancer = self.train(model, 0.1, 3)
                other = self.by_hand(plain, [block.moe.router for block in plain.layers.values()],
                                     lambda r, x: F.linear(x, r.gate.weight), gate)
                self.same(model, balancer, plain, other)

    def test_balance_improves(self):
        self.improves(lambda alpha: self.train(self.model(), alpha, 40))

    def test_refused(self):
        import phibal.torchtitan as adapter
        with self.assertRaisesRegex(ValueError, "load_balance_coeff: expected None"):
            adapter.balance([self.model(coefficient=0.001)], None)
        with self.assertRaisesRegex(ValueError, "in groups"):
            adapter.balance([self.model(num_expert_groups=4, num_limited_groups=2)], None, track="frequency")


if __name__ == "__main__":
    run()
