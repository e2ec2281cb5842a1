(* Each separable potential of the specification with its conjugate and gradients is a Legendre pair
   (Table 1 of the paper, corrected). *)
From Coq Require Import Reals Lra Lia.
From Coquelicot Require Import Coquelicot.
From Phibal Require Import Legendre Even Vector Potentials Power.
Open Scope R_scope.

(* (P1) *)
Theorem euclid_legendre : legendre all all all all euclid_v euclid_c euclid_g euclid_d.
Proof.
unfold euclid_v, euclid_c, euclid_g, euclid_d. apply mk_legendre; auto; trivial_domains.
- intros x _; auto_derive; [trivial | field].
- intros x _; auto_derive; [trivial | field].
Qed.

(* (P2): first with two exponents p, q that are conjugate. *)
Lemma lp_pair p q : 1 < p -> 1 < q -> / p + / q = 1 -> legendre all all all all
  (even_lift (fun t => pow_real t p / p)) (even_lift (fun s => pow_real s q / q)) (odd_lift (fun t
    => pow_real t (p - 1))) (odd_lift (fun s => pow_real s (q - 1))).
Proof.
intros Hp Hq Hpq.
assert (E : (q - 1) * (p - 1) = 1).
{ assert (q + p = p * q) by (replace (q + p) with ((/ p + / q) * (p * q)) by (field; lra);
  rewrite Hpq; ring). lra. }
apply (mk_even_legendre all all); auto; unfold all; try tauto.
- apply is_derive_divc; [lra | rewrite Rmult_0_r; now apply pow_real_derive_0].
- intros t Ht; apply is_derive_divc; [lra | now apply pow_real_derive].
- apply is_derive_divc; [lra | rewrite Rmult_0_r; now apply pow_real_derive_0].
- intros t Ht _; apply is_derive_divc; [lra | now apply pow_real_derive].
- apply pow_real_0; lra.
- apply pow_real_incr; lra.
- intros; apply pow_real_ge0.
- intros s Hs _. rewrite pow_real_mul, E by (right; lra). now apply pow_real_1.
- intros s Hs _. rewrite pow_real_mul by (right; lra). replace ((q - 1) * p) with q by lra.
  replace (pow_real s (q - 1) * s) with (pow_real s q).
  + unfold Rdiv. replace (/ p) with (1 - / q) by lra. ring.
  + rewrite <- (pow_real_1 s) at 3 by auto. rewrite pow_real_add by (right; lra). f_equal; ring.
Qed.
Theorem lp_legendre p : 1 < p -> legendre all all all all (lp_v p) (lp_c p) (lp_g p) (lp_d p).
Proof.
intros Hp. set (q := p / (p - 1)). assert (E : q = 1 + / (p - 1)) by (unfold q; field; lra).
assert (0 < / (p - 1)) by (apply Rinv_0_lt_compat; lra).
assert (C : / p + / q = 1) by (unfold q; field; lra).
assert (Hq : 1 < q) by lra.
apply (legendre_ext _ _ _ _ _ _ _ _ _ _ _ _ (lp_pair p q Hp Hq C)); intros x.
- reflexivity.
- unfold even_lift, lp_c. fold q. unfold Rdiv at 2. rewrite Rmult_assoc. unfold Rdiv at 1. f_equal.
  unfold q; field; lra.
- unfold odd_lift, lp_g. now rewrite sgn_sign.
- unfold odd_lift, lp_d. rewrite sgn_sign. replace (q - 1) with (1 / (p - 1)) by (unfold q; field;
  lra). reflexivity.
Qed.

(* (P3) *)
Lemma soft_l1_pair d : 0 < d -> legendre all all (fun y => Rabs y < 1) (fun y => Rabs y < 1)
  (even_lift (fun t => t - d * ln (t / d + 1))) (even_lift (fun s => - d * (s + ln (1 - s))))
  (odd_lift (fun t => t / (t + d))) (odd_lift (fun s => d * s / (1 - s))).
