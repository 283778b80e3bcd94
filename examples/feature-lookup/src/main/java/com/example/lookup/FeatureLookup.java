package com.example.lookup;

import com.example.lookup.FeatureLookupSettings.UnknownId;
import dev.isthmus.gateway.call.Exchange;
import dev.isthmus.gateway.call.Layer;
import dev.isthmus.oip.DataType;
import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.Shape;
import dev.isthmus.oip.Tensor;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

/** Replaces an input of ids by the feature vectors of a table. One object serves all calls, on many threads. */
final class FeatureLookup implements Layer {
    private final String name;
    private final FeatureLookupSettings settings;
    private final FeatureTable table;
    private final Counter found;
    private final Counter unknown;

    FeatureLookup(String name, FeatureLookupSettings settings, FeatureTable table, MeterRegistry meters) {
        this.name = name;
        this.settings = settings;
        this.table = table;
        found = ids(meters, "found");
        unknown = ids(meters, "unknown");
    }

    private static Counter ids(MeterRegistry meters, String result) {
        return Counter.builder("feature.lookup.ids")
                .description("Ids that were looked up")
                .tag("result", result)
                .register(meters);
    }

    @Override
    public String name() {
        return name;
    }

    /** Requests for other models are not decoded. */
    @Override
    public boolean transforms(Exchange exchange) {
        ModelRef model = exchange.call().operation().requestedModel();
        return model != null && model.name().equals(settings.model());
    }

    @Override
    public CompletableFuture<InferRequest> transform(Exchange exchange, InferRequest request) {
        List<Tensor> inputs = new ArrayList<>();
        try {
            for (Tensor input : request.inputs()) {
                // The request is only lent: what goes on is retained.
                inputs.add(
                        input.name().equals(settings.ids())
                                ? features(exchange.context().allocator(), input)
                                : input.retained());
            }
        } catch (RuntimeException e) {
            inputs.forEach(Tensor::release);
            throw e;
        }
        return CompletableFuture.completedFuture(
                new InferRequest(request.model(), request.id(), request.parameters(), inputs, request.outputs()));
    }

    private Tensor features(ByteBufAllocator allocator, Tensor ids) {
        List<String> keys = keys(ids);
        ByteBuf data = allocator.buffer(Math.max(1, keys.size() * table.width() * Float.BYTES));
        try {
            keys.forEach(key -> data.writeBytes(row(key)));
        } catch (RuntimeException e) {
            data.release();
            throw e;
        }
        return new Tensor(settings.features(), DataType.FP32, Shape.of(keys.size(), table.width()), Map.of(), data);
    }

    private byte[] row(String key) {
        byte[] row = table.rows().get(key);
        if (row != null) {
            found.increment();
            return row;
        }
        unknown.increment();
        if (settings.unknown() == UnknownId.REFUSE) {
            throw OipException.invalid("input '" + settings.ids() + "': a known id is expected, got '" + key + "'");
        }
        return new byte[table.width() * Float.BYTES];
    }

    private static List<String> keys(Tensor ids) {
        ByteBuf data = ids.data();
        List<String> keys = new ArrayList<>();
        int end = data.writerIndex();
        for (int at = data.readerIndex(); at < end; ) {
            switch (ids.dataType()) {
                case INT64 -> {
                    keys.add(Long.toString(data.getLongLE(at)));
                    at += Long.BYTES;
                }
                case INT32 -> {
                    keys.add(Integer.toString(data.getIntLE(at)));
                    at += Integer.BYTES;
                }
                case BYTES -> {
                    int length = data.getIntLE(at);
                    keys.add(data.toString(at + Integer.BYTES, length, StandardCharsets.UTF_8));
                    at += Integer.BYTES + length;
                }
                default ->
                    throw OipException.invalid(
                            "input '" + ids.name() + "': INT64, INT32 or BYTES is expected, got " + ids.dataType());
            }
        }
        return keys;
    }
}
