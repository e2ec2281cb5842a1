/* The logic of copied rows. ACSL only; seen by Frama-C, not by compilers. */
#ifndef PHIBAL_ACSL_GATHER_H
#define PHIBAL_ACSL_GATHER_H

#include <phibal/acsl/routing.h>

/*@ axiomatic FloatWords {
      // stands for the bits of a number: nothing is known of it, so that numbers of which it is
      // proved to be equal are the same, NaN and zeros' signs included
      logic integer float_word(float x);
    }
    // to[0 .. width-1] at B is what from[0 .. width-1] was at A
    predicate row_copied{A, B}(float *to, float *from, integer width) =
      \forall integer i; 0 <= i < width ==>
        float_word(\at(to[i], B)) == float_word(\at(from[i], A));
    // the token of slot j has a row in x, apart from the rows that are written
    predicate gather_source{L}(float *x, float *gathered, integer rows, integer active,
                               integer width, integer j) =
      0 <= j && (j / active + 1) * width <= ROUTING_MAX_SLOTS &&
      \valid_read(x + (j / active * width .. j / active * width + width - 1)) &&
      \separated(x + (j / active * width .. j / active * width + width - 1),
                 gathered + (0 .. rows * width - 1));
    // row t of x is at B what it was at A
    predicate row_kept{A, B}(float *x, integer width, integer t) =
      row_copied{A, B}(x + t * width, x + t * width, width);
    // none of token t's slots has a row
    predicate no_rows{L}(int64_t *row, integer active, integer t) =
      \forall integer s; 0 <= s < active ==> row[t * active + s] < 0;
    // row n, if it is one, is there, apart from the n_sum numbers that are written
    predicate gather_row{L}(float *gradient, float *sum, integer n_sum, integer width, integer n) =
      n < 0 || ((n + 1) * width <= ROUTING_MAX_SLOTS &&
                \valid_read(gradient + (n * width .. n * width + width - 1)) &&
                \separated(gradient + (n * width .. n * width + width - 1),
                           sum + (0 .. n_sum - 1)));
*/
#endif
