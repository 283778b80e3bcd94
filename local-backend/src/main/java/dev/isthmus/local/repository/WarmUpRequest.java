package dev.isthmus.local.repository;

import dev.isthmus.oip.DataType;
import dev.isthmus.oip.Shape;
import java.util.List;

/**
 * A request that a model is run with before it is ready.
 *
 * @param name for the log
 * @param count how often
 */
public record WarmUpRequest(String name, int count, List<Input> inputs) {

    public WarmUpRequest {
        inputs = List.copyOf(inputs);
    }

    /**
     * One input.
     *
     * @param shape with the batch dimension, without unknown extents
     * @param random whether of random values, rather than of zeros
     */
    public record Input(String name, DataType type, Shape shape, boolean random) {}
}
