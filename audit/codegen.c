/* A potential's price as C source. */
#include "codegen.h"
#include "codegen_lines.h"
#include "derivative.h"
#include "audit/kernel/parts.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is written so far, and which parts of it have been. */
typedef struct output {
  FILE *file;
  unsigned long written; /* bit i: kernel_parts[i] */
} output;

/* C99 hexadecimal, whatever the locale's decimal point. */
static void write_double(FILE *file, double x) {
  char text[40];
  snprintf(text, sizeof text, "%a", x);
  char *comma = strchr(text, ',');
  if (comma) *comma = '.';
  fputs(text, file);
}

static void write_part(output *to, const char *name, size_t length);

/* A part with what it includes in place of its includes: each once, but for the one that has no
   guard. */
static void write_text(output *to, const char *text) {
  static const char include[] = "#include \"";
  while (*text) {
    size_t line = strcspn(text, "\n");
    if (strncmp(text, include, sizeof include - 1) == 0) {
      const char *name = text + sizeof include - 1;
      write_part(to, name, strcspn(name, "."));
    } else {
      fprintf(to->file, "%.*s\n", (int)line, text);
    }
    text += line + (text[line] == '\n');
  }
}

static void write_part(output *to, const char *name, size_t length) {
  for (size_t i = 0; i < kernel_parts_count; i++) {
    const char *part = kernel_parts[i].name;
    if (strlen(part) != length || strncmp(part, name, length)) continue;
    bool again = strcmp(part, "ball_functions") == 0;
    if (to->written >> i & 1 && !again) return;
    to->written |= 1ul << i;
    write_text(to, kernel_parts[i].text);
    return;
  }
}

static void write_constant(FILE *file, const char *stem, const code_line *line) {
  if (strcmp(stem, "ball64")) {
    fputs("make(core_dd_make(", file);
    write_double(file, line->high);
    fputs(", ", file);
    write_double(file, line->low);
    fputs("), ", file);
    write_double(file, line->error);
  } else {
    fputs("make(", file);
    write_double(file, line->high);
    fputs(", core_ball_up(", file);
    write_double(file, line->low < 0 ? -line->low : line->low);
    fputs(" + ", file);
    write_double(file, line->error);
    fputs(")", file);
  }
  fputs(")", file);
}

static void write_line(FILE *file, const char *stem, const code *c, int number) {
  const code_line *line = &c->line[number];
  const int *a = line->argument;
  fprintf(file, "  core_%s t%d = ", stem, number);
  if (line->kind != CODE_LOAD && line->kind != CODE_SUM) fprintf(file, "core_%s_", stem);
  switch (line->kind) {
  case CODE_CONSTANT:
    write_constant(file, stem, line);
    break;
  case CODE_LOAD:
    fputs("x", file);
    break;
  case CODE_SUM:
    fprintf(file, "s[%d]", line->integer);
    break;
  case CODE_POWER_INTEGER:
    fprintf(file, "power_integer(t%d, %d)", a[0], line->integer);
    break;
  case CODE_POWER_MINUS_ONE:
    fprintf(file, "power_minus_one(t%d, t%d)", a[0], a[1]);
    break;
  case CODE_CALL:
    fprintf(file, a[1] < 0 ? "%s(t%d)" : "%s(t%d, t%d)", line->function, a[0], a[1]);
    break;
  }
  fputs(";\n", file);
}

/* CORE_FUNCTION core_<stem> phi_<name>_<stem>(core_<stem> x, const core_<stem> *s) */
static void write_function(FILE *file, const char *stem, const char *name, const code *c,
                           int result) {
  fprintf(file,
          "\nCORE_FUNCTION core_%s phi_%s_%s(core_%s x, const core_%s *s) {\n"
          "  (void)x;\n  (void)s;\n",
          stem, name, stem, stem, stem);
  for (int i = 0; i < c->lines; i++) write_line(file, stem, c, i);
  fprintf(file, "  return t%d;\n}\n", result);
}

typedef struct request {
  const phi_potential *phi;
  const expression *price;
  const expression *const *sum;
  int sums;
  const phibal_enclosure *parameters;
} request;

static const char *const *parameter_names(const phi_potential *phi, const char **names) {
  for (int i = 0; i < phi->parameters; i++) names[i] = phi->parameter[i].name;
  return names;
}

static phibal_status write_heading(FILE *file, const request *r) {
  const char *names[PHI_MAX_PARAMETERS];
  char *price = expression_text(r->price, parameter_names(r->phi, names), "x");
  if (!price) return phibal_status_set(PHIBAL_ERROR_MEMORY, "no memory for a kernel's text");
  fprintf(file, "/* The price of %s", r->phi->name);
  for (int i = 0; i < r->phi->parameters; i++) {
    char value[PHIBAL_DECIMAL_SIZE(17)];
    phibal_status status =
        phibal_enclosure_get_decimal(&r->parameters[i], 17, value, NULL, sizeof value);
    fprintf(file, "%s %s = %s", i ? "," : " with", r->phi->parameter[i].name, status ? "?" : value);
  }
  fprintf(
      file,
      ",\n     %s\n   of an expert with load x. Made by phibal from its text; C, and CUDA C.\n"
      "   Compile with -ffp-contract=off, or nvcc -fmad=false, and no fast-math. Apache-2.0. */\n",
      price);
  free(price);
  return PHIBAL_OK;
}

