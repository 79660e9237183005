/* copy.c - copies and fills of memory. Copies of several rows use the driver's 3D copy. */
#include "runtime.h"

/* ---- kinds ---- */

static bool right_kind(enum cudaMemcpyKind kind) { return (unsigned)kind <= cudaMemcpyDefault; }

static CUmemorytype type_of(enum cudaMemcpyKind kind, bool to)
{
    if (kind == cudaMemcpyDefault)
        return CU_MEMORYTYPE_UNIFIED;
    bool device = kind == cudaMemcpyDeviceToDevice || kind == (to ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost);
    return device ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
}

static void set_source(CUDA_MEMCPY3D *c, const void *p, enum cudaMemcpyKind kind, size_t pitch, size_t height)
{
    c->srcMemoryType = type_of(kind, false);
    if (c->srcMemoryType == CU_MEMORYTYPE_HOST)
        c->srcHost = p;
    else
        c->srcDevice = rt_address(p);
    c->srcPitch = pitch;
    c->srcHeight = height;
}

static void set_target(CUDA_MEMCPY3D *c, void *p, enum cudaMemcpyKind kind, size_t pitch, size_t height)
{
    c->dstMemoryType = type_of(kind, true);
    if (c->dstMemoryType == CU_MEMORYTYPE_HOST)
        c->dstHost = p;
    else
        c->dstDevice = rt_address(p);
    c->dstPitch = pitch;
    c->dstHeight = height;
}

static cudaError_t run(const CUDA_MEMCPY3D *c, bool async, cudaStream_t stream)
{
    if (c->WidthInBytes == 0 || c->Height == 0 || c->Depth == 0)
        return cudaSuccess;
    return kiln__rt_result(async ? CU(cuMemcpy3DAsync)(c, stream) : CU(cuMemcpy3D)(c));
}

/* ---- bytes in a row ---- */

static cudaError_t copy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind, bool async,
                        cudaStream_t stream)
{
    if (!right_kind(kind))
        return kiln__rt_record(cudaErrorInvalidMemcpyDirection);
    RT_ENTER();
    if (bytes == 0)
        return cudaSuccess;
    RT_NEED(to && from);
    CUdeviceptr dst = rt_address(to), src = rt_address(from);
    switch (kind) {
    case cudaMemcpyHostToDevice:
        return kiln__rt_result(async ? CU(cuMemcpyHtoDAsync)(dst, from, bytes, stream)
                                     : CU(cuMemcpyHtoD)(dst, from, bytes));
    case cudaMemcpyDeviceToHost:
        return kiln__rt_result(async ? CU(cuMemcpyDtoHAsync)(to, src, bytes, stream)
                                     : CU(cuMemcpyDtoH)(to, src, bytes));
    case cudaMemcpyDeviceToDevice:
        return kiln__rt_result(async ? CU(cuMemcpyDtoDAsync)(dst, src, bytes, stream)
                                     : CU(cuMemcpyDtoD)(dst, src, bytes));
    default: return kiln__rt_result(async ? CU(cuMemcpyAsync)(dst, src, bytes, stream) : CU(cuMemcpy)(dst, src, bytes));
    }
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
    return copy(to, from, bytes, kind, false, NULL);
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind, cudaStream_t stream)
{
    return copy(to, from, bytes, kind, true, stream);
}

static cudaError_t copy_peer(void *to, int to_device, const void *from, int from_device, size_t bytes, bool async,
                             cudaStream_t stream)
{
    CUdevice device;
    cudaError_t error = kiln__rt_device(to_device, &device);
    if (error == cudaSuccess)
        error = kiln__rt_device(from_device, &device);
    if (error != cudaSuccess)
        return kiln__rt_record(error);
    return copy(to, from, bytes, cudaMemcpyDefault, async, stream);
}

cudaError_t cudaMemcpyPeer(void *to, int to_device, const void *from, int from_device, size_t bytes)
{
    return copy_peer(to, to_device, from, from_device, bytes, false, NULL);
}

cudaError_t cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device, size_t bytes,
                                cudaStream_t stream)
{
    return copy_peer(to, to_device, from, from_device, bytes, true, stream);
}

