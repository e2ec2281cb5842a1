"""NumPy's .npz as vectors and as results: what is written is what Python's own zipfile, and NumPy where it
is there, read; what they write is judged as safetensors are.

usage: npz.py PHIBAL

Wrong readers that would be noticed: one that takes Fortran's order for C's, that ignores a checksum, that
passes what it cannot read; wrong writers: one whose sizes, checksums, shapes or dtypes are not the array's.
"""
import ast
import json
import os
import struct
import subprocess
import sys
import tempfile
import zipfile

try:
    import numpy
except ImportError:
    numpy = None
    print("no numpy: archives are held against zipfile only")

phibal = os.path.abspath(sys.argv[1])


def run(status, *arguments):
    done = subprocess.run([phibal, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == status, (arguments, done.returncode, done.stdout, done.stderr)
    return done.stdout + done.stderr


def load_safetensors(path):
    kinds = {"F32": "<f4", "F64": "<f8", "I32": "<i4", "I64": "<i8", "U8": "|u1"}
    with open(path, "rb") as f:
        header, data = json.loads(f.read(struct.unpack("<Q", f.read(8))[0])), f.read()
    header.pop("__metadata__", None)
    return {n: (kinds[t["dtype"]], tuple(t["shape"]), data[slice(*t["data_offsets"])]) for n, t in header.items()}


def load_npz(path):
    arrays = {}
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        for name in archive.namelist():
            data = archive.read(name)
            assert name.endswith(".npy") and data[:8] == b"\x93NUMPY\1\0", name
            size = struct.unpack("<H", data[8:10])[0]
            assert (10 + size) % 64 == 0 and data[9 + size] == 10
            header = ast.literal_eval(data[10:10 + size].decode())
            assert header["fortran_order"] is False
            arrays[name[:-4]] = (header["descr"], header["shape"], data[10 + size:])
    return arrays


def save_npz(path, arrays, method=zipfile.ZIP_STORED, version=1, fortran=(), pad=64):
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, (descr, shape, data) in arrays.items():
            text = repr({"shape": shape, "descr": descr, "fortran_order": name in fortran}).encode()
            width = 2 if version == 1 else 4
            text += b" " * (-(8 + width + len(text) + 1) % pad) + b"\n"
            with archive.open(name + ".npy", "w", force_zip64=True) as f:
                f.write(b"\x93NUMPY" + bytes([version, 0]) + len(text).to_bytes(width, "little") + text + data)


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    for operation in ("router-forward", "metrics", "combine"):
        run(0, "vectors", "--op", operation, "--cases", "6", "--out", "c.safetensors", "--results", "r.safetensors",
            "--overwrite")
        with open("c.json", encoding="utf-8") as f:
            manifest = json.load(f)
        run(0, "vectors", "--op", operation, "--cases", "6", "--out", "n.npz", "--results", "r.npz", "--overwrite")
        with open("n.json", encoding="utf-8") as f:
            assert {**json.load(f), "tensors": 0, "digest": 0} == {**manifest, "tensors": 0, "digest": 0}
        assert load_npz("n.npz") == load_safetensors("c.safetensors")
        results = load_npz("r.npz")
        assert results == load_safetensors("r.safetensors")
        verdicts = [run(0, "judge", cases, answers) for cases in ("n.npz", "c.safetensors")
                    for answers in ("r.npz", "r.safetensors")]
        assert len(set(verdicts)) == 1 and "all 6 cases passed" in verdicts[0]
        if numpy:
            with numpy.load("r.npz") as loaded:
                assert set(loaded) == set(results)
                for name, (descr, shape, data) in results.items():
                    assert loaded[name].dtype == numpy.dtype(descr) and loaded[name].shape == shape
                    assert loaded[name].tobytes() == data, name

    def expect(status, word, arrays, **options):
        save_npz("w.npz", arrays, **options)
        said = run(status, "judge", "n.npz", "w.npz")
        assert word in said and (status < 2 or said.count("\n") == 1), said

    # As others write it: deflated, another version of the header, odd places of the data, Fortran's order.
    for options in ({"method": zipfile.ZIP_DEFLATED}, {"version": 2}, {"version": 3}, {"pad": 1}, {"pad": 16}):
        expect(0, "all 6 cases passed", results, **options)
    name = max((n for n, t in results.items() if len(t[1]) == 2 and min(t[1]) > 1), key=lambda n: len(results[n][2]))
    descr, (rows, columns), data = results[name]
    width = len(data) // rows // columns
    item = lambda i: data[i * width:(i + 1) * width]
    turned = b"".join(item(r * columns + c) for c in range(columns) for r in range(rows))
    assert turned != data
    expect(0, "all 6 cases passed", {**results, name: (descr, (rows, columns), turned)}, fortran=(name,))
    expect(1, "1 of 6 cases failed", {**results, name: (descr, (rows, columns), turned)})
    expect(1, "1 of 6 cases failed", results, fortran=(name,))
    less = {n: t for n, t in results.items() if n != name}
    expect(1, "missing; the results need a tensor " + name, less)

    # What is not right, or not understood, is named.
    expect(2, "'%s': the dtype '>f4' cannot be read (big-endian)" % name, {**results, name: (">f4", (rows, columns), data)})
    expect(2, "the dtype '|O'", {"x": ("|O", (1,), b"8bytes..")})
    expect(2, "the dtype '<c8'", {"x": ("<c8", (1,), b"8bytes..")})
    expect(2, "of one kind of number", {"x": ([("a", "<f4")], (2,), b"8bytes..")})
    expect(2, "which its shape and dtype do not take", {"x": ("<f4", (3,), b"8bytes..")})
    expect(2, "which its shape and dtype do not take", {"x": ("<f4", (2 ** 40, 2 ** 40), b"8bytes..")})
    expect(2, "more dimensions than the 8", {"x": ("<f4", (1,) * 9, b"4b..")})
    expect(2, "method 12", results, method=zipfile.ZIP_BZIP2)
    with open("r.npz", "rb") as f:
        whole = f.read()
    for change, word in ((lambda b: b.__setitem__(b.index(data), b[b.index(data)] ^ 1), "its bytes are damaged"),
                         (lambda b: b.__delitem__(slice(len(b) - 5, None)), "truncated"),
                         (lambda b: b.__delitem__(slice(200, 210)), "not ")):
        broken = bytearray(whole)
        change(broken)
        with open("w.npz", "wb") as f:
            f.write(broken)
        said = run(2, "judge", "n.npz", "w.npz")
        assert word in said and said.count("\n") == 1, said
    # A member that claims to be larger than the file can make it.
    broken = bytearray(whole)
    broken[whole.index(b"PK\1\2") + 24:whole.index(b"PK\1\2") + 28] = b"\0\0\0\x70"
    with open("w.npz", "wb") as f:
        f.write(broken)
    assert "more than the file can hold" in run(2, "judge", "n.npz", "w.npz")

    # With what else judge does.
    for _ in range(2):
        run(0, "judge", "n.npz", "r.npz", "--certificate", "c.cert", "--junit", "j.xml")
    assert "certificate holds" in run(0, "judge", "--certificate", "c.cert")
    some = {n: t for n, t in results.items() if n.startswith("0002")}
    save_npz("w.npz", some)
    assert "all 1 answered cases passed; 5 of 6" in run(0, "judge", "n.npz", "w.npz", "--answered-only")
    if numpy:
        half = {n: numpy.frombuffer(t[2], t[0]).reshape(t[1]) for n, t in results.items()}
        numpy.savez_compressed("w.npz", **{n: a.astype("f2") if a.dtype == "f4" else a for n, a in half.items()})
        run(0, "judge", "n.npz", "w.npz", "--format", "binary16")
        numpy.savez("w.npz", **{n: numpy.asfortranarray(a) for n, a in half.items()})
        run(0, "judge", "n.npz", "w.npz")
print("ok")
