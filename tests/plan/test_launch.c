/* Tests tensor maps and attributes of launches on a fake driver: the values that the driver gets, and requests that are
 * refused before a driver call, with the place in the spec. */
#include "plans.h"

#define MAPS                                                                                                           \
    "kiln: 1\nname: fake\nsource: fake.cu\nsizes: {tiny: {R: 6, BOX: 32}}\nbuffers:\n"                                 \
    "  a: {type: bf16, shape: [R, 64]}\n  c: {type: bf16, shape: [R, 64]}\n  d: {type: complex64, shape: [64]}\n"      \
    "  s: {type: i8, shape: [2, 3, 4, 5, 16]}\n  y: {type: f32, shape: [8], out: true}\nsteps:\n"
#define MAPPED(map) "  - launch: {kernel: mapped, grid: [1], block: [1], args: [{tensor_map: " map "}, y]}\n"

/* The last call of the driver. */
static struct {
    int calls, result;
    kiln__tensor_map map;
} made;

static CUresult CUDAAPI take_tiled(CUtensorMap *to, CUtensorMapDataType type, cuuint32_t rank, void *address,
                                   const cuuint64_t *shape, const cuuint64_t *strides, const cuuint32_t *box,
                                   const cuuint32_t *steps, CUtensorMapInterleave interleave,
                                   CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
                                   CUtensorMapFloatOOBfill fill)
{
    CHECK((uintptr_t)to % 64 == 0);
    if (made.result)
        return (CUresult)made.result;
    made.calls++;
    made.map = (kiln__tensor_map){.type = (int)type,
                                  .rank = rank,
                                  .address = (uintptr_t)address,
                                  .interleave = (int)interleave,
                                  .swizzle = (int)swizzle,
                                  .promotion = (int)promotion,
                                  .fill = (int)fill};
    memcpy(made.map.shape, shape, rank * sizeof *shape);
    memcpy(made.map.strides + 1, strides, (rank - 1) * sizeof *strides);
    memcpy(made.map.box, box, rank * sizeof *box);
    memcpy(made.map.steps, steps, rank * sizeof *steps);
    memset(to, 0x5a, sizeof *to);
    return CUDA_SUCCESS;
}

static CUresult CUDAAPI take_im2col(CUtensorMap *to, CUtensorMapDataType type, cuuint32_t rank, void *address,
                                    const cuuint64_t *shape, const cuuint64_t *strides, const int *lower,
                                    const int *upper, cuuint32_t channels, cuuint32_t pixels, const cuuint32_t *steps,
                                    CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                    CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill)
{
    static const cuuint32_t box[KILN__TENSOR_DIMS];
    CUresult result = take_tiled(to, type, rank, address, shape, strides, box, steps, interleave, swizzle, promotion,
                                 fill);
    made.map.im2col = true;
    memcpy(made.map.lower, lower, (rank - 2) * sizeof *lower);
    memcpy(made.map.upper, upper, (rank - 2) * sizeof *upper);
    made.map.channels = channels;
    made.map.pixels = pixels;
    return result;
}

static void open_maps(const char *text)
{
    memset(&made, 0, sizeof made);
    open_plan(text, NULL);
    engine->driver.cuTensorMapEncodeTiled_ = take_tiled;
    engine->driver.cuTensorMapEncodeIm2col_ = take_im2col;
}

static CUdeviceptr pointer_to(const char *buffer)
{
    CUdeviceptr pointer = 0;
    kiln_error *error = NULL;
    CHECK_OK(kiln_plan_buffer(plan, buffer, &pointer, &error), error);
    return pointer;
}

/* Values that the spec does not give come from the buffer. The driver's first dimension is the innermost dimension. */
static void defaults(void)
{
    kiln_error *error = NULL;
    open_maps(MAPS MAPPED("a, box: [2, BOX]") "  - swap: [a, c]\n" MAPPED("a, box: [2, BOX]"));
    CHECK_OK(kiln_plan_launch(plan, NULL, &error), error);
    const kiln__tensor_map *map = &made.map;
    /* the swap comes before this launch */
    CHECK(made.calls == 2 && map->address == pointer_to("a") && map->address != pointer_to("c"));
    CHECK(map->type == CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 && map->rank == 2);
    CHECK(map->shape[0] == 64 && map->shape[1] == 6 && map->strides[1] == 128);
    CHECK(map->box[0] == 32 && map->box[1] == 2 && map->steps[0] == 1 && map->steps[1] == 1);
    CHECK(!map->interleave && !map->swizzle && !map->promotion && !map->fill);
    CHECK_OK(kiln_plan_launch(plan, NULL, &error), error);
    CHECK(made.calls == 2); /* the maps are made once */
    close_all();

    open_maps(MAPS MAPPED("s, box: [1, 1, 2, 2, 16]"));
    CHECK_OK(kiln_plan_launch(plan, NULL, &error), error);
    CHECK(map->rank == 5 && map->type == CU_TENSOR_MAP_DATA_TYPE_UINT8 && map->shape[4] == 2 && map->box[2] == 2);
    CHECK(map->strides[1] == 16 && map->strides[2] == 80 && map->strides[3] == 320 && map->strides[4] == 960);
    close_all();
}

