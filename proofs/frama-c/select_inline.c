/* Gathers the inline functions of the selection, so that WP reads them. */
/* Infinity as compilers have it. Nothing that is proved here calls it. */
/*@ terminates \true;
    exits \false;
    assigns \nothing; */
float __builtin_inff(void);
#include "cpu/select.h"
#include <phibal/acsl/selection.h>

/* Keys of scores name their experts, and to choose the largest is the selection (R2). */
/*@ ghost
  /@ requires 0 <= active <= experts <= 1024 && keys_hold(score, key, experts);
     requires \valid_read(key + (0 .. experts - 1));
     requires key_selection(key, experts, active, selected);
     terminates \true;
     exits \false;
     assigns \nothing;
     ensures keys_name(key, experts);
     ensures selection(score, experts, active, selected); @/
  void keys_select(const double *score, const int64_t *key, int32_t experts, int32_t active,
                   const int32_t *selected) {
    /@ assert order: \forall integer s, t; 0 <= s < t < active ==>
         precedes(score, selected[s], selected[t]); @/
    int32_t e = 0;
    /@ loop invariant 0 <= e <= experts;
       loop invariant \forall integer f; 0 <= f < e ==>
         (\exists integer s; 0 <= s < active && selected[s] == f) ||
         (\forall integer s; 0 <= s < active ==> precedes(score, selected[s], f));
       loop assigns e;
       loop variant experts - e; @/
    while (e < experts) {
      int64_t here = key[e];
      /@ assert (\exists integer s; 0 <= s < active && selected[s] == e) ||
           (\forall integer s; 0 <= s < active ==> here < key[selected[s]]); @/
      /@ assert (\exists integer s; 0 <= s < active && selected[s] == e) ||
           (\forall integer s; 0 <= s < active ==> precedes(score, selected[s], e)); @/
      e++;
    }
  }
*/
