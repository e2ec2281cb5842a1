/* What the proofs of Renyi's files rest on: the ends of a vector's enclosures as sequences, and the
   forms and the monotony of the potential's parts. ACSL only. */
#ifndef PHIBAL_ACSL_RENYI_STEPS_H
#define PHIBAL_ACSL_RENYI_STEPS_H

#include <phibal/acsl/renyi.h>
#include <stddef.h>

/*@ axiomatic End {
      // the lower (upper) end of x is the real number r
      predicate end{L}(phibal_enclosure *x, integer upper, real r)
        reads x->lo[0].number, x->hi[0].number;
    }
    axiomatic EndDefinition {
      predicate open_end;
      axiom end_opened: open_end;
      axiom end_is{L}: \forall phibal_enclosure *x, integer upper, real r; end(x, upper, r) <==>
        (upper == 0 ? mreal(x->lo[0].number, r) : mreal(x->hi[0].number, r));
    }
    axiomatic EndUse {
      predicate use_end;
      axiom end_used: use_end;
      LEMMA same_end{A, B}: GIVEN(open_end && open_enclosure)
        \forall phibal_enclosure *x, integer upper, real r;
        same{A, B}(x) && end{A}(x, upper, r) ==> end{B}(x, upper, r);
      LEMMA end_least{L}: GIVEN(open_end && open_enclosure)
        \forall phibal_enclosure *x, real l, r; end(x, 0, l) && in(x, r) ==> l <= r;
      LEMMA end_greatest{L}: GIVEN(open_end && open_enclosure)
        \forall phibal_enclosure *x, real r, h; end(x, 1, h) && in(x, r) ==> r <= h;
      LEMMA end_lower{L}: GIVEN(open_end && open_enclosure)
        \forall phibal_enclosure *x; bounded(x) ==> end(x, 0, mval(x->lo[0].number));
      LEMMA end_member{L}: GIVEN(open_end && open_enclosure)
        \forall phibal_enclosure *x, integer upper, real r;
        enclosure(x) && end(x, upper, r) ==> in(x, r);
    }
    // s is the lower (upper) ends of x[0..n-1]
    predicate ends{L}(phibal_enclosure *x, integer n, integer upper, sequence s) =
      \forall integer i; 0 <= i < n ==> end(x + i, upper, term(s, i));
    axiomatic Ends {
      logic sequence ends_of{L}(phibal_enclosure *x, integer n, integer upper)
        reads x[0 .. n - 1].lo[0].number, x[0 .. n - 1].hi[0].number;
    }
    axiomatic EndsUse {
      predicate use_ends;
      axiom ends_used: use_ends;
      axiom ends_of_are{L}: \forall phibal_enclosure *x, integer n, upper;
        (\forall integer i; 0 <= i < n ==> bounded(x + i)) ==>
          ends(x, n, upper, ends_of(x, n, upper));
    }
    // s is at most t
    predicate dominated(sequence s, sequence t, integer n) =
      \forall integer i; 0 <= i < n ==> term(s, i) <= term(t, i);

    // b = a - 1, and x (x^b - 1), which is x^a - x
    axiomatic RenyiB {
      logic real renyi_b(real a);
      logic real renyi_excess(real b, real x);
    }
    axiomatic RenyiBDefinition {
      predicate open_renyi_b;
      axiom renyi_b_opened: open_renyi_b;
      axiom renyi_b_is: \forall real a; renyi_b(a) == a - 1.0;
    }
    axiomatic RenyiExcessDefinition {
      predicate open_renyi_excess;
      axiom renyi_excess_opened: open_renyi_excess;
      axiom renyi_excess_is: \forall real b, x; renyi_excess(b, x) == (e(\log(x) * b) - 1.0) * x;
    }
    axiomatic RenyiBUse {
      predicate use_renyi_b;
      axiom renyi_b_used: use_renyi_b;
      COQ_LEMMA renyi_b_negative: \forall real a; renyi_valid(a) ==> renyi_b(a) < 0.0;
      COQ_LEMMA renyi_value_form: \forall real a, s; renyi_valid(a) ==>
        \log(s) / renyi_b(a) == renyi_value_of(a, s);
    }
    axiomatic RenyiForms {
      predicate use_renyi;
      axiom renyi_used: use_renyi;
      COQ_LEMMA renyi_power_of_zero: \forall real a; 0.0 < a ==> raised(0.0, a) == 0.0;
      COQ_LEMMA renyi_power_positive: \forall real x, a; 0.0 < x ==> 0.0 < raised(x, a);
      // what add_expert adds to the excess, from which S - 1 is had
      COQ_LEMMA renyi_excess_form: \forall real a, x; 0.0 < x ==>
        renyi_excess(renyi_b(a), x) == raised(x, a) - x;
    }
    axiomatic RenyiDerivatives {
      predicate use_renyi_derivatives;
      axiom renyi_derivatives_used: use_renyi_derivatives;
      COQ_LEMMA renyi_gradient_form: \forall real a, q, s; renyi_valid(a) && 0.0 < s ==>
        raised(q, renyi_b(a)) * a / renyi_b(a) / s == renyi_gradient_of(a, q, s);
      COQ_LEMMA renyi_diagonal_form: \forall real a, q, s; renyi_valid(a) && 0.0 < s ==>
        raised(q, a - 2.0) * a / s == renyi_diagonal_of(a, q, s);
    }
    // the Hessian is its diagonal and renyi_one times a vector's product with itself
    axiomatic RenyiRay {
      logic real renyi_ray(real a, real q, real total);
      logic real renyi_one(real a);
    }
    axiomatic RenyiRayDefinition {
      predicate open_renyi_ray;
      axiom renyi_ray_opened: open_renyi_ray;
      axiom renyi_ray_is: \forall real a, q, total;
        renyi_ray(a, q, total) == raised(q, a - 1.0) / total;
      axiom renyi_one_is: \forall real a; renyi_one(a) == a * a / (1.0 - a);
    }
    logic real renyi_ray_dot(real a, sequence x, sequence v, integer n, integer m) =
      m <= 0 ? 0.0 :
      renyi_ray_dot(a, x, v, n, m - 1) +
        times(renyi_ray(a, term(x, m - 1), renyi_sum(a, x, n)), term(v, m - 1));
    // what the rank-one part adds to a component of the product with a vector, whose own product
    // with the ray is w
    axiomatic RenyiPart {
      logic real renyi_part(real a, real q, real total, real w);
    }
    axiomatic RenyiPartDefinition {
      predicate open_renyi_part;
      axiom renyi_part_opened: open_renyi_part;
      axiom renyi_part_is: \forall real a, q, total, w;
        renyi_part(a, q, total, w) == renyi_ray(a, q, total) * (w * renyi_one(a));
    }
    axiomatic RenyiHessian {
      predicate use_renyi_hessian;
      axiom renyi_hessian_used: use_renyi_hessian;
      COQ_LEMMA renyi_rank_one_form: \forall real a, q, r, s; renyi_valid(a) && 0.0 < s ==>
        renyi_ray(a, q, s) * renyi_ray(a, r, s) * renyi_one(a) == renyi_rank_one_of(a, q, r, s);
      COQ_LEMMA renyi_part_zero: \forall real a, q, s; renyi_part(a, q, s, 0.0) == 0.0;
      COQ_LEMMA renyi_part_sum: \forall real a, q, s, v, w;
        renyi_part(a, q, s, v + w) == renyi_part(a, q, s, v) + renyi_part(a, q, s, w);
      COQ_LEMMA renyi_part_entry: \forall real a, q, r, s, t; renyi_valid(a) && 0.0 < s ==>
        renyi_part(a, q, s, times(renyi_ray(a, r, s), t)) ==
          times(renyi_rank_one_of(a, q, r, s), t);
    }
    // where entry (e, j) stands in n rows of n numbers, one after the other
    axiomatic Cell {
      logic integer cell(integer n, integer e, integer j);
    }
    axiomatic CellDefinition {
      predicate open_cell;
      axiom cell_opened: open_cell;
      axiom cell_is: \forall integer n, e, j; cell(n, e, j) == e * n + j;
    }
    axiomatic Rows {
      predicate use_rows;
      axiom rows_used: use_rows;
      LEMMA row_inside: \forall integer n, e; 0 <= e < n ==> 0 <= e * n && e * n + n <= n * n;
      LEMMA rows_bounded: \forall integer n; 0 <= n <= 0xffffffff ==>
        n * n <= 0xffffffffffffffff;
    }
    axiomatic Cells {
      predicate use_cells;
      axiom cells_used: use_cells;
      LEMMA cell_in_row: GIVEN(open_cell) \forall integer n, e, j;
        cell(n, e, j) == cell(n, e, 0) + j;
      LEMMA cell_start: GIVEN(open_cell) \forall integer n, e; cell(n, e, 0) == e * n;
      LEMMA cell_inside: GIVEN(open_cell) \forall integer n, e, j; 0 <= e < n && 0 <= j < n ==>
        0 <= cell(n, e, j) && cell(n, e, j) < n * n;
      COQ_LEMMA cell_rises: \forall integer n, i, e; 0 <= i < e && 0 <= n ==>
        cell(n, i, 0) + n <= cell(n, e, 0);
      LEMMA cell_before: GIVEN(open_cell) \forall integer n, i, j, e; 0 <= i < e && 0 <= j < n ==>
        0 <= cell(n, i, j) && cell(n, i, j) < cell(n, e, 0);
    }
    // row e begins at e * n, after the cells of all rows before it
    predicate row_cells(integer n, integer e) =
      (\forall integer j; cell(n, e, j) == e * n + j) &&
      (\forall integer i, j; 0 <= i < e && 0 <= j < n ==>
        0 <= cell(n, i, j) && cell(n, i, j) < e * n);
    predicate cells_inside(integer n) = \forall integer e, j; 0 <= e < n && 0 <= j < n ==>
      0 <= cell(n, e, j) && cell(n, e, j) < n * n;
    axiomatic RenyiOrder {
      predicate use_renyi_order;
      axiom renyi_order_used: use_renyi_order;
      COQ_LEMMA renyi_power_rises: \forall real a, x, z; 0.0 < a && 0.0 <= x && x <= z ==>
        raised(x, a) <= raised(z, a);
      COQ_LEMMA renyi_value_falls: \forall real a, s, t; renyi_valid(a) && 0.0 < s && s <= t ==>
        renyi_value_of(a, t) <= renyi_value_of(a, s);
      COQ_LEMMA renyi_conjugate_rises: \forall real a, s, t; 0.0 < s && s <= t ==>
        renyi_conjugate_of(a, s) <= renyi_conjugate_of(a, t);
      COQ_LEMMA renyi_gradient_rises: \forall real a, q, r, s, t;
        renyi_valid(a) && 0.0 < q && q <= r && 0.0 < s && s <= t ==>
          renyi_gradient_of(a, q, s) <= renyi_gradient_of(a, r, t);
    }
    // (r/y)^c, and the sum of these
    axiomatic RenyiWeight {
      logic real renyi_weight(real c, real r, real y);
    }
    axiomatic RenyiWeightDefinition {
      predicate open_renyi_weight;
      axiom renyi_weight_opened: open_renyi_weight;
      axiom renyi_weight_is: \forall real c, r, y; renyi_weight(c, r, y) == raised(r / y, c);
    }
    // what a sum over the dual is when prices are measured by r; the conjugate's part that is the
    // scale's; a component of its gradient, from the sum of weights
    axiomatic RenyiScaled {
      logic real renyi_scaled(real a, real r, real total);
      logic real renyi_scale_part(real c, real r);
      logic real renyi_share(real c, real r, real y, real total);
    }
    axiomatic RenyiScaledDefinition {
      predicate open_renyi_scaled;
      axiom renyi_scaled_opened: open_renyi_scaled;
      axiom renyi_scaled_is: \forall real a, r, total;
        renyi_scaled(a, r, total) == raised(-r, renyi_exponent(a)) * total;
      axiom renyi_scale_part_is: \forall real c, r;
        renyi_scale_part(c, r) == (\log(over(c, -r)) - 1.0) * c;
      axiom renyi_share_is: \forall real c, r, y, total;
        renyi_share(c, r, y, total) == renyi_weight(c, r, y) * (c / -y) / total;
    }
    logic real renyi_weights(real a, real r, sequence y, integer n) =
      n <= 0 ? 0.0 :
      renyi_weights(a, r, y, n - 1) + renyi_weight(renyi_exponent(a), r, term(y, n - 1));
    axiomatic RenyiDual {
      predicate use_renyi_dual;
      axiom renyi_dual_used: use_renyi_dual;
      COQ_LEMMA renyi_exponent_positive: \forall real a; renyi_valid(a) ==> 0.0 < renyi_exponent(a);
      COQ_LEMMA renyi_ratio_positive: \forall real r, y; r < 0.0 && y < 0.0 ==>
        0.0 < r / y && 0.0 < over(r, y);
      COQ_LEMMA renyi_scale_ratio: \forall real c, r; 0.0 < c && r < 0.0 ==> 0.0 < over(c, -r);
      COQ_LEMMA renyi_weight_power: \forall real c, r, y; r < 0.0 && y < 0.0 ==>
        renyi_weight(c, r, y) == raised(over(r, y), c);
      COQ_LEMMA renyi_ratio_form: \forall real r, y; y < 0.0 ==> (r - y) / y == over(r, y) - 1.0;
      COQ_LEMMA renyi_weight_near_one: \forall real c, r, y; r < 0.0 && y < 0.0 ==>
        renyi_weight(c, r, y) == e(\log(over(r, y)) * c);
      COQ_LEMMA renyi_weight_positive: \forall real c, r, y; r < 0.0 && y < 0.0 ==>
        0.0 < renyi_weight(c, r, y);
      COQ_LEMMA renyi_weight_scaled: \forall real a, r, y; renyi_valid(a) && r < 0.0 && y < 0.0 ==>
        renyi_weight(renyi_exponent(a), r, y) ==
          renyi_scaled(a, r, raised(-y, -renyi_exponent(a)));
      COQ_LEMMA renyi_scaled_sum: \forall real a, r, s, t;
        renyi_scaled(a, r, s + t) == renyi_scaled(a, r, s) + renyi_scaled(a, r, t);
      COQ_LEMMA renyi_scaled_zero: \forall real a, r; renyi_scaled(a, r, 0.0) == 0.0;
      COQ_LEMMA renyi_scaled_positive: \forall real a, r, t; r < 0.0 && 0.0 < t ==>
        0.0 < renyi_scaled(a, r, t);
      COQ_LEMMA renyi_conjugate_form: \forall real a, c, r, t;
        renyi_valid(a) && r < 0.0 && 0.0 < t && c == renyi_exponent(a) ==>
          renyi_scale_part(c, r) + \log(renyi_scaled(a, r, t)) == renyi_conjugate_of(a, t);
      COQ_LEMMA renyi_conjugate_gradient_form: \forall real a, c, r, y, t;
        renyi_valid(a) && r < 0.0 && y < 0.0 && 0.0 < t && c == renyi_exponent(a) ==>
          renyi_share(c, r, y, renyi_scaled(a, r, t)) == renyi_conjugate_gradient_of(a, y, t);
    }
    axiomatic RenyiDualOrder {
      predicate use_renyi_dual_order;
      axiom renyi_dual_order_used: use_renyi_dual_order;
      COQ_LEMMA renyi_dual_power_rises: \forall real a, y, z;
        renyi_valid(a) && y <= z && z < 0.0 ==>
          raised(-y, -renyi_exponent(a)) <= raised(-z, -renyi_exponent(a));
      COQ_LEMMA renyi_dual_power_positive: \forall real a, y; renyi_valid(a) && y < 0.0 ==>
        0.0 < raised(-y, -renyi_exponent(a));
    }
    predicate weights_scaled(integer n) = \forall real a, r, sequence s;
      renyi_valid(a) && r < 0.0 && all_negative(s, n) ==>
        renyi_weights(a, r, s, n) == renyi_scaled(a, r, renyi_dual_sum(a, s, n));
    predicate dual_sum_positive(integer n) = \forall real a, sequence s;
      renyi_valid(a) && all_negative(s, n) ==>
        0.0 <= renyi_dual_sum(a, s, n) && (1 <= n ==> 0.0 < renyi_dual_sum(a, s, n));
    predicate dual_sum_rises(integer n) = \forall real a, sequence s, t;
      renyi_valid(a) && all_negative(t, n) && dominated(s, t, n) ==>
        renyi_dual_sum(a, s, n) <= renyi_dual_sum(a, t, n);
    predicate row_split(integer n, integer e, integer m) = \forall real a, sequence x, v;
      renyi_valid(a) && 0.0 < renyi_sum(a, x, n) ==>
        renyi_row(a, x, v, n, e, m) ==
          (e < m ? renyi_diagonal_of(a, term(x, e), renyi_sum(a, x, n)) * term(v, e) : 0.0) +
          renyi_part(a, term(x, e), renyi_sum(a, x, n), renyi_ray_dot(a, x, v, n, m));
    predicate values_fall(integer n) = \forall real a, sequence s, t;
      renyi_valid(a) && renyi_value_inside(s, n) && dominated(s, t, n) ==>
        renyi_value(a, t, n) <= renyi_value(a, s, n);
    predicate inside_rises(integer n) = \forall sequence s, t;
      renyi_value_inside(s, n) && dominated(s, t, n) ==> renyi_value_inside(t, n);
    predicate gradients_rise(integer n) = \forall real a, sequence s, t, integer e;
      renyi_valid(a) && all_positive(s, n) && dominated(s, t, n) && 0 <= e < n ==>
        renyi_gradient(a, s, n, e) <= renyi_gradient(a, t, n, e);
    predicate conjugates_rise(integer n) = \forall real a, sequence s, t;
      renyi_valid(a) && all_negative(t, n) && dominated(s, t, n) ==>
        renyi_conjugate(a, s, n) <= renyi_conjugate(a, t, n);
    predicate sum_rises(integer n) = \forall real a, sequence s, t;
      renyi_valid(a) && all_zero_or_more(s, n) && dominated(s, t, n) ==>
        renyi_sum(a, s, n) <= renyi_sum(a, t, n);
    predicate sum_positive(integer n) = \forall real a, sequence s;
      renyi_valid(a) && renyi_value_inside(s, n) ==> 0.0 < renyi_sum(a, s, n);
    predicate sum_nonnegative(integer n) = \forall real a, sequence s;
      renyi_valid(a) && all_zero_or_more(s, n) ==> 0.0 <= renyi_sum(a, s, n);
*/
#endif
