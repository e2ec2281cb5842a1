/* Compares a kernel's output with an enclosure of the exact value, in the measure promised by
   spec/ops.def. The error is an upper bound: the distance to the far end of the enclosure. */
#ifndef PHIBAL_VERIFY_COMPARE_H
#define PHIBAL_VERIFY_COMPARE_H

#include <phibal/enclosure.h>
#include <stdint.h>

typedef enum output_id {
#define PHIBAL_OUTPUT(ID, operation, output, measure, bound, slack, equation) OUTPUT_##ID,
#include <phibal/ops.def>
  OUTPUT_COUNT
} output_id;

typedef enum output_measure {
  MEASURE_EXACT,
  MEASURE_ULP32,
  MEASURE_ULP64,
  MEASURE_COMPONENTWISE,
  MEASURE_FRACTION,
} output_measure;

typedef struct output_promise {
  const char *operation, *output;
  output_measure measure;
  double bound, slack;
  const char *equation;
} output_promise;

const output_promise *output_describe(output_id id);
/* "ulp32" and so on; and what an error in that measure counts: "ULP". */
const char *measure_name(output_measure m);
const char *measure_unit(output_measure m);
/* An error as a table shows it: four decimals, or three digits and a power of ten. */
typedef struct shown_error {
  char text[24];
} shown_error;
shown_error show_error(double error);

/* The error that the promise allows, rounded down: what tally_real compares with. terms as there; 0
   for EXACT. */
void promise_allowance(const output_promise *p, const phibal_enclosure *truth,
                       const phibal_enclosure *terms, mpfr_ptr allowed);

/* Statistics of one output so far. */
typedef struct tally {
  output_id output;
  int64_t cases;       /* calls of tally_case */
  int64_t elements;    /* compared */
  int64_t failures;    /* elements over the bound */
  double worst;        /* largest error, in the promise's measure */
  uint64_t worst_case; /* where: the case's number, */
  int64_t worst_element;
  double worst_got;        /* what the kernel gave, */
  char worst_expected[96]; /* and what it should have given */
  uint64_t current_case;
} tally;

/* d = an upper bound of the distance from `got` to the members of `truth`. */
void enclosure_distance_up(mpfr_t d, const phibal_enclosure *truth, double got);

void tally_start(tally *t, output_id output);
void tally_case(tally *t, uint64_t number); /* the elements that follow belong to this case */

/* `terms` bounds the sum of the absolute values that cancel or make up the element: needed where
   the promise has a slack, and for COMPONENTWISE; null otherwise. For FRACTION it is the bound. */
void tally_real(tally *t, int64_t element, const phibal_enclosure *truth,
                const phibal_enclosure *terms, double got);
/* The same for an exact value given as a number with an absolute bound. */
void tally_within(tally *t, int64_t element, double expected, double bound, double got);
/* A single right value; zeros of either sign are equal. */
void tally_exact(tally *t, int64_t element, double expected, double got);
void tally_integer(tally *t, int64_t element, int64_t expected, int64_t got);

#endif
