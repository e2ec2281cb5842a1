(* The potentials (P1) to (P9) of the specification: .v value, .g gradient, .h second derivative,
   .c conjugate, .d the conjugate's gradient. One definition per function, of all reals; where a
   function is infinite or not defined it has some value here that means nothing, and the domain
   beside it says where that is. *)
From Coq Require Import Reals.
From Coquelicot Require Import Coquelicot.
From Phibal Require Import Vector.
Open Scope R_scope.

(* x^a for x >= 0, with 0^a = 0 for a > 0 and 0^0 = 1. (For a < 0 it is infinite at 0: see
   pow_real_unbounded.) *)
Definition pow_real (x a : R) : R :=
  if Rlt_dec 0 x then exp (a * ln x) else if Rlt_dec 0 a then 0 else 1.

(* x log x with 0 log 0 = 0. *)
Definition x_log_x (x : R) : R := if Rlt_dec 0 x then x * ln x else 0.

(* -1, 0 or 1. *)
Definition sgn (x : R) : R := if Rlt_dec 0 x then 1 else if Rlt_dec x 0 then -1 else 0.

(* The domains of the scalar potentials and conjugates. *)
Definition nonneg (x : R) : Prop := 0 <= x.
Definition positive (x : R) : Prop := 0 < x.
Definition unit_closed (y : R) : Prop := -1 <= y <= 1.
Definition unit_open (y : R) : Prop := -1 < y < 1.
Definition zero_one_closed (y : R) : Prop := 0 <= y <= 1.
Definition zero_one_open (y : R) : Prop := 0 < y < 1.

(* (P1) euclid. *)
Definition euclid_v (x : R) : R := x ^ 2 / 2.
Definition euclid_g (x : R) : R := x.
Definition euclid_h (x : R) : R := 1.
Definition euclid_c (y : R) : R := y ^ 2 / 2.
Definition euclid_d (y : R) : R := y.

(* (P2) lp, p > 1. *)
Definition lp_v (p x : R) : R := pow_real (Rabs x) p / p.
Definition lp_g (p x : R) : R := sgn x * pow_real (Rabs x) (p - 1).
Definition lp_h (p x : R) : R := (p - 1) * pow_real (Rabs x) (p - 2).
Definition lp_c (p y : R) : R := pow_real (Rabs y) (p / (p - 1)) * (p - 1) / p.
Definition lp_d (p y : R) : R := sgn y * pow_real (Rabs y) (1 / (p - 1)).

(* (P3) soft-l1, delta > 0; the conjugate is finite for |y| < 1. *)
Definition soft_l1_v (delta x : R) : R := Rabs x - delta * ln (Rabs x / delta + 1).
Definition soft_l1_g (delta x : R) : R := x / (Rabs x + delta).
Definition soft_l1_h (delta x : R) : R := delta / (Rabs x + delta) ^ 2.
Definition soft_l1_c (delta y : R) : R := - delta * (Rabs y + ln (1 - Rabs y)).
Definition soft_l1_d (delta y : R) : R := delta * y / (1 - Rabs y).

(* (P4) negentropy, x >= 0. *)
Definition negentropy_v (x : R) : R := x_log_x x.
Definition negentropy_g (x : R) : R := ln x + 1.
Definition negentropy_h (x : R) : R := 1 / x.
Definition negentropy_c (y : R) : R := exp (y - 1).
Definition negentropy_d (y : R) : R := exp (y - 1).

(* (P5) tsallis, x >= 0, a > 0, a <> 1. The base is cut off at 0 by pow_real. *)
Definition tsallis_base (a y : R) : R := (1 + (a - 1) * y) / a.
Definition tsallis_v (a x : R) : R := (pow_real x a - x) / (a - 1).
Definition tsallis_g (a x : R) : R := (a * pow_real x (a - 1) - 1) / (a - 1).
Definition tsallis_h (a x : R) : R := a * pow_real x (a - 2).
Definition tsallis_c (a y : R) : R := pow_real (tsallis_base a y) (a / (a - 1)).
Definition tsallis_d (a y : R) : R := pow_real (tsallis_base a y) (1 / (a - 1)).
Definition tsallis_dual (a y : R) : Prop := 1 < a \/ 0 < tsallis_base a y.
Definition tsallis_dual_open (a y : R) : Prop := 0 < tsallis_base a y.

