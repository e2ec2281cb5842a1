#!/bin/sh
# What ./dev does, with programs in the place of apt-get, dpkg-query, meson and ninja that only write
# down how they were called: when it configures anew, what it builds, how the demo ends.
#   usage: dev.sh SOURCE FOLDER
set -eu
source=$1 folder=$2
rm -rf "$folder"
mkdir -p "$folder/bin" "$folder/repository"
cd "$folder"
fail() { echo "FAIL: $*" >&2; cat log >&2; exit 1; }
cp "$source/dev" repository/dev

cat >bin/dpkg-query <<'END'
#!/bin/sh
shift
case $1 in *Package*) whole=yes ;; *) whole= ;; esac
shift
status=0
for package; do
  if grep -qx -e "$package" "$STUBS/installed"; then
    [ $whole ] && echo "$package 1 installed" || printf installed
  else
    status=1
  fi
done
exit $status
END
cat >bin/apt-get <<'END'
#!/bin/sh
[ "$1" = install ] || exit 0
echo "apt-get $*" >>"$STUBS/log"
for word; do case $word in -* | install) ;; *) echo "$word" >>"$STUBS/installed" ;; esac; done
END
cat >bin/sudo <<'END'
#!/bin/sh
exec "$@"
END
cat >bin/meson <<'END'
#!/bin/sh
echo "meson $* # ${PHIBAL_PYTHON:-no peers}" >>"$STUBS/log"
[ "$1" = setup ] || exit 0
mkdir -p build/cli
if grep -qx libboost-context-dev "$STUBS/installed"; then
  echo "build kernels/cuda/libphibal-cuda-on-host.so: cpp_LINKER a.o" >build/build.ninja
else
  echo "# nothing for the host" >build/build.ninja
fi
END
cat >bin/ninja <<'END'
#!/bin/sh
echo "ninja $*" >>"$STUBS/log"
cp "$STUBS/bin/phibal" build/cli/phibal
END
cat >bin/phibal <<'END'
#!/bin/sh
echo "phibal $*" >>"$STUBS/log"
echo "phibal $1 prints"
[ "$1" != report ] || while [ $# -gt 0 ]; do
  if [ "$1" = --out ]; then mkdir -p "$(dirname "$2")"; echo "<html>" >"$2"; fi
  shift
done
END
cat >bin/python3 <<'END'
#!/bin/sh
mkdir -p "$3/bin"
printf '#!/bin/sh\necho "pip $*" >>"$STUBS/log"\n[ ! -e "$STUBS/offline" ]\n' >"$3/bin/pip"
chmod +x "$3/bin/pip"
END
chmod +x bin/*
: >installed
export STUBS="$PWD" PATH="$PWD/bin:$PATH"
unset CI PHIBAL_PYTHON
dev() { : >log; (cd repository && sh ./dev "$@") >answer 2>error || fail "dev $*"; }
has() { grep -q -e "$1" log || fail "no '$1' in"; }
lacks() { if grep -q -e "$1" log; then fail "'$1' in"; fi; }

# The first build configures, installs what --backend host-cuda needs and builds that.
dev build
has "apt-get install.* libboost-context-dev"
has "^meson setup build"
has "^ninja -C build cli/phibal"
has "^ninja -C build kernels/cuda/libphibal-cuda-on-host.so"
# The second configures nothing.
dev build
lacks "^meson"
lacks "^apt-get"
# A package that came by hand is seen, once; so is one that went; one that ./dev does not know is not.
echo libcriterion-dev >>installed
dev build
has "^meson configure --clearcache build"
has "^meson setup --reconfigure build"
dev build
lacks "^meson"
grep -vx libcriterion-dev installed >less && cp less installed
dev build
has "^meson setup --reconfigure build"
echo cowsay >>installed
dev build
lacks "^meson"
# A folder of before this was written down.
rm repository/build/packages
dev build
has "^meson setup --reconfigure build"
# Without what the target needs there is none, and that is no error.
sed -i '/libboost-context-dev/d' installed
mkdir none && printf '#!/bin/sh\nexit 0\n' >none/apt-get && chmod +x none/apt-get
(PATH="$PWD/none:$PATH"; dev build)
lacks "libphibal-cuda-on-host"

# Tests: all but the long ones, all, those named; what is neither is refused.
mkdir -p repository/build/meson-logs
printf 'Ok:                 7   \nFail:               0   \nSkipped:            1   \n' >repository/build/meson-logs/testlog.txt
dev test
has "^meson test -C build .*--no-suite long"
[ "$(cat answer)" = "7 passed, 0 failed, 1 skipped" ] || fail "another count"
# All of them also beside packages from PyPI, which are installed once for each list of them, and left out where they cannot be.
mkdir -p repository/tests && echo torch==1 >repository/tests/peers.txt
touch offline
dev test --all
has "^pip install.* -r tests/peers.txt"
has "^meson test -C build .*--no-suite covered"
lacks "no-suite long"
grep -q "could not be installed" error || fail "nothing is said of packages that are not there"
[ ! -e repository/build/peers ] || fail "half of the packages is left"
has "^meson test .*# no peers"
rm offline
dev test --all
has "^pip install"
has "^meson test .*# .*/build/peers/bin/python"
dev test --all
lacks "^pip install"
has "^meson test .*# .*/build/peers/bin/python"
echo torch==2 >repository/tests/peers.txt
(export PHIBAL_PYTHON=/usr/bin/python3; dev test --all)
lacks "^pip install"
dev test --all
has "^pip install"
dev test price "planted faults"
has "^meson test -C build .* price planted faults"
lacks "no-suite"
lacks "ccache"
(export CI=true; dev test price)
has "apt-get install.* ccache"
dev test --longest
lacks "no-suite"
dev test --all price
lacks "no-suite"
if (cd repository && sh ./dev test --some) >answer 2>error; then fail "--some is taken"; fi

# The demo: both runs in one page, whose name is the last line; nothing is built that it does not use.
rm -rf repository/build
dev demo
lacks "libphibal-cuda-on-host"
[ "$(grep -c '^phibal train' log)" -eq 2 ] || fail "not two runs"
page=$(tail -n 1 answer)
[ -s "repository/$page" ] || fail "the last line, '$page', names no file"
has "^phibal report runs/demo-phi runs/demo-switch --out $page"
has "^phibal verify"
has "^phibal generate --load runs/demo-phi"
has "^phibal compare runs/demo-phi runs/demo-switch"
grep -q "bits are not compared" error || fail "another corpus was compared"
# Again, over what the first left; with the corpus on record the runs' digests have to be those on record.
mkdir -p repository/data/debian repository/moe/results
echo text >repository/data/debian/train.tokens
(cd repository && sha256sum data/debian/train.tokens >moe/results/demo.sha256)
for run in 0123 4567; do
  mkdir -p repository/runs/demo-$run
  echo " \"digest\": \"$run\"," >repository/runs/demo-$run/result.json
  echo "$run  runs/demo-$run" >>repository/moe/results/demo.sha256
done
dev demo
grep -q "have the bits of" error || fail "the digests on record are not compared"
echo " \"digest\": \"0124\"," >repository/runs/demo-0123/result.json
if (cd repository && sh ./dev demo) >answer 2>error; then fail "another digest is taken"; fi
grep -q "runs/demo-0123/result.json has another digest" error || fail "the run with another digest is not named"
echo " \"digest\": \"0123\"," >repository/runs/demo-0123/result.json
dev demo
[ "$(tail -n 1 answer)" = "$page" ] || fail "another last line"
