(* The two lemmas of the paper for every potential of the catalogue, and for the limits p = 1 and
   p = inf of lp as far as they hold there. *)
From Coq Require Import Reals Lra Lia.
From Coquelicot Require Import Coquelicot.
From Phibal Require Import Legendre Even Vector Potentials Power Instances Mirror Uniform Renyi
  Conjugates.
Open Scope R_scope.

(* ---------- Lemma 2: runs of mirror ascent are prices of averages ---------- *)

(* The average of loads that may be 0 stays positive, for eta < 1 (erratum B2) ... *)
Lemma ema_positive E eta m0 p : 0 < eta < 1 -> vall E positive m0 -> (forall t,
  vall E nonneg (p t)) ->
  forall t, vall E positive (ema_seq eta m0 p t).
Proof.
intros He H0 Hp t. induction t as [ | t IH]; auto. intros i Hi. simpl. unfold ema, vadd, vsc,
  positive.
generalize (IH i Hi) (Hp t i Hi). unfold positive, nonneg. nra.
Qed.
(* ... and for eta = 1 as long as no load is 0. *)
Lemma ema_positive_one E m0 p : vall E positive m0 -> (forall t, vall E positive (p t)) ->
  forall t, vall E positive (ema_seq 1 m0 p t).
Proof.
intros H0 Hp t. induction t as [ | t IH]; auto. intros i Hi. simpl. unfold ema, vadd, vsc, positive.
generalize (Hp t i Hi). unfold positive. lra.
Qed.
Lemma vall_ext E P y y' : veq E y y' -> vall E P y -> vall E P y'.
Proof. intros V H i Hi. rewrite <- (V i Hi). auto. Qed.

Lemma ema_positive_any E eta m0 p : 0 < eta <= 1 -> vall E positive m0 ->
  (forall t, simplex E (p t)) -> eta < 1 \/ (forall t, vall E positive (p t)) ->
  forall t, vall E positive (ema_seq eta m0 p t).
Proof.
intros He H0 Hp [H | H].
- apply ema_positive; auto; [lra | intros t; exact (proj1 (Hp t))].
- destruct (Rlt_dec eta 1) as [L | L].
  + apply ema_positive; auto; [lra | intros t; exact (proj1 (Hp t))].
  + replace eta with 1 by lra. now apply ema_positive_one.
Qed.

(* Every start m0 inside, every sequence of loads on the simplex, 0 < eta < 1, or eta = 1 where the
   loads are inside too (which on the whole line they always are): the prices of the averages are a
   run of mirror ascent, and the only one from the price of m0. *)
Definition run_is_ema E (Xi Y : vec -> Prop) (fs : vec -> R) (g h : vec -> vec) :=
  forall eta m0 p, 0 < eta <= 1 -> Xi m0 -> (forall t, simplex E (p t)) ->
  eta < 1 \/ (forall t, Xi (p t)) ->
  (forall t, is_step E Y fs h (p t) eta (g (ema_seq eta m0 p t)) (g (ema_seq eta m0 p (S t)))) /\
  (forall q : nat -> vec, veq E (q O) (g m0) -> (forall t, is_step E Y fs h (p t) eta (q t) (q (S
    t))) ->
     forall t, veq E (q t) (g (ema_seq eta m0 p t))).

Theorem run_is_ema_on_line E Y Yi f fs g h : legendre all all Y Yi f fs g h ->
  run_is_ema E (vall E all) (vall E Y) (separable_sum E fs) (vmap g) (vmap h).
Proof.
intros L eta m0 p He H0 Hp _.
destruct (mirror_trajectory_is_ema E _ _ _ _ _ _ _ _ (separable_legendre E _ _ _ _ _ _ _ _ L)
  (vall_ext E Yi)
  eta m0 p ltac:(lra) ltac:(intros t i Hi; exact I)) as [A B].
split; [exact A | exact B].
Qed.
Theorem run_is_ema_on_half_line E X Y Yi f fs g h : legendre X positive Y Yi f fs g h ->
  run_is_ema E (vall E positive) (vall E Y) (separable_sum E fs) (vmap g) (vmap h).
Proof.
intros L eta m0 p He H0 Hp H1.
destruct (mirror_trajectory_is_ema E _ _ _ _ _ _ _ _ (separable_legendre E _ _ _ _ _ _ _ _ L)
  (vall_ext E Yi)
  eta m0 p ltac:(lra) (ema_positive_any E eta m0 p He H0 Hp H1)) as [A B].
