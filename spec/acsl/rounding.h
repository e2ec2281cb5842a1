/* Correct rounding to a format, said by what it is to be and not by how it is computed. ACSL only.

   A format's numbers are n 2^k with whole n, |n| <= 2^precision, and k >= least, of a magnitude below
   2^limit. Plus and minus 2^limit themselves stand for the infinities: where the next number would be
   if exponents went on, which is how rounding to nearest sees them. */
#ifndef PHIBAL_ACSL_ROUNDING_H
#define PHIBAL_ACSL_ROUNDING_H

#include <phibal/acsl/real.h>

/*@ axiomatic TwoTo {
      // 2^k, n 2^k and a 2^-k
      logic real two(integer k);
      logic real at_place(integer n, integer k);
      logic real in_units(real a, integer k);
    }
    axiomatic TwoToDefinition {
      predicate open_two;
      axiom two_opened: open_two;
      axiom two_is: \forall integer k;
        two(k) == (k >= 0 ? power_of_two(k) : 1.0 / power_of_two(-k));
      axiom at_place_is: \forall integer n, k; at_place(n, k) == n * two(k);
      axiom in_units_is: \forall real a, integer k; in_units(a, k) == a / two(k);
    }

    logic integer format_precision(integer f) = f == PHIBAL_FORMAT_BINARY64 ? 53 :
      f == PHIBAL_FORMAT_BINARY32 ? 24 : f == PHIBAL_FORMAT_BFLOAT16 ? 8 : 11;
    // 2^precision
    logic integer format_most(integer f) = f == PHIBAL_FORMAT_BINARY64 ? 9007199254740992 :
      f == PHIBAL_FORMAT_BINARY32 ? 16777216 : f == PHIBAL_FORMAT_BFLOAT16 ? 256 : 2048;
    logic integer format_least(integer f) = f == PHIBAL_FORMAT_BINARY64 ? -1074 :
      f == PHIBAL_FORMAT_BINARY32 ? -149 : f == PHIBAL_FORMAT_BFLOAT16 ? -133 : -24;
    logic integer format_limit(integer f) = f == PHIBAL_FORMAT_BINARY64 ? 1024 :
      f == PHIBAL_FORMAT_BINARY16 ? 16 : 128;
    // the exponent of the last place of numbers in [2^(e-1), 2^e)
    logic integer format_place(integer f, integer e) =
      e - format_precision(f) > format_least(f) ? e - format_precision(f) : format_least(f);

    // a number of the format, and the two that stand for the infinities
    predicate format_number(integer f, real x) =
      -two(format_limit(f)) <= x <= two(format_limit(f)) &&
      (\exists integer n, k; -format_most(f) <= n <= format_most(f) && format_least(f) <= k &&
        x == at_place(n, k));
    // a number of the format
    predicate in_format(integer f, real x) =
      format_number(f, x) && -two(format_limit(f)) < x < two(format_limit(f));
    // its last digit is 0: one digit fewer would do
    predicate even_number(integer f, real x) =
      \exists integer n, k; -format_most(f) <= 2 * n <= format_most(f) && format_least(f) < k &&
        x == at_place(n, k);

    // r is the greatest number of the format that is at most a; minus infinity where there is none
    predicate rounds_down(integer f, real a, real r) =
      (in_format(f, r) && r <= a && (\forall real x; in_format(f, x) && x <= a ==> x <= r)) ||
      (r == -two(format_limit(f)) && (\forall real x; in_format(f, x) ==> a < x));
    predicate rounds_up(integer f, real a, real r) =
      (in_format(f, r) && a <= r && (\forall real x; in_format(f, x) && a <= x ==> r <= x)) ||
      (r == two(format_limit(f)) && (\forall real x; in_format(f, x) ==> x < a));
    // no number is nearer to a than r, and r is even where another is as near
    predicate rounds_nearest(integer f, real a, real r) =
      format_number(f, r) &&
      (\forall real x; format_number(f, x) ==> \abs(r - a) <= \abs(x - a)) &&
      (\forall real x; format_number(f, x) && x != r && \abs(r - a) == \abs(x - a) ==>
        even_number(f, r));

    // the same for whole numbers
    predicate rounds_to_integer(integer d, real v, integer n) =
      (d == PHIBAL_ROUND_NEAREST ==> \abs(n - v) <= 0.5 &&
        (\abs(n - v) == 0.5 ==> \exists integer h; n == 2 * h)) &&
      (d == PHIBAL_ROUND_DOWN || (d == PHIBAL_ROUND_ZERO && v >= 0.0) ==> n <= v && v < n + 1) &&
      (d == PHIBAL_ROUND_UP || (d == PHIBAL_ROUND_ZERO && v <= 0.0) ==> n - 1 < v && v <= n);

    // r is a, rounded to format f in direction d
    axiomatic Rounding {
      predicate rounding(integer f, integer d, real a, real r);
    }
    axiomatic RoundingDefinition {
      predicate open_rounding;
      axiom rounding_opened: open_rounding;
      axiom rounding_is: \forall integer f, d, real a, r; rounding(f, d, a, r) <==>
        (d == PHIBAL_ROUND_NEAREST ==> rounds_nearest(f, a, r)) &&
        (d == PHIBAL_ROUND_DOWN ==> rounds_down(f, a, r)) &&
        (d == PHIBAL_ROUND_UP ==> rounds_up(f, a, r)) &&
        (d == PHIBAL_ROUND_ZERO ==> (a >= 0.0 ==> rounds_down(f, a, r)) &&
          (a <= 0.0 ==> rounds_up(f, a, r)));
    }
    // the double r is a, rounded; zeros of both signs are the number 0
    predicate rounded_to(integer f, integer d, real a, double r) =
      !\is_NaN(r) &&
      (\is_finite(r) ==> rounding(f, d, a, (real)r) &&
        -two(format_limit(f)) < (real)r < two(format_limit(f))) &&
      (\is_plus_infinity(r) ==> rounding(f, d, a, two(format_limit(f)))) &&
      (\is_minus_infinity(r) ==> rounding(f, d, a, -two(format_limit(f))));

    // what the solvers' theory of floating-point numbers says, or should
    axiomatic WholeDoubles {
      predicate use_whole_doubles;
      axiom whole_doubles_used: use_whole_doubles;
      // about rounding: proofs/gappa/whole.gappa proves it
      axiom whole_number_is_double: \forall integer n; -9007199254740992 <= n <= 9007199254740992 ==>
        \is_finite((double)n) && (real)(double)n == (real)n;
      LEMMA equal_doubles: \forall double x, y; \eq_double(x, y) ==>
        (\is_finite(x) <==> \is_finite(y)) && (\is_finite(x) ==> (real)x == (real)y) &&
        (\is_plus_infinity(x) <==> \is_plus_infinity(y)) &&
        (\is_minus_infinity(x) <==> \is_minus_infinity(y));
      LEMMA equal_reals: \forall double x, y;
        \is_finite(x) && \is_finite(y) && (real)x == (real)y ==> \eq_double(x, y);
      LEMMA kinds_of_double: \forall double x; !\is_NaN(x) ==>
        \is_finite(x) || \is_plus_infinity(x) || \is_minus_infinity(x);
      LEMMA one_kind_of_double: \forall double x;
        (\is_finite(x) ==> !\is_NaN(x) && !\is_plus_infinity(x) && !\is_minus_infinity(x)) &&
        (\is_plus_infinity(x) ==> !\is_NaN(x) && !\is_minus_infinity(x)) &&
        (\is_minus_infinity(x) ==> !\is_NaN(x));
    }
    axiomatic RoundingUse {
      predicate use_rounding;
      axiom rounding_used: use_rounding;
      COQ_LEMMA rounding_between: \forall integer f, d, real lo, a, hi, r;
        rounding(f, d, lo, r) && rounding(f, d, hi, r) && lo <= a <= hi ==> rounding(f, d, a, r);
      COQ_LEMMA rounding_below: \forall integer f, d, real a, hi, r;
        PHIBAL_ROUND_NEAREST <= d <= PHIBAL_ROUND_ZERO && rounding(f, d, hi, r) && a <= hi &&
        r == -two(format_limit(f)) ==> rounding(f, d, a, r);
      COQ_LEMMA rounding_above: \forall integer f, d, real lo, a, r;
        PHIBAL_ROUND_NEAREST <= d <= PHIBAL_ROUND_ZERO && rounding(f, d, lo, r) && lo <= a &&
        r == two(format_limit(f)) ==> rounding(f, d, a, r);
      COQ_LEMMA rounding_zero: \forall integer f, d, real a, r;
        a == 0.0 && r == 0.0 ==> rounding(f, d, a, r);
      COQ_LEMMA rounding_units: \forall integer f, d, e, k, n, real a;
        two(e - 1) <= \abs(a) < two(e) && e <= format_limit(f) && k == format_place(f, e) &&
        rounds_to_integer(d, in_units(a, k), n) ==> rounding(f, d, a, at_place(n, k));
      COQ_LEMMA rounding_beyond: \forall integer f, d, real a, r;
        two(format_limit(f)) <= a &&
        r == (d == PHIBAL_ROUND_NEAREST || d == PHIBAL_ROUND_UP ? two(format_limit(f)) :
          at_place(format_most(f) - 1, format_limit(f) - format_precision(f))) ==>
            rounding(f, d, a, r);
      COQ_LEMMA rounding_beyond_below: \forall integer f, d, real a, r;
        a <= -two(format_limit(f)) &&
        r == (d == PHIBAL_ROUND_NEAREST || d == PHIBAL_ROUND_DOWN ? -two(format_limit(f)) :
          -at_place(format_most(f) - 1, format_limit(f) - format_precision(f))) ==>
            rounding(f, d, a, r);
      COQ_LEMMA rounding_unit: \forall integer f, d, real a, r;
        PHIBAL_ROUND_NEAREST <= d <= PHIBAL_ROUND_ZERO && rounding(f, d, a, r) && 0.0 <= a <= 1.0 ==>
          0.0 <= r <= 1.0;
      // who reaches the infinities
      COQ_LEMMA rounding_up_there: \forall integer f, d, real a, r;
        PHIBAL_ROUND_NEAREST <= d <= PHIBAL_ROUND_ZERO && rounding(f, d, a, r) &&
        r == two(format_limit(f)) ==>
          0.0 < a && (d == PHIBAL_ROUND_NEAREST || d == PHIBAL_ROUND_UP);
      COQ_LEMMA rounding_down_there: \forall integer f, d, real a, r;
        PHIBAL_ROUND_NEAREST <= d <= PHIBAL_ROUND_ZERO && rounding(f, d, a, r) &&
        r == -two(format_limit(f)) ==>
          a < 0.0 && (d == PHIBAL_ROUND_NEAREST || d == PHIBAL_ROUND_DOWN);
    }
    // the largest number of the format
    axiomatic LargestNumber {
      logic real largest_number(integer f);
    }
    axiomatic LargestNumberDefinition {
      predicate open_largest;
      axiom largest_opened: open_largest;
      axiom largest_number_is: \forall integer f; largest_number(f) ==
        at_place(format_most(f) - 1, format_limit(f) - format_precision(f));
    }
    // the unit in a's last place is the gap between the numbers around it
    axiomatic Unit {
      predicate use_unit;
      axiom unit_used: use_unit;
      COQ_LEMMA unit_is_gap: \forall integer f, e, real a, r;
        two(e - 1) <= a < two(e) && e <= format_limit(f) && rounds_down(f, a, r) ==>
          format_number(f, r + two(format_place(f, e))) &&
          (\forall real y; format_number(f, y) ==> y <= r || r + two(format_place(f, e)) <= y);
    }
    axiomatic TwoToUse {
      predicate use_two;
      axiom two_used: use_two;
      // what the models of MPFR and of C say, in these words
      COQ_LEMMA two_is_power: \forall integer k; k >= 0 ==> two(k) == power_of_two(k);
      COQ_LEMMA in_units_one: \forall real a, integer k;
        (in_units(a, k) < 1.0 <==> a < two(k)) && (in_units(a, k) >= 1.0 <==> a >= two(k));
      COQ_LEMMA in_units_up: \forall real a, integer k;
        k <= 0 ==> in_units(a, k) == a * power_of_two(-k);
      COQ_LEMMA in_units_down: \forall real a, integer k;
        k >= 0 ==> in_units(a, k) == a / power_of_two(k);
      COQ_LEMMA at_place_up: \forall integer n, k; k >= 0 ==> at_place(n, k) == n * power_of_two(k);
      COQ_LEMMA at_place_down: \forall integer n, k;
        k <= 0 ==> at_place(n, k) == n / power_of_two(-k);
      COQ_LEMMA at_place_sign: \forall integer n, k; at_place(-n, k) == -at_place(n, k);
    }
    axiomatic PlacesUse {
      predicate use_places;
      axiom places_used: use_places;
      // a number in units of its last place, and the whole number it is rounded to
      COQ_LEMMA units_fit: \forall integer f, e, k, real a;
        \abs(a) < two(e) && k == format_place(f, e) ==> \abs(in_units(a, k)) <= format_most(f);
      COQ_LEMMA units_sign: \forall real a, integer k;
        (a > 0.0 ==> in_units(a, k) > 0.0) && (a < 0.0 ==> in_units(a, k) < 0.0);
      COQ_LEMMA place_sign: \forall integer n, k;
        (n >= 0 ==> at_place(n, k) >= 0.0) && (n <= 0 ==> at_place(n, k) <= 0.0);
      COQ_LEMMA place_limit: \forall integer f, n, k;
        -format_most(f) <= n <= format_most(f) && k <= format_limit(f) - format_precision(f) &&
        !((n == format_most(f) || n == -format_most(f)) && k == format_limit(f) - format_precision(f)) ==>
          -two(format_limit(f)) < at_place(n, k) < two(format_limit(f));
      COQ_LEMMA place_most: \forall integer f;
        at_place(format_most(f), format_limit(f) - format_precision(f)) == two(format_limit(f));
      COQ_LEMMA place_one: \forall integer k; at_place(1, k) == two(k);
      COQ_LEMMA limits_rise: \forall integer j, k; j <= k ==> two(j) <= two(k);
      COQ_LEMMA two_positive: \forall integer k; 0.0 < two(k);
    }
    // rounding_beyond and rounding_beyond_below, direction by direction; what an equation says in two
    // inequalities stays a variable, which solvers can match
    axiomatic BeyondUse {
      predicate use_beyond;
      axiom beyond_used: use_beyond;
      LEMMA beyond_to_limit: GIVEN(use_rounding) \forall integer f, d, real a;
        two(format_limit(f)) <= a && (d == PHIBAL_ROUND_NEAREST || d == PHIBAL_ROUND_UP) ==>
          rounding(f, d, a, two(format_limit(f)));
      LEMMA beyond_to_most: GIVEN(use_rounding && open_largest) \forall integer f, d, real a;
        two(format_limit(f)) <= a && (d == PHIBAL_ROUND_DOWN || d == PHIBAL_ROUND_ZERO) ==>
          rounding(f, d, a, largest_number(f));
      LEMMA beyond_to_minus_limit: GIVEN(use_rounding) \forall integer f, d, real a, r;
        a <= -two(format_limit(f)) && (d == PHIBAL_ROUND_NEAREST || d == PHIBAL_ROUND_DOWN) &&
        -two(format_limit(f)) <= r <= -two(format_limit(f)) ==> rounding(f, d, a, r);
      LEMMA beyond_to_least: GIVEN(use_rounding && open_largest) \forall integer f, d, real a, r;
        a <= -two(format_limit(f)) && (d == PHIBAL_ROUND_UP || d == PHIBAL_ROUND_ZERO) &&
        -largest_number(f) <= r <= -largest_number(f) ==> rounding(f, d, a, r);
      LEMMA largest_within: GIVEN(use_places && open_largest) \forall integer f;
        -two(format_limit(f)) < largest_number(f) < two(format_limit(f));
    }
*/
#endif
