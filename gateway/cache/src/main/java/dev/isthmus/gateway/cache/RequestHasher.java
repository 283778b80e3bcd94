package dev.isthmus.gateway.cache;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Principal;
import dev.isthmus.gateway.settings.CacheConfig;
import dev.isthmus.gateway.settings.HeaderAllowList;
import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.Parameter;
import dev.isthmus.oip.RequestedOutput;
import dev.isthmus.oip.Tensor;
import io.netty.buffer.ByteBuf;
import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;

/**
 * Computes the keys of requests, the same for all forms of a request: its target, its parameters by name, its inputs
 * and requested outputs in their order, and what the configuration adds. The id of the request is not part of it. Not
 * thread-safe.
 */
public final class RequestHasher {
    /** Forwarded headers that say nothing about the response. */
    private static final Set<String> IGNORED = Set.of(
            HeaderAllowList.REQUEST_ID,
            "baggage",
            "cache-control",
            "forwarded",
            "traceparent",
            "tracestate",
            "x-forwarded-for",
            "x-forwarded-host",
            "x-forwarded-port",
            "x-forwarded-proto",
            "x-real-ip");

    /** Tensors of fewer bytes are hashed as they are. */
    private static final int SMALL = 512;

    private final byte[] prefix;
    private final BlockHash blocks;
    private final HashedText text = new HashedText();
    private final MessageDigest digest;

    public RequestHasher(HashSecret secret) {
        this.prefix = secret.prefix();
        this.blocks = new BlockHash(secret);
        try {
            this.digest = MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java platform has SHA-256", e);
        }
    }

    /**
     * The key of a request.
     *
     * @param upstream the name of the target's upstream
     * @param request with the model and version of the target; borrowed
     */
    public CacheKey key(CacheConfig config, Call call, String upstream, InferRequest request) {
        digest.reset();
        digest.update(prefix);
        text.text(upstream).text(request.model().name()).text(request.model().version());
        caller(config, call);
        headers(config, call);
        parameters(
                config.parameters().isEmpty() ? request.parameters() : only(config.parameters(), request.parameters()));
        text.number(request.outputs().size());
        for (RequestedOutput output : request.outputs()) {
            text.text(output.name());
            parameters(output.parameters());
        }
        text.number(request.inputs().size());
        // In their order: MLServer makes columns of them.
        request.inputs().forEach(this::input);
        text.into(digest);
        ByteBuffer hash = ByteBuffer.wrap(digest.digest());
        return new CacheKey(hash.getLong(), hash.getLong());
    }

    private void caller(CacheConfig config, Call call) {
        if (config.caller()) {
            Principal caller = call.context().principal();
            text.text(caller.identifiedBy().name()).text(caller.name());
        }
    }

    private void headers(CacheConfig config, Call call) {
        List<String> forwarded = new ArrayList<>(call.headers().keySet());
        forwarded.removeIf(IGNORED::contains);
        forwarded.sort(Comparator.naturalOrder());
        text.number(forwarded.size());
        forwarded.forEach(name -> text.text(name).text(call.headers().get(name)));
        config.headers().forEach(name -> text.text(call.client().value(name)));
    }

    private static Map<String, Parameter> only(List<String> names, Map<String, Parameter> parameters) {
        if (parameters.isEmpty()) {
            return parameters;
        }
        Map<String, Parameter> kept = new HashMap<>(parameters);
        kept.keySet().retainAll(names);
        return kept;
    }

    private void parameters(Map<String, Parameter> parameters) {
        text.number(parameters.size());
        if (parameters.isEmpty()) {
            return;
        }
        List<String> names = new ArrayList<>(parameters.keySet());
        names.sort(Comparator.naturalOrder());
        for (String name : names) {
            text.text(name);
            parameter(Objects.requireNonNull(parameters.get(name)));
        }
    }

    private void parameter(Parameter parameter) {
        switch (parameter) {
            case Parameter.Bool bool -> text.number(0).number(bool.value() ? 1 : 0);
            case Parameter.Int64 number -> text.number(1).number(number.value());
            case Parameter.Uint64 number -> text.number(2).number(number.value());
            case Parameter.Float64 number -> text.number(3).number(Double.doubleToRawLongBits(number.value()));
            case Parameter.Text value -> text.number(4).text(value.value());
            case Parameter.Json json -> text.number(5).text(json.text());
        }
    }

    private void input(Tensor input) {
        text.text(input.name())
                .text(input.dataType().name())
                .number(input.shape().rank());
        for (int i = 0; i < input.shape().rank(); i++) {
            text.number(input.shape().extent(i));
        }
        parameters(input.parameters());
        ByteBuf data = input.data();
        text.number(data.readableBytes());
        text.into(digest);
        if (data.readableBytes() < SMALL) {
            for (ByteBuffer part : data.nioBuffers()) {
                digest.update(part);
            }
        } else {
            blocks.add(data, digest);
        }
    }
}
