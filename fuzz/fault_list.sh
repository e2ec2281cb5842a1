# What mutants.sh and audit_mutants.sh share: reading a list of faults, and saying that one is not as it
# should be. Sourced by them; `work` is their folder.

trim() { printf '%s' "$1" | sed 's/^ *//; s/ *$//'; }

not_ok() {
  echo "not ok: $1"
  tail -n 5 "$work/log"
  failed=$((failed + 1))
}

# A check is a program, or some tests of it: PROGRAM:PATTERN.
program_of() { printf '%s' "${1%%:*}"; }
pattern_of() { case $1 in *:*) printf '%s' "${1#*:}" ;; esac; }

# The checks that a list names, each once.
checks() { awk -F' [|] ' '!/^#/ && NF >= 4 {print $3}' "$1" | sort -u; }

# each_fault LIST COMMAND: runs the command for each fault, with its fields in name, kind, check and edit,
# the file it edits in file, what is compiled instead in source, if it is another, and in why what makes
# it no fault, "" if it is one.
each_fault() {
  file= source= why=
  while IFS= read -r line; do
    case $line in
    '' | '#'*) continue ;;
    '['*)
      file=$(trim "$(printf '%s' "$line" | sed 's/^.//; s/].*//; s/>.*//')")
      source=$(trim "$(printf '%s' "$line" | sed -n 's/].*//; s/.*>//p')")
      continue
      ;;
    'equivalent: '*)
      why=${line#equivalent: }
      continue
      ;;
    esac
    name=${line%%" | "*} rest=${line#*" | "}
    kind=${rest%%" | "*} rest=${rest#*" | "}
    check=${rest%%" | "*} edit=${rest#*" | "}
    "$2"
    why=
  done <"$1"
}
