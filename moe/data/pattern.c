/* Matching with backtracking: nodes with a successor, alternatives in order, the longest repetition
   first. Recursion is as deep as the pattern has nodes at most, since a repetition is of one
   character, and is a loop. */
#include "pattern.h"
#include <stdlib.h>
#include <string.h>

/* Runs of code points of one general category, from 0 on: length << 5 | category. */
static const char categories[][3] = {"Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl",
                                     "No", "Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po", "Sm", "Sc",
                                     "Sk", "So", "Zs", "Zl", "Zp", "Cc", "Cf", "Co", "Cn", "Cs"};
static const uint32_t runs[] = {
#include "unicode_categories.def"
};

void code_set_add(code_set *set, uint32_t first, uint32_t last) {
  for (uint32_t code = first; code <= last && code < UNICODE_END; code++)
    set->bits[code >> 3] = (uint8_t)(set->bits[code >> 3] | 1u << (code & 7));
}

bool code_set_add_category(code_set *set, const char *name, size_t n) {
  bool known = false;
  if (n != 1 && n != 2) return false;
  uint32_t code = 0;
  for (size_t i = 0; i < sizeof runs / sizeof *runs; code += runs[i++] >> 5)
    if (!strncmp(categories[runs[i] & 31], name, n)) {
      code_set_add(set, code, code + (runs[i] >> 5) - 1);
      known = true;
    }
  return known;
}

enum { MOST_NODES = 4096, MOST_SETS = 64, MOST_NESTED = 32 };

typedef enum kind {
  CHARACTER, /* one of code[] */
  SET,
  REPEAT, /* of `unit`, a CHARACTER or a SET */
  BRANCH, /* `unit`, or else `other` */
  LOOK,   /* whether `unit` matches here */
  LINE_END,
  NOTHING,
  ACCEPT,
} kind;

typedef struct node {
  kind kind;
  int next, unit, other;
  uint32_t code[3]; /* the ways to write a letter; the rest repeats the first */
  const code_set *set;
  size_t least, most;
  bool lazy, possessive, negative;
} node;

struct pattern {
  node *nodes;
  int count, start;
  code_set *sets[MOST_SETS];
  int set_count;
  char *text;
};

/* Reading. A fragment is a part of the pattern: its first node, and its last, whose successor is
   not yet set. */
typedef struct fragment {
  int first, last;
} fragment;

typedef struct reader {
  pattern *p;
  const char *name, *text;
  size_t at, n;
  int nested;
  bool any_case;
  phibal_status status;
} reader;

static void refuse(reader *r, const char *what) {
  if (!r->status)
    r->status = phibal_status_set(PHIBAL_ERROR_UNSUPPORTED,
                                  "%s: pattern '%.200s': %s at byte %zu is not supported", r->name,
                                  r->p->text, what, r->at);
}

static int add(reader *r, node value) {
  if (r->p->count == MOST_NODES) {
    refuse(r, "so long a pattern");
    return 0;
  }
  value.next = -1;
  r->p->nodes[r->p->count] = value;
  return r->p->count++;
}

static code_set *new_set(reader *r) {
  if (r->p->set_count == MOST_SETS) refuse(r, "so many classes");
  code_set *set = r->status ? NULL : calloc(1, sizeof *set);
  if (set)
    r->p->sets[r->p->set_count++] = set;
  else if (!r->status)
    r->status = phibal_status_set(PHIBAL_ERROR_MEMORY, "no memory for a pattern");
  return set;
}

static void complement(code_set *set) {
  for (size_t i = 0; i < sizeof set->bits; i++) set->bits[i] = (uint8_t)~set->bits[i];
}

/* White_Space, as \s. */
static void add_space(code_set *set) {
  code_set_add(set, 9, 13);
  code_set_add(set, 0x85, 0x85);
  code_set_add_category(set, "Z", 1);
}

static bool next_is(const reader *r, const char *text) {
  const size_t n = strlen(text);
  return r->n - r->at >= n && !memcmp(r->text + r->at, text, n);
}

static bool take(reader *r, const char *text) {
  if (!next_is(r, text)) return false;
  r->at += strlen(text);
  return true;
}

