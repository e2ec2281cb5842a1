(* The potentials as spec/acsl spells them (AcslDefinitions, translated) are those of Potentials.v,
  on
   the whole line. *)
From Coq Require Import Reals ZArith Lra Lia.
From Coquelicot Require Import Coquelicot.
From Phibal Require Import Vector Potentials Power Instances.
From Phibal Require Import AcslDefinitions.
Open Scope R_scope.

Theorem spelled_power x a : acsl_power x a = pow_real x a.
Proof.
unfold acsl_power, pow_real. destruct (Rgt_dec x 0), (Rlt_dec 0 x), (Rgt_dec a 0), (Rlt_dec 0 a);
  auto; lra.
Qed.
Theorem spelled_x_log_x x : acsl_x_log_x x = x_log_x x.
Proof. unfold acsl_x_log_x, x_log_x. destruct (Rgt_dec x 0), (Rlt_dec 0 x); auto; lra. Qed.
Theorem spelled_sgn x : acsl_sgn x = sgn x.
Proof. unfold acsl_sgn, sgn. destruct (Rgt_dec x 0), (Rlt_dec 0 x), (Rlt_dec x 0); lra. Qed.
Theorem spelled_sigmoid x : acsl_sigmoid x = sigmoid x.
Proof. reflexivity. Qed.
Theorem spelled_tanh x : acsl_tanh_ x = tanh x.
Proof.
unfold acsl_tanh_, tanh, sinh, cosh. replace (2 * x) with (x + x) by ring.
  rewrite exp_plus, exp_Ropp.
generalize (exp_pos x); intros. field. repeat split; try lra; nra.
Qed.
Theorem spelled_cosh x : acsl_cosh x = cosh x.
Proof. reflexivity. Qed.

(* (P1) *)
Theorem spelled_euclid_value a x : acsl_euclid_value a x = euclid_v x.
Proof. unfold acsl_euclid_value, euclid_v. field. Qed.
Theorem spelled_euclid_gradient a x : acsl_euclid_gradient a x = euclid_g x.
Proof. reflexivity. Qed.
Theorem spelled_euclid_second a x : acsl_euclid_second a x = euclid_h x.
Proof. reflexivity. Qed.
Theorem spelled_euclid_conjugate a y : acsl_euclid_conjugate a y = euclid_c y.
Proof. unfold acsl_euclid_conjugate, euclid_c. field. Qed.
Theorem spelled_euclid_conjugate_gradient a y : acsl_euclid_conjugate_gradient a y = euclid_d y.
Proof. reflexivity. Qed.
(* (P2) *)
Theorem spelled_lp_value a x : acsl_lp_value a x = lp_v a x.
Proof. unfold acsl_lp_value, lp_v. now rewrite spelled_power. Qed.
Theorem spelled_lp_gradient a x : acsl_lp_gradient a x = lp_g a x.
Proof. unfold acsl_lp_gradient, lp_g. now rewrite spelled_sgn, spelled_power. Qed.
Theorem spelled_lp_second a x : acsl_lp_second a x = lp_h a x.
Proof. unfold acsl_lp_second, lp_h. now rewrite spelled_power. Qed.
Theorem spelled_lp_conjugate a y : acsl_lp_conjugate a y = lp_c a y.
Proof. unfold acsl_lp_conjugate, lp_c. now rewrite spelled_power. Qed.
Theorem spelled_lp_conjugate_gradient a y : acsl_lp_conjugate_gradient a y = lp_d a y.
Proof. unfold acsl_lp_conjugate_gradient, lp_d. now rewrite spelled_sgn, spelled_power. Qed.
(* (P3) *)
Theorem spelled_soft_l1_value a x : acsl_soft_l1_value a x = soft_l1_v a x.
Proof. reflexivity. Qed.
Theorem spelled_soft_l1_gradient a x : acsl_soft_l1_gradient a x = soft_l1_g a x.
Proof. reflexivity. Qed.
Theorem spelled_soft_l1_second a x : acsl_soft_l1_second a x = soft_l1_h a x.
Proof. unfold acsl_soft_l1_second, soft_l1_h. f_equal. ring. Qed.
Theorem spelled_soft_l1_conjugate a y : acsl_soft_l1_conjugate a y = soft_l1_c a y.
Proof. reflexivity. Qed.
Theorem spelled_soft_l1_conjugate_gradient a y : acsl_soft_l1_conjugate_gradient a y = soft_l1_d a
  y.
