package dev.isthmus.gateway.cache;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Principal;
import dev.isthmus.gateway.settings.CacheConfig;
import dev.isthmus.gateway.settings.Digests;
import dev.isthmus.gateway.settings.HeaderAllowList;
import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.Parameter;
import dev.isthmus.oip.RequestedOutput;
import dev.isthmus.oip.Tensor;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

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

    /** Of the text of a usual request, in bytes. */
    private static final int INITIAL = 1024;
    /** The length of what is missing. */
    private static final int MISSING = -1;

    private final byte[] prefix;
    private final BlockHash blocks;
    /** What is hashed beside large tensors: each value has its length before it. */
    private final ByteBuf text = Unpooled.buffer(INITIAL);

    private final MessageDigest digest;

    public RequestHasher(HashSecret secret) {
        this.prefix = secret.prefix;
        this.blocks = new BlockHash(secret);
        this.digest = Digests.of(Digests.SHA_256);
    }

    /**
     * The key of a request.
     *
     * @param upstream the name of the target's upstream
     * @param request with the model and version of the target; borrowed
     */
    public CacheKey key(CacheConfig config, Call call, String upstream, InferRequest request) {
        digest.reset();
        text.clear();
        digest.update(prefix);
        text(upstream).text(request.model().name()).text(request.model().version());
        caller(config, call);
        headers(config, call);
        parameters(
                config.parameters().isEmpty() ? request.parameters() : only(config.parameters(), request.parameters()));
        text.writeIntLE(request.outputs().size());
        for (RequestedOutput output : request.outputs()) {
            text(output.name());
            parameters(output.parameters());
        }
        text.writeIntLE(request.inputs().size());
        // In their order: MLServer makes columns of them.
        request.inputs().forEach(this::input);
        hashText();
        ByteBuffer hash = ByteBuffer.wrap(digest.digest());
        return new CacheKey(hash.getLong(), hash.getLong());
    }

    private void caller(CacheConfig config, Call call) {
        if (config.caller()) {
            Principal caller = call.context().principal();
            text(caller.identifiedBy().name()).text(caller.name());
        }
    }

    private void headers(CacheConfig config, Call call) {
        List<String> forwarded = new ArrayList<>(call.headers().keySet());
        forwarded.removeIf(IGNORED::contains);
        forwarded.sort(Comparator.naturalOrder());
        text.writeIntLE(forwarded.size());
        forwarded.forEach(name -> text(name).text(call.headers().get(name)));
        config.headers().forEach(name -> text(call.client().value(name)));
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
        text.writeIntLE(parameters.size());
        if (parameters.isEmpty()) {
            return;
        }
        List<String> names = new ArrayList<>(parameters.keySet());
        names.sort(Comparator.naturalOrder());
        for (String name : names) {
            text(name);
            parameter(Objects.requireNonNull(parameters.get(name)));
        }
    }

    private void parameter(Parameter parameter) {
        switch (parameter) {
            case Parameter.Bool bool -> text.writeIntLE(0).writeIntLE(bool.value() ? 1 : 0);
            case Parameter.Int64 number -> text.writeIntLE(1).writeLongLE(number.value());
            case Parameter.Uint64 number -> text.writeIntLE(2).writeLongLE(number.value());
            case Parameter.Float64 number -> text.writeIntLE(3).writeLongLE(Double.doubleToRawLongBits(number.value()));
            case Parameter.Text value -> {
                text.writeIntLE(4);
                text(value.value());
            }
            case Parameter.Json json -> {
                text.writeIntLE(5);
                text(json.text());
            }
        }
    }

    private void input(Tensor input) {
        text(input.name()).text(input.dataType().name());
        text.writeIntLE(input.shape().rank());
        for (int i = 0; i < input.shape().rank(); i++) {
            text.writeLongLE(input.shape().extent(i));
        }
        parameters(input.parameters());
        ByteBuf data = input.data();
        text.writeIntLE(data.readableBytes());
        hashText();
        if (data.readableBytes() < SMALL) {
            for (ByteBuffer part : data.nioBuffers()) {
                digest.update(part);
            }
        } else {
            blocks.add(data, digest);
        }
    }

    private RequestHasher text(@Nullable String value) {
        if (value == null) {
            text.writeIntLE(MISSING);
        } else {
            text.writeIntLE(ByteBufUtil.utf8Bytes(value));
            ByteBufUtil.writeUtf8(text, value);
        }
        return this;
    }

    /** Hashes the text since the last time. */
    private void hashText() {
        digest.update(text.array(), 0, text.writerIndex());
        text.clear();
        if (text.capacity() > INITIAL * 64) {
            text.capacity(INITIAL);
        }
    }

    /**
     * Reduces the elements of large tensors to 1/512 of their size, at the speed of memory: each block of 8 KiB to two sums
     * of products with secret words, which are then part of what SHA-256 hashes. The function is NH of UMAC (RFC 4418,
     * section 5.2) on words of 64 bits: whoever does not know the secret cannot make up two blocks with equal sums but by
     * chance, about once in 2^60. The loop is so simple that the JVM compiles it to vector instructions. Not thread-safe.
     */
    static final class BlockHash {
        /** Bytes of a block. */
        static final int BLOCK = HashSecret.WORDS * Long.BYTES;

        private static final ValueLayout.OfLong WORD =
                ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
        private static final long LOW = 0xffff_ffffL;
        /** Blocks whose sums are gathered before they are hashed. */
        private static final int GATHERED = 64;

        private final long[] first;
        private final long[] second;
        private final ByteBuffer partial = ByteBuffer.allocate(BLOCK);
        private final ByteBuffer sums = ByteBuffer.allocate(GATHERED * 2 * Long.BYTES);

        BlockHash(HashSecret secret) {
            this.first = secret.first;
            this.second = secret.second;
        }

        /**
         * Hashes the sums of the readable bytes. How many there are is to be hashed, too: the last block is filled with
         * zeros.
         *
         * @param data borrowed; its indices are not moved
         */
        void add(ByteBuf data, MessageDigest digest) {
            for (ByteBuffer part : data.nioBuffers()) {
                add(part, digest);
            }
            if (partial.position() > 0) {
                while (partial.hasRemaining()) {
                    partial.put((byte) 0);
                }
                addPartial(digest);
            }
            flush(digest);
        }

        private void add(ByteBuffer part, MessageDigest digest) {
            if (partial.position() > 0) {
                int moved = Math.min(part.remaining(), partial.remaining());
                partial.put(part.slice(part.position(), moved));
                part.position(part.position() + moved);
                if (partial.hasRemaining()) {
                    return;
                }
                addPartial(digest);
            }
            int whole = part.remaining() / BLOCK * BLOCK;
            MemorySegment words = MemorySegment.ofBuffer(part);
            for (long offset = 0; offset < whole; offset += BLOCK) {
                block(words, offset, digest);
            }
            partial.put(part.position(part.position() + whole));
        }

        private void addPartial(MessageDigest digest) {
            partial.clear();
            block(MemorySegment.ofBuffer(partial), 0, digest);
        }

        private void block(MemorySegment words, long offset, MessageDigest digest) {
            long[] keys = first;
            long[] others = second;
            long sum = 0;
            long other = 0;
            for (int i = 0; i < HashSecret.WORDS; i++) {
                long word = words.get(WORD, offset + (long) Long.BYTES * i);
                long a = word + keys[i];
                long b = word + others[i];
                sum += (a & LOW) * (a >>> 32);
                other += (b & LOW) * (b >>> 32);
            }
            sums.putLong(sum).putLong(other);
            if (!sums.hasRemaining()) {
                flush(digest);
            }
        }

        private void flush(MessageDigest digest) {
            digest.update(sums.flip());
            sums.clear();
        }
    }
}
