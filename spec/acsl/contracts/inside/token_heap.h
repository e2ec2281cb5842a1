/* That the enclosures of a token are one piece of the memory that is given out. Proofs only. */
#ifndef PHIBAL_REFERENCE_TOKEN_HEAP_H
#define PHIBAL_REFERENCE_TOKEN_HEAP_H

#include <phibal/reference_moe.h>

/*@ ghost
  /@ requires token_ready(t) && token_in_heap(t);
     terminates \true;
     exits \false;
     assigns \nothing;
     ensures in_heap(t->probability, 4 * t->experts + 2 * t->active); @/
  static void token_whole(const phibal_reference_token *t) {
    /@ assert open_token; @/
    /@ assert last: t->part == t->probability + (4 * t->experts + t->active); @/
  }
*/

#endif
