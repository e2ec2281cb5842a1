/* RMSNorm: y = w x r with r = 1 / sqrt(mean(x^2) + epsilon), over vectors of width n, `heads` of
   them side by side in each row (1 for the norm of a whole row). The sum and r are formed in
   binary64. The same bits for any number of threads. Outside of a parallel region a call takes all
   threads; inside, each of its threads has to make the call. */
#ifndef PHIBAL_MOE_NORM_H
#define PHIBAL_MOE_NORM_H

#include <stdint.h>

typedef struct norm_shape {
  int64_t rows;
  int32_t heads;
  int32_t n;
  float epsilon;
} norm_shape;

/* Row i of an array starts at i times its stride; weight [n]; y may be x. inverse [rows][heads]
   keeps r. */
void norm_forward(const norm_shape *shape, const float *x, int64_t x_stride, const float *weight,
                  float *y, int64_t y_stride, float *inverse);

/* How many numbers of scratch norm_backward needs for so many rows. */
int64_t norm_scratch(int64_t rows, int32_t n);
/* x_gradient = r w dy - x r^3 / n sum(w dy x), added to what is there if `add`; without, it may be
   y_gradient itself. weight_gradient [n] += sum over all vectors of dy x r. */
void norm_backward(const norm_shape *shape, const float *x, int64_t x_stride, const float *weight,
                   const float *inverse, const float *y_gradient, int64_t y_stride, int add,
                   float *x_gradient, int64_t gradient_stride, float *weight_gradient,
                   double *scratch);

#endif
