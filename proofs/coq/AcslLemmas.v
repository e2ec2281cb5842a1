(* What the proofs of the C code take from Coq: each COQ_LEMMA of spec/acsl has its theorem here,
  under
   the same name. *)
From Coq Require Import Reals ZArith Lra Lia.
From Coquelicot Require Import Coquelicot.
From Phibal Require Import Legendre Vector Potentials Power Instances Formulas AcslDefinitions
  Rounding Spellings.
Open Scope R_scope.

Theorem e_increases : forall a b : R, a <= b -> acsl_e_ a <= acsl_e_ b.
Proof. exact exp_mono. Qed.
Theorem e_positive : forall a : R, 0 < acsl_e_ a.
Proof. exact exp_pos. Qed.
Theorem log_increases : forall a b : R, 0 < a /\ a <= b -> ln a <= ln b.
Proof. intros a b [Ha H]. now apply ln_mono. Qed.
Theorem pi_positive : 0 < PI.
Proof. exact PI_RGT_0. Qed.

(* The shapes of the five functions, in the words of spec/acsl: |x| <= |y| for the even ones. *)
Lemma even_at_abs (f : R -> R) : (forall x, f (- x) = f x) -> forall x, f x = f (Rabs x).
Proof. intros H x. destruct (Rle_dec 0 x); [rewrite Rabs_pos_eq | rewrite Rabs_left, H]; auto; lra.
  Qed.
Lemma least_of_shape (f : R -> R) m x : (x <= m -> f m <= f x) -> (m <= x -> f m <= f x) ->
  f m <= f x.
Proof. intros H1 H2. destruct (Rle_dec x m); [auto | apply H2; lra]. Qed.
Ltac even H := match goal with |- _ _ ?x <= _ _ ?y => rewrite (even_at_abs _ H x),
  (even_at_abs _ H y)
  | |- _ ?x <= _ ?y => rewrite (even_at_abs _ H x), (even_at_abs _ H y) end.
Ltac given := intros; repeat match goal with H : _ /\ _ |- _ => destruct H end;
  repeat match goal with
  | H : acsl_lp_valid _ |- _ => unfold acsl_lp_valid in H | H : acsl_soft_l1_valid _ |- _ => unfold
    acsl_soft_l1_valid in H
  | H : acsl_tsallis_valid _ |- _ => unfold acsl_tsallis_valid in H; destruct H
  | H : acsl_pseudo_huber_valid _ |- _ => unfold acsl_pseudo_huber_valid in H
  | H : acsl_log_cosh_valid _ |- _ => unfold acsl_log_cosh_valid in H end.
Ltac inner := repeat match goal with
  | H : _ /\ _ |- _ => destruct H
  | H : acsl_soft_l1_conjugate_inside _ _ |- _ => unfold acsl_soft_l1_conjugate_inside in H
  | H : acsl_soft_l1_conjugate_gradient_inside _ _ |- _ => unfold
    acsl_soft_l1_conjugate_gradient_inside in H; apply Rabs_def2 in H
  | H : acsl_pseudo_huber_conjugate_inside _ _ |- _ => unfold acsl_pseudo_huber_conjugate_inside in
    H
  | H : acsl_pseudo_huber_conjugate_gradient_inside _ _ |- _ => unfold
    acsl_pseudo_huber_conjugate_gradient_inside in H; apply Rabs_def2 in H
  | H : acsl_log_cosh_conjugate_inside _ _ |- _ => unfold acsl_log_cosh_conjugate_inside in H
  | H : acsl_log_cosh_conjugate_gradient_inside _ _ |- _ => unfold
    acsl_log_cosh_conjugate_gradient_inside in H; apply Rabs_def2 in H
  | H : acsl_softplus_conjugate_inside _ _ |- _ => unfold acsl_softplus_conjugate_inside in H
  | H : acsl_softplus_conjugate_gradient_inside _ _ |- _ => unfold
    acsl_softplus_conjugate_gradient_inside in H
  | H : acsl_negentropy_value_inside _ _ |- _ => unfold acsl_negentropy_value_inside in H
  | H : acsl_negentropy_gradient_inside _ _ |- _ => unfold acsl_negentropy_gradient_inside in H
  | H : acsl_negentropy_second_inside _ _ |- _ => unfold acsl_negentropy_second_inside in H
  | H : acsl_tsallis_value_inside _ _ |- _ => unfold acsl_tsallis_value_inside in H
  | H : acsl_tsallis_gradient_inside _ _ |- _ => unfold acsl_tsallis_gradient_inside in H
  | H : acsl_tsallis_second_inside _ _ |- _ => unfold acsl_tsallis_second_inside in H
  | H : acsl_tsallis_conjugate_inside _ _ |- _ => unfold acsl_tsallis_conjugate_inside in H
  | H : acsl_tsallis_conjugate_gradient_inside _ _ |- _ => unfold
    acsl_tsallis_conjugate_gradient_inside in H end.
Theorem euclid_value_rises : forall a x y : R, (((acsl_euclid_valid a) /\
  ((Rabs x) <= (Rabs y))) -> ((acsl_euclid_value a x) <= (acsl_euclid_value a y))).
Proof.
given. inner. rewrite (spelled_euclid_value a x), (spelled_euclid_value a y). even euclid_v_even.
  apply euclid_v_increasing; auto using Rabs_pos; lra.
Qed.
Theorem euclid_conjugate_rises : forall a x y : R, (((acsl_euclid_valid a) /\
  ((Rabs x) <= (Rabs y))) -> ((acsl_euclid_conjugate a x) <= (acsl_euclid_conjugate a y))).
Proof.
given. inner. rewrite (spelled_euclid_conjugate a x), (spelled_euclid_conjugate a y).
  even euclid_c_even. apply euclid_c_increasing; auto using Rabs_pos; lra.
Qed.
Theorem lp_value_rises : forall a x y : R, (((acsl_lp_valid a) /\ ((Rabs x) <= (Rabs y))) ->
  ((acsl_lp_value a x) <= (acsl_lp_value a y))).
Proof.
given. inner. rewrite (spelled_lp_value a x), (spelled_lp_value a y). even (lp_v_even a).
  apply lp_v_increasing; auto using Rabs_pos; lra.
Qed.
Theorem lp_gradient_increases : forall a x y : R, (((acsl_lp_valid a) /\ (x <= y)) ->
  ((acsl_lp_gradient a x) <= (acsl_lp_gradient a y))).
Proof.
given. inner. rewrite (spelled_lp_gradient a x), (spelled_lp_gradient a y). apply lp_g_increasing;
  auto; lra.
Qed.
Theorem lp_second_increases : forall a x y : R, ((((acsl_lp_valid a) /\ (2 <= a)) /\
  ((Rabs x) <= (Rabs y))) -> ((acsl_lp_second a x) <= (acsl_lp_second a y))).
Proof.
given. inner. rewrite (spelled_lp_second a x), (spelled_lp_second a y). even (lp_h_even a).
  apply lp_h_increasing; auto using Rabs_pos.
Qed.
Theorem lp_second_decreases : forall a x y : R, ((((((acsl_lp_valid a) /\ (a <= 2)) /\
  (acsl_lp_second_inside a x)) /\ (acsl_lp_second_inside a y)) /\ ((Rabs x) <= (Rabs y))) ->
  ((acsl_lp_second a y) <= (acsl_lp_second a x))).
Proof.
given. inner. rewrite (spelled_lp_second a x), (spelled_lp_second a y).
  destruct (Req_dec a 2) as [-> | Ha].
{ unfold lp_h. replace (2 - 2) with 0 by ring. rewrite !pow_real_exponent_0. lra. }
even (lp_h_even a). apply lp_h_decreasing; auto. apply Rabs_pos_lt.
  unfold acsl_lp_second_inside in *. intuition lra.
Qed.
Theorem lp_conjugate_rises : forall a x y : R, (((acsl_lp_valid a) /\ ((Rabs x) <= (Rabs y))) ->
  ((acsl_lp_conjugate a x) <= (acsl_lp_conjugate a y))).
Proof.
given. inner. rewrite (spelled_lp_conjugate a x), (spelled_lp_conjugate a y). even (lp_c_even a).
  apply lp_c_increasing; auto using Rabs_pos; lra.
Qed.
Theorem lp_conjugate_gradient_increases : forall a x y : R, (((acsl_lp_valid a) /\ (x <= y)) ->
  ((acsl_lp_conjugate_gradient a x) <= (acsl_lp_conjugate_gradient a y))).
Proof.
given. inner. rewrite (spelled_lp_conjugate_gradient a x), (spelled_lp_conjugate_gradient a y).
  apply lp_d_increasing; auto; lra.
Qed.
Theorem soft_l1_value_rises : forall a x y : R, (((acsl_soft_l1_valid a) /\
  ((Rabs x) <= (Rabs y))) -> ((acsl_soft_l1_value a x) <= (acsl_soft_l1_value a y))).
Proof.
given. inner. rewrite (spelled_soft_l1_value a x), (spelled_soft_l1_value a y).
  even (soft_l1_v_even a). apply soft_l1_v_increasing; auto using Rabs_pos; lra.
