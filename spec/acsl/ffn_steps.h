/* What proofs of the gated FFN do step by step. ACSL only; after reference/ffn_work.h. */
#ifndef PHIBAL_ACSL_FFN_STEPS_H
#define PHIBAL_ACSL_FFN_STEPS_H

#include <phibal/acsl/ffn_results.h>

/*@ // a value and a condition of n elements each, apart from one another
    predicate pair_there{L}(phibal_reference_result r, integer n) =
      vector_output(r.value, n) && vector_output(r.condition, n) &&
      vectors_apart(r.value, n, r.condition, n);
    // of two pairs each vector is apart from each, both ways round
    predicate pairs_apart(phibal_reference_result r, phibal_reference_result q, integer n) =
      vectors_apart(r.value, n, q.value, n) && vectors_apart(r.value, n, q.condition, n) &&
      vectors_apart(r.condition, n, q.value, n) &&
        vectors_apart(r.condition, n, q.condition, n) &&
      vectors_apart(q.value, n, r.value, n) && vectors_apart(q.value, n, r.condition, n) &&
      vectors_apart(q.condition, n, r.value, n) && vectors_apart(q.condition, n, r.condition, n);
    predicate pair_apart(phibal_enclosure *t, integer k, phibal_reference_result r, integer n) =
      vectors_apart(t, k, r.value, n) && vectors_apart(t, k, r.condition, n) &&
      vectors_apart(r.value, n, t, k) && vectors_apart(r.condition, n, t, k);
    predicate work_outside(activation_work *work, phibal_enclosure *z, integer n) =
      \forall integer i; 0 <= i < n ==> \separated(z + i, work) && \separated(work, z + i);
    // what a product along the chain with temporaries t and result y leaves alone
    predicate outside_chain(phibal_enclosure *r, phibal_enclosure *t, phibal_reference_result y,
                            integer m) =
      vector_apart(r, t, 3) && result_apart(r, y, m);
    predicate vector_outside_chain(phibal_enclosure *z, integer n, phibal_enclosure *t,
                                   phibal_reference_result y, integer m) =
      \forall integer i; 0 <= i < n ==> outside_chain(z + i, t, y, m);
    // the enclosures of work were not written
    predicate work_same{A, B}(activation_work *w) =
      same{A, B}(\at(&w->slope, A)) && same{A, B}(\at(&w->cubic, A)) &&
      same{A, B}(\at(&w->one, A)) && same{A, B}(\at(&w->v, A)) &&
      same{A, B}(\at(&w->v_slope, A)) && same{A, B}(\at(&w->sigma, A)) &&
      same{A, B}(\at(&w->complement, A)) && same{A, B}(\at(&w->square, A));
*/

/*@ // value and condition k of an intermediate that begins at `from` of a scratch: their places; they
    // are there, apart from work and from temporaries; apart from n of another intermediate
    predicate element_placed(phibal_reference_result r, phibal_enclosure *all, integer from,
                             integer n, integer k) =
      r.value + k == all + (FFN_TEMPORARIES + from + k) &&
      r.condition + k == all + (FFN_TEMPORARIES + from + n + k);
    predicate element_there{L}(phibal_reference_result r, integer k, phibal_enclosure *t,
                               activation_work *work) =
      output(r.value + k) && output(r.condition + k) && \separated(work, r.value + k) &&
      \separated(work, r.condition + k) && vector_apart(r.value + k, t, FFN_TEMPORARIES) &&
      vector_apart(r.condition + k, t, FFN_TEMPORARIES);
    predicate element_apart(phibal_reference_result r, integer k, phibal_reference_result q,
                            integer n) =
      vector_apart(r.value + k, q.value, n) && vector_apart(r.value + k, q.condition, n) &&
      vector_apart(r.condition + k, q.value, n) && vector_apart(r.condition + k, q.condition, n);
    // the first k were not written; element k was not
    predicate pair_same{A, B}(phibal_reference_result r, integer n) =
      vector_same{A, B}(r.value, n) && vector_same{A, B}(r.condition, n);
    predicate element_same{A, B}(phibal_reference_result r, integer k) =
      same{A, B}(r.value + k) && same{A, B}(r.condition + k);
*/

