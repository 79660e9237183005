/* keys.h - the keys of the spec format: one row for each key of each mapping.
 *
 * The rows of this file drive the reader (known keys, missing keys, "did you mean"), `kiln spec`, the page KEYS.md and
 * the JSON schema. If a row has no reader, or a reader has no row, the compiler prints a warning (KILN__NODE). Each row
 * names the effect of a change of its key. tests/tune/test_keys.c checks this effect, so that a sweep never reuses a
 * sample that the changed spec would not produce. */
#ifndef KILN_SPEC_KEYS_H
#define KILN_SPEC_KEYS_H

#include "kiln.h"

/* X(mapping, its name in messages, rule, description). The keys of each mapping follow below, in the order in which
 * messages list them. The rule of a mapping tells which keys may or must occur together, if the rows do not
 * tell it. keys.c has each rule as a JSON schema. */
#define KILN__MAPPINGS(X)                                                                                              \
    X(spec, "the spec", NONE, "The file.")                                                                             \
    X(variant, "a variant", NONE, "One way to do the work. Its sections add to the sections of the spec.")             \
    X(param, "a param", PARAM, "A param with a range, a default or options.")                                          \
    X(input, "an input", NONE, "Data with a format, which a host function makes.")                                     \
    X(buffer, "a buffer", BUFFER, "An array on the device. If it belongs to a variant, it is scratch memory.")         \
    X(fill, "'fill'", NONE, "The content of a buffer. A number alone is {value: NUMBER}.")                             \
    X(verification, "a verification", VERIFICATION, "The expected content of an output.")                              \
    X(assumption, "an assumption", NONE, "An assumption that a judged kernel may make about a size or an input.")      \
    X(tolerance, "a tolerance", TOLERANCE,                                                                             \
      "The tolerances of an output in one variant. They replace the tolerances in `verify`.")                          \
    X(against, "'against'", NONE, "The source of the expected answer.")                                                \
    X(step, "a step", NONE, "One action: a mapping with exactly one key.")                                             \
    X(launch, "a launch", NONE, "A launch of a kernel.")                                                               \
    X(argument, "an argument", NONE, "A structure that is passed by value, or an array of pointers.")                  \
    X(tensor_map, "a tensor map", TENSOR_MAP, "A `CUtensorMap` of a buffer, passed by value.")                         \
    X(texture, "a texture", NONE, "A texture object (`cudaTextureObject_t`) of a buffer.")                             \
    X(fill_step, "a fill", NONE, "Sets all elements of a buffer to one value.")                                        \
    X(copy, "a copy", NONE, "Copies from one buffer to another; counts and offsets are in elements.")                  \
    X(symbol, "a symbol", NONE, "Copies a buffer to a variable of the source; counts and offsets are in elements.")    \
    X(host_step, "a host step", NONE, "A call of a host function.")                                                    \
    X(repeat, "a repeat", NONE, "Repeats steps a number of times.")                                                    \
    X(while, "a while", NONE, "Repeats steps as long as a condition holds.")

/* The effects that a change of a key can have. X(name, text). These effects decide which stored samples a sweep does
 * not reuse. */
#define KILN__KEY_EFFECTS(X)                                                                                           \
    X(CODE, "code") /* the compiled code, and therefore its samples */                                                 \
    X(RUN, "run")   /* the launches of the code, or the check of its answer */                                         \
    X(BOTH, "code and run")                                                                                            \
    X(NAME, "name")     /* the name under which a store keeps the samples */                                           \
    X(CHOICE, "choice") /* the set of configurations and sizes, and their ranking; a sample has only one of them */    \
    X(PROSE, "nothing") /* only text for people, or assumptions of `kiln judge` */                                     \
    X(KEYS, "see its keys") /* the key contains mappings, and each key of them has its own row */

/* ---- the keys ----
 *
 * X(mapping, name, need, form, effect, description): `need` is one of kiln_spec_key_need, `form` is a row of keys.c. */

