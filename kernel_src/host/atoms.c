/* atoms.c - reads point charges from .pqr and .xyz files, and makes the input dcs_atoms. */
#include <math.h>
#include <string.h>

#include "chars.h"
#include "atoms.h"
#include "catalogue.h"
#include "lines.h"
#include "random.h"

enum { MOST_ATOMS = 1 << 28 };

void kiln__atoms_free(const kiln_allocator *mem, kiln__atoms *atoms)
{
    kiln__free(mem, atoms->items);
    *atoms = (kiln__atoms){0};
}

/* ---- .pqr and .xyz files ---- */

typedef struct reader {
    kiln__lines lines;
    kiln__atoms *atoms;
    bool xyz;
    uint64_t line;   /* number of lines read so far */
    uint64_t wanted; /* number of atoms that the first line of an .xyz file announces */
    bool failed, out_of_memory;
} reader;

static void fail(reader *r, uint64_t place, const char *line, const char *at, const char *why)
{
    r->failed = true;
    kiln__lines_fail(&r->lines, place + (uint64_t)(at - line), why);
}

/* Sets *word to the next word from *at on, and moves *at to the end of the word. Returns the length of the word, or 0
 * if there is no word before `end`. */
static size_t next_word(const char **at, const char *end, const char **word)
{
    while (*at < end && kiln__is_blank(**at))
        ++*at;
    *word = *at;
    while (*at < end && !kiln__is_blank(**at))
        ++*at;
    return (size_t)(*at - *word);
}

/* Reads `count` numbers, each of which is a whole word. */
static bool read_numbers(reader *r, const char *line, const char *at, const char *end, uint64_t place, size_t count,
                         float *numbers)
{
    for (size_t i = 0; i < count; i++) {
        const char *word, *behind = at;
        next_word(&behind, end, &word);
        at = word;
        if (!kiln__read_float(&at, &numbers[i]) || at != behind) {
            fail(r, place, line, word, "a finite number of single precision is expected here");
            return false;
        }
    }
    return true;
}

static void add_atom(reader *r, const char *line, const float atom[4], uint64_t place)
{
    kiln__atoms *atoms = r->atoms;
    if (atoms->count == MOST_ATOMS) {
        fail(r, place, line, line, "more than 2^28 atoms");
        return;
    }
    if (!kiln__grow(r->lines.mem, &atoms->items, &atoms->capacity, atoms->count + 1, sizeof *atoms->items)) {
        r->failed = r->out_of_memory = true;
        return;
    }
    memcpy(atoms->items[atoms->count++], atom, sizeof *atoms->items);
}

static void pqr_line(reader *r, const char *line, const char *end, uint64_t place)
{
    const char *at = line, *word, *last[5] = {0};
    size_t length = next_word(&at, end, &word), words = 0;
    bool is_atom = (length == 4 && memcmp(word, "ATOM", 4) == 0) || (length == 6 && memcmp(word, "HETATM", 6) == 0);
    if (!is_atom)
        return;
    while (next_word(&at, end, &word) > 0)
        last[words++ % 5] = word;
    float numbers[5];
    if (words < 5)
        fail(r, place, line, at, "an atom ends with five numbers: x, y, z, charge, radius");
    else if (read_numbers(r, line, last[words % 5], end, place, 5, numbers))
        add_atom(r, line, numbers, place);
}

static void xyz_line(reader *r, const char *line, const char *end, uint64_t place)
{
    const char *at = line, *word;
    if (r->line == 0) {
        if (!kiln__read_u64(&at, &r->wanted) || !kiln__read_end(&at, end))
            fail(r, place, line, line, "the first line is the number of atoms");
        return;
    }
    if (r->line == 1 || r->atoms->count == r->wanted) /* the line is the comment, or it comes after the last atom */
        return;
    float atom[4] = {0, 0, 0, 1};
    if (next_word(&at, end, &word) == 0) {
        fail(r, place, line, line, "an empty line, where an atom is expected: name x y z [charge]");
        return;
    }
    const char *behind = at;
    for (int i = 0; i < 3; i++)
        next_word(&behind, end, &word);
    bool charged = next_word(&behind, end, &word) > 0;
    if (read_numbers(r, line, at, end, place, charged ? 4 : 3, atom))
        add_atom(r, line, atom, place);
}

static void read_line(void *user, const char *line, const char *end, uint64_t place)
{
    reader *r = user;
    if (r->failed)
        return;
    if (r->xyz)
        xyz_line(r, line, end, place);
    else
        pqr_line(r, line, end, place);
    r->line++;
}