Qed.
Theorem soft_l1_gradient_increases : forall a x y : R, (((acsl_soft_l1_valid a) /\ (x <= y)) ->
  ((acsl_soft_l1_gradient a x) <= (acsl_soft_l1_gradient a y))).
Proof.
given. inner. rewrite (spelled_soft_l1_gradient a x), (spelled_soft_l1_gradient a y).
  apply soft_l1_g_increasing; auto; lra.
Qed.
Theorem soft_l1_second_falls : forall a x y : R, (((acsl_soft_l1_valid a) /\
  ((Rabs x) <= (Rabs y))) -> ((acsl_soft_l1_second a y) <= (acsl_soft_l1_second a x))).
Proof.
given. inner. rewrite (spelled_soft_l1_second a x), (spelled_soft_l1_second a y).
  even (soft_l1_h_even a). apply soft_l1_h_decreasing; auto using Rabs_pos; lra.
Qed.
Theorem soft_l1_conjugate_rises : forall a x y : R, (((((acsl_soft_l1_valid a) /\
  ((Rabs x) <= (Rabs y))) /\ (acsl_soft_l1_conjugate_inside a x)) /\ (acsl_soft_l1_conjugate_inside
  a y)) -> ((acsl_soft_l1_conjugate a x) <= (acsl_soft_l1_conjugate a y))).
Proof.
given. inner. rewrite (spelled_soft_l1_conjugate a x), (spelled_soft_l1_conjugate a y).
  even (soft_l1_c_even a). apply soft_l1_c_increasing; auto using Rabs_pos; lra.
Qed.
Theorem soft_l1_conjugate_gradient_increases : forall a x y : R, (((((acsl_soft_l1_valid a) /\
  (x <= y)) /\ (acsl_soft_l1_conjugate_gradient_inside a x)) /\
  (acsl_soft_l1_conjugate_gradient_inside a y)) -> ((acsl_soft_l1_conjugate_gradient a x) <=
  (acsl_soft_l1_conjugate_gradient a y))).
Proof.
given. inner. rewrite (spelled_soft_l1_conjugate_gradient a x), (spelled_soft_l1_conjugate_gradient
  a y). apply soft_l1_d_increasing; auto; lra.
Qed.
Theorem negentropy_value_falls : forall a x y : R, ((((((acsl_negentropy_valid a) /\ (x <= y)) /\
  (y <= (acsl_negentropy_conjugate_gradient a 0))) /\ (acsl_negentropy_value_inside a x)) /\
  (acsl_negentropy_value_inside a y)) -> ((acsl_negentropy_value a y) <= (acsl_negentropy_value a
  x))).
Proof.
given. inner. rewrite (spelled_negentropy_value a x), (spelled_negentropy_value a y).
  rewrite spelled_negentropy_conjugate_gradient, (proj2 negentropy_v_least) in *.
  apply negentropy_v_falls; auto.
Qed.
Theorem negentropy_value_rises : forall a x y : R, ((((((acsl_negentropy_valid a) /\ (x <= y)) /\
  ((acsl_negentropy_conjugate_gradient a 0) <= x)) /\ (acsl_negentropy_value_inside a x)) /\
  (acsl_negentropy_value_inside a y)) -> ((acsl_negentropy_value a x) <= (acsl_negentropy_value a
  y))).
Proof.
given. inner. rewrite (spelled_negentropy_value a x), (spelled_negentropy_value a y).
  rewrite spelled_negentropy_conjugate_gradient, (proj2 negentropy_v_least) in *.
  apply negentropy_v_rises; auto.
Qed.
Theorem negentropy_value_least : forall a x : R, (((acsl_negentropy_valid a) /\
  (acsl_negentropy_value_inside a x)) -> ((- (acsl_negentropy_conjugate a 0)) <=
  (acsl_negentropy_value a x))).
Proof.
given. inner. rewrite spelled_negentropy_value, spelled_negentropy_conjugate.
destruct negentropy_v_least as [L _]. rewrite <- L. apply (least_of_shape negentropy_v (negentropy_d
  0) x).
- intros K. apply negentropy_v_falls; auto. rewrite (proj2 negentropy_v_least). lra.
- intros K. apply negentropy_v_rises; auto. rewrite (proj2 negentropy_v_least). lra.
Qed.
Theorem negentropy_value_turns : forall a : R, ((acsl_negentropy_valid a) ->
  (acsl_negentropy_value_inside a (acsl_negentropy_conjugate_gradient a 0))).
Proof.
given. inner. unfold acsl_negentropy_value_inside. left. apply exp_pos.
Qed.
Theorem negentropy_second_decreases : forall a x y : R, (((((acsl_negentropy_valid a) /\
  (x <= y)) /\ (acsl_negentropy_second_inside a x)) /\ (acsl_negentropy_second_inside a y)) ->
  ((acsl_negentropy_second a y) <= (acsl_negentropy_second a x))).
Proof.
given. inner. rewrite (spelled_negentropy_second a x), (spelled_negentropy_second a y).
  apply negentropy_h_decreasing; auto; lra.
Qed.
Theorem negentropy_conjugate_increases : forall a x y : R, (((acsl_negentropy_valid a) /\
  (x <= y)) -> ((acsl_negentropy_conjugate a x) <= (acsl_negentropy_conjugate a y))).
Proof.
given. inner. rewrite (spelled_negentropy_conjugate a x), (spelled_negentropy_conjugate a y).
  apply negentropy_c_increasing; auto; lra.
Qed.
Theorem negentropy_conjugate_gradient_increases : forall a x y : R, (((acsl_negentropy_valid a) /\
  (x <= y)) -> ((acsl_negentropy_conjugate_gradient a x) <= (acsl_negentropy_conjugate_gradient a
  y))).
Proof.
given. inner. rewrite (spelled_negentropy_conjugate_gradient a x),
  (spelled_negentropy_conjugate_gradient a y). apply negentropy_d_increasing; auto; lra.
Qed.
Theorem tsallis_value_falls : forall a x y : R, ((((((acsl_tsallis_valid a) /\ (x <= y)) /\
  (y <= (acsl_tsallis_conjugate_gradient a 0))) /\ (acsl_tsallis_value_inside a x)) /\
  (acsl_tsallis_value_inside a y)) -> ((acsl_tsallis_value a y) <= (acsl_tsallis_value a x))).
Proof.
given. inner. rewrite (spelled_tsallis_value a x), (spelled_tsallis_value a y).
  rewrite spelled_tsallis_conjugate_gradient in *. apply tsallis_v_falls; auto.
Qed.
Theorem tsallis_value_rises : forall a x y : R, ((((((acsl_tsallis_valid a) /\ (x <= y)) /\
  ((acsl_tsallis_conjugate_gradient a 0) <= x)) /\ (acsl_tsallis_value_inside a x)) /\
  (acsl_tsallis_value_inside a y)) -> ((acsl_tsallis_value a x) <= (acsl_tsallis_value a y))).
Proof.
given. inner. rewrite (spelled_tsallis_value a x), (spelled_tsallis_value a y).
  rewrite spelled_tsallis_conjugate_gradient in *. apply tsallis_v_rises; auto.
Qed.
Theorem tsallis_value_least : forall a x : R, (((acsl_tsallis_valid a) /\
  (acsl_tsallis_value_inside a x)) -> ((- (acsl_tsallis_conjugate a 0)) <= (acsl_tsallis_value a
  x))).
Proof.
given. inner. rewrite spelled_tsallis_value, spelled_tsallis_conjugate.
rewrite <- tsallis_v_least by auto. apply (least_of_shape (tsallis_v a) (tsallis_d a 0) x).
- intros K. apply tsallis_v_falls; auto. lra.
- intros K. apply tsallis_v_rises; auto. lra.
Qed.
Theorem tsallis_value_turns : forall a : R, ((acsl_tsallis_valid a) ->
  (acsl_tsallis_value_inside a (acsl_tsallis_conjugate_gradient a 0))).
Proof.
given. inner. unfold acsl_tsallis_value_inside. rewrite spelled_tsallis_conjugate_gradient.
destruct (tsallis_minimiser a) as [_ [P _]]; auto. lra.
Qed.
Theorem tsallis_gradient_increases : forall a x y : R, (((((acsl_tsallis_valid a) /\ (x <= y)) /\
  (acsl_tsallis_gradient_inside a x)) /\ (acsl_tsallis_gradient_inside a y)) ->
  ((acsl_tsallis_gradient a x) <= (acsl_tsallis_gradient a y))).
Proof.
given. inner. rewrite (spelled_tsallis_gradient a x), (spelled_tsallis_gradient a y).
  apply tsallis_g_increasing; auto. tauto.
Qed.
Theorem tsallis_second_increases : forall a x y : R, ((((((acsl_tsallis_valid a) /\ (2 <= a)) /\
  (acsl_tsallis_second_inside a x)) /\ (acsl_tsallis_second_inside a y)) /\ (x <= y)) ->
  ((acsl_tsallis_second a x) <= (acsl_tsallis_second a y))).
