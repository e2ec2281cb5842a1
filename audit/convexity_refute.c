/* Counterexamples to strict convexity on the simplex: exact points a, b with
   phi((a + b)/2) >= (phi(a) + phi(b))/2, in enclosures.

   Candidates are moves of share between two experts, (u + h, v - h, rest) and (u - h, v + h, rest),
   and between one expert and 2^m others. All coordinates are dyadic, so that they sum to 1 exactly
   and equality can be exact as well. */
#include "convexity.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PRECISION = 192, DIGITS = 20 };

void convexity_counterexample_clear(convexity_counterexample *found) {
  free(found->text);
  free(found->lower);
  if (found->data) json_decref(found->data);
  *found = (convexity_counterexample){.found = false};
}

typedef struct trial {
  const phi_potential *phi;
  const phibal_enclosure *parameters;
  const char *const *names;
  double deadline;
  int experts;
  double step;
  double *a, *b, *middle;
  bool constant; /* phi is known not to change, and values need only not to contradict that */
  phibal_enclosure *x, at_a, at_b, at_middle, mean;
  convexity_counterexample *found;
} trial;

static void trial_init(trial *t) {
  phibal_enclosure_init(&t->at_a, PRECISION);
  phibal_enclosure_init(&t->at_b, PRECISION);
  phibal_enclosure_init(&t->at_middle, PRECISION);
  phibal_enclosure_init(&t->mean, PRECISION);
}

static void trial_clear(trial *t) {
  phibal_enclosure_clear(&t->at_a);
  phibal_enclosure_clear(&t->at_b);
  phibal_enclosure_clear(&t->at_middle);
  phibal_enclosure_clear(&t->mean);
}

static bool value_at(trial *t, const double *point, phibal_enclosure *value) {
  for (int e = 0; e < t->experts; e++) phibal_enclosure_set_d(&t->x[e], point[e]);
  return phi_value(t->phi, t->parameters, (size_t)t->experts, t->x, value) == PHIBAL_OK;
}

/* Multiples of 2^-40: with 2^12 others, all coordinates and their sums are binary64 numbers. */
static double dyadic(double v) {
  return ldexp(floor(ldexp(v, 40)), -40);
}

static void print_exactly(FILE *out, double v) {
  mpq_t q;
  mpq_init(q);
  mpq_set_d(q, v);
  mpq_out_str(out, 10, q);
  mpq_clear(q);
}

static void print_points(FILE *out, const trial *t, const double *point) {
  fputc('(', out);
  for (int e = 0; e < t->experts; e++) {
    int run = 1;
    while (e + run < t->experts && point[e + run] == point[e]) run++;
    if (e) fputs(", ", out);
    print_exactly(out, point[e]);
    if (run > 3) {
      fprintf(out, " (%d times)", run);
      e += run - 1;
    }
  }
  fputc(')', out);
}

static void print_value(FILE *out, const phibal_enclosure *v) {
  char lo[PHIBAL_DECIMAL_SIZE(DIGITS)], hi[PHIBAL_DECIMAL_SIZE(DIGITS)];
  phibal_enclosure_get_decimal(v, DIGITS, lo, hi, sizeof lo);
  if (strcmp(lo, hi) == 0)
    fputs(lo, out);
  else
    fprintf(out, "[%s, %s]", lo, hi);
}

static void print_parameters(FILE *out, const trial *t) {
  for (int i = 0; i < t->phi->parameters; i++) {
    fprintf(out, "%s%s = ", i ? ", " : "at ", t->names[i]);
    print_value(out, &t->parameters[i]);
  }
  if (t->phi->parameters) fputs(": ", out);
}

static json_t *value_json(const phibal_enclosure *v) {
  char lo[PHIBAL_DECIMAL_SIZE(DIGITS)], hi[PHIBAL_DECIMAL_SIZE(DIGITS)];
  phibal_enclosure_get_decimal(v, DIGITS, lo, hi, sizeof lo);
  return json_pack("[s, s]", lo, hi);
}

static json_t *point_json(const trial *t, const double *point) {
  enum { MOST = 64 }; /* longer ones are in the text, in runs */
  json_t *array = json_array();
  for (int e = 0; e < t->experts && t->experts <= MOST; e++) {
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out) break;
    print_exactly(out, point[e]);
    fclose(out);
    json_array_append_new(array, json_string(text));
    free(text);
  }
  return array;
}