static void all_fields(void)
{
    kiln_error *error = NULL;
    const kiln__tensor_map *map = &made.map;
    open_maps(
        MAPS MAPPED("a + 64, type: u16, shape: [2, 2, 64], strides: [128, 64], box: [1, 2, 64], steps: [1, 2, 1], "
                    "swizzle: 4 * BOX, atom: 32, flip: true, interleave: 0, l2_promotion: 256"));
    CHECK_OK(kiln_plan_launch(plan, NULL, &error), error);
    CHECK(map->address == pointer_to("a") + 128 && map->type == CU_TENSOR_MAP_DATA_TYPE_UINT16 && map->rank == 3);
    CHECK(map->shape[0] == 64 && map->shape[1] == 2 && map->shape[2] == 2);
    CHECK(map->strides[1] == 128 && map->strides[2] == 256);
    CHECK(map->box[0] == 64 && map->box[1] == 2 && map->box[2] == 1 && map->steps[1] == 2 && map->steps[0] == 1);
    CHECK(map->swizzle == CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B_FLIP_8B &&
          map->promotion == CU_TENSOR_MAP_L2_PROMOTION_L2_256B);
    close_all();

    open_maps(MAPS MAPPED("a, shape: [2, 3, 4, 16], lower: [-1, 0], upper: [1, -2], channels: 8, pixels: 3, fill: nan, "
                          "interleave: 16"));
    CHECK_OK(kiln_plan_launch(plan, NULL, &error), error);
    CHECK(map->im2col && map->rank == 4 && map->channels == 8 && map->pixels == 3);
    CHECK(map->lower[0] == 0 && map->lower[1] == -1 && map->upper[0] == -2 && map->upper[1] == 1);
    CHECK(map->fill == CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA &&
          map->interleave == CU_TENSOR_MAP_INTERLEAVE_16B);
    close_all();
}