Proof.
given. inner. rewrite (spelled_tsallis_second a x), (spelled_tsallis_second a y).
  apply tsallis_h_increasing; auto.
Qed.
Theorem tsallis_second_decreases : forall a x y : R, ((((((acsl_tsallis_valid a) /\ (a <= 2)) /\
  (acsl_tsallis_second_inside a x)) /\ (acsl_tsallis_second_inside a y)) /\ (x <= y)) ->
  ((acsl_tsallis_second a y) <= (acsl_tsallis_second a x))).
Proof.
given. inner. rewrite (spelled_tsallis_second a x), (spelled_tsallis_second a y).
  destruct (Req_dec a 2) as [-> | Ha].
{ unfold tsallis_h. replace (2 - 2) with 0 by ring. rewrite !pow_real_exponent_0. lra. }
apply tsallis_h_decreasing; auto. intuition lra.
Qed.
Theorem tsallis_conjugate_increases : forall a x y : R, (((((acsl_tsallis_valid a) /\
  (x <= y)) /\ (acsl_tsallis_conjugate_inside a x)) /\ (acsl_tsallis_conjugate_inside a y)) ->
  ((acsl_tsallis_conjugate a x) <= (acsl_tsallis_conjugate a y))).
Proof.
given. inner. rewrite (spelled_tsallis_conjugate a x), (spelled_tsallis_conjugate a y).
  apply tsallis_c_increasing; auto.
Qed.
Theorem tsallis_conjugate_gradient_increases : forall a x y : R, (((((acsl_tsallis_valid a) /\
  (x <= y)) /\ (acsl_tsallis_conjugate_gradient_inside a x)) /\
  (acsl_tsallis_conjugate_gradient_inside a y)) -> ((acsl_tsallis_conjugate_gradient a x) <=
  (acsl_tsallis_conjugate_gradient a y))).
Proof.
given. inner. rewrite (spelled_tsallis_conjugate_gradient a x), (spelled_tsallis_conjugate_gradient
  a y). apply tsallis_d_increasing; auto.
Qed.
Theorem pseudo_huber_value_rises : forall a x y : R, (((acsl_pseudo_huber_valid a) /\
  ((Rabs x) <= (Rabs y))) -> ((acsl_pseudo_huber_value a x) <= (acsl_pseudo_huber_value a y))).
Proof.
given. inner. rewrite (spelled_pseudo_huber_value a x), (spelled_pseudo_huber_value a y).
  even (pseudo_huber_v_even a). apply pseudo_huber_v_increasing; auto using Rabs_pos; lra.
Qed.
Theorem pseudo_huber_gradient_increases : forall a x y : R, (((acsl_pseudo_huber_valid a) /\
  (x <= y)) -> ((acsl_pseudo_huber_gradient a x) <= (acsl_pseudo_huber_gradient a y))).
Proof.
given. inner. rewrite (spelled_pseudo_huber_gradient a x), (spelled_pseudo_huber_gradient a y).
  apply pseudo_huber_g_increasing; auto; lra.
Qed.
Theorem pseudo_huber_second_falls : forall a x y : R, (((acsl_pseudo_huber_valid a) /\
  ((Rabs x) <= (Rabs y))) -> ((acsl_pseudo_huber_second a y) <= (acsl_pseudo_huber_second a x))).
Proof.
given. inner. rewrite (spelled_pseudo_huber_second a x), (spelled_pseudo_huber_second a y).
  even (pseudo_huber_h_even a). apply pseudo_huber_h_decreasing; auto using Rabs_pos; lra.
Qed.
Theorem pseudo_huber_conjugate_rises : forall a x y : R, (((((acsl_pseudo_huber_valid a) /\
  ((Rabs x) <= (Rabs y))) /\ (acsl_pseudo_huber_conjugate_inside a x)) /\
  (acsl_pseudo_huber_conjugate_inside a y)) -> ((acsl_pseudo_huber_conjugate a x) <=
  (acsl_pseudo_huber_conjugate a y))).
Proof.
given. inner. rewrite (spelled_pseudo_huber_conjugate a x), (spelled_pseudo_huber_conjugate a y).
  even (pseudo_huber_c_even a). apply pseudo_huber_c_increasing; auto using Rabs_pos; lra.
Qed.
Theorem pseudo_huber_conjugate_gradient_increases : forall a x y : R, (((((acsl_pseudo_huber_valid
  a) /\ (x <= y)) /\ (acsl_pseudo_huber_conjugate_gradient_inside a x)) /\
  (acsl_pseudo_huber_conjugate_gradient_inside a y)) -> ((acsl_pseudo_huber_conjugate_gradient a x)
  <= (acsl_pseudo_huber_conjugate_gradient a y))).
Proof.
given. inner. rewrite (spelled_pseudo_huber_conjugate_gradient a x),
  (spelled_pseudo_huber_conjugate_gradient a y). apply pseudo_huber_d_increasing; auto; lra.
Qed.
Theorem log_cosh_value_rises : forall a x y : R, (((acsl_log_cosh_valid a) /\
  ((Rabs x) <= (Rabs y))) -> ((acsl_log_cosh_value a x) <= (acsl_log_cosh_value a y))).
Proof.
given. inner. rewrite (spelled_log_cosh_value a x), (spelled_log_cosh_value a y).
  even (log_cosh_v_is_even a). apply log_cosh_v_increasing; auto using Rabs_pos.
Qed.
Theorem log_cosh_gradient_increases : forall a x y : R, (((acsl_log_cosh_valid a) /\ (x <= y)) ->
  ((acsl_log_cosh_gradient a x) <= (acsl_log_cosh_gradient a y))).
Proof.
given. inner. rewrite (spelled_log_cosh_gradient a x), (spelled_log_cosh_gradient a y).
  apply log_cosh_g_increasing; auto; lra.
Qed.
Theorem log_cosh_second_falls : forall a x y : R, (((acsl_log_cosh_valid a) /\
  ((Rabs x) <= (Rabs y))) -> ((acsl_log_cosh_second a y) <= (acsl_log_cosh_second a x))).
Proof.
given. inner. rewrite (spelled_log_cosh_second a x), (spelled_log_cosh_second a y).
  even (log_cosh_h_even a). apply log_cosh_h_decreasing; auto using Rabs_pos; lra.
Qed.
Theorem log_cosh_conjugate_rises : forall a x y : R, (((((acsl_log_cosh_valid a) /\
  ((Rabs x) <= (Rabs y))) /\ (acsl_log_cosh_conjugate_inside a x)) /\
  (acsl_log_cosh_conjugate_inside a y)) -> ((acsl_log_cosh_conjugate a x) <=
  (acsl_log_cosh_conjugate a y))).
Proof.
given. inner. rewrite (spelled_log_cosh_conjugate a x), (spelled_log_cosh_conjugate a y).
  even (log_cosh_c_even a). apply log_cosh_c_increasing; auto using Rabs_pos; lra.
Qed.
Theorem log_cosh_conjugate_gradient_increases : forall a x y : R, (((((acsl_log_cosh_valid a) /\
  (x <= y)) /\ (acsl_log_cosh_conjugate_gradient_inside a x)) /\
  (acsl_log_cosh_conjugate_gradient_inside a y)) -> ((acsl_log_cosh_conjugate_gradient a x) <=
  (acsl_log_cosh_conjugate_gradient a y))).
Proof.
given. inner. rewrite (spelled_log_cosh_conjugate_gradient a x),
  (spelled_log_cosh_conjugate_gradient a y). apply log_cosh_d_increasing; auto; lra.
Qed.
Theorem softplus_value_increases : forall a x y : R, (((acsl_softplus_valid a) /\ (x <= y)) ->
  ((acsl_softplus_value a x) <= (acsl_softplus_value a y))).
Proof.
given. inner. rewrite (spelled_softplus_value a x), (spelled_softplus_value a y).
  apply softplus_v_increasing; auto; lra.
Qed.
Theorem softplus_gradient_increases : forall a x y : R, (((acsl_softplus_valid a) /\ (x <= y)) ->
  ((acsl_softplus_gradient a x) <= (acsl_softplus_gradient a y))).
Proof.
given. inner. rewrite (spelled_softplus_gradient a x), (spelled_softplus_gradient a y).
  apply softplus_g_increasing; auto; lra.
Qed.
Theorem softplus_second_falls : forall a x y : R, (((acsl_softplus_valid a) /\
  ((Rabs x) <= (Rabs y))) -> ((acsl_softplus_second a y) <= (acsl_softplus_second a x))).
Proof.
given. inner. rewrite (spelled_softplus_second a x), (spelled_softplus_second a y).
  even softplus_h_even. apply softplus_h_decreasing; auto using Rabs_pos; lra.
Qed.
Theorem softplus_conjugate_falls : forall a x y : R, ((((((acsl_softplus_valid a) /\ (x <= y)) /\
  (y <= (acsl_softplus_gradient a 0))) /\ (acsl_softplus_conjugate_inside a x)) /\
  (acsl_softplus_conjugate_inside a y)) -> ((acsl_softplus_conjugate a y) <=
  (acsl_softplus_conjugate a x))).
