# The filter that Doxygen reads the public headers through: their plain comments become Doxygen's.
#   /* ... */ before a declaration      /** ... */, for all declarations up to the next empty line
#   code; /* ... */                     code; /**< ... */
#   lines indented by two more          items of a list
# Characters that mean something to Doxygen mean themselves; `x` is set as code.

function marked(text,    out, a, b, n, part, i) {
  n = split(text, part, "\\")
  text = part[1]
  for (i = 2; i <= n; i++) text = text "\\\\" part[i]
  gsub(/[@<>#%&]/, "\\\\&", text)
  out = ""
  while ((a = index(text, "`")) && (b = index(substr(text, a + 1), "`"))) {
    out = out substr(text, 1, a - 1) "<tt>" substr(text, a + 1, b - 1) "</tt>"
    text = substr(text, a + b + 1)
  }
  return dotless(out text)
}

# A dot where a line begins would end a list, and two hyphens would be a dash.
function dotless(text) {
  if (match(text, /^ *\./)) text = substr(text, 1, RLENGTH - 1) "\\." substr(text, RLENGTH + 1)
  gsub(/--/, "\\\\--", text)
  return text
}

# One line of a comment, whose text begins at `margin`. What is indented further are items of a list,
# or after an empty line code.
function line_of(text, margin,    n) {
  match(text, /^ */)
  n = RLENGTH
  if (code) {
    if (n > margin || text ~ /^ *$/) return text
    code = 0
    return "@endcode\n" line_of(text, margin)
  }
  if (n > margin && empty) {
    code = 1
    empty = 0
    return "@code{.c}\n" text
  }
  empty = text ~ /^ *$/
  if (n == margin + 2) {
    list = 1
    return substr(text, 1, n - 2) "- " marked(substr(text, n + 1))
  }
  if (list && n <= margin) {
    list = 0
    return "\n" marked(text)
  }
  return marked(text)
}

# Prints a comment line, and keeps the comment for the declarations that share it.
function said(text) {
  print text
  comment = comment text "\n"
}

FNR == 1 { inside = list = code = empty = shared = 0; comment = "" }

inside {
  if (sub(/ *\*\/.*$/, "")) {
    said(line_of($0, margin) (code ? "\n@endcode" : "") " */")
    inside = list = code = empty = 0
  } else {
    said(line_of($0, margin))
  }
  next
}

/^ *\/\*/ {
  match($0, /^ */)
  margin = RLENGTH + 3
  head = substr($0, 1, RLENGTH)
  text = substr($0, RLENGTH + 3)
  comment = ""
  shared = 0
  file = FNR == 1 ? " @file\n  " : ""
  if (sub(/ *\*\/ *$/, "", text)) {
    said(head "/**" file marked(text) " */")
  } else {
    said(head "/**" file marked(text))
    inside = 1
  }
  next
}

/[^ ] *\/\*/ {
  at = index($0, "/*")
  before = substr($0, 1, at - 1)
  text = substr($0, at + 2)
  if (shared && before ~ /^[a-z]/) printf "%s", comment
  if (before ~ /^[a-z].*;/) shared = 1
  if (sub(/ *\*\/ *$/, "", text)) {
    print before (before ~ /#/ ? "/*" : "/**<") marked(text) " */"
  } else {
    print before (before ~ /#/ ? "/*" : "/**<") marked(text)
    margin = at + 2
    inside = 1
  }
  next
}

/^ *$/ { shared = 0; comment = "" }
/^[a-z][^#]*\(/ && shared && comment != "" { printf "%s", comment }
{ shared = shared && !/^ *$/ }
/;[ ]*$/ && comment != "" { shared = 1 }
{ print }
