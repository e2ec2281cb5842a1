/* Router operations: forward, backward, counting. */
#include "cuda_plugin.h"
#include <phibal/quantile.h>
#include <cstdio>
#include <vector>

static phibal_gate gate_of(const char *name) {
  if (strcmp(name, "sigmoid") == 0) return PHIBAL_GATE_SIGMOID;
  if (strcmp(name, "sqrt-softplus") == 0) return PHIBAL_GATE_SQRT_SOFTPLUS;
  return strcmp(name, "probability") == 0 ? PHIBAL_GATE_PROBABILITY : PHIBAL_GATE_TOPK_SOFTMAX;
}

/* What the routing operations are given; logits [.., T, E]. */
struct routing {
  phibal_router router;
  int64_t tokens;
  const float *logits, *bias;
  const uint8_t *mask;
};

/* With gates that are not scaled. */
static routing routing_of(phibal_plugin_case *c) {
  routing g = {};
  g.tokens = phibal_plugin_extent(c, "logits", 0);
  g.router.experts = (int32_t)phibal_plugin_extent(c, "logits", 1);
  g.router.active = (int32_t)phibal_plugin_integer(c, "k");
  g.router.gate = gate_of(phibal_plugin_text(c, "gate"));
  g.router.scale = 1;
  g.logits = (const float *)case_in(c, "logits");
  g.bias = (const float *)case_in(c, "bias");
  g.mask = (const uint8_t *)case_in(c, "mask");
  return g;
}

static phibal_cuda_loads take_loads(device_run *r, int64_t layers, int64_t experts) {
  phibal_cuda_loads l = {};
  l.tokens = (int64_t *)run_take(r, sizeof(int64_t) * (size_t)layers);
  l.probability =
      (uint64_t *)run_take(r, sizeof(uint64_t) * PHIBAL_LOAD_LIMBS * (size_t)(layers * experts));
  l.count = (int64_t *)run_take(r, sizeof(int64_t) * (size_t)(layers * experts));
  return l;
}

static phibal_cuda_balance reading(const phibal_router &router, int32_t layers,
                                   phibal_cuda_loads l) {
  phibal_cuda_balance b = {};
  b.layers = layers;
  b.experts = router.experts;
  b.active = router.active;
  b.tokens = l.tokens;
  b.probability = l.probability;
  b.count = l.count;
  return b;
}

/* Outputs that may be null. */
static void counts_out(device_run *r, const phibal_router &router, phibal_cuda_loads l) {
  phibal_plugin_case *c = r->c;
  run_copy(r, case_out(c, "tokens"), l.tokens, sizeof(int64_t));
  run_copy(r, case_out(c, "counts"), l.count, sizeof(int64_t) * (size_t)router.experts);
  if (r->status != PHIBAL_OK || !case_out(c, "loads")) return;
  phibal_cuda_balance b = reading(router, 1, l);
  b.loads = (float *)case_out(c, "loads");
  b.frequencies = (float *)case_out(c, "frequencies");
  r->status = phibal_cuda_balance_step(&b, &r->call);
}

int plugin_router_forward(phibal_plugin_case *c) {
  device_run r = run_start(c);
  routing g = routing_of(c);
  g.router.scale = (float)phibal_plugin_real(c, "scale");
  phibal_cuda_loads loads = take_loads(&r, 1, g.router.experts);
  run_workspace(&r, phibal_cuda_router_forward_workspace(&g.router));
  if (r.status == PHIBAL_OK)
    r.status = phibal_cuda_router_forward(
        &g.router, g.tokens, PHIBAL_LOGITS_F32, g.logits, g.bias, g.mask,
        (float *)case_out(c, "probabilities"), (int32_t *)case_out(c, "experts"),
        (float *)case_out(c, "gates"), (float *)case_out(c, "logsumexp"), loads, &r.call);
  counts_out(&r, g.router, loads);
  return run_end(&r);
}

