/* A potential from a file, for training: audited, and its kernel generated and loaded. */
#ifndef PHIBAL_CLI_TRAIN_POTENTIAL_H
#define PHIBAL_CLI_TRAIN_POTENTIAL_H

#include "build_features.h"
#include "moe/config/config.h"
#include <stdio.h>
#if PHIBAL_HAVE_REFERENCE
#include "audit/codegen.h"
#endif

typedef struct train_potential {
  model_potential prices;
  char *source;
#if PHIBAL_HAVE_REFERENCE
  codegen_kernel kernel;
#endif
} train_potential;

/* Sets config->balance.external to prices of config->potential_file, or of the copy that the run in
   the folder `run` (null: none) has of it; `parameter` is the name that --p and its like gave the
   parameter, or null. Refused with the reason where strict convexity for the run's number of
   experts, or the gradient given, is refuted, unless `force`: then, where convexity is not decided,
   and where the file is not what the copy is, `words` (null: nothing) says so. */
phibal_status train_potential_load(run_config *config, const char *run, const char *parameter,
                                   bool force, FILE *words, train_potential *potential);
void train_potential_close(train_potential *potential);

#endif