/* Each case has the column of its error in the spec, which is the column of `at` in the line. */
static void refused_maps(void)
{
    static const struct {
        const char *map, *at, *message;
    } cases[] = {
        {"a, box: [2, 257]", "[2, 257]", "an extent of the box is 1 to 256, not 257"},
        {"a, box: [2, 4]", "[2, 4]", "the inner extent must be a multiple of 16 bytes; 4 elements are 8 bytes"},
        {"a, box: [2, 64], swizzle: 64", "[2, 64]",
         "with this swizzle the inner extent has at most 64 bytes; 64 elements are 128 bytes"},
        {"a, box: [64]", "[64]", "the tensor map has 2 dimensions, so 'box' has 2 numbers, not 1"},
        {"a + 4, box: [2, 8]", "{tensor_map", "its first element must lie at a multiple of 16 bytes"},
        {"a, box: [2, 8], shape: [4, 60]", "[4, 60]",
         "a stride is a multiple of 16 bytes and less than 2^40, not 120 bytes"},
        {"a, box: [2, 8], strides: [68]", "[68]",
         "a stride is a multiple of 16 bytes and less than 2^40, not 136 bytes"},
        {"a, box: [2, 8], shape: [7, 64]", "[7, 64]", "the tensor map covers 896 bytes, and 'a' has 768 from there on"},
        {"a + 64, box: [2, 8]", "{tensor_map", "the tensor map covers 768 bytes, and 'a + 64' has 640 from there on"},
        {"a, box: [2, 8], shape: [0, 64]", "[0, 64]", "a dimension has 1 to 2^32 elements, not 0"},
        {"a, box: [2, 8], steps: [9, 1]", "[9, 1]", "a step is 1 to 8 elements, not 9"},
        {"a, box: [2, 8], swizzle: 100", "100", "swizzle is one of 0, 32, 64, 128, not 100"},
        {"a, box: [2, 8], swizzle: 64, atom: 32", "32", "'atom' and 'flip' need a swizzle of 128"},
        {"a, box: [2, 8], interleave: 32", "{tensor_map",
         "an interleaved tensor map needs at least 3 dimensions, not 2"},
        {"s, box: [1, 1, 1, 1, 16], fill: nan", "nan", "only floats can be filled with NaN"},
        {"d, box: [2]", "{tensor_map", "a tensor map has no elements of type complex64; 'type' is one of"},
        {"d, type: f32, box: [4]", "{tensor_map", "give its 'shape'"},
        {"a, type: f23, box: [2, 8]", "f23", "a tensor map has no elements of type f23"},
        {"a, shape: [2, 3, 64], lower: [5], upper: [0], channels: 8, pixels: 3", "[0]",
         "the box from corner to corner is empty"},
        {"a, shape: [2, 3, 64], lower: [0], upper: [0], channels: 257, pixels: 3", "257",
         "the channels of a pixel are 1 to 256, not 257"},
        {"a, lower: [0], upper: [0], channels: 8, pixels: 3", "[0]", "so 'lower' has 0 numbers, not 1"},
    };
    for (size_t i = 0; i < KILN__COUNT(cases); i++) {
        char text[1200], place[64];
        kiln_error *error = NULL;
        snprintf(text, sizeof text, MAPS MAPPED("%s"), cases[i].map);
        const char *line = strstr(text, "  - launch");
        snprintf(place, sizeof place, "fake.yaml:12:%d: ", (int)(strstr(line, cases[i].at) - line) + 1);
        open_maps(text);
        kiln_status status = kiln_plan_launch(plan, NULL, &error);
        bool right = status == KILN_ERROR_LAUNCH && strstr(kiln_error_message(error), cases[i].message) &&
                     strstr(kiln_error_message(error), place);
        if (!right)
            fprintf(stderr, "%s: %s\n  want %s%s\n", cases[i].map, kiln_error_message(error), place, cases[i].message);
        CHECK(right && made.calls == 0);
        kiln_error_free(error);
        close_all();
    }
}

/* Launches that the reader of the spec refuses. */
static void unreadable(void)
{
    static const char *const cases[][2] = {
        {"a", "a tensor map needs the key 'box': the extents of the box"},
        {"a, box: [1, 8], lower: [0]",
         "a tensor map needs either 'box', or 'lower', 'upper', 'channels' and 'pixels', not both"},
        {"a, lower: [0]", "a tensor map for im2col needs 'lower', 'upper', 'channels' and 'pixels'"},
        {"b, box: [1, 8]", "'tensor_map' must be a buffer"},
        {"\"null\", box: [1, 8]", "'tensor_map' must be a buffer"},
        {"a, box: []", "'box' of a tensor map has 1 to 5 numbers, not 0"},
        {"a, box: [1, 1, 1, 1, 1, 1]", "'box' of a tensor map has 1 to 5 numbers, not 6"},
        {"a, box: [1, 8], fill: one", "'fill' of a tensor map is zero or nan, not 'one'"},
        {"a, box: [1, 8], swizle: 32", "unknown key 'swizle' in a tensor map; did you mean 'swizzle'?"},
    };
    for (size_t i = 0; i < KILN__COUNT(cases); i++) {
        char text[1200];
        kiln_error *error = NULL;
        snprintf(text, sizeof text, MAPS MAPPED("%s"), cases[i][0]);
        open_engine(NULL, true);
        CHECK(try_plan(text, NULL, &error) == KILN_ERROR_SPEC);
        if (!error || !strstr(kiln_error_message(error), cases[i][1]))
            fprintf(stderr, "%s: %s\n", cases[i][0], kiln_error_message(error));
        CHECK(error && strstr(kiln_error_message(error), cases[i][1]));
        kiln_error_free(error);
        close_all();
    }
}

