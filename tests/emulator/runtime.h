/* SPDX-License-Identifier: Apache-2.0 */
/* The runtime functions of the emulated GPU. They do what the functions of the same name after "cuda" do. */
#ifndef TESS_TESTS_EMULATOR_RUNTIME_H
#define TESS_TESTS_EMULATOR_RUNTIME_H

#include <stddef.h>

typedef enum emulatedError_t {
    emulatedSuccess,
    emulatedErrorMemoryAllocation,
    emulatedErrorNotReady,
    emulatedErrorCooperativeLaunchTooLarge,
    emulatedErrorInvalidValue
} emulatedError_t;
typedef enum emulatedMemcpyKind {
    emulatedMemcpyHostToDevice,
    emulatedMemcpyDeviceToHost,
    emulatedMemcpyDeviceToDevice
} emulatedMemcpyKind;
typedef enum emulatedDeviceAttr {
    emulatedDevAttrComputeCapabilityMajor,
    emulatedDevAttrCooperativeLaunch,
    emulatedDevAttrMemoryPoolsSupported
} emulatedDeviceAttr;
typedef enum emulatedFuncAttribute {
    emulatedFuncAttributeMaxDynamicSharedMemorySize,
    emulatedFuncAttributePreferredSharedMemoryCarveout
} emulatedFuncAttribute;
typedef enum emulatedStreamCaptureMode { emulatedStreamCaptureModeRelaxed } emulatedStreamCaptureMode;
enum { emulatedStreamNonBlocking, emulatedEventDisableTiming };

typedef struct emulator_queue *emulatedStream_t;
#define emulatedStreamPerThread ((emulatedStream_t)2)
typedef struct emulator_recording *emulatedGraph_t, *emulatedGraphExec_t;
typedef struct emulator_event *emulatedEvent_t;

/* Memory in the order of a stream. */
typedef struct emulator_pool *emulatedMemPool_t;
typedef enum emulatedMemAllocationType { emulatedMemAllocationTypePinned = 1 } emulatedMemAllocationType;
typedef enum emulatedMemAllocationHandleType { emulatedMemHandleTypeNone } emulatedMemAllocationHandleType;
typedef enum emulatedMemLocationType { emulatedMemLocationTypeDevice = 1 } emulatedMemLocationType;
typedef enum emulatedMemPoolAttr {
    emulatedMemPoolAttrReleaseThreshold,
    emulatedMemPoolAttrReservedMemCurrent
} emulatedMemPoolAttr;
typedef struct emulatedMemPoolProps {
    emulatedMemAllocationType allocType;
    emulatedMemAllocationHandleType handleTypes;
    struct {
        emulatedMemLocationType type;
        int id;
    } location;
} emulatedMemPoolProps;

typedef struct emulatedDeviceProp {
    char name[32];
    int multiProcessorCount;
    size_t totalGlobalMem;
    int major;
    size_t sharedMemPerMultiprocessor, sharedMemPerBlockOptin;
} emulatedDeviceProp;

#ifdef __cplusplus
extern "C" {
#endif
emulatedError_t emulatedGetLastError(void);
const char *emulatedGetErrorString(emulatedError_t error);
const char *emulatedGetErrorName(emulatedError_t error);
emulatedError_t emulatedGetDeviceCount(int *count);
emulatedError_t emulatedGetDevice(int *device);
emulatedError_t emulatedSetDevice(int device);
emulatedError_t emulatedGetDeviceProperties(emulatedDeviceProp *properties, int device);
emulatedError_t emulatedDeviceGetAttribute(int *value, emulatedDeviceAttr attribute, int device);
emulatedError_t emulatedFuncSetAttribute(const void *kernel, emulatedFuncAttribute attribute, int value);
emulatedError_t emulatedMallocBytes(void **pointer, size_t bytes);
emulatedError_t emulatedMemGetInfo(size_t *spare, size_t *total);
void emulatedKeepWithin(void *pointer, size_t bytes, size_t capacity, emulatedStream_t stream);
emulatedError_t emulatedFree(void *pointer);
emulatedError_t emulatedHostAllocMapped(void **pointer, size_t bytes);
emulatedError_t emulatedFreeHost(void *pointer);
emulatedError_t emulatedMemPoolCreate(emulatedMemPool_t *pool, const emulatedMemPoolProps *properties);
emulatedError_t emulatedMemPoolDestroy(emulatedMemPool_t pool);
emulatedError_t emulatedMemPoolSetAttribute(emulatedMemPool_t pool, emulatedMemPoolAttr attribute, void *value);
emulatedError_t emulatedMemPoolGetAttribute(emulatedMemPool_t pool, emulatedMemPoolAttr attribute, void *value);
emulatedError_t emulatedMemPoolTrimTo(emulatedMemPool_t pool, size_t bytes);
emulatedError_t emulatedMallocFromPoolAsync(void **pointer, size_t bytes, emulatedMemPool_t pool,
                                            emulatedStream_t stream);
emulatedError_t emulatedFreeAsync(void *pointer, emulatedStream_t stream);
emulatedError_t emulatedHostGetDevicePointer(void **device, void *host, unsigned flags);
emulatedError_t emulatedMemcpyAsync(void *to, const void *from, size_t bytes, emulatedMemcpyKind kind,
                                    emulatedStream_t stream);
emulatedError_t emulatedMemsetAsync(void *to, int value, size_t bytes, emulatedStream_t stream);
emulatedError_t emulatedStreamCreateWithFlags(emulatedStream_t *stream, unsigned flags);
emulatedError_t emulatedStreamDestroy(emulatedStream_t stream);
emulatedError_t emulatedStreamSynchronize(emulatedStream_t stream);
emulatedError_t emulatedStreamQuery(emulatedStream_t stream);
emulatedError_t emulatedStreamBeginCapture(emulatedStream_t stream, emulatedStreamCaptureMode mode);
emulatedError_t emulatedStreamEndCapture(emulatedStream_t stream, emulatedGraph_t *graph);
emulatedError_t emulatedGraphInstantiate(emulatedGraphExec_t *executable, emulatedGraph_t graph);
emulatedError_t emulatedGraphLaunch(emulatedGraphExec_t executable, emulatedStream_t stream);
emulatedError_t emulatedGraphDestroy(emulatedGraph_t graph);
emulatedError_t emulatedGraphExecDestroy(emulatedGraphExec_t executable);
emulatedError_t emulatedEventCreateWithFlags(emulatedEvent_t *event, unsigned flags);
emulatedError_t emulatedEventRecord(emulatedEvent_t event, emulatedStream_t stream);
emulatedError_t emulatedEventSynchronize(emulatedEvent_t event);
emulatedError_t emulatedEventDestroy(emulatedEvent_t event);
#ifdef __cplusplus
}
#endif

#endif
