/* Expressions to lines. */
#include "codegen_lines.h"
#include "derivative.h"
#include <math.h>
#include <stdlib.h>

enum { PRECISION = 320, MOST_INTEGER_POWER = 64 };

code code_create(const phi_potential *phi, const phibal_enclosure *parameters) {
  return (code){phi, parameters, NULL, 0};
}

void code_clear(code *c) {
  free(c->line);
  c->line = NULL;
  c->lines = 0;
}

static phibal_status append(code *c, const expression *source, code_kind kind, const char *function,
                            int a, int b, int *number) {
  const char *name = c->phi->name ? c->phi->name : "potential";
  if (c->lines == CODE_MOST_LINES)
    return phibal_status_set(PHIBAL_ERROR_UNSUPPORTED,
                             "%s: a kernel of its price takes more than %d operations", name,
                             CODE_MOST_LINES);
  if (!(c->lines & (c->lines - 1))) {
    size_t room = c->lines ? 2 * (size_t)c->lines : 1;
    code_line *grown = realloc(c->line, room * sizeof *grown);
    if (!grown) return phibal_status_set(PHIBAL_ERROR_MEMORY, "%s: no memory for a kernel", name);
    c->line = grown;
  }
  c->line[c->lines] =
      (code_line){.kind = kind, .source = source, .function = function, .argument = {a, b}};
  *number = c->lines++;
  return PHIBAL_OK;
}

static bool find(const code *c, const expression *e, int *number) {
  for (int i = 0; i < c->lines; i++)
    if (c->line[i].source && c->line[i].kind != CODE_POWER_MINUS_ONE &&
        expression_equal(c->line[i].source, e) &&
        (e->kind != EXPRESSION_SUM || c->line[i].integer == e->index)) {
      *number = i;
      return true;
    }
  return false;
}

static bool constant(const expression *e) {
  return !derivative_coordinate(e) && !derivative_sums(e);
}

/* The value of an expression of parameters and numbers. */
static phibal_status evaluate(const code *c, const expression *e, phibal_enclosure *value) {
  phibal_status status = phi_eval(e, c->parameters, NULL, NULL, value);
  if (!status && mpfr_number_p(value->lo) && mpfr_number_p(value->hi)) return PHIBAL_OK;
  return phibal_status_set(PHIBAL_ERROR_UNSUPPORTED,
                           "%s: the constant at line %d, column %d has no finite value at these "
                           "parameters",
                           c->phi->name, e->line, e->column);
}

/* high + low nearest to the middle of x, and a bound of how far any member of x is off. */
static void split(const phibal_enclosure *x, code_line *line) {
  mpfr_t rest, other;
  mpfr_inits2(PRECISION + 1100, rest, other, (mpfr_ptr)0);
  mpfr_add(rest, x->lo, x->hi, MPFR_RNDN);
  mpfr_div_2ui(rest, rest, 1, MPFR_RNDN);
  line->high = mpfr_get_d(rest, MPFR_RNDN);
  mpfr_sub_d(rest, rest, line->high, MPFR_RNDN);
  line->low = mpfr_get_d(rest, MPFR_RNDN);
  mpfr_sub_d(rest, x->hi, line->high, MPFR_RNDA);
  mpfr_sub_d(rest, rest, line->low, MPFR_RNDA);
  mpfr_sub_d(other, x->lo, line->high, MPFR_RNDA);
  mpfr_sub_d(other, other, line->low, MPFR_RNDA);
  mpfr_abs(rest, rest, MPFR_RNDU);
  mpfr_abs(other, other, MPFR_RNDU);
  mpfr_max(rest, rest, other, MPFR_RNDU);
  line->error = mpfr_get_d(rest, MPFR_RNDU);
  mpfr_clears(rest, other, (mpfr_ptr)0);
}

static phibal_status emit_constant(code *c, const expression *e, int *number) {
  phibal_enclosure value;
  phibal_enclosure_init(&value, PRECISION);
  phibal_status status = evaluate(c, e, &value);
  if (!status) status = append(c, e, CODE_CONSTANT, NULL, -1, -1, number);
  if (!status) {
    split(&value, &c->line[*number]);
    if (!isfinite(c->line[*number].high))
      status = phibal_status_set(PHIBAL_ERROR_UNSUPPORTED,
                                 "%s: the constant at line %d, column %d is beyond binary64",
                                 c->phi->name, e->line, e->column);
  }
  phibal_enclosure_clear(&value);
  return status;
}

