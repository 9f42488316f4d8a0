// SPDX-License-Identifier: Apache-2.0
// Threads, waves and blocks of the emulated GPU.
#include "emulator/vendor_emulated.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <boost/context/detail/fcontext.hpp>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

namespace emulator {

__thread place here;

namespace {

namespace context = boost::context::detail; // its fibers cost twice as much to switch

/* Frames that AddressSanitizer looks at are larger. Stacks whose tops lay whole pages apart would share a few lines of
   the processor's caches. */
#if defined(__SANITIZE_ADDRESS__)
enum { STACK_BYTES = 320 * 1024 };
#else
enum { STACK_BYTES = 160 * 1024 };
#endif
enum { STACK_SHIFT = 320, SLOT = 16 };

enum class state : unsigned char { ready, at_block, at_wave, at_cluster, done };

[[noreturn]] void die(const char *what)
{
    fprintf(stderr, "emulated GPU, block (%u, %u) of (%u, %u), %u threads each: %s\n", here.block[0], here.block[1],
            here.blocks[0], here.blocks[1], here.threads, what);
    abort();
}

bool runs_backward()
{
    const char *const order = getenv("TESS_EMULATOR_ORDER");

    return order && strcmp(order, "backward") == 0;
}

// A barrier of blocks; one that returns leaves it.
class block_barrier {
  public:
    explicit block_barrier(unsigned parties) : parties_(parties)
    {
    }
    void wait()
    {
        std::unique_lock<std::mutex> lock(mutex_);
        const unsigned turn = turn_;

        arrived_ += 1;
        pass();
        changed_.wait(lock, [&] { return turn_ != turn; });
    }
    void leave()
    {
        const std::lock_guard<std::mutex> lock(mutex_);

        parties_ -= 1;
        pass();
    }

  private:
    void pass()
    {
        if (arrived_ < parties_) { return; }
        arrived_ = 0;
        turn_ += 1;
        changed_.notify_all();
    }
    std::mutex mutex_;
    std::condition_variable changed_;
    unsigned parties_, arrived_ = 0, turn_ = 0;
};

// A kernel that runs: the blocks that are not begun, in their order.
struct running_kernel {
    explicit running_kernel(const kernel_launch &launch)
        : what(launch), blocks(launch.shape.grid.x * launch.shape.grid.y), barrier(blocks), shared(blocks)
    {
    }
    const kernel_launch &what;
    const unsigned blocks;
    std::atomic<unsigned> next{0};
    std::atomic<bool> waited{false};         // for the kernel before
    block_barrier barrier;                   // of a cluster
    std::vector<std::atomic<char *>> shared; // of each block, while it is resident
};

struct wave {
    unsigned alive, arrived, turn;
    uint32_t gone;     // lanes that have returned: others read zeros from them
    uint32_t lanes[2]; // of a ballot
    alignas(SLOT) unsigned char slot[2][WAVE * SLOT];

    // The next exchange. Its slots are those of the last but one: lanes may still read the last one's.
    void begin_turn()
    {
        arrived = 0;
        turn += 1;
        lanes[turn % 2] = 0;
        for (uint32_t left = gone; left; left &= left - 1) {
            clear(static_cast<unsigned>(__builtin_ctz(left)));
        }
    }
    void lose(unsigned lane)
    {
        alive -= 1;
        gone |= uint32_t{1} << lane;
        clear(lane);
    }
    void clear(unsigned lane)
    {
        memset(slot[turn % 2] + lane * SLOT, 0, SLOT);
    }
};

// A fiber, with a stack of its own: of threads of a block, one after another, or the host's thread that runs the block.
struct lane {
    context::fcontext_t self = nullptr; // while another one runs
    std::unique_ptr<char, void (*)(void *)> stack{nullptr, free};
    const void *bottom = nullptr;
    size_t bytes = 0;
    const void *looked = nullptr;
    void *fake = nullptr;
};

#if defined(__SANITIZE_ADDRESS__)
void leave(lane *from, const lane &to)
{
    __sanitizer_start_switch_fiber(from ? &from->fake : nullptr, to.bottom, to.bytes);
}
void arrive(const lane *back)
{
    __sanitizer_finish_switch_fiber(back ? back->fake : nullptr, nullptr, nullptr);
}
#else
void leave(lane *, const lane &)
{
}
void arrive(const lane *)
{
}
#endif

class crew;
__thread crew *own_crew;

// A thread of the host that runs blocks, one after another.
class crew {
  public:
    crew()
    {
        pthread_attr_t attributes;
        void *bottom = nullptr;

        if (pthread_getattr_np(pthread_self(), &attributes) != 0) { die("no stack"); }
        (void)pthread_attr_getstack(&attributes, &bottom, &home_.bytes);
        (void)pthread_attr_destroy(&attributes);
        home_.bottom = bottom;
    }

