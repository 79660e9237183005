/* ptx_internal.h - declarations that the files of the PTX front end share. The files process a text in this order:
 *   lex.c                                         tokens, names, scopes, the log
 *   expr.c                                        constants
 *   module.c, variable.c, function.c, source.c    directives
 *   body.c                                        statements
 *   insn.c, spelling.c, operand.c, call.c         instructions
 *   table.c                                       the instruction table, ops.def
 *   flow.c                                        post-dominators */
#ifndef KILN_SIM_PTX_INTERNAL_H
#define KILN_SIM_PTX_INTERNAL_H

#include "ptx.h"

/* ---- the table ---- */

typedef struct ptx_since { /* a target in ops.def: "90" is {90, 0}, and "90a" is {90, 'a'}; {0, 0} is any target */
    uint16_t target;
    char kind;
} ptx_since;

typedef enum ptx_suffix_kind { PTX_SUFFIX_UNKNOWN, PTX_SUFFIX_TYPE, PTX_SUFFIX_SPACE, PTX_SUFFIX_MOD } ptx_suffix_kind;
typedef struct ptx_suffix {
    ptx_suffix_kind kind;
    unsigned value;
} ptx_suffix;

typedef struct ptx_need { /* a suffix that only some targets have */
    ptx_suffix suffix;    /* the kind is UNKNOWN in an unused ptx_need */
    ptx_since since;
} ptx_need;

#define PTX_MAX_NEEDS 2
typedef struct ptx_slot {
    uint64_t mods[PTX_MOD_WORDS];
    uint64_t types; /* bit set of ptx_type */
    uint8_t spaces; /* bit set of ptx_space */
    bool optional;
    ptx_need needs[PTX_MAX_NEEDS];
} ptx_slot;

/* How an operand gets its type. FIXED: ops.def names the type. WRITTEN: the operand has one of the types in the
 * instruction's mnemonic, such as f32 in add.f32. WIDENED: the operand has twice the width of such a type. */
typedef enum ptx_width { PTX_FIXED, PTX_WRITTEN, PTX_WIDENED } ptx_width;

typedef struct ptx_pattern { /* the description of one operand of a form */
    char kind;               /* the letter that ops.def explains, such as 'd' or 's' */
    /* `width` is a ptx_width. `type` is a ptx_type for FIXED, otherwise an index into insn->types. */
    uint8_t width, type;
    uint8_t pred; /* second destination (d|p): 0 means not allowed, 1 optional, 2 required */
    /* for the kinds V and v the number of elements, for I and Q the number of operands; 0 means insn->vector
     * elements */
    uint8_t count;
    bool relaxed, optional;
    bool per_tile; /* true if the number of elements is `count` * insn->tiles */
} ptx_pattern;

#define PTX_MAX_SLOTS 16
typedef struct ptx_form {
    uint8_t slot_count, operand_count, operands_needed;
    ptx_since since;
    uint16_t slots[PTX_MAX_SLOTS]; /* indices into ptx_slots; forms share equal slots */
    ptx_pattern operands[PTX_MAX_OPERANDS];
} ptx_form;

/* The state spaces: X(name, spelling). */
#define PTX_SPACE_MAP(X) X(GLOBAL, "global") X(SHARED, "shared") X(LOCAL, "local") X(CONST, "const") X(PARAM, "param")

/* The tables that tables/main.c writes when Kiln is built. */
typedef struct ptx_named {
    const char *text;
    unsigned length;
    ptx_suffix suffix;
} ptx_named;
typedef struct ptx_form_list {
    const ptx_form *forms;
    unsigned count;
    ptx_since since;
} ptx_form_list;
extern const ptx_named ptx_suffixes[]; /* sorted by text */
extern const size_t ptx_suffix_count;
extern const ptx_slot ptx_slots[];
extern const ptx_form_list ptx_forms[PTX_OP_COUNT];

