/* Points to compare at. */
#include "audit_points.h"
#include "derivative.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static phibal_status out_of_memory(void) {
  return phibal_status_set(PHIBAL_ERROR_MEMORY, "out of memory for points to compare at");
}

phibal_status audit_points_add(audit_points *p, mpq_srcptr x) {
  if (p->n == p->room) {
    size_t room = p->room ? 2 * p->room : 256;
    mpq_t *grown = realloc(p->x, room * sizeof *grown);
    if (!grown) return out_of_memory();
    p->x = grown;
    p->room = room;
  }
  mpq_init(p->x[p->n]);
  mpq_set(p->x[p->n++], x);
  return PHIBAL_OK;
}

phibal_status audit_points_add_d(audit_points *p, double x) {
  mpq_t exact;
  mpq_init(exact);
  mpq_set_d(exact, x);
  phibal_status status = audit_points_add(p, exact);
  mpq_clear(exact);
  return status;
}

void audit_points_clear(audit_points *p) {
  for (size_t i = 0; i < p->n; i++) mpq_clear(p->x[i]);
  free(p->x);
  *p = (audit_points){0};
}

/* By continued fractions: in the first whole part where the ends differ lies the simplest number.
 */
void audit_simplest_between(mpq_t simplest, mpq_srcptr lo, mpq_srcptr hi) {
  mpq_t a, b;
  mpz_t n, p[2], q[2]; /* p/q: the last two convergents */
  mpq_inits(a, b, NULL);
  mpz_inits(n, p[0], p[1], q[0], q[1], NULL);
  mpq_set(a, lo);
  mpq_set(b, hi);
  mpz_set_ui(p[1], 1);
  mpz_set_ui(q[0], 1);
  for (;;) {
    mpz_cdiv_q(n, mpq_numref(a), mpq_denref(a)); /* a whole number between them ends it */
    bool last = mpq_cmp_z(b, n) >= 0;
    if (!last) mpz_fdiv_q(n, mpq_numref(a), mpq_denref(a));
    mpz_addmul(p[0], n, p[1]);
    mpz_addmul(q[0], n, q[1]);
    mpz_swap(p[0], p[1]);
    mpz_swap(q[0], q[1]);
    if (last) break;
    mpz_submul(mpq_numref(a), n, mpq_denref(a));
    mpz_submul(mpq_numref(b), n, mpq_denref(b));
    mpq_inv(a, a);
    mpq_inv(b, b);
    mpq_swap(a, b);
  }
  mpz_set(mpq_numref(simplest), p[1]);
  mpz_set(mpq_denref(simplest), q[1]);
  mpz_clears(n, p[0], p[1], q[0], q[1], NULL);
  mpq_clears(a, b, NULL);
}

/* ---- where something changes its sign ---- */

typedef struct search {
  const phibal_enclosure *parameters;
  audit_points *points;
  phibal_enclosure at, value;
  int left; /* how many expressions are still looked at */
} search;

/* -1, 0, 1, or 2 where it is not known or not defined. */
static int sign_at(search *s, const expression *e, double x) {
  phibal_enclosure_set_d(&s->at, x);
  if (phi_eval(e, s->parameters, NULL, &s->at, &s->value)) return 2;
  if (phibal_enclosure_is_positive(&s->value)) return 1;
  if (phibal_enclosure_is_negative(&s->value)) return -1;
  return phibal_enclosure_is_zero(&s->value) ? 0 : 2;
}

static phibal_status add_around(search *s, double x) {
  phibal_status status = audit_points_add_d(s->points, x);
  for (int k = 4; k <= 52 && !status; k += 8) {
    double step = ldexp(fmax(x, 0x1p-1022), -k);
    if (x + step <= 1) status = audit_points_add_d(s->points, x + step);
    if (x - step >= 0 && !status) status = audit_points_add_d(s->points, x - step);
  }
  return status;
}