static cudaError_t copy_symbol(const void *symbol, bool to_symbol, void *to, const void *from, size_t bytes,
                               size_t offset, enum cudaMemcpyKind kind, bool async, cudaStream_t stream)
{
    CUdeviceptr address;
    size_t size;
    cudaError_t error = kiln__rt_variable(symbol, &address, &size);
    if (error == cudaSuccess && (offset > size || bytes > size - offset))
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess &&
        (kind == cudaMemcpyHostToHost || kind == (to_symbol ? cudaMemcpyDeviceToHost : cudaMemcpyHostToDevice)))
        error = cudaErrorInvalidMemcpyDirection;
    if (error != cudaSuccess)
        return kiln__rt_record(error);
    void *variable = (void *)(address + offset);
    return copy(to_symbol ? variable : to, to_symbol ? from : variable, bytes, kind, async, stream);
}

cudaError_t cudaMemcpyToSymbol(const void *symbol, const void *from, size_t bytes, size_t offset,
                               enum cudaMemcpyKind kind)
{
    return copy_symbol(symbol, true, NULL, from, bytes, offset, kind, false, NULL);
}

cudaError_t cudaMemcpyToSymbolAsync(const void *symbol, const void *from, size_t bytes, size_t offset,
                                    enum cudaMemcpyKind kind, cudaStream_t stream)
{
    return copy_symbol(symbol, true, NULL, from, bytes, offset, kind, true, stream);
}

cudaError_t cudaMemcpyFromSymbol(void *to, const void *symbol, size_t bytes, size_t offset, enum cudaMemcpyKind kind)
{
    return copy_symbol(symbol, false, to, NULL, bytes, offset, kind, false, NULL);
}

cudaError_t cudaMemcpyFromSymbolAsync(void *to, const void *symbol, size_t bytes, size_t offset,
                                      enum cudaMemcpyKind kind, cudaStream_t stream)
{
    return copy_symbol(symbol, false, to, NULL, bytes, offset, kind, true, stream);
}

/* Converts the parameters of a copy of `bytes` bytes for a node of a graph. */
cudaError_t kiln__rt_copy1d(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind, CUDA_MEMCPY3D *c)
{
    if (!right_kind(kind))
        return cudaErrorInvalidMemcpyDirection;
    *c = (CUDA_MEMCPY3D){.WidthInBytes = bytes, .Height = 1, .Depth = 1};
    set_source(c, from, kind, bytes, 1);
    set_target(c, to, kind, bytes, 1);
    return cudaSuccess;
}

/* ---- rows ---- */

static cudaError_t copy_2d(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height,
                           enum cudaMemcpyKind kind, bool async, cudaStream_t stream)
{
    if (!right_kind(kind))
        return kiln__rt_record(cudaErrorInvalidMemcpyDirection);
    if (width > to_pitch || width > from_pitch)
        return kiln__rt_record(cudaErrorInvalidPitchValue);
    RT_ENTER();
    CUDA_MEMCPY3D c = {.WidthInBytes = width, .Height = height, .Depth = 1};
    set_source(&c, from, kind, from_pitch, height);
    set_target(&c, to, kind, to_pitch, height);
    return run(&c, async, stream);
}

cudaError_t cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height,
                         enum cudaMemcpyKind kind)
{
    return copy_2d(to, to_pitch, from, from_pitch, width, height, kind, false, NULL);
}

cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                              size_t height, enum cudaMemcpyKind kind, cudaStream_t stream)
{
    return copy_2d(to, to_pitch, from, from_pitch, width, height, kind, true, stream);
}

/* ---- arrays ---- */

static cudaError_t to_array(cudaArray_t to, size_t x, size_t y, const void *from, size_t pitch, size_t width,
                            size_t height, enum cudaMemcpyKind kind, bool async, cudaStream_t stream)
{
    if (!right_kind(kind))
        return kiln__rt_record(cudaErrorInvalidMemcpyDirection);
    RT_ENTER();
    CUDA_MEMCPY3D c = {.WidthInBytes = width, .Height = height, .Depth = 1, .dstXInBytes = x, .dstY = y};
    set_source(&c, from, kind, pitch, height);
    c.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    c.dstArray = (CUarray)to;
    return run(&c, async, stream);
}