ptx_suffix ptx_suffix_find(const char *text, size_t length);
bool ptx_type_find(const char *text, size_t length, ptx_type *type);
/* returns the state space that a modifier such as "shared::cta" names, or PTX_SPACE_GENERIC */
ptx_space ptx_mod_space(ptx_mod mod);
const char *const *ptx_op_forms(ptx_op op); /* returns the texts of the opcode's forms in ops.def; NULL ends the list */
/* returns the text of the column `since` in ops.def; NULL means any target */
const char *ptx_op_since(ptx_op op);
/* Finds the longest prefix of `text` that is an opcode and ends at a dot or at the end. Returns the length of the
 * prefix, or 0 if no prefix is an opcode. */
size_t ptx_op_find(const char *text, size_t length, ptx_op *op);
/* Returns the longest prefix of `text` that is a PTX opcode which Kiln does not support, or NULL if no prefix is such
 * an opcode. */
const char *ptx_op_later(const char *text, size_t length);
const char *ptx_op_later_name(unsigned index); /* returns NULL past the last name */
bool ptx_suffix_later(const char *text, size_t length);

/* ---- names and scopes ---- */

typedef enum ptx_binding_kind {
    PTX_BIND_REG,
    PTX_BIND_RANGE,
    PTX_BIND_SREG,
    PTX_BIND_SYMBOL,
    PTX_BIND_FUNCTION,
    PTX_BIND_LABEL,
    PTX_BIND_TARGETS,
    PTX_BIND_PROTOTYPE,
    PTX_BIND_CONSTANT
} ptx_binding_kind;

typedef struct ptx_binding {
    struct ptx_binding *shadowed; /* the binding of the name in the outer scope, or NULL */
    struct ptx_binding *next;     /* the next binding in the same scope */
    struct ptx_name *name;
    uint32_t depth, index,
        /* `count` is the number of registers for RANGE, the number of labels for TARGETS, the value for CONSTANT, and
         * the least target for SREG. */
        count;
    uint8_t kind, type;
} ptx_binding;

typedef struct ptx_name {
    const char *text;
    uint32_t length, hash;
    const char *string; /* if the name is a label in .debug_str: the string at the label */
    /* `%r<9>` declares a range with the name "%r" (`range`). This is not the register "%r" (`binding`). */
    ptx_binding *binding, *range;
} ptx_name;

#define PTX_MAX_DEPTH 64 /* deepest nesting of scopes, parentheses and braces */
#define PTX_DEPTH_BUILTIN 0u
#define PTX_DEPTH_MODULE 1u

/* ---- tokens ---- */

typedef enum ptx_token_kind {
    PTX_TOKEN_END,
    PTX_TOKEN_NAME,
    PTX_TOKEN_DIRECTIVE /* the text does not include the dot */,
    PTX_TOKEN_NUMBER,
    PTX_TOKEN_STRING,
    PTX_TOKEN_PUNCTUATION,
    PTX_TOKEN_BAD
} ptx_token_kind;

typedef enum ptx_number_kind { PTX_SIGNED, PTX_UNSIGNED, PTX_FLOAT32, PTX_FLOAT64 } ptx_number_kind;
typedef struct ptx_value {
    uint64_t bits; /* an integer, or the bits of a float or double */
    uint8_t kind;
} ptx_value;

typedef struct ptx_token {
    ptx_token_kind kind;
    uint32_t line;
    const char *text;
    size_t length;
    ptx_value value;
    ptx_name *name;
    /* For PUNCTUATION. A letter stands for an operator of two characters: l is <<, r is >>, e is ==, n is !=, L is <=,
     * G is >=, a is &&, o is ||. */
    char character;
} ptx_token;

/* ---- an operand as the text has it, before the parser matches it with a form ---- */

typedef enum ptx_raw_kind {
    PTX_RAW_NAME,
    PTX_RAW_VALUE,
    PTX_RAW_ADDRESS_NAME,
    PTX_RAW_ADDRESS_VALUE,
    PTX_RAW_VECTOR,
    PTX_RAW_SINK
} ptx_raw_kind;

typedef struct ptx_raw {
    uint8_t kind;
    /* `coordinates` is set for an ADDRESS_NAME with coordinates, as in [name, {x, y}] */
    bool negate, second_sink, minus, coordinates;
    /* the selected bytes or halfwords of a register, in the encoding of PTX_SELECT_BITS(); 0 if none are selected */
    uint32_t select;
    ptx_name *name, *second;
    ptx_value value;
    int64_t offset;
    uint32_t first, count; /* for VECTOR and coordinates: the elements in parser->parts */
} ptx_raw;

