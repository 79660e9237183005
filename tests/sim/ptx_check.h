/* ptx_check.h - shared by the suites that test the parser of PTX. */
#ifndef KILN_TESTS_PTX_CHECK_H
#define KILN_TESTS_PTX_CHECK_H

#include "check.h"
#include "ptx.h"

#define PTX_HEAD ".version 8.0\n.target sm_80\n.address_size 64\n"
/* The beginning of a kernel with registers of every kind, and with the variables gv, cv, sv and lv. The instructions of
 * a test start in line 10. */
#define PTX_KERNEL_HEAD                                                                                                \
    PTX_HEAD ".global .align 16 .b32 gv[4]; .const .align 16 .b32 cv[4]; .func f() { ret; }\n"                         \
             ".visible .entry k(.param .align 8 .b8 kp[16]) {\n"                                                       \
             ".shared .align 16 .b32 sv[4]; .local .align 16 .b8 lv[32];\n"                                            \
             ".reg .pred %p<9>; .reg .b16 %rs<9>; .reg .b32 %r<19>; .reg .b64 %rd<9>;\n"                               \
             ".reg .f32 %f<9>; .reg .f64 %fd<9>; .reg .u32 %u<9>; .reg .b8 %b<9>; .reg .b128 %q<9>;\n\n"
#define PTX_KERNEL(body) PTX_KERNEL_HEAD body "\nret;\n}\n"

/* ptx_read() returns NULL if the text is refused. The log is then in `ptx_log`. */
static char ptx_log[8192];
static ptx_result ptx_answer;
static inline ptx_module *ptx_read(const char *text)
{
    ptx_module *module;
    kiln__text log = {0};
    ptx_answer = ptx_parse(NULL, text, strlen(text), &module, &log);
    snprintf(ptx_log, sizeof ptx_log, "%s", kiln__text_get(&log));
    kiln__text_free(&log);
    return module;
}
/* Parses a text that must be accepted, and returns the module. */
static inline ptx_module *ptx_good(const char *text)
{
    ptx_module *module = ptx_read(text);
    if (!module)
        fprintf(stderr, "refused:\n%s", ptx_log);
    CU_ASSERT_PTR_NOT_NULL_FATAL(module);
    return module;
}
static inline const ptx_function *ptx_find(const ptx_module *module, const char *name)
{
    for (uint32_t i = 0; i < module->function_count; i++)
        if (strcmp(module->functions[i].name, name) == 0)
            return &module->functions[i];
    CU_FAIL_FATAL("no such function");
    return NULL;
}
static inline const ptx_symbol *ptx_symbol_of(const ptx_module *module, const char *name)
{
    for (uint32_t i = 0; i < module->symbol_count; i++)
        if (strcmp(module->symbols[i].name, name) == 0)
            return &module->symbols[i];
    CU_FAIL_FATAL("no such symbol");
    return NULL;
}
#endif
