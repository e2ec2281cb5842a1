/* The gated FFN over the rows of one expert, forward (E2): its scratch and its results. */
#include "ffn_group.h"
#include <phibal/acsl/contracts/inside/ffn_static.h>

/* ffn_forward_group with an activation's constants of its own. */
static phibal_status ffn_forward_activated(const char *name, ffn_shape shape,
                                           phibal_activation activation, ffn_scratch s,
                                           phibal_reference_ffn_inputs given, mpfr_prec_t precision,
                                           phibal_reference_result y)
/*@ ghost (phibal_enclosure *all, int64_t n, int64_t m) */ {
  //@ assert use_enclosure;
  //@ ghost ffn_places(s, all, n);
  activation_work work;
  phibal_status status = activation_work_init(name, &work, activation, precision);
  /*@ assert work_set: \forall phibal_enclosure *r; \valid_read{Pre}(r) ==>
        same{Pre, Here}(r) && \valid_read(r) && \separated(r, &work); */
  //@ assert inputs: inputs_there(given, shape.rows, shape.width, shape.hidden);
  //@ assert scratch: vector_output(all, FFN_TEMPORARIES + FFN_VECTORS * n);
  //@ assert scratch_apart: vector_apart_work(all, FFN_TEMPORARIES + FFN_VECTORS * n, &work);
  //@ assert result: OF_RESULT(y, m, optional_vector);
  //@ assert result_apart: OF_RESULT_WITH(y, m, optional_apart_work, &work);
  if (status != PHIBAL_OK) return status;
  status = ffn_forward_group(shape, &work, s, given, precision, y) /*@ ghost (all) */;
  //@ ghost computed:;
  /*@ assert others: \forall phibal_enclosure *r; \valid_read{Pre}(r) &&
        vector_apart(r, all, FFN_TEMPORARIES + FFN_VECTORS * n) && result_apart(r, y, m) ==>
          same{Pre, Here}(r); */
  //@ assert parts_before: OF_PARTS(vector_valid{Pre});
  activation_work_clear(&work);
  /*@ assert cleared: \forall phibal_enclosure *r; \valid_read{Pre}(r) ==>
        same{computed, Here}(r); */
  //@ assert all_kept: vector_same{computed, Here}(all, FFN_TEMPORARIES + FFN_VECTORS * n);
  //@ assert parts_kept: OF_PARTS(vector_same{computed, Here});
  //@ assert kept: OF_RESULT(y, m, optional_same{computed, Here});
  //@ assert left: OF_RESULT(y, m, optional_vector);
  //@ assert members: OF_RESULT(y, m, optional_members{computed, Here});
  //@ assert held: status == PHIBAL_OK ==> FORWARD_HELD(activation, shape.width, shape.hidden);
  return status;
}

/* (E2) of a group, with a scratch. */
static phibal_status ffn_forward_results(const char *name, ffn_shape shape, int64_t n,
                                         phibal_activation activation, phibal_enclosure *all,
                                         phibal_reference_ffn_inputs given, mpfr_prec_t precision,
                                         phibal_reference_ffn_results to)
/*@ ghost (int64_t m) */ {
  //@ assert use_enclosure;
  ffn_scratch s = ffn_scratch_cut(all, (size_t)n);
  /*@ ghost ffn_results_free(to.a, n, to.y, m);
            ffn_results_free(to.b, n, to.y, m);
            ffn_results_free(to.h, n, to.y, m);
            ffn_parts_chained(s, all, n, to.a, n);
            ffn_parts_chained(s, all, n, to.b, n);
            ffn_parts_chained(s, all, n, to.h, n); */
  //@ assert free: OF_FORWARD_WITH(optional_vectors_apart, all, FFN_TEMPORARIES + FFN_VECTORS * n);
  phibal_status status = ffn_forward_activated(name, shape, activation, s, given, precision, to.y)
      /*@ ghost (all, n, m) */;
  //@ assert kept: OF_FORWARD(optional_same{Pre, Here});
  //@ assert there: OF_FORWARD(optional_vector);
  if (status != PHIBAL_OK) return status;
  //@ ghost ffn_parts_there(s, all, n);
  //@ assert given: result_given(s.a, n) && result_given(s.b, n) && result_given(s.h, n);
  /*@ assert apart: results_apart(to.a, n, s.a, n) && results_apart(to.a, n, s.b, n) &&
        results_apart(to.a, n, s.h, n) && results_apart(to.b, n, s.b, n) &&
        results_apart(to.b, n, s.h, n) && results_apart(to.h, n, s.h, n); */
  //@ ghost computed:;
  ffn_results_copy(n, s.a, to.a, s.b, to.b, s.h, to.h);
  //@ assert all_kept: vector_same{computed, Here}(all, FFN_TEMPORARIES + FFN_VECTORS * n);
  //@ assert output_kept: OF_RESULT(to.y, m, optional_same{computed, Here});
  //@ assert members: OF_RESULT(to.y, m, optional_members{computed, Here});
  return status;
}