    ~crew()
    {
        ending_ = true;
        for (auto &one : lanes_) {
            change(home_, *one);
        }
    }

    void run_blocks(running_kernel &kernel)
    {
        kernel_ = &kernel;
        for (unsigned b; (b = kernel.next.fetch_add(1)) < kernel.blocks;) {
            run_block(b);
        }
    }

    void note_wait()
    {
        kernel_->waited = true;
    }

    // Of the running thread, which goes on when it is ready and its turn comes.
    void stop(state at)
    {
        const unsigned t = here.thread;

        now_[t] = at;
        if (at == state::ready) {
            looks_ = true;
        } else {
            moved_ = true;
            settle(t);
        }
        if (at == state::done) { idle_.push_back(own_[t]); }
        run_next(*own_[t], t);
    }

    void sync_block()
    {
        at_block_ += 1;
        stop(state::at_block);
    }

    int count(bool predicate)
    {
        const unsigned turn = block_turn_ % 2;

        votes_[turn] += predicate ? 1 : 0;
        sync_block();
        return votes_[turn];
    }

    void sync_cluster()
    {
        at_cluster_ += 1;
        stop(state::at_cluster);
    }

    const unsigned char *exchange(const void *value, size_t bytes)
    {
        wave &own = waves_[here.thread / WAVE];
        unsigned char *slots = own.slot[own.turn % 2];

        memcpy(slots + here.thread % WAVE * SLOT, value, bytes);
        own.arrived += 1;
        stop(state::at_wave);
        return slots;
    }

    uint32_t ballot(bool predicate)
    {
        wave &own = waves_[here.thread / WAVE];
        uint32_t &lanes = own.lanes[own.turn % 2];

        lanes |= static_cast<uint32_t>(predicate) << here.thread % WAVE;
        own.arrived += 1;
        stop(state::at_wave);
        return lanes;
    }

    void look(const void *at)
    {
        lane &one = *own_[here.thread];

        if (one.looked == at) { stop(state::ready); }
        one.looked = at;
    }

    char *shared() const
    {
        return shared_.get();
    }

    void *shared_of(const void *own, unsigned rank) const
    {
        const ptrdiff_t at = static_cast<const char *>(own) - shared_.get();

        if (at < 0 || static_cast<size_t>(at) >= kernel_->what.shape.shared || rank >= kernel_->blocks) {
            die("an address of another block's that is not in its dynamic shared memory");
        }
        return kernel_->shared[rank].load() + at;
    }

  private:
    void run_block(unsigned b)
    {
        const launch_shape &shape = kernel_->what.shape;
        const bool cluster = shape.together == residence::cluster;

        here = {0, {b % shape.grid.x, b / shape.grid.x + shape.cluster}, shape.block, {shape.grid.x, shape.grid.y}};
        shared_.reset(allocate_shared(shape.shared), free);
        open_threads(shape.block);
        if (cluster) {
            kernel_->shared[b].store(shared_.get());
            kernel_->barrier.wait();
        }
        while (alive_ > 0) {
            sweep();
        }
        if (cluster) { kernel_->barrier.leave(); }
    }

    static char *allocate_shared(size_t bytes)
    {
        void *memory = nullptr;

        if (posix_memalign(&memory, 128, bytes > 0 ? bytes : 1) != 0) { die("no memory"); }
        memset(memory, 0x7f, bytes);
        return static_cast<char *>(memory);
    }

    void open_threads(unsigned threads)
    {
        alive_ = threads;
        at_block_ = at_cluster_ = 0;
        block_turn_ = 0;
        votes_[0] = votes_[1] = 0;
        waves_.resize((threads + WAVE - 1) / WAVE);
        for (unsigned w = 0; w < waves_.size(); w++) {
            waves_[w].alive = std::min<unsigned>(threads - w * WAVE, WAVE);
            waves_[w].arrived = waves_[w].turn = waves_[w].gone = waves_[w].lanes[0] = 0;
        }
        now_.assign(threads, state::ready);
        own_.assign(threads, nullptr);
    }

