"""The C libraries, by ctypes: where they are, their prototypes, and their errors as exceptions."""
from __future__ import annotations

import ctypes
import importlib.metadata
import os
from pathlib import Path

from ctypes import POINTER, byref, c_bool, c_char_p, c_double, c_float, c_int, c_int32, c_int64, c_long, c_size_t, c_void_p

LIMBS = 6  # PHIBAL_LOAD_LIMBS
MAX_EXPERTS = 1024  # PHIBAL_MAX_EXPERTS

GATES = {"topk-softmax": 0, "probability": 1, "sigmoid": 2}  # phibal_gate


class Error(Exception):
    """What a kernel or the reference refuses. Its message says what was expected."""


class ArgumentError(Error, ValueError):
    """A shape or a parameter that makes no sense."""


class DomainError(Error, ValueError):
    """A number outside the domain of the function."""


class NonFiniteError(Error, ValueError):
    """A NaN or an infinity among the logits of a token that is not padding."""


class UndecidedError(Error, ArithmeticError):
    """The precision does not decide the answer."""


class UnsupportedError(Error, NotImplementedError):
    """Left out of this build, or computed in a changed floating-point environment (flush-to-zero)."""


class FormatError(Error, ValueError):
    """A file is not what it should be."""


_errors = {1: ArgumentError, 2: DomainError, 3: NonFiniteError, 4: UndecidedError, 5: MemoryError, 6: OSError,
           7: FormatError, 8: UnsupportedError}  # phibal_status


class Router(ctypes.Structure):
    """phibal_router"""
    _fields_ = [("experts", c_int32), ("active", c_int32), ("gate", c_int), ("scale", c_float),
                ("group_score", c_int), ("groups", c_int32), ("active_groups", c_int32), ("normalisation", c_int),
                ("epsilon", c_float), ("selection", c_int), ("score", c_int), ("zero_experts", c_int32),
                ("zero_gates", c_int)]


class Loads(ctypes.Structure):
    """phibal_loads"""
    _fields_ = [("experts", c_int32), ("active", c_int32), ("tokens", c_int64), ("probability", c_void_p),
                ("count", c_void_p)]


class Potential(ctypes.Structure):
    """phibal_potential"""
    _fields_ = [("id", c_int), ("parameter", c_double)]


class PotentialInfo(ctypes.Structure):
    """phibal_potential_info"""
    _fields_ = [("name", c_char_p), ("parameter", c_char_p), ("low", c_double), ("high", c_double),
                ("fallback", c_double), ("separable", ctypes.c_bool), ("floored", ctypes.c_bool)]


class Ffn(ctypes.Structure):
    """phibal_ffn"""
    _fields_ = [("experts", c_int32), ("width", c_int32), ("hidden", c_int32), ("activation", c_int)]


class Number(ctypes.Structure):
    """MPFR's mpfr_t"""
    _fields_ = [("precision", c_long), ("sign", c_int), ("exponent", c_long), ("limbs", c_void_p)]


class Enclosure(ctypes.Structure):
    """phibal_enclosure"""
    _fields_ = [("lo", Number), ("hi", Number)]


def path(name: str, of_build: str) -> Path:
    """The file NAME: beside this package in a wheel, in the build folder $PHIBAL_BUILD if that is set."""
    build = os.environ.get("PHIBAL_BUILD")
    if build:
        return Path(build) / of_build / name
    return Path(__file__).parent.parent / ".phibal.mesonpy.libs" / name


def _load(name: str, of_build: str) -> ctypes.CDLL:
    file = path(name, of_build)
    try:
        return ctypes.CDLL(str(file))
    except OSError as error:
        raise ImportError(f"phibal's library cannot be loaded: {error}. It comes with `pip install` of the repository;"
                          " in a checkout PHIBAL_BUILD names the build folder") from None


def command() -> str:
    """The path of the `phibal` command that was installed with this package."""
    build = os.environ.get("PHIBAL_BUILD")
    if build:
        return str(Path(build) / "cli" / "phibal")
    try:
        for file in importlib.metadata.files("phibal") or []:
            if file.name == "phibal" and file.parent.name == "bin":
                return str(Path(str(file.locate())).resolve())
    except importlib.metadata.PackageNotFoundError:
        pass
    raise ImportError("the command `phibal` is not where `pip install` puts it; install the package again")


