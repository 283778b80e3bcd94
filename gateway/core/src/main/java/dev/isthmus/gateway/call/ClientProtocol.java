package dev.isthmus.gateway.call;

/** The protocol of a client. */
public enum ClientProtocol {
    REST("rest"),
    GRPC("grpc"),
    /** gRPC-Web: what pages in browsers send. */
    GRPC_WEB("grpc_web");

    private final String label;

    ClientProtocol(String label) {
        this.label = label;
    }

    /** The label in metrics and logs. */
    public String label() {
        return label;
    }
}
