/* A potential in the phi language that can be read: its value, gradient and Hessian obey
   the mean value theorem. The first three bytes are the point, the rest is the file. */
#include "audit/phi.h"
#include "target.h"

enum { PRECISION = 128, EXPERTS = 2, MOST_NODES = 300, MOST_DEPTH = 40 };

/* Vectors of two components, a and b apart in the first; `whole` holds every point between. */
typedef struct points {
  phibal_enclosure *a, *b, *whole;
} points;

static void points_init(points *p, const uint8_t *bytes) {
  p->a = phibal_enclosure_vector(EXPERTS, PRECISION);
  p->b = phibal_enclosure_vector(EXPERTS, PRECISION);
  p->whole = phibal_enclosure_vector(EXPERTS, PRECISION);
  FUZZ_REQUIRE(p->a && p->b && p->whole, "out of memory");
  for (int e = 0; e < EXPERTS; e++) {
    /* In -1 .. 3 and not at the places where potentials have kinks. */
    phibal_enclosure_set_d(&p->a[e], bytes[e] / 64.0 - 1 + 0x1p-7);
    phibal_enclosure_set_d(&p->b[e], bytes[e ? 1 : 2] / 64.0 - 1 + 0x1p-7);
    phibal_enclosure_hull(&p->whole[e], &p->a[e], &p->b[e]);
  }
}

static void points_clear(points *p) {
  phibal_enclosure_vector_clear(p->a, EXPERTS);
  phibal_enclosure_vector_clear(p->b, EXPERTS);
  phibal_enclosure_vector_clear(p->whole, EXPERTS);
}

/* f(b) - f(a) = f'(between) (b - a), where all of it is finite. */
static void mean_value(const points *p, const phibal_enclosure *at_a, const phibal_enclosure *at_b,
                       const phibal_enclosure *derivative, const char *what) {
  phibal_enclosure difference, step;
  phibal_enclosure_init(&difference, PRECISION);
  phibal_enclosure_init(&step, PRECISION);
  bool finite = !phibal_enclosure_sub(&difference, at_b, at_a) &&
                !phibal_enclosure_sub(&step, &p->b[0], &p->a[0]) &&
                !phibal_enclosure_mul(&step, &step, derivative);
  FUZZ_REQUIRE(!finite || phibal_enclosure_overlaps(&difference, &step),
               "%s: a difference in [%g, %g], its mean value in [%g, %g]", what,
               mpfr_get_d(difference.lo, MPFR_RNDN), mpfr_get_d(difference.hi, MPFR_RNDN),
               mpfr_get_d(step.lo, MPFR_RNDN), mpfr_get_d(step.hi, MPFR_RNDN));
  phibal_enclosure_clear(&difference);
  phibal_enclosure_clear(&step);
}

/* d^2 phi / d x_0^2, from the parts that phi_hessian gives. */
static void hessian_corner(const phi_potential *phi, const phibal_enclosure *diagonal,
                           const phibal_enclosure *second, const phibal_enclosure *slope,
                           phibal_enclosure *corner) {
  phibal_enclosure product;
  phibal_enclosure_init(&product, PRECISION);
  phibal_enclosure_set(corner, &diagonal[0]);
  for (int i = 0; i < phi->value.sums; i++)
    for (int j = 0; j < phi->value.sums; j++) {
      phibal_enclosure_mul(&product, &slope[i * EXPERTS], &slope[j * EXPERTS]);
      phibal_enclosure_mul(&product, &product, &second[i * phi->value.sums + j]);
      phibal_enclosure_add(corner, corner, &product);
    }
  phibal_enclosure_clear(&product);
}

static void derivatives_check(const phi_potential *phi, const points *p) {
  size_t r = (size_t)phi->value.sums;
  phibal_enclosure parameters[PHI_MAX_PARAMETERS];
  for (int i = 0; i < phi->parameters; i++) phibal_enclosure_init(&parameters[i], PRECISION);
  phi_fallbacks(phi, parameters);
  size_t count = 3 * EXPERTS + 3 + r * r + r * EXPERTS;
  phibal_enclosure *v = phibal_enclosure_vector(count, PRECISION);
  FUZZ_REQUIRE(v, "out of memory");
  phibal_enclosure *at_a = v, *at_b = v + EXPERTS, *between = v + 2 * EXPERTS;
  phibal_enclosure *corner = v + 3 * EXPERTS, *diagonal = corner + 1, *second = diagonal + EXPERTS;
  if (!phi_gradient(phi, parameters, EXPERTS, p->whole, between) &&
      !phi_value(phi, parameters, EXPERTS, p->a, at_a) &&
      !phi_value(phi, parameters, EXPERTS, p->b, at_b))
    mean_value(p, at_a, at_b, &between[0], "value");
  if (!phi_hessian(phi, parameters, EXPERTS, p->whole, diagonal, second, second + r * r) &&
      !phi_gradient(phi, parameters, EXPERTS, p->a, at_a) &&
      !phi_gradient(phi, parameters, EXPERTS, p->b, at_b)) {
    hessian_corner(phi, diagonal, second, second + r * r, corner);
    mean_value(p, &at_a[0], &at_b[0], corner, "gradient");
  }
  /* For the sanitizers: what the file gives may be anything. */
  (void)phi_given_gradient(phi, parameters, EXPERTS, p->whole, between);
  (void)phi_given_conjugate(phi, parameters, EXPERTS, p->a, corner);
  phibal_enclosure_vector_clear(v, count);
  for (int i = 0; i < phi->parameters; i++) phibal_enclosure_clear(&parameters[i]);
}

static bool is_small(const phi_section *s) {
  if (s->expression && (s->expression->size > MOST_NODES || s->expression->depth > MOST_DEPTH))
    return false;
  for (int i = 0; i < s->conditions; i++)
    if (s->condition[i].left->size > MOST_NODES || s->condition[i].right->size > MOST_NODES)
      return false;
  return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 3) return 0;
  char *text = fuzz_bytes(data + 3, size - 3);
  phi_potential *phi;
  if (phi_read("input", text, size - 3, &phi)) {
    FUZZ_REQUIRE_MESSAGE();
    FUZZ_REQUIRE(!phi, "a refused file leaves null");
  } else {
    points p;
    points_init(&p, data);
    if (is_small(&phi->value) && is_small(&phi->gradient) && is_small(&phi->conjugate))
      derivatives_check(phi, &p);
    points_clear(&p);
    phi_destroy(phi);
  }
  free(text);
  mpfr_free_cache();
  return 0;
}
