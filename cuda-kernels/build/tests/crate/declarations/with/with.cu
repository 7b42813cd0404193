// Declarations that nvcc takes, beside kernels. A line `//-` begins each. A line `//:` has what is generated
// for it; without one it only must not disturb the others. The test `declarations` reads this file.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_fp16.h>
#include <cuda/std/array>
#include <cuda/std/complex>
#include <cuda/std/tuple>
#include <cuda/atomic>
#include <cstdint>
#include <type_traits>
#include "with.cuh"
namespace cg = cooperative_groups;

//- included prototypes, functions and constants
//: static header_prototype: ::cuda_safe::launch::Checked<(*const HeaderPoint, HeaderMode)>
__global__ void header_prototype(HeaderPoint* p, HeaderMode mode) {}
//-
//: static header_kernel: ::cuda_safe::launch::Checked<(*const HeaderPoint, *const f32)>
//-
//: const HEADER_SIDE : u32 = 24
//-
//: const header_depth
//-
//: struct HeaderPoint

//- attributes of kernels
//: static bounded: ::cuda_safe::launch::Checked<(*const i32,)>
__global__ void __launch_bounds__(128) bounded(int* p) {}
//-
//: static bounded_twice: ::cuda_safe::launch::Checked<(*const i32,)>
__global__ __launch_bounds__(128, 2) void bounded_twice(int* p) {}
//-
//: static bounded_first: ::cuda_safe::launch::Checked<(*const i32,)>
void __global__ bounded_first(int* p) {}
//-
//: static clustered: ::cuda_safe::launch::Checked<(*const i32,)>
__global__ void __cluster_dims__(1, 1, 1) clustered(int* p) {}
//-
//: static deprecated_kernel: ::cuda_safe::launch::Checked<(*const i32,)>
[[deprecated("an older one")]] __global__ void deprecated_kernel(int* p) {}
//-
//: static deprecated_behind: ::cuda_safe::launch::Checked<(*const i32,)>
__global__ [[deprecated]] void deprecated_behind(int* p) {}
//-
//: static unused_parameter: ::cuda_safe::launch::Checked<(*const i32, i32)>
__global__ void unused_parameter([[maybe_unused]] int* p, [[maybe_unused]] int n) {}
//-
//: static old_attribute: ::cuda_safe::launch::Checked<(*const i32,)>
__attribute__((unused)) __global__ void old_attribute(int* p) {}
//-
//: static grid_constant: ::cuda_safe::launch::Checked<(HeaderPoint, *const f32)>
__global__ void grid_constant(const __grid_constant__ HeaderPoint p, float* out) {}
//-
//: static external: ::cuda_safe::launch::Checked<(*const i32,)>
extern "C" __global__ void external(int* p) {}
//-
//: static in_block: ::cuda_safe::launch::Checked<(*const i32,)>
extern "C" { __global__ void in_block(int* p) {} }
//-
//: static trailing: ::cuda_safe::launch::Checked<(*const i32,)>
__global__ auto trailing(int* p) -> void {}
//-
//: static declared_first: ::cuda_safe::launch::Checked<(*const i32,)>
__global__ void declared_first(int* p);
__global__ void declared_first(int* p) {}
//-
//: static declared_twice: ::cuda_safe::launch::Checked<(*const i32,)>
__global__ void declared_twice(int*);
__global__ void declared_twice(int* named);
__global__ void declared_twice(int* p) {}

