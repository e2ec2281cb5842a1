"""Models that phibal has trained and written, in transformers.

usage: peer.py HUGGINGFACE_STEP PHIBAL FIXTURES

Each fixture's model takes a step in phibal and is written; transformers has to load it without a
tensor missing, unknown or of another shape, and to compute the same logits; and those of the
fixture with what `phibal export` makes of it."""
import json
import os
import pathlib
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
if int(transformers.__version__.split(".")[0]) < 5:
    print("skipped: transformers before 5")
    sys.exit(77)

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
import make_fixtures  # noqa: E402

transformers.logging.set_verbosity_error()
step, phibal, fixtures = sys.argv[1:]


def load_deepseek_moe(folder):
    """transformers has no class for it: the modules of the fixture, with every tensor of the files."""
    config = json.loads((folder / "config.json").read_text())
    wanted = make_fixtures.deepseek_moe_config()
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
        model, info = transformers.AutoModelForCausalLM.from_pretrained(
            folder, dtype=torch.float32, attn_implementation="eager",
            experts_implementation="eager", output_loading_info=True)
        for kind, names in info.items():
            assert not names, f"{folder}: {kind}: {names}"
    with torch.no_grad():
        return model.float().eval()(input_ids=tokens.long(), use_cache=False).logits


def compare(what, theirs, ours):
    off = ((theirs - ours).abs().amax(-1) / theirs.abs().amax(-1)).max().item()
    print(f"{what:32} logits differ by {off:.1e}")
    assert off <= 1e-4, what


def check_adapters(scratch, fixture):
    """Adapters that phibal has trained, in PEFT: the logits of the weights they are merged into.
    Attention's only, because PEFT gives experts none where transformers holds them fused."""
    try:
        import peft
    except ImportError:
        print("adapters: not compared, no Python package 'peft'")
        return
    tokens = torch.randint(40, (4096,), generator=torch.Generator().manual_seed(1))
    tokens.to(torch.int16).numpy().tofile(scratch / "tokens.bin")
    (scratch / "tune.yaml").write_text(
        "model: {sequence: 12}\nbatch: {sequences: 8}\noptimizer: {peak_lr: 1e-2}\n"
        "training: {steps: 20}\nlora: {rank: 2, alpha: 8, targets: 'q_proj,v_proj,o_proj'}\n")
    def run(*arguments):
        subprocess.run([phibal, *arguments], check=True, stdout=subprocess.DEVNULL)
    out = scratch / "tuned"
    run("train", "--config", scratch / "tune.yaml", "--from", fixture, "--quiet", "--data",
        scratch / "tokens.bin", "--out", out)
    run("export", "--load", out, "--adapters", "--out", scratch / "adapters")
    run("export", "--load", out, "--like", fixture, "--out", scratch / "merged")
    expected = load_file(fixture / "expected.safetensors")
    theirs = logits_of(scratch / "merged", expected["tokens"])
    assert (theirs - expected["logits"]).abs().max() > 1e-2, "the adapters have changed nothing"
    base = transformers.AutoModelForCausalLM.from_pretrained(
        fixture, dtype=torch.float32, attn_implementation="eager", experts_implementation="eager")
    model = peft.PeftModel.from_pretrained(base, scratch / "adapters").eval()
    with torch.no_grad():
        compare("adapters in PEFT", model(input_ids=expected["tokens"].long(),
                                          use_cache=False).logits, theirs)


with tempfile.TemporaryDirectory() as scratch:
    scratch = pathlib.Path(scratch)
    check_adapters(scratch, pathlib.Path(fixtures) / "olmoe")
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
