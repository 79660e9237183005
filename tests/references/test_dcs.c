/* Tests direct Coulomb summation: atoms from files, generated atoms, and the reference compared with a plain sum. */
#include <inttypes.h>
#include <math.h>

#include "data/arrays.h"
#include "hosts.h"
#include "atoms.h"

/* ---- files ---- */

static void reads(const char *text, const char *want) /* "x y z charge; ..." */
{
    kiln__atoms atoms;
    kiln_error *error = NULL;
    char got[1024] = "";
    size_t at = 0;
    CHECK_OK(kiln__atoms_parse(NULL, "a", text, strlen(text), &atoms, &error), error);
    for (size_t i = 0; i < atoms.count; i++) {
        const float *a = atoms.items[i];
        at += (size_t)snprintf(got + at, sizeof got - at, "%s%g %g %g %g", i ? "; " : "", (double)a[0], (double)a[1],
                               (double)a[2], (double)a[3]);
    }
    CHECK_TEXT(got, want);
    kiln__atoms_free(NULL, &atoms);
}

static void refuses(const char *text, const char *why)
{
    kiln__atoms atoms;
    kiln_error *error = NULL;
    CHECK(kiln__atoms_parse(NULL, "a", text, strlen(text), &atoms, &error) == KILN_ERROR_SPEC);
    CHECK_TEXT(kiln_error_message(error), why);
    CHECK(!atoms.items && atoms.count == 0);
    kiln_error_free(error);
}

static void test_files(void)
{
    reads("2\na comment\nO 1 2 3\nH -1.5 2e1 +.5 0.25\n", "1 2 3 1; -1.5 20 0.5 0.25");
    /* lines with more columns, and a file with more frames */
    reads("1\r\n\r\n C\t1 2 3 -1 7 8\r\n1\n\nC 4 5 6\n", "1 2 3 -1");
    reads("0\n", "");
    reads("REMARK 1 2\n\nATOM 1 N ALA 1 1 2 3 -0.5 1.8\nHETATM 2 NA NA A 2 4 5 6 1 1.9\nATOMS\nEND",
          "1 2 3 -0.5; 4 5 6 1");
    reads("ATOM 1 2 3 4 5", "1 2 3 4");
}

static void test_refused(void)
{
    refuses("", "a:1:1: no line begins with ATOM or HETATM, and the first is not a number of atoms");
    refuses("REMARK\nEND\n", "a:3:1: no line begins with ATOM or HETATM, and the first is not a number of atoms");
    refuses("ATOM 1 2 3 4\n", "a:1:13: an atom ends with five numbers: x, y, z, charge, radius");
    refuses("ATOM N 1 2 3x 4 5\n", "a:1:12: a finite number of single precision is expected here");
    refuses("ATOM N 1 2 1e39 4 5\n", "a:1:12: a finite number of single precision is expected here");
    refuses("ATOM N nan 2 1 4 5\n", "a:1:8: a finite number of single precision is expected here");
    refuses("2\n\nC 1 2 3\n", "a:4:1: the file ends before the atoms that its first line announces");
    refuses("2\n\nC 1 2 3\n\nC 1 2 3\n", "a:4:1: an empty line, where an atom is expected: name x y z [charge]");
    refuses("1\n\nC 1 2\n", "a:3:6: a finite number of single precision is expected here");
    refuses("1\n\nC 1 2 3 q\n", "a:3:9: a finite number of single precision is expected here");
    for (long n = 0;; n++) {
        check_oom oom = {.countdown = n};
        kiln_allocator mem = {check_oom_resize, &oom};
        kiln__atoms atoms;
        kiln_error *error = NULL;
        kiln_status status = kiln__atoms_parse(&mem, "a", "ATOM 1 2 3 4 5", 14, &atoms, &error);
        CHECK(status == (oom.failed ? KILN_ERROR_MEMORY : KILN_OK));
        kiln_error_free(error);
        kiln__atoms_free(&mem, &atoms);
        CHECK(oom.live == 0);
        if (!oom.failed)
            break;
    }
}

/* ---- made atoms ---- */

static kiln_array made(const char *kind, int64_t count, const int64_t points[3], double *charge)
{
    kiln__call_arg args[] = {{.name = "atoms", .value = {.kind = KILN_TEXT, .as.text = kind}},
                             {.name = "count", .value = {.kind = KILN_INT, .as.i = count}},
                             {.name = "nx", .value = {.kind = KILN_INT, .as.i = points[0]}},
                             {.name = "ny", .value = {.kind = KILN_INT, .as.i = points[1]}},
                             {.name = "nz", .value = {.kind = KILN_INT, .as.i = points[2]}},
                             {.name = "spacing", .value = {.kind = KILN_FLOAT, .as.f = 0.5}},
                             {.name = "seed", .value = {.kind = KILN_INT, .as.i = 7}}};
    kiln_call call = {.arg_count = KILN__COUNT(args), .args = args};
    kiln_error *error = NULL;
    CHECK_OK(kiln__call(&call, builtin("dcs_atoms"), (kiln__pos){0}, &error), error);
    const kiln__export *export = kiln__export_find(call.exports, "atoms");
    CU_ASSERT_PTR_NOT_NULL_FATAL(export);
    kiln_array copy = make(KILN_f32, 2, export->array.shape[0], 4);
    memcpy(copy.data, export->array.data, (size_t)copy.shape[0] * 16);
    *charge = kiln__export_find(call.exports, "charge")->value.as.f;
    kiln__call_free(&call);
    return copy;
}