kernels = _load("libphibal.so.0", "kernels")

P = c_void_p
for _name, _types in {
    "potential_find": [c_char_p, POINTER(Potential)],
    "potential_check": [POINTER(Potential)],
    "loads_add": [POINTER(Loads), POINTER(Loads)],
    "loads_mean": [POINTER(Loads), P],
    "loads_frequency": [POINTER(Loads), P],
    "router_forward": [POINTER(Router), c_int64, P, P, P, P, P, P, P, POINTER(Loads)],
    "router_backward": [POINTER(Router), c_int64, P, P, P, P, P, c_double, c_double, P],
    "ema": [c_int32, c_float, P, P, P],
    "price": [POINTER(Potential), c_int32, P, P, POINTER(c_int32)],
    "price_centred": [POINTER(Potential), c_int32, P, P, POINTER(c_int32)],
    "balance_loss": [POINTER(Potential), c_int32, c_double, P, P, POINTER(c_float)],
    "switch_loss": [c_int32, c_double, P, P, POINTER(c_float)],
    "frequency_centred": [c_int32, P, P],
    "z_loss": [c_int64, c_double, P, P, POINTER(c_float)],
    "loss_free_update": [c_int32, c_float, P, P],
    "quantile_required": [POINTER(Router), c_int64, P, P, P, c_int64, P],
    "quantile": [c_int32, c_int64, c_int64, P, c_int64, P, P],
    "quantile_histogram": [c_int32, c_int64, c_int64, P, c_float, c_float, c_int32, P],
    "quantile_interpolated": [c_int32, c_int32, c_float, c_float, c_int32, P, P],
    "quantile_bias": [c_int32, c_float, P, P],
    "capacity_limit": [c_float, c_int64, c_int64, c_int32, c_int32, POINTER(c_int64)],
    "capacity": [c_int, c_int64, c_int32, c_int32, c_int64] + 5 * [P],
    "capacity_gates": [c_int64, c_int32, c_bool, P, P, P],
    "capacity_gates_backward": [c_int64, c_int32, c_bool, P, P, P, P],
    "gate_factor": [c_int64, c_int32, c_int32, P, P, P, P],
    "gate_factor_backward": [c_int64, c_int32, c_int32] + 6 * [P],
    "zero_experts_dispatch": [c_int64, c_int32, c_int32, c_int32, P, P],
    "zero_experts": [c_int, c_int64, c_int32, c_int32, c_int32, c_int64] + 4 * [P],
    "zero_experts_backward": [c_int, c_int64, c_int32, c_int32, c_int32, c_int64] + 6 * [P],
    "sinkhorn": [c_int64, c_int32, c_int32, P, P, P],
    "permutation": [c_int64, c_int32, c_int32, P, P, P, P],
    "gather": [c_int64, c_int32, c_int64, P, P, P],
    "gather_backward": [c_int64, c_int32, c_int64, P, P, P],
    "ffn_forward": [POINTER(Ffn)] + 9 * [P],
    "ffn_backward": [POINTER(Ffn)] + 14 * [P],
    "combine": [c_int64, c_int32, c_int64, P, P, P, P],
    "combine_backward": [c_int64, c_int32, c_int64, P, P, P, P, P, P],
    "maxvio_counts": [c_int32, P, POINTER(c_double)],
    "maxvio_mean": [c_int32, P, POINTER(c_double)],
    "gini": [c_int32, P, POINTER(c_double)],
    "entropy": [c_int32, P, POINTER(c_double)],
}.items():
    _function = getattr(kernels, "phibal_" + _name)
    _function.argtypes, _function.restype = _types, c_int
