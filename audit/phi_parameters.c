/* Parameters: their defaults, and whether given ones are in range. */
#include "phi.h"
#include <stdio.h>

void phi_fallbacks(const phi_potential *phi, phibal_enclosure *parameters) {
  for (int i = 0; i < phi->parameters; i++)
    phibal_enclosure_set_q(&parameters[i], phi->parameter[i].fallback);
}

/* Is every member behind, or at, the low end? */
static bool is_above(const phibal_enclosure *x, const phi_end *end) {
  if (end->infinite) return !mpfr_inf_p(x->lo);
  const int order = mpfr_cmp_q(x->lo, end->value);
  return order > 0 || (order == 0 && end->closed);
}

static bool is_below(const phibal_enclosure *x, const phi_end *end) {
  if (end->infinite) return !mpfr_inf_p(x->hi);
  const int order = mpfr_cmp_q(x->hi, end->value);
  return order < 0 || (order == 0 && end->closed);
}

static bool is_in_range(const phi_parameter *parameter, const phibal_enclosure *x) {
  for (int i = 0; i < parameter->ranges; i++)
    if (is_above(x, &parameter->range[i].lo) && is_below(x, &parameter->range[i].hi)) return true;
  return false;
}

static void put_end(FILE *out, const phi_end *end) {
  if (end->infinite)
    fputs(end->infinite < 0 ? "-inf" : "inf", out);
  else
    gmp_fprintf(out, "%Qd", end->value);
}

static void put_ranges(FILE *out, const phi_parameter *parameter) {
  for (int i = 0; i < parameter->ranges; i++) {
    const phi_range *r = &parameter->range[i];
    fputs(i ? " or " : "", out);
    putc(r->lo.closed ? '[' : '(', out);
    put_end(out, &r->lo);
    fputs(", ", out);
    put_end(out, &r->hi);
    putc(r->hi.closed ? ']' : ')', out);
  }
}

void phi_ranges_text(const phi_parameter *parameter, char *text, size_t size) {
  *text = 0;
  FILE *out = fmemopen(text, size, "w");
  if (!out) return;
  put_ranges(out, parameter);
  fclose(out);
  text[size - 1] = 0;
}

static phibal_status refuse(const phi_potential *phi, const phi_parameter *parameter,
                            const phibal_enclosure *x) {
  char lo[PHIBAL_DECIMAL_SIZE(6)], hi[PHIBAL_DECIMAL_SIZE(6)], ranges[128];
  phibal_enclosure_get_decimal(x, 6, lo, hi, sizeof lo);
  phi_ranges_text(parameter, ranges, sizeof ranges);
  const bool exact = phibal_enclosure_is_exact(x);
  return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: %s is %s%s%s%s%s; it must be in %s",
                           phi->name, parameter->name, exact ? "" : "[", lo, exact ? "" : ", ",
                           exact ? "" : hi, exact ? "" : "]", ranges);
}

phibal_status phi_check_parameters(const phi_potential *phi, const phibal_enclosure *parameters) {
  for (int i = 0; i < phi->parameters; i++)
    if (!is_in_range(&phi->parameter[i], &parameters[i]))
      return refuse(phi, &phi->parameter[i], &parameters[i]);
  return PHIBAL_OK;
}
