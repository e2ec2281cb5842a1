/* Expressions: the grammar's sum, product, factor, power and atom, one function each, and which
   names may stand where. */
#include "phi_internal.h"

/* What was read: `literal` where it is a number and was not in parentheses, so that 1/3 and -2 are
   numbers too. */
typedef struct operand {
  const expression *e;
  bool literal;
} operand;

static const operand failed;

/* Bits of the numerator and of the denominator of a fraction of two numbers. */
enum { MOST_BITS = 1 << 17 };

static operand parse_sum(phi_parser *p);

/* Every node that is made comes by here: null stays null, and failure is noted. */
static const expression *checked(phi_parser *p, const phi_token *at, const expression *e) {
  if (!e) {
    if (p->status == PHIBAL_OK) phi_out_of_memory(p);
    return NULL;
  }
  if (!e->line) expression_set_place(p->phi->pool, e, at->line, at->column);
  if (e->depth > PHI_MAX_DEPTH)
    phi_fail(p, at, "fewer than %d operations that depend on each other", PHI_MAX_DEPTH);
  else if (e->size > PHI_MAX_NODES)
    phi_fail(p, at, "fewer than %d names, numbers and operations, those of 'let' counted anew",
             PHI_MAX_NODES);
  else
    return e;
  return NULL;
}

static operand made(phi_parser *p, const phi_token *at, expression_kind kind, const expression *a,
                    const expression *b) {
  return (operand){.e = checked(p, at, expression_make(p->phi->pool, kind, a, b))};
}

static bool enter(phi_parser *p) {
  if (++p->nesting <= PHI_MAX_DEPTH) return true;
  return phi_fail(p, &p->token, "parentheses, signs and powers at most %d deep", PHI_MAX_DEPTH);
}

static operand parse_number(phi_parser *p) {
  const phi_token at = p->token;
  operand result = failed;
  mpq_t value;
  mpq_init(value);
  p->status = phi_token_value(&p->lexer, &at, value);
  if (p->status == PHIBAL_OK) {
    phi_advance(p);
    result.e = checked(p, &at, expression_number(p->phi->pool, value));
    result.literal = true;
  }
  mpq_clear(value);
  return result;
}

/* May the coordinate called `name` stand here? */
static bool coordinate_fits(phi_parser *p, const phi_token *at, bool is_y) {
  if (is_y && (p->place == PHI_IN_VALUE || p->place == PHI_IN_GRADIENT))
    return phi_fail(p, at, "x: y is the variable of the conjugate");
  if (!is_y && p->place == PHI_IN_CONJUGATE)
    return phi_fail(p, at, "y: the conjugate is a function of y");
  if (p->place == PHI_IN_LET && (is_y ? p->uses.x : p->uses.y))
    return phi_fail(p, at, "either x or y in one 'let', not both");
  return true;
}

static bool needs_sum(const phi_parser *p) {
  return (p->place == PHI_IN_VALUE || p->place == PHI_IN_CONJUGATE) && !p->in_sum &&
         !p->in_condition;
}

static operand parse_coordinate(phi_parser *p) {
  const phi_token at = p->token;
  const bool is_y = phi_token_is(&at, "y");
  if (!coordinate_fits(p, &at, is_y)) return failed;
  if (needs_sum(p)) {
    phi_fail(p, &at, "it inside sum(...): outside, an expert would have to be named");
    return failed;
  }
  phi_advance(p);
  if (is_y)
    p->uses.y = true;
  else
    p->uses.x = true;
  if (!p->in_sum) p->uses.coordinate = true;
  return (operand){.e = checked(p, &at, expression_variable(p->phi->pool))};
}

/* Where phi or its gradient is defined is asked of every load by itself. */
static bool refuses_sums(const phi_parser *p) {
  return p->in_condition && p->place != PHI_IN_CONJUGATE;
}

static operand parse_call_of_sum(phi_parser *p) {
  const phi_token at = p->token;
  if (p->in_sum || refuses_sums(p)) {
    phi_fail(p, &at,
             p->in_sum ? "no sum inside a sum"
                       : "no sum in a condition of this section, which is for one expert");
    return failed;
  }
  phi_advance(p);
  if (!phi_expect(p, "(")) return failed;
  p->in_sum = true;
  p->uses.sum = true;
  const operand term = parse_sum(p);
  p->in_sum = false;
  if (!term.e || !phi_expect(p, ")")) return failed;
  return (operand){.e = checked(p, &at, expression_sum(p->phi->pool, 0, term.e))};
}

