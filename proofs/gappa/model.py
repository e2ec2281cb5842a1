"""Reads the functions of kernels/core as they are written and models them for Gappa.

A statement made of + - * /, CORE_FMA, constants and calls of such functions becomes two definitions:
`x = rnd(..)`, with a rounding wherever the C code rounds (a CORE_FMA rounds once), and `Mx`, the same
without roundings. A variable assigned again becomes x_2, x_3, ... So a changed coefficient and a
changed order of operations change what Gappa is asked. Any other statement must be quoted in the
script that models the function by hand; one that is not quoted, or that is quoted and not there, is
an error. Functions that no script models are compared with their quotation as a whole."""
import re
from pathlib import Path

CORE = Path(__file__).resolve().parents[2] / "kernels" / "core"
TOKEN = re.compile(r"\s*(0x[0-9a-f.]+p[+-]?\d+|\d+\.?\d*(?:e[+-]?\d+)?|[A-Za-z_]\w*(?:\.(?:hi|lo))?|[-+*/(),])")


class Unmodelled(Exception):
    """The header and the script do not agree, or the script asks for what is not there."""


def source(header, core=None):
    text = ((core or CORE) / header).read_text()
    return re.sub(r"/\*.*?\*/", " ", text, flags=re.S)


def function(header, name, core=None):
    """The parameters and statements of a function."""
    text = source(header, core)
    m = re.search(r"CORE_FUNCTION [\w ]+?\b%s\(([^)]*)\) \{\n(.*?)\n\}" % re.escape(name), text, re.S)
    if not m:
        raise Unmodelled(f"no function {name} in {header}")
    parameters = [p.split()[-1] for p in m[1].split(",")]
    body = re.sub(r"\s+", " ", m[2])
    return parameters, [s.strip() for s in re.findall(r"[^;]*;|[^;]+$", body) if s.strip()]


def body(header, name, core=None):
    return " ".join(function(header, name, core)[1])


class Parser:
    """An expression of C; None where it is more than arithmetic."""

    def __init__(self, text, constants):
        self.tokens, self.constants, at = [], constants, 0
        text = text.strip()
        while at < len(text):
            m = TOKEN.match(text, at)
            if not m:
                raise SyntaxError(text)
            self.tokens.append(m[1])
            at = m.end()

    def parse(self):
        e = self.sum()
        if self.tokens:
            raise SyntaxError(self.tokens[0])
        return e

    def take(self, *wanted):
        if self.tokens and (not wanted or self.tokens[0] in wanted):
            return self.tokens.pop(0)
        return None

    def need(self, token):
        if not self.take(token):
            raise SyntaxError(token)

    def sum(self):
        e = self.product()
        while op := self.take("+", "-"):
            e = (op, e, self.product())
        return e

    def product(self):
        e = self.factor()
        while op := self.take("*", "/"):
            e = (op, e, self.factor())
        return e

    def factor(self):
        if self.take("-"):
            return ("neg", self.factor())
        if self.take("("):
            e = self.sum()
            self.need(")")
            return e
        token = self.take()
        if token is None or not re.match(r"\w", token):
            raise SyntaxError(str(token))
        if not self.take("("):
            return ("atom", self.constants.get(token, token))
        arguments = [self.sum()]
        while self.take(","):
            arguments.append(self.sum())
        self.need(")")
        return ("call", token, arguments)


