/* Results of a run as JSON: evaluation lines and result.json. */
#ifndef PHIBAL_MOE_RESULT_H
#define PHIBAL_MOE_RESULT_H

#include "moe/config/config.h"
#include "evaluate.h"

/* What a run counts while it goes, over all its resumptions; seconds are wall-clock. */
typedef struct run_totals {
  int64_t steps, tokens;
  int64_t sequences; /* of the training data, read: where the next step begins */
  bool stopped;
  int32_t threads, ranks;
  double loss; /* of the last step */
  double step_seconds, data_seconds, optimizer_seconds, evaluation_seconds;
  model_times model; /* sums over the steps */
} run_totals;

/* One evaluation: loss, accuracy and targets, of all and by domain; balance by layer, with the mean
   and the worst over layers (layers are never pooled: one's collapse would hide behind another);
   routed-token ratios (SPEC.md V5) [layer][domain][expert], null for a domain without tokens. */
phibal_status result_evaluation(const evaluation *e, const run_config *config,
                                const token_file *file, json_t **json);

/* What `phibal eval-model` adds: perplexity, in all and by domain, and the balance of each domain
   by itself, domain_balance [layer][domain], null for a domain without tokens. */
phibal_status result_details(const evaluation *e, json_t *json);

/* result.json; `final` is null where nothing was evaluated. examples: of the training data; digest:
   of the model (model_digest). */
phibal_status result_build(const run_config *config, const run_totals *totals,
                           const mixture_examples *examples, const char *digest,
                           const evaluation *final, const token_file *validation, json_t **json);

/* "phi, negentropy", "phi, lp p=3", "switch" ... */
void result_label(const run_config *config, char *label, size_t size);

#endif
