/* Prints one hash of what every core gives on a fixed sample. core_bits.sh compiles it in several
   ways, with several compilers: the hash must be the same. As CUDA it is evaluated on the device.
 */
#include "kernels/core/activation.h"
#include "kernels/core/activation32.h"
#include "kernels/core/exp_below64.h"
#include "kernels/core/cos_turn64.h"
#include "kernels/core/dd_sine.h"
#include "kernels/core/exact_sum.h"
#include "kernels/core/exp.h"
#include "kernels/core/expm1.h"
#include "kernels/core/log.h"
#include "kernels/core/log1p.h"
#include "kernels/core/router.h"
#include "kernels/core/sigmoid.h"
#include "kernels/core/price.h"
#include "kernels/core/tanh.h"
#include <stdio.h>
#include <stdlib.h>

enum { SAMPLES = 40000, EXPERTS = 5 };

CORE_FUNCTION uint64_t mix(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
  return hash ^ (hash >> 29);
}

CORE_FUNCTION uint64_t mix_double(uint64_t hash, double x) {
  return mix(hash, core_bits64(x));
}

CORE_FUNCTION uint64_t mix_dd(uint64_t hash, core_dd x) {
  return mix_double(mix_double(hash, x.hi), x.lo);
}

CORE_FUNCTION uint64_t mix_functions(uint64_t h, float x) {
  h = mix(h, core_bits32(core_exp(x)));
  h = mix(h, core_bits32(core_expm1(x)));
  h = mix(h, core_bits32(core_log(x)));
  h = mix(h, core_bits32(core_log1p(x)));
  h = mix(h, core_bits32(core_tanh(x)));
  h = mix(h, core_bits32(core_sqrt_softplus(x)));
  return mix(h, core_bits32(core_sigmoid(x)));
}

/* x finite, |x| <= 600. */
CORE_FUNCTION uint64_t mix_finite(uint64_t h, double x) {
  h = mix_double(h, core_exp64(x));
  h = mix_double(h, core_exp_below64(x));
  h = mix_double(h, core_exp_below64_short(x));
  h = mix_double(h, core_exp2(x));
  h = mix_double(h, core_log64(core_abs(x) + 0x1p-100));
  h = mix_double(h, core_sqrt_softplus_weight(x, x - 1.0));
  h = mix_double(h, core_sqrt_softplus_slope(x));
  h = mix_dd(h, core_dd_sqrt_softplus(x));
  h = mix_double(h, core_silu64(x).value);
  h = mix_double(h, core_silu64(x).derivative);
  h = mix_double(h, core_gelu64(x).value);
  h = mix_double(h, core_gelu64(x).derivative);
  for (int i = 0; i < 2; i++) {
    const float f = (float)(i ? x * 0x1p-5 : x);
    h = mix(h, core_bits32(core_silu32(f).value));
    h = mix(h, core_bits32(core_silu32(f).derivative));
    h = mix(h, core_bits32(core_gelu32(f).value));
    h = mix(h, core_bits32(core_gelu32(f).derivative));
  }
  h = mix_dd(h, core_dd_exp(core_dd_from(x)));
  h = mix_dd(h, core_dd_expm1(core_dd_from(x)));
  h = mix_dd(h, core_dd_tanh(core_dd_from(core_abs(x))));
  h = mix_dd(h, core_dd_log(core_abs(x) + 0x1p-100));
  h = mix_double(h, core_cos_turn64(x));
  h = mix_dd(h, core_dd_sin(0x1p21 * x));
  h = mix_dd(h, core_dd_cos(0x1p21 * x));
  h = mix_dd(h, core_dd_power(core_abs(x) + 0x1p-60, 0.75));
  return mix_dd(h, core_dd_sqrt(core_dd_from(core_abs(x))));
}

CORE_FUNCTION uint64_t mix_prices(uint64_t h, uint32_t seed) {
  float m[EXPERTS];
  core_dd scratch[EXPERTS];
  double tree[EXPERTS];
  uint64_t limb[7] = {0, 0, 0, 0, 0, 0, 0};
  for (int e = 0; e < EXPERTS; e++) {
    seed = seed * 1664525u + 1013904223u;
    m[e] = (float)(seed >> 8) * 0x1p-24f;
    tree[e] = (double)m[e] * (double)m[e] * 0x1p-70;
    core_exact_add(limb, 6, 0, tree[e]);
  }
  for (int id = 0; id < PHIBAL_POTENTIAL_COUNT; id++) {
    phibal_potential p;
    p.id = (phibal_potential_id)id;
    p.parameter = id == PHIBAL_POTENTIAL_RENYI ? 0.999 : 1.001 + (double)(seed % 7);
    for (int form = 0; form <= 1; form++) {
      core_price plan = core_price_prepare(p, (core_price_form)form, EXPERTS, m, scratch);
      for (int e = 0; e < EXPERTS; e++) {
        core_dd price = core_price_value(&plan, m[e]);
        h = mix(mix_dd(h, price), core_bits32(core_dd_to_float(price)));
      }
    }
  }
  core_exact_carry(limb, 6);
  for (int j = 0; j < 6; j++) h = mix(h, limb[j]);
  h = mix_dd(h, core_exact_value(limb, 6, 0));
  return mix_double(h, core_tree_sum(tree, EXPERTS));
}

CORE_FUNCTION uint64_t sample(uint32_t i) {
  uint32_t bits = i * 2654435761u;
  uint64_t h = mix_functions(i, core_float(bits));
  h = mix_functions(h, (float)(int32_t)bits * 0x1p-24f); /* -128 .. 128 */
  h = mix_finite(h, (double)(int32_t)bits * 0x1p-22);
  h = mix_finite(h, (double)(int32_t)bits * 0x1p-31);
  return i % 40 == 0 ? mix_prices(h, bits) : h;
}

static void print_hash(const uint64_t *hash) {
  uint64_t h = 0;
  for (int i = 0; i < SAMPLES; i++) h = mix(h, hash[i]);
  printf("%016llx\n", (unsigned long long)h);
}

#if defined(__CUDACC__)
__global__ void evaluate(uint64_t *hash) {
  uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < SAMPLES) hash[i] = sample(i);
}

int main(void) {
  static uint64_t hash[SAMPLES];
  uint64_t *device = NULL;
  if (cudaMalloc((void **)&device, sizeof hash) != cudaSuccess) return 77;
  evaluate<<<(SAMPLES + 127) / 128, 128>>>(device);
  if (cudaMemcpy(hash, device, sizeof hash, cudaMemcpyDeviceToHost) != cudaSuccess) return 1;
  cudaFree(device);
  print_hash(hash);
  return 0;
}
#else
int main(void) {
  static uint64_t hash[SAMPLES];
  for (uint32_t i = 0; i < SAMPLES; i++) hash[i] = sample(i);
  print_hash(hash);
  return 0;
}
#endif
