(* Rules for the formulas that reference/potentials computes with, and the shapes of the graphs
  there, in
   terms of Potentials.v: <potential>_<function>_<shape>. *)
From Coq Require Import Reals ZArith Lra Lia.
From Coquelicot Require Import Coquelicot.
From Phibal Require Import Legendre Even Vector Potentials Power Instances Mirror Uniform Renyi
  Conjugates Catalogue Derivatives.
Open Scope R_scope.

(* ---------- elementary functions increase ---------- *)
Theorem exp_mono : forall a b : R, a <= b -> exp a <= exp b.
Proof. intros a b [H | ->]; [left; now apply exp_increasing | lra]. Qed.
Theorem ln_mono : forall a b : R, 0 < a -> a <= b -> ln a <= ln b.
Proof. intros a b Ha H. now apply ln_le. Qed.
Theorem expm1_mono : forall a b : R, a <= b -> exp a - 1 <= exp b - 1.
Proof. intros a b H. generalize (exp_mono a b H). lra. Qed.
Theorem log1p_mono : forall a b : R, -1 < a -> a <= b -> ln (1 + a) <= ln (1 + b).
Proof. intros a b Ha H. apply ln_mono; lra. Qed.
Theorem sqrt_mono : forall a b : R, a <= b -> sqrt a <= sqrt b.
Proof. intros. now apply sqrt_le_1_alt. Qed.
Theorem tanh_exp : forall t : R, tanh t = (exp (2 * t) - 1) / (exp (2 * t) + 1).
Proof.
intros t. unfold tanh, sinh, cosh. replace (2 * t) with (t + t) by ring. rewrite exp_plus, exp_Ropp.
generalize (exp_pos t); intros. field. repeat split; try lra; nra.
Qed.
Theorem tanh_one_minus : forall t : R, tanh t = 1 - 2 / (exp (2 * t) + 1).
Proof. intros t. rewrite tanh_exp. generalize (exp_pos (2 * t)); intros. field. lra. Qed.
Theorem tanh_mono : forall a b : R, a <= b -> tanh a <= tanh b.
Proof.
intros a b H. rewrite !tanh_one_minus. assert (K := exp_mono (2 * a) (2 * b) ltac:(lra)).
assert (P := exp_pos (2 * a)). assert (/ (exp (2 * b) + 1) <= / (exp (2 * a) + 1)); [ | lra].
apply Rinv_le_contravar; lra.
Qed.
Theorem tanh_bounds : forall t : R, -1 < tanh t < 1.
Proof.
intros t. rewrite tanh_one_minus. assert (P := exp_pos (2 * t)).
assert (0 < / (exp (2 * t) + 1)) by (apply Rinv_0_lt_compat; lra).
assert (/ (exp (2 * t) + 1) < / 1) by (apply Rinv_lt_contravar; lra). lra.
Qed.

(* ---------- powers ---------- *)
(* In the base, on all reals: increasing for exponents >= 0, decreasing on x > 0 for exponents <= 0.
  *)
Theorem pow_base_mono : forall b x z : R, 0 <= b -> x <= z -> pow_real x b <= pow_real z b.
Proof.
intros b x z Hb H. destruct Hb as [Hb | <-]; [ | rewrite !pow_real_exponent_0; lra].
destruct (Rle_dec x 0) as [Hx | Hx]; [rewrite (pow_real_0 x) by lra; apply pow_real_ge0 | ].
destruct H as [H | ->]; [left; apply pow_real_incr; lra | lra].
Qed.
Theorem pow_base_anti : forall b x z : R, b <= 0 -> 0 < x -> x <= z -> pow_real z b <= pow_real x b.
Proof.
intros b x z Hb Hx H. destruct Hb as [Hb | ->]; [ | rewrite !pow_real_exponent_0; lra].
destruct H as [H | ->]; [left; apply pow_real_decr; lra | lra].
Qed.
(* In the exponent: increasing for bases >= 1, decreasing for bases in (0, 1]. *)
Theorem pow_exponent_mono : forall x a b : R, 1 <= x -> a <= b -> pow_real x a <= pow_real x b.
Proof.
intros x a b Hx H. rewrite !pow_real_pos by lra. apply exp_mono.
assert (0 <= ln x) by (rewrite <- ln_1; apply ln_mono; lra). nra.
Qed.
Theorem pow_exponent_anti : forall x a b : R, 0 < x -> x <= 1 -> a <= b ->
  pow_real x b <= pow_real x a.
Proof.
intros x a b Hx H1 H. rewrite !pow_real_pos by lra. apply exp_mono.
assert (ln x <= 0) by (rewrite <- ln_1; apply ln_mono; lra). nra.
Qed.

(* ---------- s - log(1 + s) (soft_l1.c) ---------- *)
Definition remainder (s : R) : R := s - ln (1 + s).
Lemma remainder_derive s : -1 < s -> is_derive remainder s (s / (1 + s)).
Proof. intros H. unfold remainder. auto_derive; [lra | field; lra]. Qed.
Lemma remainder_mvt a b : -1 < a < b -> exists c, a < c < b /\ remainder b - remainder a = c / (1 +
  c) * (b - a).
Proof.
intros H. destruct (MVT_cor2 remainder (fun s => s / (1 + s)) a b) as [c [Hc1 Hc2]];
  [lra | | eauto].
intros c Hc. apply is_derive_Reals, remainder_derive. lra.
Qed.
Theorem remainder_increasing : forall a b : R, 0 <= a -> a <= b -> a - ln (1 + a) <= b - ln (1 + b).
Proof.
intros a b Ha [H | ->]; [ | lra]. destruct (remainder_mvt a b) as [c [Hc E]]; [lra | ].
  unfold remainder in E.
assert (0 <= c / (1 + c)) by (apply Rmult_le_pos; [lra | left; apply Rinv_0_lt_compat; lra]). nra.
Qed.
Theorem remainder_decreasing : forall a b : R, -1 < a -> a <= b -> b <= 0 ->
  b - ln (1 + b) <= a - ln (1 + a).
Proof.
intros a b Ha [H | ->] Hb; [ | lra]. destruct (remainder_mvt a b) as [c [Hc E]]; [lra | ].
  unfold remainder in E.
assert (0 <= - c / (1 + c)) by (apply Rmult_le_pos; [lra | left; apply Rinv_0_lt_compat; lra]).
replace (c / (1 + c)) with (- (- c / (1 + c))) in E by (field; lra). nra.
Qed.
Theorem remainder_nonneg : forall s : R, -1 < s -> 0 <= s - ln (1 + s).
Proof. intros s H. generalize (ln_le_tangent (1 + s) 1 ltac:(lra) ltac:(lra)). rewrite ln_1. lra.
  Qed.
(* Its third-order remainder: k(s) = s - log(1+s) - s^2/2 derives to -s^2/(1+s), which lies between
   -2 s^2 and 0 for s > -1/2. *)
Theorem remainder_small : forall s : R, Rabs s < 1 / 2 -> Rabs ((s - ln (1 + s)) - s ^ 2 / 2) <=
  Rabs s ^ 3.
Proof.
intros s Hs. apply Rabs_def2 in Hs.
set (k := fun s => s - ln (1 + s) - s ^ 2 / 2).
assert (K : forall a b, -1 / 2 < a < b -> b < 1 / 2 -> exists c, a < c < b /\
  k b - k a = - c ^ 2 / (1 + c) * (b - a)).
{ intros a b Ha Hb. destruct (MVT_cor2 k (fun s => - s ^ 2 / (1 + s)) a b) as [c [Hc1 Hc2]];
  [lra | | eauto].
  intros c Hc. apply is_derive_Reals. unfold k. auto_derive; [lra | field; lra]. }