/* What the device finds in the data is this operation's answer. */
int plugin_router_refusal(phibal_plugin_case *c) {
  device_run r = run_start(c);
  routing g = routing_of(c);
  const size_t slots = (size_t)(g.tokens * g.router.active);
  int32_t *experts = (int32_t *)run_take(&r, sizeof(int32_t) * slots);
  float *gates = (float *)run_take(&r, sizeof(float) * slots);
  phibal_cuda_loads loads = take_loads(&r, 1, g.router.experts);
  run_workspace(&r, phibal_cuda_router_forward_workspace(&g.router));
  if (r.status == PHIBAL_OK)
    r.status = phibal_cuda_router_forward(&g.router, g.tokens, PHIBAL_LOGITS_F32, g.logits, g.bias,
                                          g.mask, nullptr, experts, gates, nullptr, loads, &r.call);
  if (r.status == PHIBAL_OK) r.status = phibal_cuda_result(&r.call);
  const int32_t refused = r.status == PHIBAL_ERROR_NONFINITE;
  int32_t place[2] = {-1, -1};
  const char *words = phibal_status_message();
  if (refused && sscanf(words, "router: the logit of token %d for expert %d", &place[0],
                        &place[1]) != 2)
    sscanf(words, "router: the bias of expert %d", &place[1]);
  if (refused) r.status = phibal_cuda_expect(&r.call);
  run_copy(&r, case_out(c, "refused"), &refused, sizeof refused);
  run_copy(&r, case_out(c, "place"), place, sizeof place);
  return run_end(&r);
}

/* The required biases one micro-batch after another; padding is counted on the host. */
int plugin_quantile(phibal_plugin_case *c) {
  device_run r = run_start(c);
  routing g = routing_of(c);
  const int64_t parts = phibal_plugin_integer(c, "micro-batches"), n = g.tokens / parts;
  float *required = (float *)case_out(c, "required");
  for (int64_t first = 0; r.status == PHIBAL_OK && first < g.tokens; first += n)
    r.status = phibal_cuda_quantile_required(&g.router, n, g.logits + first * g.router.experts,
                                             g.bias, g.mask ? g.mask + first : nullptr, g.tokens,
                                             required + first, &r.call);
  std::vector<uint8_t> mask((size_t)g.tokens, 1);
  if (g.mask) run_copy(&r, mask.data(), g.mask, (size_t)g.tokens);
  int64_t unmasked = 0;
  for (int64_t t = 0; t < g.tokens; t++) unmasked += mask[(size_t)t] != 0;
  if (r.status == PHIBAL_OK)
    r.status =
        phibal_cuda_quantile(g.router.experts, g.tokens, g.tokens, required,
                             phibal_quantile_place(g.router.experts, g.router.active, unmasked),
                             (float *)case_out(c, "quantile"), &r.call);
  return run_end(&r);
}

int plugin_router_backward(phibal_plugin_case *c) {
  device_run r = run_start(c);
  routing g = routing_of(c);
  g.router.scale = (float)phibal_plugin_real(c, "scale");
  if (r.status == PHIBAL_OK)
    r.status = phibal_cuda_router_backward(
        &g.router, g.tokens, PHIBAL_LOGITS_F32, g.logits, g.mask,
        (const int32_t *)case_in(c, "experts"), (const float *)case_in(c, "gate-gradient"),
        (const float *)case_in(c, "price"), phibal_plugin_real(c, "price-scale"),
        phibal_plugin_real(c, "z-scale"), (float *)case_out(c, "logit-gradient"), &r.call);
  return run_end(&r);
}

/* The place of a parameter's text among `names`. */
static int named(phibal_plugin_case *c, const char *parameter, const char *const *names) {
  int i = 0;
  while (names[i + 1] && strcmp(phibal_plugin_text(c, parameter), names[i]) != 0) i++;
  return i;
}

