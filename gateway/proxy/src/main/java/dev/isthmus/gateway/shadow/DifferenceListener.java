package dev.isthmus.gateway.shadow;

/** Hears how far the answers of shadows are from the main ones. Called on the thread that compares. */
@FunctionalInterface
public interface DifferenceListener {

    DifferenceListener NONE = (model, shadow, difference) -> {};

    /**
     * Two answers were compared.
     *
     * @param model the route's key
     * @param difference the largest absolute difference of two numbers; infinite where outputs differ in name, datatype or
     *     shape, where a NaN or an infinity stands against anything else, or where the shadow's answer cannot be read
     */
    void compared(String model, String shadow, double difference);
}