assert (K0 : k 0 = 0) by (unfold k; replace (1 + 0) with 1 by ring; rewrite ln_1; field).
fold (k s). destruct (Rtotal_order s 0) as [H | [H | H]].
- destruct (K s 0) as [c [Hc E]]; [lra | lra | ]. rewrite K0 in E.
  assert (I1 : 0 < / (1 + c)) by (apply Rinv_0_lt_compat; lra).
  assert (I2 : / (1 + c) < / (1 / 2)) by (apply Rinv_lt_contravar; lra).
  assert (E2 : k s = c ^ 2 * (/ (1 + c) * (- s))) by (unfold Rdiv in E; lra).
  assert (c ^ 2 <= s ^ 2) by nra. replace (/ (1 / 2)) with 2 in I2 by lra.
  rewrite (Rabs_left s) by auto.
  (* the mean value bound 2 |s|^3 is too weak by a factor: take the sharper integrand *)
  assert (M : k s <= - (2 / 3) * s ^ 3).
  { set (j := fun s => k s + 2 / 3 * s ^ 3).
    destruct (MVT_cor2 j (fun s => - s ^ 2 / (1 + s) + 2 * s ^ 2) s 0) as [d [Hd1 Hd2]]; [lra | | ].
    - intros d Hd. apply is_derive_Reals. unfold j, k. auto_derive; [lra | field; lra].
    - assert (J0 : j 0 = 0) by (unfold j; rewrite K0; ring). rewrite J0 in Hd1.
      assert (D1 : / (1 + d) < / (1 / 2)) by (apply Rinv_lt_contravar; lra).
      replace (/ (1 / 2)) with 2 in D1 by lra.
      assert (0 <= - d ^ 2 / (1 + d) + 2 * d ^ 2).
      { replace (- d ^ 2 / (1 + d) + 2 * d ^ 2) with (d ^ 2 * (2 - / (1 + d))) by (field; lra).
        apply Rmult_le_pos; [apply pow2_ge_0 | lra]. }
      unfold j in Hd1. nra. }
  assert (0 <= k s) by (rewrite E2; apply Rmult_le_pos; [apply pow2_ge_0 | nra]).
  rewrite Rabs_pos_eq by auto. assert (0 < (- s) ^ 3) by (apply pow_lt; lra). nra.
- rewrite H, K0, !Rabs_R0. lra.
- destruct (K 0 s) as [c [Hc E]]; [lra | lra | ]. rewrite K0, !Rminus_0_r in E.
  assert (I1 : 0 < / (1 + c)) by (apply Rinv_0_lt_compat; lra).
  assert (I2 : / (1 + c) < / 1) by (apply Rinv_lt_contravar; lra). rewrite Rinv_1 in I2.
  assert (c ^ 2 <= s ^ 2) by nra. assert (0 <= c ^ 2) by apply pow2_ge_0.
  assert (E2 : k s = - (c ^ 2 * / (1 + c) * s)) by (rewrite E; unfold Rdiv; ring).
  assert (0 <= c ^ 2 * / (1 + c) <= s ^ 2) by (split; [nra | nra]).
  rewrite E2, Rabs_Ropp, (Rabs_pos_eq s), Rabs_pos_eq by nra.
  replace (s ^ 3) with (s ^ 2 * s) by ring. apply Rmult_le_compat_r; lra.
