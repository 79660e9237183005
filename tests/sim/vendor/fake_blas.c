/* fake_blas.c - a BLAS of the host ($KILN_BLAS) whose products take as long as the test wants (hold_program.c). */
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
