#!/usr/bin/env python3
"""config.json of Hugging Face models, mutated, in phibal and in transformers.

usage: mutants.py PHIBAL FIXTURES [COUNT [SEED [PROCESSES]]]

Takes the fixtures that transformers has a class for. A mutant is a fixture's config.json in which a key is
removed, set to null, to a value of another kind or size, said a second time under its old or new name, or
added from another family; or two of these at once. phibal evaluates the model of each, and transformers the
same weights with the same tokens. The same of adapter_config.json, where peft is there.

What phibal refuses is right; what both compute has to have the same loss within 1e-5; and phibal must not
compute what transformers refuses, or loads with a tensor missing, unknown or of another shape (but for
values of the wrong type, 1 for true or 1.0, of which the strict configuration classes refuse all, and phibal
only those of keys that it reads). Every single mutation is taken first, then pairs drawn by SEED, COUNT
mutants of config.json in all (default 1000), by so many PROCESSES at once (1). Findings are printed as JSON and end in 1; those of the past
are in test_huggingface_files.c and test_lora.c.
77 where torch or transformers 5 is missing."""
import copy
import json
import multiprocessing
import pathlib
import random
import subprocess
import sys
import tempfile

try:
    import torch
    import transformers
    from safetensors.torch import load_file
except ImportError as missing:
    print(f"skipped: no Python package '{missing.name}'")
    sys.exit(77)
try:
    import peft
except ImportError:
    peft = None
if int(transformers.__version__.split(".")[0]) < 5:
    print("skipped: transformers before 5")
    sys.exit(77)

sys.path.insert(0, str(pathlib.Path(__file__).parent))
sys.dont_write_bytecode = True
from make_fixtures import load  # noqa: E402

torch.set_num_threads(1)
transformers.logging.set_verbosity_error()
transformers.utils.logging.disable_progress_bar()
TOLERANCE = 1e-5
FAMILIES = ["olmoe", "mixtral", "qwen3_moe", "deepseek_v2", "deepseek_v2_groups", "deepseek_v3", "moonlight",
            "kimi_k2", "dots1", "glm4_moe", "glm4_moe_lite", "qwen2_moe", "minimax_m2", "flex_olmo", "gpt_oss",
            "ernie4_5_moe"]

TARGETS = {"qwen3_moe": "q_proj,o_proj,down_proj", "deepseek_v2": "o_proj,gate_proj,up_proj,down_proj,mlp.gate"}