typedef enum exponent_kind {
  EXPONENT_ANY,
  EXPONENT_INTEGER,
  EXPONENT_HALF,
  EXPONENT_MINUS_HALF
} exponent_kind;

/* Which exponents have a shorter way than e^(v log u), and which are small: at most 1/2. */
static phibal_status exponent(const code *c, const expression *v, exponent_kind *kind, int *integer,
                              bool *small) {
  phibal_enclosure value;
  phibal_enclosure_init(&value, PRECISION);
  phibal_status status = evaluate(c, v, &value);
  *kind = EXPONENT_ANY;
  *small = false;
  if (!status) {
    *small = mpfr_cmp_d(value.lo, -0.5) >= 0 && mpfr_cmp_d(value.hi, 0.5) <= 0;
    if (phibal_enclosure_is_exact(&value)) {
      if (mpfr_integer_p(value.lo) && mpfr_cmpabs_ui(value.lo, MOST_INTEGER_POWER) <= 0) {
        *kind = EXPONENT_INTEGER;
        *integer = (int)mpfr_get_si(value.lo, MPFR_RNDN);
      } else if (mpfr_cmp_d(value.lo, 0.5) == 0) {
        *kind = EXPONENT_HALF;
      } else if (mpfr_cmp_d(value.lo, -0.5) == 0) {
        *kind = EXPONENT_MINUS_HALF;
      }
    }
  }
  phibal_enclosure_clear(&value);
  return status;
}

static phibal_status emit_power(code *c, const expression *e, int *number) {
  const expression *u = e->argument[0], *v = e->argument[1];
  int base, other = -1, integer = 0;
  exponent_kind kind = EXPONENT_ANY;
  bool small;
  phibal_status status = code_emit(c, u, &base);
  if (!status && constant(v)) status = exponent(c, v, &kind, &integer, &small);
  if (status) return status;
  switch (kind) {
  case EXPONENT_INTEGER:
    if (integer == 2) return append(c, e, CODE_CALL, "mul", base, base, number);
    status = append(c, e, CODE_POWER_INTEGER, NULL, base, -1, number);
    if (!status) c->line[*number].integer = integer;
    return status;
  case EXPONENT_HALF:
    return append(c, e, CODE_CALL, "sqrt", base, -1, number);
  case EXPONENT_MINUS_HALF: /* 1 / sqrt u */
    status = append(c, NULL, CODE_CALL, "sqrt", base, -1, &base);
    if (!status) status = append(c, e, CODE_POWER_INTEGER, NULL, base, -1, number);
    if (!status) c->line[*number].integer = -1;
    return status;
  default:
    status = code_emit(c, v, &other);
    return status ? status : append(c, e, CODE_CALL, "power", base, other, number);
  }
}

static const char *function_of(expression_kind kind) {
  switch (kind) {
  case EXPRESSION_NEGATE:
    return "neg";
  case EXPRESSION_ADD:
    return "add";
  case EXPRESSION_SUBTRACT:
    return "sub";
  case EXPRESSION_MULTIPLY:
    return "mul";
  case EXPRESSION_DIVIDE:
    return "div";
  default:
    return expression_function_name(kind);
  }
}

phibal_status code_emit(code *c, const expression *e, int *number) {
  if (find(c, e, number)) return PHIBAL_OK;
  if (constant(e)) return emit_constant(c, e, number);
  phibal_status status;
  switch (e->kind) {
  case EXPRESSION_VARIABLE:
    return append(c, e, CODE_LOAD, NULL, -1, -1, number);
  case EXPRESSION_SUM:
    status = append(c, e, CODE_SUM, NULL, -1, -1, number);
    if (!status) c->line[*number].integer = e->index;
    return status;
  case EXPRESSION_POWER:
    return emit_power(c, e, number);
  default:
    break;
  }
  int a, b = -1;
  status = code_emit(c, e->argument[0], &a);
  if (!status && e->argument[1]) status = code_emit(c, e->argument[1], &b);
  return status ? status : append(c, e, CODE_CALL, function_of(e->kind), a, b, number);
}

