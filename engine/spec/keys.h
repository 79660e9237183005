/* keys.h - the keys of the spec format: one row for each key of each mapping.
 *
 * The rows drive the reader (known keys, missing keys, "did you mean"), `kiln spec`, the page KEYS.md and the JSON
 * schema. If a row has no reader, or a reader has no row, the compiler prints a warning (KILN__NODE). Each row names
 * the effect of a change of the key. tests/tune/test_keys.c checks this effect, so that a sweep never reuses a sample
 * that the changed spec would not produce. */
#ifndef KILN_SPEC_KEYS_H
#define KILN_SPEC_KEYS_H

#include "kiln.h"

/* X(mapping, its name in messages, rule, description). The keys of each mapping follow below, in the order of messages.
 * The rule tells which keys may or must occur together, if the rows do not tell it. keys.c has each rule as a JSON
 * schema. */
#define KILN__MAPPINGS(X)                                                                                              \
    X(spec, "the spec", NONE, "The file.")                                                                             \
    X(variant, "a variant", NONE, "One way to do the work. Its sections are added to those of the spec.")              \
    X(param, "a param", PARAM, "A param with a range, a default or options.")                                          \
    X(input, "an input", NONE, "Data with a format, which a host function makes.")                                     \
    X(buffer, "a buffer", BUFFER, "An array on the device. A buffer of a variant is scratch.")                         \
    X(fill, "'fill'", NONE, "The content of a buffer. A number alone is {value: NUMBER}.")                             \
    X(verification, "a verification", VERIFICATION, "The expected content of an output.")                              \
    X(assumption, "an assumption", NONE, "An assumption that a judged kernel may make about a size or an input.")      \
    X(tolerance, "a tolerance", TOLERANCE,                                                                             \
      "The tolerances of an output in one variant. They replace those of `verify`.")                                   \
    X(against, "'against'", NONE, "The source of the expected answer.")                                                \
    X(step, "a step", NONE, "One action: a mapping with exactly one key.")                                             \
    X(launch, "a launch", NONE, "A launch of a kernel.")                                                               \
    X(argument, "an argument", NONE, "A structure by value, or a pointer to pointers.")                                \
    X(tensor_map, "a tensor map", TENSOR_MAP, "A `CUtensorMap` by value, of a buffer.")                                \
    X(texture, "a texture", NONE, "A texture object (`cudaTextureObject_t`) of a buffer.")                             \
    X(fill_step, "a fill", NONE, "One value in all elements of a buffer.")                                             \
    X(copy, "a copy", NONE, "Copies from one buffer to another; counts and offsets are in elements.")                  \
    X(symbol, "a symbol", NONE, "Copies a buffer to a variable of the source; counts and offsets are in elements.")    \
    X(host_step, "a host step", NONE, "A call of a host function.")                                                    \
    X(repeat, "a repeat", NONE, "Repeats steps a number of times.")                                                    \
    X(while, "a while", NONE, "Repeats steps as long as a condition holds.")

/* The effects of a change of a key. X(name, text). They decide which stored samples a sweep does not reuse. */
#define KILN__KEY_EFFECTS(X)                                                                                           \
    X(CODE, "code") /* the compiled code, and with it its samples */                                                   \
    X(RUN, "run")   /* the launches of the code, or the check of their answer */                                       \
    X(BOTH, "code and run")                                                                                            \
    X(NAME, "name")         /* the name under which samples are stored */                                              \
    X(CHOICE, "choice")     /* the set of configurations and sizes, and their ranking; each sample has its own */      \
    X(PROSE, "nothing")     /* text for people only */                                                                 \
    X(KEYS, "see its keys") /* the key holds mappings with rows of their own */

/* ---- the keys ----
 *
 * X(mapping, name, need, form, effect, description): `need` is one of kiln_spec_key_need, `form` is a row of keys.c. */

