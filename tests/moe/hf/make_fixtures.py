#!/usr/bin/env python3
"""Makes the fixtures of tests/moe/hf/test_huggingface.c: a small random checkpoint of each architecture,
and what transformers computes with it.

    python3 tests/moe/hf/make_fixtures.py [NAME...]

needs torch and transformers 5 (PyPI). Each folder holds config.json and the weights, bfloat16 as in
published checkpoints, and expected.safetensors:

    tokens, targets  I32 [B, S]   the next token; of the last one -1, which is ignored
    logits           F32 [B, S, V]
    loss             F32 []       mean cross-entropy of the other targets
    router.L.logits, router.L.gates, router.L.experts   [B S, E], [B S, k], [B S, k], by falling gate
    gradient.NAME    F32          of the loss, under the checkpoint's own names

Two have adapters too, a folder of PEFT's files with logits and gradients with them.

Everything is computed in float32 from the bfloat16 weights. Shapes are chosen so that mistakes which
shapes would hide on other checkpoints change the numbers here; `traps` below says how."""

import json
import pathlib
import shutil
import sys

import torch
import transformers
from safetensors.torch import load_file, save_file
from transformers.models.deepseek_v2 import modeling_deepseek_v2 as v2
from transformers.models.llama import modeling_llama as llama

FOLDER = pathlib.Path(__file__).parent / "fixtures"
BATCH, SEQUENCE, VOCABULARY = 2, 12, 40

common = dict(vocab_size=VOCABULARY, hidden_size=16, num_hidden_layers=2, num_attention_heads=4,
              max_position_embeddings=64, hidden_act="silu", attention_dropout=0.0,
              bos_token_id=0, eos_token_id=1, pad_token_id=None)
latent = dict(kv_lora_rank=8, qk_nope_head_dim=6, qk_rope_head_dim=4, v_head_dim=5,
              num_key_value_heads=4)
yarn = dict(rope_type="yarn", rope_theta=100.0, factor=8.0, original_max_position_embeddings=16,
            beta_fast=2.0, beta_slow=0.25, mscale=0.707, mscale_all_dim=0.707)
deepseek = dict(n_routed_experts=8, num_experts_per_tok=3, n_shared_experts=2,
                moe_intermediate_size=6, intermediate_size=20, first_k_dense_replace=1)