/* name(argument) or name(argument, argument) */
static operand parse_call(phi_parser *p, expression_kind kind) {
  const phi_token at = p->token;
  const int arguments = expression_arguments(kind);
  const char *name = expression_function_name(kind);
  const expression *argument[2] = {NULL, NULL};
  phi_advance(p);
  if (!phi_accept(p, "(")) {
    phi_fail(p, &p->token, "'(' and the argument of %s", name);
    return failed;
  }
  for (int i = 0; i < arguments; i++) {
    if (i > 0 && !phi_accept(p, ",")) {
      phi_fail(p, &p->token, "',' and argument %d of %s, which takes %d", i + 1, name, arguments);
      return failed;
    }
    argument[i] = parse_sum(p).e;
    if (!argument[i]) return failed;
  }
  if (!phi_accept(p, ")")) {
    phi_fail(p, &p->token, "an operator or ')': %s takes %d argument%s", name, arguments,
             arguments == 1 ? "" : "s");
    return failed;
  }
  return made(p, &at, kind, argument[0], argument[1]);
}

/* May the expression that a `let` names stand here? */
static bool let_fits(phi_parser *p, const phi_token *at, const phi_let *let) {
  const phi_uses *uses = &let->uses;
  if ((uses->x && !coordinate_fits(p, at, false)) || (uses->y && !coordinate_fits(p, at, true)))
    return false;
  if (uses->coordinate && needs_sum(p))
    return phi_fail(p, at, "it inside sum(...), as it holds the coordinate");
  if (uses->sum && (p->in_sum || refuses_sums(p)))
    return phi_fail(p, at, "no sum here, and it holds one");
  return true;
}

static operand parse_let_use(phi_parser *p, const phi_let *let) {
  const phi_token at = p->token;
  if (!let_fits(p, &at, let)) return failed;
  phi_advance(p);
  p->uses.x |= let->uses.x;
  p->uses.y |= let->uses.y;
  p->uses.sum |= let->uses.sum;
  p->uses.coordinate |= let->uses.coordinate && !p->in_sum;
  return (operand){.e = let->value};
}

static operand parse_unknown(phi_parser *p) {
  char buffer[64];
  const char *here = phi_foreign_name(&p->token);
  const char *near = here ? NULL : phi_near_name(p, &p->token, buffer, sizeof buffer);
  if (here)
    phi_fail(p, &p->token, "what this language has: %s", here);
  else if (near)
    phi_fail(p, &p->token, "a known name, perhaps '%s'", near);
  else
    phi_fail(p, &p->token, "a known name: x, a parameter, a name of 'let', or a function");
  return failed;
}

static expression_kind function_named(const phi_token *name) {
#define FUNCTION(ID, text, arguments)                                                              \
  if (phi_token_is(name, text)) return EXPRESSION_##ID;
  EXPRESSION_FUNCTIONS(FUNCTION)
#undef FUNCTION
  return EXPRESSION_KINDS;
}

static operand parse_word(phi_parser *p) {
  const phi_token at = p->token;
  if (phi_token_is(&at, "x") || phi_token_is(&at, "y")) return parse_coordinate(p);
  if (phi_token_is(&at, "sum")) return parse_call_of_sum(p);
  const expression_kind function = function_named(&at);
  if (function != EXPRESSION_KINDS) return parse_call(p, function);
  const int parameter = phi_find_parameter(p, &at);
  if (parameter >= 0) {
    phi_advance(p);
    return (operand){.e = checked(p, &at, expression_parameter(p->phi->pool, parameter))};
  }
  const int let = phi_find_let(p, &at);
  return let >= 0 ? parse_let_use(p, &p->let[let]) : parse_unknown(p);
}

/* atom = number | name | name ( ... ) | ( sum ) */
static operand parse_atom(phi_parser *p) {
  if (p->token.kind == PHI_TOKEN_NUMBER) return parse_number(p);
  if (p->token.kind == PHI_TOKEN_WORD) return parse_word(p);
  if (!phi_accept(p, "(")) {
    phi_fail(p, &p->token, "a number, a name or '('");
    return failed;
  }
  operand inside = parse_sum(p);
  if (inside.e && !phi_accept(p, ")")) {
    phi_fail(p, &p->token, "an operator or ')'");
    return failed;
  }
  inside.literal = false;
  return inside;
}

