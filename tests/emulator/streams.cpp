// SPDX-License-Identifier: Apache-2.0
// Streams, recordings and memory of the emulated GPU.
#include "emulator/failures.h"
#include "emulator/vendor_emulated.h"

#include <stdlib.h>

#if defined(__has_feature) && !defined(__SANITIZE_ADDRESS__)
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

#include <execinfo.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

struct emulator_recording {
    std::vector<std::function<void()>> work;
};

namespace emulator {

namespace {

/*
 * The device's memory. The host's threads have it only while a stream works, so that host code that follows a pointer
 * of the device ends with a segmentation fault, as it does beside a device. An array that was released is given out
 * again after others, and AddressSanitizer hears what nobody has.
 */
class device_memory {
  public:
    void *allocate(size_t bytes)
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        const size_t span = span_of(bytes);
        const auto spare = spare_.find(span);
        char *array = next_;

        if (spare != spare_.end()) {
            array = spare->second;
            spare_.erase(spare);
        } else if (!extend(span)) {
            return nullptr;
        } else if (!array) {
            array = begin_;
        }
        live_[array] = span;
        tell(array, bytes, true);
        tell(array + bytes, span - bytes, false);
        return array;
    }
    void release(void *pointer)
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        const auto found = live_.find(static_cast<char *>(pointer));

        if (found == live_.end()) { abort(); }
        resting_.push_back(*found);
        resting_bytes_ += found->second;
        (void)madvise(found->first, found->second, MADV_DONTNEED);
        tell(found->first, found->second, false);
        live_.erase(found);
        while (resting_bytes_ > MOST_RESTING) {
            spare_.insert({resting_.front().second, resting_.front().first});
            resting_bytes_ -= resting_.front().second;
            resting_.pop_front();
        }
    }
    // Between these calls a stream works.
    void open()
    {
        const std::lock_guard<std::mutex> lock(mutex_);

        if (users_++ == 0) { protect(begin_, next_); }
    }
    void close()
    {
        const std::lock_guard<std::mutex> lock(mutex_);

        if (--users_ == 0) { protect(begin_, next_); }
    }

  private:
    static constexpr size_t PAGE = 4096, SPACE = size_t{1} << 40, MOST_RESTING = size_t{1} << 24;

    // Pages for an array and one that nobody has, of few sizes: powers of two and what is halfway.
    static size_t span_of(size_t bytes)
    {
        size_t span = 2 * PAGE;

        while (span < bytes + PAGE) {
            span = (span & (span - 1)) == 0 ? span + span / 2 : span / 3 * 4;
        }
        return span;
    }
    bool extend(size_t span)
    {
        if (!begin_) {
            void *const all = mmap(nullptr, SPACE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

            if (all == MAP_FAILED) { return false; }
            begin_ = next_ = static_cast<char *>(all);
        }
        if (span > SPACE - static_cast<size_t>(next_ - begin_)) { return false; }
        next_ += span;
        protect(next_ - span, next_);
        return true;
    }
    void protect(char *from, char *to)
    {
        const int rights = users_ > 0 ? PROT_READ | PROT_WRITE : PROT_NONE;

        if (from != to && mprotect(from, static_cast<size_t>(to - from), rights) != 0) { abort(); }
    }
    static void tell(char *from, size_t bytes, bool usable)
    {
#ifdef __SANITIZE_ADDRESS__
        if (usable) {
            ASAN_UNPOISON_MEMORY_REGION(from, bytes);
        } else {
            ASAN_POISON_MEMORY_REGION(from, bytes);
        }
#else
        (void)from, (void)bytes, (void)usable;
#endif
    }

    std::mutex mutex_;
    char *begin_ = nullptr, *next_ = nullptr;
    std::map<char *, size_t> live_;                 // and their spans
    std::deque<std::pair<char *, size_t>> resting_; // released a while ago
    std::multimap<size_t, char *> spare_;           // spans to give out
    size_t resting_bytes_ = 0;
    int users_ = 0;
};

device_memory &memory()
{
    static device_memory &all = *new device_memory; // for streams that outlive static objects

    return all;
}

} // namespace

} // namespace emulator

