package dev.isthmus.gateway.ingress;

import dev.isthmus.gateway.call.Operation;

/**
 * Where a path leads.
 *
 * @param allow the methods that it takes, as the header {@code Allow} has them
 */
record Route(String allow, Operation operation) {

    static Route get(Operation operation) {
        return new Route("GET", operation);
    }

    static Route post(Operation operation) {
        return new Route("POST", operation);
    }

    boolean takes(String method) {
        return allow.equals(method) || (allow.equals("GET, POST") && (method.equals("GET") || method.equals("POST")));
    }
}