/* The keys that a spec has for all variants, and a variant for itself. */
#define KILN__KEYS_section(X, mapping)                                                                                 \
    X(mapping, include, OPTIONAL, TEXTS, CODE, "Folders of headers, below the spec's folder.")                         \
    X(mapping, target, OPTIONAL, TEXTS, CODE,                                                                          \
      "Architectures to compile for: `sm_90a`. The first that fits the device is used.")                               \
    X(mapping, needs, OPTIONAL, EXPRS, CHOICE,                                                                         \
      "Conditions on the device: `device.wgmma`. If one fails, the variant is left out.")                              \
    X(mapping, params, OPTIONAL, PARAMS, KEYS, "The tuning parameters. Each becomes a macro of the source.")           \
    X(mapping, let, OPTIONAL, NAMED_EXPRS, RUN, "Names for expressions, in any order, without cycles.")                \
    X(mapping, where, OPTIONAL, EXPRS, CHOICE, "Constraints: over sizes, params, lets and the device.")                \
    X(mapping, define, OPTIONAL, DEFINES, CODE, "More macros of the source.")                                          \
    X(mapping, bake, OPTIONAL, TEXTS, CODE, "Sizes that become macros: the code is compiled for them.")                \
    X(mapping, options, OPTIONAL, TEMPLATES, CODE, "Compile options, such as `-maxrregcount={REGS}`.")                 \
    X(mapping, inputs, OPTIONAL, INPUTS, KEYS, "Data that host functions make.")                                       \
    X(mapping, buffers, OPTIONAL, BUFFERS, KEYS, "The arrays on the device.")                                          \
    X(mapping, before_each, OPTIONAL, STEPS, KEYS, "Steps that each run needs and that are not part of its time.")
#define KILN__KEYS_metrics(X, mapping)                                                                                 \
    X(mapping, metrics, OPTIONAL, NAMED_EXPRS, RUN,                                                                    \
      "`flops` and `bytes` (for the roofline), and any others, which may use metrics and measurements. A "             \
      "metric of the variant replaces a metric of the spec with the same name.")                                       \
    X(mapping, roofline, OPTIONAL, UNIT, RUN,                                                                          \
      "The unit whose peak bounds the `flops`. By default the fastest unit whose instructions the code has.")
#define KILN__KEYS_work(X, mapping)                                                                                    \
    X(mapping, launch, ONE_OF, LAUNCH, KEYS, "The one launch that does the work.")                                     \
    X(mapping, steps, ONE_OF, STEPS, KEYS, "The steps that do the work.")

#define KILN__KEYS_spec_head(X)                                                                                        \
    X(spec, kiln, REQUIRED, VERSION, PROSE, "The version of the format.")                                              \
    X(spec, name, REQUIRED, LABEL, NAME, "Letters, digits, `_` and `-`.")                                              \
    X(spec, title, OPTIONAL, TEXT, PROSE, "One line.")                                                                 \
    X(spec, about, OPTIONAL, TEXT, PROSE, "Prose.")                                                                    \
    X(spec, source, OPTIONAL, TEXT, CODE, "The CUDA file. Without it each variant has its own.")                       \
    X(spec, prefix, OPTIONAL, TEXT, CODE, "Stands before the names of all macros: `KILN_` makes BLOCK KILN_BLOCK.")    \
    X(spec, sizes, OPTIONAL, SIZES, CHOICE,                                                                            \
      "Sets of sizes, all with the same names. The first is the default on a GPU, `tiny` on the simulated device.")
#define KILN__KEYS_spec_tail(X)                                                                                        \
    X(spec, features, OPTIONAL, NAMED_EXPRS, RUN,                                                                      \
      "Numbers that describe the input. Samples keep them. They choose the best configuration for a new input.")       \
    X(spec, verify, OPTIONAL, VERIFY, KEYS, "How outputs are checked.")                                                \
    X(spec, judge, OPTIONAL, ASSUMPTIONS, KEYS,                                                                        \
      "Assumptions that `kiln judge` lets a kernel make: ranges of sizes, values and alignment of inputs.")            \
    X(spec, variants, ONE_OF, VARIANTS, KEYS, "The ways to do the work.")
#define KILN__KEYS_spec(X)                                                                                             \
    KILN__KEYS_spec_head(X) KILN__KEYS_section(X, spec) KILN__KEYS_metrics(X, spec) KILN__KEYS_spec_tail(X)            \
        KILN__KEYS_work(X, spec)

#define KILN__KEYS_variant_head(X)                                                                                     \
    X(variant, about, OPTIONAL, TEXT, PROSE, "Prose.")                                                                 \
    X(variant, contender, OPTIONAL, BOOL, CHOICE,                                                                      \
      "`false`: only for comparison, as a bound or a pattern. It does not do the spec's work and is never the best.")  \
    X(variant, source, OPTIONAL, TEXT, CODE, "The CUDA file, if it is not the spec's.")                                \
    X(variant, tolerance, OPTIONAL, TOLERANCES, KEYS, "The tolerances of its outputs, if they differ from `verify`.")
