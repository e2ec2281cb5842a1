#!/usr/bin/env python3
"""Translates the real-number part of spec/acsl to Coq, so that both spell the same mathematics.

  acsl.py definitions   logic functions and predicates on reals and integers -> AcslDefinitions.v
  acsl.py statements    every COQ_LEMMA, to be met by the theorem of the same name in
                        AcslLemmas.v -> AcslStatements.v

Definitions over memory (pointers, labels) are not translated, and of those over sequences only the ones
that WITH_SEQUENCES names; a lemma that mentions another is an error.
"""
import glob
import os
import re
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


def sources(tree=ROOT):
    """The files that are translated; what other files use comes first."""
    first = [os.path.join(tree, path) for path in ("proofs/frama-c/include/mpfr.h", "spec/acsl/real.h")]
    return first + sorted(set(glob.glob(os.path.join(tree, "spec/acsl/*.h"))) - set(first))


# Where a sequence, a function from the integers to the reals, may be a parameter.
WITH_SEQUENCES = ("renyi.h",)
COQ_TYPES = {"S": "Z -> R"}

TOKEN = re.compile(r"\s*(==>|<==>|&&|\|\||<=|>=|==|!=|\d+\.\d+|\d+|\\?[A-Za-z_]\w*|[-+*/<>!?:(),;])")
BUILTIN = {"\\exp": "exp", "\\log": "ln", "\\sqrt": "sqrt", "\\abs": "Rabs"}
PRECEDENCE = {"<==>": 1, "==>": 2, "||": 4, "&&": 5}
COMPARISON = {"<": "<", "<=": "<=", ">": ">", ">=": ">=", "==": "=", "!=": "<>"}
# Names that Coq's libraries have for something else.
RENAMED = {"e": "e_", "tanh": "tanh_"}


def enumerators():
    """The constants of the plain enumerations in the public headers, by name."""
    values = {}
    for path in sorted(glob.glob(os.path.join(ROOT, "spec/include/phibal/*.h"))):
        text = re.sub(r"/\*.*?\*/|//[^\n]*", "", open(path).read(), flags=re.S)
        for body in re.findall(r"\benum\b\s*\w*\s*\{([^{}#()]*)\}", text):
            following = 0
            for item in filter(None, (part.strip() for part in body.split(","))):
                name, _, value = (part.strip() for part in item.partition("="))
                following = int(value, 0) if value else following
                values[name] = following
                following += 1
    return values


CONSTANTS = enumerators()


def coq_name(name):
    return "acsl_" + RENAMED.get(name, name)