# traps: what each fixture makes visible.
#   olmoe        square experts (hidden = intermediate), which a transposed reading passes the shapes;
#                norms over whole projections; gates that are not renormalised
#   mixtral      2 intermediate = hidden; grouped keys; two shards
#   qwen3_moe    head_dim other than hidden / heads; norms of heads; a tied embedding; YaRN whose
#                magnitude is in the cosines
#   deepseek     halves are turned together, unlike in V2 and V3
#   deepseek_v2  YaRN with mscale^2 in the scores; neighbours are turned together; gates scaled and
#                not renormalised; no query latent
#   deepseek_v2_groups  the best groups by their best expert; a query latent
#   moonlight    the latent norm's epsilon is not rms_norm_eps; gates renormalised and scaled
#   kimi_k2      YaRN whose ramp has no width; DeepSeek-V3 by another name
#   dots1        norms of heads beside a sigmoid router
#   glm4_moe     the first half of a head is turned; biases before the norms of heads; groups
#   glm4_moe_lite  two dense layers by a list; the latent norm's epsilon
#   qwen2_moe    gated shared experts, twice as wide as an expert; biases
#   minimax_m2   two thirds of a head are turned; norms over whole projections; a bias elsewhere
#   flex_olmo    norms of what a branch adds
#   gpt_oss      a window shorter than the text in layers 0 and 2; projections on both sides of the
#                limit; sinks as large as scores; YaRN whose ramp is not of whole pairs
#   ernie4_5_moe  probabilities plus a bias select; a least divisor above some tokens' sums of gates; neighbours
#                are turned together
#   deepseek_v3  groups by their two best; biases so negative that masking other groups with 0 would
#                choose from them
sizes = {
    "olmoe": (transformers.OlmoeConfig, dict(
        **common, intermediate_size=16, num_key_value_heads=2, num_experts=4, num_experts_per_tok=2,
        rms_norm_eps=1e-5, rope_parameters=dict(rope_type="default", rope_theta=50.0))),
    "mixtral": (transformers.MixtralConfig, dict(
        **common, intermediate_size=8, num_key_value_heads=2, num_local_experts=4,
        num_experts_per_tok=2, rope_parameters=dict(rope_type="default", rope_theta=50.0))),
    "qwen3_moe": (transformers.Qwen3MoeConfig, dict(
        **{**common, "num_hidden_layers": 3}, head_dim=6, num_key_value_heads=2,
        intermediate_size=20, moe_intermediate_size=6, num_experts=6, num_experts_per_tok=2,
        norm_topk_prob=True, decoder_sparse_step=1, mlp_only_layers=[0], tie_word_embeddings=True,
        rope_parameters=dict(rope_type="yarn", rope_theta=100.0, factor=4.0,
                             original_max_position_embeddings=16, beta_fast=2.0, beta_slow=0.25))),
    "deepseek": (transformers.DeepseekV2Config, dict(
        **{**common, **latent}, **deepseek, q_lora_rank=None, topk_method="greedy",
        rope_parameters=dict(rope_type="default", rope_theta=50.0))),
    "deepseek_v2": (transformers.DeepseekV2Config, dict(
        **{**common, **latent}, **deepseek, q_lora_rank=None, topk_method="greedy",
        routed_scaling_factor=2.5, rope_parameters=yarn)),
    "deepseek_v2_groups": (transformers.DeepseekV2Config, dict(
        **{**common, **latent}, **deepseek, q_lora_rank=10, topk_method="group_limited_greedy",
        n_group=4, topk_group=2, routed_scaling_factor=1.5,
        rope_parameters=dict(rope_type="default", rope_theta=50.0))),
    "moonlight": (transformers.DeepseekV3Config, dict(
        **{**common, **latent}, **deepseek, q_lora_rank=None, n_group=1, topk_group=1,
        norm_topk_prob=True, routed_scaling_factor=2.446, rms_norm_eps=0.02, num_mtp_layers=0,
        rope_parameters=dict(rope_type="default", rope_theta=50.0))),
    "deepseek_v3": (transformers.DeepseekV3Config, dict(
        **{**common, **latent}, **deepseek, q_lora_rank=10, n_group=4, topk_group=2,
        norm_topk_prob=True, routed_scaling_factor=2.5, num_mtp_layers=0, rope_parameters=yarn)),
    "kimi_k2": (transformers.DeepseekV3Config, dict(
        **{**common, **latent}, **deepseek, q_lora_rank=10, n_group=1, topk_group=1,
        norm_topk_prob=True, routed_scaling_factor=2.827, num_mtp_layers=0,
        rope_parameters={**yarn, "beta_fast": 1.0, "beta_slow": 1.0, "mscale": 1.0,
                         "mscale_all_dim": 1.0})),
    "dots1": (transformers.Dots1Config, dict(
        **common, **deepseek, num_key_value_heads=2, n_group=1, topk_group=1, norm_topk_prob=True,
        routed_scaling_factor=2.5, sliding_window=None,
        rope_parameters=dict(rope_type="default", rope_theta=50.0))),
    "glm4_moe": (transformers.Glm4MoeConfig, dict(
        **common, **deepseek, num_key_value_heads=2, head_dim=8, attention_bias=True,
        use_qk_norm=True, n_group=4, topk_group=2, norm_topk_prob=True, routed_scaling_factor=2.5,
        num_mtp_layers=0, rope_parameters=dict(rope_type="default", rope_theta=50.0,
                                               partial_rotary_factor=0.5))),
    "glm4_moe_lite": (transformers.Glm4MoeLiteConfig, dict(
        **{**common, **latent, "num_hidden_layers": 3},
        **{k: v for k, v in deepseek.items() if k != "first_k_dense_replace"}, q_lora_rank=10,
        mlp_layer_types=["dense", "dense", "sparse"], n_group=1, topk_group=1, norm_topk_prob=True,
        routed_scaling_factor=1.8, rms_norm_eps=0.02,
        rope_parameters=dict(rope_type="default", rope_theta=50.0))),
    "qwen2_moe": (transformers.Qwen2MoeConfig, dict(
        **common, num_key_value_heads=2, intermediate_size=20, moe_intermediate_size=6,
        shared_expert_intermediate_size=12, num_experts=6, num_experts_per_tok=2, qkv_bias=True,
        rope_parameters=dict(rope_type="default", rope_theta=50.0))),
    "minimax_m2": (transformers.MiniMaxM2Config, dict(
        **common, num_key_value_heads=2, head_dim=6, intermediate_size=8, num_local_experts=6,
        num_experts_per_tok=2, rope_parameters=dict(rope_type="default", rope_theta=50.0,
                                                    partial_rotary_factor=2 / 3))),
    "flex_olmo": (transformers.FlexOlmoConfig, dict(
        **common, num_key_value_heads=2, intermediate_size=8, num_experts=5, num_experts_per_tok=3,
        rope_parameters=dict(rope_type="default", rope_theta=50.0))),
    "ernie4_5_moe": (transformers.Ernie4_5_MoeConfig, dict(
        **{**common, "num_hidden_layers": 3}, num_key_value_heads=2, intermediate_size=20,
        moe_intermediate_size=6, moe_num_experts=6, moe_k=2, moe_num_shared_experts=2,
        moe_layer_start_index=1, moe_norm_min=0.5, tie_word_embeddings=False,
        rope_parameters=dict(rope_type="default", rope_theta=50.0))),
    "gpt_oss": (transformers.GptOssConfig, dict(
        **{**common, "num_hidden_layers": 3}, head_dim=6, num_key_value_heads=2,
        intermediate_size=8, num_local_experts=6, num_experts_per_tok=2, sliding_window=5,
        swiglu_limit=1.5,
        rope_parameters=dict(rope_type="yarn", rope_theta=100.0, factor=8.0, truncate=False,
                             original_max_position_embeddings=16, beta_fast=2.0, beta_slow=0.25))),
}


