/* The language when memory runs out: every allocation of reading, writing and evaluating a file
   fails in turn. The sources are compiled with malloc and its like replaced by those below. */
#undef malloc
#undef calloc
#undef strndup
#undef open_memstream
#include "audit/phi.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *failing_malloc(size_t size);
void *failing_calloc(size_t count, size_t size);
char *failing_strndup(const char *text, size_t length);
FILE *failing_open_memstream(char **text, size_t *length);

static long allocations_left;

static bool fails(void) {
  return allocations_left-- <= 0;
}

void *failing_malloc(size_t size) {
  return fails() ? NULL : malloc(size);
}

void *failing_calloc(size_t count, size_t size) {
  return fails() ? NULL : calloc(count, size);
}

char *failing_strndup(const char *text, size_t length) {
  return fails() ? NULL : strndup(text, length);
}

FILE *failing_open_memstream(char **text, size_t *length) {
  return fails() ? NULL : open_memstream(text, length);
}

/* Value, gradient, Hessian and the like at a point; PHIBAL_OK or PHIBAL_ERROR_MEMORY. */
static phibal_status evaluate(const phi_potential *phi) {
  enum { N = 3, SUMS = 8 };
  phibal_status status = PHIBAL_OK;
  allocations_left += 1000; /* for this room */
  phibal_enclosure *x = phibal_enclosure_vector(N, 53), *z = phibal_enclosure_vector(N, 53);
  phibal_enclosure *h = phibal_enclosure_vector(SUMS * SUMS, 53);
  phibal_enclosure *slope = phibal_enclosure_vector(SUMS * N, 53);
  phibal_enclosure p[PHI_MAX_PARAMETERS];
  for (int i = 0; i < PHI_MAX_PARAMETERS; i++) phibal_enclosure_init(&p[i], 53);
  allocations_left -= 1000;
  phi_fallbacks(phi, p);
  for (int e = 0; e < N; e++) phibal_enclosure_set_d(&x[e], 0.25 + e);
  if (!status) status = phi_value(phi, p, N, x, z);
  if (!status) status = phi_gradient(phi, p, N, x, z);
  if (!status) status = phi_hessian(phi, p, N, x, z, h, slope);
  if (!status) status = phi_given_gradient(phi, p, N, x, z);
  if (!status) status = phi_given_conjugate(phi, p, N, x, z);
  for (int i = 0; i < PHI_MAX_PARAMETERS; i++) phibal_enclosure_clear(&p[i]);
  phibal_enclosure_vector_clear(x, N);
  phibal_enclosure_vector_clear(z, N);
  phibal_enclosure_vector_clear(h, SUMS * SUMS);
  phibal_enclosure_vector_clear(slope, SUMS * N);
  return status;
}

static const char text[] =
    "potential t\nparameter a in (0, 1) or (1, 2) = 1/2\nparameter b in (0, 1) = 1/2\n"
    "let c = a*b\nlet S = sum(x^a - c)\n"
    "value log(2 + S^2)*max(S, 1/3 - sum(x^3)) + S^sum(x^2)\n"
    "gradient S*x where x > 0\nconjugate sum(exp(y))*c where y > 0 and y < 9\n";

/* Reads, writes and evaluates; the first failure. */
static phibal_status work(void) {
  static const char *const names[] = {"a", "b"};
  phi_potential *phi;
  phibal_status status = phi_read("t", text, strlen(text), &phi);
  if (status != PHIBAL_OK) {
    cr_assert_null(phi);
    return status;
  }
  char *written = expression_text(phi->value.expression, names, "x");
  status = written ? evaluate(phi) : PHIBAL_ERROR_MEMORY;
  free(written);
  phi_destroy(phi);
  return status;
}

Test(phi_memory, every_allocation_may_fail) {
  allocations_left = 1000000;
  cr_assert_eq(work(), PHIBAL_OK, "%s", phibal_status_message());
  const long needed = 1000000 - allocations_left;
  cr_assert_gt(needed, 50, "%ld", needed);
  for (long n = 0; n < needed; n++) {
    allocations_left = n;
    const phibal_status status = work();
    cr_expect(status == PHIBAL_ERROR_MEMORY, "allocation %ld of %ld: status %d, %s", n + 1, needed,
              (int)status, phibal_status_message());
  }
}