static cudaError_t from_array(void *to, size_t pitch, cudaArray_const_t from, size_t x, size_t y, size_t width,
                              size_t height, enum cudaMemcpyKind kind, bool async, cudaStream_t stream)
{
    if (!right_kind(kind))
        return kiln__rt_record(cudaErrorInvalidMemcpyDirection);
    RT_ENTER();
    CUDA_MEMCPY3D c = {.WidthInBytes = width, .Height = height, .Depth = 1, .srcXInBytes = x, .srcY = y};
    set_target(&c, to, kind, pitch, height);
    c.srcMemoryType = CU_MEMORYTYPE_ARRAY;
    c.srcArray = (CUarray)(uintptr_t)from;
    return run(&c, async, stream);
}

cudaError_t cudaMemcpy2DToArray(cudaArray_t to, size_t x, size_t y, const void *from, size_t pitch, size_t width,
                                size_t height, enum cudaMemcpyKind kind)
{
    return to_array(to, x, y, from, pitch, width, height, kind, false, NULL);
}

cudaError_t cudaMemcpy2DToArrayAsync(cudaArray_t to, size_t x, size_t y, const void *from, size_t pitch, size_t width,
                                     size_t height, enum cudaMemcpyKind kind, cudaStream_t stream)
{
    return to_array(to, x, y, from, pitch, width, height, kind, true, stream);
}

cudaError_t cudaMemcpy2DFromArray(void *to, size_t pitch, cudaArray_const_t from, size_t x, size_t y, size_t width,
                                  size_t height, enum cudaMemcpyKind kind)
{
    return from_array(to, pitch, from, x, y, width, height, kind, false, NULL);
}

cudaError_t cudaMemcpy2DFromArrayAsync(void *to, size_t pitch, cudaArray_const_t from, size_t x, size_t y, size_t width,
                                       size_t height, enum cudaMemcpyKind kind, cudaStream_t stream)
{
    return from_array(to, pitch, from, x, y, width, height, kind, true, stream);
}

cudaError_t cudaMemcpy2DArrayToArray(cudaArray_t to, size_t to_x, size_t to_y, cudaArray_const_t from, size_t from_x,
                                     size_t from_y, size_t width, size_t height, enum cudaMemcpyKind kind)
{
    (void)kind;
    RT_ENTER();
    CUDA_MEMCPY3D c = {.WidthInBytes = width,
                       .Height = height,
                       .Depth = 1,
                       .srcMemoryType = CU_MEMORYTYPE_ARRAY,
                       .srcArray = (CUarray)(uintptr_t)from,
                       .srcXInBytes = from_x,
                       .srcY = from_y,
                       .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                       .dstArray = (CUarray)to,
                       .dstXInBytes = to_x,
                       .dstY = to_y};
    return run(&c, false, NULL);
}

size_t kiln__rt_element(CUarray array)
{
    static const unsigned char bytes[] = {
        [CU_AD_FORMAT_UNSIGNED_INT8] = 1, [CU_AD_FORMAT_UNSIGNED_INT16] = 2, [CU_AD_FORMAT_UNSIGNED_INT32] = 4,
        [CU_AD_FORMAT_SIGNED_INT8] = 1,   [CU_AD_FORMAT_SIGNED_INT16] = 2,   [CU_AD_FORMAT_SIGNED_INT32] = 4,
        [CU_AD_FORMAT_HALF] = 2,          [CU_AD_FORMAT_FLOAT] = 4};
    CUDA_ARRAY3D_DESCRIPTOR d;
    if (CU(cuArray3DGetDescriptor)(&d, array) != CUDA_SUCCESS || (size_t)d.Format >= sizeof bytes)
        return 0;
    return bytes[d.Format] * (size_t)d.NumChannels;
}

static size_t array_row(CUarray array) /* returns the bytes of a row */
{
    CUDA_ARRAY3D_DESCRIPTOR d;
    return CU(cuArray3DGetDescriptor)(&d, array) == CUDA_SUCCESS ? d.Width * kiln__rt_element(array) : 0;
}