// A stream: queued work runs in order on a thread of its own.
struct emulator_queue {
    emulator_queue() : thread([this] { serve(); })
    {
    }
    ~emulator_queue()
    {
        {
            const std::lock_guard<std::mutex> lock(mutex);
            ending = true;
        }
        changed.notify_all();
        thread.join();
    }
    void add(std::function<void()> one)
    {
        if (recorded) {
            recorded->work.push_back(std::move(one));
            return;
        }
        {
            const std::lock_guard<std::mutex> lock(mutex);
            work.push_back(std::move(one));
            pending += 1;
        }
        changed.notify_all();
    }
    void wait()
    {
        std::unique_lock<std::mutex> lock(mutex);

        changed.wait(lock, [&] { return pending == 0; });
    }
    bool is_idle()
    {
        const std::lock_guard<std::mutex> lock(mutex);

        return pending == 0;
    }
    void serve()
    {
        std::unique_lock<std::mutex> lock(mutex);
        bool open = false; // the device's memory, for this stream

        for (;;) {
            changed.wait(lock, [&] { return ending || !work.empty(); });
            if (work.empty()) { return; }
            std::function<void()> one = std::move(work.front());

            work.pop_front();
            lock.unlock();
            if (!open) { emulator::memory().open(); }
            one();
            one = nullptr;
            lock.lock();
            open = pending > 1;
            if (!open) { emulator::memory().close(); }
            pending -= 1;
            if (pending == 0) { changed.notify_all(); }
        }
    }

    emulator_recording *recorded = nullptr;
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<std::function<void()>> work;
    int64_t pending = 0;
    bool ending = false;
    std::thread thread; // the last to begin
};

// A memory pool: its bytes, with and without an owner, and how many it keeps.
struct emulator_pool {
    size_t used, reserved, threshold;
};

struct emulator_event {
    emulator_queue *stream;
};

namespace emulator {

namespace {

// The streams that are open.
struct open_streams {
    std::mutex mutex;
    std::set<emulator_queue *> made;
};

open_streams &streams()
{
    static open_streams all;

    return all;
}

// The memory pools, and what each array that has an owner is part of.
struct pooled_memory {
    struct array {
        emulator_pool *pool;
        size_t bytes;
    };
    std::mutex mutex;
    std::set<emulator_pool *> pools;
    std::map<void *, array> arrays;
};

pooled_memory &pooled()
{
    static pooled_memory all;

    return all;
}

std::atomic<bool> has_pools{true};

// When the host waits, a pool frees what is above its threshold.
void shrink_pools()
{
    pooled_memory &all = pooled();
    const std::lock_guard<std::mutex> lock(all.mutex);

    for (emulator_pool *pool : all.pools) {
        pool->reserved = std::max(pool->used, std::min(pool->reserved, pool->threshold));
    }
}

emulator_queue *of(emulator_queue *stream)
{
    static emulator_queue standard;

    return stream && stream != emulatedStreamPerThread ? stream : &standard;
}

thread_local emulatedError_t last_error = emulatedSuccess;
thread_local bool fails_at_new_place = false, has_failed = false;

/* Whether this call has to fail. A place is the return addresses of so many functions that the same helper has one for
   each of its callers. With TESS_EMULATOR_PLACES in the environment it prints them, for addr2line. */
bool is_injected()
{
    enum { FRAMES = 10 };
    static std::mutex mutex;
    static std::set<std::vector<void *>> failed;

    if (!fails_at_new_place || has_failed) { return false; }
    std::vector<void *> frames(FRAMES);
    const std::lock_guard<std::mutex> lock(mutex);

    frames.resize(static_cast<size_t>(backtrace(frames.data(), FRAMES)));
    has_failed = failed.insert(frames).second;
    if (has_failed && getenv("TESS_EMULATOR_PLACES")) {
        backtrace_symbols_fd(frames.data(), static_cast<int>(frames.size()), STDERR_FILENO);
    }
    return has_failed;
}

emulatedError_t fails(emulatedError_t error)
{
    if (error != emulatedSuccess) { last_error = error; }
    return error;
}

/* At the begin of a call: fails it if it has to. */
#define FAIL_IF_INJECTED()                                                                  \
    do {                                                                                    \
        if (emulator::is_injected()) { return emulator::fails(emulatedErrorInvalidValue); } \
    } while (false)

} // namespace

void enqueue_kernel(const launch_shape &shape, std::function<void()> body)
{
    const unsigned blocks = shape.grid.x * shape.grid.y;
    const unsigned most = shape.together == residence::cluster ? static_cast<unsigned>(MAX_CLUSTER)
                                                               : static_cast<unsigned>(MULTIPROCESSORS);

    if (is_injected()) {
        (void)fails(emulatedErrorInvalidValue);
        return;
    }
    if (blocks == 0 || shape.block == 0 || shape.block > MAX_THREADS || shape.shared > SHARED_PER_BLOCK) {
        (void)fails(emulatedErrorInvalidValue);
        return;
    }
    if (shape.together != residence::none && blocks > most) {
        (void)fails(emulatedErrorCooperativeLaunchTooLarge);
        return;
    }
    const kernel_launch launch = {shape, std::move(body)};

    of(shape.stream)->add([launch] { run_kernel(launch); });
}

} // namespace emulator

