#include "verify.h"
#include "judgement.h"
#include <string.h>

static phibal_status run_one(const operation *o, const backend *b, uint64_t seed, uint64_t number,
                             tally *tallies) {
  operation_case c;
  phibal_status status = operation_make(o, seed, number, &c);
  if (status != PHIBAL_OK) return status;
  status = b->run(b->context, &c);
  if (status == PHIBAL_OK && b->again) status = b->again(b->context, &c, tallies);
  if (status == PHIBAL_OK) status = operation_judge(&c, tallies);
  operation_case_clear(&c);
  return status;
}

phibal_status verify_run(const operation *o, const backend *b, uint64_t seed, uint64_t first,
                         int64_t count, bool first_failure, tally *tallies) {
  for (int i = 0; i < OUTPUT_COUNT; i++)
    if (operation_owns(o, (output_id)i)) tally_start(&tallies[i], (output_id)i);
  for (int64_t i = 0; i < count; i++) {
    uint64_t number = first + (uint64_t)i;
    for (int t = 0; t < OUTPUT_COUNT; t++)
      if (operation_owns(o, (output_id)t)) tally_case(&tallies[t], number);
    phibal_status status = run_one(o, b, seed, number, tallies);
    if (status != PHIBAL_OK) {
      char why[400];
      strncpy(why, phibal_status_message(), sizeof why - 1);
      why[sizeof why - 1] = 0;
      return phibal_status_set(status, "%s, case %llu (%s), could not be run: %s", o->name,
                               (unsigned long long)number, o->kind(number), why);
    }
    if (first_failure && !verify_passed(o, b, tallies, false)) break;
  }
  return PHIBAL_OK;
}

bool verify_expects(const backend *b, output_id output) {
  return output != OUTPUT_ROUTER_SAME_BITS || b->again;
}

bool verify_passed(const operation *o, const backend *b, const tally *tallies, bool all_compared) {
  for (int i = 0; i < OUTPUT_COUNT; i++) {
    output_id output = (output_id)i;
    if (!operation_owns(o, output) || !verify_expects(b, output)) continue;
    if (tallies[i].failures > 0 || (all_compared && tallies[i].elements == 0)) return false;
  }
  return true;
}
