(* Vectors of E reals (functions of the index, read below E), sums, gradients along directions, and
   Legendre pairs of functions of vectors; the separable ones come from a scalar pair. *)
From Coq Require Import Reals Lra Lia FunctionalExtensionality.
From Coquelicot Require Import Coquelicot.
From Phibal Require Import Legendre.
Open Scope R_scope.

Fixpoint Rsum (n : nat) (f : nat -> R) := match n with O => 0 | S k => Rsum k f + f k end.
Definition vec := nat -> R.
Definition dot E (x y : vec) := Rsum E (fun i => x i * y i).
Definition veq E (x y : vec) := forall i, (i < E)%nat -> x i = y i.
Definition vall E (P : R -> Prop) (x : vec) := forall i, (i < E)%nat -> P (x i).
Definition vadd (x y : vec) : vec := fun i => x i + y i.
Definition vsub (x y : vec) : vec := fun i => x i - y i.
Definition vsc (t : R) (x : vec) : vec := fun i => t * x i.
Definition vmap (f : R -> R) (x : vec) : vec := fun i => f (x i).
Definition separable_sum E (f : R -> R) (x : vec) := Rsum E (fun i => f (x i)).

Lemma Rsum_ext n f g : (forall i, (i < n)%nat -> f i = g i) -> Rsum n f = Rsum n g.
Proof. induction n; simpl; intros H; auto. rewrite IHn, H; auto. Qed.
Lemma Rsum_le n f g : (forall i, (i < n)%nat -> f i <= g i) -> Rsum n f <= Rsum n g.
Proof. induction n; simpl; intros H; [lra | ]. assert (f n <= g n) by auto.
  assert (Rsum n f <= Rsum n g) by auto. lra. Qed.
Lemma Rsum_le_eq n f g : (forall i, (i < n)%nat -> f i <= g i) -> Rsum n g = Rsum n f ->
  forall i, (i < n)%nat -> f i = g i.
Proof.
induction n; simpl; intros H E i Hi; [lia | ].
assert (H1 : f n <= g n) by auto. assert (H2 : Rsum n f <= Rsum n g) by (apply Rsum_le; auto).
destruct (Nat.eq_dec i n) as [-> | Hn]; [lra | apply IHn; auto; [lra | lia]].
Qed.
Lemma Rsum_plus n f g : Rsum n (fun i => f i + g i) = Rsum n f + Rsum n g.
Proof. induction n; simpl; lra. Qed.
Lemma Rsum_scal n c f : Rsum n (fun i => c * f i) = c * Rsum n f.
Proof. induction n; simpl; [ring | rewrite IHn; ring]. Qed.
Lemma Rsum_minus n f g : Rsum n (fun i => f i - g i) = Rsum n f - Rsum n g.
Proof. induction n; simpl; lra. Qed.
Lemma Rsum_const n c : Rsum n (fun _ => c) = INR n * c.
Proof. induction n; [simpl; ring | rewrite S_INR; simpl Rsum; rewrite IHn; ring]. Qed.
Lemma Rsum_pos n f : (forall i, (i < n)%nat -> 0 < f i) -> (0 < n)%nat -> 0 < Rsum n f.
Proof.
induction n; [lia | ]. intros H _; simpl. assert (0 < f n) by auto.
destruct n; [simpl; lra | ]. assert (0 < Rsum (S n) f) by (apply IHn; auto; lia). lra.
Qed.
Lemma is_derive_Rsum n (F : nat -> R -> R) (dF : nat -> R) t :
  (forall i, (i < n)%nat -> is_derive (F i) t (dF i)) ->
  is_derive (fun t => Rsum n (fun i => F i t)) t (Rsum n dF).
Proof.
induction n; intros H; simpl; [apply (is_derive_const 0) | ].
apply (is_derive_plus (fun t => Rsum n (fun i => F i t)) (F n)); auto.
Qed.
Lemma dot_ext E x x' y y' : veq E x x' -> veq E y y' -> dot E x y = dot E x' y'.
Proof. intros H1 H2; apply Rsum_ext; intros i Hi; rewrite H1, H2; auto. Qed.
Lemma dot_sym E x y : dot E x y = dot E y x.
Proof. apply Rsum_ext; intros; ring. Qed.
Lemma dot_addr E x y z : dot E x (vadd y z) = dot E x y + dot E x z.
Proof. unfold dot, vadd. rewrite <- Rsum_plus. apply Rsum_ext; intros; ring. Qed.
Lemma dot_subr E x y z : dot E x (vsub y z) = dot E x y - dot E x z.
Proof. unfold dot, vsub. rewrite <- Rsum_minus. apply Rsum_ext; intros; ring. Qed.
Lemma dot_scr E x t y : dot E x (vsc t y) = t * dot E x y.
Proof. unfold dot, vsc. rewrite <- Rsum_scal. apply Rsum_ext; intros; ring. Qed.
Lemma dot_scl E x t y : dot E (vsc t x) y = t * dot E x y.
Proof. rewrite dot_sym, dot_scr, dot_sym; auto. Qed.
Lemma dot_subl E x y z : dot E (vsub x y) z = dot E x z - dot E y z.
Proof. rewrite dot_sym, dot_subr, (dot_sym E z x), (dot_sym E z y); auto. Qed.
Lemma dot_addl E x y z : dot E (vadd x y) z = dot E x z + dot E y z.
Proof. rewrite dot_sym, dot_addr, (dot_sym E z x), (dot_sym E z y); auto. Qed.

