/* By induction: a row of Renyi's Hessian times a vector is the diagonal's part and the ray's. And
   that a matrix has room for its cells.
   ACSL only. */
#ifndef PHIBAL_ACSL_RENYI_ROWS_H
#define PHIBAL_ACSL_RENYI_ROWS_H

#include <phibal/acsl/renyi_steps.h>

/*@ ghost
  /@ requires 0 <= e < n <= 0xffffffff;
     terminates \true;
     exits \false;
     assigns \nothing;
     ensures 0 <= e * n && e * n + n <= n * n && n * n <= 0xffffffffffffffff; @/
  void renyi_row_inside(size_t n, size_t e) {
    /@ assert use_rows; @/
  }
  /@ terminates \true;
     exits \false;
     assigns \nothing;
     ensures row_cells(n, e); @/
  void renyi_row_cells(size_t n, size_t e) {
    /@ assert use_cells; @/
    /@ assert cell(n, e, 0) == e * n; @/
  }
  /@ terminates \true;
     exits \false;
     assigns \nothing;
     ensures cells_inside(n); @/
  void renyi_cells_inside(size_t n) {
    /@ assert use_cells; @/
  }
  /@ requires 0 <= e < n;
     terminates \true;
     exits \false;
     assigns \nothing;
     ensures row_split(n, e, n); @/
  void renyi_row_split(size_t n, size_t e) {
    /@ assert use_renyi_hessian && open_times; @/
    size_t m = 0;
    /@ loop invariant 0 <= m <= n;
       loop invariant row_split(n, e, m);
       loop assigns m;
       loop variant n - m; @/
    while (m < n) {
      /@ assert unfold: \forall real a, sequence x, v;
           renyi_row(a, x, v, n, e, m + 1) == renyi_row(a, x, v, n, e, m) +
             times(renyi_hessian(a, x, n, e, m), term(v, m)) &&
           renyi_ray_dot(a, x, v, n, m + 1) == renyi_ray_dot(a, x, v, n, m) +
             times(renyi_ray(a, term(x, m), renyi_sum(a, x, n)), term(v, m)); @/
      /@ assert on: \forall real a, sequence x, v; e == m ==>
           renyi_hessian(a, x, n, e, m) * term(v, m) ==
             renyi_diagonal_of(a, term(x, e), renyi_sum(a, x, n)) * term(v, e) +
             times(renyi_rank_one_of(a, term(x, e), term(x, m), renyi_sum(a, x, n)),
                   term(v, m)); @/
      /@ assert off: \forall real a, sequence x, v; e != m ==>
           renyi_hessian(a, x, n, e, m) * term(v, m) ==
             times(renyi_rank_one_of(a, term(x, e), term(x, m), renyi_sum(a, x, n)),
                   term(v, m)); @/
      /@ assert entry: \forall real a, sequence x, v;
           times(renyi_hessian(a, x, n, e, m), term(v, m)) ==
             (e == m ? renyi_diagonal_of(a, term(x, e), renyi_sum(a, x, n)) * term(v, e) : 0.0) +
             times(renyi_rank_one_of(a, term(x, e), term(x, m), renyi_sum(a, x, n)),
                   term(v, m)); @/
      /@ assert part: \forall real a, sequence x, v; renyi_valid(a) && 0.0 < renyi_sum(a, x, n) ==>
           renyi_part(a, term(x, e), renyi_sum(a, x, n), renyi_ray_dot(a, x, v, n, m + 1)) ==
             renyi_part(a, term(x, e), renyi_sum(a, x, n), renyi_ray_dot(a, x, v, n, m)) +
             times(renyi_rank_one_of(a, term(x, e), term(x, m), renyi_sum(a, x, n)),
                   term(v, m)); @/
      /@ assert next: \forall real a, sequence x, v; renyi_valid(a) && 0.0 < renyi_sum(a, x, n) ==>
           renyi_row(a, x, v, n, e, m + 1) ==
             (e < m ? renyi_diagonal_of(a, term(x, e), renyi_sum(a, x, n)) * term(v, e) : 0.0) +
             (e == m ? renyi_diagonal_of(a, term(x, e), renyi_sum(a, x, n)) * term(v, e) : 0.0) +
             renyi_part(a, term(x, e), renyi_sum(a, x, n), renyi_ray_dot(a, x, v, n, m + 1)); @/
      m++;
    }
  }
*/
#endif
