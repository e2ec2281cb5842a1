(* Lemma 2 of the paper, (M4): a step of mirror ascent on the dual of phi(p) is the price of an
   exponential moving average of the loads. *)
From Coq Require Import Reals Lra Lia FunctionalExtensionality.
From Coquelicot Require Import Coquelicot.
From Phibal Require Import Legendre Vector.
Open Scope R_scope.

Lemma Rsum_delta E (v : vec) i : (i < E)%nat -> Rsum E (fun j => v j * (if Nat.eq_dec j i then 1
  else 0)) = v i.
Proof.
intros Hi.
assert (Z : forall n, (n <= i)%nat -> Rsum n (fun j => v j * (if Nat.eq_dec j i then 1 else 0)) =
  0).
{ induction n; simpl; intros; auto. rewrite IHn by lia. destruct (Nat.eq_dec n i); [lia | ring]. }
induction E as [ | n IH]; [lia | ]. simpl. destruct (Nat.eq_dec n i) as [-> | Hn].
- rewrite Z by lia. ring.
- rewrite IH by lia. ring.
Qed.
Lemma has_grad_unique E f x g g' : has_grad E f x g -> has_grad E f x g' -> veq E g g'.
Proof.
intros H H' i Hi. set (d := fun j => if Nat.eq_dec j i then 1 else 0).
assert (H1 := is_derive_unique _ _ _ (H d)). assert (H2 := is_derive_unique _ _ _ (H' d)).
unfold dot, d in *. rewrite Rsum_delta in H1, H2 by auto. congruence.
Qed.

(* ---------- Lemma 2 from the divergence being nonnegative ---------- *)
Section Bregman.
Variable E : nat.
Variables (phis : vec -> R) (G : vec -> vec) (Q : vec -> Prop).   (* G = grad phi* *)
Definition bregman q q' := phis q - phis q' - dot E (G q') (vsub q q').
Definition mirror_objective (p qt : vec) eta q := dot E (vsub p (G qt)) q - / eta * bregman q qt.
Definition ema eta (m p : vec) : vec := vadd (vsc (1 - eta) m) (vsc eta p).

(* What the objective loses beside its maximiser is a divergence: the whole lemma is in this. *)
Lemma mirror_objective_gap p qt eta qn q : eta <> 0 -> veq E (G qn) (ema eta (G qt) p) ->
  mirror_objective p qt eta qn - mirror_objective p qt eta q = / eta * bregman q qn.
Proof.
intros He Hn. unfold mirror_objective, bregman. rewrite (dot_ext E _ _ _ (vsub q qn) Hn)
  by (intros i _; auto).
unfold ema. rewrite !dot_subr, !dot_addl, !dot_subl, !dot_scl. field; auto.
Qed.

Hypothesis bregman_nonneg : forall q q', Q q -> Q q' -> 0 <= bregman q q'.
Hypothesis bregman_zero : forall q q', Q q -> Q q' -> bregman q q' = 0 -> veq E q q'.

Theorem bregman_argmax p qt eta qn : 0 < eta -> Q qt -> Q qn -> veq E (G qn) (ema eta (G qt) p) ->
  (forall q, Q q -> mirror_objective p qt eta q <= mirror_objective p qt eta qn) /\
  (forall q, Q q -> mirror_objective p qt eta q = mirror_objective p qt eta qn -> veq E q qn).
Proof.
intros He Ht Hn Hg. assert (0 < / eta) by now apply Rinv_0_lt_compat.
split; intros q Hq.
- assert (K := mirror_objective_gap p qt eta qn q ltac:(lra) Hg).
  assert (P := bregman_nonneg q qn Hq Hn). nra.
- intros Eq. assert (K := mirror_objective_gap p qt eta qn q ltac:(lra) Hg). apply bregman_zero;
  auto. nra.
Qed.

(* first-order condition <-> EMA on the gradient *)
Lemma mirror_objective_grad p qt eta q : has_grad E phis q (G q) ->
  has_grad E (mirror_objective p qt eta) q (vsub (vsub p (G qt)) (vsc (/ eta) (vsub (G q) (G qt)))).
Proof.
intros Hg d. set (c := vsub p (G qt)). unfold mirror_objective, bregman. fold c.
apply (is_derive_ext (fun t => (dot E c q + t * dot E c d)
   - / eta * (phis (vadd q (vsc t d)) - (phis qt + dot E (G qt) q + t * dot E (G qt) d - dot E (G
     qt) qt)))).
{ intros t. rewrite !dot_subr, !dot_addr, !dot_scr. match goal with |- @eq _ ?a ?b => change (@eq R
  a b) end. ring. }
rewrite dot_subl, dot_scl, dot_subl.
apply (is_derive_minus (fun t => dot E c q + t * dot E c d)).
- auto_derive; [auto | ring].
- apply (is_derive_scal _ 0 (/ eta)).
  apply (is_derive_minus (fun t => phis (vadd q (vsc t d)))); [apply Hg | ].
  auto_derive; [auto | ring].
Qed.

Theorem first_order_condition_iff_ema p qt eta q : eta <> 0 -> has_grad E phis q (G q) ->
  (has_grad E (mirror_objective p qt eta) q (fun _ => 0) <-> veq E (G q) (ema eta (G qt) p)).
Proof.
intros He Hg. assert (K := mirror_objective_grad p qt eta q Hg). split.
- intros H0 i Hi. assert (L := has_grad_unique _ _ _ _ _ K H0 i Hi).
  unfold vsub, vsc, ema, vadd, vsc in *.
  replace (G q i) with (G qt i + eta * (/ eta * (G q i - G qt i))) by (field; auto).
  replace (/ eta * (G q i - G qt i)) with (p i - G qt i) by lra. ring.
- intros Hv d. specialize (K d). rewrite (dot_ext E _ (fun _ => 0) d d) in K; auto.
  + intros i Hi. unfold vsub, vsc. rewrite (Hv i Hi). unfold ema, vadd, vsc. field; auto.
  + intros i _; auto.
Qed.
End Bregman.

(* A convex function's divergence is nonnegative. *)
Definition segment (x y : vec) t : vec := vadd x (vsc t (vsub y x)).
Lemma convex_bregman_nonneg E phis G (Q : vec -> Prop) :
  (forall q, Q q -> has_grad E phis q (G q)) ->
  (forall q q' t, Q q -> Q q' -> 0 <= t <= 1 -> phis (segment q' q t) <= (1 - t) * phis q' + t *
    phis q) ->
  forall q q', Q q -> Q q' -> 0 <= bregman E phis G q q'.
Proof.
intros Hg Hc q q' Hq Hq'. unfold bregman. apply Rnot_lt_le; intros Hneg.
set (k := fun t => phis (segment q' q t)). set (s := dot E (G q') (vsub q q')) in *.
assert (Hk : derivable_pt_lim k 0 s) by (apply is_derive_Reals, (Hg q' Hq')).
set (a := phis q - phis q') in *. destruct (Hk (s - a)) as [del Hdel]; [lra | ].
set (t := Rmin (del / 2) 1). assert (0 < del) by apply cond_pos.
assert (Ht : 0 < t <= 1) by (unfold t; split; [apply Rmin_glb_lt; lra | apply Rmin_r]).
assert (Hd : Rabs t < del) by (rewrite Rabs_pos_eq by lra; apply Rle_lt_trans with (1 := Rmin_l _
  _); lra).
specialize (Hdel t ltac:(lra) Hd). rewrite Rplus_0_l in Hdel.
assert (K0 : k 0 = phis q').
{ unfold k, segment, vadd, vsc. f_equal. apply functional_extensionality; intros i; ring. }
assert (K1 : k t <= (1 - t) * phis q' + t * phis q) by (apply Hc; auto; lra).
apply Rabs_def2 in Hdel. destruct Hdel as [_ Hdel].
assert (H1 : a < (k t - k 0) / t) by lra.
apply (Rmult_lt_compat_r t) in H1; [ | lra]. unfold Rdiv in H1.
  rewrite Rmult_assoc, Rinv_l in H1 by lra.
unfold a in *. nra.
Qed.

(* A strictly convex function's divergence vanishes at q = q' only. *)
Lemma strictly_convex_bregman_zero E phis G (Q : vec -> Prop) :
  (forall q, Q q -> has_grad E phis q (G q)) ->
  (forall q q' t, Q q -> Q q' -> 0 <= t <= 1 -> phis (segment q' q t) <= (1 - t) * phis q' + t *
    phis q) ->
  (forall q q', Q q -> Q q' -> Q (segment q' q (1/2))) ->
  (forall q q', Q q -> Q q' -> ~ veq E q q' -> phis (segment q' q (1/2)) < (1/2) * phis q' + (1/2) *
    phis q) ->
  forall q q', Q q -> Q q' -> bregman E phis G q q' = 0 -> veq E q q'.
Proof.
intros Hg Hc Hm Hs q q' Hq Hq' H0 i Hi.
destruct (Req_dec (q i) (q' i)) as [ | Hn]; auto. exfalso.
assert (S := Hs q q' Hq Hq' (fun V => Hn (V i Hi))).
assert (P := convex_bregman_nonneg E phis G Q Hg Hc (segment q' q (1/2)) q' (Hm q q' Hq Hq') Hq').
unfold bregman in *. replace (dot E (G q') (vsub (segment q' q (1/2)) q')) with (1/2 * dot E (G q')
  (vsub q q')) in P.
- lra.
- rewrite <- dot_scr. apply dot_ext; intros j Hj; auto. unfold vsc, vsub, segment, vadd, vsc, vsub.
  ring.
Qed.

(* ---------- Lemma 2 for every Legendre pair, from Fenchel-Young alone ---------- *)
Section Pair.
Variables (E : nat) (X Xi Y Yi : vec -> Prop) (f fs : vec -> R) (g h : vec -> vec).
Hypothesis L : vlegendre E X Xi Y Yi f fs g h.

Lemma bregman_gap q qn : Yi qn -> bregman E fs h q qn = (f (h qn) + fs q) - dot E (h qn) q.
Proof.
intros Hn. unfold bregman. rewrite dot_subr.
assert (K := proj2 (v_fenchel_young_eq_primal L (h qn) qn (v_domain_of_interior L _ (v_inverse_maps
  L _ Hn)) Hn)
   (fun i _ => eq_refl)). lra.
Qed.

(* The price of the average is the one maximiser of the mirror objective over the whole dual domain
  Y,
   its boundary included, and the one point of its interior that solves the first-order condition.
     *)
Theorem mirror_ascent_is_ema p m eta qt qn : 0 < eta -> Xi m -> veq E (h qt) m ->
  Xi (ema eta m p) -> qn = g (ema eta m p) ->
  Yi qn /\ veq E (h qn) (ema eta m p) /\
  (forall q, Y q -> mirror_objective E fs h p qt eta q <= mirror_objective E fs h p qt eta qn) /\
  (forall q, Y q -> mirror_objective E fs h p qt eta q = mirror_objective E fs h p qt eta qn ->
    veq E q qn) /\
  (forall q, Yi q -> (has_grad E (mirror_objective E fs h p qt eta) q (fun _ => 0) <-> veq E q qn)).
Proof.
intros He Hm Hq Hn ->. set (qn := g (ema eta m p)).
assert (Yn : Yi qn) by (apply (v_gradient_maps L), Hn).
assert (Hg : veq E (h qn) (ema eta m p)) by (apply (v_inverse_gradient L), Hn).
assert (Hg' : veq E (h qn) (ema eta (h qt) p)).
{ intros i Hi. rewrite (Hg i Hi). unfold ema, vadd, vsc. now rewrite (Hq i Hi). }
assert (Hi : 0 < / eta) by now apply Rinv_0_lt_compat.
assert (Hx := v_inverse_maps L _ Yn). assert (Hx' := v_domain_of_interior L _ Hx).
split; [assumption | split; [assumption | split; [ | split]]].
- intros q Hqq. assert (K := mirror_objective_gap E fs h p qt eta qn q ltac:(lra) Hg').
  rewrite bregman_gap in K by auto.
  assert (P := v_fenchel_young L (h qn) q Hx' Hqq). nra.
- intros q Hqq Eq. assert (K := mirror_objective_gap E fs h p qt eta qn q ltac:(lra) Hg').
  rewrite bregman_gap in K by auto.
  assert (P : f (h qn) + fs q = dot E (h qn) q) by nra.
  apply (v_fenchel_young_eq_dual L) in P; auto.
  intros i Hi'. rewrite (P i Hi'). apply (v_gradient_inverse L); auto.
- intros q Hqi; split.
+ intros H. apply (first_order_condition_iff_ema E fs h) in H;
  [ | lra | now apply (v_conjugate_derives L)].
  (* h q = h qn, and q = g (h q) via FY equality *)
  assert (V : veq E (h q) (h qn)) by (intros i Hi'; rewrite (H i Hi'), (Hg' i Hi'); auto).
  assert (P : f (h qn) + fs q = dot E (h qn) q).
  { apply (v_fenchel_young_eq_primal L); auto. intros i Hi'; symmetry; auto. }
  apply (v_fenchel_young_eq_dual L) in P; auto; [ | now apply (v_dual_of_interior L)].
  intros i Hi'. rewrite (P i Hi'). apply (v_gradient_inverse L); auto.
+ intros V. apply (first_order_condition_iff_ema E fs h); [lra | now apply (v_conjugate_derives L) |
  ].
  assert (P : f (h qn) + fs q = dot E (h qn) q).
  { apply (v_fenchel_young_eq_dual L); auto; [now apply (v_dual_of_interior L) | ].
    intros i Hi'. rewrite (V i Hi'). symmetry. apply (v_gradient_inverse L); auto. }
  apply (v_fenchel_young_eq_primal L) in P; auto.
  intros i Hi'. rewrite <- (P i Hi'). auto.
Qed.

Fixpoint ema_seq eta (m0 : vec) (p : nat -> vec) (t : nat) : vec :=
  match t with O => m0 | S k => ema eta (ema_seq eta m0 p k) (p k) end.
Definition is_step p eta qt qn := Y qn /\ (forall q, Y q -> mirror_objective E fs h p qt eta q <=
  mirror_objective E fs h p qt eta qn).

Hypothesis Yc : forall y y', veq E y y' -> Yi y -> Yi y'.
(* Whole runs: the prices of the averages are a run of mirror ascent, and every run is that. *)
Theorem mirror_trajectory_is_ema eta m0 p : 0 < eta -> (forall t, Xi (ema_seq eta m0 p t)) ->
  (forall t, is_step (p t) eta (g (ema_seq eta m0 p t)) (g (ema_seq eta m0 p (S t)))) /\
  (forall q : nat -> vec, veq E (q O) (g m0) -> (forall t, is_step (p t) eta (q t) (q (S t))) ->
     forall t, veq E (q t) (g (ema_seq eta m0 p t))).
Proof.
intros He Hx. set (m := ema_seq eta m0 p) in *.
split.
- intros t. destruct (mirror_ascent_is_ema (p t) (m t) eta (g (m t)) _ He (Hx t)
    (v_inverse_gradient L _ (Hx t)) (Hx (S t)) eq_refl) as [Y1 [_ [Y2 _]]].
  split; auto. now apply (v_dual_of_interior L).
- intros q H0 Hst. induction t as [ | t IH]; auto.
  assert (Yq : Yi (q t)).
  { apply (Yc (g (m t))); [intros i Hi; symmetry; auto | apply (v_gradient_maps L), Hx]. }
  assert (Hm : veq E (h (q t)) (m t)).
  { assert (P : f (m t) + fs (q t) = dot E (m t) (q t)).
    { apply (v_fenchel_young_eq_dual L); auto. now apply (v_dual_of_interior L). }
    apply (v_fenchel_young_eq_primal L) in P; auto; [ | now apply (v_domain_of_interior L)].
    intros i Hi; symmetry; auto. }
  destruct (mirror_ascent_is_ema (p t) (m t) eta (q t) _ He (Hx t) Hm (Hx (S t)) eq_refl) as [Y1 [_
    [Y2 [Y3 _]]]].
  destruct (Hst t) as [Y4 Y5]. apply Y3; auto. apply Rle_antisym; auto.
  apply Y5. now apply (v_dual_of_interior L).
Qed.
End Pair.