/* A predicate of each vector of the intermediates in a scratch s, of n elements. */
#define OF_SCRATCH(...)                                                                            \
  OF_RESULT(s.a, n, __VA_ARGS__) && OF_RESULT(s.b, n, __VA_ARGS__) &&                              \
    OF_RESULT(s.h, n, __VA_ARGS__) && OF_RESULT(s.back, n, __VA_ARGS__)

/* The elements of an intermediate. */
/*@ ghost
  /@ requires shape_counted(shape);
     terminates \true;
     exits \false;
     assigns \nothing;
     ensures \result == place(shape.rows, shape.hidden) && 0 <= \result <= FFN_LARGEST;
     ensures \result == shape.rows * shape.hidden; @/
  static inline int64_t ffn_size(ffn_shape shape) {
    /@ assert use_place && open_place; @/
    return shape.rows * shape.hidden;
  }
*/

/* And those of its input and output. */
/*@ ghost
  /@ requires shape_counted(shape);
     terminates \true;
     exits \false;
     assigns \nothing;
     ensures \result == place(shape.rows, shape.width) && 0 <= \result <= ROUTING_MAX_SLOTS; @/
  static inline int64_t ffn_output_size(ffn_shape shape) {
    /@ assert use_place && open_place; @/
    return shape.rows * shape.width;
  }
*/

/* Where the parts of a scratch lie in it. */
/*@ ghost
  /@ requires 0 <= n && ffn_cut(s, all, n);
     terminates \true;
     exits \false;
     assigns \nothing;
     ensures t: s.t == all;
     ensures a: \forall integer i; s.a.value + i == all + (FFN_TEMPORARIES + i);
     ensures a_condition:
       \forall integer i; s.a.condition + i == all + (FFN_TEMPORARIES + n + i);
     ensures b: \forall integer i; s.b.value + i == all + (FFN_TEMPORARIES + 2 * n + i);
     ensures b_condition:
       \forall integer i; s.b.condition + i == all + (FFN_TEMPORARIES + 3 * n + i);
     ensures h: \forall integer i; s.h.value + i == all + (FFN_TEMPORARIES + 4 * n + i);
     ensures h_condition:
       \forall integer i; s.h.condition + i == all + (FFN_TEMPORARIES + 5 * n + i);
     ensures back: \forall integer i; s.back.value + i == all + (FFN_TEMPORARIES + 6 * n + i);
     ensures back_condition:
       \forall integer i; s.back.condition + i == all + (FFN_TEMPORARIES + 7 * n + i); @/
  static inline void ffn_places(ffn_scratch s, phibal_enclosure *all, int64_t n) {}
*/

/* Element k of the intermediates in a scratch. */
/*@ ghost
  /@ requires ffn_scratch_there(s, all, n) && work_there(work, all, n) && 0 <= k < n;
     terminates \true;
     exits \false;
     assigns \nothing;
     ensures a: element_placed(s.a, all, 0, n, k) && element_there(s.a, k, s.t, work);
     ensures b: element_placed(s.b, all, 2 * n, n, k) && element_there(s.b, k, s.t, work);
     ensures h: element_placed(s.h, all, 4 * n, n, k) && element_there(s.h, k, s.t, work);
     ensures back: element_placed(s.back, all, 6 * n, n, k) && element_there(s.back, k, s.t, work);
     ensures a_h: element_apart(s.a, k, s.h, n);
     ensures b_h: element_apart(s.b, k, s.h, n);
     ensures back_a: element_apart(s.back, k, s.a, n);
     ensures back_b: element_apart(s.back, k, s.b, n);
     ensures work: vector_apart_work(s.t, FFN_TEMPORARIES, work); @/
  static inline void ffn_element(ffn_scratch s, phibal_enclosure *all, int64_t n,
                                 activation_work *work, int64_t k) {
    ffn_places(s, all, n);
  }
*/

