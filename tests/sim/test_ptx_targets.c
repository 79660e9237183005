/* Tests which instructions each device has (targets.txt). targets.py compares this file with ptxas, if ptxas is
 * installed. */
#include "ptx_check.h"

/* The compute capabilities that a line of targets.txt may name. */
static const int devices[] = {75, 80, 86, 89, 90, 100, 103, 110, 120, 121};

static bool names(const char *list, int device)
{
    for (char *end; *list && *list != '|'; list = end + (*end == ' ')) {
        if (strtol(list, &end, 10) == device)
            return true;
        if (end == list)
            break;
    }
    return false;
}

/* Parses the instruction in a kernel for a target. */
static ptx_result parse_in(const char *instruction, int device, const char *target, kiln__text *log)
{
    char text[1024];
    snprintf(text, sizeof text,
             ".version 9.0\n.target %s\n.address_size 64\n.visible .entry k()\n{\n"
             ".reg .b8 %%b<40>;\n.reg .b16 %%h<40>;\n.reg .b32 %%r<40>;\n.reg .b64 %%rd<40>;\n.reg .b128 %%q<40>;\n"
             ".reg .pred %%p<40>;\n%s\nret;\n}\n",
             target, instruction);
    ptx_module *module = NULL;
    ptx_result result = ptx_parse_for(device, NULL, text, strlen(text), &module, log);
    ptx_free(NULL, module);
    return result;
}

/* Parses the instruction in a kernel for the device's own target, with the features of its architecture. */
static ptx_result parse(const char *instruction, int device, kiln__text *log)
{
    char target[16];
    snprintf(target, sizeof target, "sm_%d%s", device, device >= 90 ? "a" : "");
    return parse_in(instruction, device, target, log);
}

#define SCALED "tcgen05.mma.cta_group::1.kind::"
#define FACTORS " [%r1], %rd1, %rd2, %r3, [%r4], [%r5], %p1;"
#define SPARSE "tcgen05.mma.sp.cta_group::1.kind::"

/* Instructions of a family or an architecture also need the letter of the family or architecture in the module's
 * .target, as in ptxas. Other instructions do not depend on .target. */