Qed.
(* soft-l1's value and conjugate by it. *)
Theorem soft_l1_v_remainder : forall d x : R, 0 < d ->
  soft_l1_v d x = d * (Rabs x / d - ln (1 + Rabs x / d)).
Proof. intros d x Hd. unfold soft_l1_v. rewrite (Rplus_comm _ 1). field. lra. Qed.
Theorem soft_l1_c_remainder : forall d y : R, soft_l1_c d y = d * (- Rabs y - ln (1 + - Rabs y)).
Proof. intros d y. unfold soft_l1_c. replace (1 + - Rabs y) with (1 - Rabs y) by ring. ring. Qed.

(* ---------- log cosh (log_cosh.c) ---------- *)
Theorem ln_cosh_near : forall t : R, ln (cosh t) = ln (1 + (exp t - 1) ^ 2 / (2 * exp t)).
Proof.
intros t. f_equal. unfold cosh. rewrite exp_Ropp. generalize (exp_pos t); intros. field. lra.
Qed.
Theorem ln_cosh_far : forall t : R, ln (cosh t) = t - ln 2 + ln (1 + exp (- (2 * t))).
Proof. intros t. apply ln_cosh_form. Qed.
Theorem cosh_inverse_square : forall t : R,
  1 / cosh t ^ 2 = 4 * exp (- (2 * Rabs t)) / (1 + exp (- (2 * Rabs t))) ^ 2.
Proof.
assert (P : forall t, 1 / cosh t ^ 2 = 4 * exp (- (2 * t)) / (1 + exp (- (2 * t))) ^ 2).
{ intros t. unfold cosh. replace (- (2 * t)) with (- t + - t) by ring. rewrite exp_plus, exp_Ropp.
  generalize (exp_pos t); intros. field; repeat split; nra. }
intros t. destruct (Rle_dec 0 t) as [H | H].
- rewrite Rabs_pos_eq by auto. apply P.
- rewrite Rabs_left by lra. rewrite <- (P (- t)). now rewrite cosh_even.
Qed.
Theorem log_cosh_v_abs : forall b x : R, 0 < b -> log_cosh_v b x = ln (cosh (Rabs x * b)) / b.
Proof.
intros b x Hb. unfold log_cosh_v. do 2 f_equal. destruct (Rle_dec 0 x) as [H | H].
- rewrite Rabs_pos_eq by auto. f_equal; ring.
- rewrite Rabs_left by lra. rewrite <- (cosh_even (b * x)). f_equal; ring.
Qed.
Theorem log_cosh_h_abs : forall b x : R, 0 < b ->
  log_cosh_h b x = 4 * (b * exp (- (2 * (Rabs x * b)))) / (1 + exp (- (2 * (Rabs x * b)))) ^ 2.
Proof.
intros b x Hb. unfold log_cosh_h.
replace (Rabs x * b) with (Rabs (b * x)) by (rewrite Rabs_mult, (Rabs_pos_eq b); lra).
transitivity (b * (1 / cosh (b * x) ^ 2)); [unfold Rdiv; ring | ].
rewrite cosh_inverse_square. unfold Rdiv; ring.
Qed.
Theorem entropy_near_zero : forall y : R, -1 < y < 1 ->
  (1 + y) * ln (1 + y) + (1 - y) * ln (1 - y) = ln (1 - y ^ 2) + y * (ln (1 + y) - ln (1 - y)).
Proof.
intros y H. replace (1 - y ^ 2) with ((1 + y) * (1 - y)) by ring. rewrite ln_mult by lra. ring.
Qed.
Theorem twice_artanh : forall y : R, -1 < y < 1 -> ln ((1 + y) / (1 - y)) = ln (1 + y) - ln (1 + -
  y).
Proof. intros y H. rewrite ln_div by lra. reflexivity. Qed.

(* ---------- softplus (softplus.c) ---------- *)
Theorem softplus_split : forall x : R, ln (1 + exp x) = Rmax x 0 + ln (1 + exp (- Rabs x)).
Proof.
intros x. destruct (Rle_dec 0 x) as [H | H].
- rewrite Rmax_left, Rabs_pos_eq by lra. generalize (exp_pos x) (exp_pos (- x)); intros.
  rewrite <- (ln_exp x) at 2. rewrite <- ln_mult by lra. f_equal.
  rewrite Rmult_plus_distr_l, <- exp_plus, Rplus_opp_r, exp_0. ring.
- rewrite Rmax_right, Rabs_left, Ropp_involutive by lra. ring.
Qed.
Theorem sigmoid_nonneg : forall x : R, 0 <= x -> sigmoid x = 1 / (1 + exp (- Rabs x)).
Proof. intros x H. unfold sigmoid. now rewrite Rabs_pos_eq. Qed.
Theorem sigmoid_neg : forall x : R, x < 0 -> sigmoid x = exp (- Rabs x) / (1 + exp (- Rabs x)).
Proof.
intros x H. unfold sigmoid. rewrite Rabs_left, Ropp_involutive, exp_Ropp by auto.
generalize (exp_pos x); intros. field. lra.
Qed.
Theorem sigmoid_opp : forall x : R, sigmoid (- x) = 1 - sigmoid x.
Proof.
intros x. unfold sigmoid. rewrite Ropp_involutive, exp_Ropp. generalize (exp_pos x); intros. field.
  lra.
Qed.
Theorem softplus_h_abs : forall x : R, softplus_h x = exp (- Rabs x) / (1 + exp (- Rabs x)) ^ 2.
Proof.
intros x. unfold softplus_h. destruct (Rle_dec 0 x) as [H | H].
- rewrite sigmoid_nonneg by auto. unfold sigmoid. rewrite Ropp_involutive, Rabs_pos_eq,
  exp_Ropp by auto.
  generalize (exp_pos x); intros. field. lra.
- rewrite sigmoid_neg by lra. unfold sigmoid. rewrite Ropp_involutive, Rabs_left,
  !Ropp_involutive by lra.
  generalize (exp_pos x); intros. field. lra.
Qed.
Theorem logit_near_half : forall y : R, 0 < y < 1 -> ln (y / (1 - y)) = ln (1 + (2 * y - 1) / (1 -
  y)).
Proof. intros y H. f_equal. field. lra. Qed.
Theorem logit_split : forall y : R, 0 < y < 1 -> ln (y / (1 - y)) = ln y - ln (1 + - y).
Proof. intros y H. rewrite ln_div by lra. reflexivity. Qed.

(* ---------- tsallis (tsallis.c): b = a - 1, E(x) = (x^b - 1)/b ---------- *)
Theorem pow_exp_ln : forall x b : R, 0 < x -> pow_real x b = exp (ln x * b).
Proof. intros x b H. rewrite pow_real_pos by auto. unfold Rpower. now rewrite Rmult_comm. Qed.
Theorem tsallis_v_deformed : forall a x : R, a <> 1 -> 0 < x ->
  tsallis_v a x = x * ((pow_real x (a - 1) - 1) / (a - 1)).
Proof.
intros a x Ha Hx. unfold tsallis_v.
replace (pow_real x a) with (x * pow_real x (a - 1)).
- field. lra.
- rewrite <- (pow_real_1 x) at 1 by lra. rewrite pow_real_add by auto. f_equal; ring.
Qed.
Theorem tsallis_g_deformed : forall a x : R, a <> 1 -> 0 < x ->
  tsallis_g a x = a * ((pow_real x (a - 1) - 1) / (a - 1)) + 1.
Proof. intros a x Ha Hx. unfold tsallis_g. field. lra. Qed.
Theorem tsallis_g_zero : forall a : R, 1 < a -> tsallis_g a 0 = -1 / (a - 1).
Proof. intros a Ha. unfold tsallis_g. rewrite pow_real_0 by lra. field. lra. Qed.
Theorem tsallis_v_zero : forall a : R, 0 < a -> tsallis_v a 0 = 0.
Proof. intros a Ha. unfold tsallis_v. rewrite pow_real_0 by lra. unfold Rdiv. ring. Qed.
Theorem pow_near_one : forall s e : R, 0 < s -> pow_real s e = exp (e * ln (1 + (s - 1))).
Proof. intros s e H. rewrite pow_real_pos by auto. unfold Rpower. do 3 f_equal. ring. Qed.
Theorem tsallis_base_minus_one : forall a y : R, 0 < a -> tsallis_base a y - 1 = (y - 1) * (a - 1) /
  a.
Proof. intros a y H. unfold tsallis_base. field. lra. Qed.
(* The base may be cut off at 0 before the power is taken. *)
Theorem pow_cut_off : forall s e : R, pow_real s e = pow_real (Rmax s 0) e.
Proof.
intros s e. destruct (Rle_dec 0 s) as [H | H]; [now rewrite Rmax_left | rewrite Rmax_right by lra].
unfold pow_real. destruct (Rlt_dec 0 s), (Rlt_dec 0 0); auto; lra.
Qed.

(* ---------- pseudo-huber (pseudo_huber.c) ---------- *)
Theorem pseudo_huber_v_quotient : forall d x : R, 0 < d ->
  sqrt (x ^ 2 + d ^ 2) - d = x ^ 2 / (sqrt (x ^ 2 + d ^ 2) + d).
Proof.
intros d x Hd. assert (S := sqrt_sqrt (x ^ 2 + d ^ 2) ltac:(nra)).
  assert (P := sqrt_pos (x ^ 2 + d ^ 2)).
set (r := sqrt (x ^ 2 + d ^ 2)) in *. replace (x ^ 2) with (r * r - d ^ 2) by lra. field. lra.
Qed.
Theorem pseudo_huber_c_quotient : forall d y : R, 0 < d -> -1 <= y <= 1 ->
  d - d * sqrt (1 - y ^ 2) = y ^ 2 * d / (1 + sqrt (1 - y ^ 2)).
Proof.
intros d y Hd Hy. assert (S := sqrt_sqrt (1 - y ^ 2) ltac:(nra)).
  assert (P := sqrt_pos (1 - y ^ 2)).
set (r := sqrt (1 - y ^ 2)) in *. replace (y ^ 2) with (1 - r * r) by lra. field. lra.
Qed.
Theorem cosine_product : forall y : R, sqrt (1 - y ^ 2) = sqrt ((1 - y) * (1 + y)).
Proof. intros y. f_equal. ring. Qed.

(* ---------- lp (lp.c) ---------- *)
Theorem lp_c_quotient : forall p y : R, 1 < p ->
  lp_c p y = pow_real (Rabs y) (p / (p - 1)) / (p / (p - 1)).
Proof. intros p y Hp. unfold lp_c. field. lra. Qed.

(* ---------- renyi (renyi.c) ---------- *)
Theorem renyi_sum_excess : forall (E : nat) (a : R) (x : vec), 0 < a -> vall E nonneg x ->
  renyi_sum E a x = 1 + (Rsum E (fun e => x e * (pow_real (x e) (a - 1) - 1)) + (Rsum E x - 1)).
Proof.
intros E a x Ha Hx. replace (1 + _) with (Rsum E (fun e => x e * (pow_real (x e) (a - 1) - 1)) +
  Rsum E x) by ring.
rewrite <- Rsum_plus. apply Rsum_ext. intros i Hi. assert (N := Hx i Hi). unfold nonneg in N.
destruct N as [N | <-]; [ | rewrite pow_real_0; lra].
transitivity (pow_real (x i) 1 * pow_real (x i) (a - 1)).
- rewrite pow_real_add by auto. f_equal; ring.
- rewrite pow_real_1 by lra. ring.
Qed.
Lemma pow_real_ratio c r y : r < 0 -> y < 0 -> pow_real (r / y) c = pow_real (- r) c * pow_real (-
  y) (- c).
Proof.
intros Hr Hy. replace (r / y) with (- r / - y) by (field; lra).
assert (0 < - r / - y) by (apply Rdiv_lt_0_compat; lra).
rewrite !pow_real_pos by lra. unfold Rpower. rewrite ln_div, <- exp_plus by lra. f_equal. ring.
Qed.
Lemma renyi_ratio_sum E c r (y : vec) : r < 0 -> renyi_dual E y ->
  Rsum E (fun e => pow_real (r / y e) c) = pow_real (- r) c * Rsum E (fun e => pow_real (- y e) (-
    c)).
Proof.
intros Hr Hy. rewrite <- Rsum_scal. apply Rsum_ext. intros i Hi. apply pow_real_ratio; auto.
Qed.
(* Measured by any r < 0, the conjugate ... *)
Theorem renyi_c_scaled : forall (E : nat) (a r : R) (y : vec), (0 < E)%nat -> 0 < a < 1 ->
  r < 0 -> renyi_dual E y ->
  renyi_c E a y = renyi_exponent a * (ln (renyi_exponent a / - r) - 1) + ln (Rsum E (fun e =>
    pow_real (r / y e) (renyi_exponent a))).
Proof.
intros E a r y HE Ha Hr Hy. rewrite renyi_ratio_sum by auto. assert (C := renyi_exponent_pos a Ha).
assert (T := renyi_dual_sum_pos E a HE y Hy). fold (renyi_dual_sum E a y).
rewrite ln_mult, ln_pow_real, ln_div by (lra || auto || (apply pow_real_gt0; lra)). unfold renyi_c.
  ring.
Qed.
(* ... and its gradient. *)
Theorem renyi_d_scaled : forall (E : nat) (a r : R) (y : vec) (e : nat), (0 < E)%nat ->
  0 < a < 1 -> r < 0 -> renyi_dual E y ->
  (e < E)%nat -> renyi_d E a y e = pow_real (r / y e) (renyi_exponent a) * (renyi_exponent a / - y
    e)
    / Rsum E (fun j => pow_real (r / y j) (renyi_exponent a)).
Proof.
intros E a r y e HE Ha Hr Hy He. rewrite renyi_ratio_sum by auto.
  assert (Hye : y e < 0) by apply (Hy e He).
rewrite pow_real_ratio by auto. assert (T := renyi_dual_sum_pos E a HE y Hy).
  fold (renyi_dual_sum E a y).
assert (P := pow_real_gt0 (- r) (renyi_exponent a) ltac:(lra)). unfold renyi_d.
replace (pow_real (- y e) (- renyi_exponent a - 1)) with (pow_real (- y e) (- renyi_exponent a) / -
  y e).
- field. lra.
- unfold Rdiv. rewrite <- (pow_real_minus_1 (- y e)), pow_real_add by (auto; lra). f_equal; ring.
Qed.
(* The carrying of points to intervals: the value falls, the gradient and the conjugate grow with
  every
   coordinate. *)
Lemma renyi_sum_mono E a x z : 0 < a -> (forall i, (i < E)%nat -> x i <= z i) ->
  renyi_sum E a x <= renyi_sum E a z.
Proof. intros Ha H. apply Rsum_le. intros i Hi. apply pow_base_mono; [lra | auto]. Qed.
Theorem renyi_v_decreasing : forall (E : nat) (a : R) (x z : vec), 0 < a < 1 ->
  0 < renyi_sum E a x ->
  (forall i, (i < E)%nat -> x i <= z i) -> renyi_v E a z <= renyi_v E a x.
Proof.
intros E a x z Ha Hx H. assert (K := renyi_sum_mono E a x z ltac:(lra) H).
assert (L := ln_mono _ _ Hx K). unfold renyi_v.
assert (/ (a - 1) < 0) by (apply Rinv_lt_0_compat; lra). unfold Rdiv. nra.
Qed.
Theorem renyi_g_increasing : forall (E : nat) (a : R) (x z : vec) (e : nat), (0 < E)%nat ->
  0 < a < 1 -> renyi_interior E x ->
  (forall i, (i < E)%nat -> x i <= z i) -> (e < E)%nat -> renyi_g E a x e <= renyi_g E a z e.
Proof.
intros E a x z e HE Ha Hx H He.
assert (Hz : renyi_interior E z) by (intros i Hi; generalize (Hx i Hi) (H i Hi); unfold positive;
  lra).
rewrite !renyi_g_form by auto. apply Ropp_le_contravar.
assert (Sx := renyi_sum_pos E a HE x Hx). assert (K := renyi_sum_mono E a x z ltac:(lra) H).
assert (C := renyi_exponent_pos a Ha). assert (P := pow_base_anti (a - 1) (x e) (z e) ltac:(lra) (Hx
  e He) (H e He)).
assert (Q := pow_real_gt0 (z e) (a - 1) (Hz e He)).
unfold Rdiv. apply Rmult_le_compat; [nra | left; apply Rinv_0_lt_compat;
  lra | nra | apply Rinv_le_contravar; auto].
Qed.
Theorem renyi_c_increasing : forall (E : nat) (a : R) (y z : vec), (0 < E)%nat -> 0 < a < 1 ->
  renyi_dual E z ->
  (forall i, (i < E)%nat -> y i <= z i) -> renyi_c E a y <= renyi_c E a z.
Proof.
intros E a y z HE Ha Hz H.
assert (Hy : renyi_dual E y) by (intros i Hi; generalize (Hz i Hi) (H i Hi); simpl; lra).
unfold renyi_c. apply Rplus_le_compat_l, ln_mono; [now apply renyi_dual_sum_pos | ].
apply Rsum_le. intros i Hi. assert (C := renyi_exponent_pos a Ha). generalize (Hz i Hi) (H i Hi).
  simpl. intros.
apply pow_base_anti; lra.
Qed.

(* ---------- shapes of the graphs (shape.c) ---------- *)
(* f lies above its tangents: the convex functions here. *)
Definition above_tangents (D Di : R -> Prop) (f g : R -> R) : Prop :=
  forall x z, D x -> Di z -> f z + g z * (x - z) <= f x.
Lemma legendre_above_tangents X Xi Y Yi f fs g h : legendre X Xi Y Yi f fs g h ->
  above_tangents X Xi f g.
Proof.
intros L x z Hx Hz. assert (A := fenchel_young L x (g z) Hx (dual_of_interior L _ (gradient_maps L z
  Hz))).
assert (B := proj2 (fenchel_young_eq_dual L z (g z) Hz (dual_of_interior L _ (gradient_maps L z
  Hz))) eq_refl). nra.
Qed.
Lemma legendre_dual_above_tangents X Xi Y Yi f fs g h : legendre X Xi Y Yi f fs g h ->
  above_tangents Y Yi fs h.
Proof.
intros L x z Hx Hz. assert (A := fenchel_young L (h z) x (domain_of_interior L _ (inverse_maps L z
  Hz)) Hx).
assert (B := proj2 (fenchel_young_eq_primal L (h z) z (domain_of_interior L _ (inverse_maps L z Hz))
  Hz) eq_refl). nra.
Qed.
Lemma tangents_slope (D Di : R -> Prop) f g : (forall x, Di x -> D x) -> above_tangents D Di f g ->
  forall x z, Di x -> Di z -> x <= z -> g x <= g z.
Proof.
intros S T x z Hx Hz [H | ->]; [ | lra]. assert (A := T x z (S x Hx) Hz).
  assert (B := T z x (S z Hz) Hx). nra.
Qed.
(* Left of a point m with slope 0 it falls, right of it it rises. *)
Lemma tangents_fall (D Di : R -> Prop) f g m : (forall x, Di x -> D x) ->
  above_tangents D Di f g -> Di m -> g m = 0 ->
  forall x z, D x -> Di z -> x <= z -> z <= m -> f z <= f x.
Proof.
intros S T Hm G x z Hx Hz H1 H2. assert (A := T x z Hx Hz).
  assert (B := tangents_slope D Di f g S T z m Hz Hm H2). nra.
Qed.
Lemma tangents_rise (D Di : R -> Prop) f g m : (forall x, Di x -> D x) ->
  above_tangents D Di f g -> Di m -> g m = 0 ->
  forall x z, D x -> Di z -> m <= z -> z <= x -> f z <= f x.
Proof.
intros S T Hm G x z Hx Hz H1 H2. assert (A := T x z Hx Hz).
  assert (B := tangents_slope D Di f g S T m z Hm Hz H1). nra.
Qed.
Lemma legendre_g_increasing X Xi Y Yi f fs g h : legendre X Xi Y Yi f fs g h ->
  forall x z, Xi x -> Xi z -> x <= z -> g x <= g z.
Proof. intros L. exact (tangents_slope X Xi f g (domain_of_interior L) (legendre_above_tangents _ _
  _ _ _ _ _ _ L)). Qed.
Lemma legendre_d_increasing X Xi Y Yi f fs g h : legendre X Xi Y Yi f fs g h ->
  forall y z, Yi y -> Yi z -> y <= z -> h y <= h z.
Proof. intros L. exact (tangents_slope Y Yi fs h (dual_of_interior L) (legendre_dual_above_tangents
  _ _ _ _ _ _ _ _ L)). Qed.
Lemma legendre_v_increasing X Xi Y Yi f fs g h : legendre X Xi Y Yi f fs g h -> Xi 0 -> g 0 = 0 ->
  forall x z, Xi x -> X z -> 0 <= x -> x <= z -> f x <= f z.
Proof.
intros L H0 G x z Hx Hz. exact (tangents_rise X Xi f g 0 (domain_of_interior L)
  (legendre_above_tangents _ _ _ _ _ _ _ _ L) H0 G z x Hz Hx).
Qed.
Lemma legendre_c_increasing X Xi Y Yi f fs g h : legendre X Xi Y Yi f fs g h -> Yi 0 -> h 0 = 0 ->
  forall y z, Yi y -> Y z -> 0 <= y -> y <= z -> fs y <= fs z.
Proof.
intros L H0 G x z Hx Hz. exact (tangents_rise Y Yi fs h 0 (dual_of_interior L)
  (legendre_dual_above_tangents _ _ _ _ _ _ _ _ L) H0 G z x Hz Hx).
Qed.

(* (P1) *)
Theorem euclid_v_even : forall x : R, euclid_v (- x) = euclid_v x.
Proof. intros x. unfold euclid_v. field. Qed.
Theorem euclid_v_increasing : forall x z : R, 0 <= x -> x <= z -> euclid_v x <= euclid_v z.
Proof. intros. unfold euclid_v. nra. Qed.
Theorem euclid_g_increasing : forall x z : R, x <= z -> euclid_g x <= euclid_g z.
Proof. intros; auto. Qed.
Theorem euclid_c_even : forall y : R, euclid_c (- y) = euclid_c y.
Proof. intros x. unfold euclid_c. field. Qed.
Theorem euclid_c_increasing : forall y z : R, 0 <= y -> y <= z -> euclid_c y <= euclid_c z.
Proof. intros. unfold euclid_c. nra. Qed.
Theorem euclid_d_increasing : forall y z : R, y <= z -> euclid_d y <= euclid_d z.
Proof. intros; auto. Qed.

(* (P2) *)
Theorem lp_v_even : forall p x : R, lp_v p (- x) = lp_v p x.
Proof. intros. unfold lp_v. now rewrite Rabs_Ropp. Qed.
Theorem lp_v_increasing : forall p x z : R, 1 < p -> 0 <= x -> x <= z -> lp_v p x <= lp_v p z.
Proof.
intros p x z Hp Hx H. unfold lp_v. rewrite !Rabs_pos_eq by lra.
apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat; lra | apply pow_base_mono; lra].
Qed.
Theorem lp_g_increasing : forall p x z : R, 1 < p -> x <= z -> lp_g p x <= lp_g p z.
Proof. intros p x z Hp. apply (legendre_g_increasing _ _ _ _ _ _ _ _ (lp_legendre p Hp)); exact I.
  Qed.
