(* The power of the specification: pow_real, right at 0. (Rpower of the standard library has
   Rpower 0 a = 1.) *)
From Coq Require Import Reals Lra Lia.
From Coquelicot Require Import Coquelicot.
From Phibal Require Import Legendre Vector Potentials.
Open Scope R_scope.

Lemma pow_real_pos x a : 0 < x -> pow_real x a = Rpower x a.
Proof. unfold pow_real; destruct (Rlt_dec 0 x); [auto | lra]. Qed.
Lemma pow_real_0 x a : x <= 0 -> 0 < a -> pow_real x a = 0.
Proof. unfold pow_real; destruct (Rlt_dec 0 x), (Rlt_dec 0 a); intros; auto; contradiction || lra.
  Qed.
Lemma pow_real_exponent_0 x : pow_real x 0 = 1.
Proof. unfold pow_real; destruct (Rlt_dec 0 x), (Rlt_dec 0 0); auto; try lra; rewrite Rmult_0_l;
  apply exp_0. Qed.
Lemma Rpower_gt0 x a : 0 < Rpower x a. Proof. apply exp_pos. Qed.
Lemma pow_real_gt0 x a : 0 < x -> 0 < pow_real x a.
Proof. intros H; rewrite pow_real_pos by auto. apply Rpower_gt0. Qed.
Lemma pow_real_ge0 x a : 0 <= pow_real x a.
Proof.
unfold pow_real; destruct (Rlt_dec 0 x); [left; apply exp_pos | ]. destruct (Rlt_dec 0 a); lra.
Qed.
Lemma pow_real_1_base a : pow_real 1 a = 1.
Proof. rewrite pow_real_pos by lra. unfold Rpower. rewrite ln_1, Rmult_0_r. apply exp_0. Qed.
Lemma pow_real_mul x a b : 0 < x \/ 0 < a -> pow_real (pow_real x a) b = pow_real x (a * b).
Proof.
intros H0. destruct (Rlt_dec 0 x) as [H | H].
- rewrite (pow_real_pos x a), pow_real_pos, (pow_real_pos x) by (auto; apply Rpower_gt0).
  apply Rpower_mult.
- destruct H0 as [H0 | Ha]; [lra | ]. rewrite (pow_real_0 x a) by lra. unfold pow_real.
  destruct (Rlt_dec 0 x), (Rlt_dec 0 0); try lra. destruct (Rlt_dec 0 b), (Rlt_dec 0 (a * b));
    auto; exfalso; nra.
Qed.
Lemma pow_real_add x a b : 0 < x \/ 0 <= a /\ 0 <= b -> pow_real x a * pow_real x b = pow_real x (a
  + b).
Proof.
intros H0. destruct (Rlt_dec 0 x) as [H | H].
- rewrite !pow_real_pos, Rpower_plus by auto; ring.
- destruct H0 as [H0 | H0]; [lra | ]. unfold pow_real. destruct (Rlt_dec 0 x); try lra.
  destruct (Rlt_dec 0 a), (Rlt_dec 0 b), (Rlt_dec 0 (a + b)); lra.
Qed.
Lemma pow_real_1 x : 0 <= x -> pow_real x 1 = x.
Proof. intros [H | <-]; [rewrite pow_real_pos, Rpower_1; auto | rewrite pow_real_0; lra]. Qed.
Lemma Rpower_incr a x z : 0 < a -> 0 < x < z -> Rpower x a < Rpower z a.
Proof. intros Ha [Hx Hz]. unfold Rpower. apply exp_increasing, Rmult_lt_compat_l; auto.
  now apply ln_increasing. Qed.
Lemma pow_real_incr a : 0 < a -> strictly_increasing (fun t => 0 <= t) (fun t => pow_real t a).
Proof.
intros Ha x z Hx Hz H. rewrite (pow_real_pos z) by lra. destruct Hx as [Hx | <-].
- rewrite pow_real_pos by auto. apply Rpower_incr; auto.
- rewrite pow_real_0 by lra. apply Rpower_gt0.
Qed.
Lemma pow_real_decr a x z : a < 0 -> 0 < x < z -> pow_real z a < pow_real x a.
Proof.
intros Ha [Hx Hz]. rewrite !pow_real_pos by lra. unfold Rpower. apply exp_increasing.
generalize (ln_increasing x z Hx Hz). nra.
Qed.
Lemma pow_real_derive a x : 0 < x -> is_derive (fun t => pow_real t a) x (a * pow_real x (a - 1)).
Proof.
intros Hx. apply (is_derive_ext_loc (fun t => Rpower t a)).
- exists (mkposreal x Hx). intros z Hz. unfold ball in Hz; simpl in Hz; unfold AbsRing_ball, abs,
  minus, plus, opp in Hz; simpl in Hz.
  apply Rabs_def2 in Hz. symmetry; apply pow_real_pos; lra.