static void test_module_target(void)
{
    static const struct {
        /* `says` is a part of the message, or NULL if the instruction is accepted */
        const char *instruction, *target, *says;
        int device;
    } table[] = {
        {"wgmma.fence.sync.aligned;", "sm_90a", NULL, 90},
        {"wgmma.fence.sync.aligned;", "sm_90",
         "'wgmma.fence.sync.aligned' needs .target sm_90a; the module has sm_90 (", 90},
        {"wgmma.fence.sync.aligned;", "sm_100a", "needs .target sm_90a; the module has sm_100a", 90},
        {"wgmma.fence.sync.aligned;", "sm_100a", "needs .target sm_90a; the device has sm_100", 100},
        {"wgmma.fence.sync.aligned;", "sm_120f", "needs .target sm_90a; the device has sm_120", 120},
        {"cvt.rn.satfinite.e2m1x2.f32 %b1, %r2, %r3;", "sm_100f", NULL, 100},
        {"cvt.rn.satfinite.e2m1x2.f32 %b1, %r2, %r3;", "sm_100",
         "needs .target sm_100f or a later family's; the module has sm_100", 100},
        {"cvt.rs.f16x2.f32 %r1, %r2, %r3, %r4;", "sm_100a", NULL, 100},
        {"cvt.rs.f16x2.f32 %r1, %r2, %r3, %r4;", "sm_100f", "needs .target sm_100a; the module has sm_100f", 100},
        {"add.f32x2 %rd1, %rd2, %rd3;", "sm_75", NULL, 100},
        {SCALED "mxf4.block_scale.block32" FACTORS, "sm_100f", NULL, 100},
        {SCALED "mxf4.block_scale.scale_vec::2X" FACTORS, "sm_103a", NULL, 103},
        {SCALED "mxf4.block_scale.scale_vec::2X" FACTORS, "sm_100f",
         "needs .target sm_100a, sm_103a or sm_110a; the module has sm_100f", 100},
        {SPARSE "f16 [%r1], %rd1, %rd2, [%r2], %r3, %p1;", "sm_110f", NULL, 110},
        {SPARSE "mxf4.block_scale [%r1], %rd1, %rd2, [%r2], %r3, [%r4], [%r5], %p1;", "sm_103a", NULL, 103},
        {SPARSE "mxf4.block_scale [%r1], %rd1, %rd2, [%r2], %r3, [%r4], [%r5], %p1;", "sm_103f",
         "needs .target sm_100a, sm_103a or sm_110a; the module has sm_103f", 103},
        {"tcgen05.shift.cta_group::1.down [%r1];", "sm_110a", NULL, 110},
        {"tcgen05.shift.cta_group::1.down [%r1];", "sm_100f",
         "'tcgen05.shift.cta_group::1.down' needs .target sm_100a, sm_103a or sm_110a; the module has sm_100f", 100},
        {"tcgen05.ld.red.sync.aligned.32x32b.x2.min.f32 {%r1,%r2}, %r3, [%r4];", "sm_103f", NULL, 103},
        {"tcgen05.ld.red.sync.aligned.32x32b.x2.min.f32 {%r1,%r2}, %r3, [%r4];", "sm_100a",
         "needs .target sm_103f or sm_110f; the device has sm_100", 100},
        {"tcgen05.mma.ws.cta_group::1.kind::i8 [%r1], %rd1, %rd2, %r3, %p1;", "sm_110a", NULL, 110},
        {"tcgen05.mma.ws.cta_group::1.kind::i8 [%r1], %rd1, %rd2, %r3, %p1;", "sm_103a",
         "needs .target sm_100a or sm_110a; the device has sm_103", 103},
        {"tcgen05.cp.cta_group::1.128x256b [%r1], %rd1;", "sm_120a", "the device has sm_120", 120},
    };
    for (size_t k = 0; k < KILN__COUNT(table); k++) {
        kiln__text log = {0};
        ptx_result got = parse_in(table[k].instruction, table[k].device, table[k].target, &log);
        const bool right = table[k].says ? got == PTX_INVALID && log.data && strstr(log.data, table[k].says)
                                         : got == PTX_OK;
        if (!right)
            fprintf(stderr, "%s in %s: %s\n", table[k].instruction, table[k].target, kiln__text_get(&log));
        CHECK(right);
        kiln__text_free(&log);
    }
}

/* Tests every line of the file. */
static void test_targets(void)
{
    FILE *file = fopen(KILN_TEST_DATA "/targets.txt", "r");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    char line[1024];
    unsigned count = 0;
    while (fgets(line, sizeof line, file)) {
        char *bar = strchr(line, '|');
        if (line[0] == '#' || !bar)
            continue;
        line[strcspn(line, "\n")] = '\0';
        count++;
        for (size_t k = 0; k < KILN__COUNT(devices); k++) {
            kiln__text log = {0};
            ptx_result want = names(line, devices[k]) ? PTX_OK : PTX_INVALID, got = parse(bar + 2, devices[k], &log);
            const char *why = line[0] == ' ' ? "Illegal modifiers or types" : "' needs .target sm_";
            bool says = want == PTX_OK ||
                        (log.data && strstr(log.data, "line 12; error   : ") && strstr(log.data, why));
            if (got != want || !says)
                fprintf(stderr, "sm_%d: %s: %s", devices[k], bar + 2, log.data ? log.data : "it is taken\n");
            CHECK(got == want && says);
            kiln__text_free(&log);
        }
    }
    fclose(file);
    CHECK(count > 100);
}

static const check_case cases[] = {
    {"instructions", test_targets},
    {"the module's target", test_module_target},
};
KILN_SUITE("sim.ptx_targets", cases)
