/* Loss, accuracy and loads of a model on a token file, by domain. Windows never cross domains, so
   one forward pass over the file gives the exact loads of each domain, and no token has another
   domain in its context. The first token of a domain's stretch is not a target. Files of examples
   use the windows of mixture_pack. */
#ifndef PHIBAL_MOE_EVALUATE_H
#define PHIBAL_MOE_EVALUATE_H

#include "moe/data/mixture.h"
#include "moe/model/model.h"
#include <jansson.h>
#include <phibal/metrics.h>

typedef struct evaluation_window {
  int64_t start;
  int32_t length;  /* tokens, 1 .. sequence */
  int32_t targets; /* length, or one less at the end of a domain's stretch; boundaries, and what
                      is not learned, take more */
  int32_t domain;
} evaluation_window;

/* Which windows an evaluation reads: grouped by domain, in file order within. */
typedef struct evaluation_plan {
  const token_file *file;
  int32_t sequence;
  bool boundaries; /* a window's documents do not know of each other; examples never do */
  int64_t windows;
  evaluation_window *window;
  mixture_examples examples; /* of all the file's windows */
} evaluation_plan;

/* At most `limit` windows (0: all), spread evenly over the file. PHIBAL_ERROR_ARGUMENT if the file
   has no token to predict, or only examples that are longer than a sequence. */
phibal_status evaluation_plan_create(const token_file *file, int32_t sequence, int64_t limit,
                                     bool boundaries, evaluation_plan *plan);
void evaluation_plan_destroy(evaluation_plan *plan);

typedef struct evaluation_score {
  double cross_entropy; /* sum, nats */
  int64_t correct, targets;
} evaluation_score;

typedef struct evaluation {
  int32_t domains, moe_layers;
  evaluation_score all;
  evaluation_score *domain; /* [domains] */
  phibal_loads *loads;      /* [domains + 1][moe_layers]; the last row is the sum */
  int64_t *sequences;       /* [domains + 1] evaluated; the last is the sum */
  double *sequence_maxvio;  /* [domains + 1][moe_layers] MaxVio of loads of each, added up (V6) */
  int64_t left_out;         /* examples longer than a sequence */
  double seconds;
} evaluation;

/* batch: sequences at once, at most what the model was created for. */
phibal_status evaluation_run(model *m, const model_config *config, const evaluation_plan *plan,
                             int32_t batch, evaluation *result);
void evaluation_destroy(evaluation *e);

static inline const phibal_loads *evaluation_loads(const evaluation *e, int32_t domain,
                                                   int32_t moe_layer) {
  return &e->loads[domain * e->moe_layers + moe_layer];
}

/* (V6): the mean over the sequences of a domain (`domains`: of all), which has some. */
static inline double evaluation_sequence_maxvio(const evaluation *e, int32_t domain,
                                                int32_t moe_layer) {
  return e->sequence_maxvio[domain * e->moe_layers + moe_layer] / (double)e->sequences[domain];
}

/* How balanced loads are (SPEC.md V1 to V4): LOADS of the selection counts, MEAN of the mean
   probabilities. */
typedef enum balance_metric {
  MAXVIO_LOADS,
  MAXVIO_MEAN,
  GINI_LOADS,
  GINI_MEAN,
  ENTROPY_LOADS,
  ENTROPY_MEAN,
  BALANCE_METRICS
} balance_metric;
extern const char *const balance_metric_names[BALANCE_METRICS]; /* "maxvio_loads" and so on */

phibal_status balance_metrics_compute(const phibal_loads *loads, double metrics[BALANCE_METRICS]);
json_t *balance_metrics_json(const double metrics[BALANCE_METRICS]);

#endif
