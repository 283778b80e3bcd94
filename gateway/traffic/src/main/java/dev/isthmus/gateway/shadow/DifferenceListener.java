package dev.isthmus.gateway.shadow;

/** Receives how far shadow responses differ from primary ones. Called on the comparison thread. */
@FunctionalInterface
public interface DifferenceListener {

    DifferenceListener NONE = (model, shadow, difference) -> {};

    /**
     * Two responses were compared.
     *
     * @param model the route's key
     * @param difference the largest absolute difference of two numbers; infinite if outputs differ in name, datatype or
     *     shape, if NaN or infinity is compared with anything else, or if the shadow's response cannot be decoded
     */
    void compared(String model, String shadow, double difference);
}
