/* Order statistics of quantile balancing (L7), by their definition: each number of a row is tried,
   and for it is counted how many are less and how many are at most as large. Nothing is sorted and
   no range is halved. */
#include "operation.h"
#include <phibal/reference_quantile.h>
#include <phibal/acsl/contracts/inside/quantile_static.h>

/* Is token i no padding? */
static bool counts(const uint8_t *mask, int64_t i) {
  return !mask || mask[i] != 0;
}

static int64_t count_tokens(int64_t n, const uint8_t *mask) {
  int64_t count = 0;
  /*@ loop invariant index: 0 <= i <= n;
      loop invariant counted: count == tokens_of(mask, i) && 0 <= count <= i;
      loop assigns i, count;
      loop variant n - i; */
  for (int64_t i = 0; i < n; i++)
    if (counts(mask, i)) count++;
  return count;
}

static int64_t count_below(int64_t n, const uint8_t *mask, const float *x, float v) {
  //@ assert use_floating;
  int64_t count = 0;
  /*@ loop invariant index: 0 <= i <= n;
      loop invariant counted: count == tokens_below(mask, x, i, (real)v) && 0 <= count <= i;
      loop assigns i, count;
      loop variant n - i; */
  for (int64_t i = 0; i < n; i++)
    if (counts(mask, i) && x[i] < v) count++;
  return count;
}

static int64_t count_up_to(int64_t n, const uint8_t *mask, const float *x, float v) {
  //@ assert use_floating;
  int64_t count = 0;
  /*@ loop invariant index: 0 <= i <= n;
      loop invariant counted: count == tokens_up_to(mask, x, i, (real)v) && 0 <= count <= i;
      loop assigns i, count;
      loop variant n - i; */
  for (int64_t i = 0; i < n; i++)
    if (counts(mask, i) && x[i] <= v) count++;
  return count;
}

/* Are the tokens' numbers finite? */
static bool row_is_finite(int64_t n, const uint8_t *mask, const float *x) {
  /*@ loop invariant index: 0 <= i <= n;
      loop invariant finite: tokens_finite(mask, x, i);
      loop assigns i;
      loop variant n - i; */
  for (int64_t i = 0; i < n; i++)
    if (counts(mask, i) && !isfinite(x[i])) return false;
  return true;
}

/* Where in x[0..n-1] the quantile k/E stands, or -1 where there is none. */
static int64_t quantile_place(int32_t experts, int32_t active, int64_t n, const uint8_t *mask,
                              const float *x) {
  const int64_t tokens = count_tokens(n, mask);
  //@ assert bounded: 0 <= active * tokens <= PHIBAL_MAX_EXPERTS * n;
  /*@ loop invariant index: 0 <= i <= n;
      loop assigns i;
      loop variant n - i; */
  for (int64_t i = 0; i < n; i++) {
    if (!counts(mask, i)) continue;
    //@ assert finite: \is_finite(x[i]);
    const int64_t below = count_below(n, mask, x, x[i]), up_to = count_up_to(n, mask, x, x[i]);
    //@ assert below: 0 <= experts * below <= PHIBAL_MAX_EXPERTS * n;
    //@ assert up_to: 0 <= experts * up_to <= PHIBAL_MAX_EXPERTS * n;
    if (experts * below < active * tokens && active * tokens <= experts * up_to) return i;
  }
  return -1;
}

/* One number of each row. */
static void quantiles_take(int32_t experts, int64_t tokens, const float *required,
                           const int64_t *place, float *quantile) {
  /*@ loop invariant index: 0 <= e <= experts;
      loop invariant taken: \forall integer i; 0 <= i < e ==>
        (real)quantile[i] == (real)\at((required + i * tokens)[place[i]], Pre);
      loop assigns e, quantile[0 .. experts - 1];
      loop variant experts - e; */
  for (int32_t e = 0; e < experts; e++) {
    //@ assert first: 0 <= e * tokens <= PHIBAL_MAX_EXPERTS * tokens;
    //@ assert last: e * tokens + tokens <= experts * tokens;
    const float *row = required + e * tokens;
    //@ assert inside: 0 <= e * tokens + place[e] < experts * tokens;
    //@ assert readable: \valid_read(row + place[e]);
    //@ assert apart: \separated(row + place[e], quantile + (0 .. experts - 1));
    /*@ assert kept: \let i = e; \let p = place[e];
          row[p] == \at((required + i * tokens)[p], Pre); */
    quantile[e] = row[place[e]];
  }
}

phibal_status phibal_reference_quantile(int32_t experts, int32_t active, int64_t tokens,
                                        const uint8_t *mask, const float *required,
                                        float *quantile) {
  const char *name = "phibal_reference_quantile";
  if (!required || !quantile)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: null argument", name);
  if (active < 1 || active > experts || experts > PHIBAL_MAX_EXPERTS || tokens < 0 ||
      tokens > PHIBAL_REFERENCE_QUANTILE_TOKENS)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: %d of %d experts, %lld tokens", name,
                             (int)active, (int)experts, (long long)tokens);
  int64_t place[PHIBAL_MAX_EXPERTS];
  /*@ loop invariant index: 0 <= e <= experts;
      loop invariant places: \forall integer i; 0 <= i < e ==> 0 <= place[i] < tokens;
      loop invariant found: \forall integer i; 0 <= i < e ==>
        quantile_is{Pre}(mask, required + i * tokens, tokens, active, experts,
                         (real)\at((required + i * tokens)[\at(place[i], LoopCurrent)], Pre));
      loop assigns e, place[0 .. experts - 1];
      loop variant experts - e; */
  for (int32_t e = 0; e < experts; e++) {
    //@ assert first: 0 <= e * tokens <= PHIBAL_MAX_EXPERTS * tokens;
    //@ assert last: e * tokens + tokens <= experts * tokens;
    const float *row = required + e * tokens;
    //@ assert row_valid: \valid_read(row + (0 .. tokens - 1));
    if (!row_is_finite(tokens, mask, row))
      return phibal_status_set(PHIBAL_ERROR_NONFINITE,
                               "%s: a required bias of expert %d is not a finite number", name,
                               (int)e);
    place[e] = quantile_place(experts, active, tokens, mask, row);
    if (place[e] < 0) return phibal_status_set(PHIBAL_ERROR_DOMAIN, "%s: no token", name);
  }
  quantiles_take(experts, tokens, required, place, quantile);
  return PHIBAL_OK;
}
