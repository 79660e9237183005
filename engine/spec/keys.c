/* keys.c - lists the keys of the spec format, with their texts and JSON schemas. */
#include "keys.h"

#include "base.h"

#define REF(name) "{\"$ref\": \"#/$defs/" name "\"}"
#define EITHER(a, b) "{\"anyOf\": [" a ", " b "]}"
#define SCALAR "{\"type\": [\"string\", \"number\", \"boolean\"]}"
#define SCALARS(least) /* a scalar or a list; a single value counts as a list with one item */                         \
    EITHER(SCALAR, "{\"type\": \"array\", \"minItems\": " least ", \"items\": " SCALAR "}")
#define BY_NAME(least, item)                                                                                           \
    "{\"type\": \"object\", \"minProperties\": " least ", " SPLIT ", \"additionalProperties\": " item "}"
/* YAML makes two keys from the text `{x: max(a, b)}`, because it splits the text at the comma. The second of these
 * keys, `b)`, has no value. Kiln joins the two parts again. */
#define SPLIT "\"patternProperties\": {\"\\\\)\": {\"type\": \"null\"}}"
#define LABEL_PATTERN "\"pattern\": \"^[A-Za-z0-9_-]{1,63}$\""

#define UNIT_NAME(name, value, key, text) " `" key "`"
#define UNIT_CONST(name, value, key, text) "{\"const\": \"" key "\"}, "
/* The forms of values. Each row is X(name, text, JSON schema). YAML splits the text `[max(a, b)]` at the comma, and
 * Kiln joins the parts again. An editor compares the schema with the tree that YAML makes, so the schema cannot limit
 * the length of a list of expressions. */
#define FORMS(X)                                                                                                       \
    X(VERSION, "1", "{\"const\": 1}")                                                                                  \
    X(BOOL, "true or false", "{\"type\": \"boolean\"}")                                                                \
    X(LABEL, "text", "{\"type\": [\"string\", \"number\", \"boolean\"], " LABEL_PATTERN "}")                           \
    X(TEXT, "text", SCALAR)                                                                                            \
    X(TEXTS, "list of texts", SCALARS("0"))                                                                            \
    X(TEMPLATE, "text with {expressions}", SCALAR)                                                                     \
    X(TEMPLATES, "list of texts with {expressions}", SCALARS("0"))                                                     \
    X(EXPR, "expression", SCALAR)                                                                                      \
    X(EXPRS, "list of expressions", SCALARS("0"))                                                                      \
    X(ARGS, "list of arguments",                                                                                       \
      EITHER(SCALAR, "{\"type\": \"array\", \"items\": {\"anyOf\": [" SCALAR                                           \
                     ", {\"type\": \"null\"}, " REF("argument") ", " REF("tensor_map") ", " REF("texture") "]}}"))     \
    X(FIELDS, "NAME: field",                                                                                           \
      BY_NAME("1", "{\"anyOf\": [" SCALAR ", {\"type\": \"null\"}, " SCALARS("2") ", " REF("argument") ", " REF(       \
                       "tensor_map") ", " REF("texture") "]}"))                                                        \
    X(EXTENTS, "one to three expressions", SCALARS("1"))                                                               \
    X(NAMED_EXPRS, "NAME: expression", BY_NAME("0", SCALAR))                                                           \
    X(DEFINES, "list of lets, or NAME: expression", EITHER(SCALARS("0"), BY_NAME("0", SCALAR)))                        \
    X(VALUE, "value", SCALAR)                                                                                          \
    X(VALUES, "list of values", SCALARS("1"))                                                                          \
    X(UNIT, "one of" KILN_UNIT_MAP(UNIT_NAME), "{\"anyOf\": [" KILN_UNIT_MAP(UNIT_CONST) "false]}")                    \
    X(PAIR, "two buffers", "{\"type\": \"array\", \"minItems\": 2, \"maxItems\": 2, \"items\": " SCALAR "}")           \
    X(READS, "NAME: BUFFER or BUFFER[ELEMENT]", BY_NAME("1", SCALAR))                                                  \
    X(SIZES, "NAME: {NAME: value}", BY_NAME("1", BY_NAME("0", SCALAR)))                                                \
    X(PARAMS, "NAME: values or param", BY_NAME("0", EITHER(SCALARS("1"), REF("param"))))                               \
    X(INPUTS, "NAME: input", BY_NAME("0", REF("input")))                                                               \
    X(BUFFERS, "NAME: buffer", BY_NAME("0", REF("buffer")))                                                            \
    X(FILL, "expression or fill", EITHER(SCALAR, REF("fill")))                                                         \
    X(VERIFY, "BUFFER: verification", BY_NAME("0", REF("verification")))                                               \
    X(ASSUMPTIONS, "NAME: assumption", BY_NAME("0", REF("assumption")))                                                \
    X(TOLERANCES, "BUFFER: tolerance", BY_NAME("0", REF("tolerance")))                                                 \
    X(AGAINST, "against", REF("against"))                                                                              \
    X(VARIANTS, "NAME: variant",                                                                                       \
      "{\"type\": \"object\", \"minProperties\": 1, \"propertyNames\": {" LABEL_PATTERN "}, "                          \
      "\"additionalProperties\": " REF("variant") "}")                                                                 \
    X(STEPS, "list of steps", "{\"type\": \"array\", \"minItems\": 1, \"items\": " REF("step") "}")                    \
    X(LAUNCH, "launch", REF("launch"))                                                                                 \
    X(FILL_STEP, "fill_step", REF("fill_step"))                                                                        \
    X(COPY, "copy", REF("copy"))                                                                                       \
    X(SYMBOL, "symbol", REF("symbol"))                                                                                 \
    X(HOST_STEP, "host_step", REF("host_step"))                                                                        \
    X(REPEAT, "repeat", REF("repeat"))                                                                                 \
    X(WHILE, "while", REF("while"))