/* The parts of a scratch are there. */
/*@ ghost
  /@ requires ffn_scratch_there(s, all, n);
     terminates \true;
     exits \false;
     assigns \nothing;
     ensures t: vector_output(s.t, FFN_TEMPORARIES);
     ensures a: vector_output(s.a.value, n);
     ensures a_condition: vector_output(s.a.condition, n);
     ensures b: vector_output(s.b.value, n);
     ensures b_condition: vector_output(s.b.condition, n);
     ensures h: vector_output(s.h.value, n);
     ensures h_condition: vector_output(s.h.condition, n);
     ensures back: vector_output(s.back.value, n);
     ensures back_condition: vector_output(s.back.condition, n); @/
  static inline void ffn_parts_there(ffn_scratch s, phibal_enclosure *all, int64_t n) {
    ffn_places(s, all, n);
  }
*/

/* The parts of a scratch are apart from one another. */
/*@ ghost
  /@ requires 0 <= n && ffn_cut(s, all, n);
     terminates \true;
     exits \false;
     assigns \nothing;
     ensures a: vectors_apart(s.a.value, n, s.a.condition, n);
     ensures b: vectors_apart(s.b.value, n, s.b.condition, n);
     ensures h: vectors_apart(s.h.value, n, s.h.condition, n);
     ensures back: vectors_apart(s.back.value, n, s.back.condition, n);
     ensures a_b: pairs_apart(s.a, s.b, n);
     ensures a_h: pairs_apart(s.a, s.h, n);
     ensures a_back: pairs_apart(s.a, s.back, n);
     ensures b_h: pairs_apart(s.b, s.h, n);
     ensures b_back: pairs_apart(s.b, s.back, n);
     ensures h_back: pairs_apart(s.h, s.back, n);
     ensures t_a: pair_apart(s.t, FFN_TEMPORARIES, s.a, n);
     ensures t_b: pair_apart(s.t, FFN_TEMPORARIES, s.b, n);
     ensures t_h: pair_apart(s.t, FFN_TEMPORARIES, s.h, n);
     ensures t_back: pair_apart(s.t, FFN_TEMPORARIES, s.back, n); @/
  static inline void ffn_parts_apart(ffn_scratch s, phibal_enclosure *all, int64_t n) {
    ffn_places(s, all, n);
  }
*/

/* What is apart from a scratch is apart from its parts. */
/*@ ghost
  /@ requires 0 <= n && ffn_cut(s, all, n);
     terminates \true;
     exits \false;
     assigns \nothing;
     ensures t: \forall phibal_enclosure *r;
       vector_apart(r, all, FFN_TEMPORARIES + FFN_VECTORS * n) ==>
         vector_apart(r, s.t, FFN_TEMPORARIES);
     ensures a: \forall phibal_enclosure *r;
       vector_apart(r, all, FFN_TEMPORARIES + FFN_VECTORS * n) ==>
         vector_apart(r, s.a.value, n) && vector_apart(r, s.a.condition, n);
     ensures b: \forall phibal_enclosure *r;
       vector_apart(r, all, FFN_TEMPORARIES + FFN_VECTORS * n) ==>
         vector_apart(r, s.b.value, n) && vector_apart(r, s.b.condition, n);
     ensures h: \forall phibal_enclosure *r;
       vector_apart(r, all, FFN_TEMPORARIES + FFN_VECTORS * n) ==>
         vector_apart(r, s.h.value, n) && vector_apart(r, s.h.condition, n);
     ensures back: \forall phibal_enclosure *r;
       vector_apart(r, all, FFN_TEMPORARIES + FFN_VECTORS * n) ==>
         vector_apart(r, s.back.value, n) && vector_apart(r, s.back.condition, n); @/
  static inline void ffn_parts_outside(ffn_scratch s, phibal_enclosure *all, int64_t n) {
    ffn_places(s, all, n);
  }
*/

