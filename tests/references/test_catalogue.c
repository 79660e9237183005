/* Tests all host functions of the catalogue: their arguments, and their registration. */
#include <stdio.h>

#include "hosts.h"

/* `kiln help hosts` lists the arguments of each function. Without arguments, the function must complain about a
 * listed one. */
static void test_hosts(void)
{
    size_t count = 0;
    for (const kiln_host_info *info; (info = kiln_catalogue_host(count)); count++) {
        kiln_call call = {0};
        kiln_error *error = NULL;
        kiln__arena arena = {0};
        kiln_status status = kiln__call(&call, builtin(info->name), (kiln__pos){0}, &error);
        const char *missing = strstr(kiln_error_message(error), "argument '");
        CU_ASSERT_PTR_NOT_NULL_FATAL(missing);
        CHECK(status == KILN_ERROR_HOST_FUNCTION);
        missing += strlen("argument '");
        const char *name = kiln__arena_strndup(&arena, missing, strcspn(missing, "'."));
        const char *both = kiln__arena_printf(&arena, "%s, %s", info->takes, info->gives);
        const char *at = both;
        while ((at = strstr(at, name)) && ((at > both && !strchr(" [", at[-1])) || !strchr(",] ", at[strlen(name)])))
            at++;
        if (!at)
            fprintf(stderr, "%s asks for '%s', and lists %s\n", info->name, name, both);
        CHECK(at != NULL);
        kiln_error_free(error);
        kiln__call_free(&call);
        kiln__arena_free(&arena);
    }
    CHECK(count > 50);
    CHECK(kiln__catalogue_find("no_such") == NULL);
}

/* Tests that an engine knows the functions only after their registration, and that a second registration fails at the
 * first function. */
static void test_registration(void)
{
    const kiln_options options = {.size = sizeof options, .device = "sim", .flags = KILN_NO_CACHE | KILN_NO_WORKERS};
    kiln_engine *engine = NULL;
    kiln_error *error = NULL;
    static const char text[] = "kiln: 1\nname: a\nsource: a.cu\nsizes: {d: {N: 4}}\n"
                               "buffers:\n  A: {type: f32, shape: [N, N]}\n  P: {type: f32, shape: [N, N], out: true}\n"
                               "launch: {kernel: a, grid: [1], block: [1], args: [A, P]}\n"
                               "verify: {P: {against: {host: matmul_f64, B: A}}}\n";
    kiln_spec *spec = NULL;
    CHECK_OK(kiln_engine_open(&options, &engine, &error), error);
    CHECK(kiln_spec_parse(engine, text, sizeof text - 1, "a.yaml", &spec, &error) == KILN_ERROR_SPEC);
    CHECK(strstr(kiln_error_message(error), "there is no host function 'matmul_f64'") != NULL);
    kiln_error_free(error);
    error = NULL;
    CHECK_OK(kiln_catalogue_register(engine, &error), error);
    CHECK_OK(kiln_spec_parse(engine, text, sizeof text - 1, "a.yaml", &spec, &error), error);
    kiln_spec_free(spec);
    CHECK(kiln_catalogue_register(engine, &error) == KILN_ERROR_ARGUMENT);
    CHECK_TEXT(kiln_error_message(error), "kiln_register_host: a host function 'attention_f64' is registered already");
    kiln_error_free(error);
    error = NULL;
    CHECK(kiln_catalogue_register(NULL, &error) == KILN_ERROR_ARGUMENT);
    CHECK_TEXT(kiln_error_message(error), "kiln_register_host: engine is NULL");
    kiln_error_free(error);
    kiln_engine_close(engine);
}

static const check_case cases[] = {
    {"arguments that are listed", test_hosts},
    {"registration", test_registration},
};
KILN_SUITE("catalogue", cases)
