/* Which of OpenBLAS's kernels suit a processor, and that the peak is one. */
#include "moe/machine/processor.h"
#include <criterion/criterion.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

Test(processor, kernels_for_a_lesser_one_are_replaced_and_no_others) {
  static const struct {
    const char *chosen;
    const char *sse, *avx, *avx2, *avx512; /* on a processor with these */
  } cases[] = {
      {"Prescott", NULL, "Sandybridge", "Haswell", "SkylakeX"},
      {"prescott", NULL, "Sandybridge", "Haswell", "SkylakeX"},
      {"Nehalem", NULL, "Sandybridge", "Haswell", "SkylakeX"},
      {"Core2", NULL, "Sandybridge", "Haswell", "SkylakeX"},
      {"Sandybridge", NULL, NULL, "Haswell", "SkylakeX"},
      {"Piledriver", NULL, NULL, "Haswell", "SkylakeX"},
      {"Haswell", NULL, NULL, NULL, "SkylakeX"},
      {"Zen", NULL, NULL, NULL, "SkylakeX"},
      {"Excavator", NULL, NULL, NULL, "SkylakeX"},
      {"SkylakeX", NULL, NULL, NULL, NULL},
      {"Cooperlake", NULL, NULL, NULL, NULL},
      {"SapphireRapids", NULL, NULL, NULL, NULL},
      {"of a later release", NULL, NULL, NULL, NULL},
      {"", NULL, NULL, NULL, NULL},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const char *const wanted[] = {
        [VECTORS_OTHER] = NULL,
        [VECTORS_SSE] = cases[i].sse,
        [VECTORS_AVX] = cases[i].avx,
        [VECTORS_AVX2] = cases[i].avx2,
        [VECTORS_AVX512] = cases[i].avx512,
    };
    for (int v = VECTORS_OTHER; v <= VECTORS_AVX512; v++) {
      const char *got = blas_coretype(cases[i].chosen, (vector_instructions)v);
      cr_expect(got == wanted[v] || (got && wanted[v] && !strcmp(got, wanted[v])),
                "%s on %s: %s, not %s", cases[i].chosen, vector_instruction_names[v],
                got ? got : "none", wanted[v] ? wanted[v] : "none");
    }
  }
}

/* What /proc/cpuinfo says of the processor, where there is such a file. */
static bool has_flag(const char *flag) {
  static char line[16384], word[40];
  FILE *file = fopen("/proc/cpuinfo", "r");
  bool found = false;
  snprintf(word, sizeof word, " %s ", flag);
  while (file && !found && fgets(line, sizeof line, file)) {
    line[strcspn(line, "\n")] = ' ';
    found = !strncmp(line, "flags", 5) && strstr(line, word);
  }
  if (file) fclose(file);
  return found;
}

Test(processor, vectors_are_the_systems) {
#if defined __x86_64__
  cr_expect_eq(processor_vectors() >= VECTORS_AVX, has_flag("avx"));
  cr_expect_eq(processor_vectors() >= VECTORS_AVX2, has_flag("avx2") && has_flag("fma"));
  cr_expect(processor_vectors() < VECTORS_AVX512 || has_flag("avx512bw"));
  cr_expect(processor_vectors() == VECTORS_AVX512 || !has_flag("avx512vl"));
#else
  cr_expect_eq(processor_vectors(), VECTORS_OTHER);
  cr_expect(!has_flag(""));
#endif
  cr_expect(strlen(processor_name()) > 2);
}
