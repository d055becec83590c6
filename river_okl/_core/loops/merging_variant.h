/* The loop of merging.h on vectors of W doubles (simd.h); arrays and exp as in rows_variant.h. */

#define LOAD(p) (*(const loose *)(p))
#define STORE(p, v) (*(loose *)(p) = (v))

static void NAME(losses)(const double *coef, double scale, const double *kappa, Py_ssize_t n, double alpha_p,
                         double *out) {
    const vec one = SET(1.0), zero = SET(0.0), a_p = SET(alpha_p);
    for (Py_ssize_t i = 0; i < n; i += W) {
        double alphas[W], lengths[W], ratios[W], moves[W], signs[W];
        int any = 0;
        for (int j = 0; j < W; j++) {
            alphas[j] = i + j < n ? coef[i + j] * scale : 0.0;
            lengths[j] = i + j < n ? -logarithm_of_kappa(kappa[i + j]) : 0.0;
            signs[j] = alphas[j] * alpha_p > 0.0;
            ratios[j] = signs[j] > 0.0 ? logarithm_of_ratio(alphas[j], alpha_p) : 0.0;
            any |= signs[j] > 0.0;
        }
        const vec a = LOAD(alphas), L = LOAD(lengths), ratio = LOAD(ratios), same = LOAD(signs);
        vec s = L + ratio;
        for (int t = 0; any && t < 60; t++) { /* the loss is flat at the maximum: half the digits of s suffice */
            const vec e = NAME(exp)(-s), tangent = (one - e) / (one + e);
            const vec slope = one - SET(0.5) * L * (one - tangent * tangent);
            const vec step = (s - L * tangent - ratio) / AT_LEAST(slope, SET(1e-12));
            s = AT_LEAST(s - step, zero);
            STORE(moves, step / (one + s));
            any = 0;
            for (int j = 0; j < W; j++) any |= signs[j] > 0.0 && fabs(moves[j]) > 1e-9;
        }
        const vec e = same * NAME(exp)(-s), h = one / (one + e), rest = e * h; /* h = 1 for opposite signs */
        const vec from_m = NAME(exp)(-L * (rest * rest)), from_p = NAME(exp)(-L * (h * h));
        const vec loss = a * a * (one - from_m * from_m) + a_p * a_p * (one - from_p * from_p) -
                         SET(2.0) * a * a_p * (from_m * from_p) * (one - NAME(exp)(SET(-2.0) * L * (h * rest)));
        double numbers[W];
        STORE(numbers, loss);
        for (int j = 0; j < W && i + j < n; j++) out[i + j] = numbers[j];
    }
}

static const Merging NAME(merging) = {NAME(losses)};

#undef LOAD
#undef STORE
