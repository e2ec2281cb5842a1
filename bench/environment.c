/* What looking at the floating-point environment costs the smallest kernels: the time of the look
   beside that of each, which holds it, in one run. usage: bench_environment */
#include <omp.h>
#include <phibal/balance.h>
#include <phibal/environment.h>
#include <phibal/router.h>
#include <stdio.h>

enum { MOST = 256, CALLS = 20000, ROUNDS = 7 };

int main(void) {
  static float m[MOST], loads[MOST], out[MOST], gate[8];
  static int32_t expert[8];
  phibal_potential phi;
  if (phibal_potential_find("negentropy", &phi)) return 1;
  printf("%-8s %-15s %10s %10s %8s\n", "experts", "kernel", "look, ns", "kernel, ns", "share");
  for (int n = 8; n <= MOST; n *= 8) {
    for (int e = 0; e < n; e++) m[e] = loads[e] = 1.0f / (float)(n + e % 3);
    const phibal_router router = {n, 1, PHIBAL_GATE_TOPK_SOFTMAX, 1.0f};
    phibal_loads sum;
    if (phibal_loads_create(&router, &sum)) return 1;
    static const char *const names[] = {"the look", "ema", "price_centred", "router_forward"};
    double best[4] = {1, 1, 1, 1};
    phibal_status failed = PHIBAL_OK;
    for (int round = 0; round < ROUNDS; round++)
      for (int k = 0; k < 4; k++) {
        const double start = omp_get_wtime();
        for (int i = 0; i < CALLS; i++) switch (k) {
          case 0:
            failed = failed ? failed : phibal_environment_check("the look");
            break;
          case 1:
            failed = failed ? failed : phibal_ema(n, 0.5f, m, loads, out);
            break;
          case 2:
            failed = failed ? failed : phibal_price_centred(&phi, n, m, out, NULL);
            break;
          default:
            failed = failed ? failed
                            : phibal_router_forward(&router, 1, m, NULL, NULL, NULL, expert, gate,
                                                    NULL, &sum);
          }
        const double each = (omp_get_wtime() - start) / CALLS;
        if (each < best[k]) best[k] = each;
      }
    for (int k = 1; k < 4; k++)
      printf("%-8d %-15s %10.1f %10.1f %7.1f%%\n", n, names[k], 1e9 * best[0], 1e9 * best[k],
             100 * best[0] / best[k]);
    phibal_loads_destroy(&sum);
    if (failed) return 1;
  }
  return 0;
}
