/* Each property that some cases have is a hypothesis: its cases fail with an unknown probability x,
   uniform in [0, 1], and others by some other bug or an oversight of the hypothesis, with a
   probability y of mean 1/100 and the density 99 (1 - y)^98. Of a property with a failed and b
   passed cases, where c others failed and d passed, the evidence is the log of

     integral of x^a (1 - x)^b dx  =  a! b! / (a + b + 1)!   times
     integral of 99 y^c (1 - y)^(d + 98) dy  =  99 c! (d + 98)! / (c + d + 99)!,

   so that of two properties that hold all failed cases the one with fewer passed ones is the
   better: the narrowest explanation. That all cases have a property is the hypothesis `ordinary`,
   whose bugs make nearly everything wrong: its probability has the density 2 x, and not 1.
   To the evidence comes what is known before: a flag's bug is a known one, some bugs show in
   certain outputs alone, and where a parameter was drawn, that two cases have the same value is
   chance. A passed case of no token says nothing, and a property of all cases no more than
   `ordinary`; and where all experts are right, their order is no cause. */
#include "diagnosis.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct property {
  judged_cause cause;
  int64_t last; /* the case that was counted last, so that none counts twice */
  double score;
  bool drawn; /* a value of a real parameter that is no whole number */
} property;

typedef struct diagnosis {
  property *list;
  int64_t count, room;
  bool failed; /* no memory */
} diagnosis;

static property *note(diagnosis *d, const char *name, flag_id flag, int64_t place, bool failed) {
  int64_t i = 0;
  while (i < d->count && strcmp(d->list[i].cause.name, name) != 0) i++;
  if (i == d->count) {
    if (d->count == d->room) {
      const int64_t room = d->room ? 2 * d->room : 128;
      property *more = realloc(d->list, sizeof *more * (size_t)room);
      d->failed |= !more;
      if (!more) return NULL;
      d->list = more;
      d->room = room;
    }
    d->list[d->count++] = (property){.cause = {.flag = flag}, .last = -1};
    snprintf(d->list[i].cause.name, sizeof d->list[i].cause.name, "%s", name);
  }
  property *p = &d->list[i];
  if (p->last == place) return p;
  p->last = place;
  if (failed)
    p->cause.failed++;
  else
    p->cause.passed++;
  return p;
}

static int64_t size_of(const json_t *shape, int64_t from_the_last) {
  const int64_t rank = (int64_t)json_array_size(shape);
  return rank < from_the_last
             ? -1
             : json_integer_value(json_array_get(shape, (size_t)(rank - from_the_last)));
}

static const json_t *shape_of_input(const json_t *inputs, const char *name) {
  return json_object_get(json_object_get(inputs, name), "shape");
}

static void note_size(diagnosis *d, const char *name, int64_t n, int64_t place, bool failed) {
  static const int64_t steps[] = {512, 256, 128, 64, 32, 16, 8, 1}; /* narrow first */
  char text[80];
  if (n < 0) return;
  snprintf(text, sizeof text, "%s=%" PRId64, name, n);
  if (n <= 1) note(d, text, FLAG_COUNT, place, failed);
  for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
    if (n > steps[i]) {
      snprintf(text, sizeof text, "%s>%" PRId64, name, steps[i]);
      note(d, text, FLAG_COUNT, place, failed);
    }
  for (int64_t of = 2; of <= 32; of *= 2)
    if (n % of) {
      snprintf(text, sizeof text, "%s not a multiple of %" PRId64, name, of);
      note(d, text, FLAG_COUNT, place, failed);
    }
}

static void note_parameter(diagnosis *d, const char *name, const json_t *value, int64_t place,
                           bool failed) {
  char text[80];
  if (json_is_string(value)) {
    snprintf(text, sizeof text, "%.30s=%.40s", name, json_string_value(value));
    note(d, text, FLAG_COUNT, place, failed);
  } else if (json_is_integer(value)) {
    const json_int_t n = json_integer_value(value);
    snprintf(text, sizeof text, "%.30s=%" PRId64, name, (int64_t)n);
    note(d, text, FLAG_COUNT, place, failed);
    snprintf(text, sizeof text, "%.30s>1", name);
    if (n > 1) note(d, text, FLAG_COUNT, place, failed);
  } else if (json_is_real(value)) {
    const double x = json_real_value(value);
    snprintf(text, sizeof text, "%.30s=%g", name, x);
    property *p = note(d, text, FLAG_COUNT, place, failed);
    if (p) p->drawn = x > floor(x);
    snprintf(text, sizeof text, "%.30s!=1", name);
    if (x < 1 || x > 1) note(d, text, FLAG_COUNT, place, failed);
  }
}

