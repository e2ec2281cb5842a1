/* The processor, as far as speed depends on it: its name, its vector instructions, what it can
   reach, and which of OpenBLAS's kernels suit it. */
#ifndef PHIBAL_MOE_PROCESSOR_H
#define PHIBAL_MOE_PROCESSOR_H

/* Each includes the ones above; what is not an x86 has none of them. */
typedef enum vector_instructions {
  VECTORS_OTHER, /* the compiler's default for it */
  VECTORS_SSE,
  VECTORS_AVX,
  VECTORS_AVX2, /* with fused multiply-adds */
  VECTORS_AVX512
} vector_instructions;
extern const char *const vector_instruction_names[];

/* Of this processor and its operating system. */
vector_instructions processor_vectors(void);
/* As it names itself. */
const char *processor_name(void);
/* Multiplications and additions in binary32 a second that so many threads reach together, by fused
   multiply-adds that wait for nothing but the ones before them; two for each. Seconds are those of
   each thread on its processor, so that what else the machine does does not count. */
double processor_peak(int threads);

/* The OPENBLAS_CORETYPE for a processor with these instructions, on which OpenBLAS has chosen the
   kernels named `chosen` (openblas_get_corename()); null where they use what the processor has, or
   where it is not known what they use. */
const char *blas_coretype(const char *chosen, vector_instructions vectors);

/* What OpenBLAS runs with, and who chose it. */
typedef struct blas_choice {
  const char *kernels;    /* openblas_get_corename() */
  const char *chosen_by;  /* "OpenBLAS", "OPENBLAS_CORETYPE" (the user), "phibal" */
  const char *instead_of; /* what OpenBLAS had chosen itself, where phibal did; else null */
  const char *better;     /* the OPENBLAS_CORETYPE that would suit; null: there is none */
} blas_choice;
blas_choice blas_chosen(void);
/* Asks for the kernels that suit, for OpenBLAS to read when the process is begun again: it chooses
   before main. Returns nonzero where it has asked: where OpenBLAS has chosen kernels for a lesser
   processor, and nobody else has asked for others. */
int blas_ask_for_better(void);

#endif