/* Between low and high the sign changes: to neighbouring binary64. */
static phibal_status bisect(search *s, const expression *e, double low, double high) {
  int sign = sign_at(s, e, low);
  for (int i = 0; i < 1100; i++) {
    double middle = high > 4 * low ? sqrt(fmax(low, 0x1p-1074)) * sqrt(high) : 0.5 * (low + high);
    if (!(middle > low && middle < high)) break;
    int now = sign_at(s, e, middle);
    if (now == 0) return add_around(s, middle);
    if (now == sign)
      low = middle;
    else
      high = middle;
  }
  mpq_t zero, from, to; /* as it was written, if it was written as a number */
  mpq_inits(zero, from, to, NULL);
  mpq_set_d(from, low);
  mpq_set_d(to, high);
  audit_simplest_between(zero, from, to);
  phibal_status status = audit_points_add(s->points, zero);
  mpq_clears(zero, from, to, NULL);
  if (status == PHIBAL_OK) status = add_around(s, low);
  return status ? status : add_around(s, high);
}

static phibal_status find_changes(search *s, const expression *e) {
  if (derivative_sums(e) || !derivative_coordinate(e) || s->left-- <= 0) return PHIBAL_OK;
  double before = 0x1p-1074;
  int sign = sign_at(s, e, before);
  phibal_status status = PHIBAL_OK;
  for (int i = 1; i <= 192 && !status; i++) {
    double x = i <= 64 ? ldexp(1, -1074 + i * 16) : 0x1p-50 * pow(0x1p50, (i - 64) / 128.0);
    int now = sign_at(s, e, x);
    if (now == 0)
      status = add_around(s, x);
    else if (abs(sign) == 1 && now != 2 && now == -sign)
      status = bisect(s, e, before, x);
    before = x;
    sign = now;
  }
  return status;
}

static phibal_status walk(search *s, const expression *e, expression_pool *pool) {
  phibal_status status = PHIBAL_OK;
  switch (e->kind) {
  case EXPRESSION_SUM:
    return walk(s, e->argument[0], pool);
  case EXPRESSION_ABS:
  case EXPRESSION_SGN:
  case EXPRESSION_LOG:
  case EXPRESSION_SQRT:
  case EXPRESSION_XLOGX:
  case EXPRESSION_POWER:
    status = find_changes(s, e->argument[0]);
    break;
  case EXPRESSION_DIVIDE:
    status = find_changes(s, e->argument[1]);
    break;
  case EXPRESSION_MAX: {
    const expression *difference =
        expression_make(pool, EXPRESSION_SUBTRACT, e->argument[0], e->argument[1]);
    status = difference ? find_changes(s, difference) : out_of_memory();
    break;
  }
  default:
    break;
  }
  for (int i = 0; i < expression_arguments(e->kind) && !status; i++)
    status = walk(s, e->argument[i], pool);
  return status;
}

static phibal_status add_changes(const expression *e, const phibal_enclosure *parameters,
                                 audit_points *points) {
  search s = {.parameters = parameters, .points = points, .left = 24};
  expression_pool *pool = expression_pool_create();
  if (!pool) return out_of_memory();
  phibal_enclosure_init(&s.at, 64);
  phibal_enclosure_init(&s.value, 128);
  phibal_status status = walk(&s, e, pool);
  phibal_enclosure_clear(&s.at);
  phibal_enclosure_clear(&s.value);
  expression_pool_destroy(pool);
  return status;
}

/* ---- the list ---- */