    // Fibers are for threads that wait: where one ends, its fiber takes the next that is yet to begin.
    void begin_thread(unsigned t)
    {
        if (idle_.empty()) {
            lanes_.push_back(std::unique_ptr<lane>(new lane()));
            make_fiber(*lanes_.back());
            idle_.push_back(lanes_.back().get());
        }
        own_[t] = idle_.back();
        own_[t]->looked = nullptr;
        idle_.pop_back();
    }

    // Runs every thread that can go on, once.
    void sweep()
    {
        moved_ = looks_ = false;
        run_next(home_, backward_ ? here.threads : UINT_MAX);
        if (moved_) { return; }
        if (looks_) {
            std::this_thread::yield();
        } else {
            die("some of its threads are at a barrier that others do not reach");
        }
    }

    // The next thread after t that can go on, or the end of the sweep.
    void run_next(lane &from, unsigned t)
    {
        for (;;) {
            t += backward_ ? -1U : 1U;
            if (t >= here.threads) {
                change(from, home_);
                return;
            }
            if (now_[t] == state::ready) { break; }
        }
        if (!own_[t]) { begin_thread(t); }
        here.thread = t;
        if (own_[t] != &from) { change(from, *own_[t]); }
    }

    static void change(lane &from, lane &to)
    {
        leave(&from, to);
        came_from(context::jump_fcontext(to.self, &from));
        arrive(&from);
    }

    static void came_from(const context::transfer_t &transfer)
    {
        static_cast<lane *>(transfer.data)->self = transfer.fctx;
    }

    // After a thread has stopped: lets those go on that waited for it.
    void settle(unsigned t)
    {
        wave &own = waves_[t / WAVE];

        if (now_[t] == state::done) {
            alive_ -= 1;
            own.lose(t % WAVE);
        }
        if (own.arrived > 0 && own.arrived == own.alive) {
            own.begin_turn();
            release(state::at_wave, t / WAVE * WAVE, WAVE);
        }
        if (at_block_ > 0 && at_block_ == alive_) {
            at_block_ = 0;
            block_turn_ += 1;
            votes_[block_turn_ % 2] = 0;
            release(state::at_block, 0, here.threads);
        }
        if (at_cluster_ > 0 && at_cluster_ == alive_) {
            at_cluster_ = 0;
            kernel_->barrier.wait();
            release(state::at_cluster, 0, here.threads);
        }
    }

    void release(state from, unsigned first, unsigned count)
    {
        for (unsigned t = first; t < first + count && t < here.threads; t++) {
            if (now_[t] == from) {
                now_[t] = state::ready;
                own_[t]->looked = nullptr;
            }
        }
    }

    void make_fiber(lane &one)
    {
        const size_t bytes = STACK_BYTES + lanes_.size() * STACK_SHIFT;

        one.stack.reset(static_cast<char *>(malloc(bytes)));
        if (!one.stack) { die("no memory"); }
        one.bottom = one.stack.get();
        one.bytes = bytes;
        one.self = context::make_fcontext(one.stack.get() + bytes, bytes, run_thread);
    }

    // What a fiber runs: one thread after another, of one block after another.
    static void run_thread(context::transfer_t transfer)
    {
        crew &own = *own_crew;
        lane gone;

        came_from(transfer);
        arrive(nullptr);
        while (!own.ending_) {
            own.kernel_->what.body();
            own.stop(state::done);
        }
        leave(nullptr, own.home_);
        (void)context::jump_fcontext(own.home_.self, &gone); // never comes back
    }

    running_kernel *kernel_ = nullptr;
    lane home_;
    std::vector<std::unique_ptr<lane>> lanes_;
    std::vector<lane *> own_, idle_; // own_: of each thread that has begun
    std::vector<state> now_;
    std::vector<wave> waves_;
    std::shared_ptr<char> shared_;
    unsigned alive_ = 0, at_block_ = 0, at_cluster_ = 0, block_turn_ = 0;
    int votes_[2] = {0, 0};
    bool moved_ = false, looks_ = false; // in this sweep: a thread got somewhere; one only looked
    bool ending_ = false;
    const bool backward_ = runs_backward();
};

// The crew of the thread that calls.
crew &crew_of_thread()
{
    static thread_local crew own;

    own_crew = &own;
    return own;
}

// Threads of the host with a crew each, which help whichever thread launches.
class crews {
  public:
    ~crews()
    {
        {
            const std::lock_guard<std::mutex> lock(mutex_);
            ending_ = true;
        }
        queued_.notify_all();
        for (auto &one : threads_) {
            one.join();
        }
    }

