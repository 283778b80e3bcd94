package dev.isthmus.gateway.tls;

import java.nio.ByteBuffer;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLException;

/** The first bytes of a TLS client. */
final class HelloBytes {
    private HelloBytes() {}

    static byte[] of(SSLContext context, String host) throws SSLException {
        SSLEngine engine = context.createSSLEngine(host, 443);
        engine.setUseClientMode(true);
        engine.beginHandshake();
        ByteBuffer out = ByteBuffer.allocate(engine.getSession().getPacketBufferSize());
        engine.wrap(ByteBuffer.allocate(0), out);
        byte[] bytes = new byte[out.flip().remaining()];
        out.get(bytes);
        return bytes;
    }
}
