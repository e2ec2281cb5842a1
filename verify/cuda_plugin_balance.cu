/* Balancing of one layer, the losses, the order of rows, and what is done with them. */
#include "cuda_plugin.h"
#include <vector>

static phibal_cuda_balance balance_of(phibal_plugin_case *c, const char *vector) {
  phibal_cuda_balance b = {};
  b.layers = 1;
  b.experts = (int32_t)phibal_plugin_extent(c, vector, 0);
  return b;
}

static phibal_potential potential_of(phibal_plugin_case *c) {
  phibal_potential p = {};
  phibal_potential_find(phibal_plugin_text(c, "potential"), &p);
  p.parameter = 0;
  for (int32_t i = 0; i < c->parameters; i++)
    if (strcmp(c->parameter[i].name, "parameter") == 0) p.parameter = c->parameter[i].real;
  return p;
}

static int step(device_run *r, const phibal_cuda_balance *b) {
  if (r->status == PHIBAL_OK) r->status = phibal_cuda_balance_step(b, &r->call);
  return run_end(r);
}

/* The kernel may write where it reads: it gets a copy. */
static float *copy_of(device_run *r, const char *input, int64_t n) {
  float *x = (float *)run_take(r, sizeof(float) * (size_t)n);
  run_copy(r, x, case_in(r->c, input), sizeof(float) * (size_t)n);
  return x;
}

int plugin_ema(phibal_plugin_case *c) {
  device_run r = run_start(c);
  phibal_cuda_balance b = balance_of(c, "m");
  b.eta = (float)phibal_plugin_real(c, "eta");
  b.m = (const float *)case_in(c, "m");
  b.loads = (float *)case_in(c, "loads");
  b.next = (float *)case_out(c, "m");
  return step(&r, &b);
}

int plugin_price(phibal_plugin_case *c) {
  device_run r = run_start(c);
  phibal_cuda_balance b = balance_of(c, "m");
  int32_t *floored = (int32_t *)case_out(c, "floored");
  b.potential = potential_of(c);
  b.m = (const float *)case_in(c, "m");
  b.price = (float *)case_out(c, "price");
  b.centred = (float *)case_out(c, "centred");
  b.floored = floored;
  if (r.status == PHIBAL_OK) r.status = phibal_cuda_balance_step(&b, &r.call);
  if (floored) run_copy(&r, floored + 1, floored, sizeof *floored);
  return run_end(&r);
}

int plugin_balance_loss(phibal_plugin_case *c) {
  device_run r = run_start(c);
  phibal_cuda_balance b = balance_of(c, "m");
  b.potential = potential_of(c);
  b.alpha = phibal_plugin_real(c, "alpha");
  b.m = (const float *)case_in(c, "m");
  b.loads = (float *)case_in(c, "loads");
  b.balance_loss = (float *)case_out(c, "loss");
  return step(&r, &b);
}

int plugin_switch_loss(phibal_plugin_case *c) {
  device_run r = run_start(c);
  phibal_cuda_balance b = balance_of(c, "loads");
  b.alpha = phibal_plugin_real(c, "alpha");
  b.loads = (float *)case_in(c, "loads");
  b.frequencies = (float *)case_in(c, "frequencies");
  b.switch_loss = (float *)case_out(c, "loss");
  b.frequency_centred = (float *)case_out(c, "centred");
  return step(&r, &b);
}

int plugin_loss_free(phibal_plugin_case *c) {
  device_run r = run_start(c);
  phibal_cuda_balance b = balance_of(c, "bias");
  b.rate = (float)phibal_plugin_real(c, "rate");
  b.count = (const int64_t *)case_in(c, "counts");
  b.bias = copy_of(&r, "bias", b.experts);
  if (r.status == PHIBAL_OK) r.status = phibal_cuda_balance_step(&b, &r.call);
  run_copy(&r, case_out(c, "bias"), b.bias, sizeof(float) * (size_t)b.experts);
  return run_end(&r);
}

int plugin_z_loss(phibal_plugin_case *c) {
  device_run r = run_start(c);
  run_workspace(&r, phibal_cuda_z_loss_workspace());
  if (r.status == PHIBAL_OK)
    r.status = phibal_cuda_z_loss(
        phibal_plugin_extent(c, "logsumexp", 0), phibal_plugin_real(c, "coefficient"),
        (const float *)case_in(c, "logsumexp"), (const uint8_t *)case_in(c, "mask"),
        (float *)case_out(c, "loss"), &r.call);
  return run_end(&r);
}

