/* init.h - functions that the files of `kiln init` share. */
#ifndef KILN_CLI_INIT_H
#define KILN_CLI_INIT_H

#include "cli.h"

typedef struct init_args {
    cli_engine_args engine;
    const char *kernel, *output_to, *launch, *nvcc, *space;
    cli_list stubs, params; /* params: "NAME=VALUES" */
} init_args;

/* The values of a new spec that come from the command line. */
typedef struct init_plan {
    const char *folder;         /* the folder in which the spec will be */
    cli_list includes, options; /* values for the keys `include:` and `options:` of the spec */
    kiln_setting *defines;      /* for `define:` */
    size_t define_count, define_room;
} init_plan;

/* Finds the source in the command line of nvcc (--nvcc), for a user who did not name it again. Fails if the command line
 * has no source or several sources. Returns 0 or the exit code. */
int init_find_source(cli *c, const char **source);
/* Reads a command line of nvcc (--nvcc): folders of headers, macros, and options that matter for a kernel. Prints the
 * words of the command line that were left out, except the name of the source. Returns 0 or the exit code. */
int init_read_nvcc(cli *c, const char *source, init_plan *plan);
/* Makes the empty headers of --stub in the folder `stubs` beside the spec. Returns 0 or the exit code. */
int init_make_stubs(cli *c, init_plan *plan);
/* Adds a folder of headers. A folder below the folder of the spec becomes a part of `include`; any other folder becomes
 * an option -I. */
void init_add_include(cli *c, init_plan *plan, const char *folder);
/* Finds the header that a failed draft could not find, according to `message`, in the project of the source. Adds the
 * folder of the header, and prints a message. If the folder is outside the folder of the spec, closes the engine,
 * because a new engine must get the folder as an option -I. Returns false if the message is not about a missing header,
 * or if the header was not found. */
bool init_find_headers(cli *c, init_plan *plan, const char *message);
/* Returns the path that leads from `folder` to `file`, with ".." for each step upwards. `file` is an absolute path
 * without symbolic links. */
const char *init_path_between(const char *folder, const char *file);
kiln_value init_value(const char *text); /* converts a text to a whole number, or returns the text itself */
/* A file that is compiled into the command (kernel_tuner.py). */
typedef struct init_file {
    const char *name;
    const unsigned char *data;
    size_t size;
} init_file;
extern const init_file init_files[]; /* ends with {0} */

/* Writes a spec to `to` from a Python script that calls Kernel Tuner, and other files beside the spec. If `to` is NULL,
 * prints the spec. Returns 0 or the exit code. */
int init_from_script(cli *c, const char *script, const char *to, const char *folder);

/* Returns true if the text is the signature of a function, which has a parenthesis and an arrow. */
bool init_is_signature(const char *text);
/* Writes a contract (the description of a problem for `kiln judge`) from a signature to `to`, and the frame of its
 * reference kernel beside it. If `to` is NULL, prints only the contract. Returns 0 or the exit code. */
int init_from_signature(cli *c, const char *text, const char *to, const char *folder);

#endif