Proof.
intros Hd.
assert (P : forall t, 0 <= t -> 0 < t / d + 1).
{ intros t Ht. assert (0 <= t / d) by (apply Rmult_le_pos; [lra | left; apply Rinv_0_lt_compat;
  lra]). lra. }
assert (D : forall t, 0 <= t -> is_derive (fun t => t - d * ln (t / d + 1)) t (t / (t + d))).
{ intros t Ht. generalize (P t Ht); intros. auto_derive; [lra | field; lra]. }
assert (E : forall s, 0 <= s < 1 -> is_derive (fun s => - d * (s + ln (1 - s))) s (d * s / (1 -
  s))).
{ intros s Hs. auto_derive; [lra | field; lra]. }
apply (mk_even_legendre (fun s => s < 1) (fun s => s < 1)); try tauto.
- generalize (D 0 (Rle_refl 0)). replace (0 / (0 + d)) with 0 by (field; lra). auto.
- intros t Ht; apply D; lra.
- generalize (E 0 ltac:(lra)). replace (d * 0 / (1 - 0)) with 0 by (field; lra). auto.
- intros s Hs Hs'; apply E; lra.
- field; lra.
- intros a b Ha Hb Hab.
  replace (a / (a + d)) with (1 - d * / (a + d)) by (field; lra).
  replace (b / (b + d)) with (1 - d * / (b + d)) by (field; lra).
  assert (/ (b + d) < / (a + d)) by (apply Rinv_lt_contravar; nra). nra.
- intros t Ht. apply (Rmult_lt_reg_r (t + d)); try lra. unfold Rdiv; rewrite Rmult_assoc, Rinv_l;
  lra.
- intros s Hs Hs'. apply Rmult_le_pos; [nra | left; apply Rinv_0_lt_compat; lra].
- intros s Hs Hs'. field. split; [lra | replace (d * s + d * (1 - s)) with d by ring; lra].
- intros s Hs Hs'. replace (d * s / (1 - s) / d + 1) with (/ (1 - s)) by (field; lra).
  rewrite ln_Rinv by lra. field; lra.
Qed.
Theorem soft_l1_legendre delta : 0 < delta ->
  legendre all all (fun y => Rabs y < 1) (fun y => Rabs y < 1)
    (soft_l1_v delta) (soft_l1_c delta) (soft_l1_g delta) (soft_l1_d delta).
Proof.
intros Hd. apply (legendre_ext _ _ _ _ _ _ _ _ _ _ _ _ (soft_l1_pair delta Hd)); intros x;
  try reflexivity; unfold odd_lift, soft_l1_g, soft_l1_d, Rdiv.
- now rewrite <- Rmult_assoc, sign_abs.
- replace (sign x * (delta * Rabs x * / (1 - Rabs x))) with (delta * (sign x * Rabs x) * / (1 - Rabs
  x)) by ring.
  now rewrite sign_abs.
Qed.

(* (P4) *)
Lemma negentropy_pair : legendre (fun x => 0 <= x) (fun x => 0 < x) all all
  (fun x => x * ln x) (fun y => exp (y - 1)) (fun x => 1 + ln x) (fun y => exp (y - 1)).
Proof.
apply mk_legendre; auto; trivial_domains.
- intros x Hx; auto_derive; [lra | field; lra].
- intros x _; auto_derive; [trivial | unfold Rminus; ring].
- intros a b Ha Hb H. apply Rplus_lt_compat_l, ln_increasing; lra.
- intros y _; apply exp_pos.
- intros y _; rewrite ln_exp; ring.
- intros y _; rewrite ln_exp; ring.
- intros x y Hx Hn _. assert (x = 0) by lra; subst x. generalize (exp_pos (y - 1)); lra.
Qed.
Theorem negentropy_legendre :
  legendre nonneg positive all all negentropy_v negentropy_c negentropy_g negentropy_d.
