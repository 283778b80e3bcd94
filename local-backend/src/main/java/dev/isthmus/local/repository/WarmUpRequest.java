package dev.isthmus.local.repository;

import dev.isthmus.oip.DataType;
import dev.isthmus.oip.Shape;
import java.util.List;

/**
 * A request that is run before a model is ready.
 *
 * @param name the name in the log
 * @param count how often it is run
 */
public record WarmUpRequest(String name, int count, List<Input> inputs) {

    public WarmUpRequest {
        inputs = List.copyOf(inputs);
    }

    /**
     * One input.
     *
     * @param shape the shape including the batch dimension, without variable extents
     * @param random whether the values are random rather than zeros
     */
    public record Input(String name, DataType type, Shape shape, boolean random) {}
}
