(* Limits in the parameter: alpha -> 1 of Tsallis and Renyi (erratum C3), p -> infinity of lp (C1),
   and Renyi beyond alpha = 1 (C5). *)
From Coq Require Import Reals Lra Lia.
From Coquelicot Require Import Coquelicot.
From Phibal Require Import Legendre Even Vector Potentials Power Instances Mirror Uniform Renyi
  Conjugates Catalogue.
Open Scope R_scope.

(* ---------- alpha -> 1 ---------- *)
Lemma is_lim_quotient F l : is_derive F 1 l -> is_lim (fun a => (F a - F 1) / (a - 1)) 1 l.
Proof.
intros H. apply is_derive_Reals in H. apply is_lim_spec. intros eps.
destruct (H eps (cond_pos eps)) as [d Hd]. exists d. intros a Ha Hn.
assert (Hn' : a - 1 <> 0) by (intros C; apply Hn; simpl; lra).
specialize (Hd (a - 1) Hn'). rewrite Rplus_minus in Hd. apply Hd.
unfold ball in Ha; simpl in Ha; unfold AbsRing_ball, abs, minus, plus, opp in Ha; simpl in Ha.
  exact Ha.
Qed.
(* In the exponent, x^a derives to x^a log x; at x = 0 it is constant for a > 0. *)
Lemma pow_real_derive_exponent x a : 0 <= x -> 0 < a -> is_derive (fun a => pow_real x a) a
  (pow_real x a * ln x).
Proof.
intros [Hx | <-] Ha.
- apply (is_derive_ext (fun a => Rpower x a)); [intros; symmetry; now apply pow_real_pos | ].
  rewrite pow_real_pos by auto. unfold Rpower. auto_derive; [auto | ring].
- rewrite pow_real_0, Rmult_0_l by lra. apply (is_derive_ext_loc (fun _ => 0)); [ | auto_derive;
  auto].
  exists (mkposreal a Ha). intros b Hb. unfold ball in Hb; simpl in Hb; unfold AbsRing_ball, abs,
    minus, plus, opp in Hb; simpl in Hb.
  apply Rabs_def2 in Hb. rewrite pow_real_0; lra.
Qed.
(* Tsallis tends to negentropy everywhere on x >= 0, *)
Theorem tsallis_limit x : 0 <= x -> is_lim (fun a => tsallis_v a x) 1 (negentropy_v x).
Proof.
intros Hx. apply (is_lim_ext (fun a => (pow_real x a - pow_real x 1) / (a - 1))).
- intros a. unfold tsallis_v. now rewrite pow_real_1.
- apply is_lim_quotient. unfold negentropy_v. rewrite x_log_x_eq. rewrite <- (pow_real_1 x Hx) at 2.
  apply pow_real_derive_exponent; auto; lra.
Qed.
(* and its gradient to negentropy's. *)
Theorem tsallis_gradient_limit x : 0 < x -> is_lim (fun a => tsallis_g a x) 1 (negentropy_g x).
Proof.
intros Hx. set (F := fun a => a * Rpower x (a - 1)).
apply (is_lim_ext (fun a => (F a - F 1) / (a - 1))).
- intros a. unfold tsallis_g, F. rewrite pow_real_pos by auto.
  replace (Rpower x (1 - 1)) with 1; [now rewrite Rmult_1_l | ].
  unfold Rpower. replace ((1 - 1) * ln x) with 0 by ring. now rewrite exp_0.
- apply is_lim_quotient. unfold F, Rpower, negentropy_g. auto_derive; [auto | ].
  replace ((1 + Ropp 1) * ln x) with 0 by ring. rewrite exp_0. ring.
Qed.

(* Renyi: log of the sum derives in alpha, at alpha = 1, to sum x log x / sum x. *)
Lemma renyi_sum_one E x : vall E nonneg x -> renyi_sum E 1 x = Rsum E x.
Proof. intros H. apply Rsum_ext; intros i Hi. apply pow_real_1. exact (H i Hi). Qed.
Lemma renyi_sum_derive E x : vall E nonneg x ->
  is_derive (fun a => renyi_sum E a x) 1 (Rsum E (fun e => x_log_x (x e))).
Proof.
intros H. unfold renyi_sum. apply (is_derive_Rsum E (fun i a => pow_real (x i) a)). intros i Hi.
rewrite x_log_x_eq. assert (Hx := H i Hi). unfold nonneg in Hx.
replace (x i * ln (x i)) with (pow_real (x i) 1 * ln (x i)) by (rewrite pow_real_1; auto).
apply pow_real_derive_exponent; auto; lra.
Qed.
Lemma ln_renyi_sum_derive E x : vall E nonneg x -> 0 < Rsum E x ->
  is_derive (fun a => ln (renyi_sum E a x)) 1 (Rsum E (fun e => x_log_x (x e)) * / Rsum E x).
Proof.
intros H Hs. apply (is_derive_comp ln (fun a => renyi_sum E a x)); [ | now apply renyi_sum_derive].
rewrite renyi_sum_one by auto. apply is_derive_Reals. now apply derivable_pt_lim_ln.
Qed.
(* On the simplex Renyi tends to negentropy, *)
Theorem renyi_limit E p : simplex E p -> is_lim (fun a => renyi_v E a p) 1 (separable_sum E
  negentropy_v p).
Proof.
intros [Hp Hs]. apply (is_lim_ext (fun a => (ln (renyi_sum E a p) - ln (renyi_sum E 1 p)) / (a -
  1))).
- intros a. unfold renyi_v. rewrite renyi_sum_one, Hs, ln_1 by exact Hp. f_equal; ring.
- apply is_lim_quotient. assert (K := ln_renyi_sum_derive E p Hp ltac:(rewrite Hs; lra)).
  rewrite Hs, Rinv_1, Rmult_1_r in K. exact K.
Qed.
Lemma renyi_sum_near E x eps : vall E nonneg x -> 0 < Rsum E x -> 0 < eps ->
  exists d, 0 < d /\ forall a, Rabs (a - 1) < d -> Rabs (ln (renyi_sum E a x) - ln (Rsum E x)) <
    eps.
Proof.
intros H Hs He. assert (C := ln_renyi_sum_derive E x H Hs).
assert (K : continuity_pt (fun a => ln (renyi_sum E a x)) 1).
{ apply derivable_continuous_pt. eexists. apply is_derive_Reals. exact C. }
destruct (K eps He) as [d [Hd K2]]. exists d. split; auto. intros a Ha.
destruct (Req_dec a 1) as [-> | Hn].
- rewrite renyi_sum_one by auto. unfold Rminus. rewrite Rplus_opp_r, Rabs_R0. auto.
- assert (Z := K2 a). rewrite renyi_sum_one in Z by auto. apply Z. split; [ | exact Ha].
  split; [exact I | congruence].
Qed.
(* off it -- at sums above 1, and at sums below 1 -- it tends to minus and plus infinity. *)
Theorem renyi_diverges_above E x : vall E nonneg x -> 1 < Rsum E x ->
  forall M, exists d, 0 < d /\ forall a, 1 - d < a < 1 -> renyi_v E a x < - M.
Proof.
intros H Hs M. set (l := ln (Rsum E x)). assert (Hl : 0 < l) by (unfold l; rewrite <- ln_1;
  apply ln_increasing; lra).
destruct (renyi_sum_near E x (l / 2) H ltac:(lra) ltac:(lra)) as [d [Hd K]].
set (d2 := l / 2 / (Rabs M + 1)). assert (HM := Rabs_pos M). assert (HM' := Rle_abs M).
assert (Hd2 : 0 < d2) by (unfold d2; apply Rdiv_lt_0_compat; lra).
exists (Rmin d d2). split; [now apply Rmin_glb_lt | ]. intros a Ha.
assert (A1 := Rmin_l d d2). assert (A2 := Rmin_r d d2).
assert (B := K a ltac:(rewrite Rabs_left; lra)). fold l in B. apply Rabs_def2 in B.
unfold renyi_v. set (s := ln (renyi_sum E a x)) in *.
assert (D : d2 * (Rabs M + 1) = l / 2) by (unfold d2; field; lra).
assert (S : M * (1 - a) < s) by nra.
apply Ropp_lt_cancel. rewrite Ropp_involutive. replace (- (s / (a - 1))) with (s / (1 - a))
  by (field; lra).
apply (Rmult_lt_reg_r (1 - a)); [lra | ]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l; lra.
Qed.
Theorem renyi_diverges_below E x : vall E nonneg x -> 0 < Rsum E x < 1 ->
  forall M, exists d, 0 < d /\ forall a, 1 - d < a < 1 -> M < renyi_v E a x.
Proof.
intros H Hs M. set (l := - ln (Rsum E x)).
assert (Hl : 0 < l) by (unfold l; assert (K := ln_increasing (Rsum E x) 1 ltac:(lra) ltac:(lra));
  rewrite ln_1 in K; lra).
destruct (renyi_sum_near E x (l / 2) H ltac:(lra) ltac:(lra)) as [d [Hd K]].
set (d2 := l / 2 / (Rabs M + 1)). assert (HM := Rabs_pos M). assert (HM' := Rle_abs M).
assert (Hd2 : 0 < d2) by (unfold d2; apply Rdiv_lt_0_compat; lra).
exists (Rmin d d2). split; [now apply Rmin_glb_lt | ]. intros a Ha.
assert (A1 := Rmin_l d d2). assert (A2 := Rmin_r d d2).
assert (B := K a ltac:(rewrite Rabs_left; lra)). apply Rabs_def2 in B.
unfold renyi_v. set (s := ln (renyi_sum E a x)) in *.
assert (D : d2 * (Rabs M + 1) = l / 2) by (unfold d2; field; lra).
assert (S : M * (1 - a) < - s) by (unfold l in *; nra).
replace (s / (a - 1)) with (- s / (1 - a)) by (field; lra).
apply (Rmult_lt_reg_r (1 - a)); [lra | ]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l; lra.
Qed.

(* (M3) *)
Definition centred (E : nat) (q : vec) : vec := fun e => q e - / INR E * Rsum E q.
(* Renyi's centred price tends to negentropy's, divided by the sum of the loads, *)
Theorem renyi_centred_price_limit E x e : (0 < E)%nat -> renyi_interior E x -> (e < E)%nat ->
  is_lim (fun a => centred E (renyi_g E a x) e) 1 (centred E (vmap negentropy_g x) e / Rsum E x).
Proof.
intros HE Hx He. assert (N : INR E <> 0) by (apply not_0_INR; lia).
assert (Hx0 : vall E nonneg x) by (intros i Hi; left; exact (Hx i Hi)).
assert (Hs : 0 < Rsum E x) by (apply Rsum_pos; auto).
set (W := fun a => pow_real (x e) (a - 1) - / INR E * Rsum E (fun j => pow_real (x j) (a - 1))).
set (F := fun a => a / renyi_sum E a x * W a).
assert (W1 : W 1 = 0).
{ unfold W. rewrite (Rsum_ext E _ (fun _ => 1)); [ | intros; replace (1 - 1) with 0 by ring;
  apply pow_real_exponent_0].
  rewrite Rsum_const. replace (1 - 1) with 0 by ring. rewrite pow_real_exponent_0. field; auto. }
assert (P : forall j, (j < E)%nat -> is_derive (fun a => pow_real (x j) (a - 1)) 1 (ln (x j))).
{ intros j Hj. assert (Hxj : 0 < x j) by apply Hx, Hj.
  apply (is_derive_ext (fun a => Rpower (x j) (a - 1))); [intros; symmetry;
    now apply pow_real_pos | ].
  unfold Rpower. auto_derive; [auto | ]. replace ((1 + Ropp 1) * ln (x j)) with 0 by ring.
    rewrite exp_0; ring. }
assert (DW : is_derive W 1 (minus (ln (x e)) (/ INR E * Rsum E (fun j => ln (x j))))).
{ unfold W. apply (is_derive_minus (fun a => pow_real (x e) (a - 1))); [now apply P | ].
  apply (is_derive_scal (fun a => Rsum E (fun j => pow_real (x j) (a - 1)))).
  now apply (is_derive_Rsum E (fun j a => pow_real (x j) (a - 1))). }
apply (is_lim_ext (fun a => a / renyi_sum E a x * ((W a - W 1) / (a - 1)))).
- intros a. rewrite W1. unfold centred, renyi_g, W.
  rewrite (Rsum_ext E (fun e0 => a * pow_real (x e0) (a - 1) / ((a - 1) * renyi_sum E a x))
    (fun j => (a / ((a - 1) * renyi_sum E a x)) * pow_real (x j) (a - 1))) by (intros; unfold Rdiv;
      ring).
  rewrite Rsum_scal. unfold Rdiv. rewrite Rinv_mult. ring.
- replace (centred E (vmap negentropy_g x) e / Rsum E x)
    with (1 / Rsum E x * minus (ln (x e)) (/ INR E * Rsum E (fun j => ln (x j)))).
  2: { unfold centred, vmap, negentropy_g. rewrite (Rsum_plus E (fun j => ln (x j)) (fun _ => 1)),
    Rsum_const.
       unfold minus, plus, opp; simpl. field. lra. }
  apply (is_lim_mult (fun a => a / renyi_sum E a x) (fun a => (W a - W 1) / (a - 1)) 1
    (Finite (1 / Rsum E x)) (Finite (minus (ln (x e)) (/ INR E * Rsum E (fun j => ln (x j))))));
      [ | now apply is_lim_quotient | exact I].
  rewrite <- (renyi_sum_one E x Hx0).
  apply (is_lim_continuity (fun a => a / renyi_sum E a x)).
  apply continuity_pt_div; [apply continuity_pt_id | | rewrite renyi_sum_one by auto; lra].
  apply derivable_continuous_pt. eexists. apply is_derive_Reals. now apply renyi_sum_derive.
Qed.
(* while the price itself tends to minus infinity: the common offset a/((a-1) sum x^a) diverges. *)
Theorem renyi_price_diverges E x e : (0 < E)%nat -> renyi_interior E x -> (e < E)%nat ->
  forall M, exists d, 0 < d /\ forall a, 1 - d < a < 1 -> renyi_g E a x e < - M.
Proof.
intros HE Hx He M.
assert (Hx0 : vall E nonneg x) by (intros i Hi; left; exact (Hx i Hi)).
assert (Hs : 0 < Rsum E x) by (apply Rsum_pos; auto). assert (Hxe : 0 < x e) by apply Hx, He.
set (F := fun a => a * Rpower (x e) (a - 1) / renyi_sum E a x).
assert (C : continuity_pt F 1).
{ apply continuity_pt_div.
  - apply derivable_continuous_pt. exists (1 + ln (x e)). apply is_derive_Reals. unfold Rpower.
    auto_derive; [auto | ]. replace ((1 + Ropp 1) * ln (x e)) with 0 by ring. rewrite exp_0; ring.
  - apply derivable_continuous_pt. eexists. apply is_derive_Reals. now apply renyi_sum_derive.
  - rewrite renyi_sum_one by auto; lra. }
assert (F1 : F 1 = / Rsum E x).
{ unfold F, Rpower. rewrite renyi_sum_one by auto. replace ((1 - 1) * ln (x e)) with 0 by ring.
  rewrite exp_0. field; lra. }
set (l := / Rsum E x) in *. assert (Hl : 0 < l) by now apply Rinv_0_lt_compat.
destruct (C (l / 2) ltac:(lra)) as [d [Hd K]].
set (d2 := l / 2 / (Rabs M + 1)). assert (HM := Rabs_pos M). assert (HM' := Rle_abs M).
assert (Hd2 : 0 < d2) by (unfold d2; apply Rdiv_lt_0_compat; lra).
exists (Rmin d d2). split; [now apply Rmin_glb_lt | ]. intros a Ha.
assert (A1 := Rmin_l d d2). assert (A2 := Rmin_r d d2).
assert (B : Rabs (F a - F 1) < l / 2).
{ apply (K a). split; [split; [exact I | lra] | simpl; unfold R_dist; rewrite Rabs_left; lra]. }
rewrite F1 in B. apply Rabs_def2 in B.
replace (renyi_g E a x e) with (- (F a / (1 - a))).
2: { unfold renyi_g, F. rewrite pow_real_pos by auto. generalize (renyi_sum_pos E a HE x Hx).
  intros. field. lra. }
apply Ropp_lt_contravar.
assert (D : d2 * (Rabs M + 1) = l / 2) by (unfold d2; field; lra).
apply (Rmult_lt_reg_r (1 - a)); [lra | ]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l, Rmult_1_r
  by lra. nra.
Qed.

(* ---------- p -> infinity ---------- *)
Lemma is_lim_exp_affine k c : 0 < k -> is_lim (fun p => exp (k * (p - c))) p_infty p_infty.
Proof.
intros Hk. apply is_lim_spec. intros M. exists (c + M / k). intros p Hp.
assert (M < k * (p - c)).
{ apply (Rmult_lt_compat_l k) in Hp; auto. replace (k * (c + M / k)) with (k * c + M) in Hp
  by (field; lra). lra. }
generalize (exp_ineq1_le (k * (p - c))). lra.
Qed.
(* A price is 1 at load 1 and tends to 0 at every load below, *)
Theorem lp_price_at_one p : 1 < p -> lp_g p 1 = 1.
Proof. intros Hp. unfold lp_g, sgn. destruct (Rlt_dec 0 1); [ | lra].
  rewrite Rabs_R1, pow_real_1_base. ring. Qed.
Theorem lp_price_vanishes x : 0 < x < 1 -> is_lim (fun p => lp_g p x) p_infty 0.
Proof.
intros Hx. assert (L : ln x < 0) by (rewrite <- ln_1; apply ln_increasing; lra).
apply (is_lim_ext (fun p => / exp (- ln x * (p - 1)))).
- intros p. unfold lp_g, sgn. destruct (Rlt_dec 0 x); [ | lra].
  rewrite Rabs_pos_eq, pow_real_pos by lra.
  rewrite <- exp_Ropp. unfold Rpower. rewrite Rmult_1_l. f_equal; ring.
- replace (Finite 0) with (Rbar_inv p_infty) by reflexivity.
  apply is_lim_inv; [ | easy]. apply is_lim_exp_affine. lra.
Qed.
(* while the ratio of two prices grows without bound. *)
Theorem lp_price_ratio_diverges x z : 0 < z < x -> is_lim (fun p => lp_g p x / lp_g p z) p_infty
  p_infty.
Proof.
intros Hx. assert (L := ln_increasing z x ltac:(lra) ltac:(lra)).
apply (is_lim_ext (fun p => exp ((ln x - ln z) * (p - 1)))); [ | apply is_lim_exp_affine; lra].
intros p. unfold lp_g, sgn. destruct (Rlt_dec 0 x); [ | lra]. destruct (Rlt_dec 0 z); [ | lra].
rewrite !Rabs_pos_eq, !pow_real_pos, !Rmult_1_l by lra. unfold Rdiv, Rpower.
  rewrite <- exp_Ropp, <- exp_plus.
f_equal; ring.
Qed.
(* The figures of erratum C1: loads .4 and .3 at p = 100. *)
Lemma lp_g_pow n x : 0 < x -> lp_g (INR n + 1) x = x ^ n.
Proof.
intros Hx. unfold lp_g, sgn. destruct (Rlt_dec 0 x); [ | lra].
  rewrite Rabs_pos_eq, pow_real_pos by lra.
replace (INR n + 1 - 1) with (INR n) by ring. rewrite Rpower_pow by auto. ring.
Qed.
Theorem lp_price_example :
  4 / 10 ^ 40 < lp_g 100 (4 / 10) < 5 / 10 ^ 40 /\ 2 * 10 ^ 12 < lp_g 100 (4 / 10) / lp_g 100 (3 /
    10) < 3 * 10 ^ 12.
Proof.
replace 100 with (INR 99 + 1) by (rewrite INR_IZR_INZ; simpl; ring).
rewrite !lp_g_pow by lra. lra.
Qed.
(* 2^-150 is half the smallest subnormal of binary32, which rounds to 0: the price of a load of 1/64
  is
   no more than that exactly from p = 26 on. *)
Theorem lp_price_underflow p : 1 < p -> (lp_g p (1 / 64) <= / 2 ^ 150 <-> 26 <= p).
Proof.
intros Hp. assert (L2 : 0 < ln 2) by (rewrite <- ln_1; apply ln_increasing; lra).
assert (A : lp_g p (1 / 64) = exp (- (6 * ln 2) * (p - 1))).
{ unfold lp_g, sgn. destruct (Rlt_dec 0 (1 / 64)); [ | lra]. rewrite Rabs_pos_eq, pow_real_pos,
  Rmult_1_l by lra.
  unfold Rpower. f_equal. replace (1 / 64) with (/ 2 ^ 6) by lra. rewrite ln_Rinv by lra.
  rewrite <- (Rpower_pow 6 2) by lra. unfold Rpower. rewrite ln_exp. simpl INR. ring. }
assert (B : / 2 ^ 150 = exp (- (150 * ln 2))).
{ rewrite exp_Ropp. f_equal. rewrite <- (Rpower_pow 150 2) by lra. unfold Rpower. f_equal.
  rewrite INR_IZR_INZ. reflexivity. }
rewrite A, B. split; intros H.
- apply Rnot_lt_le; intros C. apply (Rle_not_lt _ _ H). apply exp_increasing. nra.
- destruct H as [H | <-]; [left; apply exp_increasing; nra | right; f_equal; ring].
Qed.

(* ---------- Renyi for alpha > 1 ---------- *)
(* Along a ray the potential is alpha/(alpha-1) log t plus a constant: concave,
  so that off the simplex
   it is not convex for any alpha > 1 and any number of experts. *)
Theorem renyi_above_one_not_convex E a x : (0 < E)%nat -> 1 < a -> renyi_interior E x ->
  1 / 2 * renyi_v E a x + 1 / 2 * renyi_v E a (vsc 3 x) < renyi_v E a (vsc 2 x).
Proof.
intros HE Ha Hx.
assert (R : forall t, 0 < t -> renyi_v E a (vsc t x) = renyi_v E a x + a / (a - 1) * ln t).
{ intros t Ht. unfold renyi_v.
  assert (Sx := renyi_sum_pos E a HE x Hx).
  replace (renyi_sum E a (vsc t x)) with (pow_real t a * renyi_sum E a x).
  - rewrite ln_mult, ln_pow_real by (auto; now apply pow_real_gt0). field. lra.
  - unfold renyi_sum. rewrite <- Rsum_scal. apply Rsum_ext. intros i Hi. unfold vsc.
    assert (0 < x i) by apply Hx, Hi. rewrite !pow_real_pos; auto; [ | nra].
    unfold Rpower. rewrite ln_mult, <- exp_plus by auto. f_equal; ring. }
rewrite !R by lra.
assert (0 < a / (a - 1)) by (apply Rdiv_lt_0_compat; lra).
assert (ln 3 < 2 * ln 2); [ | nra].
replace (2 * ln 2) with (ln (2 * 2)) by (rewrite ln_mult; lra). apply ln_increasing; lra.
Qed.
Lemma INR_above r : 0 < r -> exists n, r < INR n.
Proof.
intros Hr. destruct (archimed r) as [H _]. exists (Z.to_nat (up r)).
rewrite INR_IZR_INZ, Z2Nat.id; auto. apply le_IZR. lra.
Qed.
(* On the simplex: for every alpha > 1 it is not convex once there are enough experts.
  The points are
   the vertex, and half and a quarter of the load moved evenly to the n other experts. *)
Definition moved (n : nat) (t : R) : vec := fun e => match e with O => 1 - t | _ => t / INR n end.
Lemma Rsum_moved n f t : Rsum (S n) (fun e => f (moved n t e)) = f (1 - t) + INR n * f (t / INR n).
Proof.
assert (H : forall k, Rsum (S k) (fun e => f (moved n t e)) = f (1 - t) + INR k * f (t / INR n)).
{ induction k; [simpl; ring | ]. change (Rsum (S (S k)) ?F) with (Rsum (S k) F + F (S k)).
  rewrite IHk, S_INR.
  unfold moved. ring. }
apply H.
Qed.
Lemma moved_simplex n t : (0 < n)%nat -> 0 <= t <= 1 -> simplex (S n) (moved n t).
Proof.
intros Hn Ht. assert (N : 0 < INR n) by (apply lt_0_INR; auto). split.
- intros i Hi. unfold moved. destruct i; [lra | ]. apply Rmult_le_pos; [lra | left;
  now apply Rinv_0_lt_compat].
- rewrite (Rsum_moved n (fun s => s)). field. lra.
Qed.
Theorem renyi_above_one_not_convex_simplex a : 1 < a -> exists n0, (0 < n0)%nat /\ forall n,
  (n0 <= n)%nat ->
  simplex (S n) (moved n 0) /\ simplex (S n) (moved n (1 / 2)) /\
  veq (S n) (moved n (1 / 4)) (segment (moved n 0) (moved n (1 / 2)) (1 / 2)) /\
  1 / 2 * renyi_v (S n) a (moved n 0) + 1 / 2 * renyi_v (S n) a (moved n (1 / 2)) < renyi_v (S n) a
    (moved n (1 / 4)).
Proof.
intros Ha.
(* n^(1-a) <= 1/8 from some n on *)
assert (P8 := pow_real_gt0 8 (/ (a - 1)) ltac:(lra)).
destruct (INR_above _ P8) as [n0 Hn0].
assert (N0 : (0 < n0)%nat) by (apply INR_lt; simpl; lra).
exists n0. split; auto. intros n Hn.
assert (Nn : pow_real 8 (/ (a - 1)) < INR n) by (apply le_INR in Hn; lra).
assert (N : 0 < INR n) by lra.
split; [apply moved_simplex; [lia | lra] | split; [apply moved_simplex; [lia | lra] | split]].
{ intros i Hi. unfold segment, vadd, vsc, vsub, moved. destruct i; field; lra. }
set (c := INR n * pow_real (/ INR n) a).
assert (Hc : 0 < c) by (apply Rmult_lt_0_compat; auto; apply pow_real_gt0, Rinv_0_lt_compat; auto).
assert (C8 : c <= 1 / 8).
{ assert (E1 : c = pow_real (INR n) (- (a - 1))).
  { unfold c. rewrite <- (pow_real_1 (INR n)) at 1 by lra.
    replace (/ INR n) with (pow_real (INR n) (- 1)).
    - rewrite pow_real_mul, pow_real_add by auto. f_equal; ring.
    - now apply pow_real_minus_1. }
  rewrite E1. replace (1 / 8) with (pow_real (pow_real 8 (/ (a - 1))) (- (a - 1))).
  - left. apply pow_real_decr; lra.
  - rewrite pow_real_mul by (left; lra). replace (/ (a - 1) * - (a - 1)) with (-1) by (field; lra).
    rewrite pow_real_minus_1; lra. }
assert (V : forall t, 0 < t <= 1 -> renyi_sum (S n) a (moved n t) = pow_real (1 - t) a + c *
  pow_real t a).
{ intros t Ht. unfold renyi_sum. rewrite (Rsum_moved n (fun s => pow_real s a)). unfold c.
  rewrite Rmult_assoc. f_equal. f_equal. assert (0 < / INR n) by now apply Rinv_0_lt_compat.
  unfold Rdiv. rewrite !pow_real_pos by (lra || (apply Rmult_lt_0_compat; lra)).
  unfold Rpower. rewrite ln_mult, <- exp_plus by lra. f_equal; ring. }
assert (V0 : renyi_v (S n) a (moved n 0) = 0).
{ unfold renyi_v, renyi_sum. rewrite (Rsum_moved n (fun s => pow_real s a)).
  unfold Rdiv at 2. rewrite Rmult_0_l, (pow_real_0 0), Rminus_0_r, pow_real_1_base by lra.
  rewrite Rmult_0_r, Rplus_0_r, ln_1. unfold Rdiv; ring. }
rewrite V0. unfold renyi_v. rewrite !V by lra. replace (1 - 1 / 2) with (1 / 2) by lra.
  replace (1 - 1 / 4) with (3 / 4) by lra.
set (u := pow_real (1 / 2) a + c * pow_real (1 / 2) a).
  set (w := pow_real (3 / 4) a + c * pow_real (1 / 4) a).
assert (Q := pow_real_gt0 (1 / 2) a ltac:(lra)). assert (Q3 := pow_real_gt0 (3 / 4) a ltac:(lra)).
assert (Q4 := pow_real_gt0 (1 / 4) a ltac:(lra)).
assert (Hu : 0 < u) by (unfold u; nra). assert (Hw : 0 < w) by (unfold w; nra).
assert (K : u < w * w).
{ assert (E9 : pow_real (3 / 4) a * pow_real (3 / 4) a = pow_real (9 / 8) a * pow_real (1 / 2) a).
  { rewrite !pow_real_pos by lra. unfold Rpower. rewrite <- !exp_plus. f_equal.
    rewrite <- !Rmult_plus_distr_l, <- !ln_mult by lra. do 2 f_equal. lra. }
  assert (G : 9 / 8 < pow_real (9 / 8) a).
  { rewrite <- (pow_real_1 (9 / 8)) at 1 by lra. rewrite !pow_real_pos by lra. unfold Rpower.
    apply exp_increasing.
    assert (0 < ln (9 / 8)) by (rewrite <- ln_1; apply ln_increasing; lra). nra. }
  assert (W : pow_real (3 / 4) a * pow_real (3 / 4) a <= w * w) by (apply Rmult_le_compat;
    unfold w; nra).
  assert (U1 : pow_real (1 / 2) a * (1 + c) <= pow_real (1 / 2) a * (9 / 8))
    by (apply Rmult_le_compat_l; lra).
  assert (U2 : 9 / 8 * pow_real (1 / 2) a < pow_real (9 / 8) a * pow_real (1 / 2) a)
    by (now apply Rmult_lt_compat_r).
  unfold u. lra. }
assert (L : ln u < ln w + ln w) by (rewrite <- ln_mult by auto; now apply ln_increasing).
assert (0 < / (a - 1)) by (apply Rinv_0_lt_compat; lra). unfold Rdiv. nra.
Qed.
(* The example of erratum C5: alpha = 2 and three experts. *)
Definition three (x y z : R) : vec := fun e => match e with O => x | 1%nat => y | _ => z end.
Lemma renyi_two_three x y z : 0 <= x -> 0 <= y -> 0 <= z -> renyi_v 3 2 (three x y z) = ln (x ^ 2 +
  y ^ 2 + z ^ 2).
Proof.
intros Hx Hy Hz. assert (P : forall s, 0 <= s -> pow_real s 2 = s ^ 2).
{ intros s Hs. replace 2 with (1 + 1) by ring. rewrite <- pow_real_add, pow_real_1
  by (lra || (right; lra)). ring. }
unfold renyi_v, renyi_sum. simpl Rsum. unfold three. rewrite !P by auto.
replace (2 - 1) with 1 by ring. unfold Rdiv. rewrite Rinv_1, Rmult_1_r. f_equal. ring.
Qed.
Theorem renyi_two_not_convex :
  1 / 2 * renyi_v 3 2 (three 1 0 0) + 1 / 2 * renyi_v 3 2 (three (13 / 15) (1 / 15) (1 / 15))
  < renyi_v 3 2 (three (14 / 15) (1 / 30) (1 / 30)).
Proof.
rewrite !renyi_two_three by lra. replace (1^2 + 0^2 + 0^2) with 1 by ring. rewrite ln_1.
set (u := (13 / 15)^2 + _ + _). set (v := (14 / 15)^2 + _ + _).
assert (ln u < ln v + ln v); [ | lra].
assert (0 < u) by (unfold u; nra). assert (0 < v) by (unfold v; nra).
rewrite <- ln_mult by auto. apply ln_increasing; auto. unfold u, v. lra.
Qed.