//- parameters
//: static nothing: ::cuda_safe::launch::Checked<()>
__global__ void nothing() {}
//-
//: static nothing_old: ::cuda_safe::launch::Checked<()>
__global__ void nothing_old(void) {}
//-
//: static restricted: ::cuda_safe::launch::Checked<(*const f32, *const f32)>
__global__ void restricted(float* __restrict__ a, const float* __restrict__ b) {}
//-
//: static const_values: ::cuda_safe::launch::Checked<(i32, *const f32)>
__global__ void const_values(const int n, float* const p) {}
//-
//: static reversed_const: ::cuda_safe::launch::Checked<(*const f32,)>
__global__ void reversed_const(float const* p) {}
//-
//: static array_parameter: ::cuda_safe::launch::Checked<(*const f32, *const i32)>
__global__ void array_parameter(float p[16], int q[]) {}
//-
//: static with_default: ::cuda_safe::launch::Checked<(*const f32, i32)>
__global__ void with_default(float* p, int n = 3) {}
//-
//: static default_expression: ::cuda_safe::launch::Checked<(i32, f32)>
__global__ void default_expression(int n = sizeof(float) * 2, float f = 1.0f) {}
//-
//: static two_pointers: ::cuda_safe::launch::Kernel<(*const *mut f32,)>
__global__ void two_pointers(float** p) {}
//-
//: static void_pointer: ::cuda_safe::launch::Kernel<(*const :: core :: ffi :: c_void,)>
__global__ void void_pointer(void* p) {}
//-
//: static by_reference: ::cuda_safe::launch::
__global__ void by_reference(const int& n) {}
//-
//: static reference_to_array: ::cuda_safe::launch::
__global__ void reference_to_array(const float (&p)[4]) {}
//-
//: static pointer_to_array: ::cuda_safe::launch::
__global__ void pointer_to_array(float (*p)[4]) {}
//-
//: static function_pointer: ::cuda_safe::launch::Kernel<(
__global__ void function_pointer(float (*f)(float), float* p) {}
//-
//: static all_integers: ::cuda_safe::launch::Checked<(i8, u8, i16, u16, i32, u32, i64, u64, i64, u64)>
__global__ void all_integers(signed char a, unsigned char b, short c, unsigned short d, int e, unsigned f, long g, unsigned long h, long long i, unsigned long long j) {}
//-
//: static fixed_integers: ::cuda_safe::launch::Checked<(i8, u16, i32, u64, usize)>
__global__ void fixed_integers(int8_t a, uint16_t b, int32_t c, uint64_t d, size_t e) {}
//-
//: static reals: ::cuda_safe::launch::Checked<(f32, f64, bool)>
__global__ void reals(float a, double b, bool c) {}
//-
//: static characters: ::cuda_safe::launch::
__global__ void characters(char c, const char* text) {}
//-
//: static halves: ::cuda_safe::launch::Checked<(__half, *const __half2)>
__global__ void halves(__half a, __half2* b) {}
//-
//: static vectors: ::cuda_safe::launch::Checked<(float4, *const int2, dim3)>
__global__ void vectors(float4 a, int2* b, dim3 c) {}
//-
//: Checked<(::cuda_safe::launch::TextureObject, ::cuda_safe::launch::SurfaceObject)>
__global__ void images(cudaTextureObject_t t, cudaSurfaceObject_t s) {}
//-
//: static is_volatile: ::cuda_safe::launch::Checked<(*const i32,)>
__global__ void is_volatile(volatile int* p) {}
//-
//: static streams: ::cuda_safe::launch::
__global__ void streams(cudaStream_t s) {}

//- overloads and namespaces
//: static over: ::cuda_safe::launch::Checked<(*const i32,)>
__global__ void over(int* p) {}
//-
//: static over1: ::cuda_safe::launch::Checked<(*const f32,)>
__global__ void over(float* p) {}
//- an overload that is no kernel
__device__ void over(double x) {}
//-
//: static outer_inner_deep: ::cuda_safe::launch::Checked<(*const i32,)>
namespace outer { namespace inner { __global__ void deep(int* p) {} } }
//-
//: static outer_inner_short_form: ::cuda_safe::launch::Checked<(*const i32,)>
namespace outer::inner { __global__ void short_form(int* p) {} }
//-
//: static versioned: ::cuda_safe::launch::Checked<(*const i32,)>
inline namespace v1 { __global__ void versioned(int* p) {} }
//-
namespace alias_of_inner = outer::inner;
//-
using namespace outer::inner;
//-
using outer::inner::deep;