Theorem lp_h_even : forall p x : R, lp_h p (- x) = lp_h p x.
Proof. intros. unfold lp_h. now rewrite Rabs_Ropp. Qed.
Theorem lp_h_increasing : forall p x z : R, 2 <= p -> 0 <= x -> x <= z -> lp_h p x <= lp_h p z.
Proof.
intros p x z Hp Hx H. unfold lp_h. rewrite !Rabs_pos_eq by lra.
apply Rmult_le_compat_l; [lra | apply pow_base_mono; lra].
Qed.
Theorem lp_h_decreasing : forall p x z : R, 1 < p -> p <= 2 -> 0 < x -> x <= z ->
  lp_h p z <= lp_h p x.
Proof.
intros p x z Hp Hp2 Hx H. unfold lp_h. rewrite !Rabs_pos_eq by lra.
apply Rmult_le_compat_l; [lra | apply pow_base_anti; lra].
Qed.
Theorem lp_c_even : forall p y : R, lp_c p (- y) = lp_c p y.
Proof. intros. unfold lp_c. now rewrite Rabs_Ropp. Qed.
Theorem lp_c_increasing : forall p y z : R, 1 < p -> 0 <= y -> y <= z -> lp_c p y <= lp_c p z.
Proof.
intros p y z Hp Hy H. unfold lp_c. rewrite !Rabs_pos_eq by lra. unfold Rdiv. rewrite !Rmult_assoc.
apply Rmult_le_compat_r.
- apply Rmult_le_pos; [lra | left; apply Rinv_0_lt_compat; lra].
- apply pow_base_mono; auto. apply Rmult_le_pos; [lra | left; apply Rinv_0_lt_compat; lra].
Qed.
Theorem lp_d_increasing : forall p y z : R, 1 < p -> y <= z -> lp_d p y <= lp_d p z.
Proof. intros p x z Hp. apply (legendre_d_increasing _ _ _ _ _ _ _ _ (lp_legendre p Hp)); exact I.
  Qed.