#define KILN__KEYS_variant(X)                                                                                          \
    KILN__KEYS_variant_head(X) KILN__KEYS_section(X, variant) KILN__KEYS_work(X, variant) KILN__KEYS_metrics(X, variant)

#define KILN__KEYS_param(X)                                                                                            \
    X(param, values, OPTIONAL, VALUES, CHOICE, "All numbers, all booleans or all names. Or a range: `from`, `to`.")    \
    X(param, from, OPTIONAL, VALUE, CHOICE, "A range: its first value.")                                               \
    X(param, to, OPTIONAL, VALUE, CHOICE, "A range: its last value, inclusive.")                                       \
    X(param, step, OPTIONAL, VALUE, CHOICE, "A range: the difference between values; 1 if not given.")                 \
    X(param, times, OPTIONAL, VALUE, CHOICE, "A range: the factor, in place of `step`.")                               \
    X(param, default, OPTIONAL, VALUE, CHOICE, "The value if none is chosen; the first value if not given.")           \
    X(param, macro, OPTIONAL, BOOL, CODE, "`false`: no macro; only expressions have it, such as those of the launch.") \
    X(param, options, OPTIONAL, TEMPLATES, CODE, "Compile options that belong to the param.")

#define KILN__KEYS_input(X)                                                                                            \
    X(input, host, REQUIRED, TEXT, RUN, "The host function.")                                                          \
    X(input, ARGUMENT, ANY, EXPR, RUN, "An argument of the function, which may also be an earlier input or a text.")

#define KILN__KEYS_buffer(X)                                                                                           \
    X(buffer, type, OPTIONAL, EXPR, RUN, "`f32` and so on, or a param over types. Needed without `from` and `file`.")  \
    X(buffer, shape, OPTIONAL, EXPRS, RUN, "The extents. Needed without `from` and `file`.")                           \
    X(buffer, fill, OPTIONAL, FILL, KEYS, "The values that fill it.")                                                  \
    X(buffer, from, OPTIONAL, TEXT, RUN, "Its content is an export of an input, such as A.csr.values.")                \
    X(buffer, file, OPTIONAL, TEXT, RUN, "Its content is a .npy file. The name may have sizes in it: `a-{N}.npy`.")    \
    X(buffer, out, OPTIONAL, BOOL, RUN,                                                                                \
      "`true`: an output. With a content it is also an input. Kernels must not change other inputs.")

#define KILN__KEYS_fill(X)                                                                                             \
    X(fill, value, ONE_OF, EXPRS, RUN, "One number everywhere.")                                                       \
    X(fill, iota, ONE_OF, EXPRS, RUN, "[start, step]: start + step * index; step is 1 if not given.")                  \
    X(fill, uniform, ONE_OF, EXPRS, RUN, "[low, high]: random; high is included for integers.")                        \
    X(fill, normal, ONE_OF, EXPRS, RUN, "[mean, deviation]: random.")                                                  \
    X(fill, zipf, ONE_OF, EXPRS, RUN, "[count, exponent]: random integers from 0 to count - 1.")                       \
    X(fill, seed, OPTIONAL, EXPR, RUN, "The seed of random numbers; made from the buffer's name if not given.")

#define KILN__KEYS_verification(X)                                                                                     \
    X(verification, against, REQUIRED, AGAINST, KEYS, "The source of the expected content.")                           \
    X(verification, rtol, OPTIONAL, EXPR, RUN, "Relative tolerance. Without both tolerances, the type decides.")       \
    X(verification, atol, OPTIONAL, EXPR, RUN, "Absolute tolerance.")                                                  \
    X(verification, exact, OPTIONAL, BOOL, RUN, "`true`: no tolerance.")                                               \
    X(verification, sampled, OPTIONAL, BOOL, RUN,                                                                      \
      "`true`: elements that the host function leaves unchanged are not compared, but must have been written.")

