/* usage: bench_gpu [check [ROUNDS [router]]] | bench [TOKENS] | once | try
   check: the CUDA kernels beside the CPU's, bit for bit (router: of routing and balancing alone);
   bench: their times, of so many TOKENS alone where a table has several; once: each of them one
   time, at 65536 tokens, for a profiler; try: both, tiny. */
#include <cstdio>

#include "gpu.h"

int main(int argc, char **argv) {
  const char *what = argc > 1 ? argv[1] : "check";
  if (strncmp(device_name(), "no CUDA device", 14) == 0) {
    fprintf(stderr, "%s\n", device_name());
    return 2;
  }
  if (strcmp(what, "check") == 0)
    return gpu_check(argc > 2 ? atoi(argv[2]) : 8) + (argc > 3 ? 0 : gpu_check_step()) != 0;
  if (strcmp(what, "bench") == 0) return !gpu_bench(false, false, argc > 2 ? atoi(argv[2]) : 0);
  if (strcmp(what, "try") == 0)
    return gpu_check(1) + gpu_check_step() != 0 || !gpu_bench(true, true, 0);
  if (strcmp(what, "once") == 0) return !gpu_bench(false, true, 65536);
  fprintf(stderr, "usage: bench_gpu [check [ROUNDS [router]]] | bench [TOKENS] | once | try\n");
  return 2;
}
