package dev.isthmus.transcoder.rest;

import dev.isthmus.oip.DataType;
import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.InferResponse;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.Parameter;
import dev.isthmus.oip.RequestedOutput;
import dev.isthmus.oip.Shape;
import dev.isthmus.oip.Tensor;
import dev.isthmus.transcoder.json.JsonWriter;
import dev.isthmus.transcoder.message.Dialect;
import dev.isthmus.transcoder.message.NonFinite;
import dev.isthmus.transcoder.message.ServerFeatures;
import dev.isthmus.transcoder.message.StreamParameters;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.CompositeByteBuf;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Writes inference requests and responses for the REST wire. */
public final class RestWriter {
    private RestWriter() {}

    /**
     * Writes a request for an upstream.
     *
     * @param request taken
     * @param plainInputs the names of inputs that are always written as JSON
     * @param peer if it supports the binary tensor data extension, inputs are written and all outputs are requested as
     *     binary data; otherwise everything is JSON
     * @throws OipException INVALID_ARGUMENT for values that the server's JSON cannot represent
     */
    public static RestBody request(
            ByteBufAllocator allocator, InferRequest request, ServerFeatures peer, Set<String> plainInputs) {
        OutputForms forms = peer.binaryTensorData()
                ? OutputForms.binaryExcept(plainInputs)
                : OutputForms.JSON.with(peer.dialect().nonFinite());
        return request(allocator, request, forms, peer);
    }

    /**
     * Writes a request in this form, for whoever reads all that the protocol documents allow.
     *
     * @param request taken
     */
    public static RestBody request(ByteBufAllocator allocator, InferRequest request, OutputForms forms) {
        return request(allocator, request, forms, null);
    }

    /** @param peer null for one that reads all that the protocol documents allow */
    private static RestBody request(
            ByteBufAllocator allocator, InferRequest request, OutputForms forms, @Nullable ServerFeatures peer) {
        Dialect dialect = peer == null ? Dialect.GENERIC : peer.dialect();
        boolean binary = peer != null && peer.binaryTensorData();
        JsonWriter json = writer(allocator, request::release);
        try {
            json.open('{');
            // An id left out here is restored later: responses get the request's id.
            if (!request.id().isEmpty() && dialect.acceptsId(request.id())) {
                json.key("id").text(request.id());
            }
            boolean allBinary = binary && (request.outputs().isEmpty() || dialect.binaryOutputTwice());
            Map<String, Parameter> parameters =
                    peer == null ? request.parameters() : StreamParameters.without(request.parameters());
            ParametersWriter.write(json, parameters, allBinary ? "binary_data_output" : "");
            if (peer != null) {
                requireJson(request, peer);
            }
            tensors(json, "inputs", request.inputs(), forms, true);
            if (!request.outputs().isEmpty()) {
                outputs(json, request.outputs(), binary);
            }
            json.close('}');
            return body(allocator, json.take(), request.inputs(), forms);
        } finally {
            json.release();
            request.release();
        }
    }

    /** A writer; if there is no memory for it, the message is released. */
    private static JsonWriter writer(ByteBufAllocator allocator, Runnable release) {
        try {
            return new JsonWriter(allocator);
        } catch (OutOfMemoryError e) {
            release.run();
            throw e;
        }
    }

    private static void outputs(JsonWriter json, List<RequestedOutput> outputs, boolean binary) {
        json.key("outputs").open('[');
        for (RequestedOutput output : outputs) {
            json.open('{').key("name").text(output.name());
            ParametersWriter.write(json, output.parameters(), binary && !output.shared() ? "binary_data" : "");
            json.close('}');
        }
        json.close(']');
    }

    /**
     * Writes a response for a client, with keys in Triton's order.
     *
     * @param response taken
     */
    public static RestBody response(ByteBufAllocator allocator, InferResponse response, OutputForms forms) {
        JsonWriter json = writer(allocator, response::release);
        try {
            head(json, response);
            tensors(json, "outputs", response.outputs(), forms, false);
            json.close('}');
            return body(allocator, json.take(), response.outputs(), forms);
        } finally {
            json.release();
            response.release();
        }
    }

    /** Writes everything before the outputs. */
    static void head(JsonWriter json, InferResponse response) {
        json.open('{');
        if (!response.id().isEmpty()) {
            json.key("id").text(response.id());
        }
        json.key("model_name").text(response.model().name());
        if (!response.model().version().isEmpty()) {
            json.key("model_version").text(response.model().version());
        }
        ParametersWriter.write(json, response.parameters(), "");
    }

    /** Requires that a server without binary data receives no values that its JSON would lose. */
    private static void requireJson(InferRequest request, ServerFeatures peer) {
        if (peer.binaryTensorData()) {
            return;
        }
        for (Tensor input : request.inputs()) {
            if (!peer.dialect().base64() && TensorText.needsBase64(input)) {
                throw OipException.invalid("input '" + input.name()
                        + "': its BYTES are not UTF-8, and the model's server accepts nothing else as JSON");
            }
            if (peer.dialect().nonFinite() == NonFinite.NULL && TensorText.hasInfinity(input)) {
                throw OipException.invalid("input '" + input.name()
                        + "': it has infinite values, which the model's server cannot read as JSON");
            }
        }
    }

