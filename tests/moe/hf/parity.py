#!/usr/bin/env python3
"""The table of moe/hf/README.md: phibal beside transformers, family by family.

usage: parity.py HUGGINGFACE_PARITY PHIBAL README [--write]

Of each family that phibal has, the fixture's configuration and three unusual ones, each with random weights
(make_fixtures.py). A row has what phibal is off from transformers, in parts of the largest number of its kind: logits of
a position, gates of a token, gradients of a tensor; the routes with the same expert; the tokens of greedy
generation that are the same, of transformers' generate() and of phibal's; and the tensors that `phibal export` writes with the
same name and bits, also from a checkpoint in which transformers has fused the experts of a layer. A second table has the architectures that phibal does not have. --write puts the rows into
README; without it, README has to have a row of each configuration and none else, and all numbers have to be within the
bounds in `row` below.

Without torch or transformers 5 only the families in README are compared with those of HUGGINGFACE_PARITY."""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

program, phibal, readme = sys.argv[1:4]
readme = pathlib.Path(readme)
write = sys.argv[4:] == ["--write"]
HEAD = ("| family | configuration | logits | gates | gradients | experts | greedy | export |\n"
        "| --- | --- | --- | --- | --- | --- | --- | --- |\n")
LACKS = "| architecture | `model_type` | what phibal does not have for it |\n| --- | --- | --- |\n"

linear = dict(rope_type="linear", rope_theta=50.0, factor=3.0)
llama3 = dict(rope_type="llama3", rope_theta=100.0, factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
              original_max_position_embeddings=16)
yarn = dict(rope_type="yarn", rope_theta=100.0, factor=4.0, original_max_position_embeddings=16, beta_fast=2.0,
            beta_slow=0.25)


def part(factor, rope=dict(rope_type="default", rope_theta=50.0)):
    return dict(rope_parameters={**rope, "partial_rotary_factor": factor})