/* So many hexadecimal digits at least and at most. */
static uint32_t hexadecimal(reader *r, size_t least, size_t most) {
  uint32_t code = 0;
  size_t n = 0;
  for (; n < most && r->at < r->n; n++, r->at++) {
    const char c = r->text[r->at];
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : -1;
    if (digit < 0) break;
    code = code << 4 | (uint32_t)digit;
  }
  if (n < least || code >= UNICODE_END || (code >= 0xd800 && code < 0xe000))
    refuse(r, "this code point");
  return code;
}

/* After a backslash: a class into *set (true), or the character *code. */
static bool escape(reader *r, code_set *set, uint32_t *code) {
  const char c = r->at < r->n ? r->text[r->at] : 0;
  static const char letters[] = "rntfve", values[] = "\r\n\t\f\v\x1b";
  *code = 0;
  if (c && strchr("sSdDwWpP", c)) {
    code_set found;
    memset(&found, 0, sizeof found);
    bool negative = c == 'S' || c == 'D' || c == 'W' || c == 'P';
    r->at++;
    if (c == 's' || c == 'S') {
      add_space(&found);
    } else if (c == 'd' || c == 'D') {
      code_set_add_category(&found, "Nd", 2);
    } else if (c == 'w' || c == 'W') {
      static const uint32_t others[][2] = {
          {0xb2, 0xb3},       {0xb9, 0xb9},       {0xbc, 0xbe},      {0x24b6, 0x24e9},
          {0x1f130, 0x1f149}, {0x1f150, 0x1f169}, {0x1f170, 0x1f189}};
      code_set_add_category(&found, "L", 1);
      code_set_add_category(&found, "M", 1);
      code_set_add_category(&found, "Nd", 2);
      code_set_add_category(&found, "Nl", 2);
      code_set_add_category(&found, "Pc", 2);
      for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        code_set_add(&found, others[i][0], others[i][1]);
    } else {
      if (!take(r, "{")) return refuse(r, "\\p without a name in braces"), true;
      if (take(r, "^")) negative = !negative;
      const char *end = memchr(r->text + r->at, '}', r->n - r->at);
      const size_t n = end ? (size_t)(end - r->text) - r->at : 0;
      if (!end || !code_set_add_category(&found, r->text + r->at, n))
        return refuse(r, "this property"), true;
      r->at += n + 1;
    }
    if (negative) complement(&found);
    if (r->any_case) refuse(r, "a class without regard to case");
    if (set)
      for (size_t i = 0; i < sizeof set->bits; i++)
        set->bits[i] = (uint8_t)(set->bits[i] | found.bits[i]);
    return true;
  }
  const char *letter = c ? strchr(letters, c) : NULL;
  if (letter) {
    *code = (unsigned char)values[letter - letters];
    r->at++;
  } else if (take(r, "x{")) {
    *code = hexadecimal(r, 1, 6);
    if (!take(r, "}")) refuse(r, "this escape");
  } else if (take(r, "x")) {
    *code = hexadecimal(r, 2, 2);
    if (*code >= 0x80) refuse(r, "a byte beyond 0x7f");
  } else if (take(r, "u")) {
    *code = hexadecimal(r, 4, 4);
  } else if (c > ' ' && c < 0x7f && !((c | 32) >= 'a' && (c | 32) <= 'z') &&
             !(c >= '0' && c <= '9')) {
    *code = (unsigned char)c;
    r->at++;
  } else {
    refuse(r, "this escape");
  }
  return false;
}

/* A letter's other case: U+017F folds to s, U+212A to k. */
static void both_cases(reader *r, uint32_t code, uint32_t ways[3]) {
  ways[0] = ways[1] = ways[2] = code;
  if (!r->any_case) return;
  if (code >= 0x80) refuse(r, "a character beyond ASCII without regard to case");
  const uint32_t lower = code | 32;
  if (lower < 'a' || lower > 'z') return;
  ways[0] = ways[2] = lower;
  ways[1] = lower - 32;
  if (lower == 's') ways[2] = 0x17f;
  if (lower == 'k') ways[2] = 0x212a;
}

static uint32_t class_character(reader *r, code_set *set, bool *is_set) {
  uint32_t code;
  size_t n;
  *is_set = false;
  if (r->at >= r->n) return refuse(r, "a class without end"), 0;
  if (next_is(r, "[")) refuse(r, "a class in a class");
  if (next_is(r, "&&")) refuse(r, "&& in a class");
  if (take(r, "\\")) {
    *is_set = escape(r, set, &code);
    return code;
  }
  code = utf8_code(r->text + r->at, &n);
  r->at += n;
  return code;
}

