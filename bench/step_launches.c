/* What one training step of a run file starts on a device, counted by the host's CUDA: kernels, the
   library's products, copies and zeros, and the waits. A call, a layer with experts and a block of
   the head's rows start as much whatever their size, so that small models of the same kind with 2
   and 3 layers, 1 and 2 calls, and 1 and 2 blocks tell them apart. Attention counts apart, as the
   one operation that it is to cuDNN, and a product as one. Copies are counted where they leave or
   reach memory of the host that is not pinned, too: such a copy waits. All of it three times: where
   the products read their sizes on the device; where they need them on the host; and where they are
   large enough there to be made each by itself. Beside it the least time that the step's FLOPs take
   at PEAK, and the step's bytes, floor and estimated MFU (step_floor.c).
     usage: bench_step_launches [--floor] CONFIG SEQUENCES MICRO [PEAK]
   With --floor that alone. SEQUENCES of a step, MICRO of them at a time; PEAK in FLOP/s (989.4e12,
   an H100's and H200's in bfloat16). */
#include "moe/device/device_internal.h"
#include <dlfcn.h>
#include "step_floor.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KERNELS, DENSE, GROUPED, SEPARATE, PAGEABLE, COPIES, ZEROS, WAITS, ATTENTION, KINDS };
typedef struct counts {
  int64_t of[KINDS];
} counts;

static const char *const names[KINDS] = {"kernels",
                                         "dense products",
                                         "grouped products",
                                         "products of an expert each",
                                         "of them not pinned",
                                         "copies",
                                         "zeros",
                                         "waits",
                                         "attention"};

static void require(phibal_status status) {
  if (status == PHIBAL_OK) return;
  fprintf(stderr, "bench_step_launches: %s\n", phibal_status_message());
  exit(1);
}

typedef enum sizes { ON_HOST, ON_DEVICE, ON_HOST_SEPARATE } sizes;

/* The library's own functions, and what was called in their place. */
static device_library library;
static counts called;
static sizes of_products;
static int64_t *started; /* of the stand-in: KERNELS to PAGEABLE */

static phibal_status copy(void *to, const void *from, size_t bytes, const phibal_cuda *call) {
  called.of[COPIES]++;
  return library.copy(to, from, bytes, call);
}
static phibal_status copy_rows(int64_t rows, size_t bytes, void *to, size_t to_stride,
                               const void *from, size_t from_stride, const phibal_cuda *call) {
  called.of[COPIES]++;
  return library.copy_rows(rows, bytes, to, to_stride, from, from_stride, call);
}
static const float *gradients;
static int64_t parameters,
    cleared; /* of the model that steps, and its gradients that are cleared */
static phibal_status zero(void *p, size_t bytes, const phibal_cuda *call) {
  called.of[ZEROS]++;
  if ((float *)p >= gradients && (float *)p < gradients + parameters)
    cleared += (int64_t)(bytes / sizeof(float));
  return library.zero(p, bytes, call);
}
static phibal_status waited(const phibal_cuda *call) {
  called.of[WAITS]++;
  return library.wait(call);
}
static phibal_status attended(const phibal_cuda_attention *a, const void *qkv, void *output,
                              float *logsumexp, const phibal_cuda *call) {
  const int64_t before[] = {started[KERNELS], started[DENSE], started[GROUPED], started[SEPARATE]};
  const phibal_status status = library.attention_forward(a, qkv, output, logsumexp, call);
  memcpy(started, before, sizeof before);
  called.of[ATTENTION]++;
  return status;
}
static phibal_status attended_backward(const phibal_cuda_attention *a, const void *qkv,
                                       const void *output, const float *logsumexp,
                                       const void *output_gradient, void *gradient,
                                       const phibal_cuda *call) {
  const int64_t before[] = {started[KERNELS], started[DENSE], started[GROUPED], started[SEPARATE]};
  const phibal_status status =
      library.attention_backward(a, qkv, output, logsumexp, output_gradient, gradient, call);
  memcpy(started, before, sizeof before);
  called.of[ATTENTION]++;
  return status;
}

