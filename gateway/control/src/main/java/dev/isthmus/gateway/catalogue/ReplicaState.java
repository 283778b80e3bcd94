package dev.isthmus.gateway.catalogue;

/**
 * The state of a model on one server.
 *
 * @param state {@link ModelState#NONE} where nothing of the model is loaded, {@link ModelState#UNKNOWN} where it could not
 *     be asked
 */
public record ReplicaState(ServerId source, ModelState state, String reason) {}
