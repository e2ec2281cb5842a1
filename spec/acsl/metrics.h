/* The logic of the metrics: (V1) to (V4) as SPEC.md states them. ACSL only. A vector of numbers of
   the program is spoken of as the sequence of the real numbers that they are. */
#ifndef PHIBAL_ACSL_METRICS_H
#define PHIBAL_ACSL_METRICS_H

#include <phibal/acsl/enclosure.h>
#include <stdint.h>

/*@ predicate counts_are{L}(int64_t *x, integer n, sequence s) =
      \forall integer i; 0 <= i < n ==> term(s, i) == (real)x[i];
    predicate floats_are{L}(float *x, integer n, sequence s) =
      \forall integer i; 0 <= i < n ==> term(s, i) == (real)x[i];
    predicate doubles_are{L}(double *x, integer n, sequence s) =
      \forall integer i; 0 <= i < n ==> term(s, i) == (real)x[i];
    predicate all_nonnegative(sequence s, integer n) =
      \forall integer i; 0 <= i < n ==> 0.0 <= term(s, i);

    logic real largest(sequence s, integer n) =
      n <= 1 ? term(s, 0) :
      largest(s, n - 1) < term(s, n - 1) ? term(s, n - 1) : largest(s, n - 1);
    // (V1), (V2): the largest over the mean, less 1
    logic real violation(real most, real total, integer n) = most / (total / n) - 1.0;
    logic real maxvio(sequence s, integer n) = violation(largest(s, n), sum(s, n), n);

    // sum over j < m of |s_i - s_j|, and of these over i < m
    logic real gaps(sequence s, integer i, integer m) =
      m <= 0 ? 0.0 : gaps(s, i, m - 1) + \abs(term(s, i) - term(s, m - 1));
    logic real all_gaps(sequence s, integer m, integer n) =
      m <= 0 ? 0.0 : all_gaps(s, m - 1, n) + gaps(s, m - 1, n);
    // (V3)
    logic real inequality(real all, real total, integer n) = all / (2.0 * n * total);
    logic real gini(sequence s, integer n) = inequality(all_gaps(s, n, n), sum(s, n), n);

    // (V4): 0 log 0 = 0
    logic real information(real x, real total) =
      x > 0.0 ? (x / total) * \log(x / total) : 0.0;
    logic real entropy_of(sequence s, real total, integer n) =
      n <= 0 ? 0.0 : entropy_of(s, total, n - 1) - information(term(s, n - 1), total);
    logic real entropy(sequence s, integer n) = entropy_of(s, sum(s, n), n);

    axiomatic MetricUse {
      predicate use_metric;
      axiom metric_used: use_metric;
      LEMMA maxvio_form: \forall real a, b, n;
        b > 0.0 && n > 0.0 ==> (n * a - b) / b == a / (b / n) - 1.0;
      LEMMA share_positive: \forall real a, b; a > 0.0 && b > 0.0 ==> a / b > 0.0;
      LEMMA gini_form: \forall real a, b, integer n; b > 0.0 && n > 0 ==>
        (a / 2.0) / (b * n) == inequality(a, b, n) && b * n != 0.0;
    }

    // each pair once: sum over i < m of |s_i - s_j| over i < j < n, and over j < i
    logic real later_gaps(sequence s, integer m, integer n) =
      m <= 0 ? 0.0 : later_gaps(s, m - 1, n) + gaps(s, m - 1, n) - gaps(s, m - 1, m - 1);
    logic real earlier_gaps(sequence s, integer m) =
      m <= 0 ? 0.0 : earlier_gaps(s, m - 1) + gaps(s, m - 1, m - 1);
    predicate gaps_split(integer m, integer n) =
      \forall sequence s; later_gaps(s, m, n) == all_gaps(s, m, n) - earlier_gaps(s, m);
    predicate gaps_column(integer m, integer n) =
      \forall sequence s; all_gaps(s, m, n + 1) == all_gaps(s, m, n) + gaps(s, n, m);
    predicate gaps_symmetric(integer n) =
      \forall sequence s; all_gaps(s, n, n) == 2.0 * earlier_gaps(s, n);
*/
/* A pair has one gap in either order, so each pair once is half of all. By induction. */
/*@ ghost
  /@ requires 0 <= n;
     terminates \true;
     exits \false;
     assigns \nothing;
     ensures gaps_column(n, n); @/
  void gaps_add_column(int32_t n) {
    int32_t m = 0;
    /@ loop invariant 0 <= m <= n;
       loop invariant gaps_column(m, n);
       loop assigns m;
       loop variant n - m; @/
    while (m < n) m++;
  }
  /@ requires 0 <= n;
     terminates \true;
     exits \false;
     assigns \nothing;
     ensures gaps_split(n, n); @/
  void gaps_add_rows(int32_t n) {
    int32_t m = 0;
    /@ loop invariant 0 <= m <= n;
       loop invariant gaps_split(m, n);
       loop assigns m;
       loop variant n - m; @/
    while (m < n) m++;
  }
  /@ requires 0 <= n;
     terminates \true;
     exits \false;
     assigns \nothing;
     ensures \forall sequence s; all_gaps(s, n, n) == 2.0 * later_gaps(s, n, n); @/
  void gaps_once(int32_t n) {
    int32_t m = 0;
    /@ loop invariant 0 <= m <= n;
       loop invariant gaps_symmetric(m);
       loop assigns m;
       loop variant n - m; @/
    while (m < n) {
      gaps_add_column(m);
      m++;
    }
    gaps_add_rows(n);
  }
*/
#endif
