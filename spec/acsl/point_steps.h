/* What the contracts of the steps inside a function at a point share. ACSL only. */
#ifndef PHIBAL_ACSL_POINT_STEPS_H
#define PHIBAL_ACSL_POINT_STEPS_H

#include <phibal/acsl/points.h>
#include <phibal/acsl/potentials_lemmas.h>

/*@ // nothing but t[0..4] was written between A and B, as far as enclosures go
    predicate only_scratch_written{A, B}(phibal_enclosure *t) =
      \forall phibal_enclosure *r; \valid_read{A}(r) && apart_from_scratch(r, t) ==> same{A, B}(r);
    predicate scratch_kept{A, B}(phibal_enclosure *t) =
      scratch{B}(t) && only_scratch_written{A, B}(t);
*/
#endif
