package dev.isthmus.gateway.settings;

/** Where servers are: an endpoint, whose name may have several addresses, or a name of SRV records. */
public sealed interface ServerAddress {

    /** A host and its port; each address of a host's name is a server of its own. */
    record HostAddress(Endpoint endpoint) implements ServerAddress {
        @Override
        public String toString() {
            return endpoint.authority();
        }
    }

    /** The servers that the SRV records of this name list; written {@code srv:name}. */
    record SrvAddress(String name) implements ServerAddress {
        @Override
        public String toString() {
            return "srv:" + name;
        }
    }
}
