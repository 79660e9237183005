/* fake_blas.c - a library that replaces the host's BLAS ($KILN_BLAS). Its products of floats take as long as
 * hold_program.c wants. Its products of doubles are right for types_program.c, if no matrix is transposed. It also
 * replaces the host's LAPACK ($KILN_LAPACK), for sparse_program.c. */
#include <stddef.h>

typedef void fake_hook(float *c);
__attribute__((visibility("default"))) fake_hook *fake_blas_hook;

__attribute__((visibility("default"))) void cblas_sgemm(int order, int op_a, int op_b, int m, int n, int k, float alpha,
                                                        const float *a, int lda, const float *b, int ldb, float beta,
                                                        float *c, int ldc);
void cblas_sgemm(int order, int op_a, int op_b, int m, int n, int k, float alpha, const float *a, int lda,
                 const float *b, int ldb, float beta, float *c, int ldc)
{
    (void)order, (void)op_a, (void)op_b, (void)m, (void)n, (void)k, (void)alpha, (void)a, (void)lda, (void)b, (void)ldb,
        (void)beta, (void)ldc;
    if (fake_blas_hook)
        fake_blas_hook(c);
}

__attribute__((visibility("default"))) void cblas_dgemm(int order, int op_a, int op_b, int m, int n, int k,
                                                        double alpha, const double *a, int lda, const double *b,
                                                        int ldb, double beta, double *c, int ldc);
void cblas_dgemm(int order, int op_a, int op_b, int m, int n, int k, double alpha, const double *a, int lda,
                 const double *b, int ldb, double beta, double *c, int ldc)
{
    (void)order, (void)op_a, (void)op_b;
    for (int j = 0; j < n; j++)
        for (int i = 0; i < m; i++) {
            double sum = 0;
            for (int l = 0; l < k; l++)
                sum += a[l * lda + i] * b[j * ldb + l];
            c[j * ldc + i] = alpha * sum + (beta == 0 ? 0 : beta * c[j * ldc + i]);
        }
}

/* LAPACK's functions take all arguments by address. */
__attribute__((visibility("default"))) void dpotrf_(const char *uplo, const int *n, double *a, const int *ld, int *info,
                                                    size_t length);
__attribute__((visibility("default"))) void dgetrf_(const int *m, const int *n, double *a, const int *ld, int *pivots,
                                                    int *info);
__attribute__((visibility("default"))) void dgetrs_(const char *op, const int *n, const int *columns, const double *a,
                                                    const int *ld_a, const int *pivots, double *b, const int *ld_b,
                                                    int *info, size_t length);

/* Factors a 2 x 2 matrix. The test chooses matrices whose roots are whole numbers. */
void dpotrf_(const char *uplo, const int *n, double *a, const int *ld, int *info, size_t length)
{
    (void)uplo, (void)n, (void)length;
    double root = 1;
    while (root * root < a[0])
        root++;
    a[0] = root;
    a[1] /= root;
    const double rest = a[*ld + 1] - a[1] * a[1];
    for (root = 1; root * root < rest;)
        root++;
    a[*ld + 1] = root;
    *info = 0;
}

void dgetrf_(const int *m, const int *n, double *a, const int *ld, int *pivots, int *info)
{
    (void)m, (void)n, (void)a, (void)ld, (void)pivots, (void)info; /* the test has no pivots */
}

/* Adds the first pivot minus 1 to the first right side, so that a test sees this pivot. */
void dgetrs_(const char *op, const int *n, const int *columns, const double *a, const int *ld_a, const int *pivots,
             double *b, const int *ld_b, int *info, size_t length)
{
    (void)op, (void)n, (void)columns, (void)a, (void)ld_a, (void)ld_b, (void)length;
    b[0] += pivots[0] - 1;
    *info = 0;
}
