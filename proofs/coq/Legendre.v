(* Legendre pairs of one real variable: a convex function, its conjugate, and the two gradients that
   invert each other. The constructor asks a pair only for derivatives,
     monotonicity of the gradient,
   inverses and what holds at the ends of the domains; Fenchel-Young with both equality cases
   follows, and with it the conjugate as a supremum. *)
From Coq Require Import Reals Lra Lia FunctionalExtensionality.
From Coquelicot Require Import Coquelicot.
Open Scope R_scope.

Definition interval (D : R -> Prop) := forall a b c, D a -> D b -> a <= c <= b -> D c.
Definition strictly_increasing (D : R -> Prop) (g : R -> R) := forall a b, D a -> D b -> a < b ->
  g a < g b.

(* A differentiable function with an increasing derivative lies strictly above its tangents. *)
Lemma tangent_strict (D : R -> Prop) (f g : R -> R) :
  interval D -> (forall x, D x -> is_derive f x (g x)) -> strictly_increasing D g ->
  forall x z, D x -> D z -> x <> z -> f z + g z * (x - z) < f x.
Proof.
intros HD Hd Hg x z Hx Hz Hxz.
destruct (Rtotal_order x z) as [Hlt | [Heq | Hgt]]; [ | contradiction | ].
- destruct (MVT_cor2 f g x z Hlt) as [c [Hc [H1 H2]]].
  { intros c Hc; apply is_derive_Reals, Hd, (HD x z); assumption. }
  assert (g c < g z) by (apply Hg; [apply (HD x z); auto; lra | assumption | lra]).
  nra.
- destruct (MVT_cor2 f g z x Hgt) as [c [Hc [H1 H2]]].
  { intros c Hc; apply is_derive_Reals, Hd, (HD z x); assumption. }
  assert (g z < g c) by (apply Hg; [assumption | apply (HD z x); auto; lra | lra]).
  nra.
Qed.