static operand parse_factor(phi_parser *p);

/* power = atom [ ^ factor ] */
static operand parse_power(phi_parser *p) {
  const operand base = parse_atom(p);
  const phi_token at = p->token;
  if (!base.e || !phi_accept(p, "^")) return base;
  if (!enter(p)) return failed;
  const operand exponent = parse_factor(p);
  p->nesting--;
  if (!exponent.e) return failed;
  return made(p, &at, EXPRESSION_POWER, base.e, exponent.e);
}

static operand literal(phi_parser *p, const phi_token *at, mpq_srcptr value) {
  return (operand){.e = checked(p, at, expression_number(p->phi->pool, value)), .literal = true};
}

static operand negated(phi_parser *p, const phi_token *at, operand a) {
  if (!a.e) return failed;
  if (!a.literal) return made(p, at, EXPRESSION_NEGATE, a.e, NULL);
  mpq_t value;
  mpq_init(value);
  mpq_neg(value, a.e->number);
  const operand result = literal(p, at, value);
  mpq_clear(value);
  return result;
}

/* factor = - factor | + factor | power */
static operand parse_factor(phi_parser *p) {
  const phi_token at = p->token;
  const bool minus = phi_token_is(&at, "-");
  if (!minus && !phi_token_is(&at, "+")) return parse_power(p);
  phi_advance(p);
  if (!enter(p)) return failed;
  const operand inside = parse_factor(p);
  p->nesting--;
  return minus ? negated(p, &at, inside) : inside;
}

static operand quotient(phi_parser *p, const phi_token *at, operand a, operand b) {
  if (!a.literal || !b.literal) return made(p, at, EXPRESSION_DIVIDE, a.e, b.e);
  operand result = failed;
  mpq_t value;
  mpq_init(value);
  mpq_div(value, a.e->number, b.e->number);
  if (mpz_sizeinbase(mpq_numref(value), 2) > MOST_BITS ||
      mpz_sizeinbase(mpq_denref(value), 2) > MOST_BITS)
    phi_fail(p, at, "a fraction of less than %d bits", MOST_BITS);
  else
    result = literal(p, at, value);
  mpq_clear(value);
  return result;
}

static bool is_zero(const expression *e) {
  return e->kind == EXPRESSION_NUMBER && mpq_sgn(e->number) == 0;
}

/* product = factor { (* | /) factor } */
static operand parse_product(phi_parser *p) {
  operand left = parse_factor(p);
  while (left.e) {
    const phi_token at = p->token;
    const bool divide = phi_token_is(&at, "/");
    if (!divide && !phi_token_is(&at, "*")) break;
    phi_advance(p);
    if (phi_token_is(&p->token, "*")) {
      phi_fail(p, &p->token, "a number, a name or '('; powers are written x^y");
      return failed;
    }
    const phi_token divisor = p->token;
    const operand right = parse_factor(p);
    if (!right.e) return failed;
    if (divide && is_zero(right.e)) {
      phi_fail(p, &divisor, "a divisor other than zero");
      return failed;
    }
    left =
        divide ? quotient(p, &at, left, right) : made(p, &at, EXPRESSION_MULTIPLY, left.e, right.e);
  }
  return left;
}

/* sum = product { (+ | -) product } */
static operand parse_sum(phi_parser *p) {
  if (!enter(p)) return failed;
  operand left = parse_product(p);
  while (left.e) {
    const phi_token at = p->token;
    const bool minus = phi_token_is(&at, "-");
    if (!minus && !phi_token_is(&at, "+")) break;
    phi_advance(p);
    const operand right = parse_product(p);
    if (!right.e) return failed;
    left = made(p, &at, minus ? EXPRESSION_SUBTRACT : EXPRESSION_ADD, left.e, right.e);
  }
  p->nesting--;
  return left;
}

const expression *phi_parse_expression(phi_parser *p, phi_place place) {
  p->place = place;
  p->in_sum = false;
  p->nesting = 0;
  p->uses = (phi_uses){0};
  return parse_sum(p).e;
}