/* Keys of a spec and keys of a variant. The keys of the spec apply to all its variants. */
#define KILN__KEYS_section(X, mapping)                                                                                 \
    X(mapping, include, OPTIONAL, TEXTS, CODE, "Folders of headers, below the spec's folder.")                         \
    X(mapping, target, OPTIONAL, TEXTS, CODE,                                                                          \
      "Architectures to compile for, such as `sm_90a`. Kiln uses the first one that fits the device.")                 \
    X(mapping, needs, OPTIONAL, EXPRS, CHOICE,                                                                         \
      "Conditions on the device, such as `device.wgmma`. If a condition does not hold, kiln leaves the variant out.")  \
    X(mapping, params, OPTIONAL, PARAMS, KEYS, "The tuning parameters. Each becomes a macro of the source.")           \
    X(mapping, let, OPTIONAL, NAMED_EXPRS, RUN,                                                                        \
      "Names for expressions. They may stand in any order, but not use each other in a cycle.")                        \
    X(mapping, where, OPTIONAL, EXPRS, CHOICE, "Constraints: conditions over sizes, params, lets and the device.")     \
    X(mapping, define, OPTIONAL, DEFINES, CODE, "More macros of the source.")                                          \
    X(mapping, bake, OPTIONAL, TEXTS, CODE,                                                                            \
      "Sizes that become macros, so that kiln compiles the code for these sizes.")                                     \
    X(mapping, options, OPTIONAL, TEMPLATES, CODE, "Compile options, such as `-maxrregcount={REGS}`.")                 \
    X(mapping, inputs, OPTIONAL, INPUTS, KEYS, "Data that host functions make.")                                       \
    X(mapping, buffers, OPTIONAL, BUFFERS, KEYS, "The arrays on the device.")                                          \
    X(mapping, before_each, OPTIONAL, STEPS, KEYS,                                                                     \
      "Steps that kiln runs before each run. The time of these steps is not a part of the run's time.")
#define KILN__KEYS_metrics(X, mapping)                                                                                 \
    X(mapping, metrics, OPTIONAL, NAMED_EXPRS, RUN,                                                                    \
      "`flops` and `bytes` (for the roofline), and any other quantities. The others may use metrics and "              \
      "measurements. A metric of the variant replaces a metric of the spec with the same name.")                       \
    X(mapping, roofline, OPTIONAL, UNIT, RUN,                                                                          \
      "The unit whose peak limits the `flops`. Default: the fastest unit whose instructions the code has.")
#define KILN__KEYS_work(X, mapping)                                                                                    \
    X(mapping, launch, ONE_OF, LAUNCH, KEYS, "The one launch that does the work.")                                     \
    X(mapping, steps, ONE_OF, STEPS, KEYS, "The steps that do the work.")

#define KILN__KEYS_spec_head(X)                                                                                        \
    X(spec, kiln, REQUIRED, VERSION, PROSE, "The version of the format.")                                              \
    X(spec, name, REQUIRED, LABEL, NAME, "Letters, digits, `_` and `-`.")                                              \
    X(spec, title, OPTIONAL, TEXT, PROSE, "One line.")                                                                 \
    X(spec, about, OPTIONAL, TEXT, PROSE, "Prose.")                                                                    \
    X(spec, source, OPTIONAL, TEXT, CODE, "The CUDA file. Without this key each variant needs its own.")               \
    X(spec, prefix, OPTIONAL, TEXT, CODE,                                                                              \
      "The first letters of the names of all macros: with `KILN_` the param BLOCK becomes KILN_BLOCK.")                \
    X(spec, sizes, OPTIONAL, SIZES, CHOICE,                                                                            \
      "Sets of sizes, all with the same names. The first set is the default on a GPU, and `tiny` is the default on "   \
      "the simulated device.")
