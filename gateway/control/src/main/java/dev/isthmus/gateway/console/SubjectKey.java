package dev.isthmus.gateway.console;

/**
 * A model, target, server or caller.
 *
 * @param of the route's key of a target, the upstream of a server; empty for models and callers
 */
record SubjectKey(String of, String name) {}
