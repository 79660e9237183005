/* no_edges.c - functions that do nothing, for the calls that gcc adds with -fsanitize-coverage=trace-pc,trace-cmp. Programs that
 * are no fuzz targets need all three. Fuzz targets need the two for floating-point numbers, because libFuzzer uses integers
 * alone. They are weak, because libFuzzer defines the first one too. */
__attribute__((weak)) void __sanitizer_cov_trace_pc(void);
__attribute__((weak)) void __sanitizer_cov_trace_cmpf(float a, float b);
__attribute__((weak)) void __sanitizer_cov_trace_cmpd(double a, double b);

void __sanitizer_cov_trace_pc(void) {}
void __sanitizer_cov_trace_cmpf(float a, float b)
{
    (void)a;
    (void)b;
}
void __sanitizer_cov_trace_cmpd(double a, double b)
{
    (void)a;
    (void)b;
}
