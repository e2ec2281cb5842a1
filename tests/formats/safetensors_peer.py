"""Our safetensors reader and writer beside the format's own library (PyPI's safetensors).

usage: safetensors_peer.py SAFETENSORS_COPY

Files that the library writes must come back byte for byte from our reader and writer. Of files with
bytes changed, ours may accept none that the library refuses, and must read the same from the others;
where only ours refuses, the reason must be one of the restrictions that formats/safetensors.h
states.
"""
import ctypes
import os
import random
import subprocess
import sys
import tempfile

try:
    import safetensors
    from safetensors import SafetensorError, deserialize, serialize
except ImportError:
    print("skipped: no Python package 'safetensors'")
    sys.exit(77)

try:
    from safetensors import TensorSpec
except ImportError:
    TensorSpec = None

WIDTHS = {"float64": 8, "float32": 4, "float16": 2, "bfloat16": 2, "int64": 8, "int32": 4,
          "int16": 2, "int8": 1, "uint8": 1, "uint16": 2, "uint32": 4, "uint64": 8, "bool": 1}
# The library takes these; ours does not, and says so.
OURS_ONLY = ["cannot be read", "dimensions, where at most", "unaligned for", "its entry has more",
             "\\u0000", "NUL"]


def tensor(dtype, shape, data, alive):
    """What serialize takes; newer versions want a pointer, to memory that `alive` keeps."""
    if TensorSpec is None:
        return {"dtype": dtype, "shape": shape, "data": data}
    alive.append(ctypes.create_string_buffer(data, len(data) or 1))
    return TensorSpec(dtype=dtype, shape=shape, data_ptr=ctypes.addressof(alive[-1]),
                      data_len=len(data))


def random_file(rng):
    tensors, alive = {}, []
    for _ in range(rng.randrange(6)):
        name = "".join(rng.choice("abcXYZ._019 \"\\/\u00e4\u20ac\t") for _ in range(rng.randrange(1, 9)))
        dtype = rng.choice(list(WIDTHS))
        shape = [rng.randrange(4) for _ in range(rng.randrange(4))]
        count = WIDTHS[dtype]
        for extent in shape:
            count *= extent
        tensors[name] = tensor(dtype, shape, rng.randbytes(count), alive)
    # More than one entry has no fixed order in the library.
    metadata = {"k\n": "\u00e4\"v"} if rng.randrange(2) else None
    return bytes(serialize(tensors, metadata))


def mutate(rng, data):
    data = bytearray(data)
    header = 8 + int.from_bytes(data[:8], "little")
    for _ in range(rng.randrange(1, 4)):
        kind = rng.randrange(5)
        at = rng.randrange(header if rng.randrange(8) else len(data))
        if kind == 0:
            data[at] = rng.choice(b"0123456789\",:[]{}-.eFUI \x00\xff")
        elif kind == 1:
            data[at] ^= 1 << rng.randrange(8)
        elif kind == 2:
            digits = [i for i in range(8, min(header, len(data))) if 48 <= data[i] < 58]
            if digits:
                data[rng.choice(digits)] = rng.randrange(48, 58)
        elif kind == 3:
            data = data[:max(9, rng.randrange(len(data) + 1))]
        else:
            data += bytes(rng.randrange(3))
        header = min(header, len(data))
    return bytes(data)


def main():
    rng = random.Random(20261122)
    originals = [random_file(rng) for _ in range(250)]
    files = originals + [mutate(rng, data) for data in originals for _ in range(10)]
    wrong = same = refused = ours_only = 0
    with tempfile.TemporaryDirectory() as folder:
        arguments = []
        for i, data in enumerate(files):
            with open(os.path.join(folder, str(i)), "wb") as f:
                f.write(data)
            arguments += [str(i), f"{i}.copy"]
        lines = []
        for at in range(0, len(arguments), 1000):
            command = [os.path.abspath(sys.argv[1])] + arguments[at:at + 1000]
            lines += subprocess.run(command, cwd=folder, check=True, text=True, capture_output=True,
                                    errors="replace").stdout.splitlines()
        assert len(lines) == len(files), (len(lines), len(files))
        for i, (data, line) in enumerate(zip(files, lines)):
            try:
                theirs = sorted(deserialize(data), key=lambda t: t[0])
            except SafetensorError as error:
                theirs = None
                reason = error
            problem = None
            if line == "ok":
                with open(os.path.join(folder, f"{i}.copy"), "rb") as f:
                    copy = f.read()
                if theirs is None:
                    problem = f"accepted; the library: {reason}"
                elif sorted(deserialize(copy), key=lambda t: t[0]) != theirs:
                    problem = "read differently"
                elif i < len(originals) and copy != data:
                    problem = "written differently"
                same += 1
            elif theirs is None:
                refused += 1
            elif any(part in line for part in OURS_ONLY):
                ours_only += 1
            else:
                problem = f"refused: {line}"
            if problem:
                wrong += 1
                print(f"file {i}: {problem}\n  {data[:300]}")
    print(f"safetensors {safetensors.__version__}: {same} files read alike, {refused} refused by both, "
          f"{ours_only} by ours only, as documented; {wrong} wrong")
    return 1 if wrong or same < len(originals) + 100 or refused < 500 else 0


sys.exit(main())
