package dev.isthmus.transcoder.rest;

import dev.isthmus.oip.OipException;
import dev.isthmus.oip.Parameter;
import dev.isthmus.transcoder.json.SkippedValue;
import dev.isthmus.transcoder.json.ValueReader;
import dev.isthmus.transcoder.message.TensorCheck;
import dev.isthmus.transcoder.message.WireLimits;
import io.netty.buffer.ByteBufAllocator;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * How one message is read, and what is noted meanwhile: what it has that the protocol does not define, and the memory that
 * it takes, which is exact for its tensors and retained text, and an estimate for other parts whose heap objects are much
 * larger than their text. Requests are read strictly; responses leniently, as servers send null for absent members.
 */
final class ReaderState {
    /** Heap bytes that are not counted: every message takes some, and concurrent calls are limited. */
    private static final int FREE = 16 << 10;

    // Estimates per part, in addition to its text. HeapOfJsonTest compares them with the heap.
    static final int TENSOR = 400;
    static final int DATA = 1200;
    static final int OUTPUT = 200;
    static final int PARAMETER = 130;
    private static final int MEMBER = 96;

    final boolean request;
    /** Whether it is passed through: the elements in JSON are only counted ({@link ElementCounter}). */
    final boolean passes;
    /** Whether parameters of a type that the protocol does not define are accepted. */
    final boolean anyParameter;

    final WireLimits limits;
    final ByteBufAllocator allocator;
    /** The parameters of a response's outputs that were requested in shared memory, by name. */
    final Map<String, Map<String, Parameter>> sharedOutputs;

    /** The last parameter accepted of a type that the protocol does not define, or null. */
    @Nullable
    String foreign;

    /** Whether NaN or an infinity was read outside the data of tensors. */
    boolean hasWord;

    /** Whether an optional member was null, which is as good as absent. */
    boolean hasNull;

    private @Nullable TensorScratch scratch;
    private long data;
    private long heap;

    ReaderState(
            boolean request,
            boolean passes,
            boolean anyParameter,
            WireLimits limits,
            ByteBufAllocator allocator,
            Map<String, Map<String, Parameter>> sharedOutputs) {
        this.request = request;
        this.passes = passes;
        this.anyParameter = anyParameter;
        this.limits = limits;
        this.allocator = allocator;
        this.sharedOutputs = sharedOutputs;
    }

    /** For the tensor being read; of another document after {@link #clear}. */
    TensorScratch scratch() {
        if (scratch == null) {
            scratch = TensorScratch.take();
        }
        return scratch;
    }

    TensorCheck check() {
        return request ? TensorCheck.INPUT : TensorCheck.OUTPUT;
    }

    OipException failure(String message) {
        return new OipException(check().code(), message);
    }

    /** Whether this parameter, which the protocol does not define, is accepted. */
    boolean accepts(String parameter) {
        foreign = anyParameter ? parameter : foreign;
        return anyParameter;
    }

    /** The value read (null for none) may have contained such a word. */
    void skipped(@Nullable ValueReader value) {
        hasWord |= value instanceof SkippedValue read && read.hasWord();
    }

    /** Adds to the bytes held for tensors and text; may be negative. */
    void data(long more) {
        data += more;
    }

    /** Adds to the heap bytes held; may be negative. */
    void heap(long more) {
        heap += more;
    }

    /** The heap bytes of a member's name while its object is open. */
    static long member(String name) {
        return (long) MEMBER + name.length();
    }

    /**
     * The bytes held.
     *
     * @param window the size of the tokenizer's window, in bytes
     */
    long held(int window) {
        return data + Math.max(0, heap + window - FREE);
    }

    /** Nothing is held any more. */
    void clear() {
        data = 0;
        heap = 0;
        if (scratch != null) {
            scratch.release();
            scratch = null;
        }
    }
}
