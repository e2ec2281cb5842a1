/* usage: bench_gpu [check [ROUNDS [router]]] | bench [TOKENS] | once | floors | try
   check: the CUDA kernels beside the CPU's, bit for bit (router: of routing and balancing alone);
   bench: their times, of so many TOKENS alone where a table has several; once: each of them one
   time, at 65536 tokens, for a profiler; floors: the lines of bench without the times, on any
   machine; try: check and bench, tiny. */
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
  if (strcmp(what, "bench") == 0) return !gpu_bench(BENCH_TIMES, argc > 2 ? atoi(argv[2]) : 0);
  if (strcmp(what, "try") == 0)
    return gpu_check(1) + gpu_check_step() != 0 || !gpu_bench(BENCH_SMALL, 0);
  if (strcmp(what, "once") == 0) return !gpu_bench(BENCH_ONCE, 65536);
  if (strcmp(what, "floors") == 0) return !gpu_bench(BENCH_FLOORS, 0);
  fprintf(stderr,
          "usage: bench_gpu [check [ROUNDS [router]]] | bench [TOKENS] | once | floors | try\n");
  return 2;
}