//- structs
//: struct Plain
struct Plain { int a; float b; };
//-
//: struct WithMembers
struct WithMembers { int a; __device__ int twice() const { return 2 * a; } __host__ __device__ [[nodiscard]] int once() const { return a; } };
//-
//: struct WithConstructor
struct WithConstructor { __host__ __device__ WithConstructor(int n) : a(n) {} int a; };
//-
//: struct WithOperator
struct WithOperator { int a; __device__ WithOperator& operator+=(const WithOperator& o) { a += o.a; return *this; } };
//-
//: struct WithInitializers
struct WithInitializers { int a = 1; float b{2.0f}; };
//-
//: struct WithStatic
struct WithStatic { static constexpr int N = 4; int a[N]; };
//-
//: struct WithDeviceBody
struct WithDeviceBody { float a; __device__ float sum() const { return __shfl_down_sync(0xffffffffu, a, 1) + threadIdx.x; } };
//-
//: struct WithGroup
struct WithGroup { float a; __device__ float sum(cg::thread_block_tile<32> tile) const { return cg::reduce(tile, a, cg::plus<float>()); } };
//-
//: struct WithFriend
struct WithFriend { int a; friend __device__ bool operator==(WithFriend x, WithFriend y) { return x.a == y.a; } };
//-
//: struct WithTemplateMember
struct WithTemplateMember { int a; template <class T> __device__ T as() const { return static_cast<T>(a); } };
//-
//: struct Nested
struct Nested { struct In { int x; } in; In more[2]; };
//-
//: struct Derived
struct Derived : Plain { int c; };
//-
//: struct Aligned
struct alignas(16) Aligned { float a, b, c; };
//-
//: struct CudaAligned
struct __align__(8) CudaAligned { float a, b; };
//-
//: struct OldAligned
struct OldAligned { float a, b; } __attribute__((aligned(8)));
//-
//: struct Packed
struct __attribute__((packed)) Packed { char a; int b; };
//-
//: struct BitFields
struct BitFields { unsigned a : 3; int b : 5; unsigned : 0; unsigned c : 30; };
//-
//: union Either
union Either { int i; float f; };
//-
//: struct NamelessUnion
struct NamelessUnion { int kind; union { int i; float f; }; };
//-
//: struct Arrays
struct Arrays { float m[3][4]; int n[2]; };
//-
//: struct HasPointers
struct HasPointers { float* data; const int* sizes; };
//-
//: struct HasFunction
struct HasFunction { float (*call)(float, int); };
//-
//: struct HasReference
struct HasReference { int& count; };
//-
//: struct Virtual
struct Virtual { virtual __host__ __device__ int get() const { return 1; } int a; };
//-
//: struct Empty
struct Empty {};
//-
//: struct Final
struct Final final { int a; };
//-
//: struct Private
class Private { int a; public: __host__ __device__ int get() const { return a; } };
//-
struct OnlyDeclared;
//-
//: struct Listed
typedef struct { int q; } Listed;
//-
//: struct Tagged
typedef struct Tagged { int q; } Tagged_t;
//-
//: struct Deprecated
struct [[deprecated]] Deprecated { int a; };
//-
//: struct DeletedCopy
struct DeletedCopy { DeletedCopy(const DeletedCopy&) = delete; DeletedCopy() = default; int a; };
//-
//: struct HasHalf
struct HasHalf { __half h; __half2 two; };
//-
//: struct HasVector
struct HasVector { float4 v; int3 w; };
//-
//: struct HasStd { pub z : cuda_std_complex_float , }
struct HasStd { cuda::std::complex<float> z; };
//-
//: struct Flexible
struct Flexible { int n; float rest[]; };
//-
//: struct HasMutable
struct HasMutable { mutable int a; const int b; volatile int c; };
//-
//: struct NestedEnum
struct NestedEnum { enum Kind { A, B } kind; enum class Deep : char { C } deep; };
//-
//: Kernel<(Plain, WithMembers, *const Derived, Either, HasPointers, Aligned, BitFields)>
__global__ void takes_structs(Plain a, WithMembers b, Derived* c, Either d, HasPointers e, Aligned f, BitFields g) {}

//- enumerations
//: struct Color
enum Color { Red, Green = 5, Blue };
//-
//: struct Scoped
enum class Scoped { One, Two };
//-
//: struct Narrow
enum Narrow : unsigned char { Little };
//-
enum Forward : int;
//-
enum { NAMELESS_ONE = 1, NAMELESS_TWO };
//-
//: struct Switch
typedef enum { Off, On } Switch;
//-
//: static takes_enums: ::cuda_safe::launch::Checked<(Color, Scoped, Narrow)>
__global__ void takes_enums(Color a, Scoped b, Narrow c) {}

//- constants
//: const MACRO_NUMBER : u32 = 7
#define MACRO_NUMBER 7
//-
//: const MACRO_SUM : u32 = 9
#define MACRO_SUM (MACRO_NUMBER + 2)
//-
//: const MACRO_FLOAT : f64
#define MACRO_FLOAT 2.5
//-
#define MACRO_CALL(x) ((x) * 2)
//-
#define MACRO_CODE __device__ __forceinline__
//-
//: const constexpr_number
constexpr int constexpr_number = 11;
//-
//: const const_number
const unsigned const_number = 12;
//-
//: const static_number
static const int static_number = 13;
//-
constexpr float constexpr_called = MACRO_CALL(2.0f);
//-
//: const from_member
constexpr int from_member = HeaderPoint::dims() + 1;
//-
__device__ constexpr int device_constexpr = 14;
//-
constexpr int table_of_numbers[3] = {1, 2, 3};
//-
static_assert(constexpr_number == 11, "as declared");
//-
inline constexpr int inline_number = 15;
//-
template <int N> constexpr int variable_template = N * 2;

