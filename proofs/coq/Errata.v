(* What spec/ERRATA.md says of the paper, where it is a statement of mathematics and not already a
   theorem of another file. *)
From Coq Require Import Reals Lra Lia.
From Coquelicot Require Import Coquelicot.
From Phibal Require Import Legendre Even Vector Potentials Power Instances Mirror Uniform Renyi
  Conjugates Catalogue Derivatives Limits Formulas.
Open Scope R_scope.

(* A2: for alpha < 1 the formula read literally can be finite where the conjugate is not.
  At alpha = 2/3
   the exponent is -2, and at y = 6 the base -3/2. *)
Theorem tsallis_formula_wrong_outside :
  conjugate_is nonneg (tsallis_v (2 / 3)) 6 p_infty /\
  (2 / 3) / (2 / 3 - 1) = -2 /\ / tsallis_base (2 / 3) 6 ^ 2 = 4 / 9.
Proof.
split; [ | split].
- apply tsallis_infinite; lra.
- field.
- unfold tsallis_base. field.
Qed.

(* A2: where the conjugate is 0, for alpha > 1, it is attained only at x = 0. *)
Theorem tsallis_flat_attained_at_zero_only a y x : 1 < a -> tsallis_base a y <= 0 -> 0 <= x ->
  (x * y - tsallis_v a x = 0 <-> x = 0).
Proof.
intros Ha Hy Hx. apply tsallis_base_nonpos in Hy; [ | lra]. split.
- intros E. apply Rle_antisym; auto. apply Rnot_lt_le. intros N. unfold tsallis_v in E.
  assert (P := pow_real_gt0 x a N).
  assert (K : pow_real x a = x * (1 + (a - 1) * y)).
  { apply (Rmult_eq_reg_r (/ (a - 1))); [ | apply Rinv_neq_0_compat; lra].
    replace (x * (1 + (a - 1) * y) * / (a - 1)) with (x * y + x / (a - 1)) by (field; lra).
    replace (pow_real x a * / (a - 1)) with ((pow_real x a - x) / (a - 1) + x / (a - 1)) by (field;
      lra). lra. }
  nra.
- intros ->. unfold tsallis_v. rewrite pow_real_0 by lra. field. lra.
Qed.

(* B1: at a load of 0 negentropy, Tsallis with alpha < 1 and Renyi have no subgradient: no price q
  is a
   lower bound of the slope. *)
Definition no_subgradient_at_zero (f : R -> R) : Prop := forall q, exists x, 0 < x /\
  f x < f 0 + q * x.
Theorem negentropy_no_gradient_at_zero : no_subgradient_at_zero negentropy_v.
Proof.
intros q. exists (exp (q - 1)). assert (P := exp_pos (q - 1)). split; auto.
unfold negentropy_v. rewrite !x_log_x_eq, ln_exp. nra.
Qed.
Theorem tsallis_no_gradient_at_zero a : 0 < a < 1 -> no_subgradient_at_zero (tsallis_v a).
Proof.
intros Ha q. destruct (pow_real_unbounded (a - 1) (1 + (1 - a) * Rabs q) ltac:(lra)) as [d [Hd H]].
exists (d / 2). split; [lra | ]. specialize (H (d / 2) ltac:(lra)).
unfold tsallis_v at 2. rewrite (pow_real_0 0) by lra. unfold tsallis_v.
assert (E : pow_real (d / 2) a = d / 2 * pow_real (d / 2) (a - 1)).
{ rewrite <- (pow_real_1 (d / 2)) at 2 by lra. rewrite pow_real_add by (left; lra). f_equal; ring. }
rewrite E. set (s := pow_real (d / 2) (a - 1)) in *. set (x := d / 2) in *.
  assert (Hx : 0 < x) by (unfold x; lra).
replace ((x * s - x) / (a - 1)) with (- (x * (s - 1) / (1 - a))) by (field; lra).
replace ((0 - 0) / (a - 1)) with 0 by (field; lra).
assert (K : Rabs q < (s - 1) / (1 - a)).
{ apply (Rmult_lt_reg_r (1 - a)); [lra | ]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l; lra. }
generalize (Rle_abs (- q)). rewrite Rabs_Ropp. intros.
replace (x * (s - 1) / (1 - a)) with (x * ((s - 1) / (1 - a))) by (field; lra). nra.
Qed.
Definition unit_vector (e : nat) : vec := fun i => if Nat.eq_dec i e then 1 else 0.
Theorem renyi_no_gradient_at_zero E a x e : 0 < a < 1 -> renyi_domain E a x -> (e < E)%nat ->
  x e = 0 ->
  forall q, exists t, 0 < t /\ renyi_v E a (vadd x (vsc t (unit_vector e))) < renyi_v E a x + q * t.
