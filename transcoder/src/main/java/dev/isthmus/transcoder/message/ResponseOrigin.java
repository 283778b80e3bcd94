package dev.isthmus.transcoder.message;

/**
 * What a response says of the request that it answers.
 *
 * @param model the name of the model; empty if it is not known
 * @param id of the request; empty if it is not known
 */
public record ResponseOrigin(String model, String id) {}