/* (E2) of a group. */
static phibal_status ffn_forward_counted(const char *name, ffn_shape shape, int64_t n,
                                         phibal_activation activation,
                                         phibal_reference_ffn_inputs given, mpfr_prec_t precision,
                                         phibal_reference_ffn_results to)
/*@ ghost (int64_t m) */ {
  //@ assert use_enclosure;
  size_t all = FFN_TEMPORARIES + FFN_VECTORS * (size_t)n;
  //@ assert count: all == FFN_TEMPORARIES + FFN_VECTORS * n;
  phibal_enclosure *scratch = NULL;
  TRY(operation_scratch(name, all, precision, &scratch));
  /*@ assert fresh: \forall phibal_enclosure *r; \valid_read{Pre}(r) && in_use{Pre}(r) ==>
        same{Pre, Here}(r) && vector_apart(r, scratch, all); */
  //@ assert inputs: inputs_there(given, shape.rows, shape.width, shape.hidden);
  /*@ assert free: OF_FORWARD_WITH(optional_outside, scratch, all) &&
        OF_RESULT_WITH(to.y, m, optional_outside, scratch, all); */
  /*@ assert kept: OF_FORWARD(optional_same{Pre, Here}) &&
        OF_RESULT(to.y, m, optional_same{Pre, Here}); */
  //@ assert there: OF_FORWARD(optional_vector) && OF_RESULT(to.y, m, optional_vector);
  /*@ assert outside: vector_result_apart(scratch, all, to.a, n) &&
        vector_result_apart(scratch, all, to.b, n) && vector_result_apart(scratch, all, to.h, n) &&
        vector_result_apart(scratch, all, to.y, m); */
  phibal_status status = ffn_forward_results(name, shape, n, activation, scratch, given, precision,
                                             to) /*@ ghost (m) */;
  //@ ghost computed:;
  /*@ assert others: \forall phibal_enclosure *r; \valid_read{Pre}(r) && in_use{Pre}(r) &&
        apart_from_forward(r, to, n, m) ==> same{Pre, Here}(r) && vector_apart(r, scratch, all); */
  operation_scratch_clear(scratch, all);
  /*@ assert left: OF_FORWARD(optional_same{computed, Here}) &&
        OF_RESULT(to.y, m, optional_same{computed, Here}); */
  //@ assert members: OF_RESULT(to.y, m, optional_members{computed, Here});
  return status;
}

/* The conditions of h and y, besides what the header says of the others. */
phibal_status phibal_reference_ffn_forward(const phibal_ffn *ffn, int64_t rows,
                                           phibal_reference_ffn_inputs given, mpfr_prec_t precision,
                                           phibal_reference_ffn_results to) {
  const char *name = "phibal_reference_ffn_forward";
  //@ assert use_enclosure && use_place && open_place;
  TRY(ffn_check(name, ffn, rows, given, precision));
  ffn_shape shape = {rows, ffn->width, ffn->hidden};
  //@ assert signs: 0 <= place(rows, ffn->hidden) && 0 <= place(rows, ffn->width);
  //@ assert counted: shape_counted(shape);
  //@ ghost int64_t m = ffn_output_size(shape);
  //@ ghost ffn_size(shape);
  return ffn_forward_counted(name, shape, rows * shape.hidden, ffn->activation, given, precision,
                             to) /*@ ghost (m) */;
}