/* The kernel must take a map, and the driver must support maps. The driver's message is passed on. */
static void wrong_kernel_or_driver(void)
{
    kiln_error *error = NULL;
    open_maps(MAPS "  - launch: {kernel: gather, grid: [1], block: [1], args: [{tensor_map: a, box: [2, 8]}, y]}\n");
    CHECK(kiln_plan_launch(plan, NULL, &error) == KILN_ERROR_LAUNCH);
    CHECK(strstr(kiln_error_message(error), "is a tensor map, but the kernel needs a structure by value of 16 bytes: "
                                            "declare it as 'const __grid_constant__ CUtensorMap'"));
    kiln_error_free(error);
    close_all();

    error = NULL;
    open_maps(MAPS MAPPED("a, box: [2, 8]"));
    engine->driver.cuTensorMapEncodeTiled_ = NULL; /* a driver of CUDA 11 lacks this function */
    CHECK(kiln_plan_launch(plan, NULL, &error) == KILN_ERROR_UNSUPPORTED);
    CHECK(strstr(kiln_error_message(error), "fake, or its driver, has no such tensor maps"));
    kiln_error_free(error);
    error = NULL;
    engine->driver.cuTensorMapEncodeTiled_ = take_tiled;
    made.result = CUDA_ERROR_INVALID_VALUE;
    CHECK(kiln_plan_launch(plan, NULL, &error) == KILN_ERROR_DEVICE);
    CHECK(strstr(kiln_error_message(error), "making the tensor map of 'a'"));
    kiln_error_free(error);
    close_all();
}

/* ---- attributes ---- */

static struct {
    unsigned count, grid, shared;
    CUlaunchAttribute attributes[8];
    int non_portable, refuse;
    CUresult result;               /* the result of the launch */
    int most, held, blocks_per_sm; /* numbers that the driver returns afterwards; -1: the query fails */
} launched;

static CUresult CUDAAPI take_launch(const CUlaunchConfig *config, CUfunction function, void **arguments, void **extra)
{
    (void)function, (void)arguments, (void)extra;
    CHECK(config->numAttrs <= KILN__COUNT(launched.attributes));
    launched.count = config->numAttrs;
    launched.grid = config->gridDimX;
    launched.shared = config->sharedMemBytes;
    memcpy(launched.attributes, config->attrs, config->numAttrs * sizeof *config->attrs);
    return launched.result;
}