    // Runs the kernel to its end on so many crews at once, one of them the caller's.
    void run(running_kernel &kernel, unsigned count)
    {
        running others = {&kernel, count - 1, {}};

        if (count > 1) { call(&others); }
        crew_of_thread().run_blocks(kernel);
        if (count > 1) { wait(&others, count - 1); }
    }

  private:
    struct running {
        running_kernel *kernel;
        unsigned left; // crews
        std::condition_variable ended;
    };

    void call(running *others)
    {
        const std::lock_guard<std::mutex> lock(mutex_);

        jobs_.insert(jobs_.end(), others->left, others);
        wanted_ += others->left;
        while (threads_.size() < wanted_) { // those who wait for one another are all there
            threads_.emplace_back([this] { serve(); });
        }
        for (unsigned c = 0; c < others->left; c++) { // not all that sleep: a kernel of many blocks leaves many behind
            queued_.notify_one();
        }
    }

    void wait(running *others, unsigned count)
    {
        std::unique_lock<std::mutex> lock(mutex_);

        others->ended.wait(lock, [&] { return others->left == 0; });
        wanted_ -= count;
    }

    void serve()
    {
        std::unique_lock<std::mutex> lock(mutex_);

        for (;;) {
            queued_.wait(lock, [&] { return ending_ || !jobs_.empty(); });
            if (jobs_.empty()) { return; }
            running &mine = *jobs_.front();

            jobs_.pop_front();
            lock.unlock();
            crew_of_thread().run_blocks(*mine.kernel);
            lock.lock();
            mine.left -= 1;
            if (mine.left == 0) { mine.ended.notify_one(); } // with the lock held: `mine` ends with the wait
        }
    }

    std::mutex mutex_;
    std::condition_variable queued_;
    std::deque<running *> jobs_;
    std::vector<std::thread> threads_;
    size_t wanted_ = 0;
    bool ending_ = false;
};

crews &all_crews()
{
    static crews all;

    return all;
}

// So many blocks of a kernel run beside each other, if its blocks do not wait for one another.
unsigned blocks_at_once()
{
    static const unsigned count = [] {
        const char *const asked = getenv("TESS_EMULATOR_BLOCKS");
        const unsigned cores = std::thread::hardware_concurrency();

        return asked ? static_cast<unsigned>(std::max(atoi(asked), 1)) : std::max(cores, 2U);
    }();

    return count;
}

} // namespace

void run_kernel(const kernel_launch &launch)
{
    running_kernel kernel(launch);
    const unsigned most = launch.shape.together == residence::none ? blocks_at_once() : kernel.blocks;

    all_crews().run(kernel, kernel.blocks < most ? kernel.blocks : most);
    if (launch.shape.overlapped && !kernel.waited) { // its results would depend on the device's mood
        fprintf(stderr,
                "emulator: a kernel that overlaps the one before does not wait for it (GPU_WAIT_FOR_PREVIOUS)\n");
        abort();
    }
}

void wait_for_previous()
{
    own_crew->note_wait();
}

void sync_block()
{
    own_crew->sync_block();
}

int count_in_block(bool predicate)
{
    return own_crew->count(predicate);
}

void sync_cluster()
{
    own_crew->sync_cluster();
}

void yield()
{
    own_crew->stop(state::ready);
}

void *dynamic_shared()
{
    return own_crew->shared();
}

void *shared_of_block(const void *own, unsigned rank)
{
    return own_crew->shared_of(own, rank);
}

const unsigned char *exchange(const void *value, size_t bytes)
{
    return own_crew->exchange(value, bytes);
}

void look(const void *at)
{
    own_crew->look(at);
}

int64_t nanoseconds()
{
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

uint32_t ballot(bool predicate)
{
    return own_crew->ballot(predicate);
}

int reduce_wave(int value, int (*join)(int, int))
{
    const unsigned lanes = here.threads - here.thread / WAVE * WAVE;
    const unsigned char *all = exchange(&value, sizeof value);
    int found, other;

    memcpy(&found, all, sizeof found);
    for (unsigned l = 1; l < WAVE && l < lanes; l++) {
        memcpy(&other, all + l * SLOT, sizeof other);
        found = join(found, other);
    }
    return found;
}

} // namespace emulator