Proof.
apply (legendre_ext _ _ _ _ _ _ _ _ _ _ _ _ negentropy_pair); intros x; try reflexivity.
- symmetry; apply x_log_x_eq.
- unfold negentropy_g. ring.
Qed.

(* (P5) For a > 1 the conjugate is finite everywhere, with the positive part of the base. *)
Theorem tsallis_legendre a : 0 < a -> a <> 1 ->
  legendre nonneg positive (tsallis_dual a) (tsallis_dual_open a)
    (tsallis_v a) (tsallis_c a) (tsallis_g a) (tsallis_d a).
Proof.
intros Ha H1. assert (H1' : a - 1 <> 0) by lra.
unfold nonneg, positive, tsallis_dual, tsallis_dual_open, tsallis_v, tsallis_c, tsallis_g,
  tsallis_d.
assert (U : forall x, 0 < x -> tsallis_base a ((a * pow_real x (a - 1) - 1) / (a - 1)) = pow_real x
  (a - 1)).
{ intros x Hx. unfold tsallis_base. field. lra. }
apply mk_legendre; auto.
- intros; lra.
- intros x Hx. apply is_derive_divc; auto.
  replace ((a - 1) * ((a * pow_real x (a - 1) - 1) / (a - 1))) with (minus (a * pow_real x (a - 1))
    1).
  2: { unfold minus, plus, opp; simpl. field; auto. }
  apply (is_derive_minus (fun t => pow_real t a) (fun t => t)); [now apply pow_real_derive
    | apply (is_derive_id (K := R_AbsRing))].
- intros y Hy.
  replace (pow_real (tsallis_base a y) (1 / (a - 1))) with (((a - 1) / a) * (a / (a - 1) * pow_real
    (tsallis_base a y) (a / (a - 1) - 1))).
  2: { replace (a / (a - 1) - 1) with (1 / (a - 1)) by (field; auto). field; lra. }
  apply (is_derive_comp (fun t => pow_real t (a / (a - 1))) (tsallis_base a)).
  + now apply pow_real_derive.
  + unfold tsallis_base. auto_derive; [auto | field; lra].
- intros x z Hx Hz Hxz. destruct (Rlt_dec 1 a) as [H | H].
  + assert (K := pow_real_incr (a - 1) ltac:(lra) x z (Rlt_le _ _ Hx) (Rlt_le _ _ Hz) Hxz).
    simpl in K.
    apply Rmult_lt_compat_r; [apply Rinv_0_lt_compat; lra | nra].
  + assert (K : pow_real z (a - 1) < pow_real x (a - 1)).
    { rewrite !pow_real_pos by auto. replace (a - 1) with (- (1 - a)) by ring. rewrite !Rpower_Ropp.
      apply Rinv_lt_contravar; [apply Rmult_lt_0_compat; apply Rpower_gt0 | apply Rpower_incr;
        lra]. }
    replace ((a * pow_real x (a - 1) - 1) / (a - 1)) with ((1 - a * pow_real x (a - 1)) * / (1 - a))
      by (field; lra).
    replace ((a * pow_real z (a - 1) - 1) / (a - 1)) with ((1 - a * pow_real z (a - 1)) * / (1 - a))
      by (field; lra).
    apply Rmult_lt_compat_r; [apply Rinv_0_lt_compat; lra | nra].
- intros x Hx. rewrite U by auto. rewrite pow_real_pos by auto. apply Rpower_gt0.
- intros y Hy. rewrite pow_real_pos by auto. apply Rpower_gt0.
- intros y Hy. rewrite pow_real_mul by auto. replace (1 / (a - 1) * (a - 1)) with 1 by (field;
  auto).
  rewrite pow_real_1 by lra. unfold tsallis_base. field; lra.
- intros y Hy. rewrite pow_real_mul by auto. replace (1 / (a - 1) * a) with (a / (a - 1))
  by (field; auto).
  replace (pow_real (tsallis_base a y) (a / (a - 1))) with (pow_real (tsallis_base a y) (1 / (a -
    1)) * tsallis_base a y).
  + replace y with ((a * tsallis_base a y - 1) / (a - 1)) at 4 by (unfold tsallis_base; field;
    lra). field; auto.
  + rewrite <- (pow_real_1 (tsallis_base a y)) at 2 by lra. rewrite pow_real_add by auto. f_equal.
    field; auto.
- intros x y Hx Hn Hy. assert (x = 0) by lra; subst x. rewrite (pow_real_0 0) by lra.
  rewrite pow_real_pos by auto. generalize (Rpower_gt0 (tsallis_base a y) (a / (a - 1))).
    unfold Rdiv. lra.
- intros x y Hx [Hy | Hy] Hn; [ | tauto]. rewrite (pow_real_0 (tsallis_base a y))
  by (lra || (apply Rdiv_lt_0_compat; lra)).
  assert (K := pow_real_ge0 x a). assert (T : 1 + (a - 1) * y <= 0).
  { unfold tsallis_base in Hn. apply Rnot_lt_le in Hn. apply (Rmult_le_compat_r a) in Hn; [ | lra].
    unfold Rdiv in Hn. rewrite Rmult_assoc, Rinv_l, Rmult_1_r, Rmult_0_l in Hn; lra. }
  apply (Rmult_le_reg_r (a - 1)); [lra | ].
  replace (((pow_real x a - x) / (a - 1) + 0) * (a - 1)) with (pow_real x a - x) by (field; auto).
    nra.
- intros x Hx; destruct (Rlt_dec 0 x); auto.
- intros y _; destruct (Rlt_dec 0 (tsallis_base a y)); auto.
Qed.

(* (P7) *)
Theorem pseudo_huber_legendre d : 0 < d -> legendre all all unit_closed unit_open
  (pseudo_huber_v d) (pseudo_huber_c d) (pseudo_huber_g d) (pseudo_huber_d d).
Proof.
intros Hd. unfold unit_closed, unit_open, pseudo_huber_v, pseudo_huber_c, pseudo_huber_g,
  pseudo_huber_d.
assert (P : forall x, 0 < x^2 + d^2) by (intros; nra).
assert (Q : forall x, 0 < sqrt (x^2 + d^2)) by (intros; apply sqrt_lt_R0, P).
assert (S : forall x, sqrt (x^2 + d^2) * sqrt (x^2 + d^2) = x^2 + d^2) by (intros; apply sqrt_sqrt;
  left; apply P).
assert (E : forall y, -1 < y < 1 -> sqrt ((d * y / sqrt (1 - y^2))^2 + d^2) = d / sqrt (1 - y^2)).
{ intros y Hy. assert (H1 : 0 < 1 - y^2) by nra. assert (H2 := sqrt_lt_R0 _ H1).
  replace ((d * y / sqrt (1 - y^2))^2 + d^2) with (Rsqr (d / sqrt (1 - y^2))).
  - apply sqrt_Rsqr. apply Rlt_le, Rdiv_lt_0_compat; auto.
  - unfold Rsqr. assert (H3 := sqrt_sqrt (1 - y^2) (Rlt_le _ _ H1)).
    replace ((d * y / sqrt (1 - y ^ 2)) ^ 2) with (d^2 * y^2 / (sqrt (1 - y^2) * sqrt (1 - y^2))) by
      (field; lra).
    replace (d / sqrt (1 - y ^ 2) * (d / sqrt (1 - y ^ 2))) with (d^2 / (sqrt (1 - y^2) * sqrt (1 -
      y^2))) by (field; lra).
    rewrite H3. field. lra. }
apply mk_legendre; auto; trivial_domains.
- intros x _. generalize (P x) (Q x); intros. auto_derive; [ simpl in *; lra | simpl in *; field;
  lra ].
- intros y Hy. assert (H1 : 0 < 1 - y^2) by nra. assert (H2 := sqrt_lt_R0 _ H1).
  auto_derive; [ simpl in *; lra | ]. replace (1 + - (y * (y * 1))) with (1 - y^2) by ring.
    field; lra.
- apply (strictly_increasing_of_derivative _ _ (fun x => d^2 / ((x^2 + d^2) * sqrt (x^2 + d^2))));
  auto.
  + intros x _. generalize (P x) (Q x) (S x); intros HP HQ HS. auto_derive.
    * split; [simpl in *; lra | split; [simpl in *; lra | trivial]].
    * replace (x * (x * 1)) with (x^2) by ring. set (r := sqrt (x^2 + d * (d * 1))) in *.
      assert (Hr : r = sqrt (x^2 + d^2)) by (unfold r; f_equal; ring).
      rewrite <- Hr in *. replace (d^2) with (r * r - x^2) by lra. field. split; [nra | lra].
  + intros x _. apply Rdiv_lt_0_compat; [nra | apply Rmult_lt_0_compat; auto].
- intros x _. generalize (Q x) (S x); intros HQ HS.
  assert (x < sqrt (x^2 + d^2)) by nra. assert (- sqrt (x^2 + d^2) < x) by nra.
  split; [ apply (Rmult_lt_reg_r (sqrt (x^2 + d^2))) | apply (Rmult_lt_reg_r (sqrt (x^2 + d^2)))];
    auto;
  unfold Rdiv; rewrite Rmult_assoc, Rinv_l; lra.
- intros y Hy. rewrite E by auto. assert (H1 : 0 < 1 - y^2) by nra. assert (H2 := sqrt_lt_R0 _ H1).
  field; lra.
- intros y Hy. rewrite E by auto. assert (H1 : 0 < 1 - y^2) by nra. assert (H2 := sqrt_lt_R0 _ H1).
  assert (H3 := sqrt_sqrt (1 - y^2) (Rlt_le _ _ H1)).
  apply (Rmult_eq_reg_r (sqrt (1 - y^2))); [ | lra].
  replace ((d - d * sqrt (1 - y ^ 2)) * sqrt (1 - y ^ 2)) with (d * sqrt (1 - y^2) - d * (sqrt (1 -
    y^2) * sqrt (1 - y^2))) by ring.
  rewrite H3. field; lra.
- intros x y _ Hy Hn. generalize (Q x) (S x); intros HQ HS.
  assert (H : y = 1 \/ y = -1) by lra.
  assert (Z : sqrt (1 - y^2) = 0) by (replace (1 - y^2) with 0 by (destruct H; subst y; ring);
    apply sqrt_0).
  rewrite Z. destruct H; subst y; nra.
Qed.

(* (P8) *)
Lemma ln_sqrt x : 0 < x -> ln (sqrt x) = ln x / 2.
Proof.
intros H. assert (S : 0 < sqrt x) by now apply sqrt_lt_R0.
replace (ln x) with (ln (sqrt x * sqrt x)) by (rewrite sqrt_sqrt; lra).
rewrite ln_mult by auto. field.
Qed.
Lemma cosh_pos t : 0 < cosh t.
Proof. unfold cosh. generalize (exp_pos t) (exp_pos (- t)); lra. Qed.
Theorem log_cosh_legendre b : 0 < b -> legendre all all unit_closed unit_open
  (log_cosh_v b) (log_cosh_c b) (log_cosh_g b) (log_cosh_d b).
Proof.
intros Hb.
apply (legendre_ext _ _ _ _ (log_cosh_v b) (fun y => (1 + y) / (2 * b) * ln (1 + y) + (1 - y) / (2 *
  b) * ln (1 - y))
  (log_cosh_g b) (log_cosh_d b)); auto.
2: { intros y; unfold log_cosh_c. rewrite !x_log_x_eq. field. lra. }
unfold unit_closed, unit_open, log_cosh_v, log_cosh_g, log_cosh_d.
assert (E : forall y, -1 < y < 1 -> exp (b * (ln ((1 + y) / (1 - y)) / (2 * b))) = sqrt ((1 + y) /
  (1 - y))).
{ intros y Hy. assert (0 < (1 + y) / (1 - y)) by (apply Rdiv_lt_0_compat; lra).
  replace (b * _) with (ln (sqrt ((1 + y) / (1 - y)))). apply exp_ln, sqrt_lt_R0; auto.
  rewrite ln_sqrt; auto. field; lra. }
assert (T : forall t, tanh t = 1 - 2 / (exp (2 * t) + 1)).
{ intros t. unfold tanh, sinh, cosh. replace (2 * t) with (t + t) by ring.
  rewrite exp_plus, exp_Ropp.
  generalize (exp_pos t); intros. field. repeat split; try lra; nra. }
apply mk_legendre; auto; trivial_domains.
- intros x _. unfold cosh, tanh, sinh. auto_derive.
  + generalize (exp_pos (b * x)) (exp_pos (- (b * x))); lra.
  + generalize (exp_pos (b * x)) (exp_pos (- (b * x))); intros. unfold sinh, cosh. field.
    repeat split; lra.
- intros y Hy. auto_derive; [ lra | ]. rewrite ln_div by lra. unfold Rminus; field; lra.
- intros u v _ _ H. rewrite !T. generalize (exp_pos (2 * (b * u))); intros.
  assert (exp (2 * (b * u)) < exp (2 * (b * v))) by (apply exp_increasing; nra).
  assert (/ (exp (2 * (b * v)) + 1) < / (exp (2 * (b * u)) + 1)) by (apply Rinv_lt_contravar; nra).
    lra.
- intros x _. rewrite T. generalize (exp_pos (2 * (b * x))); intros.
  assert (0 < / (exp (2 * (b * x)) + 1)) by (apply Rinv_0_lt_compat; lra).
  assert (/ (exp (2 * (b * x)) + 1) < / 1) by (apply Rinv_lt_contravar; lra). lra.
- intros y Hy. rewrite T. replace (2 * _) with (ln ((1 + y) / (1 - y))) by (field; lra).
  rewrite exp_ln by (apply Rdiv_lt_0_compat; lra). field; lra.
- intros y Hy. unfold cosh. rewrite exp_Ropp, E by auto.
  assert (P1 : 0 < sqrt (1 + y)) by (apply sqrt_lt_R0; lra).
  assert (P2 : 0 < sqrt (1 - y)) by (apply sqrt_lt_R0; lra).
  rewrite sqrt_div by lra.
  replace ((sqrt (1 + y) / sqrt (1 - y) + / (sqrt (1 + y) / sqrt (1 - y))) / 2)
    with ((Rsqr (sqrt (1 + y)) + Rsqr (sqrt (1 - y))) / 2 / (sqrt (1 + y) * sqrt (1 - y)))
    by (unfold Rsqr; field; lra).
  rewrite !Rsqr_sqrt by lra. replace ((1 + y + (1 - y)) / 2) with 1 by field.
  replace (1 / (sqrt (1 + y) * sqrt (1 - y))) with (/ (sqrt (1 + y) * sqrt (1 - y))) by (field;
    lra).
  rewrite ln_Rinv, ln_mult, !ln_sqrt, ln_div by nra. field; lra.
- intros x y _ Hy Hn.
  assert (L : forall t, t <= ln (cosh t) + ln 2).
  { intros t. rewrite <- ln_mult; [ | apply cosh_pos | lra].
    rewrite <- (ln_exp t) at 1. unfold cosh. generalize (exp_pos t) (exp_pos (- t)); intros.
    left; apply ln_increasing; lra. }
  assert (Hcase : y = 1 \/ y = -1) by lra.
  assert (G : forall s, b * s <= ln (cosh (b * x)) + ln 2 -> s <= ln (cosh (b * x)) / b + ln 2 / b).
  { intros s Hs. apply (Rmult_le_reg_l b); auto.
    replace (b * (ln (cosh (b * x)) / b + ln 2 / b)) with (ln (cosh (b * x)) + ln 2) by (field;
      lra). auto. }
  destruct Hcase as [-> | ->].
  + replace ((1 + 1) / (2 * b) * ln (1 + 1) + (1 - 1) / (2 * b) * ln (1 - 1)) with (ln 2 / b).
    2: { replace (1 + 1) with 2 by ring. field; lra. }
    apply G. rewrite Rmult_1_r. apply L.
  + replace ((1 + -1) / (2 * b) * ln (1 + -1) + (1 - -1) / (2 * b) * ln (1 - -1)) with (ln 2 / b).
    2: { replace (1 - -1) with 2 by ring. field; lra. }
    apply G. replace (cosh (b * x)) with (cosh (- (b * x))). 2: { unfold cosh.
      rewrite Ropp_involutive, Rplus_comm; auto. }
    generalize (L (- (b * x))); lra.
Qed.

(* (P9) *)
Lemma softplus_pair : legendre all all zero_one_closed zero_one_open
  (fun x => ln (1 + exp x)) (fun y => y * ln y + (1 - y) * ln (1 - y)) (fun x => 1 - / (1 + exp x))
    (fun y => ln (y / (1 - y))).
Proof.
assert (P : forall x, 0 < 1 + exp x) by (intros x; generalize (exp_pos x); lra).
apply mk_legendre; auto; unfold zero_one_closed, zero_one_open; trivial_domains.
- intros x _; auto_derive; [auto | field; apply Rgt_not_eq, P].
- intros y Hy; auto_derive; [ lra | ].
  rewrite ln_div by lra. unfold Rminus; field; lra.
- intros a b _ _ H. apply exp_increasing in H. generalize (exp_pos a); intros Ha.
  apply Rplus_lt_compat_l, Ropp_lt_contravar, Rinv_lt_contravar; [apply Rmult_lt_0_compat;
    auto | lra].
- intros x _. generalize (exp_pos x); intros Hx. assert (0 < / (1 + exp x))
  by (apply Rinv_0_lt_compat; lra).
  split; [ | lra]. assert (/ (1 + exp x) < / 1) by (apply Rinv_lt_contravar; lra). lra.
- intros y Hy. rewrite exp_ln. field; lra. apply Rdiv_lt_0_compat; lra.
- intros y Hy. rewrite exp_ln by (apply Rdiv_lt_0_compat; lra).
  replace (1 + y / (1 - y)) with (/ (1 - y)) by (field; lra).
  rewrite ln_Rinv, ln_div by lra. ring.
- intros x y _ Hy Hn. generalize (exp_pos x); intros Hx. destruct (Req_dec y 0) as [-> | H0].
  + replace (1 - 0) with 1 by ring. rewrite ln_1.
    assert (0 < ln (1 + exp x)) by (rewrite <- ln_1; apply ln_increasing; lra). lra.
  + assert (y = 1) by lra; subst y. replace (1 - 1) with 0 by ring. rewrite ln_1.
    assert (x < ln (1 + exp x)) by (rewrite <- (ln_exp x) at 1; apply ln_increasing; lra). lra.
Qed.
Theorem softplus_legendre :
  legendre all all zero_one_closed zero_one_open softplus_v softplus_c softplus_g softplus_d.
Proof.
apply (legendre_ext _ _ _ _ _ _ _ _ _ _ _ _ softplus_pair); intros x; try reflexivity.
- unfold softplus_c. now rewrite !x_log_x_eq.
- unfold softplus_g, sigmoid. rewrite exp_Ropp. generalize (exp_pos x); intros. field. lra.
Qed.
