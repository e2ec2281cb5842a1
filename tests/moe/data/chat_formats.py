"""Chat formats by name beside transformers' apply_chat_template.

usage: chat_formats.py PHIBAL

The templates here are written for this test, to say in Jinja what the table of moe/data/chat.c says. Of chats with odd
white space, empty messages and special tokens inside of them, the texts are compared, what is a target, the tokens of every
first prompt, and what a model answers to a prompt; and what is refused."""
import json
import os
import random
import struct
import subprocess
import sys
import tempfile

try:
    import tokenizers
    import torch
    import transformers
except ImportError as missing:
    print("skipped: no Python package '%s'" % missing.name)
    sys.exit(77)
transformers.logging.set_verbosity_error()
transformers.utils.logging.disable_progress_bar()
phibal = os.path.abspath(sys.argv[1])
random.seed(1)

BEGIN, END = "<\uff5cbegin\u2581of\u2581sentence\uff5c>", "<\uff5cend\u2581of\u2581sentence\uff5c>"
USER, ASSISTANT = "<\uff5cUser\uff5c>", "<\uff5cAssistant\uff5c>"
LOOP = "{% for m in messages %}"
# Name: bos_token, eos_token, template, roles besides user and assistant, whether they alternate, what follows an answer's end.
FORMATS = {
    "chatml": (None, "<|im_end|>", LOOP + "{{ '<|im_start|>' + m.role + '\\n' + m.content + '<|im_end|>\\n' }}{% endfor %}"
               "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}", ["system"], False, "\n"),
    "chatml of a base model": (None, "<|endoftext|>", LOOP + "{{ '<|im_start|>' + m.role + '\\n' + m.content + "
                               "'<|im_end|>\\n' }}{% endfor %}{% if add_generation_prompt %}"
                               "{{ '<|im_start|>assistant\\n' }}{% endif %}", ["system"], False, "\n"),
    "tulu": ("<|endoftext|>", "<|endoftext|>", "{{ bos_token }}" + LOOP + "{{ {'user': '<|user|>\\n', 'system': "
             "'<|system|>\\n', 'assistant': '<|assistant|>\\n'}[m.role] + m.content }}{% if m.role == 'assistant' %}"
             "{{ eos_token }}{% endif %}{{ '\\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|>\\n' }}"
             "{% endif %}", ["system"], False, "\n"),
    "mistral": ("<s>", "</s>", "{{ bos_token }}" + LOOP + "{% if m.role == 'user' %}{{ '[INST] ' + m.content + ' [/INST]' }}"
                "{% else %}{{ m.content + eos_token }}{% endif %}{% endfor %}", [], True, ""),
    "deepseek": (BEGIN, END, "{{ bos_token }}" + LOOP + "{% if m.role == 'user' %}{{ 'User: ' + m.content + '\\n\\n' }}"
                 "{% elif m.role == 'assistant' %}{{ 'Assistant: ' + m.content + eos_token }}{% else %}{{ m.content + "
                 "'\\n\\n' }}{% endif %}{% endfor %}{% if add_generation_prompt %}{{ 'Assistant:' }}{% endif %}",
                 ["system"], False, ""),
    "deepseek-v3": (BEGIN, END, "{{ bos_token }}" + LOOP + "{{ {'user': '%s', 'assistant': '%s', 'system': ''}[m.role] + "
                    "m.content }}{%% if m.role == 'assistant' %%}{{ eos_token }}{%% endif %%}{%% endfor %%}"
                    "{%% if add_generation_prompt %%}{{ '%s' }}{%% endif %%}" % (USER, ASSISTANT, ASSISTANT), ["first"], False,
                    ""),
}
SPECIAL = ["<|endoftext|>", "<s>", "</s>", "<|im_start|>", "<|im_end|>", BEGIN, END, USER, ASSISTANT]
CONTENTS = ["Hello", "", " ", "\n", "  two  spaces\n\n", "\tTab", "end \n", "\u00e9\u3000\u4f60\u597d", "<|im_end|>",
            "a<|endoftext|>b", "[INST] x [/INST]", "</s> <s>", "User: a\n\nAssistant: b", "{{ bos_token }}", "<|user|>\n", USER,
            "\\n", "'\"", "12 345"]


