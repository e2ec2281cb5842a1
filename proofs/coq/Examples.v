(* The hypotheses of the general theorems can be met: each is used here on something concrete,
  so that
   none holds for want of an instance. (Legendre pairs have theirs in Instances.v and Renyi.v.) *)
From Coq Require Import Reals Lra Lia.
From Coquelicot Require Import Coquelicot.
From Phibal Require Import Legendre Even Vector Potentials Power Instances Mirror Uniform Renyi
  Conjugates Catalogue Derivatives.
Open Scope R_scope.

Definition pair (x y : R) : vec := fun e => match e with O => x | _ => y end.
Lemma veq_two x y : x O = y O -> x 1%nat = y 1%nat -> veq 2 x y.
Proof. intros H0 H1 i Hi. destruct i as [ | [ | i]]; auto; lia. Qed.

(* Lemma 1 in its general form, for half the sum of squares of two loads: symmetric,
  strictly convex. *)
Example uniform_unique_minimiser_symmetric_example p : Rsum 2 p = 1 ->
  separable_sum 2 euclid_v (uniform 2) <= separable_sum 2 euclid_v p /\
  (separable_sum 2 euclid_v p = separable_sum 2 euclid_v (uniform 2) -> veq 2 p (uniform 2)).
Proof.
intros Hs. refine (proj2 (uniform_unique_minimiser_symmetric 2 _ (fun _ => True) (separable_sum 2
  euclid_v) _ _ _ _ _ _ _ p I Hs)); auto; try lia.
- intros x y H. apply Rsum_ext. intros i Hi. now rewrite H.
- intros k x _. unfold separable_sum, shift. cbn [Rsum].
  destruct (Nat.Even_or_Odd k) as [[j ->] | [j ->]].
  + replace ((0 + 2 * j) mod 2)%nat with 0%nat by (rewrite Nat.mul_comm, Nat.mod_add; auto).
    replace ((1 + 2 * j) mod 2)%nat with 1%nat by (rewrite Nat.mul_comm, Nat.mod_add; auto).
      reflexivity.
  + replace ((0 + (2 * j + 1)) mod 2)%nat with 1%nat by (rewrite Nat.add_0_l, Nat.add_comm,
    Nat.mul_comm, Nat.mod_add; auto).
    replace ((1 + (2 * j + 1)) mod 2)%nat with 0%nat by (replace (1 + (2 * j + 1))%nat
      with (0 + (j + 1) * 2)%nat by lia; rewrite Nat.mod_add; auto). ring.
- intros x y t _ _ Ht. unfold separable_sum, euclid_v, segment, vadd, vsc, vsub. simpl.
  assert (H : 0 <= t * (1 - t) * ((x O - y O) ^ 2 + (x 1%nat - y 1%nat) ^ 2)).
  { apply Rmult_le_pos; [nra | ]. generalize (pow2_ge_0 (x O - y O)) (pow2_ge_0 (x 1%nat - y
    1%nat)). lra. }
  lra.
- intros x y _ _ Hn. unfold separable_sum, euclid_v, segment, vadd, vsc, vsub. simpl.
  assert (0 < (x O - y O) ^ 2 + (x 1%nat - y 1%nat) ^ 2); [ | lra].
  destruct (Req_dec (x O) (y O)) as [E0 | E0].
  + destruct (Req_dec (x 1%nat) (y 1%nat)) as [E1 | E1]; [exfalso; apply Hn; now apply veq_two | ].
    assert (0 < (x 1%nat - y 1%nat) ^ 2) by (rewrite <- Rsqr_pow2; apply Rsqr_pos_lt; lra).
    generalize (pow2_ge_0 (x O - y O)). lra.
  + assert (0 < (x O - y O) ^ 2) by (rewrite <- Rsqr_pow2; apply Rsqr_pos_lt; lra).
    generalize (pow2_ge_0 (x 1%nat - y 1%nat)). lra.
Qed.

(* Lemma 2 for one step with negentropy: state (1/2, 1/2), loads (1, 0), eta = 1/2.
  The one maximiser
   is the price of (3/4, 1/4). *)
