// cutoff.cu - two peers of the potential within a radius.
//
// Direct summation examines every pair of an atom and a point, so none of its work is in vain, and it needs no bins.
// Its rate is the rate of a kernel with a radius that examines only the pairs within the radius. The reported time is
// the number of these pairs (`kiln show cutoff -s WORK --metrics`) divided by this rate.
//
// Parboil's cutcp (Hardy, Stone and others, "GPU acceleration of cutoff pair potentials for molecular modeling
// applications", 2008), ported. A block of 128 threads copies bins of 4 A to shared memory, up to 32 at a time. Each
// bin has room for a fixed number of atoms. A block computes a region of 8 x 8 x 8 points, four for each thread.
// Constant memory tells which bins are near a region. In Parboil the host adds the atoms for which a bin has no room.
// Here a kernel adds them by atomics, one block per atom. The bins are made before the measurement. The faster of two
// capacities is reported.
#include "peer.h"

#include <cmath>

constexpr int ATOMS = 3840, POINTS = 8, BLOCK = 128;
__constant__ float4 atoms[ATOMS];

__device__ float inverse_root(float x)
{
    float root;
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(root) : "f"(x));
    return root;
}

// A thread has POINTS points along z, which share the contributions of x and y.
__global__ void __launch_bounds__(BLOCK) sum(float *energy, int width, float spacing, float per_square)
{
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    const float x = i % width * spacing, y = i / width * spacing;
    float sums[POINTS] = {};
#pragma unroll 4
    for (int a = 0; a < ATOMS; a++) {
        const float dx = atoms[a].x - x, dy = atoms[a].y - y, across = dx * dx + dy * dy;
#pragma unroll
        for (int k = 0; k < POINTS; k++) {
            const float dz = atoms[a].z - k * spacing, r2 = dz * dz + across, s = __saturatef(1 - r2 * per_square);
            sums[k] += atoms[a].w * (s * s) * inverse_root(r2);
        }
    }
#pragma unroll
    for (int k = 0; k < POINTS; k++)
        energy[k * gridDim.x * BLOCK + i] = sums[k];
}

struct Work {
    const char *name;
    double pairs;
    int points; // points along a side
    int atoms;
    bool clustered;
};

void direct_summation(const std::vector<Work> &works)
{
    const int width = 2048;
    const size_t rows = size_t(width) * width, pairs = rows * POINTS * ATOMS;
    float *energy = peer::allocate<float>(rows * POINTS);
    void *to = nullptr;
    CHECK(cudaGetSymbolAddress(&to, atoms));
    peer::fill(static_cast<float *>(to), 4 * ATOMS, peer::Uniform{1});
    const double seconds = peer::median_seconds(rows * POINTS * sizeof *energy, [&] {
        sum<<<unsigned(rows / BLOCK), BLOCK>>>(energy, width, 0.5f, 1.0f / 144);
    });
    CHECK(cudaDeviceSynchronize());
    for (const Work &work : works)
        peer::report("cutoff", work.name, "direct summation at its rate", work.pairs * seconds / static_cast<double>(pairs), 0);
    CHECK(cudaFree(energy));
}

// ---- cutcp ----

// the number of points along a side of a region, which is the side of a bin; the number of bins in shared memory
constexpr int SIDE = 8, BIN_CACHE = 32;
constexpr float SPACING = 0.5f, RADIUS = 12;
__constant__ char4 near_bins[729];