#define PTX_MAX_PARTS 144 /* enough for the 128 accumulators of a wgmma */
/* largest number of operands of an instruction in the text; several of them may become one list */
#define PTX_MAX_WRITTEN 12

typedef struct ptx_fixup { /* a branch to a label that may not have been seen yet */
    ptx_name *name;
    /* the place of the label: operands[operand] of an instruction, or elements[operand] if `insn` is UINT32_MAX */
    uint32_t line, insn, operand;
    struct ptx_fixup *next;
} ptx_fixup;

typedef struct ptx_scope {
    ptx_binding *bindings;
    ptx_fixup *fixups;
    uint64_t frame; /* the value of parser->frame_bytes when the scope began */
} ptx_scope;

typedef struct ptx_spelling { /* a mnemonic such as "add.s32", parsed once */
    const char *text;
    uint32_t length, hash;
    ptx_op op;
    uint64_t forms; /* bit set of the opcode's forms that match the suffixes */
    /* Bit set of the forms that match the suffixes but need another target than the device's. If `forms` and `newer`
     * are 0, each use of the mnemonic is an error. */
    uint64_t newer;
    ptx_since since; /* the target that the first form in `newer` needs */
    uint8_t types[4], space, vector, tiles;
    uint64_t mods[PTX_MOD_WORDS];
} ptx_spelling;

typedef struct ptx_loc_note {
    uint32_t loc;
    ptx_name *label;
} ptx_loc_note; /* a .loc directive, and the label of its function_name */

typedef struct ptx_parser {
    const kiln_allocator *mem;
    uint32_t seed; /* seed of ptx_hash() and ptx_loc_hash() */
    ptx_module *module;
    kiln__arena scratch;
    kiln__text *log;
    unsigned errors;
    int device; /* compute capability of the device, such as 90; 0 means any device */
    /* memory: true after memory has run out; invalid: true after an error other than an unsupported instruction */
    bool memory, invalid;

    const char *start, *cursor, *end;
    uint32_t line;
    ptx_token token; /* the current token */
    ptx_name **names;
    size_t name_count, name_capacity;
    ptx_spelling **spellings;
    size_t spelling_count, spelling_capacity;

    /* nested_ranges: number of register ranges declared in scopes inside a function's outermost scope */
    uint32_t depth, nested_ranges;
    ptx_scope scopes[PTX_MAX_DEPTH + 1];

    ptx_symbol *symbols;
    size_t symbol_count, symbol_capacity;
    ptx_function *functions;
    size_t function_count, function_capacity;
    ptx_loc *locs;
    size_t loc_count, loc_capacity;
    ptx_loc_note *loc_notes;
    /* the parser resolves loc_notes at the end, because the labels come last in the text */
    size_t loc_note_count, loc_note_capacity;
    uint32_t *loc_index;
    size_t loc_index_capacity, loc_index_count;
    const char **files;
    size_t file_count, file_capacity;
    uint64_t init_bytes; /* number of bytes allocated for initialisers */
    /* total number of targets of all brx.idx instructions; a list of targets counts once for each brx.idx */
    uint64_t targets;
    /* number of instructions, operands and registers of functions with aliases, counted once per alias */
    uint64_t repeated;

    /* The members from here on belong to the function that is being read. `function` is its index, or UINT32_MAX. */
    uint32_t function, loc;
    ptx_insn *insns;
    size_t insn_count, insn_capacity;
    ptx_operand *elements;
    size_t element_count, element_capacity;
    ptx_reg *regs;
    size_t reg_count, reg_capacity;
    ptx_prototype *prototypes;
    size_t prototype_count, prototype_capacity;
    uint64_t frame_bytes;

    ptx_raw parts[PTX_MAX_PARTS];
    uint32_t part_count; /* number of elements of the vectors of the current instruction */
    char why[200];       /* the reason why the instruction does not match the last form */
} ptx_parser;

