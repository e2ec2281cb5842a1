/* The list of operations, and the loop over their cases. Every output of spec/ops.def belongs to
   one of them: an output that nothing compares does not pass. */
#include "verify.h"
#include <string.h>

const verify_operation verify_operations[] = {
    {"exp", verify_core_exp, verify_core_kind, 40},
    {"expm1", verify_core_expm1, verify_core_kind, 40},
    {"log", verify_core_log, verify_core_kind, 40},
    {"log1p", verify_core_log1p, verify_core_kind, 40},
    {"tanh", verify_core_tanh, verify_core_kind, 40},
    {"sigmoid", verify_core_sigmoid, verify_core_kind, 40},
    {"router-forward", verify_router_forward, verify_route_kind, 200},
    {"router-backward", verify_router_backward, verify_route_kind, 200},
    {"ema", verify_ema, verify_vector_kind, 240},
    {"price", verify_price, verify_vector_kind, 864},
    {"balance-loss", verify_balance_loss, verify_vector_kind, 864},
    {"switch-loss", verify_switch_loss, verify_vector_kind, 240},
    {"sequence-loss", verify_sequence_loss, verify_route_kind, 60},
    {"z-loss", verify_z_loss, verify_vector_kind, 100},
    {"loss-free", verify_loss_free, verify_vector_kind, 240},
    {"permutation", verify_permutation, verify_expert_kind, 60},
    {"expert-ffn", verify_ffn, verify_expert_kind, 60},
    {"combine", verify_combine, verify_expert_kind, 60},
    {"metrics", verify_metrics, verify_vector_kind, 400},
};
const int verify_operation_count = sizeof verify_operations / sizeof *verify_operations;

const verify_operation *verify_find(const char *name) {
  for (int i = 0; i < verify_operation_count; i++)
    if (strcmp(name, verify_operations[i].name) == 0) return &verify_operations[i];
  return NULL;
}

static bool belongs(const verify_operation *operation, int output) {
  return strcmp(output_describe((output_id)output)->operation, operation->name) == 0;
}

phibal_status verify_run(const verify_operation *operation, uint64_t seed, uint64_t first,
                         int64_t count, bool first_failure, tally *tallies) {
  for (int o = 0; o < OUTPUT_COUNT; o++)
    if (belongs(operation, o)) tally_start(&tallies[o], (output_id)o);
  for (int64_t i = 0; i < count; i++) {
    uint64_t number = first + (uint64_t)i;
    for (int o = 0; o < OUTPUT_COUNT; o++)
      if (belongs(operation, o)) tally_case(&tallies[o], number);
    phibal_status status = operation->run(seed, number, tallies);
    if (status != PHIBAL_OK) {
      char why[400];
      strncpy(why, phibal_status_message(), sizeof why - 1);
      why[sizeof why - 1] = 0;
      return phibal_status_set(status, "%s, case %llu (%s), could not be run: %s", operation->name,
                               (unsigned long long)number, operation->kind(number), why);
    }
    if (first_failure && !verify_passed(operation, tallies, false)) break;
  }
  return PHIBAL_OK;
}

bool verify_passed(const verify_operation *operation, const tally *tallies, bool all_compared) {
  for (int o = 0; o < OUTPUT_COUNT; o++)
    if (belongs(operation, o) &&
        (tallies[o].failures > 0 || (all_compared && tallies[o].elements == 0)))
      return false;
  return true;
}
