/* Copies of tokens into the order that the experts work in, and the sum back (E1b). */
#include <phibal/expert.h>
#ifdef __FRAMAC__
#include <phibal/acsl/contracts/inside/product.h>
#endif

/* Rows before row n end where it begins. */
/*@ ghost
  /@ requires 0 <= n && 0 < width;
     terminates \true;
     exits \false;
     assigns \nothing;
     ensures \forall integer m; 0 <= m < n ==> 0 <= m * width && m * width + width <= n * width; @/
  static void rows_before(int64_t n, int64_t width) {
    /@ loop invariant 0 <= m <= n;
       loop invariant \forall integer l; 0 <= l < m ==>
         0 <= l * width && l * width + width <= m * width;
       loop assigns m;
       loop variant n - m; @/
    for (int64_t m = 0; m < n; m++) {
      /@ assert (m + 1) * width == m * width + width; @/
    }
  }
*/

/* Rows after row n begin where it ends, or later. */
/*@ ghost
  /@ requires 0 <= n < rows && 0 < width;
     terminates \true;
     exits \false;
     assigns \nothing;
     ensures \forall integer m; n < m < rows ==> n * width + width <= m * width; @/
  static void rows_after(int64_t n, int64_t rows, int64_t width) {
    /@ loop invariant n < m <= rows;
       loop invariant \forall integer l; n < l < m ==> n * width + width <= l * width;
       loop invariant n * width + width <= m * width;
       loop assigns m;
       loop variant rows - m; @/
    for (int64_t m = n + 1; m < rows; m++) {
      /@ assert (m + 1) * width == m * width + width; @/
    }
  }
*/

/*@ requires 0 <= width && \valid_read(from + (0 .. width - 1)) && \valid(to + (0 .. width - 1));
    requires \separated(from + (0 .. width - 1), to + (0 .. width - 1));
    terminates \true;
    exits \false;
    assigns to[0 .. width - 1];
    ensures row_copied{Pre, Here}(to, from, width); */
static void row_copy(int64_t width, const float *restrict from, float *restrict to) {
  /*@ loop invariant index: 0 <= i <= width;
      loop invariant copied: row_copied{Pre, Here}(to, from, i);
      loop assigns i, to[0 .. width - 1];
      loop variant width - i; */
  for (int64_t i = 0; i < width; i++) to[i] = from[i];
}

phibal_status phibal_gather(int64_t rows, int32_t active, int64_t width, const int64_t *source,
                            const float *x, float *gathered) {
  if (rows < 0 || active < 1 || width < 1)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "gather: %lld rows of %lld numbers, %d active experts",
                             (long long)rows, (long long)width, active);
  if (rows > 0 && (!source || !x || !gathered))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "gather: an array is null");
#pragma omp parallel for schedule(static) if (rows * width > 65536)
  /*@ loop invariant index: 0 <= n <= rows;
      loop invariant copied: \forall integer m; 0 <= m < n ==>
        row_copied{Pre, Here}(gathered + m * width, x + source[m] / active * width, width);
      loop assigns n, gathered[0 .. rows * width - 1];
      loop variant rows - n; */
  for (int64_t n = 0; n < rows; n++) {
    //@ ghost product_next(n, width);
    //@ ghost product_ordered(n + 1, rows, width);
    //@ ghost rows_before(n, width);
    //@ assert route: gather_source(x, gathered, rows, active, width, source[n]);
    int64_t token = source[n] / active;
    //@ assert token: 0 <= token;
    //@ ghost product_ordered(token, token + 1, width);
    /*@ assert same: \forall integer i; token * width <= i < token * width + width ==>
          float_word(x[i]) == float_word(\at(x[i], Pre)); */
    row_copy(width, x + token * width, gathered + n * width);
    /*@ assert before: \forall integer m, i; 0 <= m < n && 0 <= i < width ==>
          float_word(gathered[m * width + i]) ==
          float_word(\at(gathered[m * width + i], LoopCurrent)); */
    /*@ assert old: \forall integer m; 0 <= m < n ==>
          row_copied{Pre, Here}(gathered + m * width, x + source[m] / active * width, width); */
    //@ assert new: row_copied{Pre, Here}(gathered + n * width, x + token * width, width);
  }
  return PHIBAL_OK;
}

