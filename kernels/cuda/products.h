/* Matrix products with weights, ragged over the experts' groups of rows or dense, and the small
   interface of the library that makes them: cuBLAS for a device (products_cublas.cu), loops for the
   host (kernels/cuda/host/products.cpp). What a product means to the library is said in one place,
   products.cu, which both share; so all but the library's own adapter runs on the host.

   Row-major; with u = 2^-24 and n the length of the inner sum, the error of an element is at most
   gamma_(n+1) (|C| + |A| |B|), whatever the order of the sum (kernels/cpu/gemm.h), where the
   library adds in binary32; results in bfloat16 are rounded once more. The order is the library's:
   a row's bits may depend on how many rows there are beside it. */
#ifndef PHIBAL_CUDA_PRODUCTS_H
#define PHIBAL_CUDA_PRODUCTS_H

#include "device.h"

enum product_form {
  PRODUCT_FORWARD,         /* y [n][out] = x [n][in] w^T */
  PRODUCT_INPUT_GRADIENT,  /* dx [n][in] = dy [n][out] w */
  PRODUCT_WEIGHT_GRADIENT, /* dw [out][in] = dy^T x */
};

struct product {
  product_form form;
  phibal_rows type; /* of rows and with */
  phibal_rows to;   /* of the result, no narrower; PRODUCT_WEIGHT_GRADIENT: binary32 */
  int64_t out, in;
  const void *rows; /* x, dy, dy */
  const void *with; /* w, w, x */
  void *result;     /* y, dx, dw */
  bool add;         /* to what is there */
};

/* Rows offsets[e] .. offsets[e+1]-1 belong to the weights of expert e; an expert without rows
   leaves its result as it is. */
struct product_groups {
  int32_t experts;
  const int64_t *offsets, *host_offsets; /* [E+1], the same numbers; host_offsets may be null: */
  int64_t most;                          /* then there are at most so many rows */
};

/* As call_check, and whether the call has the library of products. */
phibal_status products_check(const char *name, const phibal_cuda *call, size_t bytes);
/* Uses so much of the call's workspace. */
size_t products_workspace(int32_t experts);
phibal_status products_grouped(const char *name, const product &p, const product_groups &groups,
                               const phibal_cuda *call);
/* Several of them, none of which reads or writes what another writes: where they are made each by
   itself, those of all run beside each other. */
phibal_status products_independent(const char *name, const product *products, int32_t count,
                                   const product_groups &groups, const phibal_cuda *call);
/* After the gradients of weights that were not added to: 0 in those of experts without rows, which
   products_grouped leaves as they are. */
phibal_status products_clear(const char *name, const product &p, const product_groups &groups,
                             const phibal_cuda *call);
/* Whether host_offsets may be null for p. */
bool products_sizes_on_device(const product &p, const product_groups &groups,
                              const phibal_cuda *call);
/* `to`: what p.add adds to, as long and of the type of the result; it may be that. No workspace. */
phibal_status products_dense(const char *name, const product &p, int64_t rows, const void *to,
                             const phibal_cuda *call);

/* The library's side. C [m][n] = op(A) op(B) + beta C in columns, as BLAS has it: A is m by k, or k
   by m where it is transposed. */
struct library_product {
  bool a_transposed, b_transposed;
  int64_t m, n, k, lda, ldb, ldc;
};
struct library_types {
  phibal_rows in, out;
  float beta;
};

/* Whether cublasGemmGroupedBatchedEx makes such products: its table has results of the operands'
   type alone, and what holds bfloat16 must begin at multiples of 16 bytes. `places`: the bits of
   all addresses, and of all steps between them, in bytes. */
bool library_groups(const library_types &types, uintptr_t places);
/* `count` products of the same transpositions that library_groups; a, b, c are arrays of pointers
   on the device. */
phibal_status library_grouped(const char *name, int32_t count, const library_product *each,
                              library_types types, const void *const *a, const void *const *b,
                              void *const *c, const phibal_cuda *call);
/* The same of all experts, where the side of length `rows` is the expert's number of rows and is on
   the device as the others are: `m`, `n` and `k` there are numbers of [experts], an expert without
   rows having 0 of them. `average`: what the sides are about. Leading dimensions are the other
   sides, since no matrix has its rows side by side. */
struct library_ragged {
  library_product average; /* its ld* are those of all */
  int32_t experts;
  const int32_t *m, *n, *k, *lda, *ldb, *ldc; /* device */
};
/* Whether the library makes such products: bfloat16 alone, at multiples of 16 bytes. */
bool library_takes_ragged(const library_ragged &p, const library_types &types, uintptr_t places,
                          const phibal_cuda *call);
phibal_status library_make_ragged(const char *name, const library_ragged &p, library_types types,
                                  const void *const *a, const void *const *b, void *const *c,
                                  const phibal_cuda *call);
/* Rows from which library_batched is faster than library_grouped for bfloat16, as a power of two;
   0: it never is. */
int32_t library_chunk_rows(const phibal_cuda *call);
/* As library_grouped, `count` products of the same sizes. */
phibal_status library_batched(const char *name, int32_t count, const library_product &p,
                              library_types types, const void *const *a, const void *const *b,
                              void *const *c, const phibal_cuda *call);
/* FLOPs of a product from which products of bfloat16 are faster each by itself than grouped;
   INT64_MAX: none are. */
int64_t library_separate_flops(const phibal_cuda *call);
/* Products each by itself, in no order, begin behind what the call's stream was asked for before
   library_separate_begin, and what it is asked for behind library_separate_end waits for them; the
   latter is called whatever failed between. */
phibal_status library_separate_begin(const char *name, const phibal_cuda *call);
phibal_status library_separate_end(const char *name, const phibal_cuda *call);
/* a, b, c are arrays of pointers on the host. The products of one call may differ in their rows
   alone, which are n, or k where b is transposed, and never both transposed. */
phibal_status library_separate(const char *name, int32_t count, const library_product *each,
                               library_types types, const void *const *a, const void *const *b,
                               void *const *c, const phibal_cuda *call);
/* D = op(A) op(B) + beta C; D lies as C, and may be C. */
phibal_status library_dense(const char *name, const library_product &p, library_types types,
                            const void *a, const void *b, const void *c, void *d,
                            const phibal_cuda *call);

#endif