split; [exact A | exact B].
Qed.

Theorem euclid_run E : run_is_ema E (vall E all) (vall E all) (separable_sum E euclid_c) (vmap
  euclid_g) (vmap euclid_d).
Proof. exact (run_is_ema_on_line E _ _ _ _ _ _ euclid_legendre). Qed.
Theorem lp_run E p : 1 < p ->
  run_is_ema E (vall E all) (vall E all) (separable_sum E (lp_c p)) (vmap (lp_g p)) (vmap (lp_d p)).
Proof. intros H; exact (run_is_ema_on_line E _ _ _ _ _ _ (lp_legendre p H)). Qed.
Theorem soft_l1_run E d : 0 < d ->
  run_is_ema E (vall E all) (vall E (fun y => Rabs y < 1)) (separable_sum E (soft_l1_c d)) (vmap
    (soft_l1_g d)) (vmap (soft_l1_d d)).
Proof. intros H; exact (run_is_ema_on_line E _ _ _ _ _ _ (soft_l1_legendre d H)). Qed.
Theorem negentropy_run E :
  run_is_ema E (vall E positive) (vall E all) (separable_sum E negentropy_c) (vmap negentropy_g)
    (vmap negentropy_d).
Proof. exact (run_is_ema_on_half_line E _ _ _ _ _ _ _ negentropy_legendre). Qed.
Theorem tsallis_run E a : 0 < a -> a <> 1 ->
  run_is_ema E (vall E positive) (vall E (tsallis_dual a)) (separable_sum E (tsallis_c a)) (vmap
    (tsallis_g a)) (vmap (tsallis_d a)).
Proof. intros H H1; exact (run_is_ema_on_half_line E _ _ _ _ _ _ _ (tsallis_legendre a H H1)). Qed.
Theorem renyi_run E a : (0 < E)%nat -> 0 < a < 1 ->
  run_is_ema E (renyi_interior E) (renyi_dual E) (renyi_c E a) (renyi_g E a) (renyi_d E a).
Proof.
intros HE Ha eta m0 p He H0 Hp H1.
destruct (mirror_trajectory_is_ema E _ _ _ _ _ _ _ _ (renyi_legendre E a HE Ha) (vall_ext E _) eta
  m0 p ltac:(lra)
  (ema_positive_any E eta m0 p He H0 Hp H1)) as [A B].
split; [exact A | exact B].
Qed.
Theorem pseudo_huber_run E d : 0 < d ->
  run_is_ema E (vall E all) (vall E unit_closed) (separable_sum E (pseudo_huber_c d)) (vmap
    (pseudo_huber_g d)) (vmap (pseudo_huber_d d)).
Proof. intros H; exact (run_is_ema_on_line E _ _ _ _ _ _ (pseudo_huber_legendre d H)). Qed.
Theorem log_cosh_run E b : 0 < b ->
  run_is_ema E (vall E all) (vall E unit_closed) (separable_sum E (log_cosh_c b)) (vmap (log_cosh_g
    b)) (vmap (log_cosh_d b)).
Proof. intros H; exact (run_is_ema_on_line E _ _ _ _ _ _ (log_cosh_legendre b H)). Qed.
Theorem softplus_run E :
  run_is_ema E (vall E all) (vall E zero_one_closed) (separable_sum E softplus_c) (vmap softplus_g)
    (vmap softplus_d).
Proof. exact (run_is_ema_on_line E _ _ _ _ _ _ softplus_legendre). Qed.

(* ---------- Lemma 1: the uniform load is the only minimiser on the closed simplex ---------- *)
Definition uniform_minimises E (f : vec -> R) := forall p, simplex E p -> f (uniform E) <= f p.
Definition uniform_is_unique_minimiser E (f : vec -> R) :=
  forall p, simplex E p -> f (uniform E) <= f p /\ (f p = f (uniform E) -> veq E p (uniform E)).

Lemma uniform_positive E : (0 < E)%nat -> 0 < / INR E.
Proof. intros H; apply Rinv_0_lt_compat, lt_0_INR; auto. Qed.
Theorem uniform_unique_on_line E Y Yi f fs g h : (0 < E)%nat -> legendre all all Y Yi f fs g h ->
  uniform_is_unique_minimiser E (separable_sum E f).
