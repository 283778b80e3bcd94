package dev.isthmus.gateway.ingress;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.Operation.BodyForm;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.call.RequestSink;
import dev.isthmus.gateway.call.Service;
import dev.isthmus.oip.ModelMetadata;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.Shape;
import dev.isthmus.transcoder.InferMessage;
import dev.isthmus.transcoder.rest.RestBody;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.CompositeByteBuf;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;

/**
 * Responds to every call: to an inference with its own body, to model "silent" never, to model "bad" with a failure at
 * the first part of the body.
 */
final class Calls implements Service {
    final BlockingQueue<Call> opened = new LinkedBlockingQueue<>();
    final BlockingQueue<Call> cancelled = new LinkedBlockingQueue<>();

    /** Bytes of bodies that were received. */
    long bytes;

    @Override
    public RequestSink open(Call call, Reply reply) {
        opened.add(call);
        return new Sink(call, reply);
    }

    private final class Sink implements RequestSink {
        private final Call call;
        private final Reply reply;
        private final CompositeByteBuf body;

        Sink(Call call, Reply reply) {
            this.call = call;
            this.reply = reply;
            this.body = call.allocator().compositeBuffer(Integer.MAX_VALUE);
        }

        @Override
        public void data(ByteBuf chunk) {
            bytes += chunk.readableBytes();
            if (call.operation() instanceof Operation.Infer infer
                    && infer.model().name().equals("bad")) {
                chunk.release();
                if (body.refCnt() > 0) {
                    body.release();
                    reply.fail(OipException.invalid("input 'x': as bad as \"can\" be, 100 %"));
                }
                return;
            }
            body.addComponent(true, chunk);
        }

        @Override
        public void end() {
            switch (call.operation()) {
                case Operation.ServerLive live -> respond(new ReplyMessage.Live(true));
                case Operation.ServerReady ready -> respond(new ReplyMessage.Ready(false));
                case Operation.GatewayReady ready -> respond(new ReplyMessage.Ready(true));
                case Operation.ReadServerMetadata ask ->
                    respond(new ReplyMessage.Server(
                            new dev.isthmus.oip.ServerMetadata("isthmus", "1", List.of("binary_tensor_data"))));
                case Operation.ModelReady ask -> respond(new ReplyMessage.ModelReadyState(ask.model(), true));
                case Operation.ReadModelMetadata ask ->
                    respond(new ReplyMessage.Model(new ModelMetadata(
                            ask.model().name(),
                            List.of("1"),
                            "p",
                            List.of(new ModelMetadata.TensorMetadata("x", "FP32", Shape.of(-1, 4), Map.of())),
                            List.of(),
                            Map.of())));
                case Operation.Infer infer -> infer(infer);
                case Operation.Generate generate -> respond(new ReplyMessage.Document(body.retainedSlice()));
                case Operation.Manage manage -> respond(new ReplyMessage.Document(body.retainedSlice()));
                case Operation other -> throw new UnsupportedOperationException(other.toString());
            }
        }

        private void infer(Operation.Infer infer) {
            if (infer.model().name().equals("silent") || body.refCnt() == 0) {
                return;
            }
            reply.only(new ReplyMessage.Inference(
                    switch (infer.form()) {
                        case BodyForm.RestForm rest ->
                            new InferMessage.RestMessage(new RestBody(body, rest.jsonLength()));
                        case BodyForm.ProtobufForm protobuf -> new InferMessage.ProtobufMessage(body);
                    }));
        }

        private void respond(ReplyMessage response) {
            body.release();
            reply.only(response);
        }

        @Override
        public void cancel() {
            if (body.refCnt() > 0) {
                body.release();
            }
            cancelled.add(call);
        }
    }
}
