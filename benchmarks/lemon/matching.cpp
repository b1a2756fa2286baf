// Measures a matching algorithm of LEMON: matching FILE METHOD prints the seconds to build and to solve, and the
// value. FILE has the numbers of vertices and edges, then two ends and a weight a line. METHOD is "weighted",
// "perfect" (both maximise) or "pairs".

#include <lemon/matching.h>
#include <lemon/smart_graph.h>

#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

using lemon::SmartGraph;
using Weights = SmartGraph::EdgeMap<long long>;

static double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

int main(int count, char** arguments) {
    if (count != 3) {
        std::fprintf(stderr, "usage: matching FILE weighted|perfect|pairs\n");
        return 2;
    }
    FILE* file = std::fopen(arguments[1], "r");
    int n = 0, m = 0;
    if (!file || std::fscanf(file, "%d %d", &n, &m) != 2) return 1;
    std::vector<int> tail(m), head(m);
    std::vector<long long> weight(m);
    for (int i = 0; i < m; i++)
        if (std::fscanf(file, "%d %d %lld", &tail[i], &head[i], &weight[i]) != 3) return 1;
    const std::string method = arguments[2];
    const double start = now();
    SmartGraph graph;
    graph.reserveNode(n);
    graph.reserveEdge(m);
    for (int v = 0; v < n; v++) graph.addNode();
    Weights weights(graph);
    for (int i = 0; i < m; i++)
        weights[graph.addEdge(graph.nodeFromId(tail[i]), graph.nodeFromId(head[i]))] = weight[i];
    const double built = now();
    long long value = 0;
    if (method == "weighted") {
        lemon::MaxWeightedMatching<SmartGraph, Weights> solver(graph, weights);
        solver.run();
        value = solver.matchingWeight();
    } else if (method == "perfect") {
        lemon::MaxWeightedPerfectMatching<SmartGraph, Weights> solver(graph, weights);
        if (!solver.run()) return 1;
        value = solver.matchingWeight();
    } else {
        lemon::MaxMatching<SmartGraph> solver(graph);
        solver.run();
        value = solver.matchingSize();
    }
    std::printf("%.9f %.9f %lld\n", built - start, now() - built, value);
    return 0;
}
