/* The product of two binary32 numbers is a binary64 number: 48 digits, the last at least 2^-298.
   ACSL only. Gappa proves it (proofs/gappa/product.gappa); no solver here knows enough of rounding. */
#ifndef PHIBAL_ACSL_PRODUCT_H
#define PHIBAL_ACSL_PRODUCT_H

/*@ axiomatic ExactProduct {
      predicate use_exact_product;
      axiom exact_product_used: use_exact_product;
      // the nearest binary64 number is the product itself
      axiom product_is_exact: \forall float x, y; \is_finite(x) && \is_finite(y) ==>
        \is_finite((double)((real)x * (real)y)) &&
        (real)(double)((real)x * (real)y) == (real)x * (real)y;
    }
*/
#endif