Proof.
given. inner. rewrite (spelled_softplus_conjugate a x), (spelled_softplus_conjugate a y).
  rewrite spelled_softplus_gradient, (proj1 softplus_c_least) in *. apply softplus_c_falls; auto;
  lra.
Qed.
Theorem softplus_conjugate_rises : forall a x y : R, ((((((acsl_softplus_valid a) /\ (x <= y)) /\
  ((acsl_softplus_gradient a 0) <= x)) /\ (acsl_softplus_conjugate_inside a x)) /\
  (acsl_softplus_conjugate_inside a y)) -> ((acsl_softplus_conjugate a x) <=
  (acsl_softplus_conjugate a y))).
Proof.
given. inner. rewrite (spelled_softplus_conjugate a x), (spelled_softplus_conjugate a y).
  rewrite spelled_softplus_gradient, (proj1 softplus_c_least) in *. apply softplus_c_rises; auto;
  lra.
Qed.
Theorem softplus_conjugate_least : forall a x : R, (((acsl_softplus_valid a) /\
  (acsl_softplus_conjugate_inside a x)) -> ((- (acsl_softplus_value a 0)) <=
  (acsl_softplus_conjugate a x))).
Proof.
given. inner. rewrite spelled_softplus_conjugate, spelled_softplus_value.
destruct softplus_c_least as [G L]. rewrite <- L, G. apply (least_of_shape softplus_c (1 / 2) x).
- intros K. apply softplus_c_falls; auto; lra.
- intros K. apply softplus_c_rises; auto; lra.
Qed.
Theorem softplus_conjugate_turns : forall a : R, ((acsl_softplus_valid a) ->
  (acsl_softplus_conjugate_inside a (acsl_softplus_gradient a 0))).
Proof.
given. inner. unfold acsl_softplus_conjugate_inside. rewrite spelled_softplus_gradient,
  (proj1 softplus_c_least). lra.
Qed.
Theorem softplus_conjugate_gradient_increases : forall a x y : R, (((((acsl_softplus_valid a) /\
  (x <= y)) /\ (acsl_softplus_conjugate_gradient_inside a x)) /\
  (acsl_softplus_conjugate_gradient_inside a y)) -> ((acsl_softplus_conjugate_gradient a x) <=
  (acsl_softplus_conjugate_gradient a y))).
Proof.
given. inner. rewrite (spelled_softplus_conjugate_gradient a x),
  (spelled_softplus_conjugate_gradient a y). apply softplus_d_increasing; auto; lra.
Qed.
Theorem tsallis_base_falls : forall a x y : R, ((((acsl_tsallis_valid a) /\ (a < 1)) /\
  (x <= y)) -> ((acsl_tsallis_base a y) <= (acsl_tsallis_base a x))).
Proof.
given. inner. apply tsallis_base_mono_below; auto; lra.
Qed.

(* The forms that the potentials are computed in. *)
Theorem softplus_value_form : forall a x : R, ((acsl_softplus_value a x) = ((if Rgt_dec x 0 then x
  else 0) + (ln (1 + (acsl_decay x))))).
Proof.
intros a x. rewrite spelled_softplus_value. unfold softplus_v.
  change (acsl_decay x) with (exp (- Rabs x)). rewrite softplus_split. f_equal.
unfold Rmax. destruct (Rgt_dec x 0), (Rle_dec x 0); lra.
Qed.
Theorem softplus_gradient_form : forall a x : R, ((acsl_softplus_gradient a x) = (if Rge_dec x 0
  then (1 / (1 + (acsl_decay x))) else ((acsl_decay x) / (1 + (acsl_decay x))))).
Proof.
intros a x. rewrite spelled_softplus_gradient. unfold softplus_g.
  change (acsl_decay x) with (exp (- Rabs x)).
destruct (Rge_dec x 0); [apply sigmoid_nonneg | apply sigmoid_neg]; lra.
Qed.
Theorem softplus_second_form : forall a x : R, ((acsl_softplus_second a x) = ((acsl_decay x) / ((1 +
  (acsl_decay x)) * (1 + (acsl_decay x))))).
Proof.
intros a x. rewrite spelled_softplus_second, softplus_h_abs.
  change (acsl_decay x) with (exp (- Rabs x)). f_equal. ring.
Qed.
Theorem softplus_conjugate_gradient_near_half : forall a y : R, (((0 < y) /\ (y < 1)) ->
  (((- 1) < (((2 * y) - 1) / (1 - y))) /\ ((acsl_softplus_conjugate_gradient a y) = (ln (1 + (((2 *
  y) - 1) / (1 - y))))))).
Proof.
intros a y H. rewrite spelled_softplus_conjugate_gradient.
  split; [ | now apply Formulas.logit_near_half].
apply (Rmult_lt_reg_r (1 - y)); [lra | ]. unfold Rdiv. rewrite (Rmult_assoc _ (/ (1 - y))), Rinv_l;
  lra.
Qed.
Theorem softplus_conjugate_gradient_split : forall a y : R, (((0 < y) /\ (y < 1)) ->
  ((acsl_softplus_conjugate_gradient a y) = ((ln y) - (ln (1 + (- y)))))).
Proof. intros a y H. rewrite spelled_softplus_conjugate_gradient. now apply Formulas.logit_split.
  Qed.
Theorem inverse_falls : forall x y : R, (((0 < x) /\ (x <= y)) -> ((1 / y) <= (1 / x))).
Proof. intros x y [Hx H]. apply Rmult_le_compat_l; [lra | now apply Rinv_le_contravar]. Qed.
Theorem tsallis_base_positive : forall a : R, ((acsl_tsallis_valid a) ->
  (0 < (acsl_tsallis_base a 0))).
Proof.
intros a H. given. unfold acsl_tsallis_base. rewrite Rmult_0_r, Rplus_0_r. apply Rdiv_lt_0_compat;
  lra.
Qed.

(* Softmax relative to a reference r: factors c = e^(-r) that cancel. *)
Theorem e_difference : forall a r : R, ((acsl_e_ (a - r)) = ((acsl_e_ a) * (acsl_e_ (- r)))).
Proof. intros a r. unfold acsl_e_. rewrite <- exp_plus. f_equal. Qed.
Theorem sigmoid_positive : forall a : R, (0 < (acsl_sigmoid a)).
Proof. intros a. apply Rdiv_lt_0_compat; [lra | ]. generalize (exp_pos (- a)). intros.
  change (0 < 1 + exp (- a)). lra. Qed.
Theorem quotient_relative : forall w s c : R, (((0 < s) /\ (0 < c)) ->
  ((((w * c) / (s * c)) = (w / s)) /\ (0 < (s * c)))).
Proof. intros w s c [Hs Hc]. split; [field; lra | now apply Rmult_lt_0_compat]. Qed.
Theorem logit_weight_positive : forall (gate : Z) (a : R), (0 < (acsl_logit_weight gate a)).
Proof. intros gate a. unfold acsl_logit_weight. destruct (Z.eq_dec gate _);
  [apply sigmoid_positive | apply e_positive]. Qed.
Theorem logistic_unit : forall a : R, 0 <= acsl_logistic a /\ acsl_logistic a <= 1.
Proof.
  intros a. unfold acsl_logistic, acsl_e_. pose proof (exp_pos (- a)). unfold Rdiv. rewrite Rmult_1_l. split.
  - apply Rlt_le, Rinv_0_lt_compat. lra.
  - rewrite <- Rinv_1. apply Rinv_le_contravar; lra.
Qed.
Theorem symmetric_entropy_near_zero : forall y : R, (((Rabs y) < 1) -> (((- (y * y)) > (- 1)) /\
  ((acsl_symmetric_entropy y) = (((acsl_twice_artanh y) * y) + (ln (1 + (- (y * y)))))))).
Proof.
intros y H. apply Rabs_def2 in H. split; [nra | ]. unfold acsl_symmetric_entropy, acsl_twice_artanh.
rewrite ?spelled_x_log_x, ?x_log_x_eq. replace (1 + - (y * y)) with (1 - y ^ 2) by ring.
replace (1 + - y) with (1 - y) by ring. rewrite entropy_near_zero by lra. ring.
Qed.
Theorem log_of_cosh_far : forall x : R, ((acsl_log_of_cosh x) = ((ln (1 + (acsl_e_ (- (x * 2))))) +
  (x - (ln 2)))).
Proof.
intros x. change (acsl_log_of_cosh x) with (ln (cosh x)). rewrite ln_cosh_far. unfold acsl_e_.
replace (x * 2) with (2 * x) by ring. ring.
Qed.
Theorem log_of_cosh_near : forall x : R, ((0 <= (acsl_cosh_excess x)) /\
  ((acsl_log_of_cosh x) = (ln (1 + ((acsl_cosh_excess x) / 2))))).
Proof.
intros x. assert (P := exp_pos x).
assert (E : acsl_cosh_excess x = 2 * ((exp x - 1) ^ 2 / (2 * exp x))).
{ unfold acsl_cosh_excess. try change (acsl_expm1_square x) with ((exp x - 1) * (exp x - 1)).
  unfold acsl_e_. field. lra. }
