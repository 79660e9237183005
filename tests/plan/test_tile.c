/* Tests a tensor map on the simulated device, from the spec to a kernel of NVRTC. The suite compares the bytes that
 * arrive, and copies a matrix tile by tile if the device runs such copies. Skipped with a message if there is no
 * NVRTC. */
#include "compiled.h"
#include "plan_internal.h"
#include "vm.h"

static char cache[] = "/tmp/kiln-tile-XXXXXX";
static kiln_engine *engine;
static kiln_spec *spec;

static void begin(void)
{
    kiln_error *error = NULL;
    kiln_options options = {.size = sizeof options, .device = "sim", .cache_dir = cache, .flags = KILN_NO_WORKERS};
    CHECK_OK(kiln_engine_open(&options, &engine, &error), error);
    CHECK_OK(kiln_spec_load(engine, KILN_TEST_DATA "/tile.yaml", &spec, &error), error);
}

static void end(void)
{
    kiln_spec_free(spec);
    kiln_engine_close(engine);
}

static void words(void)
{
    kiln_plan *plan = NULL;
    kiln_error *error = NULL;
    CUdeviceptr a = 0;
    static float got[50 * 36];
    vm_tensor_map map;
    begin();
    CHECK_OK(kiln_plan_open(engine, spec, &(kiln_choice){.variant = "words"}, &plan, &error), error);
    CHECK_OK(kiln_plan_buffer(plan, "a", &a, &error), error);
    CHECK_OK(kiln_plan_launch(plan, NULL, &error), error);
    CHECK_OK(kiln_plan_read(plan, "b", got, sizeof got, &error), error);
    memcpy(&map, got, sizeof map);
    CHECK(map.mark == VM_TENSOR_MAP && map.address == a && !map.im2col && map.rank == 2);
    CHECK(map.type == CU_TENSOR_MAP_DATA_TYPE_FLOAT32 && map.stride[0] == 36 * 4);
    CHECK(map.last[0] == 35 && map.last[1] == 49 && map.box[0] == 4 && map.box[1] == 8 && map.step[1] == 1);
    CHECK(map.swizzle == CU_TENSOR_MAP_SWIZZLE_128B);
    CHECK(map.fill == 1);
    kiln_plan_close(plan);
    end();
}

/* If the device lacks the copies, the variant is left out. If the device has them, the test checks the answer. */
static void tiles(void)
{
    const kiln_device_info *info = NULL;
    kiln_error *error = NULL;
    kiln_inspection *made = NULL;
    begin();
    CHECK_OK(kiln_engine_device(engine, &info, &error), error);
    CHECK_OK(kiln_inspect(engine, spec, &(kiln_choice){.variant = "tma"}, "sm_90", &made, &error), error);
    CHECK(strstr(kiln_inspection_ptx(made), "cp.async.bulk.tensor.2d") != NULL);
    kiln_inspection_free(made);
    for (int narrow = 0; narrow < 2; narrow++) {
        kiln_plan *plan = NULL;
        const kiln_result *result = NULL;
        const kiln_setting width = {"TILE_X", {KILN_INT, {narrow ? 4 : 32}}};
        kiln_choice choice = {.variant = "tma", .params = &width, .param_count = 1};
        kiln_status status = kiln_plan_open(engine, spec, &choice, &plan, &error);
        if (info->features & KILN_FEATURE_TMA) {
            CHECK_OK(status, error);
            CHECK_OK(kiln_plan_run(plan, NULL, &result, &error), error);
            CHECK(result && result->verified);
        } else {
            CHECK(status == KILN_ERROR_UNSUPPORTED && strstr(kiln_error_message(error), "device.tma = false"));
            kiln_error_free(error);
            error = NULL;
        }
        kiln_plan_close(plan);
    }
    end();
}

/* A capture of a launch has the map, its needs and the attributes. The test loads the capture and launches with the
 * same map. */
static void captured(void)
{
    kiln_plan *plan = NULL, *again = NULL;
    kiln_spec *copy = NULL;
    kiln_error *error = NULL;
    static float got[50 * 36];
    char path[200];
    vm_tensor_map map;
    begin();
    const kiln_setting params[] = {{"TILE_X", {KILN_INT, {32}}}, {"TILE_Y", {KILN_INT, {16}}}};
    kiln_choice choice = {.variant = "words", .params = params, .param_count = 2};
    CHECK_OK(kiln_plan_open(engine, spec, &choice, &plan, &error), error);
    CHECK_OK(kiln_plan_capture(plan, cache, &error), error);
    CHECK_OK(kiln_plan_launch(plan, NULL, &error), error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(kiln_plan_captured(plan));
    snprintf(path, sizeof path, "%s/tile.yaml", kiln_plan_captured(plan));
    CHECK_OK(kiln_spec_load(engine, path, &copy, &error), error);
    int words = kiln_spec_variant_find(copy, "words");
    CHECK(words >= 0 && kiln_spec_need_count(copy, (size_t)words) == 1);
    CHECK_OK(kiln_plan_open(engine, copy, &(kiln_choice){.variant = "words"}, &again, &error), error);
    CHECK_OK(kiln_plan_launch(again, NULL, &error), error);
    CHECK(kiln_plan_kernel(again, 0)->priority == -1 && kiln_plan_kernel(again, 0)->carveout == 25);
    CHECK_OK(kiln_plan_read(again, "b", got, sizeof got, &error), error);
    memcpy(&map, got, sizeof map);
    /* the values of the params */
    CHECK(map.mark == VM_TENSOR_MAP && map.box[0] == 32 && map.box[1] == 16 && map.fill == 1);
    kiln_plan_close(again);
    kiln_plan_close(plan);
    kiln_spec_free(copy);
    end();
}

static const check_case cases[] = {{"words", words}, {"tiles", tiles}, {"captured", captured}};

KILN_COMPILED_SUITE("plan.tile", cases, cache)