#define KILN__KEYS_spec_tail(X)                                                                                        \
    X(spec, features, OPTIONAL, NAMED_EXPRS, RUN,                                                                      \
      "Numbers that describe the input. Each stored sample has them. For a new input they select the best "            \
      "configuration.")                                                                                                \
    X(spec, verify, OPTIONAL, VERIFY, KEYS, "The expected content and the tolerances of outputs.")                     \
    X(spec, judge, OPTIONAL, ASSUMPTIONS, KEYS,                                                                        \
      "Assumptions that a kernel may make if `kiln judge` judges it: ranges of sizes and values, alignment of "        \
      "inputs. The name `streams` has the number of calls that may run at the same time: `streams: {to: 2}`.")         \
    X(spec, variants, ONE_OF, VARIANTS, KEYS, "The ways to do the work.")
#define KILN__KEYS_spec(X)                                                                                             \
    KILN__KEYS_spec_head(X) KILN__KEYS_section(X, spec) KILN__KEYS_metrics(X, spec) KILN__KEYS_spec_tail(X)            \
        KILN__KEYS_work(X, spec)

#define KILN__KEYS_variant_head(X)                                                                                     \
    X(variant, about, OPTIONAL, TEXT, PROSE, "Prose.")                                                                 \
    X(variant, contender, OPTIONAL, BOOL, CHOICE,                                                                      \
      "`false`: the variant is only for comparison, as a bound or a pattern. It does not do the spec's work and is "   \
      "never the best.")                                                                                               \
    X(variant, source, OPTIONAL, TEXT, CODE, "The CUDA file of this variant. Default: the spec's.")                    \
    X(variant, tolerance, OPTIONAL, TOLERANCES, KEYS,                                                                  \
      "The tolerances of the variant's outputs, if they differ from those in `verify`.")
#define KILN__KEYS_variant(X)                                                                                          \
    KILN__KEYS_variant_head(X) KILN__KEYS_section(X, variant) KILN__KEYS_work(X, variant) KILN__KEYS_metrics(X, variant)

#define KILN__KEYS_param(X)                                                                                            \
    X(param, values, OPTIONAL, VALUES, CHOICE,                                                                         \
      "A list of numbers, of booleans or of names. In place of `values` a param can have a range: `from`, `to`.")      \
    X(param, from, OPTIONAL, VALUE, CHOICE, "The first value of a range.")                                             \
    X(param, to, OPTIONAL, VALUE, CHOICE, "The last value of a range. It belongs to the range.")                       \
    X(param, step, OPTIONAL, VALUE, CHOICE, "The difference between two values of a range. Default: 1.")               \
    X(param, times, OPTIONAL, VALUE, CHOICE, "The factor between two values of a range. It replaces `step`.")          \
    X(param, default, OPTIONAL, VALUE, CHOICE,                                                                         \
      "The value that is used if the user chooses none. Default: the first value.")                                    \
    X(param, macro, OPTIONAL, BOOL, CODE,                                                                              \
      "`false`: the param does not become a macro. Only expressions can use it, such as the grid of a launch.")        \
    X(param, options, OPTIONAL, TEMPLATES, CODE, "Compile options that belong to the param.")

#define KILN__KEYS_input(X)                                                                                            \
    X(input, host, REQUIRED, TEXT, RUN, "The host function.")                                                          \
    X(input, ARGUMENT, ANY, EXPR, RUN, "An argument of the function, which may also be an earlier input or a text.")