// ---- the runtime's functions ----

using emulator::fails;

void emulatedFailAtNewPlace(void)
{
    emulator::fails_at_new_place = true;
    emulator::has_failed = false;
}

int emulatedHasFailed(void)
{
    emulator::fails_at_new_place = false;
    return emulator::has_failed;
}

emulatedError_t emulatedGetLastError(void)
{
    const emulatedError_t error = emulator::last_error;

    emulator::last_error = emulatedSuccess;
    return error;
}

const char *emulatedGetErrorString(emulatedError_t error)
{
    switch (error) {
    case emulatedSuccess: return "no error";
    case emulatedErrorMemoryAllocation: return "out of memory";
    case emulatedErrorNotReady: return "not ready";
    case emulatedErrorCooperativeLaunchTooLarge: return "more blocks than can be resident";
    case emulatedErrorInvalidValue: break;
    }
    return "invalid argument";
}

const char *emulatedGetErrorName(emulatedError_t error)
{
    return emulatedGetErrorString(error);
}

emulatedError_t emulatedGetDeviceCount(int *count)
{
    FAIL_IF_INJECTED();
    *count = 1;
    return emulatedSuccess;
}

emulatedError_t emulatedGetDevice(int *device)
{
    *device = 0;
    return emulatedSuccess;
}

emulatedError_t emulatedSetDevice(int device)
{
    return device == 0 ? emulatedSuccess : fails(emulatedErrorInvalidValue);
}

emulatedError_t emulatedGetDeviceProperties(emulatedDeviceProp *properties, int)
{
    FAIL_IF_INJECTED();
    *properties = {"emulated GPU",
                   emulator::MULTIPROCESSORS,
                   emulator::MEMORY,
                   9,
                   emulator::SHARED_PER_MULTIPROCESSOR,
                   emulator::SHARED_PER_BLOCK};
    return emulatedSuccess;
}

emulatedError_t emulatedDeviceGetAttribute(int *value, emulatedDeviceAttr attribute, int)
{
    FAIL_IF_INJECTED();
    switch (attribute) {
    case emulatedDevAttrComputeCapabilityMajor: *value = 9; break;
    case emulatedDevAttrCooperativeLaunch: *value = 1; break;
    case emulatedDevAttrMemoryPoolsSupported: *value = emulator::has_pools; break;
    }
    return emulatedSuccess;
}

emulatedError_t emulatedFuncSetAttribute(const void *, emulatedFuncAttribute, int)
{
    FAIL_IF_INJECTED();
    return emulatedSuccess;
}

