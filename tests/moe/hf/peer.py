"""Models that phibal has trained and written, in transformers.

usage: peer.py HUGGINGFACE_STEP PHIBAL FIXTURES

Each fixture's model takes a step in phibal and is written; transformers has to load it without a
tensor missing, unknown or of another shape, and to compute the same logits; and those of the
fixture with what `phibal export` makes of it."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

try:
    import tokenizers
    import torch
    import transformers
    from safetensors.torch import load_file, save_file
except ImportError as missing:
    print(f"skipped: no Python package '{missing.name}'")
    sys.exit(77)
if int(transformers.__version__.split(".")[0]) < 5:
    print("skipped: transformers before 5")
    sys.exit(77)
try:
    import peft
except ImportError:
    peft = None

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
import make_fixtures  # noqa: E402
from make_fixtures import load  # noqa: E402

transformers.logging.set_verbosity_error()
transformers.utils.logging.disable_progress_bar()
step, phibal, fixtures = map(os.path.abspath, sys.argv[1:])


def load_deepseek_moe(folder):
    """transformers has no class for it: the modules of the fixture, with every tensor of the files."""
    config = json.loads((folder / "config.json").read_text())
    wanted = make_fixtures.deepseek_moe_config(make_fixtures.models["deepseek"])
    different = {key for key in wanted if key in config and config[key] != wanted[key]}
    assert different <= {"torch_dtype", "rms_norm_eps"}, different
    assert abs(config["rms_norm_eps"] - 1e-6) < 1e-12 and config["rope_theta"] == 50.0
    tensors = {}
    for file in folder.glob("*.safetensors"):
        tensors |= load_file(file)
    made = make_fixtures.models["deepseek"]
    made._attn_implementation = made._experts_implementation = "eager"
    model = make_fixtures.deepseek_moe_model(made)
    state = {}
    for key, tensor in model.state_dict().items():
        stem = key.rsplit(".", 1)[0]
        def take(name):
            return torch.stack([tensors.pop(f"{stem}.{e}.{name}.weight").float()
                                for e in range(len(tensor))])
        if key.endswith("experts.gate_up_proj"):
            state[key] = torch.cat([take("gate_proj"), take("up_proj")], 1)
        elif key.endswith("experts.down_proj"):
            state[key] = take("down_proj")
        else:
            state[key] = tensors.pop(key).float()
    assert not tensors, tensors.keys()
    model.load_state_dict(state)
    return model


def logits_of(folder, tokens):
    if json.loads((folder / "config.json").read_text())["model_type"] == "deepseek":
        model = load_deepseek_moe(folder)
    else:
        model, info = load(folder, output_loading_info=True)
        for kind, names in info.items():
            assert not names, f"{folder}: {kind}: {names}"
    with torch.no_grad():
        return model.float().eval()(input_ids=tokens.long(), use_cache=False).logits


def compare(what, theirs, ours):
    off = ((theirs - ours).abs().amax(-1) / theirs.abs().amax(-1)).max().item()
    print(f"{what:64} logits differ by {off:.1e}")
    assert off <= 1e-4, what


# Of each fixture, targets that PEFT and transformers 5 hold in different ways: fused experts, of
# which one matrix, two or all have adapters; the FFN of a dense layer and shared experts beside
# them; the router; an embedding, whose head is tied to it in qwen3_moe.
adapted = {
    "olmoe": ["q_proj,v_proj,o_proj", "gate_proj,up_proj,down_proj", "gate_proj", "embed_tokens"],
    "mixtral": ["q_proj,gate,down_proj", "up_proj", "embed_tokens,lm_head"],
    "qwen3_moe": ["q_proj,down_proj,mlp.gate", "embed_tokens,gate_proj"],
    "deepseek_v2": ["o_proj,gate_proj,up_proj,down_proj", "down_proj"],
    "deepseek_v3": ["q_b_proj,up_proj", "shared_experts.down_proj,mlp.gate"],
    "glm4_moe": ["q_proj,k_proj,gate_proj,up_proj,down_proj"],
    "qwen2_moe": ["v_proj,shared_expert_gate", "shared_expert.down_proj,k_proj", "down_proj"],
    "minimax_m2": ["o_proj,gate,up_proj"],
    "flex_olmo": ["q_proj,gate_proj"],
    "gpt_oss": ["q_proj,v_proj,o_proj", "k_proj,embed_tokens"],
    "ernie4_5_moe": ["q_proj,gate_proj,up_proj,down_proj", "mlp.gate,down_proj"],
}


def model_of(folder):
    if json.loads((folder / "config.json").read_text())["model_type"] == "deepseek":
        return load_deepseek_moe(folder).float().eval()
    return load(folder).float().eval()


def check_greedy(fixture):
    """phibal generate, and the most probable tokens of transformers: of generate() with its cache, and one by one."""
    model, prompt, length = model_of(fixture), [3, 1, 4, 1, 5], 7
    ids, least = torch.tensor([prompt]), float("inf")
    with torch.no_grad():
        for _ in range(length):
            logits = model(input_ids=ids, use_cache=False).logits[0, -1]
            best = logits.topk(2)
            least = min(least, float(best.values[0] - best.values[1]))
            ids = torch.cat((ids, best.indices[:1].view(1, 1)), 1)
        made = ids[0, len(prompt):].tolist()
        assert least > 1e-4, f"{fixture.name}: two tokens are as good as equal"
        if hasattr(model, "generation_config"):
            model.generation_config.eos_token_id = None  # goes on after it, as --tokens does without a tokenizer
            theirs = model.generate(input_ids=torch.tensor([prompt]), attention_mask=torch.ones(1, len(prompt)).long(),
                                    do_sample=False, max_new_tokens=length, pad_token_id=0)
            assert theirs[0, len(prompt):].tolist() == made, fixture.name
    done = subprocess.run([phibal, "generate", "--load", fixture, "--tokens", ",".join(map(str, prompt)), "--length",
                           str(length), "--temperature", "0", "--json"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    ours = json.loads(done.stdout)["tokens"]
    print(f"{fixture.name + ', greedy':64} {ours}")
    assert ours == made, made


def run(*arguments, wanted=0):
    done = subprocess.run([phibal, *arguments], capture_output=True, text=True)
    assert done.returncode == wanted, done.stderr
    return done.stderr


def check_adapters(scratch, fixture, targets):
    """Adapters that phibal has trained, in PEFT: the logits of the weights they are merged into."""
    scratch.mkdir()
    tokens = torch.randint(40, (4096,), generator=torch.Generator().manual_seed(1))
    tokens.to(torch.int16).numpy().tofile(scratch / "tokens.bin")
    (scratch / "tune.yaml").write_text(
        "model: {sequence: 12}\nbatch: {sequences: 8}\noptimizer: {peak_lr: 1e-2}\n"
        f"training: {{steps: 20}}\nlora: {{rank: 2, alpha: 8, dropout: 0.1, targets: '{targets}'}}\n")
    out = scratch / "tuned"
    run("train", "--config", scratch / "tune.yaml", "--from", fixture, "--quiet", "--data",
        scratch / "tokens.bin", "--out", out)
    if fixture.name == "qwen2_moe" and targets == "down_proj":
        error = run("export", "--load", out, "--adapters", "--out", scratch / "adapters", wanted=2)
        assert "PEFT has none of Qwen2-MoE's experts" in error and not (scratch / "adapters").exists(), error
        return
    run("export", "--load", out, "--adapters", "--out", scratch / "adapters")
    run("export", "--load", out, "--like", fixture, "--out", scratch / "merged")
    expected = load_file(fixture / "expected.safetensors")
    theirs = logits_of(scratch / "merged", expected["tokens"])
    assert (theirs - expected["logits"]).abs().max() > 1e-2, "the adapters have changed nothing"
    model = peft.PeftModel.from_pretrained(load(fixture), scratch / "adapters").eval()
    with torch.no_grad():
        compare(f"{fixture.name}, {targets}, in PEFT",
                model(input_ids=expected["tokens"].long(), use_cache=False).logits, theirs)


def check_adapters_of_peft(scratch, fixture):
    """Adapters that PEFT has made, merged by phibal: PEFT's logits; or refused where PEFT takes them
    off the base's weights."""
    expected = load_file(fixture / "expected.safetensors")
    tokens = expected["tokens"].long()
    options = {True: {}, "gaussian": dict(use_rslora=True), "eighths": dict(
        rank_pattern={"o_proj": 4}, alpha_pattern={"1.self_attn.q_proj": 3}), "pissa": {}, "olora": {},
        "DoRA": dict(use_dora=True), "DoRA, rsLoRA": dict(use_dora=True, use_rslora=True), "DoRA, patterns": dict(
            use_dora=True, rank_pattern={"o_proj": 4}, alpha_pattern={"1.self_attn.q_proj": 3})}
    for begin, more in options.items():
        torch.manual_seed(1)
        targets = ["q_proj", "o_proj"] + (["embed_tokens"] if begin is True else [])
        model = peft.get_peft_model(load(fixture), peft.LoraConfig(
            r=2, lora_alpha=8, target_modules=targets,
            init_lora_weights=begin if begin in (True, "gaussian", "pissa", "olora") else True, **more))
        for name, parameter in model.named_parameters():
            if "lora_" in name:
                parameter.data += 0.3 * torch.randn(parameter.shape)
                if begin == "eighths":  # which are bfloat16's too, and saved so
                    parameter.data = ((8 * parameter).round() / 8).bfloat16()
        folder, merged = scratch / f"peft-{begin}", scratch / f"merged-{begin}"
        model.save_pretrained(folder)
        if begin in ("pissa", "olora"):
            error = run("export", "--load", fixture, "--merge", folder, "--out", merged, wanted=2)
            assert f"'init_lora_weights' is \"{begin}\"" in error, error
            print(f"{begin} of PEFT: refused")
            continue
        with torch.no_grad():
            theirs = model.float().eval()(input_ids=tokens, use_cache=False).logits
        assert (theirs - expected["logits"]).abs().max() > 1e-2
        run("export", "--load", fixture, "--merge", folder, "--out", merged, "--like", fixture)
        compare(f"adapters of PEFT, {begin}", theirs, logits_of(merged, expected["tokens"]))


