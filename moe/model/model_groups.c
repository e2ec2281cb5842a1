/* Selection in groups of experts: a token's experts come from its best groups only.

   Experts of other groups are kept out by a bias in the selection, as DeepSeek's own code masks
   them with minus infinity; a mask of 0 would let them in wherever the biased scores of the good
   groups are negative. The router then does the rest: gates, probabilities and loads know nothing
   of groups. */
#include "model_internal.h"

#include "kernels/core/sigmoid.h"

#include <math.h>

/* Added to a score below 2^126 in size, in binary64 (router_forward.c), it gives less than any such
   score without. */
#define OUTSIDE (-0x1.8p127f)

/* For softmax routers the largest logit, whose probability is the group's largest; for sigmoid
   routers the sum of the two largest scores (transformers: DeepseekV3TopkRouter). */
static double group_score(const model_config *c, const float *logits, const float *bias) {
  const int32_t n = c->experts / c->expert_groups;
  double first = -HUGE_VAL, second = -HUGE_VAL;
  for (int32_t e = 0; e < n; e++) {
    double score =
        c->gate == PHIBAL_GATE_SIGMOID ? (double)core_sigmoid(logits[e]) : (double)logits[e];
    if (bias) score += (double)bias[e];
    if (score > first)
      second = first, first = score;
    else if (score > second)
      second = score;
  }
  return c->gate == PHIBAL_GATE_SIGMOID ? first + second : first;
}

/* Whether fewer than active_groups groups come before group g; ties go to the lower one. */
static bool group_is_active(const model_config *c, const double *score, int32_t g) {
  int32_t before = 0;
  for (int32_t other = 0; other < c->expert_groups; other++)
    before += score[other] > score[g] || (score[other] == score[g] && other < g);
  return before < c->active_groups;
}

void groups_bias(const model_config *c, const float *logits, const float *bias, float *selection) {
  const int32_t n = c->experts / c->expert_groups;
  double score[PHIBAL_MAX_EXPERTS];
  for (int32_t g = 0; g < c->expert_groups; g++)
    score[g] = group_score(c, logits + g * n, bias ? bias + g * n : NULL);
  for (int32_t g = 0; g < c->expert_groups; g++) {
    const bool in = group_is_active(c, score, g);
    for (int32_t e = g * n; e < (g + 1) * n; e++)
      selection[e] = in ? bias ? bias[e] : 0.0f : OUTSIDE;
  }
}