def config_of(name, **other):
    kind, values = sizes[name]
    return kind(**{**values, **other})


models = {name: config_of(name) for name in sizes}


def load(folder, **options):
    """from_pretrained; Kimi K2 by the name that transformers has for it."""
    kind = json.loads((pathlib.Path(folder) / "config.json").read_text())["model_type"]
    if kind == "kimi_k2":
        options["config"] = transformers.DeepseekV3Config.from_pretrained(folder)
        options["config"].model_type = "deepseek_v3"
    return transformers.AutoModelForCausalLM.from_pretrained(
        folder, dtype=torch.float32, attn_implementation="eager", experts_implementation="eager",
        **options)


def deepseek_moe_model(config):
    """DeepSeek-MoE-16B, which transformers knows only by code that comes with the checkpoint: LLaMA's
    attention with DeepSeek's experts, put together from transformers' own modules."""
    attention = llama.LlamaConfig(**common, num_key_value_heads=4, rms_norm_eps=config.rms_norm_eps,
                                  rope_parameters=config.rope_parameters)
    attention._attn_implementation = "eager"
    model = v2.DeepseekV2ForCausalLM(config)
    model.model.rotary_emb = llama.LlamaRotaryEmbedding(attention)
    for i, layer in enumerate(model.model.layers):
        layer.self_attn = llama.LlamaAttention(attention, i)
    return model


def deepseek_moe_config(config):
    """As the published config.json of DeepSeek-MoE-16B has it, with the sizes of this one."""
    own = {key: getattr(config, key) for key in ("first_k_dense_replace", "n_shared_experts", "num_experts_per_tok",
                                                 "rms_norm_eps", "tie_word_embeddings")}
    return own | dict(architectures=["DeepseekForCausalLM"], attention_bias=False, attention_dropout=0.0,
                aux_loss_alpha=0.001, bos_token_id=0, eos_token_id=1,
                hidden_act="silu", hidden_size=16, initializer_range=0.02, intermediate_size=20,
                max_position_embeddings=64, model_type="deepseek", moe_intermediate_size=6,
                moe_layer_freq=1, n_routed_experts=8, norm_topk_prob=False,
                num_attention_heads=4, num_hidden_layers=2,
                num_key_value_heads=4, pretraining_tp=1, rope_scaling=None,
                rope_theta=50.0, scoring_func="softmax", seq_aux=True,
                torch_dtype="bfloat16", use_cache=True, vocab_size=VOCABULARY)


