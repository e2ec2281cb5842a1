/* Consumes the expected outputs of an operation. With tallies, the outputs of the case are compared
   with them; without, they are recorded: for each element the value nearest to the exact one, and
   the distance from it that the promise allows. */
#ifndef PHIBAL_VERIFY_JUDGEMENT_H
#define PHIBAL_VERIFY_JUDGEMENT_H

#include "operation.h"

struct judgement {
  const operation_case *c;
  tally *tallies; /* [OUTPUT_COUNT], or null to record */
  /* Recording, parallel to c->outputs. Real outputs are recorded in binary64: the value nearest to
     the exact one, and a bound of |output - that value|, rounded up. Where the format is binary64
     itself the bound is the distance of the farthest binary64 number that keeps the promise.
     Integers are recorded as they are, with no bound. */
  tensor *expected, *bound;
  bool *reached[CASE_TENSORS]; /* elements received so far */
};

/* The expected value of one element; terms as for tally_real. The promise may differ from the
   tensor's own. */
void judge_real(judgement *j, output_id promise, const tensor *output, int64_t element,
                const phibal_enclosure *truth, const phibal_enclosure *terms);
/* An element with a single right value. */
void judge_exact(judgement *j, output_id promise, const tensor *output, int64_t element,
                 double value);
void judge_integer(judgement *j, output_id promise, const tensor *output, int64_t element,
                   int64_t value);
/* An element that must be NaN. */
void judge_nan(judgement *j, output_id promise, const tensor *output, int64_t element);

/* True if elements may be skipped to save time; a recording needs all. */
static inline bool judge_may_sample(const judgement *j) {
  return j->tallies != NULL;
}
/* True where the stages' results of the case are at hand. */
static inline bool judge_has_outputs(const judgement *j) {
  return j->tallies != NULL;
}

/* Compares the outputs of c. */
phibal_status operation_judge(const operation_case *c, tally *tallies);
/* The same where only those outputs are there for which given[] says so: with no stage to look at
   apart, bounds are carried through from the inputs, as in golden vectors. */
phibal_status operation_judge_given(const operation_case *c, const bool *given, tally *tallies);

/* expected[i] and bound[i] for c->outputs[i], in memory of `a`; bound[i].data is null for integers.
   PHIBAL_ERROR_UNSUPPORTED if an element has no expected value. */
phibal_status operation_expect(const operation_case *c, arena *a, tensor *expected, tensor *bound);
/* The same for an implementation that selected other experts than (R2), which c has as an input
   "experts" (selection.h). What the selection does not change stays as `expected` and `bound` say
   on entry. */
phibal_status operation_expect_selected(const operation_case *c, arena *a, tensor *expected,
                                        tensor *bound);

#endif