Example mirror_ascent_is_ema_example :
  let q := vmap negentropy_g (pair (1 / 2) (1 / 2)) in
  let q' := vmap negentropy_g (pair (3 / 4) (1 / 4)) in
  let gain := mirror_objective 2 (separable_sum 2 negentropy_c) (vmap negentropy_d) (pair 1 0) q (1
    / 2) in
  (forall r, gain r <= gain q') /\ (forall r, gain r = gain q' -> veq 2 r q').
Proof.
intros q q' gain. set (m := pair (1 / 2) (1 / 2)). set (p := pair 1 0).
assert (M : vall 2 positive m) by (intros i _; unfold m, pair, positive; destruct i; lra).
assert (N : vall 2 positive (ema (1 / 2) m p)).
{ intros i _. unfold ema, vadd, vsc, m, p, pair, positive. destruct i; lra. }
assert (Q : q' = vmap negentropy_g (ema (1 / 2) m p)).
{ apply FunctionalExtensionality.functional_extensionality. intros i. unfold q', vmap, ema, vadd,
  vsc, m, p, pair.
  f_equal. destruct i; lra. }
assert (V : veq 2 (vmap negentropy_d q) m).
{ intros i Hi. unfold q, vmap. apply (inverse_gradient negentropy_legendre). exact (M i Hi). }
destruct (mirror_ascent_is_ema 2 _ _ _ _ _ _ _ _ (separable_legendre 2 _ _ _ _ _ _ _ _
  negentropy_legendre)
  p m (1 / 2) q q' ltac:(lra) M V N Q) as [_ [_ [A [B _]]]].
split; intros r; [apply A | intros H; apply B; auto]; now intros i _.
Qed.

(* Renyi's pair with two experts and alpha = 1/2: an inner point and its price. *)
Example renyi_legendre_example :
  renyi_interior 2 (uniform 2) /\ renyi_dual 2 (renyi_g 2 (1 / 2) (uniform 2)) /\
  renyi_v 2 (1 / 2) (uniform 2) + renyi_c 2 (1 / 2) (renyi_g 2 (1 / 2) (uniform 2))
  = dot 2 (uniform 2) (renyi_g 2 (1 / 2) (uniform 2)).
Proof.
assert (L := renyi_legendre 2 (1 / 2) ltac:(lia) ltac:(lra)).
assert (U : renyi_interior 2 (uniform 2)) by (intros i _; unfold uniform, positive; simpl; lra).
split; [exact U | split; [exact (v_gradient_maps L _ U) | ]].
apply (v_fenchel_young_eq_dual L _ _ U (v_dual_of_interior L _ (v_gradient_maps L _ U))).
  now intros i _.
Qed.

(* A symmetric but not strictly convex function fails Lemma 1, so that the hypothesis is used. *)
Example lemma_1_needs_strictness : ~ uniform_is_unique_minimiser 2 (separable_sum 2 lp_one_v).
Proof. apply (lp_one_uniform_not_unique 2); lia. Qed.

(* The definitions of the specification at a point where they are plain numbers. *)
Example negentropy_example : negentropy_v 0 = 0 /\ negentropy_v 1 = 0 /\ negentropy_g 1 = 1 /\
  negentropy_c 1 = 1.
Proof.
unfold negentropy_v, negentropy_g, negentropy_c. rewrite !x_log_x_eq, ln_1, Rminus_eq_0, exp_0. lra.
Qed.
Example tsallis_example x : tsallis_v 2 x = pow_real x 2 - x /\ tsallis_c 2 3 = 4 /\
  tsallis_c 2 (-2) = 0.
Proof.
assert (P : forall s, 0 <= s -> pow_real s (2 / (2 - 1)) = s ^ 2).
{ intros s Hs. replace (2 / (2 - 1)) with (1 + 1) by field. rewrite <- pow_real_add,
  !pow_real_1 by lra || (right; lra). ring. }
unfold tsallis_v, tsallis_c, tsallis_base. split; [field | split].
- rewrite P by lra. field.
- apply pow_real_0; lra.
Qed.
