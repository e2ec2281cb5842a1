#include "manual.h"
#include <ctype.h>
#include <string.h>

/* Special characters \(xx and \[xx] that manual pages use, as UTF-8. */
static const struct {
  const char *name, *text;
} characters[] = {
    {"aq", "'"},      {"dq", "\""},     {"lq", "\u201c"}, {"rq", "\u201d"}, {"oq", "\u2018"},
    {"cq", "\u2019"}, {"bu", "\u2022"}, {"em", "\u2014"}, {"en", "\u2013"}, {"hy", "-"},
    {"mi", "-"},      {"co", "\u00a9"}, {"rg", "\u00ae"}, {"tm", "\u2122"}, {"ha", "^"},
    {"ti", "~"},      {"ga", "`"},      {"rs", "\\"},     {"ul", "_"},      {"at", "@"},
    {"sh", "#"},      {"Do", "$"},      {"ba", "|"},      {"bv", "|"},      {"lB", "["},
    {"rB", "]"},      {"lC", "{"},      {"rC", "}"},      {"la", "\u27e8"}, {"ra", "\u27e9"},
    {"mu", "\u00d7"}, {"di", "\u00f7"}, {"+-", "\u00b1"}, {"<=", "\u2264"}, {">=", "\u2265"},
    {"!=", "\u2260"}, {"==", "\u2261"}, {"->", "\u2192"}, {"<-", "\u2190"}, {"if", "\u221e"},
    {"de", "\u00b0"}, {"sc", "\u00a7"}, {"ss", "\u00df"}, {":a", "\u00e4"}, {":o", "\u00f6"},
    {":u", "\u00fc"}, {":A", "\u00c4"}, {":O", "\u00d6"}, {":U", "\u00dc"}, {"'e", "\u00e9"},
    {"'a", "\u00e1"}, {"`e", "\u00e8"}, {"`a", "\u00e0"}, {"bq", "\u201a"}, {"Bq", "\u201e"},
    {"Fo", "\u00ab"}, {"Fc", "\u00bb"}, {"fo", "\u2039"}, {"fc", "\u203a"}, {"sl", "/"},
    {"pi", "\u03c0"}, {"*m", "\u03bc"}, {"mc", "\u00b5"}, {"**", "*"},      {"pl", "+"},
};

static const char *character_find(const char *name, size_t n) {
  for (size_t i = 0; i < sizeof characters / sizeof *characters; i++)
    if (strlen(characters[i].name) == n && !memcmp(characters[i].name, name, n))
      return characters[i].text;
  return "";
}

/* The length of the name after \f, \*, \n, \F or \m: one character, ( and two, or [ up to ]. */
static size_t name_length(const char *s, size_t n) {
  if (n && *s == '(') return n < 3 ? n : 3;
  if (n && *s == '[') {
    const char *end = memchr(s, ']', n);
    return end ? (size_t)(end - s) + 1 : n;
  }
  return n ? 1 : 0;
}

/* Appends the text of the escape at s, behind its backslash; returns how much of s it took. */
static size_t escape_append(const char *s, size_t n, text_buffer *text, phibal_status *status) {
  const char *put = "";
  size_t took = 1;
  if (!n) return 0;
  switch (*s) {
  case '-':
    put = "-";
    break;
  case 'e':
  case '\\':
    put = "\\";
    break;
  case ' ':
  case '~':
  case '0':
    put = " ";
    break;
  case '\'':
    put = "'";
    break;
  case '`':
    put = "`";
    break;
  case '.':
    put = ".";
    break;
  case '"':
  case '#': /* a comment to the end of the line */
    return n;
  case '(':
    took = n < 3 ? n : 3;
    put = took == 3 ? character_find(s + 1, 2) : "";
    break;
  case '[':
    took = name_length(s, n);
    put = took > 2 ? character_find(s + 1, took - 2) : "";
    break;
  case 'f':
  case 'F':
  case 'm':
  case 'n':
    took = 1 + name_length(s + 1, n - 1);
    break;
  case '*':
    took = 1 + name_length(s + 1, n - 1);
    if (took == 4 && !memcmp(s + 1, "(lq", 3)) put = "\u201c";
    if (took == 4 && !memcmp(s + 1, "(rq", 3)) put = "\u201d";
    break;
  case 's': /* a size: sign and digits */
    while (took < n && (s[took] == '-' || s[took] == '+')) took++;
    for (int digits = 0; took < n && digits < 2 && isdigit((unsigned char)s[took]); digits++)
      took++;
    break;
  case 'h':
  case 'v':
  case 'w':
  case 'o':
  case 'X':
  case 'Z': /* an argument between two marks */
    if (n > 1) {
      const char *end = memchr(s + 2, s[1], n - 2);
      took = end ? (size_t)(end - s) + 1 : n;
    }
    break;
  default: /* \& \| \^ \% \: \c \/ \, \) \d \u \p \t and the like: no text */
    break;
  }
  *status = text_buffer_string(text, put);
  return took;
}

static phibal_status line_append(const char *s, size_t n, text_buffer *text) {
  phibal_status status = PHIBAL_OK;
  while (n && !status) {
    const char *slash = memchr(s, '\\', n);
    size_t plain = slash ? (size_t)(slash - s) : n;
    status = text_buffer_append(text, s, plain);
    s += plain;
    n -= plain;
    if (n && !status) {
      size_t took = 1 + escape_append(s + 1, n - 1, text, &status);
      s += took;
      n -= took;
    }
  }
  return status;
}

/* The next argument of a macro: words, or "text in quotes" with "" for a quote inside. False at the
   end. */