class Parser:
    """Expressions become pairs (Coq text, type), the type one of R, Z, Prop; a proposition that can
    be decided has a third part, which makes a conditional of it."""

    def __init__(self, text, scope, functions):
        self.tokens = self.split(text)
        self.at = 0
        self.scope = [dict(scope)]
        self.functions = functions

    @staticmethod
    def split(text):
        tokens, place = [], 0
        text = text.strip()
        while place < len(text):
            match = TOKEN.match(text, place)
            if not match:
                raise SyntaxError("cannot read '%s'" % text[place:place + 30])
            tokens.append(match.group(1))
            place = match.end()
        return tokens

    def peek(self):
        return self.tokens[self.at] if self.at < len(self.tokens) else None

    def take(self, wanted=None):
        token = self.peek()
        if wanted is not None and token != wanted:
            raise SyntaxError("'%s' where '%s' is wanted" % (token, wanted))
        self.at += 1
        return token

    @staticmethod
    def real(value):
        text, kind = value
        if kind == "Z":
            return "(IZR %s)" % text
        if kind != "R":
            raise SyntaxError("a number is wanted: " + text)
        return text

    def whole(self):
        value = self.conditional()
        if self.peek() is not None:
            raise SyntaxError("left over: " + " ".join(self.tokens[self.at:]))
        return value

    def conditional(self):
        if self.peek() in ("\\forall", "\\exists"):
            return self.quantified()
        condition = self.logic(1)
        if self.peek() != "?":
            return condition
        self.take("?")
        yes = self.conditional()
        self.take(":")
        no = self.conditional()
        if len(condition) < 3:
            raise SyntaxError("cannot decide " + condition[0])
        if yes[1] == no[1]:
            return condition[2](yes[0], no[0]), yes[1]
        return condition[2](self.real(yes), self.real(no)), "R"

    def quantified(self):
        quantifier = "forall" if self.take() == "\\forall" else "exists"
        kinds, names = {"real": "R", "integer": "Z"}, []
        kind = kinds.get(self.take())
        while kind is not None:
            names.append((self.take(), kind))
            if self.peek() != ",":
                break
            self.take()
            if self.at + 1 < len(self.tokens) and self.tokens[self.at + 1] not in (",", ";"):
                kind = kinds.get(self.take())
        if kind is None:
            raise SyntaxError("a quantifier over other things than numbers")
        self.take(";")
        self.scope.append(dict(names))
        body = self.conditional()
        self.scope.pop()
        binders = " ".join("(%s : %s)" % (self.variable(name), k) for name, k in names)
        if len({k for _, k in names}) == 1:
            binders = "%s : %s" % (" ".join(self.variable(name) for name, _ in names), names[0][1])
        return "(%s %s, %s)" % (quantifier, binders, body[0]), "Prop"

    @staticmethod
    def variable(name):
        return "v_" + name

    def logic(self, level):
        left = self.comparison() if level > 5 else self.logic(level + 1)
        while self.peek() in PRECEDENCE and PRECEDENCE[self.peek()] == level:
            operator = self.take()
            # Implication associates to the right, and a quantifier may stand on its right.
            if self.peek() in ("\\forall", "\\exists"):
                right = self.quantified()
            else:
                right = self.logic(level if operator == "==>" else level + 1)
            sign = {"==>": "->", "<==>": "<->", "&&": "/\\", "||": "\\/"}[operator]
            joined = "(%s %s %s)" % (left[0], sign, right[0]), "Prop"
            if operator in ("&&", "||") and len(left) == len(right) == 3:
                joined += (self.both(left[2], right[2], operator),)
            left = joined
        return left

    @staticmethod
    def both(left, right, operator):
        """The conditional of a conjunction or a disjunction."""
        if operator == "&&":
            return lambda yes, no: left(right(yes, no), no)
        return lambda yes, no: left(yes, right(yes, no))

    def comparison(self):
        if self.peek() == "!":
            self.take()
            inner = self.comparison()
            swapped = (lambda yes, no: inner[2](no, yes),) if len(inner) == 3 else ()
            return ("(~ %s)" % inner[0], "Prop") + swapped
        values, signs = [self.sum()], []
        while self.peek() in COMPARISON:
            signs.append(COMPARISON[self.take()])
            values.append(self.sum())
        if not signs:
            return values[0]
        integers = all(kind == "Z" for _, kind in values)
        scope = "%Z" if integers else "%R"
        texts = [text for text, _ in values] if integers else [self.real(v) for v in values]
        parts = ["(%s %s %s)%s" % (texts[i], signs[i], texts[i + 1], scope)
                 for i in range(len(signs))]
        decision = self.decided(texts[0], signs[0], texts[1], integers)
        for i in range(1, len(signs)):
            decision = self.both(decision, self.decided(texts[i], signs[i], texts[i + 1], integers), "&&")
        return (parts[0] if len(parts) == 1 else "(%s)" % " /\\ ".join(parts)), "Prop", decision

    @staticmethod
    def decided(left, sign, right, integers):
        """The conditional of one comparison."""
        if integers:
            choice = {"<": "Z_lt_dec", "<=": "Z_le_dec", ">": "Z_gt_dec", ">=": "Z_ge_dec"}
            equal = "Z.eq_dec"
        else:
            choice = {"<": "Rlt_dec", "<=": "Rle_dec", ">": "Rgt_dec", ">=": "Rge_dec"}
            equal = "Req_EM_T"
        test = "%s %s %s" % (choice.get(sign, equal), left, right)
        if sign == "<>":
            return lambda yes, no: "(if %s then %s else %s)" % (test, no, yes)
        return lambda yes, no: "(if %s then %s else %s)" % (test, yes, no)

    def arithmetic(self, operand, operators):
        left = operand()
        while self.peek() in operators:
            operator = self.take()
            right = operand()
            if left[1] == right[1] == "Z" and operator == "/":  # as in C, towards 0
                left = "(Z.quot %s %s)" % (left[0], right[0]), "Z"
            elif left[1] == right[1] == "Z":
                left = "(%s %s %s)%%Z" % (left[0], operator, right[0]), "Z"
            else:
                left = "(%s %s %s)%%R" % (self.real(left), operator, self.real(right)), "R"
        return left

    def sum(self):
        return self.arithmetic(self.product, ("+", "-"))

    def product(self):
        return self.arithmetic(self.unary, ("*", "/"))

    def unary(self):
        if self.peek() == "-":
            self.take()
            text, kind = self.unary()
            return "(- %s)%%%s" % (text, kind), kind
        return self.primary()

    def arguments(self):
        self.take("(")
        values = [self.conditional()]
        while self.peek() == ",":
            self.take()
            values.append(self.conditional())
        self.take(")")
        return values

    def primary(self):
        token = self.take()
        if token == "(":
            if self.peek() in ("real", "integer"):
                kind = self.take()
                self.take(")")
                value = self.unary()
                return (self.real(value), "R") if kind == "real" else value
            value = self.conditional()
            self.take(")")
            return value
        if re.fullmatch(r"\d+", token):
            return "%s%%Z" % token, "Z"
        if re.fullmatch(r"\d+\.\d+", token):
            whole, fraction = token.split(".")
            digits = (whole + fraction.rstrip("0")) or "0"
            power = 10 ** len(fraction.rstrip("0"))
            number = "%d" % int(digits)
            return ("%s%%R" % number if power == 1 else "(%s / %d)%%R" % (number, power)), "R"
        if token in ("\\pi", "pi"):
            return "PI", "R"
        if token == "\\true":
            return "True", "Prop"
        if token == "\\false":
            return "False", "Prop"
        if token in BUILTIN:
            return "(%s %s)" % (BUILTIN[token], self.real(self.arguments()[0])), "R"
        for scope in reversed(self.scope):
            if token in scope:
                return self.variable(token), scope[token]
        if token == "term":
            (sequence, _), (place, kind) = self.arguments()
            if kind != "Z":
                raise SyntaxError("a place in a sequence is an integer")
            return "(%s %s)" % (sequence, place), "R"
        if token in self.functions:
            kinds, result = self.functions[token]
            values = self.arguments() if kinds else []
            if len(values) != len(kinds):
                raise SyntaxError("%s wants %d arguments" % (token, len(kinds)))
            texts = [self.real(v) if kind == "R" else v[0] for v, kind in zip(values, kinds)]
            return "(%s)" % " ".join([coq_name(token)] + texts), result
        if token in CONSTANTS:
            return "%d%%Z" % CONSTANTS[token], "Z"
        raise SyntaxError("unknown name '%s'" % token)


