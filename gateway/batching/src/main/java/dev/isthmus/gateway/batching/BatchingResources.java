package dev.isthmus.gateway.batching;

import dev.isthmus.gateway.memory.MemoryBudget;
import dev.isthmus.oip.ModelRef;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What the requests of one route share.
 *
 * @param route its key
 * @param memory counts the responses of joined calls
 */
record BatchingResources(String route, JoinCodec codec, MemoryBudget memory, BatchingMeters meters) {
    private static final Logger LOG = LoggerFactory.getLogger(BatchingResources.class);

    /** The response of a joined call could not be divided. */
    void withoutRows(BatchedModel model, ModelRef ref) {
        meters.withoutRows();
        if (model.refuse()) {
            logRefused(ref, "its outputs do not have a row for each row of its inputs");
        }
    }

    /** Logged once for each model. */
    void logRefused(ModelRef ref, String why) {
        LOG.atWarn()
                .addKeyValue("model", ref.name())
                .log(
                        "model '{}': batching: {}; its requests are not joined until the configuration is applied again;"
                                + " remove 'batching' from '{}'",
                        ref.name(),
                        why,
                        route);
    }
}