static void note_case(diagnosis *d, const diagnosed_case *c, int64_t place) {
  const json_t *parameters = json_object_get(c->described, "parameters");
  const json_t *inputs = json_object_get(c->described, "inputs"), *logits, *experts;
  const char *name;
  json_t *value;
  for (int f = 0; f < FLAG_COUNT; f++)
    if (f != FLAG_ORDINARY && flag_set_has(&c->flags, f))
      note(d, flag_describe((flag_id)f)->name, (flag_id)f, place, c->failed);
  char text[80];
  snprintf(text, sizeof text, "operation=%.40s",
           json_string_value(json_object_get(c->described, "operation")));
  note(d, text, FLAG_COUNT, place, c->failed);
  json_object_foreach((json_t *)parameters, name, value) {
    if (!strcmp(name, "experts"))
      note_size(d, "E", json_integer_value(value), place, c->failed);
    else
      note_parameter(d, name, value, place, c->failed);
  }
  static const char *const optional[] = {"mask", "bias", "price", "gate-gradient"};
  for (size_t i = 0; i < sizeof optional / sizeof *optional; i++) {
    snprintf(text, sizeof text, "%s=%s", optional[i],
             json_object_get(inputs, optional[i]) ? "given" : "absent");
    note(d, text, FLAG_COUNT, place, c->failed);
  }
  if ((logits = shape_of_input(inputs, "logits"))) {
    note_size(d, "E", size_of(logits, 1), place, c->failed);
    note_size(d, "T", size_of(logits, 2), place, c->failed);
    note_size(d, "L", size_of(logits, 3), place, c->failed);
    const int64_t k = json_integer_value(json_object_get(parameters, "k"));
    if (k == size_of(logits, 1)) note(d, "k=E", FLAG_COUNT, place, c->failed);
  } else if ((experts = shape_of_input(inputs, "experts"))) {
    note_size(d, "T", size_of(experts, 2), place, c->failed);
  }
  if (!json_object_get(parameters, "experts") && !logits)
    note_size(d, "E", size_of(shape_of_input(inputs, "counts"), 1), place, c->failed);
  static const char *const wide[] = {"x", "y"};
  for (int i = 0; i < 2; i++)
    if (size_of(shape_of_input(inputs, wide[i]), 2) >= 0) {
      note_size(d, "d", size_of(shape_of_input(inputs, wide[i]), 1), place, c->failed);
      break;
    }
  note_size(d, "f", size_of(shape_of_input(inputs, "w-gate"), 2), place, c->failed);
}

/* Bugs that show in these outputs and in no other. */
static const struct {
  flag_id flag;
  const char *outputs[6];
} shown_in[] = {
    {FLAG_AUX_GRADIENT, {"logit-gradient"}},
    {FLAG_CONSTANT_PRICE, {"logit-gradient"}},
    {FLAG_ZERO_ROW_SUM, {"logit-gradient"}},
    {FLAG_T_NORMALISATION, {"loss", "losses", "logit-gradient"}},
    {FLAG_K_NORMALISATION, {"frequencies", "loss", "losses", "logit-gradient", "centred"}},
    {FLAG_NEW_STATE, {"m", "bias", "loss", "logit-gradient"}},
    {FLAG_RENORMALISED, {"gates"}},
    {FLAG_SCALE, {"gates", "logit-gradient"}},
    {FLAG_LOSS_FREE_SIGN, {"bias"}},
    {FLAG_RUNNING_PREFIX, {"loss", "losses", "logit-gradient"}},
    {FLAG_UNEVEN_TOKENS, {"loss", "losses", "logit-gradient"}},
    {FLAG_UNEVEN_SEQUENCES, {"loss", "losses", "logit-gradient"}},
    {FLAG_UNEVEN_WEIGHTS, {"loss", "logit-gradient"}},
    {FLAG_ROUTING_MAP, {"loss", "losses", "counts", "logit-gradient"}},
    {FLAG_DOUBLE_SOFTMAX, {"loss", "losses", "logit-gradient"}},
    {FLAG_REPLAYED_PADDING, {"offsets", "source", "row", "gathered", "x-gradient"}},
    {FLAG_BIASED_GATES, {"gates"}},
    {FLAG_SEQUENCES, {"loss", "losses", "logit-gradient"}},
    {FLAG_FROZEN, {"w-gate-gradient", "w-up-gradient", "w-down-gradient"}},
    {FLAG_CAPACITY_ROUNDING, {"capacity"}},
    {FLAG_CAPACITY_FIT, {"kept", "place", "dropped", "gates", "gate-gradient"}},
    {FLAG_KEPT_GATES, {"gates", "gate-gradient"}},
};