kernels.phibal_status_message.argtypes, kernels.phibal_status_message.restype = [], c_char_p
kernels.phibal_isa.argtypes, kernels.phibal_isa.restype = [], c_char_p
kernels.phibal_potential_describe.argtypes = [c_int]
kernels.phibal_potential_describe.restype = POINTER(PotentialInfo)
# OpenMP's, of the library that the kernels are linked with; PyTorch brings one of its own.
kernels.omp_set_num_threads.argtypes, kernels.omp_set_num_threads.restype = [c_int], None


def require(status: int) -> None:
    """Raises what a status other than PHIBAL_OK stands for, with the library's message."""
    if status:
        raise _errors.get(status, Error)(kernels.phibal_status_message().decode())


_reference: ctypes.CDLL | None = None


def reference() -> ctypes.CDLL:
    """libphibal-reference, loaded at the first call; MPFR comes with it."""
    global _reference
    if _reference is None:
        library = _load("libphibal-reference.so.0", "reference")
        library.phibal_enclosure_vector.argtypes = [c_size_t, c_long]
        library.phibal_enclosure_vector.restype = POINTER(Enclosure)
        library.phibal_enclosure_vector_clear.argtypes = [POINTER(Enclosure), c_size_t]
        library.phibal_enclosure_vector_clear.restype = None
        library.phibal_enclosure_set_d.argtypes, library.phibal_enclosure_set_d.restype = [POINTER(Enclosure), c_double], None
        library.phibal_enclosure_set_str.argtypes = [POINTER(Enclosure), c_char_p]
        library.phibal_enclosure_set_str.restype = c_int
        library.phibal_enclosure_get_decimal.restype = c_int
        for name in ("value", "gradient", "conjugate", "conjugate_gradient", "hessian"):
            function = getattr(library, "phibal_reference_" + name)
            function.argtypes, function.restype = [c_void_p, c_size_t, POINTER(Enclosure), POINTER(Enclosure)], c_int
        library.mpfr_get_d.argtypes, library.mpfr_get_d.restype = [POINTER(Number), c_int], c_double
        _reference = library
    return _reference


def set_threads(threads: int) -> None:
    """Of OpenMP, for kernels that this thread calls. The results have the same bits with any number."""
    if not isinstance(threads, int) or threads < 1:
        raise ValueError(f"expected a number of threads of at least 1, got {threads!r}")
    kernels.omp_set_num_threads(threads)


def instruction_set() -> str:
    """What the kernels run with: x86-64-v4 for example. The results have the same bits with any."""
    return kernels.phibal_isa().decode()


def find_potential(name: str, parameter: float | None = None) -> Potential:
    """A row of the catalogue (SPEC.md, section P) by its name, with its parameter or the default one."""
    if not isinstance(name, str):
        raise TypeError(f"potential: expected a name, such as 'negentropy', got {type(name).__name__}")
    found = Potential()
    require(kernels.phibal_potential_find(name.encode(), byref(found)))
    if parameter is not None:
        info = kernels.phibal_potential_describe(found.id).contents
        if not info.parameter:
            raise ArgumentError(f"potential: {name} has no parameter, got {parameter!r}")
        if not isinstance(parameter, (int, float)):
            raise TypeError(f"parameter: expected a number, got {type(parameter).__name__}")
        found.parameter = parameter
    require(kernels.phibal_potential_check(byref(found)))
    return found


def check_router(experts: int, k: int, gate: str, scale: float) -> None:
    """Raises unless these make a router; traced by torch.compile, so without ctypes."""
    if gate not in GATES:
        raise ArgumentError(f"gate: expected one of {', '.join(GATES)}, got {gate!r}")
    if not 1 <= experts <= MAX_EXPERTS:
        raise ArgumentError(f"expected 1 to {MAX_EXPERTS} experts, got {experts}")
    if not isinstance(k, int) or not 1 <= k <= experts:
        raise ArgumentError(f"k: expected 1 to {experts} of {experts} experts, got {k!r}")
    if not isinstance(scale, (int, float)):
        raise TypeError(f"scale: expected a number, got {type(scale).__name__}")


def make_router(experts: int, k: int, gate: str, scale: float) -> Router:
    """phibal_router with everything checked; scale in binary32."""
    check_router(experts, k, gate, scale)
    return Router(experts, k, GATES[gate], scale)
