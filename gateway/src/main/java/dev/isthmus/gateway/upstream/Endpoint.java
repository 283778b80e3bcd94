package dev.isthmus.gateway.upstream;

/** Where a server listens. */
public record Endpoint(String host, int port) {

    @Override
    public String toString() {
        return (host.indexOf(':') < 0 ? host : "[" + host + "]") + ":" + port;
    }
}
