package dev.isthmus.gateway.settings;

/**
 * The settings of a layer that a jar brings: a public record with a component for each key, as the gateway's own sections
 * are: {@link Doc} describes it, {@link Required} and {@link Default} say what holds if it is missing, {@link Range},
 * {@link Size} and the like what is allowed. Its constructor may check more: an {@link IllegalArgumentException} is
 * reported with the line of the section. Implemented through {@code LayerFactory}.
 */
public interface LayerSettings {
    /** Version of the interface between the gateway and a layer; the manifest of a jar says for which one it was made. */
    int INTERFACE_VERSION = 1;
}
