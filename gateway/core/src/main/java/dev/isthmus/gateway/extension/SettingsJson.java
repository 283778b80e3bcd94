package dev.isthmus.gateway.extension;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.Message;
import dev.isthmus.oip.OipException;
import dev.isthmus.proto.LogSettingsRequest;
import dev.isthmus.proto.TraceSettingRequest;

/** Trace and log settings: members of the JSON body, a map in protobuf. */
final class SettingsJson {
    static final JsonForm TRACE_REQUEST =
            new JsonForm((json, into) -> trace(json, into, true), message -> trace(message, true));
    static final JsonForm TRACE_RESPONSE =
            new JsonForm((json, into) -> trace(json, into, false), message -> trace(message, false));

    /** Requests and responses are encoded alike. */
    static final JsonForm LOG = new JsonForm(SettingsJson::log, SettingsJson::log);

    private SettingsJson() {}

    /**
     * Requests and responses are encoded alike.
     *
     * @param resets whether null resets a setting to the configured value
     */
    private static void trace(JsonNode json, Message.Builder into, boolean resets)
            throws InvalidProtocolBufferException {
        TraceSettingRequest.Builder settings = TraceSettingRequest.newBuilder();
        json.properties().forEach(setting -> {
            var value = TraceSettingRequest.SettingValue.newBuilder();
            if (setting.getValue().isArray()) {
                setting.getValue().forEach(each -> value.addValue(each.asText()));
            } else if (!resets || !setting.getValue().isNull()) {
                value.addValue(setting.getValue().asText());
            }
            settings.putSettings(setting.getKey(), value.build());
        });
        into.mergeFrom(settings.build().toByteString());
    }

    private static JsonNode trace(Message message, boolean resets) throws InvalidProtocolBufferException {
        ObjectNode json = ProtobufJson.object();
        TraceSettingRequest.parseFrom(message.toByteString()).getSettingsMap().forEach((name, value) -> {
            if (resets && value.getValueCount() == 0) {
                json.putNull(name);
            } else {
                put(json, name, value.getValueList());
            }
        });
        return json;
    }

    /** Trace levels are a list; every other setting has one value. */
    private static void put(ObjectNode json, String name, Iterable<String> values) {
        if (name.equals("trace_level")) {
            ArrayNode list = json.putArray(name);
            values.forEach(list::add);
        } else {
            values.forEach(value -> json.put(name, value));
        }
    }

    private static void log(JsonNode json, Message.Builder into) throws InvalidProtocolBufferException {
        LogSettingsRequest.Builder request = LogSettingsRequest.newBuilder();
        json.properties().forEach(setting -> {
            var value = LogSettingsRequest.SettingValue.newBuilder();
            if (setting.getValue().isBoolean()) {
                value.setBoolParam(setting.getValue().booleanValue());
            } else if (setting.getValue().isIntegralNumber()) {
                value.setUint32Param(unsigned(setting.getKey(), setting.getValue()));
            } else if (setting.getValue().isValueNode() && !setting.getValue().isNull()) {
                value.setStringParam(setting.getValue().asText());
            } else if (!setting.getValue().isNull()) {
                throw OipException.invalid(
                        "setting '" + setting.getKey() + "': a string, an integer or a boolean is expected");
            }
            request.putSettings(setting.getKey(), value.build());
        });
        into.mergeFrom(request.build().toByteString());
    }

    private static int unsigned(String name, JsonNode value) {
        if (!value.canConvertToLong() || value.longValue() >>> Integer.SIZE != 0) {
            throw OipException.invalid(
                    "setting '" + name + "': an integer of 0 to 4294967295 is expected, got " + value);
        }
        return value.intValue();
    }

    private static JsonNode log(Message settings) throws InvalidProtocolBufferException {
        ObjectNode json = ProtobufJson.object();
        LogSettingsRequest.parseFrom(settings.toByteString()).getSettingsMap().forEach((name, value) -> {
            switch (value.getParameterChoiceCase()) {
                case BOOL_PARAM -> json.put(name, value.getBoolParam());
                case UINT32_PARAM -> json.put(name, Integer.toUnsignedLong(value.getUint32Param()));
                case STRING_PARAM -> json.put(name, value.getStringParam());
                case PARAMETERCHOICE_NOT_SET -> json.putNull(name);
            }
        });
        return json;
    }
}
