/* SPDX-License-Identifier: Apache-2.0 */
/* Codecs on the device: the host's bits for every boundary and for tens of millions of doubles; packs as single values.
 */
#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include <cuda_runtime.h>

extern "C" {
#include "support/test.h"

#include "support/formats.h"
}

#include <tessera/storage.cuh>

#define assert_cuda(call) assert_int_equal(call, cudaSuccess)

enum { BLOCK = 256, CHUNK = 1 << 22 };

static unsigned blocks(int64_t n)
{
    return static_cast<unsigned>((n + BLOCK - 1) / BLOCK);
}

template <typename T>
struct device_array {
    T *data = nullptr;
    int64_t n;

    explicit device_array(int64_t count) : n(count)
    {
        assert_cuda(cudaMalloc(&data, static_cast<size_t>(std::max<int64_t>(n, 1)) * sizeof(T)));
    }
    explicit device_array(const std::vector<T> &from) : device_array(static_cast<int64_t>(from.size()))
    {
        assert_cuda(cudaMemcpy(data, from.data(), from.size() * sizeof(T), cudaMemcpyHostToDevice));
    }
    device_array(const device_array &) = delete;
    ~device_array()
    {
        cudaFree(data);
    }
    std::vector<T> read() const
    {
        std::vector<T> to(static_cast<size_t>(n));

        assert_cuda(cudaGetLastError());
        assert_cuda(cudaMemcpy(to.data(), data, to.size() * sizeof(T), cudaMemcpyDeviceToHost));
        return to;
    }
};

/* ---- encoding ---- */

template <typename Storage, typename Arithmetic>
__global__ void encode_all(const Arithmetic *from, int64_t n, tess_overflow overflow, Storage *to)
{
    int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;

    if (i < n) { to[i] = tess::encode<Storage>(from[i], overflow); }
}

template <typename Storage>
static bool same_stored(Storage a, Storage b)
{
    return memcmp(&a, &b, sizeof a) == 0;
}

template <>
bool same_stored(float a, float b)
{
    return std::isnan(a) ? std::isnan(b) : memcmp(&a, &b, sizeof a) == 0;
}

template <typename Storage, typename Arithmetic>
static void check_encoding(const std::vector<Arithmetic> &values, const device_array<Arithmetic> &there)
{
    device_array<Storage> codes(there.n);

    for (tess_overflow overflow : {TESS_OVERFLOW_INFINITY, TESS_OVERFLOW_SATURATE}) {
        encode_all<<<blocks(there.n), BLOCK>>>(there.data, there.n, overflow, codes.data);
        std::vector<Storage> found = codes.read();
        int64_t wrong = 0;

        for (size_t i = 0; i < found.size(); i++) {
            if (same_stored(found[i], tess::encode<Storage>(values[i], overflow))) { continue; }
            if (wrong++ == 0) {
                print_error("%s of %a, overflow %d\n", tess_precision_name(tess::storage_traits<Storage>::precision),
                            static_cast<double>(values[i]), static_cast<int>(overflow));
            }
        }
        assert_int_equal(wrong, 0);
    }
}

template <typename Arithmetic>
static void check_all_encodings(const std::vector<Arithmetic> &values)
{
    device_array<Arithmetic> there(values);

#define CHECK(NAME, value, name, type, ...) \
    if constexpr (sizeof(type) < sizeof(double)) { check_encoding<tess::name>(values, there); }
    TESS_PRECISION_LIST(CHECK)
#undef CHECK
}

/* The values as doubles, and those that FP32 holds as floats. */
static void check_values(const std::vector<double> &values)
{
    std::vector<float> floats;

    for (double value : values) {
        float single = static_cast<float>(value);

        if (static_cast<double>(single) == value || std::isnan(value)) { floats.push_back(single); }
    }
    check_all_encodings(values);
    check_all_encodings(floats);
}

static void boundaries_are_encoded_as_on_the_host(void **)
{
    for (const small_format &format : small_formats) {
        std::vector<double> values(static_cast<size_t>(format_boundaries(&format, nullptr)));

        format_boundaries(&format, values.data());
        check_values(values);
    }
    const int64_t floats = 100000;
    std::vector<double> values(static_cast<size_t>(fp32_boundaries(floats, nullptr)));
    fp32_boundaries(floats, values.data());
    check_values(values);
    values.resize(static_cast<size_t>(special_values(nullptr)));
    special_values(values.data());
    check_values(values);
}

static void random_bits_are_encoded_as_on_the_host(void **)
{
    uint64_t seed = 31;
    std::vector<double> values(CHUNK);

    for (int chunk = 0; chunk < 8; chunk++) {
        for (double &value : values) {
            value = random_bits_double(&seed);
        }
        check_all_encodings(values);
    }
}

/* 262,144 neighbouring floats from each of 64 places: every sign, and each second exponent. */
template <typename Storage>
__global__ void encode_floats(uint32_t first, int64_t n, tess_overflow overflow, Storage *to)
{
    int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;

    if (i < n) { to[i] = tess::encode<Storage>(tess_float_of_bits(first + static_cast<uint32_t>(i)), overflow); }
}