#define KILN_X(name, text, schema) static const char text_##name[] = text, schema_##name[] = schema;
FORMS(KILN_X)
#undef KILN_X

#define KILN_X(name, text) static const char effect_##name[] = text;
KILN__KEY_EFFECTS(KILN_X)
#undef KILN_X

#define HAS(keys) "{\"required\": [" keys "]}"
#define RULE_NONE "{}"
/* a param has `values`, or the keys of a range */
#define RULE_PARAM                                                                                                                   \
    "{\"anyOf\": [" HAS("\"values\"") ", " HAS("\"from\", \"to\"") "], \"not\": {\"anyOf\": [" HAS("\"values\", \"from\"") ", " HAS( \
        "\"values\", \"to\"") ", " HAS("\"values\", \"step\"") ", " HAS("\"values\", \"times\"") ", " HAS("\"step\", \"times\"") "]}}"
/* at most one content; type and shape are needed unless the content has them */
#define RULE_BUFFER                                                                                                       \
    "{\"anyOf\": [" HAS("\"type\", \"shape\"") ", " HAS("\"from\"") ", " HAS("\"file\"") "], \"not\": {\"anyOf\": [" HAS( \
        "\"fill\", \"from\"") ", " HAS("\"fill\", \"file\"") ", " HAS("\"from\", \"file\"") "]}}"
#define RULE_TOLERANCE "{\"anyOf\": [" HAS("\"rtol\"") ", " HAS("\"atol\"") "]}"
#define RULE_TENSOR_MAP /* a tensor map has a box, or the four keys of im2col */                                       \
    "{\"oneOf\": [" HAS("\"box\"") ", " HAS("\"lower\", \"upper\", \"channels\", \"pixels\"") "]}"
#define RULE_VERIFICATION /* a verification is exact or has tolerances */                                              \
    "{\"not\": {\"required\": [\"exact\"], \"properties\": {\"exact\": {\"const\": true}}, \"anyOf\": [" HAS(          \
        "\"rtol\"") ", " HAS("\"atol\"") "]}}"

#define KILN_X(mapping, what, rule, about) static const char about_##mapping[] = about, rule_##mapping[] = RULE_##rule;
KILN__MAPPINGS(KILN_X)
#undef KILN_X

const char *const kiln__mapping_names[KILN__MAPPING_COUNT] = {
#define KILN_X(mapping, what, rule, about) what,
    KILN__MAPPINGS(KILN_X)
#undef KILN_X
};

const kiln__key_row kiln__keys[KILN__KEY_COUNT] = {
#define KILN_KEY(in, key, needed, form, changed, text)                                                                 \
    {KILN__MAPPING_##in,                                                                                               \
     KILN__EFFECT_##changed,                                                                                           \
     {.mapping = #in,                                                                                                  \
      .mapping_about = about_##in,                                                                                     \
      .mapping_rule = rule_##in,                                                                                       \
      .name = #key,                                                                                                    \
      .need = KILN_KEY_##needed,                                                                                       \
      .value = text_##form,                                                                                            \
      .schema = schema_##form,                                                                                         \
      .about = text,                                                                                                   \
      .changes = effect_##changed}},
#define KILN_X(mapping, what, rule, about) KILN__KEYS_##mapping(KILN_KEY)
    KILN__MAPPINGS(KILN_X)
#undef KILN_X
#undef KILN_KEY
};

const kiln_spec_key_info *kiln_spec_key(size_t number)
{
    return number < KILN__KEY_COUNT ? &kiln__keys[number].info : NULL;
}