/* What is fresh holds no zeros. */
static void begin_array(void *array, size_t bytes)
{
    if (bytes < emulator::MEMORY / 64) { memset(array, 0x7f, bytes); }
}

emulatedError_t emulatedMallocBytes(void **pointer, size_t bytes)
{
    // The size is not rounded up, so that an access beyond it is an error.
    *pointer = nullptr;
    if (emulator::is_injected()) { return fails(emulatedErrorMemoryAllocation); }
    if (bytes <= emulator::MEMORY) { *pointer = emulator::memory().allocate(bytes > 0 ? bytes : 1); }
    if (!*pointer) { return fails(emulatedErrorMemoryAllocation); }
    emulator::memory().open();
    begin_array(*pointer, bytes);
    emulator::memory().close();
    return emulatedSuccess;
}

emulatedError_t emulatedHostAllocMapped(void **pointer, size_t bytes)
{
    *pointer = nullptr;
    if (emulator::is_injected() || posix_memalign(pointer, 256, bytes > 0 ? bytes : 1) != 0) {
        return fails(emulatedErrorMemoryAllocation);
    }
    begin_array(*pointer, bytes);
    return emulatedSuccess;
}

emulatedError_t emulatedMemGetInfo(size_t *spare, size_t *total)
{
    FAIL_IF_INJECTED();
    *spare = *total = emulator::MEMORY;
    return emulatedSuccess;
}

// In stream order, because queued work may still use the memory.
void emulatedKeepWithin(void *pointer, size_t bytes, size_t capacity, emulatedStream_t stream)
{
#ifdef __SANITIZE_ADDRESS__
    emulator::of(stream)->add([pointer, bytes, capacity] {
        ASAN_UNPOISON_MEMORY_REGION(pointer, capacity);
        ASAN_POISON_MEMORY_REGION(static_cast<char *>(pointer) + bytes, capacity - bytes);
    });
#else
    (void)pointer, (void)bytes, (void)capacity, (void)stream;
#endif
}

static void wait_for_streams()
{
    emulator::open_streams &all = emulator::streams();
    const std::lock_guard<std::mutex> lock(all.mutex);

    emulator::of(nullptr)->wait();
    for (emulator_queue *one : all.made) {
        one->wait();
    }
}

// As a device does, after all queued work, which may still use the memory.
emulatedError_t emulatedFree(void *pointer)
{
    wait_for_streams();
    if (pointer) { emulator::memory().release(pointer); }
    return emulatedSuccess;
}

emulatedError_t emulatedFreeHost(void *pointer)
{
    wait_for_streams();
    free(pointer);
    return emulatedSuccess;
}

void emulatedSetPools(int supported)
{
    emulator::has_pools = supported != 0;
}

long long emulatedPoolUsed(void)
{
    emulator::pooled_memory &all = emulator::pooled();
    const std::lock_guard<std::mutex> lock(all.mutex);
    size_t used = 0;

    for (const emulator_pool *pool : all.pools) {
        used += pool->used;
    }
    return static_cast<long long>(used);
}

long long emulatedPoolKept(void)
{
    const long long used = emulatedPoolUsed();
    emulator::pooled_memory &all = emulator::pooled();
    const std::lock_guard<std::mutex> lock(all.mutex);
    size_t reserved = 0;

    for (const emulator_pool *pool : all.pools) {
        reserved += pool->reserved;
    }
    return static_cast<long long>(reserved) - used;
}

void emulatedShareMemory(int shared)
{
    if (shared) {
        emulator::memory().open();
    } else {
        emulator::memory().close();
    }
}

int emulatedPoolCount(void)
{
    emulator::pooled_memory &all = emulator::pooled();
    const std::lock_guard<std::mutex> lock(all.mutex);

    return static_cast<int>(all.pools.size());
}

emulatedError_t emulatedMemPoolCreate(emulatedMemPool_t *pool, const emulatedMemPoolProps *properties)
{
    FAIL_IF_INJECTED();
    if (properties->location.type != emulatedMemLocationTypeDevice || properties->location.id != 0) {
        return fails(emulatedErrorInvalidValue);
    }
    emulator::pooled_memory &all = emulator::pooled();
    const std::lock_guard<std::mutex> lock(all.mutex);

    *pool = new emulator_pool();
    all.pools.insert(*pool);
    return emulatedSuccess;
}