template <typename Storage>
static void check_floats(uint32_t first, device_array<Storage> &codes)
{
    encode_floats<<<blocks(codes.n), BLOCK>>>(first, codes.n, TESS_OVERFLOW_INFINITY, codes.data);
    std::vector<Storage> found = codes.read();
    int64_t wrong = 0;

    for (size_t i = 0; i < found.size(); i++) {
        float value = tess_float_of_bits(first + static_cast<uint32_t>(i));

        wrong += !same_stored(found[i], tess::encode<Storage>(value, TESS_OVERFLOW_INFINITY));
    }
    assert_int_equal(wrong, 0);
}

/* Only types of 8 or 16 bits: the other types have no codes. */
template <typename Storage>
static void check_stretches()
{
    if constexpr (sizeof(Storage) < sizeof(float)) {
        device_array<Storage> codes(1 << 18);

        for (uint64_t first = 0; first < UINT64_C(1) << 32; first += UINT64_C(1) << 26) {
            check_floats(static_cast<uint32_t>(first), codes);
        }
    }
}

static void stretches_of_floats_are_encoded_as_on_the_host(void **)
{
#define CHECK(NAME, value, name, ...) check_stretches<tess::name>();
    TESS_PRECISION_LIST(CHECK)
#undef CHECK
}

/* ---- decoding ---- */

template <typename Arithmetic, typename Storage>
__global__ void decode_all(const Storage *from, int64_t n, Arithmetic *to)
{
    int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;

    if (i < n) { to[i] = tess::decode<Arithmetic>(from[i]); }
}

template <typename Arithmetic, int N, typename Storage>
__global__ void decode_packs(const Storage *from, int64_t packs, Arithmetic *to)
{
    int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;

    if (i < packs) {
        Arithmetic values[N];

        tess::decode_pack<Arithmetic>(tess::load_pack<N>(from + i * N), values);
        for (int k = 0; k < N; k++) {
            to[i * N + k] = values[k];
        }
    }
}

/* The bits of the host's decoding; any NaN for NaN. */
template <typename Arithmetic, typename Storage>
static void check_decoded(const std::vector<Storage> &codes, const device_array<Arithmetic> &values)
{
    std::vector<Arithmetic> found = values.read();
    int64_t wrong = 0;

    for (size_t i = 0; i < codes.size(); i++) {
        Arithmetic expected = tess::decode<Arithmetic>(codes[i]);

        wrong += std::isnan(expected) ? !std::isnan(found[i]) : memcmp(&expected, &found[i], sizeof expected) != 0;
    }
    assert_int_equal(wrong, 0);
}

template <typename Arithmetic, int N, typename Storage>
static void check_packs(const std::vector<Storage> &codes, const device_array<Storage> &there)
{
    device_array<Arithmetic> values(there.n);
    int64_t packs = there.n / N;

    assert_int_equal(there.n % N, 0);
    assert_cuda(cudaMemset(values.data, 0x5a, codes.size() * sizeof(Arithmetic)));
    decode_packs<Arithmetic, N><<<blocks(packs), BLOCK>>>(there.data, packs, values.data);
    check_decoded(codes, values);
}

template <typename Arithmetic, typename Storage>
static void check_pack_sizes(const std::vector<Storage> &codes, const device_array<Storage> &there)
{
    check_packs<Arithmetic, 1>(codes, there);
    check_packs<Arithmetic, 2>(codes, there);
    check_packs<Arithmetic, 4>(codes, there);
    check_packs<Arithmetic, 8>(codes, there);
    if constexpr (sizeof(Storage) == 1) { check_packs<Arithmetic, 16>(codes, there); }
}

/* Every code, in an order that puts each at each place of a pack, next to Inf and NaN and far from them. */
template <typename Storage>
static std::vector<Storage> shuffled_codes()
{
    const int64_t codes = sizeof(Storage) == 1 ? 256 : 65536, rounds = 64;
    std::vector<Storage> all(static_cast<size_t>(codes * rounds));
    uint64_t seed = 32;

    for (size_t i = 0; i < all.size(); i++) {
        all[i].bits = static_cast<decltype(all[i].bits)>(i);
    }
    for (size_t i = all.size() / 2; i < all.size(); i++) { /* the first half stays in order: packs without NaN */
        std::swap(all[i], all[all.size() / 2 + oracle_random_bits(&seed) % (all.size() / 2)]);
    }
    return all;
}

template <typename Storage>
static void check_decoding()
{
    std::vector<Storage> codes = shuffled_codes<Storage>();
    device_array<Storage> there(codes);
    device_array<double> doubles(there.n);
    device_array<float> floats(there.n);

    decode_all<<<blocks(there.n), BLOCK>>>(there.data, there.n, doubles.data);
    check_decoded(codes, doubles);
    decode_all<<<blocks(there.n), BLOCK>>>(there.data, there.n, floats.data);
    check_decoded(codes, floats);
    check_pack_sizes<double>(codes, there);
    check_pack_sizes<float>(codes, there);
}

static void codes_and_packs_are_decoded_as_on_the_host(void **)
{
#define CHECK(NAME, value, name, type, ...) \
    if constexpr (sizeof(type) < sizeof(float)) { check_decoding<tess::name>(); }
    TESS_PRECISION_LIST(CHECK)
#undef CHECK
}

int main()
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(boundaries_are_encoded_as_on_the_host),
        cmocka_unit_test(random_bits_are_encoded_as_on_the_host),
        cmocka_unit_test(stretches_of_floats_are_encoded_as_on_the_host),
        cmocka_unit_test(codes_and_packs_are_decoded_as_on_the_host),
    };

    return run_gpu_tests(tests, nullptr);
}
