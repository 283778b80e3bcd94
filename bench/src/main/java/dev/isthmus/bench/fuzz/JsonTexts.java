package dev.isthmus.bench.fuzz;

import java.nio.charset.StandardCharsets;
import java.util.List;

/** Generates JSON documents of V2 over REST, valid or with mistakes. One instance per sequence. */
final class JsonTexts {
    static final List<String> TYPES = List.of(
            "BOOL", "UINT8", "UINT16", "UINT32", "UINT64", "INT8", "INT16", "INT32", "INT64", "FP16", "BF16", "FP32",
            "FP64", "BYTES");
    private static final List<String> KEYS = List.of(
            "id",
            "name",
            "shape",
            "datatype",
            "data",
            "parameters",
            "inputs",
            "outputs",
            "model_name",
            "model_version",
            "binary_data",
            "binary_data_size",
            "binary_data_output",
            "sequence_id",
            "sequence_start",
            "sequence_end",
            "priority",
            "timeout",
            "classification",
            "shared_memory_region",
            "shared_memory_byte_size",
            "content_type",
            "triton_enable_empty_final_response",
            "unload_dependents",
            "config",
            "file:1/model.onnx",
            "ready",
            "text_input",
            "stream");

    private final SeededChoices choices;
    /** The share of invalid values. */
    private final double mistakes;

    private final StringBuilder text = new StringBuilder();

    JsonTexts(SeededChoices choices) {
        this.choices = choices;
        this.mistakes = choices.pick(0.0, 0.0, 0.01, 0.1);
    }

    /** An inference request. */
    byte[] infer() {
        text.setLength(0);
        if (choices.chance(0.15)) {
            return extreme();
        }
        text.append('{');
        id();
        parameters();
        text.append("\"inputs\":[");
        int inputs = choices.chance(0.9) ? choices.between(1, 3) : choices.size(300);
        for (int i = 0; i < inputs; i++) {
            comma(i);
            tensor("x" + (i == 0 ? "" : i));
        }
        text.append(']');
        if (choices.chance(0.3)) {
            text.append(",\"outputs\":[{\"name\":\"y\"");
            if (choices.chance(0.5)) {
                text.append(",\"parameters\":{\"binary_data\":")
                        .append(choices.chance(0.5))
                        .append('}');
            }
            text.append("}]");
        }
        return end();
    }

    /** The JSON of a request with binary inputs of this many bytes each. */
    byte[] binary(int count, int bytes) {
        text.setLength(0);
        text.append("{\"inputs\":[");
        for (int i = 0; i < count; i++) {
            comma(i);
            text.append("{\"name\":\"x").append(i).append("\",\"datatype\":\"UINT8\",\"shape\":[");
            integer(bytes);
            text.append("],\"parameters\":{\"binary_data_size\":");
            integer(bytes);
            text.append("}}");
        }
        text.append(']');
        if (choices.chance(0.5)) {
            text.append(",\"parameters\":{\"binary_data_output\":true}");
        }
        return end();
    }

    /** An inference response. */
    byte[] inferred() {
        text.setLength(0);
        text.append("{\"model_name\":\"m\",");
        id();
        text.append("\"outputs\":[");
        tensor("y");
        text.append(']');
        return end();
    }

    /** A small document with the keys of the protocol, for management and {@code generate}. */
    byte[] any() {
        text.setLength(0);
        if (choices.chance(0.1)) {
            return extreme();
        }
        object(choices.below(4));
        return choices.spoil(text.toString().getBytes(StandardCharsets.UTF_8));
    }

    private byte[] end() {
        text.append('}');
        return choices.chance(0.8)
                ? text.toString().getBytes(StandardCharsets.UTF_8)
                : choices.spoil(text.toString().getBytes(StandardCharsets.UTF_8));
    }

    private void comma(int number) {
        if (number > 0) {
            text.append(wrong() ? ",," : ",");
        }
    }

    private boolean wrong() {
        return mistakes > 0 && choices.chance(mistakes);
    }

    private void id() {
        if (choices.chance(0.5)) {
            text.append("\"id\":");
            string(8);
            text.append(',');
        }
    }

    private void parameters() {
        if (choices.chance(0.3)) {
            text.append("\"parameters\":");
            object(0);
            text.append(',');
        }
    }

    private void tensor(String name) {
        String type = wrong() ? choices.pick("FP8", "", "fp32", "INT128") : choices.pick(TYPES);
        int rows = choices.below(4);
        int columns = choices.chance(0.9) ? 1 + choices.below(8) : choices.size(2_000);
        boolean before = choices.chance(0.1);
        text.append("{\"name\":\"").append(name).append("\",");
        if (before) {
            data(type, rows, columns);
            text.append(',');
        }
        text.append("\"shape\":[");
        integer(rows);
        text.append(',');
        integer(columns);
        text.append("],\"datatype\":\"").append(type).append('"');
        if (choices.chance(0.1)) {
            text.append(",\"parameters\":");
            object(0);
        }
        if (!before) {
            text.append(',');
            data(type, rows, columns);
        }
        text.append('}');
    }