static phibal_status reduce(code *c, const expression *e, int *number);

/* The reduced u op v; a part that is left out is 0. */
static phibal_status reduce_sum(code *c, const expression *e, int *number) {
  int a, b;
  phibal_status status = reduce(c, e->argument[0], &a);
  if (!status) status = reduce(c, e->argument[1], &b);
  if (status) return status;
  const char *function = function_of(e->kind);
  if (b < 0) {
    *number = a;
    return PHIBAL_OK;
  }
  if (a >= 0) return append(c, NULL, CODE_CALL, function, a, b, number);
  if (e->kind == EXPRESSION_SUBTRACT) return append(c, NULL, CODE_CALL, "neg", b, -1, number);
  *number = b;
  return PHIBAL_OK;
}

/* One side does not depend on the coordinate, and multiplies or divides the reduced other. */
static phibal_status reduce_scaled(code *c, const expression *e, int *number) {
  bool left = derivative_coordinate(e->argument[0]);
  int a, b;
  phibal_status status = left ? reduce(c, e->argument[0], &a) : code_emit(c, e->argument[0], &a);
  if (!status) status = left ? code_emit(c, e->argument[1], &b) : reduce(c, e->argument[1], &b);
  return status ? status : append(c, NULL, CODE_CALL, function_of(e->kind), a, b, number);
}

static phibal_status reduce_power(code *c, const expression *e, int *number) {
  exponent_kind kind;
  int integer, base, other;
  bool small = false;
  phibal_status status = PHIBAL_OK;
  if (constant(e->argument[1])) status = exponent(c, e->argument[1], &kind, &integer, &small);
  if (status) return status;
  if (!small) return code_emit(c, e, number);
  status = code_emit(c, e->argument[0], &base);
  if (!status) status = code_emit(c, e->argument[1], &other);
  return status ? status : append(c, e, CODE_POWER_MINUS_ONE, NULL, base, other, number);
}

/* *number = -1 for what is the same for all experts. */
static phibal_status reduce(code *c, const expression *e, int *number) {
  *number = -1;
  if (!derivative_coordinate(e)) return PHIBAL_OK;
  switch (e->kind) {
  case EXPRESSION_ADD:
  case EXPRESSION_SUBTRACT:
    return reduce_sum(c, e, number);
  case EXPRESSION_NEGATE: {
    int a;
    phibal_status status = reduce(c, e->argument[0], &a);
    return status ? status : append(c, NULL, CODE_CALL, "neg", a, -1, number);
  }
  case EXPRESSION_MULTIPLY:
    if (!derivative_coordinate(e->argument[0])) return reduce_scaled(c, e, number);
    /* fall through */
  case EXPRESSION_DIVIDE:
    if (!derivative_coordinate(e->argument[1])) return reduce_scaled(c, e, number);
    return code_emit(c, e, number);
  case EXPRESSION_POWER:
    return reduce_power(c, e, number);
  default:
    return code_emit(c, e, number);
  }
}

phibal_status code_emit_reduced(code *c, const expression *e, int *number) {
  phibal_status status = reduce(c, e, number);
  if (status || *number >= 0) return status;
  return append(c, NULL, CODE_CONSTANT, NULL, -1, -1, number);
}

bool code_finite_at_zero(const code *c) {
  phibal_enclosure zero, value;
  phibal_enclosure *one = phibal_enclosure_vector(PHI_MAX_SUMS, 64);
  if (!one) return false;
  phibal_enclosure_init(&zero, 64);
  phibal_enclosure_init(&value, 64);
  for (int i = 0; i < PHI_MAX_SUMS; i++) phibal_enclosure_set_si(&one[i], 1);
  bool finite = true;
  for (int i = 0; i < c->lines && finite; i++) {
    if (!c->line[i].source) continue;
    finite = phi_eval(c->line[i].source, c->parameters, one, &zero, &value) == PHIBAL_OK &&
             mpfr_number_p(value.lo) && mpfr_number_p(value.hi);
  }
  phibal_enclosure_clear(&zero);
  phibal_enclosure_clear(&value);
  phibal_enclosure_vector_clear(one, PHI_MAX_SUMS);
  return finite;
}
