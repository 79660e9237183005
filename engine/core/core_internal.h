/* core_internal.h - declarations that the files of core share. */
#ifndef KILN_CORE_INTERNAL_H
#define KILN_CORE_INTERNAL_H

#include "engine.h"
#include "ranks.h"

#define KILN__PCH_FOLDER "pch"               /* folder of precompiled headers in the cache folder */
#define KILN__REFERENCES_FOLDER "references" /* folder of references in the cache folder */

/* The caller must hold the engine's lock. The functions without `_locked` take the lock themselves. */
kiln_status kiln__engine_nvrtc_locked(kiln_engine *engine, kiln_error **error);
kiln_status kiln__engine_device_locked(kiln_engine *engine, kiln_error **error);

#define KILN__DEFAULT_PROFILE "h200" /* profile of the simulated device if there is no GPU and no device is named */
/* Returns KILN_OK if the engine's device name is "cuda", "cuda:N", "sim" or "sim:PROFILE" with an existing profile. If
 * PROFILE is a file, the function reads it, and the device name becomes the profile's name. If PROFILE is an
 * architecture, the device name becomes the name of the nearest profile. */
kiln_status kiln__device_name_check(kiln_engine *engine, kiln_error **error);

/* ---- device profiles (profiles.c) ---- */
/* Reads the profile of this name, or the file, unless it was read already. *name becomes the profile's name for the
 * simulated device, also if the profile was not found. */
kiln_status kiln__profile_find(const kiln_engine *engine, const char *wanted, kiln__arena *arena, const char **name,
                               kiln_error **error);
void kiln__profile_find_all(const kiln_engine *engine); /* errors go to the log */

/* ---- folders and paths (paths.c) ---- */
/* These functions return the folder of the running executable, and the folder of the shared library that holds this
 * code. They return NULL if the folder is unknown. */
const char *kiln__executable_folder(kiln__arena *arena);
const char *kiln__library_folder(kiln__arena *arena);
/* Sets the search path: the folders of `option`, the folders of $KILN_PATH (both separated by ':') and the installed
 * folders, in the order of the search. Also sets the include path from $KILN_INCLUDE. Returns false if memory is
 * exhausted. */
bool kiln__search_path_make(kiln_engine *engine, const char *option);
/* Finds the compile worker. Tries in order: `option`, $KILN_WORKER, the folder of the executable, the installed folder.
 * Returns NULL if there is no worker. */
const char *kiln__worker_find(kiln__arena *arena, const char *option);
/* Returns the number of cores that a process of a job may use. The processes of one machine share its cores equally,
 * unless the launcher has already limited this process to some of them. */
unsigned kiln__job_cores(const kiln_ranks *ranks);
/* These functions return the cache folder and the path of the store. They return NULL without setting arena->failed if
 * there is no home folder. */
const char *kiln__cache_folder_find(kiln__arena *arena, const char *option);
const char *kiln__store_path_find(kiln__arena *arena, const char *option);
#endif
