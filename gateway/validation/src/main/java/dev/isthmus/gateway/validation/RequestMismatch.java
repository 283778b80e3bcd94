package dev.isthmus.gateway.validation;

/**
 * One difference between a request and the metadata of its model.
 *
 * @param tensor the name of the input or output
 * @param expected what the model declares
 * @param got what the request has; empty if a tensor is missing or unknown
 */
public record RequestMismatch(MismatchReason reason, String tensor, String expected, String got) {

    /**
     * In words.
     *
     * @param model as the client names it
     */
    public String text(String model) {
        String input = "input '" + tensor + "' of model '" + model + "'";
        return switch (reason) {
            case MISSING_INPUT -> input + " is missing: " + expected + " is expected";
            case UNKNOWN_INPUT -> "model '" + model + "' has no input '" + tensor + "': " + expected + " is expected";
            case DATATYPE -> input + ": datatype " + expected + " is expected, got " + got;
            case SHAPE -> input + ": shape " + expected + " is expected, got " + got;
            case UNKNOWN_OUTPUT -> "model '" + model + "' has no output '" + tensor + "': " + expected + " is expected";
        };
    }
}
