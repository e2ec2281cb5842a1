/* Dropout before adapters: its products against their definition, the places where the model has
   them, and what the draws depend on. */
#include "tests/data_files.h"
#include "adapted.h"
#include "moe/machine/random.h"

#include "kernels/cpu/gemm.h"

#include <math.h>
#include <omp.h>

#define U 0x1p-24

/* A step of the fixture's batch in calls of `batch` sequences. */
static model_losses step(adapted *t, int32_t batch, double *position_losses) {
  const int32_t *tokens = safetensors_find(&t->p.expected, "tokens")->data;
  const int32_t *targets = safetensors_find(&t->p.expected, "targets")->data;
  model_losses sum = {0};
  must(model_step_begin(t->p.m, model_batch_count(PARITY_TOKENS, tokens, targets)));
  lora_step_begin(&t->l);
  for (int32_t i = 0; i < PARITY_BATCH; i += batch) {
    const int32_t first = i * PARITY_SEQUENCE;
    model_losses losses;
    model_set_adapters(t->p.m, t->l.dropout > 0 ? &t->l.adapters : NULL, first);
    must(model_forward_backward(t->p.m, batch, tokens + first, targets + first, &losses));
    sum.cross_entropy += losses.cross_entropy;
    if (position_losses)
      memcpy(position_losses + first, model_position_losses(t->p.m),
             (size_t)(batch * PARITY_SEQUENCE) * sizeof *position_losses);
  }
  must(model_step_finish(t->p.m));
  return sum;
}

/* Where the adapters read nothing, the model is the one without them, wherever it has an adapter:
   its logits and gradients are those that torch found without, and the gradients of the factors,
   which are `size` without dropout, cancel. The largest number below 1 keeps one of 2^53. */
static void check_all_dropped(adapted *t) {
  const float *without = safetensors_find(&t->p.expected, "logits")->data;
  parity_errors errors = {0};
  lora *l = &t->l;
  lora_apply(l);
  step(t, PARITY_BATCH, NULL);
  cr_expect_geq(parity_logits_difference(&t->p, without), 1e-2, "adapters that change something");
  lora_gradients(l);
  double *size = calloc(2 * (size_t)l->count, sizeof *size);
  for (int32_t k = 0; k < 2 * l->count; k++)
    for (int64_t j = 0; j < l->tensors[k].shape[0] * l->tensors[k].shape[1]; j++)
      size[k] = fmax(size[k], fabs((double)l->gradients[l->tensors[k].offset + j]));
  must(lora_dropout_create(l, 1 - 0x1p-53, 5, PARITY_TOKENS));
  int64_t columns = 0, rows = 0;
  for (int32_t k = 0; k < l->count; k++) {
    columns = l->matrices[k].columns > columns ? l->matrices[k].columns : columns;
    rows = l->matrices[k].rows > rows ? l->matrices[k].rows : rows;
  }
  cr_expect_geq(lora_dropout_bytes(&t->p.config, l->rank, PARITY_TOKENS),
                4 * PARITY_TOKENS * (columns + rows + l->rank), "planned for too little");
  step(t, PARITY_BATCH, NULL);
  cr_expect_leq(parity_logits_difference(&t->p, without), 1e-4);
  parity_gradients(&t->p, &errors);
  cr_expect_leq(errors.gradients, 1e-3, "%s is off by %g", errors.worst, errors.gradients);
  lora_gradients(l);
  for (int32_t k = 0; k < 2 * l->count; k++)
    for (int64_t j = 0; j < l->tensors[k].shape[0] * l->tensors[k].shape[1]; j++)
      cr_assert_leq(fabs((double)l->gradients[l->tensors[k].offset + j]), 1e-3 * size[k], "%s",
                    l->tensors[k].name);
  free(size);
}

Test(lora_dropout, all_dropped_is_the_model_without) {
  for (int i = 0; i < ADAPTED_CASES; i++) {
    adapted t = {0};
    adapted_open(i, &t);
    check_all_dropped(&t);
    /* An evaluation has the adapters whole. */
    cr_expect_leq(adapted_logits_off(&t), 1e-4);
    adapted_close(&t);
  }
}