def acsl_text(path):
    """The annotations of a file, without comments."""
    text = open(path).read()
    annotations = re.findall(r"/\*@(.*?)\*/", text, re.S)
    joined = "\n".join(annotations)
    joined = re.sub(r"^#.*$", "", joined, flags=re.M)
    return re.sub(r"//.*", "", joined)


def parameters(text, sequences=False):
    """[(name, kind)] of a parameter list, or None if one is neither real nor integer nor, where they
    may be, a sequence."""
    kinds = {"real": "R", "integer": "Z"}
    if sequences:
        kinds["sequence"] = "S"
    result = []
    for part in filter(None, (p.strip() for p in text.split(","))):
        words = part.split()
        if len(words) != 2 or words[0] not in kinds:
            return None
        result.append((words[1], kinds[words[0]]))
    return result


def with_types(text):
    """The variables of a quantifier, each with its type: "real a, b, integer n" has two after commas."""
    parts, kind = [], ""
    for part in text.split(","):
        words = part.split()
        kind = " ".join(words[:-1]) or kind
        parts.append("%s %s" % (kind, words[-1] if words else ""))
    return ",".join(parts)


# Quantifiers have semicolons too: a statement ends where another begins.
END = r";\s*(?=(?:COQ_LEMMA|LEMMA|axiom|axiomatic|inductive|predicate|logic|lemma|type)\b|\}|$)"
DEFINITION = re.compile(r"\b(logic\s+real|logic\s+integer|predicate)\s+(\w+)\s*(?:\(([^()]*)\))?\s*=([^=].*?)" + END, re.S)
OPAQUE = re.compile(r"\baxiom\s+(\w+)_is\s*:\s*\\forall\s+((?:real|integer)\s[\w\s,]+);\s*(\w+)\(([\w\s,]+)\)\s*(==|<==>)\s*(.*?)" + END, re.S)