static void record(trial *t) {
  size_t size;
  FILE *out = open_memstream(&t->found->text, &size);
  if (!out) return;
  print_parameters(out, t);
  fputs("x = ", out);
  print_points(out, t, t->a);
  fputs(", y = ", out);
  print_points(out, t, t->b);
  fputs(": phi(x) = ", out);
  print_value(out, &t->at_a);
  fputs(", phi(y) = ", out);
  print_value(out, &t->at_b);
  fputs(", and at their midpoint phi = ", out);
  print_value(out, &t->at_middle);
  fputs(t->constant ? ", which are equal, as psi is affine in between"
                    : ", which is not below the mean",
        out);
  fclose(out);
  json_t *parameters = json_object();
  for (int i = 0; i < t->phi->parameters; i++)
    json_object_set_new(parameters, t->names[i], value_json(&t->parameters[i]));
  t->found->data =
      json_pack("{s:o, s:b, s:i, s:o, s:o, s:o, s:o, s:o}", "parameters", parameters, "constant",
                t->constant, "experts", t->experts, "a", point_json(t, t->a), "b",
                point_json(t, t->b), "phi(a)", value_json(&t->at_a), "phi(b)", value_json(&t->at_b),
                "phi(midpoint)", value_json(&t->at_middle));
  t->found->experts = t->experts;
  t->found->found = true;
}

/* A point with a value not above that of uniform loads, which are dyadic for 2^m experts: shares
   moved between two, or all but a little with one. */
static void below_uniform(trial *t) {
  double uniform = 1.0 / t->experts;
  for (int i = 1; i <= 12 && !t->found->lower; i++) {
    for (int e = 0; e < t->experts; e++) t->a[e] = t->b[e] = uniform;
    double h = i <= 6 ? ldexp(uniform, -i) : uniform - ldexp(uniform, 4 - i);
    t->a[0] += i <= 6 ? h : h * (t->experts - 1);
    for (int e = 1; e < t->experts; e++)
      if (e == 1 || i > 6) t->a[e] -= h;
    if (!value_at(t, t->a, &t->at_a) || !value_at(t, t->b, &t->at_b)) continue;
    if (!mpfr_number_p(t->at_b.lo) || mpfr_cmp(t->at_a.hi, t->at_b.lo) > 0) continue;
    size_t size;
    FILE *out = open_memstream(&t->found->lower, &size);
    if (!out) return;
    print_parameters(out, t);
    fputs("phi", out);
    print_points(out, t, t->a);
    fputs(" = ", out);
    print_value(out, &t->at_a);
    fprintf(out, " is not above phi(uniform) = ");
    print_value(out, &t->at_b);
    fclose(out);
  }
}

/* middle +- h (1 at 0, -1/n at 1 .. n) */
static bool violated(trial *t, double h, int n) {
  if (audit_clock() > t->deadline) return false;
  memcpy(t->a, t->middle, (size_t)t->experts * sizeof *t->a);
  memcpy(t->b, t->middle, (size_t)t->experts * sizeof *t->b);
  t->a[0] += h;
  t->b[0] -= h;
  for (int e = 1; e <= n; e++) {
    t->a[e] -= h / n;
    t->b[e] += h / n;
    if (!(t->a[e] > 0 && t->b[e] > 0)) return false;
  }
  if (!(t->a[0] > 0 && t->b[0] > 0) || h <= 0) return false;
  if (!value_at(t, t->a, &t->at_a) || !value_at(t, t->b, &t->at_b) ||
      !value_at(t, t->middle, &t->at_middle))
    return false;
  if (!mpfr_number_p(t->at_middle.lo)) return false;
  if (phibal_enclosure_add(&t->mean, &t->at_a, &t->at_b) != PHIBAL_OK) return false;
  mpfr_div_2ui(t->mean.lo, t->mean.lo, 1, MPFR_RNDD);
  mpfr_div_2ui(t->mean.hi, t->mean.hi, 1, MPFR_RNDU);
  if (t->constant ? !phibal_enclosure_overlaps(&t->at_middle, &t->mean)
                  : mpfr_cmp(t->at_middle.lo, t->mean.hi) < 0)
    return false;
  record(t);
  return true;
}

static bool try_steps(trial *t, int n) {
  static const int powers[] = {1, 3, 6, 11, 16};
  double room = t->middle[0] < n * t->middle[1] ? t->middle[0] : n * t->middle[1];
  for (size_t i = 0; i < sizeof powers / sizeof *powers; i++)
    if (violated(t, dyadic(ldexp(room, -powers[i])), n)) return true;
  return false;
}

/* u, v and equal shares for the rest: the last takes what dyadic numbers leave. */
static bool fill(trial *t, double u, double v, int others) {
  double rest = 1;
  t->middle[0] = u;
  rest -= u;
  for (int e = 1; e <= others; e++) t->middle[e] = v, rest -= v;
  int left = t->experts - 1 - others;
  for (int e = others + 1; e < t->experts; e++) {
    double share = e == t->experts - 1 ? rest : dyadic(rest / left);
    t->middle[e] = share;
    rest -= share;
    left--;
    if (!(share > 0)) return false;
  }
  return left == 0 && (others < t->experts - 1 || rest == 0) && u > 0 && v > 0;
}

