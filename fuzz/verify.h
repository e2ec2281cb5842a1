/* `phibal verify`: every operation of the catalogue, generated cases, kernel against reference. */
#ifndef PHIBAL_FUZZ_VERIFY_H
#define PHIBAL_FUZZ_VERIFY_H

#include "compare.h"
#include <stdbool.h>

typedef struct verify_operation {
  const char *name; /* as in spec/ops.def */
  /* Runs one case and adds to the tallies of the operation's outputs (indexed by output_id). */
  phibal_status (*run)(uint64_t seed, uint64_t number, tally *tallies);
  const char *(*kind)(uint64_t number); /* what the case is, for people */
  int64_t cases;                        /* how many are run unless the caller says */
} verify_operation;

extern const verify_operation verify_operations[];
extern const int verify_operation_count;

/* Null if there is none of that name. */
const verify_operation *verify_find(const char *name);

/* Runs cases first .. first + count - 1 of one operation, or with first_failure up to the first
   case that fails; tallies is [OUTPUT_COUNT]. A status other than PHIBAL_OK means that a case could
   not be run at all (the message says which). */
phibal_status verify_run(const verify_operation *operation, uint64_t seed, uint64_t first,
                         int64_t count, bool first_failure, tally *tallies);

/* True if no output failed and, where all_compared, every output was compared at least once (a
   single case need not reach them all). */
bool verify_passed(const verify_operation *operation, const tally *tallies, bool all_compared);

/* The operations' case functions, by the file that holds them. */
phibal_status verify_core_exp(uint64_t seed, uint64_t number, tally *tallies);
phibal_status verify_core_expm1(uint64_t seed, uint64_t number, tally *tallies);
phibal_status verify_core_log(uint64_t seed, uint64_t number, tally *tallies);
phibal_status verify_core_log1p(uint64_t seed, uint64_t number, tally *tallies);
phibal_status verify_core_tanh(uint64_t seed, uint64_t number, tally *tallies);
phibal_status verify_core_sigmoid(uint64_t seed, uint64_t number, tally *tallies);
phibal_status verify_router_forward(uint64_t seed, uint64_t number, tally *tallies);
phibal_status verify_router_backward(uint64_t seed, uint64_t number, tally *tallies);
phibal_status verify_ema(uint64_t seed, uint64_t number, tally *tallies);
phibal_status verify_price(uint64_t seed, uint64_t number, tally *tallies);
phibal_status verify_balance_loss(uint64_t seed, uint64_t number, tally *tallies);
phibal_status verify_switch_loss(uint64_t seed, uint64_t number, tally *tallies);
phibal_status verify_sequence_loss(uint64_t seed, uint64_t number, tally *tallies);
phibal_status verify_z_loss(uint64_t seed, uint64_t number, tally *tallies);
phibal_status verify_loss_free(uint64_t seed, uint64_t number, tally *tallies);
phibal_status verify_permutation(uint64_t seed, uint64_t number, tally *tallies);
phibal_status verify_ffn(uint64_t seed, uint64_t number, tally *tallies);
phibal_status verify_combine(uint64_t seed, uint64_t number, tally *tallies);
phibal_status verify_metrics(uint64_t seed, uint64_t number, tally *tallies);

/* Names of the cases of the routing operations, of the vector operations, and of the cores. */
const char *verify_route_kind(uint64_t number);
const char *verify_vector_kind(uint64_t number);
const char *verify_core_kind(uint64_t number);
const char *verify_expert_kind(uint64_t number);

#endif
