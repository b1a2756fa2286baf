// Loads, stores and read-modify-write operations on memory that other threads change, with the memory order in the
// name.
//
// "relaxed" orders no other access; "acquire" keeps later accesses after it, "release" earlier ones before it. A fetch_
// function without an order in its name is both acquire and release. On the GPU the scope is the whole device, or with
// ACROSS_DEVICES all devices and the host.
#include "platform.cuh"

#ifdef PREFLOW_ON_CPU

template <class T> T relaxed_load(const T* at) { return __atomic_load_n(at, __ATOMIC_RELAXED); }
template <class T> T acquire_load(const T* at) { return __atomic_load_n(at, __ATOMIC_ACQUIRE); }
template <class T> void relaxed_store(T* at, T value) { __atomic_store_n(at, value, __ATOMIC_RELAXED); }
template <class T> void release_store(T* at, T value) { __atomic_store_n(at, value, __ATOMIC_RELEASE); }
template <class T> T relaxed_fetch_add(T* at, T value) { return __atomic_fetch_add(at, value, __ATOMIC_RELAXED); }
template <class T> T release_fetch_add(T* at, T value) { return __atomic_fetch_add(at, value, __ATOMIC_RELEASE); }
inline double relaxed_fetch_add(double* at, double value) {
    double old, sum;
    __atomic_load(at, &old, __ATOMIC_RELAXED);
    do sum = old + value;
    while (!__atomic_compare_exchange(at, &old, &sum, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    return old;
}
template <class T> T relaxed_fetch_or(T* at, T value) { return __atomic_fetch_or(at, value, __ATOMIC_RELAXED); }
template <class T> T relaxed_fetch_and(T* at, T value) { return __atomic_fetch_and(at, value, __ATOMIC_RELAXED); }
template <class T> T fetch_add(T* at, T value) { return __atomic_fetch_add(at, value, __ATOMIC_ACQ_REL); }
template <class T> T relaxed_compare_exchange(T* at, T expected, T value) {
    __atomic_compare_exchange_n(at, &expected, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    return expected;
}
template <class T> T relaxed_fetch_min(T* at, T value) {
    T old = relaxed_load(at);
    while (value < old && !__atomic_compare_exchange_n(at, &old, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {}
    return old;
}
template <class T> T relaxed_fetch_max(T* at, T value) {
    T old = relaxed_load(at);
    while (old < value && !__atomic_compare_exchange_n(at, &old, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {}
    return old;
}
template <class T> T release_fetch_max(T* at, T value) {
    T old = relaxed_load(at);
    while (old < value && !__atomic_compare_exchange_n(at, &old, value, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {}
    return old;
}

#else

#ifdef ACROSS_DEVICES
#define SCOPE "sys"
#define ATOMIC(name) name##_system
#else
#define SCOPE "gpu"
#define ATOMIC(name) name
#endif

// The operations on one type; `type` and `operand` are its names in PTX and in a constraint.
#define PREFLOW_ATOMICS(T, type, operand)                                                                      \
    __device__ __forceinline__ T relaxed_load(const T* at) {                                                   \
        T value;                                                                                               \
        asm volatile("ld.relaxed." SCOPE "." type " %0, [%1];" : "=" operand(value) : "l"(at) : "memory");     \
        return value;                                                                                          \
    }                                                                                                          \
    __device__ __forceinline__ T acquire_load(const T* at) {                                                   \
        T value;                                                                                               \
        asm volatile("ld.acquire." SCOPE "." type " %0, [%1];" : "=" operand(value) : "l"(at) : "memory");     \
        return value;                                                                                          \
    }                                                                                                          \
    __device__ __forceinline__ void relaxed_store(T* at, T value) {                                            \
        asm volatile("st.relaxed." SCOPE "." type " [%0], %1;" ::"l"(at), operand(value) : "memory");          \
    }                                                                                                          \
    __device__ __forceinline__ void release_store(T* at, T value) {                                            \
        asm volatile("st.release." SCOPE "." type " [%0], %1;" ::"l"(at), operand(value) : "memory");          \
    }                                                                                                          \
    __device__ __forceinline__ T fetch_add(T* at, T value) {                                                   \
        T old;                                                                                                 \
        asm volatile("atom.acq_rel." SCOPE ".add." type " %0, [%1], %2;"                                       \
                     : "=" operand(old) : "l"(at), operand(value) : "memory");                                 \
        return old;                                                                                            \
    }
PREFLOW_ATOMICS(u32, "u32", "r")
PREFLOW_ATOMICS(u64, "u64", "l")
PREFLOW_ATOMICS(i64, "u64", "l")
#undef PREFLOW_ATOMICS
__device__ __forceinline__ u32 relaxed_fetch_add(u32* at, u32 value) { return ATOMIC(atomicAdd)(at, value); }
__device__ __forceinline__ u64 relaxed_fetch_add(u64* at, u64 value) { return ATOMIC(atomicAdd)(at, value); }
__device__ __forceinline__ i64 relaxed_fetch_add(i64* at, i64 value) {
    return static_cast<i64>(ATOMIC(atomicAdd)(reinterpret_cast<u64*>(at), static_cast<u64>(value)));
}
__device__ __forceinline__ u32 release_fetch_add(u32* at, u32 value) {
    u32 old;
    asm volatile("atom.release." SCOPE ".add.u32 %0, [%1], %2;" : "=r"(old) : "l"(at), "r"(value) : "memory");
    return old;
}
__device__ __forceinline__ double relaxed_fetch_add(double* at, double value) { return ATOMIC(atomicAdd)(at, value); }
__device__ __forceinline__ u32 relaxed_fetch_or(u32* at, u32 value) { return ATOMIC(atomicOr)(at, value); }
__device__ __forceinline__ u32 relaxed_fetch_and(u32* at, u32 value) { return ATOMIC(atomicAnd)(at, value); }
__device__ __forceinline__ u32 relaxed_compare_exchange(u32* at, u32 expected, u32 value) {
    return ATOMIC(atomicCAS)(at, expected, value);
}
__device__ __forceinline__ u64 relaxed_compare_exchange(u64* at, u64 expected, u64 value) {
    return ATOMIC(atomicCAS)(at, expected, value);
}
__device__ __forceinline__ u32 relaxed_fetch_min(u32* at, u32 value) { return ATOMIC(atomicMin)(at, value); }
__device__ __forceinline__ u32 relaxed_fetch_max(u32* at, u32 value) { return ATOMIC(atomicMax)(at, value); }
__device__ __forceinline__ u64 relaxed_fetch_max(u64* at, u64 value) { return ATOMIC(atomicMax)(at, value); }
__device__ __forceinline__ u64 release_fetch_max(u64* at, u64 value) {
    u64 old;
    asm volatile("atom.release." SCOPE ".max.u64 %0, [%1], %2;" : "=l"(old) : "l"(at), "l"(value) : "memory");
    return old;
}

#endif
