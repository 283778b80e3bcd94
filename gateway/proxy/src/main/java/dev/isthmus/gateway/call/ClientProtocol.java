package dev.isthmus.gateway.call;

/** What a client speaks. */
public enum ClientProtocol {
    REST("rest"),
    GRPC("grpc");

    private final String label;

    ClientProtocol(String label) {
        this.label = label;
    }

    /** As metrics and logs name it. */
    public String label() {
        return label;
    }
}
