package dev.isthmus.gateway.catalogue;

/**
 * The state of a model on one server.
 *
 * @param state {@link ModelState#NONE} if nothing of the model is loaded, {@link ModelState#UNKNOWN} if the request
 *     failed
 */
public record ReplicaState(ServerId source, ModelState state, String reason) {}
