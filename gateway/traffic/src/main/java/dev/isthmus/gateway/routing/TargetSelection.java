package dev.isthmus.gateway.routing;

/**
 * The target chosen for one request.
 *
 * @param affinity requests of equal affinity belong on one server of the target; {@code Call.NO_AFFINITY} for any
 * @param sequence whether it belongs to a sequence, whose state is on one server: it must not be sent to another
 */
public record TargetSelection(Target target, long affinity, boolean sequence) {}