static uint64_t next_random(uint64_t *state) { /* SplitMix64 */
  uint64_t z = (*state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

static phibal_status add_parts(audit_points *p) {
  static const unsigned long experts[] = {2, 3, 5, 7, 8, 10, 64, 100, 256, 1000, 1024, 4096};
  phibal_status status = PHIBAL_OK;
  mpq_t x;
  mpq_init(x);
  for (size_t i = 0; i < sizeof experts / sizeof *experts && !status; i++) {
    mpq_set_ui(x, 1, experts[i]);
    status = audit_points_add(p, x);
  }
  mpq_clear(x);
  return status;
}

phibal_status audit_points_make(const expression *e, const phibal_enclosure *parameters, int random,
                                uint64_t seed, audit_points *p) {
  static const double fixed[] = {0,
                                 1,
                                 0x1p-1074,
                                 0x1.8p-1073,
                                 0x1p-1022,
                                 0x1p-149,
                                 0x1p-126,
                                 0x1.fffffffffffffp-1,
                                 0x1p-53,
                                 0x1.8p-1,
                                 0x1.0000000000001p-1,
                                 0x1.5bf0a8b145769p-2};
  *p = (audit_points){0};
  phibal_status status = add_parts(p);
  for (size_t i = 0; i < sizeof fixed / sizeof *fixed && !status; i++)
    status = audit_points_add_d(p, fixed[i]);
  for (int k = 1; k <= 1074 && !status; k += k < 64 ? 1 : 37)
    status = audit_points_add_d(p, ldexp(1, -k));
  if (e && !status) status = add_changes(e, parameters, p);
  uint64_t state = seed ^ 0x706f696e7473u;
  for (int i = 0; i < random && !status; i++) {
    double unit = (double)(next_random(&state) >> 11) * 0x1p-53;
    status = audit_points_add_d(
        p, i % 2 ? unit : ldexp(0.5 + 0.5 * unit, -(int)(next_random(&state) % 140)));
  }
  if (status) audit_points_clear(p);
  return status;
}

/* ---- parameters ---- */

static bool default_is_member(const phi_parameter *p, const phibal_enclosure *asked) {
  return mpfr_cmp_q(asked->lo, p->fallback) <= 0 && mpfr_cmp_q(asked->hi, p->fallback) >= 0;
}

void audit_parameters_exact(const phi_potential *phi, const audit_request *request, mpq_t *value) {
  for (int i = 0; i < phi->parameters; i++) {
    const phibal_enclosure *asked = &request->parameters[i];
    if (default_is_member(&phi->parameter[i], asked))
      mpq_set(value[i], phi->parameter[i].fallback);
    else if (mpfr_number_p(asked->lo))
      mpfr_get_q(value[i], asked->lo);
    else if (mpfr_number_p(asked->hi))
      mpfr_get_q(value[i], asked->hi);
  }
}

phibal_enclosure *audit_parameters(const phi_potential *phi, const audit_request *request,
                                   mpfr_prec_t precision) {
  phibal_enclosure *one = phibal_enclosure_vector(PHI_MAX_PARAMETERS, precision);
  for (int i = 0; i < phi->parameters && one; i++) {
    const phibal_enclosure *asked = &request->parameters[i];
    if (default_is_member(&phi->parameter[i], asked))
      phibal_enclosure_set_q(&one[i], phi->parameter[i].fallback);
    else
      phibal_enclosure_set_fr(&one[i], mpfr_number_p(asked->lo) ? asked->lo : asked->hi);
  }
  return one;
}

char *audit_parameters_text(const phi_potential *phi, const audit_request *request) {
  char *text = NULL;
  size_t length;
  FILE *file = open_memstream(&text, &length);
  if (!file) return NULL;
  mpq_t exact[PHI_MAX_PARAMETERS];
  for (int i = 0; i < PHI_MAX_PARAMETERS; i++) mpq_init(exact[i]);
  audit_parameters_exact(phi, request, exact);
  for (int i = 0; i < phi->parameters; i++) {
    char *value = audit_rational_text(exact[i]);
    fprintf(file, ", %s = %s", phi->parameter[i].name, value ? value : "?");
    free(value);
  }
  for (int i = 0; i < PHI_MAX_PARAMETERS; i++) mpq_clear(exact[i]);
  fclose(file);
  return text;
}

char *audit_rational_text(mpq_srcptr x) {
  char *text = NULL;
  if (mpz_sizeinbase(mpq_numref(x), 2) + mpz_sizeinbase(mpq_denref(x), 2) < 48) {
    gmp_asprintf(&text, "%Qd", x);
    return text;
  }
  mpfr_t exact;
  mpfr_init2(exact, 1200);
  bool dyadic = mpfr_set_q(exact, x, MPFR_RNDN) == 0;
  double d = mpfr_get_d(exact, MPFR_RNDN);
  int length = dyadic && mpfr_cmp_d(exact, d) == 0 ? asprintf(&text, "%a", d)
               : dyadic                            ? mpfr_asprintf(&text, "%Ra", exact)
                                                   : gmp_asprintf(&text, "%Qd", x);
  mpfr_clear(exact);
  return length < 0 ? NULL : text;
}
