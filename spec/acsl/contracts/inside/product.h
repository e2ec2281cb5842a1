/* Products of sizes, for proofs alone: provers take these from ghost calls where they would not
   multiply themselves. */
#ifndef PHIBAL_REFERENCE_PRODUCT_H
#define PHIBAL_REFERENCE_PRODUCT_H

#include <stdint.h>

/*@ ghost
  /@ requires 0 <= a <= b && 0 <= n;
     terminates \true;
     exits \false;
     assigns \nothing;
     ensures 0 <= a * n <= b * n; @/
  static inline void product_ordered(int64_t a, int64_t b, int64_t n) {
    /@ assert 0 <= a * n; @/
    /@ assert 0 <= (b - a) * n; @/
  }

  /@ requires 0 <= a && 0 <= n;
     terminates \true;
     exits \false;
     assigns \nothing;
     ensures 0 <= a * n && (a + 1) * n == a * n + n; @/
  static inline void product_next(int64_t a, int64_t n) {}
*/

#endif
