/* cache.h - a content-addressed cache of compiled code on disk. The cache knows nothing about NVRTC.
 *
 * A hit never returns wrong code. The key material contains everything that determines the compiled bytes. The hash of
 * the key material is the name of the entry. The entry contains the whole key material, and every read compares it with
 * the caller's material. A checksum covers the whole entry. A write makes a temporary file, syncs it and renames it. If
 * an entry is incomplete, damaged, in another format or not trusted, the look-up is a miss. Threads and processes may
 * use one folder at the same time. */
#ifndef KILN_CACHE_H
#define KILN_CACHE_H

#include "base.h"

typedef struct kiln__cache kiln__cache;

/* Opens the cache folder, and creates it if it does not exist. If the folder cannot be used fully (read-only, owned by
 * another user, writable for others, full), `log` gets one warning. The cache is then read-only if reading is safe, and
 * off otherwise. The function fails only if memory runs out. */
kiln_status kiln__cache_open(const kiln_allocator *mem, const char *folder, const kiln__log *log, kiln__cache **cache,
                             kiln_error **error);
void kiln__cache_close(kiln__cache *cache);
/* Makes writes faster: the cache renames an entry without syncing it to the disk first. After a power failure such an
 * entry may be damaged, which is a miss. The caller calls this function right after it opened the cache. */
void kiln__cache_write_fast(kiln__cache *cache);
void kiln__cache_stop_writing(kiln__cache *cache); /* after this call the cache only reads */
const char *kiln__cache_folder(const kiln__cache *cache);
/* returns whether the cache can write; false if it is off because its folder was refused */
bool kiln__cache_is_writable(const kiln__cache *cache);

/* The key of an entry. The cache hashes, stores and compares `material`. The other fields are for listings, and must
 * follow from the material. */
typedef struct kiln__cache_key {
    const void *material;
    size_t length;
    const char *source, *arch, *compiler, *options; /* labels */
    /* position and length of the source text in the material, for `show`; both are 0 if the position is unknown */
    size_t text_at, text_length;
} kiln__cache_key;

/* The result of a compile. ptx is a NUL-terminated text. ptx or cubin may be absent (NULL and length 0). `lowered`
 * lists the symbols of the kernels as pairs "spec name\0symbol\0". */
typedef struct kiln__unit {
    const char *ptx;
    size_t ptx_length;
    const void *cubin;
    size_t cubin_length;
    const char *lowered;
    size_t lowered_length;
    const char *log;
    size_t log_length;
    void *block; /* one block that contains all parts; kiln__unit_free() frees it */
    const kiln_allocator *mem;
} kiln__unit;
void kiln__unit_free(kiln__unit *unit);

/* Returns true on a hit. The caller frees *unit by kiln__unit_free(). If the entry is damaged, the function tries to
 * remove it. */
bool kiln__cache_get(kiln__cache *cache, const kiln__cache_key *key, kiln__unit *unit);
/* Writes an entry. The cache logs the first failure, and the caller does not learn of failures. */
void kiln__cache_put(kiln__cache *cache, const kiln__cache_key *key, const kiln__unit *unit);
/* Returns the numbers of hits and misses of kiln__cache_get() since the cache was opened. */
void kiln__cache_counts(const kiln__cache *cache, uint64_t *hits, uint64_t *misses);

kiln_status kiln__cache_list(kiln__cache *cache, bool verify, kiln_cache_fn each, void *user, kiln_error **error);
kiln_status kiln__cache_show(kiln__cache *cache, const char *id, kiln_cache_show_fn show, void *user,
                             kiln_error **error);
kiln_status kiln__cache_gc(kiln__cache *cache, uint64_t max_bytes, uint64_t *removed, uint64_t *kept_bytes,
                           kiln_error **error);
/* Parses one entry in memory. The fuzz target needs this function. Returns false if the bytes are not an entry. *unit
 * and the labels of *key point into `data`. */
bool kiln__cache_entry_parse(const void *data, size_t length, kiln__cache_key *key, kiln__unit *unit);
#endif
