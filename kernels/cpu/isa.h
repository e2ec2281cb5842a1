/* Kernels that are compiled for several instruction sets, under one name each.

   A source is compiled once for each of ISAS with its functions renamed NAME_v2, NAME_v3, NAME_v4
   (meson.build makes the headers from dispatched.def). Here NAME is a jump to the one that was
   chosen: all arguments stay where they are, so nothing has to know their types. Until the
   program's constructors have run, it is a jump to the least. */
#ifndef PHIBAL_CPU_ISA_H
#define PHIBAL_CPU_ISA_H

#include <stdbool.h>
#include <stddef.h>

/* Whether phibal_isa_check() failed when the program started. */
extern bool phibal_isa_refused;

/* The build says where there is more than one: PHIBAL_DISPATCHED. */
#if PHIBAL_DISPATCHED
enum { ISA_V2, ISA_V3, ISA_V4, ISAS };
/* Of these, by the processor and PHIBAL_ISA. */
int phibal_isa_chosen(void);

/* NAME as a jump to NAME_chosen; and its row for dispatch_all. */
#define DISPATCH(NAME)                                                                             \
  void NAME##_v2(void), NAME##_v3(void), NAME##_v4(void);                                          \
  __attribute__((visibility("hidden"))) void (*NAME##_chosen)(void) = NAME##_v2;                   \
  __asm__(".text\n.globl " #NAME "\n.type " #NAME ", @function\n" #NAME                            \
          ":\n  endbr64\n  jmp *" #NAME "_chosen(%rip)\n.size " #NAME ", .-" #NAME "\n");
#define DISPATCH_ROW(NAME) {&NAME##_chosen, {NAME##_v2, NAME##_v3, NAME##_v4}},

typedef struct dispatched {
  void (**chosen)(void);
  void (*of[ISAS])(void);
} dispatched;

static inline void dispatch_all(const dispatched *rows, size_t n) {
  const int isa = phibal_isa_chosen();
  for (size_t i = 0; i < n; i++) *rows[i].chosen = rows[i].of[isa];
}
#endif

#endif
