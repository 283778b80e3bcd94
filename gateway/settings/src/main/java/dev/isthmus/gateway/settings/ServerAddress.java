package dev.isthmus.gateway.settings;

/**
 * The address of one or more servers: an endpoint, whose name may have several IP addresses, or a name of SRV records.
 */
public sealed interface ServerAddress {

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
}
