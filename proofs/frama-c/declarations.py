#!/usr/bin/env python3
"""What WP takes without proof, read from Frama-C's own tree, and whether each of it may be taken.

  declarations.py            prints what is trusted and a line of totals; exit status 0 only if all of
                             it is allowed
  declarations.py --list     each statement that is taken without proof, with what allows it

Whatever a unit declares is one of these, or the gate refuses it by name.

  function    a logic function or predicate with a body; a body that names the function itself goes
              down: `n <= K ? base : step`, whose every call has n - 1 in the place of n
  definition  an axiom ..._is that gives the meaning of one function F that has no body: for all variables,
              F(distinct variables and constants) == or <==> a text in which F does not occur, nor
              anything that is defined by F, which has no variable but F's and reads no memory but
              what F is declared to read. Two definitions of one F differ in a constant at the same
              place. So there is an F as the axioms say, whatever else holds: the definitions can be
              met one after another, in the order of who names whom
  key         an axiom that is nothing but a predicate without parameters and without a body
  lemma       an axiom that some unit proves as a lemma: the same statement, up to premises that are
              keys, about functions that are the same in both units; in an order without circles
  coq         an axiom that Coq proves: coq/acsl.py translated this very statement
  listed      an axiom of axioms.list, with its reason
  contract    a function of C that is called and has no body here has its contract proved in another
              unit, the same contract or one that promises more, or stands in contracts.list with its
              reason. A contract that is proved says whether the function terminates and exits, and
              what it writes
"""
import concurrent.futures
import functools
import json
import os
import subprocess
import sys

sys.dont_write_bytecode = True
import committed  # noqa: E402
import prove  # noqa: E402

HERE = committed.HERE
ROOT = committed.ROOT
MODULE = os.path.join(committed.WORK, "declarations.cmxs")


def compile_plugin():
    os.makedirs(committed.WORK, exist_ok=True)
    source = os.path.join(committed.WORK, "declarations.ml")
    with open(source, "w") as copy:
        copy.write(open(os.path.join(HERE, "declarations.ml")).read())
    library = committed.output("frama-c", "-print-lib-path").strip()
    subprocess.run(["ocamlfind", "ocamlopt", "-w", "-a", "-package", "zarith", "-I", library, "-shared", source, "-o",
                    MODULE], check=True, cwd=committed.WORK)


def read_unit(unit, options, tree=ROOT):
    """What Frama-C says a unit declares, in order."""
    said = committed.run_plugin(MODULE, unit, options, tree)
    declared = [json.loads(line) for line in said.stdout.splitlines() if line.startswith("{")]
    for d in declared:  # spec/include/phibal/acsl is a link
        if os.path.exists(os.path.join(tree, d["file"])):
            d["file"] = os.path.relpath(os.path.realpath(os.path.join(tree, d["file"])), os.path.realpath(tree))
    if said.returncode != 0 or not any(d["sort"] == "c function" for d in declared):
        sys.exit("%s cannot be read:\n%s" % (unit, said.stdout[-2000:]))
    return declared


def read_units(tree=ROOT, only=()):
    """unit -> what it declares, for all units that are claimed, or some of them."""
    units = prove.read_units(only)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return dict(zip([unit for unit, _ in units], pool.map(lambda u: read_unit(*u, tree=tree), units)))


def applied(tree):
    """Every application in a term or predicate: (name, arguments)."""
    if isinstance(tree, list):
        if tree and tree[0] == "apply":
            yield tree[1], tree[3]
        for part in tree:
            yield from applied(part)


def opaque_mentions(tree, name):
    """Is the name in a text that has no tree?"""
    if isinstance(tree, list):
        if tree and tree[0] == "other":
            return name in tree[1]
        return any(opaque_mentions(part, name) for part in tree)
    return False


def goes_down(function):
    """Is every call of itself at n - 1, under `n <= K ? base : ...`, for one of its parameters n?"""
    body, names = function["body"], [p[0] for p in function["parameters"]]
    if body[0] != "if" or body[1][:2] != ["binary", "<="] or body[1][3][0] != "variable" or body[1][4][0] != "integer":
        return False
    counter = body[1][3][1]
    if counter not in names or opaque_mentions(body, function["name"]):
        return False
    place = names.index(counter)
    down = ["binary", "-", "integer", ["variable", counter], ["integer", "1"]]
    calls = [arguments for name, arguments in applied(body[3]) if name == function["name"]]
    return (bool(calls) and all(arguments[place] == down for arguments in calls) and
            not any(name == function["name"] for name, _ in applied([body[1], body[2]])))


