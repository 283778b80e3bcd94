package dev.isthmus.transcoder.rest;

import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.TensorCheck;
import dev.isthmus.transcoder.WireLimits;
import io.netty.buffer.ByteBufAllocator;

/**
 * What one message is read by. Requests are read strictly; answers of upstreams as they are known to come, with nulls for
 * what is absent.
 *
 * @param skim whether numbers are stepped over ({@link DataSkim})
 */
record ReaderSettings(
        boolean request, boolean skim, ForeignParameters foreign, WireLimits limits, ByteBufAllocator allocator) {

    TensorCheck check() {
        return request ? TensorCheck.INPUT : TensorCheck.OUTPUT;
    }

    OipException failure(String message) {
        return new OipException(check().code(), message);
    }
}