/* After "[". */
static fragment class_of(reader *r) {
  code_set *set = new_set(r);
  const bool negative = take(r, "^");
  if (negative && r->any_case) refuse(r, "a class without regard to case");
  if (next_is(r, "]")) refuse(r, "an empty class");
  while (!r->status && !take(r, "]")) {
    bool is_set;
    const size_t here = r->at;
    uint32_t first = class_character(r, set, &is_set), last = first;
    if (!r->status && next_is(r, "-") && r->at + 1 < r->n && r->text[r->at + 1] != ']') {
      if (is_set || r->text[here] == '-') refuse(r, "this range");
      r->at++;
      last = class_character(r, set, &is_set);
      if (is_set || last < first) refuse(r, "this range");
      if (r->any_case) refuse(r, "a range without regard to case");
    } else if (is_set) {
      continue;
    }
    uint32_t ways[3];
    both_cases(r, first, ways);
    for (int i = 0; i < 3 && !r->status && r->any_case; i++) code_set_add(set, ways[i], ways[i]);
    if (!r->status) code_set_add(set, first, last);
  }
  if (!r->status && negative) complement(set);
  const int one = add(r, (node){.kind = SET, .set = set});
  return (fragment){one, one};
}

static fragment alternatives(reader *r);

/* After "(". */
static fragment group(reader *r) {
  const bool outer = r->any_case;
  if (++r->nested > MOST_NESTED) return refuse(r, "so deep a nesting"), (fragment){0, 0};
  const bool ahead = take(r, "?="), absent = !ahead && take(r, "?!");
  if (!ahead && !absent) {
    if (take(r, "?i:"))
      r->any_case = true;
    else if (!take(r, "?:") && next_is(r, "?"))
      refuse(r, "this kind of group");
  }
  fragment inside = alternatives(r);
  if (!r->status && !take(r, ")")) refuse(r, "a group without end");
  r->any_case = outer;
  r->nested--;
  if (ahead || absent) {
    const int end = add(r, (node){.kind = ACCEPT});
    r->p->nodes[inside.last].next = end;
    const int look = add(r, (node){.kind = LOOK, .unit = inside.first, .negative = absent});
    return (fragment){look, look};
  }
  return inside;
}

/* Oniguruma folds some pairs of letters into one character without regard to case. */
static void refuse_pairs(reader *r, uint32_t before, uint32_t code) {
  static const char pairs[][3] = {"ss", "ff", "fi", "fl", "st"};
  for (size_t i = 0; i < 5; i++)
    if (r->any_case && (before | 32) == (unsigned char)pairs[i][0] &&
        (code | 32) == (unsigned char)pairs[i][1])
      refuse(r, "this pair of letters without regard to case");
}

static size_t number(reader *r) {
  size_t value = 0, digits = 0;
  for (; r->at < r->n && r->text[r->at] >= '0' && r->text[r->at] <= '9' && digits < 5; digits++)
    value = 10 * value + (size_t)(r->text[r->at++] - '0');
  if (!digits || digits == 5) refuse(r, "this number");
  return value;
}

/* How often `what` is repeated. */
static fragment repeated(reader *r, fragment what, bool one, bool grouped) {
  size_t least, most = SIZE_MAX;
  bool counted = false;
  if (take(r, "?")) {
    least = 0, most = 1;
  } else if (take(r, "*")) {
    least = 0;
  } else if (take(r, "+")) {
    least = 1;
  } else if (take(r, "{")) {
    counted = true;
    least = most = number(r);
    if (take(r, ",")) most = next_is(r, "}") ? SIZE_MAX : number(r);
    if (!take(r, "}") || most < least || !most) refuse(r, "this repetition");
  } else {
    return what;
  }
  const bool lazy = next_is(r, "?"), possessive = next_is(r, "+");
  if (lazy || possessive) r->at++;
  if ((lazy || possessive) && counted) refuse(r, "a counted repetition with ? or +");
  if (r->at < r->n && strchr("?*+{", r->text[r->at])) refuse(r, "a repetition of a repetition");
  if (one) {
    const int repeat = add(r, (node){.kind = REPEAT,
                                     .unit = what.first,
                                     .least = least,
                                     .most = most,
                                     .lazy = lazy,
                                     .possessive = possessive});
    return (fragment){repeat, repeat};
  }
  if (!grouped || least || most != 1 || possessive)
    return refuse(r, "a repetition of more than a character"), what;
  const int join = add(r, (node){.kind = NOTHING});
  r->p->nodes[what.last].next = join;
  const int branch = add(
      r,
      (node){.kind = BRANCH, .unit = lazy ? join : what.first, .other = lazy ? what.first : join});
  return (fragment){branch, join};
}

