"""Hugging Face's tokenizer.json in phibal and in `tokenizers`.

usage: tokenizer_json.py TOKENIZER_IDS [MEGABYTES]

Trains tokenizers of the kinds that models have, and compares ids and decoded text on so many megabytes (2) of prose and
code of this system, scripts of Unicode, white space, and every code point; and what refuses a file or a text does so by
name. With the word `speed` in place of MEGABYTES it prints how fast both encode one text, in one thread."""
import copy
import json
import os
import random
import struct
import subprocess
import sys
import tempfile
import time
import unicodedata

try:
    import tokenizers
    from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
except ImportError as missing:
    print("skipped: no Python package '%s'" % missing.name)
    sys.exit(77)

ids_of, wanted = os.path.abspath(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "2"
speed = wanted == "speed"
megabytes = 4 if speed else int(wanted)
random.seed(1)

SCRIPTS = [(0x20, 0x7f), (0xa0, 0x250), (0x300, 0x370), (0x370, 0x530), (0x590, 0x700), (0x900, 0xe00), (0xe00, 0x1000),
           (0x1100, 0x1200), (0x1e00, 0x2070), (0x2070, 0x2c00), (0x3000, 0x3400), (0x4e00, 0x9fff), (0xac00, 0xd7a4),
           (0xf900, 0xfb00), (0xfe00, 0xffff), (0x10000, 0x10400), (0x1d100, 0x1d800), (0x1f100, 0x1fa00)]
SPACES = [" ", " ", " ", "\n", "\t", "\r\n", "\u00a0", "\u3000", "\u2028", "\u0085", "\v", "'s", "'LL", "'\u017f", "123",
          "\u0663", "_", "\u2581", "!?", "\r", "  \n \n", "\x00", "\u200d", "\u0301", "e\u0301", "\ufb01", "\u0345"]


def invented(size):
    """Runs of one script, white space and what patterns look for; code points that are not assigned too."""
    out, n = [], 0
    while n < size:
        a, b = random.choice(SCRIPTS)
        for _ in range(random.randint(1, 12)):
            out.append(chr(random.randrange(a, b)) if random.random() < 0.8 else random.choice(SPACES))
        out.append(random.choice(SPACES) * random.randint(0, 3))
        n += 30
    return "".join(out)


def files(size):
    """Text files of this system, each a text."""
    here = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
    roots = [os.path.join(here, "moe"), os.path.join(here, "tests"), "/usr/share/doc", "/usr/share/perl", "/usr/lib/python3",
             "/usr/include", "/usr/share/i18n", "/usr/share/common-licenses", "/usr/share"]
    for root in roots:
        for folder, folders, names in os.walk(root):
            folders.sort()
            for name in sorted(names):
                path = os.path.join(folder, name)
                if size <= 0:
                    return
                if os.path.islink(path) or not os.path.isfile(path) or os.path.getsize(path) > 1 << 20:
                    continue
                with open(path, "rb") as f:
                    text = f.read().decode("utf-8", "ignore")
                if len(text) > 20 and text.count("\0") < 20:
                    size -= len(text.encode())
                    yield text


everything = "".join(chr(c) + ("a" if c % 3 else " ") for c in range(0x110000) if not 0xd800 <= c < 0xe000)
marks = "".join("a\u0345%s\u0323e%s\u0301" % (chr(c), chr(c)) for c in range(0x300, 0x20000)
                if unicodedata.category(chr(c))[0] == "M" or unicodedata.category(chr(c)) == "Cn")
marks += "\uc7ac\u11a7 \uc7ac\u11c2 \uc7ac\u11c3 \u1112\u1175\u11a7\u1112\u1161\u11ab"
marks += "".join(unicodedata.normalize("NFD", chr(c)) + " " for c in range(0x110000) if unicodedata.decomposition(chr(c)))
texts = ["", " ", "  ", "\n", "a", "\u2581", " \u2581 a"] + list(files(megabytes * 700000))
left = megabytes * 300000
while left > 0:
    texts.append(invented(random.choice([10, 100, 1000, 20000])))
    left -= len(texts[-1].encode())
random.shuffle(texts)
train = [t.replace("\0", "") for t in texts if len(t) < 20000][:400 if megabytes > 2 else 120]

LLAMA3 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
QWEN2 = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")
GPT4O = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
         r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
         r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")


def split(pattern, behavior="isolated", invert=False):
    return pre_tokenizers.Split(Regex(pattern), behavior, invert)


def byte_level(pre, normalizer=None, size=2000, **options):
    t = Tokenizer(models.BPE(**options))
    t.pre_tokenizer, t.decoder = pre, decoders.ByteLevel()
    if normalizer:
        t.normalizer = normalizer
    t.train_from_iterator(train, trainers.BpeTrainer(
        vocab_size=size, show_progress=False, special_tokens=["<|endoftext|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    return t


def llama2(normalizer, pre, decoder, fuse=True):
    t = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=fuse, byte_fallback=True))
    t.normalizer, t.decoder = normalizer, decoder
    if pre:
        t.pre_tokenizer = pre
    # Trained on words, for time's sake.
    trained = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=fuse, byte_fallback=True))
    trained.normalizer, trained.pre_tokenizer = normalizer, pre_tokenizers.Metaspace()
    trained.train_from_iterator(train, trainers.BpeTrainer(
        vocab_size=2000, show_progress=False, limit_alphabet=600,
        special_tokens=["<unk>", "<s>", "</s>"] + ["<0x%02X>" % b for b in range(256)]))
    made = json.loads(trained.to_str())
    shape = json.loads(t.to_str())
    shape["model"] = made["model"]
    shape["added_tokens"] = [a for a in made["added_tokens"] if a["id"] < 3]
    return Tokenizer.from_str(json.dumps(shape))