#define KILN__KEYS_assumption(X)                                                                                       \
    X(assumption, from, OPTIONAL, VALUE, PROSE, "The least value of a size, or of the elements of an input.")          \
    X(assumption, to, OPTIONAL, VALUE, PROSE, "The greatest value of a size, or of the elements of an input.")         \
    X(assumption, multiple, OPTIONAL, VALUE, PROSE, "The size is a multiple of this number; 1 if not given.")          \
    X(assumption, align, OPTIONAL, VALUE, PROSE,                                                                       \
      "The alignment of the buffer in bytes, a power of two; 256 if not given.")                                       \
    X(assumption, special, OPTIONAL, BOOL, PROSE,                                                                      \
      "`true`: NaN, infinities, -0 and denormals may be among the elements, and the reference defines the answer.")

#define KILN__KEYS_tolerance(X)                                                                                        \
    X(tolerance, rtol, OPTIONAL, EXPR, RUN, "Relative tolerance.")                                                     \
    X(tolerance, atol, OPTIONAL, EXPR, RUN, "Absolute tolerance.")

#define KILN__KEYS_against(X)                                                                                          \
    X(against, host, ONE_OF, TEXT, RUN, "A host function, which takes buffers, sizes and inputs by their names.")      \
    X(against, variant, ONE_OF, TEXT, RUN, "A variant, at its default params.")                                        \
    X(against, params, OPTIONAL, NAMED_EXPRS, RUN, "With `variant`: values of its params that are not the default.")   \
    X(against, command, ONE_OF, TEXTS, RUN, "A program and its arguments, which needs --allow-commands. No shell.")    \
    X(against, file, ONE_OF, TEXT, RUN, "A .npy file. The name may have sizes in it.")                                 \
    X(against, ARGUMENT, ANY, EXPR, RUN,                                                                               \
      "With `host`: another name of the spec, or an expression, for this name of the function.")

#define KILN__KEYS_step(X)                                                                                             \
    X(step, launch, ONE_OF, LAUNCH, KEYS, "Launch a kernel.")                                                          \
    X(step, fill, ONE_OF, FILL_STEP, KEYS, "Fill a buffer.")                                                           \
    X(step, copy, ONE_OF, COPY, KEYS, "Copy a buffer.")                                                                \
    X(step, symbol, ONE_OF, SYMBOL, KEYS, "Copy a buffer to a `__constant__` variable.")                               \
    X(step, swap, ONE_OF, PAIR, RUN, "The two buffers change places for the steps that follow.")                       \
    X(step, host, ONE_OF, HOST_STEP, KEYS, "Call a host function.")                                                    \
    X(step, repeat, ONE_OF, REPEAT, KEYS, "Repeat steps.")                                                             \
    X(step, while, ONE_OF, WHILE, KEYS, "Repeat steps while a condition holds.")

#define KILN__KEYS_launch(X)                                                                                           \
    X(launch, kernel, REQUIRED, TEMPLATE, BOTH, "An extern C name, or a name of C++ such as `k<{TILE}>`.")             \
    X(launch, grid, REQUIRED, EXTENTS, RUN, "Blocks.")                                                                 \
    X(launch, block, REQUIRED, EXTENTS, RUN, "Threads of a block.")                                                    \
    X(launch, cluster, OPTIONAL, EXTENTS, RUN, "Blocks of a cluster.")                                                 \
    X(launch, shared, OPTIONAL, EXPR, RUN, "Bytes of dynamic shared memory.")                                          \
    X(launch, cooperative, OPTIONAL, BOOL, RUN, "`true`: the grid can synchronise.")                                   \
    X(launch, cluster_scheduling, OPTIONAL, TEXT, RUN,                                                                 \
      "`spread` the blocks of a cluster over the SMs, or `balance` them, or `default`.")                               \
    X(launch, overlap, OPTIONAL, BOOL, RUN, "`true`: may begin before the previous step has ended (griddepcontrol).")  \
    X(launch, priority, OPTIONAL, EXPR, RUN, "The priority of the launch; lower numbers go first.")                    \
    X(launch, carveout, OPTIONAL, EXPR, RUN, "Percent of the L1 cache that shared memory should have.")                \
    X(launch, args, REQUIRED, ARGS, RUN,                                                                               \
      "Expressions, buffers, places in them (`x + 4`), `null`, arguments, tensor maps, textures.")

#define KILN__KEYS_argument(X)                                                                                         \
    X(argument, struct, ONE_OF, FIELDS, RUN,                                                                           \
      "A structure by value. A field is [TYPE, NUMBER, ...], a buffer, `null`, an argument, a tensor map, a texture.") \
    X(argument, bytes, ONE_OF, TEXT, RUN, "A structure by value: pairs of hexadecimal digits.")                        \
    X(argument, pointers, ONE_OF, ARGS, RUN, "A pointer to pointers: buffers, places in them, `null`.")

