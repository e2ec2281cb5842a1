(* Conjugates as suprema, over the whole line: on the dual domain, at its ends and outside. *)
From Coq Require Import Reals Lra Lia.
From Coquelicot Require Import Coquelicot.
From Phibal Require Import Legendre Even Vector Potentials Power Instances Mirror Uniform Renyi.
Open Scope R_scope.

Lemma ln1p u : 0 <= u -> ln (1 + u) <= u.
Proof. intros H. rewrite <- (ln_exp u) at 2. apply ln_le; [lra | apply exp_ineq1_le]. Qed.
Lemma exp_small b e : 0 < b -> 0 < e -> exists t, 0 <= t /\ exp (- (b * t)) <= e.
Proof.
intros Hb He. exists (Rmax 0 (- ln e / b)). split; [apply Rmax_l | ].
rewrite <- (exp_ln e) at 2 by auto.
set (t := Rmax 0 (- ln e / b)). assert (H1 : - ln e / b <= t) by apply Rmax_r.
apply (Rmult_le_compat_l b) in H1; [ | lra].
replace (b * (- ln e / b)) with (- ln e) in H1 by (field; lra).
destruct (Req_dec (- (b * t)) (ln e)) as [-> | ]; [lra | left; apply exp_increasing; lra].
Qed.

Section LogCosh.
Variable b : R. Hypothesis Hb : 0 < b.
Local Notation f := (log_cosh_v b).
Lemma cosh_even t : cosh (- t) = cosh t.
Proof. unfold cosh. rewrite Ropp_involutive. f_equal. ring. Qed.
Lemma ln_cosh_form t : ln (cosh t) = t - ln 2 + ln (1 + exp (- (2 * t))).
Proof.
assert (P : 0 < 1 + exp (- (2 * t))) by (generalize (exp_pos (- (2 * t))); lra).
replace (cosh t) with (exp t * / 2 * (1 + exp (- (2 * t)))).
- rewrite !ln_mult, ln_exp, ln_Rinv; try lra. apply exp_pos. apply Rmult_lt_0_compat;
  [apply exp_pos | lra].
- unfold cosh. replace (- (2 * t)) with (- t + - t) by ring. rewrite exp_plus.
  assert (exp t * exp (- t) = 1) by (rewrite <- exp_plus, Rplus_opp_r; apply exp_0).
  replace (exp t * / 2 * (1 + exp (- t) * exp (- t))) with ((exp t + (exp t * exp (- t)) * exp (-
    t)) / 2) by field.
  rewrite H. field.
Qed.
Lemma log_cosh_v_even s t : s = 1 \/ s = -1 -> f (s * t) = f t.
Proof. intros [-> | ->]; unfold log_cosh_v; [now rewrite Rmult_1_l | ].
  replace (b * (-1 * t)) with (- (b * t)) by ring. now rewrite cosh_even. Qed.

(* Erratum A1: log 2 / beta at |y| = 1, not 0. *)
Theorem log_cosh_at_one y : y = 1 \/ y = -1 -> conjugate_is all f y (Finite (ln 2 / b)).
Proof.
intros Hy. apply conjugate_is_of_limit.
- intros x _. assert (L := fenchel_young (log_cosh_legendre b Hb) x y I).
  assert (V : log_cosh_c b y = ln 2 / b).
  { unfold log_cosh_c. rewrite !x_log_x_eq. destruct Hy as [-> | ->].
    - replace (1 + 1) with 2 by ring. field; lra.
    - replace (1 - -1) with 2 by ring. field; lra. }
  rewrite V in L. unfold log_cosh_v in *. assert (-1 <= y <= 1) by lra. specialize (L H).
    simpl in L. lra.
- intros e He. destruct (exp_small (2 * b) (b * e)) as [t [Ht Hs]]; [lra | nra | ].
  exists (y * t). split; [exact I | ]. rewrite log_cosh_v_even by auto.
  replace (y * t * y) with t by (destruct Hy; subst y; ring).
  unfold log_cosh_v. rewrite ln_cosh_form. replace (2 * (b * t)) with (2 * b * t) by ring.
  assert (K := ln1p _ (Rlt_le _ _ (exp_pos (- (2 * b * t))))).
  apply (Rmult_le_reg_l b); auto.
  replace (b * (t - (b * t - ln 2 + ln (1 + exp (- (2 * b * t)))) / b)) with (ln 2 - ln (1 + exp (-
    (2 * b * t)))) by (field; lra).
  replace (b * (ln 2 / b - e)) with (ln 2 - b * e) by (field; lra). lra.
Qed.
Theorem log_cosh_at_one_not_zero y : y = 1 \/ y = -1 -> ~ conjugate_is all f y (Finite 0).
Proof.
intros Hy H. assert (E := conjugate_unique _ _ _ _ _ H (log_cosh_at_one y Hy)). injection E;
  intros E'.
assert (0 < ln 2 / b) by (apply Rdiv_lt_0_compat; auto; rewrite <- ln_1; apply ln_increasing; lra).
  lra.
Qed.
Theorem log_cosh_outside y : 1 < Rabs y -> conjugate_is all f y p_infty.
Proof.
intros Hy. apply (conjugate_is_infinite_along_ray all f y (sign y) 1 (ln 2 / b)); [intros;
  exact I | | ].
- intros t Ht. rewrite log_cosh_v_even.
  + unfold log_cosh_v. rewrite ln_cosh_form. assert (K := ln1p _ (Rlt_le _ _ (exp_pos (- (2 * (b *
    t)))))).
    assert (exp (- (2 * (b * t))) <= 1).
    { rewrite <- exp_0. destruct (Req_dec t 0) as [-> | ]; [right; f_equal; ring | left;
      apply exp_increasing; nra]. }
    assert (J : ln (1 + exp (- (2 * (b * t)))) <= ln 2).
    { apply ln_le; [generalize (exp_pos (- (2 * (b * t)))); lra | lra]. }
    apply (Rmult_le_reg_l b); auto.
    replace (b * ((b * t - ln 2 + ln (1 + exp (- (2 * (b * t))))) / b)) with (b * t - ln 2 + ln (1 +
      exp (- (2 * (b * t))))) by (field; lra).
    replace (b * (1 * t + ln 2 / b)) with (b * t + ln 2) by (field; lra).
    assert (0 < ln 2) by (rewrite <- ln_1; apply ln_increasing; lra). lra.
  + destruct (Rtotal_order y 0) as [H | [H | H]]; [right; now apply sign_eq_m1 | subst;
    rewrite Rabs_R0 in Hy; lra | left; now apply sign_eq_1].