/* Copies `bytes` bytes for the old functions: at the end of a row, the copy continues in the next row of the array. */
static cudaError_t flat_array(void *host, CUarray array, bool to, size_t x, size_t y, size_t bytes,
                              enum cudaMemcpyKind kind, bool async, cudaStream_t stream)
{
    RT_ENTER();
    size_t row = array_row(array);
    RT_NEED(row > 0 && x < row);
    cudaError_t error = cudaSuccess;
    for (char *p = host; bytes > 0 && error == cudaSuccess;) {
        size_t width = bytes < row - x ? bytes : row - x, rows = x == 0 && bytes > row ? bytes / row : 1;
        error = to ? to_array((cudaArray_t)array, x, y, p, width, width, rows, kind, async, stream)
                   : from_array(p, width, (cudaArray_const_t)array, x, y, width, rows, kind, async, stream);
        p += width * rows;
        bytes -= width * rows;
        y += rows;
        x = 0;
    }
    return error;
}

cudaError_t cudaMemcpyToArray(cudaArray_t to, size_t x, size_t y, const void *from, size_t bytes,
                              enum cudaMemcpyKind kind)
{
    return flat_array((void *)(uintptr_t)from, (CUarray)to, true, x, y, bytes, kind, false, NULL);
}

cudaError_t cudaMemcpyToArrayAsync(cudaArray_t to, size_t x, size_t y, const void *from, size_t bytes,
                                   enum cudaMemcpyKind kind, cudaStream_t stream)
{
    return flat_array((void *)(uintptr_t)from, (CUarray)to, true, x, y, bytes, kind, true, stream);
}

cudaError_t cudaMemcpyFromArray(void *to, cudaArray_const_t from, size_t x, size_t y, size_t bytes,
                                enum cudaMemcpyKind kind)
{
    return flat_array(to, (CUarray)(uintptr_t)from, false, x, y, bytes, kind, false, NULL);
}

cudaError_t cudaMemcpyFromArrayAsync(void *to, cudaArray_const_t from, size_t x, size_t y, size_t bytes,
                                     enum cudaMemcpyKind kind, cudaStream_t stream)
{
    return flat_array(to, (CUarray)(uintptr_t)from, false, x, y, bytes, kind, true, stream);
}

cudaError_t cudaMemcpyArrayToArray(cudaArray_t to, size_t to_x, size_t to_y, cudaArray_const_t from, size_t from_x,
                                   size_t from_y, size_t bytes, enum cudaMemcpyKind kind)
{
    return cudaMemcpy2DArrayToArray(to, to_x, to_y, from, from_x, from_y, bytes, 1, kind);
}

/* ---- copies in three dimensions ---- */

/* Converts the parameters of a copy in three dimensions. Positions in arrays are in elements. The extent is also in
 * elements if the source or the destination is an array. Returns an error if a position or an extent in bytes does not
 * fit into 64 bits. */
cudaError_t kiln__rt_copy3d(const struct cudaMemcpy3DParms *p, CUDA_MEMCPY3D *c)
{
    size_t from = p->srcArray ? kiln__rt_element((CUarray)p->srcArray) : 1;
    size_t to = p->dstArray ? kiln__rt_element((CUarray)p->dstArray) : 1;
    size_t source, target, width;
    if (!right_kind(p->kind))
        return cudaErrorInvalidMemcpyDirection;
    if (from == 0 || to == 0 || (p->srcArray && p->srcPtr.ptr) || (p->dstArray && p->dstPtr.ptr))
        return cudaErrorInvalidValue;
    if (__builtin_mul_overflow(p->srcPos.x, from, &source) || __builtin_mul_overflow(p->dstPos.x, to, &target) ||
        __builtin_mul_overflow(p->extent.width, p->srcArray ? from : to, &width))
        return cudaErrorInvalidValue;
    *c = (CUDA_MEMCPY3D){.srcXInBytes = source,
                         .srcY = p->srcPos.y,
                         .srcZ = p->srcPos.z,
                         .dstXInBytes = target,
                         .dstY = p->dstPos.y,
                         .dstZ = p->dstPos.z,
                         .WidthInBytes = width,
                         .Height = p->extent.height,
                         .Depth = p->extent.depth};
    if (p->srcArray) {
        c->srcMemoryType = CU_MEMORYTYPE_ARRAY;
        c->srcArray = (CUarray)p->srcArray;
    } else {
        set_source(c, p->srcPtr.ptr, p->kind, p->srcPtr.pitch, p->srcPtr.ysize);
    }
    if (p->dstArray) {
        c->dstMemoryType = CU_MEMORYTYPE_ARRAY;
        c->dstArray = (CUarray)p->dstArray;
    } else {
        set_target(c, p->dstPtr.ptr, p->kind, p->dstPtr.pitch, p->dstPtr.ysize);
    }
    return cudaSuccess;
}

