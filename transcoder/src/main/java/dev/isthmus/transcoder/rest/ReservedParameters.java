package dev.isthmus.transcoder.rest;

import dev.isthmus.oip.OipException;
import dev.isthmus.oip.Parameter;

/** Checks the types of the request parameters that the protocol documents define: sequence and schedule policy. */
final class ReservedParameters {
    private ReservedParameters() {}

    /** @throws OipException INVALID_ARGUMENT for a reserved name with a value of another type */
    static void require(String name, Parameter value) {
        boolean right = switch (name) {
            case "sequence_id" -> value instanceof Parameter.Text || unsigned(value);
            case "sequence_start", "sequence_end" -> value instanceof Parameter.Bool;
            case "priority", "timeout" -> unsigned(value);
            default -> true;
        };
        if (!right) {
            throw OipException.invalid("parameter '" + name + "': "
                    + (name.startsWith("sequence_s") || name.startsWith("sequence_e")
                            ? "a boolean"
                            : name.equals("sequence_id")
                                    ? "an integer of 0 or more, or a string,"
                                    : "an integer of 0 or more")
                    + " is expected, got " + shown(value));
        }
    }

    private static boolean unsigned(Parameter value) {
        return value instanceof Parameter.Uint64 || (value instanceof Parameter.Int64 int64 && int64.value() >= 0);
    }

    private static String shown(Parameter value) {
        return value instanceof Parameter.Text text ? "'" + text.value() + "'" : value.text();
    }
}
