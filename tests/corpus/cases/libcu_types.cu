//! T = u8 int double
//! every
#include <cuda/std/array>
#include <cuda/std/chrono>
#include <cuda/std/expected>
#include <cuda/std/limits>
#include <cuda/std/mdspan>
#include <cuda/std/optional>
#include <cuda/std/ratio>
#include <cuda/std/span>
#include <cuda/std/tuple>
#include <cuda/std/utility>
#include <cuda/std/variant>
#include "prelude.h"
extern "C" __global__ void k(T *in, T *out, int n)
{
    namespace std = cuda::std;
    std::span<T> view(in, n);
    std::array<T, 5> some{};
    std::optional<T> maybe;
    std::variant<int, T *, std::tuple<T, double>> one;
    std::mdspan<T, std::dextents<int, 2>> grid(out, n, n);
    std::expected<T, int> got = n > 3 ? std::expected<T, int>(in[3]) : std::unexpected<int>(n);
    for (auto &x : view)
        if (x > std::numeric_limits<T>::lowest())
            maybe = x;
    for (auto &x : some)
        x = maybe.value_or(T(1));
    if (n & 1)
        one = std::tuple<T, double>(some[n % 5], 2.0);
    else if (n & 2)
        one = in;
    grid(threadIdx.x, threadIdx.y) = std::visit([&](auto x) -> T {
        using X = decltype(x);
        if constexpr (std::is_same_v<X, T *>)
            return *x;
        else if constexpr (std::is_same_v<X, std::tuple<T, double>>)
            return std::get<0>(x);
        else
            return T(x);
    }, one) + got.value_or(T(7));
    auto now = std::chrono::system_clock::now().time_since_epoch();
    out[n * n] = T(std::chrono::duration_cast<std::chrono::milliseconds>(now).count());
}
