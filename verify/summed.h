/* A sum of products with its binary64 value, for the checks of the CUDA kernels. */
#ifndef PHIBAL_VERIFY_SUMMED_H
#define PHIBAL_VERIFY_SUMMED_H

#include <cmath>
#include <cstdint>

struct summed {
  double value = 0, size = 0; /* of the terms, and of their absolute values */
  int64_t terms = 0;
  void add(double term) {
    value += term;
    size += std::fabs(term);
    terms++;
  }
  /* |got - value| <= gamma_(n+1) size, u = 2^-24 and n the number of terms (products.h), and half a
     bfloat16 where it is rounded to one. */
  bool holds(double got, bool half) const {
    const double bound = 1.001 * (double)(terms + 1) * 0x1p-24 * size;
    return std::fabs(got - value) <= bound + (half ? 0x1p-8 * (std::fabs(value) + bound) : 0);
  }
};

#endif