static fragment sequence(reader *r) {
  const int nothing = add(r, (node){.kind = NOTHING});
  fragment all = {nothing, nothing};
  uint32_t before = 0;
  while (!r->status && r->at < r->n && !next_is(r, "|") && !next_is(r, ")")) {
    fragment part = {0, 0};
    bool one = true, grouped = false;
    uint32_t code = 0;
    if (take(r, "(")) {
      part = group(r);
      one = false;
      grouped = !r->status && r->p->nodes[part.first].kind != LOOK;
    } else if (take(r, "[")) {
      part = class_of(r);
    } else if (take(r, "$")) {
      part.first = part.last = add(r, (node){.kind = LINE_END});
      one = false;
    } else if (take(r, ".")) {
      code_set *set = new_set(r);
      if (set) code_set_add(set, '\n', '\n'), complement(set);
      part.first = part.last = add(r, (node){.kind = SET, .set = set});
    } else if (strchr("?*+{}^]", r->text[r->at]) && r->text[r->at]) {
      refuse(r, "this character");
    } else {
      size_t n = 1;
      node value = {.kind = CHARACTER};
      bool is_set = false;
      if (take(r, "\\")) {
        code_set *set = NULL;
        if (r->at < r->n && r->text[r->at] && strchr("sSdDwWpP", r->text[r->at])) set = new_set(r);
        is_set = !r->status && escape(r, set, &code);
        value.set = set;
      } else {
        code = utf8_code(r->text + r->at, &n);
        r->at += n;
      }
      if (is_set) value.kind = SET;
      if (!is_set) both_cases(r, code, value.code);
      refuse_pairs(r, before, code);
      part.first = part.last = add(r, value);
    }
    before = code;
    if (r->status) break;
    part = repeated(r, part, one, grouped);
    r->p->nodes[all.last].next = part.first;
    all.last = part.last;
  }
  return all;
}

static fragment alternatives(reader *r) {
  fragment first = sequence(r);
  if (r->status || !take(r, "|")) return first;
  fragment rest = first; /* a chain of branches, joined at its end */
  const int join = add(r, (node){.kind = NOTHING});
  int branch = add(r, (node){.kind = BRANCH, .unit = first.first});
  r->p->nodes[first.last].next = join;
  const int start = branch;
  do {
    rest = sequence(r);
    if (r->status) return first;
    r->p->nodes[rest.last].next = join;
    r->p->nodes[branch].other = rest.first;
    if (!next_is(r, "|")) break;
    const int more = add(r, (node){.kind = BRANCH, .unit = rest.first});
    r->p->nodes[branch].other = more;
    branch = more;
  } while (take(r, "|"));
  return (fragment){start, join};
}

static phibal_status compile(const char *name, const char *text, size_t n, bool literal,
                             pattern **to) {
  pattern *p = calloc(1, sizeof *p);
  *to = p;
  if (p) p->nodes = calloc(MOST_NODES, sizeof *p->nodes);
  if (p) p->text = malloc(n + 1);
  if (!p || !p->nodes || !p->text) {
    pattern_free(p);
    *to = NULL;
    return phibal_status_set(PHIBAL_ERROR_MEMORY, "no memory for a pattern");
  }
  memcpy(p->text, text, n);
  p->text[n] = 0;
  reader r = {.p = p, .name = name, .text = p->text, .n = n};
  fragment all;
  if (literal) {
    all.first = all.last = add(&r, (node){.kind = NOTHING});
    for (size_t width; r.at < n && !r.status; r.at += width) {
      node value = {.kind = CHARACTER};
      both_cases(&r, utf8_code(p->text + r.at, &width), value.code);
      const int one = add(&r, value);
      p->nodes[all.last].next = one;
      all.last = one;
    }
  } else {
    all = alternatives(&r);
    if (!r.status && r.at < n) refuse(&r, "this character");
  }
  if (!n) refuse(&r, "an empty pattern");
  const int end = r.status ? 0 : add(&r, (node){.kind = ACCEPT});
  if (!r.status) p->nodes[all.last].next = end;
  p->start = all.first;
  if (!r.status) return PHIBAL_OK;
  pattern_free(p);
  *to = NULL;
  return r.status;
}

