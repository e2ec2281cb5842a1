(* Renyi's potential (P6) with its conjugate is a Legendre pair of vectors;
  its dual domain is exactly
   the open negative orthant. *)
From Coq Require Import Reals Lra Lia.
From Coquelicot Require Import Coquelicot.
From Phibal Require Import Legendre Vector Potentials Power Mirror Uniform.
Open Scope R_scope.

Lemma ln_le_tangent u z : 0 < u -> 0 < z -> ln u <= ln z + (u - z) / z.
Proof.
intros Hu Hz. replace (ln u) with (ln z + ln (u / z)) by (rewrite ln_div by auto; ring).
apply Rplus_le_compat_l. assert (Hr : 0 < u / z) by (apply Rdiv_lt_0_compat; auto).
replace ((u - z) / z) with (u / z - 1) by (field; lra). set (r := u / z) in *.
destruct (Rle_dec r 0); [lra | ]. generalize (exp_ineq1_le (ln r)). rewrite exp_ln by auto. lra.
Qed.

Ltac posi := first [ assumption | apply Rpower_gt0 | apply pow_real_gt0; posi | lra
  | apply Rmult_lt_0_compat; posi | apply Rdiv_lt_0_compat; posi ].

Section Renyi.
Variables (E : nat) (a : R).
Hypothesis HE : (0 < E)%nat.
Hypothesis Ha : 0 < a < 1.
Local Notation c := (renyi_exponent a).
Local Notation S := (renyi_sum E a).
Local Notation T := (renyi_dual_sum E a).
Local Notation rf := (renyi_v E a).
Local Notation rfs := (renyi_c E a).
Local Notation rg := (renyi_g E a).
Local Notation rh := (renyi_d E a).
Local Notation rX := (renyi_domain E a).
Local Notation rXi := (renyi_interior E).
Local Notation rY := (renyi_dual E).

Lemma renyi_exponent_pos : 0 < c. Proof. unfold renyi_exponent; apply Rdiv_lt_0_compat; lra. Qed.
Lemma renyi_sum_pos x : rXi x -> 0 < S x.
Proof. intros H; apply Rsum_pos; auto. intros i Hi. apply pow_real_gt0, H, Hi. Qed.
Lemma neg_pos y i : rY y -> (i < E)%nat -> 0 < - y i.
Proof. intros H Hi. generalize (H i Hi); simpl; lra. Qed.
Lemma renyi_dual_sum_pos y : rY y -> 0 < T y.
Proof. intros Hy. apply Rsum_pos; auto. intros i Hi. apply pow_real_gt0. now apply neg_pos. Qed.
Lemma renyi_g_form x i : rXi x -> (i < E)%nat -> rg x i = - (c * pow_real (x i) (a - 1) / S x).
Proof.
intros Hx Hi. unfold renyi_g, renyi_exponent. generalize (renyi_sum_pos x Hx); intros. field. lra.
Qed.

Lemma pow_tangent x z : 0 <= x -> 0 < z -> x <> z -> pow_real x a < pow_real z a + a * pow_real z (a
  - 1) * (x - z).
