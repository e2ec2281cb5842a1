/* Speed of training steps, compared with the machine's peak measured in the same process. */
#ifndef PHIBAL_MOE_BENCHMARK_H
#define PHIBAL_MOE_BENCHMARK_H

#include "moe/config/config.h"
#include "moe/data/token_file.h"

typedef enum benchmark_section {
  SECTION_ROUTER, /* logits, selection, loads, balancing loss, and their gradients */
  SECTION_PERMUTATION,
  SECTION_EXPERTS,
  SECTION_ATTENTION,
  SECTION_EMBEDDING,
  SECTION_HEAD,
  SECTION_OPTIMIZER,
  SECTION_OTHER,
  BENCHMARK_SECTIONS
} benchmark_section;
extern const char *const benchmark_section_names[BENCHMARK_SECTIONS];

typedef struct benchmark {
  int32_t threads, steps;
  int64_t step_tokens;
  double peak_flops;        /* a second: multiply-adds in binary32, all threads (processor_peak) */
  int64_t product_shape[3]; /* rows, out, in of a linear layer; of its products */
  double product_flops[3];  /* a second, all threads: Y = X W^T, dX = dY W, dW += dY^T X */
  double copy_bytes;        /* a second, read and written: copies far larger than the caches */
  double step_seconds[3];   /* median, least, most */
  /* Of one step. Medians over the steps, section by section: a step during which another process
     took a core counts as one bad step and not by its length. */
  double section_seconds[BENCHMARK_SECTIONS];
  double section_flops[BENCHMARK_SECTIONS]; /* 0 where products are not what it does */
  double optimizer_bytes;                   /* read g, w, m, v; write w, m, v */
} benchmark;

/* Trains `steps` steps after two that do not count, on the file's tokens or (null) on made-up ones.
 */
phibal_status benchmark_run(const run_config *config, const token_file *file, int32_t steps,
                            benchmark *result);

#endif
