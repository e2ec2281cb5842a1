/* cuBLASLt is beside cuBLAS. */
#include <cublas_v2.h>