- idtac.
  destruct (Rtotal_order y 0) as [H | [H | H]].
  + rewrite sign_eq_m1 by auto. rewrite Rabs_left in Hy; lra.
  + subst; rewrite Rabs_R0 in Hy; lra.
  + rewrite sign_eq_1 by auto. rewrite Rabs_pos_eq in Hy; lra.
Qed.
End LogCosh.

(* softplus: 0 at 0 and at 1, +inf outside. *)
Theorem softplus_at_zero : conjugate_is all softplus_v 0 (Finite 0).
Proof.
unfold softplus_v.
apply conjugate_is_of_limit.
- intros x _. assert (0 < ln (1 + exp x)) by (rewrite <- ln_1; apply ln_increasing;
  generalize (exp_pos x); lra). lra.
- intros e He. destruct (exp_small 1 e) as [t [Ht Hs]]; try lra. exists (- t); split; [exact I | ].
  rewrite Rmult_1_l in Hs. generalize (ln1p _ (Rlt_le _ _ (exp_pos (- t)))). lra.
Qed.
Theorem softplus_at_one : conjugate_is all softplus_v 1 (Finite 0).
Proof.
unfold softplus_v.
apply conjugate_is_of_limit.
- intros x _. assert (x < ln (1 + exp x)) by (rewrite <- (ln_exp x) at 1; apply ln_increasing;
  generalize (exp_pos x); lra). lra.
- intros e He. destruct (exp_small 1 e) as [t [Ht Hs]]; try lra. exists t; split; [exact I | ].
  rewrite Rmult_1_l in Hs. assert (P := exp_pos t). assert (Q := exp_pos (- t)).
  replace (1 + exp t) with (exp t * (1 + exp (- t))) by (rewrite Rmult_plus_distr_l, <- exp_plus,
    Rplus_opp_r, exp_0; ring).
  rewrite ln_mult, ln_exp by lra. generalize (ln1p _ (Rlt_le _ _ Q)). lra.
Qed.
Theorem softplus_outside y : y < 0 \/ 1 < y -> conjugate_is all softplus_v y p_infty.
Proof.
unfold softplus_v.
intros [Hy | Hy].
- apply (conjugate_is_infinite_along_ray _ _ y (-1) 0 (ln 2)); [intros; exact I | | lra].
  intros t Ht.
  rewrite Rmult_0_l, Rplus_0_l. apply ln_le; [generalize (exp_pos (-1 * t)); lra | ].
  assert (exp (-1 * t) <= exp 0) by (destruct (Req_dec t 0) as [-> | ]; [right; f_equal;
    ring | left; apply exp_increasing; lra]).
  rewrite exp_0 in H; lra.
- apply (conjugate_is_infinite_along_ray _ _ y 1 1 (ln 2)); [intros; exact I | | lra]. intros t Ht.
  rewrite !Rmult_1_l.
  rewrite <- (ln_exp t) at 2. rewrite <- ln_mult; [ | apply exp_pos | lra].
  apply ln_le; [generalize (exp_pos t); lra | ].
  assert (exp 0 <= exp t) by (destruct (Req_dec t 0) as [-> | ]; [lra | left; apply exp_increasing;
    lra]).
  rewrite exp_0 in H; lra.
Qed.

(* soft-l1: +inf from |y| = 1 on. *)
Theorem soft_l1_outside d y : 0 < d -> 1 <= Rabs y -> conjugate_is all (soft_l1_v d) y p_infty.
Proof.
intros Hd Hy. apply conjugate_is_infinite. intros M. assert (HM : 0 <= Rmax 0 M) by apply Rmax_l.
set (t := d * (exp (Rmax 0 M / d) - 1)).
assert (Ht : 0 <= t).
{ unfold t. apply Rmult_le_pos; [lra | ]. generalize (exp_ineq1_le (Rmax 0 M / d)).
  assert (0 <= Rmax 0 M / d) by (apply Rmult_le_pos; [auto | left; apply Rinv_0_lt_compat; auto]).
    lra. }
exists (sign y * t). split; [exact I | ].
assert (S : Rabs (sign y * t) = t /\ sign y * t * y = Rabs y * t).
{ destruct (Rtotal_order y 0) as [H | [H | H]].
  - rewrite sign_eq_m1, (Rabs_left y) by auto. split; [ | ring]. replace (-1 * t) with (- t)
    by ring. rewrite Rabs_Ropp, Rabs_pos_eq; auto.
  - subst; rewrite Rabs_R0 in Hy; lra.
  - rewrite sign_eq_1, (Rabs_pos_eq y) by lra. split; [ | ring]. rewrite Rmult_1_l, Rabs_pos_eq;
    auto. }
destruct S as [S1 S2]. unfold soft_l1_v. rewrite S1, S2.
replace (t / d + 1) with (exp (Rmax 0 M / d)) by (unfold t; field; lra). rewrite ln_exp.
replace (d * (Rmax 0 M / d)) with (Rmax 0 M) by (field; lra). generalize (Rmax_r 0 M). nra.
Qed.

(* pseudo-huber: delta at |y| = 1, +inf outside. *)
Theorem pseudo_huber_at_one d y : 0 < d -> y = 1 \/ y = -1 -> conjugate_is all (pseudo_huber_v d) y
  (Finite d).
Proof.
intros Hd Hy. apply conjugate_is_of_limit.
- intros x _. assert (L := fenchel_young (pseudo_huber_legendre d Hd) x y I).
  unfold pseudo_huber_v, pseudo_huber_c, unit_closed in *.
  replace (1 - y ^ 2) with 0 in L by (destruct Hy; subst y; ring). rewrite sqrt_0 in L.
  specialize (L ltac:(lra)). lra.
- intros e He. set (t := d^2 / (2 * e)). assert (Ht : 0 < t) by (apply Rdiv_lt_0_compat; nra).
  exists (y * t). split; [exact I | unfold pseudo_huber_v].
  replace (y * t * y) with t by (destruct Hy; subst y; ring).
  replace ((y * t)^2) with (t^2) by (destruct Hy; subst y; ring).
  assert (sqrt (t^2 + d^2) <= t + e); [ | lra].
  rewrite <- (sqrt_Rsqr (t + e)) by lra. apply sqrt_le_1_alt. unfold Rsqr.
  assert (2 * e * t = d^2) by (unfold t; field; lra). nra.