# Keys that a family may not have, or says by another name, with values that would matter.
FOREIGN = {
    "is_causal": [False, True], "per_layer_config": [{"0": {"num_experts_per_tok": 1}}, {}, None],
    "sliding_window": [4, 0, None], "use_sliding_window": [True], "max_window_layers": [1, 0, 2, None],
    "layer_types": [["sliding_attention", "full_attention"], ["full_attention"] * 2, ["full_attention"] * 3,
                    ["sliding_attention"] * 3, ["full_attention", "sliding_attention", "full_attention"],
                    ["sliding_attention", "sliding_attention", "full_attention"], None],
    "swiglu_limit": [0.5, 7.0, 0, None], "swiglu_alpha": [1.0, 0.5, None], "experts_per_token": [2, 3, None],
    "initial_context_length": [16],
    "clip_qkv": [0.1, None], "attention_bias": [True], "mlp_bias": [True], "head_dim": [4, 2, 8, None],
    "partial_rotary_factor": [0.5, 1.0, 1, 0.75, 0.67, 0, 2, None], "norm_topk_prob": [True, False, None],
    "num_experts": [4, 8, 2, None], "num_local_experts": [4, 8, 2, None], "n_routed_experts": [4, 8],
    "routed_scaling_factor": [1.0, 3, None], "n_group": [1, 2, None], "topk_group": [1, 2, 8, None],
    "topk_method": ["greedy", "group_limited_greedy", "noaux_tc", None],
    "scoring_func": ["softmax", "sigmoid"], "rope_interleave": [True, False, None],
    "first_k_dense_replace": [0, 1, 2], "mlp_only_layers": [[0], [1], [0, 1], []],
    "decoder_sparse_step": [1, 2], "moe_layer_freq": [1, 2], "rope_theta": [50.0, 100.0, 10000, None],
    "original_max_position_embeddings": [16, 64, 8, None], "num_nextn_predict_layers": [1],
    "num_mtp_layers": [1], "torch_dtype": ["float16"], "dtype": ["bfloat16"], "qk_head_dim": [3],
    "logit_scale": [0.5], "embedding_multiplier": [2.0], "residual_multiplier": [0.5],
    "attention_multiplier": [0.1], "logits_scaling": [2.0], "final_logit_softcapping": [5.0],
    "attn_logit_softcapping": [5.0], "query_pre_attn_scalar": [8], "shared_expert_intermediate_size": [6, 12, 9],
    "rotary_dim": [2, 4, 3, 8, 6, None], "use_qk_norm": [True, False, None], "qkv_bias": [True, False, None],
    "mlp_layer_types": [["dense", "sparse"], ["sparse", "sparse"], ["dense", "dense", "sparse"], None],
    "attn_type_list": [[1, 1], [1, 0], [0, 1, 1]], "use_routing_bias": [False, True],
    "qk_norm_type": ["per_layer", "per_head"], "moe_norm_min": [0.5, 0, 1e-12, 2.0, None], "moe_k": [1, 3, None],
    "moe_num_experts": [6, 4, None], "moe_layer_end_index": [-1, 0, 1, 2, 5, None], "moe_layer_interval": [1, 2, None],
    "moe_layer_start_index": [0, 1, 2, 3, 9, None], "use_bias": [True, None], "num_experts_per_tok": [2, 3],
    "router_jitter_noise": [0.5], "attention_dropout": [0.5], "hidden_act": ["gelu", "silu", "relu"],
    "use_cache": [False], "output_router_logits": [True], "tie_word_embeddings": [True, False],
    "pretraining_tp": [2], "chunk_size_feed_forward": [4], "is_decoder": [True],
    "output_hidden_states": [True], "return_dict": [True], "pad_token_id": [0, 5],
    "rope_scaling": [{}, {"type": "linear", "factor": 2.0}, {"rope_type": "dynamic", "factor": 2.0},
                     {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16},
                     {"rope_type": "yarn", "factor": 4.0, "rope_theta": 30.0,
                      "original_max_position_embeddings": 16, "beta_fast": 3, "beta_slow": 0.5},
                     {"type": "linear", "factor": 3, "rope_theta": 30.0}, {"rope_type": "linear", "factor": 1.0},
                     {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                      "original_max_position_embeddings": 16},
                     {"type": "llama3", "factor": 2, "low_freq_factor": 0.5, "high_freq_factor": 1.5, "rope_theta": 30.0,
                      "original_max_position_embeddings": 8},
                     {"rope_type": "llama3", "factor": 2, "low_freq_factor": 0.5, "high_freq_factor": 1.5},
                     {"rope_type": "llama3", "factor": 2, "low_freq_factor": 0.5, "original_max_position_embeddings": 8},
                     {"rope_type": "linear", "factor": 2.0, "mscale_all_dim": 1.0},
                     {"rope_type": "default", "rope_theta": 30.0}],
}
YARN = {"factor": [1.0, 2, 0.5, None], "original_max_position_embeddings": [8, 64, None],
        "beta_fast": [1.0, 8, 0, None], "beta_slow": [0.1, 4, 0, None], "mscale": [1.0, 0, 0.5, None],
        "mscale_all_dim": [1.0, 0, 0.5, None], "attention_factor": [0, 0.0, 0.5, 1, None],
        "truncate": [False, True, None], "rope_theta": [30.0, None], "partial_rotary_factor": [0.5, 1.0, 0.7, None],
        "rope_type": ["default", "yarn", "linear", "llama3", None], "type": ["yarn", "default", "linear", "llama3"],
        "low_freq_factor": [1.0], "short_factor": [[1.0]]}


