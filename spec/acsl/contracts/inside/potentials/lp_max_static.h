/* What the static functions of reference/potentials/lp_max.c promise. */
#ifndef PHIBAL_ACSL_CONTRACTS_INSIDE_POTENTIALS_LP_MAX_STATIC_H
#define PHIBAL_ACSL_CONTRACTS_INSIDE_POTENTIALS_LP_MAX_STATIC_H

/*@ // what x[0..n-1] may be, and of that what is greatest
    predicate members_with_greatest{L}(phibal_enclosure *x, integer n, sequence s, real m) =
      members(x, n, s) && greatest(m, s, n);
    // nothing was written between A and B, as far as enclosures go
    predicate untouched{A, B} =
      \forall phibal_enclosure *r; \valid_read{A}(r) ==> same{A, B}(r);
*/

/*@ // a lower end that is a number
    predicate finite_below{L}(phibal_enclosure *z) =
      mnumber(z->lo[0].number) && mkind(z->lo[0].number) == 0 && mval(z->lo[0].number) >= 0.0;
*/

/*@ requires output(z);
    terminates \true;
    exits \false;
    assigns *z;
    ensures enclosure(z) && finite_below(z) && in(z, 0.0);
    ensures only_written{Pre, Here}(z); */
static void set_zero(phibal_enclosure *z);

/*@ requires output(z) && output(t) && input(x) && bounded(x) && finite_below(z);
    requires \separated(z, t) && \separated(z, x) && \separated(t, x);
    terminates \true;
    exits \false;
    assigns *z, *t;
    ensures enclosure(z) && enclosure(t) && finite_below(z);
    ensures only_two_written{Pre, Here}(z, t);
    ensures larger: \forall real a, b; in{Pre}(z, a) && in{Pre}(x, b) ==>
      in(z, larger_magnitude(a, b)); */
static void raise_maximum(phibal_enclosure *z, const phibal_enclosure *x, phibal_enclosure *t);

/*@ requires 1 <= n && vector_input(x, n) && vector_bounded(x, n);
    requires output(z) && output(t) && \separated(z, t) && vector_apart(z, x, n) &&
             vector_apart(t, x, n);
    terminates \true;
    exits \false;
    assigns *z, *t;
    ensures enclosure(z) && enclosure(t) && finite_below(z);
    ensures only_two_written{Pre, Here}(z, t);
    ensures greatest: \forall sequence s, real m; members_with_greatest{Pre}(x, n, s, m) ==>
      in(z, m); */
static void set_maximum(phibal_enclosure *z, size_t n, const phibal_enclosure *x,
                        phibal_enclosure *t);

/*@ // |r| may be as large as the number maximum for some r in x, which is bounded
    predicate may_reach{L}(phibal_enclosure *x, struct mpfr_number *maximum) =
      \exists real r; in(x, r) && mval(maximum) <= \abs(r);
    // count of x[0..n-1] may be greatest, given a lower bound of the maximum; if certain, they are
    predicate maxima_counted{L}(phibal_enclosure *x, integer n, struct mpfr_number *maximum,
                                integer count, integer certain) =
      (\forall sequence s, real m; members_with_greatest(x, n, s, m) ==>
        mval(maximum) <= m && 1 <= reached(s, n, m) <= count) &&
      (\forall integer i; 0 <= i < n && may_reach(x + i, maximum) ==> 1 <= count) &&
      (certain != 0 ==> \forall sequence s, real m; members_with_greatest(x, n, s, m) ==>
        reached(s, n, m) == count &&
        (\forall integer i; 0 <= i < n && may_reach(x + i, maximum) ==>
          \abs(term(s, i)) == m));
    predicate maximum_input{L}(mpfr_srcptr maximum) =
      readable_number(maximum) && mreal(maximum->number, mval(maximum->number)) &&
      mval(maximum->number) >= 0.0;
*/

/*@ requires input(x) && bounded(x) && maximum_input(maximum);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result <==> may_reach(x, maximum->number);
    ensures !\result ==> \forall real r; in(x, r) ==> \abs(r) < mval(maximum->number); */
static bool may_be_maximum(const phibal_enclosure *x, mpfr_srcptr maximum);

/*@ requires input(x) && bounded(x) && maximum_input(maximum);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result ==> \forall real r; in(x, r) ==> \abs(r) == mval(maximum->number); */
static bool is_maximum(const phibal_enclosure *x, mpfr_srcptr maximum);

/*@ requires 1 <= n && vector_input(x, n) && vector_bounded(x, n);
    requires maximum_input(maximum) && \valid(certain) && \separated(certain, maximum);
    requires \forall sequence s, real m; members_with_greatest(x, n, s, m) ==>
      mval(maximum->number) <= m;
    terminates \true;
    exits \false;
    assigns *certain;
    ensures only: \forall phibal_enclosure *r; \valid_read{Pre}(r) ==> same{Pre, Here}(r);
    ensures 0 <= \result <= n;
    ensures counted: maxima_counted(x, n, maximum->number, \result, *certain);
    ensures one: \result <= 1 ==> *certain; */
static size_t count_maxima(size_t n, const phibal_enclosure *x, mpfr_srcptr maximum,
                           bool *certain);

