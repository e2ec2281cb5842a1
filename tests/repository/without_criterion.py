"""A configuration that does not find Criterion builds nothing that needs it, and one that does builds
every test that there is.

usage: without_criterion.py SOURCE BUILD FOLDER"""
import glob
import json
import os
import re
import shutil
import subprocess
import sys

source, build, folder = (os.path.abspath(a) for a in sys.argv[1:])


def needing(build):
    """The sources of a build that include Criterion; a test of C++ may do so in a generated copy."""
    found = set()
    for command in json.load(open(build + "/compile_commands.json")):
        path = os.path.join(command["directory"], command["file"])
        text = open(path, errors="replace").read() if os.path.exists(path) else ""
        if re.search(r"#\s*include\s*<criterion/", text):
            found.add(os.path.basename(path))
    return found


# Every package of this machine but one.
shutil.rmtree(folder, ignore_errors=True)
os.makedirs(folder + "/packages")
paths = subprocess.run(["pkg-config", "--variable", "pc_path", "pkg-config"], capture_output=True, text=True,
                       check=True).stdout.strip().split(":")
paths = os.environ.get("PKG_CONFIG_PATH", "").split(":") + paths
for path in reversed([p for p in paths if p]):
    for file in glob.glob(path + "/*.pc"):
        link = folder + "/packages/" + os.path.basename(file)
        if os.path.lexists(link):
            os.unlink(link)
        if "criterion" not in os.path.basename(file):
            os.symlink(file, link)
environment = {**os.environ, "PKG_CONFIG_LIBDIR": folder + "/packages"}
environment.pop("PKG_CONFIG_PATH", None)
done = subprocess.run(["meson", "setup", folder + "/build", source, "-Dcuda=disabled"], env=environment,
                      capture_output=True, text=True)
if done.returncode:
    sys.exit(done.stdout + done.stderr)
assert "criterion found: NO" in done.stdout, done.stdout

without, with_it = needing(folder + "/build"), needing(build)
assert not without, f"built without Criterion: {sorted(without)}"
link = [line for line in open(folder + "/build/build.ninja") if "-lcriterion" in line or "libcriterion" in line]
assert not link, link
assert "test_recompute.c" in with_it and len(with_it) > 30, f"built with Criterion: {sorted(with_it)}"
# And it is a configuration that can be built: every file that it names is there or made.
done = subprocess.run(["ninja", "-C", folder + "/build", "-n"], capture_output=True, text=True)
assert done.returncode == 0, done.stdout + done.stderr
print(len(with_it), "sources need Criterion, and are left out where it is not found")