Proof. reflexivity. Qed.
(* (P4) *)
Theorem spelled_negentropy_value a x : acsl_negentropy_value a x = negentropy_v x.
Proof. apply spelled_x_log_x. Qed.
Theorem spelled_negentropy_gradient a x : acsl_negentropy_gradient a x = negentropy_g x.
Proof. reflexivity. Qed.
Theorem spelled_negentropy_second a x : acsl_negentropy_second a x = negentropy_h x.
Proof.
unfold acsl_negentropy_second, negentropy_h.
try (destruct (Req_EM_T x 0) as [-> | ]; [unfold Rdiv; rewrite Rinv_0; ring | ]). reflexivity.
Qed.
Theorem spelled_negentropy_conjugate a y : acsl_negentropy_conjugate a y = negentropy_c y.
Proof. reflexivity. Qed.
Theorem spelled_negentropy_conjugate_gradient a y : acsl_negentropy_conjugate_gradient a y =
  negentropy_d y.
Proof. reflexivity. Qed.
(* (P5) *)
Theorem spelled_tsallis_value a x : acsl_tsallis_value a x = tsallis_v a x.
Proof. unfold acsl_tsallis_value, tsallis_v. now rewrite spelled_power. Qed.
Theorem spelled_tsallis_gradient a x : acsl_tsallis_gradient a x = tsallis_g a x.
Proof. unfold acsl_tsallis_gradient, tsallis_g. now rewrite spelled_power. Qed.
Theorem spelled_tsallis_second a x : acsl_tsallis_second a x = tsallis_h a x.
Proof. unfold acsl_tsallis_second, tsallis_h. now rewrite spelled_power. Qed.
Theorem spelled_tsallis_conjugate a y : acsl_tsallis_conjugate a y = tsallis_c a y.
Proof. apply spelled_power. Qed.
Theorem spelled_tsallis_conjugate_gradient a y : acsl_tsallis_conjugate_gradient a y = tsallis_d a
  y.
Proof. apply spelled_power. Qed.
(* (P7) *)
Theorem spelled_pseudo_huber_value a x : acsl_pseudo_huber_value a x = pseudo_huber_v a x.
Proof. unfold pseudo_huber_v. replace (x ^ 2) with (x * x) by ring.
  replace (a ^ 2) with (a * a) by ring. reflexivity. Qed.
Theorem spelled_pseudo_huber_gradient a x : acsl_pseudo_huber_gradient a x = pseudo_huber_g a x.
Proof. unfold pseudo_huber_g. replace (x ^ 2) with (x * x) by ring.
  replace (a ^ 2) with (a * a) by ring. reflexivity. Qed.
Theorem spelled_pseudo_huber_second a x : acsl_pseudo_huber_second a x = pseudo_huber_h a x.
Proof. unfold pseudo_huber_h. replace (x ^ 2) with (x * x) by ring.
  replace (a ^ 2) with (a * a) by ring. reflexivity. Qed.
Theorem spelled_pseudo_huber_conjugate a y : acsl_pseudo_huber_conjugate a y = pseudo_huber_c a y.
Proof. unfold pseudo_huber_c. replace (y ^ 2) with (y * y) by ring. reflexivity. Qed.
Theorem spelled_pseudo_huber_conjugate_gradient a y : acsl_pseudo_huber_conjugate_gradient a y =
  pseudo_huber_d a y.