class Model:
    """The definitions that a function's statements amount to."""

    def __init__(self, core=None, exact=()):
        self.core, self.exact = core, set(exact)
        self.lines = []

    def constants(self, header):
        """The #defines of a header and of those it includes."""
        found = {}
        for included in re.findall(r'#include "(\w+\.h)"', source(header, self.core)):
            found |= self.constants(included)
        for name, value in re.findall(r"#define (\w+) (-?0x[0-9a-f.]+p[+-]?\d+)\n", source(header, self.core)):
            found[name] = value
        return found

    def assign(self, scope, name, e, prefix=""):
        names = scope["names"]
        n = scope["count"][name] = scope["count"].get(name, 0) + 1
        new = prefix + name + (f"_{n}" if n > 1 else "")
        rounded, plain = self.write(e, scope, True), self.write(e, scope, False)
        self.lines.append(f"{new} = {rounded};")
        self.lines.append(f"M{new} = {new if new in self.exact else plain};")
        names[name] = new
        return new

    def write(self, e, scope, rounded):
        kind = e[0]
        if kind == "atom":
            base, _, part = e[1].partition(".")
            if part in ("hi", "lo"):  # of a double-double that the script defines
                if base not in scope["names"]:
                    raise SyntaxError(e[1])
                return f"{scope['names'][base]}_{part}"
            name = scope["names"].get(e[1])
            if name is None:
                if not e[1][0].isdigit():
                    raise SyntaxError(e[1])
                return e[1]
            return name if rounded or name in scope["inputs"] else "M" + name
        if kind == "neg":
            return f"(-{self.write(e[1], scope, rounded)})"
        if kind == "call" and e[1] == "CORE_FMA":
            a, b, c = (self.write(x, scope, rounded) for x in e[2])
            text = f"({a} * {b} + {c})"
        elif kind == "call":
            result = self.inline(e, scope)
            return result if rounded else "M" + result
        else:
            text = f"({self.write(e[1], scope, rounded)} {kind} {self.write(e[2], scope, rounded)})"
        return f"rnd{text}" if rounded else text

    def inline(self, e, scope):
        """A call, written out; the same call once."""
        name, arguments = e[1], e[2]
        key = repr(e)
        if key in scope["calls"]:
            return scope["calls"][key]
        if name not in scope["inlined"]:
            raise SyntaxError(name)
        header, quoted = scope["inlined"][name]
        short = name.replace("core_", "")
        inner = self.scope(scope["inlined"])
        parameters, statements = function(header, name, self.core)
        for p, a in zip(parameters, arguments):
            if a[0] != "atom":
                raise SyntaxError("argument of " + name)
            inner["names"][p] = scope["names"][a[1]]
            if scope["names"][a[1]] in scope["inputs"]:
                inner["inputs"].add(scope["names"][a[1]])
        scope["calls"][key] = self.statements(inner, header, name, statements, quoted, short + "_")
        return scope["calls"][key]

    def scope(self, inlined):
        return {"names": {}, "count": {}, "calls": {}, "inputs": set(), "inlined": inlined}

    def statements(self, scope, header, function_name, statements, quoted, prefix):
        quoted, result = list(quoted), None
        constants = self.constants(header)
        for s in statements:
            if s in quoted:
                quoted.remove(s)
                # What is quoted stands, in what follows, for a definition of the script.
                m = re.match(r"(?:const )?(?:double|int64_t|uint64_t|core_dd) (\w+) = ", s)
                if m:
                    scope["names"][m[1]] = prefix + m[1]
                    scope["count"][m[1]] = 1
                    scope["inputs"].add(prefix + m[1])
                continue
            m = re.fullmatch(r"(?:const )?(?:double )?(\w+) = (.*);|return (.*);", s)
            if not m:
                raise Unmodelled(f"{function_name}: not modelled and not quoted: {s}")
            try:
                e = Parser(m[2] or m[3], constants).parse()
                if m[1]:
                    self.assign(scope, m[1], e, prefix)
                else:
                    result = self.assign(scope, "value", e, prefix)
            except (SyntaxError, KeyError):
                raise Unmodelled(f"{function_name}: not modelled and not quoted: {s}") from None
        if quoted:
            raise Unmodelled(f"{function_name}: quoted, but not in the header: {quoted[0]}")
        return result

    def function(self, header, name, quoted, inlined):
        parameters, statements = function(header, name, self.core)
        scope = self.scope(inlined)
        for p in parameters:
            scope["names"][p] = p
            scope["inputs"].add(p)
        self.statements(scope, header, name, statements, quoted, "")
        return "\n".join(self.lines)


def script(text, bounds, core=None):
    """A script with its directives carried out: what Gappa reads.

      #@ function HEADER NAME      the model of a function
      #@ quoted STATEMENT          a statement of it that the script models by hand
      #@ exact NAMES               variables that the model without roundings takes as they are
      #@ inline HEADER NAME        a function that is called there (its own quotations follow it)
      #@ end
      #@ constant HEADER NAME      a #define
      {NAME}                       a bound of bounds.list
    """
    out, lines = [], iter(text.split("\n"))
    for line in lines:
        if line.startswith("#@ constant "):
            header, name = line.split()[2:]
            out.append(f"{name} = {Model(core).constants(header)[name]};")
            continue
        if not line.startswith("#@ function "):
            out.append(line)
            continue
        header, name = line.split()[2:]
        quoted, inlined, exact, current = [], {}, [], None
        current = quoted
        for line in lines:
            word, _, rest = line[3:].partition(" ")
            if word == "end":
                break
            if word == "quoted":
                current.append(rest)
            elif word == "exact":
                exact += rest.split()
            elif word == "inline":
                inline_header, inline_name = rest.split()
                current = []
                inlined[inline_name] = inline_header, current
            else:
                raise Unmodelled("directive " + line)
        out.append(Model(core, exact).function(header, name, quoted, inlined))
    plain = "\n".join(l for l in "\n".join(out).split("\n") if not l.startswith("#"))
    return re.sub(r"\{(\w+)\}", lambda m: bounds[m[1]], plain)