Qed.
Theorem pseudo_huber_outside d y : 0 < d -> 1 < Rabs y -> conjugate_is all (pseudo_huber_v d) y
  p_infty.
Proof.
unfold pseudo_huber_v.
intros Hd Hy.
assert (Hs : (sign y = 1 \/ sign y = -1) /\ sign y * y = Rabs y).
{ destruct (Rtotal_order y 0) as [H | [H | H]].
  - rewrite sign_eq_m1, Rabs_left by auto. lra.
  - subst; rewrite Rabs_R0 in Hy; lra.
  - rewrite sign_eq_1, Rabs_pos_eq by lra. lra. }
apply (conjugate_is_infinite_along_ray _ _ y (sign y) 1 0); [intros; exact I | | lra].
intros t Ht. replace ((sign y * t)^2) with (t^2) by (destruct Hs as [[-> | ->] _]; ring).
assert (sqrt (t^2 + d^2) <= t + d); [ | lra].
rewrite <- (sqrt_Rsqr (t + d)) by lra. apply sqrt_le_1_alt. unfold Rsqr. nra.
Qed.

(* Erratum A2: 0 for a > 1 below the threshold (attained at x = 0), +inf for a < 1 from 1/(1-a) on.
  *)
Theorem tsallis_flat a y : 1 < a -> tsallis_base a y <= 0 -> conjugate_is nonneg (tsallis_v a) y
  (Finite 0).
Proof.
intros Ha Hy. apply conjugate_is_of_limit.
- intros x Hx. assert (L := fenchel_young (tsallis_legendre a ltac:(lra) ltac:(lra)) x y Hx
  (or_introl Ha)).
  unfold tsallis_c in L. rewrite (pow_real_0 (tsallis_base a y)) in L
    by (auto || (apply Rdiv_lt_0_compat; lra)). lra.
- intros e He. exists 0; split; [unfold nonneg; lra | unfold tsallis_v]. rewrite pow_real_0 by lra.
  unfold Rdiv. lra.
Qed.
Theorem tsallis_infinite a y : 0 < a < 1 -> / (1 - a) <= y -> conjugate_is nonneg (tsallis_v a) y
  p_infty.