/* Gradients that products do not make: of norms, and of embeddings where the head is another. */
static int64_t cleared_of(const model_config *c) {
  const int64_t n = c->head_width, heads = c->heads + c->key_value_heads;
  const int64_t qk = c->qk_norm == QK_NORM_PROJECTION ? heads * n : c->qk_norm ? 2 * n : 0;
  return c->layers * (2 * (int64_t)c->width + qk) + c->width +
         (c->untied_head ? (int64_t)c->vocabulary * c->width : 0);
}

/* One step of a small model like c's; `blocks` of the head's rows in a call. */
static counts step(const run_config *c, int32_t layers, int32_t calls, int32_t blocks) {
  enum { LENGTH = 8 };
  model_config small = c->model;
  small.layers = layers;
  small.dense_layers = 0;
  small.width = 16;
  small.head_width = 8;
  small.hidden = 8;
  small.dense_hidden = 8;
  small.vocabulary = 104;
  small.sequence = LENGTH;
  const int32_t batch = blocks == 1 ? 1 : HEAD_ROWS_ON_DEVICE / LENGTH + 1;
  const int64_t tokens = (int64_t)batch * LENGTH;
  model *m;
  optimizer o;
  device *d;
  require(model_create(&small, &c->balance, batch, 1, &m));
  require(optimizer_create(&c->optimizer, model_tensor_count(m), model_tensors(m),
                           model_parameter_count(m), &o));
  require(device_create("host-cuda", m, NULL, &o, PRECISION_BFLOAT16, calls, NULL, &d));
  const bool sizes_on_device = of_products == ON_DEVICE;
  d->sizes_on_device &= sizes_on_device;
  if (d->sizes_on_device != sizes_on_device)
    require(phibal_status_set(PHIBAL_ERROR_UNSUPPORTED, "the stand-in reads no sizes"));
  int64_t *from = dlsym(d->library.handle, "cuda_on_host_separate_flops");
  if (!from) require(phibal_status_set(PHIBAL_ERROR_UNSUPPORTED, "the stand-in groups all"));
  *from = of_products == ON_HOST_SEPARATE ? 0 : INT64_MAX;
  started = dlsym(d->library.handle, "cuda_on_host_started");
  int32_t *ids = malloc((size_t)(tokens + 1) * sizeof *ids);
  if (!ids || !started) require(phibal_status_set(PHIBAL_ERROR_MEMORY, "no counts or no memory"));
  for (int64_t i = 0; i <= tokens; i++) ids[i] = (int32_t)(i * i % small.vocabulary);
  model_batch of_call = model_batch_count(tokens, ids, ids + 1);
  const model_batch all = {of_call.targets * calls, of_call.tokens * calls};
  library = d->library;
  d->library.copy = copy;
  d->library.copy_rows = copy_rows;
  d->library.zero = zero;
  d->library.wait = waited;
  d->library.attention_forward = attended;
  d->library.attention_backward = attended_backward;
  called = (counts){0};
  gradients = d->model.gradients;
  parameters = d->model.parameter_count;
  cleared = 0;
  memset(started, 0, (PAGEABLE + 1) * sizeof *started);
  model_losses losses;
  double norm;
  require(device_step_begin(d, all));
  for (int32_t i = 0; i < calls; i++) require(device_forward_backward(d, batch, ids, ids + 1));
  require(device_step_finish(d, 1e-5, &losses, &norm));
  counts n = called;
  if (cleared != cleared_of(&small))
    require(phibal_status_set(PHIBAL_ERROR_DOMAIN, "%lld gradients are cleared, not %lld",
                              (long long)cleared, (long long)cleared_of(&small)));
  memcpy(n.of, started, (PAGEABLE + 1) * sizeof *started);
  free(ids);
  d->library = library;
  device_destroy(d);
  optimizer_destroy(&o);
  model_destroy(m);
  return n;
}

static counts sum(counts a, int64_t times, counts b) {
  for (int i = 0; i < KINDS; i++) a.of[i] += times * b.of[i];
  return a;
}

/* Returns the operations: of products an expert each, as many as there are experts. */
static int64_t print(const char *what, counts n, int32_t experts) {
  int64_t all = 0;
  printf("  %-24s", what);
  for (int i = 0; i < KINDS; i++) {
    printf(" %7lld %s%s", (long long)n.of[i], names[i], i + 1 < KINDS ? "," : "\n");
    if (i != WAITS && i != PAGEABLE) all += n.of[i] * (i == SEPARATE ? experts : 1);
  }
  return all;
}

