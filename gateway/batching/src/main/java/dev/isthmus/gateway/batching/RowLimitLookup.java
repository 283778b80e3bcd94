package dev.isthmus.gateway.batching;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.CallLog;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.extension.Extension;
import dev.isthmus.gateway.extension.ManagementJson;
import dev.isthmus.gateway.fleet.ReplicaStatus;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.gateway.upstream.UpstreamRequest;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.proto.ModelConfigRequest;
import dev.isthmus.proto.ModelConfigResponse;
import dev.isthmus.proto.config.ModelConfig;
import dev.isthmus.transcoder.message.Wire;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.IntConsumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Asks the servers of an upstream how many rows they take in one call to a model: {@code max_batch_size} in the model
 * configuration (Triton's protocol extension). Used on the event loop of the call that it is for.
 */
final class RowLimitLookup {
    private static final Logger LOG = LoggerFactory.getLogger(RowLimitLookup.class);
    private static final long TIMEOUT_NANOS = TimeUnit.SECONDS.toNanos(5);

    private final ModelRef model;
    private final IntConsumer found;
    private boolean answered;
    private int smallest = Integer.MAX_VALUE;
    private int pending;

    private RowLimitLookup(ModelRef model, IntConsumer found) {
        this.model = model;
        this.found = found;
    }

    /** Whether the servers have the extension, as far as is known. */
    static boolean isOffered(Upstream upstream) {
        return upstream.extensions().contains(Extension.MODEL_CONFIG.advertisedName());
    }

    /**
     * Asks each server that is ready, after what the event loop of this call does now.
     *
     * @param found gets the smallest number that a server says, 0 if the model does not batch; nothing if no server says
     *     any
     */
    static void begin(Upstream upstream, ModelRef model, Call call, IntConsumer found) {
        try {
            call.loop().execute(() -> new RowLimitLookup(model, found).ask(upstream, call));
        } catch (RejectedExecutionException stopped) {
            // The gateway has ended.
            LOG.debug("model '{}': its configuration is not read any more", model.name());
        }
    }

    private void ask(Upstream upstream, Call client) {
        List<Upstream> servers = ReplicaStatus.of(upstream, Set.of()).stream()
                .filter(ReplicaStatus::ready)
                .map(ReplicaStatus::server)
                .toList();
        pending = servers.size();
        servers.forEach(server -> askServer(server, client));
    }

    private void askServer(Upstream server, Call client) {
        boolean rest = server.peer().wire() == Wire.REST;
        Operation.Manage operation = new Operation.Manage(Extension.MODEL_CONFIG, model, "", false, rest);
        Call call = new Call(operation, System.nanoTime() + TIMEOUT_NANOS, Map.of(), client.loop(), client.allocator());
        ByteBuf body = rest ? Unpooled.EMPTY_BUFFER : Unpooled.wrappedBuffer(request());
        ConfigurationReply reply = new ConfigurationReply(rest);
        try {
            server.send(call, new UpstreamRequest.ManageRequest(operation, body), reply);
        } catch (RuntimeException | OutOfMemoryError fault) {
            reply.fail(CallLog.failureOf(fault, call.context()));
        }
    }

    private byte[] request() {
        return ModelConfigRequest.newBuilder()
                .setName(model.name())
                .setVersion(model.version())
                .build()
                .toByteArray();
    }

    private void read(byte[] content, boolean rest) {
        try {
            byte[] response = rest ? ManagementJson.toProtobuf(Extension.MODEL_CONFIG, content) : content;
            ModelConfig config = ModelConfig.parseFrom(
                    ModelConfigResponse.parseFrom(response).getConfig());
            if (!config.getName().isEmpty() && config.getMaxBatchSize() >= 0) {
                answered = true;
                smallest = Math.min(smallest, config.getMaxBatchSize());
            }
        } catch (IOException | OipException invalid) {
            LOG.atDebug().setCause(invalid).log("model '{}': its configuration cannot be read", model.name());
        }
    }

    private void ended() {
        pending--;
        if (pending == 0 && answered) {
            found.accept(smallest);
        }
    }

    /** Receives the configuration from one server. A failure says nothing: not every server has the extension. */
    private final class ConfigurationReply implements Reply {
        private final boolean rest;

        ConfigurationReply(boolean rest) {
            this.rest = rest;
        }

        @Override
        public void message(ReplyMessage message) {
            try {
                if (message instanceof ReplyMessage.Document document) {
                    read(ByteBufUtil.getBytes(document.content()), rest);
                }
            } finally {
                message.release();
            }
        }

        @Override
        public void complete() {
            ended();
        }

        @Override
        public void fail(OipException failure) {
            ended();
        }
    }
}