# Of each model_type what differs from its fixture.
variants = {
    "olmoe": {
        "normalised gates, one key head": dict(norm_topk_prob=True, num_key_value_heads=1),
        "tied head, linear rope": dict(tie_word_embeddings=True, rope_parameters=linear),
        "3 of 4 experts, epsilon 0.02": dict(num_experts_per_tok=3, rms_norm_eps=0.02)},
    "mixtral": {
        "heads of width 6, YaRN": dict(head_dim=6, rope_parameters=yarn),
        "8 experts, llama3 rope": dict(num_local_experts=8, rope_parameters=llama3),
        "one key head, 3 of 4 experts, tied head": dict(num_key_value_heads=1, num_experts_per_tok=3,
                                                        tie_word_embeddings=True)},
    "qwen3_moe": {
        "gates as they are, llama3 rope": dict(norm_topk_prob=False, rope_parameters=llama3),
        "two dense layers, head of its own": dict(mlp_only_layers=[0, 1], tie_word_embeddings=False),
        "one expert, one key head": dict(norm_topk_prob=False, num_experts_per_tok=1, num_key_value_heads=1)},
    "deepseek": {
        "one shared expert": dict(n_shared_experts=1),
        "no dense layer, 2 of 8 experts": dict(first_k_dense_replace=0, num_experts_per_tok=2),
        "tied head, epsilon 0.02": dict(tie_word_embeddings=True, rms_norm_eps=0.02)},
    "deepseek_v2": {
        "groups, a query latent": dict(q_lora_rank=10, topk_method="group_limited_greedy", n_group=4, topk_group=2),
        "one shared expert, linear rope": dict(n_shared_experts=1, rope_parameters=linear),
        "no dense layer, tied head": dict(first_k_dense_replace=0, tie_word_embeddings=True)},
    "deepseek_v3": {
        "no groups, no query latent": dict(n_group=1, topk_group=1, q_lora_rank=None),
        "halves turned together": dict(rope_interleave=False),
        "2 groups, one shared expert, llama3 rope": dict(n_group=2, topk_group=1, n_shared_experts=1,
                                                         rope_parameters=llama3)},
    "dots1": {
        "2 groups, epsilon 0.02": dict(n_group=2, topk_group=1, rms_norm_eps=0.02),
        "heads of width 6, one key head, linear rope": dict(head_dim=6, num_key_value_heads=1, rope_parameters=linear),
        "no dense layer, tied head, YaRN": dict(first_k_dense_replace=0, tie_word_embeddings=True,
                                                rope_parameters=yarn)},
    "glm4_moe": {
        "no biases, no norms, a quarter turned": dict(attention_bias=False, use_qk_norm=False, **part(0.25)),
        "one key head, YaRN": dict(num_key_value_heads=1, **part(0.5, yarn)),
        "heads of width 6, two thirds turned, tied head": dict(head_dim=6, tie_word_embeddings=True, **part(2 / 3))},
    "glm4_moe_lite": {
        "halves turned together": dict(rope_interleave=False),
        "no query latent, YaRN": dict(q_lora_rank=None, rope_parameters=yarn),
        "4 groups, no dense layer, one shared expert": dict(n_group=4, topk_group=2, mlp_layer_types=["sparse"] * 3,
                                                            n_shared_experts=1)},
    "qwen2_moe": {
        "no biases, narrow shared expert": dict(qkv_bias=False, shared_expert_intermediate_size=6),
        "a dense layer, tied head, YaRN": dict(mlp_only_layers=[0], tie_word_embeddings=True, rope_parameters=yarn),
        "normalised gates, one key head, heads of width 6": dict(norm_topk_prob=True, num_key_value_heads=1,
                                                                 head_dim=6)},
    "minimax_m2": {
        "whole heads turned, YaRN": dict(rope_parameters=yarn),
        "one key head, a third turned": dict(num_key_value_heads=1, **part(1 / 3)),
        "3 of 6 experts, tied head, llama3 rope": dict(num_experts_per_tok=3, tie_word_embeddings=True,
                                                       **part(2 / 3, llama3))},
    "flex_olmo": {
        "normalised gates": dict(norm_topk_prob=True),
        "one key head, YaRN": dict(num_key_value_heads=1, rope_parameters=yarn),
        "heads of width 6, tied head, linear rope": dict(head_dim=6, tie_word_embeddings=True,
                                                         rope_parameters=linear)},
    "gpt_oss": {
        "sinks that take nothing, no biases": dict(attention_bias=False),
        "a window of 2, one key head, heads of width 4": dict(sliding_window=2, num_key_value_heads=1, head_dim=4),
        "3 of 4 experts, every layer with a window": dict(num_local_experts=4, num_experts_per_tok=3,
                                                          layer_types=["sliding_attention"] * 3),
        "no window, plain rope, tied head, the usual limit": dict(
            layer_types=["full_attention"] * 3, tie_word_embeddings=True, swiglu_limit=7.0,
            rope_parameters=dict(rope_type="default", rope_theta=50.0)),
        "every third layer without a window, linear rope": dict(
            layer_types=["sliding_attention"] * 2 + ["full_attention"], rope_parameters=linear, sliding_window=3)},
    "ernie4_5_moe": {
        "no floor that a sum meets, tied head": dict(moe_norm_min=1e-12, tie_word_embeddings=True),
        "one key head, YaRN, no shared expert": dict(num_key_value_heads=1, rope_parameters=yarn,
                                                     moe_num_shared_experts=0),
        "no dense layer, 3 of 6 experts": dict(moe_layer_start_index=0, moe_k=3, moe_norm_min=0.7)},
    "kimi_k2": {
        "no query latent": dict(q_lora_rank=None),
        "4 groups, gates times 1": dict(n_group=4, topk_group=2, routed_scaling_factor=1.0),
        "no dense layer, one shared expert": dict(first_k_dense_replace=0, n_shared_experts=1)},
}


def table(name):
    """What stands between the marks of a table, and around them."""
    text, begin, end = readme.read_text(), f"<!-- parity.py: {name} -->\n", f"<!-- parity.py: end of {name} -->\n"
    before, rest = text.split(begin)
    inside, after = rest.split(end)
    return before + begin, inside, end + after


def put(name, rows):
    before, _, after = table(name)
    readme.write_text(before + rows + after)


def keys(rows):
    return [tuple(cell.strip() for cell in row.split("|")[1:3]) for row in rows.splitlines()[2:]]


lines = subprocess.run([program], capture_output=True, text=True, check=True).stdout.splitlines()
known = [line for line in lines if line[0] != "|"]
foreign = LACKS + "".join(line + "\n" for line in lines if line[0] == "|")
assert sorted(known) == sorted(variants), f"phibal has {known}"
wanted = [(family, words) for family in known for words in ["the fixture's", *variants[family]]]
if write:
    put("foreign", foreign)
else:
    assert keys(table("parity")[1]) == wanted, f"{readme} has other rows; --write"
    assert table("foreign")[1] == foreign, f"{readme}: what other architectures lack; --write"
try:
    import torch
    import transformers
except ImportError as missing:
    print(f"{len(known)} families; nothing computed, no Python package '{missing.name}'")
    sys.exit(0)
