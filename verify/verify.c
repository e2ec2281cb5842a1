#include "verify.h"
#include "judgement.h"
#include <phibal/environment.h>
#include <string.h>

static phibal_status judge(const operation_case *c, const backend *b, tally *tallies) {
  bool given[CASE_TENSORS], all = true;
  for (int o = 0; o < c->output_count; o++) {
    given[o] = !b->has_output || b->has_output(b->context, c->operation, c->outputs[o].name);
    all &= given[o];
  }
  return all ? operation_judge(c, tallies) : operation_judge_given(c, given, tallies);
}

static phibal_status run_one(const operation *o, const backend *b, uint64_t seed, uint64_t number,
                             tally *tallies) {
  operation_case c;
  phibal_status status = operation_make(o, seed, number, &c);
  if (status != PHIBAL_OK) return status;
  status = b->run(b->context, &c);
  if (status == PHIBAL_OK && b->repeat) status = b->repeat(b->context, &c, tallies);
  if (status == PHIBAL_OK) status = judge(&c, b, tallies);
  if (status == PHIBAL_OK) status = phibal_environment_check("the case");
  operation_case_clear(&c);
  return status;
}

void verify_start(const operation *o, tally *tallies) {
  for (int i = 0; i < OUTPUT_COUNT; i++)
    if (operation_owns(o, (output_id)i)) tally_start(&tallies[i], (output_id)i);
}

phibal_status verify_case(const operation *o, const backend *b, uint64_t seed, uint64_t number,
                          tally *tallies) {
  for (int i = 0; i < OUTPUT_COUNT; i++)
    if (operation_owns(o, (output_id)i)) tally_case(&tallies[i], number);
  phibal_status status = run_one(o, b, seed, number, tallies);
  if (status == PHIBAL_OK) return PHIBAL_OK;
  char why[400];
  strncpy(why, phibal_status_message(), sizeof why - 1);
  why[sizeof why - 1] = 0;
  return phibal_status_set(status, "%s, case %llu (%s), could not be run: %s", o->name,
                           (unsigned long long)number, o->kind(number), why);
}

phibal_status verify_run(const operation *o, const backend *b, uint64_t seed, uint64_t first,
                         int64_t count, bool first_failure, tally *tallies) {
  for (int64_t i = 0; i < count; i++) {
    if (first_failure && !verify_passed(o, b, tallies, false)) break;
    phibal_status status =
        verify_case(o, b, seed, operation_number(o, first + (uint64_t)i), tallies);
    if (status != PHIBAL_OK) return status;
  }
  return PHIBAL_OK;
}

/* Cases differ in the tensors that they have, so several are looked at: small ones. */
enum { LOOK_FIRST = 40, LOOK_COUNT = 24 };

static bool gives_promise(const operation *o, const backend *b, output_id output) {
  bool found = false;
  for (uint64_t number = LOOK_FIRST; !found && number < LOOK_FIRST + LOOK_COUNT; number++) {
    operation_case c;
    if (operation_make(o, 1, number, &c) != PHIBAL_OK) continue;
    for (int i = 0; i < c.output_count; i++)
      found |= c.outputs[i].promise == output && b->has_output(b->context, o, c.outputs[i].name);
    operation_case_clear(&c);
  }
  return found;
}

bool verify_expects(const operation *o, const backend *b, output_id output) {
  if (output == OUTPUT_ROUTER_SAME_BITS) return b->repeat != NULL;
  return !b->has_output || gives_promise(o, b, output);
}

bool verify_passed(const operation *o, const backend *b, const tally *tallies, bool all_compared) {
  for (int i = 0; i < OUTPUT_COUNT; i++) {
    output_id output = (output_id)i;
    if (!operation_owns(o, output)) continue;
    if (tallies[i].failures > 0) return false;
    if (all_compared && tallies[i].elements == 0 && verify_expects(o, b, output)) return false;
  }
  return true;
}
