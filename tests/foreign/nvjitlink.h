/* nvjitlink.h - the declarations of NVIDIA's nvJitLink.h for the tests of its stand-in, because not every package of the
 * toolkit has that header. */
#ifndef KILN_TEST_NVJITLINK_H
#define KILN_TEST_NVJITLINK_H

#include <stddef.h>
#include <stdint.h>

typedef struct nvJitLink *nvJitLinkHandle;
int nvJitLinkCreate(nvJitLinkHandle *link, uint32_t count, const char **options);
int nvJitLinkDestroy(nvJitLinkHandle *link);
int nvJitLinkAddData(nvJitLinkHandle link, int type, const void *data, size_t size, const char *name);
int nvJitLinkAddFile(nvJitLinkHandle link, int type, const char *path);
int nvJitLinkComplete(nvJitLinkHandle link);
int nvJitLinkGetLinkedCubinSize(nvJitLinkHandle link, size_t *size);
int nvJitLinkGetLinkedCubin(nvJitLinkHandle link, void *image);
int nvJitLinkGetErrorLogSize(nvJitLinkHandle link, size_t *size);
int nvJitLinkGetErrorLog(nvJitLinkHandle link, char *log);
int nvJitLinkGetInfoLogSize(nvJitLinkHandle link, size_t *size);
int nvJitLinkGetInfoLog(nvJitLinkHandle link, char *log);
int nvJitLinkVersion(unsigned *major, unsigned *minor);

#endif