Proof. intros HE L p [Hp Hs]. eapply uniform_unique_minimiser_separable; eauto;
  [exact I | intros i Hi; exact I]. Qed.
Theorem uniform_unique_on_half_line E Y Yi f fs g h : (0 < E)%nat -> legendre nonneg positive Y Yi f
  fs g h ->
  uniform_is_unique_minimiser E (separable_sum E f).
Proof. intros HE L p [Hp Hs]. eapply uniform_unique_minimiser_separable; eauto.
  now apply uniform_positive. Qed.

Section Lemma1.
Variable E : nat.
Hypothesis HE : (0 < E)%nat.
Theorem euclid_uniform : uniform_is_unique_minimiser E (separable_sum E euclid_v).
Proof. exact (uniform_unique_on_line E _ _ _ _ _ _ HE euclid_legendre). Qed.
Theorem lp_uniform p : 1 < p -> uniform_is_unique_minimiser E (separable_sum E (lp_v p)).
Proof. intros H; exact (uniform_unique_on_line E _ _ _ _ _ _ HE (lp_legendre p H)). Qed.
Theorem soft_l1_uniform d : 0 < d -> uniform_is_unique_minimiser E (separable_sum E (soft_l1_v d)).
Proof. intros H; exact (uniform_unique_on_line E _ _ _ _ _ _ HE (soft_l1_legendre d H)). Qed.
Theorem negentropy_uniform : uniform_is_unique_minimiser E (separable_sum E negentropy_v).
Proof. exact (uniform_unique_on_half_line E _ _ _ _ _ _ HE negentropy_legendre). Qed.
Theorem tsallis_uniform a : 0 < a -> a <> 1 -> uniform_is_unique_minimiser E (separable_sum E
  (tsallis_v a)).
Proof. intros H H1; exact (uniform_unique_on_half_line E _ _ _ _ _ _ HE (tsallis_legendre a H H1)).
  Qed.
Theorem pseudo_huber_uniform d : 0 < d -> uniform_is_unique_minimiser E (separable_sum E
  (pseudo_huber_v d)).
Proof. intros H; exact (uniform_unique_on_line E _ _ _ _ _ _ HE (pseudo_huber_legendre d H)). Qed.
Theorem log_cosh_uniform b : 0 < b -> uniform_is_unique_minimiser E (separable_sum E (log_cosh_v
  b)).
Proof. intros H; exact (uniform_unique_on_line E _ _ _ _ _ _ HE (log_cosh_legendre b H)). Qed.
Theorem softplus_uniform : uniform_is_unique_minimiser E (separable_sum E softplus_v).
Proof. exact (uniform_unique_on_line E _ _ _ _ _ _ HE softplus_legendre). Qed.

Lemma simplex_renyi_domain a p : simplex E p -> renyi_domain E a p.
Proof.
intros [Hp Hs]. split; [exact Hp | ]. unfold renyi_sum.
assert (N : forall n, (forall i, (i < n)%nat -> 0 <= p i) -> 0 < Rsum n p ->
  0 < Rsum n (fun i => pow_real (p i) a)).
{ induction n; simpl; intros H1 H2; [lra | ].
  assert (G : 0 <= Rsum n (fun i => pow_real (p i) a)) by (apply Rsum_ge0; intros;
    apply pow_real_ge0).
  destruct (Rlt_dec 0 (p n)) as [K | K].
  - generalize (pow_real_gt0 (p n) a K); lra.
  - assert (0 < Rsum n (fun i => pow_real (p i) a)) by (apply IHn; auto; lra).
    generalize (pow_real_ge0 (p n) a); lra. }
apply N; auto. rewrite Hs; lra.
Qed.
Theorem renyi_uniform a : 0 < a < 1 -> uniform_is_unique_minimiser E (renyi_v E a).
Proof.
intros Ha p Hp.
assert (U : renyi_interior E (uniform E)) by (intros i Hi; now apply uniform_positive).
apply (uniform_unique_minimiser_legendre E _ _ _ _ _ _ _ _ (renyi_g E a (uniform E) O)
  (renyi_legendre E a HE Ha) U); auto.
- intros i Hi. reflexivity.
- now apply simplex_renyi_domain.
- apply Hp.
Qed.

