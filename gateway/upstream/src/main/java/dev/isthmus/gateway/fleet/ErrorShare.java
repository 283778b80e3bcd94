package dev.isthmus.gateway.fleet;

/**
 * The calls of one server in an interval.
 *
 * @param calls those that are evidence about the server
 * @param failed those that failed or that the server answered with an error of its own
 */
record ErrorShare(Replica replica, long calls, long failed) {

    double share() {
        return calls == 0 ? 0 : (double) failed / calls;
    }
}