def check_fused_adapters_of_peft(scratch, fixture, numbers):
    """Adapters that PEFT has made of the experts of a layer, which transformers 5 holds in two tensors, merged by phibal."""
    expected = load_file(fixture / "expected.safetensors")
    tokens = expected["tokens"].long()
    words = ["w1", "w2", "w3"] if fixture.name == "mixtral" else ["gate_proj", "up_proj", "down_proj"]
    options = [dict(target_modules=words), dict(target_modules=words + ["q_proj", "o_proj"], use_rslora=True),
               dict(target_modules=["q_proj"], target_parameters=["mlp.experts.down_proj", "mlp.experts.gate_up_proj"]),
               dict(target_modules=["o_proj"], target_parameters=["experts.down_proj"]),
               dict(target_modules=["o_proj"], target_parameters=["experts.gate_up_proj"], alpha_pattern={
                   "1.mlp.experts.gate_up_proj": 3})]
    for number in numbers:
        torch.manual_seed(1)
        model = peft.get_peft_model(load(fixture), peft.LoraConfig(r=3, lora_alpha=8, **options[number]))
        for name, parameter in model.named_parameters():
            if "lora_" in name:
                parameter.data = ((8 * (parameter + 0.3 * torch.randn(parameter.shape))).round() / 8).to(
                    [torch.float32, torch.bfloat16, torch.float16][number % 3])
        folder, merged = scratch / f"{fixture.name}-fused-{number}", scratch / f"{fixture.name}-fused-merged-{number}"
        model.save_pretrained(folder)
        with torch.no_grad():
            theirs = model.float().eval()(input_ids=tokens, use_cache=False).logits
        assert (theirs - expected["logits"]).abs().max() > 1e-2
        run("export", "--load", fixture, "--merge", folder, "--out", merged, "--like", fixture)
        compare(f"{fixture.name}, fused adapters of PEFT, {number}", theirs, logits_of(merged, expected["tokens"]))