/* phi_term_<stem>, which chooses among phi_term<i>_<stem>. */
static void write_choice(FILE *file, const char *stem, int sums) {
  fprintf(file, "\nCORE_FUNCTION core_%s phi_term_%s(int i, core_%s x) {\n  switch (i) {\n", stem,
          stem, stem);
  for (int i = 0; i < sums; i++)
    fprintf(file, "  case %d:\n    return phi_term%d_%s(x, (const core_%s *)0);\n", i, i, stem,
            stem);
  fputs("  default:\n    return x;\n  }\n}\n", file);
}

static phibal_status write_terms(FILE *file, const request *r) {
  for (int i = 0; i < r->sums; i++) {
    code c = code_create(r->phi, r->parameters);
    int result;
    phibal_status status = code_emit(&c, r->sum[i], &result);
    char name[24];
    snprintf(name, sizeof name, "term%d", i);
    if (!status) write_function(file, "ball64", name, &c, result);
    if (!status) write_function(file, "ball_dd", name, &c, result);
    code_clear(&c);
    if (status) return status;
  }
  write_choice(file, "ball64", r->sums);
  write_choice(file, "ball_dd", r->sums);
  return PHIBAL_OK;
}

static phibal_status write_prices(FILE *file, const request *r) {
  code c = code_create(r->phi, r->parameters);
  int result;
  phibal_status status = code_emit(&c, r->price, &result);
  if (!status) {
    write_function(file, "ball64", "price", &c, result);
    write_function(file, "ball_dd", "price", &c, result);
  }
  code_clear(&c);
  if (!status) status = code_emit_reduced(&c, r->price, &result);
  if (!status) write_function(file, "ball_dd", "reduced", &c, result);
  code_clear(&c);
  return status;
}

static phibal_status write_source(output *to, const request *r, bool floored) {
  phibal_status status = write_heading(to->file, r);
  if (status) return status;
  write_part(to, "ball_dd", strlen("ball_dd"));
  fprintf(to->file, "\n#define PHI_SUMS %d\n#define PHI_FLOORED %d\n", r->sums, floored);
  status = write_terms(to->file, r);
  if (!status) status = write_prices(to->file, r);
  fputc('\n', to->file);
  if (!status) write_part(to, "entry", strlen("entry"));
  return status;
}

phibal_status codegen_source_of(const phi_potential *phi, const expression *price,
                                const expression *const *sum, int sums, bool floored,
                                const phibal_enclosure *parameters, char **text) {
  const request r = {phi, price, sum, sums, parameters};
  size_t length;
  *text = NULL;
  output to = {open_memstream(text, &length), 0};
  if (!to.file) return phibal_status_set(PHIBAL_ERROR_MEMORY, "no memory for a kernel's text");
  phibal_status status = write_source(&to, &r, floored);
  if (fclose(to.file) && !status)
    status = phibal_status_set(PHIBAL_ERROR_MEMORY, "no memory for a kernel's text");
  if (!status) return PHIBAL_OK;
  free(*text);
  *text = NULL;
  return status;
}

/* Whether the price, or a sum's term, is without a finite value at load 0. */
static phibal_status unbounded_at_zero(const request *r, bool *unbounded) {
  code c = code_create(r->phi, r->parameters);
  int result;
  phibal_status status = code_emit(&c, r->price, &result);
  *unbounded = !status && !code_finite_at_zero(&c);
  code_clear(&c);
  for (int i = 0; i < r->sums && !status && !*unbounded; i++) {
    status = code_emit(&c, r->sum[i], &result);
    *unbounded = !status && !code_finite_at_zero(&c);
    code_clear(&c);
  }
  return status;
}

phibal_status codegen_source(phi_potential *phi, const phibal_enclosure *parameters, char **text) {
  *text = NULL;
  const phi_section *from = phi->gradient.expression ? &phi->gradient : &phi->value;
  const expression *price = phi->gradient.expression;
  if (!price) price = derivative_gradient(phi->pool, &phi->value);
  if (!price) return phibal_status_set(PHIBAL_ERROR_MEMORY, "no memory for a kernel's text");
  const request r = {phi, price, from->sum, derivative_sums(price) ? from->sums : 0, parameters};
  bool floored;
  phibal_status status = unbounded_at_zero(&r, &floored);
  if (status) return status;
  return codegen_source_of(phi, price, r.sum, r.sums, floored, parameters, text);
}
