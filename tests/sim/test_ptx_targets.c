/* The instructions of each device (targets.txt). targets.py compares this file with ptxas, if ptxas is installed. */
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

/* Parses the instruction in a kernel for the newest target. So only the device decides. */
static ptx_result parse(const char *instruction, int device, kiln__text *log)
{
    char text[1024];
    snprintf(text, sizeof text,
             ".version 9.0\n.target sm_121\n.address_size 64\n.visible .entry k()\n{\n"
             ".reg .b8 %%b<40>;\n.reg .b16 %%h<40>;\n.reg .b32 %%r<40>;\n.reg .b64 %%rd<40>;\n.reg .b128 %%q<40>;\n"
             ".reg .pred %%p<40>;\n%s\nret;\n}\n",
             instruction);
    ptx_module *module = NULL;
    ptx_result result = ptx_parse_for(device, NULL, text, strlen(text), &module, log);
    ptx_free(NULL, module);
    return result;
}

/* Every line of the file is true. */
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
            bool says = want == PTX_OK || (log.data && strstr(log.data, "line 12; error   : '") &&
                                           strstr(log.data, "' needs .target sm_"));
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
};
KILN_SUITE("sim.ptx_targets", cases)