(* g is the gradient of phi at x: all directional derivatives are linear in the direction. *)
Definition has_grad E (phi : vec -> R) (x g : vec) :=
  forall d, is_derive (fun t => phi (vadd x (vsc t d))) 0 (dot E g d).

(* A Legendre pair of functions of vectors; as the scalar record. *)
Record vlegendre E (X Xi Y Yi : vec -> Prop) (f fs : vec -> R) (g h : vec -> vec) : Prop := {
  v_domain_of_interior   : forall x, Xi x -> X x;
  v_dual_of_interior   : forall y, Yi y -> Y y;
  v_gradient_derives  : forall x, Xi x -> has_grad E f x (g x);
  v_conjugate_derives : forall y, Yi y -> has_grad E fs y (h y);
  v_gradient_maps   : forall x, Xi x -> Yi (g x);
  v_inverse_maps   : forall y, Yi y -> Xi (h y);
  v_inverse_gradient  : forall x, Xi x -> veq E (h (g x)) x;
  v_gradient_inverse  : forall y, Yi y -> veq E (g (h y)) y;
  v_fenchel_young  : forall x y, X x -> Y y -> dot E x y <= f x + fs y;
  v_fenchel_young_eq_primal : forall x y, X x -> Yi y -> (f x + fs y = dot E x y <-> veq E x (h y));
  v_fenchel_young_eq_dual : forall x y, Xi x -> Y y -> (f x + fs y = dot E x y <-> veq E y (g x))
}.

Arguments v_domain_of_interior {E X Xi Y Yi f fs g h}.
Arguments v_dual_of_interior {E X Xi Y Yi f fs g h}.
Arguments v_gradient_derives {E X Xi Y Yi f fs g h}.
Arguments v_conjugate_derives {E X Xi Y Yi f fs g h}.
Arguments v_gradient_maps {E X Xi Y Yi f fs g h}.
Arguments v_inverse_maps {E X Xi Y Yi f fs g h}.
Arguments v_inverse_gradient {E X Xi Y Yi f fs g h}.
Arguments v_gradient_inverse {E X Xi Y Yi f fs g h}.
Arguments v_fenchel_young {E X Xi Y Yi f fs g h}.
Arguments v_fenchel_young_eq_primal {E X Xi Y Yi f fs g h}.
Arguments v_fenchel_young_eq_dual {E X Xi Y Yi f fs g h}.

(* The sum of one scalar pair over the experts is a pair of vectors. *)
Theorem separable_legendre E X Xi Y Yi f fs g h : legendre X Xi Y Yi f fs g h ->
  vlegendre E (vall E X) (vall E Xi) (vall E Y) (vall E Yi) (separable_sum E f) (separable_sum E fs)
    (vmap g) (vmap h).
Proof.
intros L. destruct L.
assert (FY : forall x y, vall E X x -> vall E Y y -> dot E x y <= separable_sum E f x +
  separable_sum E fs y).
{ intros x y Hx Hy. unfold dot, separable_sum. rewrite <- Rsum_plus. apply Rsum_le; auto. }
assert (FYe : forall x y, vall E X x -> vall E Y y ->
   (separable_sum E f x + separable_sum E fs y = dot E x y <-> forall i, (i < E)%nat ->
     f (x i) + fs (y i) = x i * y i)).
{ intros x y Hx Hy. unfold dot, separable_sum. rewrite <- Rsum_plus. split.
  - intros He i Hi. symmetry.
    apply (Rsum_le_eq E (fun i => x i * y i) (fun i => f (x i) + fs (y i))); auto.
  - intros H. now apply Rsum_ext. }
assert (GR : forall k k' (P : R -> Prop), (forall x, P x -> is_derive k x (k' x)) ->
   forall x, vall E P x -> has_grad E (separable_sum E k) x (vmap k' x)).
{ intros k k' P Hk x Hx d. unfold separable_sum, dot, vmap, vadd, vsc.
  apply (is_derive_Rsum E (fun i t => k (x i + t * d i))). intros i Hi.
  replace (k' (x i) * d i) with (d i * k' (x i)) by ring.
  apply (is_derive_comp k (fun t => x i + t * d i)).
  - rewrite Rmult_0_l, Rplus_0_r; auto.
  - auto_derive; [auto | ring]. }
constructor; unfold vall, vmap, veq in *; intros; auto.
- apply (GR f g Xi); auto.
- apply (GR fs h Yi); auto.
- rewrite FYe; auto. split; intros Q i Hi; specialize (Q i Hi); apply fenchel_young_eq_primal; auto.
- rewrite FYe; auto. split; intros Q i Hi; specialize (Q i Hi); apply fenchel_young_eq_dual; auto.
Qed.
