(* The five functions of a potential belong together: .v derives to .g and .g to .h on the domain's
   interior, .c to .d on the dual's, and .d inverts .g. *)
From Coq Require Import Reals Lra Lia.
From Coquelicot Require Import Coquelicot.
From Phibal Require Import Legendre Even Vector Potentials Power Instances Mirror Uniform Renyi.
Open Scope R_scope.

(* One statement per potential. X, Y: where the gradients .g and .d are; W: where .h is finite. *)
Record five_functions (X W Y : R -> Prop) (v g h c d : R -> R) : Prop := {
  value_derives     : forall x, X x -> is_derive v x (g x);
  gradient_h        : forall x, W x -> is_derive g x (h x);
  conjugate_d       : forall y, Y y -> is_derive c y (d y);
  gradient_in_dual  : forall x, X x -> Y (g x);
  dual_in_domain    : forall y, Y y -> X (d y);
  d_inverts_g       : forall x, X x -> d (g x) = x;
  g_inverts_d       : forall y, Y y -> g (d y) = y
}.
Lemma five_of_legendre X Xi Y Yi (W : R -> Prop) f fs g h g' : legendre X Xi Y Yi f fs g h ->
  (forall x, W x -> is_derive g x (g' x)) -> five_functions Xi W Yi f g g' fs h.
Proof. intros L H. destruct L. constructor; auto. Qed.

(* An odd function sign x G(|x|) derives as G does, at 0 too. *)
Lemma is_derive_odd_lift G x l : G 0 = 0 -> is_derive G (Rabs x) l -> is_derive (odd_lift G) x l.
Proof.
intros G0 HG. destruct (Req_dec x 0) as [-> | Hn].
- rewrite Rabs_R0 in HG. apply is_derive_Reals. apply is_derive_Reals in HG.
  intros eps Heps. destruct (HG eps Heps) as [del Hdel]. exists del. intros h Hh Hlt.
  assert (A : 0 < Rabs h) by (apply Rabs_pos_lt; auto).
  specialize (Hdel (Rabs h) ltac:(lra)). rewrite Rabs_Rabsolu in Hdel. specialize (Hdel Hlt).
  unfold odd_lift. rewrite Rabs_R0, sign_0. rewrite !Rplus_0_l in *. rewrite G0 in *.
  replace ((sign h * G (Rabs h) - 0 * 0) / h) with ((G (Rabs h) - 0) / Rabs h); auto.
  destruct (Rtotal_order h 0) as [H | [H | H]]; [ | lra | ].
  + rewrite sign_eq_m1, Rabs_left by auto. field; lra.
  + rewrite sign_eq_1, Rabs_pos_eq by lra. field; lra.
- assert (S : sign x * sign x = 1).
  { destruct (Rtotal_order x 0) as [H | [H | H]]; [rewrite sign_eq_m1 | | rewrite sign_eq_1]; auto;
    lra. }
  apply (is_derive_ext_loc (fun z => sign x * G (Rabs z))).
  + exists (mkposreal (Rabs x) (Rabs_pos_lt x Hn)). intros z Hz.
    unfold ball in Hz; simpl in Hz; unfold AbsRing_ball, abs, minus, plus, opp in Hz; simpl in Hz.
    unfold odd_lift. f_equal. apply Rabs_def2 in Hz.
    destruct (Rtotal_order x 0) as [H | [H | H]]; [ | lra | ].
    * rewrite (Rabs_left x) in Hz by auto. rewrite !sign_eq_m1; lra.
    * rewrite (Rabs_pos_eq x) in Hz by lra. rewrite !sign_eq_1; lra.
  + replace l with (sign x * (sign x * 1 * l)) by (transitivity (sign x * sign x * l);
    [ring | rewrite S; ring]).
    apply (is_derive_scal (fun z => G (Rabs z))).
    apply (is_derive_comp G Rabs x l (sign x * 1)); auto.
    apply (is_derive_Rabs (fun x => x) x 1); auto. apply (is_derive_id (K := R_AbsRing)).
Qed.

(* (P1) *)
Theorem euclid_five : five_functions all all all euclid_v euclid_g euclid_h euclid_c euclid_d.
Proof.
apply (five_of_legendre _ _ _ _ _ _ _ _ _ _ euclid_legendre).
intros x _. apply (is_derive_id (K := R_AbsRing)).
Qed.

(* (P2) At x = 0 the second derivative is there for p >= 2 only. *)
Theorem lp_five p : 1 < p ->
  five_functions all (fun x => x <> 0 \/ 2 <= p) all (lp_v p) (lp_g p) (lp_h p) (lp_c p) (lp_d p).
Proof.
intros Hp. apply (five_of_legendre _ _ _ _ _ _ _ _ _ _ (lp_legendre p Hp)). intros x Hx.
apply (is_derive_ext (odd_lift (fun t => pow_real t (p - 1)))).
{ intros t. unfold odd_lift, lp_g. now rewrite sgn_sign. }
unfold lp_h. destruct (Req_dec x 0) as [-> | Hn].
- destruct Hx as [Hx | Hx]; [lra | ]. rewrite Rabs_R0.
  destruct (Req_dec p 2) as [-> | H2].
  + replace (2 - 2) with 0 by ring. rewrite pow_real_exponent_0, Rmult_1_r.
    replace (2 - 1) with 1 by ring.
    apply (is_derive_ext (fun x => x)); [ | apply (is_derive_id (K := R_AbsRing))].
    intros t. unfold odd_lift. rewrite pow_real_1 by apply Rabs_pos. symmetry; apply sign_abs.
  + rewrite pow_real_0, Rmult_0_r by lra. apply is_derive_odd_lift; [apply pow_real_0; lra | ].
    rewrite Rabs_R0. apply pow_real_derive_0. lra.
- apply is_derive_odd_lift; [apply pow_real_0; lra | ].
  replace (p - 2) with (p - 1 - 1) by ring. apply pow_real_derive. now apply Rabs_pos_lt.
Qed.
(* For 1 < p < 2 there is no second derivative at 0: the difference quotients of .g are unbounded.
  *)
Theorem lp_h_unbounded p M : 1 < p < 2 -> exists d, 0 < d /\ forall x, 0 < x < d ->
  M < lp_g p x / x.
Proof.
intros Hp. destruct (pow_real_unbounded (p - 2) M ltac:(lra)) as [d [Hd H]]. exists d; split; auto.
intros x Hx. generalize (H x Hx). unfold lp_g, sgn. destruct (Rlt_dec 0 x); [ | lra].
rewrite (Rabs_pos_eq x) by lra. intros K. replace (1 * pow_real x (p - 1) / x) with (pow_real x (p -
  2)); auto.
rewrite <- (pow_real_1 x) at 3 by lra. unfold Rdiv. rewrite <- (pow_real_opp x 1), Rmult_1_l,
  pow_real_add by (auto; lra).
f_equal; ring.
Qed.

(* (P3) *)
Theorem soft_l1_five d : 0 < d -> five_functions all all (fun y => Rabs y < 1)
  (soft_l1_v d) (soft_l1_g d) (soft_l1_h d) (soft_l1_c d) (soft_l1_d d).
Proof.
intros Hd. apply (five_of_legendre _ _ _ _ _ _ _ _ _ _ (soft_l1_legendre d Hd)). intros x _.
apply (is_derive_ext (odd_lift (fun t => t / (t + d)))).
{ intros t. unfold odd_lift, soft_l1_g, Rdiv. now rewrite <- Rmult_assoc, sign_abs. }
assert (A := Rabs_pos x). apply is_derive_odd_lift; [field; lra | ].
unfold soft_l1_h. auto_derive; [lra | field; lra].
Qed.

(* (P4) *)
Theorem negentropy_five : five_functions positive positive all
  negentropy_v negentropy_g negentropy_h negentropy_c negentropy_d.
Proof.
apply (five_of_legendre _ _ _ _ _ _ _ _ _ _ negentropy_legendre). intros x Hx.
  unfold positive in Hx.
unfold negentropy_g, negentropy_h. auto_derive; [lra | field; lra].
Qed.

(* (P5) *)
Theorem tsallis_five a : 0 < a -> a <> 1 -> five_functions positive positive (tsallis_dual_open a)
  (tsallis_v a) (tsallis_g a) (tsallis_h a) (tsallis_c a) (tsallis_d a).
Proof.
intros Ha H1. apply (five_of_legendre _ _ _ _ _ _ _ _ _ _ (tsallis_legendre a Ha H1)). intros x Hx.
unfold positive in Hx. unfold tsallis_g, tsallis_h. apply is_derive_divc; [lra | ].
replace ((a - 1) * (a * pow_real x (a - 2))) with (minus (a * ((a - 1) * pow_real x (a - 1 - 1)))
  0).
2: { replace (a - 1 - 1) with (a - 2) by ring. unfold minus, plus, opp; simpl. ring. }
apply (is_derive_minus (fun t => a * pow_real t (a - 1)) (fun _ => 1)).
- apply (is_derive_scal (fun t => pow_real t (a - 1))). now apply pow_real_derive.
- auto_derive; auto.
Qed.

(* For a > 1 the conjugate derives to .d everywhere, also where the base is cut off, *)
Lemma is_derive_pow_real_cut e x : 1 < e -> is_derive (fun t => pow_real t e) x (e * pow_real x (e -
  1)).
Proof.
intros He. destruct (Rtotal_order x 0) as [H | [-> | H]].
- rewrite pow_real_0, Rmult_0_r by lra. apply (is_derive_ext_loc (fun _ => 0)); [ | auto_derive;
  auto].
  assert (P : 0 < - x) by lra. exists (mkposreal _ P). intros z Hz.
  unfold ball in Hz; simpl in Hz; unfold AbsRing_ball, abs, minus, plus, opp in Hz; simpl in Hz.
  apply Rabs_def2 in Hz. rewrite pow_real_0; lra.
- rewrite (pow_real_0 0), Rmult_0_r by lra. now apply pow_real_derive_0.
- now apply pow_real_derive.
Qed.
Theorem tsallis_conjugate_derives_everywhere a y : 1 < a -> is_derive (tsallis_c a) y (tsallis_d a
  y).
Proof.
intros Ha. unfold tsallis_c, tsallis_d.
assert (E : 1 < a / (a - 1)).
{ replace (a / (a - 1)) with (1 + / (a - 1)) by (field; lra).
  assert (0 < / (a - 1)) by (apply Rinv_0_lt_compat; lra). lra. }
replace (pow_real (tsallis_base a y) (1 / (a - 1)))
  with (((a - 1) / a) * (a / (a - 1) * pow_real (tsallis_base a y) (a / (a - 1) - 1))).
2: { replace (a / (a - 1) - 1) with (1 / (a - 1)) by (field; lra). field; lra. }
apply (is_derive_comp (fun t => pow_real t (a / (a - 1))) (tsallis_base a)).
- now apply is_derive_pow_real_cut.
- unfold tsallis_base. auto_derive; [auto | field; lra].
Qed.
(* and at x = 0 .g is the one-sided derivative of .v. *)
Theorem tsallis_one_sided_at_zero a eps : 1 < a -> 0 < eps ->
  exists d, 0 < d /\ forall x, 0 < x < d -> Rabs ((tsallis_v a x - tsallis_v a 0) / x - tsallis_g a
    0) < eps.
Proof.
intros Ha He. assert (P : 0 < eps * (a - 1)) by nra.
exists (pow_real (eps * (a - 1)) (/ (a - 1))). split; [now apply pow_real_gt0 | ]. intros x Hx.
assert (K : pow_real x (a - 1) < eps * (a - 1)).
{ rewrite <- (pow_real_1 (eps * (a - 1))) by lra. replace 1 with (/ (a - 1) * (a - 1)) at 3
  by (field; lra).
  rewrite <- pow_real_mul by auto. apply pow_real_incr; try lra. }
assert (Q := pow_real_gt0 x (a - 1) ltac:(lra)).
replace ((tsallis_v a x - tsallis_v a 0) / x - tsallis_g a 0) with (pow_real x (a - 1) / (a - 1)).
- rewrite Rabs_pos_eq.
  + apply (Rmult_lt_reg_r (a - 1)); [lra | ]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l; lra.
  + apply Rmult_le_pos; [lra | left; apply Rinv_0_lt_compat; lra].
- unfold tsallis_v, tsallis_g. rewrite !(pow_real_0 0) by lra.
  replace (pow_real x a) with (x * pow_real x (a - 1)).
  + field. lra.
  + rewrite <- (pow_real_1 x) at 1 by lra. rewrite pow_real_add by (left; lra). f_equal; ring.
Qed.

(* (P7) *)
Theorem pseudo_huber_five d : 0 < d -> five_functions all all unit_open
  (pseudo_huber_v d) (pseudo_huber_g d) (pseudo_huber_h d) (pseudo_huber_c d) (pseudo_huber_d d).
Proof.
intros Hd. apply (five_of_legendre _ _ _ _ _ _ _ _ _ _ (pseudo_huber_legendre d Hd)). intros x _.
unfold pseudo_huber_g, pseudo_huber_h. assert (P : 0 < x^2 + d^2) by nra.
assert (Q := sqrt_lt_R0 _ P). assert (S := sqrt_sqrt _ (Rlt_le _ _ P)). auto_derive.
- split; [simpl in *; lra | split; [simpl in *; lra | trivial]].
- replace (x * (x * 1)) with (x^2) by ring. set (r := sqrt (x^2 + d * (d * 1))) in *.
  assert (Hr : r = sqrt (x^2 + d^2)) by (unfold r; f_equal; ring).
  rewrite <- Hr in *. replace (d^2) with (r * r - x^2) by lra. field. split; [nra | lra].
Qed.

(* (P8) *)
Theorem log_cosh_five b : 0 < b -> five_functions all all unit_open
  (log_cosh_v b) (log_cosh_g b) (log_cosh_h b) (log_cosh_c b) (log_cosh_d b).
Proof.
intros Hb. apply (five_of_legendre _ _ _ _ _ _ _ _ _ _ (log_cosh_legendre b Hb)). intros x _.
unfold log_cosh_g, log_cosh_h, tanh, sinh, cosh.
assert (P := exp_pos (b * x)). assert (Q := exp_pos (- (b * x))).
assert (M : exp (b * x) * exp (- (b * x)) = 1) by (rewrite <- exp_plus, Rplus_opp_r; apply exp_0).
auto_derive; [lra | ]. set (u := exp (b * x)) in *. set (w := exp (- (b * x))) in *.
transitivity (b * (4 * (u * w)) / (u + w) ^ 2); [field; lra | rewrite M; field; lra].
Qed.

(* (P9) *)
Theorem softplus_five : five_functions all all zero_one_open
  softplus_v softplus_g softplus_h softplus_c softplus_d.
Proof.
apply (five_of_legendre _ _ _ _ _ _ _ _ _ _ softplus_legendre). intros x _.
unfold softplus_g, softplus_h, sigmoid. rewrite Ropp_involutive.
assert (P := exp_pos x). assert (Q := exp_pos (- x)).
auto_derive; [lra | ]. rewrite exp_Ropp. field. lra.
Qed.

(* (P6) Renyi: the gradient of component e of .g is row e of .h. *)
Theorem renyi_g_derives E a x e : (0 < E)%nat -> 0 < a < 1 -> renyi_interior E x -> (e < E)%nat ->
  has_grad E (fun x => renyi_g E a x e) x (renyi_h E a x e).
Proof.
intros HE Ha Hx He d. unfold renyi_g. assert (Sx := renyi_sum_pos E a HE x Hx).
  set (S := renyi_sum E a x) in *.
assert (Hxe : 0 < x e) by (apply Hx, He).
assert (Q := pow_real_gt0 (x e) (a - 1) Hxe).
set (P := Rsum E (fun i => a * pow_real (x i) (a - 1) * d i)).
assert (K : is_derive (fun t => renyi_sum E a (vadd x (vsc t d))) 0 P).
{ apply (is_derive_Rsum E (fun i t => pow_real (x i + t * d i) a)). intros i Hi.
  replace (a * pow_real (x i) (a - 1) * d i) with (d i * (a * pow_real (x i) (a - 1))) by ring.
  apply (is_derive_comp (fun s => pow_real s a) (fun t => x i + t * d i)).
  - rewrite Rmult_0_l, Rplus_0_r. apply pow_real_derive, Hx, Hi.
  - auto_derive; [auto | ring]. }
assert (N : is_derive (fun t => pow_real (x e + t * d e) (a - 1)) 0 (d e * ((a - 1) * pow_real (x e)
  (a - 2)))).
{ apply (is_derive_comp (fun s => pow_real s (a - 1)) (fun t => x e + t * d e)).
  - rewrite Rmult_0_l, Rplus_0_r. replace (a - 2) with (a - 1 - 1) by ring.
    now apply pow_real_derive.
  - auto_derive; [auto | ring]. }
assert (S0 : renyi_sum E a (vadd x (vsc 0 d)) = S).
{ apply renyi_sum_ext. intros i Hi. unfold vadd, vsc. ring. }
assert (D : is_derive (fun t => (a * pow_real (x e + t * d e) (a - 1)) / ((a - 1) * renyi_sum E a
  (vadd x (vsc t d)))) 0
  ((a * (d e * ((a - 1) * pow_real (x e) (a - 2))) * ((a - 1) * S) - (a * pow_real (x e) (a - 1)) *
    ((a - 1) * P)) / ((a - 1) * S) ^ 2)).
{ apply is_derive_Reals.
  assert (D1 : derivable_pt_lim (fun t => a * pow_real (x e + t * d e) (a - 1)) 0 (a * (d e * ((a -
    1) * pow_real (x e) (a - 2))))).
  { apply is_derive_Reals. now apply (is_derive_scal (fun t => pow_real (x e + t * d e) (a - 1))). }
  assert (D2 : derivable_pt_lim (fun t => (a - 1) * renyi_sum E a (vadd x (vsc t d))) 0 ((a - 1) *
    P)).
  { apply is_derive_Reals. now apply (is_derive_scal (fun t => renyi_sum E a (vadd x (vsc t d)))). }
  assert (D3 : (a - 1) * renyi_sum E a (vadd x (vsc 0 d)) <> 0).
  { rewrite S0. apply Rmult_integral_contrapositive_currified; lra. }
  assert (D4 := derivable_pt_lim_div _ _ _ _ _ D1 D2 D3). cbv beta in D4.
  rewrite S0, Rmult_0_l, Rplus_0_r in D4. unfold Rsqr in D4.
  replace (((a - 1) * S) ^ 2) with ((a - 1) * S * ((a - 1) * S)) by ring.
  replace ((a - 1) * P * (a * pow_real (x e) (a - 1))) with (a * pow_real (x e) (a - 1) * ((a - 1) *
    P)) in D4 by ring.
  exact D4. }
replace (dot E (renyi_h E a x e) d) with
  ((a * (d e * ((a - 1) * pow_real (x e) (a - 2))) * ((a - 1) * S) - (a * pow_real (x e) (a - 1)) *
    ((a - 1) * P)) / ((a - 1) * S) ^ 2); [exact D | ].
unfold dot, renyi_h. fold S.
rewrite (Rsum_ext E _ (fun j => (a / S * pow_real (x e) (a - 2)) * (d j * (if Nat.eq_dec j e then 1
  else 0))
  + a / ((1 - a) * S ^ 2) * pow_real (x e) (a - 1) * (a * pow_real (x j) (a - 1) * d j))).
- rewrite Rsum_plus, !Rsum_scal, Rsum_delta by auto. fold P. field. lra.
- intros j Hj. destruct (Nat.eq_dec e j) as [<- | Hn].
  + destruct (Nat.eq_dec e e); [ | tauto]. field. lra.
  + destruct (Nat.eq_dec j e); [congruence | ]. field. lra.
Qed.
(* (P6.h) is positive definite. *)
Theorem renyi_h_positive E a x v : (0 < E)%nat -> 0 < a < 1 -> renyi_interior E x ->
  ~ veq E v (fun _ => 0) -> 0 < Rsum E (fun e => v e * dot E (renyi_h E a x e) v).
Proof.
intros HE Ha Hx Hv. assert (Sx := renyi_sum_pos E a HE x Hx). set (S := renyi_sum E a x) in *.
set (r := fun e => pow_real (x e) (a - 1)). set (k := a ^ 2 / ((1 - a) * S ^ 2)).
assert (Hk : 0 < k) by (unfold k; apply Rdiv_lt_0_compat; [nra | apply Rmult_lt_0_compat;
  [lra | apply pow_lt; auto]]).
assert (F : Rsum E (fun e => v e * dot E (renyi_h E a x e) v)
  = Rsum E (fun e => a / S * pow_real (x e) (a - 2) * (v e) ^ 2) + k * (dot E r v) ^ 2).
{ assert (D : forall e, (e < E)%nat -> dot E (renyi_h E a x e) v = a / S * pow_real (x e) (a - 2) *
  v e + k * r e * dot E r v).
  { intros e He. unfold dot, renyi_h. fold S. fold k.
    rewrite (Rsum_ext E _ (fun j => (a / S * pow_real (x e) (a - 2)) * (v j * (if Nat.eq_dec j e
      then 1 else 0)) + k * r e * (r j * v j))).
    - rewrite Rsum_plus, !Rsum_scal, Rsum_delta by auto. reflexivity.
    - intros j Hj. unfold r. destruct (Nat.eq_dec e j) as [<- | Hn].
      + destruct (Nat.eq_dec e e); [ring | tauto].
      + destruct (Nat.eq_dec j e); [congruence | ring]. }
  rewrite (Rsum_ext E _ (fun e => a / S * pow_real (x e) (a - 2) * (v e) ^ 2 + k * dot E r v * (r e
    * v e))).
  - rewrite Rsum_plus, Rsum_scal. fold (dot E r v). ring.
  - intros e He. rewrite D by auto. ring. }
rewrite F.
assert (T : forall e, (e < E)%nat -> 0 < a / S * pow_real (x e) (a - 2)).
{ intros e He. apply Rmult_lt_0_compat; [apply Rdiv_lt_0_compat; lra | apply pow_real_gt0, Hx, He].
  }
assert (A : exists e, (e < E)%nat /\ v e <> 0).
{ apply Classical_Prop.NNPP; intros N. apply Hv. intros i Hi. apply Classical_Prop.NNPP; intros N'.
  apply N. eauto. }
destruct A as [e [He Hne]].
set (q := fun e => a / S * pow_real (x e) (a - 2) * (v e) ^ 2).
assert (Q0 : forall j, (j < E)%nat -> 0 <= q j).
{ intros j Hj. unfold q. generalize (T j Hj) (pow2_ge_0 (v j)). intros. apply Rmult_le_pos; lra. }
assert (Qe : 0 < q e).
{ unfold q. apply Rmult_lt_0_compat; [now apply T | ].
  replace (v e ^ 2) with (Rsqr (v e)) by (unfold Rsqr; ring). now apply Rsqr_pos_lt. }
assert (G : q e <= Rsum E q).
{ rewrite <- (Rsum_delta E q e He). apply Rsum_le. intros j Hj. generalize (Q0 j Hj).
  destruct (Nat.eq_dec j e); lra. }
assert (0 <= k * dot E r v ^ 2) by (apply Rmult_le_pos; [lra | apply pow2_ge_0]). lra.
Qed.