def randomise(model, name, generator):
    """Weights of a size at which every part of the model matters, rounded to bfloat16."""
    def normal(tensor, spread, mean=0.0):
        values = mean + spread * torch.randn(tensor.shape, generator=generator)
        tensor.data.copy_(values.bfloat16().float())
    for key, p in model.named_parameters():
        if key.endswith("norm.weight"):
            normal(p, 0.2, 1.0)
        elif "embed_tokens" in key:
            normal(p, 0.8)
        elif key.endswith(("mlp.gate.weight", "mlp.router.weight")):
            normal(p, 0.6)
        elif key.endswith("e_score_correction_bias"):
            normal(p, 0.2)
        elif key.endswith("sinks") and not model.config.attention_bias:
            p.data.fill_(-64.0)  # beside which every score is large
        elif key.endswith(("sinks", "bias")):
            normal(p, 0.5)
        elif name == "gpt_oss" and "experts" in key:
            normal(p, 1.2 / p.shape[1] ** 0.5)  # which is transposed
        else:
            normal(p, 1.2 / p.shape[-1] ** 0.5)
    for key, b in model.named_buffers():
        if key.endswith("e_score_correction_bias"):
            normal(b, 0.2, -1.0 if name == "deepseek_v3" else 0.0)


def margins(scores, k):
    best = scores.sort(dim=-1, descending=True).values
    return (best[:, k - 1] - best[:, k]).min().item()


def least_margin(name, config, stats, model):
    """The smallest gap that decides about an expert or a group: choices must not hang on rounding.
    Of deepseek_v3 also asserts that masking with 0 in place of -infinity would choose others."""
    k, least, zero_differs, by_logits = config.num_experts_per_tok, 1.0, False, name != "ernie4_5_moe"
    groups = getattr(config, "n_group", None) or 1
    for i, (logits, _, experts) in stats.items():
        mlp = model.model.layers[i].mlp
        bias = next((getattr(at, "e_score_correction_bias") for at in (mlp, getattr(mlp, "gate", None))
                     if hasattr(at, "e_score_correction_bias")), None)
        scores = logits if bias is None else logits.sigmoid() + bias
        if name == "ernie4_5_moe":
            bias = mlp.gate.moe_statics.e_score_correction_bias
            scores = logits.softmax(-1) + bias
            by_logits |= bool(((logits + bias).topk(k, -1).indices.sort(-1).values != experts.sort(-1).values).any())
            sums = logits.softmax(-1).gather(1, experts).sum(-1)
            assert config.moe_norm_min < 0.1 or sums.min() < config.moe_norm_min < sums.max()
        if groups > 1 and getattr(config, "topk_method", "noaux") != "greedy":
            by_group = scores.view(scores.shape[0], groups, -1)
            best = by_group.max(-1).values if bias is None else by_group.topk(2, -1).values.sum(-1)
            least = min(least, margins(best, config.topk_group))
            mask = torch.zeros_like(best).scatter_(1, best.topk(config.topk_group, -1).indices, 1)
            mask = mask.bool().repeat_interleave(scores.shape[1] // groups, 1)
            zero = scores.masked_fill(~mask, 0.0).topk(k, -1).indices.sort(-1).values
            scores = scores.masked_fill(~mask, -1e9)
            zero_differs |= bool((zero != experts.sort(-1).values).any())
        least = min(least, margins(scores, k))
        assert (scores.topk(k, -1).indices.sort(-1).values == experts.sort(-1).values).all()
    assert zero_differs or name != "deepseek_v3" or groups == 1
    assert by_logits
    return least


def compute(model, tokens, targets):
    stats, hooks = {}, []
    for i, layer in enumerate(model.model.layers):
        router = getattr(layer.mlp, "gate", getattr(layer.mlp, "router", None))
        if router is not None:
            def keep(module, inputs, output, i=i):
                stats[i] = tuple(x.detach() for x in output)
            hooks.append(router.register_forward_hook(keep))
    model.zero_grad()
    logits = model(input_ids=tokens.long(), use_cache=False).logits
    loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten().long(),
                                             ignore_index=-1)
    loss.backward()
    for hook in hooks:
        hook.remove()
    return logits.detach(), loss.detach(), stats


