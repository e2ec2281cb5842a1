/* The judge without kernels, for judge_alone.sh. With PLANTED it calls one.
   usage: judge_alone CASES RESULTS */
#include "verify/judge_vectors.h"
#include <phibal/balance.h>
#include <stdio.h>

int main(int argc, char **argv) {
  if (argc != 3) return 2;
#ifdef PLANTED
  const float m = 1;
  float next;
  if (phibal_ema(1, 0.5f, &m, &m, &next)) return 2;
#endif
  const judge_request request = {.cases = argv[1], .results = argv[2], .times = 1};
  judge_report report = {0};
  if (judge_vectors(&request, &report)) {
    fprintf(stderr, "%s\n", phibal_status_message());
    return 2;
  }
  printf("%lld cases, %lld failed\n", (long long)report.count, (long long)report.failed);
  const bool passed = judge_passed(&report);
  judge_report_clear(&report);
  return passed ? 0 : 1;
}