/* Every matrix that a model can have, with random factors: of latent queries, of routers of both
   kinds, of dense layers and shared experts. */
Test(lora_dropout, every_place) {
  static const char *const cases[][2] = {
      {"mixtral", "q_proj,k_proj,v_proj,o_proj,w1,w2,w3,block_sparse_moe.gate"},
      {"deepseek_v3", "q_a_proj,q_b_proj,kv_a_proj_with_mqa,kv_b_proj,o_proj,gate_proj,up_proj,"
                      "down_proj,mlp.gate"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    adapted t = {0};
    const lora_config config = {3, 1.5, cases[i][1], 0};
    parity_open(cases[i][0], NULL, &t.p);
    must(lora_create(&config, t.p.checkpoint.config.architecture, &t.p.config, t.p.m, 1, &t.l));
    for (int32_t k = 0; k < t.l.count; k++)
      for (int64_t j = 0; j < 3 * t.l.matrices[k].rows; j++)
        t.l.parameters[t.l.matrices[k].b + j] =
            (float)(0.2 * random_normal(4, (uint64_t)k, (uint64_t)j));
    check_all_dropped(&t);
    lora_destroy(&t.l);
    parity_close(&t.p);
  }
}

/* One product with matrix `which` and a third dropped, against the definition in binary64 with the
   same draws. Every number is the end of a chain of products, sums and roundings of at most K =
   2 (rows + columns + n + r) + 10 of them, over terms whose sizes add up to `size`: it is within K
   u size, to first order, for which 1.01 stands. */
enum { ROWS = 9, MORE = 3 };

static double uniform(uint64_t *state) {
  return (double)(random_bits(3, 1, (*state)++) >> 11) * 0x1p-52 - 1;
}

/* A sum of terms that dropout multiplies by d, as what training adds has it: the term and d - 1
   times it. */
typedef struct sum {
  double exact, plain, size; /* plain: without dropout */
} sum;

static void add(sum *to, double term, double d) {
  to->exact += term * d;
  to->plain += term;
  to->size += fabs(term) * (1 + fabs(d - 1));
}

static void check(const char *what, int32_t matrix, int64_t i, float got, const sum *wanted,
                  double k) {
  cr_assert(fabs((double)got - wanted->exact) <= k * wanted->size,
            "matrix %d: %s[%lld] is %.9g, not %.9g within %.3g", matrix, what, (long long)i,
            (double)got, wanted->exact, k * wanted->size);
}

static void check_product(adapted *t, int32_t which, uint64_t *state) {
  lora *l = &t->l;
  const lora_matrix *w = &l->matrices[which];
  const int64_t in = w->columns, out = w->rows, r = l->rank, stride = out + MORE;
  const double s = (double)l->scale, K = 1.01 * (double)(2 * (in + out + ROWS + r) + 10) * U;
  const float *base = l->base + w->base, *A = l->parameters + w->a, *B = l->parameters + w->b;
  float *x = malloc((size_t)(ROWS * in) * sizeof *x),
        *y = malloc((size_t)(ROWS * stride) * sizeof *y);
  float *dy = malloc((size_t)(ROWS * stride) * sizeof *dy),
        *dx = malloc((size_t)(ROWS * in) * sizeof *dx);
  float *tight = malloc((size_t)(ROWS * out) * sizeof *tight);
  double *D = malloc((size_t)(ROWS * in) * sizeof *D);
  int64_t source[ROWS];
  double most = 0;
  for (int64_t i = 0; i < ROWS; i++) source[i] = (i * 5 + 2) % 17;
  for (int64_t i = 0; i < ROWS * in; i++) {
    x[i] = (float)uniform(state);
    D[i] = lora_keeps(l, which, 40 + source[i / in] / 2, i % in) ? 1 / (1 - l->dropout) : 0;
  }
  for (int64_t i = 0; i < ROWS * stride; i++) dy[i] = (float)uniform(state);
  for (int64_t i = 0; i < ROWS; i++)
    memcpy(tight + i * out, dy + i * stride, (size_t)out * sizeof *tight);
  const model_product p = {.weight = w->weight,
                           .rows = ROWS,
                           .stride = stride,
                           .first_token = 40,
                           .source = source,
                           .active = 2,
                           .x = x};
  for (int64_t i = 0; i < ROWS; i++) {
    phibal_gemm_linear(1, out, in, x + i * in, w->weight, false, y + i * stride);
    for (int64_t j = out; j < stride; j++) y[i * stride + j] = 7;
  }
  l->adapters.forward(l->adapters.context, &p, y);
  for (int64_t i = 0; i < ROWS; i++) {
    for (int64_t j = out; j < stride; j++) cr_assert_eq(y[i * stride + j], 7, "beyond the row");
    for (int64_t o = 0; o < out; o++) {
      sum of = {0};
      for (int64_t c = 0; c < in; c++) {
        const double v = (double)x[i * in + c];
        add(&of, (double)base[o * in + c] * v, 1);
        for (int64_t q = 0; q < r; q++)
          add(&of, s * (double)B[o * r + q] * (double)A[q * in + c] * v, D[i * in + c]);
      }
      check("y", which, i * out + o, y[i * stride + o], &of, K);
      most = fmax(most, fabs(of.plain - of.exact) / (K * of.size));
    }
  }
  cr_expect_gt(most, 50, "matrix %d: dropout that cannot be told from none", which);

  lora_step_begin(l);
  float *gradient = model_gradients(t->p.m) + (w->weight - model_parameters(t->p.m));
  memset(model_gradients(t->p.m), 0, (size_t)model_parameter_count(t->p.m) * sizeof(float));
  phibal_gemm_linear_weight_gradient(ROWS, out, in, tight, x, gradient);
  phibal_gemm_linear_input_gradient(ROWS, out, in, tight, w->weight, false, dx);
  l->adapters.backward(l->adapters.context, &p, dy, dx);
  lora_gradients(l);
  for (int64_t i = 0; i < ROWS; i++)
    for (int64_t c = 0; c < in; c++) {
      sum of = {0};
      for (int64_t o = 0; o < out; o++) {
        const double g = (double)dy[i * stride + o];
        add(&of, (double)base[o * in + c] * g, 1);
        for (int64_t q = 0; q < r; q++)
          add(&of, s * (double)B[o * r + q] * (double)A[q * in + c] * g, D[i * in + c]);
      }
      check("dx", which, i * in + c, dx[i * in + c], &of, K);
    }
  for (int64_t q = 0; q < r; q++) {
    for (int64_t c = 0; c < in; c++) {
      sum of = {0};
      for (int64_t i = 0; i < ROWS; i++)
        for (int64_t o = 0; o < out; o++)
          add(&of, s * (double)dy[i * stride + o] * (double)B[o * r + q] * (double)x[i * in + c],
              D[i * in + c]);
      check("dA", which, q * in + c, l->gradients[w->a + q * in + c], &of, K);
    }
    for (int64_t o = 0; o < out; o++) {
      sum of = {0};
      for (int64_t i = 0; i < ROWS; i++)
        for (int64_t c = 0; c < in; c++)
          add(&of, s * (double)dy[i * stride + o] * (double)A[q * in + c] * (double)x[i * in + c],
              D[i * in + c]);
      check("dB", which, o * r + q, l->gradients[w->b + o * r + q], &of, K);
    }
  }
  free(x), free(y), free(dy), free(dx), free(tight), free(D);
}

Test(lora_dropout, products_are_the_definition) {
  for (int i = 0; i < ADAPTED_CASES; i++) {
    adapted t = {0};
    uint64_t state = 0;
    adapted_open(i, &t);
    lora_apply(&t.l);
    must(lora_dropout_create(&t.l, 1.0 / 3, 11, PARITY_TOKENS));
    for (int32_t k = 0; k < t.l.count; k += k < 8 ? 1 : 5) check_product(&t, k, &state);
    adapted_close(&t);
  }
}

/* Calls of one sequence and of two, one thread and three: each token's losses to the bit, the
   gradients by threads too. Other tokens of a run are drawn otherwise. */
Test(lora_dropout, draws_do_not_depend_on_the_division) {
  adapted t = {0};
  double whole[PARITY_TOKENS], parts[PARITY_TOKENS];
  adapted_open(0, &t);
  lora_apply(&t.l);
  must(lora_dropout_create(&t.l, 0.25, 3, PARITY_TOKENS));
  const size_t bytes = (size_t)t.l.parameter_count * sizeof(float);
  float *kept = malloc(bytes);
  omp_set_num_threads(1);
  step(&t, PARITY_BATCH, whole);
  lora_gradients(&t.l);
  memcpy(kept, t.l.gradients, bytes);
  omp_set_num_threads(3);
  step(&t, PARITY_BATCH, parts);
  lora_gradients(&t.l);
  cr_expect_arr_eq(whole, parts, sizeof whole);
  cr_expect_arr_eq(kept, t.l.gradients, bytes);
  step(&t, 1, parts);
  cr_expect_arr_eq(whole, parts, sizeof whole);
  lora_gradients(&t.l);
  cr_expect_leq(parity_difference(t.l.parameter_count, t.l.gradients, kept), 1e-5,
                "calls add up: a sum of the same terms in other groups");
  /* The second sequence where the first was. */
  const int32_t *tokens = safetensors_find(&t.p.expected, "tokens")->data;
  const int32_t *targets = safetensors_find(&t.p.expected, "targets")->data;
  model_losses losses;
  must(model_step_begin(t.p.m, model_batch_count(PARITY_SEQUENCE, tokens, targets)));
  model_set_adapters(t.p.m, &t.l.adapters, PARITY_SEQUENCE);
  must(model_forward_backward(t.p.m, 1, tokens, targets, &losses));
  cr_expect_neq(memcmp(whole, model_position_losses(t.p.m), PARITY_SEQUENCE * sizeof *whole), 0);
  free(kept);
  adapted_close(&t);
}

/* How many of n draws are dropped, and how many agree in two matrices, for two tokens, in two
   columns, or under two seeds: by Hoeffding's inequality, of independent draws with these
   probabilities a count is further off than sqrt(n log(2e9) / 2) once in 10^9. */
Test(lora_dropout, rates) {
  enum { N = 200000 };
  static const double rates[] = {0.05, 0.5, 0.9};
  const double band = sqrt(N * log(2e9) / 2);
  lora_matrix matrices[2] = {{.columns = 50}, {.columns = 50}};
  for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
    const double p = rates[i];
    const lora l = {.count = 2, .matrices = matrices, .dropout = p, .seed = 9};
    lora other = l;
    other.seed = 10;
    int64_t dropped = 0, matrix = 0, token = 0, column = 0, seed = 0;
    for (int64_t j = 0; j < N; j++) {
      const int64_t at = j / 50, c = j % 50;
      const bool keeps = lora_keeps(&l, 0, at, c);
      dropped += !keeps;
      matrix += keeps == lora_keeps(&l, 1, at, c);
      token += keeps == lora_keeps(&l, 0, at + N, c);
      column += keeps == lora_keeps(&l, 0, at, (c + 1) % 50);
      seed += keeps == lora_keeps(&other, 0, at, c);
    }
    const double agree = N * (p * p + (1 - p) * (1 - p));
    cr_expect_float_eq((double)dropped, N * p, band);
    cr_expect_float_eq((double)matrix, agree, band);
    cr_expect_float_eq((double)token, agree, band);
    cr_expect_float_eq((double)column, agree, 2 * band, "neighbours are drawn twice");
    cr_expect_float_eq((double)seed, agree, band);
  }
}