def disk_gradients(gradients, saved):
    """Gradients under the names of the checkpoint: experts apart, whatever holds them in memory."""
    found = {}
    mixtral = any("block_sparse_moe" in key for key in saved)
    for key, grad in gradients.items():
        stem = key.rsplit(".", 1)[0]
        if key in saved:  # gpt-oss's, fused in its files too
            found[key] = grad
        elif key.endswith("experts.gate_up_proj"):
            for e, both in enumerate(grad):
                gate, up = both.chunk(2, dim=0)
                found[f"{stem}.{e}.{'w1' if mixtral else 'gate_proj'}.weight"] = gate
                found[f"{stem}.{e}.{'w3' if mixtral else 'up_proj'}.weight"] = up
        elif key.endswith("experts.down_proj"):
            for e, down in enumerate(grad):
                found[f"{stem}.{e}.{'w2' if mixtral else 'down_proj'}.weight"] = down
        else:
            found[key] = grad
    if mixtral:
        found = {key.replace(".mlp.", ".block_sparse_moe."): g for key, g in found.items()}
    return found


RANK, ALPHA = 2, 3
ADAPTED = {  # of these fixtures, what adapters are added to
    "qwen3_moe": ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"],
    "deepseek_v2": ["q_proj", "kv_b_proj", "down_proj", "mlp.gate"],
}


def make_adapters(model, name, tokens, targets, generator):
    """PEFT's files, and logits and gradients by the definition W + alpha / r B A, differentiated by
    torch. PEFT itself gives experts no adapters where transformers holds them fused."""
    adapters = {}

    def delta(module, weight):
        if not any(module.endswith("." + target) for target in ADAPTED[name]):
            return 0
        a, b = (torch.randn(shape, generator=generator) * 0.3
                for shape in ((RANK, weight.shape[1]), (weight.shape[0], RANK)))
        adapters[module] = a.requires_grad_(), b.requires_grad_()
        return ALPHA / RANK * b @ a

    changed = {}
    for key, p in model.named_parameters():
        weight, stem = p.detach(), key.rsplit(".", 1)[0]
        if key.endswith("experts.gate_up_proj"):
            half = weight.shape[1] // 2
            changed[key] = torch.stack([
                torch.cat([w[:half] + delta(f"{stem}.{e}.gate_proj", w[:half]),
                           w[half:] + delta(f"{stem}.{e}.up_proj", w[half:])])
                for e, w in enumerate(weight)])
        elif key.endswith("experts.down_proj"):
            changed[key] = torch.stack([w + delta(f"{stem}.{e}.down_proj", w)
                                        for e, w in enumerate(weight)])
        elif weight.dim() == 2:
            changed[key] = weight + delta(stem, weight)
    logits = torch.func.functional_call(model, changed, kwargs=dict(
        input_ids=tokens.long(), use_cache=False)).logits
    torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten().long(),
                                      ignore_index=-1).backward()
    files, expected = {}, {"logits": logits.detach()}
    for module, factors in adapters.items():
        for which, factor in zip("AB", factors):
            tensor = f"base_model.model.{module}.lora_{which}.weight"
            files[tensor] = factor.detach().contiguous()
            expected[f"gradient.{tensor}"] = factor.grad
    config = dict(peft_type="LORA", task_type="CAUSAL_LM", r=RANK, lora_alpha=ALPHA,
                  target_modules=ADAPTED[name], lora_dropout=0.0, bias="none",
                  fan_in_fan_out=False, inference_mode=True, base_model_name_or_path=name)
    folder = FOLDER / name / "adapters"
    folder.mkdir()
    (folder / "adapter_config.json").write_text(json.dumps(config, indent=2) + "\n")
    save_file(files, folder / "adapter_model.safetensors", metadata={"format": "pt"})
    save_file(expected, folder / "expected.safetensors")


