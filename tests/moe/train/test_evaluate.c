/* The loads of single sequences in an evaluation (SPEC.md V6), against a count of each sequence by
   itself. */
#include "moe/train/evaluate.h"
#include "tests/moe/train_case.h"
#include <criterion/criterion.h>
#include <stdlib.h>

TestSuite(evaluate, .init = train_case_create, .fini = train_case_remove);

/* (V1) of one window: the model reads it alone, and what its routers counted is divided by hand. */
static void count_alone(model *m, const token_file *file, const evaluation_window *w,
                        phibal_loads *loads, double *maxvio) {
  int32_t tokens[SEQUENCE], targets[SEQUENCE];
  model_losses losses;
  for (int32_t i = 0; i < SEQUENCE; i++) {
    tokens[i] = i < w->length ? token_file_at(file, w->start + i) : -1;
    targets[i] = i < w->targets ? token_file_at(file, w->start + i + 1) : -1;
  }
  for (int32_t l = 0; l < model_moe_layers(m); l++) phibal_loads_clear(&loads[l]);
  cr_assert_eq(model_evaluate(m, 1, tokens, targets, &losses, loads), PHIBAL_OK);
  for (int32_t l = 0; l < model_moe_layers(m); l++) {
    int64_t most = 0;
    for (int32_t e = 0; e < loads[l].experts; e++)
      if (loads[l].count[e] > most) most = loads[l].count[e];
    maxvio[l] = (double)(loads[l].experts * most) / (double)(loads[l].active * w->length) - 1;
  }
}

/* Domains whose last windows are short, a dense layer below the others, and batches that end in the
   middle of a domain; layers recomputed or not. The means neither pool sequences nor count padding,
   and do not depend on the batch. */
Test(evaluate, single_sequences) {
  static const char *const recompute[] = {"none", "layers"};
  enum { LAYERS = 2, DOMAINS = 2 };
  for (int r = 0; r < 2; r++) {
    run_config config;
    token_file file;
    evaluation_plan plan;
    model *m;
    configure(&config, PAIRS("model.layers", "3", "model.dense_layers", "1", "training.recompute",
                             recompute[r]));
    cr_assert_eq(token_file_open(config.data.validation, &file), PHIBAL_OK);
    cr_assert_eq(evaluation_plan_create(&file, SEQUENCE, 0, false, &plan), PHIBAL_OK);
    cr_assert_eq(model_create(&config.model, &config.balance, 4, 7, &m), PHIBAL_OK);
    cr_assert_eq(model_moe_layers(m), LAYERS);
    const phibal_router router = {.experts = 4, .active = 2, .scale = 1};
    phibal_loads loads[LAYERS];
    for (int l = 0; l < LAYERS; l++)
      cr_assert_eq(phibal_loads_create(&router, &loads[l]), PHIBAL_OK);
    double sum[DOMAINS + 1][LAYERS] = {0}, maxvio[LAYERS];
    int64_t windows[DOMAINS + 1] = {0}, shorter = 0;
    for (int64_t w = 0; w < plan.windows; w++) {
      const int32_t domain = plan.window[w].domain;
      count_alone(m, &file, &plan.window[w], loads, maxvio);
      shorter += plan.window[w].length < SEQUENCE;
      windows[domain]++, windows[DOMAINS]++;
      for (int l = 0; l < LAYERS; l++) sum[domain][l] += maxvio[l], sum[DOMAINS][l] += maxvio[l];
    }
    cr_assert(shorter >= 2 && windows[0] % 2 == 1 && windows[0] > 4);
    evaluation first, again;
    cr_assert_eq(evaluation_run(m, &config.model, &plan, 1, &first), PHIBAL_OK);
    for (int32_t batch = 2; batch <= 4; batch++) {
      cr_assert_eq(evaluation_run(m, &config.model, &plan, batch, &again), PHIBAL_OK);
      for (int d = 0; d <= DOMAINS; d++)
        for (int l = 0; l < LAYERS; l++) {
          const double found = evaluation_sequence_maxvio(&again, d, l);
          cr_expect_eq(again.sequences[d], windows[d]);
          cr_expect_eq(found, evaluation_sequence_maxvio(&first, d, l));
          cr_expect_float_eq(found, sum[d][l] / (double)windows[d], 1e-13, "%d %d: %g", d, l,
                             found);
          /* Sequences of their own are less even than their sum; equal, the test would see none. */
          double metrics[BALANCE_METRICS];
          cr_assert_eq(balance_metrics_compute(evaluation_loads(&again, d, l), metrics), PHIBAL_OK);
          cr_expect_gt(found, metrics[MAXVIO_LOADS] + 0.01);
        }
      evaluation_destroy(&again);
    }
    evaluation_destroy(&first);
    for (int l = 0; l < LAYERS; l++) phibal_loads_destroy(&loads[l]);
    model_destroy(m);
    evaluation_plan_destroy(&plan);
    token_file_close(&file);
  }
}