#define KILN__KEYS_buffer(X)                                                                                           \
    X(buffer, type, OPTIONAL, EXPR, RUN,                                                                               \
      "The type of an element, such as `f32`, or a param whose values are types. Required without `from` and "         \
      "`file`.")                                                                                                       \
    X(buffer, shape, OPTIONAL, EXPRS, RUN, "The extents. Required without `from` and `file`.")                         \
    X(buffer, fill, OPTIONAL, FILL, KEYS, "The initial values.")                                                       \
    X(buffer, from, OPTIONAL, TEXT, RUN,                                                                               \
      "The export of an input, such as A.csr.values. Kiln copies it into the buffer.")                                 \
    X(buffer, file, OPTIONAL, TEXT, RUN,                                                                               \
      "The .npy file that has the content. Its name may contain sizes: `a-{N}.npy`.")                                  \
    X(buffer, out, OPTIONAL, BOOL, RUN,                                                                                \
      "`true`: the buffer is an output. If it has a content, it is also an input. Kernels must not change inputs "     \
      "that are not outputs.")

#define KILN__KEYS_fill(X)                                                                                             \
    X(fill, value, ONE_OF, EXPRS, RUN, "One number for all elements.")                                                 \
    X(fill, iota, ONE_OF, EXPRS, RUN,                                                                                  \
      "[start, step]: the element with the index i is start + step * i. Default of step: 1.")                          \
    X(fill, uniform, ONE_OF, EXPRS, RUN, "[low, high]: random numbers. For integers, high is a possible value.")       \
    X(fill, normal, ONE_OF, EXPRS, RUN, "[mean, deviation]: random numbers of a normal distribution.")                 \
    X(fill, zipf, ONE_OF, EXPRS, RUN, "[count, exponent]: random integers from 0 to count - 1, by Zipf's law.")        \
    X(fill, seed, OPTIONAL, EXPR, RUN,                                                                                 \
      "The seed of the random numbers. Default: a seed that depends on the buffer's name.")

#define KILN__KEYS_verification(X)                                                                                     \
    X(verification, against, REQUIRED, AGAINST, KEYS, "The source of the expected content.")                           \
    X(verification, rtol, OPTIONAL, EXPR, RUN,                                                                         \
      "Relative tolerance. If neither tolerance is given, the type of the elements determines both.")                  \
    X(verification, atol, OPTIONAL, EXPR, RUN, "Absolute tolerance.")                                                  \
    X(verification, exact, OPTIONAL, BOOL, RUN,                                                                        \
      "`true`: the output must equal the expected content, without a tolerance.")                                      \
    X(verification, sampled, OPTIONAL, BOOL, RUN,                                                                      \
      "`true`: the host function computes only some elements. Kiln does not compare the other elements, but checks "   \
      "that the kernel wrote them.")

#define KILN__KEYS_assumption(X)                                                                                       \
    X(assumption, from, OPTIONAL, VALUE, PROSE, "The least value of a size, or of the elements of an input.")          \
    X(assumption, to, OPTIONAL, VALUE, PROSE, "The greatest value of a size, or of the elements of an input.")         \
    X(assumption, multiple, OPTIONAL, VALUE, PROSE, "A size is a multiple of this number. Default: 1.")                \
    X(assumption, align, OPTIONAL, VALUE, PROSE,                                                                       \
      "The alignment of the buffer in bytes, a power of two. Default: 256.")                                           \
    X(assumption, special, OPTIONAL, BOOL, PROSE,                                                                      \
      "`true`: the elements may include NaN, infinities, -0 and denormals, and the reference defines the answer.")

#define KILN__KEYS_tolerance(X)                                                                                        \
    X(tolerance, rtol, OPTIONAL, EXPR, RUN, "Relative tolerance.")                                                     \
    X(tolerance, atol, OPTIONAL, EXPR, RUN, "Absolute tolerance.")

#define KILN__KEYS_against(X)                                                                                          \
    X(against, host, ONE_OF, TEXT, RUN, "A host function, which takes buffers, sizes and inputs by their names.")      \
    X(against, variant, ONE_OF, TEXT, RUN, "A variant, with the default values of its params.")                        \
    X(against, params, OPTIONAL, NAMED_EXPRS, RUN,                                                                     \
      "With `variant`: the params whose values differ from the defaults.")                                             \
    X(against, command, ONE_OF, TEXTS, RUN,                                                                            \
      "A program and its arguments. It runs without a shell, and only with --allow-commands.")                         \
    X(against, file, ONE_OF, TEXT, RUN, "A .npy file. Its name may contain sizes.")                                    \
    X(against, ARGUMENT, ANY, EXPR, RUN,                                                                               \
      "With `host`: the argument of this name, as a name in the spec or as an expression.")

