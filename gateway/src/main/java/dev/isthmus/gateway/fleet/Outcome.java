package dev.isthmus.gateway.fleet;

/** How a call to one server ended, as far as it tells of the server's health. */
enum Outcome {
    /** The server answered, be it with an error of the request's or the model's. */
    ANSWERED,
    /** It failed as servers fail: unreachable, connection lost, timed out, UNAVAILABLE, an answer that is not the protocol's. */
    FAILED,
    /** Nobody waited for the end. */
    CANCELLED
}
