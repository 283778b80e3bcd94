package dev.isthmus.transcoder.rest;

import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.TensorCheck;
import dev.isthmus.transcoder.WireLimits;
import io.netty.buffer.ByteBufAllocator;

/**
 * What one message is read by. Requests are read strictly; answers of upstreams as they are known to come, with nulls for
 * what is absent.
 */
record ReaderSettings(boolean request, ForeignParameters foreign, WireLimits limits, ByteBufAllocator allocator) {

    TensorCheck check() {
        return request ? TensorCheck.INPUT : TensorCheck.OUTPUT;
    }

    OipException failure(String message) {
        return new OipException(check().code(), message);
    }
}