Proof.
intros Ha [Hx Sx] He Hxe q. set (S := renyi_sum E a x) in *.
(* the sum grows by t^a, faster than any multiple of t; up to a growth by S the logarithm is at
   least half as fast as linear *)
assert (G : forall t, 0 < t -> renyi_sum E a (vadd x (vsc t (unit_vector e))) = S + pow_real t a).
{ intros t Ht. unfold S, renyi_sum. rewrite <- (Rsum_delta E (fun _ => pow_real t a) e He),
  <- Rsum_plus.
  apply Rsum_ext. intros i Hi. unfold vadd, vsc, unit_vector. destruct (Nat.eq_dec i e) as [->
    | Hn].
  - rewrite Hxe, (pow_real_0 0), Rplus_0_l, !Rmult_1_r by lra. ring.
  - rewrite Rmult_0_r, Rplus_0_r. ring. }
assert (L : forall u, 0 < u <= S -> u / (2 * S) <= ln (S + u) - ln S).
{ intros u Hu. assert (T := ln_le_tangent S (S + u) ltac:(lra) ltac:(lra)).
  assert (u / (2 * S) <= u / (S + u)).
  { unfold Rdiv. apply Rmult_le_compat_l; [lra | ]. apply Rinv_le_contravar; lra. }
  replace ((S - (S + u)) / (S + u)) with (- (u / (S + u))) in T by (field; lra). lra. }
destruct (pow_real_unbounded (a - 1) (2 * S * (1 - a) * Rabs q) ltac:(lra)) as [d [Hd H]].
set (t := Rmin (d / 2) (pow_real S (/ a))).
assert (Q := pow_real_gt0 S (/ a) Sx). assert (Ht : 0 < t) by (unfold t; apply Rmin_glb_lt; lra).
assert (T1 : t <= d / 2) by apply Rmin_l. assert (T2 : t <= pow_real S (/ a)) by apply Rmin_r.
exists t. split; auto. specialize (H t ltac:(lra)).
assert (U : 0 < pow_real t a <= S).
{ split; [now apply pow_real_gt0 | ]. replace S with (pow_real (pow_real S (/ a)) a).
  - destruct T2 as [T2 | ->]; [left; apply pow_real_incr; lra | lra].
  - rewrite pow_real_mul, Rinv_l, pow_real_1 by (auto; lra). reflexivity. }
assert (E1 : pow_real t a = t * pow_real t (a - 1)).
{ rewrite <- (pow_real_1 t) at 2 by lra. rewrite pow_real_add by auto. f_equal; ring. }
assert (K := L _ U). unfold renyi_v. fold S. rewrite G by auto.
assert (W : t * (2 * S * (1 - a) * Rabs q) < pow_real t a) by (rewrite E1; nra).
assert (W2 : (1 - a) * (t * Rabs q) < pow_real t a / (2 * S)).
{ apply (Rmult_lt_reg_r (2 * S)); [lra | ]. replace (pow_real t a / (2 * S) * (2 * S))
  with (pow_real t a) by (field; lra). lra. }
assert (W3 : t * Rabs q < (ln (S + pow_real t a) - ln S) / (1 - a)).
{ apply (Rmult_lt_reg_r (1 - a)); [lra | ].
  replace ((ln (S + pow_real t a) - ln S) / (1 - a) * (1 - a)) with (ln (S + pow_real t a) - ln S)
    by (field; lra). lra. }
replace (ln (S + pow_real t a) / (a - 1)) with (ln S / (a - 1) - (ln (S + pow_real t a) - ln S) / (1
  - a)) by (field; lra).
