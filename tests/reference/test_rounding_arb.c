/* Correct rounding of elementary functions against Arb's own (arb_fpwrap: binary64, to nearest). */
#include <phibal/rounding.h>
#include "verify/random.h"
#include <arb_fpwrap.h>
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

typedef struct call {
  int function;
  double x, y;
} call;

enum { EXP, EXPM1, LOG, LOG1P, POW, FUNCTIONS };
enum { CAP = 4096 };

static phibal_status evaluate(void *context, mpfr_prec_t precision, phibal_enclosure *value) {
  const call *c = context;
  phibal_status status = PHIBAL_OK;
  phibal_enclosure y;
  /* Arguments that are doubles enter exactly from 53 bits on. */
  phibal_enclosure_init(&y, precision);
  phibal_enclosure_set_d(value, c->x);
  phibal_enclosure_set_d(&y, c->y);
  switch (c->function) {
  case EXP:
    phibal_enclosure_exp(value, value);
    break;
  case EXPM1:
    phibal_enclosure_expm1(value, value);
    break;
  case LOG:
    status = phibal_enclosure_log(value, value);
    break;
  case LOG1P:
    status = phibal_enclosure_log1p(value, value);
    break;
  case POW:
    status = phibal_enclosure_pow(value, value, &y);
    break;
  }
  phibal_enclosure_clear(&y);
  return status;
}

static int round_by_arb(double *result, const call *c) {
  switch (c->function) {
  case EXP:
    return arb_fpwrap_double_exp(result, c->x, FPWRAP_CORRECT_ROUNDING);
  case EXPM1:
    return arb_fpwrap_double_expm1(result, c->x, FPWRAP_CORRECT_ROUNDING);
  case LOG:
    return arb_fpwrap_double_log(result, c->x, FPWRAP_CORRECT_ROUNDING);
  case LOG1P:
    return arb_fpwrap_double_log1p(result, c->x, FPWRAP_CORRECT_ROUNDING);
  default:
    return arb_fpwrap_double_pow(result, c->x, c->y, FPWRAP_CORRECT_ROUNDING);
  }
}

/* Between 2^-40 and 2^10 in magnitude, so that exp and pow also overflow and go subnormal. */
static double draw(random_stream *r) {
  double x = ldexp(1 + random_unit(r), (int)random_integer(r, -40, 9));
  return random_next(r) & 1 ? -x : x;
}

static void check(call *c) {
  double ours, theirs;
  cr_assert_eq(round_by_arb(&theirs, c), FPWRAP_SUCCESS);
  cr_assert_eq(
      phibal_round_correctly(evaluate, c, CAP, PHIBAL_FORMAT_BINARY64, PHIBAL_ROUND_NEAREST, &ours),
      PHIBAL_OK, "function %d of %a, %a: %s", c->function, c->x, c->y, phibal_status_message());
  cr_assert(memcmp(&ours, &theirs, sizeof ours) == 0, "function %d of %a, %a: %a, not %a",
            c->function, c->x, c->y, ours, theirs);
}

/* The four directions are two neighbours, or one number, around the value. */
static void check_directions(call *c) {
  double nearest, down, up, zero;
  phibal_round_correctly(evaluate, c, CAP, PHIBAL_FORMAT_BINARY32, PHIBAL_ROUND_NEAREST, &nearest);
  phibal_round_correctly(evaluate, c, CAP, PHIBAL_FORMAT_BINARY32, PHIBAL_ROUND_DOWN, &down);
  phibal_round_correctly(evaluate, c, CAP, PHIBAL_FORMAT_BINARY32, PHIBAL_ROUND_UP, &up);
  phibal_round_correctly(evaluate, c, CAP, PHIBAL_FORMAT_BINARY32, PHIBAL_ROUND_ZERO, &zero);
  cr_assert(nearest == down || nearest == up);
  cr_assert(zero == (signbit(nearest) ? up : down));
  cr_assert(down == up || nextafterf((float)down, INFINITY) == (float)up);
}

Test(rounding_arb, elementary_functions) {
  random_stream r = random_start(8, 8, 8);
  for (int i = 0; i < 20000; i++) {
    call c = {i % FUNCTIONS, draw(&r), draw(&r)};
    if (c.function == LOG || c.function == POW) c.x = fabs(c.x);
    if (c.function == LOG1P && c.x <= -1) c.x = -1 / c.x;
    check(&c);
    check_directions(&c);
  }
}