static bool argument_next(const char **s, const char *end, const char **word, size_t *length) {
  while (*s < end && (**s == ' ' || **s == '\t')) ++*s;
  if (*s == end) return false;
  if (**s == '"') {
    *word = ++*s;
    while (*s < end && (**s != '"' || (*s + 1 < end && (*s)[1] == '"'))) *s += **s == '"' ? 2 : 1;
    *length = (size_t)(*s - *word);
    if (*s < end) ++*s;
    return true;
  }
  *word = *s;
  while (*s < end && **s != ' ' && **s != '\t') *s += **s == '\\' && *s + 1 < end ? 2 : 1;
  *length = (size_t)(*s - *word);
  return true;
}

/* The arguments, with `between` among them; at most `most`. */
static phibal_status arguments_append(const char *s, const char *end, const char *between, int most,
                                      text_buffer *text) {
  const char *word;
  size_t length;
  phibal_status status = PHIBAL_OK;
  for (int i = 0; i < most && !status && argument_next(&s, end, &word, &length); i++) {
    if (i) status = text_buffer_string(text, between);
    if (!status) status = line_append(word, length, text);
  }
  return status;
}

static phibal_status line_end(text_buffer *text) {
  return text->count && text->bytes[text->count - 1] != '\n' ? text_buffer_string(text, "\n")
                                                             : PHIBAL_OK;
}

/* An empty line, unless there is one. */
static phibal_status paragraph(text_buffer *text) {
  phibal_status status = line_end(text);
  if (!status && text->count > 1 && text->bytes[text->count - 2] != '\n')
    status = text_buffer_string(text, "\n");
  return status;
}

/* What of a macro's line there is to keep. */
enum { DROP, WORDS, JOINED, HEADING, PARAGRAPH, TAGGED, TITLE };

static int macro_kind(const char *name, size_t n) {
  static const struct {
    const char *name;
    int kind;
  } macros[] = {
      {"TH", TITLE},     {"SH", HEADING},   {"SS", HEADING},   {"PP", PARAGRAPH}, {"P", PARAGRAPH},
      {"LP", PARAGRAPH}, {"HP", PARAGRAPH}, {"sp", PARAGRAPH}, {"TP", PARAGRAPH}, {"IP", TAGGED},
      {"B", WORDS},      {"I", WORDS},      {"SM", WORDS},     {"SB", WORDS},     {"BR", JOINED},
      {"BI", JOINED},    {"IB", JOINED},    {"IR", JOINED},    {"RB", JOINED},    {"RI", JOINED},
      {"UR", WORDS},     {"MT", WORDS},
  };
  for (size_t i = 0; i < sizeof macros / sizeof *macros; i++)
    if (strlen(macros[i].name) == n && !memcmp(macros[i].name, name, n)) return macros[i].kind;
  return DROP;
}

static phibal_status macro_append(const char *name, const char *end, text_buffer *text) {
  const char *rest = name;
  while (rest < end && *rest != ' ' && *rest != '\t') rest++;
  const int kind = macro_kind(name, (size_t)(rest - name));
  phibal_status status = PHIBAL_OK;
  if (kind == DROP) return status;
  if (kind == HEADING || kind == PARAGRAPH || kind == TAGGED) status = paragraph(text);
  if (status || kind == PARAGRAPH) return status;
  const size_t before = text->count;
  if (kind == TITLE) {
    status = arguments_append(rest, end, "(", 2, text);
    if (!status) status = text_buffer_string(text, ")");
  } else {
    status = arguments_append(rest, end, kind == JOINED ? "" : " ", kind == TAGGED ? 1 : 64, text);
  }
  return !status && text->count > before ? text_buffer_string(text, "\n") : status;
}

/* Where the parser is when lines are not text. */
typedef struct state {
  bool definition;   /* in .de or .ig, up to .. */
  bool table_layout; /* in .TS, up to the line that ends in a full stop */
} state;

static phibal_status source_line(const char *s, const char *end, state *in, text_buffer *text) {
  const size_t n = (size_t)(end - s);
  const bool request = n && (*s == '.' || *s == '\'');
  if (in->definition) {
    if (n == 2 && s[0] == '.' && s[1] == '.') in->definition = false;
    return PHIBAL_OK;
  }
  if (in->table_layout) {
    if (n && end[-1] == '.') in->table_layout = false;
    return PHIBAL_OK;
  }
  if (!request) {
    /* T{ and T} bracket a table's cell of several lines. */
    if (n >= 2 && (!memcmp(s, "T{", 2) || !memcmp(s, "T}", 2))) s += 2;
    if (s == end && n) return PHIBAL_OK;
    phibal_status status = line_append(s, (size_t)(end - s), text);
    return status ? status : text_buffer_string(text, "\n");
  }
  for (s++; s < end && (*s == ' ' || *s == '\t');) s++;
  const size_t left = (size_t)(end - s);
  if (left >= 2 && (!memcmp(s, "de", 2) || !memcmp(s, "ig", 2)) && (left == 2 || s[2] == ' '))
    in->definition = true;
  else if (left >= 2 && !memcmp(s, "TS", 2))
    in->table_layout = true;
  else
    return macro_append(s, end, text);
  return PHIBAL_OK;
}

phibal_status manual_text(const char *page, size_t n, text_buffer *text) {
  if (!n) return PHIBAL_OK; /* then page may be null */
  const char *end = page + n;
  state in = {0};
  phibal_status status = PHIBAL_OK;
  while (page < end && !status) {
    const char *newline = memchr(page, '\n', (size_t)(end - page));
    const char *line_stop = newline ? newline : end;
    status = source_line(page, line_stop, &in, text);
    page = newline ? newline + 1 : end;
  }
  return status;
}
