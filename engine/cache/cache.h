/* cache.h - a content-addressed cache of compiled code on disk. It knows nothing about NVRTC.
 *
 * A hit is never wrong. The key material contains everything that determines the compiled bytes. Its hash is the name
 * of the entry. The entry stores the material completely, and every read compares it. A checksum covers the whole
 * entry. A write goes to a temporary file, which is synced and renamed. An entry that is incomplete, damaged, in
 * another format or not trusted is a miss. Threads and processes may use one folder at the same time. */
#ifndef KILN_CACHE_H
#define KILN_CACHE_H

#include "base.h"

typedef struct kiln__cache kiln__cache;

/* Opens the folder, or creates it. If the folder cannot be used (read-only, owned by another user, writable for
 * others, full), the cache is read-only if that is safe and off otherwise, and `log` gets one warning. The function
 * fails only for lack of memory. */
kiln_status kiln__cache_open(const kiln_allocator *mem, const char *folder, const kiln__log *log, kiln__cache **cache,
                             kiln_error **error);
void kiln__cache_close(kiln__cache *cache);
/* Makes writes faster: an entry is not synced to the disk before it is renamed. After a power failure it may be
 * damaged, which is a miss. Call this right after opening. */
void kiln__cache_write_fast(kiln__cache *cache);
void kiln__cache_stop_writing(kiln__cache *cache); /* after this call the cache only reads */
const char *kiln__cache_folder(const kiln__cache *cache);
bool kiln__cache_is_writable(const kiln__cache *cache); /* false also if the folder was refused */

/* The key of an entry. `material` is hashed, stored and compared. The other fields are for listings, and must follow
 * from the material. */
typedef struct kiln__cache_key {
    const void *material;
    size_t length;
    const char *source, *arch, *compiler, *options; /* labels */
    /* position of the source text in the material, for `show`; 0, 0: unknown */
    size_t text_at, text_length;
} kiln__cache_key;

/* The result of a compile. ptx is NUL-terminated text. ptx and cubin may each be absent (NULL, 0). `lowered` has the
 * symbols of the kernels as pairs "spec name\0symbol\0". */
typedef struct kiln__unit {
    const char *ptx;
    size_t ptx_length;
    const void *cubin;
    size_t cubin_length;
    const char *lowered;
    size_t lowered_length;
    const char *log;
    size_t log_length;
    void *block; /* the memory of all parts; kiln__unit_free() frees it */
    const kiln_allocator *mem;
} kiln__unit;
void kiln__unit_free(kiln__unit *unit);

/* Returns true on a hit; the caller frees *unit by kiln__unit_free(). Removes a damaged entry if that is possible. */
bool kiln__cache_get(kiln__cache *cache, const kiln__cache_key *key, kiln__unit *unit);
/* Writes an entry. A failure is logged once, and the caller does not learn of it. */
void kiln__cache_put(kiln__cache *cache, const kiln__cache_key *key, const kiln__unit *unit);
/* Counts the calls of kiln__cache_get() since opening. */
void kiln__cache_counts(const kiln__cache *cache, uint64_t *hits, uint64_t *misses);

kiln_status kiln__cache_list(kiln__cache *cache, bool verify, kiln_cache_fn each, void *user, kiln_error **error);
kiln_status kiln__cache_show(kiln__cache *cache, const char *id, kiln_cache_show_fn show, void *user,
                             kiln_error **error);
kiln_status kiln__cache_gc(kiln__cache *cache, uint64_t max_bytes, uint64_t *removed, uint64_t *kept_bytes,
                           kiln_error **error);
/* Parses one entry in memory; for the fuzz target. Returns false if it is not an entry. *unit and the labels point
 * into data. */
bool kiln__cache_entry_parse(const void *data, size_t length, kiln__cache_key *key, kiln__unit *unit);
#endif
