; The key of kernels/cpu/select.h, bit by bit (select_key, select_index): keys of finite scores are
; in the order of (R2), higher score first and then the lower expert, and name their expert, if the
; bits that gave way to the index were 0. Asked for a counterexample, a solver must say "unsat".
; Written by hand after the C; the C itself is tested. select_key.sh asks.
(set-logic QF_BVFP)
(define-sort Number () (_ FloatingPoint 11 53))
(define-sort Word () (_ BitVec 64))
(define-fun index_bits () Word #x00000000000003ff)
(define-fun largest () Word #x7fffffffffffffff)
(define-fun ordered ((bits Word)) Word (bvxor bits (bvand (bvashr bits #x000000000000003f) largest)))
(define-fun key ((bits Word) (index Word)) Word
  (bvor (bvand (ordered bits) (bvnot index_bits)) (bvsub index_bits index)))
(define-fun key_index ((k Word)) Word (bvsub index_bits (bvand k index_bits)))
(define-fun finite ((a Number)) Bool (not (or (fp.isNaN a) (fp.isInfinite a))))

(declare-const x Number)
(declare-const y Number)
(declare-const i Word)
(declare-const j Word)
; the bits of score + 0.0
(declare-const u Word)
(declare-const v Word)
(assert (finite x))
(assert (finite y))
(assert (bvult i #x0000000000000400))
(assert (bvult j #x0000000000000400))
(assert (distinct i j))
(assert (= ((_ to_fp 11 53) u) (fp.add RNE x (_ +zero 11 53))))
(assert (= ((_ to_fp 11 53) v) (fp.add RNE y (_ +zero 11 53))))
; *lost: what it was, and after the first call and the second
(declare-const lost Word)
(define-fun once () Word (bvor lost (bvand u index_bits)))
(define-fun twice () Word (bvor once (bvand v index_bits)))
(assert (= twice #x0000000000000000))

(assert (not (and
  (= lost once #x0000000000000000) ; so that one call that lost nothing is enough
  (= (bvsgt (key u i) (key v j)) (or (fp.gt x y) (and (fp.eq x y) (bvult i j))))
  (= (key_index (key u i)) i)
  (bvsgt (key u i) #x8000000000000000)
  (bvslt (key u i) largest))))
(check-sat)