// All memory was given back: a device would keep the pool until then, and no one could tell.
emulatedError_t emulatedMemPoolDestroy(emulatedMemPool_t pool)
{
    emulator::pooled_memory &all = emulator::pooled();
    const std::lock_guard<std::mutex> lock(all.mutex);

    if (pool->used != 0) { abort(); }
    all.pools.erase(pool);
    delete pool;
    return emulatedSuccess;
}

emulatedError_t emulatedMemPoolSetAttribute(emulatedMemPool_t pool, emulatedMemPoolAttr attribute, void *value)
{
    FAIL_IF_INJECTED();
    if (attribute != emulatedMemPoolAttrReleaseThreshold) { return fails(emulatedErrorInvalidValue); }
    emulator::pooled_memory &all = emulator::pooled();
    const std::lock_guard<std::mutex> lock(all.mutex);

    pool->threshold = *static_cast<const uint64_t *>(value);
    return emulatedSuccess;
}

emulatedError_t emulatedMemPoolGetAttribute(emulatedMemPool_t pool, emulatedMemPoolAttr attribute, void *value)
{
    FAIL_IF_INJECTED();
    emulator::pooled_memory &all = emulator::pooled();
    const std::lock_guard<std::mutex> lock(all.mutex);

    *static_cast<uint64_t *>(value) =
        attribute == emulatedMemPoolAttrReservedMemCurrent ? pool->reserved : pool->threshold;
    return emulatedSuccess;
}

emulatedError_t emulatedMemPoolTrimTo(emulatedMemPool_t pool, size_t bytes)
{
    FAIL_IF_INJECTED();
    emulator::pooled_memory &all = emulator::pooled();
    const std::lock_guard<std::mutex> lock(all.mutex);

    pool->reserved = std::max(pool->used, std::min(pool->reserved, bytes));
    return emulatedSuccess;
}

// Each array is memory of its own, so that a use after its release is an error.
emulatedError_t emulatedMallocFromPoolAsync(void **pointer, size_t bytes, emulatedMemPool_t pool, emulatedStream_t)
{
    emulator::pooled_memory &all = emulator::pooled();
    const emulatedError_t error = emulatedMallocBytes(pointer, bytes);

    if (error != emulatedSuccess) { return error; }
    const std::lock_guard<std::mutex> lock(all.mutex);

    all.arrays[*pointer] = {pool, bytes};
    pool->used += bytes;
    pool->reserved = std::max(pool->reserved, pool->used);
    return emulatedSuccess;
}

emulatedError_t emulatedFreeAsync(void *pointer, emulatedStream_t stream)
{
    if (!pointer) { return emulatedSuccess; }
    {
        emulator::pooled_memory &all = emulator::pooled();
        const std::lock_guard<std::mutex> lock(all.mutex);
        const auto found = all.arrays.find(pointer);

        if (found == all.arrays.end()) { return fails(emulatedErrorInvalidValue); }
        found->second.pool->used -= found->second.bytes;
        all.arrays.erase(found);
    }
    emulator::of(stream)->add([pointer] { emulator::memory().release(pointer); });
    return emulatedSuccess;
}

emulatedError_t emulatedHostGetDevicePointer(void **device, void *host, unsigned)
{
    FAIL_IF_INJECTED();
    *device = host;
    return emulatedSuccess;
}

emulatedError_t emulatedMemcpyAsync(void *to, const void *from, size_t bytes, emulatedMemcpyKind kind,
                                    emulatedStream_t stream)
{
    FAIL_IF_INJECTED();
    // From the host, whose memory is pageable, it is read before the call returns.
    if (kind == emulatedMemcpyHostToDevice) {
        const char *bytes_now = static_cast<const char *>(from);
        const std::shared_ptr<std::vector<char>> copy =
            std::make_shared<std::vector<char>>(bytes_now, bytes_now + bytes);

        emulator::of(stream)->add([to, copy] { memcpy(to, copy->data(), copy->size()); });
    } else {
        emulator::of(stream)->add([to, from, bytes] { memmove(to, from, bytes); });
    }
    return emulatedSuccess;
}

