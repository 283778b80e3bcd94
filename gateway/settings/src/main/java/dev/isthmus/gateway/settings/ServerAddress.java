package dev.isthmus.gateway.settings;

import org.jspecify.annotations.Nullable;

/**
 * The address of one or more servers: an endpoint, whose name may have several IP addresses, a name of SRV records, or a
 * Service of Kubernetes.
 */
public sealed interface ServerAddress {

    /** Whether it is one server, by its IP address. */
    default boolean literal() {
        return this instanceof HostAddress host && host.endpoint().literal();
    }

    /** A host and port; each IP address of the host's name is a separate server. */
    record HostAddress(Endpoint endpoint) implements ServerAddress {
        @Override
        public String toString() {
            return endpoint.authority();
        }
    }

    /** The servers listed in the SRV records of this name; written {@code srv:name}. */
    record SrvAddress(String name) implements ServerAddress {
        @Override
        public String toString() {
            return "srv:" + name;
        }
    }

    /**
     * The ready endpoints of a Service of Kubernetes; written {@code k8s:namespace/service:port}.
     *
     * @param port the name of one of the Service's ports; null if it has only one
     */
    record KubernetesService(
            String namespace, String service, @Nullable String port) implements ServerAddress {
        @Override
        public String toString() {
            return "k8s:" + namespace + "/" + service + (port == null ? "" : ":" + port);
        }
    }
}
