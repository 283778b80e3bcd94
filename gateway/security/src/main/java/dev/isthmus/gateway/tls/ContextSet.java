package dev.isthmus.gateway.tls;

import io.netty.handler.ssl.SslContext;
import io.netty.util.AbstractReferenceCounted;
import io.netty.util.ReferenceCountUtil;
import io.netty.util.ReferenceCounted;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Contexts made from the same files. They are released with the last reference; connections hold their own. */
final class ContextSet extends AbstractReferenceCounted {
    private final List<SslContext> contexts;
    private final Map<String, SslContext> byName;
    private final List<CertificateExpiry> expiries;

    /**
     * Contexts with one reference.
     *
     * @param contexts taken; the first one is for any name that is not known
     * @param byName by the name that a connection is for: a host in lower case, where {@code *.example.org} stands for
     *     any name with one label more, or to a server its protocol
     * @param expiries when what the files contain expires
     */
    ContextSet(List<SslContext> contexts, Map<String, SslContext> byName, List<CertificateExpiry> expiries) {
        this.contexts = List.copyOf(contexts);
        this.byName = Map.copyOf(byName);
        this.expiries = List.copyOf(expiries);
    }

    List<CertificateExpiry> expiries() {
        return expiries;
    }

    /** The context for a name; null for a client that asks for none. */
    SslContext of(@Nullable String name) {
        SslContext byDefault = contexts.getFirst();
        if (name == null) {
            return byDefault;
        }
        int dot = name.indexOf('.');
        SslContext wildcard = dot < 0 ? byDefault : byName.getOrDefault("*" + name.substring(dot), byDefault);
        return byName.getOrDefault(name, wildcard);
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