    private void data(String type, int rows, int columns) {
        boolean nested = choices.chance(0.5);
        text.append("\"data\":[");
        for (int row = 0; row < rows; row++) {
            comma(row);
            text.append(nested ? "[" : "");
            for (int column = 0; column < columns; column++) {
                comma(column);
                element(type);
            }
            text.append(nested && !wrong() ? "]" : "");
        }
        text.append(']');
    }

    private void element(String type) {
        if (wrong()) {
            value(1);
            return;
        }
        switch (type) {
            case "BOOL" -> text.append(choices.chance(0.5));
            case "BYTES" -> string(12);
            case "FP16", "BF16", "FP32", "FP64" ->
                text.append(choices.pick(
                        "0.5", "-0", "1e-7", "NaN", "null", "3", "-1.25e2", "0.1000000000000000055511151231257827"));
            default -> text.append(choices.pick("0", "1", "7", "1.0", "100", "1e1"));
        }
    }

    private void integer(long right) {
        if (wrong()) {
            text.append(choices.pick(
                    Long.toString(choices.number()), "-1", "1e3", "9223372036854775808", "\"1\"", "1.5", "[]"));
        } else {
            text.append(right);
        }
    }

    private void object(int depth) {
        text.append('{');
        int count = choices.below(5);
        for (int i = 0; i < count; i++) {
            comma(i);
            text.append('"')
                    .append(choices.pick(KEYS))
                    .append(choices.chance(0.7) ? i : "")
                    .append("\":");
            value(depth);
        }
        text.append('}');
    }

    private void value(int depth) {
        switch (choices.below(depth > 0 ? 8 : 5)) {
            case 0 -> text.append(choices.pick("null", "true", "false", "NaN", "-Infinity", "nul", "tru"));
            case 1 -> text.append(choices.number());
            case 2 -> text.append(choices.pick("1e308", "1e309", "-0.0", "1E+2", "01", "1.", ".5", "-", "0x10"));
            case 3, 4 -> string(20);
            case 5, 6 -> object(depth - 1);
            default -> {
                text.append('[');
                value(depth - 1);
                text.append(']');
            }
        }
    }

    private void string(int most) {
        text.append('"');
        int length = choices.below(most + 1);
        for (int i = 0; i < length; i++) {
            text.append(
                    choices.chance(0.9)
                            ? Character.toString('a' + choices.below(26))
                            : choices.pick(
                                    "\\n",
                                    "\\u0041",
                                    "\\ud83d\\ude00",
                                    "\\ud800",
                                    "\u4e16",
                                    "\\\"",
                                    "\\x",
                                    "\u0001",
                                    "\\u00"));
        }
        text.append('"');
    }

    /** A document with an extreme amount of one element. */
    private byte[] extreme() {
        int much = choices.size(200_000);
        String head = "{\"inputs\":[{\"name\":\"x\",\"datatype\":\"" + choices.pick(TYPES) + "\",\"shape\":[1,4],";
        switch (choices.below(11)) {
            case 0 -> text.append(head).append("\"data\":").append("[".repeat(much));
            case 1 -> text.append(choices.pick("{\"a\":", "[").repeat(Math.min(much, 50_000)));
            case 2 -> {
                text.append("{\"parameters\":{");
                for (int i = 0; i < Math.min(much, 30_000); i++) {
                    text.append(i > 0 ? ",\"" : "\"")
                            .append(sameHash(i))
                            .append("\":")
                            .append(i);
                }
                text.append("}}");
            }
            case 3 ->
                text.append(head).append("\"data\":[").append("9".repeat(much)).append("]}]}");
            case 4 ->
                text.append(head)
                        .append("\"data\":[0.")
                        .append("1".repeat(much))
                        .append("e-")
                        .append(much)
                        .append("]}]}");
            case 5 ->
                text.append(head)
                        .append("\"data\":[\"")
                        .append(choices.pick("a", "\\n", "\\u0000", "\u4e16").repeat(much))
                        .append("\"]}]}");
            case 6 -> {
                text.append("{\"inputs\":[");
                for (int i = 0; i < Math.min(much, 6_000); i++) {
                    text.append(i > 0 ? "," : "")
                            .append("{\"name\":\"")
                            .append(i)
                            .append("\",\"datatype\":\"INT8\",\"shape\":[0],\"data\":[]}");
                }
                text.append("]}");
            }
            case 7 ->
                text.append("{\"inputs\":[{\"name\":\"x\",\"datatype\":\"FP32\",\"shape\":[")
                        .append("4611686018427387904,".repeat(Math.min(much, 100)))
                        .append("0],\"data\":[]}]}");
            case 8 ->
                text.append(head)
                        .append("\"data\":[")
                        .append("[],".repeat(much))
                        .append("[]]}]}");
            case 9 -> text.append(" ".repeat(much)).append("{}");
            default ->
                text.append(head).append("\"data\":[").append("0,".repeat(much)).append("0]}]}");
        }
        return text.toString().getBytes(StandardCharsets.UTF_8);
    }

    /** Names of equal length with the same {@link String#hashCode}. */
    private static String sameHash(int number) {
        StringBuilder name = new StringBuilder();
        for (int bit = 0; bit < 15; bit++) {
            name.append((number >> bit & 1) == 0 ? "Aa" : "BB");
        }
        return name.toString();
    }
}