#define KILN__KEYS_step(X)                                                                                             \
    X(step, launch, ONE_OF, LAUNCH, KEYS, "Launch a kernel.")                                                          \
    X(step, fill, ONE_OF, FILL_STEP, KEYS, "Fill a buffer.")                                                           \
    X(step, copy, ONE_OF, COPY, KEYS, "Copy a buffer.")                                                                \
    X(step, symbol, ONE_OF, SYMBOL, KEYS, "Copy a buffer to a `__constant__` or `__device__` variable.")               \
    X(step, swap, ONE_OF, PAIR, RUN, "The two buffers change places for the steps that follow.")                       \
    X(step, host, ONE_OF, HOST_STEP, KEYS, "Call a host function.")                                                    \
    X(step, repeat, ONE_OF, REPEAT, KEYS, "Repeat steps.")                                                             \
    X(step, while, ONE_OF, WHILE, KEYS, "Repeat steps while a condition holds.")

#define KILN__KEYS_launch(X)                                                                                           \
    X(launch, kernel, REQUIRED, TEMPLATE, BOTH, "An extern C name, or a name of C++ such as `k<{TILE}>`.")             \
    X(launch, grid, REQUIRED, EXTENTS, RUN, "The number of blocks, in one to three dimensions.")                       \
    X(launch, block, REQUIRED, EXTENTS, RUN, "The number of threads of a block, in one to three dimensions.")          \
    X(launch, cluster, OPTIONAL, EXTENTS, RUN, "The number of blocks of a cluster, in one to three dimensions.")       \
    X(launch, shared, OPTIONAL, EXPR, RUN, "The size of the dynamic shared memory, in bytes.")                         \
    X(launch, cooperative, OPTIONAL, BOOL, RUN,                                                                        \
      "`true`: a cooperative launch, in which all blocks of the grid can synchronise.")                                \
    X(launch, cluster_scheduling, OPTIONAL, TEXT, RUN,                                                                 \
      "`spread` distributes the blocks of a cluster over the SMs, `balance` balances the load, `default` leaves the "  \
      "choice to the driver.")                                                                                         \
    X(launch, overlap, OPTIONAL, BOOL, RUN,                                                                            \
      "`true`: the launch may begin before the previous step has ended (griddepcontrol).")                             \
    X(launch, priority, OPTIONAL, EXPR, RUN, "The priority of the launch. A lower number means a higher priority.")    \
    X(launch, carveout, OPTIONAL, EXPR, RUN, "The preferred share of the L1 cache for shared memory, in percent.")     \
    X(launch, args, REQUIRED, ARGS, RUN,                                                                               \
      "Expressions, buffers, places in buffers (`x + 4`), `null`, arguments, tensor maps, textures.")

#define KILN__KEYS_argument(X)                                                                                         \
    X(argument, struct, ONE_OF, FIELDS, RUN,                                                                           \
      "The fields of a structure that is passed by value. A field is [TYPE, NUMBER, ...], a buffer, `null`, an "       \
      "argument, a tensor map or a texture.")                                                                          \
    X(argument, bytes, ONE_OF, TEXT, RUN,                                                                              \
      "The bytes of a structure that is passed by value, as pairs of hexadecimal digits.")                             \
    X(argument, pointers, ONE_OF, ARGS, RUN,                                                                           \
      "An array of pointers in device memory: buffers, places in buffers, `null`. The kernel gets a pointer to it.")

