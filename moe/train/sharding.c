#include "sharding.h"
#include <stdlib.h>
#include <string.h>

/* What is added up at once. */
enum { RUN_MAX = 1 << 22 };

phibal_status sharding_create(const run_config *config, const parallel *world, sharding *s) {
  const int32_t n = config->parallel.experts;
  *s = (sharding){.world = world,
                  .group = {.ranks = 1},
                  .replicas = {.ranks = 1},
                  .experts = n > 1,
                  .optimizer = config->parallel.shard_optimizer && world->ranks > 1};
  if (world->ranks % n)
    return phibal_status_set(
        PHIBAL_ERROR_ARGUMENT,
        "parallel.experts: %d does not divide the %d ranks of the job (mpirun -np)", n,
        world->ranks);
  if (n > 1 && world->rendezvous)
    return phibal_status_set(PHIBAL_ERROR_UNSUPPORTED,
                             "parallel.experts: expert parallelism needs ranks started by mpirun");
  if (n > 1 && (config->balance.method == BALANCE_DENSE ||
                config->model.dense_layers == config->model.layers))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "parallel.experts: %d, but the model has no experts", n);
  if (!s->experts) return PHIBAL_OK;
  parallel_split(world, world->rank / n, &s->group);
  parallel_split(world, world->rank % n, &s->replicas);
  s->expert_ranks = (model_expert_ranks){&s->group,
                                         s->group.rank,
                                         s->group.ranks,
                                         parallel_exchange_counts,
                                         parallel_exchange_rows,
                                         parallel_broadcast};
  return PHIBAL_OK;
}

const model_expert_ranks *sharding_expert_ranks(const sharding *s) {
  return s->experts ? &s->expert_ranks : NULL;
}

bool sharding_is_divided(const sharding *s) {
  return s && (s->experts || s->optimizer);
}

static bool is_experts(const sharding *s, const model_tensor *tensor) {
  return s->experts && tensor->dimensions == 3;
}

static const parallel *sharing_ranks(const sharding *s, bool experts) {
  return experts ? &s->replicas : s->world;
}

/* Where the blocks of the gradient's norm begin, through all tensors. */
static phibal_status find_blocks(const sharding *s, int64_t **begins, int64_t *count) {
  const model_tensor *tensors = model_tensors(s->model);
  const int32_t tensor_count = model_tensor_count(s->model);
  *count = optimizer_own_blocks(tensor_count, tensors, NULL);
  *begins = malloc(((size_t)*count + 1) * sizeof **begins);
  if (!*begins) return phibal_status_set(PHIBAL_ERROR_MEMORY, "no memory to divide the model");
  optimizer_own_blocks(tensor_count, tensors, *begins);
  return PHIBAL_OK;
}

static const model_tensor *tensor_at(const sharding *s, int32_t *t, int64_t at) {
  const model_tensor *tensors = model_tensors(s->model);
  while (*t + 1 < model_tensor_count(s->model) && tensors[*t + 1].offset <= at) ++*t;
  return &tensors[*t];
}

/* Cuts the parameters into runs, and each into a part for every rank that has it, of as many blocks
   within one. */
static phibal_status split_runs(sharding *s, const int64_t *begins, int64_t count) {
  const size_t stride = (size_t)s->world->ranks + 1;
  s->runs = calloc((size_t)count + 1, sizeof *s->runs);
  if (s->runs) {
    int32_t t = 0;
    for (int64_t b = 0; b < count; b++) {
      const bool experts = is_experts(s, tensor_at(s, &t, begins[b]));
      sharding_run *run = s->run_count ? &s->runs[s->run_count - 1] : NULL;
      if (!run || run->experts != experts || begins[b + 1] - run->begin > RUN_MAX)
        s->runs[s->run_count++] = (sharding_run){begins[b], begins[b + 1], experts};
      else
        run->end = begins[b + 1];
    }
  }
  if (!s->runs) return phibal_status_set(PHIBAL_ERROR_MEMORY, "no memory to divide the model");
  if (!s->optimizer) return PHIBAL_OK;
  s->starts = calloc((size_t)s->run_count * stride, sizeof *s->starts);
  s->parts = calloc((size_t)s->run_count, sizeof *s->parts);
  if (!s->starts || !s->parts)
    return phibal_status_set(PHIBAL_ERROR_MEMORY, "no memory to divide the optimizer");
  int64_t first = 0, at = 0;
  for (int64_t i = 0; i < s->run_count; i++) {
    const sharding_run *run = &s->runs[i];
    const parallel *with = sharing_ranks(s, run->experts);
    int64_t *starts = s->starts + (size_t)i * stride, last = first;
    while (last < count && begins[last] < run->end) last++;
    for (int32_t r = 0; r <= with->ranks; r++)
      starts[r] = begins[first + (last - first) * r / with->ranks];
    s->parts[i] = (optimizer_part){starts[with->rank], starts[with->rank + 1], at};
    at += s->parts[i].end - s->parts[i].begin;
    first = last;
  }
  return PHIBAL_OK;
}