def definition(axiom):
    """(name, arguments, variables) of the function that a statement defines, or None."""
    statement, variables = axiom["statement"], []
    while statement[0] == "forall":
        variables += statement[1]
        statement = statement[2]
    if statement[0] == "iff":
        head, body = statement[1], statement[2]
    elif statement[0] == "relation" and statement[1] == "==":
        head, body = statement[2], statement[3]
    else:
        head, body = statement, ["true"]
    if head[0] == "not" and body == ["true"]:  # F <==> \false
        head, body = head[1], ["false"]
    if head[0] != "apply":
        return None
    _, name, labels, arguments = head
    # A function without labels reads no memory, which is checked: then labels of the axiom say nothing.
    if labels not in (axiom["labels"], []) or len(set(labels)) != len(labels):
        return None
    given = [a[1] for a in arguments if a[0] == "variable"]
    if any(a[0] not in ("variable", "integer") for a in arguments) or len(set(given)) != len(given):
        return None
    if sorted(given) != sorted(v[0] for v in variables):
        return None
    if any(n == name for n, _ in applied(body)) or opaque_mentions(body, name):
        return None
    return name, arguments, variables


class Unit:
    """What one unit declares, and why each of it may be taken."""

    def __init__(self, name, declared):
        self.name, self.declared = name, declared
        self.functions = {d["name"]: d for d in declared if d["sort"] == "function"}
        self.axioms = [d for d in declared if d["sort"] == "axiom"]
        self.lemmas = [d for d in declared if d["sort"] == "lemma"]
        self.troubles = []
        self.kinds = {}  # name of an axiom -> "key", "definition", or None
        self.defined = {}  # name of a function -> the axioms that define it
        self.sort()

    def refuse(self, d, why):
        self.troubles.append("%s:%d: %s %s: %s" % (d["file"], d["line"], d["sort"], d["name"], why))

    def sort(self):
        keys = set()
        for d in self.declared:
            if d["sort"] in ("admit", "other", "check"):
                self.refuse(d, "is taken without proof, or not understood")
            elif d["sort"] == "type" and d["body"] is not None:
                self.refuse(d, "a type with a definition")
            elif d["sort"] == "function" and d["form"] == "inductive":
                self.refuse(d, "inductive")
            elif d["sort"] == "function" and d["form"] in ("term", "predicate") and d["name"] in d["names"]:
                if not goes_down(d):
                    self.refuse(d, "names itself, and not at n - 1 under n <= K ? ... : ...")
        for a in self.axioms:
            s = a["statement"]
            named = self.functions.get(s[1]) if s[0] == "apply" else None
            if named and not s[3] and named["result"] is None and named["form"] == "none" and not named["labels"]:
                self.kinds[a["name"]] = "key"
                keys.add(s[1])
                continue
            self.kinds[a["name"]] = None
            found = definition(a) if a["name"].endswith("_is") else None
            if found and found[0] in self.functions and self.functions[found[0]]["form"] in ("none", "reads"):
                self.kinds[a["name"]] = "definition"
                self.defined.setdefault(found[0], []).append((a, found[1]))
        for name, cases in self.defined.items():
            if name in keys:
                self.refuse(cases[0][0], "defines a key")
            shapes = {tuple(a[0] for a in arguments) for _, arguments in cases}
            constants = [tuple(a[1] for a in arguments if a[0] == "integer") for _, arguments in cases]
            if len(shapes) != 1 or len(set(constants)) != len(constants):
                self.refuse(cases[-1][0], "defines %s again" % name)
            for a, _ in cases:
                more = self.memory_of(a["names"], a["reads"], name) - self.footprint(name)
                if more:
                    self.refuse(a, "reads %s, which %s is not declared to read" % (", ".join(sorted(more)), name))
                if name in self.reached(n for n in a["names"] if n != name):
                    self.refuse(a, "what it says of %s is itself defined by %s" % (name, name))
        for d in self.functions.values():
            if d["form"] in ("term", "predicate") and d["name"] in self.reached(n for n in d["names"] if n != d["name"]):
                self.refuse(d, "is defined by what is defined by it")
        self.keys = keys

    def says(self, name):
        """The names that the meaning of a function mentions."""
        function = self.functions.get(name)
        if function is None:
            return set()
        names = set(function["names"]) if function["form"] in ("term", "predicate") else set()
        for a, _ in self.defined.get(name, []):
            names |= set(a["names"])
        return names - {name}

    def reached(self, names):
        found, wanted = set(), list(names)
        while wanted:
            name = wanted.pop()
            if name not in found:
                found.add(name)
                wanted += self.says(name)
        return found

    def footprint(self, name, above=()):
        """The types of memory of which a function depends, as WP has them."""
        function = self.functions.get(name)
        if function is None or name in above or function["form"] == "none":
            return set()
        if function["form"] == "reads":
            return {t.replace("set<", "").replace(">", "").strip() for t in function["body"]}
        return self.memory_of(function["names"], function["reads"], name, above)

    def memory_of(self, names, reads, name, above=()):
        memory = set(reads)
        for other in names:
            if other != name:
                memory |= self.footprint(other, above + (name,))
        return memory

    def meaning(self, name):
        """All that is said of a function, or "" where only its type is."""
        function = self.functions[name]
        if function["form"] in ("term", "predicate"):
            return json.dumps([function[part] for part in ("labels", "parameters", "result", "body")])
        return json.dumps(sorted(json.dumps(a["statement"]) for a, _ in self.defined.get(name, []))) \
            if name in self.defined else ""

    def plain(self, d):
        """A statement, less premises that are keys: these are true wherever they are said, and nothing
        else is said of them."""
        statement = d["statement"]
        while statement[0] == "implies" and self.only_keys(statement[1]):
            statement = statement[2]
        return json.dumps([d["labels"], statement])

    def only_keys(self, premise):
        """Is it a key, or some keys together?"""
        if premise[0] == "and":
            return self.only_keys(premise[1]) and self.only_keys(premise[2])
        return premise[0] == "apply" and self.is_key(premise[1])

    def is_key(self, name):
        f = self.functions.get(name)
        return bool(f and not f["parameters"] and not f["labels"] and f["form"] == "none" and f["result"] is None and
                    name not in self.defined)