/* Forward and backward; a selection that is given is put where the experts come out. */
int plugin_described_router(phibal_plugin_case *c) {
  static const char *const scores[] = {"none", "largest", "two-largest", "share", nullptr};
  static const char *const normalisations[] = {"of-gate", "none", "sum", nullptr};
  device_run r = run_start(c);
  routing g = routing_of(c);
  g.router.scale = (float)phibal_plugin_real(c, "scale");
  g.router.group_score = (phibal_group_score)named(c, "group-score", scores);
  g.router.groups = (int32_t)phibal_plugin_integer(c, "groups");
  g.router.active_groups = (int32_t)phibal_plugin_integer(c, "active-groups");
  g.router.normalisation = (phibal_normalisation)named(c, "normalisation", normalisations);
  g.router.epsilon = (float)phibal_plugin_real(c, "epsilon");
  bool later = false; /* cases of features that came later have these */
  for (int32_t i = 0; i < c->parameters; i++)
    later = later || strcmp(c->parameter[i].name, "score") == 0;
  if (later) {
    g.router.score = strcmp(phibal_plugin_text(c, "score"), "probability") == 0
                         ? PHIBAL_SCORE_PROBABILITY
                         : PHIBAL_SCORE_OF_GATE;
    g.router.zero_experts = (int32_t)phibal_plugin_integer(c, "zero-experts");
    g.router.zero_gates = strcmp(phibal_plugin_text(c, "zero-gates"), "left-out") == 0
                              ? PHIBAL_ZERO_GATES_LEFT_OUT
                              : PHIBAL_ZERO_GATES_COUNTED;
  }
  int32_t *experts = (int32_t *)case_out(c, "experts");
  const void *given = case_in(c, "given");
  if (given) {
    g.router.selection = PHIBAL_SELECTION_GIVEN;
    run_copy(&r, experts, given, sizeof *experts * (size_t)(g.tokens * g.router.active));
  }
  phibal_cuda_loads loads = take_loads(&r, 1, g.router.experts);
  run_workspace(&r, phibal_cuda_router_forward_workspace(&g.router));
  if (r.status == PHIBAL_OK)
    r.status = phibal_cuda_router_forward(&g.router, g.tokens, PHIBAL_LOGITS_F32, g.logits, g.bias,
                                          g.mask, nullptr, experts, (float *)case_out(c, "gates"),
                                          nullptr, loads, &r.call);
  run_copy(&r, case_out(c, "counts"), loads.count, sizeof(int64_t) * (size_t)g.router.experts);
  if (r.status == PHIBAL_OK)
    r.status = phibal_cuda_router_backward(
        &g.router, g.tokens, PHIBAL_LOGITS_F32, g.logits, g.mask, experts,
        (const float *)case_in(c, "gate-gradient"), (const float *)case_in(c, "price"),
        phibal_plugin_real(c, "price-scale"), phibal_plugin_real(c, "z-scale"),
        (float *)case_out(c, "logit-gradient"), &r.call);
  return run_end(&r);
}

/* Forward of some tokens into loads; experts and gates go nowhere. */
static void count(device_run *r, const routing &g, const float *logits, const uint8_t *mask,
                  int64_t tokens, int32_t *experts, float *gates, phibal_cuda_loads loads) {
  if (r->status == PHIBAL_OK)
    r->status = phibal_cuda_router_forward(&g.router, tokens, PHIBAL_LOGITS_F32, logits, g.bias,
                                           mask, nullptr, experts, gates, nullptr, loads, &r->call);
}

int plugin_loads(phibal_plugin_case *c) {
  device_run r = run_start(c);
  routing g = {};
  g.tokens = phibal_plugin_extent(c, "logits", 0);
  g.router.experts = (int32_t)phibal_plugin_extent(c, "logits", 1);
  g.router.active = (int32_t)phibal_plugin_integer(c, "k");
  g.router.gate = PHIBAL_GATE_PROBABILITY;
  g.router.scale = 1;
  size_t slots = (size_t)(g.tokens * g.router.active);
  int32_t *experts = (int32_t *)run_take(&r, sizeof(int32_t) * slots);
  float *gates = (float *)run_take(&r, sizeof(float) * slots);
  phibal_cuda_loads loads = take_loads(&r, 1, g.router.experts);
  run_workspace(&r, phibal_cuda_router_forward_workspace(&g.router));
  count(&r, g, (const float *)case_in(c, "logits"), (const uint8_t *)case_in(c, "mask"), g.tokens,
        experts, gates, loads);
  counts_out(&r, g.router, loads);
  return run_end(&r);
}

int plugin_frequencies(phibal_plugin_case *c) {
  device_run r = run_start(c);
  int64_t tokens = phibal_plugin_integer(c, "tokens");
  int64_t *counted = (int64_t *)run_take(&r, sizeof tokens);
  run_copy(&r, counted, &tokens, sizeof tokens);
  phibal_cuda_balance b = {};
  b.layers = 1;
  b.experts = (int32_t)phibal_plugin_extent(c, "counts", 0);
  b.active = (int32_t)phibal_plugin_integer(c, "k");
  b.tokens = counted;
  b.count = (const int64_t *)case_in(c, "counts");
  b.frequencies = (float *)case_out(c, "frequencies");
  if (r.status == PHIBAL_OK) r.status = phibal_cuda_balance_step(&b, &r.call);
  return run_end(&r);
}

