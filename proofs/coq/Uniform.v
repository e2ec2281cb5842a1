(* Lemma 1 of the paper: among loads that sum to 1 the uniform one is the only minimiser. *)
From Coq Require Import Reals Lra Lia FunctionalExtensionality.
From Coquelicot Require Import Coquelicot.
From Phibal Require Import Legendre Vector Mirror.
Open Scope R_scope.

Definition uniform E : vec := fun _ => / INR E.
Definition simplex E (p : vec) := (forall i, (i < E)%nat -> 0 <= p i) /\ Rsum E p = 1.

(* Separable potentials: Lemma 1 is Fenchel-Young at y = psi'(1/E). *)
Theorem uniform_unique_minimiser_separable E X Xi Y Yi f fs g h : (0 < E)%nat ->
  legendre X Xi Y Yi f fs g h -> Xi (/ INR E) ->
  forall p, vall E X p -> Rsum E p = 1 ->
    separable_sum E f (uniform E) <= separable_sum E f p /\ (separable_sum E f p = separable_sum E f
      (uniform E) -> veq E p (uniform E)).
Proof.
intros HE L Hu p Hp Hs. assert (Hn : INR E <> 0) by (apply not_0_INR; lia).
set (y := g (/ INR E)). assert (Hy : Yi y) by (apply (gradient_maps L), Hu).
assert (HyY := dual_of_interior L _ Hy).
assert (Eu : f (/ INR E) + fs y = / INR E * y) by (apply (fenchel_young_eq_dual L); auto).
assert (A : separable_sum E f (uniform E) = y - INR E * fs y).
{ unfold separable_sum, uniform. rewrite Rsum_const. replace (f (/ INR E)) with (/ INR E * y - fs y)
  by lra. field; auto. }
assert (B : Rsum E (fun i => p i * y - fs y) = y - INR E * fs y).
{ rewrite Rsum_minus, Rsum_const. f_equal. rewrite (Rsum_ext E (fun i => p i * y) (fun i => y * p
  i)) by (intros; ring).
  rewrite Rsum_scal, Hs. ring. }
assert (C : forall i, (i < E)%nat -> p i * y - fs y <= f (p i)).
{ intros i Hi. generalize (fenchel_young L (p i) y (Hp i Hi) HyY). lra. }
split.
- rewrite A, <- B. unfold separable_sum. now apply Rsum_le.
- intros Eq i Hi. rewrite A, <- B in Eq. unfold separable_sum in Eq.
  assert (K := Rsum_le_eq E _ _ C Eq i Hi). simpl in K.
  assert (K' : f (p i) + fs y = p i * y) by lra.
  apply (fenchel_young_eq_primal L) in K'; auto.
  rewrite K'. unfold uniform, y. apply (inverse_gradient L), Hu.
Qed.

(* In general, by Jensen over the cyclic shifts of a load: a strictly convex function that shifts
  leave
   alone (a fortiori a symmetric one). *)
Section General.
Variable E : nat.
Hypothesis HE : (0 < E)%nat.
Variables (K : vec -> Prop) (phi : vec -> R).
Definition shift k (p : vec) : vec := fun i => p ((i + k) mod E)%nat.
Hypothesis phi_ext : forall p p', veq E p p' -> phi p = phi p'.
Hypothesis K_ext : forall p p', veq E p p' -> K p -> K p'.
Hypothesis K_conv : forall p p' t, K p -> K p' -> 0 <= t <= 1 -> K (segment p p' t).
Hypothesis K_sym : forall k p, K p -> K (shift k p).
Hypothesis phi_sym : forall k p, K p -> phi (shift k p) = phi p.
Hypothesis phi_conv : forall p p' t, K p -> K p' -> 0 <= t <= 1 -> phi (segment p p' t) <= (1 - t) *
  phi p + t * phi p'.
Hypothesis phi_strict : forall p p', K p -> K p' -> ~ veq E p p' -> phi (segment p p' (1/2)) < 1/2 *
  phi p + 1/2 * phi p'.

Definition avg n (v : nat -> vec) : vec := fun i => / INR n * Rsum n (fun k => v k i).
Lemma jensen n v : (forall k, K (v k)) -> K (avg (S n) v) /\ phi (avg (S n) v) <= / INR (S n) * Rsum
  (S n) (fun k => phi (v k)).
Proof.
intros Hv. induction n as [ | n [IK IH]].
- replace (avg 1 v) with (v O). split; auto. simpl. lra.
  apply functional_extensionality; intros i. unfold avg; simpl. field.
- set (t := / INR (S (S n))). assert (N1 : 0 < INR (S n)) by (apply lt_0_INR; lia).
  assert (N2 : INR (S (S n)) = INR (S n) + 1) by apply S_INR.
  assert (Ht : 0 <= t <= 1).
  { unfold t. split; [left; apply Rinv_0_lt_compat; lra | ]. rewrite <- Rinv_1.
    apply Rinv_le_contravar; lra. }
  assert (Es : avg (S (S n)) v = segment (avg (S n) v) (v (S n)) t).
  { apply functional_extensionality; intros i. unfold avg, segment, vadd, vsc, vsub, t.
    change (Rsum (S (S n)) (fun k => v k i)) with (Rsum (S n) (fun k => v k i) + v (S n) i).
    set (r := Rsum (S n) _). rewrite N2. field. lra. }
  rewrite Es. split; [apply K_conv; auto | ].
  eapply Rle_trans; [apply phi_conv; auto | ].
  change (Rsum (S (S n)) (fun k => phi (v k))) with (Rsum (S n) (fun k => phi (v k)) + phi (v (S
    n))).
  set (r := Rsum (S n) (fun k => phi (v k))) in *.
  assert (Z : (1 - t) * / INR (S n) = t) by (unfold t; rewrite N2; field; lra).
  assert (0 <= 1 - t) by lra. rewrite Rmult_plus_distr_l. apply Rplus_le_compat_r.
  replace (t * r) with ((1 - t) * (/ INR (S n) * r)) by (rewrite <- Rmult_assoc, Z; ring).
  now apply Rmult_le_compat_l.
Qed.

Lemma Rsum_S n (f : nat -> R) : Rsum n (fun k => f (S k)) = Rsum n f - f O + f n.
Proof. induction n; simpl; [ring | rewrite IHn; ring]. Qed.
Lemma Rsum_shift (p : vec) i : (i < E)%nat -> Rsum E (fun k => shift k p i) = Rsum E p.
Proof.
induction i; intros Hi.
- apply Rsum_ext; intros k Hk. unfold shift. now rewrite Nat.add_0_l, Nat.mod_small.
- rewrite <- IHi by lia. set (f := fun k => shift k p i).
  rewrite (Rsum_ext E (fun k => shift k p (S i)) (fun k => f (S k))).
  + rewrite Rsum_S. unfold f, shift. rewrite Nat.add_0_r.
    replace ((i + E) mod E)%nat with (i mod E)%nat; [ring | ].
    replace (i + E)%nat with (i + 1 * E)%nat by lia. symmetry; apply Nat.mod_add; lia.
  + intros k _. unfold f, shift. do 2 f_equal. lia.
Qed.

Theorem uniform_unique_minimiser_symmetric p : K p -> Rsum E p = 1 ->
  K (uniform E) /\ phi (uniform E) <= phi p /\ (phi p = phi (uniform E) -> veq E p (uniform E)).
Proof.
assert (W : forall p, K p -> Rsum E p = 1 -> K (uniform E) /\ phi (uniform E) <= phi p).
{ intros p' Hp Hs. destruct E as [ | n] eqn:En; [lia | ]. rewrite <- En in *.
  assert (V : veq E (avg E (fun k => shift k p')) (uniform E)).
  { intros i Hi. unfold avg. rewrite Rsum_shift, Hs by auto. unfold uniform. ring. }
  assert (J := jensen n (fun k => shift k p') (fun k => K_sym k p' Hp)). rewrite <- En in J.
    destruct J as [J1 J2].
  split; [now apply (K_ext _ _ V) | ]. rewrite <- (phi_ext _ _ V).
  eapply Rle_trans; [apply J2 | ]. rewrite (Rsum_ext E _ (fun _ => phi p')) by (intros;
    now apply phi_sym).
  rewrite Rsum_const. right; field. apply not_0_INR; lia. }
intros Hp Hs. destruct (W p Hp Hs) as [Ku Hle]. split; auto. split; auto.
intros Eq i Hi. destruct (Req_dec (p i) (uniform E i)) as [ | Hn]; auto. exfalso.
assert (S := phi_strict p (uniform E) Hp Ku (fun V => Hn (V i Hi))).
assert (Hu : Rsum E (uniform E) = 1) by (unfold uniform; rewrite Rsum_const; field;
  apply not_0_INR; lia).
destruct (W (segment p (uniform E) (1/2))) as [_ H2].
- apply K_conv; auto; lra.
- unfold segment, vadd, vsc, vsub. rewrite Rsum_plus, Rsum_scal, Rsum_minus, Hs. fold (uniform E).
  rewrite Hu. ring.
- lra.
Qed.
End General.

(* Any pair of vectors whose gradient at the uniform load has equal components. *)
Theorem uniform_unique_minimiser_legendre E X Xi Y Yi f fs g h kappa : vlegendre E X Xi Y Yi f fs g
  h ->
  Xi (uniform E) -> veq E (g (uniform E)) (fun _ => kappa) -> (0 < E)%nat ->
  forall p, X p -> Rsum E p = 1 -> f (uniform E) <= f p /\ (f p = f (uniform E) ->
    veq E p (uniform E)).
Proof.
intros L Hu Hk HE p Hp Hs. set (y := g (uniform E)).
assert (Hy : Yi y) by (apply (v_gradient_maps L), Hu).
assert (HyY := v_dual_of_interior L _ Hy).
assert (Eu : f (uniform E) + fs y = dot E (uniform E) y).
{ apply (v_fenchel_young_eq_dual L); auto. intros i _; auto. }
assert (C : forall q, Rsum E q = 1 -> dot E q y = kappa).
{ intros q Hq. rewrite (dot_ext E q q y (fun _ => kappa)); auto; [ | intros i _; auto].
  unfold dot. rewrite (Rsum_ext E _ (fun i => kappa * q i)) by (intros; ring).
    rewrite Rsum_scal, Hq; ring. }
rewrite C in Eu by (unfold uniform; rewrite Rsum_const; field; apply not_0_INR; lia).
assert (F := v_fenchel_young L p y Hp HyY). rewrite C in F by auto.
split; [lra | ]. intros Eq. assert (G : f p + fs y = dot E p y) by (rewrite C; auto; lra).
apply (v_fenchel_young_eq_primal L) in G; auto.
intros i Hi. rewrite (G i Hi). apply (v_inverse_gradient L); auto.
Qed.
