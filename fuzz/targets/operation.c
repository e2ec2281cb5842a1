/* Every operation: a generated case whose inputs and parameters are then changed as the bytes say,
   run by the CPU kernels and judged by the reference. What a kernel refuses, it refuses with a
   message; what it accepts keeps its promise.

   byte 0 the operation, 1 to 4 seed and number of the case; then edits of 8 bytes: which tensor or
   parameter, how, which element (2 bytes), and 4 bytes of pattern. */
#include "verify/judgement.h"
#include "target.h"
#include <math.h>
#include <omp.h>

enum { HEAD = 5, EDIT = 8, MOST_EDITS = 64, MOST_ELEMENTS = 6000 };

typedef struct edit {
  uint8_t target, how;
  uint16_t place;
  uint32_t pattern;
} edit;

static float float_of(uint32_t bits) {
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

/* The products and sums of the expert layer's bounds assume that nothing overflows, and that what
   underflows is beside something that does not. */
static float tamed(float x) {
  if (x == 0 || fabsf(x) < 0x1p-30f) return 0;
  return fabsf(x) > 0x1p30f ? copysignf(0x1p30f, x) : x;
}

static float edited_float(const edit *e, const float *data, int64_t n, float old) {
  switch (e->how % 8) {
  case 0:
    return float_of(e->pattern);
  case 1:
    return data[e->pattern % (uint64_t)n]; /* a tie */
  case 2:
    return nextafterf(old, e->pattern % 2 ? INFINITY : -INFINITY);
  case 3:
    return -old;
  case 4:
    return ldexpf(old, (int)(e->pattern % 64) - 32);
  case 5:
    return e->pattern % 2 ? -0.0f : 0.0f;
  case 6:
    return (float)(int32_t)e->pattern * 0x1p-24f;
  default:
    return float_of(e->pattern & 0x80ffffffu); /* small and subnormal */
  }
}

static void edit_tensor(tensor *t, const edit *e, bool expert_layer) {
  int64_t n = tensor_size(t);
  if (!n) return;
  int64_t i = e->place % n;
  if (t->type == TENSOR_F32) {
    float *data = t->data;
    float x = edited_float(e, data, n, data[i]);
    if (expert_layer) x = tamed(x);
    if (isfinite(x)) data[i] = x;
  } else if (t->type == TENSOR_F64) {
    double x = ldexp((double)float_of(e->pattern), e->how - 128);
    if (isfinite(x)) ((double *)t->data)[i] = x;
  } else if (t->type == TENSOR_I64 && !strcmp(t->name, "counts")) {
    ((int64_t *)t->data)[i] = (int64_t)e->pattern << e->how % 24;
  } else if (t->type == TENSOR_U8) {
    ((uint8_t *)t->data)[i] = e->how % 2; /* a mask */
  }
}

/* Integers are shapes, and texts are names: only reals. */
static void edit_parameter(parameter *p, const edit *e) {
  if (p->kind != PARAMETER_REAL) return;
  double x = e->how % 2 ? (double)float_of(e->pattern)
                        : p->real * ldexp(1 + e->place * 0x1p-16, (int)(e->pattern % 32) - 16);
  if (isfinite(x)) p->real = strcmp(p->name, "alpha") ? (double)(float)x : x;
}

static void edit_case(operation_case *c, const uint8_t *data, size_t size) {
  const char *name = c->operation->name;
  bool expert_layer =
      !strcmp(name, "expert-ffn") || !strcmp(name, "combine") || !strcmp(name, "permutation");
  for (int n = 0; size >= EDIT && n < MOST_EDITS; n++, data += EDIT, size -= EDIT) {
    edit e = {.target = data[0], .how = data[1]};
    memcpy(&e.place, data + 2, 2);
    memcpy(&e.pattern, data + 4, 4);
    int target = e.target % (c->input_count + c->parameter_count);
    if (target < c->input_count)
      edit_tensor(&c->inputs[target], &e, expert_layer);
    else
      edit_parameter(&c->parameters[target - c->input_count], &e);
  }
}

static int64_t elements(const operation_case *c) {
  int64_t n = 0;
  for (int i = 0; i < c->input_count; i++) n += tensor_size(&c->inputs[i]);
  return n;
}

static void judge(const operation_case *c) {
  static tally tallies[OUTPUT_COUNT];
  for (int o = 0; o < OUTPUT_COUNT; o++) {
    tally_start(&tallies[o], (output_id)o);
    tally_case(&tallies[o], c->number);
  }
  if (operation_judge(c, tallies)) return; /* undecided, or not within the reference's domain */
  for (int o = 0; o < OUTPUT_COUNT; o++) {
    const tally *t = &tallies[o];
    FUZZ_REQUIRE(!t->failures, "%s %s, case %llu of seed %llu: element %lld is %.9g (%a), not %s",
                 c->operation->name, output_describe((output_id)o)->output,
                 (unsigned long long)c->number, (unsigned long long)c->seed,
                 (long long)t->worst_element, t->worst_got, t->worst_got, t->worst_expected);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < HEAD) return 0;
  omp_set_num_threads(1);
  const operation *o = &operations[data[0] % operation_count];
  uint64_t seed = (uint64_t)data[1] << 8 | data[2];
  /* The first cases of some kinds are large. */
  uint64_t number = 128 + ((uint64_t)data[3] << 8 | data[4]);
  operation_case c;
  if (operation_make(o, seed, number, &c)) {
    FUZZ_REQUIRE_MESSAGE();
    return 0;
  }
  if (elements(&c) <= MOST_ELEMENTS) {
    edit_case(&c, data + HEAD, size - HEAD);
    if (o->cpu(&c))
      FUZZ_REQUIRE_MESSAGE();
    else
      judge(&c);
  }
  operation_case_clear(&c);
  mpfr_free_cache();
  return 0;
}