static struct cudaPitchedPtr pitched(CUmemorytype type, const void *host, CUdeviceptr device, size_t pitch,
                                     size_t height)
{
    void *p = type == CU_MEMORYTYPE_HOST ? (void *)(uintptr_t)host : (void *)device;
    return (struct cudaPitchedPtr){.ptr = p, .pitch = pitch, .xsize = pitch, .ysize = height};
}

void kiln__rt_params3d(const CUDA_MEMCPY3D *c, struct cudaMemcpy3DParms *p)
{
    bool from = c->srcMemoryType == CU_MEMORYTYPE_ARRAY, to = c->dstMemoryType == CU_MEMORYTYPE_ARRAY;
    size_t from_size = from ? kiln__rt_element(c->srcArray) : 1, to_size = to ? kiln__rt_element(c->dstArray) : 1;
    from_size += from_size == 0;
    to_size += to_size == 0;
    *p = (struct cudaMemcpy3DParms){
        .srcPos = {c->srcXInBytes / from_size, c->srcY, c->srcZ},
        .dstPos = {c->dstXInBytes / to_size, c->dstY, c->dstZ},
        .extent = {c->WidthInBytes / (from ? from_size : to_size), c->Height, c->Depth},
    };
    if (from)
        p->srcArray = (cudaArray_t)c->srcArray;
    else
        p->srcPtr = pitched(c->srcMemoryType, c->srcHost, c->srcDevice, c->srcPitch, c->srcHeight);
    if (to)
        p->dstArray = (cudaArray_t)c->dstArray;
    else
        p->dstPtr = pitched(c->dstMemoryType, c->dstHost, c->dstDevice, c->dstPitch, c->dstHeight);
    bool from_host = c->srcMemoryType == CU_MEMORYTYPE_HOST, to_host = c->dstMemoryType == CU_MEMORYTYPE_HOST;
    p->kind = c->srcMemoryType == CU_MEMORYTYPE_UNIFIED || c->dstMemoryType == CU_MEMORYTYPE_UNIFIED ? cudaMemcpyDefault
              : from_host ? (to_host ? cudaMemcpyHostToHost : cudaMemcpyHostToDevice)
                          : (to_host ? cudaMemcpyDeviceToHost : cudaMemcpyDeviceToDevice);
}

static cudaError_t copy_3d(const struct cudaMemcpy3DParms *p, bool async, cudaStream_t stream)
{
    CUDA_MEMCPY3D c;
    RT_NEED(p);
    RT_ENTER();
    cudaError_t error = kiln__rt_copy3d(p, &c);
    return error == cudaSuccess ? run(&c, async, stream) : kiln__rt_record(error);
}

cudaError_t cudaMemcpy3D(const struct cudaMemcpy3DParms *p) { return copy_3d(p, false, NULL); }

cudaError_t cudaMemcpy3DAsync(const struct cudaMemcpy3DParms *p, cudaStream_t stream)
{
    return copy_3d(p, true, stream);
}

static cudaError_t copy_3d_peer(const struct cudaMemcpy3DPeerParms *p, bool async, cudaStream_t stream)
{
    RT_NEED(p);
    struct cudaMemcpy3DParms same = {.srcArray = p->srcArray,
                                     .srcPos = p->srcPos,
                                     .srcPtr = p->srcPtr,
                                     .dstArray = p->dstArray,
                                     .dstPos = p->dstPos,
                                     .dstPtr = p->dstPtr,
                                     .extent = p->extent,
                                     .kind = cudaMemcpyDefault};
    return copy_3d(&same, async, stream); /* the addresses already determine the devices of the memory */
}

