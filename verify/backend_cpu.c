/* The built-in CPU kernels as a backend. */
#include "operation.h"
#include <string.h>

/* operation_router.c */
phibal_status router_forward_repeat(const operation_case *c, tally *t);

static phibal_status cpu_run(void *context, operation_case *c) {
  (void)context;
  return c->operation->cpu(c);
}

static phibal_status cpu_repeat(void *context, const operation_case *c, tally *tallies) {
  (void)context;
  if (strcmp(c->operation->name, "router-forward") != 0) return PHIBAL_OK;
  return router_forward_repeat(c, &tallies[OUTPUT_ROUTER_SAME_BITS]);
}

const backend backend_cpu = {.name = "cpu", .run = cpu_run, .repeat = cpu_repeat};
