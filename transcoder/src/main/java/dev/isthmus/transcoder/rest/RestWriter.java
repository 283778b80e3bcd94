package dev.isthmus.transcoder.rest;

import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.InferResponse;
import dev.isthmus.oip.Parameter;
import dev.isthmus.oip.RequestedOutput;
import dev.isthmus.oip.Tensor;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.CompositeByteBuf;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;

/** Writes inference requests and answers for the REST wire. */
public final class RestWriter {
    private RestWriter() {}

    /**
     * Writes a request for an upstream.
     *
     * @param request taken
     * @param binary whether the upstream knows the binary tensor data extension: inputs then go as binary data, and all
     *     outputs are asked for as binary data; otherwise everything is JSON
     */
    public static RestBody request(ByteBufAllocator allocator, InferRequest request, boolean binary) {
        JsonWriter json = new JsonWriter(allocator);
        try {
            json.open('{');
            if (!request.id().isEmpty()) {
                json.key("id").text(request.id());
            }
            json.parameters(request.parameters(), binary && request.outputs().isEmpty() ? "binary_data_output" : "");
            tensors(json, "inputs", request.inputs(), name -> binary);
            if (!request.outputs().isEmpty()) {
                json.key("outputs").open('[');
                for (RequestedOutput output : request.outputs()) {
                    json.open('{').key("name").text(output.name());
                    json.parameters(output.parameters(), binary ? "binary_data" : "");
                    json.close('}');
                }
                json.close(']');
            }
            json.close('}');
            return body(allocator, json.take(), request.inputs(), name -> binary);
        } finally {
            json.release();
            request.release();
        }
    }

    /**
     * Writes an answer for a client, in Triton's order of keys.
     *
     * @param response taken
     */
    public static RestBody response(ByteBufAllocator allocator, InferResponse response, OutputForms forms) {
        JsonWriter json = new JsonWriter(allocator);
        try {
            json.open('{');
            if (!response.id().isEmpty()) {
                json.key("id").text(response.id());
            }
            json.key("model_name").text(response.model().name());
            if (!response.model().version().isEmpty()) {
                json.key("model_version").text(response.model().version());
            }
            json.parameters(response.parameters(), "");
            tensors(json, "outputs", response.outputs(), forms::binary);
            json.close('}');
            return body(allocator, json.take(), response.outputs(), forms::binary);
        } finally {
            json.release();
            response.release();
        }
    }

    private static void tensors(JsonWriter json, String key, List<Tensor> tensors, Predicate<String> binary) {
        json.key(key).open('[');
        for (Tensor tensor : tensors) {
            ByteBuf data = tensor.data();
            boolean apart = binary.test(tensor.name());
            boolean base64 = !apart && TensorText.needsBase64(tensor);
            json.open('{').key("name").text(tensor.name());
            json.key("datatype").text(tensor.dataType().name());
            json.key("shape").raw(tensor.shape().toString());
            Map<String, Parameter> parameters = tensor.parameters();
            if (apart) {
                json.parameters(parameters, "binary_data_size", new Parameter.Int64(data.readableBytes()));
            } else {
                if (base64) {
                    json.parameters(parameters, "content_type", new Parameter.Text("base64"));
                } else {
                    json.parameters(parameters, "");
                }
                json.key("data");
                TensorText.write(tensor, base64, json);
            }
            json.close('}');
        }
        json.close(']');
    }

    /** Puts the binary tensors behind the JSON, without copying them. Takes {@code json}; tensors are borrowed. */
    private static RestBody body(
            ByteBufAllocator allocator, ByteBuf json, List<Tensor> tensors, Predicate<String> binary) {
        CompositeByteBuf whole = null;
        for (Tensor tensor : tensors) {
            if (binary.test(tensor.name()) && tensor.data().isReadable()) {
                if (whole == null) {
                    whole = allocator.compositeBuffer(Integer.MAX_VALUE).addComponent(true, json);
                }
                whole.addFlattenedComponents(true, tensor.data().retainedSlice());
            }
        }
        return whole == null ? new RestBody(json, RestBody.ALL_JSON) : new RestBody(whole, json.readableBytes());
    }
}