def definitions():
    """Coq definitions in order, and the functions they define: name -> (kinds, result)."""
    functions, lines = {}, []
    for path in sources():
        text = acsl_text(path)
        found = [(m.start(), "explicit", m) for m in DEFINITION.finditer(text)]
        found += [(m.start(), "opaque", m) for m in OPAQUE.finditer(text)]
        for _, sort, match in sorted(found, key=lambda item: item[0]):
            if sort == "explicit":
                keyword, name, listed, body = match.groups()
                listed = parameters(listed or "", os.path.basename(path) in WITH_SEQUENCES)
                kind = "Prop" if keyword == "predicate" else "R" if "real" in keyword else "Z"
            else:
                name, body = match.group(3), match.group(6)
                bound = dict(parameters(with_types(match.group(2))) or [])
                listed = [(p.strip(), bound.get(p.strip())) for p in match.group(4).split(",")]
                if any(k is None for _, k in listed):  # one case of several, or other things than numbers
                    continue
                integer = re.search(r"\blogic\s+integer\s+%s\b" % name, text)
                kind = "Prop" if match.group(5) == "<==>" else "Z" if integer else "R"
            if listed is None:
                continue
            if re.search(r"\b%s\(" % name, body):
                recursive(name, listed, kind, body, functions, lines)
                continue
            try:
                value = Parser(body, dict(listed), functions).whole()
            except SyntaxError as error:
                if os.environ.get("ACSL_VERBOSE"):
                    print("left out %s: %s" % (name, error), file=sys.stderr)
                continue
            text_of = Parser.real(value) if kind == "R" else value[0]
            binders = binders_of(listed)
            if name in functions:  # in two headers that no unit includes together: the same, then
                applied = " ".join([coq_name(name)] + [Parser.variable(p) for p, _ in listed])
                lines.append("Definition again_%s%s : %s = %s := eq_refl." % (name, binders, applied, text_of))
                continue
            lines.append("Definition %s%s : %s := %s." % (coq_name(name), binders, kind, text_of))
            functions[name] = ([k for _, k in listed], kind)
    return lines, functions


def binders_of(listed):
    return "".join(" (%s : %s)" % (Parser.variable(p), COQ_TYPES.get(k, k)) for p, k in listed)


EQUATIONS = []  # (name, binders, the function applied, its body in ACSL as Coq, the variable that falls)


