package dev.isthmus.gateway.tls;

import io.netty.handler.ssl.SslContext;
import io.netty.util.AbstractReferenceCounted;
import io.netty.util.ReferenceCountUtil;
import io.netty.util.ReferenceCounted;
import java.util.List;

/** Contexts made from the same files. They are released with the last reference; connections hold their own. */
abstract class ContextSet extends AbstractReferenceCounted {
    private final List<SslContext> contexts;
    private final List<CertificateExpiry> expiries;

    /** @param contexts taken */
    ContextSet(List<SslContext> contexts, List<CertificateExpiry> expiries) {
        this.contexts = List.copyOf(contexts);
        this.expiries = List.copyOf(expiries);
    }

    /** When what the files contain expires. */
    List<CertificateExpiry> expiries() {
        return expiries;
    }

    @Override
    protected void deallocate() {
        contexts.forEach(ReferenceCountUtil::release);
    }

    @Override
    public ReferenceCounted touch(Object hint) {
        return this;
    }
}
