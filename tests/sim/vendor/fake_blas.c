/* fake_blas.c - a BLAS of the host ($KILN_BLAS). Its products of floats take as long as the test wants (hold_program.c), and its
 * products of doubles, which must not be transposed, are right (types_program.c). */
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
