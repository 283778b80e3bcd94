package dev.isthmus.gateway.extension;

import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.protobuf.Descriptors.EnumValueDescriptor;
import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.MapEntry;
import com.google.protobuf.Message;
import java.io.IOException;
import java.math.BigInteger;
import java.util.List;
import java.util.Set;

/**
 * Protobuf messages in Triton's JSON, which differs from protobuf's JSON mapping: names with underscores, 64-bit
 * integers as numbers except in two fields, default values written.
 */
final class ProtobufJson {
    static final ObjectMapper JSON = new ObjectMapper().enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS);
    private static final BigInteger UINT64 = BigInteger.ONE.shiftLeft(64);
    /** The 64-bit integers that Triton writes as protobuf's JSON mapping does, as strings. */
    private static final Set<String> STRINGS = Set.of(
            "triton.ModelInstanceGroup.SecondaryDevice.device_id", "triton.ModelSequenceBatching.InitialState.dims");

    private ProtobufJson() {}

    static ObjectNode object() {
        return JSON.createObjectNode();
    }

    static ArrayNode array() {
        return JSON.createArrayNode();
    }

    static ObjectNode write(Message message) {
        ObjectNode json = JSON.createObjectNode();
        for (FieldDescriptor field : message.getDescriptorForType().getFields()) {
            Object value = message.getField(field);
            if (field.isMapField()) {
                ObjectNode map = json.putObject(field.getName());
                ((List<?>) value).forEach(each -> {
                    MapEntry<?, ?> entry = (MapEntry<?, ?>) each;
                    map.set(
                            entry.getKey().toString(),
                            value(field.getMessageType().findFieldByNumber(2), entry.getValue()));
                });
            } else if (field.isRepeated()) {
                ArrayNode array = json.putArray(field.getName());
                ((List<?>) value).forEach(each -> array.add(value(field, each)));
            } else if (!field.hasPresence() || message.hasField(field)) {
                json.set(field.getName(), value(field, value));
            }
        }
        return json;
    }

    private static JsonNode value(FieldDescriptor field, Object value) {
        return switch (field.getJavaType()) {
            case MESSAGE -> write((Message) value);
            case LONG -> {
                long number = (Long) value;
                if (STRINGS.contains(field.getFullName())) {
                    yield JSON.getNodeFactory().textNode(Long.toString(number));
                }
                boolean wraps = field.getType() == FieldDescriptor.Type.UINT64 && number < 0;
                yield wraps
                        ? JSON.getNodeFactory()
                                .numberNode(BigInteger.valueOf(number).add(UINT64))
                        : JSON.getNodeFactory().numberNode(number);
            }
            case BOOLEAN -> JSON.getNodeFactory().booleanNode((Boolean) value);
            case STRING -> JSON.getNodeFactory().textNode((String) value);
            case ENUM -> JSON.getNodeFactory().textNode(value.toString());
            case INT -> {
                int number = (Integer) value;
                boolean unsigned = field.getType() == FieldDescriptor.Type.UINT32;
                yield JSON.getNodeFactory().numberNode(unsigned ? Integer.toUnsignedLong(number) : number);
            }
            case FLOAT -> JSON.getNodeFactory().numberNode((Float) value);
            case DOUBLE -> JSON.getNodeFactory().numberNode((Double) value);
            case BYTE_STRING -> throw unsupported(field);
        };
    }

    /**
     * Reads a message into the builder; unknown members are ignored.
     *
     * @throws IOException if a member does not match its field's type
     */
    static <T extends Message.Builder> T read(JsonNode json, T builder) throws IOException {
        if (!json.isObject()) {
            throw new IOException(builder.getDescriptorForType().getName() + ": an object is expected, got " + json);
        }
        for (FieldDescriptor field : builder.getDescriptorForType().getFields()) {
            JsonNode value = json.path(field.getName());
            if (value.isMissingNode() || value.isNull()) {
                continue;
            }
            if (field.isMapField()) {
                for (var each : value.properties()) {
                    Message.Builder entry = builder.newBuilderForField(field);
                    FieldDescriptor key = field.getMessageType().findFieldByNumber(1);
                    FieldDescriptor content = field.getMessageType().findFieldByNumber(2);
                    entry.setField(key, element(key, JSON.getNodeFactory().textNode(each.getKey()), entry));
                    entry.setField(content, element(content, each.getValue(), entry));
                    builder.addRepeatedField(field, entry.build());
                }
            } else if (field.isRepeated()) {
                for (JsonNode each : value) {
                    builder.addRepeatedField(field, element(field, each, builder));
                }
            } else {
                builder.setField(field, element(field, value, builder));
            }
        }
        return builder;
    }

    private static Object element(FieldDescriptor field, JsonNode value, Message.Builder builder) throws IOException {
        return switch (field.getJavaType()) {
            case MESSAGE -> read(value, builder.newBuilderForField(field)).build();
            case LONG -> integer(field, value).longValue();
            case INT -> integer(field, value).intValue();
            case FLOAT -> number(field, value).floatValue();
            case DOUBLE -> number(field, value).doubleValue();
            case BOOLEAN -> value.asBoolean();
            case STRING -> value.asText();
            case ENUM -> constant(field, value);
            case BYTE_STRING -> throw unsupported(field);
        };
    }

    /** Protobuf's JSON mapping writes 64-bit integers and map keys as strings; so does Triton in some fields. */
    private static BigInteger integer(FieldDescriptor field, JsonNode value) throws IOException {
        boolean unsigned =
                field.getType() == FieldDescriptor.Type.UINT64 || field.getType() == FieldDescriptor.Type.UINT32;
        int bits = field.getJavaType() == FieldDescriptor.JavaType.LONG ? Long.SIZE : Integer.SIZE;
        try {
            BigInteger number = new BigInteger(value.asText());
            if (unsigned ? number.signum() >= 0 && number.bitLength() <= bits : number.bitLength() < bits) {
                return number;
            }
        } catch (NumberFormatException e) {
            // Refused below.
        }
        throw new IOException(field.getName() + ": an integer of " + bits + " bits is expected, got " + value);
    }

    private static JsonNode number(FieldDescriptor field, JsonNode value) throws IOException {
        if (!value.isNumber()) {
            throw new IOException(field.getName() + ": a number is expected, got " + value);
        }
        return value;
    }

    private static EnumValueDescriptor constant(FieldDescriptor field, JsonNode value) throws IOException {
        EnumValueDescriptor constant = field.getEnumType().findValueByName(value.asText());
        if (constant == null) {
            throw new IOException(
                    field.getName() + ": a value of " + field.getEnumType().getName() + " is expected, got " + value);
        }
        return constant;
    }

    private static IllegalArgumentException unsupported(FieldDescriptor field) {
        return new IllegalArgumentException(field.getFullName() + " has a type that management extensions do not use");
    }
}
