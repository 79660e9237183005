/* Tests .npy files: reading, writing, and broken files. */
#include <unistd.h>

#include "arrays.h"

static char npy[4096];

/* Makes a file of version `major` with this header and data. Returns its size. */
static size_t make_npy(int major, const char *header, const void *data, size_t bytes)
{
    size_t n = strlen(header), at = major == 1 ? 10 : 12;
    memcpy(npy, "\x93NUMPY", 6);
    npy[6] = (char)major;
    npy[7] = 0;
    npy[8] = (char)(n & 255);
    npy[9] = (char)(n >> 8);
    if (major > 1)
        npy[10] = npy[11] = 0;
    memcpy(npy + at, header, n);
    memcpy(npy + at + n, data, bytes);
    return at + n + bytes;
}

static void npy_fails(size_t length, const char *message)
{
    kiln_array array;
    kiln_error *error = NULL;
    /* the array ends with its block, so a sanitizer finds a read past the end */
    char *copy = malloc(length ? length : 1);
    memcpy(copy, npy, length);
    CHECK(kiln__npy_parse(NULL, "a.npy", copy, length, 1000, &array, &error) != KILN_OK);
    CHECK_TEXT(kiln_error_message(error), message);
    kiln_error_free(error);
    free(copy);
}

static void test_npy_read(void)
{
    const int32_t six[] = {1, 2, 3, 4, 5, 6};
    kiln_array array;
    kiln_error *error = NULL;
    /* A header as numpy.save writes it. */
    size_t n = make_npy(1, "{'descr': '<i4', 'fortran_order': False, 'shape': (2, 3), }          \n", six, sizeof six);
    CHECK_OK(kiln__npy_parse(NULL, "a.npy", npy, n, 24, &array, &error), error);
    CHECK(array.type == KILN_i32 && array.dims == 2 && array.shape[0] == 2 && array.shape[1] == 3);
    CHECK(memcmp(array.data, six, sizeof six) == 0);
    kiln__array_free(NULL, &array);
    n = make_npy(2, "{\"shape\": (2L,3L), 'fortran_order':True,'descr': '<i4'}", six, sizeof six);
    CHECK_OK(kiln__npy_parse(NULL, "a.npy", npy, n, 24, &array, &error), error);
    CHECK(memcmp(array.data, (int32_t[]){1, 3, 5, 2, 4, 6}, sizeof six) == 0);
    kiln__array_free(NULL, &array);
    n = make_npy(3, "{'descr': '|b1', 'fortran_order': False, 'shape': ()}\n", "\1", 1);
    CHECK_OK(kiln__npy_parse(NULL, "a.npy", npy, n, 24, &array, &error), error);
    CHECK(array.type == KILN_bool && array.dims == 0 && *(char *)array.data == 1);
    kiln__array_free(NULL, &array);
    n = make_npy(1, "{'descr': '<f8', 'fortran_order': True, 'shape': (0, 7)}\n", "", 0);
    CHECK_OK(kiln__npy_parse(NULL, "a.npy", npy, n, 24, &array, &error), error);
    CHECK(array.dims == 2 && array.shape[0] == 0);
    kiln__array_free(NULL, &array);
}