template <int ROOM>
__global__ void __launch_bounds__(128)
    cutcp(const float4 *bins, int near_count, float *energy, int points, int bins_a_side, float per_square)
{
    constexpr int CACHED = BIN_CACHE * 8 / ROOM > 0 ? BIN_CACHE * 8 / ROOM : 1;
    __shared__ float4 cache[CACHED * ROOM];
    const int thread = (threadIdx.z * 8 + threadIdx.y) * 8 + threadIdx.x;
    const int px = blockIdx.x * SIDE + threadIdx.x, py = blockIdx.y * SIDE + threadIdx.y, pz = blockIdx.z * SIDE + threadIdx.z;
    const float x = px * SPACING, y = py * SPACING, z = pz * SPACING;
    float energies[4] = {};
    for (int first = 0; first < near_count; first += CACHED) {
        const int here = min(CACHED, near_count - first);
        __syncthreads();
        for (int i = thread; i < here * ROOM; i += 128) {
            const char4 by = near_bins[first + i / ROOM];
            const int bx = int(blockIdx.x) + by.x, b_y = int(blockIdx.y) + by.y, bz = int(blockIdx.z) + by.z;
            const bool inside = bx >= 0 && bx < bins_a_side && b_y >= 0 && b_y < bins_a_side && bz >= 0 && bz < bins_a_side;
            cache[i] = inside ? bins[((size_t(bz) * bins_a_side + b_y) * bins_a_side + bx) * ROOM + i % ROOM] : float4{};
        }
        __syncthreads();
        for (int bin = 0; bin < here; bin++)
            for (int slot = 0; slot < ROOM; slot++) {
                const float4 atom = cache[bin * ROOM + slot];
                if (atom.w == 0) // the bin has no more atoms
                    break;
                const float dx = atom.x - x, dy = atom.y - y, across = dx * dx + dy * dy;
#pragma unroll
                for (int k = 0; k < 4; k++) {
                    const float dz = atom.z - (z + 2 * k * SPACING), r2 = across + dz * dz;
                    if (r2 < RADIUS * RADIUS) {
                        const float s = 1 - r2 * per_square;
                        energies[k] += atom.w * inverse_root(r2) * s * s;
                    }
                }
            }
    }
    for (int k = 0; k < 4; k++)
        energy[(size_t(pz + 2 * k) * points + py) * points + px] = energies[k];
}

__global__ void __launch_bounds__(128) add_left_over(const float4 *left_over, float *energy, int points, float per_square)
{
    const float4 atom = left_over[blockIdx.x];
    const int reach = int(RADIUS / SPACING) + 1, width = 2 * reach + 1;
    const int x0 = int(atom.x / SPACING) - reach, y0 = int(atom.y / SPACING) - reach, z0 = int(atom.z / SPACING) - reach;
    for (int i = threadIdx.x; i < width * width * width; i += 128) {
        const int x = x0 + i % width, y = y0 + i / width % width, z = z0 + i / width / width;
        const float dx = atom.x - x * SPACING, dy = atom.y - y * SPACING, dz = atom.z - z * SPACING,
                    r2 = dx * dx + dy * dy + dz * dz, s = 1 - r2 * per_square;
        if (r2 < RADIUS * RADIUS && x >= 0 && x < points && y >= 0 && y < points && z >= 0 && z < points)
            atomicAdd(&energy[(size_t(z) * points + y) * points + x], atom.w * inverse_root(r2) * s * s);
    }
}

// Makes the atoms of Kiln's input of that kind with the seed 1 (kernel_src/host/atoms.c).
std::vector<float4> make_atoms(const Work &work)
{
    auto mix = [](uint64_t x) {
        x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
        x = (x ^ x >> 27) * 0x94d049bb133111ebu;
        return x ^ x >> 31;
    };
    uint64_t state = mix(1);
    auto unit = [&] { return float(mix(state += 0x9e3779b97f4a7c15u) >> 40) * 0x1p-24f; };
    const float extent = float(work.points) * SPACING;
    float middle[3] = {};
    std::vector<float4> made(size_t(work.atoms));
    for (size_t a = 0; a < made.size(); a++) {
        float at[3];
        if (work.clustered && a % 4000 == 0)
            for (float &m : middle)
                m = unit() * extent;
        for (int i = 0; i < 3; i++) {
            const float u = unit(), v = work.clustered ? unit() : 0;
            at[i] = work.clustered ? middle[i] + 16 * (u + v + unit() - 1.5f) : u * extent;
        }
        const float charge = 2 * unit() - 1;
        made[a] = {at[0], at[1], at[2], charge == 0 ? 1e-9f : charge};
    }
    return made;
}