if int(transformers.__version__.split(".")[0]) < 5:
    print(f"{len(known)} families; nothing computed, transformers before 5")
    sys.exit(0)
sys.path.insert(0, str(pathlib.Path(__file__).parent))
sys.dont_write_bytecode = True
from safetensors.torch import load_file  # noqa: E402

import make_fixtures  # noqa: E402

torch.set_num_threads(1)
transformers.logging.set_verbosity_error()
transformers.utils.logging.disable_progress_bar()


def run(*arguments):
    done = subprocess.run(arguments, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def tensors(folder):
    return {name: tensor for file in folder.glob("*.safetensors") if file.name != "expected.safetensors"
            for name, tensor in load_file(file).items() if not name.endswith("inv_freq")}


def same_greedy(model, folder):
    """Tokens of 8 that are the same, one after another; those of generate() with its cache too."""
    prompt = [3, 1, 4, 1, 5]
    ids = torch.tensor([prompt])
    with torch.no_grad():
        for _ in range(8):
            logits = model(input_ids=ids, use_cache=False).logits[0, -1]
            ids = torch.cat((ids, logits.argmax().view(1, 1)), 1)
        theirs = ids[0, len(prompt):].tolist()
        if hasattr(model, "generation_config") and json.loads((folder / "config.json").read_text())["model_type"] != "deepseek":
            model.generation_config.eos_token_id = None
            made = model.generate(input_ids=torch.tensor([prompt]), attention_mask=torch.ones(1, len(prompt)).long(),
                                  do_sample=False, max_new_tokens=8, pad_token_id=0)
            assert made[0, len(prompt):].tolist() == theirs, folder
    ours = json.loads(run(phibal, "generate", "--load", folder, "--tokens", ",".join(map(str, prompt)), "--length", "8",
                          "--temperature", "0", "--json"))["tokens"]
    return sum(a == b for a, b in zip(theirs, ours))


def save_fused(model, folder):
    """The checkpoint with the experts of a layer in two tensors, as transformers 5 holds them in memory."""
    model.to(torch.bfloat16)
    for name, b in (*model.named_buffers(), *model.named_parameters()):
        if name.endswith("e_score_correction_bias"):
            b.data = b.data.float()
    model.save_pretrained(folder, save_original_format=False)
    model.float()
    assert any(name.endswith("experts.gate_up_proj") for name in tensors(folder))


def same_export(model, folder, scratch):
    """(tensors with the same bits, all), exported with and without the config.json of the model, and from fused
    experts. transformers has no class of its own for DeepSeek-MoE, and writes Kimi K2 as DeepSeek-V3."""
    before, same, fused = tensors(folder), None, scratch / f"{folder.name}-fused"
    has_class = json.loads((folder / "config.json").read_text())["model_type"] != "deepseek"
    if has_class:
        save_fused(model, fused)
    for source, like in [(folder, True), (folder, False)] + has_class * [(fused, False), (fused, True)]:
        out = scratch / f"{source.name}-{like}"
        run(phibal, "export", "--load", source, "--out", out, "--dtype", "bfloat16", *(["--like", source] if like else []))
        after = tensors(out)
        equal = sum(name in after and tensor.dtype == after[name].dtype and
                    bool((tensor.view(torch.uint8) == after[name].view(torch.uint8)).all()) for name, tensor in before.items())
        assert before.keys() == after.keys(), before.keys() ^ after.keys()
        same = min(same or equal, equal)
    return same, len(before)


def row(family, words, scratch, number):
    config = make_fixtures.config_of(family, **variants[family].get(words, {}))
    folder = scratch / str(number)
    model = make_fixtures.make(family, config, folder)
    off = json.loads(run(program, folder))
    greedy, (same, count) = same_greedy(model, folder), same_export(model, folder, scratch)
    assert max(off["logits"], off["gates"], off["router_logits"], off["loss"]) <= 1e-4, (family, words, off)
    assert off["gradients"] <= 1e-3 and off["other_experts"] == 0 and greedy == 8 and same == count, (
        family, words, off, greedy, same, count)
    return (f"| {family} | {words} | {off['logits']:.1e} | {off['gates']:.1e} | {off['gradients']:.1e} | "
            f"{off['experts'] - off['other_experts']} of {off['experts']} | {greedy} of 8 | {same} of {count} |\n")


with tempfile.TemporaryDirectory() as scratch:
    rows = "".join(row(family, words, pathlib.Path(scratch), i) for i, (family, words) in enumerate(wanted))
print(rows, end="")
if write:
    put("parity", HEAD + rows)