phibal_status sharding_divide(sharding *s, model *m) {
  s->model = m;
  if (!sharding_is_divided(s)) return PHIBAL_OK;
  int64_t *begins, count;
  phibal_status status = find_blocks(s, &begins, &count);
  if (!status) status = split_runs(s, begins, count);
  free(begins);
  const int64_t blocks = optimizer_blocks(model_tensor_count(m), model_tensors(m));
  if (!status && !(s->sums = calloc((size_t)blocks + 1, sizeof *s->sums)))
    status = phibal_status_set(PHIBAL_ERROR_MEMORY, "norm of the gradient: out of memory");
  return status;
}

void sharding_destroy(sharding *s) {
  parallel_release(&s->group);
  parallel_release(&s->replicas);
  free(s->runs);
  free(s->starts);
  free(s->parts);
  free(s->sums);
  *s = (sharding){0};
}

phibal_status sharding_sum_gradients(const sharding *s) {
  float *gradients = model_gradients(s->model);
  if (!sharding_is_divided(s))
    return parallel_sum_floats(s->world, gradients, model_parameter_count(s->model));
  const size_t stride = (size_t)s->world->ranks + 1;
  phibal_status status = PHIBAL_OK;
  for (int64_t i = 0; i < s->run_count && !status; i++) {
    const sharding_run *run = &s->runs[i];
    const parallel *with = sharing_ranks(s, run->experts);
    status = s->starts ? parallel_sum_parts(with, s->starts + (size_t)i * stride, gradients)
                       : parallel_sum_floats(with, gradients + run->begin, run->end - run->begin);
  }
  return status;
}

/* Whether this rank is the one that speaks for what several have. */
static bool counts_tensor(const sharding *s, const model_tensor *tensor) {
  return s->optimizer || sharing_ranks(s, is_experts(s, tensor))->rank == 0;
}

phibal_status sharding_norm(const sharding *s, const optimizer *o, double *norm) {
  const float *gradients = model_gradients(s->model);
  if (!sharding_is_divided(s)) return optimizer_norm(o, gradients, norm);
  optimizer_block_sums(o, gradients, s->sums);
  double *sums = s->sums;
  for (int32_t t = 0; t < o->tensor_count; t++) {
    const model_tensor *tensor = &o->tensors[t];
    const int64_t blocks = optimizer_tensor_blocks(tensor);
    if (!counts_tensor(s, tensor)) memset(sums, 0, (size_t)blocks * sizeof *sums);
    sums += blocks;
  }
  parallel_merge_doubles(s->world, s->sums, sums - s->sums);
  return optimizer_norm_of(o, s->sums, gradients, norm);
}

void sharding_gather_weights(const sharding *s) {
  const size_t stride = (size_t)s->world->ranks + 1;
  for (int64_t i = 0; i < s->run_count && s->starts; i++)
    parallel_gather_parts(sharing_ranks(s, s->runs[i].experts), s->starts + (size_t)i * stride,
                          model_parameters(s->model));
}

/* One way or the other; `buffer` holds the elements from `at` on. */
static void copy_elements(const sharding *s, const model_tensor *tensor, float *array, bool moments,
                          int64_t at, int64_t n, float *buffer, bool take) {
  const int64_t row = tensor->shape[1] * tensor->shape[2];
  const int64_t begin = tensor->offset, end = begin + tensor->shape[0] * row;
  /* Place in the arena of the whole tensor's element 0, which may be another rank's. */
  const int64_t zero = begin - tensor->first * row;
  const optimizer_part all = {begin, end, begin};
  const bool parts = moments && s->parts;
  for (int64_t i = 0; i < (parts ? s->run_count : 1); i++) {
    const optimizer_part *part = parts ? &s->parts[i] : &all;
    int64_t from = part->begin > begin ? part->begin : begin;
    int64_t to = part->end < end ? part->end : end;
    if (from < zero + at) from = zero + at;
    if (to > zero + at + n) to = zero + at + n;
    if (from >= to) continue;
    float *mine = array + part->at + from - part->begin, *other = buffer + from - zero - at;
    memcpy(take ? other : mine, take ? mine : other, (size_t)(to - from) * sizeof *mine);
  }
}

void sharding_take(const sharding *s, const model_tensor *tensor, const float *array, bool moments,
                   int64_t at, int64_t n, float *to) {
  const bool one = sharing_ranks(s, is_experts(s, tensor))->rank == 0;
  if (one || (moments && s->parts))
    copy_elements(s, tensor, (float *)array, moments, at, n, to, true);
}

void sharding_put(const sharding *s, const model_tensor *tensor, float *array, bool moments,
                  int64_t at, int64_t n, const float *from) {
  copy_elements(s, tensor, array, moments, at, n, (float *)from, false);
}

static void gather_piece(const void *context, const model_tensor *tensor, int64_t at, int64_t n,
                         float *to) {
  const sharding *s = context;
  memset(to, 0, (size_t)n * sizeof *to);
  sharding_take(s, tensor, model_parameters(s->model), false, at, n, to);
  parallel_merge_words(s->world, (uint32_t *)to, n);
}

phibal_status sharding_digest(const sharding *s, char digest[SHA256_TEXT]) {
  const model_gathering gathering = {s, gather_piece};
  if (s->experts) return model_digest(s->model, &gathering, digest);
  return s->world->rank ? PHIBAL_OK : model_digest(s->model, NULL, digest);
}
