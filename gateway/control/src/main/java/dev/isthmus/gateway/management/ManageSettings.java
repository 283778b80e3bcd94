package dev.isthmus.gateway.management;

import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.isthmus.oip.OipException;
import dev.isthmus.proto.LogSettingsRequest;

/** What requests and answers of the management extensions have in common: settings, and what cannot be turned. */
final class ManageSettings {
    static final ObjectMapper JSON = new ObjectMapper().enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS);

    private ManageSettings() {}

    static LogSettingsRequest log(JsonNode settings) {
        LogSettingsRequest.Builder request = LogSettingsRequest.newBuilder();
        settings.properties().forEach(setting -> {
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
        return request.build();
    }

    static int unsigned(String name, JsonNode value) {
        if (!value.canConvertToLong() || value.longValue() >>> Integer.SIZE != 0) {
            throw OipException.invalid(
                    "setting '" + name + "': an integer of 0 to 4294967295 is expected, got " + value);
        }
        return value.intValue();
    }

    /** Levels of tracing are a list, everything else one value. */
    static void setting(ObjectNode json, String name, Iterable<String> values) {
        if (name.equals("trace_level")) {
            ArrayNode list = json.putArray(name);
            values.forEach(list::add);
        } else {
            values.forEach(value -> json.put(name, value));
        }
    }
}