(* (P3) *)
Theorem soft_l1_v_even : forall d x : R, soft_l1_v d (- x) = soft_l1_v d x.
Proof. intros. unfold soft_l1_v. now rewrite Rabs_Ropp. Qed.
Theorem soft_l1_v_increasing : forall d x z : R, 0 < d -> 0 <= x -> x <= z ->
  soft_l1_v d x <= soft_l1_v d z.
Proof.
intros d x z Hd Hx H. apply (legendre_v_increasing _ _ _ _ _ _ _ _ (soft_l1_legendre d Hd)); auto;
  try exact I.
unfold soft_l1_g. unfold Rdiv. ring.
Qed.
Theorem soft_l1_g_increasing : forall d x z : R, 0 < d -> x <= z -> soft_l1_g d x <= soft_l1_g d z.
Proof. intros d x z Hd. apply (legendre_g_increasing _ _ _ _ _ _ _ _ (soft_l1_legendre d Hd));
  exact I. Qed.
Theorem soft_l1_h_even : forall d x : R, soft_l1_h d (- x) = soft_l1_h d x.
Proof. intros. unfold soft_l1_h. now rewrite Rabs_Ropp. Qed.
Theorem soft_l1_h_decreasing : forall d x z : R, 0 < d -> 0 <= x -> x <= z ->
  soft_l1_h d z <= soft_l1_h d x.