(* (P2.1): at p = 1 every load of the simplex is a minimiser, so with two experts or more the
   minimiser is not unique (erratum C2). *)
Theorem lp_one_constant p : simplex E p -> separable_sum E lp_one_v p = 1.
Proof.
intros [Hp Hs]. rewrite <- Hs. apply Rsum_ext; intros i Hi. apply Rabs_pos_eq; auto.
Qed.
Theorem lp_one_uniform_not_unique : (1 < E)%nat ->
  uniform_minimises E (separable_sum E lp_one_v) /\ ~ uniform_is_unique_minimiser E (separable_sum E
    lp_one_v).
Proof.
intros H2. assert (U : simplex E (uniform E)).
{ split; [intros i Hi; left; now apply uniform_positive | ]. unfold uniform. rewrite Rsum_const.
  field.
  apply not_0_INR; lia. }
split.
- intros p Hp. rewrite !lp_one_constant; auto; lra.
- intros C. set (v := fun i => if Nat.eq_dec i 0 then 1 else 0).
  assert (V : simplex E v).
  { split; [intros i Hi; unfold v; destruct (Nat.eq_dec i 0); lra | ].
    rewrite <- (Rsum_delta E (fun _ => 1) O HE). apply Rsum_ext; intros i Hi. unfold v. ring. }
  destruct (C v V) as [_ C2]. rewrite !lp_one_constant in C2 by auto.
  assert (K := C2 eq_refl O HE). unfold v, uniform in K. simpl in K.
  assert (I2 : / INR E < / 1) by (apply Rinv_lt_contravar; [rewrite Rmult_1_l; apply lt_0_INR;
    lia | apply (lt_INR 1 E H2)]).
  lra.
Qed.

(* (P2.inf): at p = inf the uniform load is still the only minimiser on the simplex, although
   max |x_e| is not strictly convex (lp_max_not_strictly_convex). *)
Theorem lp_max_uniform : uniform_is_unique_minimiser E (lp_max_v E).
Proof.
intros p [Hp Hs]. assert (P := uniform_positive E HE).
assert (U : lp_max_v E (uniform E) = / INR E).
{ apply Rle_antisym.
  - apply lp_max_bound; [lra | ]. intros i Hi. unfold uniform. rewrite Rabs_pos_eq; lra.
  - rewrite <- (Rabs_pos_eq (/ INR E)) by lra. exact (lp_max_term E (uniform E) O HE). }
rewrite U.
assert (B : forall i, (i < E)%nat -> p i <= lp_max_v E p).
{ intros i Hi. generalize (lp_max_term E p i Hi) (Rle_abs (p i)). lra. }
assert (S1 : Rsum E p <= INR E * lp_max_v E p).
{ rewrite <- Rsum_const. now apply Rsum_le. }
assert (N : 0 < INR E) by (apply lt_0_INR; auto).
split.
- apply (Rmult_le_reg_l (INR E)); auto. rewrite Rinv_r by lra. lra.
- intros Eq i Hi. unfold uniform. rewrite <- Eq.
  apply (Rsum_le_eq E p (fun _ => lp_max_v E p)); auto. rewrite Rsum_const, Eq, Hs. field; lra.
Qed.
End Lemma1.

(* Neither limit is strictly convex: for two experts, midpoints of a segment reach the mean. *)
Theorem lp_one_not_strictly_convex :
  lp_one_v ((1 + 3) / 2) = (lp_one_v 1 + lp_one_v 3) / 2.
Proof. unfold lp_one_v. rewrite !Rabs_pos_eq; lra. Qed.
Theorem lp_max_not_strictly_convex :
  let x := fun i => match i with O => 1 | _ => 0 end in
  let y := fun i => match i with O => 1 | _ => 1 / 2 end in
  ~ veq 2 x y /\ lp_max_v 2 (segment x y (1 / 2)) = 1 / 2 * lp_max_v 2 x + 1 / 2 * lp_max_v 2 y.
Proof.
intros x y. split.
- intros V. assert (K := V 1%nat ltac:(lia)). unfold x, y in K. lra.
- unfold segment, vadd, vsc, vsub, x, y. simpl. rewrite !Rabs_pos_eq by lra.
  unfold Rmax. repeat (destruct Rle_dec; try lra).
Qed.