def save(model, name, folder, config):
    """The checkpoint; returns its tensors."""
    if name == "deepseek":
        folder.mkdir(parents=True)
        state = {}
        for key, tensor in model.state_dict().items():
            stem = key.rsplit(".", 1)[0]
            if key.endswith("experts.gate_up_proj"):
                for e, both in enumerate(tensor):
                    state[f"{stem}.{e}.gate_proj.weight"], state[f"{stem}.{e}.up_proj.weight"] = (
                        x.contiguous() for x in both.chunk(2, dim=0))
            elif key.endswith("experts.down_proj"):
                state |= {f"{stem}.{e}.down_proj.weight": x for e, x in enumerate(tensor)}
            else:
                state[key] = tensor
        # Old checkpoints hold the frequencies too, which nobody reads.
        state |= {f"model.layers.{i}.self_attn.rotary_emb.inv_freq":
                  model.model.rotary_emb.inv_freq for i in range(2)}
        if model.config.tie_word_embeddings:
            del state["lm_head.weight"]
        save_file({key: x.bfloat16().contiguous().clone() for key, x in state.items()},
                  folder / "model.safetensors", metadata={"format": "pt"})
        (folder / "config.json").write_text(json.dumps(deepseek_moe_config(config), indent=2) + "\n")
    else:
        model.to(torch.bfloat16)
        for key, b in (*model.named_buffers(), *model.named_parameters()):
            if key.endswith("e_score_correction_bias"):
                b.data = b.data.float()
        model.save_pretrained(folder, max_shard_size="12KB" if name == "mixtral" else "1GB")
        (folder / "generation_config.json").unlink(missing_ok=True)
        if name == "kimi_k2":  # whose code comes with the checkpoint, and is DeepSeek-V3's
            path = folder / "config.json"
            path.write_text(path.read_text().replace('"deepseek_v3"', '"kimi_k2"'))
    saved = {}
    for file in folder.glob("*.safetensors"):
        saved |= load_file(file)
    return saved


def make(name, config=None, folder=None):
    """The fixture of a name, or a variation of it in another folder; returns the model, rounded."""
    config, whole = config or models[name], folder is None
    folder = folder or FOLDER / name
    config._attn_implementation = "eager"
    config._experts_implementation = "eager"
    for seed in range(1, 200):
        generator = torch.Generator().manual_seed(seed)
        model = (deepseek_moe_model(config) if name == "deepseek"
                 else transformers.AutoModelForCausalLM.from_config(config)).float().eval()
        randomise(model, name, generator)
        tokens = torch.randint(VOCABULARY, (BATCH, SEQUENCE), generator=generator,
                               dtype=torch.int32)
        targets = torch.cat([tokens[:, 1:], torch.full((BATCH, 1), -1, dtype=torch.int32)], 1)
        logits, loss, stats = compute(model, tokens, targets)
        try:
            margin = least_margin(name, config, stats, model)
        except AssertionError:
            continue
        if margin > 3e-4:
            break
    else:
        sys.exit(f"{name}: no seed decides all choices by a clear margin")
    expected = dict(tokens=tokens, targets=targets, logits=logits, loss=loss)
    for i, (router_logits, gates, experts) in stats.items():
        order = gates.sort(dim=-1, descending=True).indices
        expected[f"router.{i}.logits"] = router_logits
        expected[f"router.{i}.gates"] = gates.gather(1, order).contiguous()
        expected[f"router.{i}.experts"] = experts.gather(1, order).int().contiguous()
    gradients = {key: p.grad for key, p in model.named_parameters() if p.requires_grad}
    model.zero_grad()
    shutil.rmtree(folder, ignore_errors=True)
    if whole and name in ADAPTED:
        folder.mkdir(parents=True)
        make_adapters(model, name, tokens, targets, generator)
    saved = save(model, name, folder, config)
    found = disk_gradients(gradients, saved)
    missing = set(saved) ^ set(found)
    allowed = ("e_score_correction_bias", "inv_freq")  # which learn nothing
    assert all(key.endswith(allowed) for key in missing), missing
    for key, g in found.items():
        assert g.shape == saved[key].shape, key
        expected[f"gradient.{key}"] = g.float().contiguous().clone()
    save_file(expected, folder / "expected.safetensors")
    size = sum(f.stat().st_size for f in folder.rglob("*"))
    if whole:
        print(f"{name}: seed {seed}, margin {margin:.1e}, loss {loss:.4f}, {size >> 10} KiB")
    return model.float().eval()


if __name__ == "__main__":
    for wanted in sys.argv[1:] or models:
        make(wanted)