phibal_status pattern_compile(const char *name, const char *text, size_t n, pattern **p) {
  return compile(name, text, n, false, p);
}

phibal_status pattern_literal(const char *name, const char *text, size_t n, pattern **p) {
  return compile(name, text, n, true, p);
}

typedef struct search {
  const node *nodes;
  const char *s;
  size_t n;
  int64_t steps; /* left */
} search;

static const size_t none = SIZE_MAX;

/* One character at `at`: the offset after it, or none. */
static inline size_t one_character(const search *x, const node *unit, size_t at) {
  size_t n;
  if (at >= x->n) return none;
  const uint32_t code = utf8_code(x->s + at, &n);
  const bool same = unit->kind == SET
                        ? code_set_has(unit->set, code)
                        : code == unit->code[0] || code == unit->code[1] || code == unit->code[2];
  return same ? at + n : none;
}

/* The end of the match of node `i` and its successors at `at`, or none. */
static size_t match(search *x, int i, size_t at) {
  while (--x->steps > 0) {
    const node *n = &x->nodes[i];
    switch (n->kind) {
    case CHARACTER:
    case SET:
      if ((at = one_character(x, n, at)) == none) return none;
      break;
    case REPEAT: {
      const node *unit = &x->nodes[n->unit];
      size_t count = 0, end = at, after;
      if (n->lazy) {
        for (; count < n->least; count++)
          if ((at = one_character(x, unit, at)) == none) return none;
        for (;; count++) {
          const size_t found = match(x, n->next, at);
          if (found != none || count == n->most) return found;
          if ((at = one_character(x, unit, at)) == none) return none;
        }
      }
      while (count < n->most && (after = one_character(x, unit, end)) != none) {
        end = after;
        count++;
      }
      x->steps -= (int64_t)count;
      if (count < n->least) return none;
      /* Nothing to go back to, or nothing that could fail. */
      while (count > n->least && !n->possessive && x->nodes[n->next].kind != ACCEPT) {
        const size_t found = match(x, n->next, end);
        if (found != none || x->steps <= 0) return found;
        do end--;
        while ((x->s[end] & 0xc0) == 0x80);
        count--;
      }
      at = end;
      break;
    }
    case BRANCH: {
      const size_t found = match(x, n->unit, at);
      if (found != none) return found;
      i = n->other;
      continue;
    }
    case LOOK:
      if ((match(x, n->unit, at) != none) == n->negative) return none;
      break;
    case LINE_END:
      if (at < x->n && x->s[at] != '\n') return none;
      break;
    case NOTHING:
      break;
    case ACCEPT:
      return at;
    }
    i = n->next;
  }
  return none;
}

phibal_status pattern_find(const pattern *p, const char *s, size_t n, size_t from, bool *found,
                           size_t *start, size_t *end) {
  search x = {
      .nodes = p->nodes, .s = s, .n = n, .steps = ((int64_t)1 << 20) + 256 * (int64_t)(n - from)};
  *found = false;
  for (size_t at = from; at < n; at++) {
    if ((s[at] & 0xc0) == 0x80) continue;
    const size_t e = match(&x, p->start, at);
    if (x.steps <= 0)
      return phibal_status_set(PHIBAL_ERROR_UNSUPPORTED,
                               "pattern '%.200s': too many steps at byte %zu of the text", p->text,
                               at);
    if (e == none) continue;
    if (e == at)
      return phibal_status_set(PHIBAL_ERROR_UNSUPPORTED, "pattern '%.200s': an empty match",
                               p->text);
    *found = true;
    *start = at;
    *end = e;
    break;
  }
  return PHIBAL_OK;
}

void pattern_free(pattern *p) {
  if (!p) return;
  for (int i = 0; i < p->set_count; i++) free(p->sets[i]);
  free(p->nodes);
  free(p->text);
  free(p);
}
