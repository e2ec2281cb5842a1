"""spec/potentials.def and the test formulas of potential_formulas.def, as they are written."""
import os
import re
from collections import namedtuple

HERE = os.path.dirname(os.path.abspath(__file__))
Potential = namedtuple("Potential", "ID stem name parameter low high fallback separable floored")
Row = namedtuple("Row", "ID dual value gradient second conjugate conjugate_gradient")


def read(path, macro):
    """The arguments of each line that is a use of the macro."""
    with open(os.path.join(HERE, path), encoding="utf-8") as f:
        text = re.sub(r"/\*.*?\*/", " ", f.read(), flags=re.S)
    for start in re.finditer(r"(?m)^%s\(" % macro, text):
        arguments, depth, at = [""], 1, start.end()
        while depth:
            depth += {"(": 1, ")": -1}.get(text[at], 0)
            if text[at] == "," and depth == 1:
                arguments.append("")
            elif depth:
                arguments[-1] += text[at]
            at += 1
        yield [" ".join(argument.split()).strip('"') for argument in arguments]


CATALOGUE = {row[2]: Potential(*row) for row in read("../../spec/potentials.def", "PHIBAL_POTENTIAL")}
_names = {row.ID: name for name, row in CATALOGUE.items()}
ROWS = {_names[row[0]]: Row(*row) for row in read("potential_formulas.def", "POTENTIAL_FORMULAS")}


def inside(dual, y, closed):
    """Whether y lies in the dual domain, with its ends or without."""
    if dual == "REALS":
        return True
    distance = abs(y) if dual == "BALL" else abs(2 * y - 1)
    return distance <= 1 if closed else distance < 1