    /** @param requests whether tensors without elements are written as JSON, because some servers then require data */
    private static void tensors(
            JsonWriter json, String key, List<Tensor> tensors, OutputForms forms, boolean requests) {
        json.key(key).open('[');
        for (Tensor tensor : tensors) {
            ByteBuf data = tensor.data();
            boolean asBinary = forms.binary(tensor.name()) && !(requests && !data.isReadable());
            if (tensor.shared()) {
                description(json, tensor);
                ParametersWriter.write(json, requests ? tensor.parameters() : tensor.responseParameters(), "");
            } else if (asBinary) {
                description(json, tensor);
                Parameter size = new Parameter.Int64(data.readableBytes());
                ParametersWriter.write(json, tensor.parameters(), "binary_data_size", size);
            } else {
                boolean base64 = base64(tensor, forms);
                openTensor(json, tensor, base64);
                TensorText.write(tensor, base64, forms.nonFinite(), json);
            }
            json.close('}');
        }
        json.close(']');
    }

    /** Whether it has to be encoded: it is no text, or the client asks for base64, which its server has not written. */
    static boolean base64(Tensor tensor, OutputForms forms) {
        boolean asked = forms.base64().contains(tensor.name()) && !ParameterValue.base64(tensor.parameters());
        return tensor.dataType() == DataType.BYTES && (asked || TensorText.needsBase64(tensor));
    }

    private static void description(JsonWriter json, Tensor tensor) {
        json.open('{').key("name").text(tensor.name());
        json.key("datatype").text(tensor.dataType().name());
        json.key("shape").open('[');
        Shape shape = tensor.shape();
        for (int i = 0; i < shape.rank(); i++) {
            json.raw(Long.toString(shape.extent(i)));
        }
        json.close(']');
    }

    /** Opens the object of a tensor whose data is JSON; the data must be written next. */
    static void openTensor(JsonWriter json, Tensor tensor, boolean base64) {
        description(json, tensor);
        if (base64) {
            ParametersWriter.write(json, tensor.parameters(), "content_type", new Parameter.Text("base64"));
        } else {
            ParametersWriter.write(json, tensor.parameters(), "");
        }
        json.key("data");
    }

    /** Appends the binary tensors to the JSON without copying them. {@code json} is taken; tensors are borrowed. */
    private static RestBody body(ByteBufAllocator allocator, ByteBuf json, List<Tensor> tensors, OutputForms forms) {
        CompositeByteBuf whole = null;
        for (Tensor tensor : tensors) {
            if (forms.binary(tensor.name()) && tensor.data().isReadable()) {
                if (whole == null) {
                    whole = allocator.compositeBuffer(Integer.MAX_VALUE).addComponent(true, json);
                }
                whole.addFlattenedComponents(true, tensor.data().retainedSlice());
            }
        }
        return whole == null ? new RestBody(json, RestBody.ALL_JSON) : new RestBody(whole, json.readableBytes());
    }

    /** Writes the member {@code parameters} of requests, responses and tensors. */
    private static final class ParametersWriter {
        private ParametersWriter() {}

        /** Writes the parameters, if there are any. {@code flag}, if not empty, is added as true. */
        static void write(JsonWriter json, Map<String, Parameter> parameters, String flag) {
            if (!flag.isEmpty()) {
                write(json, parameters, flag, new Parameter.Bool(true));
            } else if (!parameters.isEmpty()) {
                json.key("parameters").open('{');
                parameters.forEach((name, value) -> parameter(json, name, value));
                json.close('}');
            }
        }

        /** Writes the parameters with one more, which replaces one of the same name. */
        static void write(JsonWriter json, Map<String, Parameter> parameters, String name, Parameter value) {
            json.key("parameters").open('{');
            parameters.forEach((other, its) -> {
                if (!other.equals(name)) {
                    parameter(json, other, its);
                }
            });
            parameter(json, name, value);
            json.close('}');
        }

        private static void parameter(JsonWriter json, String name, Parameter value) {
            json.key(name);
            Parameter given = Parameter.unsigned(name, value);
            switch (given) {
                // JSON has no numbers for NaN and the infinities.
                case Parameter.Float64 number when !Double.isFinite(number.value()) -> json.text(given.text());
                case Parameter.Bool _, Parameter.Int64 _, Parameter.Uint64 _, Parameter.Float64 _ ->
                    json.raw(given.text());
                case Parameter.Text text -> json.text(text.value());
                case Parameter.Json any -> {
                    json.item();
                    ByteBufUtil.writeUtf8(json.out(), any.text());
                }
            }
        }
    }
}
