#!/bin/sh
# The pages of the public headers: Doxygen has no warning, every function that a header declares is there, functions
# under one comment have it each, and no contract is there, nor in the headers. A planted mistake is noticed.
#   usage: doxygen.sh SOURCE DOXYFILE FOLDER
set -eu
source=$1 doxyfile=$2 folder=$3
command -v doxygen >/dev/null || { echo "skipped: no doxygen"; exit 77; }
rm -rf "$folder"
mkdir -p "$folder/right" "$folder/wrong"
make() { # FOLDER SED: the pages, the first of which sed has edited
  cp -rL "$source/spec/include/phibal" "$source/spec/doxygen" "$folder/$1/"
  sed -i "$2" "$folder/$1/doxygen/main.dox"
  sed "s|^INPUT = .*|INPUT = $folder/$1/phibal $folder/$1/doxygen/main.dox|; s|^OUTPUT_DIRECTORY.*|OUTPUT_DIRECTORY = $folder/$1|" \
    "$doxyfile" >"$folder/$1/Doxyfile"
  doxygen "$folder/$1/Doxyfile" >"$folder/$1/log" 2>&1
}
make right '' || { echo "not ok: Doxygen warns:"; cat "$folder/right/log"; exit 1; }
status=0
make wrong 's|^Tags|@ref nothing_there Tags|' || status=$?
[ $status -ne 0 ] && grep -q nothing_there "$folder/wrong/log" || { echo "not ok: a reference to nothing is not noticed"; exit 1; }

pages=$folder/right/html
failed=0
functions=0
for header in "$source"/spec/include/phibal/*.h; do
  name=$(basename "$header" .h)
  [ -f "$pages/$(echo "$name" | sed 's/_/__/g')_8h.html" ] || { echo "not ok: no page of $name.h"; failed=1; }
  # Declarations begin at the margin; contracts and comments do not. Compilers do not see what is Frama-C's.
  for function in $(sed -n '/^#ifdef __FRAMAC__/,/^#e/d; s/^[a-z][a-z0-9_ *]*\b\(phibal_[a-z0-9_]*\)(.*/\1/p' "$header"); do
    functions=$((functions + 1))
    grep -q "</span>$function()</h2>" "$pages"/*_8h.html || { echo "not ok: $function has no entry"; failed=1; }
  done
done
[ $functions -gt 100 ] || { echo "not ok: $functions functions"; failed=1; }
if grep -l 'ensures\|assigns \|requires \\\|/\*@' "$pages"/*.html "$source"/spec/include/phibal/*.h; then
  echo "not ok: contracts are in these"
  failed=1
fi
# phibal_enclosure_vector_clear stands under the comment of phibal_enclosure_vector.
[ "$(grep -c 'n enclosures, initialised' "$pages/enclosure_8h.html")" -ge 2 ] || { echo "not ok: a comment for two"; failed=1; }
echo "$functions functions"
exit $failed