#define KILN__KEYS_tensor_map(X)                                                                                       \
    X(tensor_map, tensor_map, REQUIRED, TEXT, RUN,                                                                     \
      "The buffer, or a place in it such as `A + 64`. Lists are in the order of shapes.")                              \
    X(tensor_map, type, OPTIONAL, TEXT, RUN,                                                                           \
      "The type of its elements, if not the buffer's: `tf32`, `f32_ftz`, `u4x16_align8`, ...")                         \
    X(tensor_map, shape, OPTIONAL, EXPRS, RUN, "1 to 5 extents, if not the buffer's.")                                 \
    X(tensor_map, strides, OPTIONAL, EXPRS, RUN,                                                                       \
      "Distances in elements, for all dimensions but the last; dense if not given.")                                   \
    X(tensor_map, box, OPTIONAL, EXPRS, RUN, "The extents that one copy takes.")                                       \
    X(tensor_map, steps, OPTIONAL, EXPRS, RUN, "The distance of copied elements, for each dimension; 1 if not given.") \
    X(tensor_map, swizzle, OPTIONAL, EXPR, RUN, "0, 32, 64 or 128 bytes; 0 if not given.")                             \
    X(tensor_map, atom, OPTIONAL, EXPR, RUN,                                                                           \
      "16, 32 or 64 bytes that a swizzle of 128 moves together; 16 if not given.")                                     \
    X(tensor_map, flip, OPTIONAL, BOOL, RUN,                                                                           \
      "`true`: with an atom of 32, its halves of 8 bytes change places in every other row.")                           \
    X(tensor_map, interleave, OPTIONAL, EXPR, RUN, "0, 16 or 32 bytes; 0 if not given.")                               \
    X(tensor_map, l2_promotion, OPTIONAL, EXPR, RUN,                                                                   \
      "0, 64, 128 or 256 bytes that the L2 fetches at once; 0 if not given.")                                          \
    X(tensor_map, fill, OPTIONAL, TEXT, RUN,                                                                           \
      "The value of elements outside of the shape: `zero` or `nan`; zero if not given.")                               \
    X(tensor_map, lower, OPTIONAL, EXPRS, RUN,                                                                         \
      "For im2col: the lower corner of the box, in all dimensions but the first and last.")                            \
    X(tensor_map, upper, OPTIONAL, EXPRS, RUN, "For im2col: the upper corner.")                                        \
    X(tensor_map, channels, OPTIONAL, EXPR, RUN, "For im2col: the channels of a pixel that one copy takes.")           \
    X(tensor_map, pixels, OPTIONAL, EXPR, RUN, "For im2col: the pixels that one copy takes.")

#define KILN__KEYS_texture(X)                                                                                          \
    X(texture, texture, REQUIRED, TEXT, RUN,                                                                           \
      "The buffer, or a place in it such as `A + 512`. Lists are in the order of shapes.")                             \
    X(texture, shape, OPTIONAL, EXPRS, RUN, "1 to 3 extents in texels, if not the buffer's.")                          \
    X(texture, channels, OPTIONAL, EXPR, RUN,                                                                          \
      "1, 2 or 4 elements of a texel; 1 if not given. Without `shape`, the buffer's last extent.")                     \
    X(texture, pitch, OPTIONAL, EXPR, RUN, "Elements from one row to the next; dense if not given.")                   \
    X(texture, array, OPTIONAL, BOOL, RUN,                                                                             \
      "`true`: a CUDA array, copied before the run, outside of its time. By default the memory of the buffer.")        \
    X(texture, layered, OPTIONAL, BOOL, RUN, "`true`: the first extent counts layers. With `array`.")                  \
    X(texture, read, OPTIONAL, TEXT, RUN,                                                                              \
      "`element` or `float`; element if not given. `float` maps integers of 8 and 16 bits to 0 to 1, or -1 to 1.")     \
    X(texture, filter, OPTIONAL, TEXT, RUN, "`point` or `linear`; point if not given.")                                \
    X(texture, address, OPTIONAL, TEXTS, RUN,                                                                          \
      "The value outside: `clamp`, `wrap`, `mirror` or `border` (zero), for all dimensions, or one for each. By "      \
      "default `clamp`.")                                                                                              \
    X(texture, normalised, OPTIONAL, BOOL, RUN, "`true`: coordinates from 0 to 1 cover the whole texture.")

