package dev.isthmus.transcoder.rest;

import dev.isthmus.oip.OipException;
import dev.isthmus.oip.Parameter;
import dev.isthmus.transcoder.message.TensorCheck;
import dev.isthmus.transcoder.message.WireLimits;
import io.netty.buffer.ByteBufAllocator;
import java.util.Map;

/**
 * The settings for reading one message. Requests are read strictly; responses leniently, as servers send null for
 * absent members.
 *
 * @param sharedOutputs the parameters of a response's outputs that were requested in shared memory, by name
 * @param held the memory that the message takes
 */
record ReaderSettings(
        boolean request,
        ElementUse elements,
        ForeignParameters foreign,
        WireLimits limits,
        ByteBufAllocator allocator,
        Map<String, Map<String, Parameter>> sharedOutputs,
        HeldMemory held) {

    /** The settings of a message of which nothing was read. */
    ReaderSettings(
            boolean request,
            ElementUse elements,
            boolean foreign,
            WireLimits limits,
            ByteBufAllocator allocator,
            Map<String, Map<String, Parameter>> sharedOutputs) {
        this(request, elements, new ForeignParameters(foreign), limits, allocator, sharedOutputs, new HeldMemory());
    }

    TensorCheck check() {
        return request ? TensorCheck.INPUT : TensorCheck.OUTPUT;
    }

    OipException failure(String message) {
        return new OipException(check().code(), message);
    }
}