/* Tests headers that are broken or describe arrays that kiln does not read. Each has its own message. */
static void test_npy_broken(void)
{
    const int32_t six[] = {1, 2, 3, 4, 5, 6};
    memcpy(npy, "\x93NUMPX123456", 12);
    npy_fails(0, "a.npy: is not a .npy file: it does not start with \\x93NUMPY");
    npy_fails(12, "a.npy: is not a .npy file: it does not start with \\x93NUMPY");
    size_t n = make_npy(1, "{'descr': '<i4', 'fortran_order': False, 'shape': (2, 3), }\n", six, sizeof six);
    npy_fails(n - 1, "a.npy: is incomplete: its header describes 24 bytes of data, but it has 23");
    npy_fails(40, "a.npy: ends within its header");
    npy[6] = 4;
    npy_fails(n, "a.npy: has an unknown .npy version (1.0 to 3.0 are supported)");
#define HEADER(text, message) npy_fails(make_npy(1, text, six, sizeof six), message)
    HEADER("", "a.npy: has a header that is not a Python dict");
    HEADER("{", "a.npy: has a header that is not a Python dict");
    HEADER("{'descr': '<i4'", "a.npy: has a header that is not a Python dict");
    HEADER("{'descr': '<i4'}", "a.npy: has an incomplete header");
    HEADER(
        "{'descr': '<M8', 'fortran_order': False, 'shape': (2,)}",
        "a.npy: holds elements of type '<M8'; kiln reads i8 u8 i16 u16 i32 u32 i64 u64 f16 f32 f64 bf16 f8e4m3 f8e5m2 "
        "bool complex64 complex128 f4e2m1 f6e2m3 f6e3m2 ue8m0");
    HEADER("{'descr': [('a', '<i4')], 'fortran_order': False, 'shape': (2,)}",
           "a.npy: holds records; kiln reads arrays of plain numbers");
    HEADER("{'descr': '>i4', 'fortran_order': False, 'shape': (2,)}",
           "a.npy: is big-endian; save it as little-endian (array.astype(dtype.newbyteorder('<')))");
    HEADER("{'descr': '<i4', 'fortran_order': 1, 'shape': (2,)}",
           "a.npy: has no readable 'fortran_order' in its header");
    HEADER("{'descr': '<i4', 'fortran_order': False, 'shape': 2}", "a.npy: has no readable 'shape' in its header");
    HEADER("{'descr': '<i4', 'fortran_order': False, 'shape': (-1,)}", "a.npy: has a malformed 'shape' in its header");
    HEADER("{'descr': '<i4', 'fortran_order': False, 'shape': (1,,)}", "a.npy: has a malformed 'shape' in its header");
    HEADER("{'descr': '<i4', 'fortran_order': False, 'shape': (99999999999999999999,)}",
           "a.npy: has a malformed 'shape' in its header");
    HEADER("{'descr': '<i4', 'fortran_order': False, 'shape': (4294967296,4294967296)}",
           "a.npy: its header describes more elements than can be addressed");
    HEADER("{'descr': '<i4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1)}",
           "a.npy: has more than 8 dimensions");
    HEADER("{'descr': '<i4', 'descr': '<i4'}", "a.npy: has an unknown key in its header");
    HEADER("{'descr': '<i4', 'fortran_order': False, 'shape': (2,)} x", "a.npy: has an incomplete header");
#undef HEADER
    char big[1200] = {0};
    npy_fails(make_npy(1, "{'descr': '<i4', 'fortran_order': False, 'shape': (300,)}", big, sizeof big),
              "a.npy: holds 1200 bytes of data, at most 1000 are allowed here");
}

/* Tests .npy files on disk: limits, links, missing files, and files that change during the read. */
static void test_npy_files(void)
{
    char path[] = "/tmp/kiln-npy-XXXXXX";
    int fd = mkstemp(path);
    CHECK(fd >= 0);
    kiln_error *error = NULL;
    kiln_array out = make(KILN_f64, 2, 3, 4), in;
    fill(&out, (kiln__fill_values){.kind = KILN__FILL_IOTA, .a = 0.5, .b = 1});
    CHECK_OK(kiln__npy_write(NULL, path, &out, &error), error);
    CHECK_OK(kiln__npy_read(NULL, path, 96, &in, &error), error);
    CHECK(in.type == KILN_f64 && in.dims == 2 && in.shape[0] == 3 && in.shape[1] == 4);
    CHECK(memcmp(in.data, out.data, 96) == 0);
    char *text;
    size_t length;
    CHECK_OK(kiln__file_read(NULL, path, 0, &text, &length, &error), error);
    CHECK(length == 128 + 96);
    static const char head[] = "{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }";
    CHECK(memcmp(text + 10, head, sizeof head - 1) == 0);
    CHECK(text[127] == '\n');
    kiln__free(NULL, text);
    kiln__array_free(NULL, &in);
    CHECK(kiln__npy_read(NULL, path, 95, &in, &error) == KILN_ERROR_REFUSED);
    kiln_error_free(error);
    error = NULL;
    CHECK(truncate(path, 200) == 0);
    CHECK(kiln__npy_read(NULL, path, 96, &in, &error) == KILN_ERROR_IO);
    CHECK(strstr(kiln_error_message(error), "is incomplete: its header describes 96 bytes of data, but it has 72"));
    kiln_error_free(error);
    error = NULL;
    CHECK(truncate(path, 20) == 0);
    CHECK(kiln__npy_read(NULL, path, 96, &in, &error) == KILN_ERROR_IO);
    kiln_error_free(error);
    error = NULL;
    unlink(path);
    close(fd);
    CHECK(kiln__npy_read(NULL, path, 96, &in, &error) == KILN_ERROR_NOT_FOUND);
    kiln_error_free(error);
    error = NULL;
    CHECK(kiln__npy_read(NULL, "/dev/zero", 96, &in, &error) == KILN_ERROR_IO);
    kiln_error_free(error);
    kiln__array_free(NULL, &out);
}