/* Where work is apart from a vector, its enclosures are. */
/*@ ghost
  /@ requires \valid(work) && vector_apart_work(z, n, work);
     terminates \true;
     exits \false;
     assigns \nothing;
     ensures slope: vector_apart(&work->slope, z, n);
     ensures cubic: vector_apart(&work->cubic, z, n);
     ensures one: vector_apart(&work->one, z, n);
     ensures v: vector_apart(&work->v, z, n);
     ensures v_slope: vector_apart(&work->v_slope, z, n);
     ensures sigma: vector_apart(&work->sigma, z, n);
     ensures complement: vector_apart(&work->complement, z, n);
     ensures square: vector_apart(&work->square, z, n); @/
  static inline void ffn_work_apart(activation_work *work, phibal_enclosure *z, int64_t n) {}
*/

/* Where work is apart from a scratch, it is from its parts. */
/*@ ghost
  /@ requires 0 <= n && ffn_cut(s, all, n);
     requires vector_apart_work(all, FFN_TEMPORARIES + FFN_VECTORS * n, work);
     terminates \true;
     exits \false;
     assigns \nothing;
     ensures t: work_outside(work, s.t, FFN_TEMPORARIES);
     ensures a: work_outside(work, s.a.value, n);
     ensures a_condition: work_outside(work, s.a.condition, n);
     ensures b: work_outside(work, s.b.value, n);
     ensures b_condition: work_outside(work, s.b.condition, n);
     ensures h: work_outside(work, s.h.value, n);
     ensures h_condition: work_outside(work, s.h.condition, n);
     ensures back: work_outside(work, s.back.value, n);
     ensures back_condition: work_outside(work, s.back.condition, n); @/
  static inline void ffn_work_outside(activation_work *work, ffn_scratch s, phibal_enclosure *all,
                                      int64_t n) {
    ffn_places(s, all, n);
  }
*/

/* What is apart from a scratch is left alone with it by a product along the chain, and the other
   way round. */