generalize (Rle_abs (- q)). rewrite Rabs_Ropp. intros. nra.
Qed.
(* ... and 0 is not in Renyi's domain at all. From the second update on, the state is inside. *)
Theorem renyi_zero_outside E a : 0 < a -> ~ renyi_domain E a (fun _ => 0).
Proof.
intros Ha [_ H]. unfold renyi_sum in H. rewrite (Rsum_ext E _ (fun _ => 0)) in H.
- rewrite Rsum_const in H. lra.
- intros. apply pow_real_0; lra.
Qed.
Theorem ema_from_zero_positive E eta p : 0 < eta <= 1 -> vall E positive p ->
  vall E positive (ema eta (fun _ => 0) p).
Proof. intros He Hp i Hi. unfold ema, vadd, vsc, positive. generalize (Hp i Hi). unfold positive.
  nra. Qed.

(* B2: with eta = 1 a zero load takes the state out of the interior. *)
Theorem ema_one_zero_load E m p e : (e < E)%nat -> p e = 0 -> ~ vall E positive (ema 1 m p).
Proof. intros He Hp H. generalize (H e He). unfold ema, vadd, vsc, positive. rewrite Hp. lra. Qed.

(* B3: at a load of 0 the supremum of q p - phi*(q) is phi(0) = 0, approached and not attained. *)
Theorem negentropy_zero_load_not_attained :
  (forall q, q * 0 - negentropy_c q < 0) /\ (forall eps, 0 < eps -> exists q,
    - eps <= q * 0 - negentropy_c q).
Proof.
unfold negentropy_c. split.
- intros q. generalize (exp_pos (q - 1)). lra.
- intros eps He. exists (ln eps + 1). replace (ln eps + 1 - 1) with (ln eps) by ring.
  rewrite exp_ln; lra.
Qed.
Theorem tsallis_zero_load_not_attained a : 0 < a < 1 ->
  (forall q, tsallis_dual a q -> q * 0 - tsallis_c a q < 0) /\
  (forall eps, 0 < eps -> exists q, tsallis_dual a q /\ - eps <= q * 0 - tsallis_c a q).
Proof.
intros Ha. unfold tsallis_c, tsallis_dual. split.
- intros q [Hq | Hq]; [lra | ]. generalize (pow_real_gt0 _ (a / (a - 1)) Hq). lra.
- intros eps He. set (s := pow_real eps ((a - 1) / a)).
  assert (Hs : 0 < s) by now apply pow_real_gt0.
  exists ((a * s - 1) / (a - 1)).
  assert (B : tsallis_base a ((a * s - 1) / (a - 1)) = s) by (unfold tsallis_base; field; lra).
  rewrite B. split; auto. unfold s. rewrite pow_real_mul by auto.
  replace ((a - 1) / a * (a / (a - 1))) with 1 by (field; lra). rewrite pow_real_1; lra.
Qed.
Lemma pow_real_subadditive a x s : 0 < a < 1 -> 0 <= x -> 0 < s ->
  pow_real (x + s) a <= pow_real x a + pow_real s a.
Proof.
intros Ha [Hx | <-] Hs; [ | rewrite Rplus_0_l, (pow_real_0 0) by lra; lra].
assert (F : forall u, 0 < u -> pow_real u a = u * pow_real u (a - 1)).
{ intros u Hu. rewrite <- (pow_real_1 u) at 2 by lra. rewrite pow_real_add by lra.
  f_equal. ring. }
assert (P : forall u, 0 < u < x + s -> u * pow_real (x + s) (a - 1) <= pow_real u a).
{ intros u Hu. rewrite F by lra. apply Rmult_le_compat_l; [lra | ].
  left. apply pow_real_decr; lra. }
rewrite (F (x + s)) by lra. assert (K := P x ltac:(lra)). assert (L := P s ltac:(lra)). lra.
Qed.
(* The prices of p + s for small s > 0 approach it: these are negative, so that <p, q> is above
   <p + s, q>, where the value of p + s is attained. *)
Theorem renyi_approached E a p : (0 < E)%nat -> 0 < a < 1 -> renyi_domain E a p ->
  forall eps, 0 < eps -> exists q, renyi_dual E q /\
    renyi_v E a p - eps <= dot E p q - renyi_c E a q.
Proof.
intros HE Ha [Hp HS] eps He. assert (N : 0 < INR E) by (apply lt_0_INR; auto).
set (S := renyi_sum E a p) in *. set (k := S * ((1 - a) * eps) / INR E).
assert (Hk : 0 < k).
{ apply Rdiv_lt_0_compat; auto. apply Rmult_lt_0_compat; auto. apply Rmult_lt_0_compat; lra. }
set (s := pow_real k (/ a)). assert (Hs : 0 < s) by now apply pow_real_gt0.
assert (Es : pow_real s a = k).
{ unfold s. rewrite pow_real_mul by auto. rewrite Rinv_l by lra. apply pow_real_1. lra. }
set (x := fun i => p i + s).
assert (X : renyi_interior E x).
{ intros i Hi. generalize (Hp i Hi). unfold x, nonneg, positive. lra. }
set (q := renyi_g E a x). exists q. assert (L := renyi_legendre E a HE Ha).
assert (Y : renyi_dual E q) by (apply (v_gradient_maps L), X).
split; [exact Y | ].
assert (F : renyi_v E a x + renyi_c E a q = dot E x q).
{ apply (v_fenchel_young_eq_dual L); [exact X | exact Y | intros i Hi; reflexivity]. }
assert (D : dot E x q = dot E p q + s * Rsum E q).
{ unfold dot, x. rewrite <- Rsum_scal, <- Rsum_plus. apply Rsum_ext. intros; ring. }
assert (Q : Rsum E q <= 0).
{ replace 0 with (Rsum E (fun _ => 0)) by (rewrite Rsum_const; ring).
  apply Rsum_le. intros i Hi. generalize (Y i Hi). simpl. lra. }
assert (Sx : 0 < renyi_sum E a x).
{ apply Rsum_pos; auto. intros i Hi. apply pow_real_gt0, X, Hi. }
assert (V : renyi_sum E a x <= S + INR E * k).
{ unfold S, renyi_sum. rewrite <- Rsum_const, <- Rsum_plus. apply Rsum_le. intros i Hi.
  rewrite <- Es. apply pow_real_subadditive; auto. exact (Hp i Hi). }
assert (T := ln_le_tangent (renyi_sum E a x) S Sx HS).
assert (U : (renyi_sum E a x - S) / S <= (1 - a) * eps).
{ apply (Rmult_le_reg_r S); auto. unfold Rdiv. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
  replace ((1 - a) * eps * S) with (INR E * k) by (unfold k; field; lra). lra. }
assert (W : renyi_v E a p - eps <= renyi_v E a x).
{ unfold renyi_v. fold S. apply (Rmult_le_reg_r (1 - a)); [lra | ].
  replace ((ln S / (a - 1) - eps) * (1 - a)) with (- ln S - eps * (1 - a)) by (field; lra).
  replace (ln (renyi_sum E a x) / (a - 1) * (1 - a)) with (- ln (renyi_sum E a x)) by (field; lra).
  lra. }
assert (Z : s * Rsum E q <= 0) by nra. lra.
Qed.
Theorem renyi_zero_load_not_attained E a p e : (0 < E)%nat -> 0 < a < 1 -> simplex E p ->
  (e < E)%nat -> p e = 0 ->
  (forall q, renyi_dual E q -> dot E p q - renyi_c E a q < renyi_v E a p) /\
  (forall eps, 0 < eps -> exists q, renyi_dual E q /\
    renyi_v E a p - eps <= dot E p q - renyi_c E a q).
Proof.
intros HE Ha Hp He Hpe. assert (X := simplex_renyi_domain E a p Hp).
split; [ | exact (renyi_approached E a p HE Ha X)]. intros q Hq.
destruct (v_fenchel_young (renyi_legendre E a HE Ha) p q X Hq) as [H | H]; [lra | ].
assert (K := proj1 (v_fenchel_young_eq_primal (renyi_legendre E a HE Ha) p q X Hq) (eq_sym H)).
generalize (renyi_d_interior E a HE Ha q Hq e He). rewrite <- (K e He), Hpe. unfold positive. lra.
Qed.

(* B5: m = exp(q - 1), and never exp(q). *)
Theorem negentropy_state_of_price m : 0 < m ->
  m = exp (negentropy_g m - 1) /\ m <> exp (negentropy_g m).
Proof.
intros Hm. unfold negentropy_g. replace (ln m + 1 - 1) with (ln m) by ring.
  rewrite exp_plus, exp_ln by auto.
split; auto. generalize (exp_ineq1 1 ltac:(lra)). nra.
Qed.

(* B6: eta = 1 keeps nothing of the state; eta = 0 keeps it for ever. *)
Theorem ema_one E m p : veq E (ema 1 m p) p.
Proof. intros i Hi. unfold ema, vadd, vsc. ring. Qed.
Theorem ema_zero E m0 p t : veq E (ema_seq 0 m0 p t) m0.
Proof.
induction t as [ | t IH]; intros i Hi; [reflexivity | ]. simpl. unfold ema, vadd, vsc.
  rewrite (IH i Hi). ring.
Qed.

(* C2: at p = 1 every used expert has price 1, so that the centred prices are 0. *)
Theorem lp_one_prices_equal E x e : (0 < E)%nat -> vall E positive x -> (e < E)%nat ->
  sgn (x e) = 1 /\ centred E (vmap sgn x) e = 0.
Proof.
intros HE Hx He. assert (N : INR E <> 0) by (apply not_0_INR; lia).
assert (S1 : forall i, (i < E)%nat -> sgn (x i) = 1).
{ intros i Hi. assert (P := Hx i Hi). unfold positive in P. unfold sgn. destruct (Rlt_dec 0 (x i));
  [auto | lra]. }
split; [auto | ]. unfold centred, vmap. rewrite (Rsum_ext E _ (fun _ => 1)) by auto.
rewrite S1, Rsum_const by auto. field; auto.
Qed.

(* C4: with the whole line as the domain the conjugates of Table 1 would be others: Tsallis with
   alpha = 2 is x^2 - x, whose conjugate on the line is ((1+y)/2)^2, also below -1,
     where that of the
   half line is 0. *)
Theorem tsallis_two_on_line y :
  conjugate_is all (fun x => x ^ 2 - x) y (Finite (((1 + y) / 2) ^ 2)) /\
  (y < -1 -> conjugate_is nonneg (tsallis_v 2) y (Finite 0) /\ 0 < ((1 + y) / 2) ^ 2).
Proof.
split.
- apply conjugate_is_of_limit.
  + intros x _. generalize (pow2_ge_0 (x - (1 + y) / 2)). lra.
  + intros e He. exists ((1 + y) / 2). split; [exact I | ]. lra.
- intros Hy. split; [ | nra]. apply tsallis_flat; [lra | ]. unfold tsallis_base. lra.
Qed.

(* D1: counts of k selections for each of T tokens, divided by T, sum to k; divided by k T to 1. *)
Theorem selection_counts_sum E T k (selected : nat -> nat -> bool) : (0 < T)%nat -> (0 < k)%nat ->
  (forall i, (i < T)%nat -> Rsum E (fun e => if selected i e then 1 else 0) = INR k) ->
  Rsum E (fun e => / INR T * Rsum T (fun i => if selected i e then 1 else 0)) = INR k /\
  Rsum E (fun e => / (INR k * INR T) * Rsum T (fun i => if selected i e then 1 else 0)) = 1.
Proof.
intros HT Hk H. assert (NT : INR T <> 0) by (apply not_0_INR; lia). assert (Nk : INR k <> 0)
  by (apply not_0_INR; lia).
assert (X : Rsum E (fun e => Rsum T (fun i => if selected i e then 1 else 0)) = INR T * INR k).
{ rewrite <- Rsum_const. transitivity (Rsum T (fun i => Rsum E (fun e => if selected i e then 1 else
  0))).
  - clear. induction T as [ | T IH]; simpl.
    + rewrite Rsum_const. ring.
    + rewrite Rsum_plus, IH. reflexivity.
  - now apply Rsum_ext. }
rewrite !Rsum_scal, X. split; field; auto.
Qed.
(* Loads k times as large shift negentropy's prices by log k, and multiply the Euclidean ones by k.
  *)
Theorem negentropy_scaled_loads k x : 0 < k -> 0 < x -> negentropy_g (k * x) = negentropy_g x + ln
  k.
Proof. intros Hk Hx. unfold negentropy_g. rewrite ln_mult by auto. ring. Qed.
Theorem euclid_scaled_loads k x : euclid_g (k * x) = k * euclid_g x.
Proof. reflexivity. Qed.

(* Every other potential changes by more than a constant: where the price is defined at 0 and
  strictly
   increasing, it is the same at load 0 and larger elsewhere;
     for Tsallis two loads change differently,
   and Renyi's prices are divided by k. *)
Lemma legendre_g_strict X Xi Y Yi f fs g h : legendre X Xi Y Yi f fs g h ->
  forall x z, Xi x -> Xi z -> x < z -> g x < g z.
Proof.
intros L x z Hx Hz H. destruct (legendre_g_increasing _ _ _ _ _ _ _ _ L x z Hx Hz (Rlt_le _ _ H)) as
  [K | K]; auto.
exfalso. assert (E : h (g x) = h (g z)) by now rewrite K.
rewrite !(inverse_gradient L) in E by auto. lra.
Qed.
Theorem scaled_loads_change_prices Y Yi f fs g h k x : legendre all all Y Yi f fs g h -> 1 < k ->
  0 < x ->
  g (k * 0) - g 0 < g (k * x) - g x.
Proof.
intros L Hk Hx. rewrite Rmult_0_r. assert (K := legendre_g_strict _ _ _ _ _ _ _ _ L x (k * x) I I
  ltac:(nra)). lra.
Qed.
Theorem tsallis_scaled_loads a k x z : 0 < a -> a <> 1 -> 1 < k -> 0 < x -> x < z ->
  tsallis_g a (k * x) - tsallis_g a x <> tsallis_g a (k * z) - tsallis_g a z.
Proof.
intros Ha H1 Hk Hx Hz E.
assert (P : forall t, 0 < t -> tsallis_g a (k * t) - tsallis_g a t = a * (pow_real k (a - 1) - 1) /
  (a - 1) * pow_real t (a - 1)).
{ intros t Ht. unfold tsallis_g. replace (pow_real (k * t) (a - 1)) with (pow_real k (a - 1) *
  pow_real t (a - 1)).
  - field. lra.
  - rewrite !pow_real_pos by nra. unfold Rpower. rewrite ln_mult, <- exp_plus by lra.
    f_equal; ring. }
rewrite !P in E by lra.
assert (N : pow_real k (a - 1) <> 1).
{ rewrite pow_real_pos by lra. unfold Rpower. intros C. assert (C2 : (a - 1) * ln k = 0)
  by (rewrite <- (ln_exp ((a - 1) * ln k)), C; apply ln_1).
  assert (0 < ln k) by (rewrite <- ln_1; apply ln_increasing; lra). apply Rmult_integral in C2.
    lra. }
apply Rmult_eq_reg_l in E.
- destruct (Rlt_dec a 1) as [A | A].
  + generalize (pow_real_decr (a - 1) x z ltac:(lra) ltac:(lra)). lra.
  + generalize (pow_real_incr (a - 1) ltac:(lra) x z ltac:(lra) ltac:(lra) Hz). lra.
- unfold Rdiv. apply Rmult_integral_contrapositive_currified; [ | apply Rinv_neq_0_compat; lra].
  apply Rmult_integral_contrapositive_currified; lra.
Qed.
Theorem renyi_scaled_loads E a k x e : (0 < E)%nat -> 0 < a < 1 -> 0 < k -> renyi_interior E x ->
  (e < E)%nat ->
  renyi_g E a (vsc k x) e = renyi_g E a x e / k.
Proof.
intros HE Ha Hk Hx He. assert (Sx := renyi_sum_pos E a HE x Hx).
assert (P : forall t b, 0 < t -> pow_real (k * t) b = pow_real k b * pow_real t b).
{ intros t b Ht. rewrite !pow_real_pos by nra. unfold Rpower. rewrite ln_mult, <- exp_plus by auto.
  f_equal; ring. }
assert (S : renyi_sum E a (vsc k x) = pow_real k a * renyi_sum E a x).
{ unfold renyi_sum. rewrite <- Rsum_scal. apply Rsum_ext. intros i Hi. apply P, Hx, Hi. }
unfold renyi_g. rewrite S. unfold vsc. rewrite P by apply Hx, He.
assert (Q : pow_real k a = k * pow_real k (a - 1)).
{ rewrite <- (pow_real_1 k) at 2 by lra. rewrite pow_real_add by auto. f_equal; ring. }
rewrite Q. assert (G := pow_real_gt0 k (a - 1) Hk). field. lra.
Qed.

(* D3: the two metrics differ: one token, two experts, top-1, probabilities .51 and .49. *)
Definition max_violation E (v : vec) : R := INR E * lp_max_v E v / Rsum E v - 1.
Theorem max_violations_differ :
  let p := fun e => match e with O => 51 / 100 | _ => 49 / 100 end in
  let n := fun e => match e with O => 1 | _ => 0 end in
  max_violation 2 n = 1 /\ max_violation 2 p = 2 / 100.
Proof.
assert (M : forall x y, 0 <= y -> y <= x -> lp_max_v 2 (fun e => match e with O => x
  | _ => y end) = x).
{ intros x y Hy H. simpl. rewrite !Rabs_pos_eq by lra. rewrite (Rmax_right 0 x) by lra.
  apply Rmax_left; lra. }
intros p n. unfold max_violation, p, n. rewrite !M by lra. simpl. split; field.
Qed.
