package dev.isthmus.gateway.extension;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.protobuf.ByteString;
import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.MapEntry;
import com.google.protobuf.Message;
import com.google.protobuf.MessageOrBuilder;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import dev.isthmus.proto.CudaSharedMemoryRegisterRequest;
import java.io.IOException;
import java.util.Base64;
import java.util.List;
import java.util.Objects;

/** The JSON of the shared memory extensions. */
final class SharedMemoryJson {
    static final JsonForm CUDA_REGISTER = new JsonForm(
            (json, into) -> {
                String text = json.path("raw_handle").path("b64").asText();
                ((CudaSharedMemoryRegisterRequest.Builder)
                                ProtobufJson.read(((ObjectNode) json).without("raw_handle"), into))
                        .setRawHandle(handle(text));
            },
            message -> {
                var request = (CudaSharedMemoryRegisterRequest) message;
                ObjectNode json = ProtobufJson.object();
                byte[] handle = request.getRawHandle().toByteArray();
                json.putObject("raw_handle").put("b64", Base64.getEncoder().encodeToString(handle));
                return json.put("device_id", request.getDeviceId()).put("byte_size", request.getByteSize());
            });

    /** An array of regions, which protobuf has as a map by name. */
    static final JsonForm REGIONS = new JsonForm(SharedMemoryJson::readRegions, SharedMemoryJson::writeRegions);

    private SharedMemoryJson() {}

    private static FieldDescriptor regions(MessageOrBuilder status) {
        return Objects.requireNonNull(status.getDescriptorForType().findFieldByName("regions"));
    }

    private static void readRegions(JsonNode json, Message.Builder into) throws IOException {
        FieldDescriptor regions = regions(into);
        for (JsonNode region : json) {
            Message.Builder entry = into.newBuilderForField(regions);
            FieldDescriptor key = regions.getMessageType().findFieldByNumber(1);
            FieldDescriptor value = regions.getMessageType().findFieldByNumber(2);
            entry.setField(key, region.path("name").asText());
            entry.setField(
                    value,
                    ProtobufJson.read(region, entry.newBuilderForField(value)).build());
            into.addRepeatedField(regions, entry.build());
        }
    }

    private static JsonNode writeRegions(Message message) {
        ArrayNode regions = ProtobufJson.array();
        for (Object each : (List<?>) message.getField(regions(message))) {
            regions.add(ProtobufJson.write((Message) ((MapEntry<?, ?>) each).getValue()));
        }
        return regions;
    }

    private static ByteString handle(String base64) {
        try {
            return ByteString.copyFrom(Base64.getDecoder().decode(base64));
        } catch (IllegalArgumentException e) {
            throw new OipException(ErrorCode.INVALID_ARGUMENT, "'raw_handle': base64 is expected", e);
        }
    }
}