def listed(name):
    """The lines of a list, by their first two words."""
    path = os.path.join(HERE, name)
    lines = [line.split("#")[0].split() for line in open(path)] if os.path.exists(path) else []
    return {tuple(words[:2]) for words in lines if len(words) >= 2}


def allows(proof, called):
    """Is what a function is called under proved: the same contract, or the same but for more promises?"""
    if called["contract"] is None:
        return False
    return proof["contract"] == called["contract"] or (
        "frame" in proof and "frame" in called and proof["frame"] == called["frame"] and
        set(called["promises"]) <= set(proof["promises"]))


def judge(units, coq, axioms, contracts):
    """(troubles, what is taken without proof: (kind, file, name)) of the units: name -> Unit. `coq`: (file,
    name) of the statements that Coq proves; `axioms` and `contracts`: those that are trusted, with reasons."""
    troubles = [trouble for unit in units.values() for trouble in unit.troubles]
    taken = set()

    # One name, one meaning: what is proved in one unit and used in another is about the same functions.
    meanings = {}
    for unit in units.values():
        for name in unit.functions:
            if unit.meaning(name):
                meanings.setdefault(name, set()).add(unit.meaning(name))
    ambiguous = {name for name, said in meanings.items() if len(said) > 1}

    # A lemma stands when all that the unit which proves it took for granted before it stands.
    named = set()  # lines of axioms.list that are needed
    proved = {}  # statement -> [(unit, lemma, axioms before it that need a proof elsewhere)]
    needed = {}  # unit -> the axioms that nothing but a lemma elsewhere allows
    for unit in units.values():
        needed[unit.name], before = [], []
        for d in unit.declared:
            if d["sort"] == "axiom":
                kind, name = unit.kinds[d["name"]], (d["file"], d["name"])
                if kind is None and (name in axioms or (d["file"], "*") in axioms):
                    kind = "listed"
                    named.add(name if name in axioms else (d["file"], "*"))
                if kind is None and name in coq:
                    kind = "coq"
                    if ambiguous & unit.reached(d["names"]):
                        troubles.append("%s: %s is about a name with two meanings" % name)
                if kind is None:
                    needed[unit.name].append(d)
                    before.append(unit.plain(d))
                else:
                    taken.add((kind,) + name)
            elif d["sort"] == "lemma":
                proved.setdefault(unit.plain(d), []).append((unit, d, tuple(before)))
    standing, grown = set(), True
    while grown:
        grown = False
        for statement, proofs in proved.items():
            if statement not in standing and any(all(b in standing for b in before) for _, _, before in proofs):
                standing.add(statement)
                grown = True
    for unit in units.values():
        for d in needed[unit.name]:
            name = (d["file"], d["name"])
            if unit.plain(d) not in standing:
                troubles.append("%s: axiom %s is neither a key, a definition, proved as a lemma or in Coq, nor listed" % name)
            elif ambiguous & unit.reached(d["names"]):
                troubles.append("%s: lemma %s is about a name with two meanings" % name)
            else:
                taken.add(("lemma",) + name)
    for name in sorted(axioms - named):
        troubles.append("in axioms.list and not there: %s %s" % name)

    # Functions of C that are called: proved under this very contract, or listed.
    # (Of two contracts of which one is silent on termination Frama-C keeps neither's.)
    under_proof, trusted = {}, set()
    for unit in units.values():
        for d in unit.declared:
            if d["sort"] == "c function" and d["defined"] and d["name"] in unit.claimed:
                under_proof.setdefault(d["name"], []).append(d)
                left_out = [word for word in ("terminates", "exits", "assigns") if word not in d["contract"]]
                if left_out:
                    troubles.append("%s: the contract of %s has no %s" % (unit.name, d["name"], ", ".join(left_out)))
    for unit in units.values():
        calls = {name for d in unit.declared if d["name"] in unit.claimed for name in d.get("calls", ())}
        for d in unit.declared:
            if d["sort"] != "c function" or d["name"] in unit.claimed or d["name"] not in calls:
                continue
            name = (d["file"], d["name"])
            whole = (d["file"], "*")
            if any(allows(proof, d) for proof in under_proof.get(d["name"], ())):
                continue
            if name in contracts or whole in contracts:
                trusted.add(name if name in contracts else whole)
                taken.add(("contract",) + name)
            elif d["name"] in under_proof:
                troubles.append("%s: %s is called under another contract than the one proved" % (unit.name, d["name"]))
            else:
                troubles.append("%s: %s is called, and its contract neither proved nor listed" % name)
    for name in sorted(contracts - trusted):
        troubles.append("in contracts.list and not there: %s %s" % name)
    return sorted(set(troubles)), taken


