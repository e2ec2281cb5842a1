#include "trace_script.h"
#include <math.h>
#include <string.h>

static const flag_id feature_flags[] = {
#define FEATURE(ID, flag) flag,
    TRACE_FEATURE_LIST(FEATURE)
#undef FEATURE
};

uint32_t trace_feature_set(uint64_t i, int n) {
  if (i == 0) return 0;
  if (i <= (uint64_t)n) return UINT32_C(1) << (i - 1);
  if (i == (uint64_t)TRACE_SETS(n) - 1) return (UINT32_C(1) << n) - 1;
  i -= 1 + (uint64_t)n;
  for (int a = 0;; a++) {
    const uint64_t with_a = (uint64_t)(n - 1 - a);
    if (i < with_a) return UINT32_C(1) << a | UINT32_C(1) << (a + 1 + (int)i);
    i -= with_a;
  }
}

flag_id trace_first_flag(uint32_t features) {
  for (int feature = 0; feature < TRACE_FEATURES; feature++)
    if (features >> feature & 1) return feature_flags[feature];
  return FLAG_ORDINARY;
}

/* No two scores of a token are equal, whatever multiple of 2^-8 the biases are: nothing here is
   about ties. */
static void draw_tokens(trace_script *s, bool nothing, bool crowded) {
  float *x = s->logits + s->events * s->T * s->E;
  uint8_t *mask = s->mask + s->events * s->T;
  const int64_t length = s->T / s->sequences;
  int64_t valid = 0;
  for (int64_t t = 0; t < s->T; t++) {
    if (t % length == 0) {
      const bool padded = trace_has(s, TRACE_HAS_PADDING) &&
                          (s->sequences == 1 || (t / length + s->events) % 2 == 0);
      valid = nothing ? 0 : padded ? random_integer(&s->r, 1, length - 1) : length;
    }
    mask[t] = t % length < valid;
    for (int64_t e = 0; e < s->E; e++) {
      double logit = floor(256 * random_normal(&s->r)) / 256 + (double)e / 4096;
      /* What must not be counted would change all counts. */
      if ((crowded || !mask[t]) && e == 0) logit += 16;
      if (s->crowded && e == 0) logit += 6;
      if (s->balanced) logit = logit / 4 + ((e + s->E - t * s->k % s->E) % s->E < s->k ? 8 : -8);
      if (trace_has(s, TRACE_HAS_SHIFTED)) logit -= 64;
      x[t * s->E + e] = (float)logit;
    }
  }
}

static void add_event(trace_script *s, trace_event event, int32_t rank, bool nothing) {
  const bool observe = event == TRACE_STEP || (s->between && event != TRACE_FORWARD);
  s->between = observe;
  s->observed += observe;
  s->forwards += event == TRACE_FORWARD;
  if (s->event) {
    if (s->observe) s->observe[s->events] = observe;
    s->event[s->events] = (int32_t)event;
    s->rank[s->events] = rank;
    if (event == TRACE_FORWARD || event == TRACE_EVALUATE)
      draw_tokens(s, nothing, event == TRACE_EVALUATE);
    if (event == TRACE_RECOMPUTE) { /* what this rank has just computed */
      const int64_t tokens = s->T, row = s->T * s->E, at = s->events;
      memcpy(s->logits + at * row, s->logits + (at - 1) * row, (size_t)row * sizeof *s->logits);
      memcpy(s->mask + at * tokens, s->mask + (at - 1) * tokens, (size_t)tokens);
    }
  }
  s->events++;
}

void trace_draw(trace_script *s) {
  s->events = s->forwards = s->observed = 0;
  s->between = false;
  for (int step = 0; step < TRACE_STEPS; step++) {
    const int64_t few = trace_has(s, TRACE_HAS_MICRO_BATCHES) ? 2 + step % 2 : 1;
    const int64_t batches = step == 1 && s->batches ? s->batches : few;
    const int32_t ranks = trace_has(s, TRACE_HAS_RANKS) ? 2 : 1;
    for (int64_t batch = 0; batch < batches; batch++)
      for (int32_t rank = 0; rank < ranks; rank++) {
        const bool nothing =
            trace_has(s, TRACE_HAS_NO_TOKEN) && step == 1 && batch == 0 && rank == 0;
        add_event(s, TRACE_FORWARD, rank, nothing);
        /* In part, as is usual: tokens that are counted twice weigh more than others then. */
        if (trace_has(s, TRACE_HAS_RECOMPUTATION) && batch == 0 && rank == 0)
          add_event(s, TRACE_RECOMPUTE, rank, false);
        if (trace_has(s, TRACE_HAS_EVALUATION) && batch == 0)
          add_event(s, TRACE_EVALUATE, rank, false);
      }
    add_event(s, TRACE_STEP, 0, false);
    if (trace_has(s, TRACE_HAS_EVALUATION) && step == 0) add_event(s, TRACE_EVALUATE, 0, false);
    if (trace_has(s, TRACE_HAS_RELOADING) && step < 2) add_event(s, TRACE_RELOAD, 0, false);
    if (trace_has(s, TRACE_HAS_CASTING) && step == 0) add_event(s, TRACE_CAST, 0, false);
  }
}

phibal_status trace_write(operation_case *c, trace_script *s, bool observe) {
  trace_draw(s);
  s->event = case_add_input(c, "events", TENSOR_I32, 1, s->events);
  s->rank = case_add_input(c, "rank", TENSOR_I32, 1, s->events);
  if (observe) s->observe = case_add_input(c, "observe", TENSOR_U8, 1, s->events);
  s->logits = case_add_input(c, "event-logits", TENSOR_F32, 3, s->events, s->T, s->E);
  s->mask = case_add_input(c, "event-mask", TENSOR_U8, 2, s->events, s->T);
  if (case_status(c) != PHIBAL_OK) return case_status(c);
  trace_draw(s);
  for (int feature = 0; feature < TRACE_FEATURES; feature++)
    if (trace_has(s, feature)) case_flag(c, feature_flags[feature]);
  if (trace_has(s, TRACE_HAS_NO_TOKEN)) case_flag(c, FLAG_PADDING);
  return PHIBAL_OK;
}