def check_fp8(scratch, fixture):
    """Weights in torch's FP8 with scales of blocks, as DeepSeek-V3, Kimi K2 and MiniMax-M2 are published."""
    folder, out, expected, files = scratch / f"{fixture.name}-fp8", scratch / f"{fixture.name}-wide", {}, {}
    folder.mkdir()
    rows, columns = block = 7, 9
    for file in fixture.glob("model*.safetensors"):
        for name, tensor in load_file(file).items():
            if tensor.dim() != 2 or "_proj" not in name and ".w" not in name:
                files[name], expected[name] = tensor, tensor.float()
                continue
            scale = torch.nn.functional.max_pool2d(tensor.float().abs()[None], block, ceil_mode=True)[0] / 448
            whole = scale.repeat_interleave(rows, 0).repeat_interleave(columns, 1)[:tensor.shape[0], :tensor.shape[1]]
            files[name], files[name + "_scale_inv"] = (tensor.float() / whole).to(torch.float8_e4m3fn), scale.contiguous()
            expected[name] = files[name].float() * whole
    save_file(files, folder / "model.safetensors")
    config = json.loads((fixture / "config.json").read_text()) | dict(quantization_config=dict(
        quant_method="fp8", activation_scheme="dynamic", weight_block_size=block, fmt="e4m3"))
    (folder / "config.json").write_text(json.dumps(config))
    run("export", "--load", folder, "--out", out, "--like", folder, "--dtype", "float32")
    written = load_file(out / "model.safetensors")
    assert "quantization_config" not in json.loads((out / "config.json").read_text())
    assert written.keys() == expected.keys()
    for name, tensor in expected.items():
        assert torch.equal(written[name], tensor), name
    print(f"{fixture.name + ', FP8':64} {sum(name.endswith('_scale_inv') for name in files)} tensors, the same bits")


