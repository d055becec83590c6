/* The loss of fusing two support vectors (Wang et al., 2012), for a Gaussian kernel.
 *
 * alpha kappa_m + alpha_p kappa_p becomes alpha_z kappa_z, z = h x_m + (1-h) x_p, |alpha| >= |alpha_p|. For equal signs
 * |alpha_z(h)| = |alpha| kappa^((1-h)^2) + |alpha_p| kappa^(h^2) has its maximum over [0, 1] in [1/2, 1]. With
 * h = 1/(1 + e^-s), L = -ln kappa and l = ln |alpha/alpha_p|, the maximum is at the largest root of the function
 * psi(s) = s - L tanh(s/2) - l, convex for s >= 0: Newton's method descends to it from s = L + l. For opposite signs
 * |alpha_z| increases up to h = 1.
 *
 *   losses   ||alpha_i kappa_i + alpha_p kappa_p - alpha_z kappa_z||^2 for all i, up to SLACK (alpha_i^2 + alpha_p^2)
 *   merged   h, alpha_z and the loss for one of them, to full precision
 */
#ifndef RIVER_OKL_MERGING_H
#define RIVER_OKL_MERGING_H

#include <Python.h>
#include <math.h>

#define SLACK 1e-13

static double logarithm_of_kappa(double kappa) { /* of the smallest double for 0 */
    return log(kappa < 4.9406564584124654e-324 ? 4.9406564584124654e-324 : kappa > 1.0 ? 1.0 : kappa);
}

static double logarithm_of_ratio(double alpha, double alpha_p) {
    const double ratio = log(fabs(alpha)) - log(fabs(alpha_p));
    return ratio > 0.0 ? ratio : 0.0;
}

static double merged(double alpha, double alpha_p, double kappa, double *h, double *alpha_z) {
    const double L = -logarithm_of_kappa(kappa);
    double rest = 0.0; /* 1 - h */
    *h = 1.0;
    if (alpha * alpha_p > 0.0) {
        const double ratio = logarithm_of_ratio(alpha, alpha_p);
        double s = L + ratio;
        for (int i = 0; i < 60; i++) { /* converges quadratically, except for kappa = e^-2 and equal coefficients */
            const double tangent = tanh(s / 2.0), slope = 1.0 - L / 2.0 * (1.0 - tangent * tangent);
            const double step = (s - L * tangent - ratio) / (slope > 1e-12 ? slope : 1e-12);
            s -= step;
            if (!(fabs(step) > 1e-15 * (1.0 + s))) break;
        }
        *h = 1.0 / (1.0 + exp(-s));
        rest = exp(-s) / (1.0 + exp(-s));
    }
    const double from_m = exp(-L * rest * rest), from_p = exp(-L * *h * *h); /* kappa(x_m, z), kappa(x_p, z) */
    *alpha_z = alpha * from_m + alpha_p * from_p;
    /* alpha^2 (1 - kappa_mz^2) + alpha_p^2 (1 - kappa_pz^2) + 2 alpha alpha_p (kappa - kappa_mz kappa_pz) without
     * cancellation for alpha_p << alpha */
    const double loss = -alpha * alpha * expm1(-2.0 * L * rest * rest) - alpha_p * alpha_p * expm1(-2.0 * L * *h * *h) +
                        2.0 * alpha * alpha_p * from_m * from_p * expm1(-2.0 * L * *h * rest);
    return loss > 0.0 ? loss : 0.0;
}

#endif