/* Tests the types that numpy writes. With ml_dtypes, numpy writes bf16 and floats of one byte as bytes without a
 * type. */
static void test_npy_types(void)
{
    static const struct {
        const char *descr;
        kiln_type type;
        bool told;
    } types[] = {{"'<V2'", KILN_bf16, true}, {"'|V1'", KILN_f8e4m3, false},   {"'<V1'", KILN_f8e4m3, false},
                 {"'|b1'", KILN_bool, true}, {"'<c8'", KILN_complex64, true}, {"'<c16'", KILN_complex128, true},
                 {"'<f2'", KILN_f16, true},  {"'<f1'", KILN_f8e4m3, false},   {"'=V2'", KILN_bf16, true}};
    char path[] = "/tmp/kiln-types-XXXXXX", data[16] = "0123456789abcde", header[100];
    kiln_error *error = NULL;
    kiln_array array;
    int fd = mkstemp(path);
    CHECK(fd >= 0);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        size_t size = kiln__type_bytes(types[i].type);
        snprintf(header, sizeof header, "{'descr': %s, 'fortran_order': False, 'shape': (1,)}", types[i].descr);
        size_t n = make_npy(1, header, data, size);
        CHECK_OK(kiln__npy_parse(NULL, "a.npy", npy, n, 24, &array, &error), error);
        CHECK(array.type == types[i].type && memcmp(array.data, data, size) == 0);
        CHECK(kiln__type_told(array.type) == types[i].told);
        kiln__array_free(NULL, &array);
    }
    for (unsigned t = 0; t < KILN_TYPE_COUNT; t++) { /* an array that is written is read again with the same type */
        kiln_array out = make((kiln_type)t, 1, 3, 0);
        CHECK_OK(kiln__npy_write(NULL, path, &out, &error), error);
        CHECK_OK(kiln__npy_read(NULL, path, 48, &array, &error), error);
        CHECK(kiln__type_reads((kiln_type)t, array.type) && kiln__type_bytes(array.type) == kiln__type_bytes(out.type));
        kiln__array_free(NULL, &array);
        kiln__array_free(NULL, &out);
    }
    CHECK(kiln__type_reads(KILN_f4e2m1, KILN_f8e4m3) && kiln__type_reads(KILN_ue8m0, KILN_u8));
    CHECK(kiln__type_reads(KILN_f8e5m2, KILN_f8e4m3) && kiln__type_reads(KILN_u8, KILN_bool));
    /* Integers of the same size stand for the bits of such types. */
    CHECK(kiln__type_reads(KILN_bf16, KILN_u16) && kiln__type_reads(KILN_f8e5m2, KILN_i8));
    CHECK(!kiln__type_reads(KILN_f16, KILN_u16) && !kiln__type_reads(KILN_bf16, KILN_u32));
    CHECK(!kiln__type_reads(KILN_bool, KILN_u8) && !kiln__type_reads(KILN_bf16, KILN_f16));
    close(fd);
    unlink(path);
    npy_fails(make_npy(1, "{'descr': '>V2', 'fortran_order': False, 'shape': (1,)}", data, 2),
              "a.npy: is big-endian; save it as little-endian (array.astype(dtype.newbyteorder('<')))");
}

static void test_npy_memory(void)
{
    const int32_t six[] = {1, 2, 3, 4, 5, 6};
    size_t n = make_npy(1, "{'descr': '<i4', 'fortran_order': True, 'shape': (2, 3), }\n", six, sizeof six);
    for (long k = 0; k < 100; k++) {
        check_oom oom = {.countdown = k};
        kiln_allocator mem = {check_oom_resize, &oom};
        kiln_array array;
        kiln_error *error = NULL;
        kiln_status status = kiln__npy_parse(&mem, "a.npy", npy, n, 24, &array, &error);
        CHECK((status != KILN_OK) == oom.failed);
        if (status == KILN_OK)
            kiln__array_free(&mem, &array);
        kiln_error_free(error);
        CHECK(oom.live == 0);
        if (!oom.failed)
            return;
    }
    CU_FAIL("never ran through");
}

static const check_case cases[] = {
    {"npy read", test_npy_read},   {"npy broken", test_npy_broken}, {"npy files", test_npy_files},
    {"npy types", test_npy_types}, {"npy memory", test_npy_memory},
};
KILN_SUITE("data.npy", cases)
