package dev.isthmus.bench.attack;

/**
 * The target of an attack, on loopback.
 *
 * @param port of HTTP/1.1
 * @param http2Port of HTTP/2, may be the same
 * @param brief whether to run the short form for CI, with fewer connections
 */
public record AttackTarget(int port, int http2Port, boolean brief) {
    int connections(int many) {
        return brief ? many / 4 : many;
    }
}