//- aliases
//: type real =
typedef float real;
//-
//: type index_t =
using index_t = unsigned;
//-
//: static takes_aliases: ::cuda_safe::launch::Checked<(*const real, index_t)>
__global__ void takes_aliases(real* p, index_t n) {}
//-
typedef float (*callback_t)(float);
//-
typedef float matrix_t[4][4];
//-
template <class T> using pointer_to = T*;
//-
//: static takes_alias_template: ::cuda_safe::launch::Checked<(*const f32,)>
__global__ void takes_alias_template(pointer_to<float> p) {}
//-
using plain_alias = Plain;
//-
using std_type = std::conditional<true, int, float>::type;
//-
//: static takes_std_type: ::cuda_safe::launch::Checked<(i32,)>
__global__ void takes_std_type(std_type n) {}

//- class templates
template <class A, class B> struct Two { A first; B second; };
//-
//: type Pair = Two_unsigned_short_unsigned_short
using Pair = Two<uint16_t, uint16_t>;
//-
//: static takes_pair: ::cuda_safe::launch::Checked<(*const Two_unsigned_short_unsigned_short,)>
__global__ void takes_pair(const Pair* p) {}
//-
//: type OldPair = Two_int_float
typedef Two<int, float> OldPair;
//-
//: static takes_old_pair: ::cuda_safe::launch::Checked<(Two_int_float,)>
__global__ void takes_old_pair(OldPair p) {}
//-
template <class T, int N> struct Small { T data[N]; __host__ __device__ constexpr int size() const { return N; } };
//-
//: static takes_small: ::cuda_safe::launch::Checked<(Small_float_4, *const Small_int_2)>
__global__ void takes_small(Small<float, 4> a, Small<int, 2>* b) {}
//-
template <class T> struct Holder { struct In { T it; int n; }; In in[2]; };
//-
//: static takes_holder: ::cuda_safe::launch::
__global__ void takes_holder(Holder<float> h) {}
//-
//: struct UsesTemplate { pub s : Small_float_3 , }
struct UsesTemplate { Small<float, 3> s; };
//-
//: struct UsesHolder { pub h : Holder_int , }
struct UsesHolder { Holder<int> h; };
//-
template <class T> struct Based : Small<T, 2> { T more; };
//-
//: struct UsesBased { pub b : Based_double , }
struct UsesBased { Based<double> b; };
//-
template <> struct Two<char, char> { short both; };
//-
//: static takes_special: ::cuda_safe::launch::Checked<(Two_char_char,)>
__global__ void takes_special(Two<char, char> t) {}
//-
template <class T> struct Two<T, void> { T only; };
//-
template <class... Ts> struct Pack;
//-
template <> struct Pack<> {};
//-
template <class H, class... Ts> struct Pack<H, Ts...> : Pack<Ts...> { H head; };
//-
template <template <class> class Box> struct OfBox { Box<int> box; };
//-
template <class T, class = std::enable_if_t<std::is_integral_v<T>>> struct Integral { T it; };
//-
template <class T> struct Traits { static constexpr int value = sizeof(T); using type = T; };
//-
template <class T> class Crtp { __device__ T& self() { return *static_cast<T*>(this); } };
//-
struct UsesCrtp : Crtp<UsesCrtp> { int a; };
//-
template struct Two<float, double>;
//-
extern template struct Small<double, 8>;

