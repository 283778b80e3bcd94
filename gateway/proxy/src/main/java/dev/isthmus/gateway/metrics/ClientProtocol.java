package dev.isthmus.gateway.metrics;

/** What a client speaks. */
public enum ClientProtocol {
    REST("rest"),
    GRPC("grpc");

    private final String label;

    ClientProtocol(String label) {
        this.label = label;
    }

    String label() {
        return label;
    }
}