/* lexer */
bool ptx_names_init(ptx_parser *p);
void ptx_next(ptx_parser *p);
char ptx_peek(ptx_parser *p); /* returns the next character that is neither space nor comment, or '\0' at the end */
ptx_name *ptx_intern(ptx_parser *p, const char *text, size_t length); /* returns NULL if memory runs out */
bool ptx_is(const ptx_parser *p, char punctuation);
bool ptx_is_directive(const ptx_parser *p, const char *name);
bool ptx_accept(ptx_parser *p, char punctuation);
bool ptx_expect(ptx_parser *p, char punctuation);
bool ptx_expect_integer(ptx_parser *p, uint64_t limit, const char *what, uint64_t *value);
/* Adds an error to the log. Returns false, so that a caller can write `return ptx_error(...)`. */
bool ptx_error(ptx_parser *p, uint32_t line, const char *format, ...) KILN__PRINTF(3, 4);
bool ptx_unsupported(ptx_parser *p, uint32_t line, const char *format, ...) KILN__PRINTF(3, 4);
#if defined __clang_analyzer__ || defined KILN_ANALYZER /* see kiln__fail() */
#define ptx_error(...) (ptx_error(__VA_ARGS__), false)
#define ptx_unsupported(...) (ptx_unsupported(__VA_ARGS__), false)
#endif
bool ptx_out_of_memory(ptx_parser *p);
const char *ptx_shown(ptx_parser *p); /* returns the text of the current token for a message */
/* Calls kiln__grow(). Returns false and sets p->memory if memory runs out. */
bool ptx_grow(ptx_parser *p, void *array, size_t *capacity, size_t need, size_t size);
/* The hash function FNV-1a with a random seed. Each parse has another seed. Without it, a hostile text could have many
 * names with the same hash, and each look-up would compare all of them. */
static inline uint32_t ptx_hash(const ptx_parser *p, const char *text, size_t length)
{
    uint32_t hash = p->seed;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)text[i]) * 16777619u;
    return hash ^ hash >> 15;
}

/* Returns true if a device of compute capability `device` has the feature that ops.def marks with `since`. */
static inline bool ptx_device_has(int device, ptx_since since)
{
    const bool tensor_memory = device / 10 == 10 || device / 10 == 11;
    if (device == 0)
        return true;
    if (device < since.target)
        return false;
    switch (since.kind) {
    case 'a':
    case 'f': return device / 10 == since.target / 10;
    case 'T':
    case 'L': return tensor_memory;
    case 'A': return tensor_memory && device % 10 == since.target % 10;
    default: return true;
    }
}
/* Returns true if ptxas accepts the feature in a module with this .target. The .target matters only for features of a
 * single family or architecture. `letter` is the letter of the .target, or 0. */
static inline bool ptx_target_has(int target, char letter, ptx_since since)
{
    const bool alone = since.kind == 'a' || since.kind == 'A' || since.kind == 'L';
    return !since.kind || (letter && (!alone || letter == 'a') && ptx_device_has(target, since));
}
/* Returns true if both the device and the module's .target have the feature that `since` marks. */
bool ptx_is_there(const ptx_parser *p, ptx_since since);
/* Adds `more` to *so_far, the number of items that a text repeats by a name, such as the instructions of an alias. The
 * module has a copy of the items for each use, so without a limit a short text could take any amount of memory. Reports
 * the error `what` if the number exceeds 4096 plus `each` times the length of the text in bytes. */
bool ptx_repeat(ptx_parser *p, uint32_t line, uint64_t *so_far, uint64_t more, unsigned each, const char *what);
/* Reports an error if the device or the module's .target lacks the feature `what`, such as "directive
 * .explicitcluster". */
bool ptx_needs(ptx_parser *p, uint32_t line, ptx_since since, const char *what, int length);

/* names */
/* binds a name in the current scope; returns NULL after an error */
ptx_binding *ptx_bind(ptx_parser *p, ptx_name *name, ptx_binding_kind kind, uint32_t index);
ptx_binding *ptx_lookup(ptx_parser *p, ptx_name *name); /* returns NULL if the name is unknown or memory runs out */
bool ptx_declare_range(ptx_parser *p, ptx_name *prefix, ptx_type type, uint32_t count);
bool ptx_declare_reg(ptx_parser *p, ptx_name *name, ptx_type type);
bool ptx_scope_push(ptx_parser *p);
void ptx_scope_pop(ptx_parser *p); /* resolves the labels of the scope */