int plugin_sequence_loss(phibal_plugin_case *c) {
  device_run r = run_start(c);
  routing g = routing_of(c);
  g.router.scale = (float)phibal_plugin_real(c, "scale");
  const int64_t E = g.router.experts, sequences = phibal_plugin_integer(c, "sequences");
  const int64_t length = sequences > 0 ? g.tokens / sequences : 0;
  size_t slots = (size_t)(g.tokens * g.router.active);
  int32_t *experts = (int32_t *)run_take(&r, sizeof(int32_t) * slots);
  float *gates = (float *)run_take(&r, sizeof(float) * slots);
  /* The loads of all sequences, and their losses in one launch. */
  phibal_cuda_loads all = take_loads(&r, sequences, E);
  phibal_cuda_balance b = reading(g.router, (int32_t)sequences, all);
  b.loads = (float *)run_take(&r, sizeof(float) * (size_t)(sequences * E));
  b.frequencies = (float *)run_take(&r, sizeof(float) * (size_t)(sequences * E));
  b.switch_loss = (float *)run_take(&r, sizeof(float) * (size_t)sequences);
  b.alpha = phibal_plugin_real(c, "alpha");
  run_workspace(&r, phibal_cuda_router_forward_workspace(&g.router));
  for (int64_t s = 0; s < sequences; s++) {
    phibal_cuda_loads one = {all.tokens + s, all.probability + s * E * PHIBAL_LOAD_LIMBS,
                             all.count + s * E};
    count(&r, g, g.logits + s * length * E, g.mask ? g.mask + s * length : nullptr, length, experts,
          gates, one);
  }
  if (r.status == PHIBAL_OK) r.status = phibal_cuda_balance_step(&b, &r.call);
  double loss = 0;
  int64_t total = 0;
  for (int64_t s = 0; s < sequences; s++) {
    float one = 0;
    int64_t tokens = run_read(&r, all.tokens + s);
    run_copy(&r, &one, b.switch_loss + s, sizeof one);
    loss += (double)one * (double)tokens;
    total += tokens;
  }
  loss = total > 0 ? loss / (double)total : 0;
  run_copy(&r, case_out(c, "loss"), &loss, sizeof loss);
  return run_end(&r);
}

/* Whole balancing steps, of all layers at once: the losses of the balancing kernels are of the
   micro-batch, its prices of the state or the frequencies so far. */
struct step_run {
  device_run r;
  routing g;
  int64_t layers;
  bool global;
  phibal_cuda_loads now, so_far;
  float *mean, *tracked, *centred, *loss;
  const float *m;
  float *next;
};

static void step_prices(step_run *s) {
  phibal_plugin_case *c = s->r.c;
  const int32_t L = (int32_t)s->layers;
  phibal_cuda_balance means = reading(s->g.router, L, s->now), losses = {};
  means.loads = s->mean;
  phibal_cuda_balance prices = reading(s->g.router, L, s->m || s->global ? s->so_far : s->now);
  losses.layers = L;
  losses.experts = s->g.router.experts;
  losses.loads = s->mean;
  losses.alpha = phibal_plugin_real(c, "alpha");
  if (s->m) {
    const phibal_plugin_parameter *parameter = nullptr;
    for (int32_t i = 0; i < c->parameters; i++)
      if (strcmp(c->parameter[i].name, "parameter") == 0) parameter = &c->parameter[i];
    phibal_potential potential = {};
    phibal_potential_find(phibal_plugin_text(c, "potential"), &potential);
    potential.parameter = parameter ? parameter->real : 0;
    prices.loads = s->tracked;
    prices.eta = (float)phibal_plugin_real(c, "eta");
    prices.m = s->m;
    prices.next = s->next;
    prices.centred = s->centred;
    prices.potential = losses.potential = potential;
    losses.m = s->next;
    losses.balance_loss = s->loss;
  } else {
    prices.frequencies = s->tracked;
    prices.frequency_centred = s->centred;
    losses.frequencies = s->tracked;
    losses.switch_loss = s->loss;
  }
  const phibal_cuda_balance *all[] = {&means, &prices, &losses};
  for (const phibal_cuda_balance *b : all)
    if (s->r.status == PHIBAL_OK) s->r.status = phibal_cuda_balance_step(b, &s->r.call);
}