/* Prints what a step starts; false where that does not add up, or a step waits too often. */
static bool count(const run_config *c, double peak, sizes where) {
  of_products = where;
  const counts two = step(c, 2, 1, 1), twice = step(c, 2, 2, 1);
  const counts both = sum(step(c, 3, 1, 1), -1, two); /* of a layer, in a call and in a step */
  const counts layer = sum(sum(step(c, 3, 2, 1), -1, twice), -1, both);
  const counts layer_step = sum(both, -1, layer), block = sum(step(c, 2, 1, 2), -1, two);
  const counts call = sum(sum(sum(twice, -1, two), -2, layer), -1, block);
  const counts rest = sum(sum(sum(two, -1, call), -2, both), -1, block);
  const counts four = sum(sum(rest, 4, layer_step), 2, sum(sum(call, 4, layer), 1, block));
  const counts seen = step(c, 4, 2, 1);
  if (memcmp(&four, &seen, sizeof four)) {
    fprintf(stderr, "bench_step_launches: layers, calls and blocks do not add up\n");
    return false;
  }
  const int64_t micro = c->batch.micro_sequences, calls = c->batch.sequences / micro;
  const int64_t size = HEAD_ROWS_ON_DEVICE, blocks = (micro * c->model.sequence + size - 1) / size;
  printf(
      "%s: %lld calls of %lld x %d tokens, %d layers, %lld blocks of the head's rows; sizes of the "
      "experts' products on the %s\n",
      c->name, (long long)calls, (long long)micro, c->model.sequence, c->model.layers,
      (long long)blocks,
      where == ON_DEVICE ? "device"
      : where == ON_HOST ? "host"
                         : "host, each made by itself");
  const int32_t experts = c->model.experts;
  print("a layer, each call", layer, experts);
  print("a layer, each step", layer_step, experts);
  print("a block of the head", block, experts);
  print("the rest of a call", call, experts);
  print("the rest of a step", rest, experts);
  const counts of_call = sum(sum(call, c->model.layers, layer), blocks, block);
  const counts all = sum(sum(rest, c->model.layers, layer_step), calls, of_call);
  const int64_t operations = print("a step", all, experts);
  const plan p = plan_compute(c);
  const double tokens = (double)c->batch.sequences * c->model.sequence;
  const double least = tokens * p.token_flops / peak;
  printf("  %lld operations; %.4g FLOP are %.4g ms at %.1f TFLOP/s, %.3g us an operation\n",
         (long long)operations, tokens * p.token_flops, 1e3 * least, peak * 1e-12,
         1e6 * least / (double)operations);
  int64_t all_parameters, of_token;
  model_count(&c->model, c->balance.method, &all_parameters, &of_token);
  const double made = 4e-9 * (double)(all_parameters - cleared_of(&c->model));
  printf("  %.4g GB of gradients are overwritten by the first call's products: so much is not "
         "cleared, "
         "and not read to be added to\n",
         made);
  if (all.of[WAITS] <= (where == ON_DEVICE ? 1 : 1 + calls * c->model.layers) &&
      all.of[PAGEABLE] == 0)
    return true;
  fprintf(stderr, "bench_step_launches: %lld waits, %lld copies of memory that is not pinned\n",
          (long long)all.of[WAITS], (long long)all.of[PAGEABLE]);
  return false;
}

int main(int argc, char **argv) {
  const bool alone = argc > 1 && strcmp(argv[1], "--floor") == 0;
  argc -= alone, argv += alone;
  if (argc < 4) {
    fprintf(stderr, "usage: bench_step_launches [--floor] CONFIG SEQUENCES MICRO [PEAK]\n");
    return 2;
  }
  const double peak = argc > 4 ? atof(argv[4]) : 989.4e12;
  const config_override set[] = {{"batch.sequences", argv[2], "SEQUENCES"},
                                 {"batch.micro_sequences", argv[3], "MICRO"}};
  run_config c;
  require(run_config_load(argv[1], set, sizeof set / sizeof *set, &c));
  bool counted = true;
  for (int i = ON_HOST; !alone && i <= ON_HOST_SEPARATE; i++) counted &= count(&c, peak, (sizes)i);
  require(step_floor(&c, peak));
  return counted ? 0 : 1;
}