cudaError_t cudaMemcpy3DPeer(const struct cudaMemcpy3DPeerParms *p) { return copy_3d_peer(p, false, NULL); }

cudaError_t cudaMemcpy3DPeerAsync(const struct cudaMemcpy3DPeerParms *p, cudaStream_t stream)
{
    return copy_3d_peer(p, true, stream);
}

/* Hints about locations and the order of accesses have no effect. */
cudaError_t cudaMemcpyBatchAsync(void *const *to, const void *const *from, const size_t *bytes, size_t count,
                                 struct cudaMemcpyAttributes *attributes, size_t *indices, size_t attribute_count,
                                 cudaStream_t stream)
{
    (void)attributes, (void)indices, (void)attribute_count;
    RT_NEED(to && from && bytes && stream); /* this function does not accept the default stream */
    cudaError_t error = cudaSuccess;
    for (size_t i = 0; i < count && error == cudaSuccess; i++)
        error = copy(to[i], from[i], bytes[i], cudaMemcpyDefault, true, stream);
    return error;
}

/* ---- fills ---- */

static cudaError_t fill(void *to, size_t pitch, int value, size_t width, size_t height, bool async, cudaStream_t stream)
{
    RT_ENTER();
    if (width == 0 || height == 0)
        return cudaSuccess;
    CUdeviceptr p = rt_address(to);
    unsigned char byte = (unsigned char)value;
    if (height == 1)
        return kiln__rt_result(async ? CU(cuMemsetD8Async)(p, byte, width, stream) : CU(cuMemsetD8)(p, byte, width));
    return kiln__rt_result(async ? CU(cuMemsetD2D8Async)(p, pitch, byte, width, height, stream)
                                 : CU(cuMemsetD2D8)(p, pitch, byte, width, height));
}

cudaError_t cudaMemset(void *to, int value, size_t bytes) { return fill(to, bytes, value, bytes, 1, false, NULL); }

cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t stream)
{
    return fill(to, bytes, value, bytes, 1, true, stream);
}

cudaError_t cudaMemset2D(void *to, size_t pitch, int value, size_t width, size_t height)
{
    return fill(to, pitch, value, width, height, false, NULL);
}

cudaError_t cudaMemset2DAsync(void *to, size_t pitch, int value, size_t width, size_t height, cudaStream_t stream)
{
    return fill(to, pitch, value, width, height, true, stream);
}

/* Fills memory layer by layer. If there are no rows between the layers, fills all layers at once. Returns an error if
 * the distance in bytes from the first to the last layer does not fit into 64 bits. */
static cudaError_t fill_3d(struct cudaPitchedPtr to, int value, struct cudaExtent extent, bool async,
                           cudaStream_t stream)
{
    size_t rows, layer, last;
    if (extent.width == 0 || extent.height == 0 || extent.depth == 0)
        return fill(to.ptr, to.pitch, value, 0, 0, async, stream);
    RT_NEED(!__builtin_mul_overflow(extent.height, extent.depth, &rows) &&
            !__builtin_mul_overflow(to.ysize, to.pitch, &layer) &&
            !__builtin_mul_overflow(layer, extent.depth - 1, &last));
    if (extent.height == to.ysize)
        return fill(to.ptr, to.pitch, value, extent.width, rows, async, stream);
    cudaError_t error = cudaSuccess;
    for (size_t at = 0; at <= last && error == cudaSuccess; at += layer) {
        error = fill((char *)((uintptr_t)to.ptr + at), to.pitch, value, extent.width, extent.height, async, stream);
        if (layer == 0 || last - at < layer)
            break;
    }
    return error;
}

cudaError_t cudaMemset3D(struct cudaPitchedPtr to, int value, struct cudaExtent extent)
{
    return fill_3d(to, value, extent, false, NULL);
}

cudaError_t cudaMemset3DAsync(struct cudaPitchedPtr to, int value, struct cudaExtent extent, cudaStream_t stream)
{
    return fill_3d(to, value, extent, true, stream);
}