/*@ ghost
  /@ requires 0 <= n && ffn_cut(s, all, n);
     requires vector_result_apart(all, FFN_TEMPORARIES + FFN_VECTORS * n, y, m);
     terminates \true;
     exits \false;
     assigns \nothing;
     ensures all: optional_vectors_apart(y.value, m, all, FFN_TEMPORARIES + FFN_VECTORS * n);
     ensures all_condition:
       optional_vectors_apart(y.condition, m, all, FFN_TEMPORARIES + FFN_VECTORS * n);
     ensures t: optional_vectors_apart(y.value, m, s.t, FFN_TEMPORARIES);
     ensures t_condition: optional_vectors_apart(y.condition, m, s.t, FFN_TEMPORARIES);
     ensures value_to_a: optional_vectors_apart(y.value, m, s.a.value, n);
     ensures value_to_a_condition: optional_vectors_apart(y.value, m, s.a.condition, n);
     ensures condition_to_a: optional_vectors_apart(y.condition, m, s.a.value, n);
     ensures condition_to_a_condition: optional_vectors_apart(y.condition, m, s.a.condition, n);
     ensures value_to_b: optional_vectors_apart(y.value, m, s.b.value, n);
     ensures value_to_b_condition: optional_vectors_apart(y.value, m, s.b.condition, n);
     ensures condition_to_b: optional_vectors_apart(y.condition, m, s.b.value, n);
     ensures condition_to_b_condition: optional_vectors_apart(y.condition, m, s.b.condition, n);
     ensures value_to_h: optional_vectors_apart(y.value, m, s.h.value, n);
     ensures value_to_h_condition: optional_vectors_apart(y.value, m, s.h.condition, n);
     ensures condition_to_h: optional_vectors_apart(y.condition, m, s.h.value, n);
     ensures condition_to_h_condition: optional_vectors_apart(y.condition, m, s.h.condition, n);
     ensures a: vector_outside_chain(s.a.value, n, s.t, y, m);
     ensures a_condition: vector_outside_chain(s.a.condition, n, s.t, y, m);
     ensures b: vector_outside_chain(s.b.value, n, s.t, y, m);
     ensures b_condition: vector_outside_chain(s.b.condition, n, s.t, y, m);
     ensures h: vector_outside_chain(s.h.value, n, s.t, y, m);
     ensures h_condition: vector_outside_chain(s.h.condition, n, s.t, y, m);
     ensures back: vector_outside_chain(s.back.value, n, s.t, y, m);
     ensures back_condition: vector_outside_chain(s.back.condition, n, s.t, y, m);
     ensures last: outside_chain(s.t + 3, s.t, y, m); @/
  static inline void ffn_parts_chained(ffn_scratch s, phibal_enclosure *all, int64_t n,
                                       phibal_reference_result y, int64_t m) {
    ffn_places(s, all, n);
    /@ assert a: \forall integer i; 0 <= i < n ==> result_apart(s.a.value + i, y, m); @/
    /@ assert a_condition: \forall integer i; 0 <= i < n ==>
         result_apart(s.a.condition + i, y, m); @/
    /@ assert b: \forall integer i; 0 <= i < n ==> result_apart(s.b.value + i, y, m); @/
    /@ assert b_condition: \forall integer i; 0 <= i < n ==>
         result_apart(s.b.condition + i, y, m); @/
    /@ assert h: \forall integer i; 0 <= i < n ==> result_apart(s.h.value + i, y, m); @/
    /@ assert h_condition: \forall integer i; 0 <= i < n ==>
         result_apart(s.h.condition + i, y, m); @/
    /@ assert back: \forall integer i; 0 <= i < n ==> result_apart(s.back.value + i, y, m); @/
    /@ assert back_condition: \forall integer i; 0 <= i < n ==>
         result_apart(s.back.condition + i, y, m); @/
  }
*/
/*@ ghost
  /@ requires \valid(work) && vector_apart_work(t, 3, work);
     requires y.value != \null ==> vector_apart_work(y.value, m, work);
     requires y.condition != \null ==> vector_apart_work(y.condition, m, work);
     terminates \true;
     exits \false;
     assigns \nothing;
     ensures slope: outside_chain(&work->slope, t, y, m);
     ensures cubic: outside_chain(&work->cubic, t, y, m);
     ensures one: outside_chain(&work->one, t, y, m);
     ensures v: outside_chain(&work->v, t, y, m);
     ensures v_slope: outside_chain(&work->v_slope, t, y, m);
     ensures sigma: outside_chain(&work->sigma, t, y, m);
     ensures complement: outside_chain(&work->complement, t, y, m);
     ensures square: outside_chain(&work->square, t, y, m); @/
  static inline void ffn_work_chained(activation_work *work, phibal_enclosure *t,
                                      phibal_reference_result y, int64_t m) {}
*/

/* Elements of an intermediate and of its transpose are inside. */
/*@ ghost
  /@ requires shape_counted(shape);
     terminates \true;
     exits \false;
     assigns \nothing;
     ensures rows: strides_inside(shape.rows, shape.hidden, shape.hidden, 1,
       place(shape.rows, shape.hidden));
     ensures columns: strides_inside(shape.hidden, 1, shape.rows, shape.hidden,
       place(shape.rows, shape.hidden)); @/
  static inline void ffn_strides(ffn_shape shape) {
    /@ assert use_place && open_place; @/
    /@ assert sign: 0 <= shape.rows && 0 <= shape.hidden; @/
    /@ assert ends: \forall integer i; 0 <= i < shape.rows ==> 0 <= place(i, shape.hidden) &&
         place(i, shape.hidden) + shape.hidden <= place(shape.rows, shape.hidden); @/
    /@ assert columns: \forall integer i; place(i, 1) == i; @/
  }
*/
/* A matrix read by its columns. */
/*@ ghost
  /@ requires plain_finite(w, rows, columns);
     terminates \true;
     exits \false;
     assigns \nothing;
     ensures matrix_finite(w, 1, columns, columns, rows); @/
  static inline void ffn_transposed(const float *w, int64_t rows, int64_t columns) {
    /@ assert finite: \forall integer i, j; 0 <= i < rows && 0 <= j < columns ==>
         \is_finite(w[place(i, columns) + place(j, 1)]); @/
    /@ assert order: \forall integer i, j; 0 <= i < rows && 0 <= j < columns ==>
         \is_finite(w[place(j, 1) + place(i, columns)]); @/
  }
*/

