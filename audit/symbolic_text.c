/* Quotients as text. */
#include "symbolic_internal.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *atom_text(symbolic *s, int v) {
  const symbolic_atom *a = &s->atom[v];
  char *text = NULL, *inner = a->argument ? symbolic_text(s, a->argument) : NULL;
  int n = -1;
  if (a->argument && !inner) return NULL;
  switch (a->kind) {
  case ATOM_VARIABLE:
    n = asprintf(&text, "x");
    break;
  case ATOM_PARAMETER:
    n = asprintf(&text, "%s", s->domain.name[a->index]);
    break;
  case ATOM_SUM:
    n = asprintf(&text, "S%d", a->index + 1);
    break;
  case ATOM_EXPERTS:
    n = asprintf(&text, "E");
    break;
  case ATOM_EXP:
    n = asprintf(&text, "exp(%s)", inner);
    break;
  case ATOM_LOG:
    n = asprintf(&text, "log(%s)", inner);
    break;
  case ATOM_SIN:
    n = asprintf(&text, "sin(%s)", inner);
    break;
  case ATOM_COS:
    n = asprintf(&text, "cos(%s)", inner);
    break;
  case ATOM_ROOT:
    n = a->index == 2 ? asprintf(&text, "sqrt(%s)", inner)
                      : asprintf(&text, "(%s)^(1/%d)", inner, a->index);
    break;
  }
  free(inner);
  return n < 0 ? NULL : text;
}

/* exp(c log w) as w^(c) */
static char *power_text(symbolic *s, int v) {
  const quotient *k = s->atom[v].argument;
  if (fmpz_mpoly_length(k->numerator, s->ring) != 1) return NULL;
  for (int i = 0; i < s->atoms; i++) {
    if (s->atom[i].kind != ATOM_LOG || fmpz_mpoly_degree_si(k->numerator, i, s->ring) != 1)
      continue;
    const quotient *c = symbolic_divide(s, k, symbolic_atom_quotient(s, i));
    char *base = symbolic_text(s, s->atom[i].argument), *power = c ? symbolic_text(s, c) : NULL,
         *text = NULL;
    bool name = base && strspn(base, "abcdefghijklmnopqrstuvwxyz_") == strlen(base);
    bool bare = power && strspn(power, "abcdefghijklmnopqrstuvwxyz_") == strlen(power);
    if (base && power &&
        asprintf(&text, "%s%s%s^%s%s%s", name ? "" : "(", base, name ? "" : ")", bare ? "" : "(",
                 power, bare ? "" : ")") < 0)
      text = NULL;
    free(base);
    free(power);
    return text;
  }
  return NULL;
}

char *symbolic_polynomial_text(symbolic *s, const fmpz_mpoly_t p) {
  char *names[SYMBOLIC_ATOMS], *text = NULL;
  const char *shown[SYMBOLIC_ATOMS];
  uint32_t used = symbolic_used(s, p);
  for (int v = 0; v < SYMBOLIC_ATOMS; v++) {
    names[v] = NULL;
    if (used >> v & 1) {
      if (s->atom[v].kind == ATOM_EXP) names[v] = power_text(s, v);
      if (names[v] && fmpz_mpoly_degree_si(p, v, s->ring) > 1) { /* (x^a)^2 */
        char *wrapped = NULL;
        if (asprintf(&wrapped, "(%s)", names[v]) < 0) wrapped = NULL;
        free(names[v]);
        names[v] = wrapped;
      }
      if (!names[v]) names[v] = atom_text(s, v);
    }
    shown[v] = names[v] ? names[v] : "?";
  }
  char *made = fmpz_mpoly_get_str_pretty(p, shown, s->ring);
  if (made) text = strdup(made);
  flint_free(made);
  for (int v = 0; v < SYMBOLIC_ATOMS; v++) free(names[v]);
  return text;
}

/* The factors with a product sign; in brackets if `whole` and there are several. */
static void print_product(symbolic *s, FILE *out, const fmpz_mpoly_t p, bool under) {
  fmpz_mpoly_factor_t f;
  fmpz_mpoly_t c;
  fmpz_mpoly_factor_init(f, s->ring);
  fmpz_mpoly_init(c, s->ring);
  if (fmpz_mpoly_is_fmpz(p, s->ring) || !symbolic_factor(s, f, p) ||
      !fmpz_is_one(f->constant_den)) {
    char *text = symbolic_polynomial_text(s, p);
    bool plain = fmpz_mpoly_length(p, s->ring) <= 1 && !under;
    fprintf(out, plain ? "%s" : "(%s)", text ? text : "?");
    free(text);
  } else {
    bool minus = fmpz_equal_si(f->constant, -1), one = fmpz_is_one(f->constant);
    bool several = f->num + !(minus || one) > 1 || minus;
    if (under && several) fputc('(', out);
    if (minus) fputc('-', out);
    if (!minus && !one) {
      char *constant = fmpz_get_str(NULL, 10, f->constant);
      fprintf(out, "%s%s", constant, f->num ? "*" : "");
      flint_free(constant);
    }
    for (slong i = 0; i < f->num; i++) {
      char *text = symbolic_polynomial_text(s, f->poly + i);
      bool plain = fmpz_mpoly_length(f->poly + i, s->ring) == 1 &&
                   (fmpz_is_one(f->exp + i) || !text || !strchr(text, '^'));
      fprintf(out, plain ? "%s%s" : "%s(%s)", i ? "*" : "", text ? text : "?");
      if (!fmpz_is_one(f->exp + i)) fprintf(out, "^%ld", (long)fmpz_get_si(f->exp + i));
      free(text);
    }
    if (under && several) fputc(')', out);
  }
  fmpz_mpoly_factor_clear(f, s->ring);
  fmpz_mpoly_clear(c, s->ring);
}

char *symbolic_text(symbolic *s, const quotient *a) {
  char *text = NULL;
  size_t size;
  if (!a) return NULL;
  if (symbolic_is_zero(s, a)) return strdup("0");
  FILE *out = open_memstream(&text, &size);
  if (!out) return NULL;
  bool one = fmpz_mpoly_is_one(a->denominator, s->ring);
  if (one && fmpz_mpoly_length(a->numerator, s->ring) < 6) {
    char *plain = symbolic_polynomial_text(s, a->numerator);
    fputs(plain ? plain : "?", out);
    free(plain);
  } else {
    print_product(s, out, a->numerator, false);
    if (!one) {
      fputc('/', out);
      print_product(s, out, a->denominator, !fmpz_mpoly_is_fmpz(a->denominator, s->ring));
    }
  }
  fclose(out);
  return text;
}