static bool exchange(trial *t, double hint) {
  static const double grid[] = {0.5,  0.499, 0.4375, 0.375, 0.3125, 0.25, 0.1875, 0.125,
                                0.09, 0.05,  0.02,   1e-2,  1e-3,   1e-4, 1e-6,   1e-9};
  enum { POINTS = sizeof grid / sizeof *grid };
  double u[POINTS + 2];
  int n = 0;
  for (int i = 0; i < POINTS; i++) u[n++] = dyadic(grid[i]);
  if (hint > 0 && hint < 1) {
    u[n++] = ldexp(floor(ldexp(hint, 6)), -6);
    u[n++] = dyadic(hint);
  }
  for (int i = 0; i < n; i++)
    for (int j = i; j >= 0; j--)
      if ((t->experts == 2 ? fill(t, u[i], 1 - u[i], 1) : fill(t, u[i], u[j], 1)) &&
          try_steps(t, 1))
        return true;
  return false;
}

/* One large share against `others`, a power of two of them. */
static bool against_many(trial *t, double hint, int others) {
  static const double grid[] = {0.5, 0.625, 0.75, 0.875, 0.9375, 0.99, 0.999};
  enum { POINTS = sizeof grid / sizeof *grid };
  for (int i = 0; i <= POINTS; i++) {
    double u = i == POINTS ? hint : grid[i];
    if (!(u > 0 && u < 1)) continue;
    u = 1 - others * dyadic((1 - u) / others);
    if (fill(t, u, (1 - u) / others, others) && try_steps(t, others)) return true;
  }
  return false;
}

typedef enum family { EXCHANGE, AGAINST_MANY, UNIFORM, FLAT } family;

static bool with_experts(trial *t, int experts, double hint, family points) {
  t->experts = experts;
  t->x = phibal_enclosure_vector((size_t)experts, PRECISION);
  t->a = calloc((size_t)experts * 3, sizeof *t->a);
  bool found = false;
  if (t->x && t->a) {
    t->b = t->a + experts;
    t->middle = t->b + experts;
    if (points == EXCHANGE) found = exchange(t, hint);
    if (points == AGAINST_MANY) found = against_many(t, hint, experts - 1);
    if (points == UNIFORM) below_uniform(t);
    if (points == FLAT) found = fill(t, hint, hint, 1) && violated(t, t->step, 1);
  }
  phibal_enclosure_vector_clear(t->x, (size_t)experts);
  free(t->a);
  return found;
}

void convexity_refute(const phi_potential *phi, const phibal_enclosure *parameters,
                      const char *const *names, int least, int most, double hint, bool many,
                      double deadline, convexity_counterexample *found) {
  *found = (convexity_counterexample){.found = false};
  trial t = {
      .phi = phi, .parameters = parameters, .names = names, .deadline = deadline, .found = found};
  trial_init(&t);
  bool done = with_experts(&t, least, hint, EXCHANGE) ||
              (least < 3 && most >= 3 && with_experts(&t, 3, hint, EXCHANGE));
  enum { MANY = 256 };
  for (int others = 2; many && !done && others < most && others <= MANY; others *= 8)
    if (others + 1 >= least) done = with_experts(&t, others + 1, hint, AGAINST_MANY);
  int power = 2;
  while (power < least) power *= 2;
  if (done && power <= most) with_experts(&t, power, 0, UNIFORM);
  trial_clear(&t);
}

void convexity_refute_flat(const phi_potential *phi, const phibal_enclosure *parameters,
                           const char *const *names, int least, int most, double lo, double hi,
                           convexity_counterexample *found) {
  *found = (convexity_counterexample){.found = false};
  trial t = {.phi = phi,
             .parameters = parameters,
             .names = names,
             .deadline = INFINITY,
             .constant = true,
             .found = found};
  trial_init(&t);
  bool half = lo < 0.5 && hi > 0.5;
  double top = hi < 0.5 ? hi : 0.5, middle = half ? 0.5 : dyadic(lo + (top - lo) / 2);
  t.step = dyadic((middle - lo < hi - middle ? middle - lo : hi - middle) / 2);
  if (lo < 0.5 && t.step > 0) {
    int experts = !half && least < 3 ? 3 : least;
    /* with two experts both shares are 1/2; with more the rest must have room */
    if (half && least > 2) middle -= t.step / 2, t.step = dyadic(t.step / 4);
    if (experts <= most) with_experts(&t, experts, middle, FLAT);
  }
  trial_clear(&t);
}