int plugin_step(phibal_plugin_case *c) {
  step_run s = {};
  s.r = run_start(c);
  device_run *r = &s.r;
  s.layers = phibal_plugin_extent(c, "logits", 0);
  const int64_t T = phibal_plugin_extent(c, "logits", 1), E = phibal_plugin_extent(c, "logits", 2);
  s.g.tokens = T;
  s.g.router.experts = (int32_t)E;
  s.g.router.active = (int32_t)phibal_plugin_integer(c, "k");
  s.g.router.gate = PHIBAL_GATE_PROBABILITY;
  s.g.router.scale = 1;
  s.m = (const float *)case_in(c, "m");
  s.next = (float *)case_out(c, "m");
  s.global = !s.m && strcmp(phibal_plugin_text(c, "frequencies"), "global") == 0;
  const size_t cells = sizeof(float) * (size_t)(s.layers * E);
  s.mean = (float *)run_take(r, cells);
  s.tracked = (float *)run_take(r, cells);
  s.centred = (float *)run_take(r, cells);
  s.loss = (float *)run_take(r, sizeof(float) * (size_t)s.layers);
  s.so_far = take_loads(r, s.layers, E);
  const size_t slots = (size_t)(s.layers * T * s.g.router.active);
  int32_t *experts = (int32_t *)run_take(r, sizeof(int32_t) * slots);
  float *gates = (float *)run_take(r, sizeof(float) * slots);
  const float *logits = (const float *)case_in(c, "logits");
  const uint8_t *mask = (const uint8_t *)case_in(c, "mask");
  float *gradient = (float *)case_out(c, "logit-gradient");
  const int64_t batches = phibal_plugin_integer(c, "micro-batches"), n = T / batches;
  run_workspace(r, phibal_cuda_router_forward_workspace(&s.g.router));
  int64_t global_tokens = 0;
  for (int64_t t = 0; t < T; t++) {
    uint8_t real = 1;
    if (mask) run_copy(r, &real, mask + t, 1);
    global_tokens += real != 0;
  }
  double loss[8] = {0};
  for (int64_t a = 0; a < batches && s.layers <= 8; a++) {
    s.now = take_loads(r, s.layers, E);
    const uint8_t *own = mask ? mask + a * n : nullptr;
    for (int64_t l = 0; l < s.layers; l++) {
      phibal_cuda_loads one = {s.now.tokens + l, s.now.probability + l * E * PHIBAL_LOAD_LIMBS,
                               s.now.count + l * E};
      int64_t first = l * T + a * n;
      count(r, s.g, logits + first * E, own, n, experts + first * s.g.router.active,
            gates + first * s.g.router.active, one);
    }
    if (r->status == PHIBAL_OK)
      r->status = phibal_cuda_loads_add((int32_t)s.layers, (int32_t)E, s.so_far, s.now, &r->call);
    int64_t tokens = run_read(r, s.now.tokens);
    if (tokens > 0) step_prices(&s);
    for (int64_t l = 0; l < s.layers; l++) {
      float one = 0;
      int64_t first = l * T + a * n;
      run_copy(r, &one, s.loss + l, sizeof one);
      if (tokens > 0) loss[l] += (double)tokens / (double)global_tokens * (double)one;
      if (r->status == PHIBAL_OK)
        r->status = phibal_cuda_router_backward(
            &s.g.router, n, PHIBAL_LOGITS_F32, logits + first * E, own,
            experts + first * s.g.router.active, nullptr, s.centred + l * E,
            phibal_plugin_real(c, "alpha") * (double)E / (double)global_tokens, 0,
            gradient + first * E, &r->call);
    }
  }
  for (int64_t l = 0; l < s.layers; l++) {
    float one = (float)loss[l];
    run_copy(r, (float *)case_out(c, "loss") + l, &one, sizeof one);
  }
  run_copy(r, case_out(c, "counts"), s.so_far.count, sizeof(int64_t) * (size_t)(s.layers * E));
  return run_end(r);
}
