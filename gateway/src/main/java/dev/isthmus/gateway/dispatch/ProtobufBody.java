package dev.isthmus.gateway.dispatch;

import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.Parameter;
import dev.isthmus.transcoder.AnswerForm;
import dev.isthmus.transcoder.InferMessage;
import dev.isthmus.transcoder.ModelSplice;
import dev.isthmus.transcoder.Peer;
import dev.isthmus.transcoder.Transcoder;
import dev.isthmus.transcoder.Wire;
import dev.isthmus.transcoder.protobuf.ProtobufReader;
import dev.isthmus.transcoder.rest.OutputForms;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** A protobuf request: checked and passed on as it is to a protobuf upstream, transcoded for any other. */
final class ProtobufBody implements RequestBody {
    private final Transcoder transcoder;
    private final ByteBufAllocator allocator;
    private final ProtobufReader.Outline outline;
    private @Nullable ByteBuf message;

    /** @param outline of the message that will come */
    ProtobufBody(Transcoder transcoder, ByteBufAllocator allocator, ProtobufReader.Outline outline) {
        this.transcoder = transcoder;
        this.allocator = allocator;
        this.outline = outline;
    }

    @Override
    public void add(ByteBuf chunk) {
        release();
        message = chunk;
    }

    @Override
    public long held() {
        return message == null ? 0 : message.readableBytes();
    }

    @Override
    public void end() {
        complete();
    }

    private ByteBuf complete() {
        ByteBuf complete = message;
        if (complete == null) {
            throw OipException.invalid("a ModelInferRequest is expected, got none");
        }
        return complete;
    }

    @Override
    public Map<String, Parameter> parameters() {
        return outline.parameters();
    }

    @Override
    public String id() {
        return outline.id();
    }

    @Override
    public Prepared prepare(Peer peer, ModelRef model) {
        boolean typed = !outline.raw() && !peer.dialect().alwaysRaw();
        boolean untouched = peer.dialect().takesId(outline.id());
        String answered = model.name().equals(outline.model().name())
                ? null
                : outline.model().name();
        AnswerForm form = new AnswerForm(Wire.PROTOBUF, untouched, OutputForms.JSON, typed, outline.id(), answered);
        return new Prepared(transcoder.request(allocator, renamed(model), peer), form);
    }

    private InferMessage renamed(ModelRef model) {
        InferMessage.Protobuf encoded = new InferMessage.Protobuf(complete()).retained();
        return model.equals(outline.model())
                ? encoded
                : new InferMessage.Protobuf(ModelSplice.request(allocator, encoded.message(), model));
    }

    @Override
    public void release() {
        if (message != null) {
            message.release();
            message = null;
        }
    }
}