#define KILN__KEYS_tensor_map(X)                                                                                       \
    X(tensor_map, tensor_map, REQUIRED, TEXT, RUN,                                                                     \
      "The buffer, or a place in it such as `A + 64`. The lists of other keys have the order of the shape.")           \
    X(tensor_map, type, OPTIONAL, TEXT, RUN,                                                                           \
      "The type of the elements, if it is not the buffer's: `tf32`, `f32_ftz`, `u4x16_align8`, ...")                   \
    X(tensor_map, shape, OPTIONAL, EXPRS, RUN, "1 to 5 extents. Default: the buffer's.")                               \
    X(tensor_map, strides, OPTIONAL, EXPRS, RUN,                                                                       \
      "The distances between elements, in elements, for all dimensions except the last. Default: dense.")              \
    X(tensor_map, box, OPTIONAL, EXPRS, RUN, "The extents of the box that one copy transfers.")                        \
    X(tensor_map, steps, OPTIONAL, EXPRS, RUN,                                                                         \
      "The distance between copied elements, for each dimension. Default: 1.")                                         \
    X(tensor_map, swizzle, OPTIONAL, EXPR, RUN, "The width of the swizzle: 0, 32, 64 or 128 bytes. Default: 0.")       \
    X(tensor_map, atom, OPTIONAL, EXPR, RUN,                                                                           \
      "The number of bytes that a swizzle of 128 moves together: 16, 32 or 64. Default: 16.")                          \
    X(tensor_map, flip, OPTIONAL, BOOL, RUN,                                                                           \
      "`true`: with an atom of 32, the two halves of 8 bytes change places in every second row.")                      \
    X(tensor_map, interleave, OPTIONAL, EXPR, RUN, "The width of the interleave: 0, 16 or 32 bytes. Default: 0.")      \
    X(tensor_map, l2_promotion, OPTIONAL, EXPR, RUN,                                                                   \
      "The number of bytes that the L2 fetches at once: 0, 64, 128 or 256. Default: 0.")                               \
    X(tensor_map, fill, OPTIONAL, TEXT, RUN,                                                                           \
      "The value of elements outside the shape: `zero` or `nan`. Default: zero.")                                      \
    X(tensor_map, lower, OPTIONAL, EXPRS, RUN,                                                                         \
      "For im2col: the lower corner of the box, in all dimensions except the first and the last.")                     \
    X(tensor_map, upper, OPTIONAL, EXPRS, RUN, "For im2col: the upper corner of the box, in the same dimensions.")     \
    X(tensor_map, channels, OPTIONAL, EXPR, RUN,                                                                       \
      "For im2col: the number of channels of a pixel that one copy transfers.")                                        \
    X(tensor_map, pixels, OPTIONAL, EXPR, RUN, "For im2col: the number of pixels that one copy transfers.")

#define KILN__KEYS_texture(X)                                                                                          \
    X(texture, texture, REQUIRED, TEXT, RUN,                                                                           \
      "The buffer, or a place in it such as `A + 512`. The lists of other keys have the order of the shape.")          \
    X(texture, shape, OPTIONAL, EXPRS, RUN, "1 to 3 extents in texels. Default: the buffer's.")                        \
    X(texture, channels, OPTIONAL, EXPR, RUN,                                                                          \
      "The number of elements of a texel: 1, 2 or 4. Default: 1. Without `shape` it must be the buffer's last "        \
      "extent.")                                                                                                       \
    X(texture, pitch, OPTIONAL, EXPR, RUN, "The distance between two rows, in elements. Default: dense.")              \
    X(texture, array, OPTIONAL, BOOL, RUN,                                                                             \
      "`true`: kiln copies the content to a CUDA array before the run. The copy is not a part of the run's time. "     \
      "Default: the texture uses the memory of the buffer.")                                                           \
    X(texture, layered, OPTIONAL, BOOL, RUN, "`true`: the first extent is the number of layers. This needs `array`.")  \
    X(texture, read, OPTIONAL, TEXT, RUN,                                                                              \
      "`element` or `float`. `float` maps integers of 8 and 16 bits to the range from 0 to 1, or from -1 to 1. "       \
      "Default: element.")                                                                                             \
    X(texture, filter, OPTIONAL, TEXT, RUN, "`point` or `linear`. Default: point.")                                    \
    X(texture, address, OPTIONAL, TEXTS, RUN,                                                                          \
      "The rule for coordinates outside the texture: `clamp`, `wrap`, `mirror` or `border` (zero). One rule for all "  \
      "dimensions, or one for each. Default: `clamp`.")                                                                \
    X(texture, normalised, OPTIONAL, BOOL, RUN, "`true`: coordinates from 0 to 1 cover the whole texture.")