#define KILN__KEYS_fill_step(X)                                                                                        \
    X(fill_step, buffer, REQUIRED, TEXT, RUN, "The buffer.")                                                           \
    X(fill_step, value, REQUIRED, EXPR, RUN, "The value.")

#define KILN__KEYS_copy(X)                                                                                             \
    X(copy, from, REQUIRED, TEXT, RUN, "A buffer.")                                                                    \
    X(copy, to, REQUIRED, TEXT, RUN, "A buffer.")                                                                      \
    X(copy, count, OPTIONAL, EXPR, RUN, "The number of elements; all if not given.")                                   \
    X(copy, from_offset, OPTIONAL, EXPR, RUN, "The first element in `from`.")                                          \
    X(copy, to_offset, OPTIONAL, EXPR, RUN, "The first element in `to`.")

#define KILN__KEYS_symbol(X)                                                                                           \
    X(symbol, name, REQUIRED, TEXT, RUN, "The variable.")                                                              \
    X(symbol, from, REQUIRED, TEXT, RUN, "A buffer.")                                                                  \
    X(symbol, count, OPTIONAL, EXPR, RUN, "The number of elements; all if not given.")                                 \
    X(symbol, offset, OPTIONAL, EXPR, RUN, "The first element in `from`.")

#define KILN__KEYS_host_step(X)                                                                                        \
    X(host_step, call, REQUIRED, TEXT, RUN, "The host function.")                                                      \
    X(host_step, args, OPTIONAL, NAMED_EXPRS, RUN, "Expressions, buffers, inputs or their exports, texts.")

#define KILN__KEYS_repeat(X)                                                                                           \
    X(repeat, times, REQUIRED, EXPR, RUN, "The number of rounds.")                                                     \
    X(repeat, index, OPTIONAL, TEXT, RUN, "A name for the round's number, from 0.")                                    \
    X(repeat, steps, REQUIRED, STEPS, KEYS, "The steps.")

#define KILN__KEYS_while(X)                                                                                            \
    X(while, read, REQUIRED, READS, RUN, "Elements of buffers, read before each round; by default the first element.") \
    X(while, cond, REQUIRED, EXPR, RUN, "The condition for another round.")                                            \
    X(while, at_most, REQUIRED, EXPR, RUN, "The limit of rounds; more rounds are an error.")                           \
    X(while, steps, REQUIRED, STEPS, KEYS, "The steps.")

/* ---- the table ---- */

typedef enum kiln__mapping {
#define KILN_X(mapping, what, rule, about) KILN__MAPPING_##mapping,
    KILN__MAPPINGS(KILN_X)
#undef KILN_X
        KILN__MAPPING_COUNT
} kiln__mapping;

typedef enum kiln__key { /* KILN__KEY_launch_grid */
#define KILN_KEY(mapping, name, need, form, effect, about) KILN__KEY_##mapping##_##name,
#define KILN_X(mapping, what, rule, about) KILN__KEYS_##mapping(KILN_KEY)
                         KILN__MAPPINGS(KILN_X)
#undef KILN_X
#undef KILN_KEY
                             KILN__KEY_COUNT
} kiln__key;

typedef enum kiln__key_effect {
#define KILN_X(name, text) KILN__EFFECT_##name,
    KILN__KEY_EFFECTS(KILN_X)
#undef KILN_X
} kiln__key_effect;

typedef struct kiln__key_row {
    kiln__mapping mapping;
    kiln__key_effect effect;
    kiln_spec_key_info info;
} kiln__key_row;
/* the keys of one mapping follow one another */
extern const kiln__key_row kiln__keys[KILN__KEY_COUNT];
extern const char *const kiln__mapping_names[KILN__MAPPING_COUNT]; /* "a launch", for messages */

/* For a reader: KILN__KEYS_launch(KILN__NODE) declares the variables `kernel_`, `grid_` and so on. They are the nodes
 * of the mapping `map`, or NULL if a key is missing. The compiler warns about a variable that the reader does not
 * use. */
#define KILN__NODE(mapping, name, need, form, effect, about)                                                           \
    kiln__spec_node *const name##_ = kiln__spec_node_get(map, #name);

#endif