template <int ROOM> double cutcp_seconds(const Work &work, const std::vector<float4> &made)
{
    const int side = (work.points + SIDE - 1) / SIDE;
    const float length = SIDE * SPACING;
    std::vector<float4> bins(size_t(side) * side * side * ROOM, float4{}), left_over;
    std::vector<int> counts(size_t(side) * side * side);
    for (float4 atom : made) {
        const int bx = int(std::floor(atom.x / length)), by = int(std::floor(atom.y / length)), bz = int(std::floor(atom.z / length));
        if (bx < -3 || by < -3 || bz < -3 || bx > side + 2 || by > side + 2 || bz > side + 2)
            continue; // the atom is out of reach
        const bool inside = bx >= 0 && by >= 0 && bz >= 0 && bx < side && by < side && bz < side;
        const size_t bin = inside ? (size_t(bz) * side + by) * side + bx : 0;
        if (inside && counts[bin] < ROOM)
            bins[bin * ROOM + size_t(counts[bin]++)] = atom;
        else
            left_over.push_back(atom);
    }
    std::vector<char4> near;
    auto gap = [&](int offset) { return (offset > 0 ? offset * SIDE - (SIDE - 1) : offset < 0 ? (-offset - 1) * SIDE : 0) * SPACING; };
    for (int z = -4; z <= 4; z++)
        for (int y = -4; y <= 4; y++)
            for (int x = -4; x <= 4; x++)
                if (gap(x) * gap(x) + gap(y) * gap(y) + gap(z) * gap(z) < RADIUS * RADIUS)
                    near.push_back({static_cast<signed char>(x), static_cast<signed char>(y), static_cast<signed char>(z), 0});
    CHECK(cudaMemcpyToSymbol(near_bins, near.data(), near.size() * sizeof(char4)));
    const size_t all = size_t(work.points) * work.points * work.points;
    float *energy = peer::allocate<float>(all);
    float4 *on_device = peer::allocate<float4>(bins.size()), *rest = peer::allocate<float4>(left_over.size() + 1);
    CHECK(cudaMemcpy(on_device, bins.data(), bins.size() * sizeof(float4), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(rest, left_over.data(), left_over.size() * sizeof(float4), cudaMemcpyHostToDevice));
    const dim3 regions(side, side, side), threads(8, 8, 2);
    const float per_square = 1 / (RADIUS * RADIUS);
    auto run = [&] {
        cutcp<ROOM><<<regions, threads>>>(on_device, int(near.size()), energy, work.points, side, per_square);
        if (!left_over.empty())
            add_left_over<<<unsigned(left_over.size()), 128>>>(rest, energy, work.points, per_square);
    };
    const double seconds = peer::median_seconds(all * sizeof(float), run);
    CHECK(cudaGetLastError());
    for (void *memory : {static_cast<void *>(energy), static_cast<void *>(on_device), static_cast<void *>(rest)})
        CHECK(cudaFree(memory));
    return seconds;
}

int main()
{
    const std::vector<Work> works = {{"default", 54343041976.0, 432, 1000000, false},
                                     {"clustered", 50787164888.0, 432, 1000000, true}};
    direct_summation(works);
    for (const Work &work : works) {
        const std::vector<float4> made = make_atoms(work);
        double best = work.clustered ? cutcp_seconds<64>(work, made) : cutcp_seconds<8>(work, made);
        best = std::min(best, work.clustered ? cutcp_seconds<32>(work, made) : cutcp_seconds<16>(work, made));
        peer::report("cutoff", work.name, "Parboil's cutcp, ported", best, 0);
    }
    return 0;
}
