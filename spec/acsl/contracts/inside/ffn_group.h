/* What the functions of reference/ffn_group.h promise. */
#ifndef PHIBAL_ACSL_CONTRACTS_INSIDE_FFN_GROUP_H
#define PHIBAL_ACSL_CONTRACTS_INSIDE_FFN_GROUP_H

#ifdef __FRAMAC__
#include <phibal/acsl/ffn_steps.h>
#endif

/*@ predicate shape_ready{L}(ffn_shape shape, phibal_reference_ffn_inputs given) =
      shape_counted(shape) && inputs_there(given, shape.rows, shape.width, shape.hidden) &&
      inputs_finite(given, shape.rows, shape.width, shape.hidden);
*/

/*@ // a result of m elements, where it is wanted, is apart from work and the scratch
    predicate result_placed{L}(phibal_reference_result y, integer m, activation_work *work,
                               phibal_enclosure *all, integer n) =
      result_there(y, m) && vector_result_apart(all, FFN_TEMPORARIES + FFN_VECTORS * n, y, m) &&
      OF_RESULT_WITH(y, m, optional_apart_work, work);
*/

/* What the scratch holds after the forward pass, each a goal of its own, and as one predicate. */
#define FORWARD_HELD(kind, d, f)                                                                   \
  dots_held(s.a.value, n, f, d, given.x, d, 1, given.w_gate, 1, d) &&                              \
    magnitudes_held(s.a.condition, n, f, d, given.x, d, 1, given.w_gate, 1, d) &&                  \
    dots_held(s.b.value, n, f, d, given.x, d, 1, given.w_up, 1, d) &&                              \
    magnitudes_held(s.b.condition, n, f, d, given.x, d, 1, given.w_up, 1, d) &&                    \
    hidden_held(s.h.value, n, kind, given.x, given.w_gate, given.w_up, d, f) &&                    \
    hidden_conditions_held(s.h.condition, n, kind, given.x, given.w_gate, given.w_up, d, f)
/*@ predicate forward_held{L}(ffn_scratch s, integer n, integer kind,
                              phibal_reference_ffn_inputs given, integer d, integer f) =
      FORWARD_HELD(kind, d, f);
*/

/*@ requires shape_ready(shape, given) &&
      OPERATION_PRECISION <= precision <= MPFR_PREC_MAX;
    requires ffn_scratch_there(s, all, place(shape.rows, shape.hidden)) &&
      work_there(work, all, place(shape.rows, shape.hidden)) &&
      result_placed(y, place(shape.rows, shape.width), work, all,
                    place(shape.rows, shape.hidden));
    terminates \true;
    exits \false;
    assigns *work, all[0 .. FFN_TEMPORARIES + FFN_VECTORS * place(shape.rows, shape.hidden) - 1],
            y.value[0 .. place(shape.rows, shape.width) - 1],
            y.condition[0 .. place(shape.rows, shape.width) - 1];
    ensures work: work_ready(work);
    ensures kind: work->activation == \old(work->activation);
    ensures outputs: vector_output(all,
        FFN_TEMPORARIES + FFN_VECTORS * place(shape.rows, shape.hidden)) &&
      result_there(y, place(shape.rows, shape.width));
    ensures frame: \forall phibal_enclosure *r; \valid_read{Pre}(r) && \separated(r, work) &&
      vector_apart(r, all, FFN_TEMPORARIES + FFN_VECTORS * place(shape.rows, shape.hidden)) &&
      result_apart(r, y, place(shape.rows, shape.width)) ==> same{Pre, Here}(r);
    ensures value: \result == PHIBAL_OK ==>
      forward_held(s, place(shape.rows, shape.hidden), \old(work->activation), given,
                   shape.width, shape.hidden);
    ensures output: \result == PHIBAL_OK && y.value != \null ==> \forall sequence h;
      hidden_are(h, place(shape.rows, shape.hidden), \old(work->activation), given.x, given.w_gate,
                 given.w_up, shape.width, shape.hidden) ==>
        chains_held(y.value, place(shape.rows, shape.width), shape.width, shape.hidden, h,
                    shape.hidden, 1, given.w_down, 1, shape.hidden);
    ensures output_condition: \result == PHIBAL_OK && y.value != \null && y.condition != \null ==>
      \forall sequence h;
        hidden_conditions_are(h, place(shape.rows, shape.hidden), \old(work->activation), given.x,
                              given.w_gate, given.w_up, shape.width, shape.hidden) ==>
          chain_magnitudes_held(y.condition, place(shape.rows, shape.width), shape.width,
                                shape.hidden, h, shape.hidden, 1, given.w_down, 1, shape.hidden); */
phibal_status ffn_forward_group(ffn_shape shape, activation_work *work, ffn_scratch s,
                                phibal_reference_ffn_inputs given, mpfr_prec_t precision,
                                phibal_reference_result y)
    /*@ ghost (phibal_enclosure *all) */;

#endif