static bool is_among(const char *name, size_t length, const char *const *names) {
  for (int i = 0; i < 6 && names[i]; i++)
    if (strlen(names[i]) == length && memcmp(names[i], name, length) == 0) return true;
  return false;
}

/* 1 if all that is wrong is in outputs where the flag's bug shows, 0 if the flag says nothing of
   outputs, -1 if something else is wrong. */
static int fits_outputs(flag_id flag, const diagnosed_case *cases, int64_t count) {
  for (size_t row = 0; row < sizeof shown_in / sizeof *shown_in; row++) {
    if (shown_in[row].flag != flag) continue;
    for (int64_t i = 0; i < count; i++)
      for (const char *at = cases[i].failed ? cases[i].wrong : ""; *at;) {
        const size_t length = strcspn(at, " ");
        if (length && !is_among(at, length, shown_in[row].outputs)) return -1;
        at += length + (at[length] == ' ');
      }
    return 1;
  }
  return 0;
}

/* Bugs of the selection, where all experts are right. */
static bool is_excluded(flag_id flag, const diagnosed_case *cases, int64_t count) {
  if (flag != FLAG_ALL_EQUAL && flag != FLAG_TIES && flag != FLAG_NEAR_TIES) return false;
  for (int64_t i = 0; i < count; i++)
    if (cases[i].failed && !cases[i].right_experts) return false;
  return true;
}

static double evidence(const judged_cause *of, int64_t failed, int64_t passed) {
  const double a = (double)of->failed, b = (double)of->passed;
  const double c = (double)(failed - of->failed), d = (double)(passed - of->passed);
  const double others = log(99) + lgamma(c + 1) + lgamma(d + 99) - lgamma(c + d + 100);
  if (of->flag == FLAG_ORDINARY)
    return log(2) + lgamma(a + 2) + lgamma(b + 1) - lgamma(a + b + 3) + others;
  return lgamma(a + 1) + lgamma(b + 1) - lgamma(a + b + 2) + others;
}

/* Where tokens are routed or gathered, but there are none, nothing could have failed. */
static bool has_no_token(const diagnosed_case *c) {
  const json_t *inputs = json_object_get(c->described, "inputs");
  return size_of(shape_of_input(inputs, "logits"), 2) == 0 ||
         size_of(shape_of_input(inputs, "experts"), 2) == 0;
}

phibal_status diagnose(const diagnosed_case *cases, int64_t count, judged_cause *causes, int most,
                       int *found) {
  diagnosis d = {0};
  int64_t failed = 0, said = 0;
  *found = 0;
  for (int64_t i = 0; i < count; i++) failed += cases[i].failed;
  if (!failed) return PHIBAL_OK;
  for (int64_t i = 0; i < count; i++) {
    if (!cases[i].failed && has_no_token(&cases[i])) continue;
    said++;
    note(&d, "ordinary", FLAG_ORDINARY, i, cases[i].failed);
    note_case(&d, &cases[i], i);
  }
  for (int64_t i = 0; i < d.count; i++) {
    property *p = &d.list[i];
    const int fits = p->cause.flag < FLAG_COUNT ? fits_outputs(p->cause.flag, cases, count) : 0;
    const double before = p->cause.flag == FLAG_COUNT ? -1 : fits > 0 ? 1 : fits < 0 ? -4 : 0;
    p->score = evidence(&p->cause, failed, said - failed) + before - (p->drawn ? 3 : 0);
    /* A property of one case alone, as a parameter that no two cases share, explains nothing; nor
       does one of all cases. */
    const int64_t having = p->cause.failed + p->cause.passed;
    const bool empty = p->cause.flag == FLAG_COUNT && (having == 1 || having == said);
    if (!p->cause.failed || (empty && said > 1) || is_excluded(p->cause.flag, cases, count))
      p->score = (double)-INFINITY;
  }
  for (; !d.failed && *found < most; ++*found) {
    property *best = NULL;
    for (int64_t i = 0; i < d.count; i++)
      if (d.list[i].score > (double)-INFINITY && (!best || d.list[i].score > best->score))
        best = &d.list[i];
    if (!best) break;
    causes[*found] = best->cause;
    best->score = (double)-INFINITY;
  }
  free(d.list);
  return d.failed ? phibal_status_set(PHIBAL_ERROR_MEMORY, "judge: out of memory") : PHIBAL_OK;
}