kiln_status kiln__atoms_parse(const kiln_allocator *mem, const char *name, const char *text, size_t length,
                              kiln__atoms *atoms, kiln_error **error)
{
    reader r = {.atoms = atoms};
    const char *at = text, *newline = memchr(text, '\n', length), *end = newline ? newline : text + length;
    uint64_t number;
    *atoms = (kiln__atoms){0};
    r.xyz = kiln__read_u64(&at, &number) && kiln__read_end(&at, end);
    kiln__lines_init(&r.lines, mem, name, text, -1, length);
    for (size_t part = 0; part < kiln__lines_parts(&r.lines) && !r.failed; part++)
        kiln__lines_walk(&r.lines, part, read_line, &r);
    if (!r.failed && r.xyz && atoms->count < r.wanted)
        kiln__lines_fail(&r.lines, length, "the file ends before the atoms that its first line announces");
    else if (!r.failed && !r.xyz && atoms->count == 0)
        kiln__lines_fail(&r.lines, length,
                         "no line begins with ATOM or HETATM, and the first is not a number of atoms");
    kiln_status status = r.out_of_memory ? kiln__fail_memory(error) : kiln__lines_status(&r.lines, error);
    kiln__lines_close(&r.lines);
    if (status != KILN_OK)
        kiln__atoms_free(mem, atoms);
    return status;
}

/* ---- the input dcs_atoms ---- */

typedef struct lattice {
    int64_t points[3];
    float spacing;
} lattice;

enum { UNIFORM, CLUSTERED, ON_GRID, COINCIDENT, ONE_BIN, OUTSIDE };
enum { CLOUD = 4000 }; /* number of atoms of a cloud */
#define CLOUD_SIZE 8.0F

static float unit(kiln__random *random) { return (float)(kiln__random_next(random) >> 40) * 0x1p-24F; }

/* Returns one coordinate of an atom. `middle` is the same coordinate of the middle of the atom's cloud. */
static float make_place(int kind, uint64_t points, float spacing, float middle, kiln__random *random)
{
    const uint64_t half = points / 2;
    float u, v;
    switch (kind) {
    /* the sum of three uniform numbers has a nearly normal distribution, with the standard deviation CLOUD_SIZE */
    case CLUSTERED:
        u = unit(random);
        v = unit(random);
        return middle + 2 * CLOUD_SIZE * (u + v + unit(random) - 1.5F);
    case ON_GRID: return (float)kiln__random_below(random, points) * spacing;
    case COINCIDENT: return (float)half * spacing;
    case ONE_BIN: return ((float)half + 0.25F * unit(random)) * spacing;
    case OUTSIDE: return (4 * unit(random) - 1.5F) * ((float)points * spacing);
    default: return unit(random) * ((float)points * spacing);
    }
}

static void make_atom(int kind, const lattice *l, const float middle[3], kiln__random *random, float atom[4])
{
    for (int i = 0; i < 3; i++)
        atom[i] = make_place(kind, l->points[i] > 0 ? (uint64_t)l->points[i] : 1, l->spacing, middle[i], random);
    float charge = 2 * unit(random) - 1;
    atom[3] = kind == COINCIDENT ? fabsf(charge) : charge;
}

/* Moves the atoms so that the middle of their bounding box is the middle of the lattice. */
static void move_atoms(kiln__atoms *atoms, const lattice *l)
{
    for (int i = 0; i < 3; i++) {
        double low = INFINITY, high = -INFINITY;
        for (size_t a = 0; a < atoms->count; a++) {
            low = fmin(low, (double)atoms->items[a][i]);
            high = fmax(high, (double)atoms->items[a][i]);
        }
        double shift = (double)(l->points[i] - 1) * (double)l->spacing / 2 - (low + high) / 2;
        for (size_t a = 0; a < atoms->count; a++)
            atoms->items[a][i] = (float)((double)atoms->items[a][i] + shift);
    }
}

static kiln_status export_atoms(kiln_call *call, const kiln__atoms *atoms, const lattice *l)
{
    const uint64_t shape[] = {atoms->count, 4};
    kiln_array *array;
    double charge = 0, volume = 1;
    for (size_t a = 0; a < atoms->count; a++)
        charge += fabs((double)atoms->items[a][3]);
    for (int i = 0; i < 3; i++)
        volume *= (double)(l->points[i] > 0 ? l->points[i] : 1) * (double)l->spacing;
    if (kiln_call_export_array(call, "atoms", KILN_f32, 2, shape, &array) != KILN_OK ||
        kiln_call_export_int(call, "count", (int64_t)atoms->count) != KILN_OK ||
        kiln_call_export_float(call, "charge", charge) != KILN_OK ||
        kiln_call_export_float(call, "extent", cbrt(volume)) != KILN_OK)
        return KILN_ERROR_HOST_FUNCTION;
    if (atoms->count > 0)
        memcpy(array->data, atoms->items, atoms->count * sizeof *atoms->items);
    return KILN_OK;
}

