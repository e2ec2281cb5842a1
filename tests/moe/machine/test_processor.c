/* The processor's vectors are those that the system says it has. */
#include "moe/machine/processor.h"
#include <criterion/criterion.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

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