/* Every number of a device's array is at least `low` and below `high`. */
static void check_range(device_run *r, const char *name, const int64_t *x, int64_t n, int64_t low,
                        int64_t high) {
  std::vector<int64_t> copy((size_t)n);
  run_copy(r, copy.data(), x, sizeof *x * (size_t)n);
  for (int64_t i = 0; i < n && r->status == PHIBAL_OK; i++)
    if (copy[(size_t)i] < low || copy[(size_t)i] >= high)
      r->status = phibal_status_set(PHIBAL_ERROR_ARGUMENT, "element %lld of '%s' is %lld",
                                    (long long)i, name, (long long)copy[(size_t)i]);
}

int plugin_permutation(phibal_plugin_case *c) {
  device_run r = run_start(c);
  const int64_t tokens = phibal_plugin_extent(c, "experts", 0);
  const int32_t active = (int32_t)phibal_plugin_extent(c, "experts", 1);
  const int32_t experts_count = (int32_t)phibal_plugin_integer(c, "experts");
  int64_t *source = (int64_t *)run_take(&r, sizeof *source * (size_t)(tokens * active));
  int64_t rows = 0;
  for (int32_t i = 0; i < c->outputs; i++)
    if (strcmp(c->output[i].name, "source") == 0) rows = c->output[i].shape[0];
  if (r.status == PHIBAL_OK) {
    run_workspace(&r, phibal_cuda_permutation_workspace(tokens, active, experts_count, &r.call));
    if (r.status == PHIBAL_OK)
      r.status = phibal_cuda_permutation(
          tokens, active, experts_count, (const int32_t *)case_in(c, "experts"),
          (int64_t *)case_out(c, "offsets"), source, (int64_t *)case_out(c, "row"), &r.call);
  }
  run_copy(&r, case_out(c, "source"), source, sizeof *source * (size_t)rows);
  /* Wrong rows must not lead the copies astray. */
  const int64_t width = phibal_plugin_extent(c, "x", 1);
  check_range(&r, "source", source, rows, 0, tokens * active);
  check_range(&r, "row", (const int64_t *)case_out(c, "row"), tokens * active, -1, rows);
  if (r.status == PHIBAL_OK)
    r.status = phibal_cuda_gather(rows, active, width, PHIBAL_ROWS_F32, source, case_in(c, "x"),
                                  case_out(c, "gathered"), &r.call);
  run_copy(&r, case_out(c, "x-gradient"), case_in(c, "x-gradient"),
           sizeof(float) * (size_t)(tokens * width));
  if (r.status == PHIBAL_OK)
    r.status = phibal_cuda_gather_backward(
        tokens, active, width, PHIBAL_ROWS_F32, (const int64_t *)case_out(c, "row"),
        case_in(c, "gathered-gradient"), (float *)case_out(c, "x-gradient"), &r.call);
  return run_end(&r);
}

int plugin_combine(phibal_plugin_case *c) {
  device_run r = run_start(c);
  const int64_t tokens = phibal_plugin_extent(c, "y", 0), width = phibal_plugin_extent(c, "y", 1);
  const int32_t active = (int32_t)phibal_plugin_integer(c, "k");
  const int64_t *row = (const int64_t *)case_in(c, "row");
  const float *gates = (const float *)case_in(c, "gates");
  const float *output = (const float *)case_in(c, "expert-output");
  float *y = (float *)case_out(c, "y");
  run_copy(&r, y, case_in(c, "y"), sizeof(float) * (size_t)(tokens * width));
  if (r.status == PHIBAL_OK)
    r.status =
        phibal_cuda_combine(tokens, active, width, PHIBAL_ROWS_F32, row, gates, output, y, &r.call);
  if (r.status == PHIBAL_OK)
    r.status = phibal_cuda_combine_backward(tokens, active, width, PHIBAL_ROWS_F32, row, gates,
                                            output, (const float *)case_in(c, "y-gradient"),
                                            case_out(c, "expert-gradient"),
                                            (float *)case_out(c, "gate-gradient"), &r.call);
  return run_end(&r);
}