/* sum += gradient. */
/*@ requires 0 <= width && \valid_read(gradient + (0 .. width - 1)) &&
             \valid(sum + (0 .. width - 1));
    requires \separated(gradient + (0 .. width - 1), sum + (0 .. width - 1));
    terminates \true;
    exits \false;
    assigns sum[0 .. width - 1]; */
static void row_add(int64_t width, const float *restrict gradient, float *restrict sum) {
  /*@ loop invariant index: 0 <= i <= width;
      loop assigns i, sum[0 .. width - 1];
      loop variant width - i; */
  for (int64_t i = 0; i < width; i++) sum[i] += gradient[i];
}

/* Token t: its slots are row[t k] .. row[t k + k - 1]; sum [d]. */
/*@ requires 0 <= t && 1 <= active && 1 <= width && (t + 1) * active <= ROUTING_MAX_SLOTS;
    requires \valid_read(row + (t * active .. t * active + active - 1));
    requires \valid(sum + (0 .. width - 1));
    requires \forall integer s; 0 <= s < active ==>
      gather_row(gathered_gradient, sum, width, width, row[t * active + s]);
    terminates \true;
    exits \false;
    assigns sum[0 .. width - 1];
    ensures none: no_rows{Pre}(row, active, t) ==> row_copied{Pre, Here}(sum, sum, width); */
static void token_add(int64_t t, int32_t active, int64_t width, const int64_t *row,
                      const float *gathered_gradient, float *sum) {
  //@ ghost product_next(t, active);
  /*@ loop invariant index: 0 <= s <= active;
      loop invariant none: no_rows{Pre}(row, active, t) ==>
        row_copied{Pre, Here}(sum, sum, width);
      loop assigns s, sum[0 .. width - 1];
      loop variant active - s; */
  for (int32_t s = 0; s < active; s++) {
    //@ assert route: gather_row(gathered_gradient, sum, width, width, row[t * active + s]);
    //@ assert none: no_rows{Pre}(row, active, t) ==> row[t * active + s] < 0;
    int64_t n = row[t * active + s];
    if (n < 0) continue;
    //@ ghost product_next(n, width);
    row_add(width, gathered_gradient + n * width, sum);
  }
}

phibal_status phibal_gather_backward(int64_t tokens, int32_t active, int64_t width,
                                     const int64_t *row, const float *gathered_gradient,
                                     float *x_gradient) {
  if (tokens < 0 || active < 1 || width < 1)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "gather backward: %lld tokens of %lld numbers, %d active experts",
                             (long long)tokens, (long long)width, active);
  if (tokens > 0 && (!row || !gathered_gradient || !x_gradient))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "gather backward: an array is null");
#pragma omp parallel for schedule(static) if (tokens * active * width > 65536)
  /*@ loop invariant index: 0 <= t <= tokens;
      loop invariant none: \forall integer u; 0 <= u < t && no_rows(row, active, u) ==>
        row_kept{Pre, Here}(x_gradient, width, u);
      loop invariant rest: \forall integer u; t <= u < tokens ==>
        row_kept{Pre, Here}(x_gradient, width, u);
      loop assigns t, x_gradient[0 .. tokens * width - 1];
      loop variant tokens - t; */
  for (int64_t t = 0; t < tokens; t++) {
    //@ ghost product_next(t, width);
    //@ ghost product_ordered(t + 1, tokens, width);
    //@ ghost product_next(t, active);
    //@ ghost product_ordered(t + 1, tokens, active);
    //@ ghost rows_before(t, width);
    //@ ghost rows_after(t, tokens, width);
    /*@ assert routes: \forall integer s; 0 <= s < active ==>
          gather_row(gathered_gradient, x_gradient, tokens * width, width, row[t * active + s]); */
    token_add(t, active, width, row, gathered_gradient, x_gradient + t * width);
    /*@ assert apart: \forall integer u; 0 <= u < tokens && u != t ==>
          row_kept{LoopCurrent, Here}(x_gradient, width, u); */
    /*@ assert written: no_rows(row, active, t) ==>
          row_copied{LoopCurrent, Here}(x_gradient + t * width, x_gradient + t * width, width); */
    //@ assert own: no_rows(row, active, t) ==> row_kept{LoopCurrent, Here}(x_gradient, width, t);
    /*@ assert kept: \forall integer u; row_kept{Pre, LoopCurrent}(x_gradient, width, u) &&
          row_kept{LoopCurrent, Here}(x_gradient, width, u) ==>
            row_kept{Pre, Here}(x_gradient, width, u); */
  }
  return PHIBAL_OK;
}
