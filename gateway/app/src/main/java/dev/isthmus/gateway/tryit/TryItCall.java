package dev.isthmus.gateway.tryit;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.isthmus.gateway.diagnosis.LiveCalls;
import dev.isthmus.gateway.replay.ReplayClient;
import dev.isthmus.gateway.replay.ReplayClient.ServerConnection;
import dev.isthmus.gateway.settings.GatewayConfig.BinaryTensorData;
import dev.isthmus.gateway.tryit.TryItRequest.RequestForm;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.InferResponse;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.Tensor;
import dev.isthmus.transcoder.message.NonFinite;
import dev.isthmus.transcoder.rest.OutputForms;
import dev.isthmus.transcoder.rest.RestBody;
import dev.isthmus.transcoder.rest.RestRequest;
import dev.isthmus.transcoder.rest.RestWriter;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.ByteBufUtil;
import java.io.IOException;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** One request through a listener of this gateway, and the document of what became of it. */
final class TryItCall {
    /** The raw size of a response that is shown. */
    private static final long MAX_SHOWN = 4 << 20;

    private static final int TIMELINE_SECONDS = 5;
    private static final ByteBufAllocator ALLOCATOR = ByteBufAllocator.DEFAULT;

    private final TryItRequest request;
    private final OwnListener listener;
    private final String id;
    private final LiveCalls timelines;
    private final ObjectNode answer = TryItInput.JSON.createObjectNode();

    /** @param id of the request */
    TryItCall(TryItRequest request, OwnListener listener, String id, LiveCalls timelines) {
        this.request = request;
        this.listener = listener;
        this.id = id;
        this.timelines = timelines;
    }

    /**
     * Sends the request (taken). Blocks until the response.
     *
     * @throws OipException if the gateway cannot be called; its refusals are part of the document
     */
    ObjectNode send(RestRequest decoded) {
        answer.put("request_id", id).put("listener", listener.loopback().toString());
        CompletableFuture<Map<String, Object>> timeline = timelines.await(id);
        try (ReplayClient client = client(decoded)) {
            long from = System.nanoTime();
            infer(client, decoded);
            answer.put("milliseconds", (System.nanoTime() - from) / 1e6);
            answer.set("timeline", timeline(timeline));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new OipException(ErrorCode.CANCELLED, "the gateway is shutting down", e);
        } finally {
            timelines.forget(id);
        }
        return answer;
    }

    private ReplayClient client(RestRequest decoded) {
        Map<String, String> headers = new HashMap<>(request.headers());
        headers.put("x-request-id", id);
        BinaryTensorData binary = request.form() == RequestForm.BINARY ? BinaryTensorData.TRUE : BinaryTensorData.FALSE;
        try {
            return new ReplayClient(
                    new ServerConnection(
                            listener.loopback(),
                            listener.certificate(),
                            request.form() == RequestForm.GRPC,
                            binary,
                            headers,
                            1),
                    listener.certifiedName());
        } catch (IOException | RuntimeException e) {
            decoded.request().release();
            throw e instanceof OipException known
                    ? known
                    : new OipException(ErrorCode.UNAVAILABLE, "the listener cannot be called: " + e.getMessage(), e);
        }
    }

    private void infer(ReplayClient client, RestRequest decoded) throws InterruptedException {
        InferResponse response;
        try {
            response = client.infer(decoded, request.model());
        } catch (OipException failure) {
            answer.put("status", failure.code().httpStatus())
                    .put("code", failure.code().name())
                    .put("error", failure.message());
            return;
        }
        try {
            answer.put("status", 200).put("code", "OK").set("response", shown(response));
        } finally {
            response.release();
        }
    }

    /** The response in JSON, with numbers that a browser reads as they are. */
    private static JsonNode shown(InferResponse response) {
        long bytes = response.outputs().stream()
                .mapToLong(output -> output.data().readableBytes())
                .sum();
        if (bytes > MAX_SHOWN) {
            return omitted(response);
        }
        RestBody body = RestWriter.response(ALLOCATOR, response.retained(), OutputForms.JSON.with(NonFinite.STRING));
        try {
            JsonNode json = TryItInput.JSON.readTree(ByteBufUtil.getBytes(body.content()));
            for (JsonNode output : json.path("outputs")) {
                if (output.path("data") instanceof ArrayNode data) {
                    for (int i = 0; i < data.size(); i++) {
                        data.set(i, TryItInput.exact(data.get(i)));
                    }
                }
            }
            return json;
        } catch (IOException e) {
            throw new IllegalStateException("the gateway's own JSON is not valid", e);
        } finally {
            body.release();
        }
    }

    private static ObjectNode omitted(InferResponse response) {
        ObjectNode json = TryItInput.JSON
                .createObjectNode()
                .put("model_name", response.model().name())
                .put("model_version", response.model().version());
        ArrayNode outputs = json.putArray("outputs");
        for (Tensor output : response.outputs()) {
            ObjectNode node = outputs.addObject()
                    .put("name", output.name())
                    .put("datatype", output.dataType().name());
            ArrayNode shape = node.putArray("shape");
            output.shape().toList().forEach(shape::add);
            node.put("omitted", "the response has more than " + MAX_SHOWN + " bytes");
        }
        return json;
    }

    /** Null if the call never reached the gateway. */
    private static @Nullable JsonNode timeline(CompletableFuture<Map<String, Object>> timeline) {
        try {
            return TryItInput.JSON.valueToTree(
                    TryItPages.await(timeline, TIMELINE_SECONDS, "the timeline of the call"));
        } catch (OipException none) {
            return null;
        }
    }
}
