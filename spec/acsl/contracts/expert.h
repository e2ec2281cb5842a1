/* What <phibal/expert.h> promises. */
#ifndef PHIBAL_ACSL_CONTRACTS_EXPERT_H
#define PHIBAL_ACSL_CONTRACTS_EXPERT_H

#ifdef __FRAMAC__
#include <phibal/acsl/gather.h>
#include <phibal/acsl/routing.h>
#endif

/*@ requires tokens >= 0 && active >= 1 ==> tokens * active <= ROUTING_MAX_SLOTS;
    requires experts_count < INT32_MAX;
    requires offsets != \null ==> \valid(offsets + (0 .. experts_count));
    requires experts != \null ==> \valid_read(experts + (0 .. tokens * active - 1));
    requires source != \null ==> \valid(source + (0 .. tokens * active - 1));
    requires row != \null ==> \valid(row + (0 .. tokens * active - 1));
    requires \separated(offsets + (0 .. experts_count), source + (0 .. tokens * active - 1),
                        row + (0 .. tokens * active - 1));
    terminates \true;
    exits \false;
    assigns offsets[0 .. experts_count], source[0 .. tokens * active - 1],
            row[0 .. tokens * active - 1];
    ensures \result == PHIBAL_OK || \result == PHIBAL_ERROR_ARGUMENT;
    ensures \result == PHIBAL_OK <==>
      tokens >= 0 && active >= 1 && experts_count >= 1 && offsets != \null &&
      (tokens > 0 ==> experts != \null && source != \null && row != \null) &&
      routes(experts, experts_count, tokens * active);
    ensures \result == PHIBAL_OK ==>
      permutation(experts, experts_count, tokens * active, offsets, source, row); */
phibal_status phibal_permutation(int64_t tokens, int32_t active, int32_t experts_count,
                                 const int32_t *experts, int64_t *offsets, int64_t *source,
                                 int64_t *row);

/*@ requires rows >= 0 && active >= 1 && width >= 1 ==> rows * width <= ROUTING_MAX_SLOTS;
    requires source != \null ==> \valid_read(source + (0 .. rows - 1));
    requires gathered != \null ==> \valid(gathered + (0 .. rows * width - 1));
    requires active >= 1 && width >= 1 && source != \null && x != \null && gathered != \null ==>
      \forall integer n; 0 <= n < rows ==>
        gather_source(x, gathered, rows, active, width, source[n]);
    terminates \true;
    exits \false;
    assigns gathered[0 .. rows * width - 1];
    ensures \result == PHIBAL_OK || \result == PHIBAL_ERROR_ARGUMENT;
    ensures \result == PHIBAL_OK <==> rows >= 0 && active >= 1 && width >= 1 &&
      (rows > 0 ==> source != \null && x != \null && gathered != \null);
    ensures copied: \result == PHIBAL_OK ==> \forall integer n; 0 <= n < rows ==>
      row_copied{Pre, Here}(gathered + n * width, x + source[n] / active * width, width); */
phibal_status phibal_gather(int64_t rows, int32_t active, int64_t width, const int64_t *source,
                            const float *x, float *gathered);

/*@ requires tokens >= 0 && active >= 1 && width >= 1 ==>
      tokens * width <= ROUTING_MAX_SLOTS && tokens * active <= ROUTING_MAX_SLOTS;
    requires row != \null ==> \valid_read(row + (0 .. tokens * active - 1));
    requires x_gradient != \null ==> \valid(x_gradient + (0 .. tokens * width - 1));
    requires active >= 1 && width >= 1 && row != \null && gathered_gradient != \null &&
             x_gradient != \null ==>
      \forall integer j; 0 <= j < tokens * active ==>
        gather_row(gathered_gradient, x_gradient, tokens * width, width, row[j]);
    terminates \true;
    exits \false;
    assigns x_gradient[0 .. tokens * width - 1];
    ensures \result == PHIBAL_OK || \result == PHIBAL_ERROR_ARGUMENT;
    ensures \result == PHIBAL_OK <==> tokens >= 0 && active >= 1 && width >= 1 &&
      (tokens > 0 ==> row != \null && gathered_gradient != \null && x_gradient != \null);
    ensures padding: \result == PHIBAL_OK ==> \forall integer t;
      0 <= t < tokens && no_rows(row, active, t) ==> row_kept{Pre, Here}(x_gradient, width, t); */
phibal_status phibal_gather_backward(int64_t tokens, int32_t active, int64_t width,
                                     const int64_t *row, const float *gathered_gradient,
                                     float *x_gradient);

#endif
