#!/bin/sh
# Installs into a folder of its own and builds a program against what was installed, as a user would:
# with pkg-config alone, in C and, for the headers, in C++.
#   usage: install.sh BUILD_DIR WORK_DIR LIBDIR
set -eu
build=$1 work=$2 libdir=$3
rm -rf "$work"
mkdir -p "$work"
DESTDIR="$work/root" meson install -C "$build" --no-rebuild >/dev/null
prefix=$(find "$work/root" -name phibal.pc | sed "s|/$libdir/pkgconfig/phibal.pc||")
# The files name the configured prefix; here they lie below another root.
sed -i "s|^prefix=.*|prefix=$prefix|" "$prefix/$libdir"/pkgconfig/phibal*.pc
# Manual pages and completions, where the build could make them.
if [ -d "$build/cli/pages" ]; then
  for file in phibal.1 phibal-data-build.1 bash-completion/completions/phibal zsh/site-functions/_phibal; do
    [ -n "$(find "$prefix" -path "*/$file" -size +0)" ] || { echo "not ok: no $file"; exit 1; }
  done
fi
export PKG_CONFIG_PATH="$prefix/$libdir/pkgconfig"
cat >"$work/use.c" <<'END'
#include <phibal/phibal.h>
#include <stdio.h>
#include <string.h>

/* One token prefers expert 1: it must be routed there, and the heavier expert must be dearer. */
int main(int argc, char **argv) {
  const phibal_router router = {3, 1, PHIBAL_GATE_TOPK_SOFTMAX, 1.0f};
  const float logits[3] = {0.0f, 2.0f, -1.0f};
  float gate, mean[3], price[3];
  int32_t expert;
  phibal_loads loads;
  phibal_potential phi;
  if (phibal_potential_find("negentropy", &phi) || phibal_loads_create(&router, &loads) ||
      phibal_router_forward(&router, 1, logits, 0, 0, 0, &expert, &gate, 0, &loads) ||
      phibal_loads_mean(&loads, mean) || phibal_price_centred(&phi, 3, mean, price, 0)) {
    puts(phibal_status_message());
    return 1;
  }
  phibal_loads_destroy(&loads);
  if (argc < 2 || strcmp(argv[1], PHIBAL_VERSION)) return 2;
  return !(expert == 1 && price[1] > price[0] && price[0] > price[2]);
}
END
# Linked to the shared library and to the archive, from C and from C++.
version=$(pkg-config --modversion phibal)
static() { pkg-config --static --libs "$1" | sed 's/-lphibal[a-z-]*/-Wl,-Bstatic & -Wl,-Bdynamic/g'; }
linked() { readelf -d "$1" | grep -c 'NEEDED.*libphibal' || true; }
try() { # libraries that it must need, compiler, source, package, arguments...
  needed=$1 compiler=$2 source=$3 package=$4
  shift 4
  for kind in shared static; do
    if [ $kind = static ]; then libraries=$(static "$package") needed=0; else libraries=$(pkg-config --libs "$package"); fi
    # shellcheck disable=SC2046,SC2086 # one word an option
    $compiler -Wall -Werror "$source" -o "$work/linked" $(pkg-config --cflags "$package") $libraries
    [ "$(linked "$work/linked")" = $needed ] || { echo "not ok: $source, $kind: needs $(linked "$work/linked") libraries"; exit 1; }
    LD_LIBRARY_PATH="$prefix/$libdir" "$work/linked" "$@" || { echo "not ok: $source, $compiler, $kind: $?"; exit 1; }
  done
}
cp "$work/use.c" "$work/use.cc"
try 1 cc "$work/use.c" phibal "$version"
if command -v c++ >/dev/null; then try 1 c++ "$work/use.cc" phibal "$version"; fi
# No symbol of the libraries is another's, and what is behind the doors is not shown.
for library in "$prefix/$libdir"/libphibal*.a "$prefix/$libdir"/libphibal*.so; do
  case $library in *.so) dynamic=-D ;; *) dynamic= ;; esac
  # shellcheck disable=SC2086 # empty is no argument
  foreign=$(nm $dynamic -g --defined-only "$library" | awk 'NF == 3 {print $3}' | grep -v '^phibal_\|^\.gomp_' || true)
  [ -z "$foreign" ] || { echo "not ok: $library defines" $foreign; exit 1; }
  inside=$(nm -D -g --defined-only "$library" 2>/dev/null | awk '{print $3}' | grep '_inside\|gemm' || true)
  [ -z "$inside" ] || { echo "not ok: $library shows" $inside; exit 1; }
done
[ "$(readelf -d "$prefix/$libdir/libphibal.so" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p')" = libphibal.so.0 ] ||
  { echo "not ok: libphibal.so has another soname"; exit 1; }
# A program whose link sets flush-to-zero (GCC's crtfastmath.o): the kernels refuse, and leave it as it is,
# until it calls phibal_environment_reset.
cat >"$work/fast.c" <<'END'
#include <phibal/balance.h>
#include <phibal/environment.h>
#include <stdio.h>
#include <string.h>

int main(void) {
  const float m[2] = {0x1p-140f, 1.0f};
  float next[2];
  const char *changed = phibal_environment_changed();
  if (!changed) return 77;
  if (!phibal_ema(2, 1.0f, m, m, next) || !strstr(phibal_status_message(), changed)) return 1;
  if (!phibal_environment_changed() || strcmp(phibal_environment_changed(), changed)) return 2;
  phibal_environment_reset();
  if (phibal_ema(2, 1.0f, m, m, next)) return 3;
  unsigned bits;
  memcpy(&bits, &next[0], sizeof bits);
  return bits != 1u << 9; /* 2^-140 in units of 2^-149 */
}
END
cc -O2 -ffast-math -Wall -Werror "$work/fast.c" -o "$work/fast" $(pkg-config --cflags --libs phibal)
status=0
LD_LIBRARY_PATH="$prefix/$libdir" "$work/fast" || status=$?
case $status in
0) ;;
77) echo "the compiler's -ffast-math leaves the environment alone: that was not tried" ;;
*) echo "not ok: a program with -ffast-math: $status"; exit 1 ;;
esac
if [ -f "$prefix/include/phibal/reference.h" ]; then
  cat >"$work/reference.c" <<'END'
#include <phibal/reference.h>
#include <phibal/reference_moe.h>
#include <phibal/rounding.h>

/* exp(0) is exactly 1. */
int main(void) {
  phibal_enclosure x;
  phibal_enclosure_init(&x, 64);
  phibal_enclosure_exp(&x, &x);
  int wrong = !phibal_enclosure_is_exact(&x) || mpfr_cmp_ui(x.lo, 1) != 0;
  phibal_enclosure_clear(&x);
  return wrong;
}
END
  cp "$work/reference.c" "$work/reference.cc"
  try 1 cc "$work/reference.c" phibal-reference
  if command -v c++ >/dev/null; then try 1 c++ "$work/reference.cc" phibal-reference; fi
fi
if command -v c++ >/dev/null && [ -f "$prefix/include/phibal/reference.h" ]; then
  for header in "$prefix"/include/phibal/*.h; do
    printf '#include <phibal/%s>\n' "$(basename "$header")" >"$work/header.cc"
    c++ -Wall -Werror -fsyntax-only $(pkg-config --cflags phibal-reference) "$work/header.cc"
  done
fi
echo "installed headers and libraries work from C, headers from C++"
