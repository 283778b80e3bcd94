package dev.isthmus.gateway.catalogue;

import dev.isthmus.oip.ModelMetadata;
import dev.isthmus.oip.ModelMetadata.TensorMetadata;
import dev.isthmus.oip.Shape;
import dev.isthmus.proto.ModelMetadataResponse;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/** Recorded responses of the real servers. */
public final class Golden {

    private Golden() {}

    /** A JSON document. */
    public static byte[] json(String name) throws IOException {
        return content(name + ".json");
    }

    /** A protobuf message. */
    public static byte[] message(String name) throws IOException {
        return Base64.getDecoder().decode(new String(content(name + ".b64"), StandardCharsets.US_ASCII).strip());
    }

    static ModelMetadata model(String name) throws IOException {
        ModelMetadataResponse model = ModelMetadataResponse.parseFrom(message(name));
        return new ModelMetadata(
                model.getName(),
                model.getVersionsList(),
                model.getPlatform(),
                tensors(model.getInputsList()),
                tensors(model.getOutputsList()),
                Map.of());
    }

    private static List<TensorMetadata> tensors(List<ModelMetadataResponse.TensorMetadata> tensors) {
        return tensors.stream()
                .map(tensor -> new TensorMetadata(
                        tensor.getName(),
                        tensor.getDatatype(),
                        Shape.of(tensor.getShapeList().stream()
                                .mapToLong(Long::longValue)
                                .toArray()),
                        Map.of()))
                .toList();
    }

    private static byte[] content(String name) throws IOException {
        try (InputStream stream = Golden.class.getResourceAsStream(name)) {
            return Objects.requireNonNull(stream, name).readAllBytes();
        }
    }
}
