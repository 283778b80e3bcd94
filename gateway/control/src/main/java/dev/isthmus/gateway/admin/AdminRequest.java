package dev.isthmus.gateway.admin;

import java.util.List;
import java.util.Map;
import java.util.function.BooleanSupplier;

/**
 * A request to the admin listener.
 *
 * @param tail the decoded part of the path that matches the route's {@code *}; empty for a route without one
 * @param query the query parameters
 * @param accept the header field; empty if it is missing
 * @param body at most 64 KiB, decoded as UTF-8
 * @param connected whether the client still waits for the response
 */
public record AdminRequest(
        String tail, Map<String, List<String>> query, String accept, String body, BooleanSupplier connected) {}