def others(value):
    """Values that are not the one given: of its kind, then of another."""
    if isinstance(value, bool):
        return [not value, int(value), "true"]
    if isinstance(value, int):
        return [0, 1, 2, value + 1, value - 1, 2 * value, value // 2, -1, float(value), str(value), [value]]
    if isinstance(value, float):
        return [0.0, 2 * value, value / 2, 1, 1e-6, 1e-5, -value, str(value)]
    if isinstance(value, str):
        return ["", value.upper(), value + "_", 1]
    if isinstance(value, list):
        return [[], value + value, [0], [1], 0]
    return [{}, [], 1, "x"]


def mutations(config):
    """(what, function on a config.json) of each single one."""
    def put(key, value, inside=None):
        def change(c):
            (c[inside] if inside else c)[key] = copy.deepcopy(value)
        return (f"{inside + '.' if inside else ''}{key} = {json.dumps(value)}", change)

    def remove(key, inside=None):
        def change(c):
            (c[inside] if inside else c).pop(key)
        return (f"no {inside + '.' if inside else ''}{key}", change)

    def old_rope(c):
        rope = c.pop("rope_parameters")
        c["rope_theta"] = rope.pop("rope_theta")
        c["rope_scaling"] = None if rope["rope_type"] == "default" else rope

    def twice(c):
        c["rope_scaling"] = copy.deepcopy(c["rope_parameters"])
        c["rope_scaling"]["rope_theta"] = 30.0

    def type_old(c):
        c["rope_parameters"]["type"] = c["rope_parameters"].pop("rope_type")

    skip = {"architectures", "model_type", "transformers_version"}
    for key, value in config.items():
        if key not in skip:
            yield remove(key)
            for other in [None] + others(value):
                yield put(key, other)
    for key, values in FOREIGN.items():
        for value in values:
            yield put(key, value)
    for key in config["rope_parameters"]:
        yield remove(key, "rope_parameters")
    for key, values in YARN.items():
        for value in values:
            yield put(key, value, "rope_parameters")
    yield ("rope in its old form", old_rope)
    yield ("rope in both forms", twice)
    yield ("rope_parameters.type", type_old)


def adapter_mutations(config):
    """None without target_parameters, where PEFT passes over what transformers 4 had in modules, and none that
    PEFT refuses of experts alone, a dropout or an orthogonal beginning."""
    values = {
        "r": [1, 4, None, "2"], "lora_alpha": [1, 6, 3.5, None, 0], "bias": ["all", "lora_only", None],
        "target_modules": [["q_proj"], ["down_proj", "q_proj"], [], None, ".*q_proj", ".*_proj|.*gate", ["proj"]],
        "exclude_modules": [["q_proj"], ["k_proj"], [], ".*o_proj"], "layers_to_transform": [0, [1], [0, 1, 2], []],
        "layers_pattern": ["layers", [], None], "rank_pattern": [{}, {"q_proj": 4}, {"proj": 4}],
        "alpha_pattern": [{}, {"q_proj": 16}, {"o_proj": 5}, {".*o_proj": 5}, {"proj": 5}, {"0.self_attn.o_proj": 5},
                          {"^o_proj": 5}, {"model.layers.1.self_attn.o_proj": 7, "o_proj": 5}],
        "use_rslora": [True, False], "use_dora": [True, False],
        "lora_bias": [True], "init_lora_weights": [True, False, "gaussian", "pissa", "olora", "eva"],
        "alora_invocation_tokens": [[1, 2], None], "modules_to_save": [["lm_head"], None],
        "fan_in_fan_out": [True, False], "inference_mode": [False],
        "trainable_token_indices": [[1], None],
        "use_qalora": [True, False], "layer_replication": [[[0, 1], [0, 1]], None], "revision": ["x"],
        "task_type": ["SEQ_CLS", None], "peft_type": ["LOHA", "lora"], "megatron_config": [{}, None]}
    for key, all_values in values.items():
        if key in config:
            yield (f"no {key}", lambda c, key=key: c.pop(key))
        for value in all_values:
            yield (f"{key} = {json.dumps(value)}",
                   lambda c, key=key, value=value: c.__setitem__(key, copy.deepcopy(value)))


def loss_of_transformers(folder, tokens, adapters=None):
    """A number, or why there is none."""
    try:
        model, info = load(folder, output_loading_info=True)
        for kind, names in info.items():
            if names:
                return f"{kind}: {sorted(map(str, names))[:2]}"
        if adapters:
            model = peft.PeftModel.from_pretrained(model, adapters)
        with torch.no_grad():
            logits = model.eval()(input_ids=tokens[None].long(), use_cache=False).logits[0].double()
        return torch.nn.functional.cross_entropy(logits[:-1], tokens[1:].long()).item()
    except Exception as error:  # whatever a configuration makes it raise
        return f"{type(error).__name__}: {str(error).splitlines()[0][:120] if str(error) else ''}"


def loss_of_phibal(phibal, folder, data, length, adapters=None):
    done = subprocess.run([phibal, "eval-model", "--json", "--load", folder, "--data", data, "--sequence",
                           str(length), "--batch", "1", "--threads", "1",
                           *(["--adapters", adapters] if adapters else [])], capture_output=True, text=True)
    if done.returncode == 0:
        return json.loads(done.stdout)["validation"]["loss"]
    if done.returncode != 2 or not done.stderr.startswith("phibal eval-model: "):
        return float("nan")  # killed, or no message
    return done.stderr.strip()


def begin(*places):
    """In each process."""
    global PLACES
    PLACES = places


def compare(mutant):
    """Both losses of a (family, config.json, tokens, changes)."""
    phibal, fixtures, scratch = PLACES
    name, config, tokens, _ = mutant
    tokens = torch.tensor(tokens, dtype=torch.int32)
    with tempfile.TemporaryDirectory(dir=scratch) as own:
        folder, data = pathlib.Path(own) / "model", pathlib.Path(own) / "tokens.bin"
        folder.mkdir()
        for file in (fixtures / name).glob("model*"):
            (folder / file.name).symlink_to(file.resolve())
        (folder / "config.json").write_text(json.dumps(config))
        tokens.to(torch.int16).numpy().tofile(data)
        return loss_of_phibal(phibal, folder, data, len(tokens)), loss_of_transformers(folder, tokens)


def main():
    phibal, fixtures = sys.argv[1], pathlib.Path(sys.argv[2])
    count = int(sys.argv[3]) if len(sys.argv) > 3 else 1000
    draw = random.Random(int(sys.argv[4]) if len(sys.argv) > 4 else 1)
    sets = []
    for name in FAMILIES:
        config = json.loads((fixtures / name / "config.json").read_text())
        tokens = load_file(fixtures / name / "expected.safetensors")["tokens"].flatten()
        sets.append((name, config, list(mutations(config)), tokens))
    singles = [(s, [m]) for s in sets for m in s[2]]
    draw.shuffle(singles)
    pairs = ((s, draw.sample(s[2], 2)) for s in iter(lambda: draw.choice(sets), None))
    cases = singles[:count] + [next(pairs) for _ in range(count - len(singles))]
    tally = {"same": 0, "refused by both": 0, "refused by phibal alone": 0, "of a type that is strict there": 0}
    findings = []

    def judge(name, changes, ours, theirs):
        if isinstance(ours, str):
            tally["refused by both" if isinstance(theirs, str) else "refused by phibal alone"] += 1
        elif isinstance(theirs, str) and theirs.startswith("StrictDataclassFieldValidationError"):
            tally["of a type that is strict there"] += 1
        elif isinstance(theirs, float) and abs(ours - theirs) <= TOLERANCE:
            tally["same"] += 1
        else:
            findings.append({"family": name, "mutation": [what for what, _ in changes],
                             "phibal": ours, "transformers": theirs})
            print(json.dumps(findings[-1]), flush=True)

    def mutated(config, changes):
        mutant = copy.deepcopy(config)
        try:
            for _, change in changes:
                change(mutant)
            return mutant
        except (KeyError, TypeError, AttributeError):
            return None  # the second has nothing left to change

    with tempfile.TemporaryDirectory() as scratch:
        data = pathlib.Path(scratch) / "tokens.bin"
        mutants = [(name, mutated(config, changes), tokens.tolist(), [(what, None) for what, _ in changes])
                   for (name, config, _, tokens), changes in cases]
        mutants = [mutant for mutant in mutants if mutant[1] is not None]
        with multiprocessing.Pool(int(sys.argv[5]) if len(sys.argv) > 5 else 1, begin, (phibal, fixtures, scratch)) as pool:
            for (name, _, _, changes), losses in zip(mutants, pool.imap(compare, mutants, 4)):
                judge(name, changes, *losses)
        for name in ["qwen3_moe", "deepseek_v2"] if peft else []:
            model = fixtures / name
            tokens = load_file(model / "expected.safetensors")["tokens"].flatten()
            tokens.to(torch.int16).numpy().tofile(data)
            # Adapters as phibal writes them: trained a little, so that they are of every kind.
            made = pathlib.Path(scratch) / f"{name}-adapters"
            (pathlib.Path(scratch) / "tune.yaml").write_text(
                "model: {sequence: 12}\nbatch: {sequences: 2}\noptimizer: {peak_lr: 1e-2}\ntraining: {steps: 20}\n"
                f"lora: {{rank: 2, alpha: 8, targets: '{TARGETS[name]}'}}\n")
            for words in (["train", "--config", f"{scratch}/tune.yaml", "--from", model, "--quiet", "--data", data,
                           "--out", f"{made}-run"],
                          ["export", "--load", f"{made}-run", "--adapters", "--out", made]):
                subprocess.run([phibal, *words], check=True, stdout=subprocess.DEVNULL)
            config = json.loads((made / "adapter_config.json").read_text())
            for change in adapter_mutations(config):
                mutant = mutated(config, [change])
                (made / "adapter_config.json").write_text(json.dumps(mutant))
                judge(f"adapters of {name}", [change], loss_of_phibal(phibal, model, data, len(tokens), made),
                      loss_of_transformers(model, tokens, made))
    print(f"{sum(tally.values()) + len(findings)} mutants: " +
          ", ".join(f"{n} {what}" for what, n in tally.items()) + f", {len(findings)} differ")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