emulatedError_t emulatedMemsetAsync(void *to, int value, size_t bytes, emulatedStream_t stream)
{
    FAIL_IF_INJECTED();
    emulator::of(stream)->add([to, value, bytes] { memset(to, value, bytes); });
    return emulatedSuccess;
}

emulatedError_t emulatedStreamCreateWithFlags(emulatedStream_t *stream, unsigned)
{
    FAIL_IF_INJECTED();
    emulator::open_streams &all = emulator::streams();
    const std::lock_guard<std::mutex> lock(all.mutex);

    *stream = new emulator_queue();
    all.made.insert(*stream);
    return emulatedSuccess;
}

emulatedError_t emulatedStreamDestroy(emulatedStream_t stream)
{
    {
        emulator::open_streams &all = emulator::streams();
        const std::lock_guard<std::mutex> lock(all.mutex);

        all.made.erase(stream);
    }
    delete stream;
    return emulatedSuccess;
}

emulatedError_t emulatedStreamSynchronize(emulatedStream_t stream)
{
    emulator::of(stream)->wait(); // also if it fails: the caller releases what queued work uses
    emulator::shrink_pools();
    FAIL_IF_INJECTED();
    return emulatedSuccess;
}

emulatedError_t emulatedStreamQuery(emulatedStream_t stream)
{
    FAIL_IF_INJECTED();
    return emulator::of(stream)->is_idle() ? emulatedSuccess : emulatedErrorNotReady;
}

emulatedError_t emulatedStreamBeginCapture(emulatedStream_t stream, emulatedStreamCaptureMode)
{
    FAIL_IF_INJECTED();
    stream->recorded = new emulator_recording();
    return emulatedSuccess;
}

emulatedError_t emulatedStreamEndCapture(emulatedStream_t stream, emulatedGraph_t *graph)
{
    *graph = stream->recorded;
    stream->recorded = nullptr;
    if (emulator::is_injected()) {
        delete *graph;
        *graph = nullptr;
        return fails(emulatedErrorInvalidValue);
    }
    return emulatedSuccess;
}

emulatedError_t emulatedGraphInstantiate(emulatedGraphExec_t *executable, emulatedGraph_t graph)
{
    FAIL_IF_INJECTED();
    *executable = new emulator_recording(*graph);
    return emulatedSuccess;
}

emulatedError_t emulatedGraphLaunch(emulatedGraphExec_t executable, emulatedStream_t stream)
{
    FAIL_IF_INJECTED();
    for (const auto &one : executable->work) {
        emulator::of(stream)->add(one);
    }
    return emulatedSuccess;
}

emulatedError_t emulatedGraphDestroy(emulatedGraph_t graph)
{
    delete graph;
    return emulatedSuccess;
}

emulatedError_t emulatedGraphExecDestroy(emulatedGraphExec_t executable)
{
    delete executable;
    return emulatedSuccess;
}

// An event: the work queued before its recording is complete once its stream has passed it.
emulatedError_t emulatedEventCreateWithFlags(emulatedEvent_t *event, unsigned)
{
    FAIL_IF_INJECTED();
    *event = new emulator_event();
    return emulatedSuccess;
}

emulatedError_t emulatedEventRecord(emulatedEvent_t event, emulatedStream_t stream)
{
    FAIL_IF_INJECTED();
    event->stream = emulator::of(stream);
    return emulatedSuccess;
}

emulatedError_t emulatedEventSynchronize(emulatedEvent_t event)
{
    if (event->stream) { event->stream->wait(); }
    FAIL_IF_INJECTED();
    return emulatedSuccess;
}

emulatedError_t emulatedEventDestroy(emulatedEvent_t event)
{
    delete event;
    return emulatedSuccess;
}
