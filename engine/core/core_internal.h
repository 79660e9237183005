/* internal.h - what the files of core share. */
#ifndef KILN_CORE_INTERNAL_H
#define KILN_CORE_INTERNAL_H

#include "engine.h"

/* Under the engine's lock: what the public names without `_locked` do with it. */
kiln_status kiln__engine_nvrtc_locked(kiln_engine *engine, kiln_error **error);
kiln_status kiln__engine_device_locked(kiln_engine *engine, kiln_error **error);

/* KILN_OK if the engine's device name is "cuda", "cuda:N", "sim" or "sim:PROFILE" of a profile that exists; a profile that
 * is a file is read, and the name becomes that of the profile. */
kiln_status kiln__device_name_check(kiln_engine *engine, kiln_error **error);

/* ---- device profiles (profiles.c) ---- */
/* Reads the profile of that name, or the file, unless it is known; *name: what the simulated device knows it by, whether
 * or not it was found. */
kiln_status kiln__profile_find(const kiln_engine *engine, const char *wanted, kiln__arena *arena, const char **name,
                               kiln_error **error);
void kiln__profile_find_all(const kiln_engine *engine); /* what is wrong with one goes to the log */

/* ---- where things are (paths.c) ---- */
/* The folder of the running executable, or of the shared library that holds this code; NULL: not known. */
const char *kiln__executable_folder(kiln__arena *arena);
const char *kiln__library_folder(kiln__arena *arena);
/* Folders of the texts (':' between) and the installed ones, in the order they are looked through. False: no memory. */
bool kiln__search_path_make(kiln_engine *engine, const char *option);
/* The compile worker: `option`, $KILN_WORKER, beside the executable, the installed one. NULL: there is none. */
const char *kiln__worker_find(kiln__arena *arena, const char *option);
/* NULL with arena->failed unset: there is no home to put it in. */
const char *kiln__cache_folder_find(kiln__arena *arena, const char *option);
const char *kiln__store_path_find(kiln__arena *arena, const char *option); /* likewise */
#endif
