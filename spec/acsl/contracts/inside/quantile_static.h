/* What the static functions of reference/quantile.c promise. */
#ifndef PHIBAL_ACSL_CONTRACTS_INSIDE_QUANTILE_STATIC_H
#define PHIBAL_ACSL_CONTRACTS_INSIDE_QUANTILE_STATIC_H

/*@ requires mask != \null ==> \valid_read(mask + i);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result <==> is_token(mask, i); */
static bool counts(const uint8_t *mask, int64_t i);

/*@ requires 0 <= n && (mask != \null ==> \valid_read(mask + (0 .. n - 1)));
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result == tokens_of(mask, n);
    ensures 0 <= \result <= n; */
static int64_t count_tokens(int64_t n, const uint8_t *mask);

/*@ requires 0 <= n && \valid_read(x + (0 .. n - 1)) && \is_finite(v);
    requires mask != \null ==> \valid_read(mask + (0 .. n - 1));
    requires tokens_finite(mask, x, n);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result == tokens_below(mask, x, n, (real)v);
    ensures 0 <= \result <= n; */
static int64_t count_below(int64_t n, const uint8_t *mask, const float *x, float v);

/*@ requires 0 <= n && \valid_read(x + (0 .. n - 1)) && \is_finite(v);
    requires mask != \null ==> \valid_read(mask + (0 .. n - 1));
    requires tokens_finite(mask, x, n);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result == tokens_up_to(mask, x, n, (real)v);
    ensures 0 <= \result <= n; */
static int64_t count_up_to(int64_t n, const uint8_t *mask, const float *x, float v);

/*@ requires 0 <= n && \valid_read(x + (0 .. n - 1));
    requires mask != \null ==> \valid_read(mask + (0 .. n - 1));
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result ==> tokens_finite(mask, x, n); */
static bool row_is_finite(int64_t n, const uint8_t *mask, const float *x);

/*@ requires 0 <= n <= PHIBAL_REFERENCE_QUANTILE_TOKENS && \valid_read(x + (0 .. n - 1));
    requires mask != \null ==> \valid_read(mask + (0 .. n - 1));
    requires 1 <= active <= experts <= PHIBAL_MAX_EXPERTS && tokens_finite(mask, x, n);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result == -1 ||
      (0 <= \result < n && quantile_is(mask, x, n, active, experts, (real)x[\result])); */
static int64_t quantile_place(int32_t experts, int32_t active, int64_t n, const uint8_t *mask,
                              const float *x);

/*@ requires 0 <= experts <= PHIBAL_MAX_EXPERTS;
    requires 0 <= tokens <= PHIBAL_REFERENCE_QUANTILE_TOKENS;
    requires \valid_read(required + (0 .. experts * tokens - 1));
    requires \valid_read(place + (0 .. experts - 1)) && \valid(quantile + (0 .. experts - 1));
    requires \forall integer i; 0 <= i < experts ==> 0 <= place[i] < tokens;
    requires \separated(required + (0 .. experts * tokens - 1), quantile + (0 .. experts - 1));
    terminates \true;
    exits \false;
    assigns quantile[0 .. experts - 1];
    ensures taken: \forall integer i; 0 <= i < experts ==>
      (real)quantile[i] == (real)\old((required + i * tokens)[place[i]]); */
static void quantiles_take(int32_t experts, int64_t tokens, const float *required,
                           const int64_t *place, float *quantile);

#endif