Proof.
intros Ha Hy. apply conjugate_is_infinite. intros M.
set (m := Rmax 1 ((1 - a) * M)). assert (Hm : 1 <= m) by apply Rmax_l.
  assert (Hm' : (1 - a) * M <= m) by apply Rmax_r.
set (x := Rpower m (/ a)). assert (Hx : 0 < x) by apply Rpower_gt0. exists x.
  split; [unfold nonneg; lra | unfold tsallis_v].
assert (E : pow_real x a = m).
{ rewrite pow_real_pos by auto. unfold x. rewrite Rpower_mult, Rinv_l, Rpower_1; lra. }
rewrite E. replace (x * y - (m - x) / (a - 1)) with (x * (y - / (1 - a)) + m / (1 - a)) by (field;
  lra).
assert (0 <= x * (y - / (1 - a))) by (apply Rmult_le_pos; lra).
assert (M <= m / (1 - a)); [ | lra].
apply (Rmult_le_reg_l (1 - a)); [lra | ]. replace ((1 - a) * (m / (1 - a))) with m by (field; lra).
  auto.
Qed.

(* ---------- the whole line: each potential's conjugate where it is finite,
  +inf elsewhere ---------- *)
Definition conjugate_pair (X Y : R -> Prop) (f fs : R -> R) : Prop :=
  forall y, (Y y -> conjugate_is X f y (Finite (fs y))) /\ (~ Y y -> conjugate_is X f y p_infty).

Lemma conjugate_pair_everywhere X f fs :
  (forall y, conjugate_is X f y (Finite (fs y))) -> conjugate_pair X all f fs.
Proof. intros H y; split; [auto | intros N; exfalso; apply N; exact I]. Qed.

Theorem euclid_conjugate : conjugate_pair all all euclid_v euclid_c.
Proof. apply conjugate_pair_everywhere; intros y; now apply (legendre_conjugate _ _ _ _ _ _ _ _
  euclid_legendre). Qed.
Theorem lp_conjugate p : 1 < p -> conjugate_pair all all (lp_v p) (lp_c p).
Proof. intros Hp. apply conjugate_pair_everywhere; intros y; now apply (legendre_conjugate _ _ _ _ _
  _ _ _ (lp_legendre p Hp)). Qed.
Theorem soft_l1_conjugate d : 0 < d -> conjugate_pair all (fun y => Rabs y < 1) (soft_l1_v d)
  (soft_l1_c d).
Proof.
intros Hd y; split; intros Hy; [now apply (legendre_conjugate _ _ _ _ _ _ _ _ (soft_l1_legendre d
  Hd)) | ].
apply soft_l1_outside; lra.
Qed.
Theorem negentropy_conjugate : conjugate_pair nonneg all negentropy_v negentropy_c.
Proof. apply conjugate_pair_everywhere; intros y; now apply (legendre_conjugate _ _ _ _ _ _ _ _
  negentropy_legendre). Qed.
Lemma tsallis_base_nonpos a y : 0 < a -> (tsallis_base a y <= 0 <-> 1 + (a - 1) * y <= 0).
Proof.
intros Ha. unfold tsallis_base. split; intros H.
- apply (Rmult_le_compat_r a) in H; [ | lra]. unfold Rdiv in H. rewrite Rmult_assoc, Rinv_l in H;
  lra.
- apply (Rmult_le_reg_r a); auto. unfold Rdiv. rewrite Rmult_assoc, Rinv_l; lra.
Qed.
Theorem tsallis_conjugate a : 0 < a -> a <> 1 -> conjugate_pair nonneg (tsallis_dual a) (tsallis_v
  a) (tsallis_c a).
Proof.
intros Ha H1 y. unfold tsallis_dual. destruct (Rlt_dec 0 (tsallis_base a y)) as [Hy | Hy].
- split; intros H; [now apply (legendre_conjugate _ _ _ _ _ _ _ _ (tsallis_legendre a Ha H1))
  | tauto].
- apply Rnot_lt_le in Hy. split; intros H.
  + unfold tsallis_c. rewrite pow_real_0; auto.
    * apply tsallis_flat; auto. lra.
    * apply Rdiv_lt_0_compat; lra.
  + apply tsallis_infinite; [lra | ]. apply tsallis_base_nonpos in Hy; auto.
    apply (Rmult_le_reg_l (1 - a)); [lra | ]. rewrite Rinv_r; lra.
Qed.
Lemma outside_unit y : ~ unit_closed y -> 1 < Rabs y.
Proof. intros H. apply Rnot_le_lt; intros N. apply H. apply Rabs_le_between in N. exact N. Qed.
Theorem pseudo_huber_conjugate d : 0 < d -> conjugate_pair all unit_closed (pseudo_huber_v d)
  (pseudo_huber_c d).
Proof.
intros Hd y; split; intros Hy; [ | apply pseudo_huber_outside; auto using outside_unit].
destruct (dec_oo (-1) 1 y) as [Hi | Hi]; [now apply (legendre_conjugate _ _ _ _ _ _ _ _
  (pseudo_huber_legendre d Hd)) | ].
assert (C : y = 1 \/ y = -1) by (unfold unit_closed in Hy; lra).
replace (pseudo_huber_c d y) with d; [now apply pseudo_huber_at_one | ].
unfold pseudo_huber_c. replace (1 - y ^ 2) with 0 by (destruct C; subst; ring). rewrite sqrt_0;
  ring.
Qed.
Theorem log_cosh_conjugate b : 0 < b -> conjugate_pair all unit_closed (log_cosh_v b) (log_cosh_c
  b).
Proof.
intros Hb y; split; intros Hy; [ | apply log_cosh_outside; auto using outside_unit].
destruct (dec_oo (-1) 1 y) as [Hi | Hi]; [now apply (legendre_conjugate _ _ _ _ _ _ _ _
  (log_cosh_legendre b Hb)) | ].
assert (C : y = 1 \/ y = -1) by (unfold unit_closed in Hy; lra).
replace (log_cosh_c b y) with (ln 2 / b); [now apply log_cosh_at_one | ].
unfold log_cosh_c. rewrite !x_log_x_eq. destruct C; subst.
- replace (1 + 1) with 2 by ring. field; lra.
- replace (1 - -1) with 2 by ring. field; lra.
Qed.
Theorem softplus_conjugate : conjugate_pair all zero_one_closed softplus_v softplus_c.
Proof.
intros y; unfold zero_one_closed; split; intros Hy; [ | apply softplus_outside; lra].
destruct (dec_oo 0 1 y) as [Hi | Hi]; [now apply (legendre_conjugate _ _ _ _ _ _ _ _
  softplus_legendre) | ].
assert (C : y = 0 \/ y = 1) by lra. unfold softplus_c. rewrite !x_log_x_eq. destruct C; subst.
- replace (0 * ln 0 + (1 - 0) * ln (1 - 0)) with 0 by (rewrite Rminus_0_r, ln_1; ring).
  apply softplus_at_zero.
- replace (1 * ln 1 + (1 - 1) * ln (1 - 1)) with 0 by (rewrite ln_1; ring). apply softplus_at_one.
Qed.
(* (P2.1): the conjugate of |x| is the indicator of [-1, 1]. *)
Theorem lp_one_conjugate : conjugate_pair all unit_closed lp_one_v (fun _ => 0).
Proof.
intros y; split; intros Hy.
- apply conjugate_is_of_limit.
  + intros x _. unfold lp_one_v. assert (H : Rabs y <= 1) by (apply Rabs_le_between; exact Hy).
    assert (K := Rle_abs (x * y)). rewrite Rabs_mult in K. generalize (Rabs_pos x). nra.
  + intros e He. exists 0. split; [exact I | ]. unfold lp_one_v. rewrite Rabs_R0. lra.
- apply outside_unit in Hy. apply (conjugate_is_infinite_along_ray _ _ _ (sign y) 1 0);
  [now intros | | ].
  + intros t Ht. unfold lp_one_v. rewrite Rabs_mult, (Rabs_pos_eq t) by auto.
    assert (Rabs (sign y) <= 1).
    { destruct (Rtotal_order y 0) as [H | [H | H]]; [rewrite sign_eq_m1, Rabs_left | rewrite H,
      sign_0, Rabs_R0 | rewrite sign_eq_1, Rabs_R1]; lra. }
    nra.
  + destruct (Rtotal_order y 0) as [H | [H | H]].
    * rewrite sign_eq_m1 by auto. rewrite Rabs_left in Hy; lra.
    * subst; rewrite Rabs_R0 in Hy; lra.
    * rewrite sign_eq_1 by auto. rewrite Rabs_pos_eq in Hy; lra.
Qed.

(* At a closed end of a dual domain the supremum is not attained: there is no gradient there. *)
Definition not_attained (X : R -> Prop) (f : R -> R) (y l : R) : Prop := forall x, X x ->
  x * y - f x <> l.
Lemma at_end_not_attained Y Yi f fs g h y : legendre all all Y Yi f fs g h ->
  Y y -> ~ Yi y -> not_attained all f y (fs y).
Proof.
intros L Hy Hn x _ Eq. apply Hn. assert (E : f x + fs y = x * y) by lra.
apply (fenchel_young_eq_dual L) in E; auto; [ | exact I]. rewrite E. apply (gradient_maps L).
  exact I.
Qed.
Theorem log_cosh_not_attained b y : 0 < b -> y = 1 \/ y = -1 -> not_attained all (log_cosh_v b) y
  (log_cosh_c b y).
Proof. intros Hb Hy. apply (at_end_not_attained _ _ _ _ _ _ y (log_cosh_legendre b Hb));
  unfold unit_closed, unit_open; lra. Qed.
Theorem pseudo_huber_not_attained d y : 0 < d -> y = 1 \/ y = -1 -> not_attained all (pseudo_huber_v
  d) y (pseudo_huber_c d y).
Proof. intros Hd Hy. apply (at_end_not_attained _ _ _ _ _ _ y (pseudo_huber_legendre d Hd));
  unfold unit_closed, unit_open; lra. Qed.
Theorem softplus_not_attained y : y = 0 \/ y = 1 -> not_attained all softplus_v y (softplus_c y).
Proof. intros Hy. apply (at_end_not_attained _ _ _ _ _ _ y softplus_legendre);
  unfold zero_one_closed, zero_one_open; lra. Qed.

(* ---------- suprema over vectors ---------- *)
Definition vconjugate_is (X : vec -> Prop) E (f : vec -> R) (y : vec) (l : Rbar) : Prop :=
  is_lub_Rbar (fun v => exists x, X x /\ v = dot E x y - f x) l.

Lemma vconjugate_is_of_limit (X : vec -> Prop) E f y (l : R) :
  (forall x, X x -> dot E x y - f x <= l) ->
  (forall e, 0 < e -> exists x, X x /\ l - e <= dot E x y - f x) ->
    vconjugate_is X E f y (Finite l).
Proof.
intros Hub Ha; split.
- intros v [x [Hx ->]]; simpl; auto.
- intros b Hb. destruct b as [b | | ]; simpl; auto.
  + destruct (Rle_lt_dec l b) as [H | H]; [assumption | ].
    destruct (Ha ((l - b) / 2)) as [x [Hx H1]]; [lra | ].
    assert (H2 := Hb _ (ex_intro _ x (conj Hx eq_refl))). simpl in H2. lra.
  + destruct (Ha 1) as [x [Hx H1]]; [lra | ]. exact (Hb _ (ex_intro _ x (conj Hx eq_refl))).
Qed.
Lemma vconjugate_is_infinite (X : vec -> Prop) E f y :
  (forall M, exists x, X x /\ M <= dot E x y - f x) -> vconjugate_is X E f y p_infty.
Proof.
intros Ha; split.
- intros v [x [Hx ->]]; simpl; auto.
- intros b Hb. destruct b as [b | | ]; simpl; auto.
  + destruct (Ha (b + 1)) as [x [Hx H1]].
    assert (H2 := Hb _ (ex_intro _ x (conj Hx eq_refl))). simpl in H2. lra.
  + destruct (Ha 0) as [x [Hx H1]]. exact (Hb _ (ex_intro _ x (conj Hx eq_refl))).
Qed.
(* A supremum is approached. *)
Lemma conjugate_is_approached (X : R -> Prop) f y l : conjugate_is X f y (Finite l) ->
  forall e, 0 < e -> exists x, X x /\ l - e <= x * y - f x.
Proof.
intros [_ H] e He. apply Classical_Prop.NNPP; intros N.
assert (K : Rbar_le l (Finite (l - e))).
{ apply H. intros v [x [Hx ->]]. simpl. apply Rnot_lt_le; intros C. apply N. exists x; split; auto;
  lra. }
simpl in K. lra.
Qed.
Lemma conjugate_is_unbounded (X : R -> Prop) f y : conjugate_is X f y p_infty -> forall M,
  exists x, X x /\ M <= x * y - f x.
Proof.
intros [_ H] M. apply Classical_Prop.NNPP; intros N.
apply (H (Finite M)). intros v [x [Hx ->]]. simpl. apply Rnot_lt_le; intros C. apply N.
  exists x; split; auto; lra.
Qed.
Lemma dot_minus_separable E f (x y : vec) : dot E x y - separable_sum E f x = Rsum E (fun i => x i *
  y i - f (x i)).
Proof. unfold dot, separable_sum. now rewrite Rsum_minus. Qed.
(* The conjugate of a separable potential is the sum of the conjugates... *)
Theorem separable_conjugate E (X : R -> Prop) f (y l : vec) :
  (forall i, (i < E)%nat -> conjugate_is X f (y i) (Finite (l i))) ->
  vconjugate_is (vall E X) E (separable_sum E f) y (Finite (Rsum E l)).
Proof.
intros H. apply vconjugate_is_of_limit.
- intros x Hx. rewrite dot_minus_separable. apply Rsum_le. intros i Hi.
  destruct (H i Hi) as [U _]. apply (U (x i * y i - f (x i))). exists (x i); split; auto.
- intros e He.
  assert (P : forall n, (n <= E)%nat -> exists x : vec, vall n X x /\ Rsum n l - INR n * (e / (INR E
    + 1)) <= Rsum n (fun i => x i * y i - f (x i))).
  { assert (Pe : 0 < e / (INR E + 1)) by (apply Rdiv_lt_0_compat; auto; generalize (pos_INR E);
    lra).
    set (d := e / (INR E + 1)) in *. induction n; intros Hn.
    - exists (fun _ => 0). split; [intros i Hi; lia | simpl; lra].
    - destruct IHn as [x [Hx1 Hx2]]; [lia | ].
      destruct (conjugate_is_approached _ _ _ _ (H n Hn) _ Pe) as [z [Hz1 Hz2]].
      exists (fun i => if Nat.eq_dec i n then z else x i). split.
      + intros i Hi. destruct (Nat.eq_dec i n); auto. apply Hx1; lia.
      + rewrite S_INR. change (Rsum (S n) l) with (Rsum n l + l n).
        change (Rsum (S n) ?F) with (Rsum n F + F n). cbv beta.
        destruct (Nat.eq_dec n n) as [_ | C]; [ | tauto].
        match goal with |- _ <= Rsum n ?F + _ => rewrite (Rsum_ext n F (fun i => x i * y i - f (x
          i))) end; [lra | ].
        intros i Hi. destruct (Nat.eq_dec i n); [lia | auto]. }
  destruct (P E (Nat.le_refl E)) as [x [Hx1 Hx2]]. exists x. split; auto.
    rewrite dot_minus_separable.
  assert (INR E * (e / (INR E + 1)) <= e); [ | lra].
  assert (0 <= INR E) by apply pos_INR.
  replace (INR E * (e / (INR E + 1))) with (e * (INR E / (INR E + 1))) by (field; lra).
  assert (INR E / (INR E + 1) <= 1); [ | nra].
  apply (Rmult_le_reg_r (INR E + 1)); [lra | ]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l; lra.
Qed.
(* ... and +inf as soon as one of them is. *)
Theorem separable_conjugate_infinite E (X : R -> Prop) f (y : vec) i : (exists x0, X x0) ->
  (i < E)%nat ->
  conjugate_is X f (y i) p_infty -> vconjugate_is (vall E X) E (separable_sum E f) y p_infty.
Proof.
intros [x0 H0] Hi H. apply vconjugate_is_infinite. intros M.
set (r := fun j => x0 * y j - f x0).
destruct (conjugate_is_unbounded _ _ _ H (M - Rsum E r + r i)) as [z [Hz1 Hz2]].
exists (fun j => if Nat.eq_dec j i then z else x0). split.
- intros j Hj. destruct (Nat.eq_dec j i); auto.
- rewrite dot_minus_separable.
  rewrite (Rsum_ext E _ (fun j => r j + (z * y i - f z - r i) * (if Nat.eq_dec j i then 1 else 0))).
  + rewrite Rsum_plus, (Rsum_delta E (fun _ => z * y i - f z - r i) i Hi). lra.
  + intros j Hj. unfold r. destruct (Nat.eq_dec j i) as [-> | ]; ring.
Qed.
(* Both at once, for a potential of the catalogue. *)
Theorem separable_conjugate_pair E X Y f fs (y : vec) : (exists x0, X x0) ->
  conjugate_pair X Y f fs ->
  (vall E Y y -> vconjugate_is (vall E X) E (separable_sum E f) y (Finite (separable_sum E fs y)))
    /\
  (~ vall E Y y -> vconjugate_is (vall E X) E (separable_sum E f) y p_infty).
Proof.
intros H0 C. split; intros Hy.
- apply (separable_conjugate E X f y (fun i => fs (y i))). intros i Hi. now apply C, Hy.
- assert (K : exists i, (i < E)%nat /\ ~ Y (y i)).
  { apply Classical_Prop.NNPP; intros N. apply Hy. intros i Hi. apply Classical_Prop.NNPP;
    intros N'. apply N. eauto. }
  destruct K as [i [Hi Hn]]. apply (separable_conjugate_infinite E X f y i); auto. now apply C.
Qed.

(* Erratum A3: Renyi's conjugate, finite exactly on the open negative orthant. *)
Lemma Rsum_ge0 n f : (forall j, (j < n)%nat -> 0 <= f j) -> 0 <= Rsum n f.
Proof. intros H. replace 0 with (Rsum n (fun _ => 0)) by (rewrite Rsum_const; ring).
  now apply Rsum_le. Qed.
Lemma Rsum_ge_term n f i : (forall j, (j < n)%nat -> 0 <= f j) -> (i < n)%nat -> f i <= Rsum n f.
Proof.
intros Hf Hi. rewrite <- (Rsum_delta n f i Hi). apply Rsum_le. intros j Hj.
generalize (Hf j Hj). destruct (Nat.eq_dec j i); lra.
Qed.
Theorem renyi_outside E a y e : 0 < a < 1 -> (e < E)%nat -> 0 <= y e ->
  forall M, exists x, renyi_interior E x /\ M <= dot E x y - renyi_v E a x.
Proof.
intros Ha He Hy M. set (c := a / (1 - a)). assert (Hc : 0 < c) by (apply Rdiv_lt_0_compat; lra).
set (C := Rsum E y - y e). set (t := exp ((M - C) / c)). assert (Ht : 0 < t) by apply exp_pos.
set (x := fun i => 1 + (t - 1) * (if Nat.eq_dec i e then 1 else 0)).
assert (Hx : renyi_interior E x). { intros i Hi. unfold x, positive. destruct (Nat.eq_dec i e);
  lra. }
exists x. split; auto.
assert (D1 : dot E x y = C + t * y e).
{ unfold dot, x. rewrite (Rsum_ext E _ (fun i => y i + (t - 1) * (y i * (if Nat.eq_dec i e then 1
  else 0)))) by (intros; ring).
  rewrite Rsum_plus, Rsum_scal, Rsum_delta by auto. unfold C. ring. }
assert (D2 : pow_real t a <= renyi_sum E a x).
{ assert (K := Rsum_ge_term E (fun i => pow_real (x i) a) e (fun j _ => pow_real_ge0 _ _) He).
  simpl in K.
  replace (x e) with t in K; auto. unfold x. destruct (Nat.eq_dec e e); [ring | tauto]. }
assert (D3 : a * ln t <= ln (renyi_sum E a x)) by (rewrite <- ln_pow_real by auto; apply ln_le;
  [now apply pow_real_gt0 | auto]).
assert (D4 : ln t = (M - C) / c) by (unfold t; apply ln_exp).
assert (D5 : - renyi_v E a x = ln (renyi_sum E a x) / (1 - a)) by (unfold renyi_v; field; lra).
assert (D6 : M - C <= ln (renyi_sum E a x) / (1 - a)).
{ apply (Rmult_le_reg_l (1 - a)); [lra | ]. replace ((1 - a) * (ln (renyi_sum E a x) / (1 - a)))
  with (ln (renyi_sum E a x)) by (field; lra).
  rewrite D4 in D3. replace (a * ((M - C) / c)) with ((1 - a) * (M - C)) in D3 by (unfold c; field;
    lra). auto. }
assert (0 <= t * y e) by (apply Rmult_le_pos; lra). rewrite D1. lra.
Qed.
Theorem renyi_conjugate E a y : (0 < E)%nat -> 0 < a < 1 ->
  (renyi_dual E y -> vconjugate_is (renyi_domain E a) E (renyi_v E a) y (Finite (renyi_c E a y))) /\
  (~ renyi_dual E y -> vconjugate_is (renyi_domain E a) E (renyi_v E a) y p_infty).
Proof.
intros HE Ha. split; intros Hy.
- apply vconjugate_is_of_limit.
  + intros x Hx. generalize (v_fenchel_young (renyi_legendre E a HE Ha) x y Hx Hy). lra.
  + intros e He. exists (renyi_d E a y). split.
    * apply renyi_interior_domain; auto. now apply renyi_d_interior.
    * rewrite (renyi_c_attained E a HE Ha y Hy). lra.
- apply vconjugate_is_infinite. intros M.
  assert (K : exists i, (i < E)%nat /\ 0 <= y i).
  { apply Classical_Prop.NNPP; intros N. apply Hy. intros i Hi. apply Rnot_le_lt; intros N'.
    apply N. eauto. }
  destruct K as [i [Hi Hn]]. destruct (renyi_outside E a y i Ha Hi Hn M) as [x [Hx1 Hx2]].
  exists x. split; auto. now apply renyi_interior_domain.
Qed.

(* (P2.inf): the conjugate of max |x_e| is the indicator of the unit ball of the 1-norm. *)
Lemma lp_max_nonneg n (x : vec) : 0 <= lp_max_v n x.
Proof. induction n; simpl; [lra | eapply Rle_trans; [exact IHn | apply Rmax_l]]. Qed.
Lemma lp_max_term n (x : vec) i : (i < n)%nat -> Rabs (x i) <= lp_max_v n x.
Proof.
induction n; intros Hi; [lia | ]. simpl. destruct (Nat.eq_dec i n) as [-> | Hn]; [apply Rmax_r | ].
eapply Rle_trans; [apply IHn; lia | apply Rmax_l].
Qed.
Lemma lp_max_bound n (x : vec) M : 0 <= M -> (forall i, (i < n)%nat -> Rabs (x i) <= M) ->
  lp_max_v n x <= M.
Proof. intros HM. induction n; intros H; simpl; [lra | ]. apply Rmax_lub; auto. Qed.
Lemma dot_lp_max E (x y : vec) : dot E x y <= lp_max_v E x * Rsum E (fun e => Rabs (y e)).
Proof.
rewrite <- Rsum_scal. apply Rsum_le. intros i Hi. generalize (Rle_abs (x i * y i)).
  rewrite Rabs_mult.
assert (H := lp_max_term E x i Hi). assert (P := Rabs_pos (y i)). nra.
Qed.
Theorem lp_max_conjugate E y :
  (Rsum E (fun e => Rabs (y e)) <= 1 -> vconjugate_is (fun _ => True) E (lp_max_v E) y (Finite 0))
    /\
  (1 < Rsum E (fun e => Rabs (y e)) -> vconjugate_is (fun _ => True) E (lp_max_v E) y p_infty).
Proof.
split; intros Hy.
- apply vconjugate_is_of_limit.
  + intros x _. assert (H := dot_lp_max E x y). assert (P := lp_max_nonneg E x). nra.
  + intros e He. exists (fun _ => 0). split; auto.
    assert (Z : lp_max_v E (fun _ => 0) <= 0) by (apply lp_max_bound; [lra | intros;
      rewrite Rabs_R0; lra]).
    unfold dot. rewrite (Rsum_ext E _ (fun _ => 0)) by (intros; ring). rewrite Rsum_const. lra.
- apply vconjugate_is_infinite. intros M. set (s := Rsum E (fun e => Rabs (y e))) in *.
  set (t := Rmax 0 (M / (s - 1))). assert (Ht : 0 <= t) by apply Rmax_l.
  assert (Ht' : M / (s - 1) <= t) by apply Rmax_r.
  exists (fun e => t * sign (y e)). split; auto.
  assert (A : dot E (fun e => t * sign (y e)) y = t * s).
  { unfold dot, s. rewrite <- Rsum_scal. apply Rsum_ext. intros i _.
    destruct (Rtotal_order (y i) 0) as [H | [H | H]].
    - rewrite sign_eq_m1, Rabs_left by auto. ring.
    - rewrite H, Rabs_R0. ring.
    - rewrite sign_eq_1, Rabs_pos_eq by lra. ring. }
  assert (B : lp_max_v E (fun e => t * sign (y e)) <= t).
  { apply lp_max_bound; auto. intros i _. rewrite Rabs_mult, (Rabs_pos_eq t) by auto.
    assert (Rabs (sign (y i)) <= 1); [ | nra].
    destruct (Rtotal_order (y i) 0) as [H | [H | H]];
      [rewrite sign_eq_m1, Rabs_left | rewrite H, sign_0, Rabs_R0 | rewrite sign_eq_1, Rabs_R1];
        lra. }
  rewrite A. assert (C : M <= t * (s - 1)); [ | lra].
  apply (Rmult_le_compat_r (s - 1)) in Ht'; [ | lra].
  replace (M / (s - 1) * (s - 1)) with M in Ht' by (field; lra). exact Ht'.
Qed.
(* Its price at loads m >= 0: 1/n at each of the n maxima, 0 elsewhere. It is a subgradient, and the
   only one that treats equal loads equally when the maximum is positive. *)
Definition subgradient E (f : vec -> R) (m q : vec) : Prop := forall x, f m + dot E q (vsub x m) <=
  f x.
Definition is_maximum E (m : vec) (e : nat) : bool := if Req_EM_T (m e) (lp_max_v E m) then true
  else false.
Definition count_maxima E (m : vec) : R := Rsum E (fun e => if is_maximum E m e then 1 else 0).
Definition lp_max_g E (m : vec) : vec := fun e => if is_maximum E m e then / count_maxima E m else
  0.
Lemma lp_max_attained E (m : vec) : (0 < E)%nat -> vall E nonneg m -> exists e, (e < E)%nat /\
  m e = lp_max_v E m.
Proof.
intros HE Hm. induction E as [ | n IH]; [lia | ]. destruct (Nat.eq_dec n 0) as [-> | Hn].
- exists O. split; [lia | ]. simpl. assert (N := Hm O ltac:(lia)). unfold nonneg in N.
  rewrite Rabs_pos_eq, Rmax_right; auto.
- destruct IH as [e [He E1]]; [lia | intros i Hi; apply Hm; lia | ]. simpl.
  assert (N := Hm n ltac:(lia)). unfold nonneg in N. rewrite (Rabs_pos_eq (m n)) by auto.
  destruct (Rle_dec (lp_max_v n m) (m n)) as [H | H].
  + exists n. split; [lia | ]. now rewrite Rmax_right.
  + exists e. split; [lia | ]. rewrite Rmax_left; auto; lra.
Qed.
Lemma is_maximum_true E m e : is_maximum E m e = true <-> m e = lp_max_v E m.
Proof. unfold is_maximum. destruct (Req_EM_T (m e) (lp_max_v E m)); split; auto; discriminate. Qed.
Lemma count_maxima_pos E m : (0 < E)%nat -> vall E nonneg m -> 0 < count_maxima E m.
Proof.
intros HE Hm. destruct (lp_max_attained E m HE Hm) as [e [He E1]].
assert (K := Rsum_ge_term E (fun e => if is_maximum E m e then 1 else 0) e). simpl in K.
rewrite (proj2 (is_maximum_true E m e) E1) in K. unfold count_maxima.
assert (1 <= Rsum E (fun e => if is_maximum E m e then 1 else 0)); [ | lra].
apply K; auto. intros j _. destruct (is_maximum E m j); lra.
Qed.
Theorem lp_max_g_subgradient E m : (0 < E)%nat -> vall E nonneg m ->
  subgradient E (lp_max_v E) m (lp_max_g E m).
Proof.
intros HE Hm x. assert (N := count_maxima_pos E m HE Hm). set (n := count_maxima E m) in *.
assert (S1 : Rsum E (lp_max_g E m) = 1).
{ unfold lp_max_g. fold n. rewrite (Rsum_ext E _ (fun e => / n * (if is_maximum E m e then 1 else
  0))).
  - rewrite Rsum_scal. fold (count_maxima E m). fold n. field. lra.
  - intros i _. destruct (is_maximum E m i); ring. }
assert (P : forall i, 0 <= lp_max_g E m i).
{ intros i. unfold lp_max_g. fold n. destruct (is_maximum E m i); [left;
  now apply Rinv_0_lt_compat | lra]. }
assert (A : dot E (lp_max_g E m) m = lp_max_v E m).
{ rewrite <- (Rmult_1_r (lp_max_v E m)), <- S1, <- Rsum_scal. apply Rsum_ext. intros i _.
  unfold lp_max_g. destruct (is_maximum E m i) eqn:C; [apply is_maximum_true in C; rewrite C | ];
    ring. }
assert (B : dot E (lp_max_g E m) x <= lp_max_v E x).
{ rewrite dot_sym. eapply Rle_trans; [apply dot_lp_max | ].
  rewrite (Rsum_ext E _ (lp_max_g E m)), S1 by (intros; now apply Rabs_pos_eq). lra. }
rewrite dot_subr, A. lra.
Qed.
Theorem lp_max_g_unique E m q : (0 < E)%nat -> vall E nonneg m -> 0 < lp_max_v E m ->
  subgradient E (lp_max_v E) m q ->
  (forall i j, (i < E)%nat -> (j < E)%nat -> m i = m j -> q i = q j) -> veq E q (lp_max_g E m).
Proof.
intros HE Hm Hp Hq Hs. set (M := lp_max_v E m) in *.
(* the price is in the ball (its dot with x is at most max |x|), and its dot with m is the maximum
  *)
assert (B : forall x, dot E q x <= lp_max_v E x).
{ intros x. assert (T := Hq (vadd m x)). replace (vsub (vadd m x) m) with x in T
    by (apply FunctionalExtensionality.functional_extensionality; intros i; unfold vsub, vadd;
      ring).
  assert (U : lp_max_v E (vadd m x) <= M + lp_max_v E x).
  { apply lp_max_bound; [generalize (lp_max_nonneg E x); lra | ]. intros i Hi. unfold vadd.
    eapply Rle_trans; [apply Rabs_triang | ]. generalize (lp_max_term E m i Hi) (lp_max_term E x i
      Hi). fold M. lra. }
  fold M in T. lra. }
assert (A : dot E q m = M).
{ apply Rle_antisym; [apply B | ]. assert (T := Hq (fun _ => 0)). fold M in T.
  replace (lp_max_v E (fun _ => 0)) with 0 in T.
  2: { apply Rle_antisym; [apply lp_max_nonneg | apply lp_max_bound; [lra | intros;
    rewrite Rabs_R0; lra]]. }
  rewrite dot_subr in T. unfold dot in T at 1. rewrite (Rsum_ext E (fun i => q i * 0) (fun _ => 0))
    in T by (intros; ring).
  rewrite Rsum_const in T. lra. }
assert (L : Rsum E (fun e => Rabs (q e)) <= 1).
{ assert (T := B (fun e => sign (q e))).
  replace (dot E q (fun e => sign (q e))) with (Rsum E (fun e => Rabs (q e))) in T.
  2: { apply Rsum_ext. intros i _. destruct (Rtotal_order (q i) 0) as [H | [H | H]].
       - rewrite sign_eq_m1, Rabs_left by auto. ring.
       - rewrite H, Rabs_R0. ring.
       - rewrite sign_eq_1, Rabs_pos_eq by lra. ring. }
  eapply Rle_trans; [exact T | ]. apply lp_max_bound; [lra | ]. intros i _.
  destruct (Rtotal_order (q i) 0) as [H | [H | H]];
    [rewrite sign_eq_m1, Rabs_left | rewrite H, sign_0, Rabs_R0 | rewrite sign_eq_1, Rabs_R1]; lra.
      }
(* so every term of the chain q m <= |q| M is an equality *)
assert (T : forall i, (i < E)%nat -> q i * m i = M * Rabs (q i)).
{ assert (T1 : forall i, (i < E)%nat -> q i * m i <= M * Rabs (q i)).
  { intros i Hi. assert (N := Hm i Hi). unfold nonneg in N.
    generalize (lp_max_term E m i Hi) (Rle_abs (q i)) (Rabs_pos (q i)).
    fold M. rewrite (Rabs_pos_eq (m i)) by auto. intros. nra. }
  assert (T2 : Rsum E (fun i => M * Rabs (q i)) = Rsum E (fun i => q i * m i)).
  { apply Rle_antisym; [ | now apply Rsum_le]. rewrite Rsum_scal. fold (dot E q m). rewrite A. nra.
    }
  exact (Rsum_le_eq E _ _ T1 T2). }
assert (S1 : Rsum E (fun e => Rabs (q e)) = 1).
{ apply (Rmult_eq_reg_l M); [ | lra]. rewrite <- Rsum_scal, Rmult_1_r. transitivity (dot E q m);
  [ | exact A].
  apply Rsum_ext. intros i Hi. symmetry. now apply T. }
assert (Z : forall i, (i < E)%nat -> m i <> M -> q i = 0).
{ intros i Hi Hn. assert (Ti := T i Hi). assert (N := Hm i Hi). unfold nonneg in N.
  assert (m i < M).
  { generalize (lp_max_term E m i Hi). fold M. rewrite (Rabs_pos_eq (m i)) by auto. intros [H | H];
    [auto | contradiction]. }
  destruct (Rtotal_order (q i) 0) as [H1 | [H1 | H1]]; auto; exfalso.
  - rewrite Rabs_left in Ti by auto. nra.
  - rewrite Rabs_pos_eq in Ti by lra. nra. }
assert (P : forall i, (i < E)%nat -> m i = M -> 0 <= q i).
{ intros i Hi Hi2. assert (Ti := T i Hi). rewrite Hi2 in Ti. generalize (Rabs_pos (q i)). nra. }
destruct (lp_max_attained E m HE Hm) as [e [He He2]]. fold M in He2.
assert (Q : q e * count_maxima E m = 1).
{ unfold count_maxima. rewrite <- Rsum_scal. transitivity (Rsum E (fun e => Rabs (q e)));
  [ | exact S1]. apply Rsum_ext. intros i Hi.
  destruct (is_maximum E m i) eqn:C.
  - apply is_maximum_true in C. fold M in C. rewrite Rabs_pos_eq by (now apply P).
    rewrite (Hs e i He Hi); [ring | lra].
  - rewrite (Z i); [rewrite Rabs_R0; ring | auto | ]. intros K. apply is_maximum_true in K.
    congruence. }
assert (N := count_maxima_pos E m HE Hm).
intros i Hi. unfold lp_max_g. destruct (is_maximum E m i) eqn:C.
- apply is_maximum_true in C. fold M in C. rewrite (Hs i e Hi He) by lra.
  apply (Rmult_eq_reg_r (count_maxima E m)); [ | lra].
  rewrite Q, Rinv_l; lra.
- apply Z; auto. intros K. apply is_maximum_true in K. congruence.
Qed.
