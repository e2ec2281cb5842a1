/* The processor, as far as speed depends on it: its name, its vector instructions, and what it can
   reach. */
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
/* Those of them that the kernels run with (phibal_isa). */
vector_instructions processor_chosen_vectors(void);
/* As it names itself. */
const char *processor_name(void);
/* Multiplications and additions in binary32 a second that so many threads reach together with those
   instructions, by fused multiply-adds that wait for nothing but the ones before them; two for
   each. Seconds are those of each thread on its processor, so that what else the machine does does
   not count. */
double processor_peak(int threads);

#endif
