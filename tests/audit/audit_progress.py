"""`phibal audit` on a terminal tells how far it has come; elsewhere it is silent.

usage: audit_progress.py PHIBAL
"""
import os
import pty
import subprocess
import sys

phibal = sys.argv[1]
ARGUMENTS = ["audit", "--potential", "negentropy", "--seconds", "2",
             "--skip", "convexity,legendre,conjugate,dynamics"]


def errors_on_terminal(arguments):
    """What goes to a terminal that is standard error; standard output is a pipe."""
    mine, its = pty.openpty()
    done = subprocess.Popen([phibal, *ARGUMENTS, *arguments], stdout=subprocess.PIPE, stderr=its)
    os.close(its)
    output = done.stdout.read()
    text = b""
    try:
        while more := os.read(mine, 65536):
            text += more
    except OSError:  # the other end is closed
        pass
    assert done.wait() == 0
    return text.decode(), output.decode()


text, output = errors_on_terminal([])
assert "part 5 of 6, core: " in text and " % of the binary32 loads, " in text and " s left" in text, text
assert text.endswith("\r\x1b[K"), repr(text[-80:])  # the line is gone
assert "\x1b" not in output
text, output = errors_on_terminal(["--json"])
assert text == "", text
done = subprocess.run([phibal, *ARGUMENTS], capture_output=True, check=True)
assert done.stderr == b"", done.stderr
print("progress is shown on a terminal, and only there")
