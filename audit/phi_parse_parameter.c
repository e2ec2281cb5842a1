/* parameter NAME in RANGE { or RANGE } = DEFAULT */
#include "phi_internal.h"
#include <stdlib.h>
#include <string.h>

/* [+ | -] number */
static bool parse_signed(phi_parser *p, mpq_t value) {
  const bool minus = phi_accept(p, "-");
  if (!minus) phi_accept(p, "+");
  if (p->token.kind != PHI_TOKEN_NUMBER)
    return phi_fail(p, &p->token, "a number such as 0.1 or 1/3");
  p->status = phi_token_value(&p->lexer, &p->token, value);
  if (p->status != PHIBAL_OK) return false;
  if (minus) mpq_neg(value, value);
  phi_advance(p);
  return true;
}

/* signed [ / signed ] */
static bool parse_constant(phi_parser *p, mpq_t value) {
  if (!parse_signed(p, value)) return false;
  if (!phi_accept(p, "/")) return true;
  const phi_token at = p->token;
  mpq_t divisor;
  mpq_init(divisor);
  bool good = parse_signed(p, divisor);
  if (good && mpq_sgn(divisor) == 0) good = phi_fail(p, &at, "a divisor other than zero");
  if (good) mpq_div(value, value, divisor);
  mpq_clear(divisor);
  return good;
}

/* A constant, or inf with a sign. */
static bool parse_end_value(phi_parser *p, phi_end *end) {
  const phi_lexer lexer = p->lexer;
  const phi_token token = p->token;
  const bool minus = phi_accept(p, "-");
  if (!minus) phi_accept(p, "+");
  if (phi_accept(p, "inf")) {
    end->infinite = minus ? -1 : 1;
    return true;
  }
  p->lexer = lexer;
  p->token = token;
  return parse_constant(p, end->value);
}

/* ( or [ on the left, ) or ] on the right */
static bool parse_bracket(phi_parser *p, const char *open, const char *closed, phi_end *end) {
  const phi_token at = p->token;
  end->closed = phi_token_is(&at, closed);
  if (!end->closed && !phi_token_is(&at, open))
    return phi_fail(p, &at, "'%s' or '%s'", open, closed);
  phi_advance(p);
  return true;
}

/* -1, 0 or 1 as the end a is below, at or above b. */
static int compare_ends(const phi_end *a, const phi_end *b) {
  if (a->infinite || b->infinite) return (a->infinite > b->infinite) - (a->infinite < b->infinite);
  const int order = mpq_cmp(a->value, b->value);
  return (order > 0) - (order < 0);
}

static bool is_empty(const phi_range *r) {
  const int order = compare_ends(&r->lo, &r->hi);
  return order > 0 || (order == 0 && !(r->lo.closed && r->hi.closed));
}

static bool parse_range(phi_parser *p, phi_range *r) {
  const phi_token at = p->token;
  if (!parse_bracket(p, "(", "[", &r->lo) || !parse_end_value(p, &r->lo) || !phi_expect(p, ",") ||
      !parse_end_value(p, &r->hi))
    return false;
  const phi_token close = p->token;
  if (!parse_bracket(p, ")", "]", &r->hi)) return false;
  if (r->lo.infinite && r->lo.closed) return phi_fail(p, &at, "'(': infinity is in no range");
  if (r->hi.infinite && r->hi.closed) return phi_fail(p, &close, "')': infinity is in no range");
  if (is_empty(r)) return phi_fail(p, &at, "a range that is not empty");
  return true;
}

/* Does b begin behind the end of a? */
static bool is_behind(const phi_range *b, const phi_range *a) {
  const int order = compare_ends(&a->hi, &b->lo);
  return order < 0 || (order == 0 && !(a->hi.closed && b->lo.closed));
}

static bool add_range(phi_parser *p, phi_parameter *parameter) {
  const phi_token at = p->token;
  if (parameter->ranges == PHI_MAX_RANGES)
    return phi_fail(p, &at, "at most %d ranges", PHI_MAX_RANGES);
  phi_range *r = &parameter->range[parameter->ranges++];
  mpq_inits(r->lo.value, r->hi.value, NULL);
  if (!parse_range(p, r)) return false;
  if (parameter->ranges > 1 && !is_behind(r, r - 1))
    return phi_fail(p, &at, "a range above the one before it, and apart from it");
  return true;
}

static bool parse_ranges(phi_parser *p, phi_parameter *parameter) {
  parameter->range = calloc(PHI_MAX_RANGES, sizeof *parameter->range);
  if (!parameter->range) return phi_out_of_memory(p);
  do
    if (!add_range(p, parameter)) return false;
  while (phi_accept(p, "or"));
  return true;
}

static bool holds(const phi_range *r, mpq_srcptr value) {
  const int low = r->lo.infinite ? 1 : mpq_cmp(value, r->lo.value);
  const int high = r->hi.infinite ? -1 : mpq_cmp(value, r->hi.value);
  return (low > 0 || (low == 0 && r->lo.closed)) && (high < 0 || (high == 0 && r->hi.closed));
}

static bool parse_fallback(phi_parser *p, phi_parameter *parameter) {
  if (!phi_expect(p, "=")) return false;
  const phi_token at = p->token;
  if (!parse_constant(p, parameter->fallback)) return false;
  for (int i = 0; i < parameter->ranges; i++)
    if (holds(&parameter->range[i], parameter->fallback)) return true;
  char ranges[128];
  phi_ranges_text(parameter, ranges, sizeof ranges);
  return phi_fail(p, &at, "a default in %s", ranges);
}

bool phi_parse_parameter(phi_parser *p) {
  phi_token name;
  if (p->phi->parameters == PHI_MAX_PARAMETERS)
    return phi_fail(p, &p->token, "at most %d parameters", PHI_MAX_PARAMETERS);
  if (!phi_new_name(p, &name)) return false;
  phi_parameter *parameter = &p->phi->parameter[p->phi->parameters++];
  mpq_init(parameter->fallback);
  parameter->name = strndup(name.text, name.length);
  if (!parameter->name) return phi_out_of_memory(p);
  return phi_expect(p, "in") && parse_ranges(p, parameter) && parse_fallback(p, parameter);
}
