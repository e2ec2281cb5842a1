(* Even potentials F(|x|): derivatives at 0, and the Legendre constructor for them, which asks for
   the half line only. *)
From Coq Require Import Reals Lra Lia.
From Coquelicot Require Import Coquelicot.
From Phibal Require Import Legendre.
Open Scope R_scope.

Definition even_lift (F : R -> R) x := F (Rabs x).
Definition odd_lift (G : R -> R) x := sign x * G (Rabs x).

Lemma sign_abs x : sign x * Rabs x = x.
Proof.
destruct (Rtotal_order x 0) as [H | [-> | H]].
- rewrite sign_eq_m1, Rabs_left; lra.
- rewrite sign_0, Rabs_R0; ring.
- rewrite sign_eq_1, Rabs_pos_eq; lra.
Qed.

Lemma is_derive_even_lift F G : is_derive F 0 0 ->
  forall x, (x <> 0 -> is_derive F (Rabs x) (G (Rabs x))) -> is_derive (even_lift F) x (odd_lift G
    x).
Proof.
intros H0 x Hx. destruct (Req_dec x 0) as [-> | Hn].
- unfold odd_lift; rewrite sign_0, Rmult_0_l. apply is_derive_Reals. apply is_derive_Reals in H0.
  intros eps Heps. destruct (H0 eps Heps) as [del Hdel]. exists del. intros h Hh Hlt.
  unfold even_lift. assert (A : 0 < Rabs h) by (apply Rabs_pos_lt; auto).
  assert (Hh' : Rabs h <> 0) by lra.
  specialize (Hdel (Rabs h) Hh'). rewrite Rabs_Rabsolu in Hdel. specialize (Hdel Hlt).
  rewrite !Rminus_0_r in *. rewrite !Rplus_0_l, Rabs_R0 in *.
  unfold Rdiv in *. rewrite Rabs_mult, Rabs_inv in *. rewrite Rabs_Rabsolu in Hdel. exact Hdel.
- unfold odd_lift, even_lift. replace (sign x * G (Rabs x)) with ((sign x * 1) * G (Rabs x))
  by ring.
  apply (is_derive_comp F Rabs x (G (Rabs x)) (sign x * 1)); auto.
  apply (is_derive_Rabs (fun x => x) x 1); auto. apply (is_derive_id (K := R_AbsRing)).
Qed.

Lemma strictly_increasing_odd G : G 0 = 0 -> strictly_increasing (fun t => 0 <= t) G ->
  strictly_increasing all (odd_lift G).
Proof.
intros G0 HG a b _ _ Hab. unfold odd_lift.
assert (Gp : forall t, 0 < t -> 0 < G t) by (intros t Ht; rewrite <- G0 at 1; apply HG; lra).
destruct (Rtotal_order a 0) as [Ha | [Ha | Ha]]; destruct (Rtotal_order b 0) as [Hb | [Hb | Hb]];
  try lra;
 repeat match goal with
 | H : ?u < 0 |- context [sign ?u] => rewrite (sign_eq_m1 u) by lra; rewrite (Rabs_left u) by lra
 | H : ?u > 0 |- context [sign ?u] => rewrite (sign_eq_1 u) by lra; rewrite (Rabs_pos_eq u) by lra
 | H : ?u = 0 |- context [sign ?u] => subst u; rewrite sign_0
 end.
- assert (G (- b) < G (- a)) by (apply HG; lra). lra.
- generalize (Gp (- a)); lra.
- generalize (Gp (- a)) (Gp b); lra.
- generalize (Gp b); lra.
- assert (G a < G b) by (apply HG; lra). lra.
Qed.

(* The constructor on the half line: F, G with dual Fs, H for s >= 0. *)
Theorem mk_even_legendre (Y Yi : R -> Prop) (F Fs G H : R -> R) :
  (forall s, 0 <= s -> Yi s -> Y s) ->
  (forall s, 0 <= s -> Y s -> Yi s \/ ~ Yi s) ->
  is_derive F 0 0 -> (forall t, 0 < t -> is_derive F t (G t)) ->
  is_derive Fs 0 0 -> (forall s, 0 < s -> Yi s -> is_derive Fs s (H s)) ->
  G 0 = 0 -> strictly_increasing (fun t => 0 <= t) G ->
  (forall t, 0 <= t -> Yi (G t)) -> (forall s, 0 <= s -> Yi s -> 0 <= H s) ->
  (forall s, 0 <= s -> Yi s -> G (H s) = s) ->
  (forall s, 0 <= s -> Yi s -> Fs s = H s * s - F (H s)) ->
  (forall t s, 0 <= t -> 0 <= s -> Y s -> ~ Yi s -> t * s <= F t + Fs s) ->
  legendre all all (fun y => Y (Rabs y)) (fun y => Yi (Rabs y)) (even_lift F) (even_lift Fs)
    (odd_lift G) (odd_lift H).
Proof.
intros HY Hdec F0 HF Fs0 HFs G0 HG HGi HHp HGH Hval Hb.
assert (Gp : forall t, 0 <= t -> 0 <= G t).
{ intros t [Ht | <-]; [ | lra]. rewrite <- G0 at 1. left; apply HG; lra. }
assert (Hpos : forall s, 0 < s -> Yi s -> 0 < H s).
{ intros s Hs Hy. destruct (HHp s) as [K | K]; auto; try lra.
  assert (E := HGH s (Rlt_le _ _ Hs) Hy). rewrite <- K, G0 in E. lra. }
apply mk_legendre.
- auto.
- intros y; apply HY, Rabs_pos.
- apply int_all.
- apply open_all.
- intros x _. apply is_derive_even_lift; auto. intros Hx; apply HF, Rabs_pos_lt; auto.
- intros y Hy. apply is_derive_even_lift; auto. intros Hn; apply HFs; auto. apply Rabs_pos_lt; auto.
- apply strictly_increasing_odd; auto.
- intros x _. unfold odd_lift. destruct (Rtotal_order x 0) as [Hx | [-> | Hx]].
  + rewrite sign_eq_m1 by auto. replace (Rabs _) with (G (Rabs x)); [apply HGi, Rabs_pos | ].
    rewrite Rabs_mult, (Rabs_left (-1)), (Rabs_pos_eq (G _)) by (try apply Gp, Rabs_pos; lra). ring.
  + rewrite sign_0, Rmult_0_l, Rabs_R0, <- G0. apply HGi; lra.
  + rewrite sign_eq_1, Rmult_1_l by auto. rewrite Rabs_pos_eq; [apply HGi, Rabs_pos | apply Gp,
    Rabs_pos].
- unfold all; auto.
- intros y Hy. unfold odd_lift at 1. destruct (Rtotal_order y 0) as [Hx | [-> | Hx]].
  + assert (0 < - y) by lra. assert (K : odd_lift H y = - H (- y)).
    { unfold odd_lift. rewrite sign_eq_m1, Rabs_left by auto. ring. }
    rewrite Rabs_left in Hy by auto. assert (K2 := Hpos _ H0 Hy).
    rewrite K, sign_eq_m1, Rabs_left, Ropp_involutive by lra. rewrite HGH by lra || auto. ring.
  + unfold odd_lift. rewrite sign_0, Rmult_0_l, sign_0. ring.
  + assert (K : odd_lift H y = H y) by (unfold odd_lift; rewrite sign_eq_1, Rabs_pos_eq by lra;
    ring).
    rewrite Rabs_pos_eq in Hy by lra. assert (K2 := Hpos _ Hx Hy).
    rewrite K, sign_eq_1, Rabs_pos_eq by lra. rewrite HGH by lra || auto. ring.
- intros y Hy. unfold even_lift. assert (A := Rabs_pos y). rewrite (Hval _ A Hy).
  assert (K : Rabs (odd_lift H y) = H (Rabs y)).
  { unfold odd_lift. rewrite Rabs_mult, (Rabs_pos_eq (H _)) by auto.
    destruct (Rtotal_order y 0) as [Hx | [-> | Hx]].
    - rewrite sign_eq_m1, Rabs_left by lra; ring.
    - rewrite sign_0, Rabs_R0, Rmult_0_l. rewrite Rabs_R0 in *.
      destruct (Req_dec (H 0) 0) as [E | E]; [lra | ].
      assert (Z : 0 < H 0) by (generalize (HHp 0 A Hy); lra).
      apply (HG 0 (H 0)) in Z; try lra. rewrite HGH in Z; auto; lra.
    - rewrite sign_eq_1, Rabs_R1 by lra; ring. }
  rewrite K. f_equal. unfold odd_lift.
  destruct (Rtotal_order y 0) as [Hx | [-> | Hx]].
  + rewrite sign_eq_m1, Rabs_left by lra; ring.
  + rewrite sign_0, Rabs_R0; ring.
  + rewrite sign_eq_1, Rabs_pos_eq by lra; ring.
- unfold all; tauto.
- intros x y _ Hy Hn. unfold even_lift. apply Rle_trans with (Rabs x * Rabs y).
  + rewrite <- Rabs_mult. apply Rle_abs.
  + apply Hb; auto using Rabs_pos.
- unfold all; auto.
- intros y; apply Hdec, Rabs_pos.
Qed.
