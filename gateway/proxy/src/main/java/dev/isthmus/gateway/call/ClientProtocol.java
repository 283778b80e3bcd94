package dev.isthmus.gateway.call;

/** The protocol of a client. */
public enum ClientProtocol {
    REST("rest"),
    GRPC("grpc");

    private final String label;

    ClientProtocol(String label) {
        this.label = label;
    }

    /** The label in metrics and logs. */
    public String label() {
        return label;
    }
}
