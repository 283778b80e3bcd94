package dev.isthmus.gateway.dispatch;

import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.AnswerForm;
import dev.isthmus.transcoder.InferMessage;
import dev.isthmus.transcoder.Peer;
import dev.isthmus.transcoder.Transcoder;
import dev.isthmus.transcoder.Wire;
import dev.isthmus.transcoder.protobuf.ProtobufReader;
import dev.isthmus.transcoder.rest.OutputForms;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import org.jspecify.annotations.Nullable;

/** A protobuf request: checked and passed on as it is to a protobuf upstream, transcoded for any other. */
final class ProtobufBody implements RequestBody {
    private final Transcoder transcoder;
    private final ByteBufAllocator allocator;
    private final Peer peer;
    private @Nullable ByteBuf message;
    private AnswerForm form = new AnswerForm(Wire.PROTOBUF, true, OutputForms.JSON, false, null);

    ProtobufBody(Transcoder transcoder, ByteBufAllocator allocator, Peer peer) {
        this.transcoder = transcoder;
        this.allocator = allocator;
        this.peer = peer;
    }

    @Override
    public void add(ByteBuf chunk) {
        release();
        message = chunk;
    }

    @Override
    public InferMessage finish() {
        ByteBuf complete = message;
        if (complete == null) {
            throw OipException.invalid("a ModelInferRequest is expected, got none");
        }
        message = null;
        ProtobufReader.Outline outline = outline(complete);
        boolean typed = !outline.raw() && !peer.dialect().alwaysRaw();
        boolean untouched = peer.dialect().takesId(outline.id());
        form = new AnswerForm(Wire.PROTOBUF, untouched, OutputForms.JSON, typed, outline.id());
        return transcoder.request(allocator, new InferMessage.Protobuf(complete), peer);
    }

    private static ProtobufReader.Outline outline(ByteBuf message) {
        try {
            return ProtobufReader.outline(message);
        } catch (OipException e) {
            message.release();
            throw e;
        }
    }

    @Override
    public AnswerForm answerForm() {
        return form;
    }

    @Override
    public void release() {
        if (message != null) {
            message.release();
            message = null;
        }
    }
}
