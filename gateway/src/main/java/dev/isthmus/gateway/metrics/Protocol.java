package dev.isthmus.gateway.metrics;

/** What a client speaks. */
public enum Protocol {
    REST("rest"),
    GRPC("grpc");

    private final String label;

    Protocol(String label) {
        this.label = label;
    }

    String label() {
        return label;
    }
}
