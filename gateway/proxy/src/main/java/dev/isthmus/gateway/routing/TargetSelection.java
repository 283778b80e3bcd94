package dev.isthmus.gateway.routing;

/**
 * What was chosen for one request.
 *
 * @param affinity requests of the same affinity belong on the same server of the target; {@code Call.NO_AFFINITY} for any
 * @param sequence whether it is one of a sequence, whose state only one server has: it must not be sent to another
 */
public record TargetSelection(Target target, long affinity, boolean sequence) {}