- rewrite pow_real_pos by auto. unfold Rminus. rewrite Rpower_plus, Rpower_Ropp, Rpower_1 by auto.
  unfold Rpower. auto_derive; [auto | field; lra].
Qed.
Lemma pow_real_derive_0 a : 1 < a -> is_derive (fun t => pow_real t a) 0 0.
Proof.
intros Ha. apply is_derive_Reals. intros eps Heps.
exists (mkposreal _ (Rpower_gt0 eps (/ (a - 1)))). intros h Hh Hlt. simpl in Hlt.
rewrite (pow_real_0 0) by lra. rewrite Rplus_0_l, !Rminus_0_r. destruct (Rlt_dec 0 h) as [H | H].
- rewrite Rabs_pos_eq in Hlt by lra. rewrite Rabs_pos_eq by (apply Rmult_le_pos;
  [apply pow_real_ge0 | left; apply Rinv_0_lt_compat; auto]).
  replace (pow_real h a / h) with (pow_real h (a - 1)).
  + rewrite pow_real_pos by auto. replace eps with (Rpower (Rpower eps (/ (a - 1))) (a - 1)).
    * apply Rpower_incr; lra.
    * rewrite Rpower_mult, Rinv_l, Rpower_1; auto; lra.
  + rewrite !pow_real_pos by auto. unfold Rminus. rewrite Rpower_plus, Rpower_Ropp, Rpower_1; auto.
- rewrite pow_real_0 by lra. unfold Rdiv; rewrite Rmult_0_l, Rabs_R0; auto.
Qed.
(* The convention of the specification: x^a is unbounded as x falls to 0, for a < 0. *)
Theorem pow_real_unbounded a M : a < 0 -> exists d, 0 < d /\ forall x, 0 < x < d ->
  M < pow_real x a.
Proof.
intros Ha. assert (HM : 0 < Rabs M + 1) by (generalize (Rabs_pos M); lra).
exists (pow_real (Rabs M + 1) (/ a)). split; [now apply pow_real_gt0 | ].
intros x Hx. generalize (pow_real_decr a x _ Ha Hx).
rewrite pow_real_mul, Rinv_l, pow_real_1 by (lra || (left; lra)). generalize (Rle_abs M). lra.
Qed.
Lemma ln_pow_real x a : 0 < x -> ln (pow_real x a) = a * ln x.
Proof. intros H. rewrite pow_real_pos by auto. unfold Rpower. apply ln_exp. Qed.
Lemma pow_real_opp x a : 0 < x -> pow_real x (- a) = / pow_real x a.
Proof. intros H. rewrite !pow_real_pos by auto. apply Rpower_Ropp. Qed.

(* x log x, sgn. *)
Lemma ln_nonpos x : x <= 0 -> ln x = 0.
Proof. intros H. unfold ln. destruct (Rlt_dec 0 x); [exfalso; lra | auto]. Qed.
Lemma x_log_x_eq x : x_log_x x = x * ln x.
Proof. unfold x_log_x. destruct (Rlt_dec 0 x); auto. rewrite ln_nonpos by lra. ring. Qed.
Lemma sgn_sign x : sgn x = sign x.
Proof.
unfold sgn. destruct (Rlt_dec 0 x); [now rewrite sign_eq_1 | ].
destruct (Rlt_dec x 0); [now rewrite sign_eq_m1 | ]. replace x with 0 by lra. now rewrite sign_0.
Qed.
Lemma is_derive_divc f x l c : c <> 0 -> is_derive f x (c * l) -> is_derive (fun t => f t / c) x l.
Proof.
intros Hc H. replace l with (scal (/ c) (c * l)). 2: { unfold scal; simpl; unfold mult; simpl;
  field; auto. }
apply (is_derive_ext (fun t => scal (/ c) (f t))).
- intros t; unfold scal; simpl; unfold mult; simpl. unfold Rdiv. ring.
- now apply is_derive_scal.
Qed.
Lemma pow_real_minus_1 x : 0 < x -> pow_real x (-1) = / x.
Proof.
intros H. rewrite pow_real_pos by auto. unfold Rpower.
replace (-1 * ln x) with (- ln x) by ring. now rewrite exp_Ropp, exp_ln.
Qed.