static kiln_status read_atoms(kiln_call *call, const char *name, kiln__atoms *atoms)
{
    const kiln_allocator *mem = kiln_call_allocator(call);
    const char *path;
    char *text = NULL;
    size_t length;
    kiln_error *why = NULL;
    KILN__TRY(kiln_call_file(call, name, &path));
    kiln_status status = kiln__file_read_resolved(mem, path, 0, &text, &length, &why);
    if (status == KILN_OK)
        status = kiln__atoms_parse(mem, path, text, length, atoms, &why);
    kiln__free(mem, text);
    return kiln__call_pass(call, status, why);
}

/* Makes the atoms that the arguments `atoms`, `count` and `seed` ask for (atoms.h lists the kinds), or reads them from
 * a file. The caller frees `atoms`, even after a failure. */
static kiln_status make_atoms(kiln_call *call, const lattice *l, kiln__atoms *atoms)
{
    static const char *const kinds[] = {[UNIFORM] = "uniform",       [CLUSTERED] = "clustered", [ON_GRID] = "on_grid",
                                        [COINCIDENT] = "coincident", [ONE_BIN] = "one_bin",     [OUTSIDE] = "outside"};
    const char *name;
    int64_t count, seed;
    int kind = 0;
    if (kiln_call_text(call, "atoms", NULL, &name) != KILN_OK ||
        kiln_call_int(call, "count", NULL, &count) != KILN_OK || kiln_call_int(call, "seed", NULL, &seed) != KILN_OK)
        return KILN_ERROR_HOST_FUNCTION;
    while (kind < (int)KILN__COUNT(kinds) && strcmp(kinds[kind], name) != 0)
        kind++;
    if (kind == (int)KILN__COUNT(kinds)) {
        kiln_status status = read_atoms(call, name, atoms);
        if (status == KILN_OK)
            move_atoms(atoms, l);
        return status;
    }
    if (count < 0 || count > MOST_ATOMS)
        return kiln_call_fail(call, "count must be 0 to 2^28");
    atoms->items = kiln__calloc(kiln_call_allocator(call), (size_t)count + 1, sizeof *atoms->items);
    if (!atoms->items)
        return kiln__call_no_memory(call);
    kiln__random random = {kiln__random_mix((uint64_t)seed)};
    float middle[3] = {0};
    for (; atoms->count < (size_t)count; atoms->count++) {
        if (kind == CLUSTERED && atoms->count % CLOUD == 0)
            for (int i = 0; i < 3; i++)
                middle[i] = unit(&random) * ((float)l->points[i] * l->spacing);
        make_atom(kind, l, middle, &random, atoms->items[atoms->count]);
    }
    return KILN_OK;
}

kiln_status kiln__atoms_make(kiln_call *call, const int64_t points[3], float spacing, kiln__atoms *atoms)
{
    lattice l = {{points[0], points[1], points[2]}, spacing};
    return make_atoms(call, &l, atoms);
}

kiln_status kiln__host_dcs_atoms(void *user, kiln_call *call)
{
    (void)user;
    lattice l;
    double spacing;
    if (kiln_call_int(call, "nx", NULL, &l.points[0]) != KILN_OK ||
        kiln_call_int(call, "ny", NULL, &l.points[1]) != KILN_OK ||
        kiln_call_int(call, "nz", NULL, &l.points[2]) != KILN_OK ||
        kiln_call_float(call, "spacing", NULL, &spacing) != KILN_OK)
        return KILN_ERROR_HOST_FUNCTION;
    for (int i = 0; i < 3; i++)
        if (l.points[i] < 0 || l.points[i] > 1 << 24)
            return kiln_call_fail(call, "nx, ny and nz must be 0 to 2^24");
    l.spacing = (float)spacing;
    kiln__atoms atoms = {0};
    kiln_status status = make_atoms(call, &l, &atoms);
    if (status == KILN_OK)
        status = export_atoms(call, &atoms, &l);
    kiln__atoms_free(kiln_call_allocator(call), &atoms);
    return status;
}
