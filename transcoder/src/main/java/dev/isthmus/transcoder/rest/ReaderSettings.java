package dev.isthmus.transcoder.rest;

import dev.isthmus.oip.OipException;
import dev.isthmus.oip.Parameter;
import dev.isthmus.transcoder.message.TensorCheck;
import dev.isthmus.transcoder.message.WireLimits;
import io.netty.buffer.ByteBufAllocator;
import java.util.Map;

/**
 * What one message is read by. Requests are read strictly; answers of upstreams as they are known to come, with nulls for
 * what is absent.
 *
 * @param sharedOutputs where the outputs of an answer are that were asked for in shared memory, by name
 * @param held what the message takes
 */
record ReaderSettings(
        boolean request,
        ElementUse elements,
        ForeignParameters foreign,
        WireLimits limits,
        ByteBufAllocator allocator,
        Map<String, Map<String, Parameter>> sharedOutputs,
        HeldMemory held) {

    /** Of a message of which nothing has come. */
    ReaderSettings(
            boolean request,
            ElementUse elements,
            ForeignParameters foreign,
            WireLimits limits,
            ByteBufAllocator allocator,
            Map<String, Map<String, Parameter>> sharedOutputs) {
        this(request, elements, foreign, limits, allocator, sharedOutputs, new HeldMemory());
    }

    TensorCheck check() {
        return request ? TensorCheck.INPUT : TensorCheck.OUTPUT;
    }

    OipException failure(String message) {
        return new OipException(check().code(), message);
    }
}