def sequence_of_decoders():
    return decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse(),
                              decoders.Strip(" ", 1, 0)])


def kinds():
    yield "GPT-2", byte_level(pre_tokenizers.ByteLevel(add_prefix_space=False))
    yield "Llama 3", byte_level(pre_tokenizers.Sequence([split(LLAMA3), pre_tokenizers.ByteLevel(False, use_regex=False)]),
                                ignore_merges=True)
    yield "Qwen2", byte_level(pre_tokenizers.Sequence([split(QWEN2), pre_tokenizers.ByteLevel(False, use_regex=False)]),
                              normalizers.NFC())
    yield "DeepSeek", byte_level(pre_tokenizers.Sequence([
        split(r"[\r\n]"), split(r"\s?[A-Za-z\u00b5\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u01ba\u0370-\u0373\u1e00-\u1f15]+"),
        split(r"\s?[!-/:-~\uff01-\uff0f\uff1a-\uff5e\u2018-\u201f\u3000-\u3002]+"), split(r"\s+$"),
        split("[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+"), pre_tokenizers.Digits(True),
        pre_tokenizers.ByteLevel(False, use_regex=False)]))
    yield "Llama 2", llama2(normalizers.Sequence([normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")]), None,
                            sequence_of_decoders())
    t = byte_level(pre_tokenizers.Sequence([pre_tokenizers.Digits(False), pre_tokenizers.ByteLevel(True)]), normalizers.NFKC())
    A = tokenizers.AddedToken
    t.add_tokens([A("<left>", lstrip=True), A("<right>", rstrip=True, normalized=False), A("word", single_word=True),
                  A("\ufb01", normalized=True), A("<both>", lstrip=True, rstrip=True), A("<both>>", normalized=False)])
    t.add_special_tokens(["<|im_start|>", A("<|im_end|>", lstrip=True, normalized=False)])
    yield "NFKC and added tokens", t
    yield "GPT-4o", byte_level(pre_tokenizers.Sequence([split(GPT4O), pre_tokenizers.ByteLevel(False, use_regex=False)]))
    yield "Metaspace", llama2(normalizers.NFKD(), pre_tokenizers.Metaspace(prepend_scheme="first"), decoders.Metaspace(
        prepend_scheme="first"), fuse=False)
    if megabytes > 2:
        yield "behaviors", byte_level(pre_tokenizers.Sequence([
            split(r"\p{Lu}", "merged_with_next"), split(r"[\p{P}-]", "merged_with_previous"), split(r"\w++", "contiguous", True),
            split(r"\n", "removed"), split(r"\p{N}+?\d", "merged_with_next", True),
            pre_tokenizers.ByteLevel(False, use_regex=False)]), normalizers.NFD())


def ours(folder, given, status=0):
    with open(os.path.join(folder, "texts"), "wb") as f:
        for t in given:
            t = t if isinstance(t, bytes) else t.encode()
            f.write(struct.pack("=Q", len(t)) + t)
    done = subprocess.run([ids_of, os.path.join(folder, "tokenizer.json"), os.path.join(folder, "texts"),
                           os.path.join(folder, "out")], capture_output=True, check=False)
    assert done.returncode == status, (done.returncode, done.stderr.decode()[-400:])
    if status:
        return done.stderr.decode()
    with open(os.path.join(folder, "out"), "rb") as f:
        out = f.read()
    at, found = 0, []
    for _ in given:
        n, = struct.unpack_from("=Q", out, at)
        if n == (1 << 64) - 1:
            m, = struct.unpack_from("=Q", out, at + 8)
            found.append((None, out[at + 16:at + 16 + m]))
            at += 16 + m
            continue
        ids = list(struct.unpack_from("=%dI" % n, out, at + 8))
        at += 8 + 4 * n
        m, = struct.unpack_from("=Q", out, at)
        found.append((ids, out[at + 8:at + 8 + m]))
        at += 8 + m
    assert at == len(out)
    return found, done.stdout.split()


def compare(name, t, folder, given):
    t.save(os.path.join(folder, "tokenizer.json"))
    found, (_, vocabulary, end) = ours(folder, given)
    # A file without an end of document gets an id for it.
    assert int(vocabulary) == t.get_vocab_size() + (int(end) == t.get_vocab_size()), (name, vocabulary)
    for text, (ids, decoded) in zip(given, found):
        peer = t.encode(text, add_special_tokens=False)
        if ids != peer.ids:
            at = next((i for i in range(min(len(ids or []), len(peer.ids))) if ids[i] != peer.ids[i]), 0) if ids else 0
            raise AssertionError((name, "ids", decoded if ids is None else [t.id_to_token(i) for i in ids[max(0, at - 3):at + 4]],
                                  [t.id_to_token(i) for i in peer.ids[max(0, at - 3):at + 4]],
                                  text[max(0, at - 40):][:80]))
        if len(text) < 1 << 18:
            back = t.decode([i for i in peer.ids if i != int(end)], skip_special_tokens=False)
            assert decoded.decode("utf-8", "replace") == back, (name, "decoded", text[:80], decoded[:80], back[:80])


def refused(folder, document, word, text="x"):
    with open(os.path.join(folder, "tokenizer.json"), "w", encoding="utf-8") as f:
        f.write(document if isinstance(document, str) else json.dumps(document))
    said = ours(folder, [text], 1)
    assert word in said, (word, said)


def refusals(t, folder):
    good = json.loads(t.to_str())

    def changed(path, value):
        to = copy.deepcopy(good)
        at = to
        for key in path[:-1]:
            at = at[key]
        at[path[-1]] = value
        return to
    vocab = good["model"]["vocab"]
    token = next(iter(vocab))
    byte_pre = good["pre_tokenizer"]
    for path, value, word in [
            (["model", "type"], "WordPiece", "WordPiece"), (["model", "type"], "Unigram", "Unigram"),
            (["model", "dropout"], 0.1, "dropout"), (["model", "end_of_word_suffix"], "</w>", "end_of_word_suffix"),
            (["model", "continuing_subword_prefix"], "##", "continuing_subword_prefix"),
            (["model", "surprise"], 1, "surprise"), (["surprise"], 1, "surprise"), (["truncation"], {}, "truncation"),
            (["model", "unk_token"], "nowhere", "unk_token"), (["model", "vocab"], [], "vocab"),
            (["model", "vocab", token], -1, "0 to 16777215"), (["model", "vocab", token], 1 << 60, "0 to 16777215"),
            (["model", "vocab", token], 5, "of two tokens"), (["model", "merges"], [["a", "nowhere"]], "merge 0"),
            (["model", "merges"], ["a b c"], "merge 0"), (["model", "merges"], {}, "merges"), (["model", "merges", 3], 7, "merge 3"),
            (["normalizer"], {"type": "Lowercase"}, "Lowercase"), (["normalizer"], {"type": "NFC", "x": 1}, "'x'"),
            (["decoder"], {"type": "WordPiece"}, "WordPiece"), (["decoder"], None, "decoder"),
            (["post_processor"], {"type": "Other"}, "Other"),
            (["pre_tokenizer"], {"type": "BertPreTokenizer"}, "BertPreTokenizer"),
            (["pre_tokenizer"], {"type": "Sequence", "pretokenizers": [byte_pre, {"type": "Digits"}]}, "after ByteLevel"),
            (["added_tokens", 0, "id"], 1 << 40, "0 to 16777215"), (["added_tokens", 0, "surprise"], 1, "surprise")]:
        refused(folder, changed(path, value), word)
    for pattern in [r"(?<=a)b", r"a**", "(a", "a)", "[a", r"\p{Nonsense}", r"(ab)+", r"\b", "^a", r"(?i:\p{L})", "[a&&b]", r"\1",
                    "a{2}+", r"(?i:stra\u00dfe)", "(?i:ss)", "", "[z-a]", "(" * 100, r"\x{110000}", "a{99999}", "[]", r"(?>a)"]:
        refused(folder, changed(["pre_tokenizer"], {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated",
                                                     "invert": False}), "pattern")
    refused(folder, '{"model": ' + "[" * 100000, "depth")
    refused(folder, '{"model": {"type": "BPE", "vocab": {"a": 0, "a": 1}, "merges": []}}', "duplicate")
    refused(folder, "{", "tokenizer.json")
    refused(folder, '{"model": 1}', "model")
    refused(folder, '{"model": {"merges": [], "vocab": {}}, "decoder": {"type": "ByteLevel"}}', "vocab")

    # Merges that go in circles, as far as they can, end.
    small = changed(["model"], {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2, "ba": 3, "aba": 4, "?": 5}, "unk_token": "?",
                                "merges": [["a", "b"], ["b", "a"], ["ab", "a"], ["a", "ba"], ["a", "b"]]})
    small["added_tokens"], small["pre_tokenizer"] = [], {"type": "Split", "pattern": {"String": "\n"}, "behavior": "Removed",
                                                         "invert": False}
    peer = Tokenizer.from_str(json.dumps(small))
    given = ["".join(random.choice("aab\n") for _ in range(n)) for n in range(200)]
    compare("merges in circles", peer, folder, given)

    # A text that is not UTF-8, and a pattern that matches nothing or for ever.
    with open(os.path.join(folder, "tokenizer.json"), "w", encoding="utf-8") as f:
        json.dump(good, f)
    for bad, at in [(b"abc\xff", 3), (b"\xc3", 0), (b"a\xed\xa0\x80", 1), (b"\xf4\x90\x80\x80", 0)]:
        (ids, message), = ours(folder, [bad])[0]
        assert ids is None and b"not UTF-8 at byte %d" % at in message, message
    for _ in range(300):
        noise = bytes(random.randrange(256) for _ in range(random.randint(1, 30)))
        (ids, message), = ours(folder, [noise])[0] if _ < 20 else [(None, b"")]
        try:
            noise.decode()
            assert ids is not None or _ >= 20
        except UnicodeDecodeError:
            assert ids is None
    for pattern, text, word in [("b*", "aaa", b"empty match"), ("a*a*a*a*a*a*a*a*b", "a" * 3000, b"too many steps")]:
        with open(os.path.join(folder, "tokenizer.json"), "w", encoding="utf-8") as f:
            json.dump(changed(["pre_tokenizer"], {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated",
                                                   "invert": False}), f)
        (ids, message), = ours(folder, [text])[0]
        assert ids is None and word in message, message
    # A byte without a token is not dropped, as `tokenizers` would.
    lacking = changed(["model"], {"type": "BPE", "vocab": {"a": 0}, "merges": []})
    lacking["added_tokens"] = []
    with open(os.path.join(folder, "tokenizer.json"), "w", encoding="utf-8") as f:
        json.dump(lacking, f)
    (ids, message), = ours(folder, ["ab"])[0]
    assert ids is None and b"no token for the byte" in message, message


with tempfile.TemporaryDirectory() as temporary:
    added = [" <left>x <right>  y word sword word's  <both> <both>>  fi \ufb01 <|im_start|>a  <|im_end|>b", "<left><left> <right> <both>",
             "words word\u0301 \u24d0word word\u00b2 word\u200d word", "<|endoftext|>a<|endoftext|>", "<|im_end|><|im_end|> <|endoftext|"]
    size = sum(len(t.encode()) for t in texts)
    first = None
    for kind, made in kinds():
        first = first or made
        start = time.time()
        if speed:
            whole = "\n".join(texts)
            made.save(os.path.join(temporary, "tokenizer.json"))
            mine = min(float(ours(temporary, [whole])[1][0]) for _ in range(3))
            made.encode(whole[:1000])
            start = time.process_time()
            made.encode(whole)
            peer_seconds = time.process_time() - start
            n = len(whole.encode()) / 1e6
            print("%-22s phibal %6.1f MB/s, tokenizers %6.1f MB/s, ratio %5.1f" % (kind, n / mine, n / peer_seconds, peer_seconds / mine))
            continue
        try:
            whole = [everything] if megabytes > 2 or kind in ("GPT-4o", "NFKC and added tokens") else []
            whole += [marks] if made.normalizer and "replace" not in str(made.normalizer).lower() else []
            compare(kind, made, temporary, added + texts + whole)
            print("%-22s %.1f MB, the same; %.0f s" % (kind, size / 1e6, time.time() - start), flush=True)
        except AssertionError as e:
            if not os.environ.get("KEEP_GOING"): raise
            print(kind, "DIFFERS", str(e)[:900], flush=True)
    if not speed:
        refusals(first, temporary)
