package dev.isthmus.gateway.ingress;

import dev.isthmus.gateway.call.Operation;

/**
 * The operation of a path.
 *
 * @param allow the accepted methods, in the form of the {@code Allow} header
 */
record PathRoute(String allow, Operation operation) {

    static PathRoute get(Operation operation) {
        return new PathRoute("GET", operation);
    }

    static PathRoute post(Operation operation) {
        return new PathRoute("POST", operation);
    }

    boolean accepts(String method) {
        return allow.equals(method) || (allow.equals("GET, POST") && (method.equals("GET") || method.equals("POST")));
    }
}