def recursive(name, listed, kind, body, functions, lines):
    """The two recursive functions of the model, 2^n and x^n for integers, and sums: f(x, n) is 0 for
    n <= 0, else f(x, n - 1) + a term of n - 1. Coq has them in a form without recursion, and proves that this
    form meets the very equation that ACSL has for the body, which has no other solution."""
    known = {
        "power_of_two": "Definition acsl_power_of_two (v_n : Z) : R := 2 ^ Z.to_nat v_n.",
        "integer_power": "Definition acsl_integer_power (v_x : R) (v_n : Z) : R := v_x ^ Z.to_nat v_n.",
    }
    if name in known:
        lines.append(known[name])
        functions[name] = ([k for _, k in listed], kind)
        equation(name, listed, body, functions)
        return
    last = listed[-1][0]
    before = ", ".join([p for p, _ in listed[:-1]] + [last + " - 1"])
    body = " ".join(body.split())
    head = "%s <= 0 ? 0.0 : %s(%s) + " % (last, name, before)
    if not body.startswith(head):
        return
    term = body[len(head):].replace("%s - 1" % last, "k")
    scope = dict(listed[:-1], k="Z")
    value = Parser.real(Parser(term, scope, functions).whole())
    lines.append("Definition %s%s : R := Rsum (Z.to_nat %s) (fun i => let v_k := Z.of_nat i in %s)." % (
        coq_name(name), binders_of(listed), Parser.variable(last), value))
    functions[name] = ([k for _, k in listed], kind)
    equation(name, listed, body, functions)


def equation(name, listed, body, functions):
    applied = " ".join([coq_name(name)] + [Parser.variable(p) for p, _ in listed])
    value = Parser.real(Parser(body, dict(listed), functions).whole())
    EQUATIONS.append((name, binders_of(listed), applied, value, Parser.variable(listed[-1][0])))


LEMMA = re.compile(r"\bCOQ_LEMMA\s+(\w+)\s*:\s*(.*?);\s*(?=(?:COQ_LEMMA|LEMMA|axiom|predicate|logic|lemma|\}|$))", re.S)


def lemmas(tree=ROOT):
    for path in sources(tree):
        for match in LEMMA.finditer(acsl_text(path)):
            yield os.path.basename(path), match.group(1), re.sub(r"GIVEN\(\w+\)", "", match.group(2))


def main():
    lines, functions = definitions()
    if sys.argv[1:] == ["definitions"]:
        print("(* Generated by acsl.py from spec/acsl: do not edit. *)")
        print("Require Import Reals ZArith.\nFrom Phibal Require Import Vector.\nOpen Scope R_scope.\n")
        print("\n".join(lines))
    elif sys.argv[1:] == ["statements"]:
        print("(* Generated by acsl.py from spec/acsl: do not edit. *)")
        print("Require Import Reals ZArith.")
        print("From Coq Require Import Lra Lia.\nFrom Phibal Require Import Vector AcslDefinitions AcslLemmas.\n"
              "Open Scope R_scope.\n")
        for name, binders, applied, value, falls in EQUATIONS:
            print("Lemma equation_%s :\n  forall%s, %s = %s.\nProof. intros. unfold %s. destruct (Z_le_dec %s 0).\n"
                  "  - replace (Z.to_nat %s) with 0%%nat by lia. simpl. lra.\n"
                  "  - replace (Z.to_nat %s) with (S (Z.to_nat (%s - 1))) by lia. simpl.\n"
                  "    try rewrite Z2Nat.id by lia. reflexivity. Qed." % (
                      name, binders, applied, value, coq_name(name), falls, falls, falls, falls))
        for source, name, text in lemmas():
            try:
                statement = Parser(text, {}, functions).whole()[0]
            except SyntaxError as error:
                sys.exit("%s, %s: %s" % (source, name, error))
            print("(* %s *)\nDefinition stated_%s : %s := AcslLemmas.%s." % (source, name, statement, name))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
