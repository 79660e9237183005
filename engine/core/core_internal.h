/* core_internal.h - declarations that the files of engine/core share. */
#ifndef KILN_CORE_INTERNAL_H
#define KILN_CORE_INTERNAL_H

#include "engine.h"
#include "ranks.h"

#define KILN__PCH_FOLDER "pch"               /* folder of precompiled headers in the cache folder */
#define KILN__REFERENCES_FOLDER "references" /* folder of references in the cache folder */

/* The caller must hold the engine's lock. The functions without `_locked` in their names take the lock themselves. */
kiln_status kiln__engine_nvrtc_locked(kiln_engine *engine, kiln_error **error);
kiln_status kiln__engine_device_locked(kiln_engine *engine, kiln_error **error);

/* profile of the simulated device if there is no GPU and the caller names no device */
#define KILN__DEFAULT_PROFILE "h200"
/* Returns KILN_OK if the engine's device name is "cuda", "cuda:N", "sim" or "sim:PROFILE" with an existing profile. If
 * PROFILE is a file, the function reads it, and sets the device name to the name of the profile. If PROFILE is an
 * architecture, the function sets the device name to the name of the nearest profile. */
kiln_status kiln__device_name_check(kiln_engine *engine, kiln_error **error);

/* ---- device profiles (profiles.c) ---- */
/* Reads the profile of the name `wanted`, or the file `wanted`, unless it was read already. *name receives the name of
 * the profile for the simulated device, even if no profile was found. */
kiln_status kiln__profile_find(const kiln_engine *engine, const char *wanted, kiln__arena *arena, const char **name,
                               kiln_error **error);
void kiln__profile_find_all(const kiln_engine *engine); /* reads all profiles; errors go to the log */

/* ---- folders and paths (paths.c) ---- */
/* These functions return the folder of the running executable, and the folder of the shared library that contains Kiln.
 * The functions return NULL if the folder is unknown. */
const char *kiln__executable_folder(kiln__arena *arena);
const char *kiln__library_folder(kiln__arena *arena);
/* Sets the search path, in this order: the folders of `option`, the folders of $KILN_PATH, the installed folders. A ':'
 * separates the folders of a text. The function also sets the include path from $KILN_INCLUDE. Returns false if memory
 * runs out. */
bool kiln__search_path_make(kiln_engine *engine, const char *option);
/* Finds the program of the compile worker. Tries in order: `option`, $KILN_WORKER, the folder of the executable, the
 * installed folder. Returns NULL if there is no worker. */
const char *kiln__worker_find(kiln__arena *arena, const char *option);
/* Returns the number of cores that a process of a job may use. The processes of one machine share its cores equally,
 * unless the launcher has already limited this process to some of them. */
unsigned kiln__job_cores(const kiln_ranks *ranks);
/* These functions return the cache folder and the path of the store. The functions return NULL without setting
 * arena->failed if there is no home folder. */
const char *kiln__cache_folder_find(kiln__arena *arena, const char *option);
const char *kiln__store_path_find(kiln__arena *arena, const char *option);
#endif