assert (N : 0 <= (exp x - 1) ^ 2 / (2 * exp x)) by (apply quotient_nonneg; [apply pow2_ge_0 | lra]).
rewrite E. split; [lra | ]. change (acsl_log_of_cosh x) with (ln (cosh x)). rewrite ln_cosh_near.
do 2 f_equal. field. lra.
Qed.
Theorem log_cosh_value_form : forall a x : R, ((0 < a) ->
  ((acsl_log_cosh_value a x) = ((acsl_log_of_cosh ((Rabs x) * a)) / a))).
Proof. intros a x H. rewrite spelled_log_cosh_value. now apply log_cosh_v_abs. Qed.
Theorem log_cosh_second_form : forall a x : R, ((0 < a) -> ((0 < (acsl_log_cosh_decay a x)) /\
  ((acsl_log_cosh_second a x) = ((((acsl_log_cosh_decay a x) * a) * 4) / ((1 + (acsl_log_cosh_decay
  a x)) * (1 + (acsl_log_cosh_decay a x))))))).
Proof.
intros a x H. rewrite spelled_log_cosh_second, log_cosh_h_abs by auto.
assert (E : acsl_log_cosh_decay a x = exp (- (2 * (Rabs x * a)))) by (unfold acsl_log_cosh_decay,
  acsl_e_; f_equal; ring).
rewrite E. assert (P := exp_pos (- (2 * (Rabs x * a)))). split; [auto | field; lra].
Qed.
Theorem log_cosh_conjugate_form : forall a y : R, ((0 < a) -> ((acsl_log_cosh_conjugate a y) =
  (((acsl_symmetric_entropy y) / 2) / a))).
Proof. intros a y H. unfold acsl_log_cosh_conjugate, acsl_symmetric_entropy. field. lra. Qed.
Theorem log_cosh_conjugate_gradient_form : forall a y : R, (((0 < a) /\ ((Rabs y) < 1)) ->
  ((acsl_log_cosh_conjugate_gradient a y) = (((acsl_twice_artanh y) / 2) / a))).
Proof.
intros a y [H Hy]. apply Rabs_def2 in Hy. unfold acsl_log_cosh_conjugate_gradient,
  acsl_twice_artanh.
rewrite twice_artanh by lra. replace (1 - y) with (1 + - y) by ring. field. lra.
Qed.

