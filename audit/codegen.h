/* Kernels of a potential's price, written out as C, compiled and loaded.

   The generated C is one self-contained file, CUDA C as well. It computes the price twice, in
   binary64 and where that does not decide the rounding in double-double, each with a running error
   bound (kernels/core/ball64.h), so that the result mostly is the correctly rounded one, and its
   error is known where it is not. What it exports is said in kernel/entry.h. */
#ifndef PHIBAL_AUDIT_CODEGEN_H
#define PHIBAL_AUDIT_CODEGEN_H

#include "phi.h"
#include <stdint.h>

/* The C source of the potential's price at these parameters, malloc'ed. The price is the gradient
   that the file gives, or else the derivative of its value. PHIBAL_ERROR_UNSUPPORTED where the
   expression has no kernel: a constant that is not defined, more than 4096 operations. */
phibal_status codegen_source(phi_potential *phi, const phibal_enclosure *parameters, char **text);
/* As codegen_source, for an expression of the coordinate and of `sums` sums by number. Where
   `floored`, loads below 2^-126 are raised to it. */
phibal_status codegen_source_of(const phi_potential *phi, const expression *price,
                                const expression *const *sum, int sums, bool floored,
                                const phibal_enclosure *parameters, char **text);

/* Of a kernel's text: names it, and does not prove it to be the same. */
uint64_t codegen_hash(const char *text);

/* A kernel in memory. The functions are those of kernel/entry.h; they may run in many threads. */
typedef struct codegen_kernel {
  void *library;
  int (*price)(int n, const float *m, float *price, int *floored);
  int (*price_centred)(int n, const float *m, float *centred, int *floored);
  int (*examine)(int n, const float *m, int others, const float *rest, double *fast,
                 double *fast_error, double *high, double *low, double *error);
  int (*examine_centred)(int n, const float *m, double *high, double *low, double *error);
  int (*sweep)(int n, const float *m, int others, const float *rest, float *price, double *off,
               double *ulps, unsigned char *path);
} codegen_kernel;

/* Makes a folder of this user's alone, phibal-XXXXXX in $TMPDIR or /tmp. PHIBAL_ERROR_IO where that
   is a folder in which others can rename files. */
phibal_status codegen_folder(char *path, size_t size);
/* Compiles the source (a third of a second) in a folder of this user's alone, loads it and removes
   the folder. The compiler is $CC, or cc from the PATH. PHIBAL_ERROR_UNSUPPORTED where there is
   none, or its code changes the floating-point environment; PHIBAL_ERROR_IO where it fails, with
   its first line, or where $TMPDIR (or /tmp) is a folder in which others can rename files. */
phibal_status codegen_load_source(const char *text, codegen_kernel *kernel);
/* Both. */
phibal_status codegen_load(phi_potential *phi, const phibal_enclosure *parameters,
                           codegen_kernel *kernel);
void codegen_close(codegen_kernel *kernel); /* of zeros: does nothing */

#endif