(* A function with a positive derivative on an interval is strictly increasing there. *)
Lemma strictly_increasing_of_derivative (D : R -> Prop) (g g' : R -> R) : interval D ->
  (forall x, D x -> is_derive g x (g' x)) -> (forall x, D x -> 0 < g' x) -> strictly_increasing D g.
Proof.
intros HD Hd Hp a b Ha Hb Hab.
destruct (MVT_cor2 g g' a b Hab) as [c [Hc [H1 H2]]].
{ intros c Hc; apply is_derive_Reals, Hd, (HD a b); auto. }
assert (0 < g' c) by (apply Hp, (HD a b); auto; lra). nra.
Qed.

(* X, Y: where f and its conjugate fs are finite; Xi, Yi: where the gradients g and h are. *)
Record legendre (X Xi Y Yi : R -> Prop) (f fs g h : R -> R) : Prop := {
  domain_of_interior   : forall x, Xi x -> X x;
  dual_of_interior   : forall y, Yi y -> Y y;
  interior_open: forall x, Xi x -> exists e, 0 < e /\ forall z, Rabs (z - x) < e -> Xi z;
  gradient_derives  : forall x, Xi x -> is_derive f x (g x);
  conjugate_derives : forall y, Yi y -> is_derive fs y (h y);
  gradient_maps   : forall x, Xi x -> Yi (g x);
  inverse_maps   : forall y, Yi y -> Xi (h y);
  inverse_gradient  : forall x, Xi x -> h (g x) = x;
  gradient_inverse  : forall y, Yi y -> g (h y) = y;
  fenchel_young  : forall x y, X x -> Y y -> x * y <= f x + fs y;
  fenchel_young_eq_primal : forall x y, X x -> Yi y -> (f x + fs y = x * y <-> x = h y);
  fenchel_young_eq_dual : forall x y, Xi x -> Y y -> (f x + fs y = x * y <-> y = g x)
}.

Arguments domain_of_interior {X Xi Y Yi f fs g h}.
Arguments dual_of_interior {X Xi Y Yi f fs g h}.
Arguments interior_open {X Xi Y Yi f fs g h}.
Arguments gradient_derives {X Xi Y Yi f fs g h}.
Arguments conjugate_derives {X Xi Y Yi f fs g h}.
Arguments gradient_maps {X Xi Y Yi f fs g h}.
Arguments inverse_maps {X Xi Y Yi f fs g h}.
Arguments inverse_gradient {X Xi Y Yi f fs g h}.
Arguments gradient_inverse {X Xi Y Yi f fs g h}.
Arguments fenchel_young {X Xi Y Yi f fs g h}.
Arguments fenchel_young_eq_primal {X Xi Y Yi f fs g h}.
Arguments fenchel_young_eq_dual {X Xi Y Yi f fs g h}.

(* The constructor: all that one potential has to show. *)
Theorem mk_legendre (X Xi Y Yi : R -> Prop) (f fs g h : R -> R) :
  (forall x, Xi x -> X x) -> (forall y, Yi y -> Y y) ->
  interval Xi ->
  (forall x, Xi x -> exists e, 0 < e /\ forall z, Rabs (z - x) < e -> Xi z) ->
  (forall x, Xi x -> is_derive f x (g x)) ->
  (forall y, Yi y -> is_derive fs y (h y)) ->
  strictly_increasing Xi g ->
  (forall x, Xi x -> Yi (g x)) -> (forall y, Yi y -> Xi (h y)) ->
  (forall y, Yi y -> g (h y) = y) ->
  (forall y, Yi y -> fs y = h y * y - f (h y)) ->
  (* boundary of the primal domain, strict *)
  (forall x y, X x -> ~ Xi x -> Yi y -> x * y < f x + fs y) ->
  (* boundary of the dual domain *)
  (forall x y, X x -> Y y -> ~ Yi y -> x * y <= f x + fs y) ->
  (forall x, X x -> Xi x \/ ~ Xi x) -> (forall y, Y y -> Yi y \/ ~ Yi y) ->
  legendre X Xi Y Yi f fs g h.
Proof.
intros HX HY HI HO Hf Hfs Hm Hg Hh Hgh Hval Hbx Hby HdX HdY.
assert (Hlt : forall x y, Xi x -> Yi y -> x <> h y -> x * y < f x + fs y).
{ intros x y Hx Hy Hn.
  generalize (tangent_strict Xi f g HI Hf Hm x (h y) Hx (Hh y Hy) Hn).
  rewrite (Hgh y Hy), (Hval y Hy). lra. }
assert (HFY : forall x y, X x -> Y y -> x * y <= f x + fs y).
{ intros x y Hx Hy. destruct (HdY y Hy) as [Hy' | Hy']; [ | now apply Hby].
  destruct (HdX x Hx) as [Hx' | Hx']; [ | now left; apply Hbx].
  destruct (Req_dec x (h y)) as [-> | Hn]; [ rewrite (Hval y Hy'); lra | left; now apply Hlt ]. }
assert (HFYh : forall x y, X x -> Yi y -> (f x + fs y = x * y <-> x = h y)).
{ intros x y Hx Hy; split.
  - intros He. destruct (HdX x Hx) as [Hx' | Hx'].
    + destruct (Req_dec x (h y)) as [E | Hn]; [assumption | ].
      generalize (Hlt x y Hx' Hy Hn); lra.
    + generalize (Hbx x y Hx Hx' Hy); lra.
  - intros ->. rewrite (Hval y Hy); lra. }
assert (Hhg : forall x, Xi x -> h (g x) = x).
{ intros x Hx. destruct (Rtotal_order (h (g x)) x) as [H | [H | H]]; [ | assumption | ].
  - apply Hm in H; auto. rewrite Hgh in H; auto; lra.
  - apply Hm in H; auto. rewrite Hgh in H; auto; lra. }
constructor; auto.
intros x y Hx Hy; split.
- intros He. destruct (HdY y Hy) as [Hy' | Hy'].
  + apply HFYh in He; auto. subst x. symmetry; now apply Hgh.
  + (* y is a subgradient at the interior point x: Fermat *)
    destruct (HO x Hx) as [e [He0 Hball]].
    set (k := fun z => f z - y * z).
    assert (Hk : is_derive k x (g x - y)).
    { unfold k. apply (is_derive_minus f (fun z => y * z)); [now apply Hf | ].
      auto_derive; [trivial | ring]. }
    apply is_derive_Reals in Hk.
    set (pr := exist (fun l => derivable_pt_abs k x l) (g x - y) Hk : derivable_pt k x).
    assert (Hz : derive_pt k x pr = 0).
    { apply (deriv_minimum k (x - e) (x + e) x pr); try lra.
      intros z Hz1 Hz2. unfold k.
      assert (Xi z) by (apply Hball, Rabs_def1; lra).
      generalize (HFY z y (HX z H) Hy). lra. }
    unfold pr, derive_pt in Hz; simpl in Hz. lra.
- intros ->. assert (Hy' : Yi (g x)) by auto.
  apply HFYh; auto. symmetry; auto.
Qed.

(* The same pair written otherwise. *)
Lemma legendre_ext X Xi Y Yi f fs g h f' fs' g' h' : legendre X Xi Y Yi f fs g h ->
  (forall x, f x = f' x) -> (forall y, fs y = fs' y) -> (forall x, g x = g' x) ->
  (forall y, h y = h' y) -> legendre X Xi Y Yi f' fs' g' h'.
Proof.
intros L H1 H2 H3 H4. apply functional_extensionality in H1, H2, H3, H4. now subst.
Qed.

(* l is the conjugate of f (+inf outside X) at y: the supremum of x y - f x in the extended reals.
  *)
Definition conjugate_is (X : R -> Prop) (f : R -> R) (y : R) (l : Rbar) :=
  is_lub_Rbar (fun v => exists x, X x /\ v = x * y - f x) l.

(* On the dual interior the conjugate is fs. *)
Theorem legendre_conjugate X Xi Y Yi f fs g h : legendre X Xi Y Yi f fs g h ->
  forall y, Yi y -> conjugate_is X f y (Finite (fs y)).
Proof.
intros L y Hy; split.
- intros v [x [Hx ->]]. simpl. generalize (fenchel_young L x y Hx (dual_of_interior L y Hy)). lra.
- intros b Hb. apply Hb. exists (h y); split.
  + apply (domain_of_interior L), (inverse_maps L), Hy.
  + assert (E := proj2 (fenchel_young_eq_primal L (h y) y
      (domain_of_interior L _ (inverse_maps L _ Hy)) Hy) eq_refl). lra.
Qed.

(* A supremum that need not be attained: an upper bound, approached. *)

Lemma conjugate_is_of_limit (X : R -> Prop) f y (l : R) :
  (forall x, X x -> x * y - f x <= l) ->
  (forall e, 0 < e -> exists x, X x /\ l - e <= x * y - f x) -> conjugate_is X f y (Finite l).
Proof.
intros Hub Ha; split.
- intros v [x [Hx ->]]; simpl; auto.
- intros b Hb. destruct b as [b | | ]; simpl; auto.
  + destruct (Rle_lt_dec l b) as [H | H]; [assumption | ].
    destruct (Ha ((l - b) / 2)) as [x [Hx H1]]; [lra | ].
    assert (H2 := Hb (x * y - f x) (ex_intro _ x (conj Hx eq_refl))). simpl in H2. lra.
  + destruct (Ha 1) as [x [Hx H1]]; [lra | ].
    exact (Hb (x * y - f x) (ex_intro _ x (conj Hx eq_refl))).
Qed.

(* An infinite supremum. *)
Lemma conjugate_is_infinite (X : R -> Prop) f y :
  (forall M, exists x, X x /\ M <= x * y - f x) -> conjugate_is X f y p_infty.
Proof.
intros Ha; split.
- intros v [x [Hx ->]]; simpl; auto.
- intros b Hb. destruct b as [b | | ]; simpl; auto.
  + destruct (Ha (b + 1)) as [x [Hx H1]].
    assert (H2 := Hb (x * y - f x) (ex_intro _ x (conj Hx eq_refl))). simpl in H2. lra.
  + destruct (Ha 0) as [x [Hx H1]].
    exact (Hb (x * y - f x) (ex_intro _ x (conj Hx eq_refl))).
Qed.

Lemma conjugate_unique X f y l l' : conjugate_is X f y l -> conjugate_is X f y l' -> l = l'.
Proof. intros [A B] [A' B']. apply Rbar_le_antisym; auto. Qed.

(* Where f grows along a ray no faster than k t, the conjugate is +inf beyond slope k. *)
Lemma conjugate_is_infinite_along_ray (X : R -> Prop) f y s k C : (forall t, 0 <= t ->
  X (s * t)) -> (forall t, 0 <= t -> f (s * t) <= k * t + C) ->
  k < s * y -> conjugate_is X f y p_infty.
Proof.
intros HX Hf Hk. apply conjugate_is_infinite. intros M.
set (t := Rmax 0 ((M + C) / (s * y - k))). exists (s * t).
assert (H0 : 0 <= t) by apply Rmax_l. split; auto.
assert (H1 : (M + C) / (s * y - k) <= t) by apply Rmax_r.
apply (Rmult_le_compat_r (s * y - k)) in H1; [ | lra].
unfold Rdiv in H1; rewrite Rmult_assoc, Rinv_l, Rmult_1_r in H1 by lra.
specialize (Hf t H0). nra.
Qed.

(* Domains: the real line and the positive half line. *)
Definition all (x : R) := True.
Lemma open_all x : all x -> exists e, 0 < e /\ forall z, Rabs (z - x) < e -> all z.
Proof. intros _; exists 1; split; [lra | now intros]. Qed.
Lemma open_pos x : 0 < x -> exists e, 0 < e /\ forall z, Rabs (z - x) < e -> 0 < z.
Proof. intros H; exists x; split; [lra | intros z Hz; apply Rabs_def2 in Hz; lra]. Qed.
Lemma int_all : interval all. Proof. now intros a b c. Qed.
Lemma int_pos : interval (fun x => 0 < x). Proof. intros a b c; lra. Qed.
Ltac trivial_domains := unfold all; try tauto; try (intros; lra);
  try (intros x Hx; destruct (Rlt_dec 0 x); lra).
Lemma dec_oo a b y : a < y < b \/ ~ (a < y < b).
Proof. destruct (Rlt_dec a y), (Rlt_dec y b); [left; auto | right; lra | right; lra | right; lra].
  Qed.
#[export] Hint Resolve dec_oo : core.
#[export] Hint Resolve open_all open_pos int_all int_pos : core.