Proof.
intros d x z Hd Hx H. unfold soft_l1_h. rewrite !Rabs_pos_eq by lra.
apply Rmult_le_compat_l; [lra | ]. apply Rinv_le_contravar; nra.
Qed.
Theorem soft_l1_c_even : forall d y : R, soft_l1_c d (- y) = soft_l1_c d y.
Proof. intros. unfold soft_l1_c. now rewrite Rabs_Ropp. Qed.
Theorem soft_l1_c_increasing : forall d y z : R, 0 < d -> 0 <= y -> y <= z -> z < 1 ->
  soft_l1_c d y <= soft_l1_c d z.
Proof.
intros d y z Hd Hy H Hz. apply (legendre_c_increasing _ _ _ _ _ _ _ _ (soft_l1_legendre d Hd));
  auto.
- rewrite Rabs_R0; lra.
- unfold soft_l1_d. unfold Rdiv; ring.
- rewrite Rabs_pos_eq; lra.
- rewrite Rabs_pos_eq; lra.
Qed.
Theorem soft_l1_d_increasing : forall d y z : R, 0 < d -> -1 < y -> y <= z -> z < 1 ->
  soft_l1_d d y <= soft_l1_d d z.
Proof.
intros d y z Hd Hy H Hz. apply (legendre_d_increasing _ _ _ _ _ _ _ _ (soft_l1_legendre d Hd));
  auto; apply Rabs_def1; lra.
Qed.

(* (P4) *)
Theorem negentropy_v_falls : forall x z : R, 0 <= x -> x <= z -> z <= exp (-1) ->
  negentropy_v z <= negentropy_v x.
Proof.
intros x z Hx [H | ->] Hz; [ | lra].
apply (tangents_fall nonneg positive negentropy_v negentropy_g (exp (-1)) (domain_of_interior
  negentropy_legendre)
  (legendre_above_tangents _ _ _ _ _ _ _ _ negentropy_legendre)); auto; unfold positive; try lra;
    try apply exp_pos.
unfold negentropy_g. rewrite ln_exp. ring.
Qed.
Theorem negentropy_v_rises : forall x z : R, exp (-1) <= x -> x <= z ->
  negentropy_v x <= negentropy_v z.
Proof.
intros x z Hx H. assert (P := exp_pos (-1)).
apply (tangents_rise nonneg positive negentropy_v negentropy_g (exp (-1)) (domain_of_interior
  negentropy_legendre)
  (legendre_above_tangents _ _ _ _ _ _ _ _ negentropy_legendre)); auto; unfold positive, nonneg;
    try lra.
unfold negentropy_g. rewrite ln_exp. ring.
Qed.
Theorem negentropy_v_least : negentropy_v (negentropy_d 0) = - negentropy_c 0 /\
  negentropy_d 0 = exp (-1).
Proof.
unfold negentropy_v, negentropy_d, negentropy_c. rewrite x_log_x_eq, ln_exp.
replace (0 - 1) with (-1) by ring. split; [ring | reflexivity].
Qed.
Theorem negentropy_g_increasing : forall x z : R, 0 < x -> x <= z ->
  negentropy_g x <= negentropy_g z.
Proof. intros x z Hx H. unfold negentropy_g. generalize (ln_mono x z Hx H). lra. Qed.
Theorem negentropy_h_decreasing : forall x z : R, 0 < x -> x <= z ->
  negentropy_h z <= negentropy_h x.
Proof. intros x z Hx H. unfold negentropy_h. apply Rmult_le_compat_l;
  [lra | now apply Rinv_le_contravar]. Qed.
Theorem negentropy_c_increasing : forall y z : R, y <= z -> negentropy_c y <= negentropy_c z.
Proof. intros y z H. apply exp_mono. lra. Qed.
Theorem negentropy_d_increasing : forall y z : R, y <= z -> negentropy_d y <= negentropy_d z.
Proof. intros y z H. apply exp_mono. lra. Qed.

(* (P5) *)
Lemma tsallis_minimiser a : 0 < a -> a <> 1 -> tsallis_dual_open a 0 /\ 0 < tsallis_d a 0 /\
  tsallis_g a (tsallis_d a 0) = 0.
Proof.
intros Ha H1. assert (D : tsallis_dual_open a 0).
{ unfold tsallis_dual_open, tsallis_base. rewrite Rmult_0_r, Rplus_0_r. apply Rdiv_lt_0_compat;
  lra. }
split; [exact D | split].
- exact (inverse_maps (tsallis_legendre a Ha H1) 0 D).
- exact (gradient_inverse (tsallis_legendre a Ha H1) 0 D).
Qed.
Theorem tsallis_v_falls : forall a x z : R, 0 < a -> a <> 1 -> 0 <= x -> x <= z ->
  z <= tsallis_d a 0 ->
  tsallis_v a z <= tsallis_v a x.
Proof.
intros a x z Ha H1 Hx [H | ->] Hz; [ | lra]. destruct (tsallis_minimiser a Ha H1) as [_ [P G]].
apply (tangents_fall nonneg positive (tsallis_v a) (tsallis_g a) (tsallis_d a 0) (domain_of_interior
  (tsallis_legendre a Ha H1))
  (legendre_above_tangents _ _ _ _ _ _ _ _ (tsallis_legendre a Ha H1))); auto; unfold positive; lra.
Qed.
Theorem tsallis_v_rises : forall a x z : R, 0 < a -> a <> 1 -> tsallis_d a 0 <= x -> x <= z ->
  tsallis_v a x <= tsallis_v a z.
Proof.
intros a x z Ha H1 Hx H. destruct (tsallis_minimiser a Ha H1) as [_ [P G]].
apply (tangents_rise nonneg positive (tsallis_v a) (tsallis_g a) (tsallis_d a 0) (domain_of_interior
  (tsallis_legendre a Ha H1))
  (legendre_above_tangents _ _ _ _ _ _ _ _ (tsallis_legendre a Ha H1))); auto; unfold positive,
    nonneg; lra.
Qed.
Theorem tsallis_v_least : forall a : R, 0 < a -> a <> 1 -> tsallis_v a (tsallis_d a 0) = - tsallis_c
  a 0.
Proof.
intros a Ha H1. destruct (tsallis_minimiser a Ha H1) as [D [P G]].
  assert (L := tsallis_legendre a Ha H1).
