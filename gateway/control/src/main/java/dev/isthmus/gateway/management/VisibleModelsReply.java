package dev.isthmus.gateway.management;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.google.protobuf.Message;
import dev.isthmus.gateway.call.ForwardingReply;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.extension.Extension;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.proto.ModelStatisticsResponse;
import dev.isthmus.proto.RepositoryIndexResponse;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import java.io.IOException;
import java.util.Iterator;
import java.util.function.Predicate;

/** Removes the models that the caller does not see from an index or from statistics. */
final class VisibleModelsReply extends ForwardingReply {
    private static final ObjectMapper JSON = new ObjectMapper();

    private final Operation.Manage manage;
    private final Predicate<ModelRef> visible;

    VisibleModelsReply(Operation.Manage manage, Predicate<ModelRef> visible, Reply client) {
        super(client);
        this.manage = manage;
        this.visible = visible;
    }

    @Override
    public void message(ReplyMessage message) {
        if (!(message instanceof ReplyMessage.Document document)) {
            super.message(message);
            return;
        }
        ByteBuf shown;
        try {
            shown = Unpooled.wrappedBuffer(manage.json() ? json(document.content()) : protobuf(document.content()));
        } catch (IOException e) {
            super.fail(new OipException(
                    ErrorCode.BAD_UPSTREAM_ANSWER, "a server sent a list of models that violates the protocol", e));
            return;
        } finally {
            document.release();
        }
        super.message(new ReplyMessage.Document(shown));
    }

    private byte[] json(ByteBuf content) throws IOException {
        byte[] bytes = ByteBufUtil.getBytes(content);
        JsonNode answer = JSON.readTree(bytes);
        JsonNode models = index() ? answer : answer.path("model_stats");
        boolean removed = false;
        for (Iterator<JsonNode> each = models.iterator(); each.hasNext(); ) {
            JsonNode model = each.next();
            if (!visible.test(new ModelRef(
                    model.path("name").asText(), model.path("version").asText()))) {
                each.remove();
                removed = true;
            }
        }
        return removed ? JSON.writeValueAsBytes(answer) : bytes;
    }

    private byte[] protobuf(ByteBuf content) throws IOException {
        return (index() ? index(content) : statistics(content)).toByteArray();
    }

    private Message index(ByteBuf content) throws IOException {
        RepositoryIndexResponse all = RepositoryIndexResponse.parseFrom(content.nioBuffer());
        return all.toBuilder()
                .clearModels()
                .addAllModels(all.getModelsList().stream()
                        .filter(model -> visible.test(new ModelRef(model.getName(), model.getVersion())))
                        .toList())
                .build();
    }

    private Message statistics(ByteBuf content) throws IOException {
        ModelStatisticsResponse all = ModelStatisticsResponse.parseFrom(content.nioBuffer());
        return all.toBuilder()
                .clearModelStats()
                .addAllModelStats(all.getModelStatsList().stream()
                        .filter(model -> visible.test(new ModelRef(model.getName(), model.getVersion())))
                        .toList())
                .build();
    }

    private boolean index() {
        return manage.extension() == Extension.REPOSITORY_INDEX;
    }
}
