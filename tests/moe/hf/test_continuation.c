/* model_continue: a text that grows, with the keys and values of the tokens before, has in every
   row the bits of a call for the whole text; of every family, over the blocks of attention, with
   one thread and two. The reference is model_evaluate on the whole window, and on padded ones. */
#include "parity.h"

#include <criterion/criterion.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

enum { S = 150 }; /* attention makes 64 rows at a time */

static void window(model_config *c) {
  c->sequence = S;
}

static void recomputed(model_config *c) {
  c->sequence = S;
  c->recompute = RECOMPUTE_LAYERS;
}

typedef struct growing {
  parity p;
  int64_t v;
  int32_t tokens[2 * S], targets[2 * S]; /* of two sequences; no targets */
  float *whole;                          /* [S][v] logits of the first, by one call for both */
  float *row;                            /* [v] */
} growing;

static void begin(const char *name, growing *g) {
  parity_open(name, window, &g->p);
  g->v = g->p.config.vocabulary;
  g->whole = malloc((size_t)(S * g->v) * sizeof(float));
  g->row = malloc((size_t)g->v * sizeof(float));
  cr_assert(g->whole && g->row);
  uint64_t state = 88172645463325252u;
  for (int i = 0; i < 2 * S; i++) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    g->tokens[i] = (int32_t)(state % (uint64_t)g->v);
    g->targets[i] = -1;
  }
  model_losses losses;
  cr_assert_eq(model_evaluate(g->p.m, 2, g->tokens, g->targets, &losses, NULL), PHIBAL_OK, "%s: %s",
               name, phibal_status_message());
  for (int i = 0; i < S; i++) model_logits(g->p.m, i, g->whole + i * g->v);
}

static void end(growing *g) {
  free(g->whole);
  free(g->row);
  parity_close(&g->p);
}

/* The next `count` tokens, of which every row is as it was in the whole text. */
static void grow(growing *g, const char *name, int32_t first, int32_t count) {
  cr_assert_eq(model_continue(g->p.m, first, count, g->tokens + first), PHIBAL_OK, "%s: %s", name,
               phibal_status_message());
  for (int32_t i = 0; i < count; i++) {
    model_logits(g->p.m, i, g->row);
    cr_assert_eq(memcmp(g->row, g->whole + (first + i) * g->v, (size_t)g->v * sizeof(float)), 0,
                 "%s: position %d of a call from %d on", name, first + i, first);
  }
}

/* Other bits would be missed if the rows did not depend on what is before them: token 0 replaced,
   every later row is another. */
static void depends(growing *g, const char *name) {
  const int32_t kept = g->tokens[0];
  g->tokens[0] = (kept + 1) % (int32_t)g->v;
  cr_assert_eq(model_continue(g->p.m, 0, 2, g->tokens), PHIBAL_OK);
  model_logits(g->p.m, 1, g->row);
  cr_expect_neq(memcmp(g->row, g->whole + g->v, (size_t)g->v * sizeof(float)), 0, "%s", name);
  g->tokens[0] = kept;
}

static void check(const char *name, bool all) {
  static const int32_t prompts[] = {1, 2, 63, 64, 65, 127, 128, 129, S - 1, S};
  growing g;
  begin(name, &g);
  /* Token by token from prompts of several lengths, to the window's end. */
  for (size_t i = 0; i < sizeof prompts / sizeof *prompts; i++) {
    if (!all && i % 3) continue;
    grow(&g, name, 0, prompts[i]);
    for (int32_t n = prompts[i]; n < S; n++) grow(&g, name, n, 1);
  }
  /* Steps of other sizes; back to an earlier position, behind a pass over the whole text too. */
  for (int32_t n = 0, step = 1; n < S; n += step, step = step * 2 < S - n ? step * 2 : S - n)
    grow(&g, name, n, step < S - n ? step : S - n);
  grow(&g, name, 70, 3);
  grow(&g, name, 5, 60);
  depends(&g, name);
  grow(&g, name, 0, 1);
  /* A text behind which there is padding, as it was computed without kept keys. */
  for (size_t i = 0; i < sizeof prompts / sizeof *prompts; i++) {
    const int32_t n = prompts[i];
    int32_t padded[S];
    model_losses losses;
    for (int32_t j = 0; j < S; j++) padded[j] = j < n ? g.tokens[j] : -1;
    cr_assert_eq(model_evaluate(g.p.m, 1, padded, g.targets, &losses, NULL), PHIBAL_OK);
    model_logits(g.p.m, n - 1, g.row);
    cr_expect_eq(memcmp(g.row, g.whole + (n - 1) * g.v, (size_t)g.v * sizeof(float)), 0,
                 "%s: %d tokens and padding", name, n);
    if (n < S) grow(&g, name, n, 1);
    cr_expect_eq(model_continue(g.p.m, n + 2, 1, g.tokens), PHIBAL_ERROR_ARGUMENT);
  }
  end(&g);
}

Test(continuation, every_family) {
  for (int threads = 1; threads <= 2; threads++) {
    omp_set_num_threads(threads);
    for (int i = 0; i < parity_count; i++) check(parity_names[i], threads == 1);
  }
}

/* A step of training in between leaves nothing to go on from. */
Test(continuation, refusals) {
  growing g;
  begin("olmoe", &g);
  const float before = model_parameters(g.p.m)[0];
  grow(&g, "olmoe", 0, 4);
  cr_expect_eq(model_continue(g.p.m, 5, 1, g.tokens), PHIBAL_ERROR_ARGUMENT);
  cr_expect(strstr(phibal_status_message(), "keys and values of 4"));
  cr_expect_eq(model_continue(g.p.m, -1, 1, g.tokens), PHIBAL_ERROR_ARGUMENT);
  cr_expect_eq(model_continue(g.p.m, 4, 0, g.tokens), PHIBAL_ERROR_ARGUMENT);
  cr_expect_eq(model_continue(g.p.m, 4, S - 3, g.tokens), PHIBAL_ERROR_ARGUMENT);
  cr_expect_eq(model_continue(g.p.m, 4, 1, &(int32_t){-1}), PHIBAL_ERROR_ARGUMENT);
  cr_expect_eq(model_continue(g.p.m, 4, 1, &(int32_t){(int32_t)g.v}), PHIBAL_ERROR_ARGUMENT);
  grow(&g, "olmoe", 4, 2);
  model_losses losses;
  for (int i = 0; i < S; i++) g.targets[i] = 1;
  cr_assert_eq(model_step_begin(g.p.m, model_batch_count(S, g.tokens, g.targets)), PHIBAL_OK);
  cr_assert_eq(model_forward_backward(g.p.m, 1, g.tokens, g.targets, &losses), PHIBAL_OK);
  cr_assert_eq(model_step_finish(g.p.m), PHIBAL_OK);
  cr_expect_eq(model_continue(g.p.m, 6, 1, g.tokens), PHIBAL_ERROR_ARGUMENT);
  cr_expect_eq(model_parameters(g.p.m)[0], before);
  end(&g);
  parity_open("olmoe", recomputed, &g.p);
  cr_expect_eq(model_continue(g.p.m, 0, 1, g.tokens), PHIBAL_ERROR_UNSUPPORTED);
  cr_expect(strstr(phibal_status_message(), "recomputed"));
  parity_close(&g.p);
}