def judged(tree=ROOT, only=()):
    """(troubles, what is taken without proof) of a tree."""
    compile_plugin()
    committed.configure(tree)
    sys.path.insert(0, os.path.join(ROOT, "proofs/coq"))
    import acsl
    coq = {("spec/acsl/" + source, name) for source, name, _ in acsl.lemmas(tree)}
    contracts, inlines = prove.contracts_in_headers()
    units, options = {}, dict(prove.read_units([]))
    for name, declared in read_units(tree, only).items():
        units[name] = Unit(name, declared)
        units[name].claimed = claimed(name, options[name], declared, contracts, inlines)
    return judge(units, coq, listed("axioms.list"), listed("contracts.list"))


def contracted(declared):
    """The functions with a body and a contract, those of ghost code among them."""
    return {d["name"] for d in declared if d["sort"] == "c function" and d["defined"] and d["contract"]}


def claimed(unit, options, declared, contracts, inlines):
    """The functions whose contracts a unit proves."""
    said, _ = prove.wp_options(unit, options, contracts, inlines)
    functions = contracted(declared)
    if "-wp-prop=@lemma" in said:
        return set()
    if "-wp-fct" in said:
        functions &= set(said[said.index("-wp-fct") + 1].split(","))
    if "-wp-skip-fct" in said:
        functions -= set(said[said.index("-wp-skip-fct") + 1].split(","))
    return functions


def main():
    troubles, taken = judged()
    if "--list" in sys.argv[1:]:
        for kind, where, name in sorted(taken):
            print("%-10s %s %s" % (kind, where, name))
    for trouble in troubles:
        print("    " + trouble)
    counts = ["%d %s" % (sum(t[0] == kind for t in taken), words) for kind, words in (
        ("definition", "definitions"), ("key", "keys"), ("lemma", "lemmas"), ("coq", "proved in Coq"),
        ("listed", "axioms with reasons"), ("contract", "contracts trusted"))]
    print("declarations: " + ", ".join(counts))
    sys.exit(1 if troubles else 0)


if __name__ == "__main__":
    main()
