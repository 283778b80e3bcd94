package dev.isthmus.gateway.upstream.grpc;

import io.grpc.Attributes;
import io.grpc.ClientStreamTracer;
import io.grpc.Metadata;

/** Sees how far a call came, because its status does not tell whether the server or our own side made it. */
final class StreamWitness extends ClientStreamTracer {
    private volatile boolean connected;
    private volatile boolean answered;

    @Override
    public void streamCreated(Attributes transportAttributes, Metadata headers) {
        connected = true;
    }

    @Override
    public void inboundTrailers(Metadata trailers) {
        answered = true;
    }

    /** Whether there was a connection to send on. */
    boolean connected() {
        return connected;
    }

    /** Whether the status is the server's own. */
    boolean answered() {
        return answered;
    }

    ClientStreamTracer.Factory factory() {
        return new Factory() {
            @Override
            public ClientStreamTracer newClientStreamTracer(StreamInfo info, Metadata headers) {
                return StreamWitness.this;
            }
        };
    }
}