Proof. unfold pseudo_huber_d. replace (y ^ 2) with (y * y) by ring. reflexivity. Qed.
(* (P8) *)
Theorem spelled_log_cosh_value a x : acsl_log_cosh_value a x = log_cosh_v a x.
Proof. reflexivity. Qed.
Theorem spelled_log_cosh_gradient a x : acsl_log_cosh_gradient a x = log_cosh_g a x.
Proof. apply spelled_tanh. Qed.
Theorem spelled_log_cosh_second a x : acsl_log_cosh_second a x = log_cosh_h a x.
Proof. unfold acsl_log_cosh_second, log_cosh_h. rewrite spelled_cosh. f_equal. ring. Qed.
Theorem spelled_log_cosh_conjugate a y : acsl_log_cosh_conjugate a y = log_cosh_c a y.
Proof. unfold acsl_log_cosh_conjugate, log_cosh_c. now rewrite !spelled_x_log_x. Qed.
Theorem spelled_log_cosh_conjugate_gradient a y : acsl_log_cosh_conjugate_gradient a y = log_cosh_d
  a y.
Proof. reflexivity. Qed.
(* (P9) *)
Theorem spelled_softplus_value a x : acsl_softplus_value a x = softplus_v x.
Proof. reflexivity. Qed.
Theorem spelled_softplus_gradient a x : acsl_softplus_gradient a x = softplus_g x.
Proof. reflexivity. Qed.
Theorem spelled_softplus_second a x : acsl_softplus_second a x = softplus_h x.
Proof. reflexivity. Qed.
Theorem spelled_softplus_conjugate a y : acsl_softplus_conjugate a y = softplus_c y.
Proof. unfold acsl_softplus_conjugate, softplus_c. now rewrite !spelled_x_log_x. Qed.
Theorem spelled_softplus_conjugate_gradient a y : acsl_softplus_conjugate_gradient a y = softplus_d
  y.
Proof. reflexivity. Qed.
(* (P2.1) *)
Theorem spelled_lp_one_value a x : acsl_lp_one_value a x = lp_one_v x.
Proof. reflexivity. Qed.
Theorem spelled_lp_one_gradient a x : acsl_lp_one_gradient a x = sgn x.
Proof. apply spelled_sgn. Qed.
(* (P6), of sequences, which are vectors read at integers *)
Definition vector_of (x : Z -> R) : vec := fun e => x (Z.of_nat e).
Theorem spelled_raised x a : acsl_raised x a = pow_real x a.
Proof. apply spelled_power. Qed.
Theorem spelled_renyi_sum E a x : acsl_renyi_sum a x (Z.of_nat E) = renyi_sum E a (vector_of x).
Proof.
unfold acsl_renyi_sum, renyi_sum. rewrite Nat2Z.id. apply Rsum_ext. intros. apply spelled_raised.
Qed.
Theorem spelled_renyi_exponent a : acsl_renyi_exponent a = renyi_exponent a.
Proof. reflexivity. Qed.
Theorem spelled_renyi_dual_sum E a y :
  acsl_renyi_dual_sum a y (Z.of_nat E) = renyi_dual_sum E a (vector_of y).
Proof.
unfold acsl_renyi_dual_sum, renyi_dual_sum. rewrite Nat2Z.id. apply Rsum_ext. intros.
apply spelled_raised.
Qed.
Theorem spelled_renyi_value E a x : acsl_renyi_value a x (Z.of_nat E) = renyi_v E a (vector_of x).
Proof. unfold acsl_renyi_value. now rewrite spelled_renyi_sum. Qed.
Theorem spelled_renyi_gradient E a x e :
  acsl_renyi_gradient a x (Z.of_nat E) (Z.of_nat e) = renyi_g E a (vector_of x) e.
Proof.
unfold acsl_renyi_gradient, acsl_renyi_gradient_of, renyi_g.
now rewrite spelled_renyi_sum, spelled_raised.
Qed.
Theorem spelled_renyi_hessian E a x e j :
  acsl_renyi_hessian a x (Z.of_nat E) (Z.of_nat e) (Z.of_nat j) = renyi_h E a (vector_of x) e j.