/* constants */
bool ptx_expression(ptx_parser *p, ptx_value *value);
bool ptx_integer(ptx_parser *p, int64_t *value);
/* converts a constant to the bits of `type`; returns false if the type cannot have this constant */
bool ptx_convert(ptx_value value, ptx_type type, uint64_t *bits);

/* variables */
bool ptx_name_wanted(ptx_parser *p, const char *what, ptx_name **name);
bool ptx_align(ptx_parser *p, uint32_t *align);
bool ptx_variable_type(ptx_parser *p, ptx_type *type, unsigned *lanes); /* reads "[.v2|.v4] .type" */
/* Reads .attribute(...), and sets *managed for .managed. `managed` is NULL for a function or a parameter. */
bool ptx_attribute(ptx_parser *p, bool *managed);
bool ptx_layout(uint64_t *offset, uint64_t bytes, uint32_t align, uint64_t *at);
bool ptx_variable(ptx_parser *p, ptx_space space, ptx_linkage linkage);
uint32_t ptx_symbol_add(ptx_parser *p, const ptx_symbol *symbol, ptx_name *name); /* returns UINT32_MAX on failure */

/* functions */
typedef struct ptx_declarator {
    ptx_name *name;
    ptx_type type;
    uint64_t bytes;
    uint32_t align, line;
    bool pointer;
} ptx_declarator;
/* reads a parameter such as ".param .align 8 .b8 name[16]" */
bool ptx_parameter(ptx_parser *p, ptx_declarator *declarator);
bool ptx_function_directive(ptx_parser *p, bool entry, ptx_linkage linkage);
bool ptx_alias(ptx_parser *p);
/* Returns the sizes in bytes of the function's return values and parameters. The array is made once per function. All
 * calls of the function share it. Returns NULL if memory runs out. */
const uint64_t *ptx_param_sizes(ptx_parser *p, uint32_t function);
/* returns a copy of `count` elements of `size` bytes that lives as long as the module, or NULL if memory runs out */
void *ptx_keep(ptx_parser *p, const void *data, size_t count, size_t size);

/* source lines */
uint32_t ptx_loc_add(ptx_parser *p, ptx_loc loc);
bool ptx_loc_directive(ptx_parser *p);
bool ptx_file_directive(ptx_parser *p);
bool ptx_section(ptx_parser *p);
void ptx_skip_statement(ptx_parser *p);

/* bodies */
bool ptx_body(ptx_parser *p); /* parses from after '{' to the matching '}' */
bool ptx_instruction(ptx_parser *p, uint32_t guard, bool guard_negate);
bool ptx_mnemonic(ptx_parser *p, const char **text, size_t *length);
const ptx_spelling *ptx_spelling_of(ptx_parser *p, const char *text, size_t length, uint32_t line);
bool ptx_raw_operand(ptx_parser *p, ptx_raw *raw);
bool ptx_match_form(ptx_parser *p, const ptx_form *form, const ptx_raw *raws, unsigned count, ptx_insn *insn,
                    ptx_name **label);
/* Returns the largest number of operands that the text of an instruction of this form may have. It may exceed
 * form->operand_count, because the last operand of a form may stand for several operands of the text. */
static inline unsigned ptx_form_most(const ptx_form *form)
{
    const ptx_pattern *last = &form->operands[form->operand_count ? form->operand_count - 1 : 0];
    return form->operand_count + (last->kind == 'I' || last->kind == 'Q' ? last->count - 1u : 0);
}
/* Returns the smallest number of operands that the text of an instruction of this form may have. */
static inline unsigned ptx_form_least(const ptx_form *form)
{
    return ptx_form_most(form) - (unsigned)(form->operand_count - form->operands_needed);
}
bool ptx_reg_fits(ptx_type want, ptx_type reg, bool relaxed);
const ptx_binding *ptx_known(ptx_parser *p, ptx_name *name);
bool ptx_match_value(ptx_parser *p, const ptx_raw *raw, ptx_type type, ptx_operand *operand);
bool ptx_call(ptx_parser *p, ptx_insn *insn);
bool ptx_flow(ptx_parser *p, ptx_insn *insns, uint32_t count, const ptx_operand *elements);

#endif