static CUresult say(int *to, int value)
{
    *to = value;
    return value < 0 ? CUDA_ERROR_NOT_SUPPORTED : CUDA_SUCCESS;
}
static CUresult CUDAAPI say_most(int *size, CUfunction function, const CUlaunchConfig *config)
{
    (void)function;
    CHECK(config->gridDimX == 32 && config->blockDimX == 2);
    return say(size, launched.most);
}
static CUresult CUDAAPI say_held(int *clusters, CUfunction function, const CUlaunchConfig *config)
{
    (void)function;
    CHECK(config->numAttrs == 1 && config->attrs[0].id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
    return say(clusters, launched.held);
}
static CUresult CUDAAPI say_blocks(int *blocks, CUfunction function, int threads, size_t shared)
{
    (void)function, (void)shared;
    CHECK(threads == 2);
    return say(blocks, launched.blocks_per_sm);
}
static CUresult CUDAAPI take_cooperative(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                         unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                                         CUstream stream, void **arguments)
{
    (void)function, (void)grid_x, (void)grid_y, (void)grid_z, (void)block_x, (void)block_y, (void)block_z;
    (void)shared, (void)stream, (void)arguments;
    return launched.result;
}

static CUresult CUDAAPI take_attribute(CUfunction function, CUfunction_attribute attribute, int value)
{
    (void)function;
    CHECK(attribute == CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED);
    if (launched.refuse)
        return (CUresult)launched.refuse;
    launched.non_portable = value;
    return CUDA_SUCCESS;
}

static const CUlaunchAttributeValue *attribute(CUlaunchAttributeID id)
{
    for (unsigned i = 0; i < launched.count; i++)
        if (launched.attributes[i].id == id)
            return &launched.attributes[i].value;
    return NULL;
}

#define LAUNCH(more) HEAD "steps:\n  - launch: {kernel: nothing, grid: [32], block: [2], args: [], " more "}\n"

static void open_launch(const char *text)
{
    memset(&launched, 0, sizeof launched);
    open_plan(text, NULL);
    engine->driver.cuLaunchKernelEx_ = take_launch;
    engine->driver.cuFuncSetAttribute_ = take_attribute;
    engine->info.features = KILN_FEATURE_CLUSTERS;
    engine->info.cc_major = 9;
}

static void attributes(void)
{
    kiln_error *error = NULL;
    open_launch(
        LAUNCH("cluster: [2, 1], cluster_scheduling: spread, overlap: true, cooperative: true, priority: 1 - N, "
               "carveout: 75, shared: 64"));
    CHECK_OK(kiln_plan_launch(plan, NULL, &error), error);
    CHECK(launched.count == 6 && launched.grid == 32 && launched.shared == 64 && launched.non_portable == 0);
    const CUlaunchAttributeValue *cluster = attribute(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
    CHECK(cluster && cluster->clusterDim.x == 2 && cluster->clusterDim.y == 1 && cluster->clusterDim.z == 1);
    const CUlaunchAttributeValue *policy = attribute(CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE);
    CHECK(policy && policy->clusterSchedulingPolicyPreference == CU_CLUSTER_SCHEDULING_POLICY_SPREAD);
    const CUlaunchAttributeValue *overlap = attribute(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION);
    CHECK(overlap && overlap->programmaticStreamSerializationAllowed == 1);
    const CUlaunchAttributeValue *priority = attribute(CU_LAUNCH_ATTRIBUTE_PRIORITY);
    CHECK(priority && priority->priority == -3);
    const CUlaunchAttributeValue *carveout = attribute(CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT);
    CHECK(carveout && carveout->sharedMemCarveout == 75 && attribute(CU_LAUNCH_ATTRIBUTE_COOPERATIVE));
    const kiln_kernel_info *info = kiln_plan_kernel(plan, 0);
    CHECK(info->cluster[0] == 2 && info->cluster[2] == 1 && info->cooperative && info->overlap);
    CHECK(info->priority == -3 && info->carveout == 75);
    CHECK_TEXT(info->cluster_scheduling, "spread");
    close_all();

    open_launch(LAUNCH("cluster: [16]")); /* 16 blocks are more than any device has */
    CHECK_OK(kiln_plan_launch(plan, NULL, &error), error);
    CHECK(launched.count == 1 && launched.non_portable == 1);
    close_all();

    open_launch(LAUNCH("shared: 0")); /* 0 bytes: the launch has no such attribute */
    CHECK_OK(kiln_plan_launch(plan, NULL, &error), error);
    info = kiln_plan_kernel(plan, 0);
    CHECK(launched.grid == 0 && info->carveout == -1 && info->cluster[0] == 0 && !info->overlap);
    CHECK_TEXT(info->cluster_scheduling, "");
    close_all();
}

/* Attributes of a launch that the device or its driver refuses: the message has the reason. */
static void refused_attributes(void)
{
    static const struct {
        const char *more, *message;
        int cc, refuse;
        kiln_status status;
    } cases[] = {
        {"cluster: [3]", "grid x = 32 is not a multiple of the cluster's 3", 9, 0, KILN_ERROR_LAUNCH},
        {"cluster: [16, 2]", "grid y = 1 is not a multiple of the cluster's 2", 9, 0, KILN_ERROR_LAUNCH},
        {"cluster: [2]", "fake, or its driver, has no clusters", 8, 0, KILN_ERROR_UNSUPPORTED},
        {"cluster: [16]", "allowing nothing clusters of 16 blocks", 9, CUDA_ERROR_INVALID_VALUE, KILN_ERROR_DEVICE},
        {"overlap: true", "'overlap' needs compute capability 9.0, and fake has 8.0", 8, 0, KILN_ERROR_UNSUPPORTED},
        {"carveout: 101", "carveout = 101 is outside 0 .. 100", 9, 0, KILN_ERROR_LAUNCH},
    };
    for (size_t i = 0; i < KILN__COUNT(cases); i++) {
        char text[900];
        kiln_error *error = NULL;
        snprintf(text, sizeof text, LAUNCH("%s"), cases[i].more);
        open_launch(text);
        launched.refuse = cases[i].refuse;
        engine->info.cc_major = cases[i].cc;
        engine->info.features = cases[i].cc >= 9 ? KILN_FEATURE_CLUSTERS : 0;
        kiln_status status = kiln_plan_launch(plan, NULL, &error);
        if (status != cases[i].status || !strstr(kiln_error_message(error), cases[i].message))
            fprintf(stderr, "%s: %d %s\n", cases[i].more, (int)status, kiln_error_message(error));
        CHECK(status == cases[i].status && strstr(kiln_error_message(error), cases[i].message) && !launched.grid);
        kiln_error_free(error);
        close_all();
    }
}

/* The driver returns only an error code. Kiln's message must have numbers, and must say what to change. */
static void refused_launches(void)
{
    static const struct {
        const char *more;
        CUresult result;
        int most, held, blocks, version;
        const char *says;
        kiln_status status;
    } cases[] = {
        {"cluster: [16]", CUDA_ERROR_INVALID_CLUSTER_SIZE, 8, 0, 1, 13000,
         "; fake has clusters of at most 8 such blocks, and this one has 16: ", KILN_ERROR_LAUNCH},
        {"cluster: [4, 1]", CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, 1, 0, 1, 13000,
         "; fake has clusters of at most 1 such block, and this one has 4: ", KILN_ERROR_LAUNCH},
        {"cluster: [8]", CUDA_ERROR_INVALID_CLUSTER_SIZE, -1, 0, 1, 13000,
         "; no group of SMs of fake has room for a cluster of 8 such blocks: ", KILN_ERROR_LAUNCH},
        {"cluster: [8], cooperative: true", CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, 8, 2, 3, 13000,
         "; a cooperative launch needs room for all of its 32 blocks at once, and fake has room for 30, 3 on each of "
         "10 "
         "multiprocessors: ",
         KILN_ERROR_LAUNCH},
        {"cluster: [8], cooperative: true", CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, 8, 3, 4, 13000,
         "; a cooperative launch needs room for all of its 4 clusters of 8 blocks at once, and fake has room for 3: ",
         KILN_ERROR_LAUNCH},
        {"cooperative: true", CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, -1, -1, 0, 13000, "has room for 0, 0 on each",
         KILN_ERROR_LAUNCH},
        {"carveout: 50, priority: 1", CUDA_ERROR_INVALID_VALUE, -1, -1, 9, 11040,
         "; the driver is for CUDA 11.4 and may not know 'priority', 'carveout': ", KILN_ERROR_DEVICE},
        /* The driver gives no numbers, or the numbers explain nothing: the message has no sentence about them. */
        {"carveout: 50", CUDA_ERROR_INVALID_VALUE, -1, -1, 9, CUDA_VERSION, "shared memory: CUDA_ERROR",
         KILN_ERROR_DEVICE},
        {"cluster: [8]", CUDA_ERROR_INVALID_CLUSTER_SIZE, 8, 4, 9, CUDA_VERSION, "shared memory: CUDA_ERROR",
         KILN_ERROR_LAUNCH},
        {"cluster: [8]", CUDA_ERROR_LAUNCH_FAILED, 2, 0, 9, 11040, "shared memory: CUDA_ERROR", KILN_ERROR_DEVICE},
    };
    for (size_t i = 0; i < KILN__COUNT(cases); i++) {
        char text[900];
        kiln_error *error = NULL;
        snprintf(text, sizeof text, LAUNCH("%s"), cases[i].more);
        open_launch(text);
        kiln__driver *driver = &engine->driver;
        const kiln__simulator *simulator = driver->simulator;
        driver->cuOccupancyMaxPotentialClusterSize_ = say_most;
        driver->cuOccupancyMaxActiveClusters_ = say_held;
        driver->cuOccupancyMaxActiveBlocksPerMultiprocessor_ = say_blocks;
        driver->cuLaunchCooperativeKernel_ = take_cooperative;
        driver->simulator = NULL;
        driver->version = cases[i].version;
        engine->info.sm_count = 10;
        launched.result = cases[i].result;
        launched.most = cases[i].most, launched.held = cases[i].held, launched.blocks_per_sm = cases[i].blocks;
        kiln_status status = kiln_plan_launch(plan, NULL, &error);
        const char *message = kiln_error_message(error);
        if (status != cases[i].status || !strstr(message, cases[i].says))
            fprintf(stderr, "%s: %d %s\n", cases[i].more, (int)status, message);
        CHECK(status == cases[i].status && strstr(message, cases[i].says));
        CHECK(kiln_error_cuda(error) == (int)cases[i].result);
        kiln_error_free(error);
        driver->simulator = simulator;
        close_all();
    }

    kiln_error *error = NULL;
    open_launch(LAUNCH("overlap: true"));
    engine->driver.cuLaunchKernelEx_ = NULL;
    engine->driver.version = 11040;
    CHECK(kiln_plan_launch(plan, NULL, &error) == KILN_ERROR_UNSUPPORTED);
    CHECK(strstr(kiln_error_message(error), "; the driver is for CUDA 11.4 and has no launches with 'overlap': "));
    kiln_error_free(error);
    close_all();
}

static const check_case cases[] = {{"defaults of tensor maps", defaults},
                                   {"all fields of tensor maps", all_fields},
                                   {"refused tensor maps", refused_maps},
                                   {"unreadable tensor maps", unreadable},
                                   {"wrong kernel or driver", wrong_kernel_or_driver},
                                   {"attributes", attributes},
                                   {"refused attributes", refused_attributes},
                                   {"refused launches", refused_launches}};

int main(int count, char **arguments) { return check_main(count, arguments, "plan.launch", cases, KILN__COUNT(cases)); }