Proof.
intros Hx Hz Hn. destruct Hx as [Hx | <-].
- assert (K := tangent_strict (fun t => 0 < t) (fun t => - pow_real t a) (fun t => - (a * pow_real t
  (a - 1))) int_pos).
  assert (K' := K ltac:(intros t Ht; apply (is_derive_opp (fun t => pow_real t a)),
    pow_real_derive, Ht)). clear K.
  assert (M : strictly_increasing (fun t => 0 < t) (fun t => - (a * pow_real t (a - 1)))).
  { intros u v Hu Hv Huv. generalize (pow_real_decr (a - 1) u v ltac:(lra) ltac:(lra)). nra. }
  generalize (K' M x z Hx Hz Hn). lra.
- rewrite (pow_real_0 0) by lra. replace (a * pow_real z (a - 1) * (0 - z)) with (- a * (pow_real z
  (a - 1) * z)) by ring.
  rewrite <- (pow_real_1 z) at 3 by lra. rewrite pow_real_add by auto.
    replace (a - 1 + 1) with a by ring.
  generalize (pow_real_gt0 z a Hz). nra.
Qed.

Lemma renyi_d_interior y : rY y -> rXi (rh y).
Proof.
intros Hy i Hi. assert (P := renyi_exponent_pos). assert (Q := renyi_dual_sum_pos y Hy).
assert (W := neg_pos y i Hy Hi). unfold renyi_d, positive. posi.
Qed.
Lemma ln_renyi_d y i : rY y -> (i < E)%nat -> ln (rh y i) = ln c + (- c - 1) * ln (- y i) - ln (T
  y).
Proof.
intros Hy Hi. assert (P := renyi_exponent_pos). assert (Q := renyi_dual_sum_pos y Hy).
assert (W := neg_pos y i Hy Hi). unfold renyi_d. rewrite ln_div, ln_mult, ln_pow_real by posi. ring.
Qed.
Lemma renyi_sum_d y : rY y -> S (rh y) = pow_real c a * pow_real (T y) (1 - a).
Proof.
intros Hy. assert (P := renyi_exponent_pos). assert (Q := renyi_dual_sum_pos y Hy).
  unfold renyi_sum.
rewrite (Rsum_ext E _ (fun i => (pow_real c a * pow_real (T y) (- a)) * pow_real (- y i) (- c))).
- rewrite Rsum_scal. fold (T y). replace (1 - a) with (- a + 1) by ring.
  rewrite <- (pow_real_add (T y) (- a) 1), pow_real_1 by (auto; lra). ring.
- intros i Hi. assert (W := neg_pos y i Hy Hi). assert (V := renyi_d_interior y Hy i Hi).
  apply ln_inv; [posi | posi | ].
  rewrite !ln_mult, !ln_pow_real, ln_renyi_d by (posi || auto).
  unfold renyi_exponent. field. lra.
Qed.
Lemma renyi_g_d y : rY y -> veq E (rg (rh y)) y.
Proof.
intros Hy i Hi. rewrite renyi_g_form, renyi_sum_d by (auto using renyi_d_interior).
assert (P := renyi_exponent_pos). assert (Q := renyi_dual_sum_pos y Hy).
assert (W := neg_pos y i Hy Hi). assert (X1 := renyi_d_interior y Hy i Hi).
cut (c * pow_real (rh y i) (a - 1) / (pow_real c a * pow_real (T y) (1 - a)) = - y i); [lra | ].
apply ln_inv; [posi | posi | ].
rewrite ln_div, !ln_mult, !ln_pow_real, ln_renyi_d by (posi || auto).
unfold renyi_exponent. field. lra.
Qed.
Lemma renyi_g_dual x : rXi x -> rY (rg x).
Proof.
intros Hx i Hi. rewrite renyi_g_form by auto. apply Ropp_lt_gt_0_contravar.
assert (P := renyi_exponent_pos). assert (V := Hx i Hi). assert (Q := renyi_sum_pos x Hx).
  unfold positive in V. posi.
Qed.
Lemma dot_renyi_d y : rY y -> dot E (rh y) y = - c.
Proof.
intros Hy. assert (Q := renyi_dual_sum_pos y Hy). unfold dot, renyi_d.
rewrite (Rsum_ext E _ (fun i => (- c / T y) * pow_real (- y i) (- c))).
- rewrite Rsum_scal. fold (T y). field. lra.
- intros i Hi. assert (W := neg_pos y i Hy Hi).
  assert (K : pow_real (- y i) (- c) = pow_real (- y i) (- c - 1) * (- y i)).
  { rewrite <- (pow_real_1 (- y i)) at 3 by lra. rewrite pow_real_add by auto. f_equal; ring. }
  rewrite K. field. lra.
Qed.
Lemma renyi_c_attained y : rY y -> rfs y = dot E (rh y) y - rf (rh y).
Proof.
intros Hy. assert (P := renyi_exponent_pos). assert (Q := renyi_dual_sum_pos y Hy).
rewrite dot_renyi_d by auto. unfold renyi_v, renyi_c. rewrite renyi_sum_d by auto.
rewrite ln_mult, !ln_pow_real by posi. unfold renyi_exponent. field. lra.
Qed.

(* The tangent inequality at z inside, x anywhere in the domain. *)
Lemma renyi_tangent x z : rX x -> rXi z ->
  rf z + (dot E x (rg z) - dot E z (rg z)) <= rf x /\
  (rf z + (dot E x (rg z) - dot E z (rg z)) = rf x -> veq E x z).
Proof.
intros [Hx Sx] Hz. assert (Sz := renyi_sum_pos z Hz).
set (b := fun i => pow_real (z i) a + a * pow_real (z i) (a - 1) * (x i - z i)).
assert (T1 : forall i, (i < E)%nat -> pow_real (x i) a <= b i).
{ intros i Hi. destruct (Req_dec (x i) (z i)) as [Eq | Hn].
  - unfold b. rewrite Eq. lra.
  - left. apply pow_tangent; auto; apply Hx || apply Hz; auto. }
assert (T2 : S x <= Rsum E b) by (now apply Rsum_le).
assert (T3 : dot E x (rg z) - dot E z (rg z) = (Rsum E b - S z) / S z / (a - 1)).
{ rewrite <- dot_subl. unfold b. rewrite Rsum_plus. fold (S z).
  unfold dot, vsub, renyi_g. rewrite (Rsum_ext E _ (fun i => / (S z * (a - 1)) * (a * pow_real (z i)
    (a - 1) * (x i - z i)))).
  - rewrite Rsum_scal. unfold renyi_sum at 3. fold (S z). field. lra.
  - intros i Hi. field. lra. }
rewrite T3. assert (T4 := ln_le_tangent (S x) (S z) Sx Sz).
assert (Hi : / (a - 1) < 0) by (apply Rinv_lt_0_compat; lra).
assert (Hz' : 0 < / S z) by (apply Rinv_0_lt_compat; auto).
unfold renyi_v, Rdiv in *.
assert (T5 : (S x - S z) * / S z <= (Rsum E b - S z) * / S z) by (apply Rmult_le_compat_r; lra).
split; [nra | ].
intros Eq i Hii.
assert (T6 : Rsum E b = S x).
{ assert (ln (S x) = ln (S z) + (Rsum E b - S z) * / S z).
  { apply (Rmult_eq_reg_r (/ (a - 1))); [ | lra]. rewrite <- Eq. ring. }
  assert ((S x - S z) * / S z = (Rsum E b - S z) * / S z) by lra.
  apply Rmult_eq_reg_r in H0; lra. }
destruct (Req_dec (x i) (z i)) as [ | Hn]; auto. exfalso.
assert (K := Rsum_le_eq E _ _ T1 T6 i Hii). simpl in K.
assert (K2 := pow_tangent (x i) (z i) (Hx i Hii) (Hz i Hii) Hn). unfold b in K. lra.
Qed.

Lemma renyi_interior_domain x : rXi x -> rX x.
Proof. intros H; split; [intros i Hi; left; now apply H | now apply renyi_sum_pos]. Qed.
Lemma renyi_sum_ext x z : veq E x z -> S x = S z.
Proof. intros H; apply Rsum_ext; intros i Hi; now rewrite H. Qed.
Lemma renyi_g_ext x z : veq E x z -> veq E (rg x) (rg z).
Proof. intros H i Hi. unfold renyi_g. now rewrite (renyi_sum_ext _ _ H), H. Qed.
Lemma renyi_d_ext y z : veq E y z -> veq E (rh y) (rh z).
Proof.
intros H i Hi. unfold renyi_d. rewrite (H i Hi). f_equal.
apply Rsum_ext; intros k Hk. now rewrite (H k Hk).
Qed.

Lemma renyi_fenchel_young x y : rX x -> rY y ->
  dot E x y <= rf x + rfs y /\ (rf x + rfs y = dot E x y -> veq E x (rh y)).
Proof.
intros Hx Hy. assert (K := renyi_tangent x (rh y) Hx (renyi_d_interior y Hy)).
  rewrite (renyi_c_attained y Hy).
rewrite (dot_ext E x x (rg (rh y)) y (fun i _ => eq_refl) (renyi_g_d y Hy)) in K.
rewrite (dot_ext E (rh y) (rh y) (rg (rh y)) y (fun i _ => eq_refl) (renyi_g_d y Hy)) in K.
destruct K as [K1 K2]. split; [lra | intros Eq; apply K2; lra].
Qed.
Lemma renyi_fenchel_young_eq x y : rX x -> rY y -> (rf x + rfs y = dot E x y <-> veq E x (rh y)).
Proof.
intros Hx Hy. split; [now apply renyi_fenchel_young | intros V].
rewrite (dot_ext E x (rh y) y y V (fun i _ => eq_refl)), (renyi_c_attained y Hy).
unfold renyi_v. rewrite (renyi_sum_ext _ _ V). ring.
Qed.
Lemma renyi_d_g x : rXi x -> veq E (rh (rg x)) x.
Proof.
intros Hx. (* x and z = rh (rg x) have the same gradient *)
assert (Hy := renyi_g_dual x Hx). assert (Hz := renyi_d_interior _ Hy). set (z := rh (rg x)) in *.
assert (V := renyi_g_d _ Hy). fold z in V.
assert (A := renyi_tangent z x (renyi_interior_domain _ Hz) Hx).
assert (B := renyi_tangent x z (renyi_interior_domain _ Hx) Hz).
rewrite (dot_ext E x x _ _ (fun i _ => eq_refl) V), (dot_ext E z z _ _ (fun i _ => eq_refl) V) in B.
apply A. destruct A, B; lra.
Qed.

Lemma renyi_v_derives x : rXi x -> has_grad E rf x (rg x).
Proof.
intros Hx d. assert (Sx := renyi_sum_pos x Hx). unfold renyi_v.
apply is_derive_divc; [lra | ].
assert (K : is_derive (fun t => S (vadd x (vsc t d))) 0 (Rsum E (fun i => a * pow_real (x i) (a - 1)
  * d i))).
{ apply (is_derive_Rsum E (fun i t => pow_real (x i + t * d i) a)). intros i Hi.
  replace (a * pow_real (x i) (a - 1) * d i) with (d i * (a * pow_real (x i) (a - 1))) by ring.
  apply (is_derive_comp (fun s => pow_real s a) (fun t => x i + t * d i)).
  - rewrite Rmult_0_l, Rplus_0_r. apply pow_real_derive, Hx, Hi.
  - auto_derive; [auto | ring]. }
replace ((a - 1) * dot E (rg x) d) with (Rsum E (fun i => a * pow_real (x i) (a - 1) * d i) * / S
  x).
- apply (is_derive_comp ln (fun t => S (vadd x (vsc t d)))); auto.
  replace (S (vadd x (vsc 0 d))) with (S x).
  + apply is_derive_Reals. now apply derivable_pt_lim_ln.
  + apply renyi_sum_ext; intros i Hi. unfold vadd, vsc. ring.
- unfold dot, renyi_g. rewrite <- Rsum_scal. rewrite Rmult_comm, <- Rsum_scal. apply Rsum_ext;
  intros i Hi.
  field. lra.
Qed.
Lemma renyi_c_derives y : rY y -> has_grad E rfs y (rh y).
Proof.
intros Hy d. assert (Q := renyi_dual_sum_pos y Hy). unfold renyi_c.
assert (K : is_derive (fun t => T (vadd y (vsc t d))) 0 (Rsum E (fun i => c * pow_real (- y i) (- c
  - 1) * d i))).
{ apply (is_derive_Rsum E (fun i t => pow_real (- (y i + t * d i)) (- c))). intros i Hi.
  assert (W := neg_pos y i Hy Hi).
  replace (c * pow_real (- y i) (- c - 1) * d i) with (- d i * (- c * pow_real (- y i) (- c - 1)))
    by ring.
  apply (is_derive_comp (fun s => pow_real s (- c)) (fun t => - (y i + t * d i))).
  - rewrite Rmult_0_l, Rplus_0_r. now apply pow_real_derive.
  - auto_derive; [auto | ring]. }
replace (dot E (rh y) d) with (plus 0 (Rsum E (fun i => c * pow_real (- y i) (- c - 1) * d i) * / T
  y)).
- apply (is_derive_plus (fun _ => c * (ln c - 1)) (fun t => ln (T (vadd y (vsc t d))))).
  + auto_derive; auto.
  + apply (is_derive_comp ln (fun t => T (vadd y (vsc t d)))); auto.
    replace (T (vadd y (vsc 0 d))) with (T y).
    * apply is_derive_Reals. now apply derivable_pt_lim_ln.
    * apply Rsum_ext; intros i Hi. unfold vadd, vsc. do 2 f_equal. ring.
- unfold plus; simpl. rewrite Rplus_0_l. unfold dot, renyi_d. rewrite Rmult_comm, <- Rsum_scal.
  apply Rsum_ext; intros i Hi. field. lra.
Qed.

(* (P6) *)
Theorem renyi_legendre : vlegendre E rX rXi rY rY rf rfs rg rh.
Proof.
constructor; auto using renyi_interior_domain, renyi_v_derives, renyi_c_derives, renyi_g_dual,
  renyi_d_interior, renyi_d_g, renyi_g_d, renyi_fenchel_young_eq.
- intros x y Hx Hy; now apply renyi_fenchel_young.
- intros x y Hx Hy. rewrite (renyi_fenchel_young_eq x y (renyi_interior_domain _ Hx) Hy).
  split; intros V i Hi.
  + rewrite <- (renyi_g_d y Hy i Hi). symmetry. now apply renyi_g_ext.
  + rewrite (renyi_d_ext _ _ V i Hi). symmetry; now apply renyi_d_g.
Qed.
End Renyi.