(* (P6) renyi of E experts, x >= 0, x <> 0, 0 < a < 1. *)
Definition renyi_sum (E : nat) (a : R) (x : vec) : R := Rsum E (fun e => pow_real (x e) a).
Definition renyi_exponent (a : R) : R := a / (1 - a).
Definition renyi_dual_sum (E : nat) (a : R) (y : vec) : R :=
  Rsum E (fun e => pow_real (- y e) (- renyi_exponent a)).
Definition renyi_v (E : nat) (a : R) (x : vec) : R := ln (renyi_sum E a x) / (a - 1).
Definition renyi_g (E : nat) (a : R) (x : vec) : vec :=
  fun e => a * pow_real (x e) (a - 1) / ((a - 1) * renyi_sum E a x).
Definition renyi_h (E : nat) (a : R) (x : vec) (e j : nat) : R :=
  (if Nat.eq_dec e j then a / renyi_sum E a x * pow_real (x e) (a - 2) else 0)
  + a ^ 2 / ((1 - a) * renyi_sum E a x ^ 2) * (pow_real (x e) (a - 1) * pow_real (x j) (a - 1)).
Definition renyi_c (E : nat) (a : R) (y : vec) : R :=
  renyi_exponent a * (ln (renyi_exponent a) - 1) + ln (renyi_dual_sum E a y).
Definition renyi_d (E : nat) (a : R) (y : vec) : vec :=
  fun e => renyi_exponent a * pow_real (- y e) (- renyi_exponent a - 1) / renyi_dual_sum E a y.
Definition renyi_domain (E : nat) (a : R) (x : vec) : Prop :=
  vall E nonneg x /\ 0 < renyi_sum E a x.
Definition renyi_interior (E : nat) (x : vec) : Prop := vall E positive x.
Definition renyi_dual (E : nat) (y : vec) : Prop := vall E (fun s => s < 0) y.

(* (P7) pseudo-huber, delta > 0; the conjugate is finite for |y| <= 1. *)
Definition pseudo_huber_v (delta x : R) : R := sqrt (x ^ 2 + delta ^ 2) - delta.
Definition pseudo_huber_g (delta x : R) : R := x / sqrt (x ^ 2 + delta ^ 2).
Definition pseudo_huber_h (delta x : R) : R :=
  delta ^ 2 / ((x ^ 2 + delta ^ 2) * sqrt (x ^ 2 + delta ^ 2)).
Definition pseudo_huber_c (delta y : R) : R := delta - delta * sqrt (1 - y ^ 2).
Definition pseudo_huber_d (delta y : R) : R := delta * y / sqrt (1 - y ^ 2).

(* (P8) log-cosh, beta > 0; the conjugate is finite for |y| <= 1. *)
Definition log_cosh_v (beta x : R) : R := ln (cosh (beta * x)) / beta.
Definition log_cosh_g (beta x : R) : R := tanh (beta * x).
Definition log_cosh_h (beta x : R) : R := beta / cosh (beta * x) ^ 2.
Definition log_cosh_c (beta y : R) : R := (x_log_x (1 + y) + x_log_x (1 - y)) / (2 * beta).
Definition log_cosh_d (beta y : R) : R := ln ((1 + y) / (1 - y)) / (2 * beta).

(* (P9) softplus; the conjugate is finite for 0 <= y <= 1. *)
Definition sigmoid (x : R) : R := 1 / (1 + exp (- x)).
Definition softplus_v (x : R) : R := ln (1 + exp x).
Definition softplus_g (x : R) : R := sigmoid x.
Definition softplus_h (x : R) : R := sigmoid x * sigmoid (- x).
Definition softplus_c (y : R) : R := x_log_x y + x_log_x (1 - y).
Definition softplus_d (y : R) : R := ln (y / (1 - y)).

(* (P2.1), (P2.inf) The limits of lp, which are not strictly convex. *)
Definition lp_one_v (x : R) : R := Rabs x.
Fixpoint lp_max_v (E : nat) (x : vec) : R :=
  match E with O => 0 | S e => Rmax (lp_max_v e x) (Rabs (x e)) end.