#define KILN__KEYS_fill_step(X)                                                                                        \
    X(fill_step, buffer, REQUIRED, TEXT, RUN, "The buffer.")                                                           \
    X(fill_step, value, REQUIRED, EXPR, RUN, "The value.")

#define KILN__KEYS_copy(X)                                                                                             \
    X(copy, from, REQUIRED, TEXT, RUN, "A buffer.")                                                                    \
    X(copy, to, REQUIRED, TEXT, RUN, "A buffer.")                                                                      \
    X(copy, count, OPTIONAL, EXPR, RUN, "The number of elements. Default: all.")                                       \
    X(copy, from_offset, OPTIONAL, EXPR, RUN, "The first element in `from`.")                                          \
    X(copy, to_offset, OPTIONAL, EXPR, RUN, "The first element in `to`.")

#define KILN__KEYS_symbol(X)                                                                                           \
    X(symbol, name, REQUIRED, TEXT, RUN, "The variable.")                                                              \
    X(symbol, from, REQUIRED, TEXT, RUN, "A buffer.")                                                                  \
    X(symbol, count, OPTIONAL, EXPR, RUN, "The number of elements. Default: all.")                                     \
    X(symbol, offset, OPTIONAL, EXPR, RUN, "The first element in `from`.")

#define KILN__KEYS_host_step(X)                                                                                        \
    X(host_step, call, REQUIRED, TEXT, RUN, "The host function.")                                                      \
    X(host_step, args, OPTIONAL, NAMED_EXPRS, RUN,                                                                     \
      "The arguments: expressions, buffers, inputs or their exports, texts.")

#define KILN__KEYS_repeat(X)                                                                                           \
    X(repeat, times, REQUIRED, EXPR, RUN, "The number of rounds.")                                                     \
    X(repeat, index, OPTIONAL, TEXT, RUN,                                                                              \
      "The name under which the steps can use the number of the round. The first round is 0.")                         \
    X(repeat, steps, REQUIRED, STEPS, KEYS, "The steps.")

#define KILN__KEYS_while(X)                                                                                            \
    X(while, read, REQUIRED, READS, RUN,                                                                               \
      "The elements of buffers that kiln reads before each round. The name of a buffer means its first element.")      \
    X(while, cond, REQUIRED, EXPR, RUN, "The condition under which another round begins.")                             \
    X(while, at_most, REQUIRED, EXPR, RUN,                                                                             \
      "The largest number of rounds. It is an error if the condition still holds after that.")                         \
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
/* the keys of one mapping stand one after the other */
extern const kiln__key_row kiln__keys[KILN__KEY_COUNT];
extern const char *const kiln__mapping_names[KILN__MAPPING_COUNT]; /* such as "a launch", for messages */

/* A reader of a mapping uses this macro: KILN__KEYS_launch(KILN__NODE) declares the variables `kernel_`, `grid_` and so
 * on. These variables are the nodes of the keys in the mapping `map`, or NULL if a key is missing. The compiler warns
 * about such a variable if the reader does not use it. */
#define KILN__NODE(mapping, name, need, form, effect, about)                                                           \
    kiln__spec_node *const name##_ = kiln__spec_node_get(map, #name);

#endif
