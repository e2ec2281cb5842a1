/* The instruction set that the kernels run with. They are compiled for several, and the widest that
   the processor and its operating system can run is taken when the program starts: results have the
   same bits with each. The variable PHIBAL_ISA asks for a lesser one, for tests. */
#ifndef PHIBAL_ISA_H
#define PHIBAL_ISA_H

#include <phibal/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* "x86-64-v2" (SSE4.2), "x86-64-v3" (AVX2 and FMA), "x86-64-v4" (AVX-512); "aarch64" or another
   architecture's name where there is one choice. */
const char *phibal_isa(void);

/* PHIBAL_ERROR_UNSUPPORTED where the processor cannot run the least of them, or PHIBAL_ISA names one
   that there is not or that the processor cannot run: then the message says which there are. Kernels
   that return a status refuse then too. */
phibal_status phibal_isa_check(void);

#ifdef __cplusplus
}
#endif

#endif
