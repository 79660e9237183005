/* no_edges.c - the functions that gcc calls for edges.c, in the programs that are no fuzz targets. They are weak,
 * because libFuzzer has a function of the same name. */
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
