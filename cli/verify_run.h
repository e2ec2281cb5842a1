/* What `phibal verify` runs and reports, once its arguments are read. */
#ifndef PHIBAL_CLI_VERIFY_RUN_H
#define PHIBAL_CLI_VERIFY_RUN_H

#include "verify/operation.h"
#include <stdbool.h>

typedef struct verify_request {
  uint64_t seed;
  int64_t cases; /* 0: each operation's own number */
  int64_t first; /* the first of them */
  int64_t only;  /* -1: all */
  bool small;    /* cases from SMALL_CASES on */
  bool first_failure;
  bool chosen[64]; /* by place in operations */
  bool any_chosen;
  double budget; /* seconds; 0: none */
  bool json;
  const char *junit, *certificate; /* files, or null */
  const char *device;              /* null: the processor */
} verify_request;

/* Prints, writes the files asked for, and returns the exit status. */
int verify_run_all(const verify_request *request, const backend *b);

#endif