def make_model(folder, bos, eos, template, lacking=(), as_file=False):
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    tokenizer.train_from_iterator([" the user Hello assistant system [INST] [/INST] User: Assistant:\n\n"] * 9,
                                  tokenizers.trainers.BpeTrainer(vocab_size=300, show_progress=False, special_tokens=[
                                      s for s in SPECIAL if s not in lacking],
                                      initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet()))
    os.makedirs(folder, exist_ok=True)
    tokenizer.save(os.path.join(folder, "tokenizer.json"))
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": eos}
    if bos:
        config["bos_token"] = bos
    if template and not as_file:
        config["chat_template"] = template
    if as_file:
        write(os.path.join(folder, "chat_template.jinja"), template)
    write(os.path.join(folder, "tokenizer_config.json"), json.dumps(config))
    return folder


def write(path, text):
    with open(path, "w", encoding="utf-8", newline="") as f:
        f.write(text)


def run(*words):
    done = subprocess.run([phibal, *words], capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def documents_of(path):
    """(ids, whether each is a target) of every document of a token file with a loss mask."""
    with open(path, "rb") as f:
        data = f.read()
    magic, version, width, _, _, tokens, documents, _, _, names, _ = struct.unpack_from("=8sIIiiqqiIqq", data)
    assert magic == b"phibtok\n" and version == 2
    padded = (tokens * width + 7) // 8 * 8
    ids = struct.unpack_from("=%d%s" % (tokens, "H" if width == 2 else "I"), data, 64)
    at, starts = 64 + padded, []
    for i in range(documents):
        starts.append(struct.unpack_from("=qq", data, at + 24 * i))
    at += 24 * documents + names
    learned = [data[at + i // 8] >> i % 8 & 1 for i in range(tokens)]
    return [(list(ids[a:a + n]), learned[a:a + n]) for a, n in starts]


def chat(extra, alternates):
    messages = []
    if extra and random.random() < 0.6:
        messages.append({"role": "system", "content": random.choice(CONTENTS)})
    for _ in range(random.randint(1, 4)):
        messages.append({"role": "user", "content": random.choice(CONTENTS)})
        messages.append({"role": "assistant", "content": random.choice(CONTENTS)})
        if not alternates and random.random() < 0.2:
            messages.append({"role": random.choice(["user", "assistant"] + [e for e in extra if e != "first"]),
                             "content": random.choice(CONTENTS)})
    while messages[-1]["role"] != "assistant":
        messages.pop()
    return messages


def compare(scratch, name, bos, eos, template, extra, alternates, between):
    folder = make_model(os.path.join(scratch, name.replace(" ", "-")), bos, eos, template)
    format_name = name.split()[0]
    theirs = transformers.AutoTokenizer.from_pretrained(folder)
    chats = [chat(extra, alternates) for _ in range(60)]
    write(os.path.join(folder, "chats.jsonl"), "".join(json.dumps({"messages": c}) + "\n" for c in chats))
    out = os.path.join(folder, "data")
    code, _, said = run("data", "build", "--instructions", "--chat", format_name, "--model", folder, "--validation", "0",
                        "--out", out, os.path.join(folder, "chats.jsonl"))
    assert code == 0, said
    found = documents_of(os.path.join(out, "train.tokens"))
    assert len(found) == len(chats)
    with open(os.path.join(out, "corpus.json"), encoding="utf-8") as f:
        assert json.load(f)["chat"] == format_name
    ends = "<|im_end|>" if format_name == "chatml" else eos
    lead = " " if format_name == "deepseek" else ""
    for messages, (ids, learned) in zip(chats, found, strict=True):
        whole = theirs.apply_chat_template(messages, tokenize=False)
        if between:
            assert whole.endswith(between)
            whole = whole[:-len(between)]
        if ends != eos:
            assert ids[-1] == theirs.convert_tokens_to_ids(eos) and learned[-1] == 1
            ids, learned = ids[:-1], learned[:-1]
        text = theirs.decode(ids, skip_special_tokens=False, clean_up_tokenization_spaces=False)
        assert text == whole, (name, messages, text, whole)
        # Prompts and targets by turns, each tokenized by itself.
        parts = []
        for token, target in zip(ids, learned, strict=True):
            if not parts or parts[-1][0] != target:
                parts.append((target, []))
            parts[-1][1].append(token)
        answers = [lead + m["content"] + ends for m in messages if m["role"] == "assistant"]
        targets = "".join(theirs.decode(p, skip_special_tokens=False, clean_up_tokenization_spaces=False)
                          for target, p in parts if target)
        assert targets == "".join(answers), (name, messages, targets)
        for target, part in parts:
            said = theirs.decode(part, skip_special_tokens=False, clean_up_tokenization_spaces=False)
            if target and said not in answers:
                continue  # two answers, one after the other, with nothing read between them
            assert theirs(said, add_special_tokens=False).input_ids == part, (name, said)
        first = next(i for i, m in enumerate(messages) if m["role"] == "assistant")
        prompt = theirs.apply_chat_template(messages[:first], add_generation_prompt=True, return_dict=False)
        assert parts[0] == (0, prompt), (name, messages, parts[0], prompt)
    answer(folder, format_name, theirs, ends, bool(extra))
    print("%s: %d chats, %d tokens" % (name, len(chats), sum(len(ids) for ids, _ in found)))


def answer(folder, format_name, theirs, ends, has_system):
    """What a model with random weights says to a user, beside transformers' greedy decoding."""
    torch.manual_seed(2)
    model = transformers.MixtralForCausalLM(transformers.MixtralConfig(
        vocab_size=300, hidden_size=32, intermediate_size=16, num_hidden_layers=2, num_attention_heads=2,
        num_key_value_heads=1, num_local_experts=4, num_experts_per_tok=2, initializer_range=0.4)).eval()
    model.save_pretrained(folder)
    if not has_system:
        code, _, error = run("generate", "--load", folder, "--chat", format_name, "--prompt", "u", "--system", "s")
        assert code == 2 and "no messages of the system" in error, error
    for text, system in [("Hello", None), (" <|im_end|>\n", None)] + ([("u", " s\n"), ("", "")] if has_system else []):
        messages = ([] if system is None else [{"role": "system", "content": system}]) + [{"role": "user", "content": text}]
        ids = theirs.apply_chat_template(messages, add_generation_prompt=True, return_dict=False)
        before = [] if system is None else ["--system", system]
        stop = {theirs.convert_tokens_to_ids(ends), theirs.eos_token_id}
        wanted = []
        with torch.no_grad():
            while len(wanted) < 12 and not (wanted and wanted[-1] in stop):
                logits = model(input_ids=torch.tensor([ids + wanted]), use_cache=False).logits[0, -1]
                wanted.append(int(logits.argmax()))
        code, said, error = run("generate", "--load", folder, "--chat", format_name, "--prompt", text, *before, "--temperature", "0",
                                "--length", "12", "--json")
        assert code == 0, error
        assert json.loads(said)["tokens"] == wanted, (format_name, text, said, wanted)
        code, said, error = run("generate", "--load", folder, "--chat", format_name, "--prompt", text, *before, "--temperature", "0",
                                "--length", "12")
        assert code == 0, error
        shown = wanted[:-1] if wanted[-1] in stop else wanted
        told = theirs.decode(shown, skip_special_tokens=False, clean_up_tokenization_spaces=False)
        assert "\ufffd" in told or said == told + "\n" or eos_inside(shown, theirs), (said, told)


def eos_inside(ids, theirs):
    return theirs.eos_token_id in ids


def refused(scratch):
    chatml, tulu, mistral = FORMATS["chatml"], FORMATS["tulu"], FORMATS["mistral"]
    user = [{"role": "user", "content": "u"}, {"role": "assistant", "content": "a"}]
    system = [{"role": "system", "content": "s"}] + user
    zephyr = tulu[2].replace("{% if m.role == 'assistant' %}{{ eos_token }}{% endif %}",
                             "{% if m.role == 'user' %}{{ eos_token }}{% elif m.role == 'system' %}{{ eos_token }}"
                             "{% else %}{{ eos_token }}{% endif %}")
    default = "{% if messages[0].role != 'system' %}{{ '<|im_start|>system\\nYou are kind.<|im_end|>\\n' }}{% endif %}"
    cases = [
        ("chatml", mistral[0], mistral[1], mistral[2], user, (), "has no '<|im_start|>'"),
        ("mistral", *chatml[:3], user, (), "has no '[INST] '"),
        ("chatml", *chatml[:2], chatml[2].replace("m.content", "m.content.strip()"), user, (), "has 'strip('"),
        ("chatml", *chatml[:2], chatml[2].replace("m.content", "(m.content | trim)"), user, (), "has 'trim'"),
        ("chatml", *chatml[:2], chatml[2] + "{{ '<think>' }}", user, (), "has 'think'"),
        ("chatml", *chatml[:2], default + chatml[2], user, (), "a system message of its own"),
        ("chatml", *chatml[:2], default + chatml[2], system, (), None),
        ("chatml", *chatml[:3], user, ("<|im_start|>",), "no token '<|im_start|>'"),
        ("chatml", None, "<|endoftext|>", chatml[2], user, ("<|im_end|>",), "no token '<|im_end|>'"),
        ("deepseek-v3", BEGIN, END, None, user, (USER,), "no token '" + USER),
        ("deepseek-v3", BEGIN, END, None, user[:1] + system, (), "only the first is of system"),
        ("tulu", tulu[0], tulu[1], zephyr, user, (), "ends 3 messages with eos_token"),
        ("tulu", None, tulu[1], tulu[2], user, (), "no token 'bos_token'"),
        ("mistral", mistral[0], mistral[1], mistral[2].replace("'[INST] '", "' [INST] '"), user, (), "has ' [INST]'"),
        ("mistral", *mistral[:3], system, (), "has no 'system'"),
        ("mistral", *mistral[:3], user[:1] + user, (), "take turns"),
        ("mistral", *mistral[:3], user[1:], (), "take turns"),
        ("chatml", *chatml[:3], [{"role": "tool", "content": "t"}] + user, (), "has no 'tool'"),
        ("own", *chatml[:3], user, (), None),
        (None, *chatml[:3], user, (), "say which format"),
        (None, chatml[0], chatml[1], None, user, (), None),
        ("alpaca", *chatml[:3], user, (), "--chat alpaca"),
    ]
    for i, (name, bos, eos, template, messages, lacking, part) in enumerate(cases):
        folder = make_model(os.path.join(scratch, "refused%d" % i), bos, eos, template, lacking, as_file=bool(template) and i % 2)
        write(os.path.join(folder, "chats.jsonl"), json.dumps({"messages": messages}) + "\n")
        for model in (folder, os.path.join(folder, "tokenizer.json")):
            code, _, said = run("data", "build", "--instructions", *(["--chat", name] if name else []), "--model", model,
                                "--validation", "0", "--overwrite", "--out", os.path.join(folder, "data"),
                                os.path.join(folder, "chats.jsonl"))
            assert code == (2 if part else 0) and (not part or part in said), (i, name, part, code, said)
    print("%d chats refused or not, by name" % len(cases))


with tempfile.TemporaryDirectory() as place:
    for key, row in FORMATS.items():
        compare(place, key, *row)
    refused(place)
