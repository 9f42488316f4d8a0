/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handlers of XLA's foreign function interface for tessera_sparse.jax. They hand the addresses of the buffers, and on
 * a GPU the stream, to a function of the Python package (_xla.py), which solves in place.
 * The interface: xla/ffi/api/c_api.h of jaxlib.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <xla/ffi/api/c_api.h>

#define TESSERA_XLA_EXPORT __attribute__((visibility("default")))

enum { TESSERA_XLA_BUFFERS = 5, TESSERA_XLA_ERROR_BYTES = 8192 };

/* _xla.py declares the same structs. */
typedef struct tessera_xla_buffer {
    void *data;
    const int64_t *dims;
    int64_t rank;
    int64_t type; /* XLA_FFI_DataType */
} tessera_xla_buffer;

typedef struct tessera_xla_call {
    tessera_xla_buffer buffers[TESSERA_XLA_BUFFERS]; /* data, indices, indptr, b; x */
    const char *request;                             /* JSON, not terminated */
    int64_t request_length;
    void *stream;   /* of the GPU; NULL on the host */
    int64_t device; /* number of the GPU, -1 for the current one */
    int64_t on_gpu;
    char error[TESSERA_XLA_ERROR_BYTES];
} tessera_xla_call;

typedef int tessera_xla_solve(tessera_xla_call *call);

/* Set once, before the handlers are registered. */
static tessera_xla_solve *solve_in_python;

TESSERA_XLA_EXPORT void tessera_xla_set(tessera_xla_solve *function)
{
    solve_in_python = function;
}

TESSERA_XLA_EXPORT int64_t tessera_xla_call_bytes(void)
{
    return (int64_t)sizeof(tessera_xla_call);
}

static XLA_FFI_Error *fail(const XLA_FFI_Api *api, XLA_FFI_Error_Code code, const char *message)
{
    XLA_FFI_Error_Create_Args args = {
        .struct_size = XLA_FFI_Error_Create_Args_STRUCT_SIZE, .message = message, .errc = code};

    return api->XLA_FFI_Error_Create(&args);
}

/* When a handler is registered XLA asks for the version of the interface that it was compiled for. The extension is a
   pointer to anything here: its type has one name in jaxlib 0.10 and another in 0.11. */
static XLA_FFI_Error *tell_version(const XLA_FFI_Api *api, void *extension)
{
    XLA_FFI_Metadata *metadata = ((XLA_FFI_Metadata_Extension *)extension)->metadata;

    if (metadata->struct_size < offsetof(XLA_FFI_Metadata, traits) + sizeof metadata->traits) {
        return fail(api, XLA_FFI_Error_Code_UNIMPLEMENTED, "this XLA is older than the headers of libtessera_xla.so");
    }
    metadata->api_version = (XLA_FFI_Api_Version){.struct_size = XLA_FFI_Api_Version_STRUCT_SIZE,
                                                  .major_version = XLA_FFI_API_MAJOR,
                                                  .minor_version = XLA_FFI_API_MINOR};
    metadata->traits = 0; /* not for CUDA graphs: a solve waits for the device */
    if (api->api_version.minor_version >= XLA_FFI_API_MINOR) { metadata->state_type_id = (XLA_FFI_TypeId){0}; }
    return NULL;
}

static int is_named(const XLA_FFI_ByteSpan *name, const char *text)
{
    return name->len == strlen(text) && memcmp(name->ptr, text, name->len) == 0;
}

static XLA_FFI_Error *take_request(const XLA_FFI_CallFrame *frame, tessera_xla_call *call)
{
    for (int64_t i = 0; i < frame->attrs.size; i++) {
        if (frame->attrs.types[i] == XLA_FFI_AttrType_STRING && is_named(frame->attrs.names[i], "request")) {
            const XLA_FFI_ByteSpan *text = frame->attrs.attrs[i];

            call->request = text->ptr;
            call->request_length = (int64_t)text->len;
            return NULL;
        }
    }
    return fail(frame->api, XLA_FFI_Error_Code_INVALID_ARGUMENT, "the call of tessera_sparse has no request");
}

static tessera_xla_buffer buffer_of(const XLA_FFI_Buffer *buffer)
{
    return (tessera_xla_buffer){buffer->data, buffer->dims, buffer->rank, (int64_t)buffer->dtype};
}

static XLA_FFI_Error *take_buffers(const XLA_FFI_CallFrame *frame, tessera_xla_call *call)
{
    if (frame->args.size != TESSERA_XLA_BUFFERS - 1 || frame->rets.size != 1) {
        return fail(frame->api, XLA_FFI_Error_Code_INVALID_ARGUMENT,
                    "a call of tessera_sparse has four arrays and gives one");
    }
    for (int i = 0; i < TESSERA_XLA_BUFFERS - 1; i++) {
        call->buffers[i] = buffer_of(frame->args.args[i]);
    }
    call->buffers[TESSERA_XLA_BUFFERS - 1] = buffer_of(frame->rets.rets[0]);
    return NULL;
}

static XLA_FFI_Error *take_stream(const XLA_FFI_CallFrame *frame, tessera_xla_call *call)
{
    const XLA_FFI_Api *api = frame->api;
    XLA_FFI_Stream_Get_Args stream = {.struct_size = XLA_FFI_Stream_Get_Args_STRUCT_SIZE, .ctx = frame->ctx};
    XLA_FFI_DeviceOrdinal_Get_Args device = {.struct_size = XLA_FFI_DeviceOrdinal_Get_Args_STRUCT_SIZE,
                                             .ctx = frame->ctx};
    XLA_FFI_Error *error = api->XLA_FFI_Stream_Get(&stream);

    if (error) { return error; }
    call->stream = stream.stream;
    if (api->struct_size < XLA_FFI_Api_STRUCT_SIZE) { return NULL; } /* an XLA that does not tell the device */
    error = api->XLA_FFI_DeviceOrdinal_Get(&device);
    if (!error) { call->device = device.device_ordinal; }
    return error;
}

static XLA_FFI_Error *handle(XLA_FFI_CallFrame *frame, int on_gpu)
{
    tessera_xla_call call = {.device = -1, .on_gpu = on_gpu};
    XLA_FFI_Error *error = NULL;

    if (frame->extension_start && frame->extension_start->type == XLA_FFI_Extension_Metadata) {
        return tell_version(frame->api, frame->extension_start);
    }
    if (frame->stage != XLA_FFI_ExecutionStage_EXECUTE) {
        return fail(frame->api, XLA_FFI_Error_Code_INVALID_ARGUMENT, "tessera_sparse only executes");
    }
    error = take_request(frame, &call);
    if (!error) { error = take_buffers(frame, &call); }
    if (!error && on_gpu) { error = take_stream(frame, &call); }
    if (error) { return error; }
    return solve_in_python(&call) == 0 ? NULL : fail(frame->api, XLA_FFI_Error_Code_INTERNAL, call.error);
}

TESSERA_XLA_EXPORT XLA_FFI_Error *tessera_xla_host(XLA_FFI_CallFrame *frame)
{
    return handle(frame, 0);
}

TESSERA_XLA_EXPORT XLA_FFI_Error *tessera_xla_cuda(XLA_FFI_CallFrame *frame)
{
    return handle(frame, 1);
}