static void test_made(void)
{
    const int64_t points[3] = {20, 8, 5};
    for (int kind = 0; kind < 3; kind++) {
        const char *names[] = {"uniform", "on_grid", "coincident"};
        double charge, sum = 0;
        kiln_array atoms = made(names[kind], 500, points, &charge);
        const float *a = atoms.data;
        CHECK(atoms.shape[0] == 500);
        for (size_t i = 0; i < 500; i++, a += 4) {
            for (int k = 0; k < 3; k++) {
                CHECK(a[k] >= 0 && a[k] <= 0.5F * (float)points[k]);
                CHECK(kind == 0 || a[k] == 0.5F * (float)(int)(a[k] / 0.5F));
                CHECK(kind < 2 || a[k] == 0.5F * (float)(points[k] / 2));
            }
            CHECK(a[3] >= (kind == 2 ? 0 : -1) && a[3] < 1);
            sum += fabs((double)a[3]);
        }
        CHECK(sum == charge && sum > 200 && sum < 300);
        kiln__array_free(NULL, &atoms);
    }
}

/* ---- the reference ---- */

static void compute(const char *host, const char *spacing, kiln_array *atoms, kiln_array *energy)
{
    kiln__call_arg args[] = {
        {.name = "atoms", .kind = KILN__CALL_ARRAY, .array = atoms},
        {.name = "energy", .kind = KILN__CALL_ARRAY, .array = energy, .writable = true},
        {.name = spacing, .value = {.kind = KILN_FLOAT, .as.f = 0.3}},
    };
    kiln_call call = {.arg_count = KILN__COUNT(args), .args = args};
    kiln_error *error = NULL;
    CHECK_OK(kiln__call(&call, builtin(host), (kiln__pos){0}, &error), error);
    kiln__call_free(&call);
}

/* dcs_f64 equals a plain loop in double over all atoms, and the variants on the host agree with dcs_f64. */
static void test_reference(void)
{
    enum { NX = 71, NY = 5, NZ = 3 };
    const int64_t points[3] = {NX, NY, NZ};
    const uint64_t shape[3] = {NZ, NY, NX};
    double charge;
    kiln_array atoms = made("uniform", 97, points, &charge), energy = {0}, other = {0};
    kiln_error *error = NULL;
    CHECK_OK(kiln__array_make(NULL, KILN_f32, 3, shape, &energy, &error), error);
    compute("dcs_f64", "SPACING", &atoms, &energy);
    for (int i = 0; i < NX * NY * NZ; i++) {
        double sum = 0, at[3] = {(double)((float)(i % NX) * 0.3F), (double)((float)(i / NX % NY) * 0.3F),
                                 (double)((float)(i / NX / NY) * 0.3F)};
        for (size_t a = 0; a < 97; a++) {
            const float *atom = (const float *)atoms.data + 4 * a;
            double square = 0;
            for (int k = 0; k < 3; k++)
                square += (at[k] - (double)atom[k]) * (at[k] - (double)atom[k]);
            sum += (double)atom[3] / sqrt(square);
        }
        CHECK(fabs((double)((float *)energy.data)[i] - sum) <= 6e-8 * fabs(sum) + 1e-9 * charge);
    }
    const char *hosts[] = {"dcs_scatter_c", "dcs_gather_c", "dcs_blocked_c"};
    for (int h = 0; h < 3; h++) {
        CHECK_OK(kiln__array_make(NULL, KILN_f32, 3, shape, &other, &error), error);
        compute(hosts[h], "spacing", &atoms, &other);
        for (int i = 0; i < NX * NY * NZ; i++)
            CHECK(fabsf(((float *)other.data)[i] - ((float *)energy.data)[i]) <= 1e-4F);
        kiln__array_free(NULL, &other);
    }
    kiln__array_free(NULL, &energy);
    kiln__array_free(NULL, &atoms);
}

static void test_reference_special(void)
{
    const struct {
        float atom[4], want; /* `want` is the energy at the first point */
    } cases[] = {{{0, 0, 0, 2}, INFINITY},        {{0, 0, 0, -2}, -INFINITY},         {{0, 0, 0, 0}, NAN},
                 {{1e-20F, 0, 0, 1}, INFINITY}, /* the square of this distance is no normal number */
                 {{1e-18F, 0, 0, 1}, 1e18F},      {{1e18F, 0, 0, 1e18F}, 1},          {{1e20F, 0, 0, 1e20F}, 0},
                 {{INFINITY, 0, 0, 1}, 0},        {{0, -INFINITY, 0, INFINITY}, NAN}, {{0, 0, NAN, 1}, NAN},
                 {{0, 4, 0, INFINITY}, INFINITY}, {{0, 4, 0, 1e-40F}, 0.25e-40F}};
    for (size_t i = 0; i < KILN__COUNT(cases); i++) {
        kiln_array atoms = make(KILN_f32, 2, 1, 4), energy = {0};
        kiln_error *error = NULL;
        CHECK_OK(kiln__array_make(NULL, KILN_f32, 3, (const uint64_t[]){1, 1, 1}, &energy, &error), error);
        memcpy(atoms.data, cases[i].atom, sizeof cases[i].atom);
        compute("dcs_f64", "SPACING", &atoms, &energy);
        float got = *(float *)energy.data, want = cases[i].want;
        bool same = isnan(want) ? isnan(got) : isinf(want) ? got == want : fabsf(got - want) <= 1e-6F * want + 2e-45F;
        if (!same)
            fprintf(stderr, "  case %zu: %g\n", i, (double)got);
        CHECK(same);
        kiln__array_free(NULL, &energy);
        kiln__array_free(NULL, &atoms);
    }
}

static const check_case tests[] = {
    {"files", test_files},
    {"files: refused", test_refused},
    {"made atoms", test_made},
    {"the reference and the host variants", test_reference},
    {"the reference: special numbers", test_reference_special},
};
KILN_SUITE("dcs", tests)