(* soft-l1's remainder s - log(1 + s). *)
Theorem remainder_rises : forall a b : R, (((0 <= a) /\ (a <= b)) ->
  ((acsl_remainder a) <= (acsl_remainder b))).
Proof. intros a b [Ha H]. now apply remainder_increasing. Qed.
Theorem remainder_falls : forall a b : R, (((((- 1) < a) /\ (a <= b)) /\ (b <= 0)) ->
  ((acsl_remainder b) <= (acsl_remainder a))).
Proof. intros a b [[Ha H] Hb]. apply remainder_decreasing; auto; lra. Qed.
Theorem remainder_near_zero : forall s : R, (((Rabs s) < (5 / 10)) ->
  (((((s * s) / 2) - (((Rabs s) * (Rabs s)) * (Rabs s))) <= (acsl_remainder s)) /\
  ((acsl_remainder s) <= (((s * s) / 2) + (((Rabs s) * (Rabs s)) * (Rabs s)))))).
Proof.
intros s H. assert (K := remainder_small s ltac:(lra)). apply Rabs_le_between in K.
unfold acsl_remainder. replace (Rabs s * Rabs s * Rabs s) with (Rabs s ^ 3) by ring.
replace (s * s) with (s ^ 2) by ring. lra.
Qed.
Theorem power_of_two_least : forall n : Z, ((1%Z <= n)%Z -> (2 <= (acsl_power_of_two n))).
Proof.
intros n H. unfold acsl_power_of_two. destruct (Z.to_nat n) as [ | k] eqn:E; [lia | ].
simpl. assert (1 <= 2 ^ k) by (apply pow_R1_Rle; lra). lra.
Qed.
Theorem soft_l1_value_form : forall a x : R, ((0 < a) ->
  ((acsl_soft_l1_value a x) = ((acsl_remainder (Rabs (x / a))) * a))).
Proof.
intros a x H. rewrite spelled_soft_l1_value, soft_l1_v_remainder by auto. unfold acsl_remainder.
replace (Rabs (x / a)) with (Rabs x / a); [ring | ].
unfold Rdiv. rewrite Rabs_mult, Rabs_inv, (Rabs_pos_eq a); lra.
Qed.
Theorem soft_l1_conjugate_form : forall a y : R,
  ((acsl_soft_l1_conjugate a y) = ((acsl_remainder (- (Rabs y))) * a)).
Proof.
intros a y. rewrite spelled_soft_l1_conjugate, soft_l1_c_remainder. unfold acsl_remainder. ring.
Qed.

(* Tsallis by the deformed logarithm, and its conjugate near base 1. *)
Theorem tsallis_value_form : forall a x : R, (((a <> 1) /\ (0 < x)) ->
  ((acsl_tsallis_value a x) = ((acsl_deformed_log (a - 1) x) * x))).
Proof.
intros a x [Ha Hx]. rewrite spelled_tsallis_value, tsallis_v_deformed by auto.
unfold acsl_deformed_log. rewrite ?spelled_power. unfold Rdiv. ring.
Qed.
Theorem tsallis_gradient_form : forall a x : R, (((a <> 1) /\ (0 < x)) ->
  ((acsl_tsallis_gradient a x) = (((acsl_deformed_log (a - 1) x) * a) + 1))).
Proof.
intros a x [Ha Hx]. rewrite spelled_tsallis_gradient, tsallis_g_deformed by auto.
unfold acsl_deformed_log. rewrite ?spelled_power. unfold Rdiv. ring.
Qed.
Theorem tsallis_near_one : forall a y q : R, (((0 < a) /\ (0 < (acsl_cut_base a y))) ->
  (((- 1) < (acsl_tsallis_excess a y)) /\
  ((acsl_power (acsl_cut_base a y) q) = (acsl_e_ ((ln (1 + (acsl_tsallis_excess a y))) * q))))).
Proof.
intros a y q [Ha H]. unfold acsl_cut_base in *. rewrite spelled_power.
destruct (Rgt_dec (acsl_tsallis_base a y) 0) as [B | B]; [ | lra].
change (acsl_tsallis_base a y) with (tsallis_base a y) in *.
assert (E : acsl_tsallis_excess a y = tsallis_base a y - 1).
{ rewrite tsallis_base_minus_one by auto. reflexivity. }
rewrite E. split; [lra | ]. rewrite pow_near_one by auto. unfold acsl_e_. f_equal. ring.
Qed.

(* The factor of the router's reference logit. *)
Theorem shrink_positive : forall r : R, (0 < (acsl_shrink r)).
Proof. intros r. apply exp_pos. Qed.
Theorem shrink_zero : ((acsl_shrink 0) = 1).
Proof. change (exp (- 0) = 1). now rewrite Ropp_0, exp_0. Qed.
Theorem e_relative : forall a r d : R, ((d = (a - r)) -> ((acsl_e_ d) = ((acsl_e_ a) * (acsl_shrink
  r)))).
Proof. intros a r d ->. apply e_difference. Qed.
Theorem sigmoid_relative : forall a r d : R, ((d = (a - r)) ->
  (((acsl_e_ d) * (1 / (1 + (acsl_e_ a)))) = ((acsl_sigmoid a) * (acsl_shrink r)))).
Proof.
intros a r d ->. change (acsl_sigmoid a) with (1 / (1 + exp (- a))).
change (acsl_shrink r) with (exp (- r)). unfold acsl_e_, Rminus. rewrite exp_plus, (exp_Ropp a).
assert (P := exp_pos a). field. lra.
Qed.
Theorem log_relative : forall s r : R, ((0 < s) ->
  ((((ln (s * (acsl_shrink r))) + r) = (ln s)) /\ (0 < (s * (acsl_shrink r))))).
Proof.
intros s r Hs. change (acsl_shrink r) with (exp (- r)). assert (P := exp_pos (- r)).
split; [ | now apply Rmult_lt_0_compat]. rewrite ln_mult, ln_exp by auto. ring.
Qed.

(* A step of mirror ascent: grad phi* takes its value at 0 there only, and inverts grad phi. *)
Lemma dual_once {X Xi Y Yi f fs g h} (L : legendre X Xi Y Yi f fs g h) y z :
  Yi y -> Yi z -> h y = h z -> y = z.
Proof.
intros Hy Hz E. transitivity (g (h y)); [symmetry; now apply (gradient_inverse L) | ].
rewrite E. now apply (gradient_inverse L).
Qed.
Lemma inside_unit y : Rabs y < 1 -> unit_open y.
Proof. intros H. now apply Rabs_def2 in H. Qed.
Lemma unit_inside y : unit_open y -> Rabs y < 1.
Proof. intros [H1 H2]. now apply Rabs_def1. Qed.
Theorem euclid_load_at_zero : forall a y : R, acsl_euclid_valid a /\
  acsl_euclid_conjugate_gradient a y = acsl_euclid_conjugate_gradient a 0 -> y = 0.
Proof. intros a y [_ H]. exact H. Qed.
Theorem lp_load_at_zero : forall a y : R, acsl_lp_valid a /\
  acsl_lp_conjugate_gradient a y = acsl_lp_conjugate_gradient a 0 -> y = 0.
Proof.
intros a y [Ha H]. rewrite !spelled_lp_conjugate_gradient in H.
exact (dual_once (lp_legendre a Ha) y 0 I I H).
Qed.
Theorem soft_l1_load_at_zero : forall a y : R, ((acsl_soft_l1_valid a /\
  acsl_soft_l1_conjugate_gradient_inside a 0) /\ acsl_soft_l1_conjugate_gradient_inside a y) /\
  acsl_soft_l1_conjugate_gradient a y = acsl_soft_l1_conjugate_gradient a 0 -> y = 0.
Proof. intros a y [[[Ha H0] Hy] H]. exact (dual_once (soft_l1_legendre a Ha) y 0 Hy H0 H). Qed.
Theorem negentropy_load_at_zero : forall a y : R, acsl_negentropy_valid a /\
  acsl_negentropy_conjugate_gradient a y = acsl_negentropy_conjugate_gradient a 0 -> y = 0.
Proof. intros a y [_ H]. exact (dual_once negentropy_legendre y 0 I I H). Qed.
Theorem tsallis_load_at_zero : forall a y : R, ((acsl_tsallis_valid a /\
  acsl_tsallis_conjugate_gradient_inside a 0) /\ acsl_tsallis_conjugate_gradient_inside a y) /\
  acsl_tsallis_conjugate_gradient a y = acsl_tsallis_conjugate_gradient a 0 -> y = 0.
Proof.
intros a y [[[[Ha H1] _] Hi] H]. rewrite !spelled_tsallis_conjugate_gradient in H.
assert (B : 0 < tsallis_base a 0).
{ unfold tsallis_base. rewrite Rmult_0_r, Rplus_0_r. apply Rdiv_lt_0_compat; lra. }
destruct (Rlt_dec 0 (tsallis_base a y)) as [Hy | Hy].
- exact (dual_once (tsallis_legendre a Ha H1) y 0 Hy B H).
- exfalso. unfold tsallis_d in H.
  assert (P : 0 < pow_real (tsallis_base a 0) (1 / (a - 1))).
  { rewrite pow_real_pos by auto. apply Rpower_gt0. }
  destruct Hi as [Hi | Hi]; [ | exact (Hy Hi)].
  rewrite <- H, pow_real_0 in P; try lra. apply Rdiv_lt_0_compat; lra.
Qed.
Theorem pseudo_huber_load_at_zero : forall a y : R, ((acsl_pseudo_huber_valid a /\
  acsl_pseudo_huber_conjugate_gradient_inside a 0) /\
  acsl_pseudo_huber_conjugate_gradient_inside a y) /\
  acsl_pseudo_huber_conjugate_gradient a y = acsl_pseudo_huber_conjugate_gradient a 0 -> y = 0.
Proof.
intros a y [[[Ha H0] Hy] H]. rewrite !spelled_pseudo_huber_conjugate_gradient in H.
exact (dual_once (pseudo_huber_legendre a Ha) y 0 (inside_unit y Hy) (inside_unit 0 H0) H).
Qed.
Theorem log_cosh_load_at_zero : forall a y : R, ((acsl_log_cosh_valid a /\
  acsl_log_cosh_conjugate_gradient_inside a 0) /\ acsl_log_cosh_conjugate_gradient_inside a y) /\
  acsl_log_cosh_conjugate_gradient a y = acsl_log_cosh_conjugate_gradient a 0 -> y = 0.
Proof.
intros a y [[[Ha H0] Hy] H].
exact (dual_once (log_cosh_legendre a Ha) y 0 (inside_unit y Hy) (inside_unit 0 H0) H).
Qed.
Theorem softplus_load_at_zero : forall a y : R, ((acsl_softplus_valid a /\
  acsl_softplus_conjugate_gradient_inside a 0) /\ acsl_softplus_conjugate_gradient_inside a y) /\
  acsl_softplus_conjugate_gradient a y = acsl_softplus_conjugate_gradient a 0 -> y = 0.
Proof. intros a y [[[_ [H0 _]] _] _]. lra. Qed.
Theorem euclid_price_inverts : forall a x : R, acsl_euclid_valid a ->
  acsl_euclid_conjugate_gradient a (acsl_euclid_gradient a x) = x.
Proof. reflexivity. Qed.
Theorem lp_price_inverts : forall a x : R, acsl_lp_valid a ->
  acsl_lp_conjugate_gradient a (acsl_lp_gradient a x) = x.
Proof.
intros a x Ha. rewrite spelled_lp_gradient, spelled_lp_conjugate_gradient.
exact (inverse_gradient (lp_legendre a Ha) x I).
Qed.
Theorem soft_l1_price_inverts : forall a x : R, acsl_soft_l1_valid a ->
  acsl_soft_l1_conjugate_gradient_inside a (acsl_soft_l1_gradient a x) /\
  acsl_soft_l1_conjugate_gradient a (acsl_soft_l1_gradient a x) = x.
Proof.
intros a x Ha. split.
- exact (gradient_maps (soft_l1_legendre a Ha) x I).
- exact (inverse_gradient (soft_l1_legendre a Ha) x I).
Qed.
Theorem negentropy_price_inverts : forall a x : R, acsl_negentropy_valid a /\
  acsl_negentropy_gradient_inside a x ->
  acsl_negentropy_conjugate_gradient a (acsl_negentropy_gradient a x) = x.
Proof. intros a x [_ Hx]. exact (inverse_gradient negentropy_legendre x Hx). Qed.
Theorem tsallis_price_inverts : forall a x : R, acsl_tsallis_valid a /\
  acsl_tsallis_gradient_inside a x ->
  acsl_tsallis_conjugate_gradient_inside a (acsl_tsallis_gradient a x) /\
  acsl_tsallis_conjugate_gradient a (acsl_tsallis_gradient a x) = x.
Proof.
intros a x [[Ha H1] Hx]. rewrite spelled_tsallis_conjugate_gradient, spelled_tsallis_gradient.
destruct Hx as [Hx | [-> Hx]].
- split.
  + right. exact (gradient_maps (tsallis_legendre a Ha H1) x Hx).
  + exact (inverse_gradient (tsallis_legendre a Ha H1) x Hx).
- split; [now left | ]. unfold tsallis_d, tsallis_g. rewrite (pow_real_0 0) by lra.
  replace (tsallis_base a ((a * 0 - 1) / (a - 1))) with 0 by (unfold tsallis_base; field; lra).
  apply pow_real_0; [lra | ]. apply Rdiv_lt_0_compat; lra.
Qed.
Theorem pseudo_huber_price_inverts : forall a x : R, acsl_pseudo_huber_valid a ->
  acsl_pseudo_huber_conjugate_gradient_inside a (acsl_pseudo_huber_gradient a x) /\
  acsl_pseudo_huber_conjugate_gradient a (acsl_pseudo_huber_gradient a x) = x.
Proof.
intros a x Ha. rewrite spelled_pseudo_huber_conjugate_gradient, spelled_pseudo_huber_gradient. split.
- exact (unit_inside _ (gradient_maps (pseudo_huber_legendre a Ha) x I)).
- exact (inverse_gradient (pseudo_huber_legendre a Ha) x I).
Qed.
Theorem log_cosh_price_inverts : forall a x : R, acsl_log_cosh_valid a ->
  acsl_log_cosh_conjugate_gradient_inside a (acsl_log_cosh_gradient a x) /\
  acsl_log_cosh_conjugate_gradient a (acsl_log_cosh_gradient a x) = x.
Proof.
intros a x Ha. rewrite spelled_log_cosh_conjugate_gradient, spelled_log_cosh_gradient. split.
- exact (unit_inside _ (gradient_maps (log_cosh_legendre a Ha) x I)).
- exact (inverse_gradient (log_cosh_legendre a Ha) x I).
Qed.
Theorem softplus_price_inverts : forall a x : R, acsl_softplus_valid a ->
  acsl_softplus_conjugate_gradient_inside a (acsl_softplus_gradient a x) /\
  acsl_softplus_conjugate_gradient a (acsl_softplus_gradient a x) = x.
Proof.
intros a x _. split.
- exact (gradient_maps softplus_legendre x I).
- exact (inverse_gradient softplus_legendre x I).
Qed.
Theorem flat_slope : forall d s eta : R, 0 < eta -> (acsl_slope d s eta = 0 <-> s = d * eta).
Proof.
intros d s eta H. unfold acsl_slope. split; intros E.
- replace s with (s / eta * eta) by (field; lra). replace (s / eta) with d by lra. ring.
- rewrite E. field. lra.
Qed.

(* Correct rounding: Rounding.v. *)
Definition rounding_between := Rounding.rounding_between.
Definition rounding_below := Rounding.rounding_below.
Definition rounding_above := Rounding.rounding_above.
Definition rounding_zero := Rounding.rounding_zero.
Definition rounding_units := Rounding.rounding_units.
Definition rounding_beyond := Rounding.rounding_beyond.
Definition rounding_beyond_below := Rounding.rounding_beyond_below.
Definition rounding_unit := Rounding.rounding_unit.
Definition rounding_unique := Rounding.rounding_unique.
Definition limit_above_one := Rounding.limit_above_one.
Definition unit_is_gap := Rounding.unit_is_gap.
Definition place_one := Rounding.place_one.
Definition rounding_up_there := Rounding.rounding_up_there.
Definition rounding_down_there := Rounding.rounding_down_there.
Definition two_is_power := Rounding.two_is_power.
Definition in_units_one := Rounding.in_units_one.
Definition in_units_up := Rounding.in_units_up.
Definition in_units_down := Rounding.in_units_down.
Definition at_place_up := Rounding.at_place_up.
Definition at_place_down := Rounding.at_place_down.
Definition at_place_sign := Rounding.at_place_sign.
Definition units_fit := Rounding.units_fit.
Definition units_sign := Rounding.units_sign.
Definition place_sign := Rounding.place_sign.
Definition place_limit := Rounding.place_limit.
Definition place_most := Rounding.place_most.
Definition limits_rise := Rounding.limits_rise.
Definition two_positive := Rounding.two_positive.
(* Renyi (P6): spec/acsl/renyi_steps.h. *)
Lemma raised_pos x a : 0 < x -> acsl_raised x a = exp (a * ln x).
Proof.
intros H. unfold acsl_raised. rewrite spelled_power, pow_real_pos by auto. reflexivity.
Qed.
Lemma raised_gt0 x a : 0 < x -> 0 < acsl_raised x a.
Proof. intros H. rewrite raised_pos by auto. apply exp_pos. Qed.
Theorem renyi_power_of_zero : forall a : R, 0 < a -> acsl_raised 0 a = 0.
Proof. intros a Ha. unfold acsl_raised. rewrite spelled_power. apply pow_real_0; lra. Qed.
Theorem renyi_power_positive : forall x a : R, 0 < x -> 0 < acsl_raised x a.
Proof. exact raised_gt0. Qed.
Theorem renyi_excess_form : forall a x : R, 0 < x ->
  acsl_renyi_excess (acsl_renyi_b a) x = acsl_raised x a - x.
Proof.
intros a x Hx. rewrite raised_pos by auto. unfold acsl_renyi_excess, acsl_renyi_b, acsl_e_.
replace (a * ln x) with (ln x * (a - 1) + ln x) by ring. rewrite exp_plus, (exp_ln x) by auto. ring.
Qed.
Theorem renyi_gradient_form : forall a q s : R, acsl_renyi_valid a /\ 0 < s ->
  acsl_raised q (acsl_renyi_b a) * a / acsl_renyi_b a / s = acsl_renyi_gradient_of a q s.
Proof.
intros a q s [[Ha Ha'] Hs]. unfold acsl_renyi_gradient_of, acsl_renyi_b. field. lra.
Qed.
Theorem renyi_b_negative : forall a : R, acsl_renyi_valid a -> acsl_renyi_b a < 0.
Proof. intros a [Ha Ha']. unfold acsl_renyi_b. lra. Qed.
Theorem renyi_value_form : forall a s : R, acsl_renyi_valid a ->
  ln s / acsl_renyi_b a = acsl_renyi_value_of a s.
Proof. reflexivity. Qed.
Theorem renyi_diagonal_form : forall a q s : R, acsl_renyi_valid a /\ 0 < s ->
  acsl_raised q (a - 2) * a / s = acsl_renyi_diagonal_of a q s.
Proof. intros a q s [_ Hs]. unfold acsl_renyi_diagonal_of. field. lra. Qed.
Theorem renyi_rank_one_form : forall a q r s : R, acsl_renyi_valid a /\ 0 < s ->
  acsl_renyi_ray a q s * acsl_renyi_ray a r s * acsl_renyi_one a = acsl_renyi_rank_one_of a q r s.
Proof.
intros a q r s [[Ha Ha'] Hs]. unfold acsl_renyi_ray, acsl_renyi_one, acsl_renyi_rank_one_of.
field. lra.
Qed.
Theorem renyi_part_zero : forall a q s : R, acsl_renyi_part a q s 0 = 0.
Proof. intros. unfold acsl_renyi_part. ring. Qed.
Theorem renyi_part_sum : forall a q s v w : R,
  acsl_renyi_part a q s (v + w) = acsl_renyi_part a q s v + acsl_renyi_part a q s w.
Proof. intros. unfold acsl_renyi_part. ring. Qed.
Theorem renyi_part_entry : forall a q r s t : R, acsl_renyi_valid a /\ 0 < s ->
  acsl_renyi_part a q s (acsl_times (acsl_renyi_ray a r s) t) =
    acsl_times (acsl_renyi_rank_one_of a q r s) t.
Proof.
intros a q r s t H. unfold acsl_renyi_part, acsl_times.
rewrite <- (renyi_rank_one_form a q r s H). ring.
Qed.
Theorem cell_rises : forall n i e : Z, ((0 <= i)%Z /\ (i < e)%Z) /\ (0 <= n)%Z ->
  (acsl_cell n i 0 + n <= acsl_cell n e 0)%Z.
Proof. intros n i e [[Hi He] Hn]. unfold acsl_cell. nia. Qed.
Theorem renyi_power_rises : forall a x z : R, (0 < a /\ 0 <= x) /\ x <= z ->
  acsl_raised x a <= acsl_raised z a.
Proof.
intros a x z [[Ha Hx] Hz]. unfold acsl_raised. rewrite !spelled_power.
destruct Hz as [Hz | ->]; [left; apply (pow_real_incr a Ha); lra | lra].
Qed.
Theorem renyi_value_falls : forall a s t : R, (acsl_renyi_valid a /\ 0 < s) /\ s <= t ->
  acsl_renyi_value_of a t <= acsl_renyi_value_of a s.
Proof.
intros a s t [[[Ha Ha'] Hs] Ht]. unfold acsl_renyi_value_of.
assert (L : ln s <= ln t) by now apply ln_mono.
assert (I : / (a - 1) < 0) by (apply Rinv_lt_0_compat; lra). unfold Rdiv. nra.
Qed.
Theorem renyi_conjugate_rises : forall a s t : R, 0 < s /\ s <= t ->
  acsl_renyi_conjugate_of a s <= acsl_renyi_conjugate_of a t.
Proof.
intros a s t [Hs Ht]. unfold acsl_renyi_conjugate_of. assert (L := ln_mono s t Hs Ht). lra.
Qed.
Theorem renyi_gradient_rises : forall a q r s t : R,
  (((acsl_renyi_valid a /\ 0 < q) /\ q <= r) /\ 0 < s) /\ s <= t ->
  acsl_renyi_gradient_of a q s <= acsl_renyi_gradient_of a r t.
Proof.
intros a q r s t [[[[[Ha Ha'] Hq] Hr] Hs] Ht].
assert (P : acsl_raised r (a - 1) <= acsl_raised q (a - 1)).
{ rewrite !raised_pos by lra. apply exp_mono. assert (L := ln_mono q r Hq Hr). nra. }
assert (Q := raised_gt0 r (a - 1) ltac:(lra)).
assert (F : forall u z, 0 < z ->
  a * u / ((a - 1) * z) = - (a / (1 - a)) * (u * / z)) by (intros; field; lra).
unfold acsl_renyi_gradient_of. rewrite !F by lra.
assert (C : 0 < a / (1 - a)) by (apply Rdiv_lt_0_compat; lra).
assert (I : 0 < / t <= / s)
  by (split; [apply Rinv_0_lt_compat; lra | apply Rinv_le_contravar; lra]).
assert (M : acsl_raised r (a - 1) * / t <= acsl_raised q (a - 1) * / s)
  by (apply Rmult_le_compat; lra).
nra.
Qed.
Theorem renyi_exponent_positive : forall a : R, acsl_renyi_valid a -> 0 < acsl_renyi_exponent a.
Proof. intros a [Ha Ha']. unfold acsl_renyi_exponent. apply Rdiv_lt_0_compat; lra. Qed.
Lemma ratio_of_negatives r y : r < 0 -> y < 0 -> r / y = - r / - y.
Proof. intros Hr Hy. field. lra. Qed.
Lemma ratio_positive r y : r < 0 -> y < 0 -> 0 < r / y.
Proof. intros Hr Hy. rewrite ratio_of_negatives by auto. apply Rdiv_lt_0_compat; lra. Qed.
Theorem renyi_ratio_positive : forall r y : R, r < 0 /\ y < 0 -> 0 < r / y /\ 0 < acsl_over r y.
Proof. intros r y [Hr Hy]. unfold acsl_over. auto using ratio_positive. Qed.
Theorem renyi_scale_ratio : forall c r : R, 0 < c /\ r < 0 -> 0 < acsl_over c (- r).
Proof. intros c r [Hc Hr]. unfold acsl_over. apply Rdiv_lt_0_compat; lra. Qed.
Theorem renyi_weight_power : forall c r y : R, r < 0 /\ y < 0 ->
  acsl_renyi_weight c r y = acsl_raised (acsl_over r y) c.
Proof. reflexivity. Qed.
Theorem renyi_ratio_form : forall r y : R, y < 0 -> (r - y) / y = acsl_over r y - 1.
Proof. intros r y Hy. unfold acsl_over. field. lra. Qed.
Theorem renyi_weight_near_one : forall c r y : R, r < 0 /\ y < 0 ->
  acsl_renyi_weight c r y = acsl_e_ (ln (acsl_over r y) * c).
Proof.
intros c r y [Hr Hy]. unfold acsl_renyi_weight, acsl_over, acsl_e_.
rewrite raised_pos by auto using ratio_positive. f_equal. ring.
Qed.
Theorem renyi_weight_positive : forall c r y : R, r < 0 /\ y < 0 -> 0 < acsl_renyi_weight c r y.
Proof. intros c r y [Hr Hy]. apply raised_gt0, ratio_positive; auto. Qed.
Lemma weight_split c r y : r < 0 -> y < 0 ->
  acsl_renyi_weight c r y = acsl_raised (- r) c * acsl_raised (- y) (- c).
Proof.
intros Hr Hy. unfold acsl_renyi_weight. rewrite ratio_of_negatives by auto.
rewrite !raised_pos by (try apply Rdiv_lt_0_compat; lra).
rewrite ln_div, <- exp_plus by lra. f_equal. ring.
Qed.
Theorem renyi_weight_scaled : forall a r y : R, (acsl_renyi_valid a /\ r < 0) /\ y < 0 ->
  acsl_renyi_weight (acsl_renyi_exponent a) r y =
    acsl_renyi_scaled a r (acsl_raised (- y) (- acsl_renyi_exponent a)).
Proof. intros a r y [[_ Hr] Hy]. now apply weight_split. Qed.
Theorem renyi_scaled_sum : forall a r s t : R,
  acsl_renyi_scaled a r (s + t) = acsl_renyi_scaled a r s + acsl_renyi_scaled a r t.
Proof. intros. unfold acsl_renyi_scaled. ring. Qed.
Theorem renyi_scaled_zero : forall a r : R, acsl_renyi_scaled a r 0 = 0.
Proof. intros. unfold acsl_renyi_scaled. ring. Qed.
Theorem renyi_scaled_positive : forall a r t : R, r < 0 /\ 0 < t -> 0 < acsl_renyi_scaled a r t.
Proof. intros a r t [Hr Ht]. apply Rmult_lt_0_compat; auto. apply raised_gt0. lra. Qed.
Theorem renyi_conjugate_form : forall a c r t : R,
  ((acsl_renyi_valid a /\ r < 0) /\ 0 < t) /\ c = acsl_renyi_exponent a ->
  acsl_renyi_scale_part c r + ln (acsl_renyi_scaled a r t) = acsl_renyi_conjugate_of a t.
Proof.
intros a c r t [[[Ha Hr] Ht] ->]. assert (C := renyi_exponent_positive a Ha).
unfold acsl_renyi_conjugate_of, acsl_renyi_scale_part, acsl_renyi_scaled, acsl_over.
set (c := acsl_renyi_exponent a) in *.
rewrite ln_div, ln_mult by (try apply raised_gt0; lra). rewrite raised_pos, ln_exp by lra. ring.
Qed.
Theorem renyi_conjugate_gradient_form : forall a c r y t : R,
  (((acsl_renyi_valid a /\ r < 0) /\ y < 0) /\ 0 < t) /\ c = acsl_renyi_exponent a ->
  acsl_renyi_share c r y (acsl_renyi_scaled a r t) = acsl_renyi_conjugate_gradient_of a y t.
Proof.
intros a c r y t [[[[Ha Hr] Hy] Ht] ->].
unfold acsl_renyi_share, acsl_renyi_scaled, acsl_renyi_conjugate_gradient_of.
rewrite weight_split by auto. set (c := acsl_renyi_exponent a).
assert (P := raised_gt0 (- r) c ltac:(lra)).
replace (acsl_raised (- y) (- c - 1)) with (acsl_raised (- y) (- c) / - y).
- field. lra.
- rewrite !raised_pos by lra. replace ((- c - 1) * ln (- y)) with (- c * ln (- y) + - ln (- y)) by ring.
  rewrite exp_plus, exp_Ropp, exp_ln by lra. reflexivity.
Qed.
Theorem renyi_dual_power_rises : forall a y z : R, (acsl_renyi_valid a /\ y <= z) /\ z < 0 ->
  acsl_raised (- y) (- acsl_renyi_exponent a) <= acsl_raised (- z) (- acsl_renyi_exponent a).
Proof.
intros a y z [[Ha Hy] Hz]. assert (C := renyi_exponent_positive a Ha).
rewrite !raised_pos by lra. apply exp_mono.
assert (L := ln_mono (- z) (- y) ltac:(lra) ltac:(lra)). nra.
Qed.
Theorem renyi_dual_power_positive : forall a y : R, acsl_renyi_valid a /\ y < 0 ->
  0 < acsl_raised (- y) (- acsl_renyi_exponent a).
Proof. intros a y [_ Hy]. apply raised_gt0. lra. Qed.

(* The router's scores that are square roots of softplus. *)
Lemma softplus_of_positive a : 0 < acsl_softplus_of a.
Proof. unfold acsl_softplus_of, acsl_e_. rewrite <- ln_1. apply ln_increasing; pose proof (exp_pos a); lra. Qed.
Theorem softplus_relative_positive : forall a : R, 0 < acsl_softplus_relative a.
Proof.
  intros a. pose proof (softplus_of_positive a). unfold acsl_softplus_relative, acsl_e_. destruct Rlt_dec; [ | easy].
  apply Rdiv_lt_0_compat; [easy | apply exp_pos].
Qed.
Theorem softplus_relative_near_one : forall a : R, a < 0 ->
  1 - acsl_e_ a <= acsl_softplus_relative a /\ acsl_softplus_relative a <= 1.
Proof.
  intros a Ha. unfold acsl_softplus_relative, acsl_softplus_of, acsl_e_. destruct Rlt_dec; [ | lra].
  pose proof (exp_pos a) as P. split.
  - (* ln (1 + u) = - ln (1 - u/(1 + u)) >= u/(1 + u) *)
    apply Rmult_le_reg_r with (exp a); [easy | ]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
    assert (L : / (1 + exp a) - 1 >= ln (/ (1 + exp a))).
    { apply Rle_ge. pose proof (exp_ineq1_le (ln (/ (1 + exp a)))) as E.
      rewrite exp_ln in E by (apply Rinv_0_lt_compat; lra). lra. }
    rewrite ln_Rinv in L by lra.
    assert (/ (1 + exp a) <= 1 - (1 - exp a) * exp a); [ | lra].
    apply Rmult_le_reg_r with (1 + exp a); [lra | ]. rewrite Rinv_l by lra. nra.
  - apply Rmult_le_reg_r with (exp a); [easy | ]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l, Rmult_1_r, Rmult_1_l by lra.
    pose proof (exp_ineq1_le (ln (1 + exp a))) as E. rewrite exp_ln in E by lra. lra.
Qed.
Theorem softplus_of_reflected : forall a : R, ln (1 + acsl_e_ (- a)) + a = acsl_softplus_of a.
Proof.
  intros a. unfold acsl_softplus_of, acsl_e_. pose proof (exp_pos a). pose proof (exp_pos (- a)).
  rewrite <- (ln_exp a) at 2. rewrite <- ln_mult by lra. f_equal. rewrite Rmult_plus_distr_r, <- exp_plus, Rplus_opp_l, exp_0. lra.
Qed.
Theorem softplus_rescaled : forall a r d : R, d = (if Rlt_dec a 0 then a else 0) - r ->
  acsl_softplus_relative a * acsl_e_ d = acsl_softplus_of a * acsl_shrink r /\
  0 <= acsl_softplus_of a * acsl_shrink r.
Proof.
  intros a r d ->. pose proof (softplus_of_positive a). split.
  - unfold acsl_softplus_relative, acsl_shrink, acsl_e_. pose proof (exp_pos a).
    destruct Rlt_dec; unfold Rminus; rewrite exp_plus; [field; lra | rewrite exp_0; ring].
  - apply Rmult_le_pos; [lra | apply Rlt_le, exp_pos].
Qed.
Theorem softplus_slope_relative : forall a : R,
  acsl_logistic (Rabs a) / (2 * acsl_softplus_relative a) = acsl_softplus_slope a.
Proof.
  intros a. pose proof (softplus_of_positive a). unfold acsl_softplus_slope, acsl_softplus_relative, acsl_logistic, acsl_e_.
  pose proof (exp_pos a). destruct Rlt_dec as [N | N].
  - rewrite Rabs_left, Ropp_involutive, exp_Ropp by easy. field. lra.
  - rewrite Rabs_right by lra. reflexivity.
Qed.
