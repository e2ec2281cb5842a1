(* What balancing losses do to logits: the gradients of SPEC.md's sections L and G, of one token. A
   token's probabilities, and its gates, are weights w(x_j) over their sum: w is exp, or the
   logistic function. *)
From Coq Require Import Reals Lra Lia.
From Coquelicot Require Import Coquelicot.
From Phibal Require Import Legendre Vector Potentials Uniform.
Open Scope R_scope.

Definition weight_total E (w : R -> R) (x : vec) := Rsum E (fun i => w (x i)).
Definition normalised E (w : R -> R) (x : vec) : vec := fun j => w (x j) / weight_total E w x.

(* (L2), (G1): the gradient of <p, q> in the logits, q constant. *)
Theorem normalised_gradient E w w' x q : (0 < E)%nat -> (forall a, 0 < w a) ->
  (forall a, is_derive w a (w' a)) ->
  has_grad E (fun x => dot E (normalised E w x) q) x
    (fun j => w' (x j) / weight_total E w x * (q j - dot E (normalised E w x) q)).
Proof.
intros HE Hw Hd d. set (X := fun t => vadd x (vsc t d)).
assert (P : forall y, 0 < weight_total E w y) by (intros y; apply Rsum_pos; auto).
assert (Q : forall y, dot E (normalised E w y) q =
  Rsum E (fun i => w (y i) * q i) / weight_total E w y).
{ intros y. unfold dot, normalised, Rdiv. rewrite (Rmult_comm (Rsum _ _)), <- Rsum_scal.
  apply Rsum_ext. intros; ring. }
assert (C : forall i, is_derive (fun t => w (X t i)) 0 (w' (x i) * d i)).
{ intros i. unfold X, vadd, vsc. evar_last.
  - apply (is_derive_comp w (fun t => x i + t * d i)); [apply Hd | auto_derive; auto].
  - unfold scal; simpl; unfold mult; simpl. replace (x i + 0 * d i) with (x i) by ring. ring. }
apply (is_derive_ext (fun t => Rsum E (fun i => w (X t i) * q i) / weight_total E w (X t))).
{ intros t. symmetry. apply Q. }
evar_last.
- apply is_derive_div.
  + apply (is_derive_Rsum E (fun i t => w (X t i) * q i) (fun i => w' (x i) * d i * q i)).
    intros i Hi. evar_last; [apply (is_derive_mult (fun t => w (X t i)) (fun _ => q i));
      [apply C | apply is_derive_const | intros; apply Rmult_comm] | ].
    unfold plus, mult, zero; simpl. ring.
  + apply (is_derive_Rsum E (fun i t => w (X t i)) (fun i => w' (x i) * d i)). intros i Hi. apply C.
  + apply Rgt_not_eq, P.
- assert (X0 : forall i, X 0 i = x i) by (intros i; unfold X, vadd, vsc; ring).
  cbv beta. unfold weight_total at 1 2 3.
  rewrite (Rsum_ext E (fun i => w (X 0 i)) (fun i => w (x i))) by (intros; rewrite X0; auto).
  rewrite (Rsum_ext E (fun i => w (X 0 i) * q i) (fun i => w (x i) * q i))
    by (intros; rewrite X0; auto). fold (weight_total E w x).
  rewrite Q. specialize (P x). set (W := weight_total E w x) in *.
  set (N := Rsum E (fun i => w (x i) * q i)). unfold dot.
  rewrite (Rsum_ext E (fun i => w' (x i) / W * (q i - N / W) * d i)
    (fun i => / W * (w' (x i) * d i * q i) - N / W ^ 2 * (w' (x i) * d i)))
    by (intros; field; lra).
  rewrite Rsum_minus, !Rsum_scal. field. lra.
Qed.

Theorem softmax_gradient E x q : (0 < E)%nat ->
  has_grad E (fun x => dot E (normalised E exp x) q) x
    (fun j => normalised E exp x j * (q j - dot E (normalised E exp x) q)).
Proof.
intros HE. apply (normalised_gradient E exp exp); auto using exp_pos, is_derive_exp.
Qed.
Theorem sigmoid_gradient E x q : (0 < E)%nat ->
  has_grad E (fun x => dot E (normalised E sigmoid x) q) x
    (fun j => normalised E sigmoid x j * (1 - sigmoid (x j)) *
      (q j - dot E (normalised E sigmoid x) q)).
Proof.
intros HE d. evar_last.
- apply (normalised_gradient E sigmoid (fun a => sigmoid a * (1 - sigmoid a))); auto.
  + intros a. unfold sigmoid. generalize (exp_pos (- a)). intros.
    apply Rdiv_lt_0_compat; lra.
  + intros a. unfold sigmoid. assert (P := exp_pos (- a)). auto_derive; [lra | ]. field. lra.
- unfold dot, normalised, Rdiv. apply Rsum_ext. intros; ring.
Qed.
(* (R5s): the scores sqrt(log(1 + e^x)). *)
Definition sqrt_softplus a := sqrt (ln (1 + exp a)).
Theorem sqrt_softplus_gradient E x q : (0 < E)%nat ->
  has_grad E (fun x => dot E (normalised E sqrt_softplus x) q) x
    (fun j => normalised E sqrt_softplus x j * (sigmoid (x j) / (2 * ln (1 + exp (x j)))) *
      (q j - dot E (normalised E sqrt_softplus x) q)).
Proof.
intros HE d.
assert (L : forall a, 0 < ln (1 + exp a)).
{ intros a. rewrite <- ln_1. apply ln_increasing; assert (P := exp_pos a); lra. }
evar_last.
- apply (normalised_gradient E sqrt_softplus
    (fun a => sqrt_softplus a * (sigmoid a / (2 * ln (1 + exp a))))); auto.
  + intros a. now apply sqrt_lt_R0.
  + intros a. unfold sqrt_softplus, sigmoid. assert (P := exp_pos a). specialize (L a).
    auto_derive; [repeat split; auto; lra | ].
    assert (R := sqrt_lt_R0 _ L). assert (S := sqrt_sqrt (ln (1 + exp a)) ltac:(lra)).
    rewrite exp_Ropp. set (l := ln (1 + exp a)) in *. set (r := sqrt l) in *. clearbody r.
    rewrite <- S. field. repeat split; lra.
- unfold dot, normalised, Rdiv. apply Rsum_ext. intros; ring.
Qed.

(* (L2), rows sum to 0; (M3), a constant that is added to all prices changes no gradient: where the
   weights p_j sum to 1. *)
Theorem gradient_sums_to_zero E p q : Rsum E p = 1 -> Rsum E (fun j => p j * (q j - dot E p q)) = 0.
Proof.
intros S. rewrite (Rsum_ext E _ (fun j => p j * q j - dot E p q * p j)) by (intros; ring).
rewrite Rsum_minus, Rsum_scal, S. unfold dot. ring.
Qed.
Theorem gradient_of_shifted_prices E p q c j : Rsum E p = 1 ->
  (q j + c) - dot E p (fun i => q i + c) = q j - dot E p q.
Proof.
intros S. unfold dot. rewrite (Rsum_ext E _ (fun i => p i * q i + c * p i)) by (intros; ring).
rewrite Rsum_plus, Rsum_scal, S. ring.
Qed.
Theorem normalised_sums_to_one E w x : (0 < E)%nat -> (forall a, 0 < w a) ->
  Rsum E (normalised E w x) = 1.
Proof.
intros HE Hw. assert (P : 0 < weight_total E w x) by (apply Rsum_pos; auto).
unfold normalised, Rdiv.
rewrite (Rsum_ext E _ (fun j => / weight_total E w x * w (x j))) by (intros; ring).
rewrite Rsum_scal. fold (weight_total E w x). field. lra.
Qed.

(* (L5): the gradient of a token's squared logarithm of the sum of exponentials. *)
Theorem z_loss_gradient E x : (0 < E)%nat ->
  has_grad E (fun x => ln (weight_total E exp x) ^ 2) x
    (fun j => 2 * ln (weight_total E exp x) * normalised E exp x j).
Proof.
intros HE d. assert (P : forall y, 0 < weight_total E exp y)
  by (intros y; apply Rsum_pos; auto using exp_pos).
set (X := fun t => vadd x (vsc t d)).
assert (T0 : weight_total E exp (X 0) = weight_total E exp x)
  by (apply Rsum_ext; intros; unfold X, vadd, vsc; f_equal; ring).
assert (D : is_derive (fun t => weight_total E exp (X t)) 0 (Rsum E (fun i => exp (x i) * d i))).
{ apply (is_derive_Rsum E (fun i t => exp (X t i)) (fun i => exp (x i) * d i)). intros i Hi.
  unfold X, vadd, vsc. auto_derive; auto. replace (x i + 0 * d i) with (x i) by ring. ring. }
evar_last.
- apply (is_derive_comp (fun s => ln s ^ 2) (fun t => weight_total E exp (X t))); [ | apply D].
  auto_derive; [apply P | reflexivity].
- rewrite T0. specialize (P x). set (W := weight_total E exp x) in *.
  unfold scal; simpl; unfold mult; simpl.
  unfold dot, normalised. fold W.
  rewrite (Rsum_ext E (fun i => 2 * ln W * (exp (x i) / W) * d i)
    (fun i => 2 * ln W / W * (exp (x i) * d i))) by (intros; field; lra).
  rewrite Rsum_scal. field. lra.
Qed.

(* The Switch loss alpha E <f, P> at balance. *)
Theorem switch_loss_at_balance E alpha : (0 < E)%nat ->
  alpha * INR E * dot E (uniform E) (uniform E) = alpha.
Proof.
intros HE. assert (N : INR E <> 0) by (apply not_0_INR; lia). unfold dot, uniform.
rewrite Rsum_const. field. auto.
Qed.

(* (E6): <W^T y, h> = <y, W h>, W of d rows and f columns. *)
Theorem gate_gradient_before_product d f (W : nat -> nat -> R) y h :
  dot f (fun j => Rsum d (fun i => W i j * y i)) h =
  dot d y (fun i => Rsum f (fun j => W i j * h j)).
Proof.
unfold dot. induction d as [ | d IH]; simpl.
- rewrite (Rsum_ext f _ (fun _ => 0)) by (intros; ring). rewrite Rsum_const. ring.
- rewrite <- IH, (Rmult_comm (y d)), (Rmult_comm (Rsum f _) (y d)), <- Rsum_scal, <- Rsum_plus.
  apply Rsum_ext. intros; ring.
Qed.
