package dev.isthmus.gateway.admin;

import java.util.List;
import java.util.Map;

/**
 * What an operator asks.
 *
 * @param tail what stands in the path in place of the route's {@code *}, decoded; empty for a route without
 * @param query the parameters after the path
 * @param body of at most 64 KiB, read as UTF-8
 */
public record AdminRequest(String tail, Map<String, List<String>> query, String body) {}