/* A scratch whose parts are there is there. */
/*@ ghost
  /@ requires 0 <= n <= FFN_LARGEST && ffn_cut(s, all, n) && vector_output(s.t, FFN_TEMPORARIES);
     requires vector_output(s.a.value, n) && vector_output(s.a.condition, n);
     requires vector_output(s.b.value, n) && vector_output(s.b.condition, n);
     requires vector_output(s.h.value, n) && vector_output(s.h.condition, n);
     requires vector_output(s.back.value, n) && vector_output(s.back.condition, n);
     terminates \true;
     exits \false;
     assigns \nothing;
     ensures vector_output(all, FFN_TEMPORARIES + FFN_VECTORS * n); @/
  static inline void ffn_parts_gathered(ffn_scratch s, phibal_enclosure *all, int64_t n) {
    /@ assert t: \forall integer i; 0 <= i < FFN_TEMPORARIES ==> output(all + i); @/
    /@ assert a: \forall integer i; FFN_TEMPORARIES <= i < FFN_TEMPORARIES + n ==>
         output(s.a.value + (i - FFN_TEMPORARIES)) &&
           s.a.value + (i - FFN_TEMPORARIES) == all + i; @/
    /@ assert a_condition: \forall integer i;
         FFN_TEMPORARIES + n <= i < FFN_TEMPORARIES + 2 * n ==>
           output(s.a.condition + (i - FFN_TEMPORARIES - n)) &&
             s.a.condition + (i - FFN_TEMPORARIES - n) == all + i; @/
    /@ assert b: \forall integer i;
         FFN_TEMPORARIES + 2 * n <= i < FFN_TEMPORARIES + 3 * n ==>
           output(s.b.value + (i - FFN_TEMPORARIES - 2 * n)) &&
             s.b.value + (i - FFN_TEMPORARIES - 2 * n) == all + i; @/
    /@ assert b_condition: \forall integer i;
         FFN_TEMPORARIES + 3 * n <= i < FFN_TEMPORARIES + 4 * n ==>
           output(s.b.condition + (i - FFN_TEMPORARIES - 3 * n)) &&
             s.b.condition + (i - FFN_TEMPORARIES - 3 * n) == all + i; @/
    /@ assert h: \forall integer i;
         FFN_TEMPORARIES + 4 * n <= i < FFN_TEMPORARIES + 5 * n ==>
           output(s.h.value + (i - FFN_TEMPORARIES - 4 * n)) &&
             s.h.value + (i - FFN_TEMPORARIES - 4 * n) == all + i; @/
    /@ assert h_condition: \forall integer i;
         FFN_TEMPORARIES + 5 * n <= i < FFN_TEMPORARIES + 6 * n ==>
           output(s.h.condition + (i - FFN_TEMPORARIES - 5 * n)) &&
             s.h.condition + (i - FFN_TEMPORARIES - 5 * n) == all + i; @/
    /@ assert back: \forall integer i;
         FFN_TEMPORARIES + 6 * n <= i < FFN_TEMPORARIES + 7 * n ==>
           output(s.back.value + (i - FFN_TEMPORARIES - 6 * n)) &&
             s.back.value + (i - FFN_TEMPORARIES - 6 * n) == all + i; @/
    /@ assert back_condition: \forall integer i;
         FFN_TEMPORARIES + 7 * n <= i < FFN_TEMPORARIES + 8 * n ==>
           output(s.back.condition + (i - FFN_TEMPORARIES - 7 * n)) &&
             s.back.condition + (i - FFN_TEMPORARIES - 7 * n) == all + i; @/
  }
*/
#endif
