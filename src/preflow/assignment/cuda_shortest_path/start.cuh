// The phases before the searches of shortest_path.cu: column reduction, lists of cheapest columns, bids of rows.
#include "lists.cuh"

using Team = GridTeam;

// Finds the least cost of each column. `fallen` gets the greatest complement of a cost's key: that of
// the least cost.
__device__ void reduce_columns(const Arguments& args, Team& team, State& state) {
    const u32 rows = args.owned_rows();
    for (u32 j = threadIdx.x; j < args.num_columns && rows > 0; j += blockDim.x) {
        Number least = beyond();
        u32 k = 0;
        for (; k + AT_ONCE <= rows; k += AT_ONCE) {
            Number cost[AT_ONCE];
#pragma unroll
            for (u32 i = 0; i < AT_ONCE; ++i) cost[i] = args.costs.row(args.owned_row(k + i)).at(j);
#pragma unroll
            for (u32 i = 0; i < AT_ONCE; ++i) least = smaller(least, cost[i]);
        }
        for (; k < rows; ++k) least = smaller(least, args.costs.row(args.owned_row(k)).at(j));
        if (least < beyond()) relaxed_fetch_max(&args.fallen[j], ~key_of(least));
    }
    team.wait([&] { state.end_round(team, START); });
}

__device__ void start(const Arguments& args, Team& team, State& state) {
    for (u32 j = team.thread(); j < args.num_columns; j += team.num_threads()) {
        const u64 turned = relaxed_load(&args.fallen[j]);
        args.v[j] = args.start[j] = turned == 0 ? Number{0} : number_of_key(~turned);
        relaxed_store(&args.fallen[j], u64{0});
        relaxed_store(&args.column_match[j], NONE);
    }
    for (u32 i = team.thread(); i < args.num_rows; i += team.num_threads()) {
        args.row_match[i] = NONE;
        args.moved[i] = 0;
    }
    team.wait([&] { state.end_round(team, LIST); });
}

__device__ void list_rows(const Arguments& args, Team& team, Scratch& scratch, u64& scans) {
    for (u32 k = 0; k < args.owned_rows(); ++k) {
        if (k + 1 < args.owned_rows()) args.costs.row(args.owned_row(k + 1)).fetch(args.num_columns);
        list_row(args, scratch, args.owned_row(k));
    }
    if (threadIdx.x == 0) scans += args.owned_rows() * args.num_columns;
    team.wait([&] { scratch.state.end_round(team, BID); });
}

struct Bid {
    u64 before, after;  // the column's word as the bid expects it, and its new word
    u32 column;         // NONE: the row makes no bid
};

// Returns the bid of a row: the price of its best column falls until the second best column is as good. Of equally
// good columns, a free one is chosen.
__device__ Bid make_bid(const Arguments& args, u32 row) {
    const u64 list = args.list_of(row);
    const u32 size = args.size[row];
    Number best = beyond(), second = beyond();
    u32 column = NONE;
    u64 before = 0;
    for (u32 k = lane_id() % LANES_A_ROW; k < size; k += LANES_A_ROW) {
        const u32 j = args.listed[list + k];
        const u64 fallen = relaxed_load(&args.fallen[j]);
        const Number value = args.listed_cost[list + k] - args.start[j] + number_of_fall(fallen >> 32);
        const bool frees = value == best && static_cast<u32>(fallen) == 0 && static_cast<u32>(before) != 0;
        if (value < best || frees) {
            second = best;
            best = value;
            column = j;
            before = fallen;
        } else {
            second = smaller(second, value);
        }
    }
    const Number of_all = least_of_lanes<LANES_A_ROW>(best);
    const bool is_best = column != NONE && best == of_all, is_free = static_cast<u32>(before) == 0;
    const u32 any_bidder = from_lane_that<LANES_A_ROW>(is_best, lane_id());
    const u32 bidder = from_lane_that<LANES_A_ROW>(is_best && is_free, is_best && is_free ? lane_id() : any_bidder);
    second = least_of_lanes<LANES_A_ROW>(lane_id() == bidder ? second : best);
    second = smaller(second, args.bound[row]);
    before = __shfl_sync(ALL_LANES, before, bidder);
    column = __shfl_sync(ALL_LANES, column, bidder);
    Bid bid{before, before, NONE};
    if (column == NONE || !(of_all < beyond()) || args.bound[row] < of_all) return bid;
    const u32 fall = static_cast<u32>(before >> 32);
    const u32 falls_to = max(fall, fall_below(second - of_all + number_of_fall(fall)));
    if (static_cast<u32>(before) != 0 && falls_to == fall) return bid;
    return {before, static_cast<u64>(falls_to) << 32 | (row + 1), column};
}

// Rows bid for columns. A group of lanes bids for one row, then for the row that this one displaced, and so on until a
// row takes a free column or gives up. No row waits for another, since a column's price and its row are one word.
__device__ void bid_for_columns(const Arguments& args, Team& team, State& state, u64& scans) {
    constexpr u32 ROWS = WARP / LANES_A_ROW;
    const u32 rows = args.owned_rows(), stride = blockDim.x / LANES_A_ROW;
    for (u32 first = threadIdx.x / WARP * ROWS; first < rows; first += stride) {
        const u32 k = first + lane_id() / LANES_A_ROW;
        u32 row = k < rows ? args.owned_row(k) : NONE;
        for (u64 bids = 0; bids < args.most_bids && __any_sync(ALL_LANES, row != NONE); ++bids) {
            const Bid bid = make_bid(args, row != NONE ? row : 0);
            const bool bids_now = row != NONE && bid.column != NONE;
            scans += row != NONE && lane_id() % LANES_A_ROW == 0 ? args.size[row] : 0;
            u64 found = bid.before;
            if (bids_now && lane_id() % LANES_A_ROW == 0)
                found = relaxed_compare_exchange(&args.fallen[bid.column], bid.before, bid.after);
            found = __shfl_sync(ALL_LANES, found, lane_id() / LANES_A_ROW * LANES_A_ROW);
            if (!bids_now)
                row = NONE;
            else if (found == bid.before)
                row = static_cast<u32>(found) - 1;  // NONE where the column was free
        }
    }
    team.wait([&] { state.end_round(team, SETTLE); });
}

__device__ void settle(const Arguments& args, Team& team, State& state) {
    for (u32 j = team.thread(); j < args.num_columns; j += team.num_threads()) {
        const u64 fallen = relaxed_load(&args.fallen[j]);
        const u32 row = static_cast<u32>(fallen) - 1;
        args.v[j] = args.start[j] - number_of_fall(fallen >> 32);
        relaxed_store(&args.column_match[j], row);
        if (row != NONE) args.row_match[row] = j;
        relaxed_store(&args.column_distance[j], row == NONE ? u64{0} : word_of(beyond()));
        relaxed_store(&args.claims[j], NONE);
        relaxed_store(&args.claims[args.num_columns + j], NONE);
    }
    team.wait([&] { state.end_round(team, BEGIN); });
}
