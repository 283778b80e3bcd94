package com.example.lookup;

import dev.isthmus.gateway.call.Layer;
import dev.isthmus.gateway.call.LayerFactory;
import dev.isthmus.gateway.settings.Default;
import dev.isthmus.gateway.settings.Doc;
import dev.isthmus.gateway.settings.Required;
import io.micrometer.core.instrument.MeterRegistry;
import java.nio.file.Files;
import java.nio.file.Path;

/** The section {@code settings} of the layer; the gateway reads it, checks it, and describes it in the schema. */
@Doc("Replaces an input of ids by the feature vectors of a table.")
public record FeatureLookupSettings(
        @Doc("The model whose requests are changed.") @Required
        String model,

        @Doc("The input with the ids that clients send: INT64, INT32 or BYTES, of shape [n] or [n,1].") @Required
        String ids,

        @Doc("The input that the model takes instead: FP32, of shape [n,features].") @Required
        String features,

        @Doc("The table: a line for each id, with the id and its features, separated by commas.") @Required
        Path table,

        @Doc("What becomes of an id that is not in the table: refuse fails the request, zeros gives it no features.")
        @Default("refuse")
        UnknownId unknown)
        implements LayerFactory {

    /** What becomes of an id that is not in the table. */
    public enum UnknownId {
        REFUSE,
        ZEROS
    }

    /** Checks what the gateway cannot know. The message is reported with file and line. */
    public FeatureLookupSettings {
        if (!Files.isReadable(table)) {
            throw new IllegalArgumentException("'table': a readable file is expected, got '" + table + "'");
        }
    }

    @Override
    public Layer layer(String name, MeterRegistry meters) {
        return new FeatureLookup(name, this, FeatureTable.read(table), meters);
    }
}
