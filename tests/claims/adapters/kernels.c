#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* f = sum of x^2 sin(x); its gradient right, and with a wrong sign. */
double f(int n, const double *x) {
    double s = 0;
    for (int i = 0; i < n; i++) s += x[i] * x[i] * sin(x[i]);
    return s;
}
void f_grad(int n, const double *x, double *g) {
    for (int i = 0; i < n; i++) g[i] = 2 * x[i] * sin(x[i]) + x[i] * x[i] * cos(x[i]);
}
void f_sign(int n, const double *x, double *g) {
    for (int i = 0; i < n; i++) g[i] = 2 * x[i] * sin(x[i]) - x[i] * x[i] * cos(x[i]);
}
void f_b(int n, const double *x, double *xb, double fb) {
    for (int i = 0; i < n; i++) xb[i] += fb * (2 * x[i] * sin(x[i]) + x[i] * x[i] * cos(x[i]));
}
double f_d(int n, const double *x, const double *xd) {
    double s = 0;
    for (int i = 0; i < n; i++) s += (2 * x[i] * sin(x[i]) + x[i] * x[i] * cos(x[i])) * xd[i];
    return s;
}
double wrong_d(int n, const double *x, const double *xd) { return 1.01 * f_d(n, x, xd); }
void f_crash(int n, const double *x, double *g) {
    fprintf(stderr, "about to fall\n");
    *(volatile double *)8 = x[n - 1] + g[0];
}
void f_exit(int n, const double *x, double *g) {
    printf("so long %d %d\n", n, x[0] > g[0]);
    exit(3);
}
void f_abort(int n, const double *x, double *g) {
    if (n && x && g) abort();
}
void f_hang(int n, const double *x, double *g) {
    while (n + x[0] > g[0]) {}
}

/* h_j = sum of sin((j + 1) x), written to zeros; backward as Tapenade has it, forward as well, and the Jacobian. */
void h(int n, const double *x, int m, double *y) {
    for (int j = 0; j < m; j++)
        for (int i = 0; i < n; i++) y[j] += sin((j + 1) * x[i]);
}
void h_b(int n, const double *x, double *xb, int m, double *y, double *yb) {
    for (int j = 0; j < m; j++)
        for (int i = 0; i < n; i++) xb[i] += yb[j] * (j + 1) * cos((j + 1) * x[i]) + 0 * y[j];
}
void h_bar(int n, const double *x, int m, const double *y, const double *y_bar, double *x_bar) {
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++) x_bar[i] += y_bar[j] * (j + 1) * cos((j + 1) * x[i]) + 0 * y[j];
}
void h_jacobian(int n, const double *x, int m, double *jacobian) {
    for (int j = 0; j < m; j++)
        for (int i = 0; i < n; i++) jacobian[j * n + i] = (j + 1) * cos((j + 1) * x[i]);
}

/* The output is used in the backward pass: y = exp(x). */
int e(size_t n, const double *x, double *y) {
    if (x[0] > 700) return 7;
    for (size_t i = 0; i < n; i++) y[i] = exp(x[i]);
    return 0;
}
int e_b(size_t n, const double *x, const double *y, const double *grad_y, double *grad_x) {
    for (size_t i = 0; i < n; i++) grad_x[i] = grad_y[i] * y[i] + 0 * x[i];
    return 0;
}

float s(float a, const float *x) { return a * x[0] * x[1]; }
void s_grad(float a, const float *x, float *da, float *dx) {
    *da = x[0] * x[1], dx[0] = a * x[1], dx[1] = a * x[0];
}
double cube(double t) { return t * t * t; }
double cube_grad(double t) { return 3 * t * t; }
double pair(int nx, const double *x, int ny, const double *y) { return f(nx, x) * f(ny, y); }
void pair_grad(int nx, const double *x, int ny, const double *y, double *first, double *second) {
    double fx = f(nx, x), fy = f(ny, y);
    f_grad(nx, x, first), f_grad(ny, y, second);
    for (int i = 0; i < nx; i++) first[i] *= fy;
    for (int i = 0; i < ny; i++) second[i] *= fx;
}

/* One number through a pointer, whose cotangent comes by value. */
void sum_of_squares(int n, const double *x, double *y) {
    *y = 0;
    for (int i = 0; i < n; i++) *y += x[i] * x[i];
}
void sum_of_squares_b(int n, const double *x, double yb, double *xb) {
    for (int i = 0; i < n; i++) xb[i] = 2 * yb * x[i];
}