def check_mxfp4(scratch):
    """Experts of gpt-oss in MXFP4 of any codes: the numbers that transformers makes of them."""
    from transformers.integrations.mxfp4 import convert_moe_packed_tensors

    folder, out = scratch / "mxfp4", scratch / "mxfp4-wide"
    config = make_fixtures.config_of("gpt_oss", hidden_size=64, intermediate_size=96)
    torch.manual_seed(1)
    model = transformers.AutoModelForCausalLM.from_config(config)
    model.save_pretrained(folder)
    files = load_file(folder / "model.safetensors")
    expected = dict(files)
    for name in [name for name in files if name.endswith(("gate_up_proj", "down_proj"))]:
        experts, columns, rows = files.pop(name).shape
        files[name + "_blocks"] = torch.randint(256, (experts, rows, columns // 32, 16)).to(torch.uint8)
        files[name + "_scales"] = torch.randint(100, 140, (experts, rows, columns // 32)).to(torch.uint8)
        expected[name] = convert_moe_packed_tensors(files[name + "_blocks"], files[name + "_scales"], dtype=torch.float32)
    save_file(files, folder / "model.safetensors")
    said = json.loads((folder / "config.json").read_text()) | dict(quantization_config=dict(
        quant_method="mxfp4", modules_to_not_convert=["model.layers.*.self_attn", "lm_head"]))
    (folder / "config.json").write_text(json.dumps(said))
    run("export", "--load", folder, "--out", out, "--like", folder, "--dtype", "float32")
    written = load_file(out / "model.safetensors")
    assert "quantization_config" not in json.loads((out / "config.json").read_text())
    assert written.keys() == expected.keys(), written.keys() ^ expected.keys()
    for name, tensor in expected.items():
        assert tensor.shape == written[name].shape and torch.equal(written[name], tensor), name
    print(f"{'gpt_oss, MXFP4':64} {sum(name.endswith('_scales') for name in files)} tensors, the same bits")


def check_choices(scratch, fixture):
    """--choices with the tokenizer.json of the model's folder: the log-likelihoods of transformers, which reads both."""
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    tokenizer.train_from_iterator(["the cat sat here, the dog is there. a hot road", "cold bread, red beet, a tree"] * 9,
                                  tokenizers.trainers.BpeTrainer(vocab_size=40, special_tokens=["<|endoftext|>"],
                                                                 limit_alphabet=22, show_progress=False))
    folder = scratch / f"{fixture.name}-choices"
    shutil.copytree(fixture, folder)
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps(dict(
        tokenizer_class="PreTrainedTokenizerFast", eos_token="<|endoftext|>")))
    questions = [("the cat", ["sat", "sat there", "the", "is.", "is<|endoftext|>"], 1), ("a road, ", ["cold", "a tree", "e"], 0),
                 ("a<|endoftext|>the", ["dog is here", "re", "cat"], 2), ("a", ["a", "b", "d", "e", "s"], 3)]
    (folder / "questions.jsonl").write_text("".join(json.dumps(dict(ctx=c, endings=e, label=a)) + "\n"
                                                    for c, e, a in questions))
    done = subprocess.run([phibal, "eval-model", "--load", folder, "--choices", folder / "questions.jsonl", "--details",
                           folder / "details", "--json"], capture_output=True, text=True, cwd=scratch)
    assert done.returncode == 0, done.stderr
    ours = [json.loads(line) for line in (folder / "details").read_text().splitlines()]
    theirs_tokenizer, model = transformers.AutoTokenizer.from_pretrained(folder), load(folder).float().eval()
    end, most, right = theirs_tokenizer.eos_token_id, 0.0, 0
    assert len(ours) == len(questions)
    for (context, options, answer), line in zip(questions, ours, strict=True):
        sums = []
        for option in options:
            before, whole = (theirs_tokenizer(text, add_special_tokens=False).input_ids
                             for text in (context, f"{context} {option}"))
            with torch.no_grad():
                log = model(input_ids=torch.tensor([[end] + whole]), use_cache=False).logits[0].log_softmax(-1)
            sums.append(sum(float(log[i, whole[i]]) for i in range(len(before), len(whole))))
        most = max(most, *(abs(a - b) for a, b in zip(sums, line["log_likelihood"], strict=True)))
        assert line["chosen"] == sums.index(max(sums)) and line["answer"] == answer, (line, sums)
        right += line["chosen"] == answer
    assert json.loads(done.stdout)["choices"][0]["accuracy"] == right / len(questions), done.stdout
    print(f"{fixture.name + ', choices':64} log-likelihoods differ by {most:.1e}")
    assert most <= 1e-4


with tempfile.TemporaryDirectory() as scratch:
    scratch = pathlib.Path(scratch)
    for name in "olmoe", "deepseek_v3":
        check_choices(scratch, pathlib.Path(fixtures) / name)
    if peft:
        for name, all_targets in adapted.items():
            for i, targets in enumerate(all_targets):
                check_adapters(scratch / f"{name}-{i}", pathlib.Path(fixtures) / name, targets)
        check_adapters_of_peft(scratch, pathlib.Path(fixtures) / "olmoe")
        for name, numbers in (("olmoe", range(5)), ("mixtral", (0, 2)), ("deepseek_v2", (2,)), ("qwen2_moe", (2, 4)),
                              ("ernie4_5_moe", (0, 2))):
            check_fused_adapters_of_peft(scratch, pathlib.Path(fixtures) / name, numbers)
    else:
        print("adapters: not compared, no Python package 'peft'")
    for name in "kimi_k2", "minimax_m2":
        check_fp8(scratch, pathlib.Path(fixtures) / name)
    check_mxfp4(scratch)
    for fixture in sorted(pathlib.Path(fixtures).iterdir()):
        expected = load_file(fixture / "expected.safetensors")
        tokens, before = expected["tokens"], expected["logits"]
        for dtype in "float32", "bfloat16":
            out = scratch / f"{fixture.name}-{dtype}"
            subprocess.run([step, fixture, out, dtype], check=True)
            ours = torch.tensor(json.loads((out / "phibal.json").read_text())).reshape(before.shape)
            assert (ours - before).abs().max() > 1e-2, "the step has changed nothing"
            compare(f"{fixture.name}, a step, {dtype}", logits_of(out, tokens), ours)
        out = scratch / f"{fixture.name}-export"
        subprocess.run([phibal, "export", "--load", fixture, "--out", out, "--like", fixture],
                       check=True)
        compare(f"{fixture.name}, exported", logits_of(out, tokens), before)
        check_greedy(out)
