/* Enclosures in five digits, ranges, sections, dates and options as texts. */
#include "audit_words.h"
#include "page.h"
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { WIDTH = 92, SHORT_DIGITS = 5 };

/* ---- numbers and ranges ---- */

/* The numbers that end in the same digits are shown once. */
static void print_narrow(const phibal_enclosure *x, char *text, size_t size) {
  mpfr_t middle;
  mpfr_init2(middle, AUDIT_PRECISION);
  mpfr_add(middle, x->lo, x->hi, MPFR_RNDN);
  mpfr_div_2ui(middle, middle, 1, MPFR_RNDN);
  mpfr_snprintf(text, size, "%.*Rg", SHORT_DIGITS, middle);
  mpfr_clear(middle);
}

static bool is_narrow(const phibal_enclosure *x) {
  if (phibal_enclosure_is_exact(x)) return true;
  mpfr_t width, size;
  mpfr_init2(width, 64);
  mpfr_init2(size, 64);
  phibal_enclosure_width(width, x);
  mpfr_abs(size, mpfr_cmpabs(x->lo, x->hi) < 0 ? x->lo : x->hi, MPFR_RNDD);
  mpfr_mul_d(size, size, 1e-8, MPFR_RNDD);
  bool narrow = mpfr_less_p(width, size) != 0;
  mpfr_clear(width);
  mpfr_clear(size);
  return narrow;
}

void audit_short(const phibal_enclosure *x, char *text, size_t size) {
  char lo[PHIBAL_DECIMAL_SIZE(SHORT_DIGITS)], hi[PHIBAL_DECIMAL_SIZE(SHORT_DIGITS)];
  if (phibal_enclosure_contains_zero(x) && mpfr_cmp_d(x->hi, 1e-25) < 0 &&
      mpfr_cmp_d(x->lo, -1e-25) > 0 && !phibal_enclosure_is_exact(x)) {
    mpfr_srcptr far = mpfr_cmpabs(x->lo, x->hi) > 0 ? x->lo : x->hi;
    mpfr_snprintf(text, size, "0+-%.0RUe", far);
    if (mpfr_sgn(far) < 0) memmove(text + 3, text + 4, strlen(text) - 3);
    return;
  }
  if (is_narrow(x)) {
    print_narrow(x, text, size);
    return;
  }
  phibal_enclosure_get_decimal(x, SHORT_DIGITS - 2, lo, hi, sizeof lo);
  snprintf(text, size, "%s..%s", lo, hi);
}

void audit_append(char **text, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  char *more = audit_format(format, arguments), *grown = NULL;
  va_end(arguments);
  if (more && asprintf(&grown, "%s%s", *text ? *text : "", more) >= 0) {
    free(*text);
    *text = grown;
  }
  free(more);
}

static void append_end(char **text, const phi_end *end) {
  if (end->infinite) {
    audit_append(text, end->infinite < 0 ? "-inf" : "inf");
    return;
  }
  char *number = mpq_get_str(NULL, 10, end->value);
  audit_append(text, "%s", number);
  void (*release)(void *, size_t);
  mp_get_memory_functions(NULL, NULL, &release);
  release(number, strlen(number) + 1);
}

char *audit_range_text(const phi_parameter *p) {
  char *text = NULL;
  for (int i = 0; i < p->ranges; i++) {
    audit_append(&text, "%s%c", i ? " or " : "", p->range[i].lo.closed ? '[' : '(');
    append_end(&text, &p->range[i].lo);
    audit_append(&text, ", ");
    append_end(&text, &p->range[i].hi);
    audit_append(&text, "%c", p->range[i].hi.closed ? ']' : ')');
  }
  return text;
}

/* ---- prose ---- */

static size_t shown_length(const char *text, size_t bytes) {
  size_t n = 0;
  for (size_t i = 0; i < bytes; i++) n += ((unsigned char)text[i] & 0xc0) != 0x80;
  return n;
}

void audit_print_wrapped(FILE *to, const char *text, size_t indent) {
  size_t column = indent;
  while (*text) {
    size_t bytes = strcspn(text, " \n"), length = shown_length(text, bytes);
    if (column > indent && column + 1 + length > WIDTH) {
      fprintf(to, "\n%*s", (int)indent, "");
      column = indent;
    }
    if (column > indent) {
      putc(' ', to);
      column++;
    }
    fwrite(text, 1, bytes, to);
    column += length;
    text += bytes;
    if (*text == '\n') {
      fprintf(to, "\n%*s", (int)indent, "");
      column = indent;
    }
    text += *text != 0;
  }
  putc('\n', to);
}

char *audit_section_text(const phi_potential *phi, const phi_section *section,
                         const char *variable) {
  static const char *const relations[] = {"<", "<=", ">", ">=", "="};
  const char *names[PHI_MAX_PARAMETERS];
  if (!section->expression) return NULL;
  for (int i = 0; i < phi->parameters; i++) names[i] = phi->parameter[i].name;
  char *text = expression_text(section->expression, names, variable);
  for (int i = 0; text && i < section->conditions; i++) {
    const phi_condition *c = &section->condition[i];
    char *left = expression_text(c->left, names, variable);
    char *right = expression_text(c->right, names, variable);
    if (left && right)
      audit_append(&text, " %s %s %s %s", i ? "and" : "where", left, relations[c->relation], right);
    free(left);
    free(right);
  }
  return text;
}

/* ---- when, and with which options ---- */

char *audit_date_text(void) {
  const time_t when = page_time();
  struct tm utc;
  char date[32] = "", *text = NULL;
  if (gmtime_r(&when, &utc)) strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", &utc);
  audit_append(&text, "%s", date);
  return text;
}

char *audit_options_text(const audit_options *o) {
  char *text = NULL;
  for (int i = 0; i < o->parameters; i++) audit_append(&text, "--param %s ", o->parameter[i]);
  if (o->ranges) audit_append(&text, "--ranges ");
  audit_append(&text, "--experts %d", (int)o->least_experts);
  if (o->most_experts > o->least_experts) audit_append(&text, "..%d", (int)o->most_experts);
  if (o->quick) audit_append(&text, " --quick");
  bool skipped = false;
  for (int i = 0; i < AUDIT_PART_COUNT; i++)
    if (o->skip[i]) {
      audit_append(&text, "%s%s", skipped ? "," : " --skip ", audit_part_names[i]);
      skipped = true;
    }
  audit_append(&text, " --seconds %g --seed %llu", o->seconds, (unsigned long long)o->seed);
  if (!o->skip[AUDIT_PART_DYNAMICS])
    audit_append(&text, " --eta %g --alpha %g --lr %g", o->eta, o->alpha, o->lr);
  return text;
}
