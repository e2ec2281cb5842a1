#include "renyi_work.h"

static const char name[] = "renyi";

void renyi_work_init(renyi_work *w, mpfr_prec_t precision) {
  //@ assert use_enclosure;
  phibal_enclosure_init(&w->point, precision);
  phibal_enclosure_init(&w->b, precision);
  phibal_enclosure_init(&w->sum, precision);
  phibal_enclosure_init(&w->excess, precision);
  phibal_enclosure_init(&w->total, precision);
  phibal_enclosure_init(&w->t[0], precision);
  phibal_enclosure_init(&w->t[1], precision);
}

void renyi_work_clear(renyi_work *w) {
  //@ assert use_enclosure;
  phibal_enclosure_clear(&w->point);
  phibal_enclosure_clear(&w->b);
  phibal_enclosure_clear(&w->sum);
  phibal_enclosure_clear(&w->excess);
  phibal_enclosure_clear(&w->total);
  phibal_enclosure_clear(&w->t[0]);
  phibal_enclosure_clear(&w->t[1]);
}

int renyi_end_sign(const phibal_enclosure *x, bool upper) {
  //@ assert open_enclosure && open_end;
  return mpfr_sgn(upper ? x->hi : x->lo);
}

void renyi_take_end(phibal_enclosure *z, const phibal_enclosure *x, bool upper) {
  //@ assert open_enclosure && open_end;
  phibal_enclosure_set_fr(z, upper ? x->hi : x->lo);
}

phibal_status renyi_add_power(renyi_work *w, const phibal_enclosure *a) {
  //@ assert use_enclosure && open_raised;
  TRY(phibal_enclosure_pow(&w->t[0], &w->point, a));
  /*@ assert power: \forall real p, q; in{Pre}(a, p) && in{Pre}(&w->point, q) && 0.0 < q ==>
        in(&w->t[0], raised(q, p)); */
  return phibal_enclosure_add(&w->sum, &w->sum, &w->t[0]);
}

void renyi_raise_to_infinity(phibal_enclosure *z) {
  //@ assert open_enclosure;
  mpfr_set_inf(z->hi, 1);
}

phibal_status renyi_refuse(bool outside, const char *domain, const char *function, size_t e,
                           size_t n, const phibal_enclosure *x) {
  phibal_status status =
      outside ? outside_domain(domain)
              : phibal_status_set(PHIBAL_ERROR_UNDECIDED,
                                  "too near the end of the domain %s to tell", domain);
  return name_coordinate(status, function, name, e, n, &x[e]);
}

phibal_status renyi_require_positive(const char *function, size_t n, const phibal_enclosure *x) {
  /*@ loop invariant index: 0 <= e <= n;
      loop invariant checked: \forall integer i; 0 <= i < e ==> positive(x + i);
      loop assigns e;
      loop variant n - e; */
  for (size_t e = 0; e < n; e++)
    if (!phibal_enclosure_is_positive(&x[e]))
      return renyi_refuse(renyi_end_sign(&x[e], true) <= 0, "x > 0", function, e, n, x);
  return PHIBAL_OK;
}

phibal_status renyi_power_sum_at_ends(const phibal_enclosure *a, size_t n,
                                      const phibal_enclosure *x, bool upper, renyi_work *w) {
  //@ assert use_enclosure && use_end;
  /*@ assert positive: \forall sequence s; ends{Pre}(x, n, upper, s) ==> all_positive(s, n); */
  phibal_enclosure_set_si(&w->sum, 0);
  /*@ loop invariant index: 0 <= e <= n;
      loop invariant outputs: work_output(w);
      loop invariant frame: only_work_written{Pre, Here}(w);
      loop invariant kept: same{Pre, Here}(&w->b) && same{Pre, Here}(&w->total);
      loop invariant sum: \forall real p, sequence s;
        ends_chosen{Pre}(a, n, x, upper, p, s) ==> in(&w->sum, renyi_sum(p, s, e));
      loop assigns e, *w;
      loop variant n - e; */
  for (size_t e = 0; e < n; e++) {
    //@ ghost before: ;
    renyi_take_end(&w->point, &x[e], upper);
    /*@ assert end: \forall sequence s; ends{Pre}(x, n, upper, s) ==>
          in(&w->point, term(s, e)) && 0.0 < term(s, e); */
    TRY(renyi_add_power(w, a));
    /*@ assert added: \forall real p, c, sequence s;
          ends_chosen{Pre}(a, n, x, upper, p, s) && in{before}(&w->sum, c) ==>
            in(&w->sum, c + raised(term(s, e), p)); */
    /*@ assert unfold: \forall real p, sequence s;
          renyi_sum(p, s, e + 1) == renyi_sum(p, s, e) + raised(term(s, e), p); */
  }
  return PHIBAL_OK;
}
