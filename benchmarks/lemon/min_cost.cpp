// Measure the minimum-cost flow methods of LEMON on a DIMACS .min file.
//
//     g++ -O3 -march=native -DNDEBUG -o min_cost min_cost.cpp       (Debian: liblemon-dev)
//     ./min_cost FILE.min METHOD [REPEATS]
//
// METHOD is network-simplex, cost-scaling, capacity-scaling or cycle-canceling. Each repeat prints a line
// "BUILD_SECONDS SOLVE_SECONDS COST": the first is the construction of the solver from the graph, the second
// its run. Reading the file is not timed.

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>

#include <lemon/capacity_scaling.h>
#include <lemon/cost_scaling.h>
#include <lemon/cycle_canceling.h>
#include <lemon/dimacs.h>
#include <lemon/network_simplex.h>
#include <lemon/smart_graph.h>

using Graph = lemon::SmartDigraph;
using Number = std::int64_t;
using Clock = std::chrono::steady_clock;

struct Problem {
    Graph graph;
    Graph::ArcMap<Number> lower{graph}, capacity{graph}, cost{graph};
    Graph::NodeMap<Number> supply{graph};
};

static double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

// Build a solver and run it, `repeats` times.
template <class Solver>
static int measure(const Problem &problem, int repeats) {
    for (int i = 0; i < repeats; ++i) {
        const auto start = Clock::now();
        Solver solver(problem.graph);
        solver.lowerMap(problem.lower).upperMap(problem.capacity).costMap(problem.cost).supplyMap(problem.supply);
        const double build = seconds_since(start);
        const auto begin = Clock::now();
        const auto status = solver.run();
        const double solve = seconds_since(begin);
        if (status != Solver::OPTIMAL) {
            std::fprintf(stderr, "no optimal flow\n");
            return 1;
        }
        const auto cost = solver.template totalCost<Number>();
        std::printf("%.6f %.6f %lld\n", build, solve, static_cast<long long>(cost));
        std::fflush(stdout);
    }
    return 0;
}

int main(int argc, char **argv) {
    if (argc < 3) {
        std::fprintf(stderr, "usage: min_cost FILE.min METHOD [REPEATS]\n");
        return 2;
    }
    std::ifstream file(argv[1]);
    if (!file) {
        std::fprintf(stderr, "cannot read %s\n", argv[1]);
        return 2;
    }
    Problem problem;
    lemon::readDimacsMin(file, problem.graph, problem.lower, problem.capacity, problem.cost, problem.supply);
    const std::string method = argv[2];
    const int repeats = argc > 3 ? std::atoi(argv[3]) : 1;
    if (method == "network-simplex") return measure<lemon::NetworkSimplex<Graph, Number>>(problem, repeats);
    if (method == "cost-scaling") return measure<lemon::CostScaling<Graph, Number>>(problem, repeats);
    if (method == "capacity-scaling") return measure<lemon::CapacityScaling<Graph, Number>>(problem, repeats);
    if (method == "cycle-canceling") return measure<lemon::CycleCanceling<Graph, Number>>(problem, repeats);
    std::fprintf(stderr, "unknown method %s\n", method.c_str());
    return 2;
}