assert (K := proj2 (fenchel_young_eq_primal L (tsallis_d a 0) 0 (domain_of_interior L _ P) D)
  eq_refl). lra.
Qed.
(* x > 0, or a > 1 and x >= 0. *)
Theorem tsallis_g_increasing : forall a x z : R, 0 < a -> a <> 1 -> (0 < x \/ 1 < a) -> x <= z ->
  tsallis_g a x <= tsallis_g a z.
Proof.
intros a x z Ha H1 Hx H. unfold tsallis_g. destruct (Rlt_dec 1 a) as [A | A].
- apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat; lra | ].
  generalize (pow_base_mono (a - 1) x z ltac:(lra) H). nra.
- assert (Hx' : 0 < x) by (destruct Hx; lra). assert (K := pow_base_anti (a - 1) x z ltac:(lra) Hx'
  H).
  assert (N : / (a - 1) <= 0) by (left; apply Rinv_lt_0_compat; lra).
  apply (Rmult_le_compat_neg_l _ (a * pow_real z (a - 1) - 1) (a * pow_real x (a - 1) - 1)) in N;
    [ | nra].
  unfold Rdiv. lra.
Qed.
Theorem tsallis_h_decreasing : forall a x z : R, 0 < a -> a <= 2 -> 0 < x -> x <= z ->
  tsallis_h a z <= tsallis_h a x.
Proof. intros a x z Ha H2 Hx H. unfold tsallis_h. apply Rmult_le_compat_l;
  [lra | apply pow_base_anti; lra]. Qed.
Theorem tsallis_h_increasing : forall a x z : R, 2 <= a -> x <= z -> tsallis_h a x <= tsallis_h a z.
Proof. intros a x z Ha H. unfold tsallis_h. apply Rmult_le_compat_l; [lra | apply pow_base_mono;
  lra]. Qed.
Lemma tsallis_base_mono_above a y z : 1 < a -> y <= z -> tsallis_base a y <= tsallis_base a z.
Proof. intros Ha H. unfold tsallis_base. apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat;
  lra | nra]. Qed.
Lemma tsallis_base_mono_below a y z : 0 < a < 1 -> y <= z -> tsallis_base a z <= tsallis_base a y.
Proof. intros Ha H. unfold tsallis_base. apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat;
  lra | nra]. Qed.
Lemma quotient_nonneg a b : 0 <= a -> 0 < b -> 0 <= a / b.
Proof. intros. apply Rmult_le_pos; [auto | left; now apply Rinv_0_lt_compat]. Qed.
Lemma quotient_nonpos a b : 0 <= a -> b < 0 -> a / b <= 0.
Proof. intros. assert (/ b < 0) by now apply Rinv_lt_0_compat. unfold Rdiv. nra. Qed.
Theorem tsallis_c_increasing : forall a y z : R, 0 < a -> a <> 1 -> (1 < a \/ 0 < tsallis_base a z)
  -> y <= z ->
  tsallis_c a y <= tsallis_c a z.
Proof.
intros a y z Ha H1 Hz H. unfold tsallis_c. destruct (Rlt_dec 1 a) as [A | A].
- apply pow_base_mono; [apply quotient_nonneg; lra | now apply tsallis_base_mono_above].
- apply pow_base_anti; [apply quotient_nonpos; lra | destruct Hz;
  lra | apply tsallis_base_mono_below; lra].
Qed.
Theorem tsallis_d_increasing : forall a y z : R, 0 < a -> a <> 1 -> (1 < a \/ 0 < tsallis_base a z)
  -> y <= z ->
  tsallis_d a y <= tsallis_d a z.
Proof.
intros a y z Ha H1 Hz H. unfold tsallis_d. destruct (Rlt_dec 1 a) as [A | A].
- apply pow_base_mono; [apply quotient_nonneg; lra | now apply tsallis_base_mono_above].
- apply pow_base_anti; [apply quotient_nonpos; lra | destruct Hz;
  lra | apply tsallis_base_mono_below; lra].
Qed.

(* (P7) *)
Theorem pseudo_huber_v_even : forall d x : R, pseudo_huber_v d (- x) = pseudo_huber_v d x.
Proof. intros. unfold pseudo_huber_v. do 2 f_equal. ring. Qed.
Theorem pseudo_huber_v_increasing : forall d x z : R, 0 < d -> 0 <= x -> x <= z ->
  pseudo_huber_v d x <= pseudo_huber_v d z.
Proof.
intros d x z Hd Hx H. unfold pseudo_huber_v. assert (sqrt (x ^ 2 + d ^ 2) <= sqrt (z ^ 2 + d ^ 2));
  [ | lra].
apply sqrt_mono. nra.
Qed.
Theorem pseudo_huber_g_increasing : forall d x z : R, 0 < d -> x <= z ->
  pseudo_huber_g d x <= pseudo_huber_g d z.
Proof. intros d x z Hd. apply (legendre_g_increasing _ _ _ _ _ _ _ _ (pseudo_huber_legendre d Hd));
  exact I. Qed.
Theorem pseudo_huber_h_even : forall d x : R, pseudo_huber_h d (- x) = pseudo_huber_h d x.
Proof. intros. unfold pseudo_huber_h. replace ((- x) ^ 2) with (x ^ 2) by ring. reflexivity. Qed.
Theorem pseudo_huber_h_decreasing : forall d x z : R, 0 < d -> 0 <= x -> x <= z ->
  pseudo_huber_h d z <= pseudo_huber_h d x.
Proof.
intros d x z Hd Hx H. unfold pseudo_huber_h. assert (P : 0 < x ^ 2 + d ^ 2) by nra.
assert (Q : x ^ 2 + d ^ 2 <= z ^ 2 + d ^ 2) by nra. assert (S := sqrt_mono _ _ Q).
  assert (R0 := sqrt_lt_R0 _ P).
apply Rmult_le_compat_l; [nra | ]. apply Rinv_le_contravar; [now apply Rmult_lt_0_compat | ].
apply Rmult_le_compat; lra.
Qed.
Theorem pseudo_huber_c_even : forall d y : R, pseudo_huber_c d (- y) = pseudo_huber_c d y.
Proof. intros. unfold pseudo_huber_c. replace ((- y) ^ 2) with (y ^ 2) by ring. reflexivity. Qed.
Theorem pseudo_huber_c_increasing : forall d y z : R, 0 < d -> 0 <= y -> y <= z -> z <= 1 ->
  pseudo_huber_c d y <= pseudo_huber_c d z.
Proof.
intros d y z Hd Hy H Hz. unfold pseudo_huber_c. assert (sqrt (1 - z ^ 2) <= sqrt (1 - y ^ 2))
  by (apply sqrt_mono; nra). nra.
Qed.
Theorem pseudo_huber_d_increasing : forall d y z : R, 0 < d -> -1 < y -> y <= z -> z < 1 ->
  pseudo_huber_d d y <= pseudo_huber_d d z.
Proof. intros d y z Hd Hy H Hz. apply (legendre_d_increasing _ _ _ _ _ _ _ _ (pseudo_huber_legendre
  d Hd)); unfold unit_open; lra. Qed.

(* (P8) *)
Theorem log_cosh_v_is_even : forall b x : R, log_cosh_v b (- x) = log_cosh_v b x.
Proof. intros. unfold log_cosh_v. replace (b * - x) with (- (b * x)) by ring.
  now rewrite cosh_even. Qed.