/*@ requires 1 <= n && vector_input(x, n) && vector_bounded(x, n);
    requires output(maximum) && output(t) && \separated(maximum, t);
    requires vector_apart(maximum, x, n) && vector_apart(t, x, n);
    requires \valid(certain) && \separated(certain, maximum);
    terminates \true;
    exits \false;
    assigns *maximum, *t, *certain;
    ensures enclosure(maximum) && enclosure(t);
    ensures only_two_written{Pre, Here}(maximum, t);
    ensures finite: maximum_input(&maximum->lo[0]);
    ensures greatest: \forall sequence s, real m; members_with_greatest(x, n, s, m) ==>
      in(maximum, m);
    ensures counted: maxima_counted(x, n, maximum->lo[0].number, \result, *certain);
    ensures one: \result <= 1 ==> *certain; */
static size_t find_maxima(phibal_enclosure *maximum, size_t n, const phibal_enclosure *x,
                          phibal_enclosure *t, bool *certain);

/*@ requires output(z) && input(x) && \separated(z, x) && (possible && certain ==> 1 <= count);
    terminates \true;
    exits \false;
    assigns *z;
    ensures enclosure(z);
    ensures only_written{Pre, Here}(z);
    ensures below: !possible ==> in(z, 0.0);
    ensures reached: possible && certain ==> \forall real r; in{Pre}(x, r) ==>
      in(z, side(r) / count);
    ensures open: possible && !certain ==> in(z, 0.0) &&
      \forall real r, integer k; in{Pre}(x, r) && 1 <= k ==> in(z, side(r) / k); */
static void gradient_of_one(phibal_enclosure *z, const phibal_enclosure *x, bool possible,
                            bool certain, size_t count);

/*@ requires vector_places(n, x, gradient) && maximum_input(maximum);
    requires \separated(maximum, x + (0 .. n - 1)) && \separated(maximum, gradient + (0 .. n - 1));
    requires maxima_counted(x, n, maximum->number, count, certain);
    terminates \true;
    exits \false;
    assigns gradient[0 .. n - 1];
    ensures vector_output(gradient, n) && only_vector_written{Pre, Here}(gradient, n);
    ensures \forall sequence s, real m, integer e; members_with_greatest{Pre}(x, n, s, m) &&
      0 <= e < n ==> in(gradient + e, share(term(s, e), reached(s, n, m), m)); */
static void gradient_of_all(phibal_enclosure *gradient, size_t n, const phibal_enclosure *x,
                            mpfr_srcptr maximum, bool certain, size_t count);

/*@ requires input(maximum);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result == PHIBAL_OK || \result == PHIBAL_ERROR_DOMAIN ||
      \result == PHIBAL_ERROR_UNDECIDED;
    ensures \result == PHIBAL_OK ==> count == 1 && \forall real m; in(maximum, m) ==> 0.0 < m;
    ensures \result == PHIBAL_ERROR_DOMAIN ==> (1 < count && certain) ||
      \forall real m; in(maximum, m) ==> m <= 0.0; */
static phibal_status require_one_maximum(size_t count, bool certain,
                                         const phibal_enclosure *maximum);

/*@ requires vector_output(z, n);
    terminates \true;
    exits \false;
    assigns z[0 .. n - 1];
    ensures vector_output(z, n) && only_vector_written{Pre, Here}(z, n);
    ensures \forall integer e; 0 <= e < n ==> in(z + e, 0.0); */
static void set_all_zero(phibal_enclosure *z, size_t n);

/*@ requires vector_input(y, n) && output(z) && output(t) && \separated(z, t);
    requires vector_apart(z, y, n) && vector_apart(t, y, n);
    terminates \true;
    exits \false;
    assigns *z, *t;
    ensures enclosure(z) && enclosure(t);
    ensures only_two_written{Pre, Here}(z, t);
    ensures \result == PHIBAL_OK || \result == PHIBAL_ERROR_DOMAIN;
    ensures \result == PHIBAL_OK ==> \forall sequence s; members{Pre}(y, n, s) ==>
      in(z, one_norm(s, n)); */
static phibal_status set_one_norm(phibal_enclosure *z, size_t n, const phibal_enclosure *y,
                                  phibal_enclosure *t);

/*@ requires output(value) && input(norm) && \separated(value, norm);
    terminates \true;
    exits \false;
    assigns *value;
    ensures enclosure(value) && only_written{Pre, Here}(value);
    ensures inside: \forall real r; in{Pre}(norm, r) && r <= 1.0 ==> in(value, 0.0);
    ensures outside: \forall real r; in{Pre}(norm, r) && 1.0 < r ==> in_plus(value); */
static void set_indicator(phibal_enclosure *value, const phibal_enclosure *norm);

/*@ requires input(norm);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result == PHIBAL_OK || \result == PHIBAL_ERROR_DOMAIN ||
      \result == PHIBAL_ERROR_UNDECIDED;
    ensures \result == PHIBAL_OK ==> \forall real r; in(norm, r) ==> r < 1.0;
    ensures \result == PHIBAL_ERROR_DOMAIN ==> \forall real r; in(norm, r) ==> 1.0 <= r; */
static phibal_status require_inside_ball(const phibal_enclosure *norm);

#endif
