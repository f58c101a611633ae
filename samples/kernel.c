/* A kernel in C with its backward pass, for kernel.py. Build it here with:

       cc -O2 -shared -fPIC -o kernel.so kernel.c -lm
*/

#include <math.h>
#include <stddef.h>

/* out[i] = x[i] / (1 + exp(-x[i])) */
void swish(const double *x, double *out, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = x[i] / (1.0 + exp(-x[i]));
}

/* grad_x[i] = grad[i] * s (1 + x[i] (1 - s)), where s = 1 / (1 + exp(-x[i])) */
void swish_backward(const double *x, const double *grad, double *grad_x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const double s = 1.0 / (1.0 + exp(-x[i]));
        grad_x[i] = grad[i] * s * (1.0 + x[i] * (1.0 - s));
    }
}
