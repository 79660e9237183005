/* Tests NVML: values that it reports, values that it lacks, and the ways in which it can be missing. */
#include <stdlib.h>

#include "check.h"
#include "nvml.h"

#define UUID "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f"

static const char *const knobs[] = {"KILN_LIBNVML",           "FAKE_NVML_INIT",    "FAKE_NVML_CLOCK",
                                    "FAKE_NVML_MEMORY_CLOCK", "FAKE_NVML_REASONS", "FAKE_NVML_CELSIUS",
                                    "FAKE_NVML_MILLIWATTS",   "FAKE_NVML_ENERGY"};

static void reset(void)
{
    for (size_t i = 0; i < KILN__COUNT(knobs); i++)
        unsetenv(knobs[i]);
    setenv("KILN_LIBNVML", FAKE_NVML, 1);
}

static void fails(const char *library, const char *uuid, const char *inside)
{
    kiln__text why = {0};
    setenv("KILN_LIBNVML", library, 1);
    CHECK(!kiln__nvml_open(NULL, uuid, &why));
    if (!strstr(kiln__text_get(&why), inside))
        CHECK_TEXT(kiln__text_get(&why), inside);
    CHECK(!kiln__nvml_open(NULL, uuid, NULL));
    kiln__text_free(&why);
    reset();
}

static void test_not_there(void)
{
    reset();
    fails("/nowhere/libnvidia-ml.so.1", UUID, "/nowhere/libnvidia-ml.so.1 was not found");
    fails(FAKE_NVML_OLD, UUID, "is too old: it lacks nvmlShutdown");
    fails(FAKE_NVML, "GPU-1", "GPU-1: Not Found");
    setenv("FAKE_NVML_INIT", "9", 1);
    fails(FAKE_NVML, UUID, "it does not start: Some Error");
}

static void test_tells(void)
{
    reset();
    kiln__nvml *nvml = kiln__nvml_open(NULL, UUID, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(nvml);
    kiln__nvml_clocks clocks;
    kiln__text text = {0};
    double joules;
    kiln__nvml_clocks_now(nvml, &clocks); /* nothing is supported */
    CHECK(clocks.sm_hz == 0 && clocks.memory_hz == 0 && clocks.throttle == 0);
    CHECK(kiln__nvml_temperature(nvml) == 0 && kiln__nvml_power(nvml) == 0 && !kiln__nvml_energy(nvml, &joules));
    kiln__nvml_describe(nvml, &text);
    CHECK_TEXT(kiln__text_get(&text), FAKE_NVML " of driver 580.1");
    text.length = 0;
    setenv("FAKE_NVML_CLOCK", "1980", 1);
    setenv("FAKE_NVML_MEMORY_CLOCK", "3201", 1);
    setenv("FAKE_NVML_CELSIUS", "41", 1);
    setenv("FAKE_NVML_MILLIWATTS", "699500", 1);
    setenv("FAKE_NVML_ENERGY", "0", 1);
    static const struct {
        const char *bits;
        unsigned is;
    } reasons[] = {
        {"0x0", 0},
        {"0x1", 0},
        {"0x4", KILN_THROTTLE_POWER},
        {"0x80", KILN_THROTTLE_POWER},
        {"0x20", KILN_THROTTLE_THERMAL},
        {"0x48", KILN_THROTTLE_THERMAL | KILN_THROTTLE_HARDWARE},
        {"0x2", KILN_THROTTLE_SETTING},
        {"0x1ff", 15},
    };
    for (size_t i = 0; i < KILN__COUNT(reasons); i++) {
        setenv("FAKE_NVML_REASONS", reasons[i].bits, 1);
        kiln__nvml_clocks_now(nvml, &clocks);
        CHECK(clocks.throttle == reasons[i].is);
    }
    CHECK(clocks.sm_hz == 1980e6 && clocks.memory_hz == 3201e6);
    CHECK(kiln__nvml_temperature(nvml) == 41 && kiln__nvml_power(nvml) == 699.5);
    CHECK(kiln__nvml_energy(nvml, &joules) && joules == 0);
    kiln__nvml_describe(nvml, &text);
    CHECK_TEXT(kiln__text_get(&text), FAKE_NVML " of driver 580.1: clocks, throttling, temperature, power, energy");
    kiln__text_free(&text);
    kiln__nvml_close(nvml);
    kiln__nvml_close(NULL);
    kiln__nvml_clocks_now(NULL, &clocks);
    CHECK(clocks.sm_hz == 0 && kiln__nvml_power(NULL) == 0 && !kiln__nvml_energy(NULL, &joules));
}

static void test_no_memory(void)
{
    reset();
    check_oom oom = {.countdown = 0};
    kiln_allocator mem = {check_oom_resize, &oom};
    CHECK(!kiln__nvml_open(&mem, UUID, NULL));
    oom.countdown = 1;
    kiln__nvml *nvml = kiln__nvml_open(&mem, UUID, NULL);
    CHECK(nvml != NULL);
    kiln__nvml_close(nvml);
}

static const check_case cases[] = {{"not there", test_not_there}, {"tells", test_tells}, {"no memory", test_no_memory}};

int main(int count, char **arguments)
{
    return check_main(count, arguments, "nvml", cases, sizeof cases / sizeof *cases);
}