Proof.
unfold acsl_renyi_hessian, acsl_renyi_diagonal_of, acsl_renyi_rank_one_of, renyi_h.
rewrite spelled_renyi_sum, !spelled_raised. fold (vector_of x e) (vector_of x j).
destruct (Z.eq_dec (Z.of_nat e) (Z.of_nat j)), (Nat.eq_dec e j);
  try (exfalso; lia); f_equal; do 2 f_equal; ring.
Qed.
Theorem spelled_renyi_hessian_product E a x v e :
  acsl_renyi_hessian_product a x v (Z.of_nat E) (Z.of_nat e) =
    Rsum E (fun j => renyi_h E a (vector_of x) e j * vector_of v j).
Proof.
unfold acsl_renyi_hessian_product, acsl_renyi_row. rewrite Nat2Z.id. apply Rsum_ext. intros j _.
simpl. now rewrite spelled_renyi_hessian.
Qed.
Theorem spelled_renyi_conjugate E a y :
  acsl_renyi_conjugate a y (Z.of_nat E) = renyi_c E a (vector_of y).
Proof. unfold acsl_renyi_conjugate. now rewrite spelled_renyi_dual_sum. Qed.
Theorem spelled_renyi_conjugate_gradient E a y e :
  acsl_renyi_conjugate_gradient a y (Z.of_nat E) (Z.of_nat e) = renyi_d E a (vector_of y) e.
Proof.
unfold acsl_renyi_conjugate_gradient, acsl_renyi_conjugate_gradient_of, renyi_d.
now rewrite spelled_renyi_dual_sum, spelled_raised.
Qed.
Lemma all_of_sequence (P : R -> Prop) E x :
  (forall i : Z, (0 <= i < Z.of_nat E)%Z -> P (x i)) <-> vall E P (vector_of x).
Proof.
split; intros H.
- intros e He. apply H. lia.
- intros i Hi. specialize (H (Z.to_nat i) ltac:(lia)). unfold vector_of in H.
  now rewrite Z2Nat.id in H by lia.
Qed.
Theorem spelled_renyi_interior E x :
  acsl_all_positive x (Z.of_nat E) <-> renyi_interior E (vector_of x).
Proof. apply all_of_sequence. Qed.
Theorem spelled_renyi_dual E y : acsl_all_negative y (Z.of_nat E) <-> renyi_dual E (vector_of y).
Proof. apply (all_of_sequence (fun s => s < 0)). Qed.
Lemma renyi_sum_nonnegative E a x : 0 <= renyi_sum E a x.
Proof.
unfold renyi_sum. induction E as [ | E IH]; simpl; [lra | ].
generalize (pow_real_ge0 (x E) a). lra.
Qed.
Theorem spelled_renyi_domain E a x : 0 < a ->
  acsl_renyi_value_inside x (Z.of_nat E) <-> renyi_domain E a (vector_of x).
Proof.
intros Ha. unfold acsl_renyi_value_inside, renyi_domain, acsl_all_zero_or_more.
rewrite <- (all_of_sequence nonneg). split; intros [H0 H1]; (split; [exact H0 | ]).
- destruct H1 as [i [Hi Hx]]. clear H0. unfold renyi_sum, vector_of. induction E as [ | E IH]; [lia | ].
  simpl. destruct (Z.eq_dec i (Z.of_nat E)) as [-> | Hn].
  + generalize (renyi_sum_nonnegative E a (vector_of x)) (pow_real_gt0 (x (Z.of_nat E)) a Hx).
    unfold renyi_sum, vector_of. lra.
  + generalize (pow_real_ge0 (x (Z.of_nat E)) a). specialize (IH ltac:(lia)). lra.
- clear H0. unfold renyi_sum, vector_of in H1. induction E as [ | E IH]; simpl in H1; [lra | ].
  destruct (Rlt_dec 0 (x (Z.of_nat E))) as [Hx | Hx].
  + exists (Z.of_nat E). split; [lia | exact Hx].
  + rewrite (pow_real_0 (x (Z.of_nat E))) in H1 by lra.
    destruct IH as [i [Hi Hx']]; [lra | ]. exists i. split; [lia | exact Hx'].
Qed.
