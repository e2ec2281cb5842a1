/* The plain names of what runs the cores over all their inputs (kernels/cpu/isa.h). */
#include "kernels/cpu/isa.h"

#define DISPATCHED(NAME) DISPATCH(NAME)
#include "dispatched.def"
#undef DISPATCHED

#define DISPATCHED(NAME) DISPATCH_ROW(NAME)
static const dispatched rows[] = {
#include "dispatched.def"
};

__attribute__((constructor)) static void choose(void) {
  dispatch_all(rows, sizeof rows / sizeof *rows);
}
