/* conformance.h - the instruction suite: the cases, their inputs, and the allowed difference between two results. */
#ifndef CONFORMANCE_H
#define CONFORMANCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    CONF_TUPLES = 4096,
    CONF_BITS_TUPLES = 1024,
    CONF_APPROX_TUPLES = 512,
    CONF_MATRIX_TUPLES = 256,
    CONF_THREADS = 128
};
enum { CONF_INPUTS = 10, CONF_OUTPUTS = 8, CONF_OPERANDS = CONF_INPUTS + CONF_OUTPUTS };
enum { CONF_SCRATCH = 64 }; /* bytes of global memory for each thread */

/* The ways to compare two results. cases.def explains EXACT and BITS. For all other kinds the difference must be within
 * the bound of bound.c. */
#define CONF_KINDS(X)                                                                                                  \
    X(EXACT)                                                                                                           \
    X(BITS)                                                                                                            \
    X(SIN)                                                                                                             \
    X(COS)                                                                                                             \
    X(LG2)                                                                                                             \
    X(EX2)                                                                                                             \
    X(EX2_F16)                                                                                                         \
    X(EX2_BF16)                                                                                                        \
    X(TANH)                                                                                                            \
    X(TANH_F16)                                                                                                        \
    X(TANH_BF16)                                                                                                       \
    X(RSQRT)                                                                                                           \
    X(RSQRT_F64)                                                                                                       \
    X(RCP)                                                                                                             \
    X(RCP_F64)                                                                                                         \
    X(SQRT)                                                                                                            \
    X(DIV)                                                                                                             \
    X(MMA)                                                                                                             \
    X(FILTER)
typedef enum conf_kind {
#define X(name) CONF_##name,
    CONF_KINDS(X)
#undef X
} conf_kind;

typedef struct conf_operand {
    char letter;            /* 0 means that this operand is not used */
    char type[8];           /* "u32", "f16x2", "pred" */
    char pool[8];           /* the pool of an input; "": the pool of its type */
    int bits;               /* the bits of the value */
    int reg;                /* the bits of the register; 1 for a predicate */
    int exponent, mantissa; /* the bits of a floating-point type, or of two such numbers; 0 for other types */
} conf_operand;

typedef struct conf_case {
    char *name; /* the expanded body, which is unique; the recording uses it as the name */
    char *prelude, *body;
    conf_kind kind;
    conf_operand inputs[CONF_INPUTS], outputs[CONF_OUTPUTS];
    int input_count, output_count;
    int tuples;
} conf_case;

typedef struct conf_suite {
    conf_case *cases;
    size_t count;
} conf_suite;

enum { CONF_OBJECT = 64 };
/* Finds the name of the texture or surface object that the case's kernel gets as its fifth argument. The name is the
 * text after %x_ in the body, or "" if there is no such text. objects.c explains these names. */
void conf_object(const conf_case *each, char name[CONF_OBJECT]);

/* Returns true for a floating-point type. Sets the numbers of bits of its exponent and mantissa, for one half if the
 * type is packed. */
bool conf_is_float(const char *type, int *exponent, int *mantissa);

/* Returns all cases, in a fixed order. Exits with a message if cases.def is wrong or memory runs out, because only
 * test programs call it. */
void conf_suite_make(conf_suite *suite);
void conf_suite_free(conf_suite *suite);

/* Returns a whole module with the kernels of `count` cases, named k0, k1, ... from `first` on. The caller frees the
 * text. */
char *conf_module(const conf_suite *suite, const size_t *cases, size_t count);

/* Makes the inputs: in[tuple * CONF_INPUTS + i] is input i, with random bits in the rest of the register. They depend
 * only on the case's name. */
void conf_inputs(const conf_case *each, uint64_t *in);

/* Returns the value as it is compared: without the bits above its type and, for EXACT, with one NaN in place of every
 * NaN. */
uint64_t conf_canonical(conf_kind kind, const conf_operand *output, uint64_t value);
/* Returns true if `got` is an acceptable result where the device gave `want`. `got` and `want` are canonical. For
 * approximate results both must be within the bound. */
bool conf_accept(const conf_case *each, int output, const uint64_t *in, uint64_t got, uint64_t want);

void *conf_alloc(size_t bytes);
float conf_half(uint64_t bits);
float conf_bfloat(uint64_t bits);
uint64_t conf_hash(const void *data, size_t length, uint64_t seed);
/* conf_hash() of four texts with the seed 0. Each multiplication of a hash must wait for the one before it, so four
 * hashes together take hardly longer than one. */
void conf_hash_four(const void *const data[4], const size_t lengths[4], uint64_t hashes[4]);
#endif