//- function templates
template <class T> __device__ T twice(T x) { return x + x; }
//-
template <> __device__ int twice<int>(int x) { return 2 * x; }
//-
template __device__ float twice<float>(float);
//-
template <int N, class T> __host__ __device__ constexpr T power(T x) { return N == 0 ? T(1) : x; }
//-
template <class T, class F> __device__ T fold(T x, F f) { return f(x, x); }
//-
template <class... Ts> __device__ int count_of(Ts... xs) { return sizeof...(xs); }
//-
template <class T> __device__ auto deduced(T x) -> decltype(x + 1) { return x + 1; }
//-
template <class T> __device__ auto returned(T x) { return __ldg(&x); }
//-
//: static scaled_float: ::cuda_safe::launch::Checked<(*const f32, f32)>
template <class T> __global__ void scaled(T* p, T by) {}
template __global__ void scaled<float>(float* p, float by);
//-
//: static forward_int: ::cuda_safe::launch::Checked<(*const i32,)>
template <class T> __global__ void forward(T* p);
template <class T> __global__ void forward(T* p) {}
template __global__ void forward<int>(int*);
//-
//: static sized_float_256: ::cuda_safe::launch::Checked<(*const f32,)>
template <class T, int N> __global__ void __launch_bounds__(N) sized(T* p) {}
template __global__ void sized<float, 256>(float*);
//-
//: static special_char: ::cuda_safe::launch::Checked<(*const :: core :: ffi :: c_char,)>
template <class T> __global__ void special(T* p) {}
template <> __global__ void special<char>(char* p) {}
//-
//: static of_instance_int: ::cuda_safe::launch::Checked<(*const Two_int_int,)>
template <class T> __global__ void of_instance(Two<T, T>* p) {}
template __global__ void of_instance<int>(Two<int, int>*);

//- functions of the device and of the host
__device__ float sum(cg::thread_block_tile<32>& warp, float x) { return cg::reduce(warp, x, cg::plus<float>{}); }
//-
__device__ float sum_prototype(cg::thread_block block, float x);
//-
template <class G> __device__ int rank_of(G group) { return group.thread_rank(); }
//-
static __device__ __forceinline__ int lane() { return threadIdx.x & 31; }
//-
__device__ __noinline__ int far_away(int x) { return x; }
//-
__host__ __device__ [[nodiscard]] int both_sides(int x) { return x; }
//-
[[nodiscard]] __host__ __device__ int both_sides_first(int x) { return x; }
//-
__device__ [[nodiscard]] [[maybe_unused]] static int marked(int x) { return x; }
//-
static inline __device__ constexpr int constant_function(int x) { return x * 3; }
//-
template <class T> __device__ constexpr int device_only(T x) { return __popc(x); }
//-
__device__ auto arrow(int x) -> int { return x; }
//-
__device__ int variadic(const char* text, ...) { return 0; }
//-
[[noreturn]] __device__ void never() { __trap(); for (;;); }
//-
__device__ cuda::std::tuple<int, float> returns_tuple(int x) { return {x, 1.0f}; }
//-
__device__ int takes_std_array(cuda::std::array<int, 4> a) { return a[0]; }
//-
__device__ void counts(cuda::atomic<int, cuda::thread_scope_device>& a) { a.fetch_add(1); }
//-
__device__ float with_half(__half h) { return __half2float(h); }
//-
int host_only(int x) { return x; }
//-
static int host_static = host_only(3);
//-
extern int host_extern;
//-
void launches(int* p) { bounded<<<1, 1>>>(p); }
//-
auto host_lambda = [](int x) { return x + 1; };
//-
void uses_device_lambda() { auto f = [] __device__ (int x) { return x * 2; }; (void)f; }
//-
__device__ int uses_lambda(int x) { auto f = [=](int y) { return x + y; }; return f(1); }
//-
__device__ Plain operator+(Plain x, Plain y) { return {x.a + y.a, x.b + y.b}; }
//-
__device__ unsigned long long operator""_cycles(unsigned long long n) { return n; }
//-
__device__ int (*device_pointer)(int) = nullptr;
//-
extern "C" int c_function(int x) { return x; }
//-
inline int inline_function() { static int count = 0; return ++count; }

//- variables
//: static counter: ::cuda_safe::launch::Symbol<i32>
__device__ int counter = 3;
//-
//: static weights: ::cuda_safe::launch::Symbol<f32>
__constant__ float weights[3][4];
//-
//: static shared_count: ::cuda_safe::launch::Symbol<u64>
__device__ __managed__ unsigned long long shared_count;
//-
//: static static_variable: ::cuda_safe::launch::Symbol<i32>
static __device__ int static_variable;
//-
//: static aligned_variable: ::cuda_safe::launch::Symbol<f32>
__device__ __align__(16) float aligned_variable[4];
//-
//: static marked_variable: ::cuda_safe::launch::Symbol<i32>
__device__ [[maybe_unused]] int marked_variable;
//-
//: static plain_variable: ::cuda_safe::launch::Symbol<Plain>
__constant__ Plain plain_variable;
//-
__constant__ const int fixed_variable = 4;
//-
//: static outer_scale: ::cuda_safe::launch::Symbol<f32>
namespace outer { __constant__ float scale; }
//-
//: static long_variable: ::cuda_safe::launch::Symbol<i64>
__device__ long long_variable;
//-
int main() { return 0; }