Theorem log_cosh_v_increasing : forall b x z : R, 0 < b -> 0 <= x -> x <= z ->
  log_cosh_v b x <= log_cosh_v b z.
Proof.
intros b x z Hb Hx H. apply (legendre_v_increasing _ _ _ _ _ _ _ _ (log_cosh_legendre b Hb)); auto;
  try exact I.
unfold log_cosh_g. rewrite Rmult_0_r. unfold tanh. rewrite sinh_0. unfold Rdiv; ring.
Qed.
Theorem log_cosh_g_increasing : forall b x z : R, 0 < b -> x <= z ->
  log_cosh_g b x <= log_cosh_g b z.
Proof. intros b x z Hb H. apply tanh_mono. nra. Qed.
Theorem log_cosh_h_even : forall b x : R, log_cosh_h b (- x) = log_cosh_h b x.
Proof. intros. unfold log_cosh_h. replace (b * - x) with (- (b * x)) by ring.
  now rewrite cosh_even. Qed.
Lemma cosh_increasing x z : 0 <= x -> x <= z -> cosh x <= cosh z.
Proof.
intros Hx H. assert (P := exp_mono x z H). assert (Q := exp_mono 0 x Hx). rewrite exp_0 in Q.
unfold cosh. rewrite !exp_Ropp. set (u := exp x) in *. set (w := exp z) in *.
assert (u + / u <= w + / w); [ | lra].
replace (w + / w) with (u + / u + (w - u) * (1 - / (u * w))) by (field; lra).
assert (/ (u * w) <= / 1) by (apply Rinv_le_contravar; nra). rewrite Rinv_1 in H0. nra.
Qed.
Theorem log_cosh_h_decreasing : forall b x z : R, 0 < b -> 0 <= x -> x <= z ->
  log_cosh_h b z <= log_cosh_h b x.
Proof.
intros b x z Hb Hx H. unfold log_cosh_h. apply Rmult_le_compat_l; [lra | ].
assert (K := cosh_increasing (b * x) (b * z) ltac:(nra) ltac:(nra)). assert (P := cosh_pos (b * x)).
apply Rinv_le_contravar; [now apply pow_lt | nra].
Qed.
Theorem log_cosh_c_even : forall b y : R, log_cosh_c b (- y) = log_cosh_c b y.
Proof.
intros. unfold log_cosh_c. replace (1 - - y) with (1 + y) by ring.
  replace (1 + - y) with (1 - y) by ring.
f_equal. ring.
Qed.
Theorem log_cosh_c_increasing : forall b y z : R, 0 < b -> 0 <= y -> y <= z -> z <= 1 ->
  log_cosh_c b y <= log_cosh_c b z.
Proof.
intros b y z Hb Hy [H | ->] Hz; [ | lra].
apply (legendre_c_increasing _ _ _ _ _ _ _ _ (log_cosh_legendre b Hb)); unfold unit_open,
  unit_closed; try lra.
unfold log_cosh_d. replace ((1 + 0) / (1 - 0)) with 1 by field. rewrite ln_1. unfold Rdiv; ring.
Qed.
Theorem log_cosh_d_increasing : forall b y z : R, 0 < b -> -1 < y -> y <= z -> z < 1 ->
  log_cosh_d b y <= log_cosh_d b z.
Proof. intros b y z Hb Hy H Hz. apply (legendre_d_increasing _ _ _ _ _ _ _ _ (log_cosh_legendre b
  Hb)); unfold unit_open; lra. Qed.

(* (P9) *)
Theorem softplus_v_increasing : forall x z : R, x <= z -> softplus_v x <= softplus_v z.
Proof. intros x z H. unfold softplus_v. assert (P := exp_pos x). generalize (exp_mono x z H);
  intros. apply ln_mono; lra. Qed.
Theorem softplus_g_increasing : forall x z : R, x <= z -> softplus_g x <= softplus_g z.
Proof. intros x z. apply (legendre_g_increasing _ _ _ _ _ _ _ _ softplus_legendre); exact I. Qed.
Theorem softplus_h_even : forall x : R, softplus_h (- x) = softplus_h x.
Proof. intros x. unfold softplus_h. rewrite Ropp_involutive. ring. Qed.
Theorem softplus_h_decreasing : forall x z : R, 0 <= x -> x <= z -> softplus_h z <= softplus_h x.
Proof.
intros x z Hx H. rewrite !softplus_h_abs, !Rabs_pos_eq by lra.
assert (A := exp_mono (- z) (- x) ltac:(lra)). assert (B := exp_mono (- x) 0 ltac:(lra)).
  rewrite exp_0 in B.
assert (P := exp_pos (- z)). set (u := exp (- x)) in *. set (w := exp (- z)) in *.
replace (u / (1 + u) ^ 2) with (w / (1 + w) ^ 2 + (u - w) * (1 - u * w) / ((1 + u) ^ 2 * (1 + w) ^
  2)) by (field; lra).
assert (0 <= (u - w) * (1 - u * w) / ((1 + u) ^ 2 * (1 + w) ^ 2)); [ | lra].
apply quotient_nonneg; [apply Rmult_le_pos; nra | apply Rmult_lt_0_compat; apply pow_lt; lra].
Qed.
Lemma softplus_d_half : softplus_d (1 / 2) = 0.
Proof. unfold softplus_d. replace (1 / 2 / (1 - 1 / 2)) with 1 by field. apply ln_1. Qed.
Theorem softplus_c_falls : forall y z : R, 0 <= y -> y <= z -> z <= 1 / 2 ->
  softplus_c z <= softplus_c y.
Proof.
intros y z Hy [H | ->] Hz; [ | lra].
apply (tangents_fall zero_one_closed zero_one_open softplus_c softplus_d (1 / 2) (dual_of_interior
  softplus_legendre)
  (legendre_dual_above_tangents _ _ _ _ _ _ _ _ softplus_legendre)); auto using softplus_d_half;
    unfold zero_one_open, zero_one_closed; lra.
Qed.
Theorem softplus_c_rises : forall y z : R, 1 / 2 <= y -> y <= z -> z <= 1 ->
  softplus_c y <= softplus_c z.
Proof.
intros y z Hy [H | ->] Hz; [ | lra].
apply (tangents_rise zero_one_closed zero_one_open softplus_c softplus_d (1 / 2) (dual_of_interior
  softplus_legendre)
  (legendre_dual_above_tangents _ _ _ _ _ _ _ _ softplus_legendre)); auto using softplus_d_half;
    unfold zero_one_open, zero_one_closed; lra.
Qed.
Theorem softplus_c_least : softplus_g 0 = 1 / 2 /\ softplus_c (softplus_g 0) = - softplus_v 0.
Proof.
unfold softplus_g, sigmoid, softplus_c, softplus_v. rewrite Ropp_0, exp_0. rewrite !x_log_x_eq.
replace (1 / (1 + 1)) with (/ 2) by field. replace (1 - / 2) with (/ 2) by field.
  replace (1 + 1) with 2 by ring.
rewrite ln_Rinv by lra. split; lra.
Qed.
Theorem softplus_d_increasing : forall y z : R, 0 < y -> y <= z -> z < 1 ->
  softplus_d y <= softplus_d z.
Proof. intros y z Hy H Hz. apply (legendre_d_increasing _ _ _ _ _ _ _ _ softplus_legendre);
  unfold zero_one_open; lra. Qed.
