/* corpus.h - the cases of the corpus: files of CUDA code with axes of values at their head. README.md says how they are
 * written. */
#ifndef KILN_TESTS_CORPUS_H
#define KILN_TESTS_CORPUS_H

#include "base.h"

typedef struct corpus_axis {
    const char *name;
    const char **values;
    size_t count;
} corpus_axis;
typedef struct corpus_case {
    const char *name, *source;
    corpus_axis *axes;
    size_t axis_count;
    const char **options;
    size_t option_count;
    int archs[8];
    size_t arch_count;
    bool every; /* true if each combination is compiled for each architecture; otherwise the architectures take turns */
    bool nvcc;  /* true if the case also has host code, so that NVRTC cannot compile it */
    size_t combinations;
} corpus_case;

/* One module: a case with one value of every axis. */
typedef struct corpus_module {
    const corpus_case *of;
    const char *name; /* "block_scan.T=int.N=64.sm_80" */
    const char *source;
    int arch;
} corpus_module;

/* Reads the cases of a folder, in order of their names. Returns false if that fails; *error then has a line with the
 * reason. */
bool corpus_read(kiln__arena *arena, const char *folder, corpus_case **cases, size_t *count, const char **error);
size_t corpus_modules(const corpus_case *of);
/* Returns module `index` of a case, or NULL if memory runs out. */
corpus_module *corpus_at(kiln__arena *arena, const corpus_case *of, size_t index);
/* Returns the options of NVRTC for the case, or NULL if the case has no options. `cuda` has the toolkit's headers, and
 * `folder` has other headers. */
const char **corpus_options(kiln__arena *arena, const char *cuda, const char *folder, const corpus_case *of,
                            size_t *count);
#endif
