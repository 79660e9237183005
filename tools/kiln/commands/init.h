/* init.h - the parts of `kiln init`. */
#ifndef KILN_CLI_INIT_H
#define KILN_CLI_INIT_H

#include "cli.h"

typedef struct init_args {
    cli_engine_args engine;
    const char *kernel, *output_to, *launch, *nvcc, *space;
    cli_list stubs, params; /* params: "NAME=VALUES" */
} init_args;

/* Values for the spec that come from the command line. */
typedef struct init_plan {
    const char *folder;         /* folder of the spec */
    cli_list includes, options; /* for `include:` and `options:` of the spec */
    kiln_setting *defines;      /* for `define:` */
    size_t define_count, define_room;
} init_plan;

/* Reads the words of a command line of nvcc (--nvcc): folders of headers, macros, and options that matter for a kernel.
 * Prints the words that were left out. Returns 0 or the exit code. */
int init_read_nvcc(cli *c, init_plan *plan);
/* Makes the empty headers of --stub in the folder `stubs` beside the spec. Returns 0 or the exit code. */
int init_make_stubs(cli *c, init_plan *plan);
/* Adds a folder of headers: to `include` of the spec if it lies below the folder of the spec, otherwise to -I. */
void init_add_include(cli *c, init_plan *plan, const char *folder);
/* Finds the header that the message of a failed draft misses, in the project of the source. Adds the folder of the
 * header, and prints a message. Closes the engine if the folder is outside the folder of the spec, because a new engine
 * then needs it as -I. Returns false if the message misses no header, or if the header was not found. */
bool init_find_headers(cli *c, init_plan *plan, const char *message);
/* Returns the path of `file` from `folder`, with ".." where it leads upwards. `file` is a whole path without links. */
const char *init_path_between(const char *folder, const char *file);
kiln_value init_value(const char *text); /* a whole number, or the text itself */
/* A file that is compiled in (kernel_tuner.py). */
typedef struct init_file {
    const char *name;
    const unsigned char *data;
    size_t size;
} init_file;
extern const init_file init_files[]; /* ends with {0} */

/* Writes a spec from a Python script that calls Kernel Tuner, to `to` and files beside it. If `to` is NULL, prints the
 * spec. Returns 0 or the exit code. */
int init_from_script(cli *c, const char *script, const char *to, const char *folder);

/* Returns true if the text is the signature of a function: it has a parenthesis and an arrow. */
bool init_is_signature(const char *text);
/* Writes a contract from a signature to `to`, and the frame of its reference beside it. If `to` is NULL, prints the
 * contract only. Returns 0 or the exit code. */
int init_from_signature(cli *c, const char *text, const char *to, const char *folder);

#endif
